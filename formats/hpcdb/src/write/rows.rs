//! Values of one context after another as `profile.db` has them, before it is known where they go.

use kymo_core::bytes::Sink;
use kymo_core::{Error, Result};

use super::file::Form;

/// So many bytes are handed on at once where not all are put together at first.
const BYTES_HELD: usize = 1 << 18;

/// Values of contexts.
#[derive(Debug)]
pub(crate) struct Rows {
    form: Form,
    bytes: Sink,
    /// Each context, and how many values come before its own.
    index: Vec<(u32, u64)>,
    count: u64,
    /// The context that values are taken of, and those that it has so far.
    context: u32,
    row: Vec<(u16, f64)>,
    /// Reason why one could not be taken.
    refused: Option<Error>,
}

impl Rows {
    pub(super) fn new(form: Form) -> Self {
        let (index, row) = <_>::default();
        Self { form, bytes: form.sink(), index, count: 0, context: 0, row, refused: None }
    }

    /// Takes a value, or why there is none. Contexts come in order, and what each has is put in
    /// order here.
    pub(super) fn take(&mut self, value: Result<(u32, u16, f64)>) {
        match value {
            Ok((context, metric, value)) => {
                if context != self.context {
                    self.end_row();
                    self.context = context;
                }
                self.row.push((metric, value));
            }
            Err(error) => self.refused = self.refused.take().or(Some(error)),
        }
    }

    fn end_row(&mut self) {
        if self.row.is_empty() {
            return;
        }
        self.row.sort_by_key(|(metric, _)| *metric);
        self.index.push((self.context, self.count));
        self.count += self.row.len() as u64;
        for (metric, value) in self.row.drain(..) {
            self.bytes.bytes(&encoded(self.form, metric, value));
        }
    }

    /// Returns true if so much was taken that it is time to hand it on.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() >= BYTES_HELD
    }

    /// Ends the last context.
    pub(super) fn ended(mut self) -> Result<Self> {
        self.end_row();
        self.refused.take().map_or(Ok(self), Err)
    }

    /// Bytes, contexts and how many values come before theirs, and how many there are. What was
    /// taken of the last context may be left for the next time.
    pub(super) fn parts(&self) -> (&[u8], &[(u32, u64)], u64) {
        (self.bytes.as_slice(), &self.index, self.count)
    }

    /// Forgets what was handed on.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.index.clear();
        self.count = 0;
    }
}

/// The id of a metric and a value of it.
fn encoded(form: Form, metric: u16, value: f64) -> [u8; 10] {
    let (id, bits) = if form.is_described() {
        (metric.to_be_bytes(), value.to_be_bytes())
    } else {
        (metric.to_le_bytes(), value.to_le_bytes())
    };
    let mut bytes = [0; 10];
    let (first, rest) = bytes.split_at_mut(id.len());
    first.copy_from_slice(&id);
    rest.copy_from_slice(&bits);
    bytes
}
