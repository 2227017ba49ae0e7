//! From measurements to a sink: threads are placed one after another, and added up meanwhile.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use kymo_core::ahead::{Wanted, beside};
use kymo_core::model::measurement::{MeasuredThread, MeasurementView};
use kymo_core::model::profile::{
    Computed, ContextNumber, FileId, Function, FunctionId, Metric, MetricId, ModuleId, Node,
    ProfileSink, Relation, Scope, ThreadId,
};
use kymo_core::{Context, Error, Finding, Findings, Result};

use crate::Options;
use crate::lookup::{Lookup, Program, Unnamed};
use crate::names::{Record, index};
use crate::placing::places;
use crate::propagation::{Link, Own};
use crate::summing::{Placed, Summing};
use crate::threads::{self, Found};
use crate::tree::{self, GLOBAL, Tree};

/// Threads that may wait to be added up.
const WAITING_MAX: usize = 2;

/// What was made.
#[derive(Debug, Clone, Default)]
pub struct Merged {
    /// How many threads there were.
    pub threads: u64,
    /// How many contexts the merged tree has, and how many of them are listed.
    pub contexts: u64,
    /// How many of them are listed: instructions within a line are not.
    pub listed: u64,
    /// How many values threads have.
    pub values: u64,
    /// How many samples threads have.
    pub samples: u64,
    /// Modules of which some addresses have no names.
    pub unnamed: Vec<Unnamed>,
    /// How long each part of the work took.
    pub phases: Vec<Phase>,
    /// What is wrong with threads, and what was passed over; with the number of the measurement.
    pub findings: Vec<(usize, Finding)>,
}

/// A part of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase {
    /// What was done.
    pub name: &'static str,
    /// How long it took.
    pub took: Duration,
}

/// Makes one profile of measurements.
///
/// # Errors
/// When a thread cannot be read, when there are more contexts than the limits allow, or when the
/// sink cannot take it.
pub fn merge(
    views: &[Arc<dyn MeasurementView>],
    program: &Program<'_>,
    options: Options,
    sink: &mut (dyn ProfileSink + Send),
    context: &Context<'_>,
) -> Result<Merged> {
    let found = threads::ordered(views);
    number_of_threads(&found)?;
    sink.statistics(options.statistics.statistics())?;
    sink.threads(&threads::named(&found))?;
    let mut merging = Merging::new(views, program, context, options);
    let began = Instant::now();
    let sizes = found.iter().map(|found| size_bytes(views, found));
    context.progress.begin("merging", sizes.sum());
    let mut summing = Summing::new(views, options, sink);
    if options.jobs > 1 && found.len() > 1 {
        merging.beside(&found, &mut summing)?;
    } else {
        for (found, id) in found.iter().zip((0..).map(ThreadId)) {
            summing.thread(merging.thread(found, id)?)?;
        }
    }
    summing.finish()?;
    let (values, samples) = (summing.value_count, summing.sample_count);
    context.progress.end();
    let merged = Phase { name: "merging", took: began.elapsed() };
    let began = Instant::now();
    let listed = merging.tell(sink)?;
    Ok(Merged {
        threads: found.len() as u64,
        contexts: merging.tree.contexts().len() as u64 - 1,
        listed,
        values,
        samples,
        unnamed: merging.lookup.unnamed().collect(),
        phases: vec![merged, Phase { name: "listing", took: began.elapsed() }],
        findings: merging.into_findings(),
    })
}

/// About how many bytes there are of a thread.
fn size_bytes(views: &[Arc<dyn MeasurementView>], found: &Found) -> u64 {
    let view = views.get(index(found.measurement));
    view.map_or(0, |view| view.size_bytes(found.thread))
}

fn number_of_threads(found: &[Found]) -> Result<()> {
    let many = |_| Error::request("there are more threads than can be numbered");
    u32::try_from(found.len()).map(drop).map_err(many)
}

