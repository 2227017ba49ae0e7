//! The values of planned arrays, a piece at a time, and what was missing among them.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array as _, ArrayRef};
use arrow_buffer::MutableBuffer;
use kymo_core::bytes::Endian;
use kymo_core::{Error, Progress, Result};
use kymo_model::arrays::{
    ArraysView, Block, Chunks, Order, Selection, Step, Stored, VariableId, volume,
};

use crate::arrays::overlap::{self, Overlap};
use crate::arrays::pieces::PIECE_BYTES;
use crate::arrays::plan::{Array, VALUE_BYTES_MAX};
use crate::arrays::runs::{in_order, in_storage_order};
use crate::arrays::{Job, Kind, Loss, LossKind};

/// Bytes of values that are put together at once.
const CHUNK_BYTES: usize = 1 << 20;

/// Bytes of values that are handed on at once from where they lie in the source.
const RUN_BYTES: usize = 16 << 20;

/// Reads the values of arrays in their order, and remembers what was lost.
pub struct ArrayReader<'a> {
    view: &'a Arc<dyn ArraysView>,
    order: Order,
    link: Option<&'a Path>,
    progress: &'a dyn Progress,
    done_bytes: u64,
    /// Variables whose values are said to be rounded.
    rounded: HashSet<VariableId>,
    /// Losses that reading showed.
    pub(crate) losses: Vec<Loss>,
    /// Arrays that were to stay in the source and had to be copied.
    pub(crate) copied: Vec<String>,
}

/// Facts that were found while the values of an array were read.
#[derive(Debug, Default)]
struct ReadLosses {
    missing: u64,
    overlap: Overlap,
    /// Number of times that the view had rounded before.
    rounded: u64,
}

impl<'a> ArrayReader<'a> {
    pub(crate) fn new(job: &Job<'a>) -> Self {
        let Job { view, order, link, progress, .. } = *job;
        let (rounded, losses, copied) = Default::default();
        Self { view, order, link, progress, done_bytes: 0, rounded, losses, copied }
    }

    /// The file that values stay in, where the output is to refer to them.
    pub(crate) fn link(&self) -> Option<&'a Path> {
        self.link
    }

    /// The arrays that are read.
    pub(crate) fn view(&self) -> &'a Arc<dyn ArraysView> {
        self.view
    }

    /// Returns the order of the source: the dimension that varies fastest.
    pub(crate) fn order(&self) -> Order {
        self.order
    }

    /// A step of an array, or the block of it that the array is.
    fn step(&self, array: &Array, step: u64) -> Result<Step> {
        let mut found = self.view.step(array.variable, step)?;
        let Some(at) = array.block else { return Ok(found) };
        if at >= found.blocks.len() {
            return Err(Error::request("there is no such block"));
        }
        let block = found.blocks.swap_remove(at);
        let (shape, start) = (block.count.clone(), vec![0; block.start.len()]);
        Ok(Step { shape, blocks: vec![Block { start, ..block }] })
    }

    fn found(&self) -> ReadLosses {
        ReadLosses { rounded: self.view.rounded(), ..ReadLosses::default() }
    }

    /// Hands on all texts of an array in storage order.
    pub(crate) fn each_text(
        &mut self,
        array: &Array,
        mut take: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut found = self.found();
        for step in array.steps.clone() {
            let step = self.step(array, step)?;
            if let Some(bytes) = self.long(array, &step) {
                take(bytes)?;
                self.passed(bytes.len());
                continue;
            }
            self.assemble(array, &step, &mut found, &mut |values: &ArrayRef| {
                let texts = values.as_string_opt::<i32>();
                let texts = texts.ok_or_else(|| Error::request("the values are no text"))?;
                texts.iter().try_for_each(|text| take(text.unwrap_or_default().as_bytes()))
            })?;
        }
        self.note(array, &found);
        Ok(())
    }

    /// Hands on all values of an array as bytes, least significant first: the position of the
    /// first byte, and some. These are not too small to be written one by one, and may be long;
    /// they are whole values but for those that are longer than what is held at once.
    pub(crate) fn each_encoded(
        &mut self,
        array: &Array,
        mut take: impl FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut gathered = Gathered::new(array.kind);
        let mut found = self.found();
        for step in array.steps.clone() {
            let step = self.step(array, step)?;
            if let Some(bytes) = self.long(array, &step) {
                gathered.add(bytes, &mut take)?;
                gathered.pad(array.kind.width() - bytes.len(), &mut take)?;
                self.passed(array.kind.width());
            } else if let Some(runs) = self.plain(array, &step) {
                for bytes in runs {
                    gathered.add(bytes, &mut take)?;
                    self.passed(bytes.len());
                }
            } else {
                self.assemble(array, &step, &mut found, &mut |values: &ArrayRef| {
                    gathered.add(&array.kind.encode(values)?, &mut take)
                })?;
            }
        }
        gathered.flush(&mut take)?;
        self.note(array, &found);
        Ok(())
    }

    /// The bytes of a step that is one value too long to be held, where they are stored so.
    fn long(&self, array: &Array, step: &Step) -> Option<&'a [u8]> {
        let width = array.kind.width();
        let [block] = step.blocks.as_slice() else { return None };
        if width <= VALUE_BYTES_MAX || volume(&step.shape) != 1 {
            return None;
        }
        let bytes = self.view.raw(block.id)?.bytes;
        let is_text = matches!(array.kind, Kind::Text(_));
        let is_stored_so =
            bytes.len() <= width && !(is_text && std::str::from_utf8(bytes).is_err());
        is_stored_so.then_some(bytes)
    }

    /// The bytes of a step's blocks, where they are those of its values, one after the other.
    fn plain(&self, array: &Array, step: &Step) -> Option<Vec<&'a [u8]>> {
        let width = Kind::from_type(&array.data_type)?.width() as u64;
        let blocks = in_order(in_storage_order(step.clone(), self.order))?;
        let bytes = |block: &Block| match self.view.stored(block.id)? {
            Stored { endian: Endian::Little, bytes } => {
                let is_whole = bytes.len() as u64 == volume(&block.count).saturating_mul(width);
                is_whole.then_some(bytes)
            }
            Stored { .. } => None,
        };
        blocks.iter().map(bytes).collect()
    }

    /// Hands on the values of a step that are put together from its blocks.
    fn assemble(
        &mut self,
        array: &Array,
        step: &Step,
        found: &mut ReadLosses,
        take: &mut dyn FnMut(&ArrayRef) -> Result<()>,
    ) -> Result<()> {
        let all = Selection::all(&step.shape);
        let at_once = (CHUNK_BYTES / array.kind.width()).max(1) as u64;
        let (view, data_type) = (Arc::clone(self.view), array.data_type.clone());
        let mut missing = 0;
        for chunk in Chunks::new(view, data_type, step.clone(), &all, self.order, at_once)? {
            let values = chunk?.values;
            missing += values.logical_null_count() as u64;
            take(&values)?;
            self.passed(values.len() * array.kind.width());
        }
        found.missing += missing;
        found.overlap.add(overlap::compare_blocks(self.view, array, step, self.order, missing)?);
        Ok(())
    }

    fn passed(&mut self, bytes: usize) {
        self.done_bytes = self.done_bytes.saturating_add(bytes as u64);
        self.progress.advance_to(self.done_bytes);
    }

    fn note(&mut self, array: &Array, found: &ReadLosses) {
        let missing = found.missing;
        if missing > 0 {
            let (total, fill) = (array.len(), array.kind.fill_name());
            let what = format!("{missing} of {total} values are not in the file: {fill} instead");
            self.losses.push(Loss::new(LossKind::Missing, &array.source, what));
        }
        let overlap = found.overlap.message();
        self.losses.extend(overlap.map(|it| Loss::new(LossKind::Overlap, &array.source, it)));
        let has_rounded = array.rounds && self.view.rounded() > found.rounded;
        if has_rounded && self.rounded.insert(array.variable) {
            let what = "values are rounded to double precision";
            self.losses.push(Loss::new(LossKind::Rounded, &array.source, what));
        }
    }
}

