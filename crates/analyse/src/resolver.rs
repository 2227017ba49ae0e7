//! What events are to tasks: who runs, who is interrupted, and who releases whom.

use std::collections::BTreeSet;

use kymo_core::model::timeline::{Activity, Content, Event, TimeNs, TrackId};

use crate::bounds::Bounds;
use crate::switches::{Ended, Running, Switches};
use crate::tasks::{CpuId, Tasks};
use crate::{Run, Seen};

/// Tells what events are to tasks, one after another.
pub(crate) struct Resolver {
    pub(crate) switches: Switches,
    /// How many interrupts are under way on each processor.
    interrupts: Vec<u32>,
    /// Processors of which something was taken to run since the window began.
    pub(crate) assumed: BTreeSet<CpuId>,
}

impl Resolver {
    pub(crate) fn new(tasks: &Tasks, tracks: usize) -> Self {
        let switches = Switches::new(tasks, tracks);
        let (interrupts, assumed) = (vec![0; tasks.cpu_count()], BTreeSet::new());
        Self { switches, interrupts, assumed }
    }

    /// How many interrupts are under way on a processor.
    pub(crate) fn interrupts(&self, cpu: CpuId) -> u32 {
        self.interrupts.get(cpu.0).copied().unwrap_or(0)
    }

    /// What an event is to tasks. What ends first on a processor ran since a time that is not known;
    /// with bounds, switches before them may be too far back to be found, and it is taken to run
    /// since the window began.
    #[inline]
    pub(crate) fn resolve<'a>(
        &mut self,
        event: &'a Event<'a>,
        time: TimeNs,
        tasks: &'a mut Tasks,
        bounds: Option<&Bounds>,
    ) -> Seen<'a> {
        let track = event.track;
        let (mut task, mut run, mut lost, mut by) = (None, None, None, None);
        if let Content::Activity(activity) = &event.content {
            let name = match activity {
                Activity::Begin { name, .. } => name.as_deref(),
                _ => None,
            };
            task = tasks.of(track, name);
            match (activity, task) {
                (_, None) => self.interrupt(tasks.interrupted(track), activity),
                (Activity::Begin { priority, .. }, Some((own, cpu))) => {
                    run = Some(Run::Begins);
                    self.leave_interrupts(cpu);
                    let (task, priority) = (own, *priority);
                    lost = self.switches.begin(Running { task, track, since: time, priority });
                }
                (Activity::End | Activity::EndOf { .. }, Some((own, cpu))) => {
                    let (ended, other) = self.switches.end(track, time);
                    let (of, since) = match ended {
                        Ended::Ran(running) => (running.task, Some(running.since)),
                        Ended::First => (own, self.assume(track, cpu, bounds)),
                        Ended::Unbalanced => (own, None),
                    };
                    (task, run, lost) = (Some((of, cpu)), Some(Run::Ends { since }), other);
                }
                (Activity::Release { by: Some(on), .. }, Some(_)) => {
                    by = Some(self.releaser(*on, tasks));
                }
                _ => {}
            }
        }
        Seen { event, time, task, run, lost, by, tasks }
    }

    /// Since when something is taken to run of which only the end is known.
    fn assume(&mut self, track: TrackId, cpu: CpuId, bounds: Option<&Bounds>) -> Option<TimeNs> {
        let since = bounds?.from(track)?;
        self.assumed.insert(cpu);
        Some(since)
    }

    /// Counts an interrupt that begins or ends.
    fn interrupt(&mut self, cpu: Option<CpuId>, activity: &Activity<'_>) {
        let Some(under_way) = cpu.and_then(|cpu| self.interrupts.get_mut(cpu.0)) else { return };
        match activity {
            Activity::Begin { .. } => *under_way = under_way.saturating_add(1),
            Activity::End | Activity::EndOf { .. } => *under_way = under_way.saturating_sub(1),
            _ => {}
        }
    }

    /// No task begins within an interrupt: the ends of those that are under way are missing, or they
    /// are deferred with the task that they run in.
    fn leave_interrupts(&mut self, cpu: CpuId) {
        self.interrupts.get_mut(cpu.0).into_iter().for_each(|count| *count = 0);
    }

    /// Who released a task on a track: the task that runs there. In an interrupt, and where
    /// nothing else runs, it is the processor itself.
    fn releaser(&self, on: TrackId, tasks: &Tasks) -> TrackId {
        let Some(cpu) = tasks.is_cpu(on) else { return tasks.home(on) };
        let running = self.switches.running(cpu).filter(|of| !tasks.is_idle(of.task));
        let is_interrupted = self.interrupts(cpu) > 0;
        running.filter(|_| !is_interrupted).map_or(on, |of| tasks.home(of.track))
    }
}
