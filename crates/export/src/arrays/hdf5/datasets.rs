//! Datasets: their types, and their values a piece at a time.

use std::path::Path;

use kymo_core::{Error, Result};
use rust_hdf5::types::Complex64;
use rust_hdf5::{DatatypeMessage, H5Dataset, H5File, H5Type};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

use super::failed;
use crate::arrays::boxes::{Part, boxes};
use crate::arrays::pieces::{PIECE_BYTES, Place};
use crate::arrays::plan::Array;
use crate::arrays::{ArrayReader, Kind};

/// The type of HDF5 for a kind of values.
pub(crate) fn datatype(kind: Kind) -> DatatypeMessage {
    match kind {
        Kind::Signed(1) => DatatypeMessage::i8_type(),
        Kind::Signed(2) => DatatypeMessage::i16_type(),
        Kind::Signed(4) => DatatypeMessage::i32_type(),
        Kind::Signed(_) => DatatypeMessage::i64_type(),
        Kind::Unsigned(2) => DatatypeMessage::u16_type(),
        Kind::Unsigned(4) => DatatypeMessage::u32_type(),
        Kind::Unsigned(8) => DatatypeMessage::u64_type(),
        Kind::Unsigned(_) | Kind::Bytes(_) => DatatypeMessage::u8_type(),
        Kind::Float(4) => DatatypeMessage::f32_type(),
        Kind::Float(_) => DatatypeMessage::f64_type(),
        Kind::Complex(4) => rust_hdf5::Complex32::hdf5_type(),
        Kind::Complex(_) => Complex64::hdf5_type(),
        Kind::Text(bytes) => {
            let size = u32::try_from(bytes).unwrap_or(u32::MAX);
            DatatypeMessage::fixed_string_utf8(size)
        }
    }
}

/// An array as HDF5 has it: a value may be several cells, along one more dimension.
pub(crate) struct Cells {
    pub(crate) datatype: DatatypeMessage,
    /// The bytes of a cell.
    width: usize,
    /// Lengths, slowest first. Those that no memory has are refused by the dataset.
    pub(crate) shape: Vec<usize>,
}

impl Cells {
    /// A cell a value, or for unknown types a cell a byte.
    pub(crate) fn from_array(array: &Array) -> Self {
        let lengths =
            array.shape.iter().map(|&length| usize::try_from(length).unwrap_or(usize::MAX));
        let cells = Self {
            datatype: datatype(array.kind),
            width: array.kind.width(),
            shape: lengths.collect(),
        };
        match array.kind {
            Kind::Bytes(length) => cells.split(Kind::Unsigned(1), length),
            _ => cells,
        }
    }

    /// The same with values of several cells.
    pub(crate) fn split(mut self, cell: Kind, cells: usize) -> Self {
        self.shape.push(cells);
        Self { datatype: datatype(cell), width: cell.width(), ..self }
    }

    pub(crate) fn size_bytes(&self) -> usize {
        self.shape.iter().fold(self.width, |product, &length| product.saturating_mul(length))
    }

    /// Makes the dataset at a path whose group is there.
    pub(crate) fn create(&self, file: &H5File, path: &str) -> Result<H5Dataset> {
        let builder = file.new_dataset::<u8>().datatype(self.datatype.clone());
        let builder = match self.shape.as_slice() {
            [] => builder.scalar(),
            shape => builder.shape(shape),
        };
        builder.create(path).map_err(failed)
    }

    /// The same with texts of so many bytes as characters along a last dimension.
    pub(crate) fn characters(self, bytes: usize) -> Self {
        let cells = self.split(Kind::Text(1), bytes);
        Self { datatype: DatatypeMessage::fixed_string(1), ..cells }
    }

    /// Writes all values of an array to its dataset in a file.
    pub(crate) fn write(
        &self,
        dataset: &H5Dataset,
        array: &Array,
        reading: &mut ArrayReader<'_>,
        to: &Path,
    ) -> Result<()> {
        if array.is_empty() {
            return Ok(());
        }
        let is_text = matches!(array.kind, Kind::Text(_)) && self.width > 1;
        if is_text || self.size_bytes() <= PIECE_BYTES {
            return self.write_at_once(dataset, array, reading);
        }
        let mut place = Place::new(to);
        reading.each_encoded(array, |first, bytes| {
            place.cut(first, bytes, self.width, |first, piece| {
                let first = usize::try_from(first / self.width.max(1) as u64);
                let first = first.map_err(|_| Error::request("the array is too large"))?;
                self.write_run(dataset, first, piece)
            })
        })
    }

    /// Writes an array that fits in memory.
    fn write_at_once(
        &self,
        dataset: &H5Dataset,
        array: &Array,
        reading: &mut ArrayReader<'_>,
    ) -> Result<()> {
        let mut all = Vec::with_capacity(self.size_bytes());
        reading.each_encoded(array, |_, bytes| {
            all.extend_from_slice(bytes);
            Ok(())
        })?;
        dataset.write_raw_bytes(&all).map_err(failed)
    }

    fn write_run(&self, dataset: &H5Dataset, first: usize, mut bytes: &[u8]) -> Result<()> {
        for part in boxes(&self.shape, first, bytes.len() / self.width) {
            let cut = bytes.split_at_checked(part.values * self.width);
            let (run, rest) = cut.ok_or_else(|| Error::request("values end within a cell"))?;
            match self.width {
                1 => put::<1>(dataset, &part, run),
                2 => put::<2>(dataset, &part, run),
                4 => put::<4>(dataset, &part, run),
                8 => put::<8>(dataset, &part, run),
                _ => put::<16>(dataset, &part, run),
            }?;
            bytes = rest;
        }
        Ok(())
    }
}

/// Bytes of a cell that may lie anywhere, so that values go to the system from where they are in
/// the source.
#[derive(Clone, Copy, FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(transparent)]
struct Cell<const WIDTH: usize>([u8; WIDTH]);

impl<const WIDTH: usize> H5Type for Cell<WIDTH> {
    /// Never asked for: a dataset is made with its own type.
    fn hdf5_type() -> DatatypeMessage {
        DatatypeMessage::u8_type()
    }

    fn element_size() -> usize {
        WIDTH
    }
}

/// Writes the cells of one box of a dataset.
fn put<const WIDTH: usize>(dataset: &H5Dataset, part: &Part, bytes: &[u8]) -> Result<()> {
    let cells = <[Cell<WIDTH>]>::ref_from_bytes(bytes)
        .map_err(|_| Error::request("values end within a cell"))?;
    dataset.write_slice(&part.start, &part.count, cells).map_err(failed)
}
