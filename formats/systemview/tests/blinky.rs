//! A small recording, with what is in it worked out by hand.
#![allow(clippy::unwrap_used, reason = "tests may fail loudly")]

mod support;

use std::path::Path;

use kymo_core::model::timeline::{Content, Window};
use kymo_core::{Context, Format, Source};
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
    let ticks: Vec<_> = reader.packets().iter().map(|packet| packet.ticks).collect();
    let expected =
        [0, 5, 10, 12, 15, 25, 29, 31, 32, 38, 39, 41, 42, 49, 62, 63, 63 + 1024, 64 + 1024];
    assert_eq!(ticks, expected);
    assert_eq!(reader.time_ns(reader.packets().last().unwrap()), Some(1_088_000));
}

#[test]
fn tasks_and_interrupts_run_as_worked_out_by_hand() {
    let source = Source::from_bytes("blinky.svdat", support::recording());
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
    let expected = [
        "25 cpu 0: begin SysTick",
        "29 blink: release",
        "31 cpu 0: end",
        "32 blink: begin",
        "39 log: release",
        "41 blink: complete",
        "42 blink: end",
        "42 log: begin",
        "62 log: complete",
        "62 log: end",
        "63 IDLE0: begin",
    ];
    assert_eq!(lines, expected);
}
