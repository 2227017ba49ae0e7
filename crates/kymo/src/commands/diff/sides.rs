//! The values of two steps, read side by side.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array as _, ArrayRef, StringArray};
use arrow_schema::DataType;
use kymo_core::{Error, Result};
use kymo_model::arrays::{
    ArraysView, Attribute, BlockId, Chunks, Order, Selection, Step, Variable, VariableId,
};

use super::values::{LATIN_1, UTF_8, ValueDifferences, compare, compare_exactly, compare_texts};

/// Values that are read at once, of each side.
const CHUNK_VALUES: u64 = 1 << 18;

pub(super) type View = Arc<dyn ArraysView>;

/// Compares the values of two steps of the same shape.
pub(super) fn values(
    views: [&View; 2],
    data_type: &DataType,
    steps: &[Step; 2],
    tolerance: f64,
    is_exact: bool,
) -> Result<ValueDifferences> {
    let [one, other] = views;
    let [left, right] = steps;
    let all = Selection::all(&left.shape);
    let is_text = *data_type == DataType::Utf8;
    let chunks = |view: &View, step: &Step| {
        let whole = Arc::clone(view);
        let view = if is_text { Arc::new(ReorderedArrays(whole, marked)) } else { whole };
        Chunks::new(view, data_type.clone(), step.clone(), &all, Order::C, CHUNK_VALUES)
    };
    let digits = |view: &View, step: &Step| {
        let view = Arc::new(ReorderedArrays(Arc::clone(view), digits));
        Chunks::new(view, DataType::Utf8, step.clone(), &all, Order::C, CHUNK_VALUES)
    };
    let mut sides = Sides { one: chunks(one, left)?, other: chunks(other, right)?, rest: None };
    let mut gap = ValueDifferences::default();
    let mut at = 0;
    if !is_exact {
        for pair in sides {
            let [left, right] = pair?;
            let found = if is_text {
                compare_texts(&left, &right)
            } else {
                compare(&left, &right, tolerance)
            };
            gap.add(found, at);
            at += left.len() as u64;
        }
        return Ok(gap);
    }
    let exact = Sides { one: digits(one, left)?, other: digits(other, right)?, rest: None };
    for pair in exact {
        let ([left, right], Some(rounded)) = (pair?, sides.next()) else { break };
        let [one, other] = rounded?;
        gap.add(compare_exactly([&one, &other], [&left, &right], tolerance), at);
        at += left.len() as u64;
    }
    Ok(gap)
}

/// Another way to read the values of a block.
type Read = fn(&dyn ArraysView, BlockId, Range<u64>) -> Result<ArrayRef>;

/// Values that a view rounds, by all their digits.
fn digits(view: &dyn ArraysView, block: BlockId, values: Range<u64>) -> Result<ArrayRef> {
    let digits = view.decimals(block, values)?;
    digits.ok_or_else(|| Error::request("there are no digits beyond those of doubles"))
}

/// Texts behind a mark of their encoding: the same text in another is not the same.
fn marked(view: &dyn ArraysView, block: BlockId, values: Range<u64>) -> Result<ArrayRef> {
    let read = view.read_block(block, values.clone())?;
    let Some(texts) = read.as_string_opt::<i32>() else {
        return Ok(read);
    };
    let bytes = texts.value_data().len().saturating_add(texts.len());
    if i32::try_from(bytes).is_err() {
        return Err(Error::request("its texts are too long to compare"));
    }
    let raw = view.raw(block);
    let is_latin_1 = |at: u64| {
        let bytes = raw.and_then(|raw| {
            let start = usize::try_from(at).ok()?.checked_mul(raw.each)?;
            raw.bytes.get(start..start.checked_add(raw.each)?)
        });
        bytes.is_some_and(|bytes| std::str::from_utf8(bytes).is_err())
    };
    let mark = |at: u64| if is_latin_1(at) { LATIN_1 } else { UTF_8 };
    let marked = texts.iter().zip(values).map(|(text, at)| Some(format!("{}{}", mark(at), text?)));
    Ok(Arc::new(marked.collect::<StringArray>()))
}

/// A view whose values are read in another way.
struct ReorderedArrays(View, Read);

impl ArraysView for ReorderedArrays {
    fn variable_count(&self) -> usize {
        self.0.variable_count()
    }

    fn variable(&self, id: VariableId) -> Variable {
        self.0.variable(id)
    }

    fn step(&self, id: VariableId, step: u64) -> Result<Step> {
        self.0.step(id, step)
    }

    fn read_block(&self, block: BlockId, values: Range<u64>) -> Result<ArrayRef> {
        self.1(self.0.as_ref(), block, values)
    }

    fn values_per_read(&self, block: BlockId) -> u64 {
        self.0.values_per_read(block)
    }

    fn attributes(&self) -> Vec<Attribute> {
        Vec::new()
    }

    fn find(&self, path: &str) -> Vec<VariableId> {
        self.0.find(path)
    }
}

/// Runs of values of both sides, as long as each other. A side may give fewer at once.
struct Sides {
    one: Chunks,
    other: Chunks,
    /// Rest of the side that gave more values, and whether that is the first side.
    rest: Option<(bool, ArrayRef)>,
}

impl Iterator for Sides {
    type Item = Result<[ArrayRef; 2]>;

    fn next(&mut self) -> Option<Self::Item> {
        let (mut left, mut right) = match self.rest.take() {
            Some((true, rest)) => (Some(rest), None),
            Some((false, rest)) => (None, Some(rest)),
            None => (None, None),
        };
        for (side, chunks) in [(&mut left, &mut self.one), (&mut right, &mut self.other)] {
            if side.is_none() {
                match chunks.next()? {
                    Ok(chunk) => *side = Some(chunk.values),
                    Err(error) => return Some(Err(error)),
                }
            }
        }
        let (left, right) = (left?, right?);
        let many = left.len().min(right.len());
        if left.len() > many {
            self.rest = Some((true, left.slice(many, left.len() - many)));
        } else if right.len() > many {
            self.rest = Some((false, right.slice(many, right.len() - many)));
        }
        Some(Ok([left.slice(0, many), right.slice(0, many)]))
    }
}
