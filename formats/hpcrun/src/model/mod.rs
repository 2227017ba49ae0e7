//! Trees of threads to core's profile: one tree for all, with names where structure files are, and
//! where symbols of the kernel or images of what it maps lie beside.
//!
//! What is lost: ids of nodes (trace samples are told by the number of the merged context), the
//! sampling periods (values are multiplied with them), metrics that are computed by a formula,
//! and LUSH fields.

mod code;
mod companions;
mod placing;
mod remarks;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use kymo_core::bytes::Limits;
use kymo_core::{Finding, Result};
use kymo_model::measurement::NodeNumbers;
use kymo_model::profile::{
    CallTree, CallTreeBuilder, ContextId, Function, FunctionId, Metric, MetricId, MetricScope,
    Node, Relation, Scope, Thread, ThreadId,
};

use crate::measurement::{Measurement, PROFILE, Part};
use crate::tree::{Ids, Tree};
use crate::types::{self, Epoch};

use code::Code;
pub(crate) use companions::{missing_module_names, read_structure, structure_of, symbols_of};
use placing::{Place, Placing};
pub(crate) use remarks::{RuleCounts, words};

/// The entry of what came in nobody knows where.
const UNKNOWN_ENTRY: &str = "unknown entry";

/// Remark for code whose callers nobody recorded.
const STRAYS: &str = "samples of GPU code hang where they were taken: `kymo prof` finds out what \
    called it, so that inclusive values of its database are others";

/// The merged tree, and which context each node of each recording became.
pub(crate) struct Model {
    pub(crate) tree: Arc<CallTree>,
    /// Of each recording that has a trace.
    contexts: HashMap<usize, Arc<Contexts>>,
    pub(crate) findings: Vec<Finding>,
}

/// The contexts of the nodes of a profile, through all its epochs.
#[derive(Default)]
pub(crate) struct Contexts {
    /// Places of nodes by their ids.
    ids: Ids,
    /// The context of the node at each place.
    this_values: Vec<u32>,
}

/// Context of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SampleTarget {
    /// A calling context. Where several epochs have a node of that id, it is that of the first.
    Context { context: ContextId, is_shared: bool },
    /// The whole program: the root has no context.
    Program,
    /// A node that is not there.
    Nothing,
}

impl Contexts {
    /// The context that a node became.
    pub(crate) fn find(&self, node: u32) -> SampleTarget {
        match self.ids.find(node).and_then(|place| self.this_values.get(place)) {
            None => SampleTarget::Nothing,
            Some(&Place::NO_CONTEXT) => SampleTarget::Program,
            Some(context) => SampleTarget::Context {
                context: ContextId((*context).into()),
                is_shared: self.ids.is_shared(node),
            },
        }
    }
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
        findings.extend(missing_module_names(measurement, &symbols, &structure));
        let code = Code::new(structure, &symbols, measurement.source.path());
        let mut merging = Merging { builder, code, has_strays: false };
        let mut contexts: HashMap<usize, Contexts> = HashMap::new();
        let mut threads = BTreeMap::new();
        let mut holding = measurement.holding();
        for (part, recording) in measurement.recordings.iter().zip(0_usize..) {
            let mut remarks = RuleCounts::default();
            let held = holding.part(part)?;
            let (numbers, places) = merging.recording(&held, &mut threads, &mut remarks)?;
            findings.extend(measurement.in_file(&part.name, PROFILE, remarks.findings()));
            if part.trace.is_some() {
                // A trace runs through all epochs.
                let epochs = part.profile.as_ref().map_or(0, |profile| profile.epochs.len());
                let ids = if epochs > 1 { holding.ids(part) } else { Ids::from(numbers) };
                contexts.insert(recording, Contexts { ids, this_values: Vec::new() });
            }
            if let Some(contexts) = contexts.get_mut(&recording.saturating_sub(part.epoch)) {
                contexts.this_values.extend(places.into_iter().map(Place::number));
            }
        }
        let contexts = contexts.into_iter().map(|(at, contexts)| (at, Arc::new(contexts)));
        let contexts = contexts.collect();
        if merging.has_strays {
            merging.builder.remark(STRAYS);
        }
        Ok(Self { tree: Arc::new(merging.builder.finish()), contexts, findings })
    }

    /// The contexts that the nodes of a recording's trace became.
    pub(crate) fn contexts(&self, recording: usize) -> Option<&Arc<Contexts>> {
        self.contexts.get(&recording)
    }
}

struct Merging<'a> {
    builder: CallTreeBuilder,
    code: Code<'a>,
    /// True if there are nodes that the one above is not known to have called.
    has_strays: bool,
}

/// A thread that several epochs are of.
type Threads = BTreeMap<String, ThreadId>;

