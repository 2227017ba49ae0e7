//! Events outside of a window that are needed to know what goes on within: the running tasks when
//! it began, the states of state machines, and the messages under way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kymo_core::Result;
use kymo_model::timeline::{
    Activity, Content, Event, Missing, TimeNs, TimelineView, Track, TrackId, TrackKind, Window,
};

use crate::bounds::Bounds;
use crate::messages::{Messages, Wakeups};
use crate::resolver::{InterruptStacks, Resolver};
use crate::switches::{Lane, Switches};
use crate::tasks::{CpuId, Tasks};
use crate::{InitialState, InterruptChange};

/// So many events before a window are looked at; more if those do not tell, but not all of a long
/// recording.
const BEFORE: [u64; 3] = [1 << 10, 1 << 14, 1 << 18];

/// So many events after a window are looked at.
pub(crate) const AFTER: u64 = 1 << 18;

/// Facts that a pass needs of the time before a window, besides the running tasks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequiredState {
    pub(crate) messages: bool,
    pub(crate) states: bool,
}

/// State just before a timestamp.
pub(crate) struct StateBefore {
    pub(crate) resolver: Resolver,
    pub(crate) states: BTreeMap<TrackId, String>,
    /// Messages and wakeups under way, where they are asked for.
    under_way: Option<(Messages, Wakeups)>,
    /// True if there is nothing further back.
    pub(crate) is_all: bool,
}

/// The tracks of some kinds.
pub(crate) fn tracks_of_kinds(tracks: &[Track], kinds: &[TrackKind]) -> Vec<TrackId> {
    let of_kinds = tracks.iter().enumerate().filter(|(_, track)| kinds.contains(&track.kind));
    of_kinds.map(|(id, _)| TrackId(id)).collect()
}

/// The tracks that tell what goes on: of tasks and interrupts, of machines where states are followed,
/// and all that have messages where those are.
pub(crate) fn state_tracks(
    tracks: &[Track],
    tasks: &Tasks,
    follows: RequiredState,
) -> Vec<TrackId> {
    use TrackKind::{Calls, States, Task};
    let is_read = |(id, track): &(usize, &Track)| {
        let is_interrupt = || tasks.interrupted(TrackId(*id)).is_some();
        match track.kind {
            Task => true,
            States => follows.states || follows.messages,
            Calls => follows.messages || is_interrupt(),
            _ => is_interrupt(),
        }
    };
    tracks.iter().enumerate().filter(is_read).map(|(id, _)| TrackId(id)).collect()
}

impl StateBefore {
    /// Looks back from a moment, ever further, until all is known. What is under way may have left
    /// at any time, so that where messages are followed it looks as far as it may.
    pub(crate) fn read(
        timeline: &Arc<dyn TimelineView>,
        tracks: &[Track],
        tasks: &mut Tasks,
        moment: TimeNs,
        follows: RequiredState,
    ) -> Result<Self> {
        let machines = tracks_of_kinds(tracks, &[TrackKind::States]).len();
        let read = state_tracks(tracks, tasks, follows);
        let nothing = |tasks: &Tasks| Self::unknown(tasks, tracks.len(), follows.messages);
        let mut found = nothing(tasks);
        if read.is_empty() {
            return Ok(found);
        }
        for last in BEFORE {
            found = nothing(tasks);
            let (tracks, until) = (Some(read.clone()), Some(moment));
            let window = Window { tracks, from: None, until, last: Some(last) };
            let mut events = Arc::clone(timeline).events(&window)?;
            let mut count = 0;
            while let Some(event) = events.next()? {
                count += 1;
                if let Some(time) = event.time {
                    found.take(&event, time, tasks);
                }
            }
            found.is_all = count < last;
            let is_known = found.resolver.switches.is_all_known();
            let has_states = !follows.states || found.states.len() == machines;
            let is_known = is_known && has_states && !follows.messages;
            if found.is_all || is_known {
                break;
            }
        }
        let is_all = found.is_all;
        found.under_way = found.under_way.map(|(messages, wakeups)| {
            (messages.pending_messages(is_all), wakeups.pending_wakeups(is_all))
        });
        Ok(found)
    }

    fn unknown(tasks: &Tasks, tracks: usize, follows_messages: bool) -> Self {
        let resolver = Resolver::new(tasks, tracks);
        let under_way = follows_messages.then(Default::default);
        Self { resolver, states: BTreeMap::new(), under_way, is_all: true }
    }

