//! What a damaged Meta said, by the checksum of its Unit or by what is left of its text.

use alloc::vec::Vec;
use core::ops::Range;

use crate::crc::Polynomial;
use crate::spec::id;

use super::super::marker::PROOF_BYTES;
use super::super::meta::Definition;
use super::super::parse::{is_padding, parse};
use super::super::resume::Trial;
use super::super::streams::Tried;
use super::super::{Lookup, NeedMore, Streams, View, definitions, find_marker};
use super::learn::Told;
use super::{CRC, Walker};

/// How many Units of a walk are looked at for the byte that was changed.
pub(super) const MENDS_TOTAL: u32 = 16;

/// In larger Units no byte is looked for.
pub(super) const UNIT_BYTES_MAX: u64 = 4 << 20;

/// What opens a Unit is looked for the byte up to here.
const OPENING_BYTES_MAX: u64 = 1 << 16;

impl Walker {
    /// What the Meta of this Unit said, where one byte of what opens the Unit was changed: no other
    /// change of one byte makes its checksum hold.
    /// It is looked for before `until`.
    pub(super) fn mended(&mut self, view: &View<'_>, until: u64) -> Result<Option<Told>, NeedMore> {
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
        let crcs = self.places_of_crc(view);
        let order = self.is_big_endian.or_else(|| byte_order_behind(view, until));
        // The header of a further frame may be what was changed, so that the Meta seems to end there.
        let ranges = [start..until, start..start.saturating_add(OPENING_BYTES_MAX)];
        let of = |crc| ranges.iter().find_map(|at| mended_opening(view, at.clone(), crc, order));
        let mut mended = crcs.into_iter().filter_map(of);
        // A Meta that ends before here was read, or passed over: frames behind it are not read again.
        Ok(mended.find(|told| told.end > self.position))
    }

    /// The same where the text makes sense as it stands, so that something else of the Unit may be
    /// what is damaged: it counts only if the byte order is known, and if all frames of the Unit
    /// make sense with it.
    pub(super) fn mended_though_sound(
        &mut self,
        view: &View<'_>,
        until: u64,
    ) -> Result<Option<Told>, NeedMore> {
        if self.is_big_endian.or_else(|| byte_order_behind(view, until)).is_none() {
            return Ok(None);
        }
        let mended = self.mended(view, until)?;
        Ok(mended.filter(|told| self.leads_through(view, told)))
    }

    /// Returns true if frames lead from a Meta through all units of the Unit, with what it says.
    fn leads_through(&self, view: &View<'_>, told: &Told) -> bool {
        let Some(ruler) = self.ruler else { return false };
        let mut streams = Tried::new(&self.streams);
        for Definition { id, length, .. } in &told.definitions.streams {
            streams.define(*id, *length);
        }
        let Some(&end) = self.places_of_crc(view).first() else { return false };
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

    /// Where the checksum of this Unit may be: before the next Marker, or where the bytes end.
    pub(super) fn places_of_crc(&self, view: &View<'_>) -> Vec<u64> {
        let Some(ruler) = self.ruler else { return Vec::new() };
        let near = view.until(ruler.end().saturating_add(PROOF_BYTES));
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

/// The Meta of the Unit that begins with an Index and whose checksum is at `crc`, with one byte of
/// it as it was, or of the Index, which begins the range that is searched. What is then no text is
/// not what it was.
fn mended_opening(
    view: &View<'_>,
    within: Range<u64>,
    crc: u64,
    is_big_endian: Option<bool>,
) -> Option<Told> {
    let start = within.start;
    let bytes = view.get(start..crc);
    let stored = <[u8; 4]>::try_from(view.get(crc + 1..crc + CRC)).ok()?;
    let opening = usize::try_from(OPENING_BYTES_MAX).ok()?.min(bytes.len());
    let within = 0..usize::try_from(within.end.checked_sub(start)?).ok()?.min(opening);
    let of = |polynomial: Polynomial| {
        let (little, big) = (u32::from_le_bytes(stored), u32::from_be_bytes(stored));
        let orders = match is_big_endian {
            Some(true) => [Some(big), None],
            Some(false) => [Some(little), None],
            None => [Some(little), Some(big)],
        };
        let mut orders = orders.into_iter().flatten();
        orders.find_map(|stored| polynomial.changed(bytes, stored, within.clone()))
    };
    let changed = of(Polynomial::Ieee).or_else(|| of(Polynomial::Mixed))?;
    let mut opening = bytes.get(..opening)?.to_vec();
    *opening.get_mut(changed.at)? ^= changed.bits;
    let opening = View::part(&opening, start, true);
    let (text, seams, end) = meta_text(&opening, Lookup::at(&opening, start)?.end())?;
    // Where the byte is behind the Meta, that is as it was.
    (start + (changed.at as u64) < end).then_some(())?;
    core::str::from_utf8(&text).ok()?;
    let mut told = Told { definitions: definitions(&text, &seams), end };
    if !told.definitions.is_sound {
        return None;
    }
    // The text as it stands is damaged all the same.
    told.definitions.is_sound = false;
    told.definitions.streams.iter_mut().for_each(|stream| stream.is_proven = true);
    Some(told)
}

/// What the Meta at a place says.
pub(super) fn meta_at(view: &View<'_>, position: u64) -> Option<Told> {
    let (text, seams, end) = meta_text(view, position)?;
    Some(Told { definitions: definitions(&text, &seams), end })
}

/// Reads the frames of a Meta one after the other: its text, where they were joined, and where the
/// last one ends. A tick may be between them, with the padding before it.
fn meta_text(view: &View<'_>, mut position: u64) -> Option<(Vec<u8>, Vec<usize>, u64)> {
    let (streams, mut text, mut seams) = (Streams::new(), Vec::new(), Vec::new());
    loop {
        let frame = parse(&streams, view, position, view.end()).ok()?;
        position = frame.end;
        let is_between = is_padding(frame.id) || frame.id == id::MINOR_INDEX;
        if is_between && !seams.is_empty() {
            continue;
        }
        (frame.id == id::META).then_some(())?;
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
pub(super) fn text_after(view: &View<'_>, position: u64) -> Option<Told> {
    let bytes = view.get(position..position.saturating_add(2 * PROOF_BYTES));
    let start = bytes.windows(2).position(|pair| pair == b"[{")?;
    let platforms = [[b']', 0x0E, 4, 3, 2, 1], [b']', 0x0E, 1, 2, 3, 4]];
    let is_end = |window: &[u8]| platforms.iter().any(|platform| platform == window);
    let text = bytes.get(start..)?;
    let end = 1 + text.windows(6).position(is_end)?;
    let definitions = definitions(text.get(..end)?, &[]);
    let end = position + (start + end) as u64;
    (!definitions.streams.is_empty()).then_some(Told { definitions, end })
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
        while !is_meta(&walker.next(&View::whole(&sound)).unwrap()) {}
        for bytes in [&sound, &changed, &changed] {
            let view = View::whole(bytes);
            assert!(walker.mended(&view, walker.position).unwrap().is_none());
            assert_eq!(walker.mends_left, MENDS_TOTAL);
        }
    }
}
