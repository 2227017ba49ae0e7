//! Made-up trees, merged and added up, compared with what a few obvious and slow lines make of them.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may fail loudly")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use kymo_core::model::measurement::{
    Frame, GivenIds, IsWanted, MeasuredId, MeasuredMetric, MeasuredNode, MeasuredSample,
    MeasuredThread, MeasuredValue, MeasurementView, Numbers, Samples,
};
use kymo_core::model::profile::{
    self, ContextNumber, FileId, Function, FunctionId, IdKind, Metric, MetricId, ModuleId, Node,
    ProfileSink, Reach, Relation, Statistic, SummaryValue, SunkValue, Thread, ThreadId,
};
use kymo_core::model::structure::{ModuleBuilder, Place, Scope, Structure};
use kymo_core::model::timeline::TimeNs;
use kymo_core::{Context, Finding, Result};
use kymo_prof::{Options, Program, Requested, merge};
use proptest::prelude::*;

/// A thread: for each node the one above it and an address, and values.
#[derive(Debug, Clone)]
struct Made {
    nodes: Vec<(usize, u64)>,
    values: Vec<(usize, u32)>,
}

/// Threads as they were made; node 0 is the root and node 1 where the program enters.
struct View(Vec<Made>);

impl MeasurementView for View {
    fn directory(&self) -> Option<PathBuf> {
        None
    }

    fn thread_count(&self) -> usize {
        self.0.len()
    }

    fn name(&self, thread: usize) -> String {
        thread.to_string()
    }

    fn program(&self, _thread: usize) -> Option<String> {
        None
    }

    fn ids(&self, thread: usize) -> Vec<MeasuredId> {
        let id = thread as u64;
        let kind = IdKind("THREAD".into());
        vec![MeasuredId { kind, physical: id, logical: id, given: GivenIds::Logical }]
    }

    fn size_bytes(&self, _thread: usize) -> u64 {
        0
    }

    fn modules(&self) -> Vec<String> {
        vec!["/app".to_owned()]
    }

    fn thread(&self, thread: usize) -> Result<MeasuredThread> {
        let made = &self.0[thread];
        let entries = [Frame::Root, Frame::MainEntry].into_iter().zip([0, 0]);
        let code = made.nodes.iter().enumerate().map(|(index, (above, offset))| {
            let frame = Frame::Code { module: 0, offset: *offset, is_called: true };
            (frame, 1 + above % (index + 1))
        });
        let nodes: Vec<_> = entries.chain(code).collect();
        let count = u32::try_from(nodes.len()).unwrap();
        let node = |(frame, above)| MeasuredNode { above: u32::try_from(above).unwrap(), frame };
        Ok(MeasuredThread {
            computed: Vec::new(),
            metrics: vec![MeasuredMetric {
                metric: Metric::named("time"),
                is_of_call: false,
                counts: None,
            }],
            modules: self.modules().into(),
            nodes: nodes.into_iter().map(node).collect(),
            numbers: Numbers::new(0..count),
            values: made.values.iter().map(|value| of_node(*value, made)).collect(),
            findings: Vec::new(),
        })
    }

    fn samples(&self, thread: usize) -> Result<Samples<'_>> {
        let count = u32::try_from(self.0[thread].nodes.len()).unwrap();
        Ok(Box::new((0..count).map(|node| {
            let time = TimeNs(node.into());
            MeasuredSample { time, node: node + 2, is_of_call: false }
        })))
    }

    fn placeholder(&self, _code: u64) -> String {
        String::new()
    }

    fn structure(&self, _is_wanted: &IsWanted<'_>) -> (Structure, Vec<Finding>) {
        (Structure::default(), Vec::new())
    }
}

fn of_node((node, value): (usize, u32), made: &Made) -> MeasuredValue {
    let node = u32::try_from(node % (made.nodes.len() + 1) + 1).unwrap();
    MeasuredValue { node, metric: 0, value: f64::from(value) }
}

