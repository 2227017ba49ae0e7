//! Rules that must hold over a recording, and the places where they do not.

mod checked_counts;
mod deadlines;
mod ending;
mod event;
mod memory;
mod number;
mod rule_tracks;
mod violations;

use kymo_model::timeline::{Clock, Content, Event, TimeNs, Track};

use crate::bounds::Bounds;
use crate::{
    InitialState, LatencyCaveats, Load, Messages, Omission, Pass, ResolvedEvent, RunSlice, Sched,
    Tasks,
};
use ending::Ending;
use event::CurrentEvent;
use memory::RuleState;
use rule_tracks::RuleTracks;
use violations::{ViolationSite, Violations};

pub use number::Number;
pub use violations::Violation;

/// Decides whether a name or a text is meant.
pub type Matcher = Box<dyn Fn(&str) -> bool + Send>;

/// Rule that must hold.
pub struct Rule {
    /// Name of the rule for people.
    pub name: String,
    /// Demand of the rule.
    pub demand: Demand,
}

/// Demand of a rule. Limits are the largest that are allowed, in nanoseconds.
pub enum Demand {
    /// Jobs of tasks are quick.
    Task {
        /// Tasks that it is about.
        task: Matcher,
        /// From release to completion.
        response_max: Option<u64>,
        /// From release to the first stretch.
        delay_max: Option<u64>,
        /// Longest run of a job.
        run_max: Option<u64>,
        /// No job is later than its budget.
        on_time: bool,
        /// The part of a processor's time that a task may use, on all processors together.
        load_max: Option<f64>,
    },
    /// Events of streams come often. A task is one stream, wherever it runs.
    Gap {
        /// Streams that it is about.
        stream: Matcher,
        /// From one event to the next.
        gap_max: u64,
    },
    /// Numbers of streams stay within bounds.
    Value {
        /// Streams that it is about.
        stream: Matcher,
        /// The smallest.
        min: Option<Number>,
        /// The largest.
        max: Option<Number>,
    },
    /// One thing follows another.
    Follows {
        /// Event that starts the time.
        after: EventSelector,
        /// Event that must come.
        expect: EventSelector,
        /// Time within which it must come.
        within: u64,
    },
    /// Messages arrive, and soon.
    Message {
        /// Messages that it is about, by their names.
        message: Matcher,
        /// From one end to the other.
        latency_max: u64,
    },
    /// State machines do not stay in a state for too long, or never enter it.
    State {
        /// Machines that it is about.
        machine: Matcher,
        /// States that it is about.
        state: Matcher,
        /// Longest duration of such a state.
        stay_max: u64,
    },
}

/// Events that are meant: those of some streams, with some text.
pub struct EventSelector {
    /// Name of the events for people.
    pub name: String,
    /// Streams of the events.
    pub stream: Matcher,
    /// Text of the events.
    pub text: Option<Matcher>,
}

impl EventSelector {
    fn matches(&self, event: &Event<'_>) -> bool {
        self.text.as_ref().is_none_or(|text| text(&text_of(event)))
    }
}

/// Returns the text of an event.
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
    chosen: RuleTracks,
    all: Vec<(Rule, RuleState)>,
    sched: Sched,
    messages: Messages,
    found: Violations,
}

/// A rule, or a part of one, that nothing in the recording is about: it holds, and that proves nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VacuousRule {
    /// The rule's place among all.
    pub rule: usize,
    /// Part of the rule that has no cases, where it is not all of it.
    pub part: Option<String>,
    /// Reason why there are none: what is not there.
    pub why: String,
    /// True if a name is probably misspelt. What a rule forbids may well never happen.
    pub is_suspect: bool,
}

