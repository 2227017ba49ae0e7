//! Facts that are needed before anything is written: how long texts are, and what is not there.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_schema::DataType;
use kymo_core::Result;
use kymo_model::arrays::{
    ArraysView, Chunks, Order, Raw, Selection, Step, Variable, VariableId, volume,
};

use crate::arrays::Kind;

/// Bytes that texts of one variable may take when all are as long as the longest.
const PADDED_BYTES_MAX: u64 = 64 << 20;

/// Factor by which anything may exceed its own size in the output, however much it is.
const TIMES_MAX: u64 = 8;

/// Values that are missing and yet written, of all arrays that are nearly empty.
const MISSING_MAX: u64 = 1 << 22;

/// Arrays of so many values are written, whatever is there of them.
const SMALL_VALUES: u64 = 64;

/// Texts looked at together.
const CHUNK_VALUES: u64 = 4096;

/// Bytes of one value that are held at once. Longer ones go from the source to the output in
/// pieces, or are left out.
pub(crate) const VALUE_BYTES_MAX: usize = 4 << 20;

/// Amount of a variable that is there.
#[derive(Debug, Default)]
pub(super) struct Presence {
    pub(super) values: u64,
    pub(super) there: u64,
    pub(super) blocks: u64,
    /// The values that are missing in steps of which nearly all is.
    hollow: u64,
}

impl Presence {
    pub(super) fn from_variable(
        view: &dyn ArraysView,
        id: VariableId,
        variable: &Variable,
    ) -> Result<Self> {
        let mut presence = Self::default();
        if volume(&variable.max_shape) > SMALL_VALUES {
            for step in 0..variable.steps {
                presence.add(&view.step(id, step)?);
            }
        }
        Ok(presence)
    }

    fn add(&mut self, step: &Step) {
        let volumes = step.blocks.iter().map(|block| volume(&block.count));
        let (values, there) = (volume(&step.shape), volumes.fold(0, u64::saturating_add));
        self.values = self.values.saturating_add(values);
        self.there = self.there.saturating_add(there);
        self.blocks += step.blocks.len() as u64;
        if values > there.saturating_mul(TIMES_MAX) {
            self.hollow = self.hollow.saturating_add(values - there);
        }
    }
}

/// Number of values of an array that may be written although they are not there. A few bytes may
/// state that they are a part of an array of any size.
#[derive(Debug)]
pub(super) struct Allowance(u64);

impl Allowance {
    /// The most of which all arrays that lack no more can be written. So what lacks as much as
    /// another becomes the same, wherever it is in the file.
    pub(super) fn from_presences<'a>(presences: impl Iterator<Item = &'a Presence>) -> Self {
        let mut hollow: Vec<_> = presences.map(|presence| presence.hollow).collect();
        hollow.sort_unstable();
        let (mut most, mut total) = (0, 0_u64);
        for alike in hollow.chunk_by(|one, other| one == other) {
            let each = alike.first().copied().unwrap_or(0);
            total = total.saturating_add(each.saturating_mul(alike.len() as u64));
            if total > MISSING_MAX {
                break;
            }
            most = each;
        }
        Self(most)
    }

    /// Returns true if an array can be written with what is missing.
    pub(super) fn covers(&self, presence: &Presence) -> bool {
        presence.hollow <= self.0
    }
}

/// Lengths of the texts or bytes of a variable.
#[derive(Debug, Default)]
pub(super) struct Measured {
    /// Of each step: the longest, and how many there are.
    steps: Vec<(usize, u64)>,
    pub(super) longest: usize,
    bytes: u64,
    values: u64,
    has_nul: bool,
    /// True if a text is no UTF-8, and stored as such.
    pub(super) is_recoded: bool,
    /// True if each step is one value that lies in the file as it is written.
    pub(super) is_one_run: bool,
}

/// Goes through all values of a variable whose type does not say how large they are.
pub(super) fn measure(
    view: &Arc<dyn ArraysView>,
    id: VariableId,
    variable: &Variable,
    order: Order,
) -> Result<Measured> {
    let is_text = variable.data_type == DataType::Utf8;
    let mut measured = Measured { is_one_run: true, ..Measured::default() };
    for step in 0..variable.steps {
        let step = view.step(id, step)?;
        let raws: Option<Vec<_>> = step.blocks.iter().map(|block| view.raw(block.id)).collect();
        let mut of_step = Measured { values: volume(&step.shape), ..Measured::default() };
        if let Some(raws) = raws {
            for raw in &raws {
                of_step.add_raw(raw, is_text);
            }
            measured.is_one_run &= raws.len() == 1 && of_step.values == 1;
        } else {
            measured.is_one_run = false;
            of_step.add_read(view, variable, step, order)?;
        }
        measured.join(&of_step);
    }
    Ok(measured)
}

impl Measured {
    fn add_raw(&mut self, raw: &Raw<'_>, is_text: bool) {
        for item in raw.bytes.chunks(raw.each.max(1)) {
            let is_recoded = is_text && std::str::from_utf8(item).is_err();
            // Of Latin-1, what is beyond ASCII takes two bytes.
            let more = item.iter().filter(|byte| is_recoded && !byte.is_ascii()).count();
            self.note(item.len() + more);
            self.is_recoded |= is_recoded;
            self.has_nul |= is_text && item.contains(&0);
        }
    }

