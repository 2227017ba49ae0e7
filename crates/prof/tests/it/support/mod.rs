//! Measurements that are made up, and sinks that keep what comes of them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use kymo_core::{Error, Finding, Progress, Result};
use kymo_model::measurement::{
    Frame, IsWanted, KnownIds, MeasuredId, MeasuredMetric, MeasuredNode, MeasuredSample,
    MeasuredThread, MeasuredValue, MeasurementView, NodeNumbers, Samples,
};
use kymo_model::profile::{
    self, ContextNumber, FileId, Function, FunctionId, IdKind, Metric, MetricId, MetricScope,
    ModuleId, Node, Parts, ProfileSink, Relation, SinkValue, SummaryValue, Thread, ThreadId,
};
use kymo_model::structure::Structure;
use kymo_model::timeline::TimeNs;

/// What was recorded of a thread. A sample of each node stands for its trace, at the moment of its
/// number.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recorded {
    pub(crate) metrics: Vec<MeasuredMetric>,
    pub(crate) nodes: Vec<MeasuredNode>,
    pub(crate) values: Vec<MeasuredValue>,
    pub(crate) unlisted: Option<Finding>,
}

impl Recorded {
    /// A thread of some metrics, with the root of its tree.
    pub(crate) fn new(metrics: Vec<MeasuredMetric>) -> Self {
        let root = MeasuredNode { above: 0, frame: Frame::Root };
        Self { metrics, nodes: vec![root], ..Self::default() }
    }

    /// Adds a node below another, and tells its index.
    pub(crate) fn node(&mut self, above: u32, frame: Frame) -> u32 {
        self.nodes.push(MeasuredNode { above, frame });
        u32::try_from(self.nodes.len() - 1).unwrap()
    }

    pub(crate) fn value(&mut self, node: u32, metric: u32, value: f64) {
        self.values.push(MeasuredValue { node, metric, value });
    }
}

/// A metric whose values count where they were measured.
pub(crate) fn metric(name: &str) -> MeasuredMetric {
    let (is_of_call, counts, period, is_real) = (false, None, 1, true);
    MeasuredMetric { metric: Metric::named(name), is_of_call, counts, period, is_real }
}

/// Threads, numbered from `first` on. Those of which nothing was recorded cannot be read.
pub(crate) struct View {
    pub(crate) first: u64,
    pub(crate) modules: Vec<String>,
    pub(crate) threads: Vec<Option<Recorded>>,
}

impl View {
    pub(crate) fn new(modules: &[&str], threads: Vec<Recorded>) -> Self {
        let modules = modules.iter().map(ToString::to_string).collect();
        Self { first: 0, modules, threads: threads.into_iter().map(Some).collect() }
    }
}

impl MeasurementView for View {
    fn directory(&self) -> Option<PathBuf> {
        None
    }

    fn thread_count(&self) -> usize {
        self.threads.len()
    }

    fn name(&self, thread: usize) -> String {
        format!("thread {thread}")
    }

    fn file(&self, thread: usize) -> String {
        format!("thread {thread}.recorded")
    }

    fn program(&self, _thread: usize) -> Option<String> {
        None
    }

    fn ids(&self, thread: usize) -> Vec<MeasuredId> {
        let id = self.first + thread as u64;
        let kind = IdKind("THREAD".into());
        vec![MeasuredId { kind, physical: id, logical: id, given: KnownIds::Logical }]
    }

    fn size_bytes(&self, _thread: usize) -> u64 {
        0
    }

    fn modules(&self) -> Vec<String> {
        self.modules.clone()
    }

    fn thread(&self, thread: usize) -> Result<MeasuredThread> {
        let recorded = self.threads[thread].clone();
        let recorded = recorded.ok_or_else(|| Error::request("it is gone"))?;
        let count = u32::try_from(recorded.nodes.len()).unwrap();
        Ok(MeasuredThread {
            computed: Vec::new(),
            metrics: recorded.metrics,
            modules: self.modules.clone().into(),
            nodes: recorded.nodes,
            numbers: NodeNumbers::new(0..count),
            values: recorded.values,
            unlisted: recorded.unlisted,
            findings: Vec::new(),
        })
    }

