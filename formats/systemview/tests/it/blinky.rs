//! A small recording, with what is in it worked out by hand.

use crate::support;

use std::path::Path;

use kymo_core::{Context, Severity, Source};
use kymo_model::timeline::{ClockId, Content, TimeNs, Track, Window};
use kymo_model::{Confidence, Format};
use kymo_systemview::{Reader, SystemView};

/// The sample of the repository is what the bytes here say.
#[test]
fn the_sample_is_put_together_by_hand() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/systemview/blinky.svdat");
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, support::recording()).unwrap();
    }
    assert_eq!(std::fs::read(path).unwrap(), support::recording());
}

#[test]
fn times_are_as_worked_out_by_hand() {
    let source = Source::from_bytes("blinky.svdat", support::recording());
    let reader = Reader::open(&source, &Context::default()).unwrap();
    let ticks: Vec<_> = reader.packets().map(|packet| packet.ticks).collect();
    let expected =
        [0, 5, 10, 12, 15, 25, 29, 31, 32, 38, 39, 41, 42, 49, 62, 63, 63 + 1024, 64 + 1024];
    assert_eq!(ticks, expected);
    assert_eq!(reader.time_ns(&reader.packets().last().unwrap()), Some(1_088_000));
    let timeline = SystemView.open(&source, &Context::default()).unwrap().timeline().unwrap();
    let range = timeline.range(ClockId(0)).unwrap();
    assert_eq!(range, Some(TimeNs(0)..=TimeNs(1_088_000)));
}

/// What tasks and interrupts do: the microsecond, the track and what it is.
fn told(recording: Vec<u8>) -> Vec<String> {
    let source = Source::from_bytes("blinky.svdat", recording);
    let dataset = SystemView.open(&source, &Context::default()).unwrap();
    let timeline = dataset.timeline().unwrap();
    let tracks = timeline.tracks();
    let mut events = timeline.events(&Window::default()).unwrap();
    let mut lines = Vec::new();
    while let Some(event) = events.next().unwrap() {
        if let Content::Activity(activity) = &event.content {
            let name = &tracks.get(event.track.0).unwrap().name;
            lines.push(format!("{} {name}: {activity}", event.time.unwrap().0 / 1000));
        }
    }
    lines
}

#[test]
fn tasks_and_interrupts_run_as_worked_out_by_hand() {
    let expected = [
        "25 cpu 0: begin SysTick",
        "29 blink: release",
        "31 cpu 0: end",
        "32 blink: begin, priority 3",
        "39 log: release",
        "41 blink: complete",
        "42 blink: end",
        "42 log: begin, priority 1",
        "62 log: complete",
        "62 log: end",
        "63 IDLE0: begin",
        "63 cpu 0: gap, events are missing",
    ];
    assert_eq!(told(support::recording()), expected);
}

/// A task that waits for a moment is made ready by an interrupt before another runs. Before that it
/// was made ready while it ran, which means nothing; and after that it goes on after an interrupt.
#[test]
fn a_task_that_begins_where_it_is_believed_to_run_had_stopped() {
    let packets = [
        vec![10, 0],
        vec![24, 6, 0xC0, 0x84, 0x3D, 1, 2, 0, 5],
        vec![4, 1, 5],
        vec![6, 1, 3],
        vec![2, 15, 7],
        vec![6, 1, 2],
        vec![18, 1],
        vec![4, 1, 2],
        vec![2, 15, 5],
        vec![18, 1],
        vec![4, 1, 2],
        vec![17, 9],
    ];
    let recording = [support::HEADER.to_vec(), packets.concat()].concat();
    let expected = [
        "10 task 1: begin",
        "13 task 1: release",
        "20 cpu 0: begin interrupt 15",
        "22 task 1: end",
        "22 task 1: release",
        "23 cpu 0: end",
        "25 task 1: begin",
        "30 cpu 0: begin interrupt 15",
        "31 cpu 0: end",
        "42 task 1: end",
        "42 IDLE0: begin",
    ];
    assert_eq!(told(recording), expected);
}