    fn add_read(
        &mut self,
        view: &Arc<dyn ArraysView>,
        variable: &Variable,
        step: Step,
        order: Order,
    ) -> Result<()> {
        let all = Selection::all(&step.shape);
        let (view, data_type) = (Arc::clone(view), variable.data_type.clone());
        for chunk in Chunks::new(view, data_type, step, &all, order, CHUNK_VALUES)? {
            let values = chunk?.values;
            if let Some(texts) = values.as_string_opt::<i32>() {
                for text in texts.iter().flatten() {
                    self.note(text.len());
                    self.has_nul |= text.contains('\0');
                }
            } else if let Some(items) = values.as_binary_opt::<i32>() {
                items.iter().flatten().for_each(|item| self.note(item.len()));
            }
        }
        Ok(())
    }

    fn note(&mut self, length: usize) {
        self.longest = self.longest.max(length);
        self.bytes = self.bytes.saturating_add(length as u64);
    }

    fn join(&mut self, step: &Self) {
        self.steps.push((step.longest, step.values));
        self.longest = self.longest.max(step.longest);
        self.bytes = self.bytes.saturating_add(step.bytes);
        self.values = self.values.saturating_add(step.values);
        self.has_nul |= step.has_nul;
        self.is_recoded |= step.is_recoded;
    }

    /// Counts only so many values: the others of an array that is nearly empty are not written.
    pub(super) fn count_only(&mut self, there: u64) {
        self.values = there;
    }

    pub(super) fn kind(&self, data_type: &DataType) -> Option<Kind> {
        kind_of(data_type, self.longest)
    }

    /// Returns the kind in which each step is stored, if steps are stored by themselves.
    pub(super) fn kinds(&self, data_type: &DataType) -> Option<Vec<Kind>> {
        self.steps.iter().map(|(longest, _)| kind_of(data_type, *longest)).collect()
    }

    /// Returns true if padding would make a large output of little text.
    pub(super) fn is_too_much(&self) -> bool {
        self.is_over(self.values.saturating_mul(self.longest as u64))
    }

    /// The same when each step is padded to its own longest.
    pub(super) fn is_too_much_by_step(&self) -> bool {
        let padded = self.steps.iter().map(|(longest, values)| {
            let longest = *longest as u64;
            values.saturating_mul(longest)
        });
        self.is_over(padded.fold(0, u64::saturating_add))
    }

    fn is_over(&self, padded_bytes: u64) -> bool {
        padded_bytes > self.bytes.saturating_mul(TIMES_MAX).max(PADDED_BYTES_MAX)
    }

    pub(super) fn refused(&self) -> String {
        let Self { longest, values, .. } = self;
        let padded = values.saturating_mul(*longest as u64) >> 20;
        format!(
            "left out: {values} values padded to the longest, {longest} bytes, are {padded} MiB"
        )
    }

    /// Returns the ways in which text is different in the output.
    pub(super) fn changes(&self) -> impl Iterator<Item = &'static str> {
        let recoded = self.is_recoded.then_some("text is Latin-1 and stored as UTF-8");
        self.has_nul.then_some(HAS_NUL).into_iter().chain(recoded)
    }
}

/// Message about text that not all readers read to its end.
pub(super) const HAS_NUL: &str = "has NUL in its text, where most readers end it";

fn kind_of(data_type: &DataType, longest: usize) -> Option<Kind> {
    match data_type {
        DataType::Utf8 => Some(Kind::Text(longest.max(1))),
        DataType::Binary => Some(Kind::Bytes(longest.max(1))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_that_lack_as_much_are_allowed_alike_and_small_ones_first() {
        let half = MISSING_MAX / 2;
        let allowed = |hollow: &[u64]| -> Vec<bool> {
            let presence = |hollow: &u64| Presence { hollow: *hollow, ..Presence::default() };
            let presences: Vec<_> = hollow.iter().map(presence).collect();
            let allowance = Allowance::from_presences(presences.iter());
            presences.iter().map(|presence| allowance.covers(presence)).collect()
        };
        assert_eq!(allowed(&[half, half]), [true, true]);
        assert_eq!(allowed(&[half, half, half, 0, 7]), [false, false, false, true, true]);
        assert_eq!(allowed(&[u64::MAX, half, u64::MAX]), [false, true, false]);
        assert_eq!(allowed(&[MISSING_MAX + 1]), [false]);
    }

    #[test]
    fn latin_1_is_measured_as_it_is_stored() {
        let mut measured = Measured::default();
        measured.add_raw(&Raw { bytes: &[0xE9, b't', 0xE9], each: 3 }, true);
        assert_eq!((measured.longest, measured.is_recoded), (5, true));
        measured.add_raw(&Raw { bytes: "été".as_bytes(), each: 5 }, true);
        assert_eq!((measured.longest, measured.bytes), (5, 10));
    }
}
