//! The timeline of a file.

use crate::support::shown::{all, dataset, extracted, lines, sample, timeline, written};
use crate::support::{Bytes, Hand, event, log_file, task_switch, type_of};
use kymo_bbbin::{Bbbin, Reader};
use kymo_core::bytes::Limits;
use kymo_core::{Context, Destination, Source};
use kymo_model::timeline::{Activity, ClockId, Content, TimeNs, Track, TrackId, TrackKind, Window};
use kymo_model::{ExtractRequest, Format};

#[test]
fn every_class_is_on_the_track_it_is_about() {
    let expected = [
        "10 control: release, budget 60 ns",
        "20 interrupt 3: end",
        "20 control: begin, priority 9",
        "30 küche.log: begin main",
        "40 control: send Grüße",
        "50 küche.log: send OPEN",
        "60 door: receive OPEN",
        "60 door: enter ajar",
        "70 control: end",
        "70 logger: begin, priority 3",
        "80 logger: receive Grüße",
        "90 control: complete, -20 ns left",
        "100 küche.log: end main",
        "110 küche.log: GENERIC",
    ];
    assert_eq!(all(&sample("classes.bin")), expected);
}

#[test]
fn tracks_lie_under_their_log_file_and_know_their_recording() {
    let tracks = timeline(&sample("two_logs.bin")).tracks();
    let shown = |track: &kymo_model::timeline::Track| {
        (track.name.clone(), track.kind.name(), track.recording, track.parent.map(|id| id.0))
    };
    let shown: Vec<_> = tracks.iter().map(shown).collect();
    let expected = [
        ("cpu0.log", "calls", 0, None),
        ("cpu1.log", "calls", 1, None),
        ("idle0", "task", 0, Some(0)),
        ("pump", "task", 0, Some(0)),
        ("idle1", "task", 1, Some(1)),
        ("valve", "task", 1, Some(1)),
        // Nothing declares them.
        ("interrupt 1", "task", 0, Some(0)),
        ("interrupt 1", "task", 1, Some(1)),
    ];
    let expected = expected.map(|(name, kind, log, under)| (name.to_owned(), kind, log, under));
    assert_eq!(shown, expected);
}

#[test]
fn numbers_among_values_are_counters() {
    let source = sample("types.bin");
    let view = timeline(&source);
    let tracks = view.tracks();
    let place = |name: &str| TrackId(tracks.iter().position(|track| track.name == name).unwrap());
    let window = |name| Window { tracks: Some(vec![place(name)]), ..Window::default() };
    assert_eq!(lines(&view, &window("One.uint16")), ["1 One.uint16: 60000", "3 One.uint16: 60000"]);
    assert_eq!(lines(&view, &window("One")).len(), 2);
    assert_eq!(lines(&view, &window("Two")).len(), 1);
    assert!(tracks.iter().all(|track| track.name != "Two.uint16"), "an array is no counter");
}

#[test]
fn windows_have_what_the_whole_has_there() {
    let source = sample("blocks.bin");
    let view = timeline(&source);
    let whole = all(&source);
    // Each switch ends one stretch and begins another.
    assert_eq!(whole.len(), 2200);
    let window =
        Window { from: Some(TimeNs(998_000)), until: Some(TimeNs(1_003_000)), ..Window::default() };
    assert_eq!(lines(&view, &window), whole[2 * 998..2 * 1003]);
    for last in [0, 1, 150, 201, 2199, 5000] {
        let window = Window { last: Some(last), ..Window::default() };
        let from = whole.len().saturating_sub(usize::try_from(last).unwrap());
        assert_eq!(lines(&view, &window), whole[from..], "the last {last}");
    }
    let range = view.range(ClockId(0)).unwrap().unwrap();
    assert_eq!((range.start().0, range.end().0), (0, 1_099_000));
}

