//! Elements as core's arrays: variables with steps and blocks, attributes.
//!
//! Repeated names are steps of one variable: the file does not say whether they are time steps
//! or the same step of several processes. Blocks with global bounds join into one global array
//! a step. Losses: long doubles are rounded to doubles ([`Variable::rounds`]); nothing else.

mod grouping;
mod steps;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::ArrayRef;
use kymo_core::model::arrays::{
    ArraysView, Attribute, Block, BlockId, Step, Stored, Target, Variable, VariableId,
};
use kymo_core::{Error, Result};

use crate::Reader;
use crate::read::{ValueType, needs_rounding, scalar_value, values};
use crate::types::{Dimension, Element, normal_path};

pub(crate) use grouping::{Builder, Grouped, Grouping};

/// The arrays of an open file.
pub(crate) struct Arrays {
    reader: Arc<Reader>,
    has_rounded: AtomicBool,
}

impl Arrays {
    pub(crate) fn new(reader: Arc<Reader>) -> Self {
        Self { reader, has_rounded: AtomicBool::new(false) }
    }

    fn element(&self, index: usize) -> Result<Element<'_>> {
        self.reader
            .element(index)
            .ok_or_else(|| Error::request(format!("there is no block {index}")))
    }

    fn block(&self, index: u32) -> Result<Option<Block>> {
        let element = self.element(index as usize)?;
        let Some(payload) = &element.payload else {
            return Ok(None);
        };
        // Values that were never written cover nothing.
        if element.lacks_values() {
            return Ok(None);
        }
        let dimensions: Vec<Dimension> =
            payload.dimensions.iter().flat_map(|dimensions| dimensions.iter()).collect();
        // An offset counts only where there is a bound that it is an offset in.
        let start = |d: &Dimension| if d.global_bound == 0 { 0 } else { positive(d.global_offset) };
        Ok(Some(Block {
            id: BlockId(index.into()),
            start: dimensions.iter().map(start).collect(),
            count: dimensions.iter().map(|d| positive(d.local_bound)).collect(),
            offset: payload.range.start,
        }))
    }
}

impl ArraysView for Arrays {
    fn variable_count(&self) -> usize {
        self.reader.grouping().variables().len()
    }

    fn variable(&self, id: VariableId) -> Variable {
        self.reader.grouping().variable(id.0)
    }

    fn step(&self, id: VariableId, step: u64) -> Result<Step> {
        let members = self.reader.grouping().step(id.0, step);
        let Some((&first, _)) = members.split_first() else {
            return Err(Error::request(format!("there is no step {step}")));
        };
        let shape = grouping::shape(&self.element(first as usize)?);
        let mut blocks = Vec::with_capacity(members.len());
        for &member in members {
            blocks.extend(self.block(member)?);
        }
        Ok(Step { shape, blocks })
    }

    fn values_at_once(&self, block: BlockId) -> u64 {
        let element = usize::try_from(block.0).ok().and_then(|index| self.reader.element(index));
        let value_type = element.and_then(|element| crate::read::ValueType::of(&element));
        value_type.map_or(1, |value_type| self.reader.values_at_once(value_type))
    }

    fn read_block(&self, block: BlockId, range: Range<u64>) -> Result<ArrayRef> {
        let index = usize::try_from(block.0).unwrap_or(usize::MAX);
        let element = self.element(index)?;
        let value_type = crate::read::ValueType::of(&element)
            .ok_or_else(|| Error::request(format!("block {index} has no values")))?;
        let endian = self.reader.endian();
        if needs_rounding(&element, value_type, &range, endian) {
            self.has_rounded.store(true, Ordering::Relaxed);
        }
        values(&element, value_type, range, endian)
    }

    fn stored(&self, block: BlockId) -> Option<Stored<'_>> {
        let element = self.reader.element(usize::try_from(block.0).ok()?)?;
        let value_type = crate::read::ValueType::of(&element)?;
        let is_plain = value_type.is_plain() && !element.lacks_values();
        let bytes = element.payload.as_ref().filter(|_| is_plain)?.bytes;
        Some(Stored { endian: self.reader.endian(), bytes })
    }

    fn has_rounded(&self) -> bool {
        self.has_rounded.load(Ordering::Relaxed)
    }

    fn attributes(&self) -> Vec<Attribute> {
        let grouping = self.reader.grouping();
        let elements =
            grouping.attributes().iter().filter_map(|&i| self.reader.element(i as usize));
        elements.filter_map(|element| attribute(&self.reader, &element)).collect()
    }

    fn find(&self, path: &str) -> Vec<VariableId> {
        self.reader.grouping().find(path).into_iter().map(VariableId).collect()
    }
}

/// An attribute, and whether what it describes is there.
pub(crate) fn attribute(reader: &Reader, element: &Element<'_>) -> Option<Attribute> {
    let kind = element.kind?;
    let path = normal_path(&[&element.path_text()]);
    let target = if kind.is_group_attribute() {
        Target::Group
    } else if reader.grouping().has_path(&path) {
        Target::Variable
    } else {
        Target::Nothing
    };
    let datatype = element.payload.as_ref()?.datatype;
    Some(Attribute {
        target,
        path,
        name: element.name_text().into_owned(),
        type_name: datatype.name(),
        data_type: ValueType::of(element).map(ValueType::data_type),
        value: scalar_value(element, reader.endian()),
        offset: element.offset,
    })
}

/// A bound that the reader found not to be negative.
pub(crate) fn positive(bound: i32) -> u64 {
    u64::try_from(bound).unwrap_or(0)
}
