//! Profiles and traces as core's measurement: what a profile is made of, one thread at a time.
//!
//! What is lost: sampling periods (values are multiplied with them) and LUSH fields.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use kymo_core::{Error, Finding, Progress, Result, Severity};
use kymo_model::measurement::{
    Counts, Frame, IsWanted, MeasuredId, MeasuredMetric, MeasuredNode, MeasuredSample,
    MeasuredThread, MeasuredValue, MeasurementView, NodeNumbers, Samples, SamplesInParts,
};
use kymo_model::profile::{ComputedMetric, Expression, MetricId, Parts};
use kymo_model::structure::Structure;
use kymo_model::timeline::TimeNs;

use crate::formulas::{counted_from, formulas};
use crate::frames::{Frames, NodeMeaning, code};
use crate::measurement::{Measurement, PROFILE, Part, TRACE};
use crate::model::{RuleCounts, belongs_to_call, metric_of, read_structure, same_metrics};
use crate::ordering::SortedSamples;
use crate::read::{SomeRecords, Trace};
use crate::spec::{INTERNAL, TRACE_CALLS};
use crate::threads::ids;
use crate::tree::{Ids, Tree};
use crate::types::{self, Dialect, Epoch, Node, TraceRecord};

/// The rule that nodes break which are in no module of the load map.
const UNLISTED: &str = "node-module";

/// Number of bytes of a node in the files of today, with the place of its values.
const NODE_BYTES: usize = 31;
/// Number of bytes of a value.
const VALUE_BYTES: usize = 10;
/// Number of bytes of a record of a trace.
const RECORD_BYTES: usize = 12;
/// Number of records that are given together where several threads ask for them.
const RECORDS_OF_PART: usize = 1 << 14;

/// The threads of a measurement.
pub(crate) struct MeasuredThreads {
    measurement: Arc<Measurement>,
    /// Of each thread the first of its recordings; the others follow.
    threads: Vec<usize>,
    /// Findings about what lies beside a single profile.
    beside: Vec<Finding>,
}

impl MeasuredThreads {
    /// Nothing where there is no profile.
    pub(crate) fn new(measurement: &Arc<Measurement>) -> Option<Self> {
        let parts = measurement.recordings.iter().enumerate();
        let threads = parts.filter(|(_, part)| part.first_of_profile().is_some());
        let threads: Vec<_> = threads.map(|(index, _)| index).collect();
        let (measurement, beside) = measurement.with_companions();
        (!threads.is_empty()).then_some(Self { measurement, threads, beside })
    }

    /// The recordings of a thread: one for each epoch.
    fn parts(&self, thread: usize) -> &[Part] {
        let recordings = &self.measurement.recordings;
        let start = self.threads.get(thread).copied().unwrap_or(recordings.len());
        let end = self.threads.get(thread + 1).copied().unwrap_or(recordings.len());
        let parts = recordings.get(start..end).unwrap_or_default();
        // What has no profile may stand between two threads.
        let length = parts.iter().take_while(|part| part.profile.is_some()).count();
        parts.get(..length).unwrap_or_default()
    }

    fn first(&self, thread: usize) -> Option<&Part> {
        self.parts(thread).first()
    }
}

impl MeasurementView for MeasuredThreads {
    fn directory(&self) -> Option<PathBuf> {
        let path = self.measurement.source.path();
        if self.measurement.is_directory {
            return Some(path.to_owned());
        }
        path.parent().map(PathBuf::from)
    }

    fn thread_count(&self) -> usize {
        self.threads.len()
    }

    fn name(&self, thread: usize) -> String {
        self.first(thread).map(|part| part.name.clone()).unwrap_or_default()
    }

    fn file(&self, thread: usize) -> String {
        format!("{}.{PROFILE}", self.name(thread))
    }

    fn program(&self, thread: usize) -> Option<String> {
        let profile = self.first(thread)?.profile.as_ref()?;
        profile.header.value("program-name").map(std::borrow::Cow::into_owned)
    }

