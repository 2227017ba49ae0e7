//! `testdata/ctf/control`: a trace as tracers of Linux lay them out, written here from the
//! specification of CTF 1.8, with what happens in it worked out by hand. babeltrace2 reads it as we
//! do.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use kymo_conformance::{golden, testdata};
use kymo_core::bytes::Limits;
use kymo_core::{Context, Probe, Source};
use kymo_ctf::Ctf;
use kymo_model::timeline::{ClockId, Content, TimeNs, TrackId, TrackStatistics, Window};
use kymo_model::{Confidence, Dataset, Format};

const METADATA: &str = include_str!("control.tsdl");

/// The same in the language of version 2, as `LTTng` from 2.15 on writes it.
const METADATA_2: &str = include_str!("control.jsonseq");

const UUID: [u8; 16] = *b"kymo-ctf-control";

fn metadata() -> Vec<u8> {
    packed(METADATA)
}

/// Metadata in one packet, as tracers write it.
fn packed(text: &str) -> Vec<u8> {
    packed_as([1, 8], text)
}

fn packed_as(version: [u8; 2], text: &str) -> Vec<u8> {
    let bits = u32::try_from((37 + text.len()) * 8).unwrap();
    let mut bytes = 0x75D1_1D57_u32.to_le_bytes().to_vec();
    bytes.extend(UUID);
    bytes.extend([0, bits, bits].iter().flat_map(|number| number.to_le_bytes()));
    // Nothing is compressed, encrypted or summed up.
    bytes.extend([0, 0, 0]);
    bytes.extend(version);
    bytes.extend(text.as_bytes());
    bytes
}

/// A packet, whose times are in nanoseconds after the begin.
struct Packet {
    cpu: u32,
    number: u64,
    times: (u64, u64),
    /// The task that runs, where every event has it as a context.
    running: Option<i32>,
    events: Vec<u8>,
}

/// The clock at the begin of the trace.
const START: u64 = 5_000_000_000;

impl Packet {
    fn new(cpu: u32, number: u64, times: (u64, u64)) -> Self {
        Self { cpu, number, times, running: None, events: Vec::new() }
    }

    /// The context that every event has, where it has one.
    fn context(self) -> Self {
        let running = self.running;
        match running {
            Some(tid) => self.i32(tid),
            None => self,
        }
    }

    /// The header of an event: five bits of its id, and 27 of the time.
    fn head(mut self, id: u32, time: u64) -> Self {
        let time = u32::try_from((START + time) & 0x7FF_FFFF).unwrap();
        self.events.extend((id | time << 5).to_le_bytes());
        self.context()
    }

    /// The header of an event with an id of 32 bits and all of the time; it begins at a byte.
    fn long_head(mut self, id: u32, time: u64) -> Self {
        self.events.push(31);
        self.events.extend(id.to_le_bytes());
        self.events.extend((START + time).to_le_bytes());
        self.context()
    }

    fn comm(mut self, name: &str) -> Self {
        let mut comm = [0; 16];
        comm[..name.len()].copy_from_slice(name.as_bytes());
        self.events.extend(comm);
        self
    }

    fn i32(mut self, number: i32) -> Self {
        self.events.extend(number.to_le_bytes());
        self
    }

    fn i64(mut self, number: i64) -> Self {
        self.events.extend(number.to_le_bytes());
        self
    }

    fn switch(self, time: u64, stops: Task, state: i64, runs: Task) -> Self {
        let before = self.head(0, time).comm(stops.0).i32(stops.1).i32(stops.2).i64(state);
        let mut packet = before.comm(runs.0).i32(runs.1).i32(runs.2);
        packet.running = packet.running.map(|_| runs.1);
        packet
    }

    fn waking(self, time: u64, task: Task, cpu: i32) -> Self {
        self.head(1, time).comm(task.0).i32(task.1).i32(task.2).i32(cpu)
    }

    fn irq(self, time: u64, number: i32, name: &str) -> Self {
        let mut packet = self.head(2, time).i32(number);
        packet.events.extend(name.as_bytes());
        packet.events.push(0);
        packet
    }

    fn irq_end(self, time: u64, number: i32) -> Self {
        self.head(3, time).i32(number).i32(1)
    }

    /// All of it, filled up to 1024 bytes.
    fn bytes(self) -> Vec<u8> {
        let mut bytes = 0xC1FC_1FC1_u32.to_le_bytes().to_vec();
        bytes.extend(UUID);
        bytes.extend(0_u32.to_le_bytes());
        let content = (24 + 52 + self.events.len()) as u64 * 8;
        let (begin, end) = self.times;
        for number in [START + begin, START + end, content, 8192, self.number, 0] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(self.cpu.to_le_bytes());
        bytes.extend(self.events);
        bytes.resize(1024, 0);
        bytes
    }
}

