//! Running task of each processor, as recorded by switches.

use kymo_model::timeline::{TimeNs, TrackId};

use crate::RunSlice;
use crate::own::item_mut;
use crate::slot::{Slot, slot_value};
use crate::tasks::{CpuId, TaskId, Tasks};

/// Lane in which tasks take turns: a processor. Where the recording names none, each track by
/// itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lane {
    pub(crate) cpu: CpuId,
    pub(crate) running: Option<RunningTask>,
    /// True if the running task is known, or it is known that no task runs.
    pub(crate) is_known: bool,
    /// True if that is not known since events are missing.
    pub(crate) is_lost: bool,
}

/// A task that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunningTask {
    pub(crate) task: TaskId,
    pub(crate) track: TrackId,
    pub(crate) since: TimeNs,
    /// The priority that it began to run with.
    pub(crate) priority: Option<i64>,
    /// True if it began before the window.
    pub(crate) is_standing: bool,
}

/// Running task of each lane.
#[derive(Debug, Clone)]
pub(crate) struct Switches {
    lanes: Vec<Lane>,
    /// The lane of each track.
    of_track: Vec<Slot>,
    /// The first lane of each processor.
    of_cpu: Vec<Option<usize>>,
    cpus: Vec<ProcessorSwitches>,
    /// The lanes of which it is known who runs.
    known: Vec<usize>,
}

/// State of a processor's switches.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ProcessorSwitches {
    /// The last switch.
    pub(crate) last: Option<TimeNs>,
    /// Switches that stop another task than the one that ran, or let one run beside another.
    pub(crate) unbalanced: u64,
    /// Places where events are missing that may have told who runs.
    pub(crate) gaps: u64,
    /// Since when it is not known who runs, where events are missing.
    pub(crate) unknown_since: Option<TimeNs>,
    /// Switches that are earlier than one before them.
    pub(crate) backwards: u64,
}

/// Result of the end of a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndReason {
    /// It ran since then.
    Ran(RunningTask),
    /// Nothing of the processor was known: it ran from before.
    First,
    /// Events are missing before: it ran since a time that is not known.
    AfterGap,
    /// Another task ran, or none: something is missing in between.
    Unbalanced,
}

impl Switches {
    pub(crate) fn new(tasks: &Tasks, tracks: usize) -> Self {
        let mut switches = Self {
            lanes: Vec::new(),
            of_track: vec![Slot::NONE; tracks],
            of_cpu: vec![None; tasks.cpu_count()],
            cpus: vec![ProcessorSwitches::default(); tasks.cpu_count()],
            known: Vec::new(),
        };
        for track in 0..tracks {
            let Some((_, cpu)) = tasks.track_task(TrackId(track)) else { continue };
            let is_one = tasks.cpu(cpu).is_some_and(|cpu| cpu.is_one);
            let known = switches.of_cpu.get(cpu.0).copied().flatten().filter(|_| is_one);
            let lane = known.unwrap_or_else(|| {
                switches.lanes.push(Lane { cpu, running: None, is_known: false, is_lost: false });
                switches.lanes.len() - 1
            });
            if let Some(first) = switches.of_cpu.get_mut(cpu.0) {
                first.get_or_insert(lane);
            }
            if let Some(slot) = item_mut(&mut switches.of_track, track) {
                *slot = Slot::new(lane);
            }
        }
        switches
    }

    fn lane(
        &mut self,
        track: TrackId,
        time: TimeNs,
    ) -> Option<(&mut Lane, &mut ProcessorSwitches)> {
        let id = slot_value(&self.of_track, track.0)?;
        let lane = self.lanes.get_mut(id)?;
        if !lane.is_known {
            self.known.push(id);
        }
        let cpu = self.cpus.get_mut(lane.cpu.0)?;
        cpu.backwards += u64::from(cpu.last.is_some_and(|last| time < last));
        cpu.last = cpu.last.max(Some(time));
        Some((lane, cpu))
    }

    /// A task runs. Tells what ran until then and was never stopped. Where times go back, it runs
    /// since the latest: what was before is known already.
    pub(crate) fn begin(&mut self, mut now: RunningTask) -> Option<RunSlice> {
        let (lane, cpu) = self.lane(now.track, now.since)?;
        now.since = cpu.last.unwrap_or(now.since);
        (lane.is_known, lane.is_lost) = (true, false);
        let before = lane.running.replace(now)?;
        cpu.unbalanced += 1;
        Some(before.end_at(now.since, lane.cpu))
    }

