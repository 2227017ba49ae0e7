use super::*;
use crate::fixture::{TimedActivity, analysed, begin, complete, release};
use kymo_model::timeline::Window;

const END: Activity<'static> = Activity::End;

fn figures(told: Vec<TimedActivity>, task: &str) -> TaskSched {
    let mut sched = Sched::new();
    let analysis = analysed(told, Window::default(), &mut sched);
    let found = sched.tasks().find(|(id, _)| analysis.tasks().name(*id) == task);
    found.unwrap().1.clone()
}

fn spread(distribution: &Distribution) -> (u64, Option<u64>, Option<u64>, Option<u64>) {
    (distribution.count(), distribution.min(), distribution.mean(), distribution.max())
}

#[test]
fn a_task_that_did_nothing_much_takes_little_memory() {
    // A file of a few megabytes may tell of a million of them.
    assert!(size_of::<(TaskSched, Job)>() <= 512, "{}", size_of::<(TaskSched, Job)>());
}

#[test]
fn jobs_are_as_worked_out_by_hand() {
    // The first: released at 0, runs 10–30 and 50–60, complete at 58: delay 10, response 58,
    // run 28, wait 30, one preemption. The second: released at 100, runs 104–110, complete at
    // 110: delay 4, response 10, run 6, wait 4. The third at 230: too late for its budget.
    let told = vec![
        (0, 2, release(Some(60))),
        (10, 2, begin(5)),
        (30, 2, END),
        (50, 2, begin(5)),
        (58, 2, complete(Some(2))),
        (60, 2, END),
        (100, 2, release(Some(60))),
        (104, 2, begin(5)),
        (110, 2, complete(None)),
        (110, 2, END),
        (230, 2, release(Some(60))),
        (230, 2, begin(5)),
        (300, 2, complete(None)),
        (300, 2, END),
    ];
    let found = figures(told, "b");
    assert_eq!((found.activations, found.completions), (3, 3));
    assert_eq!(spread(&found.stretch_ns), (4, Some(6), Some((20 + 10 + 6 + 70) / 4), Some(70)));
    assert_eq!(spread(&found.delay_ns), (3, Some(0), Some(14 / 3), Some(10)));
    assert_eq!(spread(&found.run_ns), (3, Some(6), Some((28 + 6 + 70) / 3), Some(70)));
    assert_eq!(spread(&found.response_ns), (3, Some(10), Some((58 + 10 + 70) / 3), Some(70)));
    assert_eq!(spread(&found.wait_ns), (3, Some(0), Some(34 / 3), Some(30)));
    assert_eq!((found.budgets, found.misses, found.preemptions()), (3, 1, Some(1)));
    assert_eq!(found.priorities(), Some((5, 5)));
    // Periods 100 and 130: their mean is 115.
    assert_eq!((found.period_ns.mean(), found.jitter_ns()), (Some(115), Some(15)));
}

#[test]
fn a_job_may_go_on_elsewhere() {
    let told = vec![
        (0, 1, release(None)),
        (2, 1, begin(1)),
        (10, 1, END),
        (13, 5, begin(-3)),
        (20, 5, complete(None)),
        (20, 5, END),
    ];
    let found = figures(told, "a");
    assert_eq!(found.priorities(), Some((-3, 1)));
    assert_eq!((found.response_ns.max(), found.run_ns.max()), (Some(20), Some(15)));
    assert_eq!((found.wait_ns.max(), found.preemptions()), (Some(5), Some(1)));
}

#[test]
fn what_is_released_while_it_runs_goes_on() {
    let told = vec![
        (0, 2, release(None)),
        (1, 2, begin(1)),
        (5, 2, release(None)),
        (8, 2, complete(None)),
        (20, 2, complete(None)),
        (21, 2, END),
    ];
    let found = figures(told, "b");
    assert_eq!(spread(&found.response_ns), (2, Some(8), Some(11), Some(15)));
    assert_eq!((found.run_ns.max(), found.preemptions()), (Some(12), Some(0)));
}

