//! Events in the order of their times: of several files, and of one that is not.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use crate::Reader;
use crate::read::Walk;
use crate::types::Found;

/// Events that one keeps to sort them, of 24 bytes each.
const KEYS_MAX: usize = 4 << 20;

/// Events of several readers, merged by the times of those that are next; of several at one time,
/// the one of the first reader comes first.
///
/// No reader's own events are put in another order, unless [`Merge::sorted`] is asked for.
pub struct Merge<'a> {
    inputs: Vec<Input<'a>>,
    heads: Vec<Option<Found<'a>>>,
    /// The time of each head, with the number of its input.
    next: BinaryHeap<Reverse<(i64, usize)>>,
}

enum Input<'a> {
    AsWritten(&'a Reader, Walk),
    Sorted(Sort<'a>),
}

impl<'a> Input<'a> {
    fn next(&mut self) -> Option<Found<'a>> {
        match self {
            Self::AsWritten(reader, walk) => walk.next(reader),
            Self::Sorted(sort) => sort.next(),
        }
    }
}

impl<'a> Merge<'a> {
    /// Each reader's events in the order of its file.
    pub fn new(readers: impl IntoIterator<Item = &'a Reader>) -> Self {
        let input = |reader: &'a Reader| Input::AsWritten(reader, reader.walk());
        Self::of(readers.into_iter().map(input).collect())
    }

    /// Each reader's events in the order of their times.
    pub fn sorted(readers: impl IntoIterator<Item = &'a Reader>) -> Self {
        let input = |reader: &'a Reader| Input::Sorted(Sort::new(reader));
        Self::of(readers.into_iter().map(input).collect())
    }

    /// Some spans of each reader, in the order of its file.
    pub(crate) fn within(readers: impl IntoIterator<Item = (&'a Reader, Range<usize>)>) -> Self {
        let input = |(reader, spans)| Input::AsWritten(reader, Walk::new(spans));
        Self::of(readers.into_iter().map(input).collect())
    }

    fn of(inputs: Vec<Input<'a>>) -> Self {
        let heads = inputs.iter().map(|_| None).collect();
        let mut merge = Self { inputs, heads, next: BinaryHeap::new() };
        for number in 0..merge.inputs.len() {
            merge.advance(number);
        }
        merge
    }

    fn advance(&mut self, number: usize) {
        let found = self.inputs.get_mut(number).and_then(Input::next);
        self.next.extend(found.map(|found| Reverse((found.event.timestamp, number))));
        if let Some(head) = self.heads.get_mut(number) {
            *head = found;
        }
    }
}

impl<'a> Iterator for Merge<'a> {
    /// The number of the reader, and its event.
    type Item = (usize, Found<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let Reverse((_, number)) = self.next.pop()?;
        let found = self.heads.get_mut(number)?.take()?;
        self.advance(number);
        Some((number, found))
    }
}

/// What events are sorted by: the time, the log file, and the place in the file.
type Key = (i64, i32, u64);

/// The events of a reader in the order of their times; of several at one time, the one of the
/// lowest log file comes first, and else the one that was written first.
///
/// It goes through the file as often as a fixed number of keys fits into the number of events, and
/// passes over blocks that have nothing to give: what is nearly sorted is read about twice.
pub struct Sort<'a> {
    reader: &'a Reader,
    /// The smallest and the largest time of each span.
    times: Vec<Option<(i64, i64)>>,
    /// What comes next, the last first.
    keys: Vec<Key>,
    last: Option<Key>,
    keys_max: usize,
}

impl<'a> Sort<'a> {
    /// Sorts the events of a reader.
    #[must_use]
    pub fn new(reader: &'a Reader) -> Self {
        Self::holding(reader, KEYS_MAX)
    }

    fn holding(reader: &'a Reader, keys_max: usize) -> Self {
        let times = (0..reader.spans().len()).map(|number| times(reader, number)).collect();
        Self { reader, times, keys: Vec::new(), last: None, keys_max: keys_max.max(1) }
    }

