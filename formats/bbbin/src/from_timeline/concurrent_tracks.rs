//! Tasks of which no processor is told, and which run side by side: in one log file of BBBin
//! switches would not tell who ran, for there one task runs at a time.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kymo_core::Result;
use kymo_model::timeline::{Activity, Content, TimelineView, Track, TrackId, TrackKind, Window};

/// The tracks of such tasks: all of a recording in which two ran at once. `cpus` has the processor
/// of each track.
pub(super) fn concurrent_tracks(
    timeline: &Arc<dyn TimelineView>,
    tracks: &[Track],
    cpus: &[Option<TrackId>],
) -> Result<HashSet<TrackId>> {
    let is_of_none =
        |(track, cpu): (&Track, &Option<_>)| track.kind == TrackKind::Task && cpu.is_none();
    let item = |both: (&Track, &Option<_>)| is_of_none(both).then_some(both.0.recording);
    let recordings: Vec<Option<usize>> = tracks.iter().zip(cpus).map(item).collect();
    let found = overlapping(timeline, &recordings)?;
    let is_apart = |value: &Option<usize>| value.is_some_and(|value| found.contains(&value));
    let apart = recordings.iter().enumerate().filter(|(_, item)| is_apart(item));
    Ok(apart.map(|(id, _)| TrackId(id)).collect())
}

/// The recordings in which two of the tracks that have one here ran at once.
fn overlapping(
    timeline: &Arc<dyn TimelineView>,
    recordings: &[Option<usize>],
) -> Result<HashSet<usize>> {
    let (mut found, mut counts) = (HashSet::new(), HashMap::<usize, usize>::new());
    for recording in recordings.iter().flatten() {
        *counts.entry(*recording).or_default() += 1;
    }
    let possible = counts.values().filter(|count| **count > 1).count();
    if possible == 0 {
        return Ok(found);
    }
    let mut running: HashMap<usize, HashSet<TrackId>> = HashMap::new();
    let mut events = Arc::clone(timeline).events(&Window::default())?;
    while let Some(event) = events.next()?
        && found.len() < possible
    {
        let Some(recording) = recordings.get(event.track.0).copied().flatten() else { continue };
        let Content::Activity(activity) = &event.content else { continue };
        let running = running.entry(recording).or_default();
        match activity {
            Activity::Begin { .. } => _ = running.insert(event.track),
            Activity::End | Activity::EndOf { .. } => _ = running.remove(&event.track),
            _ => continue,
        }
        if running.len() > 1 {
            found.insert(recording);
        }
    }
    Ok(found)
}