    fn samples(&self, thread: usize) -> Result<Samples<'_>> {
        let count = self.threads[thread].as_ref().map_or(0, |recorded| recorded.nodes.len());
        let sample = |node: u32| {
            let time = TimeNs(node.into());
            MeasuredSample { time, node, is_of_call: node.is_multiple_of(3) }
        };
        Ok(Box::new((0..u32::try_from(count).unwrap()).map(sample)))
    }

    fn placeholder(&self, frame: Frame) -> String {
        format!("{frame:?}")
    }

    fn structure(
        &self,
        _is_wanted: &IsWanted<'_>,
        _progress: &dyn Progress,
    ) -> (Structure, Vec<Finding>) {
        (Structure::default(), Vec::new())
    }
}

/// Contexts from the entry in, each by a word and by how it hangs there: called, inlined or within.
pub(crate) type Path = Vec<(String, char)>;

/// What a path has, in each reach.
pub(crate) type ByPath = BTreeMap<Path, [f64; 4]>;

/// Keeps everything. Contexts that are listed nowhere have no path.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) metrics: Vec<Metric>,
    modules: Vec<String>,
    functions: Vec<Function>,
    pub(crate) contexts: BTreeMap<u64, (Option<u64>, Node)>,
    pub(crate) values: Vec<Vec<SinkValue>>,
    pub(crate) samples: Vec<Vec<(i64, Option<u64>)>>,
    pub(crate) summary: Vec<SummaryValue>,
    /// How many metrics it takes, if that is bounded.
    metrics_max: Option<usize>,
}

impl Kept {
    /// Takes no more metrics than so many.
    pub(crate) fn with_metrics(metrics_max: usize) -> Self {
        Self { metrics_max: Some(metrics_max), ..Self::default() }
    }

    pub(crate) fn path(&self, context: u64) -> Option<Path> {
        let (above, node) = self.contexts.get(&context)?;
        let mut path = above.map_or(Some(Vec::new()), |above| self.path(above))?;
        let line = node.source.map_or(0, |(_, line)| line);
        let word = match node.scope {
            profile::Scope::Loop => format!("loop {line}"),
            profile::Scope::Line => format!("line {line}"),
            profile::Scope::Instruction => {
                let (module, offset) = node.point?;
                format!("at {offset} of {}", self.modules[usize::try_from(module.0).unwrap()])
            }
            _ => match node.function {
                Some(function) => self.functions[usize::try_from(function.0).unwrap()].name.clone(),
                None => "unknown".to_owned(),
            },
        };
        let relation = match node.relation {
            Relation::Call => 'c',
            Relation::Inlined => 'i',
            Relation::Lexical => 'l',
        };
        path.push((word, relation));
        Some(path)
    }

    /// Values of a thread by path; what is listed nowhere, and the whole program, left out.
    pub(crate) fn by_path(&self, thread: usize, metric: u32) -> ByPath {
        let of_metric =
            self.values[thread].iter().filter(|value| value.column.metric == MetricId(metric));
        let mut found = ByPath::new();
        for value in of_metric {
            if let Some(path) = self.path(value.context.0) {
                found.entry(path).or_default()[place(value.column.reach)] += value.value;
            }
        }
        found
    }

    /// What a thread has of the whole program.
    pub(crate) fn whole(&self, thread: usize, metric: u32) -> f64 {
        let values = self.values[thread].iter();
        let of_whole = values.filter(|value| {
            value.context == ContextNumber(0) && value.column.metric == MetricId(metric)
        });
        of_whole.map(|value| value.value).sum()
    }
}

/// The place of a reach among all.
pub(crate) fn place(reach: MetricScope) -> usize {
    MetricScope::ALL.iter().position(|one| *one == reach).unwrap()
}

impl ProfileSink for Kept {
    fn metrics_max(&self) -> usize {
        self.metrics_max.unwrap_or(usize::MAX)
    }

