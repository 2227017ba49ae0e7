//! Hot paths: from the entry points down, or from where time was spent up to its callers.

use std::collections::HashMap;

use super::labels::{Label, Labels, Texts};
use super::question::{Reading, Spent};
use super::{Context, Question, Scope, Step, Walk};
use crate::Result;

/// Which contexts are nodes of a tree of paths. What is left out counts for the node above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// Functions.
    Functions,
    /// Functions and loops.
    #[default]
    Loops,
    /// Functions, loops and lines; instructions count for their line.
    Lines,
}

impl Detail {
    fn shows(self, context: &Context) -> bool {
        match self {
            Self::Lines => context.is_frame() || context.scope != Scope::Instruction,
            Self::Loops => context.is_frame() || context.scope == Scope::Loop,
            Self::Functions => context.is_frame(),
        }
    }
}

/// A tree of paths: contexts that a person cannot tell apart are one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PathTree {
    /// What all entry points spent together.
    pub total: f64,
    /// Parents before their children.
    pub nodes: Vec<PathNode>,
    /// Contexts that lie deeper than what was asked for.
    pub deeper: u64,
    /// Whether values are computed, so that they are no parts of a total.
    pub is_computed: bool,
    pub(super) labels: Texts,
}

/// A node of a tree of paths.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PathNode {
    /// The index of the node above.
    pub parent: Option<usize>,
    /// How deep it is; 0 at the top.
    pub depth: usize,
    /// What it is.
    pub scope: Scope,
    /// Whether it was inlined.
    pub is_inlined: bool,
    /// What was spent there and below. From callers' side: what was spent at the top of this
    /// path when it was called this way.
    pub inclusive: f64,
    /// What was spent there. Of a loop, without the loops within it where that is told apart.
    pub exclusive: f64,
    /// Its part of the total, or of what it is computed from the largest part.
    pub share: f64,
    pub(super) label: Label,
}

impl PathTree {
    /// What a node is called.
    #[must_use]
    pub fn label(&self, node: &PathNode) -> &str {
        self.labels.get(node.label)
    }
}

/// The paths from the entry points down, as deep as asked for.
///
/// # Errors
/// When the profile cannot be read.
pub fn top_down(question: &Question<'_>, detail: Detail, depth_max: usize) -> Result<PathTree> {
    let mut labels = Labels::of_view(question.view);
    let tree = top_down_of(&Reading::places(question), &mut labels, detail, depth_max)?;
    Ok(PathTree { labels: labels.texts()?, ..tree })
}

/// The paths from the entry points down, with any statistic over threads. The texts of labels are
/// left to the caller.
pub(super) fn top_down_of(
    values: &Reading<'_>,
    labels: &mut Labels<'_>,
    detail: Detail,
    depth_max: usize,
) -> Result<PathTree> {
    let mut making = Making::new(values, labels);
    // The node of each context on the way to where we are, or the nearest above.
    let mut open: Vec<Option<usize>> = Vec::new();
    let mut walk = Walk::new(values.view())?;
    while let Some(step) = walk.next() {
        let (context, depth) = match step? {
            Step::Enter(context, depth) => (context, depth),
            Step::Leave(..) => {
                open.pop();
                continue;
            }
        };
        let above = open.last().copied().flatten();
        let spent = making.spent(&context, depth)?;
        let mut node = above;
        // Where nothing was spent, by these threads, there is no path.
        let is_cold = spent.inclusive == 0.0 && spent.exclusive == 0.0;
        if is_cold {
            walk.prune();
        } else if detail.shows(&context) {
            if making.depth_below(above) < depth_max {
                let label = making.labels.of_context(&context)?;
                node = Some(making.node(above, &context, label));
                making.add(node, spent);
            } else {
                making.tree.deeper += 1;
                walk.prune();
            }
        }
        open.push(node);
    }
    Ok(making.finish())
}

/// The functions that spent something themselves, and below each its callers, as deep as asked
/// for. A node's inclusive value is what the function at the top spent when it was called so.
///
/// Of one function, by its name, it is what that spent with all that it called; calls of itself
/// count once. Functions with less than a share of the total, `least`, have no callers below them:
/// there may be very many.
///
/// # Errors
/// When the profile cannot be read.
pub fn bottom_up(
    question: &Question<'_>,
    of: Option<&str>,
    depth_max: usize,
    least: f64,
) -> Result<PathTree> {
    let mut labels = Labels::of_view(question.view);
    let tree = bottom_up_of(&Reading::sums(question), &mut labels, of, depth_max, least)?;
    Ok(PathTree { labels: labels.texts()?, ..tree })
}

