//! Use of the processors by tasks, in all and over time.

mod buckets;
mod gaps;
mod interrupts;

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;
use kymo_model::timeline::TimeNs;

use crate::bounds::Bounds;
use crate::slot::{Slot, slot_value};
use crate::tasks::{CpuId, TaskId, Tasks};
use crate::{InitialState, Omission, Pass, ResolvedEvent, RunChange, RunSlice, elapsed};
pub use buckets::{BucketTimes, Buckets};
use gaps::Gaps;
pub use interrupts::InterruptLoad;
use interrupts::Interrupts;

/// Duration for which each task ran on each processor.
///
/// A processor's time is from its first switch to its last in the whole recording, for who ran before
/// and after is not known; of a window it is the part within. So windows that adjoin add up: what
/// ran, interrupts within and beyond that time, and how long of what was looked at is not in it.
#[derive(Debug, Default)]
pub struct Load {
    buckets: Option<Buckets>,
    /// From when to when each processor was seen.
    observed_ranges: Vec<Option<(TimeNs, TimeNs)>>,
    /// Loads of tasks, in the order in which they came to processors.
    ran: Vec<TaskLoad>,
    /// The first place there of each task, and the next of the same task.
    first: Vec<Slot>,
    next: Vec<Slot>,
    /// Times at which the running task is not known.
    unknown: HashMap<CpuId, RunTime, RandomState>,
    gaps: HashMap<CpuId, Gaps, RandomState>,
    interrupts: HashMap<CpuId, Interrupts, RandomState>,
    /// Times that are looked at, and their beginning and end for each processor that switched.
    bounds: Option<Bounds>,
    ranges: Vec<Option<(TimeNs, TimeNs)>>,
    /// Duration for which each processor was looked at that switches anywhere in the recording.
    looked_at_ns: BTreeMap<CpuId, u64>,
}

#[derive(Debug, Default)]
struct RunTime {
    ns: u64,
    stretches: u64,
    buckets: BucketTimes,
}

impl RunTime {
    fn add(&mut self, since: TimeNs, until: TimeNs, buckets: Option<Buckets>) {
        self.add_part(since, until, buckets);
        self.stretches += 1;
    }

    /// Adds a part of a stretch that counts already.
    fn add_part(&mut self, since: TimeNs, until: TimeNs, buckets: Option<Buckets>) {
        self.ns = self.ns.saturating_add(elapsed(since, until));
        let Some(buckets) = buckets else { return };
        for (index, ns) in buckets.split(since, until) {
            self.buckets.add(index, ns);
        }
    }

    fn add_all(&mut self, other: &Self) {
        self.ns = self.ns.saturating_add(other.ns);
        self.stretches += other.stretches;
        self.buckets.add_all(&other.buckets);
    }
}

/// Time that a task used of a processor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskLoad {
    /// The processor.
    pub cpu: CpuId,
    /// The task.
    pub task: TaskId,
    /// Duration for which it ran.
    pub run_ns: u64,
    /// In how many stretches.
    pub stretches: u64,
    /// Duration within each bucket.
    pub buckets: BucketTimes,
}

/// Use of a processor, or of several together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuLoad {
    /// The processor; of several, the first.
    pub cpu: CpuId,
    /// From when to when that is known, of each processor; nothing of one that is not known at all.
    pub seen: Vec<(TimeNs, TimeNs)>,
    /// Duration for which it was looked at besides: before its first switch, and after its last.
    pub unseen_ns: u64,
    /// Duration for which tasks ran that are not idle.
    pub busy_ns: u64,
    /// Duration for which idle tasks ran, where the recording has any.
    pub idle_ns: u64,
    /// Duration for which the running task is not known, since switches are missing or not in the
    /// order of their times.
    pub unknown: UnknownLoad,
    /// Its tasks, the busiest first, idle ones last.
    pub tasks: Vec<TaskLoad>,
    /// Its interrupts, where the recording has any.
    pub interrupts: Option<InterruptLoad>,
}

/// Time of a processor of which it is not known who ran.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnknownLoad {
    /// Total duration.
    pub ns: u64,
    /// In how many stretches.
    pub stretches: u64,
    /// Duration within each bucket.
    pub buckets: BucketTimes,
}

