//! Who used the processors, in all and over time.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use kymo_core::model::timeline::{Activity, Content, TimeNs};

use crate::tasks::{CpuId, TaskId, Tasks};
use crate::{Pass, Run, Seen, Stretch, elapsed};

/// Stretches of time of one length, one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Buckets {
    /// Where the first begins.
    pub start: TimeNs,
    /// Where the last ends; it may be shorter than the others.
    pub end: TimeNs,
    /// How long each is.
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

    fn index(&self, time: TimeNs) -> usize {
        let index = elapsed(self.start, time) / self.width_ns;
        usize::try_from(index).unwrap_or(usize::MAX)
    }

    /// The parts of a time that are in each stretch.
    pub(crate) fn split(self, since: TimeNs, until: TimeNs) -> impl Iterator<Item = (usize, u64)> {
        let since = since.max(self.start);
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
/// A processor's time is from its first switch to its last, or the window where that cuts through
/// the recording: who ran before and after is not known.
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

/// The interrupts of a processor. One within another is a part of that.
#[derive(Debug, Default)]
struct Interrupts {
    under_way: u32,
    since: Option<TimeNs>,
    ran: Ran,
}

impl Interrupts {
    fn take(&mut self, activity: &Activity<'_>, time: TimeNs, buckets: Option<Buckets>) {
        match activity {
            Activity::Begin { .. } => {
                if self.under_way == 0 {
                    self.since = Some(time);
                }
                self.under_way = self.under_way.saturating_add(1);
            }
            Activity::End if self.under_way > 0 => {
                self.under_way -= 1;
                if let (0, Some(since)) = (self.under_way, self.since) {
                    self.ran.add(since, time, buckets);
                }
            }
            _ => {}
        }
    }
}

/// What the interrupts of a processor used of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InterruptLoad {
    /// How long they took; that is also time of the tasks which they interrupted.
    pub run_ns: u64,
    /// How many there were, without those within others.
    pub stretches: u64,
    /// How long within each bucket.
    pub buckets: Vec<u64>,
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
        let interrupts = self.interrupts.get(&cpu).map(|of| {
            let Ran { ns, stretches, ref buckets } = of.ran;
            InterruptLoad { run_ns: ns, stretches, buckets: buckets.clone() }
        });
        let interrupts = interrupts.filter(|of| of.stretches > 0);
        CpuLoad { cpu, seen, busy_ns, idle_ns, unknown_ns, tasks: loads, interrupts }
    }

    /// Interrupts are stretches on the track of a processor itself.
    fn interrupt(&mut self, seen: &Seen<'_>) {
        let Content::Activity(activity) = &seen.event.content else { return };
        if let Some(cpu) = seen.tasks.is_cpu(seen.event.track) {
            let interrupts = self.interrupts.entry(cpu).or_default();
            interrupts.take(activity, seen.time, self.buckets);
        }
    }
}

impl Pass for Load {
    fn event(&mut self, seen: &Seen<'_>) {
        if seen.task.is_none() {
            self.interrupt(seen);
        }
        let (Some((_, cpu)), Some(run)) = (seen.task, seen.run) else { return };
        self.see(cpu, seen.time);
        // No task begins to run within an interrupt: its end is missing.
        if let (Run::Begins, Some(interrupts)) = (run, self.interrupts.get_mut(&cpu)) {
            interrupts.under_way = 0;
        }
        if let Some(lost) = seen.lost {
            let ns = self.lost.entry(lost.cpu).or_default();
            *ns = ns.saturating_add(elapsed(lost.since, lost.until));
            self.see(lost.cpu, lost.since);
        }
        if let (Run::Ends { .. }, Some(stretch)) = (run, seen.stretch()) {
            self.ran(&stretch);
        }
    }

