//! What interrupts used of processors.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use kymo_core::model::timeline::{Activity, TimeNs};

use super::{Buckets, Ran, Spread};

/// Interrupts within each other that are told apart; of more, the innermost are one.
const DEPTH_MAX: usize = 64;

/// The interrupts of a processor. One within another is a part of that.
#[derive(Debug, Default)]
pub(super) struct Interrupts {
    /// Which are under way, one within another; nothing where that is not known.
    under_way: Vec<Option<u64>>,
    since: Option<TimeNs>,
    /// When the last ended. Where times go back, what comes then counts from there.
    ended: Option<TimeNs>,
    ran: Ran,
    names: RandomState,
    /// How many have no end that is known.
    lost: u64,
}

impl Interrupts {
    /// So many are under way when the window begins.
    pub(super) fn standing(under_way: u32, begin: TimeNs) -> Self {
        let under_way = usize::try_from(under_way).unwrap_or(DEPTH_MAX).min(DEPTH_MAX);
        Self { under_way: vec![None; under_way], since: Some(begin), ..Self::default() }
    }

    pub(super) fn take(&mut self, activity: &Activity<'_>, time: TimeNs, buckets: Option<Buckets>) {
        match activity {
            Activity::Begin { name, .. } => self.begin(name.as_deref(), time),
            // Tracers do not name what ends: a name is that of what a converter took it for.
            Activity::End | Activity::EndOf { .. } if self.under_way.len() > 1 => {
                self.under_way.pop();
            }
            Activity::End | Activity::EndOf { .. } => self.end(time, buckets),
            _ => {}
        }
    }

    /// An interrupt does not interrupt itself: where it comes again, its end is missing, and how long
    /// it and those within took is not known.
    fn begin(&mut self, name: Option<&str>, time: TimeNs) {
        let which = name.map(|name| self.names.hash_one(name));
        let before = self.under_way.iter().position(|of| of.is_some() && *of == which);
        if let Some(before) = before {
            self.lost += (self.under_way.len() - before) as u64;
            self.under_way.truncate(before);
        }
        if self.under_way.is_empty() {
            self.since = Some(time).max(self.ended);
        }
        if self.under_way.len() < DEPTH_MAX {
            self.under_way.push(which);
        }
    }

    /// Whatever is under way ends.
    pub(super) fn end(&mut self, time: TimeNs, buckets: Option<Buckets>) {
        self.under_way.clear();
        if let Some(since) = self.since.take().filter(|since| *since <= time) {
            self.ran.add(since, time, buckets);
            self.ended = Some(time);
        }
    }

    /// A task begins to run, or the recording is over after the last one did: nothing tells when that
    /// ended which is under way since before.
    pub(super) fn lose(&mut self, time: TimeNs) {
        if self.since.take().is_some_and(|since| since <= time) {
            self.lost += self.under_way.len() as u64;
        }
        self.under_way.clear();
    }

    /// How many have no end that is known.
    pub(super) fn lost(&self) -> u64 {
        self.lost
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
