//! Time that interrupts used of processors.

use kymo_model::timeline::TimeNs;

use super::{BucketTimes, Buckets, RunTime};
use crate::{InterruptChange, InterruptEvent, elapsed};

/// The interrupts of a processor. One within another is a part of that.
#[derive(Debug, Default)]
pub(super) struct Interrupts {
    /// Number of interrupts under way, one within another.
    under_way: usize,
    since: Option<TimeNs>,
    /// Time when the last ended. Where times go back, what comes then counts from there.
    ended: Option<TimeNs>,
    /// Part of the interrupts that is in the processor's time.
    ran: RunTime,
    /// Part that came before the processor's first switch, or after the last so far.
    later: UnconfirmedInterrupts,
    /// Duration before the processor's first switch, and after its last.
    outside_ns: u64,
    /// Number of interrupts without a known end.
    lost: u64,
    /// Number of interrupts that ended and did not begin.
    unbegun: u64,
}

/// Interrupts of which it is not known yet whether they are in the processor's time: the next switch
/// tells.
#[derive(Debug, Default)]
struct UnconfirmedInterrupts {
    ran: RunTime,
    /// From when to when they are.
    times: Option<KnownTimes>,
}

/// From when to when a processor is known.
pub(super) type KnownTimes = (TimeNs, TimeNs);

impl Interrupts {
    /// So many are under way when the window begins.
    pub(super) fn from_initial_state(under_way: usize, begin: TimeNs) -> Self {
        Self { under_way, since: Some(begin), ..Self::default() }
    }

    /// Takes what happens on a processor that is known from when to when.
    pub(super) fn take(
        &mut self,
        interrupt_event: InterruptEvent,
        time: TimeNs,
        known: Option<KnownTimes>,
        buckets: Option<Buckets>,
    ) {
        self.lost += interrupt_event.lost;
        match interrupt_event.run {
            InterruptChange::Begins => {
                self.under_way = interrupt_event.around + 1;
                if interrupt_event.around == 0 {
                    self.since = Some(time).max(self.ended);
                }
            }
            InterruptChange::Ends if interrupt_event.around == 0 => self.end(time, known, buckets),
            InterruptChange::Ends => self.under_way = interrupt_event.around,
            InterruptChange::Unbegun => self.unbegun += 1,
        }
    }

    /// Whatever is under way ends. What is in the processor's time counts, and what is behind it if
    /// the processor switches once more.
    pub(super) fn end(
        &mut self,
        time: TimeNs,
        known: Option<KnownTimes>,
        buckets: Option<Buckets>,
    ) {
        self.under_way = 0;
        let Some(since) = self.since.take().filter(|since| *since <= time) else { return };
        self.ended = Some(time);
        let Some((first, last)) = known.filter(|(_, last)| since < *last) else {
            return self.later.add(since, time, 1, buckets);
        };
        self.outside_ns = self.outside_ns.saturating_add(elapsed(since, first.min(time)));
        self.ran.add(since.max(first).min(time), last.min(time), buckets);
        if last < time {
            self.later.add(last, time, 0, buckets);
        }
    }

    /// The processor is known from when to when, now that it switched.
    pub(super) fn reach(&mut self, (first, last): KnownTimes) {
        let Some((since, until)) = self.later.times else { return };
        if first <= since && until <= last {
            self.ran.add_all(&std::mem::take(&mut self.later).ran);
        } else if until <= first {
            self.leave_outside();
        }
    }

    /// Counts what came last as outside the processor's time.
    pub(super) fn leave_outside(&mut self) {
        let later = std::mem::take(&mut self.later).ran.ns;
        self.outside_ns = self.outside_ns.saturating_add(later);
    }

    /// A task begins to run, or the recording is over after the last one did: nothing tells when that
    /// ended which is under way since before.
    pub(super) fn lose(&mut self, time: TimeNs) {
        if self.since.take().is_some_and(|since| since <= time) {
            self.lost += self.under_way as u64;
        }
        self.under_way = 0;
    }

    /// Nothing tells when that ends which is under way when the window does.
    pub(super) fn forget(&mut self) {
        (self.since, self.under_way) = (None, 0);
    }

    /// Returns the number of interrupts without a known end.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// Returns the number of interrupts that ended and did not begin.
    pub(super) fn unbegun(&self) -> u64 {
        self.unbegun
    }

    /// Returns the time that interrupts used, where there were any.
    pub(super) fn load(&self) -> Option<InterruptLoad> {
        let RunTime { ns: run_ns, stretches, ref buckets } = self.ran;
        let (outside_ns, buckets) = (self.outside_ns, buckets.clone());
        let is_any = stretches > 0 || outside_ns > 0;
        is_any.then_some(InterruptLoad { run_ns, outside_ns, stretches, buckets })
    }
}

impl UnconfirmedInterrupts {
    fn add(&mut self, since: TimeNs, until: TimeNs, stretches: u64, buckets: Option<Buckets>) {
        self.ran.add_part(since, until, buckets);
        self.ran.stretches += stretches;
        let (first, last) = self.times.unwrap_or((since, until));
        self.times = Some((first.min(since), last.max(until)));
    }
}

/// Time that the interrupts of a processor used of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterruptLoad {
    /// Duration of interrupts within the processor's time; that is also time of the tasks which
    /// they interrupted.
    pub run_ns: u64,
    /// Duration of interrupts besides, before the processor's first switch and after its last.
    pub outside_ns: u64,
    /// Number of interrupts, without those within others.
    pub stretches: u64,
    /// Duration within each bucket.
    pub buckets: BucketTimes,
}

impl InterruptLoad {
    pub(super) fn add(&mut self, other: &Self) {
        self.run_ns = self.run_ns.saturating_add(other.run_ns);
        self.outside_ns = self.outside_ns.saturating_add(other.outside_ns);
        self.stretches += other.stretches;
        self.buckets.add_all(&other.buckets);
    }
}