/// Its name, its number and its priority.
type Task = (&'static str, i32, i32);

const IDLE0: Task = ("swapper/0", 0, 20);
const IDLE1: Task = ("swapper/1", 0, 20);
const CONTROL: Task = ("control", 101, -51);
const LOGGER: Task = ("logger", 102, 20);
const KWORKER: Task = ("kworker/1:2", 33, 20);

/// On the first processor control answers within 4.4 µs, then within 5.2 µs, since logger takes two
/// of them; in its first job there is an interrupt.
fn first_processor(running: Option<i32>) -> Vec<u8> {
    let first = Packet { running, ..Packet::new(0, 0, (0, 6_000)) }
        .waking(1_000, CONTROL, 0)
        .switch(1_400, IDLE0, 0, CONTROL)
        .irq(2_000, 5, "eth0")
        .irq_end(2_300, 5)
        .switch(5_400, CONTROL, 1, IDLE0);
    let second = Packet { running, ..Packet::new(0, 1, (6_000, 17_000)) }
        .waking(11_000, CONTROL, 0)
        .switch(11_200, IDLE0, 0, CONTROL)
        .switch(13_200, CONTROL, 0, LOGGER)
        .switch(15_200, LOGGER, 1, CONTROL)
        .switch(16_200, CONTROL, 2, IDLE0);
    [first.bytes(), second.bytes()].concat()
}

/// On the second, logger runs first; the second time it is woken for the other. An event has a long
/// header and an array.
fn second_processor(running: Option<i32>) -> Vec<u8> {
    let packet = Packet { running, ..Packet::new(1, 0, (1_000, 21_000)) }
        .waking(1_500, LOGGER, 1)
        .switch(1_600, IDLE1, 0, LOGGER)
        .switch(4_600, LOGGER, 1, IDLE1)
        .long_head(40, 12_000)
        .i32(3)
        .i32(7)
        .i32(-8)
        .i32(9)
        .waking(12_500, LOGGER, 0)
        .switch(20_000, IDLE1, 0, KWORKER);
    packet.bytes()
}

fn folder() -> PathBuf {
    testdata("ctf/control")
}

fn dataset() -> Box<dyn Dataset> {
    let source = Source::open(&folder(), &Limits::default()).unwrap();
    Ctf.open(&source, &Context::default()).unwrap()
}

#[test]
fn the_trace_is_what_is_written_here() {
    let second = packed_as([2, 0], METADATA_2);
    for (folder, metadata) in [(folder(), metadata()), (testdata("ctf/control2"), second)] {
        let files = [
            ("metadata", metadata),
            ("channel0_0", first_processor(None)),
            ("channel0_1", second_processor(None)),
        ];
        for (name, bytes) in files {
            let path = folder.join(name);
            if golden::blessing() {
                fs::create_dir_all(&folder).unwrap();
                fs::write(&path, &bytes).unwrap();
            }
            assert!(fs::read(&path).unwrap() == bytes, "{name} (BLESS=1 rewrites it)");
        }
    }
}

/// What happens to tasks: the name of the track, when, and what.
fn activities(folder: &Path) -> Vec<(String, i64, String)> {
    let source = Source::open(folder, &Limits::default()).unwrap();
    let timeline = Ctf.open(&source, &Context::default()).unwrap().timeline().unwrap();
    let tracks = timeline.tracks();
    let mut events = timeline.events(&Window::default()).unwrap();
    let mut found = Vec::new();
    while let Some(event) = events.next().unwrap() {
        if let Content::Activity(activity) = &event.content {
            let name = tracks[event.track.0].name.clone();
            found.push((name, event.time.unwrap().0, activity.to_string()));
        }
    }
    found
}

/// What is between the second begin of 5 and the first is missing; what ends, or is within another,
/// comes again.
#[test]
fn interrupts_that_come_again_before_they_ended_are_found() {
    let packet = Packet::new(0, 0, (0, 6_000))
        .irq(1_000, 5, "eth0")
        .irq(2_000, 6, "eth1")
        .irq_end(2_100, 6)
        .irq(2_200, 6, "eth1")
        .irq(3_000, 5, "eth0")
        .irq(3_100, 6, "eth1")
        .irq_end(3_200, 5)
        .switch(4_000, IDLE0, 0, CONTROL)
        .irq(4_100, 6, "eth1")
        .switch(4_200, CONTROL, 0, IDLE0)
        .irq(4_300, 6, "eth1");
    let made = tempfile::tempdir().unwrap();
    fs::write(made.path().join("metadata"), metadata()).unwrap();
    fs::write(made.path().join("channel0_0"), packet.bytes()).unwrap();
    let source = Source::open(made.path(), &Limits::default()).unwrap();
    let found = Ctf.check(&source, &Context::default()).unwrap();
    let [found] = &found[..] else { panic!("{found:?}") };
    let message = "on cpu 0, irq 5 comes again before it ended: events are missing";
    assert_eq!((found.rule, found.message.as_str()), ("unended-interrupt", message));
}

/// Both processors are idle at first, so that the context of the first events is task 0. It is the
/// task that wakes another; which one is woken stands among the fields.
#[test]
fn a_context_of_the_running_task_says_nothing_of_the_woken_one() {
    let context = "packet.context := struct packet_context;
        event.context := struct { integer { size = 32; align = 8; signed = 1; } _tid; };";
    let with_context = METADATA.replacen("packet.context := struct packet_context;", context, 1);
    let made = tempfile::tempdir().unwrap();
    let files = [
        ("metadata", packed(&with_context)),
        ("channel0_0", first_processor(Some(0))),
        ("channel0_1", second_processor(Some(0))),
    ];
    for (name, bytes) in files {
        fs::write(made.path().join(name), bytes).unwrap();
    }
    let found = activities(made.path());
    let releases = found.iter().filter(|(_, _, what)| what.starts_with("release"));
    let releases: Vec<_> = releases.map(|(name, ..)| name.as_str()).collect();
    assert_eq!(releases, ["control-101", "logger-102", "control-101", "logger-102"]);
    assert_eq!(found, activities(&folder()));
}

/// A trace whose second packet says that it is of later, and whose event is of earlier: the last
/// event is before the first.
fn damaged() -> Vec<u8> {
    let first = Packet::new(0, 0, (0, 6_000)).waking(5_000, CONTROL, 0);
    let second = Packet::new(0, 1, (500, 7_000)).long_head(40, 1_000).i32(0);
    [first.bytes(), second.bytes()].concat()
}

#[test]
fn a_range_begins_before_it_ends_in_a_damaged_trace_too() {
    let folder = testdata("ctf/bad/time_back");
    for (name, bytes) in [("metadata", metadata()), ("channel0_0", damaged())] {
        let path = folder.join(name);
        if golden::blessing() {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, &bytes).unwrap();
        }
        assert!(fs::read(&path).unwrap() == bytes, "{name} (BLESS=1 rewrites it)");
    }
    let source = Source::open(&folder, &Limits::default()).unwrap();
    let dataset = Ctf.open(&source, &Context::default()).unwrap();
    let timeline = dataset.timeline().unwrap();
    let range = timeline.range(ClockId(0)).unwrap().unwrap();
    let start = 1_700_000_005_000_000_000;
    assert_eq!((range.start().0 - start, range.end().0 - start), (1_000, 5_000));
    let found = Ctf.check(&source, &Context::default()).unwrap();
    let found: Vec<_> =
        found.iter().map(|finding| (finding.rule, finding.message.as_str())).collect();
    assert_eq!(found, [("time-order", "time goes back by 4000 ns")]);
}

