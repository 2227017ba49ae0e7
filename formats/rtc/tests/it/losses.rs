//! What is lost is said, wherever it is left out.

use kymo_core::{Context, Destination, Finding, Severity, Source};
use kymo_model::timeline::{Clock, Event, Track, Window};
use kymo_model::{ExtractRequest, Format, LiveRecordingSink, RepairReport};
use kymo_rtc::Rtc;
use kymo_rtc_wire::meta::StreamMeta;
use kymo_rtc_wire::write::{Options, Writer};

fn source(bytes: &[u8]) -> Source {
    Source::from_bytes("test.rtc", bytes.to_vec())
}

fn checked(bytes: &[u8]) -> Vec<Finding> {
    Rtc.check(&source(bytes), &Context::default()).unwrap()
}

fn rules(findings: &[Finding]) -> Vec<&'static str> {
    let above_notes = findings.iter().filter(|finding| finding.severity > Severity::Note);
    above_notes.map(|finding| finding.rule).collect()
}

fn repaired(bytes: &[u8]) -> (Vec<u8>, RepairReport) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.rtc");
    let said =
        Rtc.repair(&source(bytes), &Destination::new(&path, false), &Context::default()).unwrap();
    (std::fs::read(path).unwrap(), said)
}

/// A text of six bytes, and one of five that is begun; the session is ended all the same.
fn unfinished() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), Options::new());
    let text = writer.add(&StreamMeta::new("text").format("utf-8")).unwrap();
    writer.write(text, b"whole.").unwrap();
    writer.write_part(text, b"begun").unwrap();
    writer.finish().unwrap()
}

/// Counts events, and keeps what is said.
#[derive(Default)]
struct Heard {
    events: u64,
    findings: Vec<Finding>,
}

impl LiveRecordingSink for Heard {
    fn clock(&mut self, _clock: &Clock) -> kymo_core::Result<()> {
        Ok(())
    }

    fn track(&mut self, _track: &Track) -> kymo_core::Result<()> {
        Ok(())
    }

    fn event(&mut self, _event: &Event<'_>) -> kymo_core::Result<()> {
        self.events += 1;
        Ok(())
    }

    fn finding(&mut self, finding: Finding) -> kymo_core::Result<()> {
        self.findings.push(finding);
        Ok(())
    }
}

fn followed(bytes: &[u8], step: usize) -> Heard {
    let mut follower = Rtc.follow(&Context::default()).unwrap();
    let mut heard = Heard::default();
    for bytes in bytes.chunks(step) {
        follower.push(bytes, &mut heard).unwrap();
    }
    follower.finish(&mut heard).unwrap();
    heard
}

#[test]
fn a_message_without_an_end_is_a_loss_wherever_it_is_left_out() {
    let bytes = unfinished();
    assert_eq!(rules(&checked(&bytes)), ["unfinished"]);

    let (result, said) = repaired(&bytes);
    assert_eq!((said.kept, rules(&said.losses)), (1, vec!["unfinished"]));
    assert_eq!(checked(&result), []);

    // What `dump` and `convert` read.
    let dataset = Rtc.open(&source(&bytes), &Context::default()).unwrap();
    let mut events = dataset.timeline().unwrap().events(&Window::default()).unwrap();
    let mut count = 0;
    while events.next().unwrap().is_some() {
        count += 1;
    }
    assert_eq!((count, rules(&dataset.findings())), (1, vec!["unfinished"]));

    let folder = tempfile::tempdir().unwrap();
    let to = Destination::new(folder.path().join("part.rtc"), false);
    let sources = [source(&bytes)];
    let written =
        Rtc.extract(&sources, &ExtractRequest::default(), &to, &Context::default()).unwrap();
    assert_eq!((written.events, rules(&written.losses)), (1, vec!["unfinished"]));

    for step in [1, 100, 1 << 20] {
        let heard = followed(&bytes, step);
        assert_eq!((heard.events, rules(&heard.findings)), (1, vec!["unfinished"]), "by {step}");
    }
}

/// The Unit before the end of which another session begins, as after a restart.
#[test]
fn a_message_without_an_end_before_another_session_is_a_loss() {
    let bytes = [unfinished(), unfinished()].concat();
    assert_eq!(rules(&checked(&bytes)), ["unfinished"; 2]);
    let heard = followed(&bytes, 50);
    assert_eq!((heard.events, rules(&heard.findings)), (2, vec!["unfinished"; 2]));
}

/// What follows it is given when none is there at present, and not before.
#[test]
fn a_follower_gives_the_last_message_when_it_has_to_wait() {
    let mut writer = Writer::new(Vec::new(), Options::new());
    let text = writer.add(&StreamMeta::new("text").format("utf-8")).unwrap();
    for message in [&b"first"[..], b"second"] {
        writer.write(text, message).unwrap();
    }
    writer.flush().unwrap();
    let mut follower = Rtc.follow(&Context::default()).unwrap();
    let mut heard = Heard::default();
    follower.push(writer.output(), &mut heard).unwrap();
    follower.pause(&mut heard).unwrap();
    assert_eq!((heard.events, heard.findings), (2, vec![]));
}

