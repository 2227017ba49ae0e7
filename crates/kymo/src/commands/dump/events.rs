//! The events of a timeline: by stream, by time, the last few.

use std::io::Write;
use std::sync::Arc;

use kymo_core::model::timeline::Window;

use super::Args;
use crate::failure::{Failure, quoted};
use crate::moment;
use crate::render::event::{CSV_HEADER, EventLines, Look};
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
    let chosen = args.streams.among(&tracks)?;
    let resolve = |moment: Option<_>| {
        moment.map(|moment| moment::resolve(moment, &timeline, chosen.as_deref())).transpose()
    };
    let (from, until) = (resolve(args.since)?, resolve(args.until)?);
    let look = match (args.json, args.csv) {
        (true, _) => Look::Json,
        (_, true) => Look::Csv,
        _ => Look::Text(session.out.paint()),
    };
    let mut lines = EventLines::new(look, file);
    for clock in clocks {
        lines.clock(clock);
    }
    for track in tracks {
        lines.track(track);
    }
    if look == Look::Csv {
        session.out.write_all(CSV_HEADER)?;
    }
    let window = Window { tracks: chosen, from, until, last: args.last };
    let mut events = Arc::clone(&timeline).events(&window)?;
    let mut held = Vec::with_capacity(2 * HELD_BYTES);
    let mut left = args.limit.unwrap_or(u64::MAX);
    while left > 0
        && let Some(event) = events.next()?
    {
        left -= 1;
        lines.write(&event, &mut held);
        if held.len() >= HELD_BYTES {
            session.out.write_all(&held)?;
            held.clear();
        }
    }
    session.out.write_all(&held)?;
    Ok(Outcome::Done)
}
