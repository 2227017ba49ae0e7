//! Files that are made of sound ones are sound.

use std::sync::Arc;

use kymo_core::model::timeline::TimelineView;
use kymo_core::{Ability, Context, Part, Result, Severity, Source, Written};

use crate::scratch::written;
use crate::{Sample, Subject, promise};

/// What a format makes of a sound sample passes its own `check`: all of it and each of its tracks
/// by itself where it can be cut, and its timeline where the format takes one.
pub fn what_is_made_of_a_sound_file_is_sound(subject: &Subject) {
    let this = subject.clone();
    promise::each(subject.sound(), move |sample, _| made_of(&this, sample));
}

fn made_of(subject: &Subject, sample: &Sample) {
    let (source, context) = (sample.source(), Context::default());
    let opened = subject.format.open(&source, &context);
    let dataset = opened.unwrap_or_else(|error| panic!("it does not open: {error}"));
    let Some(timeline) = dataset.timeline() else { return };
    for part in parts(subject, timeline.as_ref()) {
        let what = format!("{:?}", part.tracks);
        let sources = std::slice::from_ref(&source);
        passes(subject, &what, |to| subject.format.extract(sources, &part, to, &context));
    }
    if subject.format.info().abilities.contains(&Ability::TakeTimelines) {
        let timeline = Arc::clone(&timeline);
        passes(subject, "its timeline", |to| subject.format.write_timeline(timeline, to, &context));
    }
}

/// All of it, and each track.
fn parts(subject: &Subject, timeline: &dyn TimelineView) -> Vec<Part> {
    if !subject.format.info().abilities.contains(&Ability::Extract) {
        return Vec::new();
    }
    let names = timeline.tracks().into_iter().map(|track| Some(vec![track.name]));
    let parts = std::iter::once(None).chain(names);
    parts.map(|tracks| Part { tracks, ..Part::default() }).collect()
}

fn passes(
    subject: &Subject,
    what: &str,
    make: impl FnOnce(&kymo_core::Destination) -> Result<Written>,
) {
    let (_, bytes) =
        written(make).unwrap_or_else(|error| panic!("{what} cannot be written: {error}"));
    let found = subject.format.check(&Source::from_bytes("made", bytes), &Context::default());
    let found = found.unwrap_or_else(|error| panic!("{what} cannot be checked: {error}"));
    let is_sound = found.iter().all(|finding| finding.severity <= Severity::Note);
    assert!(is_sound, "{what} is not sound: {found:?}");
}
