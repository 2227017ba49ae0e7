//! Trees of threads to core's profile: one tree for all, with names where structure files are.
//!
//! What is lost: ids of nodes (trace samples are told by the number of the merged context), the
//! sampling periods (values are multiplied with them), metrics that are computed by a formula,
//! and LUSH fields.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use kymo_core::model::profile::{
    CallTree, CallTreeBuilder, ContextId, Function, FunctionId, IdKind, IdPart, Metric, MetricId,
    ModuleId, Node, Reach, Relation, Scope, Thread, ThreadId,
};
use kymo_core::model::structure::{self, Module, Structure};
use kymo_core::{Finding, Result, Severity};

use crate::hpcstruct::StructureFile;
use crate::measurement::{Measurement, Part, ids, named};
use crate::spec::{SPECIAL_MODULES, placeholder};
use crate::tree::Tree;
use crate::types::{self, Dialect, Epoch};

/// The merged tree, and which context each node of each recording became.
pub(crate) struct Model {
    pub(crate) tree: Arc<CallTree>,
    /// Of each recording the ids of its nodes in ascending order, with their contexts.
    contexts: Vec<Vec<(u32, ContextId)>>,
    pub(crate) findings: Vec<Finding>,
}

impl Model {
    /// Merges the trees of all recordings.
    ///
    /// # Errors
    /// When there are more contexts than the limits allow.
    pub(crate) fn new(measurement: &Measurement) -> Result<Self> {
        let modules = measurement.recordings.iter().filter_map(Part::epoch);
        let modules = modules.flat_map(|epoch| &epoch.load_modules);
        let wanted: BTreeSet<_> = modules.map(|module| module.path.to_string()).collect();
        let (structure, findings) = read_structure(measurement, &|path| wanted.contains(path));
        let mut merging = Merging {
            builder: CallTreeBuilder::new(&measurement.limits),
            structure,
            points: HashMap::new(),
        };
        let mut contexts = Vec::with_capacity(measurement.recordings.len());
        let mut threads = BTreeMap::new();
        for part in &measurement.recordings {
            contexts.push(merging.recording(part, &mut threads)?);
        }
        Ok(Self { tree: Arc::new(merging.builder.finish()), contexts, findings })
    }

    /// The context that a node of a recording became.
    pub(crate) fn context(&self, recording: usize, node: u32) -> Option<ContextId> {
        let contexts = self.contexts.get(recording)?;
        let at = contexts.binary_search_by_key(&node, |(id, _)| *id).ok()?;
        contexts.get(at).map(|(_, context)| *context)
    }
}

