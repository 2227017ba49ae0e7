//! One way through the events of a timeline, for any number of passes.

use std::collections::BTreeMap;
use std::sync::Arc;

use kymo_core::Result;
use kymo_core::model::timeline::{Event, TimeNs, TimelineView, Track, TrackId, TrackKind, Window};

use crate::bounds::Bounds;
use crate::messages::{Messages, Wakeups};
use crate::outside::{AFTER, After, Before, of_kinds, telling};
use crate::resolver::Resolver;
use crate::tasks::{CpuId, TaskId, Tasks};

/// A timeline that is being analysed.
pub struct Analysis {
    timeline: Arc<dyn TimelineView>,
    window: Window,
    tracks: Vec<Track>,
    tasks: Tasks,
    /// Which tracks are meant; nothing means all.
    meant: Option<Vec<bool>>,
    is_all_read: bool,
    resolver: Resolver,
    bounds: Bounds,
}

/// Something that is worked out on the way.
pub trait Pass {
    /// Whether it has to know which messages or wakeups are under way when the window begins.
    fn follows_messages(&self) -> bool {
        false
    }

    /// Takes where the window cuts through the recording, before anything else.
    fn begin(&mut self, _bounds: &Bounds) {}

    /// Takes what goes on already when the window begins.
    fn standing(&mut self, _what: &Standing<'_>, _begin: TimeNs) {}

    /// Takes an event.
    fn event(&mut self, seen: &Seen<'_>);

    /// Takes a stretch that is not over when the events are.
    fn unfinished(&mut self, _stretch: &Stretch) {}

    /// Takes the time that was looked at, when all is seen.
    fn finish(&mut self, _bounds: &Bounds, _tasks: &Tasks) {}

    /// Whether it waits for what comes after the window.
    fn awaits(&self) -> bool {
        false
    }

    /// Takes an event after the window, which may tell what became of what is under way.
    fn after(&mut self, _seen: &Seen<'_>) {}

    /// What it could not keep.
    fn left_out(&self) -> Vec<LeftOut> {
        Vec::new()
    }
}

/// What a pass could not keep, since there was too much of it. Figures lack it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeftOut {
    /// How many.
    pub count: u64,
    /// What one is, and why that matters: `job is late`.
    pub one: &'static str,
    /// The same of several: `jobs are late`.
    pub many: &'static str,
}

/// What goes on when the window begins.
#[derive(Debug, Clone, Copy)]
pub enum Standing<'a> {
    /// A task runs.
    Task(TaskId),
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
pub struct Seen<'a> {
    /// The event.
    pub event: &'a Event<'a>,
    /// When it was.
    pub time: TimeNs,
    /// The task it is of, and the processor.
    pub task: Option<(TaskId, CpuId)>,
    /// Whether it begins or ends a stretch of that task.
    pub run: Option<Run>,
    /// A stretch of another task that nothing ended, so that its end is not known.
    pub lost: Option<Stretch>,
    /// Who released the task: a task's track, or that of a processor in an interrupt.
    pub by: Option<TrackId>,
    /// What it is to the interrupts of a processor.
    pub interrupt: Option<Interrupt>,
    /// The tasks that are known by now.
    pub tasks: &'a Tasks,
}

/// What an event is to the interrupts of a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interrupt {
    /// The processor.
    pub cpu: CpuId,
    /// What happens to one.
    pub run: InterruptRun,
    /// How many are under way around it.
    pub around: usize,
    /// How many others are over, as it tells: their own ends are missing.
    pub lost: u64,
}

/// What happens to an interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterruptRun {
    /// It begins.
    Begins,
    /// It ends.
    Ends,
    /// It ends and did not begin, though others did that are under way.
    Unbegun,
}

/// What happens to a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Run {
    /// It begins.
    Begins,
    /// It ends.
    Ends {
        /// When it began, where that is known.
        since: Option<TimeNs>,
    },
}

/// A stretch of time in which a task ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// The task.
    pub task: TaskId,
    /// Where it ran.
    pub cpu: CpuId,
    /// The track that says so.
    pub track: TrackId,
    /// Its begin.
    pub since: TimeNs,
    /// Its end.
    pub until: TimeNs,
}