    /// Finds the keys that come next.
    fn fill(&mut self) {
        let mut smallest: BinaryHeap<Key> = BinaryHeap::new();
        for (number, times) in self.times.iter().enumerate() {
            let Some((first, last)) = *times else { continue };
            let is_over = self.last.is_some_and(|(time, ..)| last < time);
            let is_full = smallest.len() >= self.keys_max;
            let is_later = is_full && smallest.peek().is_some_and(|(time, ..)| *time < first);
            if is_over || is_later {
                continue;
            }
            let mut walk = Walk::new(number..number + 1);
            while let Some(Found { offset, event }) = walk.next(self.reader) {
                let key = (event.timestamp, event.log_file.0, offset);
                if self.last.is_none_or(|last| last < key) {
                    smallest.push(key);
                    if smallest.len() > self.keys_max {
                        smallest.pop();
                    }
                }
            }
        }
        self.keys = smallest.into_sorted_vec();
        self.keys.reverse();
    }
}

fn times(reader: &Reader, number: usize) -> Option<(i64, i64)> {
    let mut walk = Walk::new(number..number + 1);
    let mut times: Option<(i64, i64)> = None;
    while let Some(found) = walk.next(reader) {
        let time = found.event.timestamp;
        let (first, last) = times.unwrap_or((time, time));
        times = Some((first.min(time), last.max(time)));
    }
    times
}

impl<'a> Iterator for Sort<'a> {
    type Item = Found<'a>;

    fn next(&mut self) -> Option<Found<'a>> {
        if self.keys.is_empty() {
            self.fill();
        }
        let key = self.keys.pop()?;
        self.last = Some(key);
        self.reader.event_at(key.2)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::sync::Arc;

    use kymo_core::{Context, Source};

    use super::*;
    use crate::types::{Body, Event, LogFileId, TypeId};
    use crate::{Definitions, Writer};

    /// Events by their times and log files.
    fn file(events: impl IntoIterator<Item = (i64, i32)>) -> Arc<Reader> {
        let mut definitions = Definitions::default();
        definitions.add_log_file("a", "");
        definitions.add_log_file("b", "");
        let out = Cursor::new(Vec::new());
        let mut writer = Writer::new(out, &definitions.log_files, &definitions.types).unwrap();
        for (timestamp, log) in events {
            let (body, custom_type) = (Body::Generic, TypeId(0));
            let log_file = LogFileId(log);
            let event = Event { timestamp, log_file, body, custom_type, custom: &[] };
            writer.write(&event).unwrap();
        }
        let bytes = writer.finish(&[]).unwrap().out.into_inner();
        Reader::open(&Source::from_bytes("", bytes), &Context::default()).unwrap()
    }

    fn times_of(found: &Found<'_>) -> (i64, i32) {
        (found.event.timestamp, found.event.log_file.0)
    }

    #[test]
    fn heads_are_merged_by_time_and_ties_go_to_the_first() {
        let (a, b) = (file([(1, 0), (5, 0), (5, 1), (9, 0)]), file([(0, 0), (5, 0), (6, 1)]));
        let merged: Vec<_> =
            Merge::new([&*a, &*b]).map(|(of, found)| (found.event.timestamp, of)).collect();
        assert_eq!(merged, [(0, 1), (1, 0), (5, 0), (5, 0), (5, 1), (6, 1), (9, 0)]);
    }

    #[test]
    fn one_log_is_not_sorted_by_merging() {
        let a = file([(7, 0), (2, 0)]);
        let order: Vec<_> = Merge::new([&*a]).map(|(_, found)| times_of(&found)).collect();
        assert_eq!(order, [(7, 0), (2, 0)]);
        let order: Vec<_> = Merge::sorted([&*a]).map(|(_, found)| times_of(&found)).collect();
        assert_eq!(order, [(2, 0), (7, 0)]);
    }

    #[test]
    fn sorting_gives_the_same_whatever_fits_in_memory() {
        // A stride that is no divisor of the number of events visits all, and repeats times.
        let scattered = (0..3_000_i64).map(|n| (n * 1_117 % 3_000 / 2, i32::from(n % 3 == 0)));
        let reader = file(scattered);
        let mut expected: Vec<_> = reader.events().collect();
        expected.sort_by_key(|found| (times_of(found), found.offset));
        for keys_max in [7, 101, 500, 10_000] {
            let sorted: Vec<_> = Sort::holding(&reader, keys_max).collect();
            assert!(sorted == expected, "{keys_max} keys");
        }
    }
}
