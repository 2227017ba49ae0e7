//! The middle of the way: what was recorded of a thread gets its place in the merged tree.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use kymo_core::{Context, Error, Finding, Findings, Result, Severity, shortened};
use kymo_model::measurement::{
    Frame, MeasuredMetric, MeasuredNode, MeasuredThread, MeasurementView,
};
use kymo_model::profile::{ComputedMetric, Metric, MetricId, ThreadId};

use crate::Options;
use crate::links::Links;
use crate::lookup::{Lookup, Program};
use crate::names::{index, number};
use crate::placing::places;
use crate::propagation::SelfValue;
use crate::sharing::{Room, StrayValue};
use crate::summing::{PlacedNodes, PlacedThread};
use crate::threads::InputThread;
use crate::tree::Tree;

/// The modules of a thread, and their numbers.
struct Numbered {
    measurement: u32,
    paths: Arc<[String]>,
    numbers: Arc<[u32]>,
}

/// The merged tree, growing.
pub(crate) struct MergeState<'a> {
    views: &'a [Arc<dyn MeasurementView>],
    context: &'a Context<'a>,
    pub(crate) tree: Tree,
    pub(crate) lookup: Lookup<'a>,
    compat: bool,
    /// The modules of the thread before.
    modules: Option<Numbered>,
    /// By name and description.
    metrics: HashMap<(String, String), MetricId>,
    /// By number.
    known_metrics: Vec<MeasuredMetric>,
    /// Greatest number of metrics that there may be.
    metrics_max: usize,
    known_computed: HashMap<(String, String), ComputedMetric>,
    /// Room for ways through a GPU's code.
    room: Room,
    /// Links of the tree for those who add up.
    links: Arc<Links>,
    /// Threads that nothing was made of.
    pub(crate) left_out: Vec<ThreadId>,
    /// Files of threads that have metrics, and no value of any.
    pub(crate) without_values: Vec<String>,
    /// Of each measurement.
    findings: Vec<Findings>,
}

impl<'a> MergeState<'a> {
    pub(crate) fn new(
        views: &'a [Arc<dyn MeasurementView>],
        program: &'a Program<'a>,
        context: &'a Context<'a>,
        options: Options,
        metrics_max: usize,
    ) -> Self {
        Self {
            views,
            context,
            tree: Tree::new(context.limits.items_max),
            lookup: Lookup::new(program, options.compat, options.jobs, context.limits.items_max),
            compat: options.compat,
            modules: None,
            metrics: HashMap::new(),
            known_metrics: Vec::new(),
            metrics_max,
            known_computed: HashMap::new(),
            room: Room::new(context.limits.items_max),
            links: Arc::default(),
            left_out: Vec::new(),
            without_values: Vec::new(),
            findings: views.iter().map(|_| Findings::new(&context.limits)).collect(),
        }
    }

    /// Finds the contexts of a thread. Nothing is made of one that cannot be read, or is more than
    /// there is room for: it is left out.
    pub(crate) fn thread(
        &mut self,
        found: &InputThread,
        id: ThreadId,
        read: Result<MeasuredThread>,
    ) -> Option<PlacedNodes> {
        let read = read.map_err(|error| format!("it cannot be read, and is left out: {error}"));
        let before = self.tree.mark();
        let placed = read.and_then(|read| {
            let Some(read) = self.accepted(found, read) else { return Ok(None) };
            let placed = self.place(found, id, read).map(Some);
            placed.map_err(|error| format!("it is left out: {error}"))
        });
        let placed = placed.unwrap_or_else(|why| {
            self.tree.forget(before);
            self.lose(found, Severity::Error, "thread", why);
            None
        });
        if placed.is_none() {
            self.left_out.push(id);
        }
        self.report_progress(id);
        placed
    }

    /// Tells how far it is, once a thread has its place. The whole program is no context.
    fn report_progress(&self, id: ThreadId) {
        let contexts = self.tree.contexts().len().saturating_sub(1);
        let threads = || self.views.iter().map(|view| view.thread_count()).sum::<usize>();
        let note = || format!("{} of {} threads, {contexts} contexts", id.0 + 1, threads());
        self.context.progress.note(&note);
    }

