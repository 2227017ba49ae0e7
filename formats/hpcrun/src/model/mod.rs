//! Trees of threads to core's profile: one tree for all, with names where structure files are, and
//! where symbols of the kernel or images of what it maps lie beside.
//!
//! What is lost: ids of nodes (trace samples are told by the number of the merged context), the
//! sampling periods (values are multiplied with them), metrics that are computed by a formula,
//! and LUSH fields.

mod code;
mod placing;
mod remarks;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};
use std::sync::Arc;

use kymo_core::bytes::Limits;
use kymo_core::model::measurement::{IsWanted, Numbers};
use kymo_core::model::profile::{
    CallTree, CallTreeBuilder, ContextId, Function, FunctionId, Metric, MetricId, Node, Reach,
    Relation, Scope, Thread, ThreadId,
};
use kymo_core::model::structure::Structure;
use kymo_core::{Error, Finding, Result, Severity, ahead};
use kymo_symbols::{Programs, Search};

use crate::hpcstruct::StructureFile;
use crate::measurement::{Measurement, NOWHERE, PROFILE, Part, named};
use crate::spec::placeholder;
use crate::tree::Tree;
use crate::types::{self, Dialect, Epoch};

use code::Code;
use placing::{Place, Placing};
pub(crate) use remarks::{Remarks, words};

/// What is said where nobody recorded who called some code.
const STRAYS: &str = "samples of GPU code hang where they were taken: `kymo prof` finds out what \
    called it, so that inclusive values of its database are others";

/// The merged tree, and which context each node of each recording became.
pub(crate) struct Model {
    pub(crate) tree: Arc<CallTree>,
    /// Of each recording.
    contexts: Vec<Contexts>,
    pub(crate) findings: Vec<Finding>,
}

/// The contexts of the nodes of a recording.
#[derive(Default)]
struct Contexts {
    /// Places of nodes by their ids.
    places: Numbers,
    /// The context of the node at each place; the root of everything has none.
    of: Vec<Option<ContextId>>,
}

impl Model {
    /// Merges the trees of all recordings.
    ///
    /// # Errors
    /// When there are more contexts than the limits allow.
    pub(crate) fn new(measurement: &Measurement) -> Result<Self> {
        let (structure, mut findings) = structure_of(measurement);
        let builder = CallTreeBuilder::new(&limits(measurement));
        let symbols = symbols_of(measurement);
        let code = Code::new(structure, &symbols, measurement.source.path());
        let mut merging = Merging { builder, code, has_strays: false };
        let mut contexts = Vec::with_capacity(measurement.recordings.len());
        let mut threads = BTreeMap::new();
        for part in &measurement.recordings {
            let mut remarks = Remarks::default();
            contexts.push(merging.recording(part, &mut threads, &mut remarks)?);
            findings.extend(measurement.in_file(&part.name, PROFILE, remarks.findings()));
        }
        if merging.has_strays {
            merging.builder.remark(STRAYS);
        }
        Ok(Self { tree: Arc::new(merging.builder.finish()), contexts, findings })
    }

    /// The context that a node of a recording became.
    pub(crate) fn context(&self, recording: usize, node: u32) -> Option<ContextId> {
        let contexts = self.contexts.get(recording)?;
        let place = usize::try_from(contexts.places.find(node)?).ok()?;
        contexts.of.get(place).copied().flatten()
    }
}

/// Reads the structure of those modules that were loaded.
pub(crate) fn structure_of(measurement: &Measurement) -> (Structure, Vec<Finding>) {
    let modules = measurement.recordings.iter().filter_map(Part::epoch);
    let modules = modules.flat_map(|epoch| &epoch.load_modules);
    let wanted: BTreeSet<_> = modules.map(|module| module.path.to_string()).collect();
    read_structure(measurement, &|path| wanted.contains(path))
}

