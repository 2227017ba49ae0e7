//! The contract: what a format tells about itself and does.

use std::sync::Arc;

use crate::Dataset;
use crate::timeline::{ClassWord, Clock, Event, TimeNs, TimelineView, Track};
use kymo_core::{Context, Destination, Error, Finding, Probe, Result, Source};

/// A format of recordings. One static value a format; the registry lists them.
pub trait Format: Sync {
    /// Name, extensions, what it can do.
    fn info(&self) -> &'static FormatInfo;

    /// Returns the confidence that a source is of this format, from its first bytes and its name.
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

    /// Writes a sound file of what can be read of a damaged one. That the source stayed the same
    /// meanwhile, [`Destination::made_from`] makes sure of.
    ///
    /// Refuses unless a format does it, and says so with [`Capability::Repair`].
    fn repair(
        &self,
        _source: &Source,
        _to: &Destination,
        _context: &Context<'_>,
    ) -> Result<RepairReport> {
        Err(Error::Request(format!("{} files are not repaired", self.info().title)))
    }

    /// Reads a sound source and writes all of it again with the format's own writer.
    ///
    /// Refuses unless a format does it, and says so with [`Capability::Write`].
    fn rewrite(&self, _source: &Source, _to: &Destination, _context: &Context<'_>) -> Result<()> {
        Err(Error::Request(format!("{} files are not written", self.info().title)))
    }

    /// Writes a part of one or several sources, all of this format, as one file: whole streams or
    /// some, all the time or a range.
    ///
    /// Refuses unless a format does it, and says so with [`Capability::Extract`].
    fn extract(
        &self,
        _sources: &[Source],
        _part: &ExtractRequest,
        _to: &Destination,
        _context: &Context<'_>,
    ) -> Result<WriteReport> {
        Err(Error::Request(format!("{} files are not cut or merged", self.info().title)))
    }

    /// Writes a timeline, whatever format it came from.
    ///
    /// Refuses unless a format does it, and says so with [`Capability::TakeTimelines`].
    fn write_timeline(
        &self,
        _timeline: Arc<dyn TimelineView>,
        _to: &Destination,
        _context: &Context<'_>,
    ) -> Result<WriteReport> {
        Err(Error::Request(format!("{} files are not made from timelines", self.info().title)))
    }

    /// Reads a recording that is still being written, as its bytes arrive.
    ///
    /// Nothing unless a format does it, and says so with [`Capability::Follow`].
    fn follow(&self, _context: &Context<'_>) -> Option<Box<dyn LiveRecording>> {
        None
    }

    /// The format's own words for classes of events, which one may ask for by them.
    fn class_words(&self) -> &'static [ClassWord] {
        &[]
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
    /// Description of what it records, in a few words.
    pub about: &'static str,
    /// Its contents.
    pub bytes: Vec<u8>,
}

/// Facts that a format gives about itself.
#[derive(Debug, Clone, Copy)]
pub struct FormatInfo {
    /// The name for `--from` and the registry: `bp`.
    pub name: &'static str,
    /// The name a person reads: "BP (binary-pack)".
    pub title: &'static str,
    /// Description of its contents, in a line.
    pub about: &'static str,
    /// File name extensions without the dot, the usual one first.
    pub extensions: &'static [&'static str],
    /// The dialects it reads, in a few words each.
    pub dialects: &'static [&'static str],
    /// Operations that it supports besides being read. A format that is only imported from supports
    /// nothing else.
    pub abilities: &'static [Capability],
    /// Styles of other tools that [`Dataset::dump`](crate::Dataset::dump) can imitate.
    pub dump_styles: &'static [&'static str],
}

impl FormatInfo {
    /// Returns true if it does this.
    #[must_use]
    pub fn can(&self, ability: Capability) -> bool {
        self.abilities.contains(&ability)
    }
}

/// Operation that a format may support besides being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Capability {
    /// [`Format::rewrite`]: it is written too.
    Write,
    /// [`Format::repair`].
    Repair,
    /// [`Format::extract`].
    Extract,
    /// [`Format::write_timeline`].
    TakeTimelines,
    /// [`Format::follow`].
    Follow,
}

impl Capability {
    /// Every ability, in the order that lists have.
    pub const ALL: [Self; 5] =
        [Self::Write, Self::Repair, Self::Extract, Self::TakeTimelines, Self::Follow];

    /// The word for it in lists.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Repair => "repair",
            Self::Extract => "cut",
            Self::TakeTimelines => "convert to",
            Self::Follow => "follow",
        }
    }
}

/// Confidence of a format. The highest wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Only the name says so.
    Name,
    /// The first bytes make sense, in a format that has no magic number.
    Plausible,
    /// The magic number is there.
    Magic,
}

/// Result of a repair.
#[derive(Debug, Clone, Default)]
pub struct RepairReport {
    /// Records kept.
    pub kept: u64,
    /// Unit of its records: "elements".
    pub unit: &'static str,
    /// Findings about what was wrong and is right in the output, or was odd and is still there.
    pub corrected: Vec<Finding>,
    /// Findings about what was lost.
    pub losses: Vec<Finding>,
}

/// Part of a recording that [`Format::extract`] takes.
#[derive(Debug, Clone, Default)]
pub struct ExtractRequest {
    /// Only tracks of these names; nothing means all.
    pub tracks: Option<Vec<String>>,
    /// Not before this moment.
    pub from: Option<TimeNs>,
    /// Before this moment.
    pub until: Option<TimeNs>,
    /// Put events in the order of their times, where a recording has them in another.
    pub sort: bool,
    /// Take tracks of different recordings for one where they have one name and are described
    /// alike, as those of the parts of a recording are.
    pub join: bool,
}

/// Result of writing a recording.
#[derive(Debug, Clone, Default)]
pub struct WriteReport {
    /// Events written.
    pub events: u64,
    /// Findings about what could not be written, or not as it was.
    pub losses: Vec<Finding>,
}

/// A recording that is still being written.
pub trait LiveRecording: Send {
    /// Returns the offset at which to begin with what is there already, so that what comes next is
    /// understood.
    ///
    /// The bytes from there on are to be pushed. Without an answer of its own a format is given
    /// everything.
    fn start(&mut self, _so_far: &Source) -> Result<u64> {
        Ok(0)
    }

    /// Takes the next bytes of the file, and gives the events that are whole by now.
    ///
    /// Clocks and tracks that are new are given before the first event on them.
    fn push(&mut self, bytes: &[u8], to: &mut dyn LiveRecordingSink) -> Result<()>;

    /// There are no more bytes at present: gives what was held back to see what follows it.
    fn pause(&mut self, _to: &mut dyn LiveRecordingSink) -> Result<()> {
        Ok(())
    }

    /// Returns true if the recording was ended by its writer, as far as the bytes so far tell. It
    /// may go on all the same, as another session.
    fn is_ended(&self) -> bool {
        false
    }

    /// No more bytes will come: gives what was held back.
    fn finish(&mut self, to: &mut dyn LiveRecordingSink) -> Result<()>;
}

/// Receiver of what [`LiveRecording`] gives.
pub trait LiveRecordingSink {
    /// A clock that was not there before; the next gets the next id.
    fn clock(&mut self, clock: &Clock) -> Result<()>;
    /// A track that was not there before; the next gets the next id.
    fn track(&mut self, track: &Track) -> Result<()>;
    /// An event.
    fn event(&mut self, event: &Event<'_>) -> Result<()>;
    /// Takes a finding about the bytes so far.
    fn finding(&mut self, finding: Finding) -> Result<()>;
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
                abilities: &[],
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