/// Of all packets that say again that there is nothing to do, or who runs, the last one of a core counts:
/// until then it is known.
#[test]
fn the_last_packet_that_says_again_who_runs_ends_a_stretch() {
    let start = [vec![10, 0], vec![24, 6, 0xC0, 0x84, 0x3D, 1, 2, 0, 5]].concat();
    let again = |packets: &[&[u8]]| {
        let recording = [support::HEADER, &start, &packets.concat()].concat();
        told(recording)
    };
    let idle = ["10 IDLE0: begin", "25 IDLE0: end", "25 IDLE0: begin"];
    assert_eq!(again(&[&[17, 5], &[17, 6], &[17, 9], &[2, 15, 7]])[..3], idle);
    let runs = ["10 task 1: begin", "19 task 1: end", "19 task 1: begin"];
    assert_eq!(again(&[&[4, 1, 5], &[4, 1, 6], &[4, 1, 3], &[11, 7]]), runs);
    let stops = ["10 IDLE0: begin", "19 IDLE0: complete", "19 IDLE0: end"];
    assert_eq!(again(&[&[17, 5], &[17, 6], &[5, 3]]), stops);
}

/// Priorities that change: 5 to begin with, as the first says that comes only later, then 7.
#[test]
fn a_task_has_the_priority_that_was_told_last() {
    let info = |priority| vec![9, 1, priority, 1, b'a', 1];
    let packets = [
        vec![10, 0],
        vec![24, 6, 0xC0, 0x84, 0x3D, 1, 2, 0, 5],
        vec![4, 1, 5],
        info(5),
        vec![17, 1],
        vec![4, 1, 1],
        info(7),
        vec![17, 1],
        vec![4, 1, 1],
    ];
    let recording = [support::HEADER.to_vec(), packets.concat()].concat();
    let begins = told(recording).into_iter().filter(|line| line.contains(" a: begin"));
    let begins: Vec<_> = begins.map(|line| line.split_once(", ").unwrap().1.to_owned()).collect();
    assert_eq!(begins, ["priority 5", "priority 5", "priority 7"]);
}

#[test]
fn all_that_the_target_lost_is_said() {
    let lost = vec![1, 3, 1];
    let packets = [vec![vec![10, 0], vec![24, 6, 0xC0, 0x84, 0x3D, 1, 2, 0, 5]], vec![lost; 103]];
    let recording = [support::HEADER.to_vec(), packets.concat().concat()].concat();
    let source = Source::from_bytes("lost.svdat", recording);
    let reader = Reader::open(&source, &Context::default()).unwrap();
    let messages: Vec<_> =
        reader.findings().iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(messages.len(), 101);
    assert_eq!(messages[99], "the target had no room here: 3 events are lost");
    let others = "the target had no room here and at 2 places after it: 9 events are lost";
    assert_eq!(messages[100], others);
}

/// Three cores of 13 bytes and 3 packets each. Of the five that the text names, the third begins
/// before the second, and the fourth beyond the end.
#[test]
fn no_packet_is_of_two_cores() {
    let core = [vec![10, 0], vec![24, 6, 0xC0, 0x84, 0x3D, 1, 2, 0, 5], vec![17, 1]].concat();
    let offsets = (0..).zip([0, 13, 0, 999, 26]);
    let offsets = offsets.map(|(core, offset)| format!(";Offset Core{core} {offset}\n"));
    let header = [support::HEADER, offsets.collect::<String>().as_bytes()].concat();
    let (start, size) = (header.len() as u64, header.len() as u64 + 39);
    let source = Source::from_bytes("cores.svdat", [header, core.repeat(3)].concat());
    let reader = Reader::open(&source, &Context::default()).unwrap();
    let cores: Vec<_> = reader.packets().map(|packet| packet.core).collect();
    assert_eq!(cores, [0, 0, 0, 1, 1, 1, 4, 4, 4]);
    let wrong = reader.findings().iter().filter(|item| item.rule == "unreadable");
    let wrong: Vec<_> = wrong.map(|finding| (finding.offset, &finding.message[..8])).collect();
    assert_eq!(wrong, [(Some(start), "core 2: "), (Some(size), "core 3: ")]);
}

