//! Windows that adjoin add up to the whole, whatever is told.

use std::collections::BTreeMap;

use kymo_model::timeline::{Activity, TimeNs, Window};
use proptest::prelude::*;

use crate::fixture::{TimedActivity, analysed_with, begin, message, named};
use crate::{CpuLoad, History, Load, Messages, TaskRun, Tasks};

/// The windows between some cuts.
fn windows(cuts: &[i64]) -> Vec<Window> {
    let mut cuts: Vec<_> = cuts.iter().map(|cut| Some(TimeNs(*cut))).collect();
    cuts.sort_unstable();
    let froms = std::iter::once(None).chain(cuts.iter().copied());
    let untils = cuts.iter().copied().chain([None]);
    let window = |(from, until)| Window { from, until, ..Window::default() };
    froms
        .zip(untils)
        .map(window)
        .filter(|window| window.from != window.until || cuts.is_empty())
        .collect()
}

/// Durations for each running task and processor: its run, unknown time, and the time for which the
/// processor was looked at. Also the time that interrupts took of that and besides, and time that
/// was not known at all. The same of all processors together.
type Ran = BTreeMap<(usize, String), u64>;

fn loads(told: &[TimedActivity], windows: &[Window]) -> Ran {
    let mut ran = Ran::new();
    for window in windows {
        let mut load = Load::new();
        let (analysis, _) = analysed_with(told.to_vec(), window.clone(), &mut load);
        let tasks = analysis.tasks();
        let cpus = load.cpus(tasks);
        for cpu in &cpus {
            add(&mut ran, cpu.cpu.0, cpu, tasks);
        }
        if let Some(all) = CpuLoad::together(&cpus, tasks) {
            add(&mut ran, usize::MAX, &all, tasks);
        }
    }
    ran.retain(|_, ns| *ns > 0);
    ran
}

fn add(ran: &mut Ran, place: usize, cpu: &CpuLoad, tasks: &Tasks) {
    let mut add = |what: &str, ns| *ran.entry((place, what.to_owned())).or_default() += ns;
    add("(span)", cpu.span_ns());
    add("(unknown)", cpu.unknown.ns);
    add("(unseen)", cpu.unseen_ns);
    if let Some(interrupts) = &cpu.interrupts {
        add("(interrupts)", interrupts.run_ns);
        add("(interrupts outside)", interrupts.outside_ns);
    }
    for task_load in &cpu.tasks {
        add(tasks.name(task_load.task), task_load.run_ns);
    }
}

fn turns(told: &[TimedActivity], windows: &[Window]) -> Ran {
    let mut ran = Ran::new();
    for window in windows {
        let mut keep = |turn: TaskRun, tasks: &Tasks| {
            let key = (turn.stretch.cpu.0, tasks.name(turn.stretch.task).to_owned());
            *ran.entry(key).or_default() += turn.run_ns.unwrap_or(0);
        };
        analysed_with(told.to_vec(), window.clone(), &mut History::new(&mut keep));
    }
    ran.retain(|_, ns| *ns > 0);
    ran
}

/// Counts the messages that left, that arrived, and that took a time that is known.
fn messages(told: &[TimedActivity], windows: &[Window]) -> [u64; 3] {
    let mut all = [0; 3];
    for window in windows {
        let mut messages = Messages::new();
        analysed_with(told.to_vec(), window.clone(), &mut messages);
        for (_, pair) in messages.pairs() {
            let counts = [pair.sent, pair.received, pair.latency_ns.count()];
            all.iter_mut().zip(counts).for_each(|(all, count)| *all += count);
        }
    }
    all
}

/// Tasks begin and stop as it comes, so that switches may be missing, and so do interrupts (track 0);
/// tracks 1, 2 and 3 are of the same processor, 5 is of another, 9 and 10 of none, and 6 is a machine
/// that goes on for longer.
fn switches() -> impl Strategy<Value = Vec<TimedActivity>> {
    let tracks = vec![0, 0, 0, 1, 2, 3, 5, 6, 9, 10];
    let one = (0..4_i64, prop::sample::select(tracks), any::<bool>());
    prop::collection::vec(one, 1..24).prop_map(|steps| {
        let mut time = 0;
        let told = steps.into_iter().map(|(step, track, is_begin)| {
            time += step;
            let enter = || Activity::Enter { state: "on".into(), settled: None };
            let what = match (track, is_begin) {
                (6, _) => enter(),
                (0, true) if step > 2 => named("tick"),
                (0, true) => named("disk"),
                (_, true) => begin(1),
                (_, false) => Activity::End,
            };
            (time, track, what)
        });
        told.collect()
    })
}

/// Messages from one task to another. Each end tells the time of the other or not, and some are told
/// of by one end only.
fn sent() -> impl Strategy<Value = Vec<TimedActivity>> {
    let one = (0..20_i64, 0..10_i64, any::<[bool; 4]>());
    prop::collection::vec(one, 1..16).prop_map(|all| {
        let mut told = Vec::new();
        for (left, took, [sends, receives, says_arrival, says_left]) in all {
            let arrival = says_arrival.then_some(left + took);
            let send = Activity::Send(message("M", Some(1), arrival));
            let receive = Activity::Receive(message("M", Some(2), says_left.then_some(left)));
            told.extend(sends.then_some((left, 2, send)));
            told.extend(receives.then_some((left + took, 1, receive)));
        }
        told.sort_by_key(|(time, ..)| *time);
        told
    })
}

proptest! {
    #[test]
    fn what_ran_in_windows_that_adjoin_is_what_ran(
        told in switches(),
        cuts in prop::collection::vec(-2..60_i64, 0..5),
    ) {
        let (whole, parts) = (&[Window::default()], windows(&cuts));
        prop_assert_eq!(loads(&told, whole), loads(&told, &parts));
        prop_assert_eq!(turns(&told, whole), turns(&told, &parts));
    }

    #[test]
    fn what_arrived_in_windows_that_adjoin_is_what_arrived(
        told in sent(),
        cuts in prop::collection::vec(-2..32_i64, 0..5),
    ) {
        let (whole, parts) = (&[Window::default()], windows(&cuts));
        prop_assert_eq!(messages(&told, whole), messages(&told, &parts));
    }
}
