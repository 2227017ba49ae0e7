//! Times that go back within a stream: whoever reads its events says so.

use kymo_core::Finding;

use super::packet_reader::{Head, PacketReader};
use super::{Place, Reader};

const TIME_ORDER: &str = "time-order";

/// The latest time of a stream as far as it was read, and how often another is before it. One wrong
/// time makes all that come after it too early.
#[derive(Debug)]
pub(super) struct Order {
    latest_ns: i64,
    count: u64,
    /// The stream, and the first time.
    first: Option<(usize, Finding)>,
}

impl Order {
    pub(super) fn new() -> Self {
        Self { latest_ns: i64::MIN, count: 0, first: None }
    }

    /// Sees the next event.
    #[inline]
    pub(super) fn add_event(&mut self, within: &PacketReader<'_>, head: &Head) {
        let Some(time) = head.time_ns else { return };
        if time < self.latest_ns {
            self.add_backward_time(within, head, time);
        }
        self.latest_ns = self.latest_ns.max(time);
    }

    /// Says the first time at once: not everybody reads on to the end.
    #[cold]
    fn add_backward_time(&mut self, within: &PacketReader<'_>, head: &Head, time: i64) {
        self.count += 1;
        if self.first.is_none() {
            let by = self.latest_ns.abs_diff(time);
            let finding = within.warning(head, TIME_ORDER, format!("time goes back by {by} ns"));
            self.first = Some((within.packet.track, finding));
            self.report(within.reader);
        }
    }

    /// Says how often, at the end of the stream.
    pub(super) fn report(&self, reader: &Reader) {
        let Some((track, first)) = &self.first else { return };
        reader.warn_backward_times(*track, self.count, first);
    }
}

impl Reader {
    /// Takes note that times of a stream go back. Who reads a part of it knows of some only.
    fn warn_backward_times(&self, track: usize, count: u64, first: &Finding) {
        let mut findings = self.lock_findings();
        let known = findings.back.entry(track).or_default();
        if count <= *known {
            return;
        }
        *known = count;
        let mut finding = first.clone();
        if count > 1 {
            finding.message = format!("{} ({count} times)", finding.message);
        }
        findings.add(Place::Track(track, TIME_ORDER), finding, self.limits.findings_max);
    }
}