/// Reads the structure of those modules that are wanted.
pub(crate) fn read_structure(
    measurement: &Measurement,
    is_wanted: &IsWanted<'_>,
) -> (Structure, Vec<Finding>) {
    let (mut structure, mut findings) = (Structure::default(), Vec::new());
    let read = |number: usize| {
        let path = measurement.structs.get(number)?;
        let child = measurement.source.child(path, &measurement.limits);
        let child = child.and_then(|child| child.ok_or_else(|| Error::request(NOWHERE)));
        let bytes = child.and_then(|child| child.bytes());
        Some((path, bytes.map(|it| StructureFile::read(&it, &measurement.limits, is_wanted))))
    };
    let numbers = (0..measurement.structs.len()).collect();
    for (path, file) in ahead::each(numbers, read).into_iter().flatten() {
        let file = match file {
            Ok(file) => file,
            Err(error) => {
                let finding = Finding::whole(Severity::Warning, "structure", error.to_string());
                findings.extend(named(vec![finding], path));
                continue;
            }
        };
        file.modules.into_iter().for_each(|module| structure.add(module));
        if let Some(error) = file.stop {
            let finding = Finding::unreadable("structure", &error);
            findings.extend(named(vec![Finding { severity: Severity::Warning, ..finding }], path));
        }
    }
    (structure, findings)
}

/// Symbols of kernels, and of what they map into processes: what of them is in the directory.
fn symbols_of(measurement: &Measurement) -> Programs {
    let epochs = measurement.recordings.iter().filter_map(Part::epoch);
    let epochs = epochs.filter(|_| measurement.is_directory);
    let paths = epochs.flat_map(|epoch| &epoch.load_modules).map(|module| module.path.to_string());
    let paths: BTreeSet<_> = paths.filter(|path| is_beside(path)).collect();
    let directory = measurement.source.path();
    let modules = paths.iter().map(|path| (path.as_str(), directory));
    Programs::new(modules, &Search::default(), &measurement.limits)
}

/// Whether a module is one that recorders put into the directory for its symbols.
fn is_beside(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    let folder = parts.next().and_then(|part| part.as_os_str().to_str());
    matches!(folder, Some("kernel_symbols" | "vdso"))
        && parts.all(|part| matches!(part, Component::Normal(_)))
}

struct Merging<'a> {
    builder: CallTreeBuilder,
    code: Code<'a>,
    /// Whether there are nodes that the one above is not known to have called.
    has_strays: bool,
}

/// A thread that several epochs are of.
type Threads = BTreeMap<String, ThreadId>;

impl Merging<'_> {
    fn recording(
        &mut self,
        part: &Part,
        threads: &mut Threads,
        remarks: &mut Remarks,
    ) -> Result<Contexts> {
        let (Some(profile), Some(epoch)) = (&part.profile, part.epoch()) else {
            return Ok(Contexts::default());
        };
        let thread = match threads.get(&part.name) {
            Some(thread) => *thread,
            None => self.builder.thread(Thread::clone(&part.thread))?,
        };
        threads.insert(part.name.clone(), thread);
        if profile.has_lost_values() {
            self.builder.lose_values(thread);
        }
        let metrics = epoch.metrics.iter().map(|metric| self.builder.metric(metric_of(metric)));
        let metrics = metrics.collect::<Result<Vec<_>>>()?;
        let tree = Tree::new(epoch);
        let dialect = profile.header.dialect;
        let places = Placing::new(self, epoch, dialect, &tree).all(remarks)?;
        let values = Values { epoch, dialect, tree: &tree, thread, metrics, places: &places };
        self.values(&values, remarks)?;
        let of = places.into_iter().map(Place::full).collect();
        Ok(Contexts { places: tree.into_numbers(), of })
    }

    /// Adds the values of a recording. Those of the root, and those of nodes that are not there,
    /// count for an entry of their own, so that nothing is missing from the sum.
    fn values(&mut self, of: &Values<'_>, remarks: &mut Remarks) -> Result<()> {
        let mut entry = None;
        let mut done = Ok(());
        of.epoch.values.each(&of.epoch.nodes, 0..usize::MAX, |value| {
            let index = usize::from(value.metric);
            let metric = of.epoch.metrics.get(index).zip(of.metrics.get(index));
            let Some((metric, id)) = metric else {
                return remarks.add("value-metric", value.offset);
            };
            let amount = amount(metric, value.bits);
            if !amount.is_finite() {
                return remarks.add("value-number", value.offset);
            }
            if amount == 0.0 || done.is_err() {
                return;
            }
            let node = of.tree.find(value.node);
            let context = match node.and_then(|node| of.places.get(node)) {
                Some(Place::At { rel, .. }) if is_of_call(metric) => *rel,
                Some(Place::At { full, .. }) => *full,
                Some(Place::Global) | None => {
                    if node.is_none() {
                        remarks.add("value-node", value.offset);
                    }
                    let made = entry.map_or_else(|| self.entry(of.dialect), Ok);
                    let Ok(context) = made else {
                        done = made.map(drop);
                        return;
                    };
                    *entry.insert(context)
                }
            };
            self.builder.add(of.thread, context, *id, amount);
        });
        done
    }

    /// What is directly below the root: old files have no entries, and complete unwinds there.
    fn entry(&mut self, dialect: Dialect) -> Result<ContextId> {
        let is_old = dialect != Dialect::Shipped0400;
        let name = if is_old { "program root" } else { "unknown entry" };
        let function = Some(self.named(name, 0));
        self.builder.child(None, Node { function, ..Node::new(Scope::Entry, Relation::Call) })
    }

    fn named(&mut self, name: &str, offset: u64) -> FunctionId {
        self.builder.function(Function { name: name.to_owned(), offset, ..Function::default() })
    }
}

