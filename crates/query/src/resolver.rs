//! Meaning of events for tasks: the running task, the interrupted task, and the task that releases
//! another.

use std::collections::BTreeSet;

use foldhash::fast::RandomState;
use kymo_model::timeline::{Activity, Content, Event, Missing, TimeNs, TrackId};

use crate::bounds::Bounds;
use crate::nest::{Nest, ReturnMatch};
use crate::own::item_mut;
use crate::switches::{EndReason, RunningTask, Switches};
use crate::tasks::{CpuId, Tasks};
use crate::{InterruptChange, InterruptEvent, ResolvedEvent, RunChange, RunSlice};

/// Tells what events are to tasks, one after another.
pub(crate) struct Resolver {
    pub(crate) switches: Switches,
    pub(crate) interrupts: InterruptStacks,
    /// Processors of which something was taken to run since the window began.
    pub(crate) assumed: BTreeSet<CpuId>,
    /// Stretches that ran until the gap that was seen last.
    cut: Vec<RunSlice>,
}

/// The interrupts that are under way on each processor, one within another.
#[derive(Clone)]
pub(crate) struct InterruptStacks {
    of_cpu: Vec<Nest<()>>,
    names: RandomState,
}

impl Resolver {
    pub(crate) fn new(tasks: &Tasks, tracks: usize) -> Self {
        let switches = Switches::new(tasks, tracks);
        let of_cpu = (0..tasks.cpu_count()).map(|_| Nest::default()).collect();
        let interrupts = InterruptStacks { of_cpu, names: RandomState::default() };
        Self { switches, interrupts, assumed: BTreeSet::new(), cut: Vec::new() }
    }

    /// Resolves an event: returns its meaning for tasks. If the first event of a processor is the
    /// end of a task, the task ran since a time that is not known. With bounds, earlier switches
    /// may be too far back to be found, and the task is taken to run since the window began.
    #[inline]
    pub(crate) fn resolve<'a>(
        &'a mut self,
        event: &'a Event<'a>,
        time: TimeNs,
        tasks: &'a mut Tasks,
        bounds: Option<&Bounds>,
    ) -> ResolvedEvent<'a> {
        let track = event.track;
        let (mut task, mut run, mut lost, mut by) = (None, None, None, None);
        let (mut interrupt, mut unknown_since) = (None, None);
        self.cut.clear();
        if let Content::Activity(activity) = &event.content {
            let name = match activity {
                Activity::Begin { name, .. } => name.as_deref(),
                _ => None,
            };
            task = tasks.resolve_track(track, name);
            match (activity, task) {
                (Activity::Gap(missing), _) => {
                    task = None;
                    self.gap((track, *missing), time, tasks);
                }
                (_, None) => {
                    let cpu = tasks.interrupted(track);
                    interrupt = cpu.and_then(|cpu| self.interrupts.take(cpu, activity));
                }
                (Activity::Begin { priority, .. }, Some((own, cpu))) => {
                    run = Some(RunChange::Begins);
                    unknown_since = self.switches.unknown_until_now(cpu);
                    self.interrupts.leave(cpu);
                    let (task, priority) = (own, *priority);
                    let (since, is_standing) = (time, false);
                    let now = RunningTask { task, track, since, priority, is_standing };
                    lost = self.switches.begin(now);
                }
                (Activity::End | Activity::EndOf { .. }, Some((own, cpu))) => {
                    unknown_since = self.switches.unknown_until_now(cpu);
                    let (ended, other) = self.switches.end(track, time);
                    let (task_id, since) = match ended {
                        // Where times go back, that time is told of already, and what stops as the
                        // window begins is not in it.
                        EndReason::Ran(RunningTask { task, since, is_standing, .. }) => {
                            let is_in =
                                |since: &TimeNs| *since < time || (*since == time && !is_standing);
                            (task, Some(since).filter(is_in))
                        }
                        EndReason::First => (own, self.assume(track, cpu, bounds)),
                        EndReason::AfterGap | EndReason::Unbalanced => (own, None),
                    };
                    (task, run, lost) =
                        (Some((task_id, cpu)), Some(RunChange::Ends { since }), other);
                }
                (Activity::Release { by: Some(on), .. }, Some(_)) => {
                    by = Some(self.releaser(*on, tasks));
                }
                _ => {}
            }
        }
        let cut = &self.cut[..];
        ResolvedEvent { event, time, task, run, lost, unknown_since, cut, by, interrupt, tasks }
    }

    /// Something is missing from here on. Tasks of what is no processor run side by side: who else
    /// runs is told by others.
    #[cold]
    fn gap(&mut self, gap: (TrackId, Missing), time: TimeNs, tasks: &Tasks) {
        let may_lack = |cpu: CpuId| {
            tasks.cpu(cpu).is_some_and(|cpu| {
                tasks.may_miss_events(cpu.track, gap) && (cpu.is_one || gap.1 != Missing::Switches)
            })
        };
        self.switches.gap(may_lack, time, &mut self.cut);
        if gap.1 != Missing::Switches {
            (0..tasks.cpu_count()).map(CpuId).filter(|cpu| may_lack(*cpu)).for_each(|cpu| {
                self.interrupts.leave(cpu);
            });
        }
    }

    /// Since when something is taken to run of which only the end is known.
    fn assume(&mut self, track: TrackId, cpu: CpuId, bounds: Option<&Bounds>) -> Option<TimeNs> {
        let since = bounds?.from(track)?;
        self.assumed.insert(cpu);
        Some(since)
    }

    /// Returns the track that released a task: the task that runs there. In an interrupt, and where
    /// nothing else runs, it is the processor itself.
    fn releaser(&self, on: TrackId, tasks: &Tasks) -> TrackId {
        let Some(cpu) = tasks.is_cpu(on) else { return tasks.home(on) };
        let running =
            self.switches.running(cpu).filter(|running_task| !tasks.is_idle(running_task.task));
        let is_interrupted = self.interrupts.count(cpu) > 0;
        running
            .filter(|_| !is_interrupted)
            .map_or(on, |running_task| tasks.home(running_task.track))
    }
}

