//! Trees of paths of metrics that are computed: of what each path comes to.

use super::derived::put;
use super::labels::Labels;
use super::paths::{Nodes, bottom_up_of, top_down_of};
use super::{Derived, Detail, PathNode, PathTree, ProfileView, Side, ThreadSet};
use crate::Result;

/// The paths from the entry points down, of a metric that is computed. What has no value is no
/// number; shares are the largest of what it is computed from.
///
/// # Errors
/// When the profile cannot be read.
pub fn top_down_derived(
    view: &dyn ProfileView,
    derived: &Derived,
    threads: Option<&ThreadSet>,
    detail: Detail,
    depth_max: usize,
) -> Result<PathTree> {
    let mut joining = Joining::new(view, derived);
    for (index, input) in derived.inputs.iter().enumerate() {
        let question = input.question(view, threads);
        let found = top_down_of(&input.reading(&question), &mut joining.labels, detail, depth_max)?;
        joining.add(index, &found, |node| {
            if input.is_inclusive() { node.inclusive } else { node.exclusive }
        });
    }
    joining.finish(Side::InclusiveAt, Side::ExclusiveAt)
}

/// Functions with their callers, of a metric that is computed: what the function at the top comes
/// to itself when it was called this way, or of one function with all that it called.
///
/// # Errors
/// When the profile cannot be read.
pub fn bottom_up_derived(
    view: &dyn ProfileView,
    derived: &Derived,
    threads: Option<&ThreadSet>,
    of: Option<&str>,
    depth_max: usize,
) -> Result<PathTree> {
    let mut joining = Joining::new(view, derived);
    for (index, input) in derived.inputs.iter().enumerate() {
        if of.is_none() && input.is_inclusive() {
            continue;
        }
        let question = input.question(view, threads);
        let found =
            bottom_up_of(&input.reading(&question), &mut joining.labels, of, depth_max, 0.0)?;
        joining.add(index, &found, |node| {
            let is_whole = of.is_none() || input.is_inclusive();
            if is_whole { node.inclusive } else { node.exclusive }
        });
    }
    let whole = if of.is_none() { Side::Exclusive } else { Side::Inclusive };
    joining.finish(whole, Side::Exclusive)
}

/// The trees of all inputs, as one.
struct Joining<'a> {
    derived: &'a Derived,
    tree: PathTree,
    /// The same for all inputs.
    labels: Labels<'a>,
    known: Nodes,
    /// What each input comes to at each node.
    inputs: Vec<Vec<Option<f64>>>,
    totals: Vec<Option<f64>>,
}

impl<'a> Joining<'a> {
    fn new(view: &'a dyn ProfileView, derived: &'a Derived) -> Self {
        let tree = PathTree { is_computed: true, ..PathTree::default() };
        let labels = Labels::of_view(view);
        let (known, inputs) = <_>::default();
        let totals = vec![None; derived.inputs.len()];
        Self { derived, tree, labels, known, inputs, totals }
    }

    /// Adds the tree of an input; paths of the same names are one.
    fn add(&mut self, index: usize, tree: &PathTree, value: impl Fn(&PathNode) -> f64) {
        put(&mut self.totals, index, tree.total);
        self.tree.deeper = self.tree.deeper.max(tree.deeper);
        let mut places: Vec<usize> = Vec::with_capacity(tree.nodes.len());
        for found in &tree.nodes {
            let parent = found.parent.and_then(|parent| places.get(parent)).copied();
            let node = PathNode { parent, share: 0.0, ..*found };
            let place = self.known.place(&mut self.tree.nodes, node);
            self.inputs.resize(self.tree.nodes.len(), vec![None; self.derived.inputs.len()]);
            places.push(place);
            if let Some(inputs) = self.inputs.get_mut(place) {
                put(inputs, index, value(found));
            }
            if let Some(joined) = self.tree.nodes.get_mut(place) {
                joined.share = joined.share.max(found.share);
            }
        }
    }

    fn finish(mut self, whole: Side, own: Side) -> Result<PathTree> {
        for (node, inputs) in self.tree.nodes.iter_mut().zip(&self.inputs) {
            node.inclusive = self.derived.value(whole, inputs);
            node.exclusive = self.derived.value(own, inputs);
        }
        self.tree.total = self.derived.value(Side::Inclusive, &self.totals);
        Ok(PathTree { labels: self.labels.texts()?, ..self.tree })
    }
}

#[cfg(test)]
mod tests {
    use super::super::derived::tests::mean;
    use super::super::fixture::{self, shown};
    use super::*;

    #[test]
    fn paths_are_computed_of_what_each_comes_to() {
        let tree = fixture::tree();
        let found = top_down_derived(&tree, &mean(), None, Detail::Functions, 9).unwrap();
        // As in the flat profile, but that both calls of work are paths of their own: 7 by two
        // threads, of which the inner is 2 by one.
        let expected = ["0 <main thread> 7.5 NaN", "1 main 7.5 8", "2 work 3.5 2.5", "3 work 2 2"];
        assert_eq!(shown(&found), expected);
        assert!(found.is_computed && (found.nodes[3].share - 0.5).abs() < 1e-12);
    }

    #[test]
    fn callers_are_computed_too() {
        let tree = fixture::tree();
        let found = bottom_up_derived(&tree, &mean(), None, Some("work"), 9).unwrap();
        let expected = ["0 work 3.5 2.5", "1 main 3.5 NaN", "2 <main thread> 3.5 NaN"];
        assert_eq!(shown(&found), expected);
        let found = bottom_up_derived(&tree, &mean(), None, None, 1).unwrap();
        assert_eq!(shown(&found), ["0 main 8 8", "0 work 2.3333333333333335 2.3333333333333335"]);
    }
}
