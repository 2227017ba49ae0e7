//! Files and their timelines, as texts.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use kymo_bbbin::Bbbin;
use kymo_conformance::testdata;
use kymo_core::{Context, Destination, Severity, Source};
use kymo_model::timeline::{Content, TimelineView, Window};
use kymo_model::{Dataset, ExtractRequest, Format, WriteReport};

pub(crate) fn sample(name: &str) -> Source {
    Source::from_bytes(name, fs::read(testdata("bbbin").join(name)).unwrap())
}

pub(crate) fn dataset(source: &Source) -> Box<dyn Dataset> {
    Bbbin.open(source, &Context::default()).unwrap()
}

pub(crate) fn timeline(source: &Source) -> Arc<dyn TimelineView> {
    dataset(source).timeline().unwrap()
}

/// Time, track and content of the events of a window, a line each.
pub(crate) fn lines(timeline: &Arc<dyn TimelineView>, window: &Window) -> Vec<String> {
    let tracks = timeline.tracks();
    let mut events = Arc::clone(timeline).events(window).unwrap();
    let mut lines = Vec::new();
    while let Some(event) = events.next().unwrap() {
        let what = match &event.content {
            Content::Value(value) => value.to_string(),
            Content::Text(text) => text.to_string(),
            Content::Fields(fields) => fields.to_string(),
            Content::Activity(activity) => activity.to_string(),
            Content::Sample(context) => format!("context {context}"),
            Content::Payload => format!("{:x?}", event.payload),
        };
        let time = event.time.map_or(-1, |time| time.0);
        lines.push(format!("{time} {}: {what}", tracks[event.track.0].name));
    }
    lines
}

pub(crate) fn all(source: &Source) -> Vec<String> {
    lines(&timeline(source), &Window::default())
}

pub(crate) fn written(write: impl FnOnce(&Destination) -> WriteReport) -> (WriteReport, Source) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.bin");
    let written = write(&Destination::new(&path, false));
    (written, Source::from_bytes(Path::new("out.bin"), fs::read(path).unwrap()))
}

pub(crate) fn extracted(sources: &[Source], part: &ExtractRequest) -> (WriteReport, Source) {
    written(|to| Bbbin.extract(sources, part, to, &Context::default()).unwrap())
}

pub(crate) fn worst(source: &Source) -> Option<Severity> {
    let found = Bbbin.check(source, &Context::default()).unwrap();
    found.iter().map(|finding| finding.severity).max()
}