    /// Keeps what is wrong with a thread; nothing of one that hpcprof leaves out, with `compat`.
    fn accepted(
        &mut self,
        found: &InputThread,
        mut read: MeasuredThread,
    ) -> Option<MeasuredThread> {
        self.find(found, std::mem::take(&mut read.findings));
        match read.unlisted.take() {
            Some(unlisted) if self.compat => {
                let message = "nodes are in modules that are not listed, and hpcprof leaves out \
                               such a thread";
                let (severity, message) = (Severity::Error, message.to_owned());
                self.find(found, [Finding { severity, message, ..unlisted }]);
                None
            }
            unlisted => {
                self.find(found, unlisted);
                Some(read)
            }
        }
    }

    fn place(
        &mut self,
        found: &InputThread,
        id: ThreadId,
        read: MeasuredThread,
    ) -> Result<PlacedNodes> {
        let view = found.view(self.views)?;
        let modules = self.modules(&read, found, view);
        self.tree.allow(read.nodes.len());
        let room = self.room.with_nodes(read.nodes.len());
        let Self { tree, lookup, .. } = self;
        let (places, mut strays) = places(tree, lookup, view, &read, &modules, room)?;
        let (metrics, new) = self.metrics(&read)?;
        let own = read.values.iter().filter_map(|value| {
            let place = places.get(index(value.node))?;
            let is_of_call = read.metrics.get(index(value.metric))?.is_of_call;
            let metric = (*metrics.get(index(value.metric))?)?;
            if let Some(stray) = strays.of_node.get(&value.node).copied() {
                strays.value(stray, StrayValue { metric, value: value.value, is_of_call });
                return None;
            }
            let context = if is_of_call { place.called } else { place.full };
            Some(SelfValue { context, metric, value: value.value })
        });
        let mut own = own.collect();
        let numbered: Vec<_> = read.metrics.iter().zip(metrics.iter().copied()).collect();
        let lost = strays.share(&mut own, &numbered, &mut self.tree, &self.lookup, self.compat)?;
        self.take_metrics(&read, &metrics, &new, found);
        let computed = self.computed(&read, &metrics, found);
        if let Some(why) = strays.omission_text() {
            self.lose(found, Severity::Warning, "gpu-ways", why);
        }
        if lost > 0 {
            let why = "instructions of a GPU are below kernels of which nothing else was measured, \
                       and hpcprof loses what was measured there";
            self.lose(found, Severity::Warning, "gpu-kernels", format!("{lost} {why}"));
        }
        self.room = strays.room;
        if self.links.count() < self.tree.contexts().len() {
            self.links = Arc::new(self.links.grown(self.tree.contexts()));
        }
        if read.values.is_empty() && !read.metrics.is_empty() {
            self.without_values.push(view.file(found.thread));
            self.report_lost_values(found, &read);
        }
        let items = read.nodes.len() as u64 + read.values.len() as u64;
        let (measurement, thread) = (found.measurement, found.thread);
        let metrics = new.into_iter().map(|measured| measured.metric).collect();
        let numbers = read.numbers;
        let thread = PlacedThread { id, measurement, thread, metrics, computed, numbers, places };
        Ok(PlacedNodes { own, links: Arc::clone(&self.links), thread, items })
    }

    /// Says of a thread without a value that they were lost, if so: each node of code is there because
    /// something was sampled, but on a GPU, where nodes may be there for a trace alone.
    fn report_lost_values(&mut self, found: &InputThread, read: &MeasuredThread) {
        let is_code = |node: &&MeasuredNode| matches!(node.frame, Frame::Code { .. });
        let count = read.nodes.iter().filter(is_code).count();
        if count > 0 && !found.is_of_gpu() {
            let why = "nodes of code, and no value of any metric: its values were lost before";
            let why = format!("it has {count} {why}, and it counts as nothing");
            self.lose(found, Severity::Warning, "no-values", why);
        }
    }

    /// Keeps what is wrong with a thread.
    fn find(&mut self, found: &InputThread, findings: impl IntoIterator<Item = Finding>) {
        if let Some(known) = self.findings.get_mut(index(found.measurement)) {
            known.extend(findings);
        }
    }

