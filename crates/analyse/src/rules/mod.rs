//! What must hold over a recording, and where it does not.

mod ending;
mod follow;
mod found;
mod memory;

use kymo_core::Value;
use kymo_core::model::timeline::{Activity, Content, Event, TimeNs, Track, TrackId};

use crate::bounds::Bounds;
use crate::messages::Moved;
use crate::sched::Progress;
use crate::{LeftOut, Load, Messages, Pass, Sched, Seen, Standing, Tasks, elapsed};
use found::{At, Found};
use memory::Memory;

pub use found::Violation;

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
    /// What people call them.
    pub name: String,
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

    fn has_stream(&self, tracks: &[Track]) -> bool {
        tracks.iter().any(|track| (self.stream)(&track.name))
    }
}

/// What an event says.
fn text_of(event: &Event<'_>) -> String {
    match &event.content {
        Content::Value(value) => value.to_string(),
        Content::Text(text) => text.to_string(),
        Content::Fields(fields) => fields.to_string(),
        Content::Activity(activity) => activity.to_string(),
        Content::Sample(context) => context.to_string(),
        Content::Payload => String::new(),
    }
}

/// Looks whether rules hold.
pub struct Rules {
    tracks: Vec<Track>,
    /// Which tracks are looked at; nothing means all.
    chosen: Option<Vec<bool>>,
    all: Vec<(Rule, Memory)>,
    sched: Sched,
    messages: Messages,
    found: Found,
}

/// A rule that nothing in the recording is about: it holds, and that proves nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vacuous {
    /// The rule's place among all.
    pub rule: usize,
    /// What it is about that is not there.
    pub why: String,
    /// Whether a name is probably misspelt. What a rule forbids may well never happen.
    pub is_suspect: bool,
}

impl Rules {
    /// Rules for a timeline with such tracks, all of them or those that are chosen.
    #[must_use]
    pub fn new(tracks: &[Track], chosen: Option<Vec<bool>>, rules: Vec<Rule>) -> Self {
        let found = Found::new(rules.len());
        let with_memory = |rule: Rule| {
            let memory = Memory::new(&rule.demand, tracks);
            (rule, memory)
        };
        Self {
            tracks: tracks.to_vec(),
            chosen,
            all: rules.into_iter().map(with_memory).collect(),
            sched: Sched::new(),
            messages: Messages::new(),
            found,
        }
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

    /// The rules that nothing is about.
    #[must_use]
    pub fn vacuous(&self) -> Vec<Vacuous> {
        let rules = self.all.iter().enumerate();
        rules
            .filter_map(|(at, (rule, memory))| memory.vacuous(at, &rule.demand, &self.tracks))
            .collect()
    }

    /// What is wrong, by time, and for each rule how much more there is. Loads are looked at last.
    #[must_use]
    pub fn violations(&mut self, load: &Load, tasks: &Tasks) -> (Vec<Violation>, Vec<u64>) {
        for (index, (rule, memory)) in self.all.iter_mut().enumerate() {
            if let Demand::Task { task, load_max: Some(limit), .. } = &rule.demand {
                memory.matched += loads(index, task, *limit, load, tasks, &mut self.found);
            }
        }
        std::mem::replace(&mut self.found, Found::new(self.all.len())).sorted()
    }

    fn is_chosen(&self, track: TrackId) -> bool {
        let chosen = self.chosen.as_ref();
        chosen.is_none_or(|chosen| chosen.get(track.0).copied().unwrap_or(false))
    }
}

/// Compares loads with what is allowed. Tells how many there are.
fn loads(
    rule: usize,
    is_meant: &Matcher,
    limit: f64,
    load: &Load,
    tasks: &Tasks,
    found: &mut Found,
) -> u64 {
    let mut count = 0;
    for cpu in load.cpus(tasks) {
        for of in cpu.tasks.iter().filter(|of| is_meant(tasks.name(of.task))) {
            count += 1;
            #[allow(clippy::cast_precision_loss, reason = "a share has a few digits")]
            let share = of.run_ns as f64 / cpu.span_ns().max(1) as f64;
            if share > limit {
                let (name, on) = (tasks.name(of.task), tasks.cpu(cpu.cpu));
                let on = on.map_or("", |cpu| &cpu.name);
                let (share, limit) = (share * 100.0, limit * 100.0);
                let what = format!("{name} used {share:.1}% of {on}, more than {limit:.1}%");
                found.add(rule, None, what);
            }
        }
    }
    count
}

impl Pass for Rules {
    fn standing(&mut self, what: &Standing<'_>, begin: TimeNs) {
        self.sched.standing(what, begin);
        let Standing::State(track, state) = what else { return };
        if !self.is_chosen(*track) {
            return;
        }
        for (rule, memory) in &mut self.all {
            if let Demand::State { state: is_meant, .. } = &rule.demand
                && memory.means(*track)
                && is_meant(state)
            {
                memory.matched += 1;
                memory.last.insert(*track, (begin, (*state).to_owned()));
            }
        }
    }