#[test]
fn without_completions_there_are_stretches_and_delays() {
    let told = vec![
        (0, 2, release(None)),
        (3, 2, release(None)),
        (4, 2, begin(1)),
        (9, 2, END),
        (12, 2, begin(1)),
    ];
    let found = figures(told, "b");
    assert_eq!((found.delay_ns.max(), found.response_ns.count()), (Some(4), 0));
    // How long the stretch from 12 on lasts is not known.
    assert_eq!(spread(&found.stretch_ns), (1, Some(5), Some(5), Some(5)));
    assert_eq!(found.preemptions(), None);
}

#[test]
fn a_time_left_below_nothing_is_a_miss() {
    let found = figures(vec![(0, 2, complete(Some(-1))), (1, 2, complete(Some(0)))], "b");
    assert_eq!((found.budgets, found.misses, found.run_ns.count()), (2, 1, 0));
}

#[test]
fn what_is_woken_while_it_falls_asleep_is_not_preempted() {
    // Woken at 0, runs 2–10, is woken at 9 and sleeps at 10 all the same: its next job was
    // released at 9 and runs at 15, so with a delay of 6, until 20.
    let told = vec![
        (0, 2, release(None)),
        (2, 2, begin(1)),
        (9, 2, release(None)),
        (10, 2, complete(None)),
        (10, 2, END),
        (15, 2, begin(1)),
        (20, 2, complete(None)),
        (20, 2, END),
    ];
    let found = figures(told, "b");
    assert_eq!(found.preemptions(), Some(0));
    assert_eq!(spread(&found.delay_ns), (2, Some(2), Some(4), Some(6)));
    assert_eq!(spread(&found.response_ns), (2, Some(10), Some(10), Some(11)));
    assert_eq!(spread(&found.run_ns), (2, Some(5), Some(6), Some(8)));
}

#[test]
fn what_ran_before_its_first_release_is_of_no_job_that_is_known() {
    // It runs at first, is woken at 4 and sleeps at 5; runs 9–12 for what it was woken for.
    let told = vec![
        (0, 2, begin(1)),
        (4, 2, release(None)),
        (5, 2, complete(None)),
        (5, 2, END),
        (9, 2, begin(1)),
        (12, 2, complete(None)),
        (12, 2, END),
    ];
    let found = figures(told, "b");
    assert_eq!((found.completions, found.activations, found.preemptions()), (2, 1, Some(0)));
    assert_eq!(spread(&found.response_ns), (1, Some(8), Some(8), Some(8)));
    assert_eq!(spread(&found.run_ns), (1, Some(3), Some(3), Some(3)));
    assert_eq!((found.delay_ns.max(), found.stretch_ns.sum()), (Some(5), 8));
}

#[test]
fn jobs_that_are_never_complete_are_late_when_their_time_is_over() {
    // Three jobs with budgets of 10 at 0, 5 and 95; the first is complete at 8; the end is 100.
    let told = vec![
        (0, 2, release(Some(10))),
        (1, 2, begin(1)),
        (5, 2, release(Some(10))),
        (8, 2, complete(None)),
        (8, 2, END),
        (95, 2, release(Some(10))),
        (100, 1, begin(1)),
    ];
    let found = figures(told, "b");
    assert_eq!((found.activations, found.completions, found.open), (3, 1, 2));
    assert_eq!((found.budgets, found.misses), (2, 1));
}

/// Released at 10 and 80 with a budget of 20 each; it runs 81–82, and is complete then.
#[test]
fn a_job_whose_budget_is_over_before_it_ran_does_not_lend_its_time_to_the_next() {
    let mut told = vec![
        (10, 2, release(Some(20))),
        (80, 2, release(Some(20))),
        (81, 2, begin(1)),
        (82, 2, complete(None)),
        (82, 2, END),
        (90, 1, begin(1)),
    ];
    let found = figures(told.clone(), "b");
    assert_eq!((found.activations, found.completions, found.open), (2, 1, 1));
    assert_eq!(spread(&found.response_ns), (1, Some(2), Some(2), Some(2)));
    assert_eq!((found.budgets, found.misses), (2, 1));

    // It only had to wait: both are complete, at 82 and 83.
    told.splice(4..5, [(83, 2, complete(None)), (83, 2, END)]);
    let found = figures(told, "b");
    assert_eq!((found.activations, found.completions, found.open), (2, 2, 0));
    assert_eq!(spread(&found.response_ns), (2, Some(2), Some(37), Some(73)));
    assert_eq!((found.budgets, found.misses), (2, 1));
}