/// Addresses 0 to 9: a function with two lines, the second in two loops; 10 to 19 another function;
/// of the others nothing is known.
fn structure() -> Structure {
    let mut module = ModuleBuilder::new("/app", &kymo_core::bytes::Limits::default());
    let file = module.file("a.c").unwrap();
    let at = |line| Place { file, line };
    let function = |name: &str, entry| Scope::Function {
        name: name.to_owned(),
        link_name: None,
        at: Some(at(1)),
        entry: Some(entry),
    };
    let f = module.scope(None, function("f", 0)).unwrap();
    let line = module.scope(Some(f), Scope::Line { at: at(2) }).unwrap();
    module.range(line, 0..3).unwrap();
    let outer = module.scope(Some(f), Scope::Loop { at: at(3), entry: Some(3) }).unwrap();
    let line = module.scope(Some(outer), Scope::Line { at: at(4) }).unwrap();
    module.range(line, 3..5).unwrap();
    let inner = module.scope(Some(outer), Scope::Loop { at: at(5), entry: Some(5) }).unwrap();
    let line = module.scope(Some(inner), Scope::Line { at: at(6) }).unwrap();
    module.range(line, 5..10).unwrap();
    let g = module.scope(None, function("g", 10)).unwrap();
    let line = module.scope(Some(g), Scope::Line { at: at(9) }).unwrap();
    module.range(line, 10..20).unwrap();
    let mut structure = Structure::default();
    structure.add(module.finish());
    structure
}

/// What is put below a call for an address: a word and how it hangs there, the address last.
fn chain(offset: u64) -> Vec<(String, char)> {
    let words: &[&str] = match offset {
        0..3 => &["f", "line 2"],
        3..5 => &["f", "loop 3", "line 4"],
        5..10 => &["f", "loop 3", "loop 5", "line 6"],
        10..20 => &["g", "line 9"],
        _ => &[],
    };
    let all = words.iter().map(|word| (*word).to_owned()).chain([format!("at {offset}")]);
    all.enumerate().map(|(index, word)| (word, if index == 0 { 'c' } else { 'l' })).collect()
}

type Path = Vec<(String, char)>;

/// Paths of nodes, of a thread.
fn paths(made: &Made) -> Vec<Path> {
    let mut paths = vec![vec![("main thread".to_owned(), 'c')]];
    for (index, (above, offset)) in made.nodes.iter().enumerate() {
        let mut path = paths[above % (index + 1)].clone();
        path.extend(chain(*offset));
        paths.push(path);
    }
    paths
}

/// What each path has, in each reach; of loops without what is in loops within them.
fn naive(made: &Made) -> BTreeMap<Path, [f64; 4]> {
    let paths = paths(made);
    let mut own: BTreeMap<Path, f64> = BTreeMap::new();
    for (node, value) in &made.values {
        *own.entry(paths[node % paths.len()].clone()).or_default() += f64::from(*value);
    }
    let mut sums: BTreeMap<Path, [f64; 4]> = BTreeMap::new();
    for (path, value) in &own {
        for length in 1..=path.len() {
            let below = &path[length..];
            let sums = sums.entry(path[..length].to_vec()).or_default();
            let is_within = below.iter().all(|(_, relation)| *relation == 'l');
            let is_loop = path[length - 1].0.starts_with("loop");
            let further = below.iter().any(|(word, _)| word.starts_with("loop"));
            sums[0] += if below.is_empty() { *value } else { 0.0 };
            sums[1] += if is_within { *value } else { 0.0 };
            sums[2] += if is_within && !(is_loop && further) { *value } else { 0.0 };
            sums[3] += value;
        }
    }
    sums
}

/// Keeps everything. Contexts that are listed nowhere have no path.
#[derive(Default)]
struct Kept {
    files: Vec<String>,
    functions: Vec<Function>,
    contexts: BTreeMap<u64, (Option<u64>, Node)>,
    values: Vec<Vec<SunkValue>>,
    samples: Vec<Vec<(i64, Option<u64>)>>,
    summary: Vec<SummaryValue>,
}

