//! Windows of a timeline: what is asked for is what all of it has there.

use std::sync::Arc;

use kymo_core::{Context, Result, Severity};
use kymo_model::timeline::{TimeNs, TimelineView, TrackId, Window};

use crate::promise::{Cases, spread};
use crate::{Sample, Subject, promise};

/// Number of tracks that are asked for by themselves, and number of timestamps.
const TRACKS: usize = 3;
const MOMENTS: usize = 4;

/// Parts of an event that are compared: its track, time and stored offset, what is missing of it,
/// and its length.
type Essence = (TrackId, Option<TimeNs>, u64, Option<&'static str>, usize);

/// The events of a window are those that all events have in it, marks of what is missing included:
/// however a format finds them. What is faulty and out of order is left out.
pub fn windows_have_what_the_whole_has(subject: &Subject) {
    let this = subject.clone();
    promise::each(subject.samples(), move |sample, cases| compare(&this, sample, cases));
}

fn compare(subject: &Subject, sample: &Sample, cases: &mut Cases) {
    let open = || subject.format.open(&sample.source(), &Context::default());
    let timeline = || open().ok().and_then(|dataset| dataset.timeline());
    // What is damaged need not open.
    let Some(whole) = timeline() else { return };
    let tracks = whole.tracks().len();
    let Ok(all) = events(&whole, &Window::default()) else { return };
    if has_backward_times(&all, tracks) && is_faulty(subject, sample) {
        return;
    }
    for window in windows(&all, tracks) {
        cases.begin(|| format!("{}, {window:?}", sample.name));
        // Opened anew: what was read before is not to help.
        let timeline = timeline().expect("a timeline once more");
        let found = events(&timeline, &window);
        let found = found.unwrap_or_else(|error| panic!("it cannot be read: {error}"));
        let expected = expected(&all, &window);
        assert_eq!(found, expected, "events of the window, and of the whole");
    }
}

/// Returns true if the times of a track are out of order.
fn has_backward_times(all: &[Essence], tracks: usize) -> bool {
    let mut latest = vec![None; tracks];
    all.iter().any(|(track, time, ..)| {
        let Some(latest) = latest.get_mut(track.0) else { return false };
        let is_back = time.is_some() && *time < *latest;
        *latest = (*latest).max(*time);
        is_back
    })
}

/// Returns true if something is wrong with a sample. One whose times are out of order against the
/// format's rules cannot be searched by time, and says so.
fn is_faulty(subject: &Subject, sample: &Sample) -> bool {
    let found = subject.format.check(&sample.source(), &Context::default()).unwrap_or_default();
    found.iter().any(|finding| finding.severity >= Severity::Warning)
}

fn events(timeline: &Arc<dyn TimelineView>, window: &Window) -> Result<Vec<Essence>> {
    let mut events = Arc::clone(timeline).events(window)?;
    let mut found = Vec::new();
    while let Some(event) = events.next()? {
        let (place, mark) = (event.offset, event.partial);
        found.push((event.track, event.time, place, mark, event.payload.len()));
    }
    Ok(found)
}

fn expected(all: &[Essence], window: &Window) -> Vec<Essence> {
    let is_in = |event: &&Essence| window.includes_track(event.0) && window.holds(event.1);
    let mut expected: Vec<_> = all.iter().filter(is_in).copied().collect();
    let last = window.last.map_or(usize::MAX, |last| usize::try_from(last).unwrap_or(usize::MAX));
    expected.drain(..expected.len().saturating_sub(last));
    expected
}

/// Windows of all tracks and of some by themselves: the last events, and ranges of time.
fn windows(all: &[Essence], tracks: usize) -> Vec<Window> {
    let single = spread(tracks, TRACKS).map(|track| Some(vec![TrackId(track)]));
    let chosen: Vec<_> = std::iter::once(None).chain(single).collect();
    let times: Vec<_> = all.iter().filter_map(|event| event.1).collect();
    let moments: Vec<_> = spread(times.len(), MOMENTS).map(|at| times[at]).collect();
    let mut windows = Vec::new();
    for tracks in chosen {
        let item = |from, until, last| Window { tracks: tracks.clone(), from, until, last };
        windows.extend([1, 3, 100].map(|last| item(None, None, Some(last))));
        for (number, moment) in moments.iter().copied().enumerate() {
            let later = moments.get(number + 1).copied();
            windows.push(item(Some(moment), None, None));
            windows.push(item(None, Some(moment), Some(2)));
            windows.push(item(Some(moment), later, None));
        }
    }
    windows
}
