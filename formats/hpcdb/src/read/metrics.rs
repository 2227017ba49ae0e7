//! The metrics of `meta.db`, which are few and are read when it is opened.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kymo_core::bytes::{Cursor, ReadResult};

use super::budget::Budget;
use super::meta::ID_NAMES;
use super::part::Part;
use crate::spec::{
    DRAFT_METRIC_BYTES, DRAFT_SCOPE_BYTES, DRAFT_SUMMARY_BYTES, METRIC_BYTES, SCOPE_BYTES,
    SCOPE_INSTANCE_BYTES, SUMMARY_BYTES,
};
use crate::types::{Metric, PropagationScope, ScopeInstance, Statistic, Strided};

/// Records and texts of a file that are held. There is no more of it than the file has bytes:
/// arrays and names that lie on top of each other are refused.
pub(super) struct MetricReader<'a> {
    part: &'a Part,
    /// Budget from which records and texts are paid.
    budget: Budget,
    /// Texts that many records share, by where they are.
    texts: HashMap<u64, Arc<str>>,
}

impl<'a> MetricReader<'a> {
    pub(super) fn new(part: &'a Part) -> Self {
        Self { part, budget: Budget::from_part(part), texts: HashMap::new() }
    }

    fn strided(
        &mut self,
        what: &'static str,
        at: u64,
        table: Strided,
        known: u64,
    ) -> ReadResult<Strided> {
        let table = self.part.strided(what, at, table, known)?;
        self.budget.spend_each(what, at, table.count, table.stride)?;
        Ok(table)
    }

    /// A text that each record has for itself.
    fn name(&mut self, what: &'static str, pointer: u64) -> ReadResult<String> {
        let name = self.part.text(what, pointer)?;
        self.budget.spend(what, pointer, name.len() as u64)?;
        Ok(name.into_owned())
    }

    /// A text that many records lead to.
    fn shared(&mut self, what: &'static str, pointer: u64) -> ReadResult<Arc<str>> {
        if let Some(text) = self.texts.get(&pointer) {
            return Ok(Arc::clone(text));
        }
        let text: Arc<str> = self.name(what, pointer)?.into();
        self.texts.insert(pointer, Arc::clone(&text));
        Ok(text)
    }