/// The merged tree, growing.
struct Merging<'a> {
    views: &'a [Arc<dyn MeasurementView>],
    context: &'a Context<'a>,
    tree: Tree,
    lookup: Lookup<'a>,
    compat: bool,
    /// By name and description.
    metrics: HashMap<(String, String), u32>,
    known_computed: HashSet<(String, String)>,
    /// How many contexts were told to the second half of the way.
    told: usize,
    /// Of each measurement.
    findings: Vec<Findings>,
    /// About how many bytes were read.
    done_bytes: u64,
}

impl<'a> Merging<'a> {
    fn new(
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
            metrics: HashMap::new(),
            known_computed: HashSet::new(),
            told: 0,
            findings: views.iter().map(|_| Findings::new(&context.limits)).collect(),
            done_bytes: 0,
        }
    }

    /// Places threads on this thread while another adds them up.
    fn beside(&mut self, found: &[Found], summing: &mut Summing<'_>) -> Result<()> {
        let (sender, receive): (SyncSender<Placed>, Receiver<Placed>) = sync_channel(WAITING_MAX);
        let job =
            move |_: Wanted<'_>| receive.into_iter().try_for_each(|placed| summing.thread(placed));
        beside([job], |mut jobs| {
            let mut placed = Ok(());
            for (found, id) in found.iter().zip((0..).map(ThreadId)) {
                // Where nobody takes them any more, the other thread knows why.
                let sent = self.thread(found, id).map(|thread| sender.send(thread).is_ok());
                if !matches!(sent, Ok(true)) {
                    placed = sent.map(drop);
                    break;
                }
            }
            drop(sender);
            let summed = jobs.pop().and_then(kymo_core::ahead::Job::wait);
            let ended = || Err(Error::request("the thread that adds up values has ended early"));
            placed.and(summed.unwrap_or_else(ended))
        })
    }

    /// Reads a thread and finds its contexts.
    fn thread(&mut self, found: &Found, id: ThreadId) -> Result<Placed> {
        self.context.progress.at(self.done_bytes);
        let contexts = self.tree.contexts().len();
        self.context.progress.note(&|| format!("{} threads, {contexts} contexts", id.0));
        self.done_bytes += size_bytes(self.views, found);
        let view = self.views.get(index(found.measurement));
        let view = view.ok_or_else(|| Error::request("a thread is of no measurement"))?;
        let mut read = view.thread(found.thread)?;
        if let Some(findings) = self.findings.get_mut(index(found.measurement)) {
            findings.extend(std::mem::take(&mut read.findings));
        }
        let modules = self.modules(&read, found, view.as_ref());
        let (metrics, new) = self.metrics(&read)?;
        let computed = self.computed(&read, &metrics);
        let (places, mut strays) =
            places(&mut self.tree, &mut self.lookup, view.as_ref(), &read, &modules)?;
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
        if let Some(findings) = self.findings.get_mut(index(found.measurement)) {
            findings.extend(strays.finding(&found.name));
        }
        strays.share(&mut own, &metrics, &self.lookup, self.compat);
        let contexts = self.tree.contexts();
        let links = contexts.get(self.told..).unwrap_or_default().iter().map(Link::of).collect();
        self.told = contexts.len();
        Ok(Placed {
            id,
            measurement: found.measurement,
            thread: found.thread,
            links,
            metrics: new,
            computed,
            own,
            numbers: read.numbers,
            places,
        })
    }

    fn into_findings(self) -> Vec<(usize, Finding)> {
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
    ) -> Vec<u32> {
        let directory = view.directory();
        let number = |path: &String| {
            let is_relative = std::path::Path::new(path).is_relative();
            let directory = directory.as_ref().filter(|_| is_relative);
            let resolved = directory.map(|at| at.join(path).to_string_lossy().into_owned());
            self.lookup.module(path, found.measurement, resolved.as_deref())
        };
        read.modules.iter().map(number).collect()
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

    /// The modules that something is in. Programs load many more.
    fn used_modules(&self) -> HashSet<u32> {
        let names = &self.lookup.names;
        let of_functions = names.functions.iter().filter_map(|function| function.module);
        let entries = names.loops.items().iter().filter_map(|found| found.entry);
        let points = self.lookup.points().iter();
        let others = entries.map(|(module, _)| module).chain(points.map(|(module, _)| *module));
        of_functions.chain(others).collect()
    }

    /// Hands names and contexts to the sink, and tells how many contexts are listed.
    fn tell(&self, sink: &mut dyn ProfileSink) -> Result<u64> {
        let names = &self.lookup.names;
        let mut told = Told::default();
        let used = self.used_modules();
        for ((path, _), number) in names.modules.items().iter().zip(0..) {
            let is_used = used.contains(&number);
            told.modules.push(is_used.then(|| sink.module(path)).transpose()?);
        }
        for path in names.files.items() {
            let file = sink.file(path)?;
            if let Some(mut text) = self.lookup.known.sources.and_then(|open| open(path)) {
                sink.source(file, &mut text)?;
            }
            told.files.push(file);
        }
        for record in &names.functions {
            let function = sink.function(&told.function(record))?;
            told.functions.push((function, record.is_placeholder));
        }
        let mut listed = 0;
        for (context, id) in self.tree.contexts().iter().zip(0_u32..).skip(1) {
            if context.key.is_elided() {
                continue;
            }
            let parent = self.tree.listed(context.parent);
            let parent = (parent != GLOBAL).then_some(ContextNumber(parent.into()));
            let node = told.node(&self.lookup, context.key, sink)?;
            sink.context(parent, ContextNumber(id.into()), &node)?;
            listed += 1;
        }
        Ok(listed)
    }
}