/// What could not be used, or is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shortcomings {
    /// Events without a time.
    pub timeless: u64,
    /// Switches that stop a task that did not run, or let one run beside another, by processor.
    pub unbalanced: BTreeMap<CpuId, u64>,
    /// Processors that do not switch in the window, and nothing near it tells who ran.
    pub unknown: Vec<CpuId>,
    /// State machines whose state at the begin of the window is too far back to be found.
    pub unknown_states: Vec<TrackId>,
    /// What passes could not keep.
    pub left_out: Vec<LeftOut>,
}

impl Seen<'_> {
    /// The stretch that ends here, when its begin is known.
    #[must_use]
    pub fn stretch(&self) -> Option<Stretch> {
        let Some(Run::Ends { since: Some(since) }) = self.run else { return None };
        let ((task, cpu), track) = (self.task?, self.event.track);
        Some(Stretch { task, cpu, track, since, until: self.time })
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
        let is_meant = |tracks_meant: &Vec<TrackId>| {
            let ids = (0..tracks.len()).map(TrackId);
            ids.map(|id| tracks_meant.binary_search(&id).is_ok()).collect()
        };
        Ok(Self {
            meant: window.tracks.as_ref().map(is_meant),
            is_all_read: false,
            resolver: Resolver::new(&tasks, tracks.len()),
            timeline,
            window,
            tracks,
            tasks,
            bounds,
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

    /// Which tracks are meant; nothing means all.
    #[must_use]
    pub fn meant(&self) -> Option<Vec<bool>> {
        self.meant.clone()
    }

    /// Whether a track is meant.
    #[must_use]
    pub fn means(&self, track: TrackId) -> bool {
        self.meant.as_ref().is_none_or(|meant| meant.get(track.0).copied().unwrap_or(false))
    }

    /// Whether a task is meant: one has the same name on all its tracks.
    #[must_use]
    pub fn means_task(&self, task: TaskId) -> bool {
        self.tasks.get(task).is_some_and(|task| self.means(task.home))
    }

    /// Hands every event that has a time to every pass, and what was before and after them. Tells
    /// what could not be used.
    pub fn run(&mut self, passes: &mut [&mut dyn Pass]) -> Result<Shortcomings> {
        let mut short = Shortcomings::default();
        for pass in &mut *passes {
            pass.begin(&self.bounds);
        }
        let is_all_before = self.look_before(passes, &mut short)?;
        let window = Window { tracks: self.read(), ..self.window.clone() };
        let mut events = Arc::clone(&self.timeline).events(&window)?;
        loop {
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
            self.bounds.see(event.track, time);
            let seen = self.resolve(event, time);
            for pass in &mut *passes {
                pass.event(&seen);
            }
        }
        drop(events);
        for stretch in self.unfinished(is_all_before, &mut short)? {
            for pass in &mut *passes {
                pass.unfinished(&stretch);
            }
        }
        for pass in &mut *passes {
            pass.finish(&self.bounds, &self.tasks);
        }
        self.look_after(passes)?;
        for pass in &mut *passes {
            short.left_out.extend(pass.left_out().into_iter().filter(|left| left.count > 0));
        }
        Ok(short)
    }

    /// The tracks to read: those where tasks, functions and machines do something, and what is
    /// meant besides.
    fn read(&self) -> Option<Vec<TrackId>> {
        use TrackKind::{Calls, States, Task};
        if self.is_all_read && self.meant.is_none() {
            return None;
        }
        let is_read = |(id, track): &(usize, &Track)| {
            let is_meant = self.meant.is_some() && self.means(TrackId(*id));
            is_meant || matches!(track.kind, Task | States | Calls)
        };
        Some(self.tracks.iter().enumerate().filter(is_read).map(|(id, _)| TrackId(id)).collect())
    }

    /// Finds out what goes on when the window begins. Tells whether all that was before is known.
    fn look_before(
        &mut self,
        passes: &mut [&mut dyn Pass],
        short: &mut Shortcomings,
    ) -> Result<bool> {
        let begins = (0..self.tracks.len()).find_map(|id| self.bounds.from(TrackId(id)));
        let Some(moment) = begins else { return Ok(true) };
        let follows_messages = passes.iter().any(|pass| pass.follows_messages());
        let (timeline, tracks, tasks) = (&self.timeline, &self.tracks, &mut self.tasks);
        let mut before = Before::look(timeline, tracks, tasks, moment, follows_messages)?;
        before.resolver.switches.restart(moment);
        let bounds = &self.bounds;
        before.resolver.switches.forget(|track| bounds.from(track).is_none());
        before.states.retain(|track, _| bounds.from(*track).is_some());
        let is_cut =
            |cpu: &CpuId| self.tasks.cpu(*cpu).is_some_and(|cpu| bounds.from(cpu.track).is_some());
        for what in before.standing(&self.tasks, is_cut) {
            for pass in &mut *passes {
                pass.standing(&what, moment);
            }
        }
        if !before.is_all {
            let machines = of_kinds(&self.tracks, &[TrackKind::States]).into_iter();
            let unknown = machines.filter(|track| !before.states.contains_key(track));
            short.unknown_states = unknown.collect();
        }
        self.resolver = before.resolver;
        Ok(before.is_all)
    }

    /// Looks on after the window until nothing is waited for any more, though not for ever.
    fn look_after(&mut self, passes: &mut [&mut dyn Pass]) -> Result<()> {
        let ends = (0..self.tracks.len()).filter_map(|id| self.bounds.until(TrackId(id)));
        let awaits = |passes: &[&mut dyn Pass]| passes.iter().any(|pass| pass.awaits());
        let Some(from) = ends.min().filter(|_| awaits(passes)) else { return Ok(()) };
        let tracks = Some(telling(&self.tracks, &self.tasks, true));
        let window = Window { tracks, from: Some(from), until: None, last: None };
        let mut events = Arc::clone(&self.timeline).events(&window)?;
        for _ in 0..AFTER {
            let Some(event) = events.next()? else { break };
            let Some(time) = event.time else { continue };
            let seen = self.resolve(&event, time);
            for pass in &mut *passes {
                pass.after(&seen);
            }
            if !awaits(passes) {
                break;
            }
        }
        Ok(())
    }

    /// What an event is to tasks.
    #[inline]
    fn resolve<'a>(&'a mut self, event: &'a Event<'a>, time: TimeNs) -> Seen<'a> {
        self.resolver.resolve(event, time, &mut self.tasks, Some(&self.bounds))
    }

    /// What still runs at the end: until then, or until the processor's last switch. What that lets
    /// run has no stretch that is known. Of processors that did not switch, the first switch after
    /// the window tells.
    fn unfinished(&self, is_all_before: bool, short: &mut Shortcomings) -> Result<Vec<Stretch>> {
        let mut stretches = Vec::new();
        for (cpu, running) in self.resolver.switches.all_running() {
            let until = self.bounds.until(running.track);
            match until.or(self.resolver.switches.of(cpu).last) {
                Some(until) if until <= running.since => {}
                Some(until) => stretches.push(running.until(until, cpu)),
                None => short.unknown.push(cpu),
            }
        }
        for cpu in (0..self.tasks.cpu_count()).map(CpuId) {
            let count = self.resolver.switches.of(cpu).unbalanced;
            if count > 0 {
                short.unbalanced.insert(cpu, count);
            }
        }
        let is_cut = |cpu: &CpuId| {
            let track = self.tasks.cpu(*cpu).map(|cpu| cpu.track);
            track.is_some_and(|track| self.bounds.from(track).is_some())
        };
        let unknown = self.resolver.switches.unknown(&self.tasks).filter(is_cut).collect();
        let after = After::look(&self.timeline, &self.tracks, &self.tasks, &self.bounds, unknown)?;
        stretches.extend(after.stretches);
        // What switches nowhere is no processor that is missed.
        if !(is_all_before && after.is_all) {
            short.unknown.extend(after.unknown);
        }
        Ok(stretches)
    }
}
