//! Rules across records.

use std::collections::{BTreeMap, HashSet};
use std::mem;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use kymo_core::ahead::in_parts;
use kymo_core::{Context, Finding, Findings, Result, Severity, Source, shortened};

use crate::dataset::all_findings;
use crate::formulas::formulas;
use crate::frames::{Frames, NodeMeaning};
use crate::measurement::{Measurement, Mode, PROFILE, Part, TRACE, named};
use crate::model::{
    amount, duplicate_metrics, missing_module_names, structure_of, symbols_of, words,
};
use crate::read::{Profile, SomeRecords, Sparse, TimeAnomaly, Trace, Values};
use crate::spec::{FOOTER_BYTES, INDEX_END, OUTLINED_ROOT, placeholder};
use crate::tree::{Ids, Tree};
use crate::types::{Dialect, Epoch, Footer};

/// Nodes of traces that are told one by one.
const STRANGE_MAX: usize = 1 << 16;

/// Records of a trace that are worth a thread.
const RECORDS_MIN: usize = 1 << 20;

/// Checks a file, or all files of a directory, and returns the findings.
pub(crate) fn check(source: &Source, context: &Context<'_>) -> Result<Vec<Finding>> {
    let measurement = Measurement::open(source, context, Mode::Salvage)?;
    let said = findings(&measurement, context);
    let is_sound = said.iter().all(|finding| finding.severity == Severity::Note);
    let mut noted = all_findings(measurement);
    // Of a directory with a damaged file, opening leaves out what salvaging reads in part.
    if source.is_directory()
        && !is_sound
        && let Ok(opened) = Measurement::open(source, context, Mode::Strict)
    {
        noted.extend(self::all_findings(opened));
    }
    let place = |finding: &Finding| (finding.rule, finding.file.clone(), finding.offset);
    let mut known: HashSet<_> = said.iter().map(place).collect();
    let mut found = Findings::new(&context.limits);
    found.extend(said.iter().cloned());
    // What commands say when they read it all is said here, too.
    found.extend(noted.into_iter().filter(|finding| known.insert(place(finding))));
    Ok(found.into_vec())
}

/// Returns the findings about what was opened, and read as far as it goes.
pub(crate) fn findings(measurement: &Measurement, context: &Context<'_>) -> Vec<Finding> {
    let mut found = Findings::new(&context.limits);
    let losses = measurement.losses();
    let findings = measurement.findings.iter().cloned();
    found.extend(findings.filter(|finding| !losses.iter().any(|loss| covers(loss, finding))));
    found.extend(losses);
    context.progress.begin_items("checking", measurement.recordings.len() as u64);
    let mut holding = measurement.holding();
    for (done, part) in measurement.recordings.iter().enumerate() {
        context.progress.advance_to(done as u64);
        let part = match holding.part(part) {
            Ok(part) => part,
            Err(error) => {
                found.extend(measurement.lost(part, &error));
                continue;
            }
        };
        let in_file = |extension| {
            measurement.is_directory.then(|| PathBuf::from(format!("{}.{extension}", part.name)))
        };
        let mut rules = Rules { found: &mut found, file: in_file(PROFILE) };
        let mut ids = None;
        if let (Some(profile), Some(epoch)) = (&part.profile, part.epoch()) {
            let tree = Tree::new(epoch);
            rules.epoch(epoch, &tree, profile.header.dialect);
            // A trace runs through all epochs.
            ids = Some(match profile.epochs.len() {
                1 => Ids::from(tree.into_numbers()),
                _ if part.trace.is_some() => holding.ids(&part),
                _ => Ids::default(),
            });
        }
        if let Some(profile) = part.first_of_profile() {
            rules.profile(profile, measurement);
        }
        if let Some(trace) = &part.trace {
            rules.file = in_file(TRACE);
            rules.trace(trace, &part, ids.as_ref());
        }
    }
    context.progress.end();
    let (structure, findings) = structure_of(measurement);
    found.extend(findings);
    found.extend(missing_module_names(measurement, &symbols_of(measurement), &structure));
    found.into_vec()
}

