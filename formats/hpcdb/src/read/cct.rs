//! `cct.db`: values by context, read where they lie.

use std::ops::Range;

use kymo_core::bytes::{Limits, ReadResult};
use kymo_core::{Result, Source};

use super::once::CheckedRecords;
use super::part::Part;
use super::profile::{first, in_order};
use crate::spec::{
    CCT_BYTES, CCT_INDEX_BYTES, CCT_VALUE_BYTES, DESCRIBED_CCT_BYTES, DESCRIBED_CCT_INDEX_BYTES,
    DESCRIBED_CCT_VALUE_BYTES, FileKind,
};
use crate::types::{CtxInfo, Strided};

/// `cct.db`.
#[derive(Debug)]
pub(crate) struct CctDb {
    pub(crate) part: Part,
    pub(crate) contexts: Strided,
    /// Contexts whose index is in order.
    ordered: CheckedRecords,
}

impl CctDb {
    pub(crate) fn open(source: &Source, limits: &Limits) -> Result<Self> {
        let part = Part::open(source, FileKind::Cct, limits)?;
        let contexts = part.with_file(Self::table(&part))?;
        let ordered = CheckedRecords::new(contexts.count, part.len());
        Ok(Self { part, contexts, ordered })
    }

    fn table(part: &Part) -> ReadResult<Strided> {
        let at = part.section(0)?.pointer;
        let mut cursor = part.cursor("contexts", at)?;
        let pointer = cursor.u64("contexts")?;
        let count = cursor.u32("number of contexts")?.into();
        let stride = cursor.u8("size of contexts")?.into();
        let known = if part.is_described() { DESCRIBED_CCT_BYTES } else { CCT_BYTES };
        part.strided("contexts", at, Strided { pointer, count, stride }, known)
    }

    /// Bytes of a value: the described draft has profile indices of two bytes.
    fn value_bytes(&self) -> u64 {
        if self.part.is_described() { DESCRIBED_CCT_VALUE_BYTES } else { CCT_VALUE_BYTES }
    }

    /// Bytes of an entry of the index: the described draft has metric ids of four bytes.
    fn index_bytes(&self) -> u64 {
        if self.part.is_described() { DESCRIBED_CCT_INDEX_BYTES } else { CCT_INDEX_BYTES }
    }

    /// A context by its id.
    pub(crate) fn context(&self, ctx_id: u64) -> ReadResult<Option<CtxInfo>> {
        let Some(offset) = self.contexts.offset_of(ctx_id) else { return Ok(None) };
        let mut cursor = self.part.cursor("context", offset)?;
        if self.part.is_described() {
            let block = cursor.u64("value block")?;
            cursor = self.part.cursor("value block", block)?;
        }
        let n_values = cursor.u64("number of values")?;
        let values = cursor.u64("values")?;
        let n_metrics = cursor.u16("number of metrics")?.into();
        cursor.skip("gap", 6)?;
        let metric_indices = cursor.u64("metric indices")?;
        let bytes = |count: u64, each: u64| count.saturating_mul(each);
        let value_bytes = bytes(n_values, self.value_bytes());
        self.part.check_range("values", offset, values, value_bytes)?;
        let index_bytes = bytes(n_metrics, self.index_bytes());
        self.part.check_range("metric indices", offset, metric_indices, index_bytes)?;
        Ok(Some(CtxInfo { index: ctx_id, offset, n_values, values, n_metrics, metric_indices }))
    }

    /// Returns the offset of a value.
    pub(crate) fn value_offset(&self, context: &CtxInfo, index: u64) -> u64 {
        context.values.saturating_add(index.saturating_mul(self.value_bytes()))
    }

    /// A value: the index of its profile, and how much.
    pub(crate) fn value(&self, context: &CtxInfo, index: u64) -> ReadResult<(u32, f64)> {
        let mut cursor = self.part.cursor("value", self.value_offset(context, index))?;
        let profile = if self.part.is_described() {
            cursor.u16("profIndex")?.into()
        } else {
            cursor.u32("profIndex")?
        };
        Ok((profile, cursor.f64("value")?))
    }

    /// Returns the offset of an entry of the index.
    pub(crate) fn index_offset(&self, context: &CtxInfo, entry: u64) -> u64 {
        context.metric_indices.saturating_add(entry.saturating_mul(self.index_bytes()))
    }

    /// An entry of the index: the id of the metric, and its first value.
    pub(crate) fn index(&self, context: &CtxInfo, entry: u64) -> ReadResult<(u32, u64)> {
        let mut cursor = self.part.cursor("metric index", self.index_offset(context, entry))?;
        let metric = if self.part.is_described() {
            cursor.u32("metricId")?
        } else {
            cursor.u16("metricId")?.into()
        };
        Ok((metric, cursor.u64("startIndex")?))
    }

    /// Fails unless the index of a context is in order, and no other has its values.
    pub(crate) fn require_order(&self, context: &CtxInfo) -> ReadResult<()> {
        let values = context.n_values.saturating_mul(self.value_bytes());
        let bytes = values.saturating_add(context.n_metrics.saturating_mul(self.index_bytes()));
        self.ordered.check_once(context.index, "metric indices", context.offset, bytes, || {
            let at = |entry| self.index_offset(context, entry);
            let index = |entry| self.index(context, entry);
            in_order("metric index", context.n_metrics, context.n_values, index, at)
        })
    }

    /// The values of an entry of the index.
    pub(crate) fn range(&self, context: &CtxInfo, entry: u64) -> ReadResult<Range<u64>> {
        let (_, start) = self.index(context, entry)?;
        let next = entry + 1;
        let end =
            if next < context.n_metrics { self.index(context, next)?.1 } else { context.n_values };
        Ok(start..end.min(context.n_values))
    }

    /// The values of a metric.
    pub(crate) fn find(&self, context: &CtxInfo, metric_id: u16) -> ReadResult<Range<u64>> {
        self.require_order(context)?;
        let wanted = u32::from(metric_id);
        let entry = first(context.n_metrics, |entry| Ok(self.index(context, entry)?.0 >= wanted))?;
        if entry < context.n_metrics && self.index(context, entry)?.0 == wanted {
            return self.range(context, entry);
        }
        Ok(0..0)
    }
}
