//! Recordings of every format that has a timeline, converted to every format that takes one.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kymo_conformance::{testdata, what_is_made_of_a_timeline_is_sound};
use kymo_core::bytes::Limits;
use kymo_core::{Context, Source};
use kymo_model::Capability;
use kymo_model::timeline::TimelineView;

/// Formats whose recordings have timelines.
const WITH_TIMELINES: [&str; 8] =
    ["bbbin", "ctf", "ftrace", "mcap", "perf", "rtc", "systemview", "textlog"];

/// Every file and folder below a folder.
fn below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "golden") {
            below(&path, found);
        }
        found.push(path);
    }
}

/// The timeline of a recording, if it is one: damaged ones as far as they can be read.
fn timeline(path: &Path) -> Option<Arc<dyn TimelineView>> {
    let source = Source::open(path, &Limits::default()).ok()?;
    let format = kymo_registry::detect(&source).ok()?.format;
    let context = Context::default();
    let dataset = format.open(&source, &context).or_else(|_| format.salvage(&source, &context));
    dataset.ok()?.timeline()
}

/// Which recordings are converted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    All,
    Sound,
}

fn made_as(name: &str, which: From) {
    let format = kymo_registry::by_name(name).unwrap();
    assert!(format.info().can(Capability::TakeTimelines));
    // That of a format itself is one of its promises.
    for from in WITH_TIMELINES.into_iter().filter(|from| *from != name) {
        let mut paths = Vec::new();
        below(&testdata(from), &mut paths);
        let bad = testdata(from).join("bad");
        paths.retain(|path| which == From::All || !path.starts_with(&bad));
        paths.sort();
        let mut count = 0;
        for timeline in paths.iter().filter_map(|path| {
            let timeline = timeline(path)?;
            eprintln!("{} as {name}", path.display());
            Some(timeline)
        }) {
            what_is_made_of_a_timeline_is_sound(format, &timeline);
            count += 1;
        }
        assert!(count > 0, "no recording of {from} has a timeline");
    }
}

#[test]
fn what_is_converted_to_rtc_passes_its_check() {
    made_as("rtc", From::All);
}

#[test]
fn what_is_converted_to_mcap_passes_its_check() {
    made_as("mcap", From::All);
}

/// Its check also looks at what happened: a switch that a damaged trace lacks is one it finds.
#[test]
fn what_is_converted_to_bbbin_passes_its_check() {
    made_as("bbbin", From::Sound);
}