#[test]
fn without_completions_each_release_has_its_delay() {
    let told = vec![
        (0, 2, release(None)),
        (1, 2, begin(1)),
        (3, 2, END),
        (10, 2, release(None)),
        (14, 2, begin(1)),
        (15, 2, END),
    ];
    let found = figures(told, "b");
    assert_eq!(spread(&found.delay_ns), (2, Some(1), Some(2), Some(4)));
}

#[test]
fn jobs_within_one_tick_of_a_coarse_clock_are_several() {
    // Two jobs at 0 and one at 1, each released, run and complete within the tick.
    let job = |time| {
        [(time, 2, release(None)), (time, 2, begin(1)), (time, 2, complete(None)), (time, 2, END)]
    };
    let found = figures([job(0), job(0), job(1)].concat(), "b");
    assert_eq!((found.activations, found.completions, found.open), (3, 3, 0));
    assert_eq!((found.response_ns.count(), found.preemptions()), (3, Some(0)));
}

#[test]
fn jobs_of_a_task_that_moves_within_a_tick_are_several() {
    // One job at 0 on cpu 0, and one on cpu 1 that runs 20–25: responses 0 and 25.
    let moved = vec![
        (0, 1, release(None)),
        (0, 1, begin(1)),
        (0, 1, complete(None)),
        (0, 1, END),
        (0, 5, release(None)),
        (20, 5, begin(1)),
        (25, 5, complete(None)),
        (25, 5, END),
    ];
    let found = figures(moved, "a");
    assert_eq!((found.activations, found.completions, found.open), (2, 2, 0));
    assert_eq!(spread(&found.response_ns), (2, Some(0), Some(12), Some(25)));
    assert_eq!(found.preemptions(), Some(0));
    // Both are complete at 1, on different processors.
    let completed = vec![
        (0, 1, release(None)),
        (0, 1, begin(1)),
        (1, 1, complete(None)),
        (1, 1, END),
        (1, 5, release(None)),
        (1, 5, begin(1)),
        (1, 5, complete(None)),
        (1, 5, END),
    ];
    let found = figures(completed, "a");
    assert_eq!((found.activations, found.completions, found.open), (2, 2, 0));
    assert_eq!(found.preemptions(), Some(0));
}

#[test]
fn what_stops_and_is_complete_at_one_moment_is_not_preempted() {
    // The second job stops before it is said to be complete; the third is preempted at 22.
    let told = vec![
        (0, 2, release(None)),
        (0, 2, begin(1)),
        (2, 2, complete(None)),
        (2, 2, END),
        (10, 2, release(None)),
        (10, 2, begin(1)),
        (12, 2, END),
        (12, 2, complete(None)),
        (20, 2, release(None)),
        (20, 2, begin(1)),
        (22, 2, END),
        (30, 2, begin(1)),
        (31, 2, complete(None)),
        (31, 2, END),
    ];
    let found = figures(told, "b");
    assert_eq!((found.completions, found.preemptions()), (3, Some(1)));
    assert_eq!(spread(&found.response_ns), (3, Some(2), Some(5), Some(11)));
    assert_eq!(spread(&found.run_ns), (3, Some(2), Some(2), Some(3)));
}

#[test]
fn no_response_is_told_of_jobs_that_were_only_counted() {
    // 65,538 jobs at 1: one is under way, 65,536 wait, and one is counted. Those that are known
    // are complete at 2. The counted one is complete at 1000, just after another came at 999,
    // which is complete at 3000: when that came is not known either.
    let mut told = vec![(1, 2, release(Some(5))); 65_538];
    told.extend(vec![(2, 2, complete(None)); 65_537]);
    told.push((999, 2, release(Some(5))));
    told.push((1000, 2, complete(None)));
    told.push((3000, 2, complete(None)));
    told.push((4000, 2, release(Some(5))));
    told.push((4003, 2, complete(None)));
    let mut sched = Sched::new();
    let (analysis, short) = crate::fixture::analysed_with(told, Window::default(), &mut sched);
    let b = sched.tasks().find(|(id, _)| analysis.tasks().name(*id) == "b").unwrap().1;
    assert_eq!((b.activations, b.completions, b.open), (65_540, 65_540, 0));
    assert_eq!((b.response_ns.count(), b.response_ns.max()), (65_538, Some(3)));
    assert_eq!(short.left_out.iter().map(|left| left.count).collect::<Vec<_>>(), [2]);
}