/// Puts small runs together, so that they are written at once.
struct Gathered {
    buffer: MutableBuffer,
    /// The position of the first byte in the buffer.
    first: u64,
    /// The bytes that stay together: those of a value that is not too long for that.
    unit: usize,
}

impl Gathered {
    fn new(kind: Kind) -> Self {
        let width = kind.width();
        let unit = if width > VALUE_BYTES_MAX { 1 } else { width };
        Self { buffer: MutableBuffer::new(0), first: 0, unit }
    }

    fn add(&mut self, bytes: &[u8], take: &mut dyn FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
        if self.buffer.len() + bytes.len() > PIECE_BYTES {
            self.flush(take)?;
        }
        if bytes.len() < PIECE_BYTES / 4 {
            self.buffer.extend_from_slice(bytes);
            return Ok(());
        }
        self.flush(take)?;
        for run in bytes.chunks((RUN_BYTES / self.unit).max(1) * self.unit) {
            self.write_gathered(run, take)?;
        }
        Ok(())
    }

    /// Adds so many zeros.
    fn pad(
        &mut self,
        mut count: usize,
        take: &mut dyn FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let zeros = [0; 4096];
        while count > 0 {
            let (some, _) = zeros.split_at(count.min(zeros.len()));
            self.add(some, take)?;
            count -= some.len();
        }
        Ok(())
    }

    fn flush(&mut self, take: &mut dyn FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        self.write_gathered(&buffer, take)?;
        buffer.clear();
        self.buffer = buffer;
        Ok(())
    }

    fn write_gathered(
        &mut self,
        bytes: &[u8],
        take: &mut dyn FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        take(self.first, bytes)?;
        self.first = self.first.saturating_add(bytes.len() as u64);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_runs_are_put_together_and_large_ones_cut() {
        let mut pieces = Vec::new();
        let mut take = |first, bytes: &[u8]| {
            pieces.push((first, bytes.len()));
            Ok(())
        };
        let mut gathered = Gathered::new(Kind::Float(8));
        gathered.add(&[0; 16], &mut take).unwrap();
        gathered.add(&[0; 8], &mut take).unwrap();
        gathered.add(&vec![0; 2 * RUN_BYTES + 8], &mut take).unwrap();
        gathered.add(&[0; 8], &mut take).unwrap();
        gathered.flush(&mut take).unwrap();
        let piece = RUN_BYTES as u64;
        let large = [(24, RUN_BYTES), (24 + piece, RUN_BYTES), (24 + 2 * piece, 8)];
        assert_eq!(pieces, [vec![(0, 24)], large.to_vec(), vec![(32 + 2 * piece, 8)]].concat());
    }
}