fn rules(dataset: &dyn Dataset) -> Vec<(&'static str, String)> {
    dataset.findings().into_iter().map(|finding| (finding.rule, finding.message)).collect()
}

/// Whoever reads events says that their times go back, each once: a summary, all events, a count of
/// them, and the last ones.
#[test]
fn whoever_reads_events_says_that_time_goes_back() {
    let source = Source::open(&testdata("ctf/bad/time_back"), &Limits::default()).unwrap();
    let expected = [("time-order", "time goes back by 4000 ns".to_owned())];
    let dataset = || Ctf.open(&source, &Context::default()).unwrap();
    let summarised = dataset();
    assert_eq!(rules(&*summarised), []);
    drop(summarised.summary());
    assert_eq!(rules(&*summarised), expected);
    let windows = [Window::default(), Window { last: Some(1), ..Window::default() }];
    for window in windows {
        let (read, counted) = (dataset(), dataset());
        let mut events = read.timeline().unwrap().events(&window).unwrap();
        while events.next().unwrap().is_some() {}
        assert_eq!(rules(&*read), expected);
        drop(counted.timeline().unwrap().tallies(&window).unwrap());
        assert_eq!(rules(&*counted), expected);
    }
}

/// What a stream tells twice happened once. Packets that only look alike stay: another number, other
/// events.
#[test]
fn packets_that_are_there_twice_are_read_once() {
    let made = tempfile::tempdir().unwrap();
    let packet = |number, task| Packet::new(0, number, (0, 6_000)).waking(5_000, task, 0).bytes();
    let twice = [packet(0, CONTROL), packet(0, CONTROL)].concat();
    let alike = [twice.clone(), packet(0, LOGGER), packet(1, CONTROL)].concat();
    for (bytes, events) in [(twice, 1), (alike, 3)] {
        for (name, bytes) in [("metadata", metadata()), ("channel0_0", bytes)] {
            fs::write(made.path().join(name), bytes).unwrap();
        }
        let source = Source::open(made.path(), &Limits::default()).unwrap();
        let dataset = Ctf.open(&source, &Context::default()).unwrap();
        assert_eq!(times(&*dataset, &Window::default()).len(), events);
        let expected = "1 packet of channel0_0 is there twice, and read once".to_owned();
        assert_eq!(rules(&*dataset), [("repeated-packets", expected)]);
    }
}

