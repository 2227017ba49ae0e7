//! Times when no task ran on a processor, as long as other events may yet give more about them.

use std::collections::BTreeMap;

use kymo_model::timeline::TimeNs;

/// So many of the last are kept; of those before, nobody is taken to have run.
const GAPS_MAX: usize = 1 << 10;

/// Times when nobody ran on a processor. Where times go back, what is told then may be of them: the
/// log has its parts in another order, and who ran is not known.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    /// Since when nobody runs.
    since: Option<TimeNs>,
    /// The ends of gaps by their begins.
    all: BTreeMap<TimeNs, TimeNs>,
    /// Number of gaps.
    count: u64,
    /// Time of the last switch, and the latest time.
    times: Option<(TimeNs, TimeNs)>,
}

impl Gaps {
    /// Takes a switch that lets a task run or stops one. Before the first that lets one run, nobody may
    /// be known to since a moment. Tells in which gaps a task ran since the switch before, where that is earlier than another.
    pub(super) fn switch(
        &mut self,
        time: TimeNs,
        begins: bool,
        nobody_since: Option<TimeNs>,
    ) -> Vec<(TimeNs, TimeNs)> {
        if self.times.is_none() && begins {
            self.since = nobody_since;
        }
        let (before, latest) = self.times.unwrap_or((time, time));
        let is_told_again = before < latest && self.since.is_none();
        let ran = if is_told_again { self.take(before, time.min(latest)) } else { Vec::new() };
        let now = time.max(latest);
        self.times = Some((time, now));
        if let (Some(since), true) = (self.since.take().filter(|since| *since < now), begins) {
            self.count += 1;
            self.all.insert(since, now);
            if self.all.len() > GAPS_MAX {
                self.all.pop_first();
            }
        }
        self.since = (!begins).then_some(now);
        ran
    }

    /// Nobody begins to run until the window ends.
    pub(super) fn end(&mut self, until: TimeNs) {
        self.count += u64::from(self.since.take().is_some_and(|since| since < until));
    }

    /// Returns the number of gaps.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Takes out what is between two moments.
    fn take(&mut self, from: TimeNs, to: TimeNs) -> Vec<(TimeNs, TimeNs)> {
        let before = self.all.range(..to).rev().map(|(since, until)| (*since, *until));
        let found: Vec<_> = before.take_while(|(_, until)| *until > from).collect();
        for (since, until) in &found {
            self.all.remove(since);
            if *since < from {
                self.all.insert(*since, from);
            }
            if *until > to {
                self.all.insert(to, *until);
            }
        }
        found.into_iter().map(|(since, until)| (since.max(from), until.min(to))).collect()
    }
}
