//! The nodes of a tree of paths in the order they are shown, without those that spent too little.

use kymo_model::profile::{PathNode, PathTree};

/// Nodes, each before those below it, the ones that spent most first.
pub(super) struct Branches<'a> {
    tree: &'a PathTree,
    children: Vec<Vec<usize>>,
    pending: Vec<Branch<'a>>,
    /// The least share that is shown.
    least: f64,
    /// True if values are parts of those above them, so that there is a hot path.
    has_parts: bool,
}

/// One line of the tree.
#[derive(Debug, Clone, Copy)]
pub(super) enum Branch<'a> {
    /// A node.
    Node { node: &'a PathNode, index: usize, is_hot: bool },
    /// Nodes that spent too little to be shown.
    Rest { count: u64, weight: f64, depth: usize },
}

impl Branch<'_> {
    pub(super) fn depth(&self) -> usize {
        match self {
            Self::Node { node, .. } => node.depth,
            Self::Rest { depth, .. } => *depth,
        }
    }

    /// Returns the value that it is ranked by, and the other one, of the values inclusive and
    /// exclusive of calls.
    pub(super) fn spent(&self, tree: &PathTree) -> (f64, f64) {
        match self {
            Self::Node { node, .. } if tree.is_by_exclusive => (node.exclusive, node.inclusive),
            Self::Node { node, .. } => (node.inclusive, node.exclusive),
            Self::Rest { weight, .. } => (*weight, 0.0),
        }
    }
}

impl<'a> Branches<'a> {
    /// Shows what has at least a share of the total.
    pub(super) fn new(tree: &'a PathTree, least: f64, has_parts: bool) -> Self {
        let mut children = vec![Vec::new(); tree.nodes.len()];
        let mut roots = Vec::new();
        for (index, node) in tree.nodes.iter().enumerate() {
            let siblings = node.parent.and_then(|parent| children.get_mut(parent));
            siblings.unwrap_or(&mut roots).push(index);
        }
        // Of one function's callers, the total is what that function spent.
        let nodes = roots.iter().filter_map(|index| tree.nodes.get(*index));
        let all = nodes.map(|node| tree.weight(node).abs()).filter(|weight| !weight.is_nan()).sum();
        let mut branches = Self { tree, children, pending: Vec::new(), least, has_parts };
        branches.push(roots, all, true, 0);
        branches
    }

    /// Puts siblings where the first comes next.
    fn push(&mut self, siblings: Vec<usize>, above: f64, is_above_hot: bool, depth: usize) {
        let tree = self.tree;
        let nodes = siblings.into_iter().filter_map(|index| Some((index, tree.nodes.get(index)?)));
        let (mut shown, rest): (Vec<_>, Vec<_>) =
            nodes.partition(|(_, node)| node.share >= self.least);
        // What has no value comes last.
        let size = |node: &PathNode| Some(tree.weight(node).abs()).filter(|size| !size.is_nan());
        let size = |node: &PathNode| size(node).unwrap_or(f64::NEG_INFINITY);
        shown.sort_by(|(_, a), (_, b)| {
            let by_value = size(b).total_cmp(&size(a));
            by_value.then_with(|| tree.label(a).cmp(tree.label(b)))
        });
        if !rest.is_empty() {
            let weight = if tree.is_computed {
                f64::NAN
            } else {
                rest.iter().map(|(_, node)| tree.weight(node)).sum()
            };
            self.pending.push(Branch::Rest { count: rest.len() as u64, weight, depth });
        }
        for (place, (index, node)) in shown.into_iter().enumerate().rev() {
            let has_half = tree.weight(node).abs() * 2.0 >= above.abs();
            let is_hot = is_above_hot && place == 0 && has_half && self.has_parts;
            self.pending.push(Branch::Node { node, index, is_hot });
        }
    }
}

impl<'a> Iterator for Branches<'a> {
    type Item = Branch<'a>;

    fn next(&mut self) -> Option<Branch<'a>> {
        let branch = self.pending.pop()?;
        if let Branch::Node { node, index, is_hot } = branch {
            let below = self.children.get_mut(index).map(std::mem::take).unwrap_or_default();
            self.push(below, self.tree.weight(node), is_hot, node.depth + 1);
        }
        Some(branch)
    }
}
