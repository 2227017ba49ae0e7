//! What the frames that always exist say.

use crate::crc::Polynomial;
use crate::spec::id;

use super::super::meta::{Declared, Definition};
use super::super::parse::{Parsed, is_padding};
use super::super::resume::lands;
use super::super::{Checksum, Item, View, definitions};
use super::Walker;

/// The largest Meta or Index; a longer one is not kept.
const CHAIN_BYTES_MAX: usize = 1 << 24;

impl Walker {
    /// Takes note of what the special frames say.
    pub(super) fn note_special(&mut self, view: &View<'_>, frame: &Parsed) {
        if frame.id >= id::FIRST_USER || is_padding(frame.id) {
            return;
        }
        let payload = view.get(frame.payload..frame.end);
        match frame.id {
            id::MAJOR_INDEX | id::MINOR_INDEX => self.note_index(payload, frame.more),
            id::META | id::MINOR_META => self.note_meta(view, frame),
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

    pub(super) fn note_meta(&mut self, view: &View<'_>, frame: &Parsed) {
        let payload = view.get(frame.payload..frame.end);
        if !self.is_meta_open {
            self.meta.clear();
            self.seams.clear();
        }
        self.is_meta_open = frame.more;
        if self.meta.len() + payload.len() <= CHAIN_BYTES_MAX {
            self.meta.extend_from_slice(payload);
        }
        if frame.more {
            self.seams.push(self.meta.len());
            return;
        }
        self.definitions = definitions(&self.meta, &self.seams);
        self.define(view, frame.end);
        if core::mem::take(&mut self.is_headless) {
            self.forget_chains();
        }
    }

    /// Learns the streams of a Meta. Ids are never used again: where it contradicts an earlier
    /// one, either was damaged, and the one with which the frames that follow make sense counts.
    pub(super) fn define(&mut self, view: &View<'_>, position: u64) {
        let mut streams = self.streams.clone();
        let mut is_contradicted = false;
        for Definition { id, length, .. } in &self.definitions.streams {
            let known = self.streams.slot(*id).length;
            let is_known = !self.streams.is_undescribed() && known != Declared::Unproven;
            is_contradicted |= is_known && *length != Declared::Unproven && known != *length;
            streams.define(*id, *length);
            if !is_known {
                self.streams.define(*id, *length);
            }
        }
        if is_contradicted && self.contradictions_left > 0 {
            self.contradictions_left -= 1;
            let landing = self.landing(view);
            let lands = |streams| lands(streams, view, position, landing, &[]).is_ok();
            if !lands(&self.streams) && (self.definitions.is_sound || lands(&streams)) {
                self.streams = streams;
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
