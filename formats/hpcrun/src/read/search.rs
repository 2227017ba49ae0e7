//! Sections behind a damaged one of a 04.00b file, found by alignment and content.

use kymo_core::bytes::{Cursor, Limits, ReadResult};

use super::recover::aligned;
use super::sparse::node_layout;
use super::{PartOfProfile, ProfileReader, primitive};
use crate::spec::{INDEX_BYTES, INDEX_END, SECTION_ALIGNMENT, VALUE_BYTES};
use crate::types::{Dialect, Id, IdKind};

/// Items of a table that is looked for.
const ITEMS_MAX: u64 = 1 << 16;

/// Bytes that may be looked at in vain, in any case; and for each byte of the file.
const LOOKED_AT_MIN: u64 = 1 << 20;
const LOOKED_AT_FACTOR: u64 = 4;

impl<'a> ProfileReader<'a> {
    /// The first section after a place that is the one of an index or a later one: its index, and
    /// where it begins.
    pub(super) fn next_section(&self, index: usize, start: u64) -> Option<(usize, u64)> {
        let length = self.bytes.len() as u64;
        let mut budget = length.saturating_mul(LOOKED_AT_FACTOR).saturating_add(LOOKED_AT_MIN);
        let mut offset = aligned(start.saturating_add(1));
        while offset < length && budget > 0 {
            for (number, part) in PartOfProfile::SECTIONS.into_iter().enumerate().skip(index) {
                let mut cursor = self.cursor(offset);
                if self.looks_like(part, &mut cursor) && self.is_gap(cursor.offset()) {
                    return Some((number, offset));
                }
                budget = budget.saturating_sub(cursor.offset() - offset);
            }
            offset = offset.saturating_add(SECTION_ALIGNMENT);
        }
        None
    }

    /// Returns true if only zeros follow, up to where a section may begin.
    pub(super) fn is_gap(&self, end: u64) -> bool {
        self.cursor_in(end, aligned(end)).remaining_bytes().iter().all(|byte| *byte == 0)
    }

    /// Returns true if a section with something in it begins here, and goes on to its end.
    fn looks_like(&self, part: PartOfProfile, cursor: &mut Cursor<'a>) -> bool {
        let limits = Limits { items_max: self.limits.items_max.min(ITEMS_MAX), ..self.limits };
        match part {
            PartOfProfile::LOAD_MODULES => {
                let read = primitive::shipped_module;
                let (modules, stop) = primitive::load_modules(cursor, &limits, read);
                let is_dense = modules.iter().zip(1..).all(|(module, id)| module.id == id);
                stop.is_none() && !modules.is_empty() && is_dense
            }
            PartOfProfile::NODES => self.looks_like_nodes(cursor).unwrap_or(false),
            PartOfProfile::METRICS => {
                let dialect = Dialect::Shipped0400;
                let (metrics, stop) = primitive::metrics(cursor, dialect, true, &limits);
                stop.is_none() && !metrics.is_empty()
            }
            PartOfProfile::ID_KINDS => looks_like_kinds(cursor).unwrap_or(false),
            PartOfProfile::VALUES => looks_like_values(cursor).unwrap_or(false),
            _ => false,
        }
    }

    fn looks_like_nodes(&self, cursor: &mut Cursor<'a>) -> ReadResult<bool> {
        let count = cursor.u64("number of nodes")?;
        let start = cursor.offset();
        for has_flags in [true, false] {
            let bytes = count.saturating_mul(node_layout(has_flags).size());
            let fits = count > 0 && bytes <= cursor.remaining();
            if fits && self.nodes_make_sense(start, count, has_flags) {
                cursor.skip("nodes", bytes)?;
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn looks_like_kinds(cursor: &mut Cursor<'_>) -> ReadResult<bool> {
    let count = cursor.u16("number of id kinds")?;
    for _ in 0..count {
        IdKind::read(cursor)?;
    }
    Ok(count > 0)
}

/// Values are told by the mark at the end of their index.
fn looks_like_values(cursor: &mut Cursor<'_>) -> ReadResult<bool> {
    let ids = cursor.u16("length of the id tuple")?;
    for _ in 0..ids {
        Id::read(cursor)?;
    }
    let values = cursor.u64("number of values")?;
    let nodes = u64::from(cursor.u32("number of nodes with values")?);
    cursor.skip("values", values.saturating_mul(VALUE_BYTES as u64))?;
    cursor.skip("index", nodes * INDEX_BYTES as u64)?;
    let is_end = cursor.u32("end of the index")? == INDEX_END;
    Ok(ids > 0 && is_end && cursor.u64("end of the values")? == values)
}