impl Kept {
    fn path(&self, context: u64) -> Option<Path> {
        let (above, node) = self.contexts.get(&context)?;
        let mut path = above.map_or(Some(Vec::new()), |above| self.path(above))?;
        let line = node.source.map_or(0, |(_, line)| line);
        let word = match node.scope {
            profile::Scope::Entry | profile::Scope::Function => {
                let function = usize::try_from(node.function?.0).unwrap();
                self.functions[function].name.clone()
            }
            profile::Scope::Loop => format!("loop {line}"),
            profile::Scope::Line => format!("line {line}"),
            _ => format!("at {}", node.point?.1),
        };
        let relation = if node.relation == Relation::Lexical { 'l' } else { 'c' };
        path.push((word, relation));
        Some(path)
    }
}

impl ProfileSink for Kept {
    fn metric(&mut self, _metric: &Metric) -> Result<MetricId> {
        Ok(MetricId(0))
    }

    fn module(&mut self, _path: &str) -> Result<ModuleId> {
        Ok(ModuleId(0))
    }

    fn file(&mut self, path: &str) -> Result<FileId> {
        self.files.push(path.to_owned());
        Ok(FileId(self.files.len() as u64 - 1))
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

    fn threads(&mut self, threads: &[Thread]) -> Result<()> {
        self.values.resize(threads.len(), Vec::new());
        self.samples.resize(threads.len(), Vec::new());
        Ok(())
    }

    fn values(
        &mut self,
        thread: ThreadId,
        values: &mut dyn Iterator<Item = Result<SunkValue>>,
    ) -> Result<()> {
        self.values[thread.0 as usize] = values.collect::<Result<_>>()?;
        Ok(())
    }

    fn samples(
        &mut self,
        thread: ThreadId,
        samples: &mut dyn Iterator<Item = Result<(TimeNs, Option<ContextNumber>)>>,
    ) -> Result<()> {
        let kept = samples
            .map(|sample| sample.map(|(time, context)| (time.0, context.map(|context| context.0))));
        self.samples[thread.0 as usize] = kept.collect::<Result<_>>()?;
        Ok(())
    }

    fn summary(&mut self, values: &mut dyn Iterator<Item = SummaryValue>) -> Result<()> {
        self.summary = values.collect();
        Ok(())
    }
}

fn merged(threads: &[Made], jobs: usize) -> Kept {
    let structure = structure();
    let program = Program { structure: &structure, symbols: None, sources: None };
    let views: [Arc<dyn MeasurementView>; 1] = [Arc::new(View(threads.to_vec()))];
    let options = Options { jobs, statistics: Requested::Extrema, ..Options::default() };
    let mut kept = Kept::default();
    merge(&views, &program, options, &mut kept, &Context::default()).unwrap();
    kept
}

/// Values by path; what is listed nowhere, and the whole program, left out.
fn by_path(kept: &Kept, thread: usize) -> BTreeMap<Path, [f64; 4]> {
    let mut found: BTreeMap<Path, [f64; 4]> = BTreeMap::new();
    for value in &kept.values[thread] {
        if let Some(path) = kept.path(value.context.0) {
            let reach = Reach::ALL.iter().position(|reach| *reach == value.column.reach).unwrap();
            found.entry(path).or_default()[reach] += value.value;
        }
    }
    found
}

/// A path is listed unless it ends with an address within a line. What was called from such an
/// address hangs below the line.
fn listed(path: &Path) -> Option<Path> {
    let is_elided = |(word, relation): &(String, char)| word.starts_with("at ") && *relation == 'l';
    if path.last().is_some_and(is_elided) {
        return None;
    }
    Some(path.iter().filter(|part| !is_elided(part)).cloned().collect())
}

fn made() -> impl Strategy<Value = Vec<Made>> {
    let nodes = prop::collection::vec((0_usize..40, 0_u64..25), 1..30);
    let values = prop::collection::vec((0_usize..40, 1_u32..100), 0..30);
    let thread = (nodes, values).prop_map(|(nodes, values)| Made { nodes, values });
    prop::collection::vec(thread, 1..5)
}

proptest! {
    #[test]
    fn values_and_samples_are_what_a_few_slow_lines_make_of_them(threads in made()) {
        let kept = merged(&threads, 1);
        let mut sums: BTreeMap<Path, [f64; 4]> = BTreeMap::new();
        for (index, made) in threads.iter().enumerate() {
            let mut expected: BTreeMap<Path, [f64; 4]> = BTreeMap::new();
            for (path, values) in naive(made) {
                let Some(path) = listed(&path) else { continue };
                let slots = expected.entry(path.clone()).or_default();
                slots.iter_mut().zip(values).for_each(|(slot, value)| *slot += value);
                let slots = sums.entry(path).or_default();
                slots.iter_mut().zip(values).for_each(|(slot, value)| *slot += value);
            }
            prop_assert_eq!(by_path(&kept, index), expected);
            let paths = paths(made);
            for (sample, path) in kept.samples[index].iter().zip(&paths[1..]) {
                let mut path = path.clone();
                if listed(&path).is_none() {
                    path.pop();
                }
                prop_assert_eq!(kept.path(sample.1.unwrap()), listed(&path));
            }
            prop_assert_eq!(kept.samples[index].len(), made.nodes.len());
        }
        let mut found: BTreeMap<Path, [f64; 4]> = BTreeMap::new();
        for value in kept.summary.iter().filter(|value| value.statistic == Statistic::Sum) {
            if let Some(path) = kept.path(value.context.0) {
                let at = Reach::ALL.iter().position(|reach| *reach == value.column.reach).unwrap();
                found.entry(path).or_default()[at] += value.value;
            }
        }
        prop_assert_eq!(found, sums);
    }

    #[test]
    fn two_processors_make_what_one_makes(threads in made()) {
        let (one, two) = (merged(&threads, 1), merged(&threads, 2));
        prop_assert_eq!(one.values, two.values);
        prop_assert_eq!(one.samples, two.samples);
        prop_assert_eq!(one.summary, two.summary);
        prop_assert_eq!(one.contexts, two.contexts);
    }
}

/// Takes everything and keeps nothing.
struct Counting(u64);

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