    fn ids(&self, thread: usize) -> Vec<MeasuredId> {
        let profile = self.first(thread).and_then(|part| part.profile.as_ref());
        profile.map(|profile| ids(profile)).unwrap_or_default()
    }

    fn size_bytes(&self, thread: usize) -> u64 {
        let (parts, mut size) = (self.parts(thread), 0);
        for epoch in parts.iter().filter_map(Part::epoch) {
            size += epoch.nodes.len() * NODE_BYTES + epoch.values.len(&epoch.nodes) * VALUE_BYTES;
        }
        let traces = parts.iter().filter_map(|part| part.trace.as_ref());
        size += traces.map(|trace| trace.len() * RECORD_BYTES).sum::<usize>();
        size as u64
    }

    fn modules(&self) -> Vec<String> {
        // Many threads have the same ones.
        let paths: BTreeSet<_> =
            self.measurement.load_modules().map(|module| &module.path).collect();
        paths.into_iter().map(ToString::to_string).collect()
    }

    fn thread(&self, thread: usize) -> Result<MeasuredThread> {
        let mut read = MeasuredThread { findings: self.beside.clone(), ..<_>::default() };
        let Some(part) = self.first(thread) else { return Ok(read) };
        let mut holding = self.measurement.holding();
        let Some(profile) = holding.profile(part)? else { return Ok(read) };
        let (mut ids, has_several) = (Vec::new(), profile.epochs.len() > 1);
        for epoch in &profile.epochs {
            let (numbers, order) = add(&mut read, epoch, profile.header.dialect, &part.name)?;
            if has_several {
                ids.extend(order.ids(epoch));
            } else {
                read.numbers = order.renumbered(numbers, epoch);
            }
        }
        let mut shared = Vec::new();
        if has_several {
            // A trace runs through all epochs; in those nodes and ids are as many.
            read.numbers = NodeNumbers::new(ids.iter().copied());
            shared = Ids::new(&profile).into_shared();
        }
        drop(profile);
        read.findings.extend(trace_findings(&holding.traced(part)?, &read.numbers, &shared));
        Ok(read)
    }

    fn samples(&self, thread: usize) -> Result<Samples<'_>> {
        let part = self.first(thread).map(|part| self.measurement.holding().traced(part));
        let part = part.transpose()?;
        let found = part.and_then(|part| Some((part.trace.clone()?, part)));
        Ok(found.map_or_else(
            || Box::new(std::iter::empty()) as _,
            |(trace, part)| samples(&part, trace),
        ))
    }

    fn samples_in_parts(&self, thread: usize) -> Option<SamplesInParts<'_>> {
        // Where it cannot be read any more, asking for samples one by one tells why.
        let part = self.measurement.holding().traced(self.first(thread)?).ok()?;
        let trace = part.trace.filter(|trace| trace.times().back.is_none())?;
        Some(Box::new(RecordsInParts(trace)))
    }

    fn placeholder(&self, frame: Frame) -> String {
        let node = Node { ip: code(frame), ..Node::default() };
        crate::model::display_name(&node)
    }

    fn structure(
        &self,
        is_wanted: &IsWanted<'_>,
        progress: &dyn Progress,
    ) -> (Structure, Vec<Finding>) {
        read_structure(&self.measurement, is_wanted, progress)
    }
}

/// Returns the findings about the trace of a thread, whose nodes have these numbers.
fn trace_findings(part: &Part, numbers: &NodeNumbers, shared: &[u32]) -> Vec<Finding> {
    let Some(trace) = &part.trace else { return Vec::new() };
    let mut remarks = RuleCounts::default();
    let mut some = |rule, found: SomeRecords| {
        if let Some((count, first)) = found {
            remarks.add_many(rule, count, trace.offset_of(first));
        }
    };
    some("trace-order", part.unordered());
    some("trace-time", trace.times().meaningless);
    let mut known = None;
    for (record, index) in trace.iter(0..trace.len()).zip(0..) {
        if known != Some(record.node) {
            known = numbers.find(record.node).map(|_| record.node);
        }
        if known.is_none() {
            remarks.add("trace-node", trace.offset_of(index));
        } else if shared.binary_search(&record.node).is_ok() {
            remarks.add("trace-epoch", trace.offset_of(index));
        }
    }
    let bounds = part.trace_bounds().into_iter();
    let bound = |(is_beyond, why)| {
        // Where the trace has all that the profile tells of, nothing is lost.
        let severity = if is_beyond { Severity::Warning } else { Severity::Note };
        Finding::at_offset(severity, "trace-bounds", trace.offset_of(0), why)
    };
    let found = remarks.findings().into_iter().chain(bounds.map(bound));
    found
        .map(|finding| Finding { file: Some(format!("{}.{TRACE}", part.name)), ..finding })
        .collect()
}