/// One event that is far too late, and five that are then too early; two packets whose event nothing
/// describes.
#[test]
fn one_wrong_time_hides_nothing_else_that_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let at = |packet: Packet, time| packet.long_head(40, time).i32(0);
    let late = at(Packet::new(0, 0, (0, 9_000)), 8_000);
    let late = (1..=5).fold(late, |packet, time| at(packet, time * 1_000));
    let unknown = |number| Packet::new(1, number, (0, 1_000)).long_head(4_000, 500).bytes();
    let files = [
        ("metadata", metadata()),
        ("channel0_0", late.bytes()),
        ("channel0_1", [unknown(0), unknown(1)].concat()),
    ];
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    let source = Source::open(folder.path(), &Limits::default()).unwrap();
    let rules = |findings_max| {
        let limits = Limits { findings_max, ..Limits::default() };
        let found = Ctf.check(&source, &Context { limits, ..Context::default() }).unwrap();
        found.into_iter().map(|finding| (finding.rule, finding.message)).collect::<Vec<_>>()
    };
    let all = rules(100);
    assert_eq!(
        all.iter().map(|pair| pair.0).collect::<Vec<_>>(),
        ["time-order", "unreadable", "unreadable"]
    );
    assert_eq!(all[0].1, "time goes back by 7000 ns (5 times)");
    let few = rules(1);
    assert_eq!(few.iter().map(|pair| pair.0).collect::<Vec<_>>(), ["time-order", "too-many"]);
    assert_eq!(few[1].1, "2 further findings are not listed: 2 errors");
}

/// Two processors. The first has a packet that ends in something of a far later time, one that ends
/// in something of its own time, and a sound one; what ends them nothing describes.
fn with_damaged_ends() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let first = [
        Packet::new(0, 0, (0, 2_000)).waking(1_000, CONTROL, 0).long_head(4_000, 900_000),
        Packet::new(0, 1, (2_000, 4_000)).waking(3_000, CONTROL, 0).long_head(4_000, 3_500),
        Packet::new(0, 2, (6_000, 7_000)).waking(6_500, CONTROL, 0),
    ];
    let other = [500, 2_500, 4_500, 8_000].into_iter();
    let other =
        other.fold(Packet::new(1, 0, (0, 9_000)), |packet, time| packet.waking(time, CONTROL, 0));
    let files = [
        ("metadata", metadata()),
        ("channel0_0", first.map(Packet::bytes).concat()),
        ("channel0_1", other.bytes()),
    ];
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

/// When events of streams are, after the begin, in their order.
fn times(dataset: &dyn Dataset, window: &Window) -> Vec<i64> {
    let mut events = dataset.timeline().unwrap().events(window).unwrap();
    let mut times = Vec::new();
    while let Some(event) = events.next().unwrap() {
        if event.track.0 < 2 {
            times.push(event.time.unwrap().0 - 1_700_000_005_000_000_000);
        }
    }
    times
}

#[test]
fn packets_after_damage_come_in_the_order_of_their_times() {
    let folder = with_damaged_ends();
    let source = Source::open(folder.path(), &Limits::default()).unwrap();
    let dataset = Ctf.open(&source, &Context::default()).unwrap();
    let expected = [500, 1_000, 2_500, 3_000, 4_500, 6_500, 8_000];
    assert_eq!(times(&*dataset, &Window::default()), expected);
    let found = Ctf.check(&source, &Context::default()).unwrap();
    assert_eq!(found.iter().map(|finding| finding.rule).collect::<Vec<_>>(), ["unreadable"; 2]);
}