impl CpuLoad {
    /// Returns the duration for which the processor was looked at; of several, the sum.
    #[must_use]
    pub fn span_ns(&self) -> u64 {
        let spans = self.seen.iter().map(|(first, last)| elapsed(*first, *last));
        spans.fold(0, u64::saturating_add)
    }

    /// The time of one processor: of several, of the one that was looked at longest.
    #[must_use]
    pub fn longest_ns(&self) -> u64 {
        self.seen.iter().map(|(first, last)| elapsed(*first, *last)).max().unwrap_or(0)
    }

    /// Several processors as one, whose time is that of all: a task that moved has one row. Nothing
    /// where there are none.
    #[must_use]
    pub fn together(cpus: &[Self], tasks: &Tasks) -> Option<Self> {
        let first = cpus.first()?.cpu;
        let sum = |item: fn(&Self) -> u64| cpus.iter().map(item).fold(0, u64::saturating_add);
        let mut found: HashMap<TaskId, TaskLoad, RandomState> = HashMap::default();
        for load in cpus.iter().flat_map(|cpu| &cpu.tasks) {
            match found.get_mut(&load.task) {
                Some(known) => known.add(load),
                None => drop(found.insert(load.task, load.clone())),
            }
        }
        let mut loads: Vec<_> = found.into_values().collect();
        loads.sort_unstable_by_key(|load| order(load, tasks));
        let mut unknown = UnknownLoad::default();
        for cpu in cpus {
            unknown.add(&cpu.unknown);
        }
        let mut interrupts: Option<InterruptLoad> = None;
        for load in cpus.iter().filter_map(|cpu| cpu.interrupts.as_ref()) {
            match &mut interrupts {
                Some(known) => known.add(load),
                None => interrupts = Some(load.clone()),
            }
        }
        Some(Self {
            cpu: first,
            seen: cpus.iter().flat_map(|cpu| &cpu.seen).copied().collect(),
            unseen_ns: sum(|cpu| cpu.unseen_ns),
            busy_ns: sum(|cpu| cpu.busy_ns),
            idle_ns: sum(|cpu| cpu.idle_ns),
            unknown,
            tasks: loads,
            interrupts,
        })
    }
}

impl UnknownLoad {
    fn from_run_time(ran: &RunTime) -> Self {
        Self { ns: ran.ns, stretches: ran.stretches, buckets: ran.buckets.clone() }
    }

    fn add(&mut self, other: &Self) {
        self.ns = self.ns.saturating_add(other.ns);
        self.stretches += other.stretches;
        self.buckets.add_all(&other.buckets);
    }
}

impl TaskLoad {
    fn new(cpu: CpuId, task: TaskId) -> Self {
        Self { cpu, task, run_ns: 0, stretches: 0, buckets: BucketTimes::default() }
    }

    fn run(&mut self, since: TimeNs, until: TimeNs, buckets: Option<Buckets>) {
        self.run_ns = self.run_ns.saturating_add(elapsed(since, until));
        self.stretches += 1;
        for (index, ns) in buckets.into_iter().flat_map(|buckets| buckets.split(since, until)) {
            self.buckets.add(index, ns);
        }
    }

    fn add(&mut self, other: &Self) {
        self.run_ns = self.run_ns.saturating_add(other.run_ns);
        self.stretches += other.stretches;
        self.buckets.add_all(&other.buckets);
    }
}

/// The busiest tasks come first, and idle ones last.
fn order(load: &TaskLoad, tasks: &Tasks) -> (bool, u64, TaskId) {
    (tasks.is_idle(load.task), u64::MAX - load.run_ns, load.task)
}

impl Load {
    /// Loads in all.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Loads over time, too.
    #[must_use]
    pub fn with_buckets(buckets: Buckets) -> Self {
        Self { buckets: Some(buckets), ..Self::default() }
    }

    /// Returns the buckets by which loads over time are given.
    #[must_use]
    pub fn buckets(&self) -> Option<Buckets> {
        self.buckets
    }

    fn ran(&mut self, stretch: &RunSlice) {
        let buckets = self.buckets;
        let [since, until] = self.clamp_times(stretch.cpu, [stretch.since, stretch.until]);
        if let Some(ran) = self.task_load(stretch.cpu, stretch.task) {
            ran.run(since, until, buckets);
        }
        self.observe(stretch.cpu, since);
        self.observe(stretch.cpu, until);
    }

