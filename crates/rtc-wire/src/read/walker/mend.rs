//! Recovery of a damaged Meta, by the checksum of its Unit or by what is left of its text.

use alloc::vec::Vec;

use crate::crc::Polynomial;
use crate::spec::id;

use super::super::marker::PROOF_BYTES;
use super::super::meta::Definition;
use super::super::parse::{is_padding, parse};
use super::super::resume::Trial;
use super::super::streams::TrialStreams;
use super::super::{Lookup, NeedMore, Streams, View, definitions, find_marker};
use super::learn::MetaContent;
use super::{CRC, Walker};

/// Number of Units of a walk that are searched for the byte that was changed.
pub(super) const MENDS_TOTAL: u32 = 16;

/// In larger Units no byte is looked for.
pub(super) const UNIT_BYTES_MAX: u64 = 4 << 20;

/// Greatest number of bytes of the opening of a Unit that are searched for the byte.
const OPENING_BYTES_MAX: u64 = 1 << 16;

impl Walker {
    /// What the Meta of this Unit said, or the `meta` at hand, where one byte of it or of what opens
    /// the Unit was changed: no other change of one byte makes its checksum hold.
    /// It is looked for before `until`.
    pub(super) fn mended(
        &mut self,
        view: &View<'_>,
        until: u64,
    ) -> Result<Option<MetaContent>, NeedMore> {
        let is_asked = self.learns && self.mends_left > 0;
        let Some(ruler) = self.ruler.filter(|ruler| is_asked && ruler.major <= UNIT_BYTES_MAX)
        else {
            return Ok(None);
        };
        let (end, start) = (ruler.end().saturating_add(PROOF_BYTES), u64::try_from(ruler.index()));
        Self::hope(view, end)?;
        let Some(start) = start.ok().filter(|start| view.reaches(end) && *start >= view.base())
        else {
            return Ok(None);
        };
        if self.is_whole(view) {
            return Ok(None);
        }
        self.mends_left -= 1;
        let order = self.is_big_endian.or_else(|| byte_order_behind(view, until));
        // By chance a checksum of the other kind may point to a byte, too: what makes sense counts.
        let kinds = [Polynomial::Ieee, Polynomial::Mixed];
        let places = self.places_of_crc(view);
        for (crc, kind) in places.into_iter().flat_map(|crc| kinds.map(|kind| (crc, kind))) {
            let Some(changed) = changed_byte(view, start, crc, kind, order) else { continue };
            let opening = opening_as_it_was(view, start, crc, changed);
            let told = opening.or_else(|| meta_as_it_was(view, self.position, crc, changed));
            // A Meta that ends before here was read, or passed over: frames behind it are not read
            // again.
            let told = told.filter(|told| told.end > self.position);
            if let Some(mut told) = told.and_then(|told| self.makes_sense(view, told, crc)) {
                told.mark_mended();
                return Ok(Some(told));
            }
        }
        Ok(None)
    }

    /// What is said, where that is a sound text. What an old writer spoilt where frames end is not sound
    /// either when it is corrected: then frames have to make sense with it up to the next tick.
    fn makes_sense(&self, view: &View<'_>, told: MetaContent, crc: u64) -> Option<MetaContent> {
        if told.definitions.is_sound {
            return Some(told);
        }
        let end = self.ruler?.tick_after(told.end).min(crc);
        let guessed = told.guessed();
        [told, guessed].into_iter().find(|told| self.frames_fit_up_to(view, told, end))
    }

    /// The same where the text makes sense as it stands, so that something else of the Unit may be
    /// what is damaged: it counts only if the byte order is known, and if all frames of the Unit
    /// make sense with it.
    pub(super) fn mended_though_sound(
        &mut self,
        view: &View<'_>,
        until: u64,
    ) -> Result<Option<MetaContent>, NeedMore> {
        if self.is_big_endian.or_else(|| byte_order_behind(view, until)).is_none() {
            return Ok(None);
        }
        let mended = self.mended(view, until)?;
        Ok(mended.filter(|told| self.frames_fit_unit(view, told)))
    }

    /// The `meta` at a place, where the byte of the Unit that was changed is in its header.
    pub(super) fn changed_meta(&self, view: &View<'_>, start: u64) -> Option<MetaContent> {
        let (crc, changed) = self.known_change()?;
        let mut told = meta_as_it_was(view, start, crc, changed)?;
        if !told.definitions.is_sound || !self.frames_fit_unit(view, &told) {
            return None;
        }
        told.mark_mended();
        Some(told)
    }

