use super::*;
use crate::fixture::{TimedActivity, analysed, begin, complete, message, release};
use kymo_model::timeline::{Activity, TimelineView, TrackId, Window};

const END: Activity<'static> = Activity::End;

fn exact_matcher(name: &'static str) -> Matcher {
    Box::new(move |text| text == name)
}

fn event_selector(stream: &'static str, text: &'static str) -> EventSelector {
    let name = format!("{text} of {stream}");
    EventSelector {
        name,
        stream: exact_matcher(stream),
        text: Some(Box::new(move |said| said.starts_with(text))),
    }
}

fn timeline() -> crate::fixture::Timeline {
    crate::fixture::Timeline(Vec::new())
}

/// Goes through what is told, in a window.
fn checked(told: Vec<TimedActivity>, window: Window, demand: Demand) -> Rules {
    let (tracks, clocks) = (timeline().tracks(), timeline().clocks());
    let of_track = |id: usize| window.includes_track(TrackId(id));
    let chosen = window.tracks.as_ref().map(|_| (0..tracks.len()).map(of_track).collect());
    let rule = Rule { name: "rule".to_owned(), demand };
    let mut rules = Rules::new((&tracks, &clocks), chosen, vec![rule]);
    analysed(told, window, &mut rules);
    rules
}

/// When each violation was, and what it says.
fn violations_in(
    told: Vec<TimedActivity>,
    window: Window,
    demand: Demand,
) -> Vec<(Option<i64>, String)> {
    let mut load = Load::new();
    let mut rules = checked(told.clone(), window.clone(), demand);
    let analysis = analysed(told, window, &mut load);
    let (found, more) = rules.violations(&load, analysis.tasks());
    assert_eq!(more, [0]);
    let ns = |ns: u64| format!("{ns} ns");
    found
        .into_iter()
        .map(|violation| (violation.time.map(|time| time.0), violation.message(ns)))
        .collect()
}

fn violations(told: Vec<TimedActivity>, demand: Demand) -> Vec<(Option<i64>, String)> {
    violations_in(told, Window::default(), demand)
}

fn time_window(from: i64, until: i64) -> Window {
    let (from, until) = (Some(TimeNs(from)), Some(TimeNs(until)));
    Window { from, until, ..Window::default() }
}

fn task() -> Demand {
    Demand::Task {
        task: exact_matcher("b"),
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
        (None, "b used 100.0% of a processor's time on cpu 0, more than 50.0%"),
    ];
    assert_eq!(violations(told, task()), expected.map(|(time, text)| (time, text.to_owned())));
    // Another task is not meant.
    assert_eq!(violations(vec![(0, 1, release(None)), (60, 1, complete(None))], task()), []);
}

#[test]
fn gaps_are_found_on_each_stream() {
    let told =
        vec![(0, 2, begin(1)), (10, 2, END), (21, 2, begin(1)), (25, 2, END), (25, 1, begin(1))];
    let demand = Demand::Gap { stream: exact_matcher("b"), gap_max: 10 };
    let expected = [(Some(21), "nothing came for 11 ns, more than 10 ns".to_owned())];
    assert_eq!(violations(told, demand), expected);
}

#[test]
fn what_does_not_follow_is_found_where_it_should_have() {
    let follows = || Demand::Follows {
        after: event_selector("a", "release"),
        expect: event_selector("b", "begin"),
        within: 10,
    };
    // In time; too late; never, and the recording ends.
    let told = vec![
        (0, 1, release(None)),
        (10, 2, begin(1)),
        (20, 1, release(None)),
        (30, 2, END),
        (31, 2, begin(1)),
        (40, 1, release(None)),
        (60, 2, END),
    ];
    let text = "no begin of b came within 10 ns".to_owned();
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
    let demand = Demand::Message { message: exact_matcher("M"), latency_max: 8 };
    assert_eq!(violations(told, demand), [(Some(9), "M took 9 ns, more than 8 ns".to_owned())]);
    let enter = |state: &'static str| Activity::Enter { state: state.into(), settled: None };
    let told = vec![
        (0, 6, enter("open")),
        (9, 6, enter("shut")),
        (30, 6, enter("open")),
        (50, 1, begin(1)),
    ];
    let demand =
        Demand::State { machine: exact_matcher("door"), state: exact_matcher("open"), stay_max: 8 };
    let expected = [
        (Some(9), "open lasted 9 ns, more than 8 ns".to_owned()),
        (Some(30), "open lasted 20 ns, more than 8 ns".to_owned()),
    ];
    assert_eq!(violations(told, demand), expected);
}

