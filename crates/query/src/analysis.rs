//! One way through the events of a timeline, for any number of passes.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use kymo_core::Result;
use kymo_model::timeline::{
    Activity, Content, Event, Missing, TimeNs, TimelineView, Track, TrackId, TrackKind, Tracks,
    Window,
};

use crate::bounds::Bounds;
use crate::messages::{Messages, Wakeups};
use crate::resolver::Resolver;
use crate::switches::{Lane, ProcessorSwitches, RunningTask};
use crate::tasks::{CpuId, TaskId, Tasks};
use crate::window_state::{
    AFTER, RequiredState, StateAfter, StateBefore, TaskOutcome, state_tracks, tracks_of_kinds,
};

/// Events after which passes are asked whether they need more.
const EVENTS_BETWEEN: u64 = 1024;

/// A timeline that is being analysed.
pub struct Analysis {
    timeline: Arc<dyn TimelineView>,
    window: Window,
    tracks: Tracks,
    tasks: Tasks,
    /// Tracks that are meant; `None` means all.
    selected_tracks: Option<TrackSelection>,
    is_all_read: bool,
    resolver: Resolver,
    bounds: Bounds,
    /// True if all that was before the window is known.
    is_all_before: bool,
}

/// Tracks that are meant.
struct TrackSelection {
    /// Those that are, and those that stand for the tasks of others.
    all: Vec<bool>,
    /// Those that stand for the task of another and are not meant themselves.
    homes: BTreeSet<TrackId>,
}

impl TrackSelection {
    fn new(meant: &[TrackId], tasks: &Tasks, count: usize) -> Self {
        let mut all = vec![false; count];
        let mut set = |track: TrackId| {
            let place = all.get_mut(track.0);
            place.is_some_and(|is_meant| !std::mem::replace(is_meant, true))
        };
        for track in meant {
            set(*track);
        }
        let homes = meant.iter().map(|track| tasks.home(*track)).filter(|home| set(*home));
        let homes = homes.collect();
        Self { all, homes }
    }

    fn contains(&self, track: TrackId) -> bool {
        self.all.get(track.0).copied().unwrap_or(false)
    }
}

/// Something that is worked out on the way.
pub trait Pass {
    /// Returns true if the pass needs the messages or wakeups that are under way when the window
    /// begins.
    fn follows_messages(&self) -> bool {
        false
    }

    /// Returns true if it has to know which states machines are in when the window begins.
    fn follows_states(&self) -> bool {
        false
    }

    /// Takes where the window cuts through the recording, before anything else.
    fn begin(&mut self, _bounds: &Bounds) {}