    /// Returns true if frames lead from a Meta through all units of the Unit, with what it says.
    fn frames_fit_unit(&self, view: &View<'_>, told: &MetaContent) -> bool {
        let end = self.places_of_crc(view).first().copied();
        end.is_some_and(|end| self.frames_fit_up_to(view, told, end))
    }

    /// Returns true if frames lead from a Meta to a place in its Unit, with what it says.
    fn frames_fit_up_to(&self, view: &View<'_>, told: &MetaContent, end: u64) -> bool {
        let Some(ruler) = self.ruler else { return false };
        let mut streams = TrialStreams::new(&self.streams);
        for Definition { id, length, .. } in &told.definitions.streams {
            streams.define(*id, *length);
        }
        let mut position = told.end;
        while position < end {
            let limit = ruler.tick_after(position).min(end);
            let mut trial = Trial::new(streams, position);
            if trial.run(view, limit, &[], &mut { u64::MAX }).is_err() {
                return false;
            }
            (streams, position) = (trial.streams, limit);
        }
        true
    }

    /// Returns true if the checksum of this Unit holds.
    pub(super) fn is_unit_sound(&self, view: &View<'_>) -> bool {
        self.places_of_crc(view).into_iter().any(|crc| self.is_held(view, crc))
    }

    /// Returns the places where the checksum of this Unit may be: before the next Marker, or where
    /// the bytes end.
    pub(super) fn places_of_crc(&self, view: &View<'_>) -> Vec<u64> {
        let Some(ruler) = self.ruler else { return Vec::new() };
        let near = view.truncated(ruler.end().saturating_add(PROOF_BYTES));
        let next = find_marker(&near, self.position);
        let ends = [Some(ruler.end()), Some(ruler.early_end()), next, Some(view.end())];
        let ends = ends.into_iter().flatten().filter(|end| *end <= ruler.end().min(view.end()));
        let mut places: Vec<u64> = ends.map(|end| end.saturating_sub(CRC)).collect();
        places.sort_unstable();
        places.dedup();
        places.retain(|place| *place > self.position && view.byte(*place) == Some(0x10));
        places
    }
}

/// The one byte between the Index of a Unit and its checksum by whose change that does not hold.
fn changed_byte(
    view: &View<'_>,
    start: u64,
    crc: u64,
    polynomial: Polynomial,
    is_big_endian: Option<bool>,
) -> Option<(u64, u8)> {
    let bytes = view.get(start..crc);
    let stored = <[u8; 4]>::try_from(view.get(crc + 1..crc + CRC)).ok()?;
    let (little, big) = (u32::from_le_bytes(stored), u32::from_be_bytes(stored));
    let orders = match is_big_endian {
        Some(true) => [Some(big), None],
        Some(false) => [Some(little), None],
        None => [Some(little), Some(big)],
    };
    let mut orders = orders.into_iter().flatten();
    let changed = orders.find_map(|stored| polynomial.changed(bytes, stored, 0..bytes.len()))?;
    Some((start + changed.at as u64, changed.bits))
}

/// The bytes from a place on, at most as many as open a Unit, with one of them as it was.
fn as_it_was(view: &View<'_>, from: u64, crc: u64, (at, bits): (u64, u8)) -> Option<Vec<u8>> {
    let end = from.saturating_add(OPENING_BYTES_MAX).min(crc);
    let mut bytes = view.get(from..end).to_vec();
    *bytes.get_mut(usize::try_from(at.checked_sub(from)?).ok()?)? ^= bits;
    Some(bytes)
}

/// The Meta behind the Index of a Unit, with the byte that was changed in one of them as it was.
fn opening_as_it_was(
    view: &View<'_>,
    start: u64,
    crc: u64,
    changed: (u64, u8),
) -> Option<MetaContent> {
    let bytes = as_it_was(view, start, crc, changed)?;
    let opening = View::part(&bytes, start, true);
    text_as_it_was(&opening, id::META, Lookup::read(&opening, start)?.end(), changed)
}

