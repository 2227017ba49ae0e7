//! Places where frames go on after damage.

use alloc::vec;
use alloc::vec::Vec;

use crate::spec::{PAYLOAD_BYTES_MAX, id};

use super::parse::{FrameError, Padding, Parsed, is_padding, padding, parse};
use super::streams::{StreamLookup as _, TrialStreams};
use super::{DamageKind, Lookup, View};

/// The farthest that the next frame can be from the header of a damaged one.
const NEXT_MAX: usize = PAYLOAD_BYTES_MAX + 16;

/// Larger runs of bytes than this are not searched byte by byte.
const SEARCH_BYTES_MAX: u64 = 4 << 20;

/// Returns true if frames follow each other from `start` to exactly `limit`, and are where the
/// index after them says that the first of each stream is.
pub(super) fn lands(
    streams: TrialStreams<'_>,
    view: &View<'_>,
    start: u64,
    limit: u64,
    targets: &[Target],
) -> Result<(), FrameError> {
    let mut frames = u64::MAX;
    Trial::new(streams, start).run(view, limit, targets, &mut frames)
}

/// One way to read frames, and how far it was followed.
#[derive(Debug, Clone)]
pub(super) struct Trial<'a> {
    pub streams: TrialStreams<'a>,
    pub position: u64,
    start: u64,
    /// True if no frame of a stream was seen.
    is_first: bool,
    /// True if values have to be of their formats.
    is_strict: bool,
}

impl<'a> Trial<'a> {
    pub(super) fn new(streams: TrialStreams<'a>, start: u64) -> Self {
        Self { streams, position: start, start, is_first: true, is_strict: false }
    }

    /// With values that are of their formats.
    pub(super) fn strictly(mut self) -> Self {
        self.is_strict = true;
        self
    }

    /// Reads on to exactly `limit`, or as many frames as are allowed, with each target where it
    /// is. Stops before a frame that makes no sense.
    pub(super) fn run(
        &mut self,
        view: &View<'_>,
        limit: u64,
        targets: &[Target],
        frames: &mut u64,
    ) -> Result<(), FrameError> {
        let mut targets = targets_after(targets, self.position).iter().peekable();
        while self.position < limit {
            if *frames == 0 {
                return Ok(());
            }
            *frames -= 1;
            let frame = parse(&self.streams, view, self.position, limit)?;
            if is_padding(frame.id) {
                // Frames may well lead to zeros; that those are none is said when they are met.
                let is_padding = targets.peek().is_none()
                    && padding(view, self.position, limit) != Padding::Broken;
                return if is_padding { Ok(()) } else { Err(FrameError::Bad(DamageKind::Padding)) };
            }
            if self.is_strict && !fits(&self.streams, view, &frame) {
                return Err(FrameError::Bad(DamageKind::Value(frame.id)));
            }
            let is_ruler = (id::MARKER..=id::MINOR_INDEX).contains(&frame.id);
            let is_misplaced = is_ruler && frame.position != self.start;
            if is_misplaced || (frame.id == id::CRC && frame.end < limit) {
                return Err(FrameError::Bad(DamageKind::Place(frame.id)));
            }
            match targets.peek() {
                Some(target) if target.position == frame.position && target.id == frame.id => {
                    targets.next();
                }
                Some(target) if target.position <= frame.position => {
                    return Err(FrameError::Bad(DamageKind::Place(frame.id)));
                }
                _ => {}
            }
            self.take(view, &frame, limit);
        }
        let is_there = self.position == limit && targets.peek().is_none();
        if is_there { Ok(()) } else { Err(FrameError::Bad(DamageKind::Boundary)) }
    }

    fn take(&mut self, view: &View<'_>, frame: &Parsed, limit: u64) {
        define_from(&mut self.streams, view, frame);
        self.streams.commit(frame, limit);
        if self.is_first && frame.id >= id::FIRST_USER {
            self.streams.settle_fixed();
            self.is_first = false;
        }
        self.position = frame.end;
    }
}

/// Returns true if a frame may hold a value of its stream's format, as far as that can be told of
/// one.
fn fits(streams: &TrialStreams<'_>, view: &View<'_>, frame: &Parsed) -> bool {
    frame.more || streams.slot(frame.id).form.fits(view.get(frame.payload..frame.end))
}