impl InterruptStacks {
    /// Returns the number of interrupts under way on a processor.
    pub(crate) fn count(&self, cpu: CpuId) -> usize {
        self.of_cpu.get(cpu.0).map_or(0, Nest::len)
    }

    /// Takes an event, and returns its meaning for the interrupts of a processor.
    pub(crate) fn take(&mut self, cpu: CpuId, activity: &Activity<'_>) -> Option<InterruptEvent> {
        let under_way = self.of_cpu.get_mut(cpu.0)?;
        let (run, lost) = match activity {
            Activity::Begin { .. } if under_way.is_beyond() => return None,
            Activity::Begin { name, .. } => {
                // An interrupt does not interrupt itself: where it comes again, its end is missing.
                let lost = under_way.forget_open(name.as_deref(), &self.names);
                under_way.push(name.as_deref(), &self.names, ());
                (InterruptChange::Begins, lost)
            }
            Activity::End => ends(under_way, None, &self.names)?,
            Activity::EndOf { name } => ends(under_way, Some(name), &self.names)?,
            _ => return None,
        };
        let around = under_way.len() - usize::from(run == InterruptChange::Begins);
        Some(InterruptEvent { cpu, run, around, lost: lost as u64 })
    }

    /// No task begins within an interrupt: the ends of those that are under way are missing, or they
    /// are deferred with the task that they run in.
    fn leave(&mut self, cpu: CpuId) {
        if let Some(under_way) = item_mut(&mut self.of_cpu, cpu.0) {
            under_way.clear();
        }
    }
}

/// Returns the meaning of the end of an interrupt, which it names or not. Also returns the number
/// of interrupts within it that lack theirs.
fn ends(
    under_way: &mut Nest<()>,
    name: Option<&str>,
    names: &RandomState,
) -> Option<(InterruptChange, usize)> {
    match under_way.ends(name, names) {
        ReturnMatch::Calls(count) => {
            under_way.truncate(under_way.len() - count);
            Some((InterruptChange::Ends, count.saturating_sub(1)))
        }
        ReturnMatch::Beyond | ReturnMatch::Before | ReturnMatch::Told(_) => None,
        ReturnMatch::Other => Some((InterruptChange::Unbegun, 0)),
    }
}
