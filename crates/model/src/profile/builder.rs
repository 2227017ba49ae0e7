//! Builds a call tree from the trees of many threads, merged by path.

use std::collections::HashMap;
use std::hash::Hash;

use super::slots::Slots;
use super::tree::{NONE, SelfValue, StoredContext, as_index};
use super::{
    CallTree, ContextId, FileId, Function, FunctionId, Metric, MetricId, ModuleId, Node, Thread,
    ThreadId,
};
use kymo_core::bytes::Limits;
use kymo_core::{Error, Result};

/// Takes metrics, threads, contexts and values, and makes a [`CallTree`] of them.
///
/// Contexts with the same path are the same context, whichever thread they come from. Functions,
/// files and modules are the same when all that is known of them is.
///
/// ```
/// use kymo_core::bytes::Limits;
/// use kymo_model::profile::*;
///
/// let mut builder = CallTreeBuilder::new(&Limits::default());
/// let cputime = builder.metric(Metric::named("CPUTIME (sec)"))?;
/// let thread = builder.thread(Thread::default())?;
/// let main = builder.function(Function { name: "main".into(), ..Function::default() });
/// let node = Node { function: Some(main), ..Node::new(Scope::Function, Relation::Call) };
/// let main = builder.child(None, node)?;
/// builder.add(thread, main, cputime, 1.5);
/// let tree = builder.finish();
/// let mut sums = [0.0];
/// let inclusive = Column { metric: cputime, reach: MetricScope::Execution };
/// tree.sums(&tree.context(main)?, &[inclusive], None, &mut sums)?;
/// assert_eq!(sums, [1.5]);
/// # Ok::<(), kymo_core::Error>(())
/// ```
#[derive(Debug)]
pub struct CallTreeBuilder {
    items_max: u64,
    metrics: Vec<Metric>,
    by_name: HashMap<String, MetricId>,
    threads: Vec<Thread>,
    own: Vec<Vec<SelfValue>>,
    functions: Interner<Function>,
    files: Interner<String>,
    modules: Interner<String>,
    nodes: Vec<StoredContext>,
    known: Slots,
    incomplete: Vec<ThreadId>,
    remarks: Vec<String>,
    doubts: Vec<String>,
}

impl CallTreeBuilder {
    /// Starts with nothing.
    #[must_use]
    pub fn new(limits: &Limits) -> Self {
        Self {
            // The last number stands for no context.
            items_max: limits.items_max.min(NONE.into()),
            metrics: Vec::new(),
            by_name: HashMap::new(),
            threads: Vec::new(),
            own: Vec::new(),
            functions: Interner::default(),
            files: Interner::default(),
            modules: Interner::default(),
            nodes: Vec::new(),
            known: Slots::default(),
            incomplete: Vec::new(),
            remarks: Vec::new(),
            doubts: Vec::new(),
        }
    }

    /// A metric; the one that is there already when the name is known.
    ///
    /// # Errors
    /// When there are too many.
    pub fn metric(&mut self, metric: Metric) -> Result<MetricId> {
        if let Some(&known) = self.by_name.get(&metric.name) {
            return Ok(known);
        }
        let id = MetricId(self.next("metrics", self.metrics.len())?);
        self.by_name.insert(metric.name.clone(), id);
        self.metrics.push(metric);
        Ok(id)
    }

    /// One more thread, whatever its ids.
    ///
    /// # Errors
    /// When there are too many.
    pub fn thread(&mut self, thread: Thread) -> Result<ThreadId> {
        let id = self.next("threads", self.threads.len())?;
        self.threads.push(thread);
        self.own.push(Vec::new());
        Ok(ThreadId(id))
    }

    /// Says that values of a thread were lost.
    pub fn lose_values(&mut self, thread: ThreadId) {
        self.incomplete.push(thread);
    }

    /// Says something that is good to know of the values.
    pub fn remark(&mut self, text: impl Into<String>) {
        self.remarks.push(text.into());
    }

    /// Says that something does not fit, so that values may be wrong.
    pub fn add_caveat(&mut self, text: impl Into<String>) {
        self.doubts.push(text.into());
    }

    /// A function.
    pub fn function(&mut self, function: Function) -> FunctionId {
        FunctionId(self.functions.intern(function))
    }

    /// A source file by its path.
    pub fn file(&mut self, path: impl Into<String>) -> FileId {
        FileId(self.files.intern(path.into()))
    }

    /// A module by its path.
    pub fn module(&mut self, path: impl Into<String>) -> ModuleId {
        ModuleId(self.modules.intern(path.into()))
    }

