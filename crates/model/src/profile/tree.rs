//! A tree of contexts in memory, with what each thread measured.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use super::{
    Column, Context, ContextId, ContextNumber, ContextValue, FileId, Function, FunctionId, Metric,
    MetricId, MetricScope, ModuleId, ProfileView, Relation, Scope, Siblings, Thread, ThreadId,
    ThreadSet, ThreadValue, Values,
};
use kymo_core::{Error, Invariant as _, Result};

/// Stands for no context.
pub(super) const NONE: u32 = u32::MAX;

/// Number of columns of sums that are kept for the next question.
const KEPT_COLUMNS: usize = 8;

/// Description of a context, apart from its place in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Node {
    /// Kind of the context.
    pub scope: Scope,
    /// Relation to the context above.
    pub relation: Relation,
    /// The function, or what an entry point or a placeholder is called.
    pub function: Option<FunctionId>,
    /// The file and the line.
    pub source: Option<(FileId, u32)>,
    /// The module and the offset in it.
    pub point: Option<(ModuleId, u64)>,
}

impl Node {
    /// One of which no more is known.
    #[must_use]
    pub fn new(scope: Scope, relation: Relation) -> Self {
        Self { scope, relation, function: None, source: None, point: None }
    }
}

/// A context as it is kept: parents before their children. There may be many millions, so that
/// what is not known is a number that stands for nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoredContext {
    offset: u64,
    parent: u32,
    first_child: u32,
    next_sibling: u32,
    function: u32,
    file: u32,
    line: u32,
    module: u32,
    scope: Scope,
    relation: Relation,
}

impl StoredContext {
    /// Nothing where what it names has a number that is too large.
    pub(super) fn new(parent: u32, node: Node) -> Option<Self> {
        let number = |id: Option<u64>| match id {
            None => Some(NONE),
            Some(id) => u32::try_from(id).ok().filter(|id| *id != NONE),
        };
        let Node { scope, relation, function, source, point } = node;
        Some(Self {
            offset: point.map_or(0, |(_, offset)| offset),
            parent,
            first_child: NONE,
            next_sibling: NONE,
            function: number(function.map(|function| function.0))?,
            file: number(source.map(|(file, _)| file.0))?,
            line: source.map_or(0, |(_, line)| line),
            module: number(point.map(|(module, _)| module.0))?,
            scope,
            relation,
        })
    }

    /// All that tells it from others.
    pub(super) fn key(&self) -> [u64; 4] {
        let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let kind = (self.scope as u32) << 8 | self.relation as u32;
        let (above, source) = (pair(self.parent, self.function), pair(self.file, self.line));
        [self.offset, above, source, pair(self.module, kind)]
    }

    fn node(&self) -> Node {
        let id = |number: u32| Some(u64::from(number)).filter(|_| number != NONE);
        Node {
            scope: self.scope,
            relation: self.relation,
            function: id(self.function).map(FunctionId),
            source: id(self.file).map(|file| (FileId(file), self.line)),
            point: id(self.module).map(|module| (ModuleId(module), self.offset)),
        }
    }
}

/// Values that a thread measured of a metric at the very contexts.
#[derive(Debug)]
pub(super) struct SelfValue {
    pub(super) metric: MetricId,
    contexts: Vec<u32>,
    values: Vec<f64>,
}

impl SelfValue {
    pub(super) fn new(metric: MetricId) -> Self {
        Self { metric, contexts: Vec::new(), values: Vec::new() }
    }

    pub(super) fn add(&mut self, context: u32, value: f64) {
        self.contexts.push(context);
        self.values.push(value);
    }

    /// Sorts by context, and adds up what has the same.
    pub(super) fn sum(&mut self) {
        if !self.contexts.is_sorted_by(|one, next| one < next) {
            let mut pairs: Vec<_> = self.iter().collect();
            pairs.sort_by_key(|(context, _)| *context);
            pairs.dedup_by(|(next, value), (kept, sum)| {
                let is_same = next == kept;
                if is_same {
                    *sum += *value;
                }
                is_same
            });
            (self.contexts, self.values) = pairs.into_iter().unzip();
        }
        self.contexts.shrink_to_fit();
        self.values.shrink_to_fit();
    }