/// Functions with their callers, with any statistic over threads. The texts of labels are left to
/// the caller.
pub(super) fn bottom_up_of(
    values: &Reading<'_>,
    labels: &mut Labels<'_>,
    of: Option<&str>,
    depth_max: usize,
    least: f64,
) -> Result<PathTree> {
    let mut making = Making::new(values, labels);
    let is_hot = if of.is_none() && least > 0.0 { making.hot(least)? } else { Vec::new() };
    let mut frames: Vec<(Context, Label)> = Vec::new();
    // How many frames of the function we are within.
    let mut within = 0_usize;
    for step in Walk::new(values.view())? {
        let (context, depth) = match step? {
            Step::Enter(context, depth) if context.is_frame() => (context, depth),
            Step::Leave(context, _) if context.is_frame() => {
                let left = frames.pop();
                let is_it = left.is_some_and(|(_, label)| making.is_called(label, of));
                within -= usize::from(is_it);
                continue;
            }
            _ => continue,
        };
        let spent = making.spent(&context, depth)?;
        let label = making.labels.of_context(&context)?;
        frames.push((context, label));
        if of.is_none() && spent.exclusive != 0.0 {
            let inclusive = spent.exclusive;
            let is_hot = is_hot.get(label.0).copied().unwrap_or(true);
            let depth_max = if is_hot { depth_max } else { depth_max.min(1) };
            making.callers(&frames, Spent { inclusive, ..spent }, depth_max);
            making.tree.deeper += u64::from(is_hot && frames.len() > depth_max);
        } else if making.is_called(label, of) {
            if within == 0 {
                making.callers(&frames, spent, depth_max);
                making.tree.deeper += u64::from(frames.len() > depth_max);
            }
            within += 1;
        }
    }
    Ok(making.finish())
}

/// Finds the nodes of a tree that is being made by the names that lead to them.
#[derive(Default)]
pub(super) struct Nodes {
    known: HashMap<(Option<usize>, Label, bool), usize>,
}

impl Nodes {
    /// The place of a node below another; it is added where it is not there yet.
    pub(super) fn place(&mut self, nodes: &mut Vec<PathNode>, node: PathNode) -> usize {
        let next = nodes.len();
        let place = *self.known.entry((node.parent, node.label, node.is_inlined)).or_insert(next);
        if place == next {
            nodes.push(node);
        }
        place
    }
}

struct Making<'a, 'b, 'v> {
    values: &'a Reading<'a>,
    tree: PathTree,
    labels: &'b mut Labels<'v>,
    known: Nodes,
    /// Which labels are those of the function in question.
    called: HashMap<Label, bool>,
}

impl<'a, 'b, 'v> Making<'a, 'b, 'v> {
    fn new(values: &'a Reading<'a>, labels: &'b mut Labels<'v>) -> Self {
        let (tree, known, called) = <_>::default();
        Self { values, tree, labels, known, called }
    }

    /// What a context spent; entry points make the total.
    fn spent(&mut self, context: &Context, depth: usize) -> Result<Spent> {
        let spent = self.values.spent(context)?;
        if depth == 0 {
            self.values.combine(&mut self.tree.total, spent.inclusive);
        }
        Ok(spent)
    }

    /// Adds what was spent in the last of some frames to the path of its callers.
    fn callers(&mut self, frames: &[(Context, Label)], spent: Spent, depth_max: usize) {
        let mut node = None;
        for (context, label) in frames.iter().rev().take(depth_max) {
            let exclusive = if node.is_none() { spent.exclusive } else { 0.0 };
            node = Some(self.node(node, context, *label));
            self.add(node, Spent { exclusive, ..spent });
        }
    }

    /// Which functions spent at least a share of the total themselves, by their labels.
    fn hot(&mut self, least: f64) -> Result<Vec<bool>> {
        let (mut total, mut own) = (0.0, Vec::new());
        for step in Walk::new(self.values.view())? {
            let Step::Enter(context, depth) = step? else { continue };
            if !context.is_frame() {
                continue;
            }
            let spent = self.values.spent(&context)?;
            if depth == 0 {
                self.values.combine(&mut total, spent.inclusive);
            }
            let label = self.labels.of_context(&context)?;
            own.resize(self.labels.len(), 0.0);
            if let Some(own) = own.get_mut(label.0) {
                self.values.combine(own, spent.exclusive);
            }
        }
        Ok(own.iter().map(|own: &f64| own.abs() >= total.abs() * least).collect())
    }

    fn is_called(&mut self, label: Label, name: Option<&str>) -> bool {
        let Self { labels, called, .. } = self;
        let is_called =
            |name| *called.entry(label).or_insert_with(|| labels.is_called(label, name));
        name.is_some_and(is_called)
    }