/// A range of time is found through the index: every byte outside of the header, the definitions,
/// the index, the blocks of that range and those beside it is overwritten, and nothing else comes
/// out.
#[test]
fn a_range_of_time_touches_its_blocks_and_nothing_else_of_the_events() {
    let events: Vec<_> = (0..100_000).map(|n| task_switch(0, n * 10, 1, 2)).collect();
    let mut hand = Hand { log_files: vec![log_file(0, b"a.log")], events, ..Hand::default() };
    hand.statistics = [0, 999_990, 100_000];
    let file = hand.file();
    let window =
        Window { from: Some(TimeNs(500_000)), until: Some(TimeNs(500_100)), ..Window::default() };
    let open =
        |bytes: Vec<u8>| Reader::open(&Source::from_bytes("", bytes), &Context::default()).unwrap();
    let whole = open(file.clone());
    let expected: Vec<_> = whole.events_in_window(&window).map(|found| found.offset).collect();
    assert_eq!(expected.len(), 10);
    let mut poisoned = file;
    for block in whole.blocks() {
        let is_in = block.first_timestamp <= 510_000 && block.last_timestamp >= 490_000;
        let start = usize::try_from(block.first_event_offset).unwrap();
        let end = start + usize::try_from(block.total_event_size).unwrap();
        if !is_in {
            poisoned[start..end].fill(0xEE);
        }
    }
    let reader = open(poisoned);
    let found: Vec<_> = reader.events_in_window(&window).map(|found| found.offset).collect();
    assert_eq!(found, expected);
    assert_eq!(reader.findings(), []);
    // The events are damaged: going through all of them says so.
    assert_eq!(reader.events().count(), 3000);
    assert_eq!(reader.findings().len(), 97);
}

#[test]
fn an_event_of_no_log_file_is_said_to_be_on_no_track() {
    let stray = Bytes::new().i32(1).i64(3).i32(9).i32(0).i32(0);
    let hand = Hand {
        log_files: vec![log_file(0, b"a.log")],
        types: vec![type_of(1, 0, 1, 0)],
        events: vec![(3, stray)],
        ..Hand::default()
    };
    let source = Source::from_bytes("", hand.file());
    let dataset = Bbbin.open(&source, &Context::with_limits(Limits::default())).unwrap();
    assert_eq!(lines(&dataset.timeline().unwrap(), &Window::default()), [""; 0]);
    assert_eq!(dataset.findings()[0].rule, "unknown-log-file");
}

/// However many events there are of it, a log file that is not there is said once.
#[test]
fn very_many_events_of_no_log_file_are_one_finding() {
    let events = (0..20_000).map(|n| task_switch(7, n, 1, 2)).collect();
    let hand = Hand { log_files: vec![log_file(0, b"a.log")], events, ..Hand::default() };
    let dataset = dataset(&Source::from_bytes("", hand.file()));
    assert_eq!(lines(&dataset.timeline().unwrap(), &Window::default()), [""; 0]);
    let found: Vec<_> = dataset.findings().iter().map(|it| (it.rule, it.offset)).collect();
    // 64 of the header, 8 + 34 of LOG FILES, 8 of CUSTOM TYPES, 8 of EVENTS.
    assert_eq!(found, [("unknown-log-file", Some(122))]);
}

/// Machine 9 has the states run (1) and stop (2), and in that another run (3).
#[test]
fn states_of_one_name_are_told_apart_and_come_back() {
    let artifact = |class: i32, id: i32, name: &[u8], parent: Option<i32>| {
        let bytes = Bytes::new().i32(class).i32(id).string(name).i32(0);
        parent.into_iter().fold(bytes, Bytes::i32).i32(0).i32(0)
    };
    let enters = |time: i64, state: i32| {
        let message = event(8, time).i32(777).i32(9).i64(-1).string(b"go");
        (time, message.i32(state).i64(-1).i32(0).i32(0))
    };
    let hand = Hand {
        log_files: vec![log_file(0, b"a.log")],
        artifacts: vec![
            artifact(3, 9, b"m", None),
            artifact(4, 1, b"run", Some(9)),
            artifact(4, 2, b"stop", Some(9)),
            artifact(4, 3, b"run", Some(2)),
        ],
        events: vec![enters(0, 1), enters(10, 3), enters(30, 2)],
        ..Hand::default()
    };
    let source = Source::from_bytes("", hand.file());
    let entered = |source: &Source| {
        all(source).into_iter().filter(|line| line.contains("enter")).collect::<Vec<_>>()
    };
    let expected = ["0 m: enter run", "10 m: enter stop.run", "30 m: enter stop"];
    assert_eq!(entered(&source), expected);
    assert!(
        timeline(&source).unsupported().unwrap().iter().all(|finding| finding.rule != "states")
    );
    let write = |to: &Destination| {
        Bbbin.write_timeline(timeline(&source), to, &Context::default()).unwrap()
    };
    let (_, again) = written(write);
    assert_eq!(entered(&again), expected);
    let reader = Reader::open(&again, &Context::default()).unwrap();
    let names: Vec<_> =
        reader.artifacts().map(|declared_artifact| declared_artifact.name.to_string()).collect();
    assert_eq!(names, ["m", "run", "stop", "run"]);
}