    fn cursor(&self, what: &'static str, offset: u64) -> ReadResult<Cursor<'a>> {
        self.part.cursor(what, offset)
    }

    pub(super) fn id_names(&mut self) -> ReadResult<Vec<String>> {
        let at = self.part.section(ID_NAMES)?.pointer;
        let mut cursor = self.cursor("IdNames", at)?;
        let pointer = cursor.u64("id names")?;
        let count: u64 = if self.part.is_described() {
            cursor.u16("number of kinds")?.into()
        } else {
            cursor.u8("number of kinds")?.into()
        };
        let table = self.strided("id names", at, Strided { pointer, count, stride: 8 }, 8)?;
        let mut names = Vec::new();
        for at in table.offsets() {
            let pointer = self.cursor("id name", at)?.u64("id name")?;
            names.push(self.name("id name", pointer)?);
        }
        Ok(names)
    }

    /// Metrics, and the propagation scopes they share.
    pub(super) fn metrics(&mut self, at: u64) -> ReadResult<(Vec<Metric>, Vec<PropagationScope>)> {
        let mut cursor = self.cursor("metrics", at)?;
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
        let table = self.strided("metrics", at, table, METRIC_BYTES)?;
        let scopes =
            Strided { pointer: scopes_pointer, count: scopes_count, stride: scopes_stride };
        let scopes = self.strided("propagation scopes", at, scopes, SCOPE_BYTES)?;
        let mut metrics = Vec::new();
        for offset in table.offsets() {
            metrics.push(self.metric(offset, instance_stride, summary_stride)?);
        }
        let scopes = scopes.offsets().map(|offset| self.propagation_scope(offset));
        Ok((metrics, scopes.collect::<ReadResult<Vec<_>>>()?))
    }

    fn metric(&mut self, offset: u64, instance: u64, summary: u64) -> ReadResult<Metric> {
        let mut cursor = self.cursor("metric", offset)?;
        let name = self.name("metric name", cursor.u64("metric name")?)?;
        let instances = cursor.u64("scope instances")?;
        let statistics = cursor.u64("summaries")?;
        let instance_count = cursor.u16("number of scope instances")?.into();
        let statistic_count = cursor.u16("number of summaries")?.into();
        let table = Strided { pointer: instances, count: instance_count, stride: instance };
        let instances = self.strided("scope instances", offset, table, SCOPE_INSTANCE_BYTES)?;
        let table = Strided { pointer: statistics, count: statistic_count, stride: summary };
        let statistics = self.strided("summaries", offset, table, SUMMARY_BYTES)?;
        let instances = instances.offsets().map(|offset| self.scope_instance(offset));
        let instances = instances.collect::<ReadResult<Vec<_>>>()?;
        let statistics = statistics.offsets().map(|offset| self.statistic(offset));
        let statistics = statistics.collect::<ReadResult<Vec<_>>>()?;
        Ok(Metric { offset, name, instances, statistics })
    }

    fn scope_instance(&mut self, offset: u64) -> ReadResult<ScopeInstance> {
        let mut cursor = self.cursor("scope instance", offset)?;
        let scope = self.scope_name(cursor.u64("scope")?)?;
        Ok(ScopeInstance { offset, scope, prop_metric_id: cursor.u16("propMetricId")? })
    }

    fn statistic(&mut self, offset: u64) -> ReadResult<Statistic> {
        let mut cursor = self.cursor("summary", offset)?;
        let scope = self.scope_name(cursor.u64("scope")?)?;
        let formula = self.shared("formula", cursor.u64("formula")?)?;
        let combine = cursor.u8("combine")?;
        cursor.skip("gap", 1)?;
        let stat_metric_id = cursor.u16("statMetricId")?;
        Ok(Statistic { offset, scope, formula, combine, stat_metric_id })
    }

    /// The name of the propagation scope at an offset.
    fn scope_name(&mut self, offset: u64) -> ReadResult<Arc<str>> {
        let name = self.cursor("propagation scope", offset)?.u64("propagation scope")?;
        self.shared("propagation scope", name)
    }

    fn propagation_scope(&mut self, offset: u64) -> ReadResult<PropagationScope> {
        let mut cursor = self.cursor("propagation scope", offset)?;
        let name = self.name("propagation scope", cursor.u64("propagation scope")?)?;
        let scope_type = cursor.u8("type of propagation scope")?;
        let propagation_index = cursor.u8("propagation index")?;
        Ok(PropagationScope { offset, name, scope_type, propagation_index })
    }

    /// Metrics of the drafts, each with scopes of its own.
    pub(super) fn draft_metrics(&mut self, at: u64) -> ReadResult<Vec<Metric>> {
        let mut cursor = self.cursor("metrics", at)?;
        let pointer = cursor.u64("metrics")?;
        let count = cursor.u32("number of metrics")?.into();
        let stride = cursor.u8("size of metrics")?.into();
        let scope_stride = cursor.u8("size of scopes")?.into();
        let summary_stride = cursor.u8("size of summaries")?.into();
        let table = Strided { pointer, count, stride };
        let table = self.strided("metrics", at, table, DRAFT_METRIC_BYTES)?;
        let metric = |offset| self.draft_metric(offset, scope_stride, summary_stride);
        table.offsets().map(metric).collect()
    }

    fn draft_metric(&mut self, offset: u64, scope: u64, summary: u64) -> ReadResult<Metric> {
        let mut cursor = self.cursor("metric", offset)?;
        let name = self.name("metric name", cursor.u64("metric name")?)?;
        let count = cursor.u16("number of scopes")?.into();
        cursor.skip("gap", 6)?;
        let pointer = cursor.u64("scopes")?;
        let table = Strided { pointer, count, stride: scope };
        let scopes = self.strided("scopes", offset, table, DRAFT_SCOPE_BYTES)?;
        let mut metric = Metric { offset, name, instances: Vec::new(), statistics: Vec::new() };
        for offset in scopes.offsets() {
            self.draft_scope(offset, summary, &mut metric)?;
        }
        Ok(metric)
    }

    fn draft_scope(&mut self, offset: u64, summary: u64, metric: &mut Metric) -> ReadResult<()> {
        let mut cursor = self.cursor("scope", offset)?;
        let scope = self.shared("scope", cursor.u64("scope")?)?;
        let count = cursor.u16("number of summaries")?.into();
        let prop_metric_id = cursor.u16("propMetricId")?;
        cursor.skip("gap", 4)?;
        let pointer = cursor.u64("summaries")?;
        let table = Strided { pointer, count, stride: summary };
        let table = self.strided("summaries", offset, table, DRAFT_SUMMARY_BYTES)?;
        for offset in table.offsets() {
            let mut cursor = self.cursor("summary", offset)?;
            let formula = self.shared("formula", cursor.u64("formula")?)?;
            let combine = cursor.u8("combine")?;
            cursor.skip("gap", 1)?;
            let stat_metric_id = cursor.u16("statMetricId")?;
            let scope = Arc::clone(&scope);
            metric.statistics.push(Statistic { offset, scope, formula, combine, stat_metric_id });
        }
        metric.instances.push(ScopeInstance { offset, scope, prop_metric_id });
        Ok(())
    }
}

/// The propagation scopes that metrics of the drafts have between them.
pub(super) fn scopes_of(metrics: &[Metric]) -> Vec<PropagationScope> {
    let (mut scopes, mut known) = (Vec::new(), HashSet::new());
    for instance in metrics.iter().flat_map(|metric| &metric.instances) {
        if known.insert(&instance.scope) {
            let (scope_type, propagation_index) = match &*instance.scope {
                "point" => (1, u8::MAX),
                "function" => (3, 0),
                "execution" => (2, u8::MAX),
                _ => (0, u8::MAX),
            };
            let name = instance.scope.to_string();
            let offset = instance.offset;
            scopes.push(PropagationScope { offset, name, scope_type, propagation_index });
        }
    }
    scopes
}