    fn threads(&mut self, _threads: &[Thread]) -> Result<()> {
        Ok(())
    }

    fn values(
        &mut self,
        _thread: ThreadId,
        values: &mut dyn Iterator<Item = Result<SunkValue>>,
    ) -> Result<()> {
        self.0 += values.count() as u64;
        Ok(())
    }

    fn samples(
        &mut self,
        _thread: ThreadId,
        samples: &mut dyn Iterator<Item = Result<(TimeNs, Option<ContextNumber>)>>,
    ) -> Result<()> {
        samples.for_each(drop);
        Ok(())
    }
}

#[test]
fn memory_grows_with_the_merged_tree_and_not_with_threads() {
    let peak = |threads: usize| {
        let nodes = (0..500).map(|index| (index / 2, index as u64 % 25)).collect();
        let values = (0..500).map(|index| (index, 1)).collect();
        let view = View(vec![Made { nodes, values }; threads]);
        let views: [Arc<dyn MeasurementView>; 1] = [Arc::new(view)];
        let structure = structure();
        let program = Program { structure: &structure, symbols: None, sources: None };
        let options = Options { jobs: 1, ..Options::default() };
        let mut sink = Counting(0);
        let used = allocation_counter::measure(|| {
            merge(&views, &program, options, &mut sink, &Context::default()).unwrap();
        });
        assert!(sink.0 > 500 * threads as u64);
        used.bytes_max
    };
    // What names threads has to be held, and nothing else of them.
    let (few, many) = (peak(2), peak(4096));
    assert!(many < few + 4096 * 1024, "{few} bytes for 2 threads, {many} for 4,096");
}
