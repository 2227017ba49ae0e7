//! Positions of events, by their number and by time.

use kymo_model::timeline::{TimeNs, Window};

/// Bytes of a block.
pub(crate) const BLOCK_BYTES: u64 = 256 << 10;

/// A run of lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block {
    /// Its first byte, which begins a line.
    pub(crate) start: u64,
    /// Number of events before it.
    pub(crate) events_before: u64,
    /// The smallest and the largest time in it.
    pub(crate) times: Option<(i64, i64)>,
}

impl Block {
    pub(crate) fn new(start: u64, events_before: u64) -> Self {
        Self { start, events_before, times: None }
    }

    pub(crate) fn add_time(&mut self, TimeNs(time): TimeNs) {
        let (min, max) = self.times.unwrap_or((time, time));
        self.times = Some((min.min(time), max.max(time)));
    }

    /// Returns true if events of a range of time may be in it.
    pub(crate) fn overlaps(&self, window: &Window) -> bool {
        if window.from.is_none() && window.until.is_none() {
            return true;
        }
        self.times.is_some_and(|(min, max)| {
            window.from.is_none_or(|from| from.0 <= max)
                && window.until.is_none_or(|until| min < until.0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_looked_into_only_where_its_times_are_asked_for() {
        let mut block = Block::new(0, 0);
        let window = |from: i64, until: i64| Window {
            from: Some(TimeNs(from)),
            until: Some(TimeNs(until)),
            ..Window::default()
        };
        assert!(block.overlaps(&Window::default()) && !block.overlaps(&window(0, 9)));
        block.add_time(TimeNs(20));
        block.add_time(TimeNs(10));
        assert!(block.overlaps(&window(20, 21)) && block.overlaps(&window(0, 11)));
        assert!(!block.overlaps(&window(21, 30)) && !block.overlaps(&window(0, 10)));
    }
}