/// Whatever of its last packet is missing, the first recording is read as if it were alone.
#[test]
fn another_recording_behind_it_is_not_taken_for_packets_of_the_first() {
    let whole = support::recording();
    for missing in 0..3 {
        let first = &whole[..whole.len() - missing];
        let open = |bytes: Vec<u8>| {
            Reader::open(&Source::from_bytes("a.svdat", bytes), &Context::default()).unwrap()
        };
        let both = open([first, &whole].concat());
        assert_eq!(both.count(), open(first.to_vec()).count());
        let found = both.findings().iter().find(|item| item.rule == "another-recording").unwrap();
        assert_eq!(found.offset, Some(first.len() as u64));
    }
}

/// The ten zeros that the host finds a packet by may be there again; eleven are a hole.
#[test]
fn a_hole_of_zeros_ends_a_core_and_is_said() {
    let packets = support::packets();
    let (before, after) = packets.split_at(8);
    let read = |zeros: usize| {
        let parts = [support::HEADER, &before.concat(), &vec![0; zeros], &after.concat()];
        let source = Source::from_bytes("hole.svdat", parts.concat());
        let reader = Reader::open(&source, &Context::default()).unwrap();
        let wrong = reader.findings().iter().filter(|item| item.rule == "unreadable");
        let wrong: Vec<_> =
            wrong.map(|finding| (finding.offset, finding.message.clone())).collect();
        (reader.count(), wrong)
    };
    assert_eq!(read(10), (packets.len() as u64 + 5, Vec::new()));
    let (count, wrong) = read(512);
    assert_eq!((count, wrong.len()), (8, 1));
    assert_eq!(wrong[0].0, Some((support::HEADER.len() + before.concat().len()) as u64));
    assert!(wrong[0].1.contains("512 bytes are zero"), "{wrong:?}");
}

/// A recording of some packets after `TRACE_START`.
fn with(packets: &[&[u8]]) -> Source {
    let bytes = [support::HEADER, &[10, 0], &packets.concat()].concat();
    Source::from_bytes("made.svdat", bytes)
}

fn found(source: &Source) -> Vec<(&'static str, Option<u64>, String)> {
    let found = SystemView.check(source, &Context::default()).unwrap();
    found.into_iter().map(|finding| (finding.rule, finding.offset, finding.message)).collect()
}

#[test]
fn an_init_without_ticks_is_told_from_none() {
    let at = support::HEADER.len() as u64 + 2;
    let still = "core 0 has an INIT with 0 ticks in a second, so that times are not known (--frequency says how many ticks a second has)";
    let expected = [("no-frequency", Some(at), still.to_owned())];
    assert_eq!(found(&with(&[&[24, 4, 0, 1, 2, 0, 5], &[17, 1]])), expected);
    let none = "core 0 has no INIT, so that times are not known (--frequency says how many ticks a second has)";
    assert_eq!(found(&with(&[&[17, 1]])), [("no-frequency", None, none.to_owned())]);
}

/// One tick in a second. 2⁶² of them have more nanoseconds than 63 bits, and four times that are more
/// ticks than 64 bits.
#[test]
fn times_that_do_not_fit_are_none_and_that_is_said() {
    let late: &[u8] = &[17, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40];
    let source = with(&[&[24, 4, 1, 1, 2, 0, 5], late, late, late, late]);
    let reader = Reader::open(&source, &Context::default()).unwrap();
    let times: Vec<_> = reader.packets().map(|packet| reader.time_ns(&packet)).collect();
    assert_eq!(times, [Some(0), Some(5_000_000_000), None, None, None, None]);
    let at = support::HEADER.len() as u64 + 2 + 7;
    let why = "4611686018427387909 ticks are beyond what 64 bits of nanoseconds hold: it has no time \
               (4 times)";
    assert_eq!(found(&source), [("time-range", Some(at), why.to_owned())]);
}