/// The records of a trace in the order of their times, which is that of the file as a rule.
fn samples(part: &Part, trace: Arc<Trace>) -> Samples<'static> {
    let is_in_order = trace.times().back.is_none();
    let places = 0..trace.len();
    let records = places.filter_map(move |place| sample(&trace, trace.get(place)?));
    if is_in_order {
        return Box::new(records);
    }
    if let Some(ahead) = part.look_ahead() {
        return Box::new(SortedSamples::new(records, ahead));
    }
    let mut sorted: Vec<_> = records.collect();
    sorted.sort_by_key(|sample| sample.time);
    Box::new(sorted.into_iter())
}

/// A record of a trace. What has no time is left out, which is said with the thread.
fn sample(trace: &Trace, record: TraceRecord) -> Option<MeasuredSample> {
    let is_of_call = trace.flags & TRACE_CALLS != 0;
    let time = TimeNs(trace.nanoseconds(record.time)?);
    Some(MeasuredSample { time, node: record.node, is_of_call })
}

/// The records of a trace whose order in the file is that of their times.
struct RecordsInParts(Arc<Trace>);

impl Parts<MeasuredSample> for RecordsInParts {
    fn count(&self) -> usize {
        self.0.len().div_ceil(RECORDS_OF_PART)
    }

    fn read_part(&self, part: usize, take: &mut dyn FnMut(MeasuredSample)) {
        let start = part.saturating_mul(RECORDS_OF_PART);
        let records = self.0.iter(start..start.saturating_add(RECORDS_OF_PART));
        records.filter_map(|record| sample(&self.0, record)).for_each(take);
    }
}

/// Adds an epoch to what is known of a thread. Gives its nodes by their ids, in the order of the
/// file, and their order here.
fn add(
    to: &mut MeasuredThread,
    epoch: &Epoch,
    dialect: Dialect,
    name: &str,
) -> Result<(NodeNumbers, Order)> {
    let too_many = || Error::request(format!("{name} has more nodes than can be numbered"));
    let count = |length: usize| u32::try_from(length).map_err(|_| too_many());
    let (metrics, modules, nodes) =
        (count(to.metrics.len())?, count(to.modules.len())?, count(to.nodes.len())?);
    count(to.nodes.len() + epoch.nodes.len())?;
    to.metrics.extend(epoch.metrics.iter().map(|metric| MeasuredMetric {
        metric: metric_of(metric),
        is_of_call: belongs_to_call(metric),
        counts: counts(&metric.name.to_string()),
        period: metric.period,
        is_real: metric.flags.is_real(),
    }));
    let mut remarks = RuleCounts::default();
    for metric in same_metrics(&epoch.metrics) {
        remarks.add("duplicate-metric", metric.offset);
    }
    let computed = epoch.metrics.iter().zip(metrics..).zip(formulas(&epoch.metrics));
    for ((metric, number), formula) in computed {
        let Some(formula) = formula else { continue };
        match formula.ok().and_then(|formula| counted_from(&formula, metrics)) {
            Some(formula) => to.computed.push(self::computed(metric, formula, number)),
            None => remarks.add("metric-formula", metric.offset),
        }
    }
    let paths = epoch.load_modules.paths();
    to.modules = if to.modules.is_empty() {
        Arc::clone(paths)
    } else {
        to.modules.iter().chain(paths.iter()).cloned().collect()
    };
    let numbers = NodeNumbers::new(epoch.nodes.iter().map(|node| node.id));
    let order = Order::new(epoch, &numbers, &mut remarks);
    let frames = Frames::new(epoch, dialect);
    for index in 0..epoch.nodes.len() {
        let node = epoch.nodes.get(order.file(index)).unwrap_or_default();
        let own = nodes + count(index)?;
        let mut above = order.parent_index(index).map_or(own, |above| nodes + above);
        let frame = match frames.meaning(&node, above == own) {
            NodeMeaning::Frame(Frame::Code { module, offset, is_called }) => {
                Frame::Code { module: modules + module, offset, is_called }
            }
            NodeMeaning::Frame(frame) => frame,
            other => {
                let is_special = matches!(other, NodeMeaning::Special(_));
                let is_range = is_special && node.lm_id != INTERNAL;
                let rule = if is_range { "gpu-range" } else { UNLISTED };
                remarks.add(rule, epoch.nodes.offset_of(order.file(index)));
                Frame::UnknownCode
            }
        };
        if frame == Frame::UnknownEntry && frames.is_old() && is_root(&to.nodes, above) {
            // In old files the root is an entry itself, and this is beside it.
            above = own;
        }
        to.nodes.push(MeasuredNode { above, frame });
    }
    values(to, epoch, &numbers, &order, (nodes, metrics), &mut remarks);
    let file = Some(format!("{name}.{PROFILE}"));
    for finding in remarks.findings() {
        let finding = Finding { file: file.clone(), ..finding };
        match &mut to.unlisted {
            unlisted @ None if finding.rule == UNLISTED => *unlisted = Some(finding),
            _ => to.findings.push(finding),
        }
    }
    Ok((numbers, order))
}