    fn iter(&self) -> impl Iterator<Item = (u32, f64)> {
        self.contexts.iter().copied().zip(self.values.iter().copied())
    }
}

/// A profile in memory, made by [`CallTreeBuilder`](super::CallTreeBuilder).
///
/// What a function or the program spent is summed up when it is asked for, a column at a time.
#[derive(Debug)]
pub struct CallTree {
    metrics: Vec<Metric>,
    threads: Vec<Thread>,
    /// For each thread, by metric and then by context.
    own: Vec<Vec<SelfValue>>,
    functions: Vec<Function>,
    files: Vec<String>,
    modules: Vec<String>,
    nodes: Vec<StoredContext>,
    first_root: u32,
    /// Threads that values of were lost.
    pub(super) incomplete: ThreadSet,
    pub(super) remarks: Vec<String>,
    pub(super) doubts: Vec<String>,
    kept: Mutex<Vec<CachedSums>>,
}

#[derive(Debug)]
struct CachedSums {
    column: Column,
    threads: Option<ThreadSet>,
    sums: Arc<Vec<f64>>,
}

impl CallTree {
    pub(super) fn new(
        metrics: Vec<Metric>,
        threads: Vec<Thread>,
        own: Vec<Vec<SelfValue>>,
        functions: Vec<Function>,
        files: Vec<String>,
        modules: Vec<String>,
        nodes: Vec<StoredContext>,
    ) -> Self {
        let mut tree = Self {
            metrics,
            threads,
            own,
            functions,
            files,
            modules,
            nodes,
            first_root: NONE,
            incomplete: ThreadSet::default(),
            remarks: Vec::new(),
            doubts: Vec::new(),
            kept: Mutex::default(),
        };
        tree.link();
        tree
    }

    /// Links children and siblings, in the order they were made.
    fn link(&mut self) {
        // From the last to the first, each is put before its later siblings.
        for index in (0..self.nodes.len()).rev() {
            let Some(parent) = self.nodes.get(index).map(|node| node.parent) else { continue };
            let this = u32::try_from(index).unwrap_or(NONE);
            let first = match self.nodes.get_mut(as_index(parent)) {
                Some(parent) => &mut parent.first_child,
                None => &mut self.first_root,
            };
            let later = std::mem::replace(first, this);
            if let Some(node) = self.nodes.get_mut(index) {
                node.next_sibling = later;
            }
        }
    }

    /// Returns the values of contexts in one column, for all threads or for some.
    fn column(&self, column: Column, threads: Option<&ThreadSet>) -> Arc<Vec<f64>> {
        // What is kept stays right whoever panicked meanwhile.
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |kept: &&CachedSums| kept.column == column && kept.threads.as_ref() == threads;
        if let Some(known) = kept.iter().find(is_it) {
            return Arc::clone(&known.sums);
        }
        let sums = Arc::new(self.reaching(self.self_sums(column.metric, threads), column.reach));
        if kept.len() >= KEPT_COLUMNS {
            kept.remove(0);
        }
        kept.push(CachedSums { column, threads: threads.cloned(), sums: Arc::clone(&sums) });
        sums
    }

    fn self_sums(&self, metric: MetricId, threads: Option<&ThreadSet>) -> Vec<f64> {
        let mut sums = vec![0.0; self.nodes.len()];
        for (id, own) in (0..).map(ThreadId).zip(&self.own) {
            if threads.is_some_and(|threads| !threads.contains(id)) {
                continue;
            }
            for (context, value) in
                own.iter().filter(|own| own.metric == metric).flat_map(SelfValue::iter)
            {
                if let Some(sum) = sums.get_mut(as_index(context)) {
                    *sum += value;
                }
            }
        }
        sums
    }

    /// Adds to each context what reaches it from below.
    fn reaching(&self, own: Vec<f64>, reach: MetricScope) -> Vec<f64> {
        match reach {
            MetricScope::Point => own,
            MetricScope::Execution => self.raised(own, |_| true),
            MetricScope::Function => self.raised(own, is_lexical),
            MetricScope::Lexical => {
                let function = self.raised(own.clone(), is_lexical);
                let without_loops =
                    self.raised(own, |node| is_lexical(node) && node.scope != Scope::Loop);
                let both = function.into_iter().zip(without_loops).zip(&self.nodes);
                let is_loop = |stored: &StoredContext| stored.scope == Scope::Loop;
                both.map(|((all, less), node)| if is_loop(node) { less } else { all }).collect()
            }
        }
    }

