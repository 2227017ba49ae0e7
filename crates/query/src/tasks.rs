//! Tasks that there are, and their processors.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;
use std::sync::OnceLock;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use kymo_model::timeline::{ClockId, Missing, Track, TrackId, TrackKind, Tracks};

use crate::labels::{Labels, with_words};
use crate::slot::{Slot, slot_value};

/// Tasks that have a name and no track are told apart up to so many; the rest are one.
const NAMED_MAX: usize = 1 << 16;

/// A task's index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(pub usize);

/// A processor's index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CpuId(pub usize);

/// A task, or an interrupt. [`Tasks`] know its name and number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task {
    /// It runs when there is nothing to do.
    pub is_idle: bool,
    /// It is an interrupt.
    pub is_interrupt: bool,
    /// Whenever it stops by itself it is said to be complete.
    pub tells_completion: bool,
    /// The first of its tracks, which stands for all of them.
    pub home: TrackId,
}

/// Processor on which tasks take turns, or log file that is of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpu {
    /// The name of its track.
    pub name: String,
    /// Its track.
    pub track: TrackId,
    /// Number of the dataset's recording that it is of.
    pub recording: usize,
    /// Clock that gives its times.
    pub clock: Option<ClockId>,
    /// True if it is one processor, where one task runs at a time. On what the recording calls no
    /// processor, tasks run side by side.
    pub is_one: bool,
    /// True if the stretches of its track are interrupts.
    pub has_interrupts: bool,
}

/// The tasks of a timeline. There may be a million: what they are called is not kept twice.
#[derive(Debug, Default)]
pub struct Tasks {
    tracks: Tracks,
    all: Vec<Task>,
    cpus: Vec<Cpu>,
    /// The task and the processor of each track.
    task_of_track: Vec<(Slot, Slot)>,
    /// The processors that tracks are, and not just of.
    is_cpu: Vec<Slot>,
    /// The track of the processor that each track is or is of.
    places: Vec<Slot>,
    /// Names of tasks that only their stretches name.
    names: HashMap<TaskId, String, RandomState>,
    /// Tasks that only their stretches name.
    named: HashMap<TrackId, HashMap<String, TaskId, RandomState>, RandomState>,
    named_count: usize,
    /// Such names, and whether several tasks have them.
    shared: HashMap<String, bool, RandomState>,
    /// Labels of tracks, made once somebody asks.
    labels: OnceLock<Labels>,
}

impl Tasks {
    /// Finds tasks among tracks. Those whose name is said to be of one are idle.
    pub fn new(tracks: &Tracks, is_idle: &dyn Fn(&str) -> bool) -> Self {
        let count = tracks.iter().filter(|track| track.kind == TrackKind::Task).count();
        let mut tasks = Self {
            tracks: tracks.clone(),
            all: Vec::with_capacity(count),
            task_of_track: vec![(Slot::NONE, Slot::NONE); tracks.len()],
            is_cpu: vec![Slot::NONE; tracks.len()],
            places: (0..tracks.len())
                .map(|id| Slot::new(processor_track(tracks, TrackId(id))))
                .collect(),
            ..Self::default()
        };
        let mut known = TaskIndex::default();
        for (id, track) in tracks.iter().enumerate() {
            if track.kind != TrackKind::Task {
                continue;
            }
            let (id, on) = (TrackId(id), cpu_of(tracks, TrackId(id)));
            let task = known.find(track, &tasks).unwrap_or_else(|| {
                let task = tasks.add(Task {
                    is_idle: track.is_idle() || is_idle(&track.name),
                    is_interrupt: track.has_flag(Track::IS_INTERRUPT),
                    tells_completion: track.has_flag(Track::TELLS_COMPLETION),
                    home: id,
                });
                known.add(task, &tasks);
                task
            });
            let known_cpu = tasks.is_cpu(on);
            let cpu = known_cpu.unwrap_or_else(|| tasks.add_cpu(tracks, on));
            if let Some(of_track) = tasks.task_of_track.get_mut(id.0) {
                *of_track = (Slot::new(task.0), Slot::new(cpu.0));
            }
        }
        tasks
    }

    fn add(&mut self, task: Task) -> TaskId {
        self.all.push(task);
        TaskId(self.all.len() - 1)
    }

    fn add_cpu(&mut self, tracks: &[Track], track: TrackId) -> CpuId {
        let this_track = tracks.get(track.0);
        self.cpus.push(Cpu {
            name: this_track.map_or(String::new(), |track| track.name.clone()),
            track,
            recording: this_track.map_or(0, |track| track.recording),
            clock: this_track.and_then(|track| track.clock),
            is_one: this_track.is_some_and(|track| track.attributes.contains_key(Track::CPU_ID)),
            has_interrupts: this_track.is_some_and(|track| track.has_flag(Track::HAS_INTERRUPTS)),
        });
        let cpu = CpuId(self.cpus.len() - 1);
        if let Some(of_track) = self.is_cpu.get_mut(track.0) {
            *of_track = Slot::new(cpu.0);
        }
        cpu
    }

