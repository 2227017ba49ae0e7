//! HDF5: groups, datasets and attributes, as h5py and `ParaView` read them.

mod attributes;
mod datasets;
mod link;

use std::fs::File;
use std::path::Path;
use std::{io, mem};

use kymo_core::{Error, Result};
use rust_hdf5::{H5Dataset, H5File, Hdf5Error};

use crate::arrays::plan::{Array, Group, Plan, Rules, kept_name};
use crate::arrays::{ArrayReader, Kind, Loss, LossKind, Target};

pub(crate) use attributes::{TextAttributes, add_to_dataset};
pub(crate) use datasets::{Cells, datatype};

/// HDF5.
#[derive(Debug)]
pub(crate) struct Hdf5;

static RULES: Rules = Rules {
    name: kept_name,
    attribute: kept_name,
    rank_max: RANK_MAX,
    has_groups: true,
    pads_text: true,
    streams_text: true,
    attributes_max: ATTRIBUTES_MAX,
};

/// Attributes of a group or a dataset: the library goes through all that are there for each that
/// is added.
pub(crate) const ATTRIBUTES_MAX: usize = 8192;

/// Dimensions of an array: the format has 32, one of which may be needed for parts of values.
pub(crate) const RANK_MAX: usize = 31;

/// Texts of an array that are written at once; larger arrays are written as characters.
const TEXTS_BYTES_MAX: u64 = 16 << 20;

impl Target for Hdf5 {
    fn name(&self) -> &'static str {
        "hdf5"
    }

    fn about(&self) -> &'static str {
        "HDF5: groups, datasets and attributes"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["h5", "hdf5", "hdf"]
    }

    fn can_link(&self) -> bool {
        true
    }

    fn rules(&self) -> &'static Rules {
        &RULES
    }

    fn write(&self, plan: &Plan, reading: &mut ArrayReader<'_>, to: &Path) -> Result<()> {
        create(to, false, |file| {
            create_groups(file, &plan.groups, TextAttributes::Variable)?;
            plan.arrays.iter().try_for_each(|array| write_array(file, array, reading, to))
        })
    }
}

fn write_array(
    file: &H5File,
    array: &Array,
    reading: &mut ArrayReader<'_>,
    to: &Path,
) -> Result<()> {
    let dataset = if let Some(linked) = link(file, array, reading)? {
        linked
    } else {
        let cells = cells(array, reading);
        let dataset = cells.create(file, &array.path)?;
        cells.write(&dataset, array, reading, to)?;
        dataset
    };
    add_to_dataset(&dataset, &array.attributes, TextAttributes::Variable)
}

/// Returns the way an array is stored.
fn cells(array: &Array, reading: &mut ArrayReader<'_>) -> Cells {
    match array.kind {
        Kind::Text(bytes) if array.size_bytes() > TEXTS_BYTES_MAX => {
            let what = format!("stored as characters along a last dimension of {bytes}");
            reading.losses.push(Loss::new(LossKind::Reshaped, &array.source, what));
            Cells::from_array(array).characters(bytes)
        }
        _ => Cells::from_array(array),
    }
}

/// Makes a dataset whose values stay in the source, where that is wanted and can be.
fn link(file: &H5File, array: &Array, reading: &mut ArrayReader<'_>) -> Result<Option<H5Dataset>> {
    let Some(source) = reading.link().filter(|_| !link::is_small(array)) else {
        return Ok(None);
    };
    let (Some(source), Some(found)) = (source.to_str(), link::runs(array, reading)?) else {
        reading.copied.push(array.source.clone());
        return Ok(None);
    };
    let files: Vec<_> = found.runs.iter().map(|&(at, bytes)| (source, at, bytes)).collect();
    let cells = Cells::from_array(array);
    let datatype = link::ordered(cells.datatype, found.endian);
    let builder = file.new_dataset::<u8>().datatype(datatype).shape(&cells.shape);
    builder.external(&files).create(&array.path).map(Some).map_err(failed)
}

/// Writes a file at a path where there is one. It is synced when it gets its name.
pub(crate) fn create(
    path: &Path,
    track_order: bool,
    write: impl FnOnce(&H5File) -> Result<()>,
) -> Result<()> {
    // Nobody else knows the file yet, and not every file system has locks.
    let options = H5File::options().no_locking().track_order(track_order);
    let file = options.create(path).map_err(failed)?;
    if let Err(error) = write(&file) {
        // Whatever is dropped the library tries to finish, and says on standard error that it could
        // not. So it is kept, without the room that it takes.
        let _ = File::options().write(true).truncate(true).open(path);
        mem::forget(file);
        return Err(error);
    }
    file.close_no_sync().map_err(failed)
}

/// Makes all groups of a plan, which come after those that they are in, with their attributes.
pub(crate) fn create_groups(file: &H5File, plan: &[Group], texts: TextAttributes) -> Result<()> {
    for group in plan {
        let made = match group.path.as_str() {
            "" => file.root_group(),
            path => file.create_group(path).map_err(failed)?,
        };
        attributes::add_to_group(&made, &group.attributes, texts)?;
    }
    Ok(())
}

/// An error of the output is the system's; any other is a limit of HDF5.
pub(crate) fn failed(error: Hdf5Error) -> Error {
    if let Hdf5Error::Io(error) = error {
        return Error::Io { action: "write the output", error };
    }
    // The library wraps errors of the system in a type of its own that has no name outside.
    let text = error.to_string();
    match text.strip_prefix("hdf5-io error: I/O error: ") {
        Some(why) => Error::Io { action: "write the output", error: io::Error::other(why) },
        None => Error::request(format!("HDF5 cannot hold it: {text}")),
    }
}
