//! One file of a database: its header, and looks at places in it.

use std::borrow::Cow;
use std::ops::Range;
use std::path::PathBuf;

use bytes::Bytes;
use kymo_core::bytes::{Cursor, Endian, Limits, ReadError, ReadErrorKind, ReadResult};
use kymo_core::{Error, Finding, Result, Severity, Source};

use super::trace::GOES_BACK;
use crate::spec::{FOOTER_BYTES, FileKind, MAGIC, MAJOR_VERSION, SECTIONS_AT};
use crate::types::Strided;

/// Greatest length of a name. Of a longer one this much is read: many records may lead to the same
/// bytes, and each of them is shown.
pub(crate) const TEXT_MAX: usize = 1 << 14;

/// One file of a database.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) kind: FileKind,
    pub(crate) endian: Endian,
    pub(crate) sections: Vec<Section>,
    bytes: Bytes,
    /// The name within the directory, where it was opened through one.
    file: Option<PathBuf>,
    items_max: u64,
}

/// A section as the header lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) name: &'static str,
    /// Offset at which the header lists it.
    pub(crate) listed: u64,
    pub(crate) pointer: u64,
    pub(crate) size: u64,
}

impl Section {
    pub(crate) fn range(&self) -> Range<u64> {
        self.pointer..self.pointer.saturating_add(self.size)
    }
}

/// Returns the kind of file of a database that some bytes are, by their magic.
pub(crate) fn kind_of(head: &[u8]) -> Option<FileKind> {
    let format = head.strip_prefix(MAGIC)?.get(..4)?;
    FileKind::ALL.into_iter().find(|kind| kind.format() == format)
}

impl Part {
    /// Reads the header of a file.
    pub(crate) fn open(source: &Source, kind: FileKind, limits: &Limits) -> Result<Self> {
        let part = Self::open_cut(source, kind, limits)?;
        for Section { name, listed, pointer, size } in part.sections.iter().copied() {
            part.with_file(part.check_range(name, listed, pointer, size))?;
        }
        Ok(part)
    }

    /// Reads the header of a file that may be cut: sections may lie beyond its end.
    pub(crate) fn open_cut(source: &Source, kind: FileKind, limits: &Limits) -> Result<Self> {
        let mut part = Self {
            kind,
            endian: Endian::Little,
            sections: Vec::new(),
            bytes: source.bytes()?,
            file: source.relative_name().map(PathBuf::from),
            items_max: limits.items_max,
        };
        let read = part.read_header();
        part.with_file(read)?;
        Ok(part)
    }

    fn read_header(&mut self) -> ReadResult<()> {
        let mut cursor = self.cursor("magic", 0)?;
        let magic: [u8; 14] = cursor.array("magic")?;
        if kind_of(&magic) != Some(self.kind) {
            let found = kind_of(&magic)
                .map_or(String::new(), |found| format!(", but that of {}", found.name()));
            let why = format!("is not that of {}{found}", self.kind.name());
            return Err(ReadError::invalid("magic", 0, why));
        }
        let major = cursor.u8("major version")?;
        if major != MAJOR_VERSION {
            let why = format!("is {major}, and only {MAJOR_VERSION} is read");
            return Err(ReadError::invalid("major version", 0xe, why));
        }
        self.endian = self.find_endian()?;
        self.sections = self.read_sections()?;
        Ok(())
    }

    /// The byte order in which the pointer to the first section makes sense.
    fn find_endian(&self) -> ReadResult<Endian> {
        let makes_sense = |endian: Endian| -> ReadResult<bool> {
            let at = SECTIONS_AT + 8;
            let rest = self.cursor("first section", at)?.remaining_bytes();
            let pointer = Cursor::with_offset(rest, at, endian).u64("first section")?;
            let is_within = (self.kind.header_bytes()..self.len()).contains(&pointer);
            Ok(is_within && pointer.is_multiple_of(8))
        };
        for endian in [Endian::Little, Endian::Big] {
            if makes_sense(endian)? {
                return Ok(endian);
            }
        }
        let why = "lies outside of the file in either byte order";
        Err(ReadError::invalid("first section", SECTIONS_AT + 8, why))
    }

