//! Time that state machines spent in each state, and the states that they went to from there.

use std::collections::BTreeMap;

use kymo_model::timeline::{Activity, Content, TimeNs, TrackId};

use crate::bounds::Bounds;
use crate::own::item_mut;
use crate::{Distribution, InitialState, Omission, Pass, ResolvedEvent, Tasks, elapsed, took};

/// States of one machine that are told apart; the rest are one.
const STATES_MAX: usize = 4096;

/// Name of all states beyond that.
pub(crate) const OTHERS: &str = "(other states)";

/// Pairs of states whose transitions are told apart, of all machines together.
const TRANSITIONS_MAX: usize = 1 << 16;

/// Time per state, and transitions. A state lasts until the next, and the last one to the end.
#[derive(Debug, Default)]
pub struct States {
    machines: BTreeMap<TrackId, MachineStates>,
    /// Number of pairs of states that have transitions.
    pairs: usize,
    /// Transitions of pairs beyond the limit.
    left_out: u64,
    /// Machines whose state is known.
    open: Vec<TrackId>,
    /// From when to when it is looked.
    bounds: Option<Bounds>,
}

/// States of one machine.
#[derive(Debug, Clone, Default)]
pub struct MachineStates {
    /// Place of each state among all.
    places: BTreeMap<String, usize>,
    states: Vec<StateTime>,
    /// Number of transitions from one state to another, by their places.
    transitions: BTreeMap<(usize, usize), u64>,
    /// Number of times that it was in states beyond those that are kept apart.
    others: u64,
    /// Number of times that it left a state before it entered it, because times go back.
    backwards: u64,
    now: Option<(usize, TimeNs)>,
    /// Each time that its state is not known: before the first, and where events are missing.
    unknown_ns: Distribution,
    /// Since when it is not.
    unknown_since: Option<TimeNs>,
}

/// Facts about a state.
#[derive(Debug, Clone, Default)]
pub struct StateTime {
    /// Number of times that it was entered.
    pub entries: u64,
    /// Duration of each stay of which an end is known.
    pub stay_ns: Distribution,
    /// Duration of transitions to it, where that is known.
    pub settle_ns: Distribution,
}

impl MachineStates {
    /// Its states, by name.
    pub fn states(&self) -> impl Iterator<Item = (&str, &StateTime)> {
        let places = self.places.iter();
        places.filter_map(|(name, place)| Some((name.as_str(), self.states.get(*place)?)))
    }

    /// Returns the number of transitions from one state to another, by their names.
    #[must_use]
    pub fn transitions(&self) -> Vec<(&str, &str, u64)> {
        let mut names = vec![""; self.states.len()];
        for (name, place) in &self.places {
            if let Some(item) = item_mut(&mut names, *place) {
                *item = name;
            }
        }
        let name = |place: usize| names.get(place).copied().unwrap_or_default();
        let transitions = self.transitions.iter();
        let mut found: Vec<_> =
            transitions.map(|((from, to), count)| (name(*from), name(*to), *count)).collect();
        found.sort_unstable();
        found
    }

    /// Returns the total duration of all states together.
    #[must_use]
    pub fn total_ns(&self) -> u128 {
        self.states.iter().map(|state| state.stay_ns.sum()).sum()
    }

    /// Each time that its state is not known: before it is in the first, and from where events are
    /// missing.
    #[must_use]
    pub fn unknown_ns(&self) -> &Distribution {
        &self.unknown_ns
    }

    /// Returns the place of a state; for states beyond those that are kept apart, the place that
    /// all of them share.
    fn place(&mut self, name: &str) -> usize {
        let is_known = self.places.contains_key(name) || self.states.len() < STATES_MAX;
        self.others += u64::from(!is_known);
        let name = if is_known { name } else { OTHERS };
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        self.places.insert(name.to_owned(), self.states.len());
        self.states.push(StateTime::default());
        self.states.len() - 1
    }

    fn leave(&mut self, time: TimeNs) -> Option<usize> {
        let (place, since) = self.now.take()?;
        let state = self.states.get_mut(place)?;
        match took(since, time) {
            Some(ns) => state.stay_ns.add(ns),
            None => self.backwards += 1,
        }
        Some(place)
    }