    fn event(&mut self, seen: &Seen<'_>) {
        let (progress, moved) = (self.sched.take(seen), self.messages.take(seen));
        let track = seen.event.track;
        if !self.is_chosen(track) {
            return;
        }
        let at = Some(At { time: seen.time, track, offset: Some(seen.event.offset) });
        let Self { tracks, all, found, .. } = self;
        for (index, (rule, memory)) in all.iter_mut().enumerate() {
            let mut found = found.of(index, at);
            match &rule.demand {
                Demand::Task { task, .. } => {
                    let of = seen.task.map(|(of, _)| of);
                    if of.is_some_and(|of| memory.means_task(of, task, seen.tasks)) {
                        memory.matched += 1;
                        job(
                            &rule.demand,
                            progress.map(|(_, progress)| progress),
                            memory,
                            &mut found,
                        );
                    }
                }
                Demand::Gap { gap_max, .. } if memory.means(track) => {
                    memory.matched += 1;
                    memory.first.entry(track).or_insert(seen.time);
                    let before = memory.last.insert(track, (seen.time, String::new()));
                    if let Some((before, _)) = before {
                        found.limit("nothing came for", elapsed(before, seen.time), *gap_max);
                    }
                }
                Demand::Value { min, max, .. } if memory.means(track) => {
                    memory.matched += u64::from(value(seen, *min, *max, &mut found));
                }
                Demand::Follows { after, expect, within } => {
                    if expect.is(tracks, seen.event) {
                        memory.follow.came(seen.time);
                    }
                    for due in memory.follow.overdue(seen.time) {
                        found.due(&due, expect, *within);
                    }
                    if after.is(tracks, seen.event) {
                        memory.matched += 1;
                        memory.follow.wait(seen.time, *within, track, seen.event.offset);
                    }
                }
                Demand::Message { message, latency_max } => {
                    latency(moved.as_ref(), message, *latency_max, memory, &mut found);
                }
                Demand::State { state, stay_max, .. } if memory.means(track) => {
                    if let Content::Activity(Activity::Enter { state: entered, .. }) =
                        &seen.event.content
                    {
                        memory.leave(track, seen.time, *stay_max, &mut found);
                        if state(entered) {
                            memory.matched += 1;
                            memory.last.insert(track, (seen.time, entered.to_string()));
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Looks at what has not come when the recording ends.
    fn finish(&mut self, bounds: &Bounds, tasks: &Tasks) {
        self.end(bounds, tasks);
    }

    fn left_out(&self) -> Vec<LeftOut> {
        let follows = self.all.iter().map(|(_, memory)| memory.follow.given_up());
        let events = LeftOut {
            count: follows.sum(),
            one: "event could not be waited for: whether what must follow it did is not known",
            many: "events were too many to wait for: whether what must follow them did is not \
                   known",
        };
        let mut left_out = vec![events];
        if self.all.iter().any(|(rule, _)| matches!(rule.demand, Demand::Message { .. })) {
            left_out.extend(self.messages.left_out());
        }
        if self.all.iter().any(|(rule, _)| matches!(rule.demand, Demand::Task { .. })) {
            left_out.extend(self.sched.left_out());
        }
        left_out
    }
}

/// Looks at a job of a task.
fn job(
    demand: &Demand,
    progress: Option<Progress>,
    memory: &mut Memory,
    found: &mut found::OfRule<'_>,
) {
    let Demand::Task { response_max, delay_max, run_max, on_time, .. } = demand else { return };
    let Some(progress) = progress else { return };
    memory.jobs += 1;
    match progress {
        Progress::Started(delay) => found.maybe_limit("waited", delay, *delay_max),
        Progress::Completed(job) => {
            if let Some(response) = job.response_ns {
                found.maybe_limit("answered after", response, *response_max);
            }
            found.maybe_limit("ran", job.run_ns, *run_max);
            if *on_time && job.is_late {
                found.add("was later than its budget".to_owned());
            }
        }
    }
}

/// Looks at a message that leaves or arrives.
fn latency(
    moved: Option<&Moved>,
    is_meant: &Matcher,
    most: u64,
    memory: &mut Memory,
    found: &mut found::OfRule<'_>,
) {
    match moved {
        Some(Moved::Left(left)) if is_meant(&left.name) => memory.matched += 1,
        Some(Moved::Arrived(sent)) if is_meant(&sent.name) => {
            memory.matched += 1;
            if let Some(left) = sent.left {
                found.limit(&format!("{} took", sent.name), elapsed(left, sent.arrived), most);
            }
        }
        _ => {}
    }
}

/// Compares a number with its bounds. Tells whether there is one.
#[allow(clippy::cast_precision_loss, reason = "a limit is compared")]
fn value(
    seen: &Seen<'_>,
    min: Option<f64>,
    max: Option<f64>,
    found: &mut found::OfRule<'_>,
) -> bool {
    let number = match &seen.event.content {
        Content::Value(Value::Int(number)) => *number as f64,
        Content::Value(Value::UInt(number)) => *number as f64,
        Content::Value(Value::Float32(number)) => f64::from(*number),
        Content::Value(Value::Float(number)) => *number,
        _ => return false,
    };
    if let Some(min) = min.filter(|min| number < *min) {
        found.add(format!("{number} is less than {min}"));
    }
    if let Some(max) = max.filter(|max| number > *max) {
        found.add(format!("{number} is more than {max}"));
    }
    if number.is_nan() {
        found.add("it is not a number".to_owned());
    }
    true
}

#[cfg(test)]
mod tests;
