//! Files that are made of sound ones are sound.

use std::sync::Arc;

use kymo_core::{Context, Finding, Result, Severity, Source};
use kymo_model::timeline::TimelineView;
use kymo_model::{Capability, ExtractRequest, Format, WriteReport};

use crate::scratch::written;
use crate::{Sample, Subject, promise};

/// Checks that the output of a format from a sound sample passes its own `check`. All of the sample
/// is tried, and each of its tracks by itself where it can be cut. Its timeline is tried where the
/// format takes one.
pub fn what_is_made_of_a_sound_file_is_sound(subject: &Subject) {
    let this = subject.clone();
    let mut samples = subject.sound();
    samples.retain(|sample| !subject.is_warned(sample));
    promise::each(samples, move |sample, _| made_of(&this, sample));
}

/// Checks that the output of a format from a timeline of any recording passes its own `check`.
/// Anything that the format reported as not written as it should be is excepted.
pub fn what_is_made_of_a_timeline_is_sound(format: &dyn Format, timeline: &Arc<dyn TimelineView>) {
    let (timeline, context) = (Arc::clone(timeline), Context::default());
    passes(format, "its timeline", |to| format.write_timeline(timeline, to, &context));
}

fn made_of(subject: &Subject, sample: &Sample) {
    let (source, context) = (sample.source(), Context::default());
    let opened = subject.format.open(&source, &context);
    let dataset = opened.unwrap_or_else(|error| panic!("it does not open: {error}"));
    let Some(timeline) = dataset.timeline() else { return };
    for part in parts(subject, timeline.as_ref()) {
        let what = format!("{:?}", part.tracks);
        let sources = std::slice::from_ref(&source);
        passes(subject.format, &what, |to| subject.format.extract(sources, &part, to, &context));
    }
    if subject.format.info().abilities.contains(&Capability::TakeTimelines) {
        what_is_made_of_a_timeline_is_sound(subject.format, &timeline);
    }
}

/// All of it, and each track.
fn parts(subject: &Subject, timeline: &dyn TimelineView) -> Vec<ExtractRequest> {
    if !subject.format.info().abilities.contains(&Capability::Extract) {
        return Vec::new();
    }
    let tracks = timeline.tracks();
    let names = tracks.iter().map(|track| Some(vec![track.name.clone()]));
    let parts = std::iter::once(None).chain(names);
    parts.map(|tracks| ExtractRequest { tracks, ..ExtractRequest::default() }).collect()
}

fn passes(
    format: &dyn Format,
    what: &str,
    make: impl FnOnce(&kymo_core::Destination) -> Result<WriteReport>,
) {
    let (written, bytes) =
        written(make).unwrap_or_else(|error| panic!("{what} cannot be written: {error}"));
    let found = format.check(&Source::from_bytes("made", bytes), &Context::default());
    let found = found.unwrap_or_else(|error| panic!("{what} cannot be checked: {error}"));
    // What could not be written as it should be was said.
    let is_said = |finding: &Finding| written.losses.iter().any(|loss| loss.rule == finding.rule);
    let is_sound =
        found.iter().all(|finding| finding.severity <= Severity::Note || is_said(finding));
    assert!(is_sound, "{what} is not sound: {found:?}");
}
