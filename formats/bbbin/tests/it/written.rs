//! Timelines written as BBBin say the same when they are read again.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::support::shown::{all, dataset, lines, sample, timeline, worst, written};
use kymo_bbbin::spec::TaskClass;
use kymo_bbbin::{ArtifactId, ArtifactKind, Bbbin, Body, Reader};
use kymo_core::{Context, Origin, Severity, Source, Value};
use kymo_model::timeline::{
    Activity, Clock, ClockId, Content, Event, Events, Message, Missing, TimeNs, TimelineView,
    Track, TrackId, TrackKind, Tracks, Window,
};
use kymo_model::{ExtractRequest, Format, WriteReport};

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

/// Where no processor is told, tasks run side by side; in a log of BBBin only one runs at a time.
#[test]
fn tasks_that_run_side_by_side_have_log_files_of_their_own() {
    let two = || {
        let made = Made::default().track("all", None, TrackKind::Calls, ("x", 0));
        let made = made.track("a", Some(0), TrackKind::Task, ("task_id", 1));
        made.track("b", Some(0), TrackKind::Task, ("task_id", 2))
    };
    let (told, file) = two().begin(0, 1).begin(1, 2).end(5, 1).end(9, 2).written();
    let rules: Vec<_> = told.losses.iter().map(|loss| loss.rule).collect();
    assert_eq!(rules, ["processors", "attributes"]);
    let why = "2 tasks run side by side, and on which processors is not known: each has a log file \
               of its own, as if that were one";
    assert_eq!(told.losses[0].message, why);
    assert_eq!(all(&file), ["0 a: begin", "1 b: begin", "5 a: end", "9 b: end"]);
    assert!(worst(&file) <= Some(Severity::Note));
    assert_eq!(dataset(&file).recordings().len(), 1);
    // One after the other, they need none.
    let (told, file) = two().begin(0, 1).end(5, 1).begin(5, 2).end(9, 2).written();
    let rules: Vec<_> = told.losses.iter().map(|loss| loss.rule).collect();
    assert_eq!(rules, ["attributes"]);
    assert_eq!(all(&file), ["0 a: begin", "5 a: end", "5 b: begin", "9 b: end"]);
}

#[test]
fn a_log_may_last_longer_than_either_limit_of_its_times_tells() {
    let made = Made::two_processors().track("a", Some(0), TrackKind::Task, ("task_id", 1));
    let (_, file) = made.begin(i64::MIN, 2).end(i64::MAX, 2).written();
    let summary = dataset(&file).summary();
    let duration = summary.facts.iter().find(|fact| fact.name == "duration").unwrap();
    // 2^64 - 1 ns.
    assert_eq!(duration.value, Value::from("18446744073.709551615 s"));
}

/// Classes of events and of tasks, the state that is never entered and the one within it, and the
/// artifact that is no task: all of it is there again.
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
        "SRL SEND",
        "SRL RECEIVE",
        "TASK_SWITCH",
        "RECEIVE",
        "TASK_COMPLETION",
        "FUNCTION_EXIT",
        "GENERIC",
    ];
    assert_eq!(classes, expected);
    let task = |class, priority| ArtifactKind::Task { task_class: Ok(class), priority };
    let state = |parent| ArtifactKind::State { parent: ArtifactId(parent) };
    let expected = [
        (-3, "interrupt 3", task(TaskClass::Task, -777)),
        (1, "control", task(TaskClass::Task, 9)),
        (2, "logger", task(TaskClass::Thread, 3)),
        (3, "shell", task(TaskClass::Process, 2)),
        (4, "board", ArtifactKind::Generic),
        (5, "door", ArtifactKind::StateMachine),
        (6, "open", state(5)),
        (7, "ajar", state(6)),
    ];
    let definitions = reader.definitions();
    let artifacts = definitions.artifacts.iter();
    let mut found: Vec<_> =
        artifacts.map(|artifact| (artifact.id.0, artifact.name.as_str(), artifact.kind)).collect();
    found.sort_by_key(|(id, ..)| *id);
    assert_eq!(found, expected);
    let entered = reader.events().find_map(|found| match found.event.body {
        Body::SrlReceive { message, state, .. } => Some((message.receiver, state)),
        _ => None,
    });
    assert_eq!(entered, Some((ArtifactId(5), ArtifactId(7))));
    assert_eq!(all(&file), all(&source));
}