#[test]
fn the_last_events_are_the_last_of_all() {
    let folder = with_damaged_ends();
    let source = Source::open(folder.path(), &Limits::default()).unwrap();
    let dataset = Ctf.open(&source, &Context::default()).unwrap();
    let tracks = Some(vec![TrackId(0), TrackId(1)]);
    let all = times(&*dataset, &Window::default());
    for last in 0..=all.len() {
        let window =
            Window { tracks: tracks.clone(), last: Some(last as u64), ..Window::default() };
        assert_eq!(times(&*dataset, &window), all[all.len() - last..], "{last}");
    }
    let until = Some(TimeNs(1_700_000_005_000_004_500));
    let window = Window { tracks, last: Some(3), until, ..Window::default() };
    assert_eq!(times(&*dataset, &window), [1_000, 2_500, 3_000]);
}

#[test]
fn a_stream_by_itself_is_told_from_a_trace() {
    let bytes = Packet::new(0, 0, (0, 1_000)).bytes();
    let source = Source::from_bytes("channel0_0", bytes.clone());
    let probe = Probe {
        head: &bytes,
        size_bytes: bytes.len() as u64,
        path: "channel0_0".as_ref(),
        is_directory: false,
        has_grammar: false,
    };
    assert_eq!(Ctf.sniff(&probe), Some(Confidence::Plausible));
    let error = Ctf.open(&source, &Context::default()).err().unwrap();
    let why = "this is a stream of a CTF trace: name the directory it is in";
    assert_eq!(error.to_string(), format!("metadata at byte 0x0: {why}"));
    // Whatever bytes are checked, that is an answer and no failure.
    let found = Ctf.check(&source, &Context::default()).unwrap();
    let found: Vec<_> = found.iter().map(|finding| (finding.rule, finding.offset)).collect();
    assert_eq!(found, [("unreadable", Some(0))]);
}

/// Streams without what describes them are a trace that cannot be read, whatever else is there.
#[test]
fn streams_without_metadata_are_a_trace_that_lacks_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let claim = || Ctf.sniff(&Source::open(folder.path(), &Limits::default()).unwrap().probe());
    let why = || {
        let source = Source::open(folder.path(), &Limits::default()).unwrap();
        Ctf.open(&source, &Context::default()).err().unwrap().to_string()
    };
    assert_eq!(claim(), None);
    fs::write(at("channel0_0"), Packet::new(0, 0, (0, 1_000)).bytes()).unwrap();
    fs::create_dir(at("index")).unwrap();
    assert_eq!(claim(), Some(Confidence::Name));
    assert_eq!(why(), "`metadata` is missing, which describes the streams of a CTF trace");
    let mut damaged = metadata();
    damaged[0] ^= 1;
    fs::write(at("metadata"), damaged).unwrap();
    assert_eq!(claim(), Some(Confidence::Name));
    let expected = "metadata: signature at byte 0x0: it does not begin as metadata of CTF does";
    assert_eq!(why(), expected);
    // Metadata of version 2 has a mark before it, or says that it begins.
    for second in ["\x1e{\"type\":\"preamble\"}", " \x1e\n {", "{ \"type\": \"preamble\" }"] {
        fs::write(at("metadata"), second).unwrap();
        assert_eq!(claim(), Some(Confidence::Magic), "{second}");
    }
    fs::write(at("metadata"), "{ \"type\": \"another\" }").unwrap();
    assert_eq!(claim(), Some(Confidence::Name));
    // Other files make it a folder of several things.
    fs::remove_file(at("metadata")).unwrap();
    fs::write(at("notes.txt"), "of the run").unwrap();
    assert_eq!(claim(), None);
}

#[test]
fn a_trace_of_nothing_but_metadata_is_said_to_be_empty() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("metadata"), metadata()).unwrap();
    let source = Source::open(folder.path(), &Limits::default()).unwrap();
    let found = Ctf.check(&source, &Context::default()).unwrap();
    assert_eq!(found.iter().map(|finding| finding.rule).collect::<Vec<_>>(), ["empty"]);
}

