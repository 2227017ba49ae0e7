//! Through a tree of contexts, without recursion.

use std::collections::HashSet;

use super::stack::Stack;
use super::{Context, ContextId, ContextNumber, ProfileView, Siblings};
use kymo_core::{Result, slot};

/// A walk through all contexts below the entry points, or below one: each before its children.
///
/// It holds the way to where it is, and where siblings are that are still to come; of a very long
/// way only the end is in memory.
pub struct Walk<'a> {
    view: &'a dyn ProfileView,
    /// Contexts at which the walk starts; those that were not entered yet.
    roots: std::vec::IntoIter<ContextId>,
    /// The contexts on the way to where we are.
    open: Stack<Open, 3>,
    /// Greatest number of further contexts.
    left: u64,
    /// Those that were come by, where one that is come by again is left out.
    known: Option<HashSet<ContextId>>,
    /// Number of further contexts that may be passed over because they were met before.
    again: u64,
    numbers: VisitedNumbers,
}

/// Numbers of contexts that were come by.
#[derive(Default)]
struct VisitedNumbers {
    /// A bit for each number below a bound, as far as they were needed.
    low: Vec<u64>,
    bound: u64,
    /// Those above it.
    high: HashSet<u64>,
}

impl VisitedNumbers {
    /// Returns true if a number was not come by before.
    fn is_new(&mut self, number: ContextNumber) -> bool {
        if self.bound == 0 || number == ContextNumber::NONE {
            return true;
        }
        let ContextNumber(number) = number;
        if number >= self.bound {
            return self.high.insert(number);
        }
        let (word, bit) = (usize::try_from(number / 64).unwrap_or(usize::MAX), 1 << (number % 64));
        let word = slot(&mut self.low, word);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }
}

/// A context that was entered and not left.
#[derive(Clone, Copy)]
struct Open {
    id: ContextId,
    /// Its children that were not entered yet.
    children: Siblings,
}

impl From<Open> for [u64; 3] {
    fn from(Open { id, children: below }: Open) -> Self {
        [id.0, below.next, below.end]
    }
}

impl From<[u64; 3]> for Open {
    fn from([id, next, end]: [u64; 3]) -> Self {
        Self { id: ContextId(id), children: Siblings { next, end } }
    }
}

/// Position of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// At a context, before what is below it. The depth of an entry point is 0.
    Enter(Context, usize),
    /// At the same context, after all that is below it.
    Leave(ContextId, usize),
}

impl<'a> Walk<'a> {
    /// Starts at the entry points.
    pub fn new(view: &'a dyn ProfileView) -> Result<Self> {
        let mut roots = Vec::new();
        view.roots(&mut roots)?;
        Ok(Self::from_contexts(view, roots))
    }

    /// Starts at some contexts.
    #[must_use]
    pub fn from_contexts(view: &'a dyn ProfileView, roots: Vec<ContextId>) -> Self {
        let again = view.contexts_max();
        let left = again.saturating_sub(roots.len() as u64);
        let known = view.is_salvaged().then(|| roots.iter().copied().collect());
        let numbers = VisitedNumbers { bound: view.numbers_max(), ..VisitedNumbers::default() };
        Self { view, roots: roots.into_iter(), open: Stack::default(), left, known, again, numbers }
    }

    /// Passes over what is below the context that was entered last; right after that step.
    ///
    /// # Errors
    /// When the way to it cannot be read back.
    pub fn prune(&mut self) -> Result<()> {
        if let Some(open) = self.open.last_mut()? {
            open.children = Siblings::default();
        }
        Ok(())
    }

    fn step(&mut self) -> Result<Option<Step>> {
        loop {
            let next = match self.open.last_mut()?.copied() {
                Some(Open { id, children: below }) if below.is_empty() => {
                    self.open.pop()?;
                    return Ok(Some(Step::Leave(id, self.open.len())));
                }
                Some(Open { id, children: mut below }) => {
                    let child = self.child(id, &mut below)?;
                    if let Some(open) = self.open.last_mut()? {
                        open.children = below;
                    }
                    child
                }
                None => match self.roots.next() {
                    Some(root) => Some(root),
                    None => return Ok(None),
                },
            };
            if let Some(step) = next.map(|id| self.enter(id)).transpose()?.flatten() {
                return Ok(Some(step));
            }
        }
    }

    /// The next context below one, without what was come by before. Where there is too much of
    /// that, nothing more is looked for here: one array may be below very many.
    fn child(&mut self, context_id: ContextId, below: &mut Siblings) -> Result<Option<ContextId>> {
        while let Some(child) = self.view.next_sibling(below)? {
            let is_new = self.known.as_mut().is_none_or(|known| known.insert(child));
            if is_new && self.left > 0 {
                self.left -= 1;
                return Ok(Some(child));
            }
            self.view.on_cycle(context_id)?;
            if self.left == 0 || self.again == 0 {
                break;
            }
            self.again -= 1;
        }
        *below = Siblings::default();
        Ok(None)
    }

    /// Enters a context; nothing where another has its number.
    fn enter(&mut self, id: ContextId) -> Result<Option<Step>> {
        let context = self.view.context(id)?;
        if !self.numbers.is_new(context.number) {
            self.view.on_duplicate(&context)?;
            return Ok(None);
        }
        let below = self.view.children(id)?;
        let depth = self.open.len();
        self.open.push(Open { id, children: below })?;
        Ok(Some(Step::Enter(context, depth)))
    }
}

impl Iterator for Walk<'_> {
    type Item = Result<Step>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step().transpose();
        if let Some(Err(_)) = step {
            self.roots = Vec::new().into_iter();
            self.open = Stack::default();
        }
        step
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::super::{
        Column, ContextValue, FileId, Function, FunctionId, Metric, ModuleId, Thread, ThreadId,
        ThreadSet, ThreadValue, Values, fixture,
    };
    use super::*;
    use kymo_core::Error;

    #[test]
    fn each_context_comes_before_its_children_and_is_left_after_them() {
        let tree = fixture::tree();
        let mut steps = Vec::new();
        for step in Walk::new(&tree).unwrap() {
            steps.push(match step.unwrap() {
                Step::Enter(context, depth) => format!("{depth} {}", tree.label(&context).unwrap()),
                Step::Leave(id, _) => {
                    format!("/{}", tree.label(&tree.context(id).unwrap()).unwrap())
                }
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
                    walk.prune().unwrap();
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
        fn on_cycle(&self, below: ContextId) -> Result<()> {
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
        fn children(&self, context_id: ContextId) -> Result<Siblings> {
            let next = (context_id.0 + 1) % 10;
            Ok(Siblings { next, end: next + 1 })
        }
        fn next_sibling(&self, siblings: &mut Siblings) -> Result<Option<ContextId>> {
            let next = (!siblings.is_empty()).then_some(ContextId(siblings.next));
            *siblings = Siblings::default();
            Ok(next)
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
        assert_eq!(steps(&Round { is_salvaged: false, said: said() }), (26, false, 4));
        // Ten are entered and left.
        assert_eq!(steps(&Round { is_salvaged: true, said: said() }), (20, true, 9));
    }

    #[test]
    fn a_chain_of_a_million_is_walked_through() {
        let tree = fixture::chain(1_000_000);
        assert_eq!(Walk::new(&tree).unwrap().map(Result::unwrap).count(), 2_000_000);
    }
}
