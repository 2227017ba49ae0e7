//! What must hold over a recording, and where it does not.

mod follow;

use std::collections::BTreeMap;

use kymo_core::Value;
use kymo_core::model::timeline::{Activity, Content, Event, TimeNs, Track, TrackId};

use crate::sched::Progress;
use crate::{Load, Messages, Pass, Sched, Seen, Tasks, elapsed};
use follow::Follow;

/// Violations that are told one by one; the rest are counted.
const TOLD_MAX: usize = 1000;

/// Decides whether a name or a text is meant.
pub type Matcher = Box<dyn Fn(&str) -> bool + Send>;

/// What must hold.
pub struct Rule {
    /// What people call it.
    pub name: String,
    /// What it is about.
    pub demand: Demand,
}

/// What is demanded. Limits are the largest that are allowed, in nanoseconds.
pub enum Demand {
    /// Jobs of tasks are quick.
    Task {
        /// Which tasks.
        task: Matcher,
        /// From release to completion.
        response_max: Option<u64>,
        /// From release to the first stretch.
        delay_max: Option<u64>,
        /// How long a job runs.
        run_max: Option<u64>,
        /// No job is later than its budget.
        on_time: bool,
        /// The part of a processor's time that a task may use.
        load_max: Option<f64>,
    },
    /// Events of streams come often.
    Gap {
        /// Which streams.
        stream: Matcher,
        /// From one event to the next.
        gap_max: u64,
    },
    /// Numbers of streams stay within bounds.
    Value {
        /// Which streams.
        stream: Matcher,
        /// The smallest.
        min: Option<f64>,
        /// The largest.
        max: Option<f64>,
    },
    /// One thing follows another.
    Follows {
        /// What starts the time.
        after: Meant,
        /// What must come.
        expect: Meant,
        /// How soon.
        within: u64,
    },
    /// Messages arrive, and soon.
    Message {
        /// Which, by their names.
        message: Matcher,
        /// From one end to the other.
        latency_max: u64,
    },
    /// State machines do not stay in a state for too long, or never enter it.
    State {
        /// Which machines.
        machine: Matcher,
        /// Which states.
        state: Matcher,
        /// How long they may last.
        stay_max: u64,
    },
}

/// Which events are meant: those of some streams, with some text.
pub struct Meant {
    /// Which streams.
    pub stream: Matcher,
    /// What they say.
    pub text: Option<Matcher>,
}

impl Meant {
    fn is(&self, tracks: &[Track], event: &Event<'_>) -> bool {
        let name = tracks.get(event.track.0).map_or("", |track| &track.name);
        (self.stream)(name) && self.text.as_ref().is_none_or(|text| text(&text_of(event)))
    }
}

/// What an event says.
fn text_of(event: &Event<'_>) -> String {
    match &event.content {
        Content::Value(value) => value.to_string(),
        Content::Text(text) => text.to_string(),
        Content::Activity(activity) => activity.to_string(),
        Content::Sample(context) => context.to_string(),
        Content::Payload => String::new(),
    }
}

/// Where a rule does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule's place among all.
    pub rule: usize,
    /// When.
    pub time: Option<TimeNs>,
    /// On which track.
    pub track: Option<TrackId>,
    /// The byte of the event that shows it.
    pub offset: Option<u64>,
    /// What is wrong.
    pub message: String,
}

/// Looks whether rules hold.
pub struct Rules {
    tracks: Vec<Track>,
    all: Vec<(Rule, Memory)>,
    sched: Sched,
    messages: Messages,
    violations: Vec<Violation>,
    more: u64,
    latest: Option<TimeNs>,
}

/// What a rule has to remember.
#[derive(Default)]
struct Memory {
    /// Whether the rule is about a track at all.
    is_meant: Vec<bool>,
    last: BTreeMap<TrackId, (TimeNs, String)>,
    follow: Follow,
}