/// Time after the begin, track and content of what happens to tasks and processors.
#[test]
fn what_tasks_do_is_as_worked_out_by_hand() {
    let (dataset, mut found) = (dataset(), Vec::new());
    let timeline = dataset.timeline().unwrap();
    let tracks = timeline.tracks();
    let mut events = timeline.events(&Window::default()).unwrap();
    while let Some(event) = events.next().unwrap() {
        if let Content::Activity(activity) = &event.content {
            let time = event.time.unwrap().0 - 1_700_000_005_000_000_000;
            found.push(format!("{time} {}: {activity}", tracks[event.track.0].name));
        }
    }
    let expected = [
        "1000 control-101: release",
        "1400 swapper/0: end",
        "1400 control-101: begin, priority -51",
        "1500 logger-102: release",
        "1600 swapper/1: end",
        "1600 logger-102: begin, priority 20",
        "2000 cpu 0: begin irq 5 eth0",
        "2300 cpu 0: end irq 5",
        "4600 logger-102: complete",
        "4600 logger-102: end",
        "4600 swapper/1: begin, priority 20",
        "5400 control-101: complete",
        "5400 control-101: end",
        "5400 swapper/0: begin, priority 20",
        "11000 control-101: release",
        "11200 swapper/0: end",
        "11200 control-101: begin, priority -51",
        "12500 logger-102: release",
        "13200 control-101: end",
        "13200 logger-102: begin, priority 20",
        "15200 logger-102: complete",
        "15200 logger-102: end",
        "15200 control-101: begin, priority -51",
        "16200 control-101: complete",
        "16200 control-101: end",
        "16200 swapper/0: begin, priority 20",
        "20000 swapper/1: end",
        "20000 kworker/1:2-33: begin, priority 20",
    ];
    assert_eq!(found, expected);
    assert_eq!(dataset.findings(), []);
}

/// Names and fields of all events, in order, as babeltrace2 has them; `cargo xtask ci` installs it.
#[test]
fn babeltrace_reads_the_same() {
    let options = ["--clock-cycles", "--no-delta", "--fields=trace:hostname"];
    let output = Command::new("babeltrace2").args(options).arg(folder()).output();
    let output = output.expect("babeltrace2 is to be installed");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let expected: Vec<_> = String::from_utf8(output.stdout).unwrap().lines().map(event).collect();
    let (dataset, mut found) = (dataset(), Vec::new());
    let mut events = dataset.timeline().unwrap().events(&Window::default()).unwrap();
    while let Some(event) = events.next().unwrap() {
        if let Content::Text(text) = &event.content {
            let ticks = event.time.unwrap().0 - 1_700_000_000_000_000_000;
            found.push((ticks, text.to_string()));
        }
    }
    assert_eq!(found.len(), 16);
    assert_eq!(found, expected);
}

/// `[00000000005000001000] board sched_waking: { cpu_id = 0 }, { comm = "control" }`
fn event(line: &str) -> (i64, String) {
    let (time, rest) = line.strip_prefix('[').unwrap().split_once("] board ").unwrap();
    let (name, rest) = rest.split_once(": ").unwrap();
    let (_, fields) = rest.split_once(" }, ").unwrap();
    (time.parse().unwrap(), format!("{name}: {fields}"))
}

/// The trace as the kernel's part of a session, and again as that of a program of a user.
fn session() -> tempfile::TempDir {
    let session = tempfile::tempdir().unwrap();
    for part in ["kernel", "ust/uid/1000/64-bit"] {
        let part = session.path().join(part);
        fs::create_dir_all(&part).unwrap();
        for name in ["metadata", "channel0_0", "channel0_1"] {
            fs::copy(folder().join(name), part.join(name)).unwrap();
        }
    }
    session
}

#[test]
fn a_session_is_one_recording_on_one_clock() {
    let session = session();
    // In the second trace another UUID stands, and its clock begins a nanosecond later.
    let metadata = session.path().join("ust/uid/1000/64-bit/metadata");
    let text = METADATA.replace("6b796d6f-", "6b796d70-");
    let text = text.replace("offset = 1700000000000000000", "offset = 1700000000000000001");
    fs::write(&metadata, text).unwrap();
    let source = Source::open(session.path(), &Limits::default()).unwrap();
    assert!(Ctf.sniff(&source.probe()).is_some());
    let dataset = Ctf.open(&source, &Context::default()).unwrap();
    let timeline = dataset.timeline().unwrap();
    assert_eq!(timeline.clocks().len(), 1);
    let tracks = timeline.tracks();
    let streams: Vec<_> = tracks.iter().filter(|item| item.content == "ctf").collect();
    let names: Vec<_> = streams.iter().map(|track| track.name.as_str()).collect();
    let ust = "ust/uid/1000/64-bit";
    let expected = ["kernel/channel0_0", "kernel/channel0_1"].map(str::to_owned);
    let expected = [expected, [0, 1].map(|cpu| format!("{ust}/channel0_{cpu}"))].concat();
    assert_eq!(names, expected);
    let mut events = timeline.events(&Window::default()).unwrap();
    let mut texts = Vec::new();
    while let Some(event) = events.next().unwrap() {
        if let Content::Text(text) = &event.content {
            texts.push((event.time.unwrap().0, text.to_string()));
        }
    }
    // Each event is there twice, a nanosecond apart.
    assert_eq!(texts.len(), 32);
    for pair in texts.chunks(2) {
        assert_eq!((pair[0].0 + 1, &pair[0].1), (pair[1].0, &pair[1].1));
    }
    assert_eq!(dataset.findings(), []);
}

