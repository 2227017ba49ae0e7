//! Databases of any size, made by our writer a thread at a time.

use std::path::Path;

use anyhow::{Context, Result};
use kymo_core::Destination;
use kymo_hpcdb::Writer;
use kymo_model::profile::{
    Column, ContextNumber, FileId, Function, FunctionId, IdKind, IdPart, Metric, MetricId,
    MetricScope, Node, ProfileSink, Relation, Scope, SinkValue, Thread, ThreadId,
};
use kymo_model::timeline::TimeNs;

/// How many contexts hang below one.
const CHILDREN: u32 = 4;

/// How many files functions are in.
const FILES: u32 = 200;

/// When traces begin, and how far samples are apart.
const BEGIN_NS: i64 = 1_700_000_000_000_000_000;
const STEP_NS: i64 = 1_000_000;

/// How large a database is.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Shape {
    /// Contexts in the tree.
    #[arg(long, default_value = "10000")]
    pub(crate) contexts: u32,

    /// Threads, each with a profile; the summary is one more.
    #[arg(long, default_value = "32")]
    pub(crate) profiles: u32,

    /// Metrics that each thread has of each context.
    #[arg(long, default_value = "1")]
    pub(crate) metrics: u32,

    /// Functions, whatever calls them.
    #[arg(long, default_value = "5000")]
    pub(crate) functions: u32,

    /// Samples in the trace of each thread; none where it is 0.
    #[arg(long, default_value = "0")]
    pub(crate) samples: u32,
}

/// Makes a database unless it is there.
pub(crate) fn make(path: &Path, shape: Shape) -> Result<()> {
    if path.exists() {
        return Ok(());
    }
    let what = || format!("making {}", path.display());
    let mut writer = Writer::new(&Destination::new(path, false), "generated").with_context(what)?;
    let tree = Tree::new(shape.contexts, shape.functions);
    let metrics = (0..shape.metrics).map(name);
    let metrics = metrics.map(|name| writer.metric(&Metric::named(name)));
    let metrics = metrics.collect::<kymo_core::Result<Vec<_>>>().with_context(what)?;
    tree.write(&mut writer).with_context(what)?;
    let threads: Vec<_> = (0..shape.profiles).map(thread).collect();
    writer.threads(&threads).with_context(what)?;
    for id in (0..shape.profiles).map(ThreadId) {
        let values = metrics.iter().flat_map(|metric| tree.values(id, *metric));
        writer.values(id, &mut values.map(Ok)).with_context(what)?;
        if shape.samples > 0 {
            let sample = |index: u32| {
                let number = 1 + index.wrapping_mul(7919) % shape.contexts.max(1);
                let time = TimeNs(BEGIN_NS + i64::from(index) * STEP_NS);
                Ok((time, Some(ContextNumber(number.into()))))
            };
            writer.samples(id, &mut (0..shape.samples).map(sample)).with_context(what)?;
        }
    }
    writer.finish().with_context(what)
}

/// Hatchet wants a time to begin with.
fn name(metric: u32) -> String {
    if metric == 0 { "CPUTIME (sec)".to_owned() } else { format!("EVENT{metric}") }
}

fn thread(number: u32) -> Thread {
    let part = |kind: &'static str, logical: u32| {
        let kind = IdKind(kind.into());
        IdPart { kind, logical: logical.into(), physical: None }
    };
    Thread { ids: vec![part("RANK", number / 8), part("THREAD", number % 8)] }
}

/// A tree in which functions and lines take turns, numbered from 1, level by level.
struct Tree {
    /// How deep each context is; the first is the entry point.
    depths: Vec<u32>,
    functions: u32,
}

impl Tree {
    fn new(contexts: u32, functions: u32) -> Self {
        let mut depths: Vec<u32> = vec![0];
        for number in 2..=contexts.max(1) {
            let depth = depths.get(index(parent(number))).map_or(0, |depth| depth + 1);
            depths.push(depth);
        }
        Self { depths, functions: functions.max(1) }
    }

