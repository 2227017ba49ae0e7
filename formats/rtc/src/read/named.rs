//! Streams that others refer to by name.

use std::collections::HashMap;

use crate::types::Stream;

/// The streams of a session by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Named {
    /// By name, the ids and numbers of the streams that have it, in the order of their ids, which
    /// is that in which they were defined.
    streams: HashMap<String, Vec<(u32, usize)>>,
}

impl Named {
    pub(crate) fn add(&mut self, stream: &Stream, index: usize) {
        let of_name = self.streams.entry(stream.name.clone()).or_default();
        let place = of_name.partition_point(|(id, _)| *id < stream.id);
        of_name.insert(place, (stream.id, index));
    }

    pub(crate) fn clear(&mut self) {
        self.streams.clear();
    }

    /// The stream that another one, of this id, means by a name: of several, the last that was
    /// defined before it, or else the first.
    pub(crate) fn find(&self, name: &str, by: u32) -> Option<usize> {
        let of_name = self.streams.get(name)?;
        let before = of_name.partition_point(|(id, _)| *id < by);
        of_name.get(before.saturating_sub(1)).map(|(_, index)| *index)
    }
}
