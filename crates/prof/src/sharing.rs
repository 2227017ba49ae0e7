//! Samples whose callers nobody recorded: what was measured is shared among the ways that may have
//! led there.
//!
//! Of a GPU's instructions only the address is known. Where a structure file tells who calls whom,
//! each way from a kernel to the sample gets a share. It grows with how often the calls on the way
//! were met themselves, and with how many runs of the kernel a measured one stands for.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;
use kymo_core::Result;
use kymo_model::measurement::{Counts, MeasuredMetric};
use kymo_model::profile::MetricId;
use kymo_model::structure::ScopeId;

use crate::lookup::{Lookup, Routes};
use crate::names::index;
use crate::placing::code;
use crate::propagation::SelfValue;
use crate::routes::Route;
use crate::tree::{Key, Tree};

/// Contexts that ways may make beyond the first to each instruction: so many, and so many for each
/// node. A few bytes of a structure file can tell of very many ways.
const CONTEXTS_MIN: u64 = 1 << 20;
const CONTEXTS_OF_NODE: u64 = 32;

/// Number of contexts that ways may still make, in all threads together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room(u64);

impl Room {
    pub(crate) fn new(items_max: u64) -> Self {
        Self(CONTEXTS_MIN.min(items_max))
    }

    /// The same with what some nodes bring.
    pub(crate) fn with_nodes(self, nodes: usize) -> Self {
        Self(self.0.saturating_add(CONTEXTS_OF_NODE.saturating_mul(nodes as u64)))
    }

    /// Returns true if there was room for some more.
    fn take(&mut self, contexts: u64) -> bool {
        let left = self.0.checked_sub(contexts);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}

/// The samples of a thread whose callers nobody recorded.
#[derive(Debug)]
pub(crate) struct Strays {
    /// By the index of the node.
    pub(crate) of_node: HashMap<u32, usize, RandomState>,
    /// By the context that the kernel was started in, and the instruction.
    known: HashMap<(u32, u32), usize, RandomState>,
    items: Vec<Stray>,
    /// By the same context, the module and the function.
    known_ways: HashMap<(u32, u32, ScopeId), usize, RandomState>,
    ways: Vec<CallPaths>,
    pub(crate) room: Room,
    /// Number of nodes that were left without ways, although their callers are recorded.
    left_out: u64,
}

/// An instruction that was met below a context.
#[derive(Debug)]
struct Stray {
    point: u32,
    /// The index of the ways that may have led there.
    ways: usize,
    values: Vec<StrayValue>,
}

/// Value that was measured at an instruction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StrayValue {
    pub(crate) metric: MetricId,
    pub(crate) value: f64,
    /// True if it belongs to the function that was called, and not to the instruction.
    pub(crate) is_of_call: bool,
}

/// The ways from a context to a function of a GPU.
#[derive(Debug)]
struct CallPaths {
    /// The context that the kernel was started in.
    root: u32,
    routes: Arc<Routes>,
    /// Start and end of each way.
    ends: Vec<CallPath>,
}

#[derive(Debug, Clone, Copy)]
struct CallPath {
    entry: u32,
    /// Caller of the function.
    last: u32,
}

impl Strays {
    pub(crate) fn new(room: Room) -> Self {
        Self {
            of_node: HashMap::default(),
            known: HashMap::default(),
            items: Vec::new(),
            known_ways: HashMap::default(),
            ways: Vec::new(),
            room,
            left_out: 0,
        }
    }

    /// Takes a node, and makes the ways that it may have been called by. Tells whether there is
    /// room for them.
    pub(crate) fn add(
        &mut self,
        (node, root, point): (u32, u32, u32),
        routes: &Arc<Routes>,
        tree: &mut Tree,
        lookup: &mut Lookup<'_>,
    ) -> Result<bool> {
        let known = self.known.get(&(root, point)).copied();
        let item = match known {
            Some(known) => Some(known),
            None => self.item(root, point, routes, tree, lookup)?,
        };
        if let Some(item) = item {
            self.of_node.insert(node, item);
        }
        Ok(item.is_some())
    }

    /// An instruction that was not met there before; nothing where there is no room for its ways.
    fn item(
        &mut self,
        root: u32,
        point: u32,
        routes: &Arc<Routes>,
        tree: &mut Tree,
        lookup: &mut Lookup<'_>,
    ) -> Result<Option<usize>> {
        let others = (routes.ways.len() as u64).saturating_sub(1);
        let below = lookup.depth(point);
        if !self.room.take(others.saturating_mul(below)) {
            return Ok(None);
        }
        let Some(ways) = self.call_paths(root, routes, tree, lookup)? else { return Ok(None) };
        let next = self.items.len();
        self.items.push(Stray { point, ways, values: Vec::new() });
        self.known.insert((root, point), next);
        Ok(Some(next))
    }

