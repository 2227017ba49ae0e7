//! Through a tree of contexts, without recursion.

use std::collections::HashSet;

use super::{Context, ContextId, ProfileView};
use crate::Result;

/// A walk through all contexts below the entry points, or below one: each before its children.
///
/// It holds the way to where it is and the ids of siblings that are still to come, nothing else.
pub struct Walk<'a> {
    view: &'a dyn ProfileView,
    /// Contexts that are still to be entered, the next one last.
    pending: Vec<ContextId>,
    /// The contexts on the way to where we are.
    open: Vec<Open>,
    below: Vec<ContextId>,
    /// How many more contexts there can be; nothing once there were more.
    left: Option<u64>,
    /// Those that were come by, where one that is come by again is left out.
    known: Option<HashSet<ContextId>>,
}

/// A context that was entered and not left.
struct Open {
    context: Context,
    /// How many of its children are still to be entered.
    children: usize,
}

/// Where a walk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// At a context, before what is below it. The depth of an entry point is 0.
    Enter(Context, usize),
    /// At the same context, after all that is below it.
    Leave(Context, usize),
}

impl<'a> Walk<'a> {
    /// Starts at the entry points.
    pub fn new(view: &'a dyn ProfileView) -> Result<Self> {
        let mut roots = Vec::new();
        view.roots(&mut roots)?;
        Ok(Self::below(view, roots))
    }

    /// Starts at some contexts.
    #[must_use]
    pub fn below(view: &'a dyn ProfileView, mut roots: Vec<ContextId>) -> Self {
        roots.reverse();
        let left = Some(view.contexts_max().saturating_sub(roots.len() as u64));
        let known = view.is_salvaged().then(|| roots.iter().copied().collect());
        Self { view, pending: roots, open: Vec::new(), below: Vec::new(), left, known }
    }

    /// Passes over what is below the context that was entered last; right after that step.
    pub fn prune(&mut self) {
        if let Some(open) = self.open.last_mut() {
            let left = self.pending.len().saturating_sub(std::mem::take(&mut open.children));
            self.pending.truncate(left);
        }
    }

    /// Leaves the innermost context, once all of its children were entered.
    fn leave(&mut self) -> Option<Step> {
        let done = self.open.pop_if(|open| open.children == 0)?;
        Some(Step::Leave(done.context, self.open.len()))
    }

    fn enter(&mut self, id: ContextId) -> Result<Step> {
        if let Some(above) = self.open.last_mut() {
            above.children = above.children.saturating_sub(1);
        }
        let context = self.view.context(id)?;
        self.find_children(id)?;
        let (depth, children) = (self.open.len(), self.below.len());
        self.pending.extend(self.below.drain(..).rev());
        self.open.push(Open { context, children });
        Ok(Step::Enter(context, depth))
    }
}

impl Walk<'_> {
    /// Finds what is below a context, without what was come by before. Where there are more than
    /// there can be, nothing more is looked for: one array may be below very many.
    fn find_children(&mut self, of: ContextId) -> Result<()> {
        let Some(left) = self.left else { return Ok(()) };
        self.view.children(of, &mut self.below)?;
        let found = self.below.len();
        self.left = left.checked_sub(found as u64);
        if let Some(known) = &mut self.known {
            self.below.retain(|child| known.insert(*child));
        }
        if self.left.is_none() {
            self.below.clear();
        }
        if self.below.len() < found { self.view.leads_round(of) } else { Ok(()) }
    }
}

