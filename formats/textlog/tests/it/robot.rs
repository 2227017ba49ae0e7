//! A log with its grammar beside it, with what is in it worked out by hand.

use std::fs;
use std::path::Path;

use kymo_core::bytes::Limits;
use kymo_core::{Context, Source, Value};
use kymo_model::timeline::{Activity, Content, TimeNs, Window};
use kymo_model::{Confidence, Dataset, Format};
use kymo_textlog::TextLog;

fn sample(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/textlog").join(name)
}

fn open(path: &Path) -> Box<dyn Dataset> {
    let source = Source::open(path, &Limits::default()).unwrap();
    TextLog.open(&source, &Context::default()).unwrap()
}

/// Every event but the texts: when in microseconds, on which track, what.
fn told(dataset: &dyn Dataset, window: &Window) -> Vec<String> {
    let timeline = dataset.timeline().unwrap();
    let tracks = timeline.tracks();
    let mut events = timeline.events(window).unwrap();
    let mut lines = Vec::new();
    while let Some(event) = events.next().unwrap() {
        let name = &tracks[event.track.0].name;
        let what = match &event.content {
            Content::Activity(Activity::Send(message) | Activity::Receive(message)) => {
                let peer = message.peer.map(|peer| tracks[peer.0].name.as_str());
                format!("{} with {}", event_word(&event.content), peer.unwrap_or("nobody"))
            }
            Content::Activity(activity) => activity.to_string(),
            Content::Value(value) => value.to_string(),
            _ => continue,
        };
        lines.push(format!("{} {name}: {what}", event.time.unwrap().0 / 1000));
    }
    lines
}

fn event_word(content: &Content<'_>) -> String {
    match content {
        Content::Activity(activity) => activity.to_string(),
        _ => String::new(),
    }
}

#[test]
fn lines_mean_what_the_grammar_beside_them_says() {
    let dataset = open(&sample("robot.txt"));
    assert_eq!(dataset.findings(), []);
    let expected = [
        "0 control: release, budget 2000000 ns",
        "100 idle0: end",
        "100 control: begin, priority 20",
        "200 gripper: enter opening",
        "400 control: send MOVE with motor",
        "450 motor: release",
        "500 idle1: end",
        "500 motor: begin, priority 10",
        "600 motor: receive MOVE with control",
        "1100 control: complete",
        "1100 control: end",
        "1100 idle0: begin, priority 0",
        "1200 motor.speed: -3.5",
        "1200 motor.load: 40",
        "2000 gripper: enter open",
        "2500 motor: complete",
        "2500 motor: end",
        "2500 idle1: begin, priority 0",
        "5000 control: release, budget 2000000 ns",
        "7500 idle0: end",
        "7500 control: begin, priority 20",
        "8000 control: complete",
        "8000 control: end",
        "8000 idle0: begin, priority 0",
    ];
    assert_eq!(told(&*dataset, &Window::default()), expected);
    let window = Window { last: Some(3), ..Window::default() };
    assert_eq!(told(&*dataset, &window), expected[22..]);
    let from = Some(TimeNs(2_000_000));
    let window = Window { from, until: Some(TimeNs(5_000_001)), ..Window::default() };
    assert_eq!(told(&*dataset, &window), expected[14..19]);
}

#[test]
fn who_ran_before_is_known_in_every_window_where_lines_do_not_tell() {
    let dataset = open(&sample("pump.log"));
    let window = Window { from: Some(TimeNs(900_000_000)), ..Window::default() };
    let expected = ["1000000 pump: end", "1000000 idle: begin", "1000000 idle.bar: 0"];
    assert_eq!(told(&*dataset, &window), expected);
}

#[test]
fn a_grammar_is_named_or_lies_beside_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let (log, toml) = (folder.path().join("run.log"), folder.path().join("log.toml"));
    fs::copy(sample("robot.txt"), &log).unwrap();
    let limits = Limits::default();
    let source = Source::open(&log, &limits).unwrap();
    assert_eq!(TextLog.sniff(&source.probe()), None);
    let error = TextLog.open(&source, &Context::default()).err().unwrap().to_string();
    assert!(error.contains("--grammar names it"), "{error}");
    let grammar = Source::open(&sample("robot.txt.toml"), &limits).unwrap();
    let named = source.clone().with_grammar(grammar);
    assert_eq!(TextLog.sniff(&named.probe()), Some(Confidence::Magic));
    let dataset = TextLog.open(&named, &Context::default()).unwrap();
    assert_eq!(dataset.summary().facts[0].value, Value::UInt(17));
    fs::copy(sample("robot.txt.toml"), &toml).unwrap();
    assert_eq!(TextLog.sniff(&source.probe()), Some(Confidence::Plausible));
    assert_eq!(open(&log).summary().facts[0].value, Value::UInt(17));
    // What is wrong with it is said of it.
    fs::write(&toml, "tme = 1").unwrap();
    let error = TextLog.open(&source, &Context::default()).err().unwrap().to_string();
    assert!(error.contains("log.toml: key at byte 0x6: `tme` is none of title, time"), "{error}");
}