    /// The index of the ways from a context to a function; nothing where there is no room for them.
    fn call_paths(
        &mut self,
        root: u32,
        routes: &Arc<Routes>,
        tree: &mut Tree,
        lookup: &mut Lookup<'_>,
    ) -> Result<Option<usize>> {
        let key = (root, routes.module, routes.function);
        if let Some(known) = self.known_ways.get(&key) {
            return Ok(Some(*known));
        }
        if !self.room.take(routes.contexts) {
            return Ok(None);
        }
        let ends =
            routes.ways.iter().map(|route| add_call_path(root, routes.module, route, tree, lookup));
        let ends = ends.collect::<Result<_>>()?;
        let next = self.ways.len();
        self.ways.push(CallPaths { root, routes: Arc::clone(routes), ends });
        self.known_ways.insert(key, next);
        Ok(Some(next))
    }

    /// Counts a node that no way is known to, though it is told who calls whom.
    pub(crate) fn count_omitted(&mut self) {
        self.left_out += 1;
    }

    /// Returns the message about those.
    pub(crate) fn omission_text(&self) -> Option<String> {
        let count = self.left_out;
        let why = "of a GPU may have been called in too many ways or in none, and hang below an \
                   unknown function";
        (count > 0).then(|| format!("{count} samples {why}"))
    }

    /// Takes what was measured at a node that was added.
    pub(crate) fn value(&mut self, item: usize, value: StrayValue) {
        if let Some(stray) = self.items.get_mut(item) {
            stray.values.push(value);
        }
    }

    /// Gives each way its share, and makes the contexts of those that have some. `metrics` are those
    /// of the thread with their numbers. Tells of how many instructions no way has any.
    pub(crate) fn share(
        &self,
        own: &mut Vec<SelfValue>,
        metrics: &[(&MeasuredMetric, Option<MetricId>)],
        tree: &mut Tree,
        lookup: &Lookup<'_>,
        compat: bool,
    ) -> Result<u64> {
        let counted = ShareCounts::new(self, own, metrics, lookup);
        let shares: Vec<_> = self.ways.iter().map(|ways| counted.shares(ways, compat)).collect();
        let mut lost = 0;
        for stray in self.items.iter().filter(|stray| !stray.values.is_empty()) {
            let ways = self.ways.get(stray.ways).map_or(&[][..], |ways| &ways.ends);
            let shares = shares.get(stray.ways).map_or(&[][..], Vec::as_slice);
            lost += u64::from(shares.iter().all(|share| *share == 0.0));
            for (way, share) in ways.iter().zip(shares).filter(|(_, share)| **share != 0.0) {
                let place = code(tree, lookup, way.last, stray.point, true)?;
                own.extend(stray.values.iter().map(|found| SelfValue {
                    context: if found.is_of_call { place.called } else { place.full },
                    metric: found.metric,
                    value: found.value * share,
                }));
            }
        }
        Ok(lost)
    }
}

/// Makes the contexts of a way, up to the call of the function.
fn add_call_path(
    root: u32,
    module: u32,
    route: &Route,
    tree: &mut Tree,
    lookup: &mut Lookup<'_>,
) -> Result<CallPath> {
    let entry = match lookup.kernel(module, route.entry) {
        Some(kernel) => tree.child(root, Key::called(kernel))?,
        None => root,
    };
    let mut last = root;
    for call in &route.calls {
        let point = lookup.point(module, *call);
        last = code(tree, lookup, last, point, true)?.full;
    }
    Ok(CallPath { entry, last })
}

/// Counts of a thread that shares depend on.
struct ShareCounts {
    /// Number of runs of kernels, and number of those that were measured.
    runs: HashMap<u32, [f64; 2], RandomState>,
    /// Number of samples of an instruction below a context: a module and an address.
    samples: HashMap<(u32, u32, u64), f64, RandomState>,
}

impl ShareCounts {
    fn new(
        strays: &Strays,
        own: &[SelfValue],
        metrics: &[(&MeasuredMetric, Option<MetricId>)],
        lookup: &Lookup<'_>,
    ) -> Self {
        let counts = metrics.iter().filter_map(|(metric, id)| Some(((*id)?, metric.counts?)));
        let counts: HashMap<MetricId, Counts> = counts.collect();
        let entries: HashSet<u32> =
            strays.ways.iter().flat_map(|ways| &ways.ends).map(|way| way.entry).collect();
        let mut runs: HashMap<u32, [f64; 2], _> = HashMap::default();
        for own in own.iter().filter(|own| entries.contains(&own.context)) {
            let [all, measured] = runs.entry(own.context).or_default();
            match counts.get(&own.metric) {
                Some(Counts::Calls) => *all += own.value,
                Some(Counts::MeasuredCalls) => *measured += own.value,
                Some(Counts::Instructions) | None => {}
            }
        }
        let mut samples = HashMap::default();
        for stray in &strays.items {
            let point = lookup.points().get(index(stray.point)).copied();
            let root = strays.ways.get(stray.ways).map(|ways| ways.root);
            let Some(((module, offset), root)) = point.zip(root) else { continue };
            let is_sample =
                |found: &&StrayValue| counts.get(&found.metric) == Some(&Counts::Instructions);
            let sum: f64 = stray.values.iter().filter(is_sample).map(|found| found.value).sum();
            *samples.entry((root, module, offset)).or_default() += sum;
        }
        Self { runs, samples }
    }