    fn metric(&mut self, metric: &Metric) -> Result<MetricId> {
        self.metrics.push(metric.clone());
        Ok(MetricId(u32::try_from(self.metrics.len() - 1).unwrap()))
    }

    fn module(&mut self, path: &str) -> Result<ModuleId> {
        self.modules.push(path.to_owned());
        Ok(ModuleId(self.modules.len() as u64 - 1))
    }

    fn file(&mut self, _path: &str) -> Result<FileId> {
        Ok(FileId(0))
    }

    fn function(&mut self, function: &Function) -> Result<FunctionId> {
        self.functions.push(function.clone());
        Ok(FunctionId(self.functions.len() as u64 - 1))
    }

    fn context(
        &mut self,
        parent: Option<ContextNumber>,
        number: ContextNumber,
        node: &Node,
    ) -> Result<()> {
        let replaced = self.contexts.insert(number.0, (parent.map(|parent| parent.0), *node));
        assert!(replaced.is_none());
        Ok(())
    }

    fn threads(&mut self, threads: &[Thread]) -> Result<Vec<(ThreadId, String)>> {
        self.values.resize(threads.len(), Vec::new());
        self.samples.resize(threads.len(), Vec::new());
        Ok(Vec::new())
    }

    fn keep_only_threads(&mut self, threads: &[(ThreadId, Thread)]) -> Result<()> {
        let kept = || threads.iter().map(|(id, _)| id.0 as usize);
        self.values = kept().map(|thread| self.values[thread].clone()).collect();
        self.samples = kept().map(|thread| self.samples[thread].clone()).collect();
        Ok(())
    }

    fn values(
        &mut self,
        thread: ThreadId,
        values: &mut dyn Iterator<Item = Result<SinkValue>>,
    ) -> Result<()> {
        self.values[thread.0 as usize] = values.collect::<Result<_>>()?;
        Ok(())
    }

    fn samples(
        &mut self,
        thread: ThreadId,
        samples: &mut dyn Iterator<Item = Result<(TimeNs, Option<ContextNumber>)>>,
    ) -> Result<u64> {
        let kept = samples
            .map(|sample| sample.map(|(time, context)| (time.0, context.map(|context| context.0))));
        let kept = kept.collect::<Result<Vec<_>>>()?;
        let count = kept.len() as u64;
        self.samples[thread.0 as usize] = kept;
        Ok(count)
    }

    fn summary(&mut self, values: &dyn Parts<SummaryValue>) -> Result<()> {
        self.summary.clear();
        (0..values.count()).for_each(|part| {
            values.read_part(part, &mut |value| self.summary.push(value));
        });
        Ok(())
    }
}

/// Takes everything, and keeps how many values there were.
#[derive(Default)]
pub(crate) struct Counting(pub(crate) u64);

impl ProfileSink for Counting {
    fn metric(&mut self, _metric: &Metric) -> Result<MetricId> {
        Ok(MetricId(0))
    }

    fn module(&mut self, _path: &str) -> Result<ModuleId> {
        Ok(ModuleId(0))
    }

    fn file(&mut self, _path: &str) -> Result<FileId> {
        Ok(FileId(0))
    }

    fn function(&mut self, _function: &Function) -> Result<FunctionId> {
        Ok(FunctionId(0))
    }

    fn context(
        &mut self,
        _parent: Option<ContextNumber>,
        _number: ContextNumber,
        _node: &Node,
    ) -> Result<()> {
        Ok(())
    }

    fn threads(&mut self, _threads: &[Thread]) -> Result<Vec<(ThreadId, String)>> {
        Ok(Vec::new())
    }

    fn values(
        &mut self,
        _thread: ThreadId,
        values: &mut dyn Iterator<Item = Result<SinkValue>>,
    ) -> Result<()> {
        self.0 += values.count() as u64;
        Ok(())
    }

    fn samples(
        &mut self,
        _thread: ThreadId,
        samples: &mut dyn Iterator<Item = Result<(TimeNs, Option<ContextNumber>)>>,
    ) -> Result<u64> {
        Ok(samples.count() as u64)
    }
}