/// The targets from a place on.
pub(super) fn targets_after(targets: &[Target], position: u64) -> &[Target] {
    let before = targets.partition_point(|target| target.position < position);
    targets.get(before..).unwrap_or_default()
}

/// A frame that an index names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Target {
    pub position: u64,
    pub id: u32,
}

/// Streams that join on the way are known from there on.
fn define_from(streams: &mut TrialStreams<'_>, view: &View<'_>, frame: &Parsed) {
    if matches!(frame.id, id::META | id::MINOR_META) && !frame.more {
        let text = view.get(frame.payload..frame.end);
        for stream in super::definitions(text, &[]).streams {
            streams.define(stream.id, stream.length);
        }
    }
}

/// The frames that the index at `index` says are in its unit, in ascending order: what it
/// points to at `from` or later and before `limit`.
pub(super) fn targets(view: &View<'_>, index: u64, from: u64, limit: u64) -> Vec<Target> {
    let Some(index_at) = Lookup::read(view, index) else { return Vec::new() };
    let mut found: Vec<Target> = index_at
        .entries()
        .iter()
        .map_while(Result::ok)
        .filter(|entry| entry.back_bytes > 0)
        .filter_map(|entry| {
            Some(Target { position: index.checked_sub(entry.back_bytes)?, id: entry.id })
        })
        .filter(|target| (from..limit).contains(&target.position))
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The first frame on which every way to read the bytes agrees.
///
/// The frame after a damaged header begins within the next thousand bytes. From each of those the
/// bytes are read on; most make no sense, and those that reach `limit` soon meet. Where all have
/// met, the true frames are among them. Where none of those reaches it, more than a header is
/// damaged, and the thousand bytes from the first place on count that does.
pub(super) fn agreement(
    streams: &TrialStreams<'_>,
    view: &View<'_>,
    from: u64,
    limit: u64,
    budget: &mut u64,
) -> Option<u64> {
    let span = limit.checked_sub(from).filter(|span| (2..=SEARCH_BYTES_MAX).contains(span))?;
    let span = usize::try_from(span).ok()?;
    let strict = readings(streams, view, from, limit, span, Some(budget));
    let meeting_strictly = strict.and_then(|strict| meeting(&strict, span));
    meeting_strictly
        .or_else(|| meeting(&readings(streams, view, from, limit, span, None)?, span))
        .map(|at| from + at as u64)
}

/// Returns true if the bytes from soon behind `from` on make sense with values of their formats,
/// and the frames from `end` on, behind a frame at `from`, do not.
pub(super) fn is_misread(
    streams: &TrialStreams<'_>,
    view: &View<'_>,
    from: u64,
    end: u64,
    limit: u64,
    budget: &mut u64,
) -> bool {
    let span = limit.checked_sub(from).filter(|span| (2..=SEARCH_BYTES_MAX).contains(span));
    let Some(span) = span.and_then(|span| usize::try_from(span).ok()) else { return false };
    let Some(next) = readings(streams, view, from, limit, span, Some(budget)) else { return false };
    let behind = usize::try_from(end - from).ok().and_then(|at| next.get(at));
    let is_near = next.iter().take(NEXT_MAX).any(|next| *next > 0);
    end < limit && behind == Some(&0) && is_near && meeting(&next, span).is_some()
}

/// The bytes in which frames are looked for that go on for long.
const WINDOW_BYTES: u64 = 32 << 10;

/// So many frames, of so many bytes, follow one another nowhere by chance.
const LONG_FRAMES: u32 = 16;
const LONG_BYTES: usize = 4096;

/// The first frame on which every way to read the bytes agrees that goes on for long or to the
/// limit, where none may reach that: more is damaged before it.
pub(super) fn passage(
    streams: &TrialStreams<'_>,
    view: &View<'_>,
    mut from: u64,
    limit: u64,
) -> Option<u64> {
    loop {
        let left = limit.checked_sub(from).filter(|left| *left >= 2)?;
        let span = usize::try_from(left.min(WINDOW_BYTES)).ok()?;
        if let Some(at) = meeting(&long_readings(streams, view, from, limit, span), span) {
            return Some(from + at as u64);
        }
        if left <= WINDOW_BYTES {
            return None;
        }
        from += WINDOW_BYTES / 2;
    }
}

/// For each place of a span the end of the frame that would be there, where frames go on from it
/// for long or to the limit.
fn long_readings(
    streams: &TrialStreams<'_>,
    view: &View<'_>,
    from: u64,
    limit: u64,
    span: usize,
) -> Vec<u32> {
    let mut next = vec![0_u32; span + 1];
    // How many frames follow one another from a place on, and where the last of them ends.
    let mut runs = vec![(0_u32, 0_usize); span + 1];
    // Whether there is nothing but padding from a place to the limit.
    let mut padded = vec![false; span + 1];
    if let Some(last) = padded.last_mut() {
        *last = from + span as u64 == limit;
    }
    for at in (1..span).rev() {
        let Ok(frame) = parse(streams, view, from + at as u64, limit) else { continue };
        let Ok(end) = usize::try_from(frame.end - from) else { continue };
        let (Some(is_padded), Some((frames, last))) = (padded.get(end), runs.get(end)) else {
            continue;
        };
        let run = match frames {
            _ if *is_padded => (LONG_FRAMES, usize::MAX),
            0 => (1, end),
            frames => (frames + 1, *last),
        };
        if is_padding(frame.id) {
            let is_padded = *is_padded;
            if let Some(padded) = padded.get_mut(at) {
                *padded = is_padded;
            }
        } else if frame.id == id::MINOR_META || frame.id >= id::FIRST_USER {
            if let Some(slot) = runs.get_mut(at) {
                *slot = run;
            }
            let is_long = run.0 >= LONG_FRAMES && run.1 - at >= LONG_BYTES;
            if let (true, Ok(end), Some(slot)) = (is_long, u32::try_from(end), next.get_mut(at)) {
                *slot = end;
            }
        }
    }
    next
}

/// Returns the place where all ways to read have met, counted from where they begin.
fn meeting(next: &[u32], span: usize) -> Option<usize> {
    let first = next.iter().position(|next| *next > 0)?;
    let last_start = if first > NEXT_MAX { first + NEXT_MAX } else { NEXT_MAX };
    let mut ways = vec![0_u32; span + 1];
    let mut total = 0_u32;
    for at in 1..span {
        let lands = next.get(at).is_some_and(|next| *next > 0);
        if at <= last_start && lands {
            total += 1;
            *ways.get_mut(at)? += 1;
        }
        let here = *ways.get(at)?;
        if at > last_start.min(span - 1) && here == total {
            return Some(at);
        }
        if let Some(&end) = next.get(at).filter(|end| **end > 0)
            && here > 0
        {
            *ways.get_mut(usize::try_from(end).ok()?)? += here;
        }
    }
    None
}

/// For each place the end of the frame that would be there, where frames lead on to the limit.
/// With a budget, only frames whose values are of their format: as many bytes are looked at as it
/// has, and nothing is given where that is too few.
fn readings(
    streams: &TrialStreams<'_>,
    view: &View<'_>,
    from: u64,
    limit: u64,
    span: usize,
    mut budget: Option<&mut u64>,
) -> Option<Vec<u32>> {
    if let Some(budget) = &mut budget {
        **budget = budget.checked_sub(span as u64)?;
    }
    let mut next = vec![0_u32; span + 1];
    // Whether there is nothing but padding from a place on.
    let mut padded = vec![false; span + 1];
    if let Some(last) = padded.last_mut() {
        *last = true;
    }
    for at in (1..span).rev() {
        let Ok(frame) = parse(streams, view, from + at as u64, limit) else { continue };
        let Ok(end) = usize::try_from(frame.end - from) else { continue };
        let is_padded = padded.get(end).is_some_and(|padded| *padded);
        if is_padding(frame.id) {
            if let Some(padded) = padded.get_mut(at) {
                *padded = is_padded;
            }
            continue;
        }
        let is_data = frame.id == id::MINOR_META || frame.id >= id::FIRST_USER;
        let leads_on = is_padded || next.get(end).is_some_and(|next| *next > 0);
        if !is_data || !leads_on {
            continue;
        }
        if let Some(budget) = &mut budget {
            **budget = budget.checked_sub(frame.end - frame.payload)?;
            if !fits(streams, view, &frame) {
                continue;
            }
        }
        if let (Ok(end), Some(slot)) = (u32::try_from(end), next.get_mut(at)) {
            *slot = end;
        }
    }
    Some(next)
}
