//! Contents of the frames that always exist.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use crate::crc::Polynomial;
use crate::spec::id;

use super::super::form::Form;
use super::super::meta::{Declared, Definition};
use super::super::parse::{Parsed, is_padding};
use super::super::resume::Trial;
use super::super::streams::{STREAMS_MAX, Slot, StreamLookup as _, TrialStreams};
use super::super::{Checksum, Item, View};
use super::frame::byte_order;
use super::learn::MetaContent;
use super::{CRC, Walker};

/// The largest Meta or Index; a longer one is not kept.
const CHAIN_BYTES_MAX: usize = 1 << 24;

/// Frames that are read to tell which of two Metas is right.
const CONTRADICTION_FRAMES_MAX: u64 = 1 << 16;

impl Walker {
    /// Takes note of what the special frames say.
    pub(super) fn note_special(
        &mut self,
        view: &View<'_>,
        frame: &Parsed,
        told: Option<MetaContent>,
    ) {
        if frame.id >= id::FIRST_USER || is_padding(frame.id) {
            return;
        }
        let payload = view.get(frame.payload..frame.end);
        match frame.id {
            id::MAJOR_INDEX | id::MINOR_INDEX => self.note_index(payload, frame.more),
            id::META | id::MINOR_META => self.note_meta(view, frame, told),
            id::PLATFORM => self.is_big_endian = byte_order(payload).or(self.is_big_endian),
            id::CRC => self.note_crc(view, frame),
            _ => {}
        }
    }

    pub(super) fn note_index(&mut self, payload: &[u8], more: bool) {
        if !self.is_index_open {
            self.index.clear();
        }
        self.is_index_open = more;
        if self.index.len() + payload.len() <= CHAIN_BYTES_MAX {
            self.index.extend_from_slice(payload);
        }
    }

    /// Adds a frame to the text of a Meta.
    pub(super) fn add_to_meta(&mut self, view: &View<'_>, frame: &Parsed) {
        let payload = view.get(frame.payload..frame.end);
        if !self.is_meta_open {
            self.meta.clear();
            self.seams.clear();
        }
        if self.meta.len() + payload.len() <= CHAIN_BYTES_MAX {
            self.meta.extend_from_slice(payload);
        }
    }

    fn note_meta(&mut self, view: &View<'_>, frame: &Parsed, told: Option<MetaContent>) {
        self.is_meta_due = false;
        let Some(told) = told else {
            self.add_to_meta(view, frame);
            self.is_meta_open = true;
            self.seams.push(self.meta.len());
            return;
        };
        self.is_meta_open = false;
        self.opened = frame.end;
        self.definitions = told.definitions;
        self.define(view, frame.end);
        if core::mem::take(&mut self.is_headless) {
            self.forget_chains();
        }
    }

    /// Learns the streams of a Meta. Ids are never used again: where it contradicts an earlier
    /// one, either was damaged. Where the checksum of this Unit holds, it was the other; else the
    /// length counts with which the frames that follow make sense, and all else as it was.
    pub(super) fn define(&mut self, view: &View<'_>, position: u64) {
        let mut contradicted = Vec::new();
        let is_undescribed = self.streams.is_undescribed();
        for Definition { id, length, is_proven, .. } in &self.definitions.streams {
            let Slot { length: known, is_guessed, .. } = self.streams.slot(*id);
            let is_new = is_undescribed || is_guessed || known == Declared::Unproven;
            if is_new || *is_proven {
                self.streams.define(*id, *length);
            } else if *length != Declared::Unproven && known != *length {
                contradicted.push((*id, *length));
            }
        }
        self.note_forms();
        let differing = self.note_texts();
        if (contradicted.is_empty() && differing.is_empty()) || self.contradictions_left == 0 {
            return;
        }
        self.contradictions_left -= 1;
        if !differing.is_empty() && self.is_unit_sound(view) {
            self.prove(&differing);
        } else if !contradicted.is_empty() {
            self.try_lengths(view, position, &contradicted);
        }
    }

    /// Takes note of what values look like.
    pub(super) fn note_forms(&mut self) {
        for stream in &self.definitions.streams {
            let is_disproven = self.streams.slot(stream.id).form == Form::Disproven;
            if self.streams.is_defined(stream.id) && !is_disproven {
                self.streams.set_form(stream.id, Form::from_definition(stream));
            }
        }
    }

