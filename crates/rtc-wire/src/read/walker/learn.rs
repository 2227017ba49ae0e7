//! What a Unit says of its streams, and what a later one has to say where that is damaged.

use alloc::collections::BTreeMap;

use crate::spec::id;

use super::super::marker::PROOF_BYTES;
use super::super::meta::{Declared, Definition, Definitions};
use super::super::parse::{Parsed, Trouble};
use super::super::resume::Trial;
use super::super::streams::Tried;
use super::super::{NeedMore, Ruler, View, Why, definitions, is_marker, major_index};
use super::{CRC, Walker};

/// How often in a Unit later ones are asked for its streams.
pub(super) const LEARNS_MAX: u32 = 4;

/// How many Units ahead are looked at.
const UNITS_AHEAD_MAX: u64 = 4;

/// Farther away than this they are not waited for.
const AHEAD_BYTES_MAX: u64 = 32 << 20;

/// Frames that are read to tell whether a Meta is right.
const FRAMES_MAX: u64 = 1 << 16;

impl Walker {
    /// What the Meta or meta says that ends with a frame. Where it is damaged, or does not fit the
    /// frames behind it, a later Unit of the session tells of the same streams.
    pub(super) fn told(
        &mut self,
        view: &View<'_>,
        frame: &Parsed,
    ) -> Result<Option<Definitions>, NeedMore> {
        if !matches!(frame.id, id::META | id::MINOR_META) || frame.more {
            return Ok(None);
        }
        let before = if self.is_meta_open { self.meta.len() } else { 0 };
        self.add_to_meta(view, frame);
        let own = definitions(&self.meta, &self.seams);
        let told = self.with_later(view, frame.end, own);
        if told.is_err() {
            // With more bytes it is read again.
            self.meta.truncate(before);
        }
        told.map(Some)
    }

    fn with_later(
        &mut self,
        view: &View<'_>,
        position: u64,
        own: Definitions,
    ) -> Result<Definitions, NeedMore> {
        let is_first = self.streams.is_undescribed();
        if own.is_sound && (!is_first || self.is_right(view, position, &own)?) {
            return Ok(own);
        }
        let Some(ahead) = self.ahead_in_session(view)? else { return Ok(own) };
        let later = &ahead.definitions.streams;
        let instead = joined(&own, later, true);
        let is_later_right = is_first && self.leads_on(view, position, &instead)?;
        Ok(if is_later_right { instead } else { joined(&own, later, false) })
    }

    /// Whether the first Meta of a session, although it is sound, was not changed: frames follow
    /// as it says, and where the next Unit is there, that describes them alike, or the checksum
    /// of this one holds.
    fn is_right(
        &mut self,
        view: &View<'_>,
        position: u64,
        own: &Definitions,
    ) -> Result<bool, NeedMore> {
        if !self.leads_on(view, position, own)? {
            return Ok(false);
        }
        // Who follows a recording is not to wait for that.
        if !view.is_final() || !self.learns {
            return Ok(true);
        }
        let (Some(ahead), Some(ruler)) = (self.ahead_in_session(view)?, self.ruler) else {
            return Ok(true);
        };
        let lengths: BTreeMap<u32, Declared> =
            own.streams.iter().map(|stream| (stream.id, stream.length)).collect();
        let is_alike = |later: &Definition| {
            lengths.get(&later.id).is_none_or(|length| *length == later.length)
        };
        Ok(ahead.definitions.streams.iter().all(is_alike)
            || self.is_held(view, ruler.end().saturating_sub(CRC)))
    }

    /// Learns streams that nothing described so far from a later Unit. Gives whether there are
    /// any.
    pub(super) fn learn_for(&mut self, view: &View<'_>, why: Why) -> Result<bool, NeedMore> {
        let is_needed = match why {
            Why::Stream(_) => true,
            _ => self.streams.is_undescribed(),
        };
        if !is_needed {
            return Ok(false);
        }
        let Some(ahead) = self.ahead_in_session(view)? else { return Ok(false) };
        let is_new = |found: &&Definition| !self.streams.is_described(found.id);
        let later = ahead.definitions.streams;
        let found: alloc::vec::Vec<Definition> = later.iter().filter(is_new).cloned().collect();
        for Definition { id, length, .. } in &found {
            self.streams.define(*id, *length);
        }
        self.is_big_endian = self.is_big_endian.or(ahead.is_big_endian);
        self.definitions.streams = found;
        Ok(!self.definitions.streams.is_empty())
    }

    /// Whether frames make sense from a Meta on to the next boundary with what it says.
    fn leads_on(
        &self,
        view: &View<'_>,
        position: u64,
        told: &Definitions,
    ) -> Result<bool, NeedMore> {
        let bytes = self.boundary.saturating_sub(position);
        if bytes > AHEAD_BYTES_MAX && !view.is_final() {
            return Ok(true);
        }
        Self::hope(view, self.boundary)?;
        let mut streams = Tried::new(&self.streams);
        for Definition { id, length, .. } in &told.streams {
            streams.define(*id, *length);
        }
        let mut trial = Trial::new(streams, position);
        let found = trial.run(view, self.landing(view), &[], &mut { FRAMES_MAX });
        // Something else may be wrong, farther on.
        Ok(matches!(found, Ok(()) | Err(Trouble::Short)))
    }

    /// A walk that has read what opens a later Unit of this session, if its Meta is sound.
    fn ahead_in_session(&mut self, view: &View<'_>) -> Result<Option<Self>, NeedMore> {
        let (Some(mut ruler), Some(count), true) = (self.ruler, self.count, self.learns) else {
            return Ok(None);
        };
        if self.learns_left == 0 {
            return Ok(None);
        }
        for units in 1..=UNITS_AHEAD_MAX {
            let end = ruler.end();
            if end.saturating_sub(self.position) > AHEAD_BYTES_MAX && !view.is_final() {
                break;
            }
            Self::hope(view, end.saturating_add(PROOF_BYTES))?;
            let is_of_session = |marker: &u64| {
                is_marker(view, *marker)
                    && major_index(view, *marker)
                        .is_some_and(|index| Some(index.count) == count.checked_add(units))
            };
            let marker = [end, ruler.early_end()].into_iter().find(is_of_session);
            let next = marker.unwrap_or(end);
            ruler = Ruler { marker: i64::try_from(next).unwrap_or(i64::MAX), ..ruler };
            let Some(marker) = marker else { continue };
            let walker = Self::at(marker);
            let ahead = match walker.ahead(view) {
                Err(_) if view.reaches_for_now(u64::MAX) => break,
                found => found?,
            };
            if ahead.definitions.is_sound && !ahead.streams.is_undescribed() {
                self.learns_left -= 1;
                return Ok(Some(ahead));
            }
        }
        self.learns_left = 0;
        Ok(None)
    }
}

/// What two Metas say, each stream once: as the first has it where it is whole and the second is
/// not to count more.
fn joined(own: &Definitions, later: &[Definition], is_later_right: bool) -> Definitions {
    let mut streams: BTreeMap<u32, &Definition> =
        own.streams.iter().map(|stream| (stream.id, stream)).collect();
    for stream in later {
        let is_better = |known: &&Definition| {
            is_later_right || !known.is_whole || known.length == Declared::Unproven
        };
        if streams.get(&stream.id).is_none_or(is_better) {
            streams.insert(stream.id, stream);
        }
    }
    Definitions { streams: streams.into_values().cloned().collect(), ..own.clone() }
}
