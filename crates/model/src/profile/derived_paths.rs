//! Trees of paths of metrics that are computed: of what each path comes to.

use super::derived::Inputs;
use super::labels::Labels;
use super::paths::{CallerFilter, Nodes, bottom_up_statistic, self_shares, top_down_statistic};
use super::{Derived, Detail, NamePattern, PathNode, PathTree, ProfileView, Side, ThreadSet};
use kymo_core::Result;

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
    derived.require_few(view)?;
    let mut joining = JoinedTrees::new(view, derived);
    for (index, input) in derived.inputs.iter().enumerate() {
        let question = input.question(view, threads);
        let reading = input.context_values(&question);
        let found = top_down_statistic(&reading, &mut joining.labels, detail, depth_max)?;
        joining.add(index, &found, |node| {
            if input.is_inclusive() { node.inclusive } else { node.exclusive }
        });
    }
    joining.finish(Side::InclusiveAt, Side::ExclusiveAt, derived.total(view, threads)?)
}

/// Functions with their callers, of a metric that is computed: what the function at the top comes
/// to when it was called this way. Functions that have less than a share of everything that it is
/// computed from have no callers below them.
///
/// # Errors
/// When the profile cannot be read.
pub fn bottom_up_derived(
    view: &dyn ProfileView,
    derived: &Derived,
    threads: Option<&ThreadSet>,
    name_pattern: Option<&NamePattern>,
    depth_max: usize,
    least: f64,
) -> Result<PathTree> {
    derived.require_few(view)?;
    let mut joining = JoinedTrees::new(view, derived);
    let wanted = match name_pattern {
        Some(pattern) => CallerFilter::Called(pattern),
        None => CallerFilter::Spent(joining.self_shares(view, threads)?, least),
    };
    joining.tree.is_by_exclusive = name_pattern.is_none();
    for (index, input) in derived.inputs.iter().enumerate() {
        let question = input.question(view, threads);
        let reading = input.reading(&question);
        let found = bottom_up_statistic(&reading, &mut joining.labels, &wanted, depth_max)?;
        joining.add(index, &found, |node| {
            if input.is_inclusive() { node.inclusive } else { node.exclusive }
        });
    }
    joining.finish(Side::Inclusive, Side::Exclusive, derived.total(view, threads)?)
}

/// The trees of all inputs, as one.
struct JoinedTrees<'a> {
    derived: &'a Derived,
    tree: PathTree,
    /// The same for all inputs.
    labels: Labels<'a>,
    known: Nodes,
    /// Values of each input at each node.
    inputs: Inputs,
}

impl<'a> JoinedTrees<'a> {
    fn new(view: &'a dyn ProfileView, derived: &'a Derived) -> Self {
        let tree = PathTree { is_computed: true, ..PathTree::default() };
        let labels = Labels::for_view(view);
        let inputs = Inputs::new(derived.inputs.len());
        Self { derived, tree, labels, known: Nodes::default(), inputs }
    }

    /// Returns the inputs that functions spent themselves, by their labels: the largest share of
    /// the totals.
    fn self_shares(
        &mut self,
        view: &dyn ProfileView,
        threads: Option<&ThreadSet>,
    ) -> Result<Vec<f64>> {
        let mut largest: Vec<f64> = Vec::new();
        for input in self.derived.inputs.iter().filter(|input| !input.is_inclusive()) {
            let question = input.question(view, threads);
            let shares = self_shares(&input.reading(&question), &mut self.labels)?;
            largest.resize(largest.len().max(shares.len()), 0.0);
            largest.iter_mut().zip(shares).for_each(|(most, share)| *most = most.max(share));
        }
        Ok(largest)
    }

    /// Adds the tree of an input; paths of the same names are one.
    fn add(&mut self, index: usize, tree: &PathTree, value: impl Fn(&PathNode) -> f64) {
        self.tree.deeper = self.tree.deeper.max(tree.deeper);
        let mut places: Vec<usize> = Vec::with_capacity(tree.nodes.len());
        for found in &tree.nodes {
            let parent = found.parent.and_then(|parent| places.get(parent)).copied();
            let node = PathNode { parent, share: 0.0, ..*found };
            let place = self.known.place(&mut self.tree.nodes, node);
            places.push(place);
            self.inputs.put(place, index, value(found));
            if let Some(joined) = self.tree.nodes.get_mut(place) {
                joined.share = joined.share.max(found.share);
            }
        }
    }

    fn finish(mut self, whole: Side, own: Side, total: f64) -> Result<PathTree> {
        for (node, inputs) in self.tree.nodes.iter_mut().zip(self.inputs.rows()) {
            node.inclusive = self.derived.value(whole, &inputs);
            node.exclusive = self.derived.value(own, &inputs);
        }
        self.tree.total = total;
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
        let work = NamePattern::new("work").unwrap();
        let found = bottom_up_derived(&tree, &mean(), None, Some(&work), 2, 0.0).unwrap();
        // Both calls spent 7 themselves, as three values of threads; the outer one 5, as two. The
        // inner one is part of it.
        let expected = ["0 work 3.5 2.3333333333333335", "1 main 3.5 2.5", "1 work NaN 2"];
        assert_eq!(shown(&found), expected);
        let found = bottom_up_derived(&tree, &mean(), None, None, 1, 0.0).unwrap();
        assert_eq!(shown(&found), ["0 main 7.5 8", "0 work 3.5 2.3333333333333335"]);
        // Nothing has twice as much as there is of anything, so that nothing has callers.
        let found = bottom_up_derived(&tree, &mean(), None, None, 2, 2.0).unwrap();
        assert!(found.nodes.iter().all(|node| node.depth == 0));
    }
}
