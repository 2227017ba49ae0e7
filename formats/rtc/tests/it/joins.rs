//! Which streams of several files become one when they are joined, and what times they have then.

use std::fmt::Write as _;
use std::fs;
use std::sync::Arc;

use kymo_core::{Context, Destination, Severity, Source};
use kymo_model::timeline::{Content, TimeNs, TimelineView, Window};
use kymo_model::{ExtractRequest, Format};
use kymo_rtc::Rtc;
use kymo_rtc_wire::meta::StreamMeta;
use kymo_rtc_wire::write::{Options, Writer};

/// Some files as one, with streams joined, which is sound.
fn joined(inputs: &[&[u8]]) -> Arc<dyn TimelineView> {
    let source = |bytes: &&[u8]| Source::from_bytes("in.rtc", bytes.to_vec());
    let sources: Vec<_> = inputs.iter().map(source).collect();
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("out.rtc");
    let part = ExtractRequest { join: true, ..ExtractRequest::default() };
    Rtc.extract(&sources, &part, &Destination::new(&to, false), &Context::default()).unwrap();
    let source = Source::from_bytes("out.rtc", fs::read(to).unwrap());
    let found = Rtc.check(&source, &Context::default()).unwrap();
    assert!(found.iter().all(|finding| finding.severity == Severity::Note), "{found:?}");
    Rtc.open(&source, &Context::default()).unwrap().timeline().unwrap()
}

/// The texts of every stream that has some, each with its time in seconds.
fn texts(timeline: &Arc<dyn TimelineView>) -> Vec<(String, String)> {
    let tracks = timeline.tracks();
    let mut texts: Vec<_> =
        tracks.iter().map(|track| (track.name.clone(), String::new())).collect();
    let mut events = Arc::clone(timeline).events(&Window::default()).unwrap();
    while let Some(event) = events.next().unwrap() {
        if let (Content::Text(text), Some(TimeNs(ns))) = (&event.content, event.time) {
            let seconds = ns / 1_000_000_000;
            write!(texts[event.track.0].1, "{text}@{seconds} ").unwrap();
        }
    }
    texts.retain(|(_, texts)| !texts.is_empty());
    texts
}

/// A clock that is described so, set to some seconds, and a letter at each of them.
fn recording(clock: StreamMeta, seconds: &[(u64, &str)]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), Options::new().sizes(8192, 2048).unwrap());
    let clock = clock.length(12).format("timespec").flag("clock", true).unwrap();
    let clock = writer.add(&clock).unwrap();
    let value = StreamMeta::new("v").format("utf-8").text("clock", "clk").unwrap();
    let value = writer.add(&value).unwrap();
    for (second, text) in seconds {
        writer.write(clock, &[&second.to_ne_bytes()[..], &[0; 4]].concat()).unwrap();
        writer.write(value, text.as_bytes()).unwrap();
    }
    writer.finish().unwrap()
}

fn pairs<const N: usize>(texts: [(&str, &str); N]) -> Vec<(String, String)> {
    texts.map(|(name, texts)| (name.to_owned(), texts.to_owned())).into()
}

/// `v` is described alike in all, and is on another clock in the second file and the third.
#[test]
fn streams_are_joined_where_their_clocks_are() {
    let own = recording(StreamMeta::new("clk"), &[(10, "a"), (30, "b")]);
    let gps = StreamMeta::new("clk").text("source", "gps").unwrap();
    let one = recording(gps.clone(), &[(20, "c"), (40, "d")]);
    let two = recording(gps, &[(50, "e")]);
    let apart = [("v", "a@10 b@30 "), ("v (2)", "c@20 d@40 e@50 ")];
    assert_eq!(texts(&joined(&[&own, &one, &two])), pairs(apart));
    let apart = [("v", "c@20 d@40 e@50 "), ("v (2)", "a@10 b@30 ")];
    assert_eq!(texts(&joined(&[&one, &own, &two])), pairs(apart));
}

/// One part says that its clock goes back, which does not make it another clock.
#[test]
fn a_clock_that_goes_back_in_one_part_is_the_same_clock() {
    let rising = recording(StreamMeta::new("clk"), &[(10, "a"), (30, "b")]);
    let falling = StreamMeta::new("clk").flag("rises", false).unwrap();
    let falling = recording(falling, &[(20, "c"), (15, "d"), (40, "e")]);
    for inputs in [[&rising[..], &falling], [&falling, &rising]] {
        let timeline = joined(&inputs);
        assert_eq!(texts(&timeline), pairs([("v", "a@10 c@20 d@15 b@30 e@40 ")]));
        assert_eq!(timeline.tracks()[0].attributes.get("rises").as_deref(), Some(&false.into()));
    }
}

/// Tracks with their parents' names.
fn parents(timeline: &Arc<dyn TimelineView>) -> Vec<(String, Option<String>)> {
    let tracks = timeline.tracks();
    let name = |track: usize| tracks[track].name.clone();
    let parent = |track: usize| tracks[track].parent.map(|parent| name(parent.0));
    (0..tracks.len()).map(|track| (name(track), parent(track))).collect()
}

/// Streams that were tracks: the name, the number, and the number of the track it was under.
fn tracks(described: &[(&str, u64, Option<u64>)]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), Options::new().sizes(8192, 2048).unwrap());
    for (name, number, parent) in described {
        let parent = parent.map_or_else(String::new, |parent| format!(",\"parent\":{parent}"));
        let kept = format!("{{\"track\":{number}{parent}}}");
        let meta = StreamMeta::new(name).format("utf-8").json("kymo", &kept).unwrap();
        let stream = writer.add(&meta).unwrap();
        writer.write(stream, name.as_bytes()).unwrap();
    }
    writer.finish().unwrap()
}

fn named<const N: usize>(tracks: [(&str, Option<&str>); N]) -> Vec<(String, Option<String>)> {
    tracks.map(|(name, parent)| (name.to_owned(), parent.map(str::to_owned))).into()
}

#[test]
fn tracks_stay_under_their_parents() {
    let first = tracks(&[("A", 0, None), ("A.child", 1, Some(0))]);
    // Of another recording: the same numbers are of other tracks.
    let other = tracks(&[("B", 0, None), ("B.child", 1, Some(0))]);
    let both = [("A", None), ("A.child", Some("A")), ("B", None), ("B.child", Some("B"))];
    assert_eq!(parents(&joined(&[&first, &other])), named(both));
    // Of the same: what both have is joined, and what only one has is under what both have.
    let same = tracks(&[("A", 0, None), ("A.other", 2, Some(0))]);
    let both = [("A", None), ("A.child", Some("A")), ("A.other", Some("A"))];
    assert_eq!(parents(&joined(&[&first, &same])), named(both));
    // A number of it is another track's.
    let mixed = tracks(&[("A", 0, None), ("C", 1, None), ("C.child", 2, Some(1))]);
    let apart =
        [("A", None), ("A.child", Some("A")), ("A (2)", None), ("C", None), ("C.child", Some("C"))];
    assert_eq!(parents(&joined(&[&first, &mixed])), named(apart));
}
