//! Faults of one event after another: whoever reads them reports each once for a stream.

use std::collections::BTreeMap;

use kymo_core::{Finding, Severity};

use crate::Reader;
use crate::read::DecodedEvent;

/// Something that is wrong with events of streams: the first event of each, and how many there are.
#[derive(Debug)]
pub(crate) struct EventNotices {
    rule: &'static str,
    message: &'static str,
    streams: BTreeMap<usize, (Finding, u64)>,
}

impl EventNotices {
    /// Texts that are no UTF-8.
    pub(crate) fn for_texts() -> Self {
        Self::new("utf-8", "bytes that are no UTF-8 are shown as marks")
    }

    /// Events of processors that do not say of which.
    pub(crate) fn for_processors() -> Self {
        let message = "neither its packet nor the event tells the processor, so that what it says of tasks \
                       and interrupts is on no track";
        Self::new("unknown-processor", message)
    }

    fn new(rule: &'static str, message: &'static str) -> Self {
        Self { rule, message, streams: BTreeMap::new() }
    }

    /// Sees such an event of a stream. The first is said at once: not everybody reads on to the end.
    #[cold]
    pub(crate) fn add(&mut self, reader: &Reader, track: usize, taken: &DecodedEvent<'_>) {
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
    pub(crate) fn report(&self, reader: &Reader) {
        for (track, (first, count)) in &self.streams {
            reader.repeats(*track, first, *count);
        }
    }
}
