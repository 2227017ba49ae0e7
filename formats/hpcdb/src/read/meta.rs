//! `meta.db`: names, metrics, modules, files, functions.

use std::borrow::Cow;

use kymo_core::bytes::{Limits, ReadResult};
use kymo_core::{Result, Source};

use super::metrics::{MetricReader, scopes_of};
use super::part::Part;
use crate::spec::{ENTRY_BYTES, FILE_BYTES, FUNCTION_BYTES, FileKind, METRIC_BYTES, MODULE_BYTES};
use crate::types::{Function, Metric, PropagationScope, Strided};

/// `meta.db`. What is small is read; contexts, functions, files and modules stay in the file.
#[derive(Debug)]
pub(crate) struct Meta {
    pub(crate) part: Part,
    pub(crate) title: String,
    pub(crate) description: String,
    pub(crate) id_names: Vec<String>,
    pub(crate) metrics: Vec<Metric>,
    pub(crate) scopes: Vec<PropagationScope>,
    pub(crate) modules: Strided,
    pub(crate) files: Strided,
    pub(crate) functions: Strided,
    pub(crate) roots: Roots,
    /// True if metrics and contexts have the smaller records of the first drafts.
    pub(crate) is_draft: bool,
}

/// Start of the tree of contexts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Roots {
    Entries(Strided),
    /// In the drafts: contexts, in so many bytes.
    Contexts(std::ops::Range<u64>),
}

/// Sections by their places in the header.
pub(crate) const GENERAL: usize = 0;
/// Names of kinds of identifiers.
pub(crate) const ID_NAMES: usize = 1;
/// Metrics.
pub(crate) const METRICS: usize = 2;
/// The tree of contexts.
pub(crate) const CONTEXT: usize = 3;
/// Texts.
pub(crate) const STRINGS: usize = 4;
/// Modules.
pub(crate) const MODULES: usize = 5;
/// Source files.
pub(crate) const FILES: usize = 6;
/// Functions.
pub(crate) const FUNCTIONS: usize = 7;

impl Meta {
    pub(crate) fn open(source: &Source, limits: &Limits) -> Result<Self> {
        let part = Part::open(source, FileKind::Meta, limits)?;
        let read = Self::read(&part);
        let read = part.with_file(read)?;
        Ok(Self { part, ..read })
    }

    fn read(part: &Part) -> ReadResult<Self> {
        let mut general = part.cursor("General", part.section(GENERAL)?.pointer)?;
        let (title, description) = (general.u64("title")?, general.u64("description")?);
        let at = part.section(METRICS)?.pointer;
        let mut cursor = part.cursor("szMetric", at)?;
        cursor.skip("szMetric", 0xc)?;
        // The draft that was described is known by its byte order, however long its records are.
        let is_draft = part.is_described() || u64::from(cursor.u8("szMetric")?) < METRIC_BYTES;
        let mut taking = MetricReader::new(part);
        let (metrics, scopes) =
            if is_draft { (taking.draft_metrics(at)?, Vec::new()) } else { taking.metrics(at)? };
        Ok(Self {
            title: part.whole_text("title", title)?.into_owned(),
            description: part.whole_text("description", description)?.into_owned(),
            id_names: taking.id_names()?,
            scopes: if is_draft { scopes_of(&metrics) } else { scopes },
            metrics,
            modules: listed(part, MODULES, "modules", MODULE_BYTES)?,
            files: listed(part, FILES, "files", FILE_BYTES)?,
            functions: listed(part, FUNCTIONS, "functions", FUNCTION_BYTES)?,
            roots: roots(part, is_draft)?,
            is_draft,
            part: part.clone(),
        })
    }

    /// The path of the module or the file that a pointer leads to.
    pub(crate) fn path(&self, what: &'static str, pointer: u64) -> ReadResult<String> {
        let mut cursor = self.part.cursor(what, pointer)?;
        cursor.skip(what, 8)?;
        let path = cursor.u64(what)?;
        Ok(self.part.text(what, path)?.into_owned())
    }

    /// Returns true if the file that a pointer leads to was copied into the database.
    pub(crate) fn is_copied(&self, pointer: u64) -> ReadResult<bool> {
        Ok(self.part.cursor("file flags", pointer)?.u32("file flags")? & 1 == 1)
    }

    /// The name of the function that a pointer leads to; empty where it has none.
    pub(crate) fn function_name(&self, pointer: u64) -> ReadResult<Cow<'_, str>> {
        let name = self.part.cursor("function", pointer)?.u64("function name")?;
        some(name).map_or(Ok(Cow::Borrowed("")), |name| self.part.text("function name", name))
    }

    /// The function that a pointer leads to.
    pub(crate) fn function(&self, pointer: u64) -> ReadResult<Function> {
        let mut cursor = self.part.cursor("function", pointer)?;
        let name = cursor.u64("function name")?;
        let module = cursor.u64("function module")?;
        let offset = cursor.u64("function offset")?;
        let file = cursor.u64("function file")?;
        let line = cursor.u32("function line")?;
        let text = |pointer| self.part.text("function name", pointer);
        Ok(Function {
            name: some(name).map(text).transpose()?.map(String::from),
            module: some(module),
            offset,
            file: some(file),
            line,
        })
    }
}

/// A pointer, unless it leads nowhere.
pub(super) fn some(pointer: u64) -> Option<u64> {
    (pointer != 0).then_some(pointer)
}

fn listed(part: &Part, section: usize, what: &'static str, known: u64) -> ReadResult<Strided> {
    let at = part.section(section)?.pointer;
    let mut cursor = part.cursor(what, at)?;
    let pointer = cursor.u64(what)?;
    let count = cursor.u32(what)?.into();
    let stride = cursor.u16(what)?.into();
    part.strided(what, at, Strided { pointer, count, stride }, known)
}

fn roots(part: &Part, is_draft: bool) -> ReadResult<Roots> {
    let at = part.section(CONTEXT)?.pointer;
    let mut cursor = part.cursor("entry points", at)?;
    if is_draft {
        let size = cursor.u64("size of roots")?;
        let pointer = cursor.u64("roots")?;
        part.check_range("roots", at, pointer, size)?;
        return Ok(Roots::Contexts(pointer..pointer.saturating_add(size)));
    }
    let pointer = cursor.u64("entry points")?;
    let count = cursor.u16("number of entry points")?.into();
    let stride = cursor.u8("size of entry points")?.into();
    let table = Strided { pointer, count, stride };
    Ok(Roots::Entries(part.strided("entry points", at, table, ENTRY_BYTES)?))
}
