//! Meaning of an event for a rule.

use kymo_model::timeline::{Activity, Content, TimeNs, TrackId};

use super::memory::RuleState;
use super::number::Number;
use super::rule_tracks::RuleTracks;
use super::violations::RuleViolations;
use super::{Demand, EventSelector, Matcher};
use crate::messages::{DeliveredMessage, MessageEnd, SentMessage};
use crate::sched::Progress;
use crate::{ResolvedEvent, elapsed};

/// An event, and what it is to jobs and messages.
pub(super) struct CurrentEvent<'a> {
    pub(super) seen: &'a ResolvedEvent<'a>,
    pub(super) progress: Option<Progress>,
    pub(super) moved: Option<&'a MessageEnd>,
    pub(super) chosen: &'a RuleTracks,
}

impl RuleState {
    /// Looks at an event of a track that is chosen.
    pub(super) fn event(
        &mut self,
        demand: &Demand,
        now: &CurrentEvent<'_>,
        found: &mut RuleViolations<'_>,
    ) {
        let seen = now.seen;
        let is_meant = self.is_selected(seen.event.track);
        match demand {
            Demand::Task { task, .. } => self.task(demand, task, now, found),
            Demand::Gap { gap_max, .. } if is_meant => self.gap(*gap_max, seen, found),
            Demand::Value { min, max, .. } if is_meant => self.value(*min, *max, seen, found),
            Demand::Follows { after, expect, within } => {
                self.follows((after, expect), *within, now, found);
            }
            Demand::Message { message, latency_max } => {
                self.message(message, *latency_max, now, found);
            }
            Demand::State { state, stay_max, .. } if is_meant => {
                self.state(state, *stay_max, seen, found);
            }
            _ => {}
        }
    }

    /// A machine is in a state when the window begins.
    pub(super) fn set_initial_state(
        &mut self,
        demand: &Demand,
        (track, state): (TrackId, &str),
        begin: TimeNs,
    ) {
        let Demand::State { state: is_meant, .. } = demand else { return };
        if self.is_selected(track) && is_meant(state) {
            self.enter(track, begin, state);
        }
    }

    fn task(
        &mut self,
        demand: &Demand,
        names: &Matcher,
        now: &CurrentEvent<'_>,
        found: &mut RuleViolations<'_>,
    ) {
        let Some((task_id, _)) = now.seen.task else { return };
        if !self.is_task_selected(task_id, names, now.seen.tasks) {
            return;
        }
        self.matched += 1;
        if let Some(progress) = now.progress {
            self.judged.jobs += 1;
            self.job(demand, progress, found);
        }
    }

    /// Looks at how a job went on.
    fn job(&mut self, demand: &Demand, progress: Progress, found: &mut RuleViolations<'_>) {
        let Demand::Task { response_max, delay_max, run_max, on_time, .. } = demand else { return };
        match progress {
            Progress::Started(delay) => {
                self.judged.delays += 1;
                found.maybe_limit("waited", delay, *delay_max);
            }
            Progress::Completed(job) => {
                if let Some(response) = job.response_ns {
                    self.judged.responses += 1;
                    found.maybe_limit("answered after", response, *response_max);
                }
                self.judged.runs += u64::from(job.is_run_known || job.run_ns > 0);
                let ran = if job.is_run_known { "ran" } else { "ran at least" };
                found.maybe_limit(ran, job.run_ns, *run_max);
                self.judged.budgets += u64::from(job.is_late.is_some());
                if *on_time && job.is_late == Some(true) {
                    found.add("was later than its budget".to_owned());
                }
            }
        }
    }

    /// A task is one stream, on whichever processor it does something.
    fn gap(&mut self, gap_max: u64, seen: &ResolvedEvent<'_>, found: &mut RuleViolations<'_>) {
        self.matched += 1;
        let (track, time) = (seen.tasks.home(seen.event.track), seen.time);
        self.first.entry(track).or_insert(time);
        if let Some((before, _)) = self.last.insert(track, (time, String::new())) {
            found.limit("nothing came for", elapsed(before, time), gap_max);
        }
    }

    fn value(
        &mut self,
        min: Option<Number>,
        max: Option<Number>,
        seen: &ResolvedEvent<'_>,
        found: &mut RuleViolations<'_>,
    ) {
        let Content::Value(value) = &seen.event.content else { return };
        let Some(number) = Number::from_value(value) else { return };
        self.matched += 1;
        if let Some(min) = min.filter(|min| number < *min) {
            found.add(format!("{number} is less than {min}"));
        }
        if let Some(max) = max.filter(|max| number > *max) {
            found.add(format!("{number} is more than {max}"));
        }
        if number.is_nan() {
            found.add("it is not a number".to_owned());
        }
    }

    fn follows(
        &mut self,
        (after, expect): (&EventSelector, &EventSelector),
        within: u64,
        now: &CurrentEvent<'_>,
        found: &mut RuleViolations<'_>,
    ) {
        let (event, time, era) =
            (now.seen.event, now.seen.time, now.chosen.era(now.seen.event.track));
        if self.expects(event.track) && expect.matches(event) {
            self.follow.fulfil(era, time);
        }
        for due in self.follow.overdue(era, time) {
            found.due(&due, expect, within);
        }
        if self.is_selected(event.track) && after.matches(event) {
            self.matched += 1;
            self.follow.wait(era, time, within, event.track, event.offset);
        }
    }

    fn message(
        &mut self,
        names: &Matcher,
        most: u64,
        now: &CurrentEvent<'_>,
        found: &mut RuleViolations<'_>,
    ) {
        let (name, took) = match now.moved {
            Some(MessageEnd::Sent(left)) => (&left.name, announced_latency(left)),
            Some(MessageEnd::Arrived(sent)) => (&sent.name, took(sent, most, now.chosen)),
            Some(MessageEnd::Untimed(_)) | None => return,
        };
        if names(name) {
            self.matched += 1;
            if let Some(took) = took {
                found.limit(&format!("{name} took"), took, most);
            }
        }
    }

    fn state(
        &mut self,
        states: &Matcher,
        most: u64,
        seen: &ResolvedEvent<'_>,
        found: &mut RuleViolations<'_>,
    ) {
        let Content::Activity(Activity::Enter { state, .. }) = &seen.event.content else { return };
        self.leave(seen.event.track, seen.time, most, found);
        if states(state) {
            self.enter(seen.event.track, seen.time, state);
        }
    }
}

/// Returns the duration of a message, as its sender gives it. For one that arrives later, that
/// proves nothing yet.
fn announced_latency(left: &SentMessage) -> Option<u64> {
    crate::took(left.time, left.arrives.filter(|_| !left.is_later)?)
}

/// Returns the duration of a message, unless its sender gave one and that was reported.
fn took(sent: &DeliveredMessage, most: u64, chosen: &RuleTracks) -> Option<u64> {
    let left = sent.left?;
    let is_seen = sent.id.is_some() && sent.from.is_some_and(|from| chosen.contains(from));
    let told = sent.told.filter(|_| is_seen).and_then(|told| crate::took(left, told));
    if told <= Some(most) { crate::took(left, sent.arrived) } else { None }
}
