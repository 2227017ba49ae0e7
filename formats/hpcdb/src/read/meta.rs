//! `meta.db`: names, metrics, modules, files, functions.

use kymo_core::bytes::{Limits, ReadError, ReadResult};
use kymo_core::{Result, Source};

use super::part::Part;
use crate::spec::{
    DRAFT_METRIC_BYTES, DRAFT_SCOPE_BYTES, DRAFT_SUMMARY_BYTES, ENTRY_BYTES, FILE_BYTES,
    FUNCTION_BYTES, FileKind, METRIC_BYTES, MODULE_BYTES, SCOPE_BYTES, SCOPE_INSTANCE_BYTES,
    SUMMARY_BYTES,
};
use crate::types::{Function, Metric, PropagationScope, ScopeInstance, Statistic, Strided};

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
    /// Whether metrics and contexts have the smaller records of the first drafts.
    pub(crate) is_draft: bool,
}

/// Where the tree of contexts begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Roots {
    Entries(Strided),
    /// In the drafts: contexts, in so many bytes.
    Contexts(std::ops::Range<u64>),
}

const GENERAL: usize = 0;
const ID_NAMES: usize = 1;
const METRICS: usize = 2;
const CONTEXT: usize = 3;
const MODULES: usize = 5;
const FILES: usize = 6;
const FUNCTIONS: usize = 7;

impl Meta {
    pub(crate) fn open(source: &Source, limits: &Limits) -> Result<Self> {
        let part = Part::open(source, FileKind::Meta, limits)?;
        let read = Self::read(&part);
        let read = part.told(read)?;
        Ok(Self { part, ..read })
    }