#[test]
fn jobs_beyond_those_that_are_kept_apart_are_counted_and_said() {
    // 70,000 jobs with a budget of 5 at one moment, of which the first and 65,536 that wait are
    // kept; none is ever complete.
    let mut told = vec![(0, 2, release(Some(5))); 70_000];
    told.push((10, 1, begin(1)));
    let mut sched = Sched::new();
    let (analysis, short) = crate::fixture::analysed_with(told, Window::default(), &mut sched);
    let b = sched.tasks().find(|(id, _)| analysis.tasks().name(*id) == "b").unwrap().1;
    assert_eq!((b.activations, b.open, b.misses), (70_000, 70_000, 65_537));
    assert_eq!(short.left_out.iter().map(|left| left.count).collect::<Vec<_>>(), [4463]);
}

/// Woken at 0, runs 1–20, is woken at 10 while it runs and sleeps at 20; woken at 1000, runs
/// 1001–1020; woken at 2000, runs 2001–2020.
fn used_up() -> Vec<TimedActivity> {
    let runs =
        |from, until| [(from, 7, begin(1)), (until, 7, complete(None)), (until, 7, END)].to_vec();
    let mut told = vec![(0, 7, release(None))];
    told.extend(runs(1, 20));
    told.insert(2, (10, 7, release(None)));
    for woken in [1000, 2000] {
        told.push((woken, 7, release(None)));
        told.extend(runs(woken + 1, woken + 20));
    }
    told
}

#[test]
fn a_wakeup_that_came_while_it_ran_is_used_up_when_another_wakes_it() {
    let found = figures(used_up(), "k");
    assert_eq!((found.activations, found.completions, found.open), (4, 3, 0));
    assert_eq!(spread(&found.delay_ns), (3, Some(1), Some(1), Some(1)));
    assert_eq!(spread(&found.response_ns), (3, Some(20), Some(20), Some(20)));
    // What it was released for begins at 0, 1000 and 2000.
    assert_eq!(spread(&found.period_ns), (2, Some(1000), Some(1000), Some(1000)));
    assert_eq!((found.jitter_ns(), found.preemptions()), (Some(0), Some(0)));
}

#[test]
fn the_last_wakeup_while_it_fell_asleep_counts_when_nothing_else_wakes_it() {
    // Woken at 3, which is used up, and at 19, just before it sleeps at 20: runs at 25 for that.
    let told = vec![
        (0, 7, release(None)),
        (1, 7, begin(1)),
        (3, 7, release(None)),
        (19, 7, release(None)),
        (20, 7, complete(None)),
        (20, 7, END),
        (25, 7, begin(1)),
        (30, 7, complete(None)),
        (30, 7, END),
    ];
    let found = figures(told, "k");
    assert_eq!(spread(&found.delay_ns), (2, Some(1), Some(3), Some(6)));
    assert_eq!(spread(&found.response_ns), (2, Some(11), Some(15), Some(20)));
    assert_eq!(found.period_ns.max(), Some(19));
}

#[test]
fn a_wakeup_while_it_is_preempted_is_of_no_new_job() {
    // Woken at 0, runs 1–5, is preempted; woken at 7, runs on 9–12 and sleeps; woken at 50.
    let told = vec![
        (0, 7, release(None)),
        (1, 7, begin(1)),
        (5, 7, END),
        (7, 7, release(None)),
        (9, 7, begin(1)),
        (12, 7, complete(None)),
        (12, 7, END),
        (50, 7, release(None)),
        (52, 7, begin(1)),
        (60, 7, complete(None)),
        (60, 7, END),
    ];
    let found = figures(told, "k");
    assert_eq!(spread(&found.delay_ns), (2, Some(1), Some(1), Some(2)));
    assert_eq!(spread(&found.response_ns), (2, Some(10), Some(11), Some(12)));
    assert_eq!((found.run_ns.max(), found.preemptions()), (Some(8), Some(1)));
}