    /// Keeps what was said of each stream; gives those of which something else was said before.
    fn note_texts(&mut self) -> BTreeSet<u32> {
        let mut differing = BTreeSet::new();
        for Definition { id, text, is_proven, .. } in
            self.definitions.streams.iter().filter(|stream| stream.is_whole)
        {
            let said = fingerprint(text);
            match self.said.get(id) {
                Some(before) if *before != said && !is_proven => {
                    differing.insert(*id);
                }
                None if self.said.len() >= STREAMS_MAX => {}
                _ => {
                    self.said.insert(*id, said);
                }
            }
        }
        self.definitions.contradicted =
            self.definitions.contradicted.or(differing.first().copied());
        differing
    }

    /// Marks the description of some streams in this Unit as right.
    fn prove(&mut self, streams: &BTreeSet<u32>) {
        let is_meant = |stream: &&mut Definition| streams.contains(&stream.id);
        for stream in self.definitions.streams.iter_mut().filter(is_meant) {
            stream.is_proven = true;
            self.streams.define(stream.id, stream.length);
            self.said.insert(stream.id, fingerprint(&stream.text));
        }
    }

    /// Takes lengths that contradict those that are known, if frames follow as they say.
    fn try_lengths(&mut self, view: &View<'_>, position: u64, contradicted: &[(u32, Declared)]) {
        let landing = self.landing(view);
        let lands = |streams| {
            let mut frames = CONTRADICTION_FRAMES_MAX;
            Trial::new(streams, position).run(view, landing, &[], &mut frames).is_ok()
        };
        let mut others = TrialStreams::new(&self.streams);
        for (id, length) in contradicted {
            others.define(*id, *length);
        }
        if !lands(TrialStreams::new(&self.streams)) && (self.definitions.is_sound || lands(others))
        {
            for (id, length) in contradicted {
                self.streams.define(*id, *length);
            }
        }
    }

    pub(super) fn note_crc(&mut self, view: &View<'_>, frame: &Parsed) {
        self.after_crc = true;
        self.has_crc = Some(true);
        let stored = <[u8; 4]>::try_from(view.get(frame.payload..frame.end)).unwrap_or_default();
        let checksum = self.checksum(view, frame.position, stored);
        self.queue(Item::Checksum(checksum));
    }

    /// Returns true if what is behind the header at a place is the checksum of all before it.
    pub(super) fn is_held(&self, view: &View<'_>, position: u64) -> bool {
        let payload = view.get(position + 1..position + CRC);
        let Ok(stored) = <[u8; 4]>::try_from(payload) else { return false };
        let value = |polynomial| self.sum_to(view, polynomial, position);
        let values = [Polynomial::Ieee, Polynomial::Mixed].into_iter().filter_map(value);
        values.into_iter().any(|value| [value.to_le_bytes(), value.to_be_bytes()].contains(&stored))
    }

    /// The checksum of the Unit's bytes before a place. Whether or not checksums are verified, the
    /// same is found.
    pub(super) fn sum_to(
        &self,
        view: &View<'_>,
        polynomial: Polynomial,
        position: u64,
    ) -> Option<u32> {
        let start = self.ruler.and_then(|ruler| u64::try_from(ruler.index()).ok());
        match start.filter(|start| *start >= view.base() && *start < position) {
            Some(start) => Some(polynomial.checksum(view.get(start..position))),
            None if self.verifies => self.sum.value(view, polynomial, position),
            None => None,
        }
    }

    pub(super) fn checksum(&mut self, view: &View<'_>, position: u64, stored: [u8; 4]) -> Checksum {
        let mut checksum =
            Checksum { position, polynomial: None, is_early: false, is_unchecked: true };
        if !self.verifies {
            return checksum;
        }
        let other = match self.sum.usual {
            Polynomial::Ieee => Polynomial::Mixed,
            Polynomial::Mixed => Polynomial::Ieee,
        };
        let ends = [position, self.sum.before_tick];
        for (number, end) in ends.into_iter().enumerate() {
            for polynomial in [self.sum.usual, other] {
                let Some(value) = self.sum.value(view, polynomial, end) else { continue };
                checksum.is_unchecked = false;
                let orders = [value.to_le_bytes(), value.to_be_bytes()];
                let holds = match self.is_big_endian {
                    Some(is_big) => orders.get(usize::from(is_big)) == Some(&stored),
                    None => orders.contains(&stored),
                };
                if holds {
                    self.sum.usual = polynomial;
                    checksum.polynomial = Some(polynomial);
                    checksum.is_early = number > 0;
                    return checksum;
                }
            }
        }
        checksum
    }
}

/// A number that tells texts apart (FNV-1a).
pub(super) fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    })
}
