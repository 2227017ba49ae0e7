use kymo_model::timeline::{Activity, Missing, TrackId, Window};

use super::*;
use crate::fixture::{analysed, analysed_with, begin, named};

/// On cpu 0: b 100–300, idle 300–600, b 600–700, then a; on cpu 1: a 200–1000.
fn load_activities() -> Vec<crate::fixture::TimedActivity> {
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
    load.tasks
        .iter()
        .map(|task_load| (tasks.name(task_load.task).to_owned(), task_load.run_ns))
        .collect()
}

#[test]
fn what_tasks_used_is_as_worked_out_by_hand() {
    let mut load = Load::new();
    let analysis = analysed(load_activities(), Window::default(), &mut load);
    let cpus = load.cpus(analysis.tasks());
    assert_eq!(cpus.len(), 2);
    // From 100 to 900: b 200 + 100, a 200, idle 300.
    assert_eq!((cpus[0].span_ns(), cpus[0].busy_ns, cpus[0].idle_ns), (800, 500, 300));
    let expected = [("b", 300), ("a", 200), ("idle", 300)].map(|(n, ns)| (n.to_owned(), ns));
    assert_eq!(shares(&cpus[0], analysis.tasks()), expected);
    assert_eq!((cpus[1].span_ns(), cpus[1].busy_ns), (800, 800));
    // The same task on both processors.
    assert_eq!(cpus[0].tasks[1].task, cpus[1].tasks[0].task);
}

#[test]
fn what_the_last_switch_lets_run_has_no_stretch() {
    // On cpu 0 a runs 0–40 and b from 40 on, for a time that is not known.
    let told = || vec![(0, 1, begin(1)), (40, 1, Activity::End), (40, 2, begin(1))];
    let stretches = |window| {
        let mut load = Load::new();
        let analysis = analysed(told(), window, &mut load);
        let cpu = &load.cpus(analysis.tasks())[0];
        let item = |task_load: &TaskLoad| {
            (analysis.tasks().name(task_load.task).to_owned(), task_load.stretches)
        };
        (cpu.span_ns(), cpu.tasks.iter().map(item).collect::<Vec<_>>())
    };
    assert_eq!(stretches(Window::default()), (40, vec![("a".to_owned(), 1)]));
    // Where a window ends in a stretch, the part within is one.
    let until = Window { until: Some(TimeNs(30)), ..Window::default() };
    assert_eq!(stretches(until), (30, vec![("a".to_owned(), 1)]));
}

#[test]
fn a_window_cuts_through_what_ran() {
    let mut load = Load::new();
    let (from, until) = (Some(TimeNs(200)), Some(TimeNs(650)));
    let window = Window { from, until, ..Window::default() };
    let analysis = analysed(load_activities(), window, &mut load);
    let cpus = load.cpus(analysis.tasks());
    // b 200–300 and 600–650, idle 300–600.
    assert_eq!((cpus[0].span_ns(), cpus[0].busy_ns, cpus[0].idle_ns), (450, 150, 300));
    assert_eq!((cpus[1].span_ns(), cpus[1].busy_ns), (450, 450));
}