#[test]
fn a_wakeup_after_which_everything_was_lost_is_used_up() {
    let told = vec![
        (0, 7, release(None)),
        (1000, 7, release(None)),
        (1001, 7, begin(1)),
        (1020, 7, complete(None)),
        (1020, 7, END),
    ];
    let found = figures(told, "k");
    assert_eq!((found.delay_ns.max(), found.response_ns.max()), (Some(1), Some(20)));
}

#[test]
fn how_long_a_job_ran_is_not_told_where_a_begin_is_missing() {
    // Woken at 0; another runs on the processor, and it stops at 50: it is not known since when it
    // ran. It goes on 60–80.
    let told = vec![
        (0, 1, begin(1)),
        (0, 7, release(None)),
        (50, 7, END),
        (60, 7, begin(1)),
        (80, 7, complete(None)),
        (80, 7, END),
    ];
    let mut sched = Sched::new();
    let (analysis, _) = crate::fixture::analysed_with(told, Window::default(), &mut sched);
    let k = sched.tasks().find(|(id, _)| analysis.tasks().name(*id) == "k").unwrap().1;
    assert_eq!(spread(&k.response_ns), (1, Some(80), Some(80), Some(80)));
    assert_eq!((k.run_ns.count(), k.wait_ns.count(), k.delay_ns.count()), (0, 0, 0));
}

/// Released at 0 with a budget of 60, runs from 5 on and is complete at 90, 30 too late; released at
/// 100 with a budget of 60, runs 105–110 and is complete in time.
fn late_and_in_time() -> Vec<TimedActivity> {
    vec![
        (0, 2, release(Some(60))),
        (5, 2, begin(1)),
        (90, 2, complete(Some(-30))),
        (90, 2, END),
        (100, 2, release(Some(60))),
        (105, 2, begin(1)),
        (110, 2, complete(Some(50))),
        (110, 2, END),
    ]
}

#[test]
fn jobs_that_were_released_before_a_window_are_in_no_figure() {
    for (from, expected) in [(None, (2, 2, 1, 2)), (Some(20), (2, 1, 0, 1))] {
        let mut sched = Sched::new();
        let window = Window { from: from.map(TimeNs), ..Window::default() };
        let analysis = analysed(late_and_in_time(), window, &mut sched);
        let b = sched.tasks().find(|(id, _)| analysis.tasks().name(*id) == "b").unwrap().1;
        let found = (b.completions, b.budgets, b.misses, b.response_ns.count());
        assert_eq!(found, expected);
    }
}

/// Eight jobs of a task every 10, each runs from 1 after its release to 3 and is complete then; the
/// begin of the fourth is missing.
fn without_a_begin(task: usize) -> Vec<TimedActivity> {
    let job = |at: i64| {
        let (released, ends) = (at * 10, at * 10 + 3);
        vec![
            (released, task, release(None)),
            (released + 1, 3, END),
            (released + 1, task, begin(1)),
            (ends, task, complete(None)),
            (ends, task, END),
            (ends, 3, begin(1)),
        ]
    };
    let mut told = vec![(-5, 3, begin(1))];
    told.extend((0..8).flat_map(job));
    told.retain(|(time, ..)| *time != 31);
    told
}

#[test]
fn a_job_of_which_the_begin_is_missing_is_a_job_all_the_same() {
    for (task, name) in [(2, "b"), (7, "k")] {
        let mut sched = Sched::new();
        let (analysis, short) =
            crate::fixture::analysed_with(without_a_begin(task), Window::default(), &mut sched);
        // It stops and did not begin, which is when idle did not stop.
        assert_eq!(short.unbalanced.values().sum::<u64>(), 1);
        let found = sched.tasks().find(|(id, _)| analysis.tasks().name(*id) == name).unwrap().1;
        assert_eq!((found.activations, found.completions, found.open), (8, 8, 0));
        assert_eq!(found.preemptions(), Some(0), "{name}");
        assert_eq!(spread(&found.period_ns), (7, Some(10), Some(10), Some(10)), "{name}");
        assert_eq!(spread(&found.response_ns), (8, Some(3), Some(3), Some(3)));
        assert_eq!(spread(&found.delay_ns), (7, Some(1), Some(1), Some(1)));
        assert_eq!(spread(&found.run_ns), (7, Some(2), Some(2), Some(2)));
    }
}