    /// Returns the share of each way in what was measured in the function.
    fn shares(&self, ways: &CallPaths, compat: bool) -> Vec<f64> {
        let CallPaths { root, routes, ends } = ways;
        let mut scales: Vec<f64> = ends.iter().map(|way| self.scale(way.entry)).collect();
        // Nothing is known of any kernel: hpcprof loses what was measured.
        if !compat && scales.iter().all(|scale| *scale == 0.0) {
            scales.fill(1.0);
        }
        let possible = routes.ways.iter().enumerate();
        let possible = possible.filter(|(index, _)| scales.get(*index).is_some_and(|s| *s != 0.0));
        let (indices, possible): (Vec<_>, Vec<_>) = possible.unzip();
        let samples =
            |call| self.samples.get(&(*root, routes.module, call)).copied().unwrap_or_default();
        let mut shares = vec![0.0; scales.len()];
        for (index, share) in indices.into_iter().zip(shares_of(&possible, &samples)) {
            let scale = scales.get(index).copied().unwrap_or_default();
            if let Some(slot) = shares.get_mut(index) {
                *slot = share * scale;
            }
        }
        shares
    }

    /// Returns the number of runs of a kernel that a measured one stands for; 0 where nothing is
    /// known of it.
    fn scale(&self, entry: u32) -> f64 {
        match self.runs.get(&entry) {
            Some([all, measured]) if *all > 0.0 && *measured > 0.0 => all / measured,
            Some(_) => 1.0,
            None => 0.0,
        }
    }
}

/// The share of each of several ways, which are ordered by their last calls: where they part, by
/// the samples at the calls, or evenly where there are none.
fn shares_of(routes: &[&Route], samples: &dyn Fn(u64) -> f64) -> Vec<f64> {
    let mut shares = vec![1.0; routes.len()];
    // Ways that end with the same calls, and how many those are.
    let mut pending = vec![(0, routes.len(), 0, 1.0)];
    while let Some((start, end, depth, share)) = pending.pop() {
        let group = routes.get(start..end).unwrap_or_default();
        if group.len() < 2 {
            shares.get_mut(start..end).unwrap_or_default().fill(share);
            continue;
        }
        let call = |route: &&Route| route.calls.iter().rev().nth(depth).copied();
        let parts: Vec<_> = group.chunk_by(|a, b| call(a) == call(b)).collect();
        let weight = |part: &&[&Route]| part.first().and_then(call).map_or(0.0, samples);
        let weights: Vec<f64> = parts.iter().map(weight).collect();
        let total: f64 = weights.iter().sum();
        let mut start = start;
        for (part, weight) in parts.iter().zip(weights) {
            #[allow(clippy::cast_precision_loss, reason = "there are few parts")]
            let part_of = if total > 0.0 { weight / total } else { 1.0 / parts.len() as f64 };
            let end = start + part.len();
            if part.first().and_then(call).is_some() {
                pending.push((start, end, depth + 1, share * part_of));
            } else {
                shares.get_mut(start..end).unwrap_or_default().fill(share * part_of);
            }
            start = end;
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_share_by_the_samples_at_the_calls_where_they_part() {
        let route = |calls: &[u64]| Route { entry: ScopeId(0), calls: calls.to_vec() };
        let routes = [route(&[1, 5]), route(&[2, 5]), route(&[3, 6]), route(&[4, 6])];
        let routes: Vec<_> = routes.iter().collect();
        // 5 was met three times as often as 6; 1 never, and neither 3 nor 4.
        let samples = |call| match call {
            5 => 3.0,
            6 | 2 => 1.0,
            _ => 0.0,
        };
        assert_eq!(shares_of(&routes, &samples), [0.0, 0.75, 0.125, 0.125]);
        assert_eq!(shares_of(&routes[..1], &|_| 0.0), [1.0]);
        assert_eq!(shares_of(&routes, &|_| 0.0), [0.25; 4]);
        assert!(shares_of(&[], &samples).is_empty());
    }
}