    /// Takes what goes on already when the window begins.
    fn initial_state(&mut self, _what: &InitialState<'_>, _begin: TimeNs) {}

    /// Takes an event.
    fn event(&mut self, seen: &ResolvedEvent<'_>);

    /// Takes a stretch that is not over when the events are.
    fn unfinished(&mut self, _stretch: &RunSlice) {}

    /// Takes a stretch that is not over when the window is, and that nothing ends then.
    fn lost(&mut self, _stretch: &RunSlice) {}

    /// Takes from when to when it is not known who runs on a processor, since events are missing: the
    /// window ends there.
    fn unknown(&mut self, _cpu: CpuId, _since: TimeNs, _until: TimeNs) {}

    /// Takes until when it is known who runs on a processor, or that nobody does: the window ends
    /// there, and it switches later.
    fn known_until(&mut self, _cpu: CpuId, _until: TimeNs) {}

    /// Takes a processor where nothing tells when the interrupts end that are under way when the
    /// window does.
    fn interrupts_lost(&mut self, _cpu: CpuId) {}

    /// Takes a processor that switches, in the window or anywhere else in the recording.
    fn switches(&mut self, _cpu: CpuId) {}

    /// Takes the time that was looked at, when all is seen.
    fn finish(&mut self, _bounds: &Bounds, _tasks: &Tasks) {}

    /// Returns true if it waits for what comes after the window.
    fn awaits(&self) -> bool {
        false
    }

    /// Takes an event after the window, which may tell what became of what is under way.
    fn event_after(&mut self, _seen: &ResolvedEvent<'_>) {}

    /// Returns true if it needs no more events. Once all passes say so, the analysis ends.
    fn is_over(&self) -> bool {
        false
    }

    /// Returns what the pass could not keep.
    fn omissions(&self) -> Vec<Omission> {
        Vec::new()
    }
}

/// Data that a pass could not keep, since there was too much of it. Figures lack it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Omission {
    /// Number of things left out.
    pub count: u64,
    /// Description of one, and the reason why that matters: `job is late`.
    pub one: &'static str,
    /// The same of several: `jobs are late`.
    pub many: &'static str,
}

/// Initial state: what goes on when the window begins.
#[derive(Debug, Clone, Copy)]
pub enum InitialState<'a> {
    /// A task runs, with a priority where that is known.
    Task(TaskId, Option<i64>),
    /// No task runs on a processor, as is known.
    Nobody(CpuId),
    /// So many interrupts are under way on a processor, one within another.
    Interrupts(CpuId, usize),
    /// A state machine is in a state.
    State(TrackId, &'a str),
    /// Messages are under way.
    Messages(&'a Messages),
    /// Tasks are woken, and did not run yet.
    Wakeups(&'a Wakeups),
}

/// An event, and what it is to tasks.
#[derive(Debug)]
pub struct ResolvedEvent<'a> {
    /// The event.
    pub event: &'a Event<'a>,
    /// Time of the event.
    pub time: TimeNs,
    /// The task it is of, and the processor.
    pub task: Option<(TaskId, CpuId)>,
    /// Beginning or end of a stretch of that task, if the event is one.
    pub run: Option<RunChange>,
    /// A stretch of another task that nothing ended, so that its end is not known.
    pub lost: Option<RunSlice>,
    /// Since when it was not known who runs on the processor, since events are missing.
    pub unknown_since: Option<TimeNs>,
    /// Stretches that ran until now, where events are missing from here on.
    pub cut: &'a [RunSlice],
    /// Track that released the task: a task's track, or that of a processor in an interrupt.
    pub by: Option<TrackId>,
    /// Meaning of the event for the interrupts of a processor.
    pub interrupt: Option<InterruptEvent>,
    /// The tasks that are known by now.
    pub tasks: &'a Tasks,
}

/// Meaning of an event for the interrupts of a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterruptEvent {
    /// The processor.
    pub cpu: CpuId,
    /// Change of an interrupt.
    pub run: InterruptChange,
    /// Number of interrupts under way around it.
    pub around: usize,
    /// Number of others that are over because of this event: their own ends are missing.
    pub lost: u64,
}

/// Change of an interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterruptChange {
    /// It begins.
    Begins,
    /// It ends.
    Ends,
    /// It ends and did not begin, though others did that are under way.
    Unbegun,
}

/// Change of a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunChange {
    /// It begins.
    Begins,
    /// It ends.
    Ends {
        /// Time at which it began, where that is known.
        since: Option<TimeNs>,
    },
}

/// A stretch of time in which a task ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunSlice {
    /// The task.
    pub task: TaskId,
    /// Processor on which it ran.
    pub cpu: CpuId,
    /// The track that says so.
    pub track: TrackId,
    /// Its begin.
    pub since: TimeNs,
    /// Its end.
    pub until: TimeNs,
}

/// Diagnostics of an analysis: what could not be used, or is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diagnostics {
    /// Events without a time.
    pub timeless: u64,
    /// Switches that stop a task that did not run, or let one run beside another, by processor.
    pub unbalanced: BTreeMap<CpuId, u64>,
    /// Places where events are missing, so that who ran until the next switch is not known, by
    /// processor.
    pub gaps: BTreeMap<CpuId, u64>,
    /// Switches that are earlier than one before them, by processor: what they tell is not used.
    pub backwards: BTreeMap<CpuId, u64>,
    /// Processors that do not switch in the window, and nothing tells who ran.
    pub unknown: BTreeSet<CpuId>,
    /// Processors that do not switch near the window: who runs at an end of it is taken to run up to
    /// there.
    pub assumed: BTreeSet<CpuId>,
    /// State machines whose state at the begin of the window is too far back to be found.
    pub unknown_states: Vec<TrackId>,
    /// Data that passes could not keep.
    pub left_out: Vec<Omission>,
}

impl ResolvedEvent<'_> {
    /// Returns the kind of data that is missing from here on, if the event is a gap.
    #[inline]
    #[must_use]
    pub fn gap(&self) -> Option<Missing> {
        match self.event.content {
            Content::Activity(Activity::Gap(missing)) => Some(missing),
            _ => None,
        }
    }

    /// The recording that lacks events from here on, of which there may be any.
    #[inline]
    pub(crate) fn events_missing_from(&self) -> Option<usize> {
        let missing = self.gap().filter(|missing| *missing != Missing::Switches);
        missing.and_then(|_| self.tasks.recording_of(self.event.track))
    }

    /// Returns true if events of a track may be missing from here on.
    pub(crate) fn may_miss_events(&self, track: TrackId) -> bool {
        let missing = self.gap().filter(|missing| *missing != Missing::Switches);
        missing
            .is_some_and(|missing| self.tasks.may_miss_events(track, (self.event.track, missing)))
    }

    /// The stretch that ends here, when its begin is known.
    #[must_use]
    pub fn stretch(&self) -> Option<RunSlice> {
        let Some(RunChange::Ends { since: Some(since) }) = self.run else { return None };
        let ((task, cpu), track) = (self.task?, self.event.track);
        Some(RunSlice { task, cpu, track, since, until: self.time })
    }
}