/// The values of a recording, and what is known of it.
struct Values<'a> {
    epoch: &'a Epoch,
    dialect: Dialect,
    tree: &'a Tree,
    thread: ThreadId,
    metrics: Vec<MetricId>,
    places: &'a [Place],
}

/// Whether values belong to what was called, and not to the instruction.
pub(crate) fn is_of_call(metric: &types::Metric) -> bool {
    metric.flags.fields().is_some_and(|fields| fields.move2proc)
}

/// As many contexts as nodes can have with reason, whatever structure files say: they may nest
/// scopes hundreds deep.
fn limits(measurement: &Measurement) -> Limits {
    const CONTEXTS_OF_NODE: u64 = 32;
    let nodes = measurement.recordings.iter().filter_map(Part::epoch);
    let nodes: u64 = nodes.map(|epoch| epoch.nodes.len() as u64).sum();
    let contexts_max = nodes.saturating_mul(CONTEXTS_OF_NODE).saturating_add(1 << 20);
    Limits { items_max: contexts_max.min(measurement.limits.items_max), ..measurement.limits }
}

/// A metric as core has it.
pub(crate) fn metric_of(metric: &types::Metric) -> Metric {
    let show = metric.flags.fields().map_or(1, |fields| fields.show);
    let reaches = match show {
        2 => vec![Reach::Point, Reach::Execution],
        3 => vec![Reach::Point, Reach::Function, Reach::Lexical],
        _ => Reach::ALL.to_vec(),
    };
    let formula = Some(metric.formula.to_string()).filter(|formula| !formula.is_empty());
    Metric {
        description: metric.description.to_string(),
        reaches,
        formula,
        is_shown: matches!(show, 1..=3),
        is_input: show == 4,
        ..Metric::named(metric.name.to_string())
    }
}

/// A value as a number, with the period it stands for.
pub(crate) fn amount(metric: &types::Metric, bits: u64) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "counts above 2^53 are rounded, as in databases")]
    let (count, period) = (bits as f64, metric.period as f64);
    let value = if metric.flags.is_real() { f64::from_bits(bits) } else { count };
    value * period
}

/// The two roots of old files as the placeholders of today.
pub(crate) fn old_code(ip: u64) -> u64 {
    match ip {
        0 => placeholder::PRIMARY,
        1 => placeholder::PARTIAL,
        other => other,
    }
}

pub(crate) fn display_name(node: &types::Node) -> String {
    let name = node.placeholder_name().map(str::to_owned).or_else(|| node.placeholder());
    name.unwrap_or_else(|| format!("{:#x}", node.ip))
}
