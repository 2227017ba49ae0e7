//! The timeline of a file, parts of files, and timelines written as BBBin.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests may fail loudly"
)]

mod support;

use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use kymo_bbbin::{Bbbin, Reader};
use kymo_conformance::testdata;
use kymo_core::bytes::Limits;
use kymo_core::model::timeline::{
    Activity, Clock, ClockId, Content, Event, Events, Message, TimeNs, TimelineView, Track,
    TrackId, TrackKind, Window,
};
use kymo_core::{Context, Dataset, Destination, Format, Origin, Part, Severity, Source, Written};
use support::{Bytes, Hand, event, log_file, task_switch, type_of};

fn sample(name: &str) -> Source {
    Source::from_bytes(name, fs::read(testdata("bbbin").join(name)).unwrap())
}

fn dataset(source: &Source) -> Box<dyn Dataset> {
    Bbbin.open(source, &Context::default()).unwrap()
}

fn timeline(source: &Source) -> Arc<dyn TimelineView> {
    dataset(source).timeline().unwrap()
}

/// Time, track and content of the events of a window, a line each.
fn lines(timeline: &Arc<dyn TimelineView>, window: &Window) -> Vec<String> {
    let tracks = timeline.tracks();
    let mut events = Arc::clone(timeline).events(window).unwrap();
    let mut lines = Vec::new();
    while let Some(event) = events.next().unwrap() {
        let what = match &event.content {
            Content::Value(value) => value.to_string(),
            Content::Text(text) => text.to_string(),
            Content::Activity(activity) => activity.to_string(),
            Content::Sample(context) => format!("context {context}"),
            Content::Payload => format!("{:x?}", event.payload),
        };
        let time = event.time.map_or(-1, |time| time.0);
        lines.push(format!("{time} {}: {what}", tracks[event.track.0].name));
    }
    lines
}

fn all(source: &Source) -> Vec<String> {
    lines(&timeline(source), &Window::default())
}

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
        "100 küche.log: end",
        "110 küche.log: GENERIC",
    ];
    assert_eq!(all(&sample("classes.bin")), expected);
}

#[test]
fn tracks_lie_under_their_log_file_and_know_their_recording() {
    let tracks = timeline(&sample("two_logs.bin")).tracks();
    let shown = |track: &kymo_core::model::timeline::Track| {
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
    let expected: Vec<_> = whole.events_within(&window).map(|found| found.offset).collect();
    assert_eq!(expected.len(), 10);
    let (mut poisoned, mut untouched) = (file.clone(), 0);
    for block in whole.blocks() {
        let is_in = block.first_timestamp <= 510_000 && block.last_timestamp >= 490_000;
        let start = usize::try_from(block.first_event_offset).unwrap();
        let end = start + usize::try_from(block.total_event_size).unwrap();
        if !is_in {
            poisoned[start..end].fill(0xEE);
            untouched += end - start;
        }
    }
    let reader = open(poisoned);
    let found: Vec<_> = reader.events_within(&window).map(|found| found.offset).collect();
    assert_eq!(found, expected);
    assert_eq!(reader.findings(), []);
    // What is left: three blocks, the index of 100 blocks, and 246 bytes of everything else.
    assert_eq!(file.len() - untouched, 3000 * 36 + 100 * 48 + 64 + 42 + 8 + 8 + 40 + 8 + 8 + 24);
    // The events are damaged: going through all of them says so.
    assert_eq!(reader.events().count(), 3000);
    assert_eq!(reader.findings().len(), 97);
}

fn extracted(sources: &[Source], part: &Part) -> (Written, Source) {
    written(|to| Bbbin.extract(sources, part, to, &Context::default()).unwrap())
}

fn written(write: impl FnOnce(&Destination) -> Written) -> (Written, Source) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.bin");
    let written = write(&Destination::new(&path, false));
    (written, Source::from_bytes(Path::new("out.bin"), fs::read(path).unwrap()))
}

fn worst(source: &Source) -> Option<Severity> {
    let found = Bbbin.check(source, &Context::default()).unwrap();
    found.iter().map(|finding| finding.severity).max()
}