/// Reads the structure of those modules that are wanted.
pub(crate) fn read_structure(
    measurement: &Measurement,
    is_wanted: &dyn Fn(&str) -> bool,
) -> (Structure, Vec<Finding>) {
    let (mut structure, mut findings) = (Structure::default(), Vec::new());
    for path in &measurement.structs {
        let child = measurement.source.child(path, &measurement.limits);
        let bytes = child.and_then(|child| child.map(|child| child.bytes()).transpose());
        let file = match bytes {
            Ok(Some(bytes)) => StructureFile::read(&bytes, &measurement.limits, is_wanted),
            Ok(None) => continue,
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

/// What a node became.
#[derive(Clone, Copy)]
enum Place {
    /// The root of everything, which is no context.
    Global,
    /// A context.
    At {
        /// The innermost, which children hang below.
        full: ContextId,
        /// The first below the parent: what was called.
        rel: ContextId,
    },
}

impl Place {
    fn full(self) -> Option<ContextId> {
        match self {
            Self::Global => None,
            Self::At { full, .. } => Some(full),
        }
    }
}

struct Merging {
    builder: CallTreeBuilder,
    structure: Structure,
    /// Chains of contexts for an address of a module, without the parent.
    points: HashMap<(ModuleId, u64), Vec<Node>>,
}

/// A thread that several epochs are of.
type Threads = BTreeMap<String, ThreadId>;

impl Merging {
    fn recording(&mut self, part: &Part, threads: &mut Threads) -> Result<Vec<(u32, ContextId)>> {
        let (Some(profile), Some(epoch)) = (&part.profile, part.epoch()) else {
            return Ok(Vec::new());
        };
        let thread = match threads.get(&part.name) {
            Some(thread) => *thread,
            None => self.builder.thread(thread_of(part))?,
        };
        threads.insert(part.name.clone(), thread);
        let metrics = epoch.metrics.iter().map(|metric| self.builder.metric(metric_of(metric)));
        let metrics = metrics.collect::<Result<Vec<_>>>()?;
        let tree = Tree::new(epoch);
        let places = Placing::new(self, epoch, profile.header.dialect, &tree).all()?;
        self.values(epoch, &tree, thread, &metrics, &places);
        let nodes = epoch.nodes.iter().zip(&places);
        let mut contexts: Vec<_> =
            nodes.filter_map(|(node, place)| Some((node.id, place.full()?))).collect();
        contexts.sort_by_key(|(id, _)| *id);
        contexts.dedup_by_key(|(id, _)| *id);
        Ok(contexts)
    }

    fn values(
        &mut self,
        epoch: &Epoch,
        tree: &Tree,
        thread: ThreadId,
        metrics: &[MetricId],
        places: &[Place],
    ) {
        epoch.values.each(&epoch.nodes, 0..usize::MAX, |value| {
            let index = usize::from(value.metric);
            let (Some(metric), Some(id)) = (epoch.metrics.get(index), metrics.get(index)) else {
                return;
            };
            let place = tree.find(value.node).and_then(|node| places.get(node));
            let Some(Place::At { full, rel }) = place else { return };
            let is_of_call = metric.flags.fields().is_some_and(|fields| fields.move2proc);
            let amount = amount(metric, value.bits);
            if amount != 0.0 {
                self.builder.add(thread, if is_of_call { *rel } else { *full }, *id, amount);
            }
        });
    }

    /// The chain of contexts from a call down to an instruction.
    fn point(&mut self, path: &str, offset: u64) -> Vec<Node> {
        let module = self.builder.module(path);
        if let Some(known) = self.points.get(&(module, offset)) {
            return known.clone();
        }
        let mut chain = match self.structure.module(path) {
            Some(found) => scopes(&mut self.builder, found, module, offset),
            None => Vec::new(),
        };
        let relation = if chain.is_empty() { Relation::Call } else { Relation::Lexical };
        let point = Some((module, offset));
        chain.push(Node { point, ..Node::new(Scope::Instruction, relation) });
        self.points.insert((module, offset), chain.clone());
        chain
    }

    fn named(&mut self, name: &str) -> FunctionId {
        self.builder.function(Function { name: name.to_owned(), ..Function::default() })
    }
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

/// What a thread is, by its ids or by its header.
fn thread_of(part: &Part) -> Thread {
    let Some(profile) = &part.profile else { return Thread::default() };
    let of_tuple = ids(profile).into_iter().map(|(kind, id)| IdPart {
        kind: IdKind(kind.into()),
        logical: id.logical,
        physical: (id.interpretation() != 3).then_some(id.physical),
    });
    let of_tuple: Vec<_> = of_tuple.collect();
    if !of_tuple.is_empty() {
        return Thread { ids: of_tuple };
    }
    let names = [("RANK", "mpi-rank"), ("THREAD", "thread-id"), ("THREAD", "canonical-thread-id")];
    let of_header = names.into_iter().filter_map(|(kind, name)| {
        let logical = profile.header.value(name)?.parse().ok()?;
        Some(IdPart { kind: IdKind(kind.into()), logical, physical: None })
    });
    Thread { ids: of_header.collect() }
}

/// The scopes around an address as contexts, from the function in.
fn scopes(
    builder: &mut CallTreeBuilder,
    module: &Module,
    module_id: ModuleId,
    address: u64,
) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    for id in module.lookup(address).into_iter().flatten() {
        let mut source = |at: structure::Place| {
            let path = module.file(at.file).unwrap_or_default();
            (builder.file(path), at.line)
        };
        match module.scope(id) {
            Some(structure::Scope::Function { name, at, entry, .. }) => {
                let at = at.map(&mut source);
                let (file, line) = (at.map(|(file, _)| file), at.map_or(0, |(_, line)| line));
                let (name, offset) = (name.clone(), entry.unwrap_or(0));
                let function = Function { name, module: Some(module_id), offset, file, line };
                let function = Some(builder.function(function));
                nodes.push(Node { function, ..Node::new(Scope::Function, Relation::Call) });
            }
            Some(structure::Scope::Inlined { name, at, call }) => {
                if let Some(call) = call {
                    let source = Some(source(*call));
                    nodes.push(Node { source, ..Node::new(Scope::Line, Relation::Lexical) });
                }
                let at = at.map(&mut source);
                let (file, line) = (at.map(|(file, _)| file), at.map_or(0, |(_, line)| line));
                let (name, module) = (name.clone(), Some(module_id));
                let function = Function { name, module, offset: 0, file, line };
                let function = Some(builder.function(function));
                nodes.push(Node { function, ..Node::new(Scope::Function, Relation::Inlined) });
            }
            Some(structure::Scope::Loop { at, entry }) => {
                let source = Some(source(*at));
                let point = entry.map(|entry| (module_id, entry));
                nodes.push(Node { source, point, ..Node::new(Scope::Loop, Relation::Lexical) });
            }
            Some(structure::Scope::Line { at }) => {
                let source = Some(source(*at));
                nodes.push(Node { source, ..Node::new(Scope::Line, Relation::Lexical) });
            }
            None => {}
        }
    }
    nodes
}

/// Finds the context of each node of an epoch.
struct Placing<'a> {
    merging: &'a mut Merging,
    epoch: &'a Epoch,
    dialect: Dialect,
    tree: &'a Tree,
    places: Vec<Option<Place>>,
    /// Load modules by address, as described.
    by_address: Vec<(u64, usize)>,
}

impl<'a> Placing<'a> {
    fn new(merging: &'a mut Merging, epoch: &'a Epoch, dialect: Dialect, tree: &'a Tree) -> Self {
        let places = vec![None; epoch.nodes.len()];
        let modules = epoch.load_modules.iter().enumerate();
        let mut by_address: Vec<_> =
            modules.filter_map(|(index, module)| Some((module.place?.load_addr, index))).collect();
        by_address.sort_unstable();
        Self { merging, epoch, dialect, tree, places, by_address }
    }

    fn all(mut self) -> Result<Vec<Place>> {
        let on_cycle = match self.tree.cycle() {
            Some(_) => self.tree.on_cycles(),
            None => Vec::new(),
        };
        let mut pending = Vec::new();
        for index in 0..self.epoch.nodes.len() {
            // Parents may come later in old files: go up to the first that is placed, then down.
            let mut at = Some(index);
            while let Some(node) = at.filter(|node| self.is_open(*node)) {
                pending.push(node);
                let goes_round = on_cycle.get(node).copied().unwrap_or(false);
                at = self.tree.parent(node).filter(|_| !goes_round);
            }
            let mut above = at.and_then(|node| self.places.get(node).copied().flatten());
            while let Some(node) = pending.pop() {
                let place = self.place(node, above)?;
                if let Some(slot) = self.places.get_mut(node) {
                    *slot = Some(place);
                }
                above = Some(place);
            }
        }
        Ok(self.places.into_iter().map(|place| place.unwrap_or(Place::Global)).collect())
    }

    fn is_open(&self, node: usize) -> bool {
        self.places.get(node).is_some_and(Option::is_none)
    }

    /// The context of a node, its parent's being known; a root has none above.
    fn place(&mut self, index: usize, above: Option<Place>) -> Result<Place> {
        let node = self.epoch.nodes.get(index).unwrap_or_default();
        let parent = above.and_then(Place::full);
        if let Some((path, offset)) = self.address(&node) {
            let chain = self.merging.point(&path, offset);
            return self.below(parent, &chain);
        }
        self.placeholder(&node, above.is_none(), parent)
    }

    /// The module and the offset in it of a node that is code.
    fn address(&self, node: &types::Node) -> Option<(String, u64)> {
        let distance = self.epoch.header.as_ref().map_or(0, |header| header.ra_distance);
        let distance = if node.is_leaf { 0 } else { u64::from(distance) };
        if self.dialect == Dialect::Described {
            if node.ip == 0 {
                return None;
            }
            let after = self.by_address.partition_point(|(address, _)| *address <= node.ip);
            let (_, index) = self.by_address.get(after.checked_sub(1)?)?;
            let module = self.epoch.load_modules.get(*index)?;
            let place = module.place?;
            let offset = node.ip.wrapping_sub(place.load_addr).wrapping_add(place.load_offset);
            return Some((module.path.to_string(), offset.wrapping_sub(distance)));
        }
        if node.lm_id == 0 {
            return None;
        }
        if let Some((_, name)) = SPECIAL_MODULES.iter().find(|(id, _)| *id == node.lm_id) {
            return Some((format!("<{name}>"), node.ip));
        }
        // Ids are dense from 1 as a rule.
        let modules = &self.epoch.load_modules;
        let guess = modules.get(usize::from(node.lm_id) - 1);
        let is_it = |module: &&types::LoadModule| module.id == u32::from(node.lm_id);
        let module = guess.filter(is_it).or_else(|| modules.iter().find(is_it));
        let path = module.map_or_else(|| "<unknown module>".into(), |m| m.path.to_string());
        Some((path, node.ip.wrapping_sub(distance)))
    }

    fn placeholder(
        &mut self,
        node: &types::Node,
        is_root: bool,
        parent: Option<ContextId>,
    ) -> Result<Place> {
        let is_old = self.dialect != Dialect::Shipped0400;
        let code = if is_old { old_code(node.ip) } else { node.ip };
        let entry = match code {
            placeholder::PRIMARY if is_root => return Ok(Place::Global),
            placeholder::MAIN => Some("main thread"),
            placeholder::THREAD => Some("application thread"),
            placeholder::PARTIAL => Some("unknown entry"),
            _ => None,
        };
        let (name, scope) = match (entry, code) {
            (Some(name), _) if parent.is_none() => (name.to_owned(), Scope::Entry),
            (_, placeholder::NO_ACTIVITY) => ("<no activity>".to_owned(), Scope::Placeholder),
            (_, placeholder::UNNORMALIZED) => ("<unknown function>".to_owned(), Scope::Function),
            _ => (display_name(node), Scope::Placeholder),
        };
        let function = Some(self.merging.named(&name));
        let context = Node { function, ..Node::new(scope, Relation::Call) };
        let is_entry = scope == Scope::Entry || code == placeholder::NO_ACTIVITY;
        if is_entry && parent.is_none() {
            let full = self.merging.builder.child(None, context)?;
            return Ok(Place::At { full, rel: full });
        }
        self.below(parent, &[context])
    }

    /// Puts a chain below a context; what hangs below nothing gets an entry.
    fn below(&mut self, parent: Option<ContextId>, chain: &[Node]) -> Result<Place> {
        let mut full = match parent {
            Some(parent) => parent,
            None => self.entry()?,
        };
        let mut rel = None;
        for node in chain {
            full = self.merging.builder.child(Some(full), *node)?;
            rel = rel.or(Some(full));
        }
        Ok(Place::At { full, rel: rel.unwrap_or(full) })
    }

    /// What is directly below the root: old files have no entries, and complete unwinds there.
    fn entry(&mut self) -> Result<ContextId> {
        let is_old = self.dialect != Dialect::Shipped0400;
        let name = if is_old { "program root" } else { "unknown entry" };
        let function = Some(self.merging.named(name));
        let entry = Node { function, ..Node::new(Scope::Entry, Relation::Call) };
        self.merging.builder.child(None, entry)
    }
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

/// How much was measured in all, by the name of the metric and in the order of the tables.
pub(crate) fn totals(measurement: &Measurement) -> Vec<(String, f64, bool)> {
    let mut totals: Vec<(String, f64, bool)> = Vec::new();
    for epoch in measurement.recordings.iter().filter_map(Part::epoch) {
        let mut own = vec![0.0; epoch.metrics.len()];
        epoch.values.each(&epoch.nodes, 0..usize::MAX, |value| {
            let index = usize::from(value.metric);
            if let (Some(sum), Some(metric)) = (own.get_mut(index), epoch.metrics.get(index)) {
                *sum += amount(metric, value.bits);
            }
        });
        for (metric, sum) in epoch.metrics.iter().zip(own) {
            let name = metric.name.to_string();
            match totals.iter_mut().find(|(known, ..)| *known == name) {
                Some((_, total, _)) => *total += sum,
                None => totals.push((name, sum, metric.flags.is_real())),
            }
        }
    }
    totals
}
