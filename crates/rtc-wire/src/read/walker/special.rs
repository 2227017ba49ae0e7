//! What the frames that always exist say.

use alloc::vec::Vec;

use crate::crc::{Crc, Polynomial};
use crate::spec::id;

use super::super::meta::{Declared, Definition, Definitions};
use super::super::parse::{Parsed, is_padding};
use super::super::resume::Trial;
use super::super::streams::{Known as _, Tried};
use super::super::{Checksum, Item, View};
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
        told: Option<Definitions>,
    ) {
        if frame.id >= id::FIRST_USER || is_padding(frame.id) {
            return;
        }
        let payload = view.get(frame.payload..frame.end);
        match frame.id {
            id::MAJOR_INDEX | id::MINOR_INDEX => self.note_index(payload, frame.more),
            id::META | id::MINOR_META => self.note_meta(view, frame, told),
            id::PLATFORM => {
                let word = <[u8; 4]>::try_from(payload).unwrap_or_default();
                self.is_big_endian = match word {
                    [1, 2, 3, 4] => Some(true),
                    [4, 3, 2, 1] => Some(false),
                    _ => self.is_big_endian,
                };
            }
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

    fn note_meta(&mut self, view: &View<'_>, frame: &Parsed, told: Option<Definitions>) {
        self.is_meta_due = false;
        let Some(told) = told else {
            self.add_to_meta(view, frame);
            self.is_meta_open = true;
            self.seams.push(self.meta.len());
            return;
        };
        self.is_meta_open = false;
        self.definitions = told;
        self.define(view, frame.end);
        if core::mem::take(&mut self.is_headless) {
            self.forget_chains();
        }
    }

    /// Learns the streams of a Meta. Ids are never used again: where it contradicts an earlier
    /// one, either was damaged, and the one with which the frames that follow make sense counts.
    pub(super) fn define(&mut self, view: &View<'_>, position: u64) {
        let mut contradicted = Vec::new();
        let is_undescribed = self.streams.is_undescribed();
        for Definition { id, length, .. } in &self.definitions.streams {
            let known = self.streams.slot(*id).length;
            if is_undescribed || known == Declared::Unproven {
                self.streams.define(*id, *length);
            } else if *length != Declared::Unproven && known != *length {
                contradicted.push((*id, *length));
            }
        }
        if contradicted.is_empty() || self.contradictions_left == 0 {
            return;
        }
        self.contradictions_left -= 1;
        let landing = self.landing(view);
        let lands = |streams| {
            let mut frames = CONTRADICTION_FRAMES_MAX;
            Trial::new(streams, position).run(view, landing, &[], &mut frames).is_ok()
        };
        let mut others = Tried::new(&self.streams);
        for (id, length) in &contradicted {
            others.define(*id, *length);
        }
        if !lands(Tried::new(&self.streams)) && (self.definitions.is_sound || lands(others)) {
            for (id, length) in contradicted {
                self.streams.define(id, length);
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

    /// Whether what is behind the header at a place is the checksum of all before it.
    pub(super) fn is_held(&self, view: &View<'_>, position: u64) -> bool {
        let payload = view.get(position + 1..position + CRC);
        let Ok(stored) = <[u8; 4]>::try_from(payload) else { return false };
        let start = self.ruler.and_then(|ruler| u64::try_from(ruler.index()).ok());
        let is_all_there = start.is_some_and(|start| start >= view.base() && start < position);
        let value = |polynomial| match start {
            _ if self.verifies => self.sum.value(view, polynomial, position),
            Some(start) if is_all_there => {
                let mut crc = Crc::new(polynomial);
                crc.update(view.get(start..position));
                Some(crc.value())
            }
            _ => None,
        };
        let values = [Polynomial::Ieee, Polynomial::Mixed].into_iter().filter_map(value);
        values.into_iter().any(|value| [value.to_le_bytes(), value.to_be_bytes()].contains(&stored))
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
