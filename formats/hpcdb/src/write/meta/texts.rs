//! Texts that records point to.

use std::collections::HashMap;

use kymo_core::bytes::Sink;

use super::super::file::Form;

/// A text, with the zero byte that ends it.
pub(super) fn text(section: &mut Sink, text: &str) {
    section.bytes(text.as_bytes());
    section.u8(0);
}

/// A text without zero bytes, which would end it.
pub(super) fn printable(text: &str) -> String {
    text.replace('\0', " ")
}

/// Texts, each once, from a place on.
pub(super) struct Texts {
    first: u64,
    pub(super) bytes: Sink,
    known: HashMap<String, u64>,
}

impl Texts {
    pub(super) fn new(first: u64, form: Form) -> Self {
        Self { first, bytes: form.sink(), known: HashMap::new() }
    }

    /// Returns the offset of a text; it is added where it is new.
    pub(super) fn intern(&mut self, wanted: &str) -> u64 {
        if let Some(known) = self.known.get(wanted) {
            return *known;
        }
        let at = self.first + self.bytes.len() as u64;
        text(&mut self.bytes, &printable(wanted));
        self.known.insert(wanted.to_owned(), at);
        at
    }

    /// Returns the offset of a text that was added before.
    pub(super) fn interned_offset(&self, wanted: &str) -> u64 {
        self.known.get(wanted).copied().unwrap_or(self.first)
    }
}