fn vacuous(told: Vec<TimedActivity>, demand: Demand) -> Option<(String, bool)> {
    let found = checked(told, Window::default(), demand).vacuous().pop();
    found.map(|vacuous_rule| (vacuous_rule.why, vacuous_rule.is_suspect))
}

#[test]
fn rules_about_nothing_are_told() {
    let told = || vec![(0, 2, release(None)), (1, 2, begin(1)), (5, 2, END)];
    let suspect = |why: &str| Some((why.to_owned(), true));
    let gap = |name| Demand::Gap { stream: exact_matcher(name), gap_max: 1 };
    assert_eq!(vacuous(told(), gap("x")), suspect("there is no such stream"));
    assert_eq!(vacuous(told(), gap("b")), None);
    let value =
        Demand::Value { stream: exact_matcher("b"), min: Some(Number::Float(5.0)), max: None };
    assert_eq!(vacuous(told(), value), suspect("its streams have no numbers"));
    let message = Demand::Message { message: exact_matcher("NOPE"), latency_max: 1 };
    assert_eq!(vacuous(told(), message), suspect("there is no such message"));
    let state = |machine| Demand::State {
        machine: exact_matcher(machine),
        state: exact_matcher("nosuch"),
        stay_max: 0,
    };
    assert_eq!(vacuous(told(), state("x")), suspect("there is no such state machine"));
    // What is forbidden may never happen.
    let never = Some(("such a state was never entered".to_owned(), false));
    assert_eq!(vacuous(told(), state("door")), never);
    let follows = |after, expect| Demand::Follows {
        after: event_selector(after, "release"),
        expect: event_selector(expect, "begin"),
        within: 1,
    };
    assert_eq!(vacuous(told(), follows("b", "x")), suspect("there is no stream of begin of x"));
    assert_eq!(
        vacuous(told(), follows("a", "b")),
        Some(("release of a never came".to_owned(), false))
    );
    assert_eq!(vacuous(told(), follows("b", "b")), None);
    let task = |name| Demand::Task {
        task: exact_matcher(name),
        response_max: Some(1),
        delay_max: None,
        run_max: None,
        on_time: false,
        load_max: None,
    };
    assert_eq!(vacuous(told(), task("x")), suspect("no task of it did anything"));
    assert_eq!(
        vacuous(vec![(1, 2, begin(1)), (5, 2, END)], task("b")),
        suspect("no job of its tasks is known")
    );
    assert_eq!(vacuous(told(), task("b")), None);
}

#[test]
fn what_never_happens_is_found_at_the_end() {
    // Released at 0 with a budget of 45, runs from 6 on, and is not complete at 100.
    let told = vec![(0, 2, release(Some(45))), (6, 2, begin(1)), (100, 2, END)];
    let expected = [
        (Some(0), "was not complete after 100 ns, more than 50 ns"),
        (Some(0), "was not complete and ran 94 ns, more than 40 ns"),
        (Some(0), "was not complete when its budget was over"),
        (Some(6), "waited 6 ns, more than 5 ns"),
        (None, "b used 100.0% of a processor's time on cpu 0, more than 50.0%"),
    ];
    assert_eq!(violations(told, task()), expected.map(|(time, text)| (time, text.to_owned())));
    // Released at 0 and never runs.
    let told = vec![(0, 2, release(None)), (40, 1, begin(1))];
    let expected = [(Some(0), "did not run for 40 ns, more than 5 ns".to_owned())];
    assert_eq!(violations(told, task()), expected);
    // A stream that comes late and then stops; one that never has anything.
    let told =
        || vec![(0, 1, begin(1)), (20, 1, END), (20, 2, begin(1)), (30, 2, END), (90, 1, begin(1))];
    let gap = |name| Demand::Gap { stream: exact_matcher(name), gap_max: 10 };
    let expected = [
        (Some(0), "nothing came for 20 ns, more than 10 ns".to_owned()),
        (Some(30), "nothing came any more for 60 ns, more than 10 ns".to_owned()),
    ];
    assert_eq!(violations(told(), gap("b")), expected);
    let expected = [(Some(0), "nothing came for 90 ns, more than 10 ns".to_owned())];
    assert_eq!(violations(told(), gap("door")), expected);
    // A message that does not arrive, and one that still may.
    let send = |time, name| (time, 1, Activity::Send(message(name, Some(2), None)));
    let told = vec![send(0, "PING"), send(95, "PING"), (100, 2, begin(1))];
    let demand = Demand::Message { message: exact_matcher("PING"), latency_max: 8 };
    assert_eq!(violations(told, demand), [(Some(0), "PING did not arrive within 8 ns".to_owned())]);
}