/// Of that file the timeline tells no receiver instance (2), and no end time of an exit (95, where the
/// function is left at 100).
#[test]
fn what_the_timeline_does_not_tell_is_said() {
    let untold = |name| -> Vec<_> {
        let found = timeline(&sample(name)).unsupported().unwrap();
        found.into_iter().map(|finding| (finding.rule, finding.message)).collect()
    };
    let say = |rule, what: &str| (rule, format!("not told by the timeline: {what}"));
    let expected = [
        say("receiver-instance", "receiver instances of SRL SEND (1 in all)"),
        say("end-time", "end times of functions that are not when they were left (1 in all)"),
    ];
    assert_eq!(untold("classes.bin"), expected);
    assert_eq!(untold("two_logs.bin"), []);
    // A TASK_SWITCH has values: they are events of their own.
    assert_eq!(untold("types.bin").iter().map(|(rule, _)| *rule).collect::<Vec<_>>(), ["values"]);
}

/// Types, also `ARTIFACT_ID`, and values to the last bit.
#[test]
fn types_and_values_survive_being_written() {
    let source = sample("types.bin");
    let (took, file) =
        written(|to| Bbbin.write_timeline(timeline(&source), to, &Context::default()).unwrap());
    assert_eq!(took.losses, []);
    let item = |source: &Source| -> (Vec<_>, Vec<_>) {
        let reader = Reader::open(source, &Context::default()).unwrap();
        let types = reader.types().iter().filter(|item| !item.fields.is_empty());
        let types = types
            .map(|custom_type| (custom_type.name.clone(), custom_type.fields.clone()))
            .collect();
        let values = reader.events().map(|found| found.event.custom.to_vec());
        (types, values.filter(|values| !values.is_empty()).collect())
    };
    assert_eq!(item(&file), item(&source));
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
    let names: Vec<_> = opened.recordings().into_iter().map(|recording| recording.name).collect();
    assert_eq!(names, ["k\u{FFFD}che.log"]);
    assert_eq!(opened.findings()[0].rule, "utf-8");
    // A part of it has the bytes that it had.
    let part = ExtractRequest { tracks: Some(vec!["control".into()]), ..ExtractRequest::default() };
    let (_, cut) = written_as(&made, &part, &utf8);
    let bytes = cut.bytes().unwrap();
    assert!(bytes.windows(10).any(|at| at == "küche.log".as_bytes()));
}

fn written_as(
    source: &Source,
    part: &ExtractRequest,
    context: &Context<'_>,
) -> (WriteReport, Source) {
    written(|to| Bbbin.extract(std::slice::from_ref(source), part, to, context).unwrap())
}

/// A timeline that BBBin did not make.
#[derive(Clone, Default)]
struct Made {
    tracks: Vec<Track>,
    events: Vec<(usize, Option<i64>, Activity<'static>)>,
    since_epoch: bool,
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
            content: "".into(),
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
        self.events.push((track, Some(time), activity));
        self
    }

    fn begin(self, time: i64, track: usize) -> Self {
        self.at(time, track, Activity::Begin { name: None, priority: None, ends: None })
    }

    fn call(self, time: i64, track: usize, name: &'static str) -> Self {
        self.at(
            time,
            track,
            Activity::Begin { name: Some(name.into()), priority: None, ends: None },
        )
    }

    fn end(self, time: i64, track: usize) -> Self {
        self.at(time, track, Activity::End)
    }

    fn written(self) -> (WriteReport, Source) {
        written(|to| Bbbin.write_timeline(Arc::new(self), to, &Context::default()).unwrap())
    }
}