    fn read_sections(&self) -> ReadResult<Vec<Section>> {
        let mut cursor = self.cursor("sections", SECTIONS_AT)?;
        let mut sections = Vec::new();
        for name in self.kind.sections() {
            let listed = cursor.offset();
            let size = cursor.u64(name)?;
            let pointer = cursor.u64(name)?;
            sections.push(Section { name, listed, pointer, size });
        }
        Ok(sections)
    }

    /// A section by its place in the header.
    pub(crate) fn section(&self, index: usize) -> ReadResult<Section> {
        let found = self.sections.get(index).copied();
        found.ok_or_else(|| ReadError::invalid("section", SECTIONS_AT, "is not listed"))
    }

    /// Fails unless the file ends as one that was written to its end.
    pub(crate) fn require_footer(&self) -> ReadResult<()> {
        let at = self.len().saturating_sub(FOOTER_BYTES);
        // The described draft says of no footer for traces.
        let is_optional = self.kind == FileKind::Trace && self.is_described();
        if is_optional || self.bytes.ends_with(self.kind.footer()) {
            return Ok(());
        }
        let footer = String::from_utf8_lossy(self.kind.footer());
        let why = match self.bytes_after_footer() {
            Some(bytes) => format!("{bytes} bytes stand behind {footer}, and nothing should"),
            None => format!("{footer} is missing: the file was cut, or not written to its end"),
        };
        Err(ReadError::invalid("footer", at, why))
    }

    /// Returns the number of bytes behind the footer, where it is near the end.
    pub(crate) fn bytes_after_footer(&self) -> Option<u64> {
        const NEAR: usize = 1 << 12;
        let tail = self.bytes.get(self.bytes.len().saturating_sub(NEAR)..)?;
        let at = memchr::memmem::rfind(tail, self.kind.footer())?;
        Some((tail.len() - at) as u64 - FOOTER_BYTES)
    }

    /// All bytes of the file.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns true if it has the layout of the description, the only one that is big-endian.
    pub(crate) fn is_described(&self) -> bool {
        self.endian == Endian::Big
    }

