use super::*;
use crate::fixture::{Told, analysed, begin, complete, message, release};
use kymo_core::model::timeline::Window;

const END: Activity<'static> = Activity::End;

fn is(name: &'static str) -> Matcher {
    Box::new(move |text| text == name)
}

fn meant(stream: &'static str, text: &'static str) -> Meant {
    Meant { stream: is(stream), text: Some(Box::new(move |said| said.starts_with(text))) }
}

/// When each violation was, and what it says.
fn violations(told: Vec<Told>, demand: Demand) -> Vec<(Option<i64>, String)> {
    use kymo_core::model::timeline::TimelineView;
    let tracks = crate::fixture::Timeline(Vec::new()).tracks();
    let mut rules = Rules::new(&tracks, vec![Rule { name: "rule".to_owned(), demand }]);
    let mut load = Load::new();
    analysed(told.clone(), Window::default(), &mut rules);
    let analysis = analysed(told, Window::default(), &mut load);
    let (found, more) = rules.finish(&load, analysis.tasks());
    assert_eq!(more, 0);
    found.into_iter().map(|of| (of.time.map(|time| time.0), of.message)).collect()
}

fn task() -> Demand {
    Demand::Task {
        task: is("b"),
        response_max: Some(50),
        delay_max: Some(5),
        run_max: Some(40),
        on_time: true,
        load_max: Some(0.5),
    }
}

#[test]
fn jobs_that_are_slow_are_found() {
    let told =
        vec![(0, 2, release(Some(45))), (6, 2, begin(1)), (51, 2, complete(None)), (60, 2, END)];
    let expected = [
        (Some(6), "waited 6 ns, more than 5 ns"),
        (Some(51), "answered after 51 ns, more than 50 ns"),
        (Some(51), "ran 45 ns, more than 40 ns"),
        (Some(51), "was later than its budget"),
        (None, "b used 100.0% of cpu 0, more than 50.0%"),
    ];
    assert_eq!(violations(told, task()), expected.map(|(time, text)| (time, text.to_owned())));
    // Another task is not meant.
    assert_eq!(violations(vec![(0, 1, release(None)), (60, 1, complete(None))], task()), []);
}

#[test]
fn gaps_are_found_on_each_stream() {
    let told = vec![(0, 2, begin(1)), (10, 2, END), (25, 1, begin(1)), (21, 2, begin(1))];
    let demand = Demand::Gap { stream: is("b"), gap_max: 10 };
    let expected = [(Some(21), "nothing came for 11 ns, more than 10 ns".to_owned())];
    assert_eq!(violations(told, demand), expected);
}

#[test]
fn what_does_not_follow_is_found_where_it_should_have() {
    let follows = || Demand::Follows {
        after: meant("a", "release"),
        expect: meant("b", "begin"),
        within: 10,
    };
    // In time; too late; never, and the recording ends.
    let told = vec![
        (0, 1, release(None)),
        (10, 2, begin(1)),
        (20, 1, release(None)),
        (31, 2, begin(1)),
        (40, 1, release(None)),
        (60, 2, END),
    ];
    let text = "nothing that is expected came within 10 ns".to_owned();
    assert_eq!(violations(told, follows()), [(Some(20), text.clone()), (Some(40), text)]);
    // The recording ends before the time is over.
    assert_eq!(violations(vec![(0, 1, release(None)), (9, 2, END)], follows()), []);
}

#[test]
fn messages_and_states_that_take_long_are_found() {
    let told = vec![
        (0, 1, Activity::Send(message("M", Some(2), None))),
        (9, 2, Activity::Receive(message("M", Some(1), None))),
    ];
    let demand = Demand::Message { message: is("M"), latency_max: 8 };
    assert_eq!(violations(told, demand), [(Some(9), "M took 9 ns, more than 8 ns".to_owned())]);
    let enter = |state: &'static str| Activity::Enter { state: state.into(), settled: None };
    let told =
        vec![(0, 6, enter("open")), (9, 6, enter("shut")), (30, 6, enter("open")), (50, 1, END)];
    let demand = Demand::State { machine: is("door"), state: is("open"), stay_max: 8 };
    let expected = [
        (Some(9), "open lasted 9 ns, more than 8 ns".to_owned()),
        (Some(30), "open lasted 20 ns, more than 8 ns".to_owned()),
    ];
    assert_eq!(violations(told, demand), expected);
}

#[test]
fn rules_about_nothing_are_told() {
    let tracks = Vec::new();
    let rule = Rule { name: "gap".to_owned(), demand: Demand::Gap { stream: is("x"), gap_max: 1 } };
    assert_eq!(Rules::new(&tracks, vec![rule]).idle(), [0]);
}