/// Types that are called as ours are, and are not: a user's `call` with another field type, and one
/// of the same fields whose event is no call.
#[test]
fn types_that_are_called_as_ours_keep_their_events() {
    let named = |id: i32, name: &[u8], field: &[u8], this_value: i32| {
        let fields = Bytes::new().string(field).i32(this_value).i32(0);
        Bytes::new().i32(id).string(name).i32(0).string(&fields.0)
    };
    let value =
        |time, id: i32, value: i32| (time, event(1, time).i32(id).string(&value.to_be_bytes()));
    let hand = Hand {
        log_files: vec![log_file(0, b"a.log")],
        types: vec![
            named(1, b"call", b"thread", 5),
            named(2, b"call", b"thread", 13),
            named(3, b"release", b"by_cpu", 5),
            named(4, b"task", b"is_idle", 5),
        ],
        events: vec![value(10, 1, 7), value(20, 2, 8), value(30, 3, 0), value(40, 4, 9)],
        ..Hand::default()
    };
    let expected = [
        "10 call: {\"thread\":7}",
        "10 call.thread: 7",
        "20 a.log: {\"thread\":8}",
        "30 a.log: {\"by_cpu\":0}",
        "40 task: {\"is_idle\":9}",
        "40 task.is_idle: 9",
    ];
    assert_eq!(all(&Source::from_bytes("", hand.file())), expected);
}

/// Types without fields tell by their names; an event whose values are missing is there too.
#[test]
fn events_without_values_are_told_by_the_names_of_their_types() {
    let named = |id: i32, name: &[u8], fields: &Bytes| {
        Bytes::new().i32(id).string(name).i32(0).string(&fields.0)
    };
    let field = Bytes::new().string(b"x").i32(1).i32(0);
    let item = |time, id: i32| (time, event(1, time).i32(id).i32(0));
    let hand = Hand {
        log_files: vec![log_file(0, b"a.log")],
        types: vec![named(1, b"tick", &Bytes::new()), named(2, b"T", &field)],
        events: vec![item(1, 0), item(2, 1), item(3, 2)],
        ..Hand::default()
    };
    let found = all(&Source::from_bytes("", hand.file()));
    assert_eq!(found, ["1 a.log: GENERIC", "2 a.log: tick", "3 a.log: T"]);
}

/// A state machine that nothing declares has a track; 777 is nobody.
#[test]
fn state_machines_that_nothing_declares_have_tracks_of_their_own() {
    let send = event(7, 5).i32(42).i32(43).i64(-1).string(b"M").i32(0).i32(0).i32(0);
    let receive = event(8, 6).i32(777).i32(43).i64(5).string(b"M").i32(9).i64(7).i32(0).i32(0);
    let hand = Hand {
        log_files: vec![log_file(0, b"a.log")],
        events: vec![(5, send), (6, receive)],
        ..Hand::default()
    };
    let source = Source::from_bytes("", hand.file());
    let expected = [
        "5 state machine 42: send M",
        "6 state machine 43: receive M",
        "6 state machine 43: enter state 9",
    ];
    assert_eq!(all(&source), expected);
}

/// The first and the last time are known from the index and the blocks at its ends, also where texts
/// are UTF-8.
#[test]
fn ranges_of_utf_8_timelines_come_from_the_index() {
    let events: Vec<_> = (0..3000).map(|n| task_switch(0, n * 10, 1, 2)).collect();
    let hand = Hand { log_files: vec![log_file(0, b"a.log")], events, ..Hand::default() };
    let mut file = hand.file();
    // All events of the second of three blocks.
    file[122 + 1000 * 36..122 + 2000 * 36].fill(0xEE);
    let utf8 = Context { is_utf8: true, ..Context::default() };
    let opened = Bbbin.open(&Source::from_bytes("", file), &utf8).unwrap();
    let range = opened.timeline().unwrap().range(ClockId(0)).unwrap().unwrap();
    assert_eq!((range.start().0, range.end().0), (0, 29_990));
    assert_eq!(opened.findings(), []);
}

