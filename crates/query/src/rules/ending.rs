//! Events that have not come when the recording ends.

use std::collections::{BTreeMap, BTreeSet};

use super::memory::RuleState;
use super::rule_tracks::RuleTracks;
use super::violations::RuleViolations;
use super::{Demand, Matcher};
use crate::bounds::Bounds;
use crate::messages::Messages;
use crate::sched::{Open, Sched};
use crate::tasks::{TaskId, Tasks};
use crate::{CpuLoad, Load, ResolvedEvent, elapsed};

/// Facts that are known when all is seen.
pub(super) struct Ending<'a> {
    pub(super) bounds: &'a Bounds,
    pub(super) tasks: &'a Tasks,
    pub(super) chosen: &'a RuleTracks,
    pub(super) sched: &'a Sched,
    pub(super) messages: &'a Messages,
}

impl RuleState {
    /// Looks at jobs that are not complete, at silence up to the end and from the begin, at messages
    /// that did not arrive, and at states that last.
    pub(super) fn end(
        &mut self,
        demand: &Demand,
        ending: &Ending<'_>,
        found: &mut RuleViolations<'_>,
    ) {
        match demand {
            Demand::Task { task, .. } => {
                for (task_id, open) in ending.sched.open() {
                    if ending.chosen.has_task(task_id, ending.tasks)
                        && self.is_task_selected(task_id, task, ending.tasks)
                    {
                        self.judged.jobs += 1;
                        self.open_job(demand, task_id, open, ending, found);
                    }
                }
            }
            Demand::Gap { gap_max, .. } => self.silence(*gap_max, ending, found),
            Demand::Follows { expect, within, .. } => {
                for due in self.follow.take_remaining() {
                    let end = ending.bounds.time_range(due.track).map(|(_, end)| end);
                    if end.is_some_and(|end| due.until < end) {
                        found.due(&due, expect, *within);
                    }
                }
            }
            Demand::Message { message, latency_max } => {
                lost_messages(message, *latency_max, ending, found);
            }
            Demand::State { stay_max, .. } => self.stay(*stay_max, ending.bounds, found),
            Demand::Value { .. } => {}
        }
    }

    /// Events are missing from here on: looks at what lasts up to there, and waits for nothing that may
    /// come where nothing tells.
    pub(super) fn cut(
        &mut self,
        demand: &Demand,
        seen: &ResolvedEvent<'_>,
        chosen: &RuleTracks,
        found: &mut RuleViolations<'_>,
    ) {
        if seen.events_missing_from().is_none() {
            return;
        }
        let lacking = self.last.iter().filter(|(track, _)| seen.may_miss_events(**track));
        let lacking: Vec<_> = lacking.map(|(track, (since, _))| (*track, *since)).collect();
        for (track, since) in lacking {
            match demand {
                Demand::State { stay_max, .. } => {
                    self.leave(track, seen.time, *stay_max, found.set_site(since, track));
                }
                Demand::Gap { gap_max, .. } => {
                    self.last.remove(&track);
                    let silence = elapsed(since, seen.time);
                    found.set_site(since, track).limit("nothing came for", silence, *gap_max);
                }
                _ => {}
            }
        }
        self.follow.forget(chosen.era(seen.event.track));
    }

    fn silence(&self, gap_max: u64, ending: &Ending<'_>, found: &mut RuleViolations<'_>) {
        // A task is one stream, on whichever processor it does something.
        let streams: BTreeSet<_> = self.tracks().map(|track| ending.tasks.home(track)).collect();
        for track in streams {
            let Some((begin, end)) = ending.bounds.time_range(track) else { continue };
            let first = self.first.get(&track).copied().unwrap_or(end);
            found.set_site(begin, track).limit("nothing came for", elapsed(begin, first), gap_max);
            if let Some((last, _)) = self.last.get(&track) {
                let gap = elapsed(*last, end);
                found.set_site(*last, track).limit("nothing came any more for", gap, gap_max);
            }
        }
    }

    fn stay(&mut self, stay_max: u64, bounds: &Bounds, found: &mut RuleViolations<'_>) {
        let tracks: Vec<_> = self.last.iter().map(|(track, (since, _))| (*track, *since)).collect();
        for (track, since) in tracks {
            if let Some((_, end)) = bounds.time_range(track) {
                self.leave(track, end, stay_max, found.set_site(since, track));
            }
        }
    }

