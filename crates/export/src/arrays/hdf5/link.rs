//! Datasets whose values stay in the source: external storage that points into it.

use kymo_core::Result;
use kymo_core::bytes::Endian;
use kymo_model::arrays::{Stored, volume};
use rust_hdf5::format::messages::datatype::CompoundMember;
use rust_hdf5::{ByteOrder, DatatypeMessage};

use crate::arrays::ArrayReader;
use crate::arrays::plan::Array;
use crate::arrays::runs::{in_order, in_storage_order};

/// Arrays smaller than this are copied: referring to them would take as much.
const COPIED_BYTES_MAX: u64 = 4096;

/// Runs of one array: their list must fit into the header of a dataset, which is 64 KiB.
const RUNS_MAX: usize = 1024;

/// Runs of bytes in the source that hold the values of an array.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Runs {
    pub(super) endian: Endian,
    /// The first byte of each run and how many, in the order of the values.
    pub(super) runs: Vec<(u64, u64)>,
}

/// Returns true if an array is copied anyway.
pub(super) fn is_small(array: &Array) -> bool {
    array.size_bytes() < COPIED_BYTES_MAX
}

/// The runs that make up an array; nothing where it must be copied: its values are not stored as
/// HDF5 has them, its blocks lie across each other's rows, or they are too many.
pub(super) fn runs(array: &Array, reading: &ArrayReader<'_>) -> Result<Option<Runs>> {
    if crate::arrays::Kind::from_type(&array.data_type).is_none() {
        return Ok(None);
    }
    let width = array.kind.width() as u64;
    let mut found: Option<Runs> = None;
    for step in array.steps.clone() {
        let step = in_storage_order(reading.view().step(array.variable, step)?, reading.order());
        let Some(blocks) = in_order(step) else {
            return Ok(None);
        };
        for block in blocks {
            let Some(Stored { endian, .. }) = reading.view().stored(block.id) else {
                return Ok(None);
            };
            let all = found.get_or_insert_with(|| Runs { endian, runs: Vec::new() });
            all.add(block.offset, volume(&block.count).saturating_mul(width));
            if all.endian != endian || all.runs.len() > RUNS_MAX {
                return Ok(None);
            }
        }
    }
    Ok(found)
}

impl Runs {
    fn add(&mut self, offset: u64, bytes: u64) {
        match self.runs.last_mut() {
            Some((start, length)) if *start + *length == offset => *length += bytes,
            _ => self.runs.push((offset, bytes)),
        }
    }
}

/// A type with its numbers in a byte order.
pub(super) fn ordered(datatype: DatatypeMessage, endian: Endian) -> DatatypeMessage {
    let wanted = match endian {
        Endian::Little => ByteOrder::LittleEndian,
        Endian::Big => ByteOrder::BigEndian,
    };
    match datatype {
        DatatypeMessage::Compound { size, members } => {
            let member = |member: CompoundMember| CompoundMember {
                datatype: ordered(member.datatype, endian),
                ..member
            };
            DatatypeMessage::Compound { size, members: members.into_iter().map(member).collect() }
        }
        mut number => {
            if let DatatypeMessage::FixedPoint { byte_order, .. }
            | DatatypeMessage::FloatingPoint { byte_order, .. } = &mut number
            {
                *byte_order = wanted;
            }
            number
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_touch_are_one() {
        let mut runs = Runs { endian: Endian::Little, runs: Vec::new() };
        for (offset, bytes) in [(10, 5), (15, 5), (30, 1)] {
            runs.add(offset, bytes);
        }
        assert_eq!(runs.runs, [(10, 10), (30, 1)]);
    }
}