    /// Keeps what is lost of a thread.
    pub(crate) fn lose(
        &mut self,
        found: &InputThread,
        severity: Severity,
        rule: &'static str,
        why: String,
    ) {
        let file = found.view(self.views).ok().map(|view| view.file(found.thread));
        self.find(found, [Finding { file, ..Finding::for_whole_file(severity, rule, why) }]);
    }

    /// Keeps that some sums are too large.
    pub(crate) fn lose_sums(&mut self, count: u64) {
        let why = format!("{count} sums are larger than any number, and left out");
        if let Some(found) = self.findings.first_mut() {
            found.push(Finding::for_whole_file(Severity::Warning, "sum-overflow", why));
        }
    }

    /// Returns the findings about threads, with the number of the measurement.
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
        found: &InputThread,
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
            self.lookup.module(path, resolved.as_deref())
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
    /// formula has no values, and no number.
    fn metrics(
        &self,
        read: &MeasuredThread,
    ) -> Result<(Vec<Option<MetricId>>, Vec<MeasuredMetric>)> {
        let (mut numbers, mut new) = (Vec::new(), Vec::new());
        let mut numbers_of_new = HashMap::new();
        for measured in &read.metrics {
            let metric = &measured.metric;
            if metric.formula.is_some() {
                numbers.push(None);
                continue;
            }
            let next = MetricId(number(self.known_metrics.len() + new.len()));
            let known = self.metrics.get(&key(metric)).copied();
            let number =
                known.unwrap_or_else(|| *numbers_of_new.entry(key(metric)).or_insert(next));
            numbers.push(Some(number));
            if number == next {
                new.push(measured.clone());
            }
        }
        if self.known_metrics.len() + new.len() > self.metrics_max {
            return Err(Error::request("there are more metrics than can be numbered"));
        }
        Ok((numbers, new))
    }

    /// Keeps the metrics of a thread, and says which are taken otherwise than those before it.
    fn take_metrics(
        &mut self,
        read: &MeasuredThread,
        numbers: &[Option<MetricId>],
        new: &[MeasuredMetric],
        found: &InputThread,
    ) {
        let next = (number(self.known_metrics.len())..).map(MetricId);
        self.metrics.extend(new.iter().map(|measured| key(&measured.metric)).zip(next));
        self.known_metrics.extend_from_slice(new);
        for (measured, number) in read.metrics.iter().zip(numbers) {
            let known = number.and_then(|number| self.known_metrics.get(index(number.0)));
            if known.is_some_and(|known| known != measured) {
                self.differ(found, &measured.metric);
            }
        }
    }

    /// Returns the metrics that are computed from others, as far as they are new.
    fn computed(
        &mut self,
        read: &MeasuredThread,
        numbers: &[Option<MetricId>],
        found: &InputThread,
    ) -> Vec<ComputedMetric> {
        let number = |metric: MetricId| numbers.get(index(metric.0)).copied().flatten();
        let mut new = Vec::new();
        for computed in &read.computed {
            let Some(formula) = computed.formula.map_metrics(&number) else {
                let name = shortened(&computed.metric.name);
                let why = format!("{name} is computed of metrics without values, and left out");
                self.lose(found, Severity::Warning, "metric-formula", why);
                continue;
            };
            let place = computed.before.map_or(numbers.len(), |before| index(before.0));
            let before = numbers.get(place..).unwrap_or_default().iter().copied().flatten().next();
            let computed = ComputedMetric { formula, before, ..computed.clone() };
            match self.known_computed.entry(key(&computed.metric)) {
                Entry::Vacant(free) => {
                    free.insert(computed.clone());
                    new.push(computed);
                }
                Entry::Occupied(known) => {
                    // Where it is listed is no setting of it.
                    let same = ComputedMetric { before, ..known.get().clone() };
                    if same != computed {
                        self.differ(found, &computed.metric);
                    }
                }
            }
        }
        new
    }

    /// Says that a thread takes a metric otherwise than those before it.
    fn differ(&mut self, found: &InputThread, metric: &Metric) {
        let name = shortened(&metric.name);
        let why =
            format!("{name} has other settings than in threads before it, which count for it");
        self.lose(found, Severity::Warning, "metric-settings", why);
    }
}

/// Returns the key by which a metric is known.
fn key(metric: &Metric) -> (String, String) {
    (metric.name.clone(), metric.description.clone())
}
