//! The events of a timeline: by stream, by time, the last few.

use std::io::Write;
use std::sync::Arc;

use kymo_core::model::timeline::{TimelineView, TrackKind, Window};

use super::Args;
use super::filters::Filters;
use super::missing;
use crate::failure::{Failure, quoted};
use crate::moment;
use crate::render::event::{EventLines, Look};
use crate::session::{Opened, Outcome, Session};

/// Bytes of lines that are held before they are written.
const HELD_BYTES: usize = 1 << 16;

pub(super) fn dump(
    session: &mut Session,
    args: &Args,
    opened: &Opened,
    file: Option<&str>,
) -> anyhow::Result<Outcome> {
    let timeline = opened.dataset.timeline().ok_or_else(|| {
        let failure = Failure::new("it has no events in time");
        failure.hint(format!("`kymo dump {}` shows its records", quoted(&opened.name)))
    })?;
    let (clocks, tracks) = (timeline.clocks(), timeline.tracks());
    let chosen = args.streams.events_among(&tracks)?;
    let (from, until) =
        moment::resolve_range(args.since, args.until, &timeline, chosen.as_deref())?;
    let look = match (args.json, args.csv) {
        (true, _) => Look::Json,
        (_, true) => Look::Csv,
        _ => Look::Text(session.out.paint()),
    };
    let filters = args.filters.over(&tracks)?;
    let mut lines = EventLines::new(look, file);
    if args.delta {
        lines.with_delta();
    }
    if let Look::Text(_) = look {
        lines.join_runs();
    }
    if opened.source.is_directory() {
        lines.with_files(Arc::clone(&timeline));
    }
    let has_samples = tracks.iter().any(|track| track.kind == TrackKind::Samples);
    if let (Look::Text(_), true) = (look, has_samples)
        && let Some(contexts) = opened.dataset.profile()
    {
        lines.with_contexts(contexts);
    }
    for clock in clocks {
        lines.clock(clock);
    }
    for track in tracks {
        lines.track(track);
    }
    if look == Look::Csv {
        lines.write_header(&mut session.out)?;
    }
    // The last of those that are chosen are not the last of all.
    let skip = match (args.last, filters.is_all()) {
        (Some(last), false) => {
            let window = Window { tracks: chosen.clone(), from, until, last: None };
            count(&timeline, &window, &filters)?.saturating_sub(last)
        }
        _ => 0,
    };
    let last = args.last.filter(|_| filters.is_all());
    let window = Window { tracks: chosen, from, until, last };
    let mut events = Arc::clone(&timeline).events(&window)?;
    let mut held = Vec::with_capacity(2 * HELD_BYTES);
    let (mut skip, mut left) = (skip, args.limit.unwrap_or(u64::MAX));
    let mut is_empty = left > 0;
    while left > 0
        && let Some(event) = events.next()?
    {
        if !filters.matches(&event) {
            continue;
        }
        if skip > 0 {
            skip -= 1;
            continue;
        }
        left -= 1;
        is_empty = false;
        lines.write(&event, &mut held);
        if held.len() >= HELD_BYTES {
            session.out.write_all(&held)?;
            held.clear();
        }
    }
    lines.finish(&mut held);
    session.out.write_all(&held)?;
    if is_empty {
        let why = missing::why(&timeline, &window, &filters)?;
        session.report.remark(&opened.name, why);
    }
    Ok(Outcome::Done)
}

/// How many events of a window are chosen.
fn count(
    timeline: &Arc<dyn TimelineView>,
    window: &Window,
    filters: &Filters,
) -> anyhow::Result<u64> {
    let mut events = Arc::clone(timeline).events(window)?;
    let mut count = 0;
    while let Some(event) = events.next()? {
        count += u64::from(filters.matches(&event));
    }
    Ok(count)
}