impl Rules {
    /// Rules for a timeline with such tracks and clocks, all of its tracks or those that are chosen.
    #[must_use]
    pub fn new(
        (tracks, clocks): (&[Track], &[Clock]),
        chosen: Option<Vec<bool>>,
        rules: Vec<Rule>,
    ) -> Self {
        let (found, chosen) =
            (Violations::new(rules.len()), RuleTracks::new(chosen, tracks, clocks));
        let with_memory = |rule: Rule| {
            let memory = RuleState::new(&rule.demand, tracks, &chosen);
            (rule, memory)
        };
        Self {
            all: rules.into_iter().map(with_memory).collect(),
            chosen,
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

    /// Returns the number of rules.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns true if there are no rules.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The rules that nothing is about. Of loads this is known after violations.
    #[must_use]
    pub fn vacuous(&self) -> Vec<VacuousRule> {
        let rules = self.all.iter().enumerate();
        rules.flat_map(|(at, (rule, memory))| memory.vacuous(at, &rule.demand)).collect()
    }

    /// Returns the violations, by time, and the number of further violations for each rule. Loads
    /// are looked at last.
    #[must_use]
    pub fn violations(&mut self, load: &Load, tasks: &Tasks) -> (Vec<Violation>, Vec<u64>) {
        let Self { all, chosen, found, .. } = self;
        for (index, (rule, memory)) in all.iter_mut().enumerate() {
            memory.loads(&rule.demand, load, tasks, chosen, &mut found.for_rule(index, None));
        }
        std::mem::replace(found, Violations::new(all.len())).sorted()
    }

    /// Counts the pairs that have messages that rules are about and whose latencies may be wrong.
    #[must_use]
    pub fn latency_caveats(&self) -> LatencyCaveats {
        let is_meant = |name: &str| self.selected_messages().any(|message| message(name));
        self.messages.latency_caveats(|key| {
            let is_chosen =
                [key.from, key.to].into_iter().flatten().any(|end| self.chosen.contains(end));
            is_chosen && is_meant(&key.name)
        })
    }

    /// The messages that rules are about.
    fn selected_messages(&self) -> impl Iterator<Item = &Matcher> {
        self.all.iter().filter_map(|(rule, _)| match &rule.demand {
            Demand::Message { message, .. } => Some(message),
            _ => None,
        })
    }
}

impl Pass for Rules {
    fn follows_messages(&self) -> bool {
        self.selected_messages().next().is_some()
    }

    fn follows_states(&self) -> bool {
        self.all.iter().any(|(rule, _)| matches!(rule.demand, Demand::State { .. }))
    }

    fn begin(&mut self, bounds: &Bounds) {
        self.sched.begin(bounds);
        self.messages.begin(bounds);
    }

    fn initial_state(&mut self, what: &InitialState<'_>, begin: TimeNs) {
        self.sched.initial_state(what, begin);
        self.messages.initial_state(what, begin);
        let InitialState::State(track, state) = what else { return };
        for (rule, memory) in &mut self.all {
            memory.set_initial_state(&rule.demand, (*track, state), begin);
        }
    }

    fn event(&mut self, seen: &ResolvedEvent<'_>) {
        let (progress, moved) = (self.sched.take(seen), self.messages.take(seen));
        let (time, track, offset) = (seen.time, seen.event.track, Some(seen.event.offset));
        let Self { all, chosen, found, .. } = self;
        if seen.gap().is_some() {
            for (index, (rule, memory)) in all.iter_mut().enumerate() {
                memory.cut(&rule.demand, seen, chosen, &mut found.for_rule(index, None));
            }
            return;
        }
        if !chosen.contains(track) {
            return;
        }
        let progress = progress.map(|(_, progress)| progress);
        let now = CurrentEvent { seen, progress, moved: moved.as_ref(), chosen };
        for (index, (rule, memory)) in all.iter_mut().enumerate() {
            let mut found = found.for_rule(index, Some(ViolationSite { time, track, offset }));
            memory.event(&rule.demand, &now, &mut found);
        }
    }

    fn unfinished(&mut self, stretch: &RunSlice) {
        self.sched.unfinished(stretch);
    }

    /// Looks at what has not come when the recording ends.
    fn finish(&mut self, bounds: &Bounds, tasks: &Tasks) {
        self.messages.finish(bounds, tasks);
        self.sched.cross_all(tasks);
        let Self { all, chosen, sched, messages, found } = self;
        let ending = Ending { bounds, tasks, chosen, sched, messages };
        for (index, (rule, memory)) in all.iter_mut().enumerate() {
            memory.end(&rule.demand, &ending, &mut found.for_rule(index, None));
        }
    }

    fn awaits(&self) -> bool {
        self.follows_messages() && self.messages.awaits()
    }

    fn event_after(&mut self, seen: &ResolvedEvent<'_>) {
        self.messages.event_after(seen);
    }

    fn omissions(&self) -> Vec<Omission> {
        let follows = self.all.iter().map(|(_, memory)| memory.follow.dropped_count());
        let events = Omission {
            count: follows.sum(),
            one: "event could not be waited for: whether what must follow it did is not known",
            many: "events were too many to wait for: whether what must follow them did is not \
                   known",
        };
        let mut left_out = vec![events];
        if self.follows_messages() {
            left_out.extend(self.messages.omissions());
        }
        if self.all.iter().any(|(rule, _)| matches!(rule.demand, Demand::Task { .. })) {
            left_out.extend(self.sched.omissions());
        }
        left_out
    }
}

#[cfg(test)]
mod tests;