/// A part of a session that was rotated away has the UUID of what came after it.
#[test]
fn a_session_that_was_rotated_is_whole_again() {
    let session = tempfile::tempdir().unwrap();
    let parts = ["archives/20261117T120000+0000-1/kernel", "kernel"];
    let (bytes, half) = (first_processor(None), 1024);
    for (part, bytes) in parts.into_iter().zip([&bytes[..half], &bytes[half..]]) {
        let part = session.path().join(part);
        fs::create_dir_all(&part).unwrap();
        fs::write(part.join("metadata"), metadata()).unwrap();
        fs::write(part.join("channel0_0"), bytes).unwrap();
    }
    let source = Source::open(session.path(), &Limits::default()).unwrap();
    assert!(Ctf.sniff(&source.probe()).is_some());
    let dataset = Ctf.open(&source, &Context::default()).unwrap();
    let tracks = dataset.timeline().unwrap().tracks();
    assert_eq!(tracks.iter().filter(|track| track.content == "ctf").count(), 1);
    let counted = kymo_ctf::Reader::open(&source, &Context::default()).unwrap().count();
    assert_eq!(counted, 10);
    assert_eq!(Ctf.check(&source, &Context::default()).unwrap(), []);
}

#[test]
fn of_a_session_the_traces_are_read_that_can_be() {
    let session = session();
    let metadata = session.path().join("ust/uid/1000/64-bit/metadata");
    fs::write(&metadata, "/* CTF 1.8 */ trace {").unwrap();
    let source = Source::open(session.path(), &Limits::default()).unwrap();
    let dataset = Ctf.open(&source, &Context::default()).unwrap();
    let found = dataset.findings();
    let file = found[0].file.as_deref();
    assert_eq!(
        (found.len(), found[0].rule, file),
        (1, "unreadable", Some("ust/uid/1000/64-bit/metadata"))
    );
    assert_eq!(kymo_ctf::Reader::open(&source, &Context::default()).unwrap().count(), 16);
    fs::write(session.path().join("kernel/metadata"), "/* CTF 1.8 */ trace {").unwrap();
    let source = Source::open(session.path(), &Limits::default()).unwrap();
    assert!(Ctf.open(&source, &Context::default()).is_err());
}

/// A link leads round, and another to a trace that is read: its 16 events are there once.
#[cfg(unix)]
#[test]
fn links_to_what_is_read_lead_to_nothing_more() {
    use std::os::unix::fs::symlink;
    let session = session();
    fs::remove_dir_all(session.path().join("ust/uid")).unwrap();
    symlink("../kernel", session.path().join("ust/again")).unwrap();
    symlink("..", session.path().join("ust/round")).unwrap();
    let source = Source::open(session.path(), &Limits::default()).unwrap();
    let reader = kymo_ctf::Reader::open(&source, &Context::default()).unwrap();
    assert_eq!((reader.parts().len(), reader.count()), (1, 16));
    let found = reader.findings();
    let found: Vec<_> =
        found.iter().map(|finding| (finding.rule, finding.file.as_deref().unwrap())).collect();
    assert_eq!(found, [("linked", "ust/again"), ("linked", "ust/round")]);
}

#[test]
fn a_folder_that_is_called_kernel_is_no_session_by_that() {
    let other = tempfile::tempdir().unwrap();
    fs::create_dir_all(other.path().join("kernel/ust")).unwrap();
    fs::write(other.path().join("kernel/metadata"), b"something else").unwrap();
    let source = Source::open(other.path(), &Limits::default()).unwrap();
    assert_eq!(Ctf.sniff(&source.probe()), None);
}

