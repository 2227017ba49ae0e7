//! Reading: elements from bytes, and the index of a file.

mod element;
mod values;
mod walk;

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use kymo_core::bytes::{Endian, ReadError};
use kymo_core::{Context, Finding, Severity};

use crate::model::Grouping;
use crate::spec::Dialect;
use crate::types::Element;

use element::parse;
pub(crate) use values::{ValueType, scalar_value, values};
pub(crate) use walk::{End, Entry, Walk, detect_endian, is_plausible_start};

/// An open BP file: its bytes and where each element begins.
///
/// Opening goes over the headers once; payloads are not touched.
#[derive(Debug)]
pub struct Reader {
    bytes: Bytes,
    endian: Endian,
    entries: Vec<Entry>,
    end: End,
    findings: Vec<Finding>,
    grouping: OnceLock<Grouping>,
}

impl Reader {
    /// Opens a file whose every element can be found.
    ///
    /// # Errors
    /// At the first element whose length leads nowhere. [`salvage`](Self::salvage) reads on.
    pub fn open(bytes: Bytes, context: &Context<'_>) -> Result<Arc<Self>, ReadError> {
        let endian = detect_endian(&bytes).unwrap_or(Endian::Little);
        let walk = Walk::strict(&bytes, endian, context)?;
        Ok(Self::of_walk(bytes, endian, walk))
    }

    /// Opens what can be found of a damaged file; [`findings`](Self::findings) says what
    /// cannot.
    #[must_use]
    pub fn salvage(bytes: Bytes, context: &Context<'_>) -> Arc<Self> {
        let endian = detect_endian(&bytes).unwrap_or(Endian::Little);
        let walk = Walk::tolerant(&bytes, endian, context);
        Self::of_walk(bytes, endian, walk)
    }

    fn of_walk(bytes: Bytes, endian: Endian, walk: Walk) -> Arc<Self> {
        let mut findings = walk.findings;
        if bytes.is_empty() {
            let why = "the file is empty: nothing was recorded, or writing it failed at the start";
            findings.push(Finding::at(Severity::Warning, "empty-file", 0, why));
        }
        let findings = findings.into_vec();
        let (entries, end) = (walk.entries, walk.end);
        Arc::new(Self { bytes, endian, entries, end, findings, grouping: OnceLock::new() })
    }

    /// How many elements there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The byte order of the file.
    #[must_use]
    pub fn endian(&self) -> Endian {
        self.endian
    }

    /// One element by its number in the file.
    #[must_use]
    pub fn element(&self, index: usize) -> Option<Element<'_>> {
        self.entries.get(index).map(|entry| self.parse(entry))
    }

    /// The elements in the order of the file.
    pub fn elements(&self) -> impl ExactSizeIterator<Item = Element<'_>> {
        self.entries.iter().map(|entry| self.parse(entry))
    }

    /// What was odd or lost in reading.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The writer whose sizes the file has, and nothing when no type in it tells.
    #[must_use]
    pub fn dialect(&self) -> Option<Dialect> {
        self.grouping().dialect()
    }

    pub(crate) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    pub(crate) fn end(&self) -> End {
        self.end
    }

    /// Elements by variable, found at the first question for them.
    pub(crate) fn grouping(&self) -> &Grouping {
        self.grouping.get_or_init(|| Grouping::of(self))
    }

    /// Parses an element again: cheaper than keeping it.
    fn parse(&self, entry: &Entry) -> Element<'_> {
        let start = usize::try_from(entry.offset).unwrap_or(usize::MAX);
        let rest = self.bytes.get(start..).unwrap_or_default();
        let length = usize::try_from(entry.length).unwrap_or(usize::MAX);
        parse(rest.get(..length).unwrap_or(rest), entry.offset, self.endian)
    }
}