#[test]
fn what_runs_when_the_recording_begins_and_is_complete_is_not_preempted() {
    let told = vec![
        (5, 7, complete(None)),
        (5, 7, END),
        (10, 7, release(None)),
        (11, 7, begin(1)),
        (12, 7, complete(None)),
        (12, 7, END),
    ];
    assert_eq!(figures(told, "k").preemptions(), Some(0));
    // It stops a moment after it is complete, and the next time before.
    let told = vec![(5, 2, complete(None)), (6, 2, END), (10, 2, begin(1)), (12, 2, END)];
    assert_eq!(figures(told, "b").preemptions(), Some(1));
}

#[test]
fn a_job_that_goes_on_without_a_begin_ran_for_longer_than_is_known() {
    // Woken at 0, runs 1–5 and is preempted by idle. It stops at 20, and when it went on is missing.
    // Woken at 30, it is preempted though it never began, and goes on 40–45.
    let told = vec![
        (0, 7, release(None)),
        (1, 7, begin(1)),
        (5, 7, END),
        (5, 3, begin(1)),
        (20, 7, complete(None)),
        (20, 7, END),
        (20, 3, begin(1)),
        (30, 7, release(None)),
        (35, 7, END),
        (40, 7, begin(1)),
        (45, 7, complete(None)),
        (45, 7, END),
    ];
    let mut sched = Sched::new();
    let (analysis, _) = crate::fixture::analysed_with(told, Window::default(), &mut sched);
    let k = sched.tasks().find(|(id, _)| analysis.tasks().name(*id) == "k").unwrap().1;
    assert_eq!((k.preemptions(), k.run_ns.count(), k.wait_ns.count()), (Some(2), 0, 0));
    assert_eq!(spread(&k.response_ns), (2, Some(15), Some(17), Some(20)));
    assert_eq!(spread(&k.period_ns), (1, Some(30), Some(30), Some(30)));
    assert_eq!(spread(&k.delay_ns), (1, Some(1), Some(1), Some(1)));
}

#[test]
fn a_job_that_is_complete_before_it_is_released_took_a_time_that_is_not_known() {
    // The second half of the log comes first: b is released at 100, runs from 110 and is preempted
    // at 120. Then a job of b that runs 10–30 is complete at 30, and another takes 40–60.
    let told = vec![
        (100, 2, release(Some(50))),
        (110, 2, begin(1)),
        (120, 2, Activity::End),
        (10, 2, begin(1)),
        (30, 2, complete(None)),
        (30, 2, Activity::End),
        (40, 2, release(Some(50))),
        (45, 2, begin(1)),
        (60, 2, complete(None)),
        (60, 2, Activity::End),
    ];
    let mut sched = Sched::new();
    let (_, short) = crate::fixture::analysed_with(told, Window::default(), &mut sched);
    let (_, b) = sched.tasks().next().unwrap();
    assert_eq!((b.activations, b.completions), (2, 2));
    // Stretches that are told of behind the first are of time that was told of already.
    assert_eq!((b.stretch_ns.count(), b.stretch_ns.max()), (1, Some(10)));
    assert_eq!((b.response_ns.count(), b.response_ns.max()), (1, Some(20)));
    assert_eq!((b.delay_ns.count(), b.period_ns.count()), (2, 0));
    assert_eq!((b.budgets, b.misses), (1, 0));
    assert_eq!(short.left_out.iter().map(|left| left.count).collect::<Vec<_>>(), [1]);
}