#[test]
fn what_goes_on_when_a_window_begins_counts_in_it() {
    // b runs 0–1000, and the door is open all the time; the window is 200–300.
    let enter = |state: &'static str| Activity::Enter { state: state.into(), settled: None };
    let told =
        || vec![(0, 2, begin(1)), (0, 6, enter("open")), (1000, 2, END), (1000, 6, enter("shut"))];
    let expected =
        [(None, "b used 100.0% of a processor's time on cpu 0, more than 50.0%".to_owned())];
    assert_eq!(violations_in(told(), time_window(200, 300), task()), expected);
    let demand = Demand::State {
        machine: exact_matcher("door"),
        state: exact_matcher("open"),
        stay_max: 99,
    };
    let expected = [(Some(200), "open lasted 100 ns, more than 99 ns".to_owned())];
    assert_eq!(violations_in(told(), time_window(200, 300), demand), expected);
}

#[test]
fn messages_of_too_many_pairs_are_said_and_are_messages_all_the_same() {
    let named = |name: String| kymo_model::timeline::Message {
        name: name.into(),
        peer: Some(TrackId(2)),
        peer_time: None,
    };
    // One more pair than is told apart, and its message takes five seconds.
    let mut told: Vec<TimedActivity> =
        (0..=1 << 16).map(|id| (id, 1, Activity::Send(named(format!("m{id}"))))).collect();
    let last = message("m65536", Some(1), None);
    told.push((5_000_000_000, 2, Activity::Receive(last)));
    let demand = Demand::Message { message: exact_matcher("m65536"), latency_max: 10 };
    let tracks = timeline().tracks();
    let rule = Rule { name: "rule".to_owned(), demand };
    let mut rules = Rules::new((&tracks, &[]), None, vec![rule]);
    let (_, short) = crate::fixture::analysed_with(told, Window::default(), &mut rules);
    assert_eq!(short.left_out.iter().map(|left| left.count).collect::<Vec<_>>(), [2]);
    assert_eq!(rules.vacuous(), []);
}

fn run_max(most: u64) -> Demand {
    Demand::Task {
        task: Box::new(|_| true),
        response_max: None,
        delay_max: None,
        run_max: Some(most),
        on_time: false,
        load_max: None,
    }
}

#[test]
fn a_job_that_is_never_complete_runs_too_long() {
    // Released at 0, runs 1–30, 40–60 and 70–100.
    let told = || {
        vec![
            (0, 2, release(None)),
            (1, 2, begin(1)),
            (30, 2, END),
            (40, 2, begin(1)),
            (60, 2, END),
            (70, 2, begin(1)),
            (100, 2, END),
        ]
    };
    let expected = |ran| [(Some(0), format!("was not complete and ran {ran} ns, more than 48 ns"))];
    assert_eq!(violations(told(), run_max(48)), expected(29 + 20 + 30));
    assert_eq!(violations(told(), run_max(79)), []);
    // Where its last stretch does not end, it lasts as long as the window.
    assert_eq!(violations_in(told(), time_window(0, 80), run_max(48)), expected(29 + 20 + 10));
}

