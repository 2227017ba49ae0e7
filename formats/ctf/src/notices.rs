//! Faults of one event after another: whoever reads them reports each once for a stream.

use std::collections::BTreeMap;

use kymo_core::{Finding, Severity};

use crate::Reader;
use crate::read::Taken;

/// Something that is wrong with events of streams: the first event of each, and how many there are.
#[derive(Debug)]
pub(crate) struct Notices {
    rule: &'static str,
    message: &'static str,
    streams: BTreeMap<usize, (Finding, u64)>,
}

impl Notices {
    /// Texts that are no UTF-8.
    pub(crate) fn of_texts() -> Self {
        Self::new("utf-8", "bytes that are no UTF-8 are shown as marks")
    }

    /// Events of processors that do not say of which.
    pub(crate) fn of_processors() -> Self {
        let message = "neither its packet nor the event tells the processor, so that what it says of tasks \
                       and interrupts is on no track";
        Self::new("unknown-processor", message)
    }

    fn new(rule: &'static str, message: &'static str) -> Self {
        Self { rule, message, streams: BTreeMap::new() }
    }

    /// Sees such an event of a stream. The first is said at once: not everybody reads on to the end.
    #[cold]
    pub(crate) fn see(&mut self, reader: &Reader, track: usize, taken: &Taken<'_>) {
        let Self { rule, message, streams } = self;
        let (first, count) = streams.entry(track).or_insert_with(|| {
            let mut finding = Finding::at_offset(Severity::Warning, rule, taken.offset, *message);
            finding.file = Some(reader.file_name(taken.packet.file));
            (finding, 0)
        });
        *count += 1;
        if *count == 1 {
            reader.repeats(track, first, 1);
        }
    }

    /// Says how many there are, at the end of what is read.
    pub(crate) fn tell(&self, reader: &Reader) {
        for (track, (first, count)) in &self.streams {
            reader.repeats(*track, first, *count);
        }
    }
}
