use super::*;
use crate::fixture::{Told, analysed, begin, complete, release};
use kymo_core::model::timeline::Window;

const END: Activity<'static> = Activity::End;

fn figures(told: Vec<Told>, task: &str) -> TaskSched {
    let mut sched = Sched::new();
    let analysis = analysed(told, Window::default(), &mut sched);
    let found = sched.tasks().find(|(id, _)| analysis.tasks().name(*id) == task);
    found.unwrap().1.clone()
}

fn spread(of: &Distribution) -> (u64, Option<u64>, Option<u64>, Option<u64>) {
    (of.count(), of.min(), of.mean(), of.max())
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
    // Periods 100 and 130: their mean is 115.
    assert_eq!((found.period_ns.mean(), found.jitter_ns()), (Some(115), Some(15)));
}

#[test]
fn a_job_may_go_on_elsewhere() {
    let told = vec![
        (0, 1, release(None)),
        (2, 1, begin(1)),
        (10, 1, END),
        (13, 5, begin(1)),
        (20, 5, complete(None)),
        (20, 5, END),
    ];
    let found = figures(told, "a");
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
    assert_eq!((found.stretch_ns.count(), found.preemptions()), (2, None));
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

#[test]
fn a_release_that_two_processors_tell_of_is_one() {
    let told = vec![
        (0, 1, release(None)),
        (0, 5, release(None)),
        (2, 5, begin(1)),
        (4, 5, complete(None)),
        (4, 5, END),
        (10, 1, release(None)),
        (10, 5, release(None)),
    ];
    let found = figures(told, "a");
    assert_eq!((found.activations, found.open), (2, 1));
    assert_eq!((found.period_ns.mean(), found.response_ns.max()), (Some(10), Some(4)));
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
