//! The middle of the way: what was recorded of a thread gets its place in the merged tree.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kymo_core::model::measurement::{MeasuredThread, MeasurementView};
use kymo_core::model::profile::{Computed, Metric, MetricId, ThreadId};
use kymo_core::{Context, Error, Finding, Findings, Result};

use crate::Options;
use crate::links::Links;
use crate::lookup::{Lookup, Program};
use crate::names::index;
use crate::placing::places;
use crate::propagation::Own;
use crate::summing::{Placed, PlacedThread};
use crate::threads::Found;
use crate::tree::Tree;

/// The modules of a thread, and their numbers.
struct Numbered {
    measurement: u32,
    paths: Arc<[String]>,
    numbers: Arc<[u32]>,
}

/// The merged tree, growing.
pub(crate) struct Merging<'a> {
    views: &'a [Arc<dyn MeasurementView>],
    context: &'a Context<'a>,
    pub(crate) tree: Tree,
    pub(crate) lookup: Lookup<'a>,
    compat: bool,
    /// The modules of the thread before.
    modules: Option<Numbered>,
    /// By name and description.
    metrics: HashMap<(String, String), u32>,
    known_computed: HashSet<(String, String)>,
    /// What those who add up know of the tree.
    links: Arc<Links>,
    /// Of each measurement.
    findings: Vec<Findings>,
    /// About how many bytes were placed.
    done_bytes: u64,
}

impl<'a> Merging<'a> {
    pub(crate) fn new(
        views: &'a [Arc<dyn MeasurementView>],
        program: &'a Program<'a>,
        context: &'a Context<'a>,
        options: Options,
    ) -> Self {
        Self {
            views,
            context,
            tree: Tree::new(context.limits.items_max),
            lookup: Lookup::new(program, options.compat, options.jobs),
            compat: options.compat,
            modules: None,
            metrics: HashMap::new(),
            known_computed: HashSet::new(),
            links: Arc::default(),
            findings: views.iter().map(|_| Findings::new(&context.limits)).collect(),
            done_bytes: 0,
        }
    }

    /// Finds the contexts of a thread.
    pub(crate) fn thread(
        &mut self,
        found: &Found,
        id: ThreadId,
        mut read: MeasuredThread,
    ) -> Result<Placed> {
        self.context.progress.at(self.done_bytes);
        let contexts = self.tree.contexts().len();
        self.context.progress.note(&|| format!("{} threads, {contexts} contexts", id.0));
        self.done_bytes += found.size_bytes(self.views);
        let view = found.view(self.views)?;
        self.find(found, std::mem::take(&mut read.findings));
        let modules = self.modules(&read, found, view);
        let (metrics, new) = self.metrics(&read)?;
        let computed = self.computed(&read, &metrics);
        let (places, mut strays) = places(&mut self.tree, &mut self.lookup, view, &read, &modules)?;
        let own = read.values.iter().filter_map(|value| {
            let place = places.get(index(value.node))?;
            let is_of_call = read.metrics.get(index(value.metric))?.is_of_call;
            let metric = *metrics.get(index(value.metric))?;
            if let Some(stray) = strays.of_node.get(&value.node).copied() {
                strays.value(stray, metric, value.value);
                return None;
            }
            let context = if is_of_call { place.called } else { place.full };
            Some(Own { context, metric, value: value.value })
        });
        let mut own = own.collect();
        let metrics: Vec<_> = read.metrics.iter().zip(metrics).collect();
        self.find(found, strays.finding(&found.name));
        strays.share(&mut own, &metrics, &self.lookup, self.compat);
        if self.links.count() < self.tree.contexts().len() {
            self.links = Arc::new(self.links.grown(self.tree.contexts()));
        }
        let (measurement, thread) = (found.measurement, found.thread);
        let (metrics, numbers) = (new, read.numbers);
        let thread = PlacedThread { id, measurement, thread, metrics, computed, numbers, places };
        Ok(Placed { own, links: Arc::clone(&self.links), thread })
    }

    /// Keeps what is wrong with a thread.
    fn find(&mut self, found: &Found, findings: impl IntoIterator<Item = Finding>) {
        if let Some(known) = self.findings.get_mut(index(found.measurement)) {
            known.extend(findings);
        }
    }

    /// What is wrong with threads, with the number of the measurement.
    pub(crate) fn into_findings(self) -> Vec<(usize, Finding)> {
        let all = self.findings.into_iter().enumerate();
        let of_one = |(at, found): (usize, Findings)| {
            found.into_vec().into_iter().map(move |finding| (at, finding))
        };
        all.flat_map(of_one).collect()
    }

    /// The numbers of the modules of a thread.
    fn modules(
        &mut self,
        read: &MeasuredThread,
        found: &Found,
        view: &dyn MeasurementView,
    ) -> Arc<[u32]> {
        if let Some(before) = &self.modules
            && (before.measurement, &before.paths) == (found.measurement, &read.modules)
        {
            return Arc::clone(&before.numbers);
        }
        let directory = view.directory();
        let number = |path: &String| {
            let is_relative = std::path::Path::new(path).is_relative();
            let directory = directory.as_ref().filter(|_| is_relative);
            let resolved = directory.map(|at| at.join(path).to_string_lossy().into_owned());
            self.lookup.module(path, found.measurement, resolved.as_deref())
        };
        let numbers: Arc<[u32]> = read.modules.iter().map(number).collect();
        self.modules = Some(Numbered {
            measurement: found.measurement,
            paths: Arc::clone(&read.modules),
            numbers: Arc::clone(&numbers),
        });
        numbers
    }

    /// The numbers of the metrics of a thread, and those that are new. What is computed by a
    /// formula has no values, and none.
    fn metrics(&mut self, read: &MeasuredThread) -> Result<(Vec<u32>, Vec<Metric>)> {
        let (mut numbers, mut new) = (Vec::new(), Vec::new());
        for metric in &read.metrics {
            let metric = &metric.metric;
            if metric.formula.is_some() {
                numbers.push(u32::MAX);
                continue;
            }
            let next = u32::try_from(self.metrics.len());
            let next = next.map_err(|_| Error::request("there are too many metrics"))?;
            let key = (metric.name.clone(), metric.description.clone());
            let number = *self.metrics.entry(key).or_insert_with(|| {
                new.push(metric.clone());
                next
            });
            numbers.push(number);
        }
        Ok((numbers, new))
    }

    /// What is computed from metrics, as far as it is new.
    fn computed(&mut self, read: &MeasuredThread, numbers: &[u32]) -> Vec<Computed> {
        let number = |metric: MetricId| {
            let number = *numbers.get(index(metric.0))?;
            (number != u32::MAX).then_some(MetricId(number))
        };
        let mut new = Vec::new();
        for computed in &read.computed {
            let key = (computed.metric.name.clone(), computed.metric.description.clone());
            let after = numbers.get(index(computed.before.0)..).unwrap_or_default();
            let before = after.iter().copied().find(|number| *number != u32::MAX);
            let formula = computed.formula.with(&number);
            if let Some(formula) = formula.filter(|_| self.known_computed.insert(key)) {
                let before = MetricId(before.unwrap_or(u32::MAX));
                new.push(Computed { formula, before, ..computed.clone() });
            }
        }
        new
    }
}
