//! Which tasks there are, and on which processors.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use kymo_core::model::timeline::{ClockId, Missing, Track, TrackId, TrackKind};

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
    /// The number that the recording gives it.
    pub task_id: Option<i64>,
    /// It runs when there is nothing to do.
    pub is_idle: bool,
    /// Whenever it stops by itself it is said to be complete.
    pub tells_completion: bool,
    /// The first of its tracks, which stands for all of them.
    pub home: TrackId,
}

/// What tasks take turns on: a processor, or a log file that is of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpu {
    /// The name of its track.
    pub name: String,
    /// Its track.
    pub track: TrackId,
    /// Which of the dataset's recordings it is of.
    pub recording: usize,
    /// What gives its times.
    pub clock: Option<ClockId>,
    /// Whether it is one processor, where one task runs at a time. On what the recording calls no
    /// processor, tasks run side by side.
    pub is_one: bool,
    /// Whether the stretches of its track are interrupts.
    pub has_interrupts: bool,
}

/// The tasks of a timeline.
#[derive(Debug, Default)]
pub struct Tasks {
    all: Vec<Task>,
    cpus: Vec<Cpu>,
    of_track: Vec<Option<(TaskId, CpuId)>>,
    /// The processors that tracks are, and not just of.
    is_cpu: Vec<Option<CpuId>>,
    /// Which recording each track is of, and the track of the processor that it is or is of.
    places: Vec<(usize, TrackId)>,
    /// Tasks that only their stretches name.
    named: HashMap<TrackId, HashMap<String, TaskId, RandomState>, RandomState>,
    named_count: usize,
}

impl Tasks {
    /// Finds tasks among tracks. Those whose name is said to be of one are idle.
    pub fn new(tracks: &[Track], is_idle: &dyn Fn(&str) -> bool) -> Self {
        let place = |(id, track): (usize, &Track)| {
            let is_cpu = track.attributes.contains_key(Track::CPU_ID);
            let cpu = if is_cpu { TrackId(id) } else { cpu_of(tracks, TrackId(id)) };
            (track.recording, cpu)
        };
        let places = tracks.iter().enumerate().map(place).collect();
        let mut tasks = Self { is_cpu: vec![None; tracks.len()], places, ..Self::default() };
        let mut known = HashMap::new();
        for (id, track) in tracks.iter().enumerate() {
            if track.kind != TrackKind::Task {
                tasks.of_track.push(None);
                continue;
            }
            let (id, on) = (TrackId(id), cpu_of(tracks, TrackId(id)));
            let key = (track.recording, track.part(), track.name.as_str(), track.task_id());
            let task = *known.entry(key).or_insert_with(|| {
                tasks.add(Task {
                    name: track.name.clone(),
                    recording: track.recording,
                    task_id: track.task_id(),
                    is_idle: track.is_idle() || is_idle(&track.name),
                    tells_completion: track.says(Track::TELLS_COMPLETION),
                    home: id,
                })
            });
            let known_cpu = tasks.is_cpu(on);
            let cpu = known_cpu.unwrap_or_else(|| tasks.add_cpu(tracks, on));
            tasks.of_track.push(Some((task, cpu)));
        }
        tasks
    }

    fn add(&mut self, task: Task) -> TaskId {
        self.all.push(task);
        TaskId(self.all.len() - 1)
    }

    fn add_cpu(&mut self, tracks: &[Track], track: TrackId) -> CpuId {
        let of = tracks.get(track.0);
        self.cpus.push(Cpu {
            name: of.map_or(String::new(), |track| track.name.clone()),
            track,
            recording: of.map_or(0, |track| track.recording),
            clock: of.and_then(|track| track.clock),
            is_one: of.is_some_and(|track| track.attributes.contains_key(Track::CPU_ID)),
            has_interrupts: of.is_some_and(|track| track.says(Track::HAS_INTERRUPTS)),
        });
        let cpu = CpuId(self.cpus.len() - 1);
        if let Some(of_track) = self.is_cpu.get_mut(track.0) {
            *of_track = Some(cpu);
        }
        cpu
    }

    /// The task and the processor of a track; with a name, a task that only stretches name.
    pub(crate) fn of(&mut self, track: TrackId, name: Option<&str>) -> Option<(TaskId, CpuId)> {
        let (own, cpu) = self.of_track(track)?;
        let Some(name) = name else { return Some((own, cpu)) };
        if let Some(task) = self.named.get(&track).and_then(|named| named.get(name)) {
            return Some((*task, cpu));
        }
        if self.named_count >= NAMED_MAX {
            return Some((own, cpu));
        }
        self.named_count += 1;
        let of_track = self.get(own)?.clone();
        let (name_of, task_id) = (name.to_owned(), None);
        let task = self.add(Task { name: name_of, task_id, is_idle: false, ..of_track });
        self.named.entry(track).or_default().insert(name.to_owned(), task);
        Some((task, cpu))
    }

    /// The task and the processor of a track.
    #[must_use]
    pub fn of_track(&self, track: TrackId) -> Option<(TaskId, CpuId)> {
        self.of_track.get(track.0).copied().flatten()
    }

    /// The processor that a track is, where it is one that tasks run on.
    #[must_use]
    pub fn is_cpu(&self, track: TrackId) -> Option<CpuId> {
        self.is_cpu.get(track.0).copied().flatten()
    }

    /// Which recording a track is of.
    pub(crate) fn recording(&self, track: TrackId) -> usize {
        self.places.get(track.0).map_or(0, |(recording, _)| *recording)
    }

    /// Whether what is missing from a gap on may be of a track.
    pub(crate) fn may_lack(&self, track: TrackId, (gap, missing): (TrackId, Missing)) -> bool {
        let (of, at) = (self.places.get(track.0), self.places.get(gap.0));
        of.zip(at).is_some_and(|((recording, cpu), (here, place))| {
            recording == here && (missing == Missing::AllEvents || cpu == place)
        })
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
        let task = self.of_track(track).and_then(|(task, _)| self.get(task));
        task.map_or(track, |task| task.home)
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