/// Returns the findings about a trace of a recording, whatever trace it had.
pub(crate) fn trace_findings(
    trace: &Trace,
    part: &Part,
    ids: Option<&Ids>,
    context: &Context<'_>,
) -> Vec<Finding> {
    let mut found = Findings::new(&context.limits);
    let trace = Arc::new(trace.clone());
    let part = Part { trace: Some(Arc::clone(&trace)), ..part.clone() };
    let file = part.file(TRACE).map(PathBuf::from);
    Rules { found: &mut found, file }.trace(&trace, &part, ids);
    found.into_vec()
}

/// Returns true if a loss says all that a finding does.
fn covers(loss: &Finding, finding: &Finding) -> bool {
    (loss.rule, loss.offset, &loss.file) == (finding.rule, finding.offset, &finding.file)
        && loss.message.starts_with(&finding.message)
}

/// Faults of the nodes that records of a trace name.
#[derive(Default)]
struct UnknownNodes {
    /// Nodes that are not there: the first record that names each, and how many do.
    nodes: BTreeMap<u32, (usize, u64)>,
    /// Records of further ones, and the first of them.
    more: SomeRecords,
    /// Records of nodes that several epochs have.
    shared: SomeRecords,
}

impl UnknownNodes {
    fn from_trace(trace: &Trace, ids: &Ids, part: Range<usize>) -> Self {
        let mut strange = Self::default();
        let (mut known, mut is_shared) = (None, false);
        for (record, index) in trace.iter(part.clone()).zip(part) {
            if known != Some(record.node) {
                let is_there = ids.find(record.node).is_some();
                known = is_there.then_some(record.node);
                is_shared = is_there && ids.is_shared(record.node);
                if !is_there {
                    strange.node(record.node, (index, 1));
                }
            }
            if is_shared && known.is_some() {
                add_records(&mut strange.shared, (1, index));
            }
        }
        strange
    }

    fn node(&mut self, node: u32, (index, count): (usize, u64)) {
        if self.nodes.len() < STRANGE_MAX || self.nodes.contains_key(&node) {
            self.nodes.entry(node).or_insert((index, 0)).1 += count;
        } else {
            add_records(&mut self.more, (count, index));
        }
    }

    /// Adds what is wrong with records that follow.
    fn join(&mut self, later: Self) {
        later.nodes.into_iter().for_each(|(node, found)| self.node(node, found));
        later.more.into_iter().for_each(|found| add_records(&mut self.more, found));
        later.shared.into_iter().for_each(|found| add_records(&mut self.shared, found));
    }
}

/// Adds records to those that were found.
fn add_records(found: &mut SomeRecords, (count, index): (u64, usize)) {
    let (known, first) = found.unwrap_or((0, index));
    *found = Some((known + count, first.min(index)));
}

/// The rules applied to one file.
struct Rules<'f> {
    found: &'f mut Findings,
    file: Option<PathBuf>,
}