    fn unfinished(&mut self, stretch: &Stretch) {
        self.ran(stretch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{analysed, analysed_with, begin, named};
    use kymo_core::model::timeline::{TrackId, Window};

    /// On cpu 0: b 100–300, idle 300–600, b 600–700, then a; on cpu 1: a 200–1000.
    fn told() -> Vec<crate::fixture::Told> {
        vec![
            (100, 2, begin(1)),
            (200, 5, begin(1)),
            (300, 2, Activity::End),
            (300, 3, begin(0)),
            (600, 3, Activity::End),
            (600, 2, begin(1)),
            (700, 2, Activity::End),
            (700, 1, begin(1)),
            (900, 1, Activity::End),
            (900, 2, begin(1)),
            (1000, 5, Activity::End),
        ]
    }

    fn shares(load: &CpuLoad, tasks: &Tasks) -> Vec<(String, u64)> {
        load.tasks.iter().map(|of| (tasks.name(of.task).to_owned(), of.run_ns)).collect()
    }

    #[test]
    fn what_tasks_used_is_as_worked_out_by_hand() {
        let mut load = Load::new();
        let analysis = analysed(told(), Window::default(), &mut load);
        let cpus = load.cpus(analysis.tasks());
        assert_eq!(cpus.len(), 2);
        // From 100 to 900: b 200 + 100 + 0, a 200, idle 300.
        assert_eq!((cpus[0].span_ns(), cpus[0].busy_ns, cpus[0].idle_ns), (800, 500, 300));
        let expected = [("b", 300), ("a", 200), ("idle", 300)].map(|(n, ns)| (n.to_owned(), ns));
        assert_eq!(shares(&cpus[0], analysis.tasks()), expected);
        assert_eq!((cpus[1].span_ns(), cpus[1].busy_ns), (800, 800));
        // The same task on both processors.
        assert_eq!(cpus[0].tasks[1].task, cpus[1].tasks[0].task);
    }

    #[test]
    fn a_window_cuts_through_what_ran() {
        let mut load = Load::new();
        let (from, until) = (Some(TimeNs(200)), Some(TimeNs(650)));
        let window = Window { from, until, ..Window::default() };
        let analysis = analysed(told(), window, &mut load);
        let cpus = load.cpus(analysis.tasks());
        // b 200–300 and 600–650, idle 300–600.
        assert_eq!((cpus[0].span_ns(), cpus[0].busy_ns, cpus[0].idle_ns), (450, 150, 300));
        assert_eq!((cpus[1].span_ns(), cpus[1].busy_ns), (450, 450));
    }

    #[test]
    fn loads_over_time_are_parts_of_stretches() {
        let mut load = Load::over(Buckets::over(TimeNs(100), TimeNs(900), 4));
        let analysis = analysed(told(), Window::default(), &mut load);
        let cpus = load.cpus(analysis.tasks());
        // b: 100–300, 600–700 in buckets of 200 from 100.
        assert_eq!(cpus[0].tasks[0].buckets, [200, 0, 100, 0]);
        assert_eq!(cpus[0].tasks[2].buckets, [0, 200, 100, 0]);
        assert_eq!(cpus[1].tasks[0].buckets, [100, 200, 200, 200]);
    }

    #[test]
    fn tasks_that_only_stretches_name_are_tasks_of_their_own() {
        let told = vec![
            (0, 2, named("interrupt 3")),
            (10, 2, Activity::End),
            (10, 2, named("interrupt 4")),
            (15, 2, Activity::End),
        ];
        let mut load = Load::new();
        let analysis = analysed(told, Window::default(), &mut load);
        let found = shares(&load.cpus(analysis.tasks())[0], analysis.tasks());
        assert_eq!(found, [("interrupt 3".to_owned(), 10), ("interrupt 4".to_owned(), 5)]);
    }

    /// On one processor: 0 a begins, 50 b ends and idle begins, 100 a ends and b begins.
    fn unbalanced() -> Vec<crate::fixture::Told> {
        vec![
            (0, 3, Activity::End),
            (0, 1, begin(1)),
            (50, 2, Activity::End),
            (50, 3, begin(0)),
            (100, 1, Activity::End),
            (100, 2, begin(1)),
        ]
    }

    #[test]
    fn where_switches_are_missing_nobody_is_said_to_have_run() {
        let mut load = Load::new();
        let (analysis, short) = analysed_with(unbalanced(), Window::default(), &mut load);
        // What stops is not what ran, at 50 and at 100: each tells so once.
        assert_eq!(short.unbalanced.into_values().collect::<Vec<_>>(), [2]);
        let cpus = load.cpus(analysis.tasks());
        assert_eq!((cpus[0].span_ns(), cpus[0].busy_ns, cpus[0].idle_ns), (100, 0, 0));
        assert_eq!(cpus[0].unknown_ns, 100);
        // From 10 on: a runs, as is known from before; the rest as before.
        let window = Window { from: Some(TimeNs(10)), ..Window::default() };
        let mut load = Load::new();
        let (analysis, short) = analysed_with(unbalanced(), window, &mut load);
        assert_eq!(short.unbalanced.into_values().collect::<Vec<_>>(), [2]);
        let of = &load.cpus(analysis.tasks())[0];
        assert_eq!((of.busy_ns, of.unknown_ns, of.span_ns()), (0, 90, 90));
    }

    #[test]
    fn a_task_that_begins_ends_whoever_ran() {
        let told = vec![
            (0, 1, begin(1)),
            (40, 2, begin(1)),
            (70, 2, Activity::End),
            (70, 3, begin(1)),
            (100, 3, Activity::End),
        ];
        let mut load = Load::new();
        let (analysis, short) = analysed_with(told, Window::default(), &mut load);
        assert_eq!(short.unbalanced.into_values().collect::<Vec<_>>(), [1]);
        let cpus = load.cpus(analysis.tasks());
        let of = &cpus[0];
        assert_eq!((of.busy_ns, of.idle_ns, of.unknown_ns, of.span_ns()), (30, 30, 40, 100));
    }

    fn loads_within(told: Vec<crate::fixture::Told>, from: i64, until: i64) -> Vec<(u64, u64)> {
        let (from, until) = (Some(TimeNs(from)), Some(TimeNs(until)));
        let mut load = Load::new();
        let window = Window { from, until, ..Window::default() };
        let analysis = analysed(told, window, &mut load);
        load.cpus(analysis.tasks()).iter().map(|of| (of.busy_ns, of.idle_ns)).collect()
    }

    #[test]
    fn who_runs_all_through_a_window_is_found_before_it_or_after_it() {
        // From 320 to 580 nothing switches: idle runs on cpu 0, and a on cpu 1.
        assert_eq!(loads_within(told(), 320, 580), [(0, 260), (260, 0)]);
        // Nothing switches before 50 and 60; what stops first after them ran then, if anything.
        let told = vec![
            (20, 5, begin(1)),
            (90, 2, Activity::End),
            (90, 3, begin(0)),
            (99, 5, Activity::End),
        ];
        assert_eq!(loads_within(told, 50, 60), [(10, 0), (10, 0)]);
    }

    #[test]
    fn shares_of_some_tasks_are_of_the_processors_whole_time() {
        let mut load = Load::new();
        let window = Window { tracks: Some(vec![TrackId(1)]), ..Window::default() };
        let analysis = analysed(told(), window, &mut load);
        let cpus = load.cpus(analysis.tasks());
        assert_eq!((cpus[0].span_ns(), cpus[0].busy_ns), (800, 500));
        let meant: Vec<_> = (0..3).map(|task| analysis.means_task(TaskId(task))).collect();
        assert_eq!(meant, [true, false, false]);
    }

    #[test]
    fn buckets_end_where_the_time_does() {
        let buckets = Buckets::over(TimeNs(0), TimeNs(1500), 1000);
        assert_eq!((buckets.width_ns, buckets.count, buckets.end), (2, 750, TimeNs(1500)));
        let buckets = Buckets::over(TimeNs(5), TimeNs(25), 1000);
        assert_eq!((buckets.width_ns, buckets.count, buckets.end), (1, 20, TimeNs(25)));
        assert_eq!(Buckets::over(TimeNs(5), TimeNs(5), 3).count, 1);
    }

    #[test]
    fn times_at_the_end_of_all_numbers_are_no_trouble() {
        let told = vec![(i64::MIN, 1, begin(0)), (i64::MAX, 1, Activity::End)];
        let mut load = Load::over(Buckets::over(TimeNs(i64::MIN), TimeNs(i64::MAX), 3));
        let analysis = analysed(told, Window::default(), &mut load);
        let cpus = load.cpus(analysis.tasks());
        assert_eq!(cpus[0].busy_ns, u64::MAX);
        assert_eq!(cpus[0].tasks[0].buckets.iter().sum::<u64>(), u64::MAX);
    }

    #[test]
    fn interrupts_are_told_beside_the_tasks_that_they_interrupt() {
        // On cpu 0: b runs 100–300, interrupts at 110–120, and at 200–230 with another at 205–210
        // in it; one at 250 does not end before idle runs; one at 400–405.
        let irq = |time| (time, 0, named("irq"));
        let end = |time| (time, 0, Activity::End);
        let told = vec![
            (100, 2, begin(1)),
            irq(110),
            end(120),
            irq(200),
            irq(205),
            end(210),
            end(230),
            irq(250),
            (300, 2, Activity::End),
            (300, 3, begin(0)),
            irq(400),
            end(405),
            (500, 3, Activity::End),
        ];
        let mut load = Load::over(Buckets::over(TimeNs(100), TimeNs(500), 2));
        let analysis = analysed(told, Window::default(), &mut load);
        let cpus = load.cpus(analysis.tasks());
        let expected = InterruptLoad { run_ns: 45, stretches: 3, buckets: vec![40, 5] };
        assert_eq!(cpus[0].interrupts, Some(expected));
        assert_eq!((cpus[0].busy_ns, cpus[0].idle_ns), (200, 200));
    }
}