/// Returns true if nothing is above a node.
fn is_root(nodes: &[MeasuredNode], index: u32) -> bool {
    let node = usize::try_from(index).ok().and_then(|at| nodes.get(at));
    node.is_some_and(|node| node.above == index)
}

/// A metric that is computed from others.
fn computed(metric: &types::Metric, formula: Expression, number: u32) -> ComputedMetric {
    ComputedMetric {
        metric: metric_of(metric),
        format: metric.format.to_string(),
        has_share: metric.flags.fields().is_none_or(|fields| fields.show_percent),
        formula,
        before: Some(MetricId(number)),
    }
}

/// Returns what metrics of GPUs count, by the names that hpcrun gives them.
fn counts(name: &str) -> Option<Counts> {
    match name {
        "GKER:COUNT" => Some(Counts::Calls),
        "GKER:SAMPLED_COUNT" => Some(Counts::MeasuredCalls),
        "GINS" => Some(Counts::Instructions),
        _ => None,
    }
}

/// Adds the values of an epoch. Those of nodes that are not there count for an entry of their
/// own, so that nothing is missing from the sum.
fn values(
    to: &mut MeasuredThread,
    epoch: &Epoch,
    numbers: &NodeNumbers,
    order: &Order,
    (nodes, metrics): (u32, u32),
    remarks: &mut RuleCounts,
) {
    let (mut last, mut unknown) = ((0, None), None);
    epoch.values.each(&epoch.nodes, 0..usize::MAX, |value| {
        let Some(metric) = epoch.metrics.get(usize::from(value.metric)) else {
            return remarks.add("value-metric", value.offset);
        };
        let Some(amount) = remarks.amount(metric, &value).filter(|amount| *amount != 0.0) else {
            return;
        };
        // Values of one node stand together.
        if last.1.is_none() || last.0 != value.node {
            last = (value.node, numbers.find(value.node).map(|index| order.index(index)));
        }
        let node = last.1.map(|node| nodes + node).or_else(|| {
            remarks.add("value-node", value.offset);
            unknown = unknown.or_else(|| unknown_entry(&mut to.nodes));
            unknown
        });
        let metric = metrics + u32::from(value.metric);
        let value = node.map(|node| MeasuredValue { node, metric, value: amount });
        to.values.extend(value);
    });
}

/// Adds an entry for what has none; nothing where there are too many nodes to number it.
fn unknown_entry(nodes: &mut Vec<MeasuredNode>) -> Option<u32> {
    let above = u32::try_from(nodes.len()).ok()?;
    nodes.push(MeasuredNode { above, frame: Frame::UnknownEntry });
    Some(above)
}