impl Rules {
    /// Rules for a timeline with such tracks.
    #[must_use]
    pub fn new(tracks: &[Track], rules: Vec<Rule>) -> Self {
        let with_memory = |rule: Rule| {
            let matcher = match &rule.demand {
                Demand::Task { task, .. } => Some(task),
                Demand::Gap { stream, .. } | Demand::Value { stream, .. } => Some(stream),
                Demand::State { machine, .. } => Some(machine),
                Demand::Follows { .. } | Demand::Message { .. } => None,
            };
            let is_meant = |track: &Track| matcher.is_none_or(|is_meant| is_meant(&track.name));
            let is_meant = tracks.iter().map(is_meant).collect();
            (rule, Memory { is_meant, ..Memory::default() })
        };
        Self {
            tracks: tracks.to_vec(),
            all: rules.into_iter().map(with_memory).collect(),
            sched: Sched::new(),
            messages: Messages::new(),
            violations: Vec::new(),
            more: 0,
            latest: None,
        }
    }

    /// The rules that are about nothing in the timeline: probably a name is misspelt.
    #[must_use]
    pub fn idle(&self) -> Vec<usize> {
        let is_idle = |(_, memory): &(Rule, Memory)| !memory.is_meant.iter().any(|is| *is);
        let rules = self.all.iter().enumerate();
        rules.filter(|(_, rule)| is_idle(rule)).map(|(at, _)| at).collect()
    }

    /// The name of a rule.
    #[must_use]
    pub fn name(&self, rule: usize) -> &str {
        self.all.get(rule).map_or("", |(rule, _)| &rule.name)
    }

    /// How many rules there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are no rules.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// What is wrong, in the order in which it was found, and how much more there is. Loads are
    /// looked at last.
    #[must_use]
    pub fn finish(mut self, load: &Load, tasks: &Tasks) -> (Vec<Violation>, u64) {
        let mut found = Found { at: None, list: &mut self.violations, more: &mut self.more };
        for (index, (rule, memory)) in self.all.iter_mut().enumerate() {
            if let Demand::Task { task, load_max: Some(limit), .. } = &rule.demand {
                loads(index, task, *limit, load, tasks, &mut found);
            }
            if let (Demand::Follows { within, .. }, Some(latest)) = (&rule.demand, self.latest) {
                for due in memory.follow.overdue(latest) {
                    found.follow(index, &due, *within);
                }
            }
            if let (Demand::State { stay_max, .. }, Some(latest)) = (&rule.demand, self.latest) {
                for (track, (since, state)) in std::mem::take(&mut memory.last) {
                    let stay = elapsed(since, latest);
                    found.at = Some((since, track, None));
                    found.limit(index, &format!("{state} lasted"), stay, Some(*stay_max));
                }
            }
        }
        (self.violations, self.more)
    }
}

/// Violations as they are found.
struct Found<'a> {
    /// The event that shows them.
    at: Option<(TimeNs, TrackId, Option<u64>)>,
    list: &'a mut Vec<Violation>,
    more: &'a mut u64,
}

impl Found<'_> {
    fn add(&mut self, rule: usize, message: String) {
        if self.list.len() >= TOLD_MAX {
            *self.more += 1;
            return;
        }
        let (time, track) = (self.at.map(|at| at.0), self.at.map(|at| at.1));
        let offset = self.at.and_then(|at| at.2);
        self.list.push(Violation { rule, time, track, offset, message });
    }

    /// Adds a violation where a time is longer than it may be.
    fn limit(&mut self, rule: usize, what: &str, ns: u64, most: Option<u64>) {
        if let Some(most) = most.filter(|most| ns > *most) {
            self.add(rule, format!("{what} {ns} ns, more than {most} ns"));
        }
    }

    fn follow(&mut self, rule: usize, due: &follow::Due, within: u64) {
        self.at = Some((due.since, due.track, Some(due.offset)));
        self.add(rule, format!("nothing that is expected came within {within} ns"));
    }
}

fn loads(
    rule: usize,
    is_meant: &Matcher,
    limit: f64,
    load: &Load,
    tasks: &Tasks,
    found: &mut Found<'_>,
) {
    for cpu in load.cpus(tasks) {
        for of in cpu.tasks.iter().filter(|of| is_meant(tasks.name(of.task))) {
            #[allow(clippy::cast_precision_loss, reason = "a share has a few digits")]
            let share = of.run_ns as f64 / cpu.span_ns().max(1) as f64;
            if share > limit {
                let (name, on) = (tasks.name(of.task), tasks.cpu(cpu.cpu));
                let on = on.map_or("", |cpu| &cpu.name);
                let (share, limit) = (share * 100.0, limit * 100.0);
                found.at = None;
                found.add(rule, format!("{name} used {share:.1}% of {on}, more than {limit:.1}%"));
            }
        }
    }
}