impl Rules<'_> {
    fn add(&mut self, severity: Severity, rule: &'static str, offset: u64, why: String) {
        let finding = Finding::at_offset(severity, rule, offset, why);
        match &self.file {
            Some(file) => self.found.extend(named(vec![finding], file)),
            None => self.found.push(finding),
        }
    }

    fn warn(&mut self, rule: &'static str, offset: u64, why: impl Into<String>) {
        self.add(Severity::Warning, rule, offset, why.into());
    }

    /// Checks what holds for a file as a whole.
    fn profile(&mut self, profile: &Profile, measurement: &Measurement) {
        let Some(footer) = &profile.footer else { return };
        let kinds: HashSet<_> = profile.id_kinds.iter().map(|kind| kind.kind).collect();
        for id in &profile.id_tuple {
            if !kinds.contains(&id.kind()) {
                let why = format!("kind {} is not in the dictionary", id.kind());
                self.warn("id-kind", profile.id_tuple_offset, why);
            }
        }
        if profile.id_tuple.is_empty() {
            self.warn("id-tuple", profile.id_tuple_offset, "the thread has no ids");
        }
        self.gaps(footer, measurement);
    }

    /// Sections follow each other, and what is between them is zero.
    fn gaps(&mut self, footer: &Footer, measurement: &Measurement) {
        let Ok(bytes) = self.bytes(measurement) else { return };
        let mut sections = footer.sections.to_vec();
        sections.sort_unstable();
        let footer_start = (bytes.len() as u64).saturating_sub(FOOTER_BYTES);
        sections.push((footer_start, footer_start));
        for pair in sections.windows(2) {
            let [(_, end), (start, _)] = pair else { continue };
            if end > start {
                let why = format!("it begins before the one before it ends, at {end:#x}");
                self.warn("section-overlap", (*start).min(bytes.len() as u64), why);
                continue;
            }
            let range = usize::try_from(*end).ok().zip(usize::try_from(*start).ok());
            let gap = range.and_then(|(end, start)| bytes.get(end..start)).unwrap_or_default();
            if let Some(at) = gap.iter().position(|byte| *byte != 0) {
                let last = gap.iter().rposition(|byte| *byte != 0).unwrap_or(at);
                let why = format!("{} bytes are in no section and are not zero", last - at + 1);
                self.warn("gap", end + at as u64, why);
            }
        }
    }

    fn bytes(&self, measurement: &Measurement) -> Result<bytes::Bytes> {
        match &self.file {
            None => measurement.source.bytes(),
            Some(file) => match measurement.source.child(file, &measurement.limits)? {
                Some(child) => child.bytes(),
                None => Ok(bytes::Bytes::new()),
            },
        }
    }

    /// Checks what holds for the tables, the tree and the values of an epoch.
    fn epoch(&mut self, epoch: &Epoch, tree: &Tree, dialect: Dialect) {
        self.metrics(epoch);
        self.modules(epoch);
        self.nodes(epoch, tree, &Frames::new(epoch, dialect));
        self.values(epoch, tree);
        if let Values::Sparse(sparse) = &epoch.values {
            self.index(sparse, tree, epoch.nodes.len());
            self.roots(epoch);
        }
    }

    fn metrics(&mut self, epoch: &Epoch) {
        for (metric, formula) in epoch.metrics.iter().zip(formulas(&epoch.metrics)) {
            if let Some(Err(why)) = formula {
                let formula = metric.formula.to_string();
                let why = format!("{} {why}", shortened(&formula));
                self.warn("metric-formula", metric.offset, why);
            }
            if metric.period == 0 && !metric.is_computed() {
                self.warn(
                    "metric-period",
                    metric.offset,
                    "its period is 0: its values do not count",
                );
            }
            let Some(fields) = metric.flags.fields() else { continue };
            let format = fields.value_format;
            if !metric.has_known_format() {
                let why = format!("value format {format} is neither count nor real");
                self.warn("metric-format", metric.offset, why);
            }
            // Recorders write raw metrics; analysers make the others of them.
            let kind = fields.kind;
            let is_known = matches!(kind, 1 | 2) || (kind == 3 && metric.is_computed());
            if !is_known {
                let why = format!("type {kind} is neither raw nor final");
                self.warn("metric-type", metric.offset, why);
            }
        }
        for metric in duplicate_metrics(&epoch.metrics) {
            let why = format!("a metric {} is there before it", shortened(&metric.name.text()));
            self.warn("duplicate-metric", metric.offset, why);
        }
    }

    fn modules(&mut self, epoch: &Epoch) {
        let mut ids: Vec<_> = epoch.load_modules.iter().map(|m| (m.id, m.offset)).collect();
        ids.sort_unstable();
        for pair in ids.windows(2) {
            let [(id, _), (again, offset)] = pair else { continue };
            if id == again {
                self.warn("duplicate-module", *offset, format!("id {id} is there twice"));
            }
        }
    }

    fn nodes(&mut self, epoch: &Epoch, tree: &Tree, frames: &Frames<'_>) {
        for (index, node) in epoch.nodes.iter().enumerate() {
            let offset = epoch.nodes.offset_of(index);
            if frames.meaning(&node, tree.parent(index).is_none()) == NodeMeaning::Strange {
                let (id, module, ip) = (node.id, node.lm_id, node.ip);
                let why = if epoch.nodes.layout().has_module {
                    format!("node {id} is in load module {module}, of which nothing is known")
                } else {
                    format!("node {id} is at {ip:#x}, where no load module is")
                };
                self.warn("node-module", offset, why);
            }
            if node.id == 0 {
                self.warn("node-id", offset, "a node has the id 0, which means none");
            }
            if node.parent == node.id && node.id != 0 {
                self.warn("own-parent", offset, format!("node {} is its own parent", node.id));
            } else if node.parent != 0 && tree.find(node.parent).is_none() {
                let why =
                    format!("node {} has the parent {}, which is not there", node.id, node.parent);
                self.warn("no-parent", offset, why);
            }
        }
        for index in tree.duplicates() {
            let id = epoch.nodes.get(index).map_or(0, |node| node.id);
            let why = format!("there is a node {id} before it");
            self.warn("duplicate-node", epoch.nodes.offset_of(index), why);
        }
        if let Some(index) = tree.cycle() {
            let id = epoch.nodes.get(index).map_or(0, |node| node.id);
            let why = format!("node {id} is among its own ancestors");
            self.warn("cycle", epoch.nodes.offset_of(index), why);
        }
    }

    /// Of the roots that today's files have, one is that of the program.
    fn roots(&mut self, epoch: &Epoch) {
        let nodes = epoch.nodes.iter().zip(0..);
        let mut primary = None;
        for (node, index) in nodes.filter(|(node, _)| node.parent == 0) {
            let (id, offset) = (node.id, epoch.nodes.offset_of(index));
            if (node.lm_id, node.ip) != (0, placeholder::PRIMARY) {
                if node.lm_id != OUTLINED_ROOT {
                    let why = format!("node {id} has no parent, and is not ^Primary");
                    self.warn("root", offset, why);
                }
            } else if let Some(first) = primary {
                let why = format!("node {id} is a second ^Primary without a parent, after {first}");
                self.warn("root", offset, why);
            } else {
                primary = Some(id);
            }
        }
    }

    fn values(&mut self, epoch: &Epoch, tree: &Tree) {
        let metrics = epoch.metrics.len();
        // Values of a node stand together: most look-ups are of the one before.
        // Of each metric the run of values, counted from 1, that it was last in.
        let (mut last, mut run, mut seen) = (None, 0_u64, vec![0; metrics]);
        epoch.values.each(&epoch.nodes, 0..usize::MAX, |value| {
            if usize::from(value.metric) >= metrics {
                let why = format!("there is no metric {}", value.metric);
                self.warn("value-metric", value.offset, why);
            }
            let metric = epoch.metrics.get(usize::from(value.metric));
            if let Some(Err(rule)) = metric.map(|metric| amount(metric, value.bits)) {
                let why = format!("metric {}: {}", value.metric, words(rule, 1));
                self.warn(rule, value.offset, why);
            }
            let is_real = metric.is_some_and(|metric| metric.flags.is_real());
            if is_real && f64::from_bits(value.bits) < 0.0 {
                let why = format!("{} is below 0", f64::from_bits(value.bits));
                self.warn("value-negative", value.offset, why);
            }
            if last != Some(value.node) {
                last = Some(value.node);
                run += 1;
                if tree.find(value.node).is_none() {
                    let why = format!("there is no node {}", value.node);
                    self.warn("value-node", value.offset, why);
                }
            }
            let before =
                seen.get_mut(usize::from(value.metric)).map(|seen| mem::replace(seen, run));
            if before == Some(run) {
                let (node, metric) = (value.node, value.metric);
                let why = format!("node {node} has a value of metric {metric} before it");
                self.warn("duplicate-value", value.offset, format!("{why}: both count"));
            }
        });
    }

    fn index(&mut self, sparse: &Sparse, tree: &Tree, nodes: usize) {
        let mut is_known = vec![false; nodes];
        for index in 0..sparse.nodes() {
            let Some((node, _)) = sparse.entry(index) else { break };
            let Some(is_known) = tree.find(node).and_then(|at| is_known.get_mut(at)) else {
                continue;
            };
            if mem::replace(is_known, true) {
                let why = format!("node {node} is in the index before it: all its values count");
                self.warn("duplicate-index", sparse.entry_offset(index), why);
            }
        }
        // Where the order breaks off before the end, that is what is wrong.
        let is_whole =
            sparse.ordered() == sparse.nodes() + 1 && sparse.entry(sparse.ordered()).is_none();
        if let Some((node, _)) = sparse.entry(sparse.nodes()).filter(|_| is_whole)
            && node != INDEX_END
        {
            let why = format!("its last entry is of {node:#x}, and not marked as the end");
            self.warn("index-end", sparse.entry_offset(sparse.nodes()), why);
        }
    }

    /// Times are such and ascend, nodes are those of the profile, which knows the first and last.
    fn trace(&mut self, trace: &Arc<Trace>, part: &Part, ids: Option<&Ids>) {
        if let Some((count, first)) = trace.times().meaningless {
            self.warn("trace-time", trace.offset_of(first), words("trace-time", count));
        }
        if let Some((count, first)) = part.unordered() {
            if part.is_to_be_ordered() {
                self.trace_order(trace);
            } else {
                let why = words("trace-disorder", count);
                self.warn("trace-order", trace.offset_of(first), why);
            }
        }
        if let Some(ids) = ids {
            self.trace_nodes(trace, ids);
        }
        for (_, why) in part.trace_bounds() {
            self.warn("trace-bounds", trace.offset_of(0), why);
        }
    }

    /// Says which times go back.
    fn trace_order(&mut self, trace: &Trace) {
        let room = if self.found.has_room() { STRANGE_MAX } else { 0 };
        let (mut places, mut more) = (Vec::new(), 0_u64);
        trace.for_each_anomaly(0..trace.len(), &mut |place, odd| match odd {
            TimeAnomaly::Meaningless => {}
            TimeAnomaly::Back if places.len() < room => places.push(place),
            TimeAnomaly::Back => more += 1,
        });
        let time = |index| trace.get(index).map_or(0, |record| record.time);
        for index in places {
            let (now, before) = (time(index), time(index.saturating_sub(1)));
            let why = format!("time {now} comes after {before}");
            self.warn("trace-order", trace.offset_of(index), why);
        }
        if more > 0 {
            let why = format!("{more} further times come after later ones");
            self.warn("trace-order", trace.offset_of(0), why);
        }
    }

    /// One finding for each node that is not there, however many records name it.
    fn trace_nodes(&mut self, trace: &Trace, ids: &Ids) {
        let parts =
            in_parts(trace.len(), RECORDS_MIN, |part| UnknownNodes::from_trace(trace, ids, part));
        let mut strange = UnknownNodes::default();
        for part in parts {
            strange.join(part);
        }
        for (node, (index, count)) in strange.nodes {
            let by = if count == 1 { "1 record names" } else { &*format!("{count} records name") };
            let why = format!("the profile has no node {node}, which {by}");
            self.warn("trace-node", trace.offset_of(index), why);
        }
        if let Some((count, index)) = strange.more {
            let why = format!("{count} further records name nodes that the profile does not have");
            self.warn("trace-node", trace.offset_of(index), why);
        }
        if let Some((count, index)) = strange.shared {
            self.warn("trace-epoch", trace.offset_of(index), words("trace-epoch", count));
        }
    }
}
