//! Rules across records.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use kymo_core::ahead::in_parts;
use kymo_core::{Context, Finding, Findings, Result, Severity, Source};

use crate::measurement::{Measurement, Mode, PROFILE, Part, TRACE, named};
use crate::model::structure_of;
use crate::read::{Profile, Sparse, Trace, Values};
use crate::spec::{FOOTER_BYTES, INDEX_END, SPECIAL_MODULES};
use crate::tree::Tree;
use crate::types::{Epoch, Footer};

/// Nodes of traces that are told one by one.
const STRANGE_MAX: usize = 1 << 16;

/// Records of a trace that are worth a thread.
const RECORDS_MIN: usize = 1 << 20;

/// What is wrong with a file, or with any of a directory.
pub(crate) fn check(source: &Source, context: &Context<'_>) -> Result<Vec<Finding>> {
    Ok(of(&*Measurement::open(source, context, Mode::Salvage)?, context))
}

/// What is wrong with what was opened, and read as far as it goes.
pub(crate) fn of(measurement: &Measurement, context: &Context<'_>) -> Vec<Finding> {
    let mut found = Findings::new(&context.limits);
    let losses = measurement.losses();
    let findings = measurement.findings.iter().cloned();
    found.extend(findings.filter(|finding| !losses.iter().any(|loss| says(loss, finding))));
    found.extend(losses);
    context.progress.begin("checking", measurement.recordings.len() as u64);
    for (done, part) in measurement.recordings.iter().enumerate() {
        context.progress.at(done as u64);
        let in_file = |extension| {
            measurement.is_directory.then(|| PathBuf::from(format!("{}.{extension}", part.name)))
        };
        let mut rules = Rules { found: &mut found, file: in_file(PROFILE) };
        let tree = part.epoch().map(Tree::new);
        if let (Some(epoch), Some(tree)) = (part.epoch(), &tree) {
            rules.epoch(epoch, tree);
        }
        if let Some(profile) = part.first_of_profile() {
            rules.profile(profile, &measurement.source);
        }
        if let Some(trace) = &part.trace {
            rules.file = in_file(TRACE);
            rules.trace(trace, part, tree.as_ref());
        }
    }
    context.progress.end();
    found.extend(structure_of(measurement).1);
    found.into_vec()
}

/// Whether a loss says all that a finding does.
fn says(loss: &Finding, finding: &Finding) -> bool {
    (loss.rule, loss.offset, &loss.file) == (finding.rule, finding.offset, &finding.file)
        && loss.message.starts_with(&finding.message)
}

/// Nodes that are not there: the first record that names each, and how many do.
type Strange = BTreeMap<u32, (usize, u64)>;

fn strange_nodes(trace: &Trace, tree: &Tree, part: Range<usize>) -> Strange {
    let mut known = None;
    let mut strange = Strange::new();
    for (record, index) in trace.iter(part.clone()).zip(part) {
        if known == Some(record.node) {
            continue;
        }
        if tree.find(record.node).is_some() {
            known = Some(record.node);
        } else if let Some((_, count)) = strange.get_mut(&record.node) {
            *count += 1;
        } else if strange.len() < STRANGE_MAX {
            strange.insert(record.node, (index, 1));
        }
    }
    strange
}

/// The rules applied to one file.
struct Rules<'f> {
    found: &'f mut Findings,
    file: Option<PathBuf>,
}