#[test]
fn loads_over_time_are_parts_of_stretches() {
    let mut load = Load::with_buckets(Buckets::from_range(TimeNs(100), TimeNs(900), 4));
    let analysis = analysed(load_activities(), Window::default(), &mut load);
    let cpus = load.cpus(analysis.tasks());
    // b: 100–300, 600–700 in buckets of 200 from 100.
    assert_eq!(cpus[0].tasks[0].buckets.to_vec(4), [200, 0, 100, 0]);
    assert_eq!(cpus[0].tasks[2].buckets.to_vec(4), [0, 200, 100, 0]);
    assert_eq!(cpus[1].tasks[0].buckets.to_vec(4), [100, 200, 200, 200]);
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
fn unbalanced() -> Vec<crate::fixture::TimedActivity> {
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
    assert_eq!(cpus[0].unknown.ns, 100);
    // From 10 on: a runs, as is known from before; the rest as before.
    let window = Window { from: Some(TimeNs(10)), ..Window::default() };
    let mut load = Load::new();
    let (analysis, short) = analysed_with(unbalanced(), window, &mut load);
    assert_eq!(short.unbalanced.into_values().collect::<Vec<_>>(), [2]);
    let cpu_load = &load.cpus(analysis.tasks())[0];
    assert_eq!((cpu_load.busy_ns, cpu_load.unknown.ns, cpu_load.span_ns()), (0, 90, 90));
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
    let cpu_load = &cpus[0];
    assert_eq!(
        (cpu_load.busy_ns, cpu_load.idle_ns, cpu_load.unknown.ns, cpu_load.span_ns()),
        (30, 30, 40, 100)
    );
}

fn loads_within(
    told: Vec<crate::fixture::TimedActivity>,
    from: i64,
    until: i64,
) -> Vec<(u64, u64)> {
    let (from, until) = (Some(TimeNs(from)), Some(TimeNs(until)));
    let mut load = Load::new();
    let window = Window { from, until, ..Window::default() };
    let analysis = analysed(told, window, &mut load);
    load.cpus(analysis.tasks())
        .iter()
        .map(|cpu_load| (cpu_load.busy_ns, cpu_load.idle_ns))
        .collect()
}

#[test]
fn who_runs_all_through_a_window_is_found_before_it_or_after_it() {
    // From 320 to 580 nothing switches: idle runs on cpu 0, and a on cpu 1.
    assert_eq!(loads_within(load_activities(), 320, 580), [(0, 260), (260, 0)]);
}

#[test]
fn a_processors_time_is_from_its_first_switch_to_its_last_in_any_window() {
    // cpu 0 switches at 90 first, where b stops, and at 120 last, which lets a run; the recording
    // goes on to 500.
    let told = || {
        vec![
            (20, 5, begin(1)),
            (90, 2, Activity::End),
            (90, 3, begin(0)),
            (120, 3, Activity::End),
            (120, 1, begin(1)),
            (500, 5, Activity::End),
        ]
    };
    let within = |from: Option<i64>, until: Option<i64>| {
        let (from, until) = (from.map(TimeNs), until.map(TimeNs));
        let mut load = Load::new();
        let window = Window { from, until, ..Window::default() };
        let (analysis, short) = analysed_with(told(), window, &mut load);
        let cpus = load.cpus(analysis.tasks());
        let cpu_load = cpus.iter().find(|item| item.cpu == CpuId(0));
        let unknown: Vec<_> = short.unknown.iter().map(|cpu| cpu.0).collect();
        (cpu_load.map(|cpu_load| (cpu_load.busy_ns, cpu_load.idle_ns, cpu_load.span_ns())), unknown)
    };
    let whole = (Some((0, 30, 30)), vec![]);
    assert_eq!(within(None, None), whole);
    for until in [121, 400, 500, 501, 10_000] {
        assert_eq!(within(None, Some(until)), whole, "{until}");
        assert_eq!(within(Some(30), Some(until)), whole, "{until}");
    }
    assert_eq!(within(Some(100), Some(110)), (Some((0, 10, 10)), vec![]));
    // Who ran before the first switch and after the last is not known.
    assert_eq!(within(Some(50), Some(60)), (Some((0, 0, 0)), vec![0]));
    assert_eq!(within(Some(200), Some(300)).1, [0]);
    assert_eq!(within(Some(200), None).1, [0]);
}

#[test]
fn shares_of_some_tasks_are_of_the_processors_whole_time() {
    let mut load = Load::new();
    let window = Window { tracks: Some(vec![TrackId(1)]), ..Window::default() };
    let analysis = analysed(load_activities(), window, &mut load);
    let cpus = load.cpus(analysis.tasks());
    assert_eq!((cpus[0].span_ns(), cpus[0].busy_ns), (800, 500));
    let meant: Vec<_> = (0..3).map(|task| analysis.is_task_selected(TaskId(task))).collect();
    assert_eq!(meant, [true, false, false]);
}

#[test]
fn buckets_end_where_the_time_does() {
    let buckets = Buckets::from_range(TimeNs(0), TimeNs(1500), 1000);
    assert_eq!((buckets.width_ns, buckets.count, buckets.end), (2, 750, TimeNs(1500)));
    let buckets = Buckets::from_range(TimeNs(5), TimeNs(25), 1000);
    assert_eq!((buckets.width_ns, buckets.count, buckets.end), (1, 20, TimeNs(25)));
    assert_eq!(Buckets::from_range(TimeNs(5), TimeNs(5), 3).count, 1);
}

#[test]
fn the_last_bucket_is_as_long_as_what_is_left() {
    // 24 parts of 1001 are of 42, and the last of 1001 - 23 * 42 = 35; a release at the end is in it.
    let buckets = Buckets::from_range(TimeNs(0), TimeNs(1001), 24);
    assert_eq!((buckets.length_ns(0), buckets.length_ns(22), buckets.length_ns(23)), (42, 42, 35));
    assert_eq!(
        [1000, 1001, 1002, -1].map(|time| buckets.index_at(TimeNs(time))),
        [Some(23), Some(23), None, None]
    );
    // What goes on elsewhere after the end is in no bucket.
    assert_eq!(buckets.split(TimeNs(970), TimeNs(1005)).collect::<Vec<_>>(), [(23, 31)]);
}

#[test]
fn times_at_the_end_of_all_numbers_are_no_trouble() {
    let told = vec![(i64::MIN, 1, begin(0)), (i64::MAX, 1, Activity::End)];
    let mut load = Load::with_buckets(Buckets::from_range(TimeNs(i64::MIN), TimeNs(i64::MAX), 3));
    let analysis = analysed(told, Window::default(), &mut load);
    let cpus = load.cpus(analysis.tasks());
    assert_eq!(cpus[0].busy_ns, u64::MAX);
    assert_eq!(cpus[0].tasks[0].buckets.to_vec(3).iter().sum::<u64>(), u64::MAX);
}

#[test]
fn interrupts_are_told_beside_the_tasks_that_they_interrupt() {
    // On cpu 0: b runs 100–300, interrupts at 110–120, and at 200–230 with another at 205–210
    // in it; one at 250 is over when idle runs, at 300, and nothing tells since when; one at 400–405.
    let irq = |time| (time, 0, named("irq"));
    let end = |time| (time, 0, Activity::End);
    let told = vec![
        (100, 2, begin(1)),
        irq(110),
        end(120),
        irq(200),
        (205, 0, named("another irq")),
        end(210),
        end(230),
        irq(250),
        (300, 2, Activity::End),
        (300, 3, begin(0)),
        irq(400),
        end(405),
        (500, 3, Activity::End),
    ];
    let mut load = Load::with_buckets(Buckets::from_range(TimeNs(100), TimeNs(500), 2));
    let (analysis, short) = analysed_with(told, Window::default(), &mut load);
    let cpus = load.cpus(analysis.tasks());
    let interrupt_load = cpus[0].interrupts.as_ref().unwrap();
    assert_eq!(
        (interrupt_load.run_ns, interrupt_load.stretches, interrupt_load.buckets.to_vec(2)),
        (45, 3, vec![40, 5])
    );
    assert_eq!(short.left_out.iter().map(|left| left.count).collect::<Vec<_>>(), [1]);
    assert_eq!((cpus[0].busy_ns, cpus[0].idle_ns), (200, 200));
}

/// The interrupts of cpu 0 within a window: how long they took, and how many there were.
fn interrupts_within(
    told: Vec<crate::fixture::TimedActivity>,
    from: Option<i64>,
    until: Option<i64>,
) -> Option<(u64, u64)> {
    let (from, until) = (from.map(TimeNs), until.map(TimeNs));
    let mut load = Load::new();
    let analysis = analysed(told, Window { from, until, ..Window::default() }, &mut load);
    let cpus = load.cpus(analysis.tasks());
    cpus.first()?
        .interrupts
        .as_ref()
        .map(|interrupt_load| (interrupt_load.run_ns, interrupt_load.stretches))
}

#[test]
fn a_window_cuts_through_interrupts() {
    // b runs 0–20, an interrupt takes 1–9 of it, with another at 3–4 within.
    let told = || {
        vec![
            (0, 2, begin(1)),
            (1, 0, named("irq")),
            (3, 0, named("another irq")),
            (4, 0, Activity::End),
            (9, 0, Activity::End),
            (20, 2, Activity::End),
        ]
    };
    let within = |from, until| interrupts_within(told(), from, until);
    assert_eq!(within(None, None), Some((8, 1)));
    assert_eq!(within(Some(2), None), Some((7, 1)));
    assert_eq!(within(None, Some(5)), Some((4, 1)));
    assert_eq!(within(Some(5), Some(7)), Some((2, 1)));
    assert_eq!(within(Some(10), None), None);
}

#[test]
fn how_long_interrupts_took_that_do_not_end_is_not_known() {
    let told = || {
        vec![
            (0, 2, begin(1)),
            (5, 0, named("irq")),
            (7, 0, named("another irq")),
            (20, 2, Activity::End),
            // It comes again, after the last switch: that is in no time that is looked at.
            (25, 0, named("irq")),
        ]
    };
    let mut load = Load::new();
    let (analysis, short) = analysed_with(told(), Window::default(), &mut load);
    assert_eq!(load.cpus(analysis.tasks())[0].interrupts, None);
    assert_eq!(short.left_out.iter().map(|left| left.count).collect::<Vec<_>>(), [2]);
    // Nor is it where a window ends meanwhile.
    assert_eq!(interrupts_within(told(), None, Some(15)), None);
}

#[test]
fn functions_of_a_processor_are_no_interrupts() {
    // The track of cpu 1 does not say that its stretches are interrupts.
    let told = vec![
        (0, 5, begin(1)),
        (1, 4, named("main")),
        (9, 4, Activity::End),
        (10, 5, Activity::End),
    ];
    let mut load = Load::new();
    let analysis = analysed(told, Window::default(), &mut load);
    assert_eq!(load.cpus(analysis.tasks())[0].interrupts, None);
}

#[test]
fn a_window_is_looked_at_as_a_whole_where_nobody_runs_at_its_ends() {
    // On cpu 0, b runs 10–11 and 20–21, and nobody else does.
    let told = || {
        vec![
            (10, 2, begin(1)),
            (11, 2, Activity::End),
            (20, 2, begin(1)),
            (21, 2, Activity::End),
            (40, 2, begin(1)),
        ]
    };
    let within = |from: Option<i64>, until: Option<i64>| {
        let (from, until) = (from.map(TimeNs), until.map(TimeNs));
        let mut load = Load::new();
        let analysis = analysed(told(), Window { from, until, ..Window::default() }, &mut load);
        let cpus = load.cpus(analysis.tasks());
        let found: Vec<_> =
            cpus.iter().map(|cpu_load| (cpu_load.busy_ns, cpu_load.span_ns())).collect();
        found
    };
    assert_eq!(within(Some(15), Some(25)), [(1, 10)]);
    assert_eq!(within(Some(15), None), [(1, 25)]);
    assert_eq!(within(None, Some(25)), [(2, 15)]);
    // Nobody runs in all of it.
    assert_eq!(within(Some(12), Some(18)), [(0, 6)]);
}

#[test]
fn an_end_is_of_the_interrupt_that_it_names() {
    // Task b runs 0–1000. An interrupt takes 100–150; within it another begins at 110 and lacks its
    // end, and so does one within that. The next takes 200–230, and the end at 210 is of none.
    let end = |time, name: &'static str| (time, 0, Activity::EndOf { name: name.into() });
    let told = || {
        vec![
            (0, 2, begin(1)),
            (100, 0, named("irq 5 disk")),
            (110, 0, named("softirq 1 TIMER")),
            (120, 0, named("irq 7 net")),
            end(150, "irq 5"),
            (200, 0, named("irq 7 net")),
            end(210, "softirq 1 TIMER"),
            end(230, "irq 7"),
            (1000, 2, Activity::End),
        ]
    };
    let found = |from: Option<i64>| {
        let mut load = Load::new();
        let window = Window { from: from.map(TimeNs), ..Window::default() };
        let (analysis, short) = analysed_with(told(), window, &mut load);
        let interrupts = load.cpus(analysis.tasks())[0].interrupts.clone().unwrap();
        let left_out: Vec<_> = short.left_out.iter().map(|left| left.count).collect();
        (interrupts.run_ns, interrupts.stretches, left_out)
    };
    assert_eq!(found(None), (80, 2, vec![2, 1]));
    // What is under way when a window begins is known by its name, too.
    assert_eq!(found(Some(130)), (50, 2, vec![2, 1]));
}

#[test]
fn an_interrupt_that_comes_again_has_ended_at_a_time_that_is_not_known() {
    // Task b runs 0–1000. An interrupt comes at 100, 200 and 300 and takes 10, but its end at 210
    // is missing; within that of 300 another takes 4.
    let told = vec![
        (0, 2, begin(1)),
        (100, 0, named("irq 5")),
        (110, 0, Activity::End),
        (200, 0, named("irq 5")),
        (300, 0, named("irq 5")),
        (302, 0, named("irq 7")),
        (306, 0, Activity::End),
        (310, 0, Activity::End),
        (1000, 2, Activity::End),
    ];
    let mut load = Load::new();
    let (analysis, short) = analysed_with(told, Window::default(), &mut load);
    let interrupts = load.cpus(analysis.tasks())[0].interrupts.clone().unwrap();
    assert_eq!((interrupts.run_ns, interrupts.stretches), (20, 2));
    assert_eq!(short.left_out.iter().map(|left| left.count).collect::<Vec<_>>(), [1]);
}

#[test]
fn processors_together_have_the_time_of_each() {
    // Cpu 0 is seen from 100 to 900, and cpu 1 from 400 to 1000: busy 400 + 100 of 800 and 200 of 600.
    let told = vec![
        (100, 2, begin(1)),
        (400, 5, begin(1)),
        (500, 2, Activity::End),
        (500, 3, begin(0)),
        (600, 5, Activity::End),
        (800, 3, Activity::End),
        (800, 2, begin(1)),
        (900, 2, Activity::End),
        (1000, 5, begin(1)),
    ];
    let buckets = Buckets::from_range(TimeNs(100), TimeNs(1000), 3);
    let mut load = Load::with_buckets(buckets);
    let analysis = analysed(told, Window::default(), &mut load);
    let cpus = load.cpus(analysis.tasks());
    let all = CpuLoad::together(&cpus, analysis.tasks()).unwrap();
    assert_eq!((all.span_ns(), all.busy_ns, all.idle_ns), (1400, 700, 300));
    assert_eq!((all.longest_ns(), cpus[1].longest_ns()), (800, 600));
    // The recording is from 100 to 1000: 100 of cpu 0 are missing, and 300 of cpu 1.
    assert_eq!((all.unseen_ns, cpus[0].unseen_ns, cpus[1].unseen_ns), (400, 100, 300));
    // 100–400, 400–700 and 700–1000.
    assert_eq!(buckets.bucket_shares(&all.seen), [300, 600, 500]);
}

#[test]
fn where_times_go_back_no_time_counts_twice() {
    // b runs 0–100 and, as is recorded after that, 90–200 and 50–60; interrupts 0–100 and 90–200.
    let told = vec![
        (0, 2, begin(1)),
        (0, 0, named("irq")),
        (100, 0, Activity::End),
        (100, 2, Activity::End),
        (90, 2, begin(1)),
        (90, 0, named("irq")),
        (200, 0, Activity::End),
        (200, 2, Activity::End),
        (50, 2, begin(1)),
        (60, 2, Activity::End),
    ];
    let mut load = Load::new();
    let (analysis, short) = analysed_with(told, Window::default(), &mut load);
    // At 90, 50 and 60 there were later ones.
    assert_eq!(short.backwards.into_values().collect::<Vec<_>>(), [3]);
    let cpus = load.cpus(analysis.tasks());
    let interrupts = cpus[0].interrupts.as_ref().unwrap();
    assert_eq!((cpus[0].span_ns(), cpus[0].busy_ns, interrupts.run_ns), (200, 200, 200));
    assert_eq!((cpus[0].unknown.ns, cpus[0].tasks[0].stretches), (0, 2));
}

#[test]
fn time_that_only_earlier_switches_tell_of_is_not_known() {
    // A log whose second part, 100–300, comes first: a runs 100–200, b 200–300, then idle; k
    // runs 0–50 and b 50–100.
    let told = vec![
        (100, 1, begin(1)),
        (200, 1, Activity::End),
        (200, 2, begin(1)),
        (300, 2, Activity::End),
        (300, 3, begin(1)),
        (0, 3, Activity::End),
        (0, 7, begin(1)),
        (50, 7, Activity::End),
        (50, 2, begin(1)),
        (100, 2, Activity::End),
        (100, 3, begin(1)),
    ];
    let mut load = Load::with_buckets(Buckets::from_range(TimeNs(0), TimeNs(300), 3));
    let (analysis, short) = analysed_with(told, Window::default(), &mut load);
    assert_eq!(short.backwards.into_values().collect::<Vec<_>>(), [6]);
    let cpus = load.cpus(analysis.tasks());
    let cpu_load = &cpus[0];
    assert_eq!(
        (cpu_load.span_ns(), cpu_load.busy_ns, cpu_load.idle_ns, cpu_load.unknown.ns),
        (300, 200, 0, 100)
    );
    assert_eq!(
        (cpu_load.unknown.stretches, cpu_load.unknown.buckets.to_vec(3)),
        (1, vec![100, 0, 0])
    );
    let expected = [("a", 100), ("b", 100)].map(|(n, ns)| (n.to_owned(), ns));
    assert_eq!(shares(cpu_load, analysis.tasks()), expected);
}

#[test]
fn where_nobody_ran_and_earlier_switches_tell_otherwise_is_not_known() {
    // On cpu 1, where no task is idle, a runs 0–30, 60–80 and 85–90. What comes then is of the time
    // between 30 and 60: it runs 35–40 and 50–60. Nobody runs after that until 95.
    let times = [0, 30, 60, 80, 85, 90, 35, 40, 50, 60, 95, 97].into_iter().enumerate();
    let what = |at: usize| if at.is_multiple_of(2) { begin(1) } else { Activity::End };
    let told: Vec<_> = times.map(|(at, time)| (time, 5, what(at))).collect();
    let item = |until: usize| {
        let mut load = Load::new();
        let (analysis, _) = analysed_with(told[..until].to_vec(), Window::default(), &mut load);
        let cpus = load.cpus(analysis.tasks());
        (cpus[0].span_ns(), cpus[0].busy_ns, cpus[0].unknown.ns)
    };
    assert_eq!(item(6), (90, 55, 0));
    // Nobody was said to run in 5 and 10 of it.
    assert_eq!(item(10), (90, 55, 15));
    assert_eq!(item(12), (97, 57, 15));
}

#[test]
fn what_is_not_known_where_times_go_back_counts_once_too() {
    // b and a are never stopped.
    let told = [0, 100, 50, 100, 50, 100].into_iter().enumerate();
    let told = told.map(|(at, time)| (time, 1 + at % 2, begin(1))).collect();
    let mut load = Load::new();
    let (analysis, _) = analysed_with(told, Window::default(), &mut load);
    let cpus = load.cpus(analysis.tasks());
    assert_eq!((cpus[0].span_ns(), cpus[0].unknown.ns), (100, 100));
}

#[test]
fn a_spread_begins_and_ends_anywhere() {
    let mut spread = BucketTimes::default();
    assert_eq!(spread.to_vec(2), [0, 0]);
    for (at, ns) in [(3, 1), (5, 2), (1, 4), (3, 8)] {
        spread.add(at, ns);
    }
    assert_eq!(spread.to_vec(7), [0, 4, 0, 9, 0, 2, 0]);
    let mut both = BucketTimes::default();
    both.add(0, 16);
    both.add_all(&spread);
    assert_eq!(both.to_vec(6), [16, 4, 0, 9, 0, 2]);
}

#[test]
fn what_is_taken_to_run_up_to_the_ends_of_a_window_is_said() {
    // On cpu 0, b runs from 0 to 400,000, and a switch is on cpu 1 every nanosecond.
    let others = |from, until| {
        let what = |at| if at % 2 == 0 { begin(1) } else { Activity::End };
        (from..until).map(move |at| (at, 5, what(at)))
    };
    let within = |from, until, since| {
        let first = [(0, 2, begin(1))].into_iter().chain(others(1, 400_000));
        let told = first.chain([(400_000, 2, Activity::End)]).chain(others(400_001, 400_010));
        let (from, until) = (Some(TimeNs(from)), Some(TimeNs(until)));
        let mut load = Load::new();
        let window = Window { from, until, ..Window::default() };
        let told = told.filter(|(time, ..)| *time == 0 || *time >= since).collect();
        let (analysis, short) = analysed_with(told, window, &mut load);
        let cpus = load.cpus(analysis.tasks());
        let ran = cpus.iter().find(|item| item.cpu == CpuId(0)).map(|cpu_load| cpu_load.busy_ns);
        (ran, short.assumed.into_iter().collect::<Vec<_>>(), short.unknown.len())
    };
    // It stops in the window, and where it began is too far back.
    assert_eq!(within(399_990, 400_005, 0), (Some(10), vec![CpuId(0)], 0));
    // It stops after the window, and that is found.
    assert_eq!(within(399_980, 399_990, 0), (Some(10), vec![CpuId(0)], 0));
    // It began before the window, as is found, and where it stops is too far on.
    assert_eq!(within(100, 200, 0), (Some(100), vec![CpuId(0)], 0));
    // Both are found.
    assert_eq!(within(399_980, 399_990, 399_000), (Some(10), vec![], 0));
}

#[test]
fn interrupts_before_the_first_switch_and_after_the_last_are_beside_the_processors_time() {
    // cpu 0 switches at 10, 20 and 40, where b stops. Interrupts take 2–5, 12–15, 36–46 and 50–53;
    // cpu 1 switches until 60.
    let told = || {
        vec![
            (0, 5, begin(1)),
            (2, 0, named("irq")),
            (5, 0, Activity::End),
            (10, 2, begin(1)),
            (12, 0, named("irq")),
            (15, 0, Activity::End),
            (20, 2, Activity::End),
            (20, 2, begin(1)),
            (36, 0, named("irq")),
            (40, 2, Activity::End),
            (46, 0, Activity::End),
            (50, 0, named("irq")),
            (53, 0, Activity::End),
            (60, 5, Activity::End),
        ]
    };
    let within = |from: Option<i64>, until: Option<i64>| {
        let (from, until) = (from.map(TimeNs), until.map(TimeNs));
        let mut load = Load::new();
        let window = Window { from, until, ..Window::default() };
        let (analysis, _) = analysed_with(told(), window, &mut load);
        let cpus = load.cpus(analysis.tasks());
        let interrupt_load = cpus[0].interrupts.clone().unwrap();
        assert_eq!(cpus[0].cpu, CpuId(0));
        (
            interrupt_load.run_ns,
            interrupt_load.outside_ns,
            interrupt_load.stretches,
            cpus[0].span_ns(),
            cpus[0].unseen_ns,
        )
    };
    // Within 10–40: 3 and 4; besides: 3, 6 and 3. Of the 60 that are recorded 30 are not known.
    assert_eq!(within(None, None), (7, 12, 2, 30, 30));
    assert_eq!(within(None, Some(14)), (2, 3, 1, 4, 10));
    assert_eq!(within(Some(14), Some(44)), (5, 4, 2, 26, 4));
    // Nothing of it is known: all of that is beside its time.
    assert_eq!(within(Some(44), None), (0, 5, 0, 0, 16));
}

#[test]
fn an_interrupt_whose_end_is_missing_counts_in_no_window() {
    // One begins at 5, and b runs at 20, so that it is over; another is under way when all ends.
    let told = || {
        vec![
            (0, 3, begin(1)),
            (5, 0, named("irq")),
            (20, 3, Activity::End),
            (20, 2, begin(1)),
            (30, 2, Activity::End),
            (35, 0, named("irq")),
            (40, 5, begin(1)),
        ]
    };
    let within = |from: Option<i64>, until: Option<i64>| {
        let (from, until) = (from.map(TimeNs), until.map(TimeNs));
        let mut load = Load::new();
        let window = Window { from, until, ..Window::default() };
        let (analysis, short) = analysed_with(told(), window, &mut load);
        let interrupts = load.cpus(analysis.tasks())[0].interrupts.clone();
        (interrupts, short.left_out.iter().map(|left| left.count).sum::<u64>())
    };
    assert_eq!(within(None, None), (None, 1));
    // It is lost in the window where that is seen.
    assert_eq!(within(None, Some(10)), (None, 0));
    assert_eq!(within(Some(10), Some(15)), (None, 0));
    assert_eq!(within(Some(15), Some(38)), (None, 1));
}

#[test]
fn a_processor_of_which_nothing_is_known_in_a_window_counts_among_all() {
    // cpu 0 switches from 0 to 100, and cpu 1 from 40 to 60.
    let told = || {
        vec![(0, 2, begin(1)), (40, 5, begin(1)), (60, 5, Activity::End), (100, 2, Activity::End)]
    };
    let within = |from: i64, until: i64| {
        let (from, until) = (Some(TimeNs(from)), Some(TimeNs(until)));
        let mut load = Load::new();
        let window = Window { from, until, ..Window::default() };
        let (analysis, _) = analysed_with(told(), window, &mut load);
        let cpus = load.cpus(analysis.tasks());
        let all = CpuLoad::together(&cpus, analysis.tasks()).unwrap();
        (cpus.len(), all.span_ns(), all.busy_ns, all.unseen_ns)
    };
    assert_eq!(within(10, 30), (2, 20, 20, 20));
    assert_eq!(within(30, 70), (2, 60, 60, 20));
    assert_eq!(within(70, 90), (2, 20, 20, 20));
}

/// On cpu 0: a from 0 on, events are missing from 10 on, a stops at 50, b 50–80, then idle.
fn with_gap(missing: Missing) -> Vec<crate::fixture::TimedActivity> {
    vec![
        (0, 1, begin(1)),
        (10, 0, Activity::Gap(missing)),
        (50, 1, Activity::End),
        (50, 2, begin(1)),
        (80, 2, Activity::End),
        (80, 3, begin(0)),
    ]
}

#[test]
fn time_across_a_gap_is_of_nobody() {
    for missing in [Missing::Switches, Missing::Events, Missing::AllEvents] {
        let mut load = Load::new();
        let (analysis, short) = analysed_with(with_gap(missing), Window::default(), &mut load);
        assert_eq!(short.gaps.into_values().collect::<Vec<_>>(), [1]);
        assert_eq!(short.unbalanced.len(), 0);
        let cpu_load = &load.cpus(analysis.tasks())[0];
        let expected = [("b", 30), ("a", 10)].map(|(name, ns)| (name.to_owned(), ns));
        assert_eq!(shares(cpu_load, analysis.tasks()), expected);
        assert_eq!((cpu_load.span_ns(), cpu_load.busy_ns, cpu_load.unknown.ns), (80, 40, 40));
    }
}

#[test]
fn ranges_that_adjoin_in_a_gap_add_up() {
    let item = |from: Option<i64>, until: Option<i64>| {
        let window =
            Window { from: from.map(TimeNs), until: until.map(TimeNs), ..Window::default() };
        let mut load = Load::new();
        let (analysis, _) = analysed_with(with_gap(Missing::Events), window, &mut load);
        let cpu_load = &load.cpus(analysis.tasks())[0];
        (cpu_load.span_ns(), cpu_load.busy_ns, cpu_load.unknown.ns)
    };
    // Up to the gap a runs, though what it lets run next is another.
    assert_eq!(item(None, Some(5)), (5, 5, 0));
    assert_eq!(item(Some(5), Some(30)), (25, 5, 20));
    assert_eq!(item(Some(30), Some(40)), (10, 0, 10));
    assert_eq!(item(Some(40), None), (40, 30, 10));
}

#[test]
fn a_gap_of_one_processor_leaves_the_others_known() {
    let mut told = load_activities();
    told.insert(2, (250, 0, Activity::Gap(Missing::Events)));
    let mut load = Load::new();
    let (analysis, _) = analysed_with(told, Window::default(), &mut load);
    let cpus = load.cpus(analysis.tasks());
    // b runs from 100 on, and who does from 250 to 300 is not known.
    assert_eq!((cpus[0].busy_ns, cpus[0].unknown.ns), (450, 50));
    assert_eq!((cpus[1].busy_ns, cpus[1].unknown.ns), (800, 0));
}

#[test]
fn time_that_is_nobodys_is_not_known_where_a_task_is_idle() {
    // On cpu 0, idle runs 0–10 and 20–30 and a 15–20; on cpu 1, where no task is idle, a runs 0–10
    // and 20–30.
    let told = || {
        vec![
            (0, 3, begin(0)),
            (0, 5, begin(1)),
            (10, 3, Activity::End),
            (10, 5, Activity::End),
            (15, 1, begin(1)),
            (20, 1, Activity::End),
            (20, 3, begin(0)),
            (20, 5, begin(1)),
            (30, 3, Activity::End),
            (30, 5, Activity::End),
        ]
    };
    let unknown = |from: Option<i64>, until: Option<i64>| {
        let (from, until) = (from.map(TimeNs), until.map(TimeNs));
        let mut load = Load::with_buckets(Buckets::from_range(TimeNs(0), TimeNs(30), 3));
        let window = Window { from, until, ..Window::default() };
        let analysis = analysed(told(), window, &mut load);
        let cpus = load.cpus(analysis.tasks());
        assert_eq!(cpus[1].unknown, UnknownLoad::default());
        let UnknownLoad { ns, stretches, buckets } = &cpus[0].unknown;
        assert_eq!(cpus[0].busy_ns + cpus[0].idle_ns + ns, cpus[0].span_ns());
        (*ns, *stretches, buckets.to_vec(3))
    };
    assert_eq!(unknown(None, None), (5, 1, vec![0, 5, 0]));
    assert_eq!(unknown(None, Some(12)), (2, 1, vec![0, 2, 0]));
    assert_eq!(unknown(Some(12), None), (3, 1, vec![0, 3, 0]));
}

#[test]
fn what_stops_as_a_window_begins_is_not_in_it() {
    // On cpu 0, idle runs 300–600 and b 600–700.
    let window = Window { from: Some(TimeNs(600)), until: Some(TimeNs(700)), ..Window::default() };
    let mut load = Load::new();
    let analysis = analysed(load_activities(), window, &mut load);
    let cpus = load.cpus(analysis.tasks());
    assert_eq!(cpus[0].span_ns(), 100);
    assert_eq!(shares(&cpus[0], analysis.tasks()), [("b".to_owned(), 100)]);
}

#[test]
fn loads_do_not_ask_which_states_machines_are_in() {
    // Very many switches are on cpu 0, and all run when the window begins. The machine is in no state.
    let what = |at: i64| if at % 2 == 0 { begin(1) } else { Activity::End };
    let mut told: Vec<_> = (0..270_001).map(|at| (at, 1, what(at))).collect();
    told.extend([5, 9, 10].map(|track| (270_001, track, begin(1))));
    told.extend([1, 5, 9, 10].map(|track| (270_030, track, Activity::End)));
    let window = Window { from: Some(TimeNs(270_010)), ..Window::default() };
    let mut load = Load::new();
    let analysis = analysed(told.clone(), window.clone(), &mut load);
    let cpus = load.cpus(analysis.tasks());
    assert_eq!(shares(&cpus[0], analysis.tasks()), [("a".to_owned(), 20)]);
    let (_, short) = analysed_with(told, window, &mut crate::States::new());
    assert_eq!(short.unknown_states, [TrackId(6)]);
}

#[test]
fn what_is_told_of_beyond_the_recording_has_no_time() {
    let mut load = Load::with_buckets(Buckets::from_range(TimeNs(0), TimeNs(30), 3));
    let told = vec![(0, 1, begin(1)), (30, 1, Activity::End)];
    let analysis = analysed(told, Window::default(), &mut load);
    let cpu = CpuId(0);
    Pass::unknown(&mut load, cpu, TimeNs(-1_000), TimeNs(0));
    Pass::unknown(&mut load, cpu, TimeNs(20), TimeNs(1_000));
    let cpus = load.cpus(analysis.tasks());
    let UnknownLoad { ns, buckets, .. } = &cpus[0].unknown;
    assert_eq!((cpus[0].span_ns(), *ns, buckets.to_vec(3)), (30, 10, vec![0, 0, 10]));
}