/// The `meta` at a place within a Unit, with the byte that was changed in it as it was.
fn meta_as_it_was(
    view: &View<'_>,
    position: u64,
    crc: u64,
    changed: (u64, u8),
) -> Option<MetaContent> {
    let bytes = as_it_was(view, position, crc, changed)?;
    text_as_it_was(&View::part(&bytes, position, true), id::MINOR_META, position, changed)
}

/// What frames of a kind say. What is no text is not what it was; where the byte is behind them,
/// they are as they were.
fn text_as_it_was(
    view: &View<'_>,
    kind: u32,
    position: u64,
    (at, _): (u64, u8),
) -> Option<MetaContent> {
    let (text, seams, end) = meta_text(view, kind, position)?;
    core::str::from_utf8(&text).ok().filter(|_| at < end)?;
    Some(MetaContent { definitions: definitions(&text, &seams), end })
}

/// Returns the definitions of the Meta at a place.
pub(super) fn meta_at(view: &View<'_>, position: u64) -> Option<MetaContent> {
    let (text, seams, end) = meta_text(view, id::META, position)?;
    Some(MetaContent { definitions: definitions(&text, &seams), end })
}

/// Reads the frames of a Meta or `meta` one after the other: its text, where they were joined, and
/// where the last one ends. A tick may be between them, with the padding before it.
fn meta_text(view: &View<'_>, kind: u32, mut position: u64) -> Option<(Vec<u8>, Vec<usize>, u64)> {
    let (streams, mut text, mut seams) = (Streams::new(), Vec::new(), Vec::new());
    loop {
        let frame = parse(&streams, view, position, view.end()).ok()?;
        position = frame.end;
        let is_between = is_padding(frame.id) || frame.id == id::MINOR_INDEX;
        if is_between && !seams.is_empty() {
            continue;
        }
        (frame.id == kind).then_some(())?;
        text.extend_from_slice(view.get(frame.payload..frame.end));
        if !frame.more {
            return Some((text, seams, position));
        }
        seams.push(text.len());
    }
}

/// The byte order that the platform frame behind a Meta tells.
fn byte_order_behind(view: &View<'_>, meta_end: u64) -> Option<bool> {
    match view.get(meta_end..meta_end.saturating_add(5)) {
        [0x0E, 1, 2, 3, 4] => Some(true),
        [0x0E, 4, 3, 2, 1] => Some(false),
        _ => None,
    }
}

/// The text of a Meta near a place, whatever its frame says: from the bracket that opens it to the
/// one before a platform frame.
pub(super) fn text_after(view: &View<'_>, position: u64) -> Option<MetaContent> {
    let bytes = view.get(position..position.saturating_add(2 * PROOF_BYTES));
    let start = bytes.windows(2).position(|pair| pair == b"[{")?;
    let platforms = [[b']', 0x0E, 4, 3, 2, 1], [b']', 0x0E, 1, 2, 3, 4]];
    let is_end = |window: &[u8]| platforms.iter().any(|platform| platform == window);
    let text = bytes.get(start..)?;
    let end = 1 + text.windows(6).position(is_end)?;
    let definitions = definitions(text.get(..end)?, &[]);
    let end = position + (start + end) as u64;
    (!definitions.streams.is_empty()).then_some(MetaContent { definitions, end })
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::vec::Vec;

    use super::*;
    use crate::meta::StreamMeta;
    use crate::read::Item;
    use crate::write::{Options, Writer};

    /// A Unit may have a meta frame for every few bytes. Its checksum is looked at once: shown by
    /// other bytes in the place of those that were summed.
    #[test]
    fn a_unit_is_not_summed_again_and_again() {
        let mut writer = Writer::new(Vec::new(), Options::new());
        for number in 0..50 {
            let stream = writer.add(&StreamMeta::new(&format!("s{number}"))).unwrap();
            writer.write(stream, b"message").unwrap();
        }
        let sound = writer.finish().unwrap();
        let mut changed = sound.clone();
        let last = changed.len() - 20;
        changed[last] ^= 1;
        let mut walker = Walker::new();
        let is_meta =
            |item: &Item| matches!(item, Item::Frame(frame) if frame.id == id::MINOR_META);
        while !is_meta(&walker.next(&View::from_file(&sound)).unwrap()) {}
        for bytes in [&sound, &changed, &changed] {
            let view = View::from_file(bytes);
            assert!(walker.mended(&view, walker.position).unwrap().is_none());
            assert_eq!(walker.mends_left, MENDS_TOTAL);
        }
    }
}