    /// Returns the initial state: what goes on at that time, on the processors that are asked
    /// about.
    pub(crate) fn initial_states<'a>(
        &'a self,
        tasks: &'a Tasks,
        is_asked: impl Fn(&CpuId) -> bool,
    ) -> Vec<InitialState<'a>> {
        let switches = &self.resolver.switches;
        let running = switches.lanes().filter_map(|(_, lane)| lane.running);
        let mut found: Vec<_> = running
            .map(|running_task| InitialState::Task(running_task.task, running_task.priority))
            .collect();
        for cpu in (0..tasks.cpu_count()).map(CpuId).filter(is_asked) {
            if switches.is_known(cpu) {
                found.push(InitialState::Nobody(cpu));
            }
            let count = Some(self.resolver.interrupts.count(cpu)).filter(|count| *count > 0);
            found.extend(count.map(|count| InitialState::Interrupts(cpu, count)));
        }
        found.extend(self.states.iter().map(|(track, state)| InitialState::State(*track, state)));
        if let Some((messages, wakeups)) = &self.under_way {
            found.extend([InitialState::Messages(messages), InitialState::Wakeups(wakeups)]);
        }
        found
    }

    fn take(&mut self, event: &Event<'_>, time: TimeNs, tasks: &mut Tasks) {
        let seen = &self.resolver.resolve(event, time, tasks, None);
        if let Some((messages, wakeups)) = &mut self.under_way {
            messages.take(seen);
            wakeups.take(seen);
        }
        if seen.gap().is_some() {
            self.states.retain(|track, _| !seen.may_miss_events(*track));
        }
        if let Content::Activity(Activity::Enter { state, .. }) = &event.content {
            self.states.insert(event.track, state.to_string());
        }
    }
}

/// Facts from the first switches after a window.
#[derive(Default)]
pub(crate) struct StateAfter {
    /// The first of each lane that is asked for: on which track, and whether a task stops; nothing
    /// where events are missing before it.
    first: BTreeMap<usize, Option<(TrackId, bool)>>,
    /// Processors that switch.
    switching: BTreeSet<CpuId>,
    /// Processors where interrupts are under way, and whether the outermost ends, once that is known.
    interrupts: BTreeMap<CpuId, Option<bool>>,
    /// True if there is nothing further on.
    is_all: bool,
}

/// Fate of a task that runs when the window ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskOutcome {
    /// It runs on, or is taken to: what comes may be too far on to be found.
    RunsOn,
    /// Its end is missing.
    IsLost,
    /// Its processor does not switch again: how long it runs is not known.
    IsUnknown,
}

/// Questions about the time after a window, as long as no event has answered them.
struct OpenRequests {
    /// Lanes whose next event is asked for.
    lanes: BTreeSet<usize>,
    /// True if these switch.
    cpus: BTreeSet<CpuId>,
    under_way: InterruptStacks,
}

impl OpenRequests {
    /// Returns true if all is told of tasks.
    fn is_done(&self) -> bool {
        self.lanes.is_empty() && self.cpus.is_empty()
    }

    /// The processors where interrupts are under way.
    fn interrupted(&self) -> Vec<CpuId> {
        self.cpus.iter().copied().filter(|cpu| self.under_way.count(*cpu) > 0).collect()
    }
}

impl StateAfter {
    /// Looks on from the end of a window for what some lanes do next, which processors switch, and
    /// whether the interrupts end that are under way.
    pub(crate) fn read(
        timeline: &Arc<dyn TimelineView>,
        (tracks, tasks): (&[Track], &Tasks),
        resolver: &Resolver,
        bounds: &Bounds,
        is_asked: impl Fn(&Lane) -> bool,
    ) -> Result<Self> {
        let mut found = Self { is_all: true, ..Self::default() };
        let switches = &resolver.switches;
        let is_cut = |track: &TrackId| bounds.window_end(*track).is_some();
        let mut read: Vec<_> =
            tracks_of_kinds(tracks, &[TrackKind::Task]).into_iter().filter(is_cut).collect();
        let Some(from) = read.first().and_then(|track| bounds.window_end(*track)) else {
            return Ok(found);
        };
        let lanes = || read.iter().filter_map(|track| switches.lane_of(*track));
        let cpus: BTreeSet<_> = lanes().map(|(_, cpu)| cpu).collect();
        let is_asked = |(_, lane): &(usize, &Lane)| cpus.contains(&lane.cpu) && is_asked(lane);
        let lanes = switches.lanes().filter(is_asked).map(|(lane, _)| lane).collect();
        let mut asked = OpenRequests { lanes, cpus, under_way: resolver.interrupts.clone() };
        // Where events are missing is told on tracks of processors.
        let of_cpu = |cpu: &CpuId| tasks.cpu(*cpu).map(|cpu| cpu.track);
        let of_cpus = asked.cpus.iter().filter_map(of_cpu);
        read.extend(of_cpus.filter(|track_id| tasks.interrupted(*track_id).is_some()));
        for cpu in asked.interrupted() {
            found.interrupts.insert(cpu, None);
        }
        read.sort_unstable();
        read.dedup();
        let window = Window { tracks: Some(read), from: Some(from), until: None, last: None };
        let mut events = Arc::clone(timeline).events(&window)?;
        for _ in 0..AFTER {
            let is_done = asked.is_done() && !found.awaits_interrupts();
            let Some(event) = (if is_done { None } else { events.next()? }) else {
                return Ok(found);
            };
            let Content::Activity(activity) = &event.content else { continue };
            if let Activity::Gap(missing) = activity {
                found.gap((event.track, *missing), (switches, tasks), &mut asked);
                continue;
            }
            match switches.lane_of(event.track) {
                Some(place) => found.switch(place, event.track, activity, &mut asked),
                None => found.interrupt(tasks.interrupted(event.track), activity, &mut asked),
            }
        }
        found.is_all = false;
        Ok(found)
    }