impl Rules<'_> {
    fn add(&mut self, severity: Severity, rule: &'static str, offset: u64, why: String) {
        let finding = Finding::at(severity, rule, offset, why);
        match &self.file {
            Some(file) => self.found.extend(named(vec![finding], file)),
            None => self.found.push(finding),
        }
    }

    fn warn(&mut self, rule: &'static str, offset: u64, why: impl Into<String>) {
        self.add(Severity::Warning, rule, offset, why.into());
    }

    /// What holds for a file as a whole.
    fn profile(&mut self, profile: &Profile, source: &Source) {
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
        self.gaps(footer, source);
    }

    /// Sections follow each other, and what is between them is zero.
    fn gaps(&mut self, footer: &Footer, source: &Source) {
        let Ok(bytes) = self.bytes(source) else { return };
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

    fn bytes(&self, source: &Source) -> Result<bytes::Bytes> {
        let limits = kymo_core::bytes::Limits::default();
        match &self.file {
            None => source.bytes(),
            Some(file) => match source.child(file, &limits)? {
                Some(child) => child.bytes(),
                None => Ok(bytes::Bytes::new()),
            },
        }
    }

    /// What holds for the tables, the tree and the values of an epoch.
    fn epoch(&mut self, epoch: &Epoch, tree: &Tree) {
        self.metrics(epoch);
        self.modules(epoch);
        self.nodes(epoch, tree);
        self.values(epoch, tree);
        if let Values::Sparse(sparse) = &epoch.values {
            self.index(sparse);
        }
    }

    fn metrics(&mut self, epoch: &Epoch) {
        for metric in &epoch.metrics {
            let Some(fields) = metric.flags.fields() else { continue };
            let format = fields.value_format;
            if !matches!(format, 1 | 2) {
                let why = format!("value format {format} is neither count nor real");
                self.warn("metric-format", metric.offset, why);
            }
            // Recorders write raw metrics; analysers make the others of them.
            let (kind, is_computed) = (fields.kind, !metric.formula.0.is_empty());
            let is_known = matches!(kind, 1 | 2) || (kind == 3 && is_computed);
            if !is_known {
                let why = format!("type {kind} is neither raw nor final");
                self.warn("metric-type", metric.offset, why);
            }
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

    fn nodes(&mut self, epoch: &Epoch, tree: &Tree) {
        let mut modules: Vec<_> = epoch.load_modules.iter().map(|module| module.id).collect();
        modules.sort_unstable();
        let is_known = |id: u16| {
            id == 0
                || modules.binary_search(&id.into()).is_ok()
                || SPECIAL_MODULES.iter().any(|(special, _)| *special == id)
        };
        for (index, node) in epoch.nodes.iter().enumerate() {
            let offset = epoch.nodes.offset_of(index);
            if !is_known(node.lm_id) {
                let why = format!(
                    "node {} is in load module {}, of which nothing is known",
                    node.id, node.lm_id
                );
                self.warn("node-module", offset, why);
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

    fn values(&mut self, epoch: &Epoch, tree: &Tree) {
        let metrics = epoch.metrics.len();
        // Values of a node stand together: most look-ups are of the one before.
        let mut last = None;
        epoch.values.each(&epoch.nodes, 0..usize::MAX, |value| {
            if usize::from(value.metric) >= metrics {
                let why = format!("there is no metric {}", value.metric);
                self.warn("value-metric", value.offset, why);
            }
            let is_real =
                epoch.metrics.get(usize::from(value.metric)).is_some_and(|m| m.flags.is_real());
            if is_real && !f64::from_bits(value.bits).is_finite() {
                let why = format!("{} is no number that was measured", f64::from_bits(value.bits));
                self.warn("value-number", value.offset, why);
            }
            if last != Some(value.node) {
                last = Some(value.node);
                if tree.find(value.node).is_none() {
                    let why = format!("there is no node {}", value.node);
                    self.warn("value-node", value.offset, why);
                }
            }
        });
    }

    fn index(&mut self, sparse: &Sparse) {
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

    /// Times ascend, nodes are those of the profile, and the profile knows the first and last.
    fn trace(&mut self, trace: &Arc<Trace>, part: &Part, tree: Option<&Tree>) {
        let is_in_order = !part.is_disordered() && self.trace_order(trace);
        if let Some(tree) = tree {
            self.trace_nodes(trace, tree);
        }
        for why in part.trace_bounds(is_in_order) {
            self.warn("trace-bounds", trace.offset_of(0), why);
        }
    }

    /// Says which times go back, and whether none does.
    fn trace_order(&mut self, trace: &Trace) -> bool {
        let room = if self.found.has_room() { STRANGE_MAX } else { 0 };
        let descents = in_parts(trace.len(), RECORDS_MIN, |part| {
            let (mut places, mut more) = (Vec::new(), 0_u64);
            trace.each_descent(part, &mut |place| {
                if places.len() < room { places.push(place) } else { more += 1 }
            });
            (places, more)
        });
        let time = |index| trace.get(index).map_or(0, |record| record.time);
        for index in descents.iter().flat_map(|(places, _)| places) {
            let (now, before) = (time(*index), time(index.saturating_sub(1)));
            let why = format!("time {now} comes after {before}");
            self.warn("trace-order", trace.offset_of(*index), why);
        }
        let more: u64 = descents.iter().map(|(_, more)| more).sum();
        if more > 0 {
            let why = format!("{more} further times come after later ones");
            self.warn("trace-order", trace.offset_of(0), why);
        }
        more == 0 && descents.iter().all(|(places, _)| places.is_empty())
    }

    /// One finding for each node that is not there, however many records name it.
    fn trace_nodes(&mut self, trace: &Trace, tree: &Tree) {
        let parts = in_parts(trace.len(), RECORDS_MIN, |part| strange_nodes(trace, tree, part));
        let mut strange = Strange::new();
        for (node, (index, count)) in parts.into_iter().flatten() {
            if strange.len() < STRANGE_MAX || strange.contains_key(&node) {
                strange.entry(node).or_insert((index, 0)).1 += count;
            }
        }
        for (node, (index, count)) in strange {
            let records = if count == 1 { "1 record".into() } else { format!("{count} records") };
            let why = format!("the profile has no node {node}, which {records} name");
            self.warn("trace-node", trace.offset_of(index), why);
        }
    }
}