    /// The task and the processor of a track; with a name, a task that only stretches name.
    pub(crate) fn resolve_track(
        &mut self,
        track: TrackId,
        name: Option<&str>,
    ) -> Option<(TaskId, CpuId)> {
        let (own, cpu) = self.track_task(track)?;
        let Some(name) = name else { return Some((own, cpu)) };
        if let Some(task) = self.named.get(&track).and_then(|named| named.get(name)) {
            return Some((*task, cpu));
        }
        if self.named_count >= NAMED_MAX {
            return Some((own, cpu));
        }
        self.named_count += 1;
        let of_track = *self.get(own)?;
        let task = self.add(Task { is_idle: false, ..of_track });
        self.names.insert(task, name.to_owned());
        let known = self.shared.entry(name.to_owned());
        known.and_modify(|is_shared| *is_shared = true).or_insert(false);
        self.named.entry(track).or_default().insert(name.to_owned(), task);
        Some((task, cpu))
    }

    /// The task and the processor of a track.
    #[must_use]
    pub fn track_task(&self, track: TrackId) -> Option<(TaskId, CpuId)> {
        let (task, cpu) = self.task_of_track.get(track.0)?;
        Some((TaskId(task.get()?), CpuId(cpu.get()?)))
    }

    /// The tracks of tasks, each with its processor.
    pub(crate) fn tracks_of_tasks(&self) -> impl Iterator<Item = (TrackId, CpuId)> {
        let tracks = (0..self.task_of_track.len()).map(TrackId);
        tracks.filter_map(|track| Some((track, self.track_task(track)?.1)))
    }

    /// The processors that have a task which runs when there is nothing to do.
    pub(crate) fn cpus_with_idle(&self) -> HashSet<CpuId> {
        let tracks =
            (0..self.task_of_track.len()).filter_map(|track| self.track_task(TrackId(track)));
        tracks.filter(|(task, _)| self.is_idle(*task)).map(|(_, cpu)| cpu).collect()
    }

    /// The processor that a track is, where it is one that tasks run on.
    #[must_use]
    pub fn is_cpu(&self, track: TrackId) -> Option<CpuId> {
        slot_value(&self.is_cpu, track.0).map(CpuId)
    }

    /// The number that the recording gives a processor.
    pub(crate) fn cpu_number(&self, id: CpuId) -> Option<i64> {
        let cpu = self.cpu(id).filter(|cpu| cpu.is_one)?;
        self.tracks.get(cpu.track.0)?.attributes.number(Track::CPU_ID)
    }

    /// Returns the recording that a track is of.
    pub(crate) fn recording_of(&self, track: TrackId) -> Option<usize> {
        self.tracks.get(track.0).map(|track| track.recording)
    }

    /// Returns true if what is missing from a gap on may be of a track.
    pub(crate) fn may_miss_events(
        &self,
        track: TrackId,
        (gap, missing): (TrackId, Missing),
    ) -> bool {
        let is_same = self.recording_of(track) == self.recording_of(gap);
        let (value, place) = (slot_value(&self.places, track.0), slot_value(&self.places, gap.0));
        is_same && value.is_some() && (missing == Missing::AllEvents || value == place)
    }

    /// The processor that stretches of a track interrupt.
    #[must_use]
    pub(crate) fn interrupted(&self, track: TrackId) -> Option<CpuId> {
        let has_interrupts = |cpu: &CpuId| self.cpu(*cpu).is_some_and(|cpu| cpu.has_interrupts);
        self.is_cpu(track).filter(has_interrupts)
    }

    /// The track that stands for all of a task's: it may have run on several processors.
    #[must_use]
    pub fn home(&self, track: TrackId) -> TrackId {
        let task = self.track_task(track).and_then(|(task, _)| self.get(task));
        task.map_or(track, |task| task.home)
    }

    /// A task.
    #[must_use]
    pub fn get(&self, id: TaskId) -> Option<&Task> {
        self.all.get(id.0)
    }

    /// The first track of a task.
    fn home_of(&self, id: TaskId) -> Option<&Track> {
        self.tracks.get(self.get(id)?.home.0)
    }

    /// The name of a task.
    #[must_use]
    pub fn name(&self, id: TaskId) -> &str {
        if let Some(name) = self.names.get(&id) {
            return name;
        }
        self.home_of(id).map_or("", |track| &track.name)
    }