    /// Moments, as far as they are in what is looked at of a processor: where times go back, some may
    /// be told that the recording does not go to.
    fn clamp_times(&self, cpu: CpuId, times: [TimeNs; 2]) -> [TimeNs; 2] {
        match self.ranges.get(cpu.0).copied().flatten() {
            Some((from, until)) => times.map(|time| time.max(from).min(until)),
            None => times,
        }
    }

    /// Remembers from when to when a processor that switches is looked at.
    fn observe_range(&mut self, cpu: CpuId, tasks: &Tasks) {
        if self.ranges.len() <= cpu.0 {
            self.ranges.resize(cpu.0 + 1, None);
        }
        if let Some(range) = self.ranges.get_mut(cpu.0).filter(|range| range.is_none()) {
            let track = tasks.cpu(cpu).map(|cpu| cpu.track);
            *range = self
                .bounds
                .as_ref()
                .zip(track)
                .and_then(|(bounds, track_id)| bounds.time_range(track_id));
        }
    }

    /// Returns the load of a task on a processor. Few tasks run on several.
    fn task_load(&mut self, cpu: CpuId, task: TaskId) -> Option<&mut TaskLoad> {
        let mut place = slot_value(&self.first, task.0);
        while let Some(known) = place {
            if self.ran.get(known).is_some_and(|ran| ran.cpu == cpu) {
                return self.ran.get_mut(known);
            }
            place = slot_value(&self.next, known);
        }
        if self.first.len() <= task.0 {
            self.first.resize(task.0 + 1, Slot::NONE);
        }
        let first = self.first.get_mut(task.0)?;
        self.next.push(std::mem::replace(first, Slot::new(self.ran.len())));
        self.ran.push(TaskLoad::new(cpu, task));
        self.ran.last_mut()
    }

    fn observe(&mut self, cpu: CpuId, time: TimeNs) {
        let [time, _] = self.clamp_times(cpu, [time, time]);
        if self.observed_ranges.len() <= cpu.0 {
            self.observed_ranges.resize(cpu.0 + 1, None);
        }
        if let Some(seen) = self.observed_ranges.get_mut(cpu.0) {
            let (first, last) = seen.unwrap_or((time, time));
            *seen = Some((first.min(time), last.max(time)));
        }
    }

    /// It is not known who ran on a processor from when to when.
    fn unknown(&mut self, cpu: CpuId, since: TimeNs, until: TimeNs) {
        let [since, until] = self.clamp_times(cpu, [since, until]);
        if since < until {
            self.unknown.entry(cpu).or_default().add(since, until, self.buckets);
        }
    }

    /// Handles times that go back: no event is used until times are where they were. So time
    /// earlier than anything before is unknown. Time in which a task ran without a record of it is
    /// unknown too.
    fn mark_backward_time(&mut self, cpu: CpuId, seen: &ResolvedEvent<'_>, begins: bool) {
        self.observe_range(cpu, seen.tasks);
        let first = self.observed_range(cpu).map(|(first, _)| first);
        if let Some(first) = first.filter(|first| seen.time < *first) {
            self.unknown(cpu, seen.time, first);
        }
        if seen.tasks.cpu(cpu).is_some_and(|cpu| cpu.is_one) {
            let nobody_since = first.filter(|_| seen.lost.is_none());
            let gaps = self.gaps.entry(cpu).or_default();
            let doubtful = gaps.switch(seen.time, begins, nobody_since);
            for (since, until) in doubtful {
                self.unknown(cpu, since, until);
            }
        }
    }

    /// From when to when a processor was seen.
    fn observed_range(&self, cpu: CpuId) -> Option<(TimeNs, TimeNs)> {
        self.observed_ranges.get(cpu.0).copied().flatten()
    }

    /// Returns the loads, a processor after the other: those that switch anywhere in the recording.
    #[must_use]
    pub fn cpus(&self, tasks: &Tasks) -> Vec<CpuLoad> {
        self.found(self.ran.clone(), tasks)
    }

    /// The same, where it is not asked for again: of very many tasks nothing is there twice.
    #[must_use]
    pub fn take_cpus(&mut self, tasks: &Tasks) -> Vec<CpuLoad> {
        (self.first, self.next) = (Vec::new(), Vec::new());
        let ran = std::mem::take(&mut self.ran);
        self.found(ran, tasks)
    }

