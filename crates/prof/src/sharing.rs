//! Samples whose callers nobody recorded: what was measured is shared among the ways that may have
//! led there.
//!
//! Of a GPU's instructions only the address is known. Where a structure file tells who calls whom,
//! each way from a kernel to the sample gets a share. It grows with how often the calls on the way
//! were met themselves, and with how many runs of the kernel a measured one stands for.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;
use kymo_core::model::measurement::{Counts, MeasuredMetric};
use kymo_core::{Finding, Result, Severity};

use crate::lookup::Lookup;
use crate::placing::code;
use crate::propagation::Own;
use crate::routes::Route;
use crate::tree::{Key, Tree};

/// How many ways the instructions of a thread may have together.
const WAYS_MAX: usize = 1 << 18;

/// The samples of a thread whose callers nobody recorded.
#[derive(Debug, Default)]
pub(crate) struct Strays {
    /// By the index of the node.
    pub(crate) of_node: HashMap<u32, usize, RandomState>,
    known: HashMap<(u32, u32), usize, RandomState>,
    items: Vec<Stray>,
    /// How many ways they have together.
    ways: usize,
    /// How many instructions were left without ways, as there are too many.
    left_out: u64,
}

/// An instruction that was met below a context.
#[derive(Debug)]
struct Stray {
    /// The context that the kernel was started in.
    root: u32,
    point: u32,
    routes: Arc<[Route]>,
    /// What each way starts with, and where it ends.
    ways: Vec<Way>,
    /// What was measured, by metric.
    values: Vec<(u32, f64)>,
}

#[derive(Debug, Clone, Copy)]
struct Way {
    entry: u32,
    end: u32,
}

impl Strays {
    /// Takes a node, and makes all contexts that it may stand for.
    pub(crate) fn add(
        &mut self,
        (node, root, point): (u32, u32, u32),
        routes: Arc<[Route]>,
        tree: &mut Tree,
        lookup: &mut Lookup<'_>,
    ) -> Result<()> {
        let next = self.items.len();
        let item = *self.known.entry((root, point)).or_insert(next);
        if item == next {
            let ways = routes.iter().map(|route| way(root, point, route, tree, lookup));
            let ways = ways.collect::<Result<Vec<_>>>()?;
            self.items.push(Stray { root, point, routes, ways, values: Vec::new() });
        }
        self.of_node.insert(node, item);
        Ok(())
    }

    /// Whether there is room for some more ways. Each makes contexts of its own.
    pub(crate) fn has_room(&mut self, ways: usize) -> bool {
        self.ways = self.ways.saturating_add(ways);
        self.ways <= WAYS_MAX
    }

    /// Counts an instruction that no way is known to, though it is told who calls whom.
    pub(crate) fn leave_out(&mut self) {
        self.left_out += 1;
    }

    /// What is to be said of those.
    pub(crate) fn finding(&self, thread: &str) -> Option<Finding> {
        let count = self.left_out;
        let why = format!(
            "{count} instructions of a GPU may have been called in too many ways, and hang below an \
             unknown function"
        );
        let finding = Finding::whole(Severity::Warning, "gpu-ways", why);
        (count > 0).then(|| Finding { file: Some(thread.to_owned()), ..finding })
    }

    /// Takes what was measured at a node that was added.
    pub(crate) fn value(&mut self, item: usize, metric: u32, value: f64) {
        if let Some(stray) = self.items.get_mut(item) {
            stray.values.push((metric, value));
        }
    }

    /// Gives each way its share. `metrics` are those of the thread with their numbers.
    pub(crate) fn share(
        &self,
        own: &mut Vec<Own>,
        metrics: &[(&MeasuredMetric, u32)],
        lookup: &Lookup<'_>,
        compat: bool,
    ) {
        let counted = Counted::new(self, own, metrics, lookup);
        for stray in &self.items {
            let shares = counted.shares(stray, compat);
            for (way, share) in stray.ways.iter().zip(shares).filter(|(_, share)| *share != 0.0) {
                own.extend(stray.values.iter().map(|(metric, value)| Own {
                    context: way.end,
                    metric: *metric,
                    value: value * share,
                }));
            }
        }
    }
}

