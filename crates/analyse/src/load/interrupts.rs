//! What interrupts used of processors.

use kymo_core::model::timeline::TimeNs;

use super::{Buckets, Ran, Spread};
use crate::{Interrupt, InterruptRun};

/// The interrupts of a processor. One within another is a part of that.
#[derive(Debug, Default)]
pub(super) struct Interrupts {
    /// How many are under way, one within another.
    under_way: usize,
    since: Option<TimeNs>,
    /// When the last ended. Where times go back, what comes then counts from there.
    ended: Option<TimeNs>,
    ran: Ran,
    /// How many have no end that is known.
    lost: u64,
    /// How many ended that did not begin.
    unbegun: u64,
}

impl Interrupts {
    /// So many are under way when the window begins.
    pub(super) fn standing(under_way: usize, begin: TimeNs) -> Self {
        Self { under_way, since: Some(begin), ..Self::default() }
    }

    pub(super) fn take(&mut self, of: Interrupt, time: TimeNs, buckets: Option<Buckets>) {
        self.lost += of.lost;
        match of.run {
            InterruptRun::Begins => {
                self.under_way = of.around + 1;
                if of.around == 0 {
                    self.since = Some(time).max(self.ended);
                }
            }
            InterruptRun::Ends if of.around == 0 => self.end(time, buckets),
            InterruptRun::Ends => self.under_way = of.around,
            InterruptRun::Unbegun => self.unbegun += 1,
        }
    }

    /// Whatever is under way ends.
    pub(super) fn end(&mut self, time: TimeNs, buckets: Option<Buckets>) {
        self.under_way = 0;
        if let Some(since) = self.since.take().filter(|since| *since <= time) {
            self.ran.add(since, time, buckets);
            self.ended = Some(time);
        }
    }

    /// A task begins to run, or the recording is over after the last one did: nothing tells when that
    /// ended which is under way since before.
    pub(super) fn lose(&mut self, time: TimeNs) {
        if self.since.take().is_some_and(|since| since <= time) {
            self.lost += self.under_way as u64;
        }
        self.under_way = 0;
    }

    /// How many have no end that is known.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// How many ended that did not begin.
    pub(super) fn unbegun(&self) -> u64 {
        self.unbegun
    }

    /// What they used, where there were any.
    pub(super) fn load(&self) -> Option<InterruptLoad> {
        let Ran { ns: run_ns, stretches, ref buckets } = self.ran;
        let buckets = buckets.clone();
        (stretches > 0).then_some(InterruptLoad { run_ns, stretches, buckets })
    }
}

/// What the interrupts of a processor used of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterruptLoad {
    /// How long they took; that is also time of the tasks which they interrupted.
    pub run_ns: u64,
    /// How many there were, without those within others.
    pub stretches: u64,
    /// How long within each bucket.
    pub buckets: Spread,
}

impl InterruptLoad {
    pub(super) fn add(&mut self, other: &Self) {
        self.run_ns = self.run_ns.saturating_add(other.run_ns);
        self.stretches += other.stretches;
        self.buckets.add_all(&other.buckets);
    }
}
