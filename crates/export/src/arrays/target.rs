//! The contract of a target, the one list of them, and carrying out a conversion.

use std::path::Path;
use std::sync::Arc;

use kymo_core::{Destination, Progress, Result};
use kymo_model::arrays::{ArraysView, Order, VariableId};

use crate::arrays::Loss;
use crate::arrays::plan::{Plan, Rules};
use crate::arrays::reading::ArrayReader;

/// Something that arrays can be written as.
pub trait Target: Sync {
    /// The name for `--to`: `hdf5`.
    fn name(&self) -> &'static str;

    /// Returns the description of the target, in a line.
    fn about(&self) -> &'static str;

    /// File name extensions without the dot, the usual one first.
    fn extensions(&self) -> &'static [&'static str];

    /// Returns true if the output is a directory.
    fn is_directory(&self) -> bool {
        false
    }

    /// Returns true if the output is one array and no more.
    fn is_one_array(&self) -> bool {
        false
    }

    /// Returns true if values can stay in the source, and the output refer to them.
    fn can_link(&self) -> bool {
        false
    }

    /// Returns the rules of the target for names.
    fn rules(&self) -> &'static Rules;

    /// Writes what is planned to a file that is there and empty, or into such a directory. What
    /// turns out to be lost goes to the reading.
    fn write(&self, plan: &Plan, reading: &mut ArrayReader<'_>, to: &Path) -> Result<()>;
}

/// Every target. A new one is one file and one line here.
static TARGETS: &[&dyn Target] = &[
    &crate::arrays::hdf5::Hdf5,
    &crate::arrays::netcdf::NetCdf,
    &crate::arrays::zarr::Zarr,
    &crate::arrays::npy::Npy,
    &crate::arrays::npy::Npz,
];

/// Every target, in the order of the help.
#[must_use]
pub fn targets() -> &'static [&'static dyn Target] {
    TARGETS
}

/// A target by its name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static dyn Target> {
    TARGETS.iter().copied().find(|target| target.name() == name)
}

/// A target by the extension of a file name, whatever its case.
#[must_use]
pub fn by_extension(extension: &str) -> Option<&'static dyn Target> {
    let has = |target: &&dyn Target| {
        let mut known = target.extensions().iter();
        known.any(|e| e.eq_ignore_ascii_case(extension))
    };
    TARGETS.iter().copied().find(has)
}

/// Job of a conversion: the source to convert, and the way to do it.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// The arrays.
    pub view: &'a Arc<dyn ArraysView>,
    /// Order of the source: the dimension that varies fastest.
    pub order: Order,
    /// The variables that are wanted; all where none is named.
    pub only: &'a [VariableId],
    /// The file that values stay in, where the output is to refer to them.
    pub link: Option<&'a Path>,
    /// True if to write nothing when anything cannot stay as it was.
    pub strict: bool,
    /// True if something is wrong with the source, so that strictness refuses it.
    pub is_faulty: bool,
    /// Told how far it is.
    pub progress: &'a dyn Progress,
}

/// Results of a conversion; by default nothing.
#[derive(Debug, Default)]
pub struct Converted {
    /// True if there is an output; strictness may have refused it.
    pub is_written: bool,
    /// Number of arrays that were written.
    pub arrays: usize,
    /// Number of attributes that were written.
    pub attributes: usize,
    /// Losses: what could not stay as it was.
    pub losses: Vec<Loss>,
    /// Arrays that were to stay in the source and had to be copied, by their paths there.
    pub copied: Vec<String>,
}

/// Converts arrays. The output appears whole or not at all.
pub fn convert(job: &Job<'_>, target: &dyn Target, to: &Destination) -> Result<Converted> {
    let plan = Plan::new(job.view, job.order, target.rules(), job.only)?;
    let mut converted = Converted {
        is_written: false,
        arrays: plan.arrays.len(),
        attributes: plan.attribute_count(),
        losses: plan.losses.clone(),
        copied: Vec::new(),
    };
    // Also what strictness refuses is gone through, for all losses are to be told.
    job.progress.begin("converting", plan.size_bytes());
    let mut reading = ArrayReader::new(job);
    let out = Out::new(target, to)?;
    target.write(&plan, &mut reading, out.path())?;
    job.progress.end();
    converted.losses.append(&mut reading.losses);
    converted.copied = reading.copied;
    if !job.strict || converted.losses.is_empty() && !job.is_faulty {
        out.commit()?;
        converted.is_written = true;
    }
    Ok(converted)
}

/// Output that is being written.
enum Out {
    File(kymo_core::AtomicPath),
    Directory(kymo_core::AtomicDirectory),
}

impl Out {
    fn new(target: &dyn Target, to: &Destination) -> Result<Self> {
        Ok(if target.is_directory() {
            Self::Directory(to.directory()?)
        } else {
            Self::File(to.file_by_path()?)
        })
    }

    fn path(&self) -> &Path {
        match self {
            Self::File(file) => file.path(),
            Self::Directory(directory) => directory.path(),
        }
    }

    fn commit(self) -> Result<()> {
        match self {
            Self::File(file) => file.commit(),
            Self::Directory(directory) => directory.commit(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_extensions_lead_to_their_target() {
        for target in targets() {
            assert!(by_name(target.name()).is_some());
            for extension in target.extensions() {
                let found = by_extension(&extension.to_uppercase()).unwrap();
                assert_eq!(found.name(), target.name());
            }
        }
        assert!(by_extension("csv").is_none());
    }
}
