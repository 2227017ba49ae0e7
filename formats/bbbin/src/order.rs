//! Events of several files in the order of their times.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use kymo_core::{Invariant as _, Result};

use crate::read::Walk;
use crate::types::LocatedEvent;
use crate::{Reader, Sort};

/// Events of several readers, merged by the times of those that are next; of several at one time,
/// the one of the first reader comes first.
///
/// No reader's own events are put in another order, unless [`Merge::sorted`] is asked for.
pub struct Merge<'a> {
    /// Each with the event of it that is next.
    inputs: Vec<(Input<'a>, Option<LocatedEvent<'a>>)>,
    /// The time of each head, with the number of its input.
    next: BinaryHeap<Reverse<(i64, usize)>>,
    is_begun: bool,
}

enum Input<'a> {
    AsWritten(&'a Reader, Walk),
    Sorted(Sort<'a>),
}

impl<'a> Input<'a> {
    fn next(&mut self) -> Result<Option<LocatedEvent<'a>>> {
        match self {
            Self::AsWritten(reader, walk) => Ok(walk.next(reader)),
            Self::Sorted(sort) => sort.next_event(),
        }
    }
}

impl<'a> Merge<'a> {
    /// Each reader's events in the order of its file.
    pub fn new(readers: impl IntoIterator<Item = &'a Reader>) -> Self {
        let input = |reader: &'a Reader| Input::AsWritten(reader, reader.walk());
        Self::from_inputs(readers.into_iter().map(input))
    }

    /// Each reader's events in the order of their times.
    ///
    /// # Errors
    /// When there are more than fit in memory, and no temporary file can be written.
    pub fn sorted(readers: impl IntoIterator<Item = &'a Reader>) -> Result<Self> {
        let input = |reader: &'a Reader| Sort::new(reader).map(Input::Sorted);
        Ok(Self::from_inputs(readers.into_iter().map(input).collect::<Result<Vec<_>>>()?))
    }

    /// Some spans of each reader, in the order of its file.
    pub(crate) fn from_spans(
        readers: impl IntoIterator<Item = (&'a Reader, Range<usize>)>,
    ) -> Self {
        let input = |(reader, spans)| Input::AsWritten(reader, Walk::new(spans));
        Self::from_inputs(readers.into_iter().map(input))
    }

    fn from_inputs(inputs: impl IntoIterator<Item = Input<'a>>) -> Self {
        let inputs = inputs.into_iter().map(|input| (input, None)).collect();
        Self { inputs, next: BinaryHeap::new(), is_begun: false }
    }

    /// Takes the head of an input, and goes on to the one after it.
    fn advance(&mut self, number: usize) -> Result<Option<LocatedEvent<'a>>> {
        let input = self.inputs.get_mut(number);
        let (input, head) = input.or_broken("an event is of an input that is not there")?;
        let found = input.next()?;
        self.next.extend(found.map(|found| Reverse((found.event.timestamp, number))));
        Ok(std::mem::replace(head, found))
    }

    /// The number of the reader whose event is next, and the event.
    ///
    /// # Errors
    /// When the temporary file of what is sorted cannot be read.
    pub fn next_event(&mut self) -> Result<Option<(usize, LocatedEvent<'a>)>> {
        if !std::mem::replace(&mut self.is_begun, true) {
            (0..self.inputs.len()).try_for_each(|number| self.advance(number).map(drop))?;
        }
        let Some(Reverse((_, number))) = self.next.pop() else { return Ok(None) };
        let found = self.advance(number)?;
        let found = found.or_broken("an input has no event that it said to have")?;
        Ok(Some((number, found)))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::Cursor;
    use std::sync::Arc;

    use kymo_core::{Context, Source};

    use super::*;
    use crate::types::{Body, Event, LogFileId, TypeId};
    use crate::{Definitions, Writer};

    /// Events by their times and log files.
    pub(crate) fn file(events: impl IntoIterator<Item = (i64, i32)>) -> Arc<Reader> {
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

    pub(crate) fn times_of(found: &LocatedEvent<'_>) -> (i64, i32) {
        (found.event.timestamp, found.event.log_file.0)
    }

    fn all(mut merge: Merge<'_>) -> Vec<(usize, LocatedEvent<'_>)> {
        std::iter::from_fn(|| merge.next_event().unwrap()).collect()
    }

    #[test]
    fn heads_are_merged_by_time_and_ties_go_to_the_first() {
        let (a, b) = (file([(1, 0), (5, 0), (5, 1), (9, 0)]), file([(0, 0), (5, 0), (6, 1)]));
        let merged = all(Merge::new([&*a, &*b]));
        let merged: Vec<_> =
            merged.iter().map(|(value, found)| (found.event.timestamp, *value)).collect();
        assert_eq!(merged, [(0, 1), (1, 0), (5, 0), (5, 0), (5, 1), (6, 1), (9, 0)]);
    }

    #[test]
    fn one_log_is_not_sorted_by_merging() {
        let a = file([(7, 0), (2, 0)]);
        let order = |merge| all(merge).iter().map(|(_, found)| times_of(found)).collect::<Vec<_>>();
        assert_eq!(order(Merge::new([&*a])), [(7, 0), (2, 0)]);
        assert_eq!(order(Merge::sorted([&*a]).unwrap()), [(2, 0), (7, 0)]);
    }
}