/// The order in which nodes come after the one above them.
struct Order {
    /// The index above each node in that order; its own where there is none.
    above: Vec<u32>,
    /// Place in the file of each node, and back, where the order is not that of the file.
    moved: Option<(Vec<u32>, Vec<u32>)>,
}

impl Order {
    fn new(epoch: &Epoch, numbers: &NodeNumbers, remarks: &mut RuleCounts) -> Self {
        let mut above = Vec::with_capacity(epoch.nodes.len());
        for (node, index) in epoch.nodes.iter().zip(0..) {
            let parent = (node.parent != 0).then(|| numbers.find(node.parent)).flatten();
            above.push(parent.unwrap_or(index));
        }
        let is_in_order = above.iter().zip(0..).all(|(above, index)| *above <= index);
        let is_loose =
            |(node, (above, own)): (Node, (&u32, u32))| node.parent != 0 && *above == own;
        let is_sound = is_in_order && numbers.count() == epoch.nodes.len();
        if is_sound && !epoch.nodes.iter().zip(above.iter().zip(0..)).any(is_loose) {
            return Self { above, moved: None };
        }
        let tree = Tree::new(epoch);
        let on_cycle = tree.on_cycles();
        remarks.nodes(epoch, &tree, &on_cycle);
        if is_in_order { Self { above, moved: None } } else { Self::sorted(&tree, &on_cycle) }
    }

    /// Old files may have nodes before those above them, and damaged ones go round in circles.
    fn sorted(tree: &Tree, on_cycle: &[bool]) -> Self {
        let is_round = |node: usize| on_cycle.get(node).copied().unwrap_or(false);
        let parent = |node: usize| tree.parent(node).filter(|_| !is_round(node));
        let number = |node: usize| u32::try_from(node).unwrap_or(u32::MAX);
        let count = on_cycle.len();
        let (mut file, mut index) = (Vec::with_capacity(count), vec![u32::MAX; count]);
        let mut pending = Vec::new();
        for start in 0..count {
            let mut at = Some(start);
            while let Some(node) = at.filter(|node| index.get(*node) == Some(&u32::MAX)) {
                pending.push(node);
                at = parent(node);
            }
            while let Some(node) = pending.pop() {
                if let Some(slot) = index.get_mut(node) {
                    *slot = number(file.len());
                }
                file.push(number(node));
            }
        }
        let above = |(place, own): (&u32, u32)| {
            let above = usize::try_from(*place).ok().and_then(parent);
            above.and_then(|above| index.get(above).copied()).unwrap_or(own)
        };
        Self { above: file.iter().zip(0..).map(above).collect(), moved: Some((file, index)) }
    }

    /// The place in the file of a node.
    fn file(&self, index: usize) -> usize {
        let Some((file, _)) = &self.moved else { return index };
        file.get(index).and_then(|place| usize::try_from(*place).ok()).unwrap_or(usize::MAX)
    }

    /// The index of the node at a place in the file.
    fn index(&self, place: u32) -> u32 {
        let Some((_, index)) = &self.moved else { return place };
        let at = usize::try_from(place).ok().and_then(|place| index.get(place));
        at.copied().unwrap_or(place)
    }

    /// The index of the node above.
    fn parent_index(&self, index: usize) -> Option<u32> {
        self.above.get(index).copied()
    }

    /// The ids of nodes in this order.
    fn ids<'a>(&'a self, epoch: &'a Epoch) -> impl Iterator<Item = u32> + Clone + 'a {
        let id = |place| epoch.nodes.get(place).map_or(0, |node: Node| node.id);
        (0..epoch.nodes.len()).map(move |index| id(self.file(index)))
    }

    /// Numbers by the order, and not by that of the file.
    fn renumbered(&self, numbers: NodeNumbers, epoch: &Epoch) -> NodeNumbers {
        if self.moved.is_none() { numbers } else { NodeNumbers::new(self.ids(epoch)) }
    }
}