    /// Its state is known up to where events are missing. Where times went back, that is not before it
    /// was entered.
    fn lose(&mut self, time: TimeNs) {
        let entered = self.now.map(|(_, since)| since);
        self.leave(time);
        self.unknown_since = Some(entered.map_or(time, |since| since.max(time)));
    }

    /// Its state is known again, or it is the end.
    fn known_from(&mut self, time: TimeNs) {
        let since = self.unknown_since.take();
        if let Some(ns) = since.and_then(|since| took(since, time)).filter(|ns| *ns > 0) {
            self.unknown_ns.add(ns);
        }
    }

    /// It is in a state that it entered before.
    fn set_initial_state(&mut self, name: &str, begin: TimeNs) {
        self.now = Some((self.place(name), begin));
    }

    /// It enters a state. Tells the transition, where it was in one before.
    fn enter(
        &mut self,
        name: &str,
        time: TimeNs,
        settled: Option<TimeNs>,
    ) -> Option<(usize, usize)> {
        let place = self.place(name);
        self.known_from(time);
        let before = self.leave(time);
        let state = self.states.get_mut(place)?;
        state.entries += 1;
        if let Some(settled) = settled.filter(|settled| *settled >= time) {
            state.settle_ns.add(elapsed(time, settled));
        }
        self.now = Some((place, time));
        Some((before?, place))
    }
}

impl States {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the machines, by track.
    #[must_use]
    pub fn machines(&self) -> &BTreeMap<TrackId, MachineStates> {
        &self.machines
    }
}

impl States {
    /// States last up to where events are missing.
    fn gap(&mut self, seen: &ResolvedEvent<'_>) {
        let Self { open, machines, .. } = self;
        open.retain(|track| {
            let may_lack = seen.may_miss_events(*track);
            if let (true, Some(machine)) = (may_lack, machines.get_mut(track)) {
                machine.lose(seen.time);
            }
            !may_lack
        });
    }
}

impl Pass for States {
    fn follows_states(&self) -> bool {
        true
    }

    fn begin(&mut self, bounds: &Bounds) {
        self.bounds = Some(bounds.clone());
    }

    fn initial_state(&mut self, what: &InitialState<'_>, begin: TimeNs) {
        if let InitialState::State(track, state) = what {
            self.machines.entry(*track).or_default().set_initial_state(state, begin);
            self.open.push(*track);
        }
    }

    fn event(&mut self, seen: &ResolvedEvent<'_>) {
        if seen.gap().is_some() {
            self.gap(seen);
        }
        let Content::Activity(Activity::Enter { state, settled }) = &seen.event.content else {
            return;
        };
        let begin = || self.bounds.as_ref()?.time_range(seen.event.track).map(|(begin, _)| begin);
        let machine = self.machines.entry(seen.event.track).or_insert_with(|| MachineStates {
            unknown_since: begin(),
            ..MachineStates::default()
        });
        if machine.now.is_none() {
            self.open.push(seen.event.track);
        }
        let Some(pair) = machine.enter(state, seen.time, *settled) else { return };
        if let Some(count) = machine.transitions.get_mut(&pair) {
            *count += 1;
        } else if self.pairs < TRANSITIONS_MAX {
            machine.transitions.insert(pair, 1);
            self.pairs += 1;
        } else {
            self.left_out += 1;
        }
    }

    fn finish(&mut self, bounds: &Bounds, _tasks: &Tasks) {
        for (track, machine) in &mut self.machines {
            if let Some((_, end)) = bounds.time_range(*track) {
                machine.known_from(end);
                machine.leave(end);
            }
        }
    }

