//! Reading: elements from bytes, and the index of a file.

mod element;
mod headers;
mod split;
#[cfg(test)]
mod tests;
mod values;
mod walk;

use std::sync::Arc;

use bytes::Bytes;
use kymo_core::bytes::{Endian, Limits};
use kymo_core::{Context, Finding, Result, Severity, Source, shortened};

use crate::model::Grouping;
use crate::spec::Dialect;
use crate::types::Element;

use element::parse;
use headers::HeaderOffset;
pub(crate) use values::{ValueType, decimals, needs_rounding, scalar_value, values};
pub(crate) use walk::{End, is_plausible_start};
use walk::{Entry, Walk, detect_endian};

/// An open BP file: where each element begins, and which make up a variable.
///
/// Opening goes over the headers once; payloads are not touched.
#[derive(Debug)]
pub struct Reader {
    index: Index,
    grouping: Grouping,
    end: End,
    findings: Vec<Finding>,
    limits: Limits,
}

/// Offset at which each element of a file begins.
#[derive(Debug)]
pub(crate) struct Index {
    bytes: Bytes,
    endian: Endian,
    entries: Vec<Entry>,
    headers: Vec<HeaderOffset>,
}

impl Index {
    /// Parses an element again: cheaper than keeping it.
    pub(crate) fn element(&self, index: usize) -> Option<Element<'_>> {
        self.entries.get(index).map(|entry| self.parse(entry))
    }

    fn parse(&self, entry: &Entry) -> Element<'_> {
        let Entry { offset, length, header } = *entry;
        let repeated = self.headers.get(header as usize);
        let repeated = repeated
            .and_then(|header| header.element(&self.bytes, offset, length.into(), self.endian));
        repeated.unwrap_or_else(|| {
            let start = usize::try_from(offset).unwrap_or(usize::MAX);
            let rest = self.bytes.get(start..).unwrap_or_default();
            parse(rest.get(..length as usize).unwrap_or(rest), offset, self.endian)
        })
    }
}

impl Reader {
    /// Opens a file whose every element can be found.
    ///
    /// # Errors
    /// At the first element whose length leads nowhere. [`salvage`](Self::salvage) reads on.
    pub fn open(source: &Source, context: &Context<'_>) -> Result<Arc<Self>> {
        let bytes = source.bytes()?;
        let endian = detect_endian(&bytes).unwrap_or(Endian::Little);
        Ok(Self::from_walk(Walk::strict(source, &bytes, endian, context)?, context))
    }

    /// Opens what can be found of a damaged file; [`findings`](Self::findings) says what
    /// cannot.
    pub fn salvage(source: &Source, context: &Context<'_>) -> Result<Arc<Self>> {
        let bytes = source.bytes()?;
        Ok(Self::from_walk(Walk::tolerant(&bytes, detect_endian(&bytes), context), context))
    }

    fn from_walk(walk: Walk, context: &Context<'_>) -> Arc<Self> {
        let Walk { index, grouping, end, mut findings } = walk;
        if index.bytes.is_empty() {
            let why = "the file is empty: nothing was recorded, or writing it failed at the start";
            findings.push(Finding::at_offset(Severity::Warning, "empty-file", 0, why));
        }
        for grouped in grouping.variables().iter().filter(|grouped| grouped.is_uneven()) {
            let first = grouping.members_of(grouped).first();
            let first = first.and_then(|&member| index.element(member as usize));
            let why = format!(
                "blocks of {} are missing, or written more often than others: which make up a \
                 step is a guess",
                shortened(grouped.path())
            );
            let at = first.map_or(0, |element| element.offset);
            findings.push(Finding::at_offset(Severity::Warning, "uneven-steps", at, why));
        }
        let limits = context.limits;
        Arc::new(Self { index, grouping, end, findings: findings.into_vec(), limits })
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.index.entries.len()
    }

    /// Returns true if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.index.entries.is_empty()
    }

    /// The byte order of the file.
    #[must_use]
    pub fn endian(&self) -> Endian {
        self.index.endian
    }

    /// One element by its number in the file.
    #[must_use]
    pub fn element(&self, index: usize) -> Option<Element<'_>> {
        self.index.element(index)
    }

    /// The elements in the order of the file.
    pub fn elements(&self) -> impl ExactSizeIterator<Item = Element<'_>> {
        self.index.entries.iter().map(|entry| self.index.parse(entry))
    }

    /// Returns the findings about what was odd or lost in reading.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The writer whose sizes the file has, and nothing when no type in it tells.
    #[must_use]
    pub fn dialect(&self) -> Option<Dialect> {
        self.grouping.dialect()
    }

    pub(crate) fn size_bytes(&self) -> u64 {
        self.index.bytes.len() as u64
    }

    /// Returns the number of values of a type that may be read at once.
    pub(crate) fn values_per_read(&self, value_type: ValueType) -> u64 {
        value_type.values_per_read(self.limits.value_bytes_max)
    }

    pub(crate) fn end(&self) -> End {
        self.end
    }

    /// Elements by variable.
    pub(crate) fn grouping(&self) -> &Grouping {
        &self.grouping
    }
}