    /// Looks at a job that is not complete: one whose time is not over proves nothing yet.
    fn open_job(
        &mut self,
        demand: &Demand,
        task_id: TaskId,
        Open { release, is_started, run_ns }: Open,
        Ending { bounds, tasks, .. }: &Ending<'_>,
        found: &mut RuleViolations<'_>,
    ) {
        let Demand::Task { response_max, delay_max, run_max, on_time, .. } = demand else { return };
        let Some(home) = tasks.get(task_id).map(|task| task.home) else { return };
        let Some((_, end)) = bounds.time_range(home) else { return };
        let (waited, judged) = (elapsed(release.time, end), &mut self.judged);
        found.set_site(release.time, home);
        let is_slow = found.maybe_limit("was not complete after", waited, *response_max);
        judged.responses += u64::from(is_slow);
        let is_long = found.maybe_limit("was not complete and ran", run_ns, *run_max);
        judged.runs += u64::from(is_long);
        if !is_started {
            judged.delays += u64::from(found.maybe_limit("did not run for", waited, *delay_max));
        }
        judged.open_budgets += u64::from(release.budget().is_some());
        if *on_time && release.is_late(end) {
            judged.budgets += 1;
            found.add("was not complete when its budget was over".to_owned());
        }
    }

    /// Compares loads with what is allowed. A task may move between the processors of its recording,
    /// so that they are looked at together.
    pub(super) fn loads(
        &mut self,
        demand: &Demand,
        load: &Load,
        tasks: &Tasks,
        chosen: &RuleTracks,
        found: &mut RuleViolations<'_>,
    ) {
        let Demand::Task { task, load_max: Some(limit), .. } = demand else { return };
        for cpus in recording_processors(load.cpus(tasks), tasks).values() {
            let Some(all) = CpuLoad::together(cpus, tasks) else { continue };
            let is_meant =
                |task_id: TaskId| chosen.has_task(task_id, tasks) && task(tasks.name(task_id));
            for task_load in all.tasks.iter().filter(|item| is_meant(item.task)) {
                self.matched += 1;
                self.judged.loads += 1;
                #[allow(clippy::cast_precision_loss, reason = "a share has a few digits")]
                let share = task_load.run_ns as f64 / all.longest_ns().max(1) as f64;
                if share > *limit {
                    let (name, on) =
                        (tasks.name(task_load.task), place(task_load.task, cpus, tasks));
                    let (share, limit) = percents(share, *limit);
                    let used = format!("{name} used {share} of a processor's time on {on}");
                    found.add(format!("{used}, more than {limit}"));
                }
            }
        }
    }
}

/// Two shares that differ, with as many digits as it takes to see that.
fn percents(one: f64, other: f64) -> (String, String) {
    let shown = |share: f64, digits: usize| format!("{:.digits$}%", share * 100.0);
    let pairs = (1..=17).map(|digits| (shown(one, digits), shown(other, digits)));
    let mut pairs = pairs.skip_while(|(one, other)| one == other);
    pairs.next().unwrap_or_else(|| (one.to_string(), other.to_string()))
}

/// The processors of each recording.
fn recording_processors(cpus: Vec<CpuLoad>, tasks: &Tasks) -> BTreeMap<usize, Vec<CpuLoad>> {
    let mut of_recording: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for cpu in cpus {
        let recording = tasks.cpu(cpu.cpu).map_or(0, |cpu| cpu.recording);
        of_recording.entry(recording).or_default().push(cpu);
    }
    of_recording
}

/// Describes the processors on which a task ran.
fn place(task: TaskId, cpus: &[CpuLoad], tasks: &Tasks) -> String {
    let ran_on = |cpu: &&CpuLoad| cpu.tasks.iter().any(|task_load| task_load.task == task);
    let cpus: Vec<_> = cpus.iter().filter(ran_on).collect();
    match cpus[..] {
        [cpu] => tasks.cpu(cpu.cpu).map_or(String::new(), |cpu| cpu.name.clone()),
        _ => format!("{} processors together", cpus.len()),
    }
}

fn lost_messages(
    is_meant: &Matcher,
    most: u64,
    ending: &Ending<'_>,
    found: &mut RuleViolations<'_>,
) {
    for (key, left) in ending.messages.pending().filter(|(key, _)| is_meant(&key.name)) {
        let Some(from) = key.from.filter(|from| ending.chosen.contains(*from)) else { continue };
        let Some((_, end)) = ending.bounds.time_range(from) else { continue };
        if elapsed(left, end) > most {
            found.set_site(left, from).missing(format!("{} did not arrive within", key.name), most);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_that_differ_are_seen_to() {
        let shown = |one, other| {
            let (one, other) = percents(one, other);
            format!("{one} {other}")
        };
        assert_eq!(shown(0.125, 0.1), "12.5% 10.0%");
        assert_eq!(shown(0.1, 0.0999), "10.00% 9.99%");
        assert_eq!(shown(0.100_001, 0.1), "10.0001% 10.0000%");
    }
}
