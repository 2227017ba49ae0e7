//! What a program does with a log that is open: apart from how long it takes to start.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, ensure};
use kymo_bbbin::Reader;
use kymo_core::bytes::Limits;
use kymo_core::{Context, Source};
use kymo_model::timeline::{TimeNs, Window};

use super::file::{EVENTS, STEP};

/// Lookups of one run.
pub(super) const LOOKUPS: u32 = 100_000;

/// Moments that are looked up, again and again, so that what is at them is in the page cache.
const MOMENTS: i64 = 64;

/// Events of a lookup.
const FOUND: usize = 10;

fn open(file: &Path) -> Result<Arc<Reader>> {
    let source = Source::open(file, &Limits::default())?;
    Ok(Reader::open(&source, &Context::default())?)
}

/// Decodes every event, on one thread.
pub(super) fn scan(file: &Path) -> Result<()> {
    let reader = open(file)?;
    let last = reader.events().fold(0, |last, found| found.event.timestamp.max(last));
    ensure!(last == (EVENTS - 1) * STEP, "the last event is at {last}");
    Ok(())
}

/// Finds ten events by their times through the index, so many times. Says how long one took in the
/// median.
pub(super) fn time_lookups(file: &Path, lookups: u32) -> Result<()> {
    let reader = open(file)?;
    let mut took_ns = Vec::new();
    for lookup in 0..i64::from(lookups) {
        // The moments follow no order: the multiplier has no divisor in common with the events.
        let first = (lookup % MOMENTS * 7_654_321) % (EVENTS - 10);
        let from = TimeNs(first * STEP);
        let until = Some(TimeNs(from.0 + 10 * STEP));
        let window = Window { from: Some(from), until, ..Window::default() };
        let start = Instant::now();
        let found = reader.events_in_window(&window).count();
        took_ns.push(start.elapsed().as_nanos());
        ensure!(found == FOUND, "{found} events are found");
    }
    took_ns.sort_unstable();
    if let Some(median) = took_ns.get(took_ns.len() / 2) {
        eprintln!("a lookup takes {median} ns in the median of {lookups}");
    }
    Ok(())
}