#[test]
fn a_cut_has_the_events_of_a_time() {
    let (from, until) = (Some(TimeNs(30)), Some(TimeNs(61)));
    let part = Part { from, until, ..Part::default() };
    let (written, cut) = extracted(&[sample("classes.bin")], &part);
    assert_eq!((written.events, written.losses.len()), (4, 0));
    assert_eq!(all(&cut), all(&sample("classes.bin"))[3..8]);
    assert_eq!(worst(&cut), None);
}

#[test]
fn a_filter_has_the_events_that_are_about_a_track() {
    let part = Part { tracks: Some(vec!["pump".into()]), ..Part::default() };
    let (written, part) = extracted(&[sample("two_logs.bin")], &part);
    // The switch to the pump, and the one from it; nobody else is in them.
    assert_eq!(written.events, 2);
    assert_eq!(all(&part), ["250 pump: begin, priority 5", "750 pump: end"]);
    assert_eq!(worst(&part), None);
}

#[test]
fn merged_files_keep_their_log_files_apart() {
    let sources = [sample("two_logs.bin"), sample("foreign_no_type.bin")];
    let (written, merged) = extracted(&sources, &Part::default());
    assert_eq!((written.events, written.losses.len()), (9, 0));
    let reader = Reader::open(&merged, &Context::default()).unwrap();
    let names: Vec<_> = reader.definitions().log_files.iter().map(|of| &*of.name).collect();
    assert_eq!(names, ["cpu0.log", "cpu1.log", "ose.log"]);
    let order: Vec<_> =
        reader.events().map(|found| (found.event.timestamp, found.event.log_file.0)).collect();
    let expected =
        [(0, 0), (0, 2), (5, 2), (10, 2), (100, 1), (250, 0), (250, 1), (750, 0), (1000, 1)];
    assert_eq!(order, expected);
    assert_eq!(worst(&merged), None);
    // 5 of 1000 each: the whole is that of all logs.
    let found = reader.task_executions().iter().filter(|of| of.log_file.0 == 2);
    let found: Vec<_> = found.map(|of| (of.task.0, of.task_exec.to_string())).collect();
    assert_eq!(found, [(1, "0.5".to_owned()), (2, "0.5".to_owned())]);
}

#[test]
fn an_unsorted_file_is_warned_about_or_sorted() {
    let (warned, _) = extracted(&[sample("unsorted.bin")], &Part::default());
    assert_eq!((warned.events, warned.losses[0].rule), (4, "order"));
    let part = Part { sort: true, ..Part::default() };
    let (sorted, file) = extracted(&[sample("unsorted.bin")], &part);
    assert_eq!((sorted.events, sorted.losses.len()), (4, 0));
    let reader = Reader::open(&file, &Context::default()).unwrap();
    let times: Vec<_> = reader.events().map(|found| found.event.timestamp).collect();
    assert_eq!(times, [10, 20, 30, 40]);
    assert_eq!(worst(&file), None);
}

/// What the timeline of a file tells is what that of the file made of it tells.
#[test]
fn a_timeline_survives_being_written() {
    for name in ["two_logs.bin", "blocks.bin", "foreign_no_type.bin"] {
        let source = sample(name);
        let (took, file) =
            written(|to| Bbbin.write_timeline(timeline(&source), to, &Context::default()).unwrap());
        assert_eq!(took.losses, [], "{name}");
        assert_eq!(all(&file), all(&source), "{name}");
        assert!(worst(&file) <= Some(Severity::Note), "{name}");
    }
}

