//! Which tasks there are, and on which processors.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use kymo_core::model::timeline::{ClockId, Track, TrackId, TrackKind};

/// Tasks that have a name and no track are told apart up to so many; the rest are one.
const NAMED_MAX: usize = 1 << 16;

/// A task's index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub usize);

/// A processor's index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CpuId(pub usize);

/// A task, or an interrupt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Its name.
    pub name: String,
    /// Which of the dataset's recordings it is of.
    pub recording: usize,
    /// It runs when there is nothing to do.
    pub is_idle: bool,
}

/// What tasks take turns on: a processor, or a log file that is of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpu {
    /// The name of its track.
    pub name: String,
    /// Its track.
    pub track: TrackId,
    /// What gives its times.
    pub clock: Option<ClockId>,
}

/// The tasks of a timeline.
#[derive(Debug, Default)]
pub struct Tasks {
    all: Vec<Task>,
    cpus: Vec<Cpu>,
    of_track: Vec<Option<(TaskId, CpuId)>>,
    /// Tasks that only their stretches name.
    named: HashMap<(TrackId, String), TaskId, RandomState>,
}

impl Tasks {
    /// Finds tasks among tracks. Those whose name is said to be of one are idle.
    pub fn new(tracks: &[Track], is_idle: &dyn Fn(&str) -> bool) -> Self {
        let mut tasks = Self::default();
        let mut known = HashMap::new();
        let mut cpus = HashMap::new();
        for (id, track) in tracks.iter().enumerate() {
            let found = (track.kind == TrackKind::Task).then(|| {
                let key = (track.recording, track.name.as_str(), track.task_id());
                let task = *known.entry(key).or_insert_with(|| {
                    let is_idle = track.is_idle() || is_idle(&track.name);
                    tasks.add(&track.name, track.recording, is_idle)
                });
                let on = cpu_of(tracks, TrackId(id));
                let cpu = *cpus.entry(on).or_insert_with(|| tasks.add_cpu(tracks, on));
                (task, cpu)
            });
            tasks.of_track.push(found);
        }
        tasks
    }

    fn add(&mut self, name: &str, recording: usize, is_idle: bool) -> TaskId {
        self.all.push(Task { name: name.to_owned(), recording, is_idle });
        TaskId(self.all.len() - 1)
    }

    fn add_cpu(&mut self, tracks: &[Track], track: TrackId) -> CpuId {
        let of = tracks.get(track.0);
        let name = of.map_or(String::new(), |track| track.name.clone());
        self.cpus.push(Cpu { name, track, clock: of.and_then(|track| track.clock) });
        CpuId(self.cpus.len() - 1)
    }

    /// The task and the processor of a track; with a name, a task that only stretches name.
    pub(crate) fn of(&mut self, track: TrackId, name: Option<&str>) -> Option<(TaskId, CpuId)> {
        let (own, cpu) = self.of_track(track)?;
        let Some(name) = name else { return Some((own, cpu)) };
        let key = (track, name.to_owned());
        if let Some(task) = self.named.get(&key) {
            return Some((*task, cpu));
        }
        if self.named.len() >= NAMED_MAX {
            return Some((own, cpu));
        }
        let recording = self.get(own).map_or(0, |task| task.recording);
        let task = self.add(name, recording, false);
        self.named.insert(key, task);
        Some((task, cpu))
    }

    /// The task and the processor of a track.
    #[must_use]
    pub fn of_track(&self, track: TrackId) -> Option<(TaskId, CpuId)> {
        self.of_track.get(track.0).copied().flatten()
    }

    /// A task.
    #[must_use]
    pub fn get(&self, id: TaskId) -> Option<&Task> {
        self.all.get(id.0)
    }

    /// The name of a task.
    #[must_use]
    pub fn name(&self, id: TaskId) -> &str {
        self.get(id).map_or("", |task| &task.name)
    }

    /// Whether a task runs when there is nothing to do.
    #[must_use]
    pub fn is_idle(&self, id: TaskId) -> bool {
        self.get(id).is_some_and(|task| task.is_idle)
    }

    /// A processor.
    #[must_use]
    pub fn cpu(&self, id: CpuId) -> Option<&Cpu> {
        self.cpus.get(id.0)
    }

    /// How many tasks there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are no tasks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// How many processors there are.
    #[must_use]
    pub fn cpu_count(&self) -> usize {
        self.cpus.len()
    }
}

/// The track of the processor that a track is of: the nearest that says so, and else the topmost.
fn cpu_of(tracks: &[Track], of: TrackId) -> TrackId {
    let mut at = of;
    // Parents come before their children, so this ends.
    while let Some(track) = tracks.get(at.0) {
        let is_cpu = at != of && track.attributes.contains_key(Track::CPU_ID);
        match track.parent.filter(|parent| *parent < at && !is_cpu) {
            Some(parent) => at = parent,
            None => break,
        }
    }
    at
}