impl Analysis {
    /// Prepares to go through a window of a timeline. Tasks whose name is said to be of one are
    /// idle, besides those that the recording says so of. Tracks of the window are those that are
    /// meant; others are looked at too, for they tell who ran when.
    pub fn new(
        timeline: Arc<dyn TimelineView>,
        window: Window,
        is_idle: &dyn Fn(&str) -> bool,
    ) -> Result<Self> {
        let tracks = timeline.tracks();
        let tasks = Tasks::new(&tracks, is_idle);
        let bounds = Bounds::new(&timeline, &tracks, &window)?;
        let meant = window.tracks.as_ref();
        let meant = meant.map(|meant| TrackSelection::new(meant, &tasks, tracks.len()));
        Ok(Self {
            selected_tracks: meant,
            is_all_read: false,
            resolver: Resolver::new(&tasks, tracks.len()),
            timeline,
            window,
            tracks,
            tasks,
            bounds,
            is_all_before: true,
        })
    }

    /// Hands on all events, also those that are no doings of tasks, functions and machines.
    #[must_use]
    pub fn with_all(mut self) -> Self {
        self.is_all_read = true;
        self
    }

    /// The tasks. While events are gone through, those come in that nothing declares.
    #[must_use]
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// The tracks of the timeline.
    #[must_use]
    pub fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    /// Returns flags of the tracks that are meant; `None` means all.
    #[must_use]
    pub fn selected_tracks(&self) -> Option<Vec<bool>> {
        self.selected_tracks.as_ref().map(|meant| meant.all.clone())
    }

    /// Returns true if a track is meant, or stands for a task of which another track is meant.
    #[must_use]
    pub fn is_selected(&self, track: TrackId) -> bool {
        self.selected_tracks.as_ref().is_none_or(|meant| meant.contains(track))
    }

    /// Returns true if a track is meant itself.
    #[must_use]
    pub fn is_selected_itself(&self, track: TrackId) -> bool {
        self.selected_tracks
            .as_ref()
            .is_none_or(|meant| meant.contains(track) && !meant.homes.contains(&track))
    }

    /// The tasks that are meant, each with the processors on which it is; nothing means all.
    #[must_use]
    pub fn selected_tasks(&self) -> Option<HashSet<(TaskId, CpuId)>> {
        self.selected_tracks.as_ref()?;
        let tracks =
            (0..self.tracks.len()).map(TrackId).filter(|track| self.is_selected_itself(*track));
        Some(tracks.filter_map(|track| self.tasks.track_task(track)).collect())
    }

    /// Returns true if a task is meant: one of its tracks is.
    #[must_use]
    pub fn is_task_selected(&self, task: TaskId) -> bool {
        self.tasks.get(task).is_some_and(|task| self.is_selected(task.home))
    }

    /// Hands every event that has a time to every pass, and what was before and after them. Tells
    /// what could not be used.
    pub fn run(&mut self, passes: &mut [&mut dyn Pass]) -> Result<Diagnostics> {
        let mut short = Diagnostics::default();
        for pass in &mut *passes {
            pass.begin(&self.bounds);
        }
        self.read_initial_state(passes, &mut short)?;
        let window = Window { tracks: self.read(), ..self.window.clone() };
        let mut events = Arc::clone(&self.timeline).events(&window)?;
        let mut count = 0_u64;
        loop {
            count += 1;
            if count.is_multiple_of(EVENTS_BETWEEN) && passes.iter().all(|pass| pass.is_over()) {
                return Ok(short);
            }
            // Events are large, and there are many: they are looked at where they are.
            let next = events.next();
            let event = match &next {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(_) => return next.map(|_| short),
            };
            let Some(time) = event.time else {
                short.timeless += 1;
                continue;
            };
            let seen = self.resolve(event, time);
            for pass in &mut *passes {
                pass.event(&seen);
            }
        }
        drop(events);
        self.unfinished(passes, &mut short)?;
        for pass in &mut *passes {
            pass.finish(&self.bounds, &self.tasks);
        }
        self.read_after_window(passes)?;
        for pass in &mut *passes {
            short.left_out.extend(pass.omissions().into_iter().filter(|left| left.count > 0));
        }
        Ok(short)
    }