/// The index has the times of the first and the last event of a block as they are written.
#[test]
fn the_range_of_a_block_whose_times_go_back_is_that_of_its_events() {
    let events: Vec<_> = [100, 300, 0, 90].map(|time| task_switch(0, time, 1, 2)).to_vec();
    let hand = Hand { log_files: vec![log_file(0, b"a.log")], events, ..Hand::default() };
    let opened = dataset(&Source::from_bytes("", hand.file()));
    let range = opened.timeline().unwrap().range(ClockId(0)).unwrap().unwrap();
    assert_eq!((range.start().0, range.end().0), (0, 300));
    assert_eq!(opened.findings()[0].rule, "order");
}

/// Tasks 5 and 6 are in no list; 5 sends to 6, which has a budget of 100 ns.
#[test]
fn tasks_that_nothing_declares_have_tracks_of_their_own() {
    let release = event(3, 10).i32(6).i64(100).i32(0).i32(0);
    let send = event(5, 20).i32(5).i32(6).i64(-1).string(b"M").i32(0).i32(0);
    let hand = Hand {
        log_files: vec![log_file(0, b"a.log")],
        events: vec![
            task_switch(0, 0, 777, 5),
            (10, release),
            (20, send),
            task_switch(0, 30, 5, 6),
        ],
        statistics: [0, 30, 2],
        ..Hand::default()
    };
    let source = Source::from_bytes("", hand.file());
    let expected = [
        "0 task 5: begin, priority 3",
        "10 task 6: release, budget 100 ns",
        "20 task 5: send M",
        "30 task 5: end",
        "30 task 6: begin, priority 3",
    ];
    assert_eq!(all(&source), expected);
}

/// From 0 to 10 task 5 runs, then nobody until 20: writers have a share of the time for that, too.
#[test]
fn nobody_has_no_track() {
    let share = |task| Bytes::new().i32(0).i32(task).raw(&50.0_f64.to_be_bytes());
    let hand = Hand {
        log_files: vec![log_file(0, b"a.log")],
        events: vec![
            task_switch(0, 0, 777, 5),
            task_switch(0, 10, 5, 777),
            task_switch(0, 20, 777, 5),
        ],
        task_executions: vec![share(5), share(777)],
        statistics: [0, 20, 3],
        ..Hand::default()
    };
    let tracks = timeline(&Source::from_bytes("", hand.file())).tracks();
    let names: Vec<_> = tracks.iter().map(|track| track.name.as_str()).collect();
    assert_eq!(names, ["a.log", "task 5"]);
}

/// In the first block of two, one event is far later than what follows it.
#[test]
fn a_range_has_all_of_its_events_where_times_go_back_within_a_block() {
    let time = |n: i64| if n == 500 { 50_000 } else { n };
    let events: Vec<_> = (0..1500).map(|n| task_switch(0, time(n), 1, 2)).collect();
    let mut hand = Hand { log_files: vec![log_file(0, b"a.log")], events, ..Hand::default() };
    hand.statistics = [0, 50_000, 1500];
    let source = Source::from_bytes("", hand.file());
    let window = |from, until| Window {
        from: Some(TimeNs(from)),
        until: Some(TimeNs(until)),
        ..Window::default()
    };
    let opened = dataset(&source);
    let view = opened.timeline().unwrap();
    assert_eq!(lines(&view, &window(900, 1100)).len(), 400);
    assert_eq!(opened.findings()[0].rule, "order");
    let part = ExtractRequest {
        from: Some(TimeNs(49_000)),
        until: Some(TimeNs(51_000)),
        ..ExtractRequest::default()
    };
    let (written, _) = extracted(&[source], &part);
    assert_eq!((written.events, written.losses[0].rule), (1, "order"));
}

