//! Elements as core's arrays: variables with steps and blocks, attributes.
//!
//! Repeated names are steps of one variable: the file does not say whether they are time steps
//! or the same step of several processes. Blocks with global bounds join into one global array
//! a step. Losses: long doubles are rounded to doubles ([`Variable::rounds`]); nothing else.

mod grouping;
mod steps;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::ArrayRef;
use arrow_schema::DataType;
use kymo_core::{Error, Result, Value};
use kymo_model::arrays::{
    ATTRIBUTES_BYTES_MAX, ArraysView, Attribute, Block, BlockId, Raw, Step, Stored, Target,
    Variable, VariableId,
};

use crate::Reader;
use crate::read::{ValueType, decimals, needs_rounding, scalar_value, values};
use crate::spec::Datatype;
use crate::types::{Dimension, Element, is_latin1, normal_path};

pub(crate) use grouping::{Builder, Grouping, VariableElements};

/// The arrays of an open file.
pub(crate) struct Arrays {
    reader: Arc<Reader>,
    rounded: AtomicU64,
}

impl Arrays {
    pub(crate) fn new(reader: Arc<Reader>) -> Self {
        Self { reader, rounded: AtomicU64::new(0) }
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
        if element.is_missing_values() {
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

    fn values_per_read(&self, block: BlockId) -> u64 {
        let element = usize::try_from(block.0).ok().and_then(|index| self.reader.element(index));
        let value_type = element.and_then(|element| crate::read::ValueType::from_element(&element));
        value_type.map_or(1, |value_type| self.reader.values_per_read(value_type))
    }

    fn read_block(&self, block: BlockId, range: Range<u64>) -> Result<ArrayRef> {
        let index = usize::try_from(block.0).unwrap_or(usize::MAX);
        let element = self.element(index)?;
        let value_type = crate::read::ValueType::from_element(&element)
            .ok_or_else(|| Error::request(format!("block {index} has no values")))?;
        let endian = self.reader.endian();
        if needs_rounding(&element, value_type, &range, endian) {
            self.rounded.fetch_add(1, Ordering::Relaxed);
        }
        values(&element, value_type, range, endian)
    }

    fn stored(&self, block: BlockId) -> Option<Stored<'_>> {
        let element = self.reader.element(usize::try_from(block.0).ok()?)?;
        let value_type = crate::read::ValueType::from_element(&element)?;
        let is_plain = value_type.is_plain() && !element.is_missing_values();
        let bytes = element.payload.as_ref().filter(|_| is_plain)?.bytes;
        Some(Stored { endian: self.reader.endian(), bytes })
    }

    fn raw(&self, block: BlockId) -> Option<Raw<'_>> {
        let element = self.reader.element(usize::try_from(block.0).ok()?)?;
        let value_type = ValueType::from_element(&element)?;
        let is_raw = matches!(value_type.data_type(), DataType::Utf8 | DataType::Binary);
        let payload =
            element.payload.as_ref().filter(|_| is_raw && !element.is_missing_values())?;
        let each = match payload.dimensions {
            None => payload.bytes.len(),
            Some(_) => usize::try_from(value_type.bytes).ok()?,
        };
        Some(Raw { bytes: payload.bytes, each })
    }

    fn rounded(&self) -> u64 {
        self.rounded.load(Ordering::Relaxed)
    }

    fn decimals(&self, block: BlockId, range: Range<u64>) -> Result<Option<ArrayRef>> {
        let element = self.element(usize::try_from(block.0).unwrap_or(usize::MAX))?;
        Ok(decimals(&element, &range, self.reader.endian()))
    }

    fn groups(&self) -> Vec<String> {
        let elements = self.reader.grouping().group_elements().iter();
        let elements = elements.filter_map(|&index| self.reader.element(index as usize));
        elements.map(|element| normal_path(&[&element.path_text(), &element.name_text()])).collect()
    }

    fn attributes(&self) -> Vec<Attribute> {
        let grouping = self.reader.grouping();
        let elements =
            grouping.attributes().iter().filter_map(|&i| self.reader.element(i as usize));
        let mut left = ATTRIBUTES_BYTES_MAX;
        elements.filter_map(|element| attribute(&self.reader, &element, &mut left)).collect()
    }

    fn find(&self, path: &str) -> Vec<VariableId> {
        self.reader.grouping().find(path).into_iter().map(VariableId).collect()
    }
}

/// An attribute, and whether what it describes is there. Its value is read where so many bytes are
/// left.
pub(crate) fn attribute(
    reader: &Reader,
    element: &Element<'_>,
    left: &mut u64,
) -> Option<Attribute> {
    let kind = element.kind?;
    let path = normal_path(&[&element.path_text()]);
    let target = if kind.is_group_attribute() {
        Target::Group
    } else if reader.grouping().has_path(&path) {
        Target::Variable
    } else {
        Target::Nothing
    };
    let payload = element.payload.as_ref()?;
    let datatype = payload.datatype;
    let (size, is_text) = (payload.bytes.len() as u64, datatype == Datatype::STRING);
    let rest = left.checked_sub(size);
    *left = rest.unwrap_or(*left);
    let is_recoded = [element.path, element.name].into_iter().any(is_latin1);
    Some(Attribute {
        target,
        path,
        name: element.name_text().into_owned(),
        type_name: datatype.name(),
        data_type: ValueType::from_element(element).map(ValueType::data_type),
        value: rest.map_or(Value::Null, |_| scalar_value(element, reader.endian())),
        unread: rest.is_none().then_some(size),
        is_recoded: is_recoded || is_text && is_latin1(payload.bytes),
        offset: element.offset,
    })
}

/// A bound that the reader found not to be negative.
pub(crate) fn positive(bound: i32) -> u64 {
    u64::try_from(bound).unwrap_or(0)
}