    fn numbers(&self) -> impl DoubleEndedIterator<Item = (u32, u32)> + '_ {
        self.depths.iter().enumerate().map(|(index, depth)| {
            (u32::try_from(index).unwrap_or(u32::MAX).saturating_add(1), *depth)
        })
    }

    fn write(&self, to: &mut Writer) -> kymo_core::Result<()> {
        let module = Some(to.module("/opt/generated")?);
        let files = (0..FILES).map(|file| to.file(&format!("/src/part{file}.c")));
        let files = files.collect::<kymo_core::Result<Vec<_>>>()?;
        let file_of = |number: u32| files.get(index(number % FILES + 1)).copied();
        let mut functions = Vec::new();
        for number in 0..self.functions {
            let (name, file) = (format!("function{number}"), file_of(number));
            let (offset, line) = (u64::from(number) * 64, number + 1);
            functions.push(to.function(&Function { name, module, offset, file, line })?);
        }
        let name = "main thread".to_owned();
        let entry = to.function(&Function { name, ..Function::default() })?;
        for (number, depth) in self.numbers() {
            let above = (number > 1).then(|| ContextNumber(parent(number).into()));
            let node = node(number, depth, entry, &functions, &files);
            to.context(above, ContextNumber(number.into()), &node)?;
        }
        Ok(())
    }

    /// What a thread has of each context: lines and leaves spent something themselves.
    fn values(&self, thread: ThreadId, metric: MetricId) -> impl Iterator<Item = SinkValue> {
        let mut own = vec![0.0; self.depths.len()];
        let mut function = own.clone();
        let mut execution = own.clone();
        for (number, depth) in self.numbers().rev() {
            let at = index(number);
            let spent = number.wrapping_mul(7).wrapping_add(thread.0 * 13 + metric.0) % 97;
            let is_line = depth > 0 && depth.is_multiple_of(2);
            let is_leaf = at.saturating_mul(4).saturating_add(1) >= self.depths.len();
            // Parts of 1024, so that sums are exact in any order.
            let spent = if is_line || is_leaf { f64::from(spent + 1) / 1024.0 } else { 0.0 };
            add(&mut own, at, spent);
            add(&mut function, at, spent);
            add(&mut execution, at, spent);
            if number > 1 {
                let above = index(parent(number));
                let whole = execution.get(at).copied().unwrap_or(0.0);
                add(&mut execution, above, whole);
                let within = function.get(at).copied().filter(|_| is_line).unwrap_or(0.0);
                add(&mut function, above, within);
            }
        }
        let whole = execution.first().copied().unwrap_or(0.0);
        let value = move |context: usize, reach, value| {
            let context = ContextNumber(context as u64);
            SinkValue { context, column: Column { metric, reach }, value }
        };
        let of_each = own.into_iter().zip(function).zip(execution).enumerate();
        let of_each = of_each.flat_map(move |(at, ((own, function), execution))| {
            let all = [
                (MetricScope::Point, own),
                (MetricScope::Function, function),
                (MetricScope::Lexical, function),
                (MetricScope::Execution, execution),
            ];
            let some = all.into_iter().filter(|(_, spent)| *spent != 0.0);
            some.map(move |(reach, spent)| value(at + 1, reach, spent))
        });
        std::iter::once(value(0, MetricScope::Execution, whole)).chain(of_each)
    }
}

fn node(
    number: u32,
    depth: u32,
    entry: FunctionId,
    functions: &[FunctionId],
    files: &[FileId],
) -> Node {
    let spread = number.wrapping_mul(2_654_435_761) >> 8;
    if depth == 0 {
        return Node { function: Some(entry), ..Node::new(Scope::Entry, Relation::Call) };
    }
    if !depth.is_multiple_of(2) {
        let place = usize::try_from(spread).unwrap_or(0) % functions.len().max(1);
        let function = functions.get(place).copied();
        return Node { function, ..Node::new(Scope::Function, Relation::Call) };
    }
    let file = files.get(index(spread % FILES + 1)).copied();
    let source = file.map(|file| (file, number % 2000 + 1));
    Node { source, ..Node::new(Scope::Line, Relation::Lexical) }
}

/// The context above another.
fn parent(number: u32) -> u32 {
    number.saturating_sub(2) / CHILDREN + 1
}

/// The place of what is numbered from 1.
fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1)
}

fn add(to: &mut [f64], at: usize, value: f64) {
    if let Some(to) = to.get_mut(at) {
        *to += value;
    }
}
