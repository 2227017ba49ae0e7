//! How long state machines were in which state, and where they went from there.

use std::collections::BTreeMap;

use kymo_core::model::timeline::{Activity, Content, TimeNs, TrackId};

use crate::bounds::Bounds;
use crate::{Distribution, Pass, Seen, Standing, Tasks, elapsed};

/// States of one machine that are told apart; the rest are one.
const STATES_MAX: usize = 4096;

/// What states beyond that are called.
pub(crate) const OTHERS: &str = "(other states)";

/// Time per state, and transitions. A state lasts until the next, and the last one to the end.
#[derive(Debug, Default)]
pub struct States {
    machines: BTreeMap<TrackId, MachineStates>,
}

/// What one machine did.
#[derive(Debug, Clone, Default)]
pub struct MachineStates {
    /// Its states, by name.
    pub states: BTreeMap<String, StateTime>,
    /// How often it went from one state to another.
    pub transitions: BTreeMap<(String, String), u64>,
    now: Option<(String, TimeNs)>,
}

/// What is known of a state.
#[derive(Debug, Clone, Default)]
pub struct StateTime {
    /// How often it was entered.
    pub entries: u64,
    /// How long it stayed, each time that an end of is known.
    pub stay_ns: Distribution,
    /// How long transitions to it took, where that is known.
    pub settle_ns: Distribution,
}

impl MachineStates {
    /// How long it was in all states together.
    #[must_use]
    pub fn total_ns(&self) -> u128 {
        self.states.values().map(|state| state.stay_ns.sum()).sum()
    }

    fn known(&self, name: &str) -> String {
        let is_known = self.states.contains_key(name) || self.states.len() < STATES_MAX;
        if is_known { name.to_owned() } else { OTHERS.to_owned() }
    }

    fn leave(&mut self, time: TimeNs) -> Option<String> {
        let (name, since) = self.now.take()?;
        let state = self.states.entry(name.clone()).or_default();
        state.stay_ns.add(elapsed(since, time));
        Some(name)
    }

    /// It is in a state that it entered before.
    fn stand(&mut self, name: &str, begin: TimeNs) {
        let name = self.known(name);
        self.states.entry(name.clone()).or_default();
        self.now = Some((name, begin));
    }

    fn enter(&mut self, name: &str, time: TimeNs, settled: Option<TimeNs>) {
        let name = self.known(name);
        if let Some(before) = self.leave(time) {
            *self.transitions.entry((before, name.clone())).or_default() += 1;
        }
        let state = self.states.entry(name.clone()).or_default();
        state.entries += 1;
        if let Some(settled) = settled.filter(|settled| *settled >= time) {
            state.settle_ns.add(elapsed(time, settled));
        }
        self.now = Some((name, time));
    }
}

impl States {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What was found, by track.
    #[must_use]
    pub fn machines(&self) -> &BTreeMap<TrackId, MachineStates> {
        &self.machines
    }
}

impl Pass for States {
    fn standing(&mut self, what: &Standing<'_>, begin: TimeNs) {
        if let Standing::State(track, state) = what {
            self.machines.entry(*track).or_default().stand(state, begin);
        }
    }

    fn event(&mut self, seen: &Seen<'_>) {
        if let Content::Activity(Activity::Enter { state, settled }) = &seen.event.content {
            let machine = self.machines.entry(seen.event.track).or_default();
            machine.enter(state, seen.time, *settled);
        }
    }

    fn finish(&mut self, bounds: &Bounds, _tasks: &Tasks) {
        for (track, machine) in &mut self.machines {
            if let Some((_, end)) = bounds.of(*track) {
                machine.leave(end);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{analysed, begin};
    use kymo_core::model::timeline::Window;

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
        let (open, shut) = (&door.states["open"], &door.states["shut"]);
        assert_eq!((open.entries, open.stay_ns.sum(), open.stay_ns.max()), (2, 80, Some(60)));
        assert_eq!((shut.entries, shut.stay_ns.sum(), door.total_ns()), (2, 10, 90));
        assert_eq!((open.settle_ns.count(), open.settle_ns.max()), (1, Some(4)));
        let transitions: Vec<_> = door.transitions.iter().collect();
        let key = |from: &str, to: &str| (from.to_owned(), to.to_owned());
        assert_eq!(transitions, [(&key("open", "shut"), &2), (&key("shut", "open"), &1)]);
    }

    #[test]
    fn a_state_that_lasts_through_a_window_is_known_in_it() {
        let told = vec![(0, 6, enter("open", None)), (100, 6, enter("shut", None))];
        let (from, until) = (Some(TimeNs(30)), Some(TimeNs(40)));
        let mut states = States::default();
        analysed(told, Window { from, until, ..Window::default() }, &mut states);
        let open = &states.machines()[&TrackId(6)].states["open"];
        assert_eq!((open.entries, open.stay_ns.sum()), (0, 10));
    }
}