/// Those that something is told of count, whether or not they have a name.
#[test]
fn a_summary_counts_tasks_and_interrupts_as_they_occur() {
    let counts = |source: &Source| {
        let summary = SystemView.open(source, &Context::default()).unwrap().summary();
        let fact = |name: &str| {
            let fact = summary.facts.iter().find(|fact| fact.name == name).unwrap();
            fact.value.to_string()
        };
        [fact("tasks"), fact("interrupts")]
    };
    let sample = Source::from_bytes("blinky.svdat", support::recording());
    assert_eq!(counts(&sample), ["2", "1"]);
    // Three tasks run without a name; two interrupts have one, and none comes.
    let names = [&[14, 13][..], b"I#15=a,I#16=b", &[1]].concat();
    let made = with(&[&names, &[4, 1, 1], &[4, 2, 1], &[4, 3, 1], &[4, 1, 1]]);
    assert_eq!(counts(&made), ["3", "0"]);
}

/// A recording of task 1, which is made ready and never runs, and task 2, of which only `TASK_INFO`
/// tells.
#[test]
fn tasks_that_never_ran_have_the_priority_that_is_told_of_them() {
    let packets = [
        vec![10, 0],
        vec![24, 6, 0xC0, 0x84, 0x3D, 1, 2, 0, 5],
        vec![9, 1, 6, 1, b'a', 1],
        vec![9, 2, 4, 1, b'b', 1],
        vec![6, 1, 3],
        vec![11, 1],
    ];
    let recording = [support::HEADER.to_vec(), packets.concat()].concat();
    let source = Source::from_bytes("a.svdat", recording);
    let dataset = SystemView.open(&source, &Context::default()).unwrap();
    let timeline = dataset.timeline().unwrap();
    let tracks = timeline.tracks();
    let task = tracks.iter().find(|track| track.name == "a").unwrap();
    assert_eq!(task.attributes.number(Track::TASK_PRIORITY), Some(6));
    let summary = dataset.summary();
    let rows = &summary.sections[0].rows;
    let rows: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.text.as_str())).collect();
    assert_eq!(rows, [("a", "priority 6, task 1"), ("b", "priority 4, task 2")]);
}

/// What a target sends, as debug probes capture it: without the text that the host puts before it.
fn capture(packets: &[Vec<u8>]) -> Vec<u8> {
    [support::SYNC.to_vec(), packets.concat()].concat()
}

fn sniffed(bytes: &[u8]) -> Option<Confidence> {
    SystemView.sniff(&Source::from_bytes("capture.bin", bytes.to_vec()).probe())
}

#[test]
fn a_capture_without_the_text_is_the_same_recording() {
    let bytes = capture(&support::packets());
    assert_eq!(sniffed(&bytes), Some(Confidence::Plausible));
    assert_eq!(sniffed(&support::recording()), Some(Confidence::Magic));
    let item = |bytes: Vec<u8>| {
        let source = Source::from_bytes("capture.bin", bytes);
        let reader = Reader::open(&source, &Context::default()).unwrap();
        let times: Vec<_> =
            reader.packets().map(|packet| (packet.id, reader.time_ns(&packet))).collect();
        (times, reader.findings().iter().map(|finding| finding.rule).collect::<Vec<_>>())
    };
    assert_eq!(item(bytes.clone()), item(support::recording()));
    assert_eq!(told(bytes.clone()), told(support::recording()));
    // A buffer that is not full yet has zeros behind; fewer are what comes before a packet.
    let mut unused = bytes.clone();
    unused.extend([0; 100]);
    let source = Source::from_bytes("capture.bin", unused);
    let found = SystemView.check(&source, &Context::default()).unwrap();
    let unused: Vec<_> = found.iter().filter(|item| item.rule == "unused").collect();
    assert_eq!(unused.len(), 1, "{found:?}");
    assert_eq!(unused[0].offset, Some(bytes.len() as u64));
    assert!(found.iter().all(|finding| finding.severity < Severity::Error), "{found:?}");
}

