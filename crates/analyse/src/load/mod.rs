//! Who used the processors, in all and over time.

mod interrupts;

use std::collections::HashMap;

use foldhash::fast::RandomState;
use kymo_core::model::timeline::{Content, TimeNs};

use crate::bounds::Bounds;
use crate::tasks::{CpuId, TaskId, Tasks};
use crate::{LeftOut, Pass, Run, Seen, Standing, Stretch, elapsed};
pub use interrupts::InterruptLoad;
use interrupts::Interrupts;

/// Stretches of time of one length, one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buckets {
    /// Where the first begins.
    pub start: TimeNs,
    /// Where the last ends; it may be shorter than the others.
    pub end: TimeNs,
    /// How long each but the last is.
    pub width_ns: u64,
    /// How many there are.
    pub count: usize,
}

impl Buckets {
    /// At most so many stretches from one moment to another.
    #[must_use]
    pub fn over(start: TimeNs, end: TimeNs, count: usize) -> Self {
        let span = elapsed(start, end);
        let width_ns = span.div_ceil(count.max(1) as u64).max(1);
        let count = usize::try_from(span.div_ceil(width_ns)).unwrap_or(count).max(1);
        Self { start, end: end.max(start), width_ns, count }
    }

    /// The begin of a stretch.
    #[must_use]
    pub fn begin(&self, index: usize) -> TimeNs {
        let ns = (index as u64).saturating_mul(self.width_ns);
        TimeNs(self.start.0.saturating_add_unsigned(ns))
    }

    /// How long a stretch is: the last may be shorter than the others.
    #[must_use]
    pub fn length_ns(&self, index: usize) -> u64 {
        elapsed(self.begin(index), self.end).min(self.width_ns)
    }

    fn index(&self, time: TimeNs) -> usize {
        let index = elapsed(self.start, time) / self.width_ns;
        usize::try_from(index).unwrap_or(usize::MAX)
    }

    /// The stretch that a moment is in. The end is in the last.
    pub(crate) fn at(&self, time: TimeNs) -> Option<usize> {
        let is_within = (self.start..=self.end).contains(&time);
        is_within.then(|| self.index(time).min(self.count.saturating_sub(1)))
    }

    /// The parts of a time that are in each stretch.
    pub(crate) fn split(self, since: TimeNs, until: TimeNs) -> impl Iterator<Item = (usize, u64)> {
        let (since, until) = (since.max(self.start), until.min(self.end));
        let last = self.index(until).min(self.count.saturating_sub(1));
        (self.index(since)..=last).filter_map(move |index| {
            let from = self.begin(index).max(since);
            let to = self.begin(index + 1).min(until);
            (to > from).then(|| (index, elapsed(from, to)))
        })
    }
}

/// How long each task ran on each processor.
///
/// A processor's time is from its first switch to its last in the whole recording, for who ran before
/// and after is not known; of a window it is the part within. So windows that adjoin add up.
#[derive(Debug, Default)]
pub struct Load {
    buckets: Option<Buckets>,
    /// From when to when each processor was seen.
    seen: Vec<Option<(TimeNs, TimeNs)>>,
    ran: HashMap<(CpuId, TaskId), Ran, RandomState>,
    /// How long it is not known who ran.
    lost: HashMap<CpuId, u64, RandomState>,
    interrupts: HashMap<CpuId, Interrupts, RandomState>,
}

#[derive(Debug, Default)]
struct Ran {
    ns: u64,
    stretches: u64,
    buckets: Vec<u64>,
}

impl Ran {
    fn add(&mut self, since: TimeNs, until: TimeNs, buckets: Option<Buckets>) {
        self.ns = self.ns.saturating_add(elapsed(since, until));
        self.stretches += 1;
        let Some(buckets) = buckets else { return };
        self.buckets.resize(buckets.count, 0);
        for (index, ns) in buckets.split(since, until) {
            if let Some(bucket) = self.buckets.get_mut(index) {
                *bucket = bucket.saturating_add(ns);
            }
        }
    }

    fn load(&self, cpu: CpuId, task: TaskId) -> TaskLoad {
        let (run_ns, stretches, buckets) = (self.ns, self.stretches, self.buckets.clone());
        TaskLoad { cpu, task, run_ns, stretches, buckets }
    }
}