    /// Events of some processors are missing: up to there is known what went on.
    fn gap(
        &mut self,
        gap: (TrackId, Missing),
        (switches, tasks): (&Switches, &Tasks),
        asked: &mut OpenRequests,
    ) {
        let may_lack =
            |cpu: CpuId| tasks.cpu(cpu).is_some_and(|cpu| tasks.may_miss_events(cpu.track, gap));
        for (id, lane) in switches.lanes().filter(|(_, lane)| may_lack(lane.cpu)) {
            if asked.lanes.remove(&id) {
                self.first.insert(id, None);
            }
            asked.cpus.remove(&lane.cpu);
            self.switching.insert(lane.cpu);
            self.interrupts_are(lane.cpu, false);
        }
    }

    /// Takes what a task does on a lane of a processor.
    fn switch(
        &mut self,
        (lane, cpu): (usize, CpuId),
        track: TrackId,
        activity: &Activity<'_>,
        asked: &mut OpenRequests,
    ) {
        let Some(is_end) = ends(activity) else { return };
        asked.cpus.remove(&cpu);
        self.switching.insert(cpu);
        if asked.lanes.remove(&lane) {
            self.first.insert(lane, Some((track, is_end)));
        }
        if !is_end {
            // No task begins within an interrupt.
            self.interrupts_are(cpu, false);
        }
    }

    fn awaits_interrupts(&self) -> bool {
        self.interrupts.values().any(Option::is_none)
    }

    /// Takes what happens to the interrupts of a processor.
    fn interrupt(&mut self, cpu: Option<CpuId>, activity: &Activity<'_>, asked: &mut OpenRequests) {
        let Some(interrupt_event) = cpu.and_then(|cpu| asked.under_way.take(cpu, activity)) else {
            return;
        };
        match interrupt_event.run {
            InterruptChange::Begins if interrupt_event.around == 0 => {
                self.interrupts_are(interrupt_event.cpu, false);
            }
            InterruptChange::Ends if interrupt_event.around == 0 => {
                self.interrupts_are(interrupt_event.cpu, true);
            }
            _ => {}
        }
    }

    /// The outermost interrupt that was under way on a processor ends, or has no end.
    fn interrupts_are(&mut self, cpu: CpuId, is_ended: bool) {
        self.interrupts.entry(cpu).and_modify(|known| _ = known.get_or_insert(is_ended));
    }

    /// Returns true if what interrupts a processor at the end of the window ends at a time that is
    /// known, if anything does; nothing where that is too far on to be found.
    pub(crate) fn interrupts_end(&self, cpu: CpuId) -> Option<bool> {
        let Some(known) = self.interrupts.get(&cpu) else { return Some(true) };
        known.or(self.is_all.then_some(false))
    }

    /// Returns true if a processor switches again; nothing where that is too far on to be found.
    pub(crate) fn switches(&self, cpu: CpuId) -> Option<bool> {
        let is_switching = self.switching.contains(&cpu);
        (is_switching || self.is_all).then_some(is_switching)
    }

    /// Returns the fate of the running task.
    pub(crate) fn fate(&self, lane: usize, cpu: CpuId, running: TrackId) -> TaskOutcome {
        match self.first.get(&lane) {
            Some(Some((track, is_end))) if *track != running || !is_end => TaskOutcome::IsLost,
            None if self.switches(cpu) == Some(false) => TaskOutcome::IsUnknown,
            _ => TaskOutcome::RunsOn,
        }
    }

    /// Returns true if it is known what a lane does next.
    pub(crate) fn is_known(&self, lane: usize) -> bool {
        self.first.contains_key(&lane)
    }

    /// The track of the task that stops first on a lane.
    pub(crate) fn stops(&self, lane: usize) -> Option<TrackId> {
        let first = self.first.get(&lane).copied().flatten();
        first.filter(|(_, is_end)| *is_end).map(|(track, _)| track)
    }
}

/// Returns whether a task stops, or begins; `None` where it does neither.
fn ends(activity: &Activity<'_>) -> Option<bool> {
    match activity {
        Activity::Begin { .. } => Some(false),
        Activity::End | Activity::EndOf { .. } => Some(true),
        _ => None,
    }
}
