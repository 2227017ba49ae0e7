//! One way through the events of a timeline, for any number of passes.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use kymo_core::Result;
use kymo_core::model::timeline::{
    Activity, Content, Event, TimeNs, TimelineView, Track, TrackId, Window,
};

use crate::tasks::{CpuId, TaskId, Tasks};

/// A timeline that is being analysed.
pub struct Analysis {
    timeline: Arc<dyn TimelineView>,
    window: Window,
    tracks: Vec<Track>,
    tasks: Tasks,
    /// What runs on each track, since when.
    running: Vec<Option<(TaskId, TimeNs)>>,
    /// When each processor switched last.
    switched: Vec<Option<TimeNs>>,
    /// Where each processor's window cuts through what was recorded: its begin and its end.
    cuts: Vec<(Option<TimeNs>, Option<TimeNs>)>,
}

/// Something that is worked out on the way.
pub trait Pass {
    /// Takes an event.
    fn event(&mut self, seen: &Seen<'_>);

    /// Takes a stretch that is not over when the events are.
    fn unfinished(&mut self, _stretch: &Stretch) {}
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
    /// The tasks that are known by now.
    pub tasks: &'a Tasks,
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
    /// idle, besides those that the recording says so of.
    #[must_use]
    pub fn new(
        timeline: Arc<dyn TimelineView>,
        window: Window,
        is_idle: &dyn Fn(&str) -> bool,
    ) -> Self {
        let tracks = timeline.tracks();
        let tasks = Tasks::new(&tracks, is_idle);
        let (running, switched) = (vec![None; tracks.len()], vec![None; tasks.cpu_count()]);
        Self { timeline, window, tracks, tasks, running, switched, cuts: Vec::new() }
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

    /// What is gone through.
    #[must_use]
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// Hands every event that has a time to every pass. Tells how many had none.
    pub fn run(&mut self, passes: &mut [&mut dyn Pass]) -> Result<u64> {
        self.cuts = self.find_cuts()?;
        let mut events = Arc::clone(&self.timeline).events(&self.window)?;
        let mut timeless = 0;
        while let Some(event) = events.next()? {
            let Some(time) = event.time else {
                timeless += 1;
                continue;
            };
            let (task, run) = self.resolve(&event, time);
            let seen = Seen { event: &event, time, task, run, tasks: &self.tasks };
            for pass in &mut *passes {
                pass.event(&seen);
            }
        }
        drop(events);
        for stretch in self.unfinished() {
            for pass in &mut *passes {
                pass.unfinished(&stretch);
            }
        }
        Ok(timeless)
    }

    /// Where the window begins after the recording does, and ends before it.
    fn find_cuts(&self) -> Result<Vec<(Option<TimeNs>, Option<TimeNs>)>> {
        let Window { from, until, .. } = self.window;
        if from.is_none() && until.is_none() {
            return Ok(Vec::new());
        }
        let mut ranges = HashMap::new();
        let cpus = (0..self.tasks.cpu_count()).filter_map(|cpu| self.tasks.cpu(CpuId(cpu)));
        cpus.map(|cpu| {
            let Some(clock) = cpu.clock else { return Ok((None, None)) };
            let range = match ranges.entry(clock) {
                Entry::Occupied(range) => range.into_mut(),
                Entry::Vacant(unknown) => unknown.insert(Arc::clone(&self.timeline).range(clock)?),
            };
            let Some(range) = range else { return Ok((None, None)) };
            let from = from.filter(|from| from > range.start());
            Ok((from, until.filter(|until| until < range.end())))
        })
        .collect()
    }

    /// What an event is to tasks.
    fn resolve(
        &mut self,
        event: &Event<'_>,
        time: TimeNs,
    ) -> (Option<(TaskId, CpuId)>, Option<Run>) {
        let Content::Activity(activity) = &event.content else { return (None, None) };
        let track = event.track;
        let (name, is_begin) = match activity {
            Activity::Begin { name, .. } => (name.as_deref(), true),
            Activity::End => (None, false),
            _ => return (self.tasks.of(track, None), None),
        };
        let Some((own, cpu)) = self.tasks.of(track, name) else { return (None, None) };
        if let Some(switched) = self.switched.get_mut(cpu.0) {
            *switched = Some(switched.map_or(time, |last| last.max(time)));
        }
        let Some(running) = self.running.get_mut(track.0) else { return (None, None) };
        if is_begin {
            *running = Some((own, time));
            return (Some((own, cpu)), Some(Run::Begins));
        }
        // What ends and did not begin ran already when the window began.
        let cut = self.cuts.get(cpu.0).and_then(|cut| cut.0);
        let (task, since) = match running.take() {
            Some((task, since)) => (task, Some(since)),
            None => (own, cut),
        };
        (Some((task, cpu)), Some(Run::Ends { since }))
    }

    /// What still runs at the end: until then, or until the processor's last switch.
    fn unfinished(&self) -> Vec<Stretch> {
        let running = self.running.iter().enumerate();
        let stretches = running.filter_map(|(track, running)| {
            let (track, (task, since)) = (TrackId(track), (*running)?);
            let (_, cpu) = self.tasks.of_track(track)?;
            let cut = self.cuts.get(cpu.0).and_then(|cut| cut.1);
            let until = cut.or(*self.switched.get(cpu.0)?)?;
            Some(Stretch { task, cpu, track, since, until })
        });
        stretches.collect()
    }
}