/// What the sink calls things, by our numbers.
#[derive(Default)]
struct Told {
    /// Nothing where no context is in them.
    modules: Vec<Option<ModuleId>>,
    files: Vec<FileId>,
    functions: Vec<(FunctionId, bool)>,
}

impl Told {
    fn module(&self, number: u32) -> Option<ModuleId> {
        self.modules.get(index(number)).copied().flatten()
    }

    fn file(&self, number: u32) -> Option<FileId> {
        self.files.get(index(number)).copied()
    }

    fn function(&self, record: &Record) -> Function {
        Function {
            name: record.name.clone(),
            module: record.module.and_then(|module| self.module(module)),
            offset: record.entry,
            file: record.file.and_then(|file| self.file(file)),
            line: record.line,
        }
    }

    fn node(
        &self,
        lookup: &Lookup<'_>,
        key: tree::Key,
        sink: &mut dyn ProfileSink,
    ) -> Result<Node> {
        let bare = |scope| Node::new(scope, key.relation);
        let source = |file, line| self.file(file).map(|file| (file, line));
        Ok(match key.scope {
            tree::Scope::Global | tree::Scope::Unknown => bare(Scope::Function),
            tree::Scope::Entry(entry) => {
                let name = entry.name().to_owned();
                let function = sink.function(&Function { name, ..Function::default() })?;
                Node { function: Some(function), ..Node::new(Scope::Entry, Relation::Call) }
            }
            tree::Scope::Function(function) => {
                let found = self.functions.get(index(function)).copied();
                let is_placeholder = found.is_some_and(|(_, is_placeholder)| is_placeholder);
                let scope = if is_placeholder { Scope::Placeholder } else { Scope::Function };
                Node { function: found.map(|(id, _)| id), ..bare(scope) }
            }
            tree::Scope::Loop(number) => {
                let found = lookup.names.loops.items().get(index(number));
                let entry = found.and_then(|found| found.entry);
                let point = entry.and_then(|(module, at)| Some((self.module(module)?, at)));
                let source = found.and_then(|found| source(found.file?, found.line));
                Node { source, point, ..bare(Scope::Loop) }
            }
            tree::Scope::Line { file, line } => {
                Node { source: source(file, line), ..bare(Scope::Line) }
            }
            tree::Scope::Point(point) => {
                let found = lookup.points().get(index(point)).copied();
                let point = found.and_then(|(module, at)| Some((self.module(module)?, at)));
                Node { point, ..bare(Scope::Instruction) }
            }
        })
    }
}