    fn found(&self, mut ran: Vec<TaskLoad>, tasks: &Tasks) -> Vec<CpuLoad> {
        ran.sort_unstable_by_key(|load| (load.cpu, order(load, tasks)));
        let is_there = |cpu: &CpuId| {
            self.observed_range(*cpu).is_some() || self.looked_at_ns.contains_key(cpu)
        };
        let idle = tasks.cpus_with_idle();
        let mut found = Vec::new();
        for cpu in (0..tasks.cpu_count()).rev().map(CpuId).filter(is_there) {
            let start = ran.partition_point(|load| load.cpu < cpu);
            let loads = if start == 0 { std::mem::take(&mut ran) } else { ran.split_off(start) };
            let has_idle = idle.contains(&cpu);
            found.push(self.cpu(cpu, loads, has_idle, tasks));
        }
        found.reverse();
        found
    }

    fn cpu(&self, cpu: CpuId, loads: Vec<TaskLoad>, has_idle: bool, tasks: &Tasks) -> CpuLoad {
        let sum = |is_idle: bool| {
            let such = loads.iter().filter(|load| tasks.is_idle(load.task) == is_idle);
            such.fold(0, |sum: u64, load| sum.saturating_add(load.run_ns))
        };
        let seen: Vec<_> = self.observed_range(cpu).into_iter().collect();
        let span_ns = seen.iter().map(|(first, last)| elapsed(*first, *last)).sum();
        let looked_at_ns = self.looked_at_ns.get(&cpu).copied().unwrap_or(0);
        let mut load = CpuLoad {
            cpu,
            seen,
            unseen_ns: looked_at_ns.saturating_sub(span_ns),
            busy_ns: sum(false),
            idle_ns: sum(true),
            unknown: self.unknown.get(&cpu).map(UnknownLoad::from_run_time).unwrap_or_default(),
            tasks: loads,
            interrupts: self.interrupts.get(&cpu).and_then(Interrupts::load),
        };
        if has_idle && tasks.cpu(cpu).is_some_and(|cpu| cpu.is_one) {
            self.add_unknown_time(&mut load);
        }
        load
    }

    /// Counts time that no task has as unknown, where there is an idle task: then some task always
    /// runs.
    fn add_unknown_time(&self, load: &mut CpuLoad) {
        let known_ns = load.busy_ns.saturating_add(load.idle_ns).saturating_add(load.unknown.ns);
        let missed_ns = load.span_ns().saturating_sub(known_ns);
        if missed_ns == 0 {
            return;
        }
        load.unknown.ns = load.unknown.ns.saturating_add(missed_ns);
        load.unknown.stretches += self.gaps.get(&load.cpu).map_or(1, Gaps::count);
        let Some(buckets) = self.buckets else { return };
        let mut missed = buckets.bucket_shares(&load.seen);
        let known =
            load.tasks.iter().map(|task_load| &task_load.buckets).chain([&load.unknown.buckets]);
        known.for_each(|bucket_times| bucket_times.take_from(&mut missed));
        for (at, ns) in missed.into_iter().enumerate().filter(|(_, ns)| *ns > 0) {
            load.unknown.buckets.add(at, ns);
        }
    }

    /// Counts running tasks up to where events are missing. Interrupts that are under way have no
    /// end.
    fn gap(&mut self, seen: &ResolvedEvent<'_>) {
        for stretch in seen.cut.iter().filter(|stretch| stretch.since < stretch.until) {
            self.ran(stretch);
        }
        if seen.events_missing_from().is_some() {
            for (cpu, interrupts) in &mut self.interrupts {
                if seen.tasks.cpu(*cpu).is_some_and(|cpu| seen.may_miss_events(cpu.track)) {
                    interrupts.lose(seen.time);
                }
            }
        }
    }

    fn interrupt(&mut self, seen: &ResolvedEvent<'_>) {
        if let Some(interrupt) = seen.interrupt {
            let known = self.observed_range(interrupt.cpu);
            let interrupts = self.interrupts.entry(interrupt.cpu).or_default();
            interrupts.take(interrupt, seen.time, known, self.buckets);
        }
    }
}

