//! Datasets: their types, and their values a piece at a time.

use arrow_buffer::{Buffer, MutableBuffer};
use kymo_core::{Error, Result};
use rust_hdf5::types::Complex64;
use rust_hdf5::{DatatypeMessage, H5Dataset, H5Group, H5Type};

use super::failed;
use crate::boxes::boxes;
use crate::plan::Array;
use crate::reading::PIECE_BYTES;
use crate::{Kind, Reading};

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
    pub(crate) fn of(array: &Array) -> Self {
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

    pub(crate) fn create(&self, group: &H5Group, name: &str) -> Result<H5Dataset> {
        let builder = group.new_dataset::<u8>().datatype(self.datatype.clone());
        let builder = match self.shape.as_slice() {
            [] => builder.scalar(),
            shape => builder.shape(shape),
        };
        builder.create(name).map_err(failed)
    }

    /// The same with texts of so many bytes as characters along a last dimension.
    pub(crate) fn characters(self, bytes: usize) -> Self {
        let cells = self.split(Kind::Text(1), bytes);
        Self { datatype: DatatypeMessage::fixed_string(1), ..cells }
    }

    /// Writes all values of an array.
    pub(crate) fn write(
        &self,
        dataset: &H5Dataset,
        array: &Array,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        if array.is_empty() {
            return Ok(());
        }
        let is_text = matches!(array.kind, Kind::Text(_)) && self.width > 1;
        if is_text || self.size_bytes() <= PIECE_BYTES {
            return self.write_at_once(dataset, array, reading);
        }
        let cells = (array.kind.width() / self.width.max(1)) as u64;
        reading.each_encoded(array, |first, bytes| {
            let first = usize::try_from(first.saturating_mul(cells));
            let first = first.map_err(|_| Error::request("the array is too large"))?;
            self.write_run(dataset, first, bytes)
        })
    }

    /// Writes an array that fits in memory.
    fn write_at_once(
        &self,
        dataset: &H5Dataset,
        array: &Array,
        reading: &mut Reading<'_>,
    ) -> Result<()> {
        let mut all = Vec::with_capacity(self.size_bytes());
        reading.each_encoded(array, |_, bytes| {
            all.extend_from_slice(bytes);
            Ok(())
        })?;
        dataset.write_raw_bytes(&all).map_err(failed)
    }

    fn write_run(&self, dataset: &H5Dataset, first: usize, bytes: &[u8]) -> Result<()> {
        // The library wants values at places that are multiples of their width.
        let mut aligned = MutableBuffer::with_capacity(bytes.len());
        aligned.extend_from_slice(bytes);
        let bytes = Buffer::from(aligned);
        let mut at = 0;
        for part in boxes(&self.shape, first, bytes.len() / self.width) {
            let length = part.values * self.width;
            let run = bytes.slice_with_length(at, length);
            let (start, count) = (&part.start[..], &part.count[..]);
            let written = match self.width {
                // The carrier says nothing but how wide a cell is.
                1 => dataset.write_slice(start, count, run.as_slice()),
                2 => dataset.write_slice(start, count, run.typed_data::<u16>()),
                4 => dataset.write_slice(start, count, run.typed_data::<u32>()),
                8 => dataset.write_slice(start, count, run.typed_data::<u64>()),
                _ => dataset.write_slice(start, count, &pairs(&run)),
            };
            written.map_err(failed)?;
            at += length;
        }
        Ok(())
    }
}

fn pairs(bytes: &Buffer) -> Vec<Complex64> {
    let (pairs, _) = bytes.typed_data::<f64>().as_chunks::<2>();
    pairs.iter().map(|&[re, im]| Complex64 { re, im }).collect()
}