impl Merging<'_> {
    fn recording(
        &mut self,
        part: &Part,
        threads: &mut Threads,
        remarks: &mut RuleCounts,
    ) -> Result<(NodeNumbers, Vec<Place>)> {
        let (Some(profile), Some(epoch)) = (&part.profile, part.epoch()) else {
            return Ok(<_>::default());
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
        for metric in duplicate_metrics(&epoch.metrics) {
            remarks.add("duplicate-metric", metric.offset);
        }
        let tree = Tree::new(epoch);
        let dialect = profile.header.dialect;
        let places = Placing::new(self, epoch, dialect, &tree).all(remarks)?;
        let values = Values { epoch, tree: &tree, thread, metrics, places: &places };
        self.values(&values, remarks)?;
        Ok((tree.into_numbers(), places))
    }

    /// Adds the values of a recording. Those of the root, and those of nodes that are not there,
    /// count for an entry of their own, so that nothing is missing from the sum.
    fn values(&mut self, this_values: &Values<'_>, remarks: &mut RuleCounts) -> Result<()> {
        let (mut entry, mut last) = (None, (None, None));
        let mut done = Ok(());
        this_values.epoch.values.each(&this_values.epoch.nodes, 0..usize::MAX, |value| {
            let index = usize::from(value.metric);
            let metric = this_values.epoch.metrics.get(index).zip(this_values.metrics.get(index));
            let Some((metric, id)) = metric else {
                return remarks.add("value-metric", value.offset);
            };
            let Some(amount) = remarks.amount(metric, &value) else { return };
            if amount == 0.0 || done.is_err() {
                return;
            }
            // Values of one node stand together.
            if last.0 != Some(value.node) {
                let node = this_values.tree.find(value.node);
                last = (Some(value.node), node.and_then(|node| this_values.places.get(node)));
            }
            let place = last.1;
            let found = place
                .and_then(|place| if belongs_to_call(metric) { place.rel() } else { place.full() });
            let context = if let Some(context) = found {
                context
            } else {
                if place.is_none() {
                    remarks.add("value-node", value.offset);
                }
                let made = entry.map_or_else(|| self.entry(UNKNOWN_ENTRY), Ok);
                let Ok(context) = made else {
                    done = made.map(drop);
                    return;
                };
                *entry.insert(context)
            };
            self.builder.add(this_values.thread, context, *id, amount);
        });
        done
    }

    /// Returns the entry point at which threads enter.
    fn entry(&mut self, name: &str) -> Result<ContextId> {
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
    tree: &'a Tree,
    thread: ThreadId,
    metrics: Vec<MetricId>,
    places: &'a [Place],
}

/// Metrics whose name another has before them.
pub(crate) fn duplicate_metrics(metrics: &[types::Metric]) -> impl Iterator<Item = &types::Metric> {
    let mut known = HashSet::new();
    metrics.iter().filter(move |metric| !known.insert(&metric.name))
}

/// Metrics that are the same as another before them: those of `kymo prof` are known by their names
/// and descriptions.
pub(crate) fn same_metrics(metrics: &[types::Metric]) -> impl Iterator<Item = &types::Metric> {
    let mut known = HashSet::new();
    let key = |metric: &types::Metric| {
        (metric.name.clone(), metric.description.clone(), metric.is_computed())
    };
    metrics.iter().filter(move |metric| !known.insert(key(metric)))
}

/// Returns true if values belong to what was called, and not to the instruction.
pub(crate) fn belongs_to_call(metric: &types::Metric) -> bool {
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
        2 => vec![MetricScope::Point, MetricScope::Execution],
        3 => vec![MetricScope::Point, MetricScope::Function, MetricScope::Lexical],
        _ => MetricScope::ALL.to_vec(),
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

/// A value as a number, with the period it stands for; or the rule that keeps it from counting.
pub(crate) fn amount(metric: &types::Metric, bits: u64) -> std::result::Result<f64, &'static str> {
    // Old files have a place for a value of each metric.
    if bits == 0 {
        return Ok(0.0);
    }
    if metric.is_computed() {
        return Err("value-computed");
    }
    if !metric.has_known_format() {
        return Err("value-format");
    }
    if metric.period == 0 {
        return Err("value-period");
    }
    #[allow(clippy::cast_precision_loss, reason = "counts above 2^53 are rounded, as in databases")]
    let (count, period) = (bits as f64, metric.period as f64);
    let value = if metric.flags.is_real() { f64::from_bits(bits) } else { count };
    let amount = value * period;
    if amount.is_finite() { Ok(amount) } else { Err("value-number") }
}

pub(crate) fn display_name(node: &types::Node) -> String {
    let name = node.placeholder_name().map(str::to_owned).or_else(|| node.placeholder());
    name.unwrap_or_else(|| format!("{:#x}", node.ip))
}