    /// Returns the label of a task among all others: its name, and what distinguishes it from
    /// others that have the same name.
    #[must_use]
    pub fn label(&self, id: TaskId) -> Cow<'_, str> {
        let Some(task) = self.get(id) else { return Cow::Borrowed("") };
        let Some(name) = self.names.get(&id) else { return self.track_label(task.home) };
        if !self.shared.get(name).copied().unwrap_or(false) {
            return Cow::Borrowed(name);
        }
        let home = || self.home_of(id).map_or("", |track| &track.name);
        Cow::Owned(with_words(name, parent_name(&self.tracks, task.home).unwrap_or_else(home)))
    }

    /// Returns the label of a track among all others.
    #[must_use]
    pub fn track_label(&self, track: TrackId) -> Cow<'_, str> {
        let labels = self.labels.get_or_init(|| Labels::new(&self.tracks));
        labels.label(&self.tracks, track)
    }

    /// Returns the number of the dataset's recording that a task is of.
    #[must_use]
    pub fn recording(&self, id: TaskId) -> usize {
        self.home_of(id).map_or(0, |track| track.recording)
    }

    /// The number that the recording gives a task.
    #[must_use]
    pub fn task_id(&self, id: TaskId) -> Option<i64> {
        let is_declared = !self.names.contains_key(&id);
        self.home_of(id).filter(|_| is_declared).and_then(Track::task_id)
    }

    /// The priority that the recording says a task has, whether it ran or not.
    #[must_use]
    pub fn priority(&self, id: TaskId) -> Option<i64> {
        let is_declared = !self.names.contains_key(&id);
        let track = self.home_of(id).filter(|_| is_declared)?;
        track.attributes.number(Track::TASK_PRIORITY)
    }

    /// Returns true if a task runs when there is nothing to do.
    #[must_use]
    pub fn is_idle(&self, id: TaskId) -> bool {
        self.get(id).is_some_and(|task| task.is_idle)
    }

    /// Returns true if a task is an interrupt.
    #[must_use]
    pub fn is_interrupt(&self, id: TaskId) -> bool {
        self.get(id).is_some_and(|task| task.is_interrupt)
    }

    /// A processor.
    #[must_use]
    pub fn cpu(&self, id: CpuId) -> Option<&Cpu> {
        self.cpus.get(id.0)
    }

    /// Returns the number of tasks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns true if there are no tasks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the number of processors.
    #[must_use]
    pub fn cpu_count(&self) -> usize {
        self.cpus.len()
    }
}

/// Tasks by what tells them from others: while tracks are gone through, there may be a million.
#[derive(Default)]
struct TaskIndex {
    tasks: HashTable<TaskId>,
    hasher: RandomState,
}

impl TaskIndex {
    /// Returns the key that distinguishes the task of a track from others.
    fn key(track: &Track) -> (usize, Option<u64>, &str, Option<i64>) {
        (track.recording, track.part(), &track.name, track.task_id())
    }

    fn hash(&self, track: &Track) -> u64 {
        self.hasher.hash_one(Some(Self::key(track)))
    }

    /// The task that a track is of, where one is known.
    fn find(&self, track: &Track, tasks: &Tasks) -> Option<TaskId> {
        let is_same = |task: &TaskId| {
            tasks.home_of(*task).is_some_and(|home| Self::key(home) == Self::key(track))
        };
        self.tasks.find(self.hash(track), is_same).copied()
    }

    fn add(&mut self, task: TaskId, tasks: &Tasks) {
        let Self { tasks: known, hasher } = self;
        let hash = |task: &TaskId| hasher.hash_one(tasks.home_of(*task).map(Self::key));
        known.insert_unique(hash(&task), task, hash);
    }
}

/// The track of the processor that a track is or is of.
fn processor_track(tracks: &[Track], id: TrackId) -> usize {
    let is_cpu = tracks.get(id.0).is_some_and(|track| track.attributes.contains_key(Track::CPU_ID));
    if is_cpu { id.0 } else { cpu_of(tracks, id).0 }
}

/// The name of the processor or log file that a track is of, unless it is one itself.
pub(crate) fn parent_name(tracks: &[Track], id: TrackId) -> Option<&str> {
    let above = Some(cpu_of(tracks, id)).filter(|above| *above != id)?;
    tracks.get(above.0).map(|track| track.name.as_str())
}

/// The track of the processor that a track is of: the nearest that says so, and else the topmost.
fn cpu_of(tracks: &[Track], track_id: TrackId) -> TrackId {
    let mut at = track_id;
    // Parents come before their children, so this ends.
    while let Some(track) = tracks.get(at.0) {
        let is_cpu = at != track_id && track.attributes.contains_key(Track::CPU_ID);
        match track.parent.filter(|parent| *parent < at && !is_cpu) {
            Some(parent) => at = parent,
            None => break,
        }
    }
    at
}