    fn omissions(&self) -> Vec<Omission> {
        let transitions = Omission {
            count: self.left_out,
            one: "transition is between states beyond those that are told apart, and is left out",
            many: "transitions are between states beyond those that are told apart, and are left \
                   out",
        };
        let states = Omission {
            count: self.machines.values().map(|machine| machine.others).sum(),
            one: "time a machine was in a state beyond those that are told apart: it counts as one \
                  of the (other states)",
            many: "times machines were in states beyond those that are told apart: they count as \
                   the (other states)",
        };
        let backwards = Omission {
            count: self.machines.values().map(|machine| machine.backwards).sum(),
            one: "state is left before it is entered, as times go back: how long it lasted is not \
                  known",
            many: "states are left before they are entered, as times go back: how long they lasted \
                   is not known",
        };
        vec![transitions, states, backwards]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{analysed, begin};
    use kymo_model::timeline::{Missing, Window};

    fn enter(state: &'static str, settled: Option<i64>) -> Activity<'static> {
        Activity::Enter { state: state.into(), settled: settled.map(TimeNs) }
    }

    #[test]
    fn times_and_transitions_are_as_worked_out_by_hand() {
        let told = vec![
            (10, 6, enter("open", Some(14))),
            (30, 6, enter("shut", None)),
            (35, 6, enter("open", None)),
            (95, 6, enter("shut", None)),
            (100, 1, begin(1)),
        ];
        let mut states = States::default();
        analysed(told, Window::default(), &mut states);
        let machines = states.machines();
        let door = &machines[&TrackId(6)];
        let states: Vec<_> = door.states().collect();
        let [("open", open), ("shut", shut)] = states[..] else { panic!("{states:?}") };
        assert_eq!((open.entries, open.stay_ns.sum(), open.stay_ns.max()), (2, 80, Some(60)));
        assert_eq!((shut.entries, shut.stay_ns.sum(), door.total_ns()), (2, 10, 90));
        assert_eq!((open.settle_ns.count(), open.settle_ns.max()), (1, Some(4)));
        // The recording is from 10 to 100, and begins with the first state.
        assert_eq!((door.unknown_ns().count(), door.unknown_ns().sum()), (0, 0));
        assert_eq!(door.transitions(), [("open", "shut", 2), ("shut", "open", 1)]);
    }

    #[test]
    fn a_state_that_lasts_through_a_window_is_known_in_it() {
        let told = vec![(0, 6, enter("open", None)), (100, 6, enter("shut", None))];
        let (from, until) = (Some(TimeNs(30)), Some(TimeNs(40)));
        let mut states = States::default();
        analysed(told, Window { from, until, ..Window::default() }, &mut states);
        let (name, open) = states.machines()[&TrackId(6)].states().next().unwrap();
        assert_eq!((name, open.entries, open.stay_ns.sum()), ("open", 0, 10));
    }

    #[test]
    fn a_state_that_is_left_before_it_is_entered_lasts_for_no_time_that_is_known() {
        // The first half of the log comes last: open 60–90, then shut 0–20, open 20–100.
        let told = vec![
            (60, 6, enter("open", None)),
            (90, 6, enter("shut", None)),
            (0, 6, enter("shut", None)),
            (20, 6, enter("open", None)),
            (100, 1, begin(1)),
        ];
        let mut states = States::default();
        let (_, short) = crate::fixture::analysed_with(told, Window::default(), &mut states);
        let door = &states.machines()[&TrackId(6)];
        let stays: Vec<_> = door
            .states()
            .map(|(_, state_time)| (state_time.entries, state_time.stay_ns.count()))
            .collect();
        // The state entered at 90 is left at 0.
        assert_eq!(stays, [(2, 2), (2, 1)]);
        assert_eq!((door.total_ns(), short.left_out[0].count), (30 + 20 + 80, 1));
    }

    /// Entered at 20; the gap is told at 5, as times went back; the next state is entered at 50.
    #[test]
    fn what_is_not_known_begins_no_earlier_than_the_state_that_was_known() {
        let told = vec![
            (0, 6, enter("shut", None)),
            (20, 6, enter("open", None)),
            (5, 6, Activity::Gap(Missing::AllEvents)),
            (50, 6, enter("shut", None)),
            (100, 1, begin(1)),
        ];
        let mut states = States::default();
        let (_, short) = crate::fixture::analysed_with(told, Window::default(), &mut states);
        let door = &states.machines()[&TrackId(6)];
        assert_eq!((door.total_ns(), door.unknown_ns().sum()), (20 + 50, 30));
        assert_eq!(short.left_out[0].count, 1);
    }

    #[test]
    fn transitions_beyond_those_that_are_told_apart_are_counted_and_said() {
        // Of 300 states each goes to each: more pairs than there is room for, by 24,464.
        let enter =
            |state: usize| Activity::Enter { state: format!("{state}").into(), settled: None };
        let mut told = Vec::new();
        for from in 0..300 {
            for to in 0..300 {
                told.extend([enter(from), enter(to)].map(|what| (0, 6, what)));
            }
        }
        let mut states = States::default();
        let (_, short) = crate::fixture::analysed_with(told, Window::default(), &mut states);
        let door = &states.machines()[&TrackId(6)];
        let known: u64 = door.transitions().iter().map(|(_, _, count)| count).sum();
        assert_eq!((door.transitions().len(), door.states().count()), (TRANSITIONS_MAX, 300));
        assert_eq!(known + short.left_out[0].count, 2 * 300 * 300 - 1);
    }
    #[test]
    fn states_beyond_those_that_are_told_apart_are_one_and_that_is_said() {
        // Ten more than are told apart, each for 1; the first comes again.
        let count = STATES_MAX + 10;
        let enter = |(time, state): (i64, usize)| {
            (time, 6, Activity::Enter { state: format!("{state}").into(), settled: None })
        };
        let told = (0..).zip((0..count).chain([0])).map(enter).collect();
        let mut states = States::default();
        let (_, short) = crate::fixture::analysed_with(told, Window::default(), &mut states);
        let door = &states.machines()[&TrackId(6)];
        let (_, others) = door.states().find(|(name, _)| *name == OTHERS).unwrap();
        assert_eq!((door.states().count(), others.entries, others.stay_ns.sum()), (4097, 10, 10));
        assert_eq!(short.left_out.iter().map(|left| left.count).collect::<Vec<_>>(), [10]);
    }

    #[test]
    fn a_state_lasts_up_to_where_events_are_missing() {
        use kymo_model::timeline::Missing;
        // Shut 0–20, then events are missing; open from 50 to the end at 80.
        let told = |missing| {
            vec![
                (0, 6, enter("shut", None)),
                (20, 0, Activity::Gap(missing)),
                (50, 6, enter("open", None)),
                (80, 1, begin(1)),
            ]
        };
        let found = |missing| {
            let mut states = States::default();
            crate::fixture::analysed_with(told(missing), Window::default(), &mut states);
            let door = &states.machines()[&TrackId(6)];
            (door.total_ns(), door.unknown_ns().sum(), door.transitions().len())
        };
        assert_eq!(found(Missing::AllEvents), (20 + 30, 30, 0));
        // Those of a processor are none of the machine's.
        assert_eq!(found(Missing::Events), (80, 0, 1));
        assert_eq!(found(Missing::Switches), (80, 0, 1));
    }

    #[test]
    fn times_that_are_known_and_those_that_are_not_are_all_the_range() {
        use kymo_model::timeline::Missing;
        // Not known 0–10; open 10–20; events are missing up to the end at 80, and once more at 50.
        let told = || {
            vec![
                (0, 1, begin(1)),
                (10, 6, enter("open", None)),
                (20, 0, Activity::Gap(Missing::AllEvents)),
                (50, 0, Activity::Gap(Missing::AllEvents)),
                (80, 1, begin(1)),
            ]
        };
        let found = |from: Option<i64>, until: Option<i64>| {
            let (from, until) = (from.map(TimeNs), until.map(TimeNs));
            let mut states = States::default();
            let window = Window { from, until, ..Window::default() };
            crate::fixture::analysed_with(told(), window, &mut states);
            let door = &states.machines()[&TrackId(6)];
            (door.total_ns(), door.unknown_ns().sum(), door.unknown_ns().max())
        };
        assert_eq!(found(None, None), (10, 10 + 60, Some(60)));
        assert_eq!(found(Some(5), Some(30)), (10, 5 + 10, Some(10)));
        // It stands open at 15.
        assert_eq!(found(Some(15), None), (5, 60, Some(60)));
    }
}