/// What a task used of a processor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskLoad {
    /// The processor.
    pub cpu: CpuId,
    /// The task.
    pub task: TaskId,
    /// How long it ran.
    pub run_ns: u64,
    /// In how many stretches.
    pub stretches: u64,
    /// How long within each bucket.
    pub buckets: Vec<u64>,
}

/// How a processor was used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuLoad {
    /// The processor.
    pub cpu: CpuId,
    /// From when to when that is known.
    pub seen: (TimeNs, TimeNs),
    /// How long tasks ran that are not idle.
    pub busy_ns: u64,
    /// How long idle tasks ran, where the recording has any.
    pub idle_ns: u64,
    /// How long it is not known who ran, since switches are missing.
    pub unknown_ns: u64,
    /// Its tasks, the busiest first, idle ones last.
    pub tasks: Vec<TaskLoad>,
    /// Its interrupts, where the recording has any.
    pub interrupts: Option<InterruptLoad>,
}

impl CpuLoad {
    /// How long the processor was looked at.
    #[must_use]
    pub fn span_ns(&self) -> u64 {
        elapsed(self.seen.0, self.seen.1)
    }

    /// Several processors as one, over the time of the one that was looked at longest: a task that
    /// moved has one row. Nothing where there are none.
    #[must_use]
    pub fn together(cpus: &[Self], tasks: &Tasks) -> Option<Self> {
        let longest = cpus.iter().max_by_key(|cpu| cpu.span_ns())?;
        let sum = |of: fn(&Self) -> u64| cpus.iter().map(of).fold(0, u64::saturating_add);
        let mut found: HashMap<TaskId, TaskLoad, RandomState> = HashMap::default();
        for load in cpus.iter().flat_map(|cpu| &cpu.tasks) {
            match found.get_mut(&load.task) {
                Some(known) => known.add(load),
                None => drop(found.insert(load.task, load.clone())),
            }
        }
        let mut loads: Vec<_> = found.into_values().collect();
        loads.sort_by_key(|load| (tasks.is_idle(load.task), u64::MAX - load.run_ns, load.task));
        let mut interrupts: Option<InterruptLoad> = None;
        for load in cpus.iter().filter_map(|cpu| cpu.interrupts.as_ref()) {
            match &mut interrupts {
                Some(known) => known.add(load),
                None => interrupts = Some(load.clone()),
            }
        }
        Some(Self {
            cpu: longest.cpu,
            seen: longest.seen,
            busy_ns: sum(|cpu| cpu.busy_ns),
            idle_ns: sum(|cpu| cpu.idle_ns),
            unknown_ns: sum(|cpu| cpu.unknown_ns),
            tasks: loads,
            interrupts,
        })
    }
}

impl TaskLoad {
    fn add(&mut self, other: &Self) {
        self.run_ns = self.run_ns.saturating_add(other.run_ns);
        self.stretches += other.stretches;
        add_buckets(&mut self.buckets, &other.buckets);
    }
}

fn add_buckets(to: &mut Vec<u64>, other: &[u64]) {
    to.resize(to.len().max(other.len()), 0);
    for (to, ns) in to.iter_mut().zip(other) {
        *to = to.saturating_add(*ns);
    }
}

impl Load {
    /// Loads in all.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Loads over time, too.
    #[must_use]
    pub fn over(buckets: Buckets) -> Self {
        Self { buckets: Some(buckets), ..Self::default() }
    }

    /// What loads over time are told by.
    #[must_use]
    pub fn buckets(&self) -> Option<Buckets> {
        self.buckets
    }

    fn ran(&mut self, stretch: &Stretch) {
        let ran = self.ran.entry((stretch.cpu, stretch.task)).or_default();
        ran.add(stretch.since, stretch.until, self.buckets);
        self.see(stretch.cpu, stretch.since);
        self.see(stretch.cpu, stretch.until);
    }

    fn see(&mut self, cpu: CpuId, time: TimeNs) {
        if self.seen.len() <= cpu.0 {
            self.seen.resize(cpu.0 + 1, None);
        }
        if let Some(seen) = self.seen.get_mut(cpu.0) {
            let (first, last) = seen.unwrap_or((time, time));
            *seen = Some((first.min(time), last.max(time)));
        }
    }

