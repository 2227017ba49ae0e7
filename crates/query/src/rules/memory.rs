//! Memory of a rule.

use std::collections::{BTreeMap, BTreeSet};

use kymo_model::timeline::{TimeNs, Track, TrackId, TrackKind};

use super::checked_counts::CheckedCounts;
use super::deadlines::Deadlines;
use super::rule_tracks::{Era, RuleTracks};
use super::violations::RuleViolations;
use super::{Demand, EventSelector, Matcher, VacuousRule};
use crate::elapsed;
use crate::tasks::{TaskId, Tasks};

/// Memory of a rule.
#[derive(Default)]
pub(super) struct RuleState {
    /// Flags of the chosen tracks that the rule is about.
    is_meant: Vec<bool>,
    /// On which of them what must follow comes.
    is_expected: Vec<bool>,
    /// Reason why the event that must follow cannot be waited for, though it is recorded.
    blind: Option<&'static str>,
    /// Flags of the tasks that it is about, as far as they were looked at.
    tasks: Vec<Option<bool>>,
    /// Number of cases that it is about.
    pub(super) matched: u64,
    pub(super) judged: CheckedCounts,
    /// The first event of a track; of a task, of the one that stands for all of its tracks.
    pub(super) first: BTreeMap<TrackId, TimeNs>,
    /// The last event of a track, or the state that it is in, since when.
    pub(super) last: BTreeMap<TrackId, (TimeNs, String)>,
    pub(super) follow: Deadlines,
}

impl RuleState {
    pub(super) fn new(demand: &Demand, tracks: &[Track], chosen: &RuleTracks) -> Self {
        let is_meant = |track: &Track| match demand {
            Demand::Gap { stream, .. } | Demand::Value { stream, .. } => stream(&track.name),
            Demand::Follows { after, .. } => (after.stream)(&track.name),
            Demand::State { machine, .. } => {
                machine(&track.name) && track.kind == TrackKind::States
            }
            Demand::Task { .. } | Demand::Message { .. } => false,
        };
        let is_expected = |track: &Track| match demand {
            Demand::Follows { expect, .. } => (expect.stream)(&track.name),
            _ => false,
        };
        let among = |is_one: &dyn Fn(&Track) -> bool| -> Vec<bool> {
            let tracks = tracks.iter().enumerate();
            tracks.map(|(id, track)| chosen.contains(TrackId(id)) && is_one(track)).collect()
        };
        let (meant, expected) = (among(&is_meant), among(&is_expected));
        let mut memory = Self { is_meant: meant, is_expected: expected, ..Self::default() };
        if tracks.iter().any(is_expected) {
            memory.keep_comparable(chosen);
        }
        memory
    }

    /// Keeps tracks whose events can come after each other: times of clocks that begin elsewhere say
    /// nothing of that.
    fn keep_comparable(&mut self, chosen: &RuleTracks) {
        let eras = |flags: &[bool]| -> BTreeSet<Era> {
            let tracks = flags.iter().enumerate().filter(|(_, is_one)| **is_one);
            tracks.map(|(id, _)| chosen.era(TrackId(id))).collect()
        };
        let (meant, expected) = (eras(&self.is_meant), eras(&self.is_expected));
        if expected.is_empty() {
            self.blind = Some("are not chosen");
        } else if !meant.is_empty() && meant.is_disjoint(&expected) {
            self.blind = Some("are on other clocks, whose times cannot be compared");
        }
        for (id, is_meant) in self.is_meant.iter_mut().enumerate() {
            *is_meant &= expected.contains(&chosen.era(TrackId(id)));
        }
    }

    pub(super) fn is_selected(&self, track: TrackId) -> bool {
        self.is_meant.get(track.0).copied().unwrap_or(false)
    }

    /// Returns true if what must follow comes on a track.
    pub(super) fn expects(&self, track: TrackId) -> bool {
        self.is_expected.get(track.0).copied().unwrap_or(false)
    }

    /// The tracks that it is about.
    pub(super) fn tracks(&self) -> impl Iterator<Item = TrackId> {
        let tracks = self.is_meant.iter().enumerate().filter(|(_, is_meant)| **is_meant);
        tracks.map(|(id, _)| TrackId(id))
    }

    pub(super) fn is_task_selected(
        &mut self,
        task: TaskId,
        names: &Matcher,
        tasks: &Tasks,
    ) -> bool {
        if self.tasks.len() <= task.0 {
            self.tasks.resize(task.0 + 1, None);
        }
        let Some(known) = self.tasks.get_mut(task.0) else { return false };
        *known.get_or_insert_with(|| names(tasks.name(task)))
    }

    /// A machine enters a state that the rule is about.
    pub(super) fn enter(&mut self, track: TrackId, time: TimeNs, state: &str) {
        self.matched += 1;
        self.last.insert(track, (time, state.to_owned()));
    }

    /// A machine leaves the state it is in, or the recording ends.
    pub(super) fn leave(
        &mut self,
        track: TrackId,
        time: TimeNs,
        most: u64,
        found: &mut RuleViolations<'_>,
    ) {
        if let Some((since, state)) = self.last.remove(&track) {
            found.limit(&format!("{state} lasted"), elapsed(since, time), most);
        }
    }

    /// Returns the parts of the rule for which there are no cases.
    pub(super) fn vacuous(&self, rule: usize, demand: &Demand) -> Vec<VacuousRule> {
        let has_track = self.is_meant.contains(&true);
        let is_nothing = self.matched == 0;
        let (why, is_suspect) = match demand {
            Demand::Task { .. } if is_nothing => ("no task of it did anything", true),
            Demand::Task { .. } => return self.judged.vacuous(rule, demand),
            Demand::Gap { .. } | Demand::Value { .. } if !has_track => {
                ("there is no such stream", true)
            }
            Demand::State { .. } if !has_track => ("there is no such state machine", true),
            Demand::Value { .. } if is_nothing => ("its streams have no numbers", true),
            Demand::Message { .. } if is_nothing => ("there is no such message", true),
            Demand::Follows { after, expect, .. } => {
                return self.unfollowed(rule, after, expect).into_iter().collect();
            }
            Demand::State { .. } if is_nothing => ("such a state was never entered", false),
            _ => return Vec::new(),
        };
        vec![VacuousRule { rule, part: None, why: why.to_owned(), is_suspect }]
    }

    /// Returns the reason why a rule that something must follow has no cases.
    fn unfollowed(
        &self,
        rule: usize,
        after: &EventSelector,
        expect: &EventSelector,
    ) -> Option<VacuousRule> {
        let suspect = |why| Some(VacuousRule { rule, part: None, why, is_suspect: true });
        if let Some(why) = self.blind {
            return suspect(format!("streams of {} {why}", expect.name));
        }
        if !self.is_meant.contains(&true) {
            return suspect(format!("there is no stream of {}", after.name));
        }
        if !self.is_expected.contains(&true) {
            return suspect(format!("there is no stream of {}", expect.name));
        }
        let why = format!("{} never came", after.name);
        (self.matched == 0).then_some(VacuousRule { rule, part: None, why, is_suspect: false })
    }
}
