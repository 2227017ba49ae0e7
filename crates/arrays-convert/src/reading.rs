//! The values of planned arrays, a piece at a time, and what was missing among them.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array as _, ArrayRef};
use arrow_buffer::MutableBuffer;
use kymo_core::bytes::Endian;
use kymo_core::model::arrays::{ArraysView, Chunks, Order, Selection, Step, Stored, volume};
use kymo_core::{Progress, Result};

use crate::overlap::{self, Overlap};
use crate::plan::Array;
use crate::runs::{in_order, turned};
use crate::{Job, Kind, Loss, LossKind};

/// Bytes of values that are put together at once.
const CHUNK_BYTES: usize = 1 << 20;

/// Bytes of values that are handed on at once: what a processor keeps near. Larger writes take the
/// system up to twice the time, for they are copied from memory that is far.
pub(crate) const PIECE_BYTES: usize = 1 << 17;

/// Reads the values of arrays in their order, and remembers what was lost.
pub struct Reading<'a> {
    view: &'a Arc<dyn ArraysView>,
    order: Order,
    link: Option<&'a Path>,
    progress: &'a dyn Progress,
    done_bytes: u64,
    /// What reading showed to be lost.
    pub(crate) losses: Vec<Loss>,
    /// Arrays that were to stay in the source and had to be copied.
    pub(crate) copied: Vec<String>,
}

/// What was found while the values of an array were read.
#[derive(Debug, Default)]
struct Found {
    missing: u64,
    overlap: Overlap,
}

impl<'a> Reading<'a> {
    pub(crate) fn new(job: &Job<'a>) -> Self {
        let Job { view, order, link, progress, .. } = *job;
        let (losses, copied) = Default::default();
        Self { view, order, link, progress, done_bytes: 0, losses, copied }
    }

    /// The file that values stay in, where the output is to refer to them.
    pub(crate) fn link(&self) -> Option<&'a Path> {
        self.link
    }

    /// The arrays that are read.
    pub(crate) fn view(&self) -> &'a Arc<dyn ArraysView> {
        self.view
    }

    /// Which dimension varies fastest in the source.
    pub(crate) fn order(&self) -> Order {
        self.order
    }

    /// Hands on all values of an array in storage order.
    pub(crate) fn each(
        &mut self,
        array: &Array,
        mut take: impl FnMut(&ArrayRef) -> Result<()>,
    ) -> Result<()> {
        let mut found = Found::default();
        for step in array.steps.clone() {
            let step = self.view.step(array.variable, step)?;
            self.assemble(array, &step, &mut found, &mut take)?;
        }
        self.note(array, &found);
        Ok(())
    }

    /// Hands on all values of an array as bytes, least significant first: the position of the
    /// first, and some. Pieces are neither too small to be written one by one, nor large.
    pub(crate) fn each_encoded(
        &mut self,
        array: &Array,
        mut take: impl FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut gathered = Gathered::new(array.kind);
        let mut found = Found::default();
        for step in array.steps.clone() {
            let step = self.view.step(array.variable, step)?;
            if let Some(runs) = self.plain(array, &step) {
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

    /// The bytes of a step's blocks, where they are those of its values, one after the other.
    fn plain(&self, array: &Array, step: &Step) -> Option<Vec<&'a [u8]>> {
        let width = Kind::of(&array.data_type)?.width() as u64;
        let blocks = in_order(turned(step.clone(), self.order))?;
        let bytes = |block: &kymo_core::model::arrays::Block| match self.view.stored(block.id)? {
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
        found: &mut Found,
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
        found.overlap.add(overlap::look(self.view, array, step, self.order, missing)?);
        Ok(())
    }

    fn passed(&mut self, bytes: usize) {
        self.done_bytes = self.done_bytes.saturating_add(bytes as u64);
        self.progress.at(self.done_bytes);
    }

    fn note(&mut self, array: &Array, found: &Found) {
        let missing = found.missing;
        if missing > 0 {
            let (total, fill) = (array.len(), array.kind.fill_name());
            let what = format!("{missing} of {total} values are not in the file: {fill} instead");
            self.losses.push(Loss::new(LossKind::Missing, &array.source, what));
        }
        let overlap = found.overlap.said();
        self.losses.extend(overlap.map(|it| Loss::new(LossKind::Overlap, &array.source, it)));
        if array.rounds && self.view.has_rounded() {
            let what = "values are rounded to double precision";
            let loss = Loss::new(LossKind::Rounded, &array.source, what);
            if !self.losses.contains(&loss) {
                self.losses.push(loss);
            }
        }
    }
}

/// Puts small runs together, so that they are written at once.
struct Gathered {
    buffer: MutableBuffer,
    /// The position of the first value in the buffer.
    first: u64,
    width: usize,
}

impl Gathered {
    fn new(kind: Kind) -> Self {
        Self { buffer: MutableBuffer::new(0), first: 0, width: kind.width() }
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
        for piece in bytes.chunks((PIECE_BYTES / self.width).max(1) * self.width) {
            self.hand_on(piece, take)?;
        }
        Ok(())
    }

    fn flush(&mut self, take: &mut dyn FnMut(u64, &[u8]) -> Result<()>) -> Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        self.hand_on(&buffer, take)?;
        buffer.clear();
        self.buffer = buffer;
        Ok(())
    }

    fn hand_on(
        &mut self,
        bytes: &[u8],
        take: &mut dyn FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        take(self.first, bytes)?;
        self.first = self.first.saturating_add((bytes.len() / self.width) as u64);
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
        gathered.add(&vec![0; 2 * PIECE_BYTES + 8], &mut take).unwrap();
        gathered.add(&[0; 8], &mut take).unwrap();
        gathered.flush(&mut take).unwrap();
        let values = PIECE_BYTES as u64 / 8;
        let large = [(3, PIECE_BYTES), (3 + values, PIECE_BYTES), (3 + 2 * values, 8)];
        assert_eq!(pieces, [vec![(0, 24)], large.to_vec(), vec![(4 + 2 * values, 8)]].concat());
    }
}