impl TimelineView for Made {
    fn clocks(&self) -> Vec<Clock> {
        vec![Clock { name: "clock".into(), recording: 0, since_epoch: self.since_epoch }]
    }

    fn tracks(&self) -> Tracks {
        self.tracks.clone().into()
    }

    fn events(self: Arc<Self>, _window: &Window) -> kymo_core::Result<Box<dyn Events>> {
        Ok(Box::new(Told(self.events.clone().into())))
    }
}

struct Told(VecDeque<(usize, Option<i64>, Activity<'static>)>);

impl Events for Told {
    fn next(&mut self) -> kymo_core::Result<Option<Event<'_>>> {
        Ok(self.0.pop_front().map(|(track, time, activity)| Event {
            track: TrackId(track),
            time: time.map(TimeNs),
            offset: 0,
            content: Content::Activity(activity),
            payload: &[],
            partial: None,
        }))
    }
}

/// What lacks a time is where the recording is known to be: nothing begins at zero.
#[test]
fn events_without_a_time_are_beside_those_that_have_one() {
    let release = || Activity::Release { budget_ns: None, by: None };
    let mut made = Made::two_processors().track("a", Some(0), TrackKind::Task, ("tid", 1)).track(
        "b",
        Some(1),
        TrackKind::Task,
        ("tid", 2),
    );
    made.events.push((2, None, release()));
    let mut made = made.begin(500, 2).end(700, 2);
    made.events.push((3, None, release()));
    let (told, file) = made.begin(900, 3).written();
    let expected =
        ["500 a: release", "500 a: begin", "700 b: release", "700 a: end", "900 b: begin"];
    assert_eq!(all(&file), expected);
    let said: Vec<_> = told.losses.iter().map(|loss| (loss.rule, loss.message.as_str())).collect();
    let why = "an event without a time gets that of another beside it";
    assert_eq!(said, [("time", &*format!("a: {why}")), ("time", &*format!("b: {why}"))]);
    assert_eq!(worst(&file), None);
}

/// Gaps of every kind: right after a begin, while a task runs, after one stopped, and before any ran.
#[test]
fn what_is_missing_survives_being_written() {
    let gap = |missing| Activity::Gap(missing);
    let made = Made::two_processors()
        .track("a", Some(0), TrackKind::Task, ("tid", 1))
        .track("b", Some(1), TrackKind::Task, ("tid", 2))
        .at(5, 1, gap(Missing::Events))
        .begin(10, 2)
        .at(10, 0, gap(Missing::Events))
        .end(20, 2)
        .begin(30, 2)
        .at(40, 0, gap(Missing::Switches))
        .begin(50, 2)
        .begin(51, 3)
        .end(60, 2)
        .at(60, 0, gap(Missing::AllEvents))
        .end(70, 3)
        .at(70, 1, gap(Missing::Switches));
    let (told, file) = made.written();
    assert_eq!(told.losses, []);
    let expected = [
        "5 out.bin, cpu 7: gap, events are missing",
        "10 a: begin",
        "10 out.bin, cpu 0: gap, events are missing",
        "20 a: end",
        "30 a: begin",
        "40 out.bin, cpu 0: gap, switches are missing",
        "50 a: begin",
        "51 b: begin",
        "60 a: end",
        // In BBBin each log file tells who runs in it.
        "60 out.bin, cpu 7: gap, switches are missing",
        "60 out.bin, cpu 0: gap, all events are missing",
        "70 b: end",
        "70 b: gap, switches are missing",
    ];
    let shown = |line: String| line.replace("recording 0, cpu", "out.bin, cpu");
    assert_eq!(all(&file).into_iter().map(shown).collect::<Vec<_>>(), expected);
    assert_eq!(worst(&file), None);
    // What is made of it once more is the same.
    let (told, again) =
        written(|to| Bbbin.write_timeline(timeline(&file), to, &Context::default()).unwrap());
    // At one time, what happens in several log files has no order.
    let sorted = |source: &Source| {
        let mut lines = all(source);
        lines.sort();
        lines
    };
    assert_eq!((told.losses, sorted(&again)), (Vec::new(), sorted(&file)));
    assert_eq!(timeline(&file).unsupported().unwrap(), []);
    // Whoever asks for a task is told that something is missing.
    let part = ExtractRequest { tracks: Some(vec!["b".into()]), ..ExtractRequest::default() };
    let (_, part) = written(|to| {
        Bbbin.extract(std::slice::from_ref(&file), &part, to, &Context::default()).unwrap()
    });
    let gaps = all(&part).iter().filter(|line| line.contains(": gap")).count();
    assert_eq!(gaps, 6);
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
            by.push(tracks[track.0].attributes.number(Track::CPU_ID).unwrap());
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
fn times_that_count_from_the_epoch_do_so_when_they_are_read_again() {
    for since_epoch in [false, true] {
        let made = Made { since_epoch, ..across() };
        let (told, file) = made.written();
        assert_eq!(told.losses, []);
        assert_eq!(timeline(&file).clocks()[0].since_epoch, since_epoch);
        assert_eq!(worst(&file), None);
        // An artifact in each of two log files says so, and is on no track.
        let reader = Reader::open(&file, &Context::default()).unwrap();
        let named = reader
            .artifacts()
            .filter(|declared_artifact| declared_artifact.name == kymo_bbbin::Text(b"Epoch"))
            .count();
        assert_eq!(named, if since_epoch { 2 } else { 0 });
        assert_eq!(all(&file), ["5 a: send M"]);
        assert_eq!(timeline(&file).unsupported().unwrap(), []);
    }
}

/// Two tasks have numbers that are too large, and the largest that there is is taken.
#[test]
fn tasks_of_large_numbers_stay_apart() {
    let mut made = Made::two_processors();
    for (name, number) in [("a", 2_147_483_647), ("b", 3_000_000_000), ("c", 3_000_000_001)] {
        made = made.track(name, Some(0), TrackKind::Task, ("tid", number));
    }
    let made = made.begin(0, 2).end(10, 2).begin(10, 3).end(20, 3).begin(20, 4).end(40, 4);
    let (told, file) = made.written();
    let said: Vec<_> = told.losses.iter().map(|loss| loss.rule).collect();
    assert_eq!(said, ["ids"]);
    assert!(told.losses[0].message.contains("(2 in all)"), "{told:?}");
    assert_eq!(worst(&file), None);
    let reader = Reader::open(&file, &Context::default()).unwrap();
    let shares = reader
        .task_executions()
        .iter()
        .map(|task_execution| (task_execution.task.0, task_execution.task_exec));
    // From 0 to 40: a quarter, a quarter, and half of it.
    assert_eq!(shares.collect::<Vec<_>>(), [(1, 25.0), (2, 50.0), (2_147_483_647, 25.0)]);
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
    assert_eq!(all(&file), ["0 one: begin f", "10 two: begin g", "20 one: end f", "30 two: end g"]);
    assert_eq!(worst(&file), None);
}

/// A state machine that nobody told to go to another state received no message.
#[test]
fn states_are_no_messages() {
    let enter = |state: &'static str| Activity::Enter { state: state.into(), settled: None };
    let made = Made::default().track("door", None, TrackKind::States, ("artifact_id", 3));
    let (told, file) = made.at(1, 0, enter("open")).at(2, 0, enter("shut")).written();
    assert_eq!(told.losses, []);
    assert_eq!(all(&file), ["1 door: enter open", "2 door: enter shut"]);
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
        let item = |log: &kymo_bbbin::LogFile| {
            (log.name.clone(), log.size, log.importer.clone(), log.imported_at_ms)
        };
        reader.log_files().iter().map(item).collect::<Vec<_>>()
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
    let tracks = timeline(&again).tracks();
    let cpus: Vec<_> =
        tracks.iter().filter_map(|track| track.attributes.number(Track::CPU_ID)).collect();
    assert_eq!(cpus, [0, 7]);
}

/// Types whose fields have one name, or that are called as ours: nothing of them is lost unsaid.
#[test]
fn fields_of_one_name_survive_being_written() {
    let source = sample("names.bin");
    let (took, file) =
        written(|to| Bbbin.write_timeline(timeline(&source), to, &Context::default()).unwrap());
    assert_eq!(took.losses, []);
    let item = |source: &Source| -> Vec<_> {
        let reader = Reader::open(source, &Context::default()).unwrap();
        let values = reader.events().map(|found| found.event.custom.to_vec());
        values.filter(|values| !values.is_empty()).collect()
    };
    assert_eq!(item(&file), item(&source));
}

/// The stretches of one processor are interrupts, and those of the other functions.
#[test]
fn interrupts_are_told_from_functions_when_they_are_read_again() {
    let mut made =
        Made::two_processors().call(1, 0, "irq 5").end(2, 0).call(3, 1, "main").end(4, 1);
    made.tracks[0].attributes.insert(Track::HAS_INTERRUPTS, true);
    let (told, file) = made.written();
    assert_eq!(told.losses, []);
    let tracks = timeline(&file).tracks();
    let cpus = tracks.iter().filter(|track| track.attributes.contains_key(Track::CPU_ID));
    let found: Vec<_> = cpus.map(|track| track.has_flag(Track::HAS_INTERRUPTS)).collect();
    assert_eq!(found, [true, false]);
    assert_eq!(worst(&file), None);
}

/// An interrupt ends by its number alone, and its exit has the name that it began with. When a
/// function is told to end stays.
#[test]
fn ends_of_interrupts_and_of_functions_are_as_they_began() {
    let end = |name: &'static str| Activity::EndOf { name: name.into() };
    let ends = Some(TimeNs(70));
    let made = Made::default()
        .track("one", None, TrackKind::Calls, ("tid", 1))
        .call(0, 0, "irq 9 acpi")
        .call(10, 0, "softirq 1 TIMER")
        .at(20, 0, end("irq 9"))
        .at(30, 0, Activity::Begin { name: Some("f".into()), priority: None, ends });
    let (told, file) = made.written();
    assert_eq!(told.losses, []);
    let expected = [
        "0 one: begin irq 9 acpi",
        "10 one: begin softirq 1 TIMER",
        "20 one: end irq 9 acpi",
        "30 one: begin f",
    ];
    assert_eq!(all(&file), expected);
    let mut events = timeline(&file).events(&Window::default()).unwrap();
    let mut last = None;
    while let Some(event) = events.next().unwrap() {
        if let Content::Activity(Activity::Begin { ends, .. }) = event.content {
            last = ends;
        }
    }
    assert_eq!(last, ends);
}

/// The return of `g` is missing, and `x` was entered before: each exit keeps its own name, and what
/// has none is called as what ends.
#[test]
fn functions_are_left_by_the_names_that_they_have() {
    let end = |name: &'static str| Activity::EndOf { name: name.into() };
    let made = Made::default()
        .track("one", None, TrackKind::Calls, ("tid", 1))
        .call(0, 0, "main")
        .call(10, 0, "f")
        .call(20, 0, "g")
        .at(30, 0, end("f"))
        .at(40, 0, end("x"))
        .end(50, 0)
        .end(60, 0);
    let (told, file) = made.written();
    assert_eq!(told.losses, []);
    let expected = [
        "0 one: begin main",
        "10 one: begin f",
        "20 one: begin g",
        "30 one: end f",
        "40 one: end x",
        "50 one: end main",
        "60 one: end",
    ];
    assert_eq!(all(&file), expected);
    let (again, copy) =
        written(|to| Bbbin.write_timeline(timeline(&file), to, &Context::default()).unwrap());
    assert_eq!((again.losses, all(&copy)), (Vec::new(), all(&file)));
}
