//! Streams of several files that are the same stream.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value as Json, json};

use super::Input;
use crate::types::CLOCKS_MAX;
use crate::types::Stream;

/// A description, and the how manieth of its session it is.
type Described = (usize, usize);

/// Description of a stream: its own, that of the stream it is about, and those of the clock it is
/// on and of the clocks under that.
///
/// Where two streams are alike, so are those they refer to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct StreamIdentity {
    own: Described,
    about: Option<Described>,
    clocks: Vec<Described>,
}

/// The descriptions that were met, by what they say.
#[derive(Debug, Default)]
pub(super) struct Descriptions {
    numbers: HashMap<String, usize>,
}

impl Descriptions {
    /// Returns the likeness of each of some streams of an input, in the order of their sessions and
    /// numbers. A stream on clocks that count from one another in a cycle is like no other.
    pub(super) fn likenesses(
        &mut self,
        input: &Input,
        streams: &[usize],
    ) -> HashMap<usize, StreamIdentity> {
        let mut counts: HashMap<(usize, usize), usize> = HashMap::new();
        let mut described: HashMap<usize, Described> = HashMap::new();
        for index in streams {
            let Some(stream) = input.stream(*index) else { continue };
            let number = self.number(stream);
            let count = counts.entry((stream.session, number)).or_default();
            described.insert(*index, (number, *count));
            *count += 1;
        }
        let item = |index: usize| described.get(&index).copied();
        let likeness = |index: usize| {
            let clocks =
                std::iter::successors(input.clock_of(index), |value| input.clock_of(*value));
            let clocks: Vec<_> = clocks.take(CLOCKS_MAX + 1).filter_map(item).collect();
            let about = input.about(index).and_then(item);
            let likeness = StreamIdentity { own: item(index)?, about, clocks };
            (likeness.clocks.len() <= CLOCKS_MAX).then_some((index, likeness))
        };
        streams.iter().filter_map(|index| likeness(*index)).collect()
    }

    /// The number of a description.
    fn number(&mut self, stream: &Stream) -> usize {
        let next = self.numbers.len();
        *self.numbers.entry(text(stream)).or_insert(next)
    }
}

/// All that is said of a stream, but for whether a clock goes back: that differs between parts of
/// one recording.
fn text(stream: &Stream) -> String {
    let counts = |key: &str| key != "rises" || !stream.is_clock();
    let attributes = stream.attributes.iter().filter(|(key, _)| counts(key));
    let attributes: BTreeMap<&String, &Json> = attributes.collect();
    let Stream { name, format, length_bytes, is_cont, about, .. } = stream;
    json!([name, format, length_bytes, is_cont, about, attributes]).to_string()
}
