//! Arrays in memory, for the tests of what reads them.

use std::ops::Range;
use std::sync::Arc;
use std::sync::Mutex;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, Int32Array};
use arrow_schema::DataType;

use super::{
    ArraysView, Attribute, Block, BlockId, Step, Variable, VariableId, VariableKind, volume,
};
use kymo_core::{Error, Result};

/// One variable, `/grid`, whose blocks are given one by one.
#[derive(Debug)]
pub(super) struct Grid {
    steps: Vec<Step>,
    blocks: Vec<ArrayRef>,
    /// Every read, for tests that count them.
    reads: Mutex<Vec<(BlockId, Range<u64>)>>,
    values_per_read: u64,
}

impl Grid {
    pub(super) fn new() -> Self {
        Self {
            steps: Vec::new(),
            blocks: Vec::new(),
            reads: Mutex::default(),
            values_per_read: u64::MAX,
        }
    }

    /// Adds a step of a shape; blocks go into the last step.
    pub(super) fn add_step(mut self, shape: &[u64]) -> Self {
        self.steps.push(Step { shape: shape.to_vec(), blocks: Vec::new() });
        self
    }

    /// Adds a block of numbers that no other block has: 1000 for each block before it, and on.
    pub(super) fn block(self, start: &[u64], count: &[u64]) -> Self {
        let first = 1000 * i32::try_from(self.blocks.len()).unwrap();
        let total = i32::try_from(volume(count)).unwrap();
        self.add_block(start, count, Arc::new(Int32Array::from_iter_values(first..first + total)))
    }

    pub(super) fn add_block(mut self, start: &[u64], count: &[u64], values: ArrayRef) -> Self {
        let block = Block {
            id: BlockId(self.blocks.len() as u64),
            start: start.to_vec(),
            count: count.to_vec(),
            offset: 0,
        };
        self.steps.last_mut().unwrap().blocks.push(block);
        self.blocks.push(values);
        self
    }

    /// Refuses to read more than so many values at once.
    pub(super) fn with_values_per_read(self, at_once: u64) -> Self {
        Self { values_per_read: at_once, ..self }
    }

    pub(super) fn share(self) -> Arc<Self> {
        Arc::new(self)
    }

    /// The reads since the last call.
    pub(super) fn take_reads(&self) -> Vec<(BlockId, Range<u64>)> {
        std::mem::take(&mut self.reads.lock().unwrap())
    }

    fn lengths(&self, least: fn(u64, u64) -> u64) -> Vec<u64> {
        let shapes = self.steps.iter().map(|step| step.shape.clone());
        let join =
            |a: Vec<u64>, b: Vec<u64>| a.into_iter().zip(b).map(|(a, b)| least(a, b)).collect();
        shapes.reduce(join).unwrap_or_default()
    }
}

impl ArraysView for Grid {
    fn variable_count(&self) -> usize {
        1
    }

    fn variable(&self, _id: VariableId) -> Variable {
        let data_type = self.blocks.first().map_or(DataType::Int32, |b| b.data_type().clone());
        Variable {
            path: "/grid".into(),
            is_recoded: false,
            type_name: "integer".into(),
            data_type,
            rounds: false,
            kind: VariableKind::Global,
            rank: self.steps.first().map_or(0, |step| step.shape.len()),
            min_shape: self.lengths(u64::min),
            max_shape: self.lengths(u64::max),
            steps: self.steps.len() as u64,
            blocks: self.blocks.len() as u64,
        }
    }

    fn step(&self, _id: VariableId, step: u64) -> Result<Step> {
        let step = usize::try_from(step).ok().and_then(|step| self.steps.get(step));
        step.cloned().ok_or_else(|| Error::request("no such step"))
    }

    fn read_block(&self, block: BlockId, values: Range<u64>) -> Result<ArrayRef> {
        self.reads.lock().unwrap().push((block, values.clone()));
        let array = &self.blocks[usize::try_from(block.0).unwrap()];
        let (first, end) =
            (usize::try_from(values.start).unwrap(), usize::try_from(values.end).unwrap());
        if values.end - values.start > self.values_per_read {
            return Err(Error::request("too many at once"));
        }
        if end > array.len() {
            return Err(Error::request("beyond the block"));
        }
        Ok(array.slice(first, end - first))
    }

    fn values_per_read(&self, _block: BlockId) -> u64 {
        self.values_per_read
    }

    fn attributes(&self) -> Vec<Attribute> {
        Vec::new()
    }

    fn find(&self, path: &str) -> Vec<VariableId> {
        (path == "/grid").then_some(VariableId(0)).into_iter().collect()
    }
}

/// The values of an array of integers.
pub(super) fn integers(array: &ArrayRef) -> Vec<Option<i32>> {
    array.as_primitive::<Int32Type>().iter().collect()
}