    /// A task stops. Tells since when it ran, and what ran instead where that was another.
    pub(crate) fn end(&mut self, track: TrackId, time: TimeNs) -> (EndReason, Option<RunSlice>) {
        let Some((lane, cpu)) = self.lane(track, time) else {
            return (EndReason::Unbalanced, None);
        };
        let is_known = std::mem::replace(&mut lane.is_known, true);
        let is_lost = std::mem::take(&mut lane.is_lost);
        match lane.running.take() {
            Some(running) if running.track == track => (EndReason::Ran(running), None),
            None if is_lost => (EndReason::AfterGap, None),
            None if !is_known => (EndReason::First, None),
            other => {
                cpu.unbalanced += 1;
                (EndReason::Unbalanced, other.map(|other| other.end_at(time, lane.cpu)))
            }
        }
    }

    /// Events are missing from a moment on that may be of some processors: who runs there is not known
    /// until they switch. Tells what ran until then.
    pub(crate) fn gap(
        &mut self,
        may_lack: impl Fn(CpuId) -> bool,
        time: TimeNs,
        cut: &mut Vec<RunSlice>,
    ) {
        let Self { lanes, cpus, known, of_cpu, .. } = self;
        for lane in of_cpu.iter().flatten() {
            if let Some(lane) = lanes.get_mut(*lane).filter(|lane| may_lack(lane.cpu)) {
                lane.is_lost = true;
            }
        }
        known.retain(|id| {
            let lane = lanes.get_mut(*id).filter(|lane| may_lack(lane.cpu));
            let Some(lane) = lane else { return true };
            let Some(cpu) = cpus.get_mut(lane.cpu.0) else { return true };
            // A gap is where the last event was, and events of one time come in any order.
            let at = cpu.last.map_or(time, |last| last.max(time));
            cut.extend(lane.running.take().map(|running| running.end_at(at, lane.cpu)));
            (lane.is_known, lane.is_lost) = (false, true);
            if cpu.unknown_since.is_none() {
                cpu.unknown_since = Some(at);
                cpu.gaps += 1;
            }
            false
        });
    }

    /// A processor switches: tells since when it was not known who runs.
    #[inline]
    pub(crate) fn unknown_until_now(&mut self, cpu: CpuId) -> Option<TimeNs> {
        self.cpus.get_mut(cpu.0)?.unknown_since.take()
    }

    /// Returns the lanes in which tasks take turns, by number.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = (usize, &Lane)> {
        self.lanes.iter().enumerate()
    }

    /// The number of the lane of a track, and its processor.
    pub(crate) fn lane_of(&self, track: TrackId) -> Option<(usize, CpuId)> {
        let lane = slot_value(&self.of_track, track.0)?;
        Some((lane, self.lanes.get(lane)?.cpu))
    }

    /// Returns the running task of a processor.
    pub(crate) fn running(&self, cpu: CpuId) -> Option<RunningTask> {
        self.lanes.get((*self.of_cpu.get(cpu.0)?)?)?.running
    }

    /// Returns true if the running task of a processor is known, or it is known that no task runs.
    pub(crate) fn is_known(&self, cpu: CpuId) -> bool {
        self.lanes.iter().any(|lane| lane.cpu == cpu && lane.is_known)
    }

    /// Returns true if it is known everywhere which task runs, that none does, or that events are
    /// missing.
    pub(crate) fn is_all_known(&self) -> bool {
        self.lanes.iter().all(|lane| lane.is_known || lane.is_lost)
    }

    /// Returns the state of a processor.
    pub(crate) fn processor_state(&self, cpu: CpuId) -> ProcessorSwitches {
        self.cpus.get(cpu.0).copied().unwrap_or_default()
    }

    /// Forgets who runs on some tracks.
    pub(crate) fn forget(&mut self, is_gone: impl Fn(TrackId) -> bool) {
        for lane in &mut self.lanes {
            lane.running = lane.running.filter(|running| !is_gone(running.track));
        }
    }

    /// Goes on from here as if everything began at a moment. Where it is not known who runs, that is
    /// a gap of this; where not all before is known, so it is where nothing came before the gap.
    pub(crate) fn restart(&mut self, at: TimeNs, is_all_before: bool) {
        for cpu in &mut self.cpus {
            let unknown_since = cpu.unknown_since.map(|_| at);
            let gaps = u64::from(unknown_since.is_some());
            *cpu = ProcessorSwitches { gaps, unknown_since, ..ProcessorSwitches::default() };
        }
        for lane in self.lanes.iter().filter(|lane| lane.is_lost && !is_all_before) {
            if let Some(cpu) = self.cpus.get_mut(lane.cpu.0) {
                (cpu.unknown_since, cpu.gaps) = (Some(at), 1);
            }
        }
        for running in self.lanes.iter_mut().filter_map(|lane| lane.running.as_mut()) {
            (running.since, running.is_standing) = (at, true);
        }
    }
}

impl RunningTask {
    pub(crate) fn end_at(self, until: TimeNs, cpu: CpuId) -> RunSlice {
        let Self { task, track, since, .. } = self;
        RunSlice { task, cpu, track, since, until: until.max(since) }
    }
}
