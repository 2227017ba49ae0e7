//! The contract: what a format tells about itself and does.

use std::path::Path;

use crate::{Context, Dataset, Destination, Error, Finding, Result, Source};

/// A format of recordings. One static value a format; the registry lists them.
pub trait Format: Sync {
    /// Name, extensions, what it can do.
    fn info(&self) -> &'static FormatInfo;

    /// How sure it is that a source is of this format, from its first bytes and its name.
    fn sniff(&self, probe: &Probe<'_>) -> Option<Confidence>;

    /// Opens a source: reads headers, builds the index.
    ///
    /// Refuses a file whose structure is broken; what is readable but odd is opened, and said in
    /// [`Dataset::findings`].
    fn open(&self, source: &Source, context: &Context<'_>) -> Result<Box<dyn Dataset>>;

    /// Checks every rule of the format, going on where [`open`](Self::open) stops.
    ///
    /// Known quirks of writers in the field are notes; a sound file has nothing above a note.
    /// Errors are those of reading the source as a whole, never of its contents.
    fn check(&self, source: &Source, context: &Context<'_>) -> Result<Vec<Finding>>;

    /// Opens what can be read of a damaged source, and says what cannot.
    fn salvage(&self, source: &Source, context: &Context<'_>) -> Result<Box<dyn Dataset>> {
        self.open(source, context)
    }

    /// Writes a sound file of what can be read of a damaged one. Calls [`Source::verify`] before
    /// the file appears.
    ///
    /// Refuses unless a format does it, and says so with [`FormatInfo::repairs`].
    fn repair(
        &self,
        _source: &Source,
        _to: &Destination,
        _context: &Context<'_>,
    ) -> Result<Repaired> {
        Err(Error::Request(format!("{} files are not repaired", self.info().title)))
    }

    /// Reads a sound source and writes all of it again with the format's own writer.
    ///
    /// Refuses unless a format does it, and says so with [`FormatInfo::writes`].
    fn rewrite(&self, _source: &Source, _to: &Destination, _context: &Context<'_>) -> Result<()> {
        Err(Error::Request(format!("{} files are not written", self.info().title)))
    }

    /// Makes small recordings with the format's own writer, for `kymo demo`.
    fn demo(&self) -> Result<Vec<Demo>> {
        Ok(Vec::new())
    }
}

/// A recording for `kymo demo`.
#[derive(Debug, Clone)]
pub struct Demo {
    /// Its file name.
    pub file: &'static str,
    /// What it records, in a few words.
    pub about: &'static str,
    /// Its contents.
    pub bytes: Vec<u8>,
}

/// What a format tells about itself.
#[derive(Debug, Clone, Copy)]
pub struct FormatInfo {
    /// The name for `--from` and the registry: `bp`.
    pub name: &'static str,
    /// The name a person reads: "BP (binary-pack)".
    pub title: &'static str,
    /// What it holds, in a line.
    pub about: &'static str,
    /// File name extensions without the dot, the usual one first.
    pub extensions: &'static [&'static str],
    /// The dialects it reads, in a few words each.
    pub dialects: &'static [&'static str],
    /// Whether it is written too. A format that is only imported from is read-only.
    pub writes: bool,
    /// Whether [`Format::repair`] makes sense.
    pub repairs: bool,
    /// Styles of other tools that [`Dataset::dump`](crate::Dataset::dump) can imitate.
    pub dump_styles: &'static [&'static str],
}

/// What sniffing gets to see.
#[derive(Debug, Clone, Copy)]
pub struct Probe<'a> {
    /// The first bytes, at most [`Probe::HEAD_BYTES`]; empty for a directory.
    pub head: &'a [u8],
    /// The size of the whole file.
    pub size_bytes: u64,
    /// The name as given; empty for standard input.
    pub path: &'a Path,
    /// Whether it is a directory.
    pub is_directory: bool,
}

impl Probe<'_> {
    /// How many bytes a format gets to see.
    pub const HEAD_BYTES: usize = 64 * 1024;

    /// Whether the name ends in one of the extensions, whatever the case.
    #[must_use]
    pub fn has_extension(&self, extensions: &[&str]) -> bool {
        let extension = self.path.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|found| extensions.iter().any(|e| e.eq_ignore_ascii_case(found)))
    }
}

/// How sure a format is. The highest wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Only the name says so.
    Name,
    /// The first bytes make sense, in a format that has no magic number.
    Plausible,
    /// The magic number is there.
    Magic,
}

/// What repairing did.
#[derive(Debug, Clone, Default)]
pub struct Repaired {
    /// Records kept.
    pub kept: u64,
    /// What a record is: "elements".
    pub unit: &'static str,
    /// What was wrong and is right in the output, or was odd and is still there.
    pub corrected: Vec<Finding>,
    /// What was lost.
    pub losses: Vec<Finding>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A format that one only imports from.
    struct Import;

    impl Format for Import {
        fn info(&self) -> &'static FormatInfo {
            &FormatInfo {
                name: "import",
                title: "Import",
                about: "",
                extensions: &[],
                dialects: &[],
                writes: false,
                repairs: false,
                dump_styles: &[],
            }
        }
        fn sniff(&self, _probe: &Probe<'_>) -> Option<Confidence> {
            None
        }
        fn open(&self, _source: &Source, _context: &Context<'_>) -> Result<Box<dyn Dataset>> {
            Err(Error::request("not needed"))
        }
        fn check(&self, _source: &Source, _context: &Context<'_>) -> Result<Vec<Finding>> {
            Ok(Vec::new())
        }
    }

    #[test]
    fn a_format_that_does_not_write_says_so() {
        let directory = tempfile::tempdir().unwrap();
        let to = Destination::new(directory.path().join("out"), false);
        let source = Source::from_bytes("in", Vec::new());
        let context = Context::default();
        let error = Import.repair(&source, &to, &context).unwrap_err();
        assert_eq!(error.to_string(), "Import files are not repaired");
        let error = Import.rewrite(&source, &to, &context).unwrap_err();
        assert_eq!(error.to_string(), "Import files are not written");
    }
}