    /// What was found, a processor after the other.
    #[must_use]
    pub fn cpus(&self, tasks: &Tasks) -> Vec<CpuLoad> {
        let mut of_cpu = vec![Vec::new(); self.seen.len()];
        for ((cpu, task), ran) in &self.ran {
            of_cpu.get_mut(cpu.0).into_iter().for_each(|of| of.push(ran.load(*cpu, *task)));
        }
        let seen = self.seen.iter().zip(of_cpu).enumerate();
        let load = |(cpu, (seen, loads)): (_, (&Option<_>, _))| {
            Some(self.cpu(CpuId(cpu), (*seen)?, loads, tasks))
        };
        seen.filter_map(load).collect()
    }

    fn cpu(
        &self,
        cpu: CpuId,
        seen: (TimeNs, TimeNs),
        mut loads: Vec<TaskLoad>,
        tasks: &Tasks,
    ) -> CpuLoad {
        loads.sort_by_key(|load| (tasks.is_idle(load.task), u64::MAX - load.run_ns, load.task));
        let (idle, busy): (Vec<_>, Vec<_>) =
            loads.iter().partition(|load| tasks.is_idle(load.task));
        let sum = |loads: &[&TaskLoad]| {
            loads.iter().fold(0, |sum: u64, load| sum.saturating_add(load.run_ns))
        };
        let unknown_ns = self.lost.get(&cpu).copied().unwrap_or(0);
        let (busy_ns, idle_ns) = (sum(&busy), sum(&idle));
        let interrupts = self.interrupts.get(&cpu).and_then(Interrupts::load);
        CpuLoad { cpu, seen, busy_ns, idle_ns, unknown_ns, tasks: loads, interrupts }
    }

    fn interrupt(&mut self, seen: &Seen<'_>) {
        let Content::Activity(activity) = &seen.event.content else { return };
        if let Some(cpu) = seen.tasks.interrupted(seen.event.track) {
            let interrupts = self.interrupts.entry(cpu).or_default();
            interrupts.take(activity, seen.time, self.buckets);
        }
    }
}

impl Pass for Load {
    fn standing(&mut self, what: &Standing<'_>, begin: TimeNs) {
        match what {
            Standing::Nobody(cpu) => self.see(*cpu, begin),
            Standing::Interrupts(cpu, count) => {
                self.interrupts.insert(*cpu, Interrupts::standing(*count, begin));
            }
            Standing::Task(..)
            | Standing::State(..)
            | Standing::Messages(_)
            | Standing::Wakeups(_) => {}
        }
    }

    fn event(&mut self, seen: &Seen<'_>) {
        if seen.task.is_none() {
            self.interrupt(seen);
        }
        let (Some((_, cpu)), Some(run)) = (seen.task, seen.run) else { return };
        self.see(cpu, seen.time);
        if let (Run::Begins, Some(interrupts)) = (run, self.interrupts.get_mut(&cpu)) {
            interrupts.lose(seen.time);
        }
        if let Some(lost) = seen.lost {
            self.lost(&lost);
        }
        if let (Run::Ends { .. }, Some(stretch)) = (run, seen.stretch()) {
            self.ran(&stretch);
        }
    }

    fn unfinished(&mut self, stretch: &Stretch) {
        self.ran(stretch);
    }

    fn lost(&mut self, stretch: &Stretch) {
        let ns = self.lost.entry(stretch.cpu).or_default();
        *ns = ns.saturating_add(elapsed(stretch.since, stretch.until));
        self.see(stretch.cpu, stretch.since);
    }

    fn goes_on(&mut self, cpu: CpuId, until: TimeNs) {
        if self.seen.get(cpu.0).is_some_and(Option::is_some) {
            self.see(cpu, until);
        }
    }

    /// Where the window cuts through the recording, interrupts went on to its end.
    fn finish(&mut self, bounds: &Bounds, tasks: &Tasks) {
        for (cpu, interrupts) in &mut self.interrupts {
            let until = tasks.cpu(*cpu).and_then(|cpu| bounds.until(cpu.track));
            match (until, self.seen.get(cpu.0).copied().flatten()) {
                (Some(until), _) => interrupts.end(until, self.buckets),
                (None, Some((_, last))) => interrupts.lose(last),
                (None, None) => {}
            }
        }
    }

    fn left_out(&self) -> Vec<LeftOut> {
        let interrupts = LeftOut {
            count: self.interrupts.values().map(Interrupts::lost).sum(),
            one: "interrupt did not end before it came again or another task ran: how long it took is \
                  not known",
            many: "interrupts did not end before they came again or another task ran: how long they \
                   took is not known",
        };
        vec![interrupts]
    }
}

#[cfg(test)]
mod tests;