    /// Bytes of the file.
    pub(crate) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Stands at an offset.
    pub(crate) fn cursor(&self, what: &'static str, offset: u64) -> ReadResult<Cursor<'_>> {
        let rest = usize::try_from(offset).ok().and_then(|start| self.bytes.get(start..));
        let Some(rest) = rest else {
            let why = format!("{offset:#x} lies beyond the end");
            return Err(ReadError::invalid(what, self.len(), why));
        };
        Ok(Cursor::with_offset(rest, offset, self.endian))
    }

    /// Fails unless so many bytes from a pointer on are there. `listed` is where the file says so.
    pub(crate) fn check_range(
        &self,
        what: &'static str,
        listed: u64,
        pointer: u64,
        bytes: u64,
    ) -> ReadResult<()> {
        let end = pointer.checked_add(bytes);
        if end.is_some_and(|end| end <= self.len()) {
            return Ok(());
        }
        let why = format!("{bytes} bytes from {pointer:#x} on reach beyond the end");
        Err(ReadError::invalid(what, listed, why))
    }

    /// Records of one size, as a table lists them; `known` is the least size.
    pub(crate) fn strided(
        &self,
        what: &'static str,
        listed: u64,
        table: Strided,
        known: u64,
    ) -> ReadResult<Strided> {
        if table.count == 0 {
            return Ok(Strided { stride: table.stride.max(known), ..table });
        }
        if table.stride < known {
            let why = format!("records of {} bytes are too small; {known} are known", table.stride);
            return Err(ReadError::invalid(what, listed, why));
        }
        if table.count > self.items_max {
            let (found, limit) = (table.count, self.items_max);
            return Err(ReadErrorKind::OverLimit { found, limit }.error_at(what, listed));
        }
        let bytes = table.count.saturating_mul(table.stride);
        self.check_range(what, listed, table.pointer, bytes)?;
        Ok(table)
    }

    /// The text that a pointer leads to; of a very long one the beginning.
    pub(crate) fn text(&self, what: &'static str, pointer: u64) -> ReadResult<Cow<'_, str>> {
        let rest = self.cursor(what, pointer)?.remaining_bytes();
        if let Some(long) = rest.get(..TEXT_MAX).filter(|start| memchr::memchr(0, start).is_none())
        {
            return Ok(Cow::Owned(format!("{}…", String::from_utf8_lossy(long))));
        }
        self.whole_text(what, pointer)
    }

    /// The text that a pointer leads to, however long it is.
    pub(crate) fn whole_text(&self, what: &'static str, pointer: u64) -> ReadResult<Cow<'_, str>> {
        let rest = self.cursor(what, pointer)?.remaining_bytes();
        let text = memchr::memchr(0, rest).and_then(|end| rest.get(..end));
        let text = text.ok_or_else(|| ReadError::invalid(what, pointer, "the text has no end"))?;
        Ok(String::from_utf8_lossy(text))
    }

    /// Returns the end of a text, behind its zero byte; `None` where it is very long.
    pub(crate) fn text_end(&self, what: &'static str, pointer: u64) -> ReadResult<Option<u64>> {
        let rest = self.cursor(what, pointer)?.remaining_bytes();
        match memchr::memchr(0, rest.get(..TEXT_MAX).unwrap_or(rest)) {
            Some(end) => Ok(Some(pointer + end as u64 + 1)),
            None if rest.len() >= TEXT_MAX => Ok(None),
            None => Err(ReadError::invalid(what, pointer, "the text has no end")),
        }
    }

    /// Returns the offset at which a text is no UTF-8, if it is not.
    pub(crate) fn not_utf8(&self, range: Range<u64>) -> Option<u64> {
        let [start, end] = [range.start, range.end].map(|at| usize::try_from(at).ok());
        let text = self.bytes.get(start?..end?)?;
        let wrong = std::str::from_utf8(text).err()?;
        Some(range.start + wrong.valid_up_to() as u64)
    }

    /// An error with the file it is about.
    pub(crate) fn with_file<T>(&self, result: ReadResult<T>) -> Result<T> {
        result.map_err(|error| self.error(error))
    }

    /// The same of the error alone.
    pub(crate) fn error(&self, error: ReadError) -> Error {
        match &self.file {
            Some(file) => Error::ReadIn { file: file.clone(), error },
            None => Error::Read(error),
        }
    }

    /// A finding with the file it is about.
    pub(crate) fn finding(
        &self,
        severity: Severity,
        rule: &'static str,
        offset: u64,
        message: impl Into<String>,
    ) -> Finding {
        self.named(Finding::at_offset(severity, rule, offset.min(self.len()), message))
    }

    /// An unreadable place as a finding.
    pub(crate) fn unreadable(&self, error: &ReadError) -> Finding {
        self.named(Finding::unreadable(rule_of(error), error))
    }

    fn named(&self, finding: Finding) -> Finding {
        let file = self.file.as_ref().map(|file| file.display().to_string());
        Finding { file, ..finding }
    }
}

/// The rule that an unreadable place breaks: order has rules of its own.
fn rule_of(error: &ReadError) -> &'static str {
    match (error.what, &error.kind) {
        ("context index", ReadErrorKind::Invalid(_)) => "context-index",
        ("ctxId", ReadErrorKind::Invalid(_)) => "context-id",
        ("metric index", ReadErrorKind::Invalid(_)) => "metric-index",
        ("metricId", ReadErrorKind::Invalid(_)) => "value-order",
        ("timestamp", ReadErrorKind::Invalid(why)) if why.contains(GOES_BACK) => "trace-order",
        ("timestamp", ReadErrorKind::Invalid(_)) => "trace-time",
        _ => "unreadable",
    }
}