    fn depth_below(&self, parent: Option<usize>) -> usize {
        parent.and_then(|parent| self.tree.nodes.get(parent)).map_or(0, |above| above.depth + 1)
    }

    /// The node of a label below another.
    fn node(&mut self, parent: Option<usize>, context: &Context, label: Label) -> usize {
        let node = PathNode {
            parent,
            depth: self.depth_below(parent),
            scope: context.scope,
            is_inlined: context.relation == super::Relation::Inlined,
            inclusive: 0.0,
            exclusive: 0.0,
            share: 0.0,
            label,
        };
        self.known.place(&mut self.tree.nodes, node)
    }

    fn add(&mut self, node: Option<usize>, spent: Spent) {
        if let Some(node) = node.and_then(|index| self.tree.nodes.get_mut(index)) {
            self.values.combine(&mut node.inclusive, spent.inclusive);
            self.values.combine(&mut node.exclusive, spent.exclusive);
        }
    }

    fn finish(mut self) -> PathTree {
        let total = self.tree.total.abs();
        for node in &mut self.tree.nodes {
            node.share = if total == 0.0 { 1.0 } else { node.inclusive.abs() / total };
        }
        self.tree
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{self, shown};
    use super::super::{CallTree, MetricId};
    use super::*;

    fn question(view: &CallTree) -> Question<'_> {
        Question { view, metric: MetricId(0), threads: None }
    }

    #[test]
    fn paths_go_down_through_what_is_shown() {
        let tree = fixture::tree();
        let paths = top_down(&question(&tree), Detail::Functions, 9).unwrap();
        let expected = ["0 <main thread> 15 0", "1 main 15 8", "2 work 7 5", "3 work 2 2"];
        assert_eq!((shown(&paths), paths.total), (expected.map(String::from).to_vec(), 15.0));
        let paths = top_down(&question(&tree), Detail::Lines, 9).unwrap();
        assert_eq!(paths.nodes.len(), 7);
    }

    /// A loop is shown without the loop in it: of 3 the outer has 1 and the inner 2. The function has
    /// all of it.
    #[test]
    fn a_loop_has_what_was_spent_in_no_loop_within_it() {
        let tree = fixture::nested_loops();
        let paths = top_down(&question(&tree), Detail::Loops, 9).unwrap();
        let expected = ["0 main 3 3", "1 loop at a.c:1 3 1", "2 loop at a.c:2 2 2"];
        assert_eq!(shown(&paths), expected);
    }

    #[test]
    fn what_lies_too_deep_is_counted() {
        let tree = fixture::tree();
        let paths = top_down(&question(&tree), Detail::Functions, 2).unwrap();
        assert_eq!((paths.nodes.len(), paths.deeper), (2, 1));
    }

    #[test]
    fn callers_stand_below_what_they_called() {
        let tree = fixture::tree();
        let paths = bottom_up(&question(&tree), None, 2, 0.0).unwrap();
        let expected =
            ["0 main 8 8", "1 <main thread> 8 0", "0 work 7 7", "1 main 5 0", "1 work 2 0"];
        assert_eq!(shown(&paths), expected);
        assert_eq!(paths.deeper, 2);
    }

    #[test]
    fn callers_of_one_function_have_what_it_spent_with_all_that_it_called() {
        let tree = fixture::tree();
        let paths = bottom_up(&question(&tree), Some("work"), 9, 0.0).unwrap();
        // The inner call is part of the outer one.
        assert_eq!(shown(&paths), ["0 work 7 5", "1 main 7 0", "2 <main thread> 7 0"]);
        assert!(bottom_up(&question(&tree), Some("absent"), 9, 0.0).unwrap().nodes.is_empty());
    }

    #[test]
    fn functions_that_spent_little_have_no_callers() {
        let tree = fixture::tree();
        // `main` has 8 of 15, `work` 7: the one is above half, the other below.
        let paths = bottom_up(&question(&tree), None, 9, 0.5).unwrap();
        assert_eq!(shown(&paths), ["0 main 8 8", "1 <main thread> 8 0", "0 work 7 7"]);
        assert_eq!(paths.deeper, 0);
    }

    #[test]
    fn a_chain_of_very_many_is_no_deeper_than_asked_for() {
        let tree = fixture::chain(100_000);
        assert_eq!(top_down(&question(&tree), Detail::Lines, 20).unwrap().nodes.len(), 20);
        assert_eq!(bottom_up(&question(&tree), None, 20, 0.0).unwrap().nodes.len(), 20);
    }
}