    /// The tracks to read: those where tasks, functions and machines do something, and what is
    /// meant besides.
    fn read(&self) -> Option<Vec<TrackId>> {
        use TrackKind::{Calls, States, Task};
        if self.is_all_read && self.selected_tracks.is_none() {
            return None;
        }
        let is_read = |(id, track): &(usize, &Track)| {
            let is_meant = self.selected_tracks.is_some() && self.is_selected(TrackId(*id));
            is_meant || matches!(track.kind, Task | States | Calls)
        };
        let tracks = || self.tracks.iter().enumerate();
        if tracks().all(|track| is_read(&track)) {
            return None;
        }
        Some(tracks().filter(is_read).map(|(id, _)| TrackId(id)).collect())
    }

    /// Finds out what goes on when the window begins.
    fn read_initial_state(
        &mut self,
        passes: &mut [&mut dyn Pass],
        short: &mut Diagnostics,
    ) -> Result<()> {
        let begins = (0..self.tracks.len()).find_map(|id| self.bounds.from(TrackId(id)));
        let Some(moment) = begins else { return Ok(()) };
        let follows = RequiredState {
            messages: passes.iter().any(|pass| pass.follows_messages()),
            states: passes.iter().any(|pass| pass.follows_states()),
        };
        let (timeline, tracks, tasks) = (&self.timeline, &self.tracks, &mut self.tasks);
        let mut before = StateBefore::read(timeline, tracks, tasks, moment, follows)?;
        before.resolver.switches.restart(moment, before.is_all);
        let bounds = &self.bounds;
        before.resolver.switches.forget(|track| bounds.from(track).is_none());
        before.states.retain(|track, _| bounds.from(*track).is_some());
        let is_cut =
            |cpu: &CpuId| self.tasks.cpu(*cpu).is_some_and(|cpu| bounds.from(cpu.track).is_some());
        for what in before.initial_states(&self.tasks, is_cut) {
            for pass in &mut *passes {
                pass.initial_state(&what, moment);
            }
        }
        if follows.states && !before.is_all {
            let machines = tracks_of_kinds(&self.tracks, &[TrackKind::States]).into_iter();
            let unknown = machines.filter(|track| !before.states.contains_key(track));
            short.unknown_states = unknown.collect();
        }
        (self.resolver, self.is_all_before) = (before.resolver, before.is_all);
        Ok(())
    }

    /// Looks on after the window until nothing is waited for any more, though not for ever.
    fn read_after_window(&mut self, passes: &mut [&mut dyn Pass]) -> Result<()> {
        let ends = (0..self.tracks.len()).filter_map(|id| self.bounds.window_end(TrackId(id)));
        let awaits = |passes: &[&mut dyn Pass]| passes.iter().any(|pass| pass.awaits());
        let Some(from) = ends.min().filter(|_| awaits(passes)) else { return Ok(()) };
        let follows = RequiredState { messages: true, states: true };
        let tracks = Some(state_tracks(&self.tracks, &self.tasks, follows));
        let window = Window { tracks, from: Some(from), until: None, last: None };
        let mut events = Arc::clone(&self.timeline).events(&window)?;
        for _ in 0..AFTER {
            let Some(event) = events.next()? else { break };
            let Some(time) = event.time else { continue };
            let seen = self.resolve(&event, time);
            for pass in &mut *passes {
                pass.event_after(&seen);
            }
            if !awaits(passes) {
                break;
            }
        }
        Ok(())
    }

