//! Bytes that are no UTF-8, which are shown as marks: whoever shows them says so.

use std::collections::BTreeMap;

use kymo_core::{Finding, Severity};

use crate::Reader;
use crate::read::Taken;

/// The rule that texts are UTF-8.
const UTF_8: &str = "utf-8";

/// Where texts of streams are no UTF-8: the first event of each, and how many there are.
#[derive(Debug, Default)]
pub(crate) struct Marks(BTreeMap<usize, (Finding, u64)>);

impl Marks {
    /// Sees an event of a stream that has such a text. The first is said at once: not everybody reads
    /// on to the end.
    #[cold]
    pub(crate) fn see(&mut self, reader: &Reader, track: usize, taken: &Taken<'_>) {
        let (first, count) = self.0.entry(track).or_insert_with(|| (finding(reader, taken), 0));
        *count += 1;
        if *count == 1 {
            reader.repeats(track, first, 1);
        }
    }

    /// Says how many there are, at the end of what is read.
    pub(crate) fn tell(&self, reader: &Reader) {
        for (track, (first, count)) in &self.0 {
            reader.repeats(*track, first, *count);
        }
    }
}

/// What is said of an event.
fn finding(reader: &Reader, taken: &Taken<'_>) -> Finding {
    let message = "bytes that are no UTF-8 are shown as marks";
    let mut finding = Finding::at(Severity::Warning, UTF_8, taken.offset, message);
    finding.file = Some(reader.file_name(taken.packet.file));
    finding
}