/// Makes the contexts of a way.
fn way(
    root: u32,
    point: u32,
    route: &Route,
    tree: &mut Tree,
    lookup: &mut Lookup<'_>,
) -> Result<Way> {
    let (module, _) = lookup.points().get(crate::names::index(point)).copied().unwrap_or_default();
    let entry = match lookup.kernel(module, route.entry) {
        Some(kernel) => tree.child(root, Key::called(kernel))?,
        None => root,
    };
    let mut end = root;
    for call in &route.calls {
        let point = lookup.point(module, *call);
        end = code(tree, lookup, end, point)?.full;
    }
    Ok(Way { entry, end: code(tree, lookup, end, point)?.full })
}

/// What a thread counted that shares depend on.
struct Counted {
    /// How often kernels were run, and how often while they were measured.
    runs: HashMap<u32, [f64; 2], RandomState>,
    /// How many samples there are of an instruction below a context: a module and an address.
    samples: HashMap<(u32, u32, u64), f64, RandomState>,
    /// The module of each stray.
    modules: HashMap<u32, u32, RandomState>,
}

impl Counted {
    fn new(
        strays: &Strays,
        own: &[Own],
        metrics: &[(&MeasuredMetric, u32)],
        lookup: &Lookup<'_>,
    ) -> Self {
        let counts: HashMap<u32, Counts> =
            metrics.iter().filter_map(|(metric, number)| Some((*number, metric.counts?))).collect();
        let entries: HashSet<u32> =
            strays.items.iter().flat_map(|stray| &stray.ways).map(|way| way.entry).collect();
        let mut runs: HashMap<u32, [f64; 2], _> = HashMap::default();
        for own in own.iter().filter(|own| entries.contains(&own.context)) {
            let [all, measured] = runs.entry(own.context).or_default();
            match counts.get(&own.metric) {
                Some(Counts::Calls) => *all += own.value,
                Some(Counts::MeasuredCalls) => *measured += own.value,
                Some(Counts::Instructions) | None => {}
            }
        }
        let (mut samples, mut modules) = (HashMap::default(), HashMap::default());
        for stray in &strays.items {
            let point = lookup.points().get(crate::names::index(stray.point)).copied();
            let (module, offset) = point.unwrap_or_default();
            modules.insert(stray.point, module);
            let is_sample = |metric: &u32| counts.get(metric) == Some(&Counts::Instructions);
            let values = stray.values.iter().filter(|(metric, _)| is_sample(metric));
            let sum: f64 = values.map(|(_, value)| value).sum();
            *samples.entry((stray.root, module, offset)).or_default() += sum;
        }
        Self { runs, samples, modules }
    }

    /// What each way of a stray has of it.
    fn shares(&self, stray: &Stray, compat: bool) -> Vec<f64> {
        let mut scales: Vec<f64> = stray.ways.iter().map(|way| self.scale(way.entry)).collect();
        // Nothing is known of any kernel: hpcprof loses what was measured.
        if !compat && scales.iter().all(|scale| *scale == 0.0) {
            scales.fill(1.0);
        }
        let ways = stray.routes.iter().enumerate();
        let possible = ways.filter(|(index, _)| scales.get(*index).is_some_and(|s| *s != 0.0));
        let (indices, routes): (Vec<_>, Vec<_>) = possible.unzip();
        let module = self.modules.get(&stray.point).copied().unwrap_or_default();
        let samples =
            |call| self.samples.get(&(stray.root, module, call)).copied().unwrap_or_default();
        let mut shares = vec![0.0; stray.routes.len()];
        for (index, share) in indices.into_iter().zip(shares_of(&routes, &samples)) {
            let scale = scales.get(index).copied().unwrap_or_default();
            if let Some(slot) = shares.get_mut(index) {
                *slot = share * scale;
            }
        }
        shares
    }

    /// How many runs of a kernel a measured one stands for; 0 where nothing is known of it.
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
    use kymo_core::model::structure::ScopeId;

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