#[test]
fn what_is_no_number_is_a_finding_and_not_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let grammar = r"time = 's'
[[line]]
match = '^(?<time>\S+) (?<cpu>\S+) (?<task>\w+) ready (?<budget>\S+)$'
class = 'release'
[[line]]
match = '^(?<time>\S+) (?<cpu>\S+) (?<task>\w+) runs (?<priority>\S+)$'
class = 'begin'
[[line]]
match = '^(?<time>\S+) (?<cpu>\S+) (?<task>\w+) done (?<remaining>\S*)$'
class = 'complete'
";
    fs::write(folder.path().join("log.toml"), grammar).unwrap();
    let log = "1.0 CPU0 a ready 2ms\n1.1 0 a runs high\n1.2 0 a done soon\n2.0 0 a ready 3ms\n\
               3.0 0 a done \n";
    let path = folder.path().join("run.log");
    fs::write(&path, log).unwrap();
    let found = open(&path).findings();
    let found: Vec<_> =
        found.iter().map(|finding| (finding.rule, finding.message.as_str())).collect();
    let expected = [
        (
            "budget",
            "2 lines, each: its budget is no number, and is left out; the first: 1.0 CPU0 a ready 2ms",
        ),
        ("cpu", "its processor is no number, and is left out: 1.0 CPU0 a ready 2ms"),
        ("priority", "its priority is no number, and is left out: 1.1 0 a runs high"),
        ("remaining", "its remaining time is no number, and is left out: 1.2 0 a done soon"),
    ];
    assert_eq!(found, expected);
}

/// A log of its own grammar, and what is wrong with it.
fn findings(text: &str) -> (Vec<i64>, Vec<String>) {
    let source = Source::from_bytes("own.log", text.as_bytes().to_vec());
    let dataset = TextLog.open(&source, &Context::default()).unwrap();
    let mut events = dataset.timeline().unwrap().events(&Window::default()).unwrap();
    let mut times = Vec::new();
    while let Some(event) = events.next().unwrap() {
        times.push(event.time.unwrap().0 / 1_000_000_000);
    }
    let found = dataset.findings().into_iter().filter(|finding| finding.rule == "line");
    (times, found.map(|finding| finding.message).collect())
}

/// As `date -u -d … +%s` tells them: the second of two years has a 29 February, the first has none.
#[test]
fn a_29_february_is_of_the_year_that_it_falls_into() {
    let head = |year| {
        let keys = format!("# time = \"%b %d %H:%M:%S\"\n# year = {year}\n");
        format!("# kymo log\n{keys}# [[line]]\n# match = '^(?<time>.{{15}}) (?<text>.*)'\n")
    };
    let lines = "Dec 31 23:00:00 a\nJan 01 01:00:00 b\nFeb 28 12:00:00 c\nFeb 29 12:00:00 d\n\
                 Mar 01 12:00:00 e\n";
    let (times, wrong) = findings(&(head(2027) + lines));
    assert_eq!(times, [1_830_294_000, 1_830_301_200, 1_835_352_000, 1_835_438_400, 1_835_524_800]);
    assert_eq!(wrong, Vec::<String>::new());
    let (times, wrong) = findings(&(head(2028) + lines));
    assert_eq!(times, [1_861_916_400, 1_861_923_600, 1_866_974_400, 1_867_060_800]);
    assert_eq!(wrong, ["its day is not in the year that it is of: Feb 29 12:00:00 d"]);
}

/// `timd` for `time` in one of the patterns: its lines are events without a time, beside one that has
/// a time. Whoever shows tasks leaves them out and says so, and so does `check`.
#[test]
fn events_without_a_time_beside_others_are_found() {
    let mut log = fs::read(sample("pump.log")).unwrap();
    let sound = Source::from_bytes("pump.log", log.clone());
    assert_eq!(TextLog.check(&sound, &Context::default()).unwrap(), []);
    assert_eq!(&log[155..159], b"time");
    log[158] ^= 1;
    let line = log.windows(5).position(|text| text == b"0.75 ").unwrap() as u64;
    let damaged = Source::from_bytes("pump.log", log);
    let found = TextLog.check(&damaged, &Context::default()).unwrap();
    let found: Vec<_> = found.into_iter().map(|finding| (finding.rule, finding.offset)).collect();
    assert_eq!(found, [("untimed", Some(line))]);
    let opened = TextLog.open(&damaged, &Context::default()).unwrap();
    assert_eq!(opened.findings()[0].rule, "untimed");
}