#[test]
fn rules_are_about_what_is_chosen_to_the_end() {
    // Jobs of a and b are not complete, b sends what does not arrive and uses half of the time.
    let told = || {
        vec![
            (0, 1, release(None)),
            (0, 2, release(None)),
            (0, 1, begin(1)),
            (50, 1, END),
            (50, 2, begin(1)),
            (60, 2, Activity::Send(message("M", Some(1), None))),
            (100, 2, END),
        ]
    };
    let of_a = || Window { tracks: Some(vec![TrackId(1), TrackId(5)]), ..Window::default() };
    let any = || -> Matcher { Box::new(|_| true) };
    let ran = || (Some(0), "was not complete and ran 50 ns, more than 9 ns".to_owned());
    assert_eq!(violations_in(told(), of_a(), run_max(9)), [ran()]);
    assert_eq!(violations(told(), run_max(9)), [ran(), ran()]);
    let message = || Demand::Message { message: any(), latency_max: 9 };
    assert_eq!(violations_in(told(), of_a(), message()), []);
    assert_eq!(violations(told(), message()).len(), 1);
    let why = checked(told(), of_a(), message()).vacuous().pop().unwrap().why;
    assert_eq!(why, "there is no such message");
    let load = || Demand::Task {
        task: any(),
        response_max: None,
        delay_max: None,
        run_max: None,
        on_time: false,
        load_max: Some(0.1),
    };
    let item =
        |name| (None, format!("{name} used 50.0% of a processor's time on cpu 0, more than 10.0%"));
    assert_eq!(violations_in(told(), of_a(), load()), [item("a")]);
    assert_eq!(violations(told(), load()), [item("a"), item("b")]);
    // What must follow on streams that are not chosen cannot be waited for.
    let follows = || Demand::Follows {
        after: event_selector("a", "begin"),
        expect: event_selector("b", "begin"),
        within: 10,
    };
    assert_eq!(violations(told(), follows()).len(), 1);
    assert_eq!(violations_in(told(), of_a(), follows()), []);
    let why = checked(told(), of_a(), follows()).vacuous().pop().unwrap().why;
    assert_eq!(why, "streams of begin of b are not chosen");
    let gap = Demand::Gap { stream: exact_matcher("b"), gap_max: 1 };
    let why = checked(told(), of_a(), gap).vacuous().pop().unwrap().why;
    assert_eq!(why, "there is no such stream");
}

#[test]
fn messages_that_tell_when_they_arrive_are_looked_at_once() {
    let send = |time, arrives| (time, 1, Activity::Send(message("M", Some(2), Some(arrives))));
    let receive = |time, left| (time, 2, Activity::Receive(message("M", Some(1), Some(left))));
    // The first is in time. The second is late, as both its ends say. The third is, as its receiver
    // says.
    let told = || {
        vec![
            send(0, 5),
            send(10, 20),
            receive(20, 10),
            send(30, 35),
            receive(50, 30),
            (90, 1, begin(1)),
        ]
    };
    let demand = || Demand::Message { message: exact_matcher("M"), latency_max: 8 };
    let expected = [
        (Some(10), "M took 10 ns, more than 8 ns".to_owned()),
        (Some(50), "M took 20 ns, more than 8 ns".to_owned()),
    ];
    assert_eq!(violations(told(), demand()), expected);
    // Where only the receiver is chosen, it tells of both.
    let of_b = Window { tracks: Some(vec![TrackId(2)]), ..Window::default() };
    let expected = [
        (Some(20), "M took 10 ns, more than 8 ns".to_owned()),
        (Some(50), "M took 20 ns, more than 8 ns".to_owned()),
    ];
    assert_eq!(violations_in(told(), of_b, demand()), expected);
    assert_eq!(
        checked(told(), Window::default(), demand()).latency_caveats(),
        LatencyCaveats::default()
    );
}

#[test]
fn a_message_that_left_before_a_window_took_as_long_as_it_did() {
    let told = vec![
        (0, 1, Activity::Send(message("M", Some(2), None))),
        (10, 1, Activity::Send(message("M", Some(2), None))),
        (15, 2, Activity::Receive(message("M", Some(1), None))),
        (25, 2, Activity::Receive(message("M", Some(1), None))),
        // It left before the window and does not arrive: that is not of the window.
        (26, 1, Activity::Send(message("N", Some(2), None))),
        (90, 1, begin(1)),
    ];
    let demand = Demand::Message { message: Box::new(|_| true), latency_max: 14 };
    let expected = [(Some(25), "M took 15 ns, more than 14 ns".to_owned())];
    assert_eq!(violations_in(told.clone(), time_window(20, 26), demand), expected);
    let demand = Demand::Message { message: exact_matcher("N"), latency_max: 14 };
    assert_eq!(violations_in(told, time_window(50, 80), demand), []);
}