    /// The context below another, or an entry point; made where it is not there yet.
    ///
    /// # Errors
    /// When the context above is none of this tree, or when there are too many.
    pub fn child(&mut self, parent: Option<ContextId>, node: Node) -> Result<ContextId> {
        let parent = parent.map_or(Ok(NONE), |parent| self.index(parent))?;
        let stored = StoredContext::new(parent, node);
        let stored = stored.ok_or_else(|| Error::request("there are too many functions"))?;
        let nodes = &self.nodes;
        let key = |number| nodes.get(as_index(number)).map_or([NONE.into(); 4], StoredContext::key);
        let hash = self.known.hash(stored.key());
        if let Some(known) = self.known.find(hash, |number| key(number) == stored.key()) {
            return Ok(ContextId(known.into()));
        }
        let id = self.next("contexts", nodes.len())?;
        self.known.insert(hash, id, key);
        self.nodes.push(stored);
        Ok(ContextId(id.into()))
    }

    /// Adds to what a thread measured at the very context. What names nothing is passed over.
    pub fn add(&mut self, thread: ThreadId, context: ContextId, metric: MetricId, value: f64) {
        let own = usize::try_from(thread.0).ok().and_then(|index| self.own.get_mut(index));
        if let (Ok(context), Some(own)) = (u32::try_from(context.0), own) {
            let at = own.binary_search_by_key(&metric, |own| own.metric).unwrap_or_else(|at| {
                own.insert(at, SelfValue::new(metric));
                at
            });
            if let Some(own) = own.get_mut(at) {
                own.add(context, value);
            }
        }
    }

    /// Returns the number of contexts so far.
    #[must_use]
    pub fn context_count(&self) -> usize {
        self.nodes.len()
    }

    /// Makes the tree.
    #[must_use]
    pub fn finish(mut self) -> CallTree {
        // Only making contexts needs this, and it is large.
        drop(self.known);
        self.own.iter_mut().flatten().for_each(SelfValue::sum);
        let mut tree = CallTree::new(
            self.metrics,
            self.threads,
            self.own,
            self.functions.items,
            self.files.items,
            self.modules.items,
            self.nodes,
        );
        tree.incomplete = self.incomplete.into_iter().collect();
        tree.remarks = self.remarks;
        tree.doubts = self.doubts;
        tree
    }

    fn index(&self, id: ContextId) -> Result<u32> {
        let index = u32::try_from(id.0).ok().filter(|_| id.0 < self.nodes.len() as u64);
        index.ok_or_else(|| Error::request("a context hangs below one that is not there"))
    }

    fn next(&self, what: &str, count: usize) -> Result<u32> {
        let id = u32::try_from(count).ok().filter(|&id| u64::from(id) < self.items_max);
        id.ok_or_else(|| Error::Request(format!("there are more than {count} {what}")))
    }
}

/// Things that are kept once each.
#[derive(Debug)]
struct Interner<T> {
    items: Vec<T>,
    known: HashMap<T, u64>,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Self { items: Vec::new(), known: HashMap::new() }
    }
}

impl<T: Clone + Eq + Hash> Interner<T> {
    fn intern(&mut self, item: T) -> u64 {
        if let Some(&known) = self.known.get(&item) {
            return known;
        }
        let id = self.items.len() as u64;
        self.items.push(item.clone());
        self.known.insert(item, id);
        id
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ProfileView, Relation, Scope};
    use super::*;

    #[test]
    fn the_same_path_is_the_same_context_whichever_thread_it_comes_from() {
        let mut builder = CallTreeBuilder::new(&Limits::default());
        let node = Node::new(Scope::Function, Relation::Call);
        let main = builder.child(None, node).unwrap();
        let below = builder.child(Some(main), node).unwrap();
        assert_ne!(main, below);
        assert_eq!(builder.child(None, node).unwrap(), main);
        assert_eq!(builder.child(Some(main), node).unwrap(), below);
        assert_eq!(builder.context_count(), 2);
        assert!(builder.child(Some(ContextId(9)), node).is_err());
    }

    #[test]
    fn more_contexts_than_the_limits_allow_are_refused() {
        let limits = Limits { items_max: 1, ..Limits::default() };
        let mut builder = CallTreeBuilder::new(&limits);
        let main = builder.child(None, Node::new(Scope::Entry, Relation::Call)).unwrap();
        let error = builder.child(Some(main), Node::new(Scope::Line, Relation::Lexical));
        assert_eq!(error.unwrap_err().to_string(), "there are more than 1 contexts");
    }

    #[test]
    fn a_metric_is_known_by_its_name() {
        let mut builder = CallTreeBuilder::new(&Limits::default());
        let cycles = builder.metric(Metric::named("cycles")).unwrap();
        assert_eq!(builder.metric(Metric::named("cycles")).unwrap(), cycles);
        assert_ne!(builder.metric(Metric::named("misses")).unwrap(), cycles);
        assert_eq!(builder.finish().metrics().len(), 2);
    }
}