/// Ten lines, of the last of which three bytes were written, and a block of zeros.
#[test]
fn zeros_after_a_loss_of_power_are_told_and_make_no_message() {
    let mut writer = Writer::new(Vec::new(), Options::new());
    let text = writer.add(&StreamMeta::new("text").format("utf-8")).unwrap();
    for number in 0..10 {
        writer.write(text, format!("line {number}").as_bytes()).unwrap();
    }
    writer.flush().unwrap();
    let written = writer.output().len() - 3;
    let bytes = [&writer.output()[..written], &[0; 4096]].concat();

    let found = checked(&bytes);
    let zeros = found.iter().find(|finding| finding.rule == "zeros").unwrap();
    // Its header of two bytes, three of its six, and the zeros.
    assert_eq!(zeros.offset, Some(written as u64 - 5));
    let message = "zeros where no padding can be, as after a loss of power (noticed at ";
    assert!(zeros.message.starts_with(message), "{zeros:?}");
    assert!(zeros.message.ends_with("): 4101 bytes were passed over"), "{zeros:?}");

    let (result, said) = repaired(&bytes);
    assert_eq!((said.kept, rules(&said.losses)), (9, vec!["zeros"]));
    assert_eq!(checked(&result), []);
    assert_eq!(followed(&bytes, 1 << 16).events, 9);
}

/// A sample whose payload was not written, and a block of zeros, as they are when the file does not
/// grow any more: what may be zeros that nobody wrote is not shown, and told of at the end.
#[test]
fn a_follower_makes_no_message_of_zeros() {
    let mut writer = Writer::new(Vec::new(), Options::new());
    let sample = writer.add(&StreamMeta::new("sample").length(8)).unwrap();
    for number in 1..=9_u8 {
        writer.write(sample, &[number; 8]).unwrap();
    }
    writer.flush().unwrap();
    // Of the last one the header and three bytes are there.
    let written = writer.output().len() - 5;
    let bytes = [&writer.output()[..written], &[0; 4096]].concat();
    for step in [1 << 16, 1000, 7] {
        let mut follower = Rtc.follow(&Context::default()).unwrap();
        let mut heard = Heard::default();
        for bytes in bytes.chunks(step) {
            follower.push(bytes, &mut heard).unwrap();
        }
        follower.pause(&mut heard).unwrap();
        assert_eq!((heard.events, rules(&heard.findings)), (8, vec![]), "by {step}");
        follower.finish(&mut heard).unwrap();
        assert_eq!((heard.events, rules(&heard.findings)), (8, vec!["zeros"]), "by {step}");
    }
}

/// Frames of no payload, which no writer of this format leaves: between a message before them and
/// one behind, `repair` keeps both of them.
#[test]
fn empty_messages_are_kept() {
    let mut writer = Writer::new(Vec::new(), Options::new());
    let text = writer.add(&StreamMeta::new("text").format("utf-8")).unwrap();
    writer.write(text, b"before").unwrap();
    writer.write(text, b"").unwrap();
    writer.flush().unwrap();
    // Stream 9 with a length of 0, twice; the last message as its writer leaves it.
    let bytes = [writer.output(), &[18, 0, 18, 0, 18, 6][..], b"behind"].concat();
    let (result, said) = repaired(&bytes);
    assert_eq!((said.kept, rules(&said.losses)), (4, vec![]));
    let of_text = |bytes: &[u8]| {
        let source = source(bytes);
        let reader = kymo_rtc::Reader::open(&source, &Context::default()).unwrap();
        let mut messages = reader.messages();
        let mut found = Vec::new();
        while let Some(message) = messages.next() {
            found.push(String::from_utf8(message.payload.to_vec()).unwrap());
        }
        found
    };
    assert_eq!(of_text(&result), ["before", "", "", "behind"]);
    assert_eq!(checked(&result), []);
}

/// The rest of a message looks like a whole one in the result: it is among the losses.
#[test]
fn repair_lists_the_messages_whose_beginning_may_be_missing() {
    let mut writer = Writer::new(Vec::new(), Options::new().sizes(8192, 2048).unwrap());
    let text = writer.add(&StreamMeta::new("text").format("utf-8")).unwrap();
    while writer.position() < 12_000 {
        writer.write(text, &[b'x'; 300]).unwrap();
    }
    let whole = writer.finish().unwrap();
    // Behind the second Marker a message goes on that begins before it.
    let (_, said) = repaired(&whole[8192..]);
    let rests = said.losses.iter().filter(|loss| loss.rule == "may-lack-beginning");
    assert_eq!(rests.count(), 1, "{said:?}");
}

#[test]
fn a_file_of_which_nothing_can_be_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let to = Destination::new(folder.path().join("out.rtc"), false);
    let error = Rtc.repair(&source(&[0; 5000]), &to, &Context::default()).unwrap_err();
    assert!(error.to_string().contains("nothing of it can be read"), "{error}");
}

/// Of a Unit whose Index is damaged and that no other follows, the sizes are not known.
#[test]
fn numbers_that_are_not_known_are_not_shown() {
    let mut bytes = unfinished();
    bytes[1025] ^= 0x40;
    let dataset = Rtc.open(&source(&bytes), &Context::default()).unwrap();
    let summary = dataset.summary();
    assert!(summary.facts.iter().all(|fact| fact.name != "Unit size"), "{:?}", summary.facts);
    assert!(summary.dialect.starts_with("little-endian"), "{}", summary.dialect);
}