    /// Resolves an event: returns its meaning for tasks.
    #[inline]
    fn resolve<'a>(&'a mut self, event: &'a Event<'a>, time: TimeNs) -> ResolvedEvent<'a> {
        let bounds = if self.is_all_before { None } else { Some(&self.bounds) };
        self.resolver.resolve(event, time, &mut self.tasks, bounds)
    }

    /// Tells what goes on at the end. A processor's time is over with its last switch, for how long
    /// that lasts which it lets run is not known. Where the window ends before it, what goes on
    /// counts up to there, as the first switches after the window tell.
    fn unfinished(&self, passes: &mut [&mut dyn Pass], short: &mut Diagnostics) -> Result<()> {
        let switches = &self.resolver.switches;
        let is_asked = |lane: &Lane| {
            let is_missed = !lane.is_known && (self.is_one(lane.cpu) || !self.is_all_before);
            lane.running.is_some() || is_missed
        };
        let after = StateAfter::read(
            &self.timeline,
            (&self.tracks, &self.tasks),
            &self.resolver,
            &self.bounds,
            is_asked,
        )?;
        short.assumed.clone_from(&self.resolver.assumed);
        for (id, lane) in switches.lanes() {
            let fate = lane.running.map(|running| after.fate(id, lane.cpu, running.track));
            let stretch = match lane.running {
                Some(running) => self.cut(running, lane.cpu, fate, short),
                None if lane.is_known || lane.is_lost => None,
                None => self.unseen_run(id, lane.cpu, &after, short),
            };
            let Some(stretch) = stretch else { continue };
            for pass in &mut *passes {
                match fate {
                    Some(TaskOutcome::IsLost) => pass.lost(&stretch),
                    _ => pass.unfinished(&stretch),
                }
            }
        }
        for cpu in (0..self.tasks.cpu_count()).map(CpuId) {
            self.report_outside_window(cpu, &after, passes, short);
            let until = self.tasks.cpu(cpu).and_then(|cpu| self.bounds.window_end(cpu.track));
            let ProcessorSwitches { unknown_since, gaps, .. } = switches.processor_state(cpu);
            short.gaps.extend((gaps > 0).then_some((cpu, gaps)));
            if let Some(until) = until.filter(|_| after.switches(cpu) != Some(false)) {
                for pass in &mut *passes {
                    if let Some(since) = unknown_since {
                        pass.unknown(cpu, since, until);
                    }
                    pass.known_until(cpu, until);
                }
                let is_assumed = after.switches(cpu).is_none() && switches.is_known(cpu);
                short.assumed.extend(is_assumed.then_some(cpu));
            }
            let ProcessorSwitches { unbalanced, backwards, .. } = switches.processor_state(cpu);
            short.unbalanced.extend((unbalanced > 0).then_some((cpu, unbalanced)));
            short.backwards.extend((backwards > 0).then_some((cpu, backwards)));
        }
        Ok(())
    }

    /// Tells whether a processor switches at all, and what comes of its interrupts.
    fn report_outside_window(
        &self,
        cpu: CpuId,
        after: &StateAfter,
        passes: &mut [&mut dyn Pass],
        short: &mut Diagnostics,
    ) {
        // What is too far away to be found may be there.
        let is_elsewhere = after.switches(cpu) != Some(false) || !self.is_all_before;
        let last = self.resolver.switches.processor_state(cpu).last;
        let is_there = is_elsewhere || last.is_some() || self.resolver.switches.is_known(cpu);
        if !is_elsewhere && is_there && last.is_none() && self.is_one(cpu) {
            // Its last switch is before the window, whoever that let run.
            short.unknown.insert(cpu);
        }
        let ends = after.interrupts_end(cpu);
        for pass in &mut *passes {
            if ends == Some(false) {
                pass.interrupts_lost(cpu);
            }
            if is_there {
                pass.switches(cpu);
            }
        }
        short.assumed.extend(ends.is_none().then_some(cpu));
    }

    fn is_one(&self, cpu: CpuId) -> bool {
        self.tasks.cpu(cpu).is_some_and(|cpu| cpu.is_one)
    }

    /// The stretch of who runs at the end, as far as it is known.
    fn cut(
        &self,
        running: RunningTask,
        cpu: CpuId,
        fate: Option<TaskOutcome>,
        short: &mut Diagnostics,
    ) -> Option<RunSlice> {
        let cut =
            self.bounds.window_end(running.track).filter(|_| fate != Some(TaskOutcome::IsUnknown));
        let Some(until) = cut.or(self.resolver.switches.processor_state(cpu).last) else {
            short.unknown.insert(cpu);
            return None;
        };
        (until > running.since).then(|| running.end_at(until, cpu))
    }

    /// The stretch of who may have run all through the window, where no switch tells: who stops first
    /// after it is taken to, if switches may be too far back to be found.
    fn unseen_run(
        &self,
        lane: usize,
        cpu: CpuId,
        after: &StateAfter,
        short: &mut Diagnostics,
    ) -> Option<RunSlice> {
        let since = self.tasks.cpu(cpu).and_then(|cpu| self.bounds.from(cpu.track))?;
        let track = after.stops(lane);
        // What switches nowhere is no processor that is missed, nor what begins after the window.
        let is_nowhere = self.is_all_before && after.switches(cpu) == Some(false);
        let is_unknown = !after.is_known(lane) || (self.is_all_before && track.is_some());
        if self.is_one(cpu) && is_unknown && !is_nowhere {
            short.unknown.insert(cpu);
        }
        let track = track.filter(|_| !self.is_all_before)?;
        let ((task, _), until) = (self.tasks.track_task(track)?, self.bounds.window_end(track)?);
        short.assumed.insert(cpu);
        Some(RunSlice { task, cpu, track, since, until })
    }
}