#[test]
fn a_job_across_a_gap_is_told_of_no_more() {
    use kymo_model::timeline::Missing;
    // b is released at 0 and runs from 5 on; events are missing from 10 on; it is complete at 50.
    // Released at 60, it runs 62–70. a is released at 8, and nothing else is known of it.
    let told = vec![
        (0, 3, begin(0)),
        (0, 2, release(None)),
        (5, 3, END),
        (5, 2, begin(1)),
        (8, 1, release(Some(20))),
        (10, 0, Activity::Gap(Missing::Events)),
        (50, 2, complete(None)),
        (50, 2, END),
        (50, 3, begin(0)),
        (60, 2, release(None)),
        (62, 3, END),
        (62, 2, begin(1)),
        (70, 2, complete(None)),
        (70, 2, END),
    ];
    let mut sched = Sched::new();
    let (analysis, _) = crate::fixture::analysed_with(told, Window::default(), &mut sched);
    let item = |name: &str| {
        let found = sched.tasks().find(|(id, _)| analysis.tasks().name(*id) == name);
        found.unwrap().1.clone()
    };
    let b = item("b");
    // It ran 5–10 and 62–70; the one response that is known is 60–70.
    assert_eq!((b.stretch_ns.sum(), b.completions), (5 + 8, 2));
    assert_eq!(spread(&b.response_ns), (1, Some(10), Some(10), Some(10)));
    // Whether a was late is not known.
    let a = item("a");
    assert_eq!((a.activations, a.open, a.misses), (1, 0, 0));
}

/// Releases at 0, 10, 20 and 30, budget or not, and no job is ever complete: it runs 4–6, 13–25 and from
/// 46 on. It runs at 20, and after that from 46 on: delays 4, 3, 26 and 16.
#[test]
fn each_release_has_its_delay_though_no_job_is_ever_complete() {
    for budget_ns in [None, Some(0), Some(5)] {
        let told = vec![
            (0, 2, release(budget_ns)),
            (4, 2, begin(1)),
            (6, 2, END),
            (10, 2, release(budget_ns)),
            (13, 2, begin(1)),
            (20, 2, release(budget_ns)),
            (25, 2, END),
            (30, 2, release(budget_ns)),
            (46, 2, begin(1)),
            (48, 2, END),
            // After the last nothing runs.
            (50, 2, release(budget_ns)),
        ];
        let found = figures(told, "b");
        assert_eq!((found.activations, found.completions), (5, 0));
        assert_eq!(spread(&found.delay_ns), (4, Some(3), Some((4 + 3 + 26 + 16) / 4), Some(26)));
        // With a budget of 5 those at 0 to 30 are late, and the last, since the end is at 50, is not.
        let misses = if budget_ns == Some(5) { 4 } else { 0 };
        assert_eq!((found.budgets, found.misses), (misses, misses), "{budget_ns:?}");
    }
}

/// A budget of 0 is none, and then there is no time left that could be too little.
#[test]
fn a_budget_of_nothing_makes_no_job_late() {
    let told = vec![
        (0, 2, release(Some(0))),
        (5, 2, begin(1)),
        (90, 2, complete(Some(-90))),
        (90, 2, END),
        (100, 2, release(Some(10))),
        (105, 2, begin(1)),
        (108, 2, complete(Some(2))),
        (108, 2, END),
    ];
    let found = figures(told, "b");
    assert_eq!((found.budgets, found.misses, found.completions), (1, 0, 2));
    assert_eq!(spread(&found.delay_ns), (2, Some(5), Some(5), Some(5)));
}

/// Released at 0, runs from 1 on; released again at 5 and 6, the first is complete at 8, and the task
/// goes on until 20: it runs for them since 8.
#[test]
fn a_task_that_goes_on_runs_for_what_it_was_released_for_meanwhile() {
    let told = vec![
        (0, 2, release(Some(50))),
        (1, 2, begin(1)),
        (5, 2, release(Some(50))),
        (6, 2, release(Some(50))),
        (8, 2, complete(None)),
        (15, 2, complete(None)),
        (20, 2, complete(None)),
        (20, 2, END),
    ];
    let found = figures(told, "b");
    assert_eq!(spread(&found.response_ns), (3, Some(8), Some((8 + 10 + 14) / 3), Some(14)));
    // 1, 3 and 2.
    assert_eq!(spread(&found.delay_ns), (3, Some(1), Some(2), Some(3)));
}