#[test]
fn every_class_survives_being_written() {
    let source = sample("classes.bin");
    let (took, file) =
        written(|to| Bbbin.write_timeline(timeline(&source), to, &Context::default()).unwrap());
    assert_eq!(took.losses, []);
    let reader = Reader::open(&file, &Context::default()).unwrap();
    let classes: Vec<_> = reader.events().map(|found| found.event.body.class().name()).collect();
    let expected = [
        "TASK_RELEASE",
        "TASK_SWITCH",
        "FUNCTION_ENTER",
        "SEND",
        // Its sender is none that is declared, so that nothing says that it is a state machine.
        "SEND",
        "SRL RECEIVE",
        "TASK_SWITCH",
        "RECEIVE",
        "TASK_COMPLETION",
        "FUNCTION_EXIT",
        "GENERIC",
    ];
    assert_eq!(classes, expected);
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

#[test]
fn texts_are_utf_8_for_those_who_ask() {
    let source = sample("classes.bin");
    let utf8 = Context { is_utf8: true, ..Context::default() };
    let view = timeline(&source);
    let (written, made) = written(|to| Bbbin.write_timeline(view, to, &utf8).unwrap());
    assert_eq!(written.losses, []);
    let bytes = made.bytes().unwrap();
    let has = |text: &[u8]| bytes.windows(text.len()).any(|at| at == text);
    assert!(has("küche.log".as_bytes()) && has("Grüße".as_bytes()) && !has(b"k\xFCche.log"));
    // As Latin-1 the two bytes of each are two characters.
    assert!(all(&made).contains(&"40 control: send GrÃ¼Ã\u{9F}e".to_owned()));
    let opened = Bbbin.open(&made, &utf8).unwrap();
    let view = opened.timeline().unwrap();
    let found = lines(&view, &Window::default());
    assert!(found.contains(&"40 control: send Grüße".to_owned()), "{found:?}");
    assert_eq!(opened.recordings()[0].name, "küche.log");
    assert_eq!(opened.findings(), []);
    // The other way round something is lost, and said.
    let opened = Bbbin.open(&source, &utf8).unwrap();
    let names: Vec<_> = opened.recordings().into_iter().map(|of| of.name).collect();
    assert_eq!(names, ["k\u{FFFD}che.log"]);
    assert_eq!(opened.findings()[0].rule, "utf-8");
    // A part of it has the bytes that it had.
    let part = Part { tracks: Some(vec!["control".into()]), ..Part::default() };
    let (_, cut) = written_as(&made, &part, &utf8);
    let bytes = cut.bytes().unwrap();
    assert!(bytes.windows(10).any(|at| at == "küche.log".as_bytes()));
}

fn written_as(source: &Source, part: &Part, context: &Context<'_>) -> (Written, Source) {
    written(|to| Bbbin.extract(std::slice::from_ref(source), part, to, context).unwrap())
}

/// A timeline that BBBin did not make.
#[derive(Clone, Default)]
struct Made {
    tracks: Vec<Track>,
    events: Vec<(usize, i64, Activity<'static>)>,
}

impl Made {
    fn track(
        mut self,
        name: &str,
        parent: Option<usize>,
        kind: TrackKind,
        attribute: (&str, i64),
    ) -> Self {
        let value = match attribute {
            (Track::IS_IDLE, _) => true.into(),
            (_, number) => number.into(),
        };
        self.tracks.push(Track {
            name: name.into(),
            recording: 0,
            parent: parent.map(TrackId),
            kind,
            clock: Some(ClockId(0)),
            content: String::new(),
            attributes: [(attribute.0.to_owned(), value)].into_iter().collect(),
        });
        self
    }

    /// Two processors, each a track.
    fn two_processors() -> Self {
        let made = Self::default().track("cpu 0", None, TrackKind::Calls, (Track::CPU_ID, 0));
        made.track("cpu 7", None, TrackKind::Calls, (Track::CPU_ID, 7))
    }

    fn at(mut self, time: i64, track: usize, activity: Activity<'static>) -> Self {
        self.events.push((track, time, activity));
        self
    }

    fn begin(self, time: i64, track: usize) -> Self {
        self.at(time, track, Activity::Begin { name: None, priority: None })
    }

    fn call(self, time: i64, track: usize, name: &'static str) -> Self {
        self.at(time, track, Activity::Begin { name: Some(name.into()), priority: None })
    }

    fn end(self, time: i64, track: usize) -> Self {
        self.at(time, track, Activity::End)
    }

    fn written(self) -> (Written, Source) {
        written(|to| Bbbin.write_timeline(Arc::new(self), to, &Context::default()).unwrap())
    }
}

impl TimelineView for Made {
    fn clocks(&self) -> Vec<Clock> {
        vec![Clock { name: "clock".into(), recording: 0, since_epoch: false }]
    }

    fn tracks(&self) -> Vec<Track> {
        self.tracks.clone()
    }

    fn events(self: Arc<Self>, _window: &Window) -> kymo_core::Result<Box<dyn Events>> {
        Ok(Box::new(Told(self.events.clone().into())))
    }
}

struct Told(VecDeque<(usize, i64, Activity<'static>)>);

impl Events for Told {
    fn next(&mut self) -> kymo_core::Result<Option<Event<'_>>> {
        Ok(self.0.pop_front().map(|(track, time, activity)| Event {
            track: TrackId(track),
            time: Some(TimeNs(time)),
            offset: 0,
            content: Content::Activity(activity),
            payload: &[],
            partial: None,
        }))
    }
}

/// A message from a task on one processor to one on the other.
fn across() -> Made {
    let message = Message { name: "M".into(), peer: Some(TrackId(3)), peer_time: None };
    Made::two_processors()
        .track("a", Some(0), TrackKind::Task, ("tid", 1))
        .track("b", Some(1), TrackKind::Task, ("tid", 2))
        .at(5, 2, Activity::Send(message))
}

#[test]
fn a_message_to_another_processor_keeps_its_other_end() {
    let (told, made) = across().written();
    assert_eq!(told.losses, []);
    let view = timeline(&made);
    let tracks = view.tracks();
    let mut events = view.events(&Window::default()).unwrap();
    let event = events.next().unwrap().unwrap();
    let Content::Activity(Activity::Send(message)) = &event.content else { panic!("{event:?}") };
    let peer = &tracks[message.peer.unwrap().0];
    assert_eq!((peer.name.as_str(), peer.task_id(), peer.recording), ("b", Some(2), 0));
    assert_eq!(worst(&made), None);
}

/// A task is woken on one processor and runs on the other; no budget is known.
#[test]
fn a_task_of_several_processors_is_one_and_idle_stays_idle() {
    let made = Made::two_processors()
        .track("idle", Some(0), TrackKind::Task, (Track::IS_IDLE, 1))
        .track("a", Some(0), TrackKind::Task, ("tid", 5))
        .track("a", Some(1), TrackKind::Task, ("tid", 5))
        .begin(0, 2)
        .at(10, 3, Activity::Release { budget_ns: None, by: Some(TrackId(1)) })
        .begin(12, 4)
        .at(20, 4, Activity::Complete { remaining_ns: None })
        .end(20, 4)
        .at(30, 4, Activity::Release { budget_ns: Some(7), by: None })
        .at(40, 4, Activity::Complete { remaining_ns: Some(-3) });
    let (told, file) = made.written();
    assert_eq!(told.losses, []);
    let expected = [
        "0 idle: begin",
        "10 a: release",
        "12 a: begin",
        "20 a: complete",
        "20 a: end",
        "30 a: release, budget 7 ns",
        "40 a: complete, -3 ns left",
    ];
    assert_eq!(all(&file), expected);
    let tracks = timeline(&file).tracks();
    let tasks: Vec<_> = tracks.iter().filter(|track| track.kind == TrackKind::Task).collect();
    let shown = |track: &&Track| (track.name.clone(), track.recording, track.is_idle());
    let shown: Vec<_> = tasks.iter().map(shown).collect();
    let expected = [("a", 0, false), ("a", 0, false), ("idle", 0, true)];
    let expected = expected.map(|(name, recording, idle)| (name.to_owned(), recording, idle));
    assert_eq!(shown, expected);
    assert_eq!((tasks[0].task_id(), tasks[1].task_id()), (Some(5), Some(5)));
    assert_eq!(dataset(&file).recordings().len(), 1);
    assert_eq!(worst(&file), None);
    // It was the other processor that released it.
    let mut events = timeline(&file).events(&Window::default()).unwrap();
    let mut by = Vec::new();
    while let Some(event) = events.next().unwrap() {
        if let Content::Activity(Activity::Release { by: Some(track), .. }) = event.content {
            by.push(tracks[track.0].attributes[Track::CPU_ID].clone());
        }
    }
    assert_eq!(by, [7]);
}

/// On the first processor a task stops at 10 and none begins before 30; on the other one runs from
/// 15 to 20.
#[test]
fn what_is_written_is_in_the_order_of_times() {
    let made = Made::two_processors()
        .track("a", Some(0), TrackKind::Task, ("tid", 1))
        .track("b", Some(1), TrackKind::Task, ("tid", 2))
        .begin(0, 2)
        .end(10, 2)
        .begin(15, 3)
        .end(20, 3)
        .begin(30, 2);
    let (told, file) = made.written();
    assert_eq!(told.losses, []);
    let reader = Reader::open(&file, &Context::default()).unwrap();
    let times: Vec<_> = reader.events().map(|found| found.event.timestamp).collect();
    assert_eq!(times, [0, 10, 15, 20, 30]);
    assert_eq!(all(&file), ["0 a: begin", "10 a: end", "15 b: begin", "20 b: end", "30 a: begin"]);
    assert_eq!(worst(&file), None);
}

#[test]
fn times_that_go_back_are_said() {
    let made = Made::two_processors().track("a", Some(0), TrackKind::Task, ("tid", 1));
    let (told, _) = made.begin(10, 2).end(5, 2).written();
    assert_eq!(told.losses.iter().map(|loss| loss.rule).collect::<Vec<_>>(), ["order"]);
}

/// Two threads, whose functions overlap: f from 0 to 20, g from 10 to 30.
#[test]
fn functions_of_several_threads_stay_apart() {
    let made = Made::default()
        .track("one", None, TrackKind::Calls, ("tid", 1))
        .track("two", None, TrackKind::Calls, ("tid", 2))
        .call(0, 0, "f")
        .call(10, 1, "g")
        .end(20, 0)
        .end(30, 1);
    let (told, file) = made.written();
    assert_eq!(told.losses, []);
    assert_eq!(all(&file), ["0 one: begin f", "10 two: begin g", "20 one: end", "30 two: end"]);
    assert_eq!(worst(&file), None);
}

/// A state machine that nobody told to go to another state received no message.
#[test]
fn states_are_no_messages() {
    let enter = |state: &'static str| Activity::Enter { state: state.into(), settled: None };
    let made = Made::default().track("door", None, TrackKind::States, ("x", 0));
    let (told, file) = made.at(1, 0, enter("open")).at(2, 0, enter("shut")).written();
    assert_eq!(told.losses, []);
    assert_eq!(all(&file), ["1 door: enter open", "2 door: enter shut"]);
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
    let part = Part { from: Some(TimeNs(49_000)), until: Some(TimeNs(51_000)), ..Part::default() };
    let (written, _) = extracted(&[source], &part);
    assert_eq!((written.events, written.losses[0].rule), (1, "order"));
}

#[test]
fn parts_of_a_recording_are_joined_and_others_get_a_number() {
    let whole = sample("two_logs.bin");
    let (middle, time) = (Some(TimeNs(500)), Part::default());
    let (_, first) =
        extracted(std::slice::from_ref(&whole), &Part { until: middle, ..time.clone() });
    let (_, second) = extracted(std::slice::from_ref(&whole), &Part { from: middle, ..time });
    let parts = [first, second];
    let (joined, file) = extracted(&parts, &Part { join: true, ..Part::default() });
    assert_eq!(joined.losses, []);
    assert_eq!(all(&file), all(&whole));
    let (_, apart) = extracted(&parts, &Part::default());
    let names = |source: &Source| -> Vec<_> {
        dataset(source).recordings().into_iter().map(|of| of.name).collect()
    };
    assert_eq!(names(&file), ["cpu0.log", "cpu1.log"]);
    assert_eq!(names(&apart), ["cpu0.log", "cpu1.log", "cpu0.log (2)", "cpu1.log (2)"]);
}

#[test]
fn a_part_of_a_file_has_what_existing_readers_need() {
    let (_, part) = extracted(&[sample("foreign_no_type.bin")], &Part::default());
    let reader = Reader::open(&part, &Context::default()).unwrap();
    assert!(reader.events().all(|found| found.event.custom_type.0 == 2));
    assert!(reader.definitions().artifacts.iter().all(|of| of.custom_type.0 == 2));
    assert_eq!(reader.definitions().types[1].fields, []);
}

fn repaired(bytes: Vec<u8>) -> (kymo_core::Repaired, Source) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.bin");
    let source = Source::from_bytes("", bytes);
    let repaired = Bbbin.repair(&source, &Destination::new(&path, false), &Context::default());
    (repaired.unwrap(), Source::from_bytes("out.bin", fs::read(path).unwrap()))
}

/// A state before its state machine, no types, and a task that nothing declares.
#[test]
fn a_repaired_file_has_what_existing_readers_need() {
    let artifact = |class: i32, id: i32| Bytes::new().i32(class).i32(id).string(b"x").i32(0);
    let hand = Hand {
        log_files: vec![log_file(0, b"a.log")],
        events: vec![task_switch(0, 0, 3, 4)],
        artifacts: vec![
            artifact(4, 21).i32(20).i32(0).i32(0),
            artifact(3, 20).i32(0).i32(0),
            artifact(2, 3).i32(1).i32(9).i32(0).i32(0),
        ],
        statistics: [0, 0, 1],
        ..Hand::default()
    };
    let (told, file) = repaired(hand.file());
    let rules: Vec<_> = told.corrected.iter().map(|finding| finding.rule).collect();
    assert_eq!((rules, told.losses.len()), (vec!["unknown-artifact", "parent"], 0));
    assert_eq!(worst(&file), None);
    let reader = Reader::open(&file, &Context::default()).unwrap();
    let ids: Vec<_> = reader.definitions().artifacts.iter().map(|of| of.id.0).collect();
    assert_eq!(ids, [20, 3, 4, 21]);
    assert!(reader.events().all(|found| found.event.custom_type.0 == 1));
}

/// The number of events is less than what the index locates.
#[test]
fn events_that_the_index_locates_are_not_lost() {
    let mut file = fs::read(testdata("bbbin").join("blocks.bin")).unwrap();
    let at = usize::try_from(u64::from_be_bytes(file[24..32].try_into().unwrap())).unwrap();
    for number in [50_i64, -5] {
        file[at..at + 8].copy_from_slice(&number.to_be_bytes());
        let (told, repaired) = repaired(file.clone());
        assert_eq!(told.kept, 1100);
        assert_eq!(told.losses.len() + told.corrected.len(), 1, "{told:?}");
        assert_eq!(all(&repaired), all(&sample("blocks.bin")));
    }
}

#[test]
fn repair_says_what_it_leaves() {
    let (told, _) = repaired(fs::read(testdata("bbbin").join("unsorted.bin")).unwrap());
    let message = &told.corrected[0].message;
    assert!(message.ends_with("left as it is (`kymo merge --sort` sorts)"), "{message}");
}

#[test]
fn log_files_remember_where_they_came_from() {
    let origin = Origin {
        name: "trace/kernel".into(),
        size_bytes: 4711,
        importer: "kymo, CTF".into(),
        time_ms: 1_700_000_000_123,
    };
    let (told, made) = written(|to| {
        let to = to.clone().imported(origin);
        Bbbin.write_timeline(Arc::new(across()), &to, &Context::default()).unwrap()
    });
    let logs = |source: &Source| {
        let reader = Reader::open(source, &Context::default()).unwrap();
        let of = |log: &kymo_bbbin::LogFile| {
            (log.name.clone(), log.size, log.importer.clone(), log.imported_at_ms)
        };
        reader.definitions().log_files.iter().map(of).collect::<Vec<_>>()
    };
    let log = |name: &str| (name.to_owned(), 4711, "kymo, CTF".to_owned(), 1_700_000_000_123);
    let expected = [log("trace/kernel, cpu 0"), log("trace/kernel, cpu 7")];
    assert_eq!(logs(&made), expected);
    assert_eq!(told.losses, []);
    // What is of BBBin already stays what it was, whatever it is converted with.
    let view = timeline(&made);
    let other = Origin { name: "x".into(), size_bytes: 1, importer: "y".into(), time_ms: 2 };
    let (_, again) = written(|to| {
        let to = to.clone().imported(other);
        Bbbin.write_timeline(view, &to, &Context::default()).unwrap()
    });
    assert_eq!(logs(&again), expected);
    let cpus = timeline(&again).tracks().into_iter();
    let cpus: Vec<_> =
        cpus.filter_map(|track| track.attributes.get(Track::CPU_ID).cloned()).collect();
    assert_eq!(cpus, [0, 7]);
}