impl Pass for Load {
    fn begin(&mut self, bounds: &Bounds) {
        self.bounds = Some(bounds.clone());
    }

    fn initial_state(&mut self, what: &InitialState<'_>, begin: TimeNs) {
        match what {
            InitialState::Nobody(cpu) => self.observe(*cpu, begin),
            InitialState::Interrupts(cpu, count) => {
                self.interrupts.insert(*cpu, Interrupts::from_initial_state(*count, begin));
            }
            InitialState::Task(..)
            | InitialState::State(..)
            | InitialState::Messages(_)
            | InitialState::Wakeups(_) => {}
        }
    }

    fn event(&mut self, seen: &ResolvedEvent<'_>) {
        self.interrupt(seen);
        self.gap(seen);
        let (Some((_, cpu)), Some(run)) = (seen.task, seen.run) else { return };
        if let Some(since) = seen.unknown_since {
            Pass::unknown(self, cpu, since, seen.time);
        }
        self.mark_backward_time(cpu, seen, run == RunChange::Begins);
        self.observe(cpu, seen.time);
        if let Some(lost) = seen.lost {
            self.lost(&lost);
        }
        if let (RunChange::Ends { .. }, Some(stretch)) = (run, seen.stretch()) {
            self.ran(&stretch);
        }
        let known = self.observed_range(cpu);
        if let (Some(interrupts), Some(known)) = (self.interrupts.get_mut(&cpu), known) {
            interrupts.reach(known);
            if run == RunChange::Begins {
                interrupts.lose(seen.time);
            }
        }
    }

    fn unfinished(&mut self, stretch: &RunSlice) {
        self.ran(stretch);
    }

    fn lost(&mut self, stretch: &RunSlice) {
        self.unknown(stretch.cpu, stretch.since, stretch.until);
        self.observe(stretch.cpu, stretch.since);
    }

    fn unknown(&mut self, cpu: CpuId, since: TimeNs, until: TimeNs) {
        Self::unknown(self, cpu, since, until);
        self.observe(cpu, since);
    }

    fn known_until(&mut self, cpu: CpuId, until: TimeNs) {
        if self.observed_range(cpu).is_some() {
            self.observe(cpu, until);
            // Few processors have any.
            if let Some(gaps) = self.gaps.get_mut(&cpu) {
                gaps.end(until);
            }
        }
    }

    fn interrupts_lost(&mut self, cpu: CpuId) {
        if let Some(interrupts) = self.interrupts.get_mut(&cpu) {
            interrupts.forget();
        }
    }

    fn switches(&mut self, cpu: CpuId) {
        self.looked_at_ns.insert(cpu, 0);
    }

    /// Counts interrupts up to the end of the window, where it cuts through the recording.
    fn finish(&mut self, bounds: &Bounds, tasks: &Tasks) {
        let track = |cpu: CpuId| tasks.cpu(cpu).map(|cpu| cpu.track);
        for (cpu, looked_at_ns) in &mut self.looked_at_ns {
            let times = track(*cpu).and_then(|track| bounds.time_range(track));
            *looked_at_ns = times.map_or(0, |(from, until)| elapsed(from, until));
        }
        for (cpu, interrupts) in &mut self.interrupts {
            let known = self.observed_ranges.get(cpu.0).copied().flatten();
            match (track(*cpu).and_then(|track| bounds.window_end(track)), known) {
                (Some(until), _) => interrupts.end(until, known, self.buckets),
                (None, Some((_, last))) => interrupts.lose(last),
                (None, None) => {}
            }
            if let Some(known) = known {
                interrupts.reach(known);
            }
            interrupts.leave_outside();
        }
    }

    fn omissions(&self) -> Vec<Omission> {
        let lost = Omission {
            count: self.interrupts.values().map(Interrupts::lost).sum(),
            one: "interrupt did not end before it came again, one around it ended or another task \
                  ran: how long it took is not known",
            many: "interrupts did not end before they came again, one around them ended or another \
                   task ran: how long they took is not known",
        };
        let unbegun = Omission {
            count: self.interrupts.values().map(Interrupts::unbegun).sum(),
            one: "end of an interrupt is of none that is under way: it is left out",
            many: "ends of interrupts are of none that are under way: they are left out",
        };
        vec![lost, unbegun]
    }
}

#[cfg(test)]
mod tests;