#[test]
fn what_follows_is_on_a_clock_that_can_be_compared() {
    let follows = |within| Demand::Follows {
        after: event_selector("a", "begin"),
        expect: event_selector("b", "begin"),
        within,
    };
    // What came before does not follow, though it is told of later.
    let told = vec![(50, 1, begin(1)), (40, 2, begin(1)), (90, 3, begin(1))];
    let mut rules = checked_unbalanced(told, follows(20), None);
    let (found, _) = rules.violations(&Load::new(), &Tasks::default());
    assert_eq!(found.len(), 1);
    // On clocks with beginnings of their own nothing follows anything; on dated ones it does.
    for (since_epoch, count, why) in [
        (
            false,
            0,
            Some("streams of begin of b are on other clocks, whose times cannot be compared"),
        ),
        (true, 1, None),
    ] {
        let told = vec![(50, 1, begin(1)), (90, 2, begin(1))];
        let mut rules = checked_unbalanced(told, follows(20), Some(since_epoch));
        let found = rules.vacuous().pop().map(|vacuous_rule| vacuous_rule.why);
        assert_eq!(found.as_deref(), why);
        assert_eq!(rules.violations(&Load::new(), &Tasks::default()).0.len(), count);
    }
}

/// Goes through what is told, whatever fits; tracks named b may be on a clock of their own.
fn checked_unbalanced(told: Vec<TimedActivity>, demand: Demand, own_clock: Option<bool>) -> Rules {
    let (mut tracks, mut clocks) = (timeline().tracks().to_vec(), timeline().clocks());
    if let Some(since_epoch) = own_clock {
        clocks.push(clocks[0].clone());
        for clock in &mut clocks {
            clock.since_epoch = since_epoch;
        }
        let of_b = tracks.iter_mut().filter(|track| track.name == "b");
        of_b.for_each(|track| track.clock = Some(kymo_model::timeline::ClockId(1)));
    }
    let rule = Rule { name: "rule".to_owned(), demand };
    let mut rules = Rules::new((&tracks, &clocks), None, vec![rule]);
    crate::fixture::analysed_with(told, Window::default(), &mut rules);
    rules
}

#[test]
fn what_tells_when_it_arrives_is_no_reason_for_doubt() {
    // The first arrives at 7, as its sender says; the second does not say when it left.
    let told = vec![
        (0, 1, Activity::Send(message("M", Some(2), Some(7)))),
        (10, 1, Activity::Send(message("M", Some(2), None))),
        (15, 2, Activity::Receive(message("M", Some(1), None))),
        (100, 1, begin(1)),
    ];
    let demand = Demand::Message { message: exact_matcher("M"), latency_max: 1000 };
    assert_eq!(
        checked(told, Window::default(), demand).latency_caveats(),
        LatencyCaveats::default()
    );
}

#[test]
fn what_arrives_before_it_left_is_doubtful_and_breaks_no_rule() {
    let told = || {
        vec![
            (20, 1, Activity::Send(message("M", Some(2), Some(15)))),
            (30, 1, Activity::Send(message("M", Some(2), None))),
            (25, 2, Activity::Receive(message("M", Some(1), Some(30)))),
        ]
    };
    let demand = || Demand::Message { message: exact_matcher("M"), latency_max: 0 };
    assert_eq!(violations(told(), demand()), []);
    let doubts = checked(told(), Window::default(), demand()).latency_caveats();
    assert_eq!(doubts, LatencyCaveats { backwards: 2, ..LatencyCaveats::default() });
}