#[test]
fn fields_have_their_names_types_and_values() {
    let mut events = dataset().timeline().unwrap().events_with_fields(&Window::default()).unwrap();
    let mut found = Vec::new();
    while let Some(event) = events.next().unwrap() {
        if let Content::Fields(fields) = &event.content {
            let bits: Vec<_> = fields.fields.iter().map(|field| field.bits.unwrap_or(0)).collect();
            found.push((fields.to_string(), bits));
        }
    }
    assert_eq!(found.len(), 16);
    let waking = "sched_waking: comm = control, tid = 101, prio = -51, target_cpu = 0";
    assert_eq!(found[0], (waking.to_owned(), vec![0, 32, 32, 32]));
    let switch = "sched_switch: prev_comm = swapper/0, prev_tid = 0, prev_prio = 20, \
                  prev_state = 0, next_comm = control, next_tid = 101, next_prio = -51";
    assert_eq!(found[1], (switch.to_owned(), vec![0, 32, 32, 64, 0, 32, 32]));
    assert!(found.iter().any(|(text, _)| text.ends_with("= [7, -8, 9]")), "{found:?}");
}

/// Metadata of packets without times, whose events have eight bits of the clock.
const UNTIMED: &str = "/* CTF 1.8 */
    typealias integer { size = 8; align = 8; } := u8;
    trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u8 stream_id; }; };
    clock { name = c; };
    stream { id = 0; packet.context := struct { u8 packet_size; u8 content_size; u8 cpu_id; };
        event.header := struct { u8 id; integer { size = 8; map = clock.c.value; } timestamp; }; };
    event { name = e; id = 0; };";

/// A packet of the first processor with events at some ticks.
fn untimed(ticks: &[u8]) -> Vec<u8> {
    let bits = u8::try_from((4 + 2 * ticks.len()) * 8).unwrap();
    let events = ticks.iter().flat_map(|ticks| [0, *ticks]);
    [0, bits, bits, 0].into_iter().chain(events).collect()
}

/// When events are, as babeltrace2 has them: the clock goes on from packet to packet of a file, and
/// begins anew with the next file. In the second trace the first file has the later packet.
#[test]
fn packets_without_times_are_placed_by_their_events() {
    let one = [("a", vec![untimed(&[10, 200, 5]), untimed(&[7, 3]), untimed(&[9])])];
    let two = [
        ("a", vec![untimed(&[100, 120])]),
        ("b", vec![untimed(&[10, 50]), untimed(&[]), untimed(&[60])]),
    ];
    let traces =
        [(&one[..], vec![10, 200, 261, 263, 515, 521]), (&two, vec![10, 50, 60, 100, 120])];
    for (files, expected) in traces {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("metadata"), UNTIMED).unwrap();
        for (name, packets) in files {
            fs::write(folder.path().join(name), packets.concat()).unwrap();
        }
        let source = Source::open(folder.path(), &Limits::default()).unwrap();
        assert_eq!(Ctf.check(&source, &Context::default()).unwrap(), []);
        let timeline = Ctf.open(&source, &Context::default()).unwrap().timeline().unwrap();
        let times = |window: Window| {
            let mut events = Arc::clone(&timeline).events(&window).unwrap();
            let mut times = Vec::new();
            while let Some(event) = events.next().unwrap() {
                times.push(event.time.unwrap().0);
            }
            times
        };
        assert_eq!(times(Window::default()), expected);
        for from in 0..expected.len() {
            let last = Some((expected.len() - from) as u64);
            assert_eq!(times(Window { last, ..Window::default() }), expected[from..]);
            let since = Some(TimeNs(expected[from]));
            assert_eq!(times(Window { from: since, ..Window::default() }), expected[from..]);
        }
        let range = TimeNs(expected[0])..=TimeNs(*expected.last().unwrap());
        assert_eq!(Arc::clone(&timeline).range(ClockId(0)).unwrap(), Some(range));
    }
}

/// Counted without their texts, as they are when all are read; also of some streams, and of a range.
#[test]
fn tallies_are_those_of_all_events() {
    let timeline = dataset().timeline().unwrap();
    let start = 1_700_000_005_000_000_000;
    let (from, until) = (Some(TimeNs(start + 2_300)), Some(TimeNs(start + 13_200)));
    let tracks = Some(vec![TrackId(1), TrackId(3), TrackId(5)]);
    let windows = [
        Window::default(),
        Window { from, until, ..Window::default() },
        Window { tracks, until, ..Window::default() },
        Window { tracks: Some(vec![TrackId(0)]), ..Window::default() },
        Window { last: Some(5), ..Window::default() },
    ];
    let count = timeline.tracks().len();
    for window in windows {
        let mut events = Arc::clone(&timeline).events(&window).unwrap();
        let expected = TrackStatistics::from_events(&mut *events, count).unwrap();
        assert_eq!(Arc::clone(&timeline).tallies(&window).unwrap(), expected, "{window:?}");
    }
}
