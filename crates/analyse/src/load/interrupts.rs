//! What interrupts used of processors.

use kymo_core::model::timeline::{Activity, TimeNs};

use super::{Buckets, Ran, add_buckets};

/// The interrupts of a processor. One within another is a part of that.
#[derive(Debug, Default)]
pub(super) struct Interrupts {
    under_way: u32,
    since: Option<TimeNs>,
    ran: Ran,
}

impl Interrupts {
    /// So many are under way when the window begins.
    pub(super) fn standing(under_way: u32, begin: TimeNs) -> Self {
        Self { under_way, since: Some(begin), ran: Ran::default() }
    }

    pub(super) fn take(&mut self, activity: &Activity<'_>, time: TimeNs, buckets: Option<Buckets>) {
        match activity {
            Activity::Begin { .. } => {
                if self.under_way == 0 {
                    self.since = Some(time);
                }
                self.under_way = self.under_way.saturating_add(1);
            }
            Activity::End if self.under_way > 1 => self.under_way -= 1,
            Activity::End => self.end(time, buckets),
            _ => {}
        }
    }

    /// Whatever is under way ends.
    pub(super) fn end(&mut self, time: TimeNs, buckets: Option<Buckets>) {
        self.under_way = 0;
        if let Some(since) = self.since.take().filter(|since| *since <= time) {
            self.ran.add(since, time, buckets);
        }
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
    pub buckets: Vec<u64>,
}

impl InterruptLoad {
    pub(super) fn add(&mut self, other: &Self) {
        self.run_ns = self.run_ns.saturating_add(other.run_ns);
        self.stretches += other.stretches;
        add_buckets(&mut self.buckets, &other.buckets);
    }
}