#[test]
fn jobs_that_were_released_before_a_window_break_no_rule() {
    // Released at 0 with a budget of 60, runs from 5 on and is complete at 90, 30 too late.
    let told = || {
        vec![
            (0, 2, release(Some(60))),
            (5, 2, begin(1)),
            (90, 2, complete(Some(-30))),
            (90, 2, END),
            (200, 1, begin(1)),
        ]
    };
    let demand = || Demand::Task {
        task: exact_matcher("b"),
        response_max: None,
        delay_max: None,
        run_max: Some(40),
        on_time: true,
        load_max: None,
    };
    let expected = [
        (Some(90), "ran 85 ns, more than 40 ns".to_owned()),
        (Some(90), "was later than its budget".to_owned()),
    ];
    assert_eq!(violations(told(), demand()), expected);
    assert_eq!(violations_in(told(), time_window(20, 150), demand()), []);
    let why = checked(told(), time_window(20, 150), demand()).vacuous().pop().unwrap().why;
    assert_eq!(why, "no job of its tasks is known");
}

#[test]
fn a_job_with_a_stretch_of_which_the_begin_is_missing_ran_for_at_least_the_rest() {
    // Task a runs on the processor, b stops at 50 all the same, and runs 60–80.
    let told = vec![
        (0, 1, begin(1)),
        (0, 2, release(None)),
        (50, 2, END),
        (60, 2, begin(1)),
        (80, 2, complete(None)),
        (80, 2, END),
    ];
    let mut rules = checked_unbalanced(told, run_max(15), None);
    let (found, _) = rules.violations(&Load::new(), &Tasks::default());
    let found: Vec<_> =
        found.iter().map(|violation| violation.message(|ns| ns.to_string())).collect();
    assert_eq!(found, ["ran at least 20, more than 15"]);
}

/// Which parts of a rule nothing is about, and why.
fn idle_parts(told: Vec<TimedActivity>, demand: Demand) -> Vec<(Option<String>, String)> {
    let mut load = Load::new();
    let mut rules = checked(told.clone(), Window::default(), demand);
    let analysis = analysed(told, Window::default(), &mut load);
    drop(rules.violations(&load, analysis.tasks()));
    rules.vacuous().into_iter().map(|vacuous_rule| (vacuous_rule.part, vacuous_rule.why)).collect()
}

/// Released at 0, runs 1–5 and is complete; another task runs until 100.
fn job_of_b(budget_ns: Option<i64>, remaining_ns: Option<i64>) -> Vec<TimedActivity> {
    vec![
        (0, 2, release(budget_ns)),
        (1, 2, begin(1)),
        (5, 2, complete(remaining_ns)),
        (5, 2, END),
        (5, 3, begin(1)),
        (100, 3, END),
    ]
}

#[test]
fn budgets_that_no_job_has_are_said() {
    let demand = |response_max| Demand::Task {
        task: exact_matcher("b"),
        response_max,
        delay_max: None,
        run_max: None,
        on_time: true,
        load_max: None,
    };
    let why = "no job of its tasks is known to have a budget".to_owned();
    assert_eq!(idle_parts(job_of_b(None, None), demand(None)), [(None, why.clone())]);
    let part = Some("on_time".to_owned());
    assert_eq!(idle_parts(job_of_b(None, None), demand(Some(50))), [(part, why)]);
    // It has one, or says what remains of it; or its time was over before it was complete.
    assert_eq!(idle_parts(job_of_b(Some(9), None), demand(None)), []);
    assert_eq!(idle_parts(job_of_b(None, Some(4)), demand(None)), []);
    let open = |budget| vec![(0, 2, release(Some(budget))), (1, 2, begin(1)), (100, 2, END)];
    assert_eq!(idle_parts(open(99), demand(None)), []);
    // Its time is not over yet: nobody knows whether it will be in time.
    let why = "no job of its tasks that has a budget is complete".to_owned();
    assert_eq!(idle_parts(open(101), demand(None)), [(None, why)]);
}

#[test]
fn responses_are_of_jobs_that_are_complete_or_took_too_long_already() {
    // Released at 0 and again at 50, and never complete until 100.
    let told = || {
        vec![
            (0, 2, release(None)),
            (1, 2, begin(1)),
            (5, 2, END),
            (50, 2, release(None)),
            (51, 2, begin(1)),
            (55, 2, END),
            (55, 3, begin(1)),
            (100, 3, END),
        ]
    };
    let demand = |most| Demand::Task {
        task: exact_matcher("b"),
        response_max: Some(most),
        delay_max: Some(1),
        run_max: None,
        on_time: false,
        load_max: None,
    };
    let expected = [(Some(50), "was not complete after 50 ns, more than 49 ns".to_owned())];
    assert_eq!(violations(told(), demand(49)), expected);
    assert_eq!(idle_parts(told(), demand(49)), []);
    assert_eq!(violations(told(), demand(50)), []);
    let why = "no job of its tasks was seen from its release to its completion".to_owned();
    assert_eq!(idle_parts(told(), demand(50)), [(Some("response_max".to_owned()), why)]);
}