impl Pass for Rules {
    fn event(&mut self, seen: &Seen<'_>) {
        self.latest = Some(self.latest.map_or(seen.time, |latest| latest.max(seen.time)));
        let (progress, sent) = (self.sched.take(seen), self.messages.take(seen));
        let track = seen.event.track;
        let at = Some((seen.time, track, Some(seen.event.offset)));
        let mut found = Found { at, list: &mut self.violations, more: &mut self.more };
        for (index, (rule, memory)) in self.all.iter_mut().enumerate() {
            if !memory.is_meant.get(track.0).copied().unwrap_or(false) {
                continue;
            }
            found.at = at;
            match &rule.demand {
                Demand::Task { .. } => {
                    let progress = progress.map(|(_, progress)| progress);
                    if let Some(progress) = progress {
                        job(index, &rule.demand, progress, &mut found);
                    }
                }
                Demand::Gap { gap_max, .. } => {
                    let before = memory.last.insert(track, (seen.time, String::new()));
                    if let Some((before, _)) = before {
                        found.limit(
                            index,
                            "nothing came for",
                            elapsed(before, seen.time),
                            Some(*gap_max),
                        );
                    }
                }
                Demand::Value { min, max, .. } => value(index, seen, *min, *max, &mut found),
                Demand::Follows { after, expect, within } => {
                    if expect.is(&self.tracks, seen.event) {
                        memory.follow.came(seen.time);
                    }
                    for due in memory.follow.overdue(seen.time) {
                        found.follow(index, &due, *within);
                    }
                    if after.is(&self.tracks, seen.event) {
                        memory.follow.wait(seen.time, *within, track, seen.event.offset);
                    }
                }
                Demand::Message { message, latency_max } => {
                    let sent = sent.as_ref().filter(|sent| message(&sent.name));
                    if let Some((left, sent)) = sent.and_then(|sent| Some((sent.left?, sent))) {
                        let took = elapsed(left, sent.arrived);
                        found.limit(
                            index,
                            &format!("{} took", sent.name),
                            took,
                            Some(*latency_max),
                        );
                    }
                }
                Demand::State { state, stay_max, .. } => {
                    let Content::Activity(Activity::Enter { state: entered, .. }) =
                        &seen.event.content
                    else {
                        continue;
                    };
                    if let Some((since, name)) = memory.last.remove(&track) {
                        let stay = elapsed(since, seen.time);
                        found.limit(index, &format!("{name} lasted"), stay, Some(*stay_max));
                    }
                    if state(entered) {
                        memory.last.insert(track, (seen.time, entered.to_string()));
                    }
                }
            }
        }
    }
}

/// Looks at a job of a task.
fn job(rule: usize, demand: &Demand, progress: Progress, found: &mut Found<'_>) {
    let Demand::Task { response_max, delay_max, run_max, on_time, .. } = demand else { return };
    match progress {
        Progress::Started(delay) => found.limit(rule, "waited", delay, *delay_max),
        Progress::Completed(job) => {
            if let Some(response) = job.response_ns {
                found.limit(rule, "answered after", response, *response_max);
            }
            found.limit(rule, "ran", job.run_ns, *run_max);
            if *on_time && job.is_late {
                found.add(rule, "was later than its budget".to_owned());
            }
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "a limit is compared")]
fn value(rule: usize, seen: &Seen<'_>, min: Option<f64>, max: Option<f64>, found: &mut Found<'_>) {
    let number = match &seen.event.content {
        Content::Value(Value::Int(number)) => *number as f64,
        Content::Value(Value::UInt(number)) => *number as f64,
        Content::Value(Value::Float32(number)) => f64::from(*number),
        Content::Value(Value::Float(number)) => *number,
        _ => return,
    };
    let is_low = min.is_some_and(|min| number < min);
    if is_low || max.is_some_and(|max| number > max) || number.is_nan() {
        found.add(rule, format!("{number} is out of bounds"));
    }
}

#[cfg(test)]
mod tests;
