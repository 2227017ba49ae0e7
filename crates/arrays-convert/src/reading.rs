//! The values of planned arrays, a piece at a time, and what was missing among them.

use std::path::Path;
use std::sync::Arc;

use arrow_array::{Array as _, ArrayRef};
use kymo_core::model::arrays::{ArraysView, Chunks, Order, Selection, volume};
use kymo_core::{Progress, Result};

use crate::plan::Array;
use crate::{Job, Kind, Loss};

/// Bytes of values that are read at once.
pub(crate) const PIECE_BYTES: u64 = 4 << 20;

/// Reads the values of arrays in their order, and remembers what was lost.
pub struct Reading<'a> {
    view: &'a Arc<dyn ArraysView>,
    order: Order,
    link: Option<&'a Path>,
    progress: &'a dyn Progress,
    done_bytes: u64,
    /// What reading showed to be lost.
    pub(crate) losses: Vec<Loss>,
}

impl<'a> Reading<'a> {
    pub(crate) fn new(job: &Job<'a>) -> Self {
        let Job { view, order, link, progress, .. } = *job;
        Self { view, order, link, progress, done_bytes: 0, losses: Vec::new() }
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

    /// Hands on all values of an array in storage order: the position of the first, and some.
    pub(crate) fn each(
        &mut self,
        array: &Array,
        mut take: impl FnMut(u64, &ArrayRef) -> Result<()>,
    ) -> Result<()> {
        let mut first = 0_u64;
        let mut missing = 0_u64;
        for step in array.steps.clone() {
            let found = self.view.step(array.variable, step)?;
            let all = Selection::all(&found.shape);
            let values = volume(&found.shape);
            let (view, data_type) = (Arc::clone(self.view), array.data_type.clone());
            let at_once = values_at_once(array.kind);
            for chunk in Chunks::new(view, data_type, found, &all, self.order, at_once)? {
                let chunk = chunk?;
                missing += chunk.values.logical_null_count() as u64;
                take(first.saturating_add(chunk.position), &chunk.values)?;
                let bytes = chunk.values.len() * array.kind.width();
                self.done_bytes = self.done_bytes.saturating_add(bytes as u64);
                self.progress.at(self.done_bytes);
            }
            first = first.saturating_add(values);
        }
        self.note(array, missing);
        Ok(())
    }

    /// Hands on all values of an array as bytes; see [`each`](Self::each).
    pub(crate) fn each_encoded(
        &mut self,
        array: &Array,
        mut take: impl FnMut(u64, arrow_buffer::Buffer) -> Result<()>,
    ) -> Result<()> {
        self.each(array, |first, values| take(first, array.kind.encode(values)?))
    }

    fn note(&mut self, array: &Array, missing: u64) {
        if missing > 0 {
            let (total, fill) = (array.len(), array.kind.fill_name());
            let what = format!("{missing} of {total} values are not in the file: {fill} instead");
            self.losses.push(Loss::new(&array.source, what));
        }
        if array.rounds && self.view.has_rounded() {
            let what = "values are rounded to double precision";
            let loss = Loss::new(&array.source, what);
            if !self.losses.contains(&loss) {
                self.losses.push(loss);
            }
        }
    }
}

fn values_at_once(kind: Kind) -> u64 {
    (PIECE_BYTES / kind.width() as u64).max(1)
}