    fn raised(
        &self,
        mut sums: Vec<f64>,
        reaches_parent: impl Fn(&StoredContext) -> bool,
    ) -> Vec<f64> {
        // Children stand behind their parents, so one pass from the end will do.
        for (index, stored) in self.nodes.iter().enumerate().rev() {
            let value = sums.get(index).copied().unwrap_or(0.0);
            if value != 0.0
                && reaches_parent(stored)
                && let Some(above) = sums.get_mut(as_index(stored.parent))
            {
                *above += value;
            }
        }
        sums
    }

    /// Finds the contexts that reach one, in each scope. The context itself is among them.
    fn reaching_one(&self, one: ContextId) -> Vec<[bool; 4]> {
        let mut marks: Vec<[bool; 4]> = vec![[false; 4]; self.nodes.len()];
        let is_loop = self.stored(one).is_ok_and(|stored| stored.scope == Scope::Loop);
        for (index, stored) in self.nodes.iter().enumerate() {
            let above = marks.get(as_index(stored.parent)).copied().unwrap_or_default();
            let [_, function, lexical, execution] = above;
            let inside = is_lexical(stored);
            let no_loop = !is_loop || stored.scope != Scope::Loop;
            let mark = if index as u64 == one.0 {
                [true; 4]
            } else {
                [false, function && inside, lexical && inside && no_loop, execution]
            };
            if let Some(slot) = marks.get_mut(index) {
                *slot = mark;
            }
        }
        marks
    }

    fn stored(&self, id: ContextId) -> Result<&StoredContext> {
        let stored = usize::try_from(id.0).ok().and_then(|index| self.nodes.get(index));
        stored.ok_or_else(|| Error::Request(format!("there is no context {}", id.0)))
    }

    fn siblings(&self, first: u32) -> Siblings {
        Siblings { next: first.into(), end: self.nodes.len() as u64 }
    }
}

fn is_lexical(node: &StoredContext) -> bool {
    node.relation == Relation::Lexical
}

pub(super) fn as_index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn item<'a, T>(items: &'a [T], id: u64, what: &str) -> Result<&'a T> {
    let found = usize::try_from(id).ok().and_then(|index| items.get(index));
    found.ok_or_else(|| Error::Request(format!("there is no {what} {id}")))
}

impl ProfileView for CallTree {
    fn metrics(&self) -> Vec<Metric> {
        self.metrics.clone()
    }

    fn thread_count(&self) -> usize {
        self.threads.len()
    }

    fn thread(&self, id: ThreadId) -> Result<Thread> {
        item(&self.threads, id.0.into(), "thread").cloned()
    }

    fn is_incomplete(&self, thread: ThreadId) -> bool {
        self.incomplete.contains(thread)
    }

    fn remarks(&self) -> Vec<String> {
        self.remarks.clone()
    }

    fn caveats(&self) -> Vec<String> {
        self.doubts.clone()
    }

    fn contexts_max(&self) -> u64 {
        self.nodes.len() as u64
    }

    fn roots(&self, to: &mut Vec<ContextId>) -> Result<()> {
        let mut roots = self.siblings(self.first_root);
        while let Some(root) = self.next_sibling(&mut roots)? {
            to.push(root);
        }
        Ok(())
    }

    fn children(&self, context_id: ContextId) -> Result<Siblings> {
        Ok(self.siblings(self.stored(context_id)?.first_child))
    }

    fn next_sibling(&self, siblings: &mut Siblings) -> Result<Option<ContextId>> {
        if siblings.is_empty() {
            return Ok(None);
        }
        let next = ContextId(siblings.next);
        *siblings = self.siblings(self.stored(next)?.next_sibling);
        Ok(Some(next))
    }

    fn context(&self, id: ContextId) -> Result<Context> {
        let Node { scope, relation, function, source, point } = self.stored(id)?.node();
        let number = ContextNumber(id.0);
        Ok(Context { id, number, scope, relation, function, source, point })
    }