#[test]
fn other_files_that_begin_with_zeros_are_none() {
    let packets = support::packets();
    let without = |id: u8| packets.iter().filter(|item| item[0] != id).cloned().collect::<Vec<_>>();
    // INIT is missing, has a number too many, or no frequency.
    assert_eq!(sniffed(&capture(&without(24))), None);
    for init in [vec![24, 7, 0xC0, 0x84, 0x3D, 1, 2, 0, 0, 5], vec![24, 4, 0, 1, 2, 0, 5]] {
        let wrong = [vec![packets[0].clone(), init], packets[2..].to_vec()].concat();
        assert_eq!(sniffed(&capture(&wrong)), None);
    }
    let bytes = capture(&packets);
    assert_eq!(sniffed(&[0; 4096]), None);
    assert_eq!(sniffed(&bytes[1..]), None);
    assert_eq!(sniffed(&[vec![0], bytes].concat()), None);
    for byte in 1..=255 {
        assert_eq!(sniffed(&[vec![0; 10], vec![byte; 500]].concat()), None, "{byte}");
    }
}

/// 1,000 ticks in a second make a tick a millisecond; what the recording says itself counts.
#[test]
fn a_capture_without_init_has_times_by_the_frequency_that_is_named() {
    let packets = support::packets();
    let without: Vec<_> = packets.iter().filter(|item| item[0] != 24).cloned().collect();
    let last = |packets: &[Vec<u8>], ticks_per_second| {
        let source = Source::from_bytes("capture.bin", capture(packets));
        let context = Context { ticks_per_second, ..Context::default() };
        let reader = Reader::open(&source, &context).unwrap();
        let rules: Vec<_> = reader.findings().iter().map(|finding| finding.rule).collect();
        (reader.time_ns(&reader.packets().last().unwrap()), rules.contains(&"no-frequency"))
    };
    // INIT is 5 ticks of the 1,088.
    assert_eq!(last(&without, None), (None, true));
    assert_eq!(last(&without, Some(1_000)), (Some(1_083_000_000), false));
    assert_eq!(last(&packets, Some(1_000)), (Some(1_088_000), false));
}

#[test]
fn what_begins_neither_with_text_nor_with_zeros_is_refused() {
    let source = Source::from_bytes("capture.bin", support::packets().concat());
    let error = SystemView.open(&source, &Context::default()).err().unwrap().to_string();
    assert!(error.contains("does not begin with the zeros"), "{error}");
}

/// What is found, by rule and byte.
fn checked(recording: Vec<u8>) -> Vec<(&'static str, Option<u64>)> {
    let source = Source::from_bytes("blinky.svdat", recording);
    let found = SystemView.check(&source, &Context::default()).unwrap();
    found.into_iter().map(|finding| (finding.rule, finding.offset)).collect()
}

/// The sixth packet, which begins the timer's interrupt, is there twice: the first has no end.
#[test]
fn an_interrupt_that_comes_again_before_it_ended_is_found() {
    let mut packets = support::packets();
    packets.insert(6, packets[5].clone());
    let before: usize = packets[..6].iter().map(Vec::len).sum();
    let recording = [support::HEADER, &support::SYNC, &packets.concat()].concat();
    let at = support::HEADER.len() + support::SYNC.len() + before;
    let sound = checked(support::recording());
    let rules =
        |found: &[(&'static str, Option<u64>)]| found.iter().map(|pair| pair.0).collect::<Vec<_>>();
    assert_eq!(rules(&sound), ["overflow"]);
    let damaged = checked(recording);
    assert_eq!(rules(&damaged), ["overflow", "unended-interrupt"]);
    assert_eq!(damaged[1].1, Some(at as u64));
}

/// Two captures one after the other: the second is not read as if it were of the first.
#[test]
fn another_capture_behind_one_is_found() {
    let capture = [&support::SYNC[..], &support::packets().concat()].concat();
    let two = [&capture[..], &capture].concat();
    let events = |recording: Vec<u8>| {
        let source = Source::from_bytes("blinky.svdat", recording);
        Reader::open(&source, &Context::default()).unwrap().count()
    };
    assert_eq!(events(two.clone()), events(capture.clone()));
    let found = checked(two);
    assert!(found.contains(&("another-recording", Some(capture.len() as u64))), "{found:?}");
}
