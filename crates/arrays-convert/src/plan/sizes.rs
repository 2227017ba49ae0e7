//! What must be looked at before anything is written: how long texts are, what is not there.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array as _, ArrayRef};
use arrow_schema::DataType;
use kymo_core::model::arrays::{
    ArraysView, Chunks, Order, Selection, Variable, VariableId, volume,
};
use kymo_core::{Error, Result};

use crate::Kind;

/// Bytes that texts of one variable may take when all are as long as the longest.
const PADDED_BYTES_MAX: u64 = 64 << 20;

/// How many times its own size text may take so, however much it is.
const PADDED_TIMES_MAX: u64 = 8;

/// Values of a step that are all missing and that are yet written.
const MISSING_MAX: u64 = 1 << 24;

/// Texts looked at together.
const CHUNK_VALUES: u64 = 4096;

/// Why a variable is not worth writing: nearly all of a huge array is not in the file.
pub(super) fn hollow(
    view: &Arc<dyn ArraysView>,
    id: VariableId,
    variable: &Variable,
    order: Order,
) -> Result<Option<String>> {
    if volume(&variable.max_shape) <= MISSING_MAX {
        return Ok(None);
    }
    for step in 0..variable.steps {
        match chunks(view, id, variable, step, order) {
            Err(Error::Request(why)) => return Ok(Some(why)),
            other => drop(other?),
        }
    }
    Ok(None)
}

fn chunks(
    view: &Arc<dyn ArraysView>,
    id: VariableId,
    variable: &Variable,
    step: u64,
    order: Order,
) -> Result<Chunks> {
    let step = view.step(id, step)?;
    let all = Selection::all(&step.shape);
    Chunks::new(Arc::clone(view), variable.data_type.clone(), step, &all, order, CHUNK_VALUES)
}

/// How long the texts or bytes of a variable are.
#[derive(Debug, Default)]
pub(super) struct Measured {
    longest: usize,
    bytes: u64,
    values: u64,
    has_nul: bool,
}

/// Goes through all values of a variable whose type does not say how large they are.
pub(super) fn measure(
    view: &Arc<dyn ArraysView>,
    id: VariableId,
    variable: &Variable,
    order: Order,
) -> Result<Measured> {
    let mut measured = Measured::default();
    for step in 0..variable.steps {
        for chunk in chunks(view, id, variable, step, order)? {
            measured.add(&chunk?.values);
        }
    }
    Ok(measured)
}

impl Measured {
    fn add(&mut self, values: &ArrayRef) {
        self.values += values.len() as u64;
        if let Some(texts) = values.as_string_opt::<i32>() {
            for text in texts.iter().flatten() {
                self.note(text.len());
                self.has_nul |= text.contains('\0');
            }
        } else if let Some(items) = values.as_binary_opt::<i32>() {
            items.iter().flatten().for_each(|item| self.note(item.len()));
        }
    }

    fn note(&mut self, length: usize) {
        self.longest = self.longest.max(length);
        self.bytes = self.bytes.saturating_add(length as u64);
    }

    pub(super) fn kind(&self, data_type: &DataType) -> Option<Kind> {
        match data_type {
            DataType::Utf8 => Some(Kind::Text(self.longest.max(1))),
            DataType::Binary => Some(Kind::Bytes(self.longest.max(1))),
            _ => None,
        }
    }

    fn padded_bytes(&self) -> u64 {
        self.values.saturating_mul(self.longest as u64)
    }

    /// Whether padding would make a large output of little text.
    pub(super) fn is_too_much(&self) -> bool {
        let most = self.bytes.saturating_mul(PADDED_TIMES_MAX).max(PADDED_BYTES_MAX);
        self.padded_bytes() > most
    }

    pub(super) fn refused(&self) -> String {
        let Self { longest, values, .. } = self;
        let padded = self.padded_bytes() >> 20;
        format!(
            "left out: {values} values padded to the longest, {longest} bytes, are {padded} MiB"
        )
    }

    pub(super) fn changed_text(&self) -> Option<String> {
        self.has_nul.then(|| "has NUL in its text, where most readers end it".to_owned())
    }
}
