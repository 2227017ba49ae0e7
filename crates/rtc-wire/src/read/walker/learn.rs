//! Streams that a Unit describes, and the description in a later Unit where the first is damaged.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::spec::id;

use super::super::marker::{PROOF_BYTES, minor_index};
use super::super::meta::{Declared, Definition, Definitions};
use super::super::parse::{FrameError, Parsed};
use super::super::resume::Trial;
use super::super::streams::TrialStreams;
use super::super::{
    DamageKind, NeedMore, Ruler, View, definitions, find_marker, is_marker, major_index,
};
use super::Walker;
use super::mend::text_after;

/// Number of times in a Unit that later ones are asked for its streams.
pub(super) const LEARNS_MAX: u32 = 4;

/// Number of Units ahead that are looked at.
const UNITS_AHEAD_MAX: u64 = 4;

/// Farther away than this they are not waited for.
const AHEAD_BYTES_MAX: u64 = 32 << 20;

/// Frames that are read to tell whether a Meta is right.
const FRAMES_MAX: u64 = 1 << 16;

/// Definitions of a Meta or meta, and the place where it ends.
pub(super) struct MetaContent {
    pub definitions: Definitions,
    pub end: u64,
}

/// Opening of a later Unit, and the distance to it in Units.
struct LaterUnit {
    walker: Walker,
    units: u64,
}

impl Walker {
    /// Returns the definitions of the Meta or meta that ends with a frame. It may be damaged, not
    /// fit the frames behind it, or be contradicted. Then a later Unit of the session or the
    /// checksum of this one tells what it was.
    pub(super) fn meta_content(
        &mut self,
        view: &View<'_>,
        frame: &Parsed,
    ) -> Result<Option<MetaContent>, NeedMore> {
        if !matches!(frame.id, id::META | id::MINOR_META) || frame.more {
            return Ok(None);
        }
        let before = if self.is_meta_open { self.meta.len() } else { 0 };
        self.add_to_meta(view, frame);
        let own = definitions(&self.meta, &self.seams);
        let told = self.verified_content(view, frame, own);
        if told.is_err() {
            // With more bytes it is read again.
            self.meta.truncate(before);
        }
        told.map(Some)
    }

    fn verified_content(
        &mut self,
        view: &View<'_>,
        frame: &Parsed,
        own: Definitions,
    ) -> Result<MetaContent, NeedMore> {
        let end = frame.end;
        // What always exists is not what a Meta is for: such an id may be a damaged one.
        let is_told = |stream: &Definition| {
            stream.id < id::FIRST_USER || !self.streams.is_described(stream.id)
        };
        if own.is_sound && !own.streams.iter().any(is_told) {
            return Ok(MetaContent { definitions: own, end });
        }
        let is_first = self.streams.is_undescribed();
        if own.is_sound && (!is_first || self.frames_fit_meta(view, end, &own)?) {
            return self.compared(view, own, end);
        }
        let mended = if own.is_sound {
            self.mended_though_sound(view, end)?
        } else {
            self.mended(view, end)?
        };
        if let Some(mended) = mended {
            return Ok(mended);
        }
        let told = match self.ahead_in_session(view, 1)? {
            Some(ahead) => self.with_later(view, end, &own, &ahead)?,
            None if is_first => return self.repaired_content(view, frame, own),
            None => own,
        };
        Ok(MetaContent { definitions: told, end })
    }

    /// Returns the definitions of a damaged Meta together with those of a later one.
    fn with_later(
        &self,
        view: &View<'_>,
        end: u64,
        own: &Definitions,
        ahead: &LaterUnit,
    ) -> Result<Definitions, NeedMore> {
        let later = &ahead.walker.definitions.streams;
        let instead = joined(own, later, true);
        let is_first = self.streams.is_undescribed();
        let is_later_right = is_first && self.frames_fit_meta(view, end, &instead)?;
        Ok(if is_later_right { instead } else { joined(own, later, false) })
    }

    /// The first Meta of a session that is damaged and that nothing else tells of: the way to read
    /// it with which frames follow.
    fn repaired_content(
        &self,
        view: &View<'_>,
        frame: &Parsed,
        own: Definitions,
    ) -> Result<MetaContent, NeedMore> {
        let own = MetaContent { definitions: own, end: frame.end };
        // Its length may be damaged as well.
        let found = text_after(view, frame.position).filter(|found| found.end != own.end);
        for told in
            [Some(own.guessed()), found.as_ref().map(MetaContent::guessed)].into_iter().flatten()
        {
            // Where its text has bytes too many or too few, all that follows is away by as many.
            let moved = i128::from(told.end) - i128::from(own.end);
            if !told.definitions.streams.is_empty()
                && (self.frames_fit_meta(view, told.end, &told.definitions)?
                    || self.frames_fit_moved_meta(view, &told, moved))
            {
                return Ok(told);
            }
        }
        Ok(own)
    }

