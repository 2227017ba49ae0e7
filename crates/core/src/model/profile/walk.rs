//! Through a tree of contexts, without recursion.

use super::{Context, ContextId, ProfileView};
use crate::{Error, Result};

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
    left: u64,
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
        let left = view.contexts_max().saturating_sub(roots.len() as u64);
        Self { view, pending: roots, open: Vec::new(), below: Vec::new(), left }
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
        self.view.children(id, &mut self.below)?;
        let (depth, children) = (self.open.len(), self.below.len());
        // Before they are held, so that no more are than there can be.
        self.left = self.left.checked_sub(children as u64).ok_or_else(|| {
            Error::request("the tree of contexts leads round in circles: some are reached twice")
        })?;
        self.pending.extend(self.below.drain(..).rev());
        self.open.push(Open { context, children });
        Ok(Step::Enter(context, depth))
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
    use super::super::fixture;
    use super::*;

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

    #[test]
    fn a_chain_of_a_million_is_walked_through() {
        let tree = fixture::chain(1_000_000);
        assert_eq!(Walk::new(&tree).unwrap().map(Result::unwrap).count(), 2_000_000);
    }
}