#[test]
fn what_is_not_known_of_jobs_is_said_once_for_each_reason() {
    // It is released and complete, and nothing tells when it ran.
    let told = vec![(0, 2, release(None)), (5, 2, complete(None)), (9, 3, begin(1))];
    let expected = [
        ("delay_max", "no job of its tasks was seen from its release to when it ran"),
        ("run_max", "of no job of its tasks that is complete it is known how long it ran"),
        ("on_time", "no job of its tasks is known to have a budget"),
        ("load_max", "none of its tasks is known to have run"),
    ];
    let expected = expected.map(|(part, why)| (Some(part.to_owned()), why.to_owned()));
    assert_eq!(idle_parts(told, task()), expected);
    // It runs, and no job is known.
    let told = vec![(1, 2, begin(1)), (5, 2, END), (9, 3, begin(1))];
    let part = "response_max and delay_max and run_max and on_time".to_owned();
    assert_eq!(idle_parts(told, task()), [(Some(part), "no job of its tasks is known".to_owned())]);
}

/// Task a runs 0–30 on cpu 0 and 30–60 on cpu 1, which has nothing else to do; b runs on cpu 0
/// until 100.
fn moving() -> Vec<TimedActivity> {
    vec![
        (0, 1, begin(1)),
        (30, 1, END),
        (30, 2, begin(1)),
        (30, 5, begin(1)),
        (60, 5, END),
        (100, 2, END),
    ]
}

#[test]
fn loads_are_of_all_processors_together() {
    let demand = |name, most| Demand::Task {
        task: exact_matcher(name),
        response_max: None,
        delay_max: None,
        run_max: None,
        on_time: false,
        load_max: Some(most),
    };
    // 30% on each, though it is all that ran on cpu 1.
    let of_a = "a used 60.0% of a processor's time on 2 processors together, more than 50.0%";
    assert_eq!(violations(moving(), demand("a", 0.5)), [(None, of_a.to_owned())]);
    assert_eq!(violations(moving(), demand("a", 0.6)), []);
    let of_b = "b used 70.0% of a processor's time on cpu 0, more than 50.0%";
    assert_eq!(violations(moving(), demand("b", 0.5)), [(None, of_b.to_owned())]);
}

#[test]
fn gaps_of_a_task_are_between_its_events_wherever_it_runs() {
    let gap = |gap_max| Demand::Gap { stream: exact_matcher("a"), gap_max };
    // Nothing comes between 0 and 30, and between 30 and 60; nothing after 60.
    assert_eq!(violations(moving(), gap(40)), []);
    let end = "nothing came any more for 40 ns, more than 30 ns".to_owned();
    assert_eq!(violations(moving(), gap(30)), [(Some(60), end)]);
    let text = |what: &str, ns| format!("nothing came {what} {ns} ns, more than 29 ns");
    let expected = [
        (Some(30), text("for", 30)),
        (Some(60), text("for", 30)),
        (Some(60), text("any more for", 40)),
    ];
    assert_eq!(violations(moving(), gap(29)), expected);
}

#[test]
fn what_follows_may_come_on_any_processor() {
    // A stretch of a ends on cpu 0, and the next begins on cpu 1 in time.
    let follows = |within| Demand::Follows {
        after: event_selector("a", "end"),
        expect: event_selector("a", "begin"),
        within,
    };
    let told = || {
        let mut told = moving();
        told[3].0 = 35;
        told
    };
    let last = (Some(60), "no begin of a came within 5 ns".to_owned());
    assert_eq!(violations(told(), follows(5)), [last]);
    let expected = [30, 60].map(|at| (Some(at), "no begin of a came within 4 ns".to_owned()));
    assert_eq!(violations(told(), follows(4)), expected);
}