    fn find(&self, number: ContextNumber) -> Result<Option<ContextId>> {
        let id = ContextId(number.0);
        Ok(self.stored(id).is_ok().then_some(id))
    }

    fn function(&self, id: FunctionId) -> Result<Function> {
        item(&self.functions, id.0, "function").cloned()
    }

    fn function_name(&self, id: FunctionId) -> Result<Cow<'_, str>> {
        Ok(item(&self.functions, id.0, "function")?.name.as_str().into())
    }

    fn file(&self, id: FileId) -> Result<String> {
        item(&self.files, id.0, "file").cloned()
    }

    fn module(&self, id: ModuleId) -> Result<String> {
        item(&self.modules, id.0, "module").cloned()
    }

    fn sums(
        &self,
        context: &Context,
        columns: &[Column],
        threads: Option<&ThreadSet>,
        to: &mut [f64],
    ) -> Result<()> {
        let index = usize::try_from(context.id.0).unwrap_or(usize::MAX);
        for (column, to) in columns.iter().zip(to) {
            let sums = self.column(*column, threads);
            *to = sums.get(index).copied().or_broken("a column has no sum of a context")?;
        }
        Ok(())
    }

    /// One way through the tree and the values, however many contexts there are.
    fn add_inclusive(&self, metric: MetricId, contexts: &[Context], to: &mut [f64]) -> Result<()> {
        let mut is_within = vec![false; self.nodes.len()];
        for context in contexts {
            let index = usize::try_from(context.id.0).unwrap_or(usize::MAX);
            if let Some(mark) = is_within.get_mut(index) {
                *mark = true;
            }
        }
        for (index, stored) in self.nodes.iter().enumerate() {
            let above = is_within.get(as_index(stored.parent)).copied().unwrap_or(false);
            if let (true, Some(mark)) = (above, is_within.get_mut(index)) {
                *mark = true;
            }
        }
        for (own, to) in self.own.iter().zip(to) {
            let own = own.iter().filter(|own| own.metric == metric).flat_map(SelfValue::iter);
            let counts = |(context, _): &(u32, f64)| {
                is_within.get(as_index(*context)).copied().unwrap_or(false)
            };
            *to += own.filter(counts).map(|(_, value)| value).sum::<f64>();
        }
        Ok(())
    }

    fn totals(&self, threads: Option<&ThreadSet>) -> Result<Vec<f64>> {
        let mut totals = vec![0.0; self.metrics.len()];
        let meant = (0..).map(ThreadId).zip(&self.own);
        let meant = meant.filter(|(id, _)| threads.is_none_or(|threads| threads.contains(*id)));
        for own in meant.flat_map(|(_, own)| own) {
            let total = totals.get_mut(as_index(own.metric.0));
            let total = total.or_broken("a value is of a metric that is not in the list")?;
            own.values.iter().for_each(|value| *total += value);
        }
        Ok(totals)
    }

    fn context_values(&self, context: &Context) -> Result<Values<'_, ThreadValue>> {
        let marks = self.reaching_one(context.id);
        let metrics = (0..).map(MetricId).take(self.metrics.len());
        let columns: Vec<Column> = metrics
            .flat_map(|metric| MetricScope::ALL.map(|reach| Column { metric, reach }))
            .collect();
        let values = (0..).map(ThreadId).zip(&self.own).flat_map(move |(thread, own)| {
            let mut sums = vec![0.0; columns.len()];
            let all = own.iter().flat_map(|own| own.iter().map(|value| (own.metric, value)));
            for (metric, (context, value)) in all {
                let marks = marks.get(as_index(context)).copied().unwrap_or_default();
                let first = as_index(metric.0).saturating_mul(marks.len());
                let sums = sums.iter_mut().skip(first);
                sums.zip(marks).filter(|(_, mark)| *mark).for_each(|(sum, _)| *sum += value);
            }
            let values = columns.iter().copied().zip(sums).filter(|(_, value)| *value != 0.0);
            let values = values.map(|(column, value)| Ok(ThreadValue { thread, column, value }));
            values.collect::<Vec<_>>()
        });
        Ok(Box::new(values))
    }

    fn thread_values(&self, thread: ThreadId) -> Result<Values<'_, ContextValue>> {
        self.thread(thread)?;
        let only: ThreadSet = std::iter::once(thread).collect();
        let metrics = (0..).map(MetricId).take(self.metrics.len());
        let columns =
            metrics.flat_map(|metric| MetricScope::ALL.map(|reach| Column { metric, reach }));
        let values = columns.flat_map(move |column| {
            let sums = self.reaching(self.self_sums(column.metric, Some(&only)), column.reach);
            let values = (0..).map(ContextNumber).zip(sums).filter(|(_, value)| *value != 0.0);
            values.map(move |(context, value)| Ok(ContextValue { context, column, value }))
        });
        Ok(Box::new(values))
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    fn sums(tree: &CallTree, id: u64, threads: Option<&ThreadSet>) -> Vec<f64> {
        let columns = MetricScope::ALL.map(|reach| Column { metric: MetricId(0), reach });
        let mut sums = vec![0.0; 4];
        let context = tree.context(ContextId(id)).unwrap();
        tree.sums(&context, &columns, threads, &mut sums).unwrap();
        sums
    }

    #[test]
    fn values_reach_the_function_lexically_and_the_entry_by_calls() {
        // Two threads: 4 and 1 at the line within the loop, 2 at the inner `work`, 8 at `main`.
        let tree = fixture::tree();
        assert_eq!(sums(&tree, 0, None), [0.0, 0.0, 0.0, 15.0]);
        assert_eq!(sums(&tree, 1, None), [8.0, 8.0, 8.0, 15.0]);
        assert_eq!(sums(&tree, 2, None), [0.0, 0.0, 0.0, 7.0]);
        assert_eq!(sums(&tree, 3, None), [0.0, 5.0, 5.0, 7.0]);
        assert_eq!(sums(&tree, 4, None), [0.0, 5.0, 5.0, 5.0]);
        assert_eq!(sums(&tree, 5, None), [5.0, 5.0, 5.0, 5.0]);
        let second: ThreadSet = [ThreadId(1)].into_iter().collect();
        assert_eq!(sums(&tree, 0, Some(&second)), [0.0, 0.0, 0.0, 1.0]);
    }

    #[test]
    fn totals_are_of_all_threads_or_of_some() {
        let tree = fixture::tree();
        assert_eq!(tree.totals(None).unwrap(), [15.0]);
        let second: ThreadSet = [ThreadId(1)].into_iter().collect();
        assert_eq!(tree.totals(Some(&second)).unwrap(), [1.0]);
    }

    #[test]
    fn a_loop_is_lexically_without_the_loops_within_it() {
        let tree = fixture::nested_loops();
        // The outer loop has 1 of its own line and 2 in the inner loop.
        assert_eq!(sums(&tree, 0, None), [0.0, 3.0, 3.0, 3.0]);
        assert_eq!(sums(&tree, 1, None), [0.0, 3.0, 1.0, 3.0]);
    }

    #[test]
    fn values_by_context_and_by_thread_are_the_same_values() {
        for tree in [fixture::tree(), fixture::nested_loops()] {
            let mut by_context = Vec::new();
            for id in 0..tree.contexts_max() {
                let context = tree.context(ContextId(id)).unwrap();
                for value in tree.context_values(&context).unwrap() {
                    let ThreadValue { thread, column, value } = value.unwrap();
                    by_context.push((thread, column, context.number, value));
                }
            }
            let mut by_thread = Vec::new();
            for thread in (0..2).map(ThreadId).take(tree.thread_count()) {
                for value in tree.thread_values(thread).unwrap() {
                    let ContextValue { context, column, value } = value.unwrap();
                    by_thread.push((thread, column, context, value));
                }
            }
            by_context.sort_by_key(|(thread, column, context, _)| (*thread, *column, *context));
            assert_eq!(by_context, by_thread);
        }
    }

    #[test]
    fn what_is_not_there_is_an_error_and_no_panic() {
        let tree = fixture::tree();
        assert!(tree.context(ContextId(99)).is_err());
        assert!(tree.thread(ThreadId(99)).is_err());
        assert!(tree.function(FunctionId(99)).is_err());
        assert!(tree.thread_values(ThreadId(99)).is_err());
        assert_eq!(tree.find(ContextNumber(99)).unwrap(), None);
    }
}
