//! Scales of time: clocks that count from the Epoch are one, and every other has its own. Times of
//! different scales are never compared.

use crate::{Reader, Track};

/// The scales of a trace.
#[derive(Debug)]
pub(crate) struct Scales {
    /// The scale of each clock.
    values: Vec<usize>,
    /// The first clock of each scale.
    pub(crate) clocks: Vec<usize>,
}

/// The first and the last time on a scale, in nanoseconds.
pub(crate) type Span = Option<(i64, i64)>;

impl Scales {
    pub(crate) fn new(reader: &Reader) -> Self {
        let (mut values, mut clocks, mut epoch) = (Vec::new(), Vec::new(), None);
        for (place, clock) in reader.clocks().iter().enumerate() {
            let known = epoch.filter(|_| clock.since_epoch);
            let scale = known.unwrap_or(clocks.len());
            if known.is_none() {
                clocks.push(place);
            }
            if clock.since_epoch {
                epoch = Some(scale);
            }
            values.push(scale);
        }
        Self { values, clocks }
    }

    /// The scale of a stream.
    pub(crate) fn scale_index(&self, reader: &Reader, track: &Track) -> Option<usize> {
        self.values.get(reader.clock_of(track)?).copied()
    }

    /// The times of each scale, by those of each stream.
    pub(crate) fn spans(&self, reader: &Reader, times: &[Span]) -> Vec<Span> {
        let mut spans = vec![None; self.clocks.len()];
        for (track, times) in reader.tracks().iter().zip(times) {
            let span = self.scale_index(reader, track).and_then(|scale| spans.get_mut(scale));
            if let (Some(span), Some((first, last))) = (span, *times) {
                let (from, to) = span.unwrap_or((first, last));
                *span = Some((first.min(from), last.max(to)));
            }
        }
        spans
    }
}