    fn read(part: &Part) -> ReadResult<Self> {
        let mut general = part.cursor("General", part.section(GENERAL)?.pointer)?;
        let (title, description) = (general.u64("title")?, general.u64("description")?);
        let at = part.section(METRICS)?.pointer;
        let mut cursor = part.cursor("szMetric", at)?;
        cursor.skip("szMetric", 0xc)?;
        let is_draft = u64::from(cursor.u8("szMetric")?) < METRIC_BYTES;
        let (metrics, scopes) =
            if is_draft { (draft_metrics(part, at)?, Vec::new()) } else { metrics(part, at)? };
        Ok(Self {
            title: part.text("title", title)?.into_owned(),
            description: part.text("description", description)?.into_owned(),
            id_names: id_names(part)?,
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

    /// Whether the file that a pointer leads to was copied into the database.
    pub(crate) fn is_copied(&self, pointer: u64) -> ReadResult<bool> {
        Ok(self.part.cursor("file flags", pointer)?.u32("file flags")? & 1 == 1)
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

fn id_names(part: &Part) -> ReadResult<Vec<String>> {
    let section = part.section(ID_NAMES)?;
    let mut cursor = part.cursor("IdNames", section.pointer)?;
    let pointer = cursor.u64("id names")?;
    let count: u64 = if part.is_described() {
        cursor.u16("number of kinds")?.into()
    } else {
        cursor.u8("number of kinds")?.into()
    };
    let table = Strided { pointer, count, stride: 8 };
    let table = part.strided("id names", section.pointer, table, 8)?;
    let name = |at| {
        let pointer = part.cursor("id name", at)?.u64("id name")?;
        Ok(part.text("id name", pointer)?.into_owned())
    };
    table.offsets().map(name).collect()
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
        part.within("roots", at, pointer, size)?;
        return Ok(Roots::Contexts(pointer..pointer.saturating_add(size)));
    }
    let pointer = cursor.u64("entry points")?;
    let count = cursor.u16("number of entry points")?.into();
    let stride = cursor.u8("size of entry points")?.into();
    let table = Strided { pointer, count, stride };
    Ok(Roots::Entries(part.strided("entry points", at, table, ENTRY_BYTES)?))
}

/// Metrics, and the propagation scopes they share.
fn metrics(part: &Part, at: u64) -> ReadResult<(Vec<Metric>, Vec<PropagationScope>)> {
    let mut cursor = part.cursor("metrics", at)?;
    let pointer = cursor.u64("metrics")?;
    let count = cursor.u32("number of metrics")?.into();
    let stride = cursor.u8("size of metrics")?.into();
    let instance_stride = cursor.u8("size of scope instances")?.into();
    let summary_stride = cursor.u8("size of summaries")?.into();
    cursor.skip("gap", 1)?;
    let scopes_pointer = cursor.u64("propagation scopes")?;
    let scopes_count = cursor.u16("number of propagation scopes")?.into();
    let scopes_stride = cursor.u8("size of propagation scopes")?.into();
    let table = Strided { pointer, count, stride };
    let table = part.strided("metrics", at, table, METRIC_BYTES)?;
    let scopes = Strided { pointer: scopes_pointer, count: scopes_count, stride: scopes_stride };
    let scopes = part.strided("propagation scopes", at, scopes, SCOPE_BYTES)?;
    let metric = |offset| metric(part, offset, instance_stride, summary_stride);
    let metrics = table.offsets().map(metric).collect::<ReadResult<Vec<_>>>()?;
    let scopes = scopes.offsets().map(|offset| propagation_scope(part, offset));
    Ok((metrics, scopes.collect::<ReadResult<Vec<_>>>()?))
}

fn metric(part: &Part, offset: u64, instance: u64, summary: u64) -> ReadResult<Metric> {
    let mut cursor = part.cursor("metric", offset)?;
    let name = part.text("metric name", cursor.u64("metric name")?)?.into_owned();
    let instances = cursor.u64("scope instances")?;
    let statistics = cursor.u64("summaries")?;
    let instance_count = cursor.u16("number of scope instances")?.into();
    let statistic_count = cursor.u16("number of summaries")?.into();
    let table = Strided { pointer: instances, count: instance_count, stride: instance };
    let instances = part.strided("scope instances", offset, table, SCOPE_INSTANCE_BYTES)?;
    let table = Strided { pointer: statistics, count: statistic_count, stride: summary };
    let statistics = part.strided("summaries", offset, table, SUMMARY_BYTES)?;
    let instances = instances.offsets().map(|offset| scope_instance(part, offset));
    let statistics = statistics.offsets().map(|offset| statistic(part, offset));
    Ok(Metric {
        offset,
        name,
        instances: instances.collect::<ReadResult<Vec<_>>>()?,
        statistics: statistics.collect::<ReadResult<Vec<_>>>()?,
    })
}

fn scope_instance(part: &Part, offset: u64) -> ReadResult<ScopeInstance> {
    let mut cursor = part.cursor("scope instance", offset)?;
    let scope = propagation_scope(part, cursor.u64("scope")?)?.name;
    Ok(ScopeInstance { offset, scope, prop_metric_id: cursor.u16("propMetricId")? })
}

fn statistic(part: &Part, offset: u64) -> ReadResult<Statistic> {
    let mut cursor = part.cursor("summary", offset)?;
    let scope = propagation_scope(part, cursor.u64("scope")?)?.name;
    let formula = part.text("formula", cursor.u64("formula")?)?.into_owned();
    let combine = cursor.u8("combine")?;
    cursor.skip("gap", 1)?;
    Ok(Statistic { offset, scope, formula, combine, stat_metric_id: cursor.u16("statMetricId")? })
}

fn propagation_scope(part: &Part, offset: u64) -> ReadResult<PropagationScope> {
    let mut cursor = part.cursor("propagation scope", offset)?;
    let name = part.text("propagation scope", cursor.u64("propagation scope")?)?.into_owned();
    let scope_type = cursor.u8("type of propagation scope")?;
    let propagation_index = cursor.u8("propagation index")?;
    Ok(PropagationScope { offset, name, scope_type, propagation_index })
}

/// Metrics of the drafts, each with scopes of its own.
fn draft_metrics(part: &Part, at: u64) -> ReadResult<Vec<Metric>> {
    let mut cursor = part.cursor("metrics", at)?;
    let pointer = cursor.u64("metrics")?;
    let count = cursor.u32("number of metrics")?.into();
    let stride = cursor.u8("size of metrics")?.into();
    let scope_stride = cursor.u8("size of scopes")?.into();
    let summary_stride = cursor.u8("size of summaries")?.into();
    let table = Strided { pointer, count, stride };
    let table = part.strided("metrics", at, table, DRAFT_METRIC_BYTES)?;
    let metric = |offset| draft_metric(part, offset, scope_stride, summary_stride);
    table.offsets().map(metric).collect()
}

fn draft_metric(part: &Part, offset: u64, scope: u64, summary: u64) -> ReadResult<Metric> {
    let mut cursor = part.cursor("metric", offset)?;
    let name = part.text("metric name", cursor.u64("metric name")?)?.into_owned();
    let count = cursor.u16("number of scopes")?.into();
    cursor.skip("gap", 6)?;
    let pointer = cursor.u64("scopes")?;
    let table = Strided { pointer, count, stride: scope };
    let scopes = part.strided("scopes", offset, table, DRAFT_SCOPE_BYTES)?;
    let mut metric = Metric { offset, name, instances: Vec::new(), statistics: Vec::new() };
    for offset in scopes.offsets() {
        draft_scope(part, offset, summary, &mut metric)?;
    }
    Ok(metric)
}

fn draft_scope(part: &Part, offset: u64, summary: u64, metric: &mut Metric) -> ReadResult<()> {
    let mut cursor = part.cursor("scope", offset)?;
    let scope = part.text("scope", cursor.u64("scope")?)?.into_owned();
    let count = cursor.u16("number of summaries")?.into();
    let prop_metric_id = cursor.u16("propMetricId")?;
    cursor.skip("gap", 4)?;
    let pointer = cursor.u64("summaries")?;
    let table = Strided { pointer, count, stride: summary };
    let table = part.strided("summaries", offset, table, DRAFT_SUMMARY_BYTES)?;
    for offset in table.offsets() {
        let mut cursor = part.cursor("summary", offset)?;
        let formula = part.text("formula", cursor.u64("formula")?)?.into_owned();
        let combine = cursor.u8("combine")?;
        cursor.skip("gap", 1)?;
        let stat_metric_id = cursor.u16("statMetricId")?;
        let scope = scope.clone();
        metric.statistics.push(Statistic { offset, scope, formula, combine, stat_metric_id });
    }
    metric.instances.push(ScopeInstance { offset, scope, prop_metric_id });
    Ok(())
}

/// The propagation scopes that metrics of the drafts have between them.
fn scopes_of(metrics: &[Metric]) -> Vec<PropagationScope> {
    let mut scopes: Vec<PropagationScope> = Vec::new();
    for instance in metrics.iter().flat_map(|metric| &metric.instances) {
        if scopes.iter().all(|known| known.name != instance.scope) {
            let (scope_type, propagation_index) = match instance.scope.as_str() {
                "point" => (1, u8::MAX),
                "function" => (3, 0),
                "execution" => (2, u8::MAX),
                _ => (0, u8::MAX),
            };
            let name = instance.scope.clone();
            let offset = instance.offset;
            scopes.push(PropagationScope { offset, name, scope_type, propagation_index });
        }
    }
    scopes
}

/// A record that is no more than its pointers, for messages.
pub(crate) fn invalid(what: &'static str, offset: u64, why: impl Into<String>) -> ReadError {
    ReadError::invalid(what, offset, why.into())
}