/// Of twenty blocks, the last has an event of the time of the first. Of that many events not
/// all are looked at for the names of tasks.
#[test]
fn an_event_that_hides_in_a_block_elsewhere_is_found_by_check_and_kept_by_cut() {
    let time = |n: i64| if n == 19_500 { 10 } else { n };
    let events: Vec<_> = (0..20_000).map(|n| task_switch(0, time(n), 1, 2)).collect();
    let mut hand = Hand { log_files: vec![log_file(0, b"a.log")], events, ..Hand::default() };
    hand.statistics = [0, 19_999, 20_000];
    let source = Source::from_bytes("", hand.file());
    let window = Window { until: Some(TimeNs(100)), ..Window::default() };
    let opened = dataset(&source);
    let view = opened.timeline().unwrap();
    // That block is not read.
    assert_eq!(lines(&view, &window).len(), 200);
    assert!(opened.findings().is_empty());
    // Once it was, it is known that times go back.
    assert_eq!(lines(&view, &Window::default()).len(), 40_000);
    assert_eq!(lines(&view, &window).len(), 202);
    assert_eq!(opened.findings()[0].rule, "order");
    let found = Bbbin.check(&source, &Context::default()).unwrap();
    assert!(found.iter().any(|finding| finding.rule == "order"), "{found:?}");
    let part = ExtractRequest { until: Some(TimeNs(100)), ..ExtractRequest::default() };
    let (written, _) = extracted(&[source], &part);
    assert_eq!((written.events, written.losses[0].rule), (101, "order"));
}

/// `f` is over at 50, as its `FUNCTION_ENTER` says; of the others nothing is known.
#[test]
fn a_function_says_when_it_ends() {
    let enter =
        |time, name: &[u8], end: i64| (time, event(9, time).string(name).i64(end).i32(0).i32(0));
    let events = vec![enter(10, b"f", 50), enter(20, b"g", -1), enter(30, b"h", 0)];
    let hand = Hand { log_files: vec![log_file(0, b"a.log")], events, ..Hand::default() };
    let source = Source::from_bytes("", hand.file());
    let mut events = timeline(&source).events(&Window::default()).unwrap();
    let mut ends = Vec::new();
    while let Some(event) = events.next().unwrap() {
        if let Content::Activity(Activity::Begin { ends: told, .. }) = event.content {
            ends.push(told);
        }
    }
    assert_eq!(ends, [Some(TimeNs(50)), None, None]);
    // An end before the begin is said.
    let found = Bbbin.check(&source, &Context::default()).unwrap();
    let rules: Vec<_> = found.iter().map(|finding| finding.rule).collect();
    assert_eq!(rules, ["end-time"]);
}

/// What says to be an interrupt, and the priority that is told of it.
fn interrupts(source: &Source) -> Vec<(String, bool, Option<i64>)> {
    let tracks = timeline(source).tracks();
    let tasks = tracks.iter().filter(|track| track.kind == TrackKind::Task);
    let told = |track: &Track| {
        let priority = track.attributes.number(Track::TASK_PRIORITY);
        (track.name.clone(), track.has_flag(Track::IS_INTERRUPT), priority)
    };
    tasks.map(told).collect()
}

/// Negative ids are of interrupts, declared or not, but for what is said to be a process or a thread,
/// or to run when there is nothing to do.
#[test]
fn interrupts_are_what_has_a_negative_id_and_is_nothing_else() {
    let task = |id: i32, name: &[u8], class: i32, priority: i32| {
        let artifact = Bytes::new().i32(2).i32(id).string(name).i32(0);
        artifact.i32(class).i32(priority).i32(0).i32(0)
    };
    let switches = [(1, -4), (-4, -5), (-5, -6), (-6, -9), (-9, 1)];
    let events = (0..).zip(switches).map(|(time, (out, to))| task_switch(0, time, out, to));
    let hand = Hand {
        log_files: vec![log_file(0, b"a.log")],
        artifacts: vec![
            task(1, b"main", 1, 7),
            task(-4, b"timer", 1, -777),
            task(-5, b"shell", 2, 3),
            task(-6, b"worker", 3, 2),
        ],
        events: events.collect(),
        ..Hand::default()
    };
    let source = Source::from_bytes("", hand.file());
    let told = |name: &str, is_one, priority| (name.to_owned(), is_one, priority);
    let expected = [
        told("main", false, Some(7)),
        told("timer", true, None),
        told("shell", false, Some(3)),
        told("worker", false, Some(2)),
        told("interrupt 9", true, None),
    ];
    assert_eq!(interrupts(&source), expected);
    let write = |to: &Destination| {
        Bbbin.write_timeline(timeline(&source), to, &Context::default()).unwrap()
    };
    let (_, again) = written(write);
    let mut again = interrupts(&again);
    let mut expected = expected.to_vec();
    again.sort();
    expected.sort();
    assert_eq!(again, expected);
}