impl Iterator for Walk<'_> {
    type Item = Result<Step>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(step) = self.leave() {
            return Some(Ok(step));
        }
        let next = self.pending.pop()?;
        let step = self.enter(next);
        if step.is_err() {
            self.pending.clear();
            self.open.clear();
        }
        Some(step)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::super::{
        Column, ContextNumber, ContextValue, FileId, Function, FunctionId, Metric, ModuleId,
        Thread, ThreadId, ThreadSet, ThreadValue, Values, fixture,
    };
    use super::*;
    use crate::Error;

    #[test]
    fn each_context_comes_before_its_children_and_is_left_after_them() {
        let tree = fixture::tree();
        let mut steps = Vec::new();
        for step in Walk::new(&tree).unwrap() {
            steps.push(match step.unwrap() {
                Step::Enter(context, depth) => format!("{depth} {}", tree.label(&context).unwrap()),
                Step::Leave(context, _) => format!("/{}", tree.label(&context).unwrap()),
            });
        }
        let expected = "0 <main thread>, 1 main, 2 a.c:3, 3 work, 4 loop at a.c:9, 5 a.c:10, \
                        /a.c:10, /loop at a.c:9, 4 work, /work, /work, /a.c:3, /main, /<main thread>";
        assert_eq!(steps.join(", "), expected);
    }

    #[test]
    fn what_is_pruned_is_left_without_its_children() {
        let tree = fixture::tree();
        let mut walk = Walk::new(&tree).unwrap();
        let mut entered = 0;
        while let Some(step) = walk.next() {
            if let Step::Enter(_, depth) = step.unwrap() {
                entered += 1;
                if depth == 2 {
                    walk.prune();
                }
            }
        }
        assert_eq!(entered, 3);
    }

    /// A chain of ten whose last has the first as its child.
    struct Round {
        is_salvaged: bool,
        said: AtomicU64,
    }

    impl ProfileView for Round {
        fn is_salvaged(&self) -> bool {
            self.is_salvaged
        }
        fn leads_round(&self, below: ContextId) -> Result<()> {
            self.said.store(below.0, Ordering::Relaxed);
            if self.is_salvaged { Ok(()) } else { Err(Error::request("round")) }
        }
        fn contexts_max(&self) -> u64 {
            25
        }
        fn roots(&self, to: &mut Vec<ContextId>) -> Result<()> {
            to.push(ContextId(0));
            Ok(())
        }
        fn children(&self, of: ContextId, to: &mut Vec<ContextId>) -> Result<()> {
            to.push(ContextId((of.0 + 1) % 10));
            Ok(())
        }
        fn context(&self, id: ContextId) -> Result<Context> {
            let tree = fixture::tree();
            let mut roots = Vec::new();
            tree.roots(&mut roots)?;
            Ok(Context { id, ..tree.context(roots[0])? })
        }
        fn metrics(&self) -> Vec<Metric> {
            Vec::new()
        }
        fn thread_count(&self) -> usize {
            0
        }
        fn thread(&self, _: ThreadId) -> Result<Thread> {
            Ok(Thread::default())
        }
        fn find(&self, _: ContextNumber) -> Result<Option<ContextId>> {
            Ok(None)
        }
        fn function(&self, _: FunctionId) -> Result<Function> {
            Ok(Function::default())
        }
        fn file(&self, _: FileId) -> Result<String> {
            Ok(String::new())
        }
        fn module(&self, _: ModuleId) -> Result<String> {
            Ok(String::new())
        }
        fn sums(
            &self,
            _: &Context,
            _: &[Column],
            _: Option<&ThreadSet>,
            _: &mut [f64],
        ) -> Result<()> {
            Ok(())
        }
        fn context_values(&self, _: &Context) -> Result<Values<'_, ThreadValue>> {
            Ok(Box::new(std::iter::empty()))
        }
        fn thread_values(&self, _: ThreadId) -> Result<Values<'_, ContextValue>> {
            Ok(Box::new(std::iter::empty()))
        }
    }

    #[test]
    fn a_tree_that_leads_round_is_refused_or_cut_where_it_does() {
        let steps = |view: &Round| {
            let steps = Walk::new(view).unwrap().collect::<Vec<_>>();
            (steps.len(), steps.last().unwrap().is_ok(), view.said.load(Ordering::Relaxed))
        };
        let said = || AtomicU64::new(99);
        // Twenty-five are entered, and the next would be one too many: below the one of number 4.
        assert_eq!(steps(&Round { is_salvaged: false, said: said() }), (25, false, 4));
        // Ten are entered and left.
        assert_eq!(steps(&Round { is_salvaged: true, said: said() }), (20, true, 9));
    }

    #[test]
    fn a_chain_of_a_million_is_walked_through() {
        let tree = fixture::chain(1_000_000);
        assert_eq!(Walk::new(&tree).unwrap().map(Result::unwrap).count(), 2_000_000);
    }
}