    /// A Meta that makes sense and tells of streams for the first time, beside the next one that
    /// tells of them. Where they differ, that of a Unit counts whose checksum holds; where there is
    /// no next one, the checksum tells whether a byte of it was changed.
    fn compared(
        &mut self,
        view: &View<'_>,
        own: Definitions,
        end: u64,
    ) -> Result<MetaContent, NeedMore> {
        // Who follows a recording is not to wait for that.
        if !view.is_final() || !self.learns {
            return Ok(MetaContent { definitions: own, end });
        }
        let Some(ahead) = self.ahead_in_session(view, 1)? else {
            let mended = self.mended_though_sound(view, end)?;
            return Ok(mended.unwrap_or(MetaContent { definitions: own, end }));
        };
        let later = &ahead.walker.definitions.streams;
        let Some(id) = contradiction(&own, later).filter(|_| !self.is_whole(view)) else {
            return Ok(MetaContent { definitions: own, end });
        };
        if let Some(mended) = self.mended_though_sound(view, end)? {
            return Ok(mended);
        }
        let is_later_sound = ahead.walker.is_unit_sound(view);
        let third =
            if is_later_sound { None } else { self.ahead_in_session(view, ahead.units + 1)? };
        let agrees = |with: &[Definition]| {
            third
                .as_ref()
                .is_some_and(|third| contradiction(&third.walker.definitions, with).is_none())
        };
        let (is_later_right, is_own_right) =
            (is_later_sound || agrees(later), agrees(&own.streams));
        let mut definitions = if is_later_right { joined(&own, later, true) } else { own };
        // Where the later one is wrong, that is said when it is read.
        definitions.contradicted = Some(id).filter(|_| is_later_right || !is_own_right);
        Ok(MetaContent { definitions, end })
    }

    /// Learns streams that nothing described so far from a later Unit. Gives whether there are
    /// any.
    pub(super) fn learn_from_later(
        &mut self,
        view: &View<'_>,
        why: DamageKind,
    ) -> Result<bool, NeedMore> {
        let is_needed = match why {
            DamageKind::Stream(_) => true,
            _ => self.streams.is_undescribed(),
        };
        if !is_needed {
            return Ok(false);
        }
        let Some(ahead) = self.ahead_in_session(view, 1)? else { return Ok(false) };
        let is_new = |found: &&Definition| !self.streams.is_described(found.id);
        let later = ahead.walker.definitions.streams;
        let found: Vec<Definition> = later.iter().filter(is_new).cloned().collect();
        for Definition { id, length, .. } in &found {
            self.streams.define(*id, *length);
        }
        self.is_big_endian = self.is_big_endian.or(ahead.walker.is_big_endian);
        self.definitions.streams = found;
        self.note_forms();
        Ok(!self.definitions.streams.is_empty())
    }

    /// Returns true if frames make sense from a Meta on to the next boundary with what it says.
    fn frames_fit_meta(
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
        let mut streams = TrialStreams::new(&self.streams);
        for Definition { id, length, .. } in &told.streams {
            streams.define(*id, *length);
        }
        let mut trial = Trial::new(streams, position);
        let found = trial.run(view, self.landing(view), &[], &mut { FRAMES_MAX });
        // Something else may be wrong, farther on.
        Ok(matches!(found, Ok(()) | Err(FrameError::Short)))
    }

    /// Returns true if frames make sense from a Meta on to the next tick, which is away from its
    /// place and has its index.
    fn frames_fit_moved_meta(&self, view: &View<'_>, told: &MetaContent, moved: i128) -> bool {
        let tick = u64::try_from(i128::from(self.boundary) + moved).unwrap_or(0);
        if moved == 0 || self.is_last || minor_index(view, tick).is_none() {
            return false;
        }
        let mut streams = TrialStreams::new(&self.streams);
        for Definition { id, length, .. } in &told.definitions.streams {
            streams.define(*id, *length);
        }
        let mut trial = Trial::new(streams, told.end);
        trial.run(view, tick, &[], &mut { FRAMES_MAX }).is_ok()
    }

    /// A walk that has read what opens a later Unit of this session, so many Units on or more, if
    /// its Meta is sound.
    fn ahead_in_session(
        &mut self,
        view: &View<'_>,
        least: u64,
    ) -> Result<Option<LaterUnit>, NeedMore> {
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
            let in_place = [end, ruler.early_end()].into_iter().find(is_of_session);
            // Bytes may be missing before it, or too many.
            let near = || {
                let from = end.saturating_sub(ruler.major / 2).max(self.position);
                find_marker(&view.truncated(end.saturating_add(PROOF_BYTES)), from)
            };
            let marker = in_place.or_else(|| near().filter(is_of_session));
            let next = marker.unwrap_or(end);
            ruler = Ruler { marker: i64::try_from(next).unwrap_or(i64::MAX), ..ruler };
            let Some(marker) = marker.filter(|_| units >= least) else { continue };
            let walker = match Self::from_position(marker).ahead(view) {
                Err(_) if view.reaches_for_now(u64::MAX) => break,
                found => found?,
            };
            if walker.definitions.is_sound && !walker.streams.is_undescribed() {
                self.learns_left -= 1;
                return Ok(Some(LaterUnit { walker, units }));
            }
        }
        self.learns_left = 0;
        Ok(None)
    }
}

impl MetaContent {
    /// The text as it stands is damaged, and what it was counts more than what was said before.
    pub(super) fn mark_mended(&mut self) {
        self.definitions.is_sound = false;
        for stream in self.definitions.streams.iter_mut().filter(|stream| stream.is_whole) {
            stream.is_proven = true;
        }
    }

    /// With streams of which nothing tells how long their frames are taken for the usual ones.
    pub(super) fn guessed(&self) -> Self {
        let mut definitions = self.definitions.clone();
        for stream in &mut definitions.streams {
            if stream.length == Declared::Unproven {
                stream.length = Declared::Variable;
            }
        }
        Self { definitions, end: self.end }
    }
}

/// A stream of which two Metas say something else.
fn contradiction(own: &Definitions, later: &[Definition]) -> Option<u32> {
    let texts: BTreeMap<u32, &str> =
        own.streams.iter().map(|stream| (stream.id, stream.text.as_str())).collect();
    let differs =
        |later: &&Definition| texts.get(&later.id).is_some_and(|text| *text != later.text);
    later.iter().find(differs).map(|later| later.id)
}

/// Joins the definitions of two Metas, each stream once: as the first has it where it is whole and
/// the second is not to count more.
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
