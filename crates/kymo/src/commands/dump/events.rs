//! The events of a timeline: by stream, by time, the last few.

use std::io::Write;
use std::sync::Arc;

use kymo_model::timeline::{FieldedEvents, TimelineView, TrackKind, Window};

use super::Args;
use super::filters::Filters;
use super::missing;
use crate::failure::{Failure, quoted};
use crate::moment;
use crate::render::event::{EventLines, Look};
use crate::session::{OpenedFile, Outcome, Session};

/// Bytes of lines that are held before they are written.
const HELD_BYTES: usize = 1 << 16;

pub(super) fn dump(
    session: &mut Session,
    args: &Args,
    opened: &OpenedFile,
    file: Option<&str>,
) -> anyhow::Result<Outcome> {
    let timeline = opened.timeline().ok_or_else(|| {
        let failure = Failure::new("it has no events in time");
        failure.hint(format!("`kymo dump {}` shows its records", quoted(&opened.name)))
    })?;
    let tracks = timeline.tracks();
    let chosen = args.streams.select_for_events(&tracks)?;
    let (from, until) =
        moment::resolve_range(args.since, args.until, &timeline, chosen.as_deref())?;
    let filters = args.filters.for_tracks(&tracks, &timeline.clocks())?;
    let look = match (args.json, args.csv) {
        (true, _) => Look::Json,
        (_, true) => Look::Csv,
        _ => Look::Text(session.out.paint()),
    };
    let mut lines = lines(look, args, opened, file, &timeline);
    for track in &tracks {
        lines.track(track.clone());
    }
    if look == Look::Csv {
        lines.write_header(&mut session.out)?;
    }
    let mut window = Window { tracks: chosen, from, until, last: None };
    let skip = match (args.last, filters.is_all()) {
        // The last of those that are chosen are not the last of all.
        (Some(last), false) => count(&timeline, &window, &filters)?.saturating_sub(last),
        (last, _) => {
            window.last = last;
            0
        }
    };
    let most = args.limit.unwrap_or(u64::MAX);
    let events = filters.events(&timeline, &window, look == Look::Json)?;
    let are_some = write(session, events, &mut lines, &filters, (skip, most))?;
    if !are_some && most > 0 {
        let why = missing::no_events_reason(&timeline, &window, &filters)?;
        session.report.remark(&opened.name, why);
    }
    Ok(Outcome::Done)
}

/// Prepares to turn events into lines; the tracks are still to be given.
fn lines<'a>(
    look: Look,
    args: &Args,
    opened: &OpenedFile,
    file: Option<&'a str>,
    timeline: &Arc<dyn TimelineView>,
) -> EventLines<'a> {
    let mut lines = EventLines::new(look, file);
    if args.delta {
        lines.with_delta();
    }
    if opened.source.is_directory() {
        lines.with_files(Arc::clone(timeline));
    }
    if let Look::Text(_) = look {
        lines.join_runs();
        let tracks = timeline.tracks();
        let has_samples = tracks.iter().any(|track| track.kind == TrackKind::Samples);
        if let Some(contexts) = has_samples.then(|| opened.dataset.profile()).flatten() {
            lines.with_contexts(contexts);
        }
    }
    for clock in timeline.clocks() {
        lines.clock(clock);
    }
    lines
}

/// Writes the events that are chosen, but for some of the first, and no more than so many. Tells
/// whether there were any.
fn write(
    session: &mut Session,
    mut events: Box<dyn FieldedEvents>,
    lines: &mut EventLines<'_>,
    filters: &Filters,
    (mut skip, most): (u64, u64),
) -> anyhow::Result<bool> {
    let mut held = Vec::with_capacity(2 * HELD_BYTES);
    let mut left = most;
    while left > 0
        && let Some((event, fields)) = events.next_event()?
    {
        if !filters.matches(&event, fields.as_ref()) {
            continue;
        }
        if skip > 0 {
            skip -= 1;
            continue;
        }
        left -= 1;
        lines.write_with(&event, fields.as_ref(), &mut held);
        if held.len() >= HELD_BYTES {
            session.out.write_all(&held)?;
            held.clear();
        }
    }
    lines.finish(&mut held);
    session.out.write_all(&held)?;
    Ok(left < most)
}

/// Counts the events of a window that are chosen.
fn count(
    timeline: &Arc<dyn TimelineView>,
    window: &Window,
    filters: &Filters,
) -> anyhow::Result<u64> {
    let mut events = filters.events(timeline, window, false)?;
    let mut count = 0;
    while let Some((event, fields)) = events.next_event()? {
        count += u64::from(filters.matches(&event, fields.as_ref()));
    }
    Ok(count)
}
