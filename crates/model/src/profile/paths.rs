//! Hot paths: from the entry points down, or from where time was spent up to its callers.

use std::collections::HashMap;

use super::flat::remainder;
use super::inconsistencies::{self, ExcessOverParent};
use super::labels::{Label, Labels, Texts};
use super::question::{ContextReader, Spent};
use super::stack::Stack;
use super::{Context, ContextNumber, MetricQuery, NamePattern, Scope, Step, Walk};
use kymo_core::{Result, slot};

/// Contexts that are nodes of a tree of paths. A context that is left out counts for the node
/// above.
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
    /// Total that all entry points spent together.
    pub total: f64,
    /// Parents before their children.
    pub nodes: Vec<PathNode>,
    /// Contexts that lie deeper than what was asked for.
    pub deeper: u64,
    /// True if values are computed, so that they are no parts of a total.
    pub is_computed: bool,
    /// True if shares, and what comes first, go by what was spent exclusive of calls.
    pub is_by_exclusive: bool,
    /// Description of something that no program does, in a sentence without full stop: values and
    /// contexts do not belong together then.
    pub odd: Option<String>,
    /// Value that everything that was called spent itself.
    pub(super) own: f64,
    pub(super) outgrown: ExcessOverParent,
    pub(super) labels: Texts,
}

/// A node of a tree of paths.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PathNode {
    /// The index of the node above.
    pub parent: Option<usize>,
    /// Depth of the node; 0 at the top.
    pub depth: usize,
    /// The number of the context, from the entry points down, where it is one and no more.
    pub context: Option<ContextNumber>,
    /// Kind of the context.
    pub scope: Scope,
    /// True if it was inlined.
    pub is_inlined: bool,
    /// Value spent there and below. From callers' side: the value that the function at the top
    /// spent with all that it called when it was called this way; calls of itself count once.
    pub inclusive: f64,
    /// Value spent there. Of a loop, without the loops within it where these are recorded apart.
    /// From callers' side: the value that the function at the top spent itself when it was called
    /// this way.
    pub exclusive: f64,
    /// Its part of the total, or of what it is computed from the largest part.
    pub share: f64,
    pub(super) label: Label,
}

impl PathTree {
    /// Returns the label of a node.
    #[must_use]
    pub fn label(&self, node: &PathNode) -> &str {
        self.labels.get(node.label)
    }

    /// Returns the value by which a node is ranked.
    #[must_use]
    pub fn weight(&self, node: &PathNode) -> f64 {
        if self.is_by_exclusive { node.exclusive } else { node.inclusive }
    }

    /// Gives what leads to others as large a share as the largest of them has, and leaves out what
    /// leads to nothing.
    fn raise_ancestor_shares(&mut self) {
        for index in (0..self.nodes.len()).rev() {
            let Some(PathNode { parent, share, .. }) = self.nodes.get(index).copied() else {
                continue;
            };
            if let Some(parent) = parent.and_then(|parent| self.nodes.get_mut(parent)) {
                parent.share = parent.share.max(share);
            }
        }
        let mut places = Vec::with_capacity(self.nodes.len());
        let mut kept = 0;
        for node in &mut self.nodes {
            node.parent = node.parent.and_then(|parent| places.get(parent).copied());
            places.push(kept);
            kept += usize::from(node.share > 0.0);
        }
        self.nodes.retain(|node| node.share > 0.0);
    }

    /// The same, with what is odd about it. What is not measured is no number.
    fn with_inconsistencies(
        mut self,
        values: &ContextReader<'_>,
        is_from_callers: bool,
    ) -> Result<Self> {
        for node in &mut self.nodes {
            let spent = Spent { inclusive: node.inclusive, exclusive: node.exclusive };
            let Spent { inclusive, exclusive } = values.measured.mask_unmeasured(spent);
            *node = PathNode { inclusive, exclusive, ..*node };
        }
        Ok(Self {
            odd: inconsistencies::tree_inconsistency(&self, values, is_from_callers)?,
            ..self
        })
    }
}

/// The paths from the entry points down, as deep as asked for.
///
/// # Errors
/// When the profile cannot be read.
pub fn top_down(question: &MetricQuery<'_>, detail: Detail, depth_max: usize) -> Result<PathTree> {
    let mut labels = Labels::for_view(question.view);
    let values = ContextReader::places(question);
    let tree = top_down_statistic(&values, &mut labels, detail, depth_max)?;
    PathTree { labels: labels.texts()?, ..tree }.with_inconsistencies(&values, false)
}

/// The paths from the entry points down, with any statistic over threads. The texts of labels are
/// left to the caller.
pub(super) fn top_down_statistic(
    values: &ContextReader<'_>,
    labels: &mut Labels<'_>,
    detail: Detail,
    depth_max: usize,
) -> Result<PathTree> {
    let mut making = PathTreeBuilder::new(values, labels);
    // Without what was spent inclusive of calls, nothing tells of what is below.
    making.tree.is_by_exclusive = !values.measured.inclusive;
    let mut open: Stack<Ancestor, 3> = Stack::default();
    let mut walk = Walk::new(values.view())?;
    while let Some(step) = walk.next() {
        let (context, depth) = match step? {
            Step::Enter(context, depth) => (context, depth),
            Step::Leave(..) => {
                open.pop()?;
                continue;
            }
        };
        let above = open.last_mut()?.copied();
        let spent = making.spent(&context, depth)?;
        making.compare_with_parent(&context, spent, above.map(|above| above.inclusive));
        let Ancestor { mut node, mut around, .. } = above.unwrap_or_default();
        let is_loop = context.scope == Scope::Loop;
        around = around.filter(|_| !context.is_frame());
        if is_loop {
            making.subtract_from_loop(around, spent.exclusive);
        }
        // Where nothing was spent, by these threads, there is no path.
        let is_cold = spent.inclusive == 0.0 && spent.exclusive == 0.0 && values.measured.inclusive;
        if is_cold {
            walk.prune()?;
        } else if detail.shows(&context) {
            if making.subtree_depth(node) < depth_max {
                let label = making.labels.context_label(&context)?;
                let frame = Frame::new(&context, label, depth);
                node = Some(making.node(node, frame, Some(context.number)));
                making.add(node, spent);
                around = if is_loop { node } else { around };
            } else {
                making.tree.deeper += 1;
                making.tree.own += spent.inclusive - spent.exclusive;
                walk.prune()?;
            }
        }
        open.push(Ancestor { node, around, inclusive: spent.inclusive })?;
    }
    Ok(making.finish())
}

/// The functions that spent something themselves, and below each its callers, as deep as asked
/// for. A node has what the function at the top spent when it was called so, ranked by what it spent
/// itself.
///
/// Of functions that a pattern means, all calls count, ranked by what it spent with all that it called.
/// Functions with less than a share of the total, `least`, have no callers below them: there may be
/// very many.
///
/// # Errors
/// When the profile cannot be read.
pub fn bottom_up(
    question: &MetricQuery<'_>,
    name_pattern: Option<&NamePattern>,
    depth_max: usize,
    least: f64,
) -> Result<PathTree> {
    let mut labels = Labels::for_view(question.view);
    let values = ContextReader::sums(question);
    let wanted = match name_pattern {
        Some(pattern) => CallerFilter::Called(pattern),
        None => CallerFilter::Spent(self_shares(&values, &mut labels)?, least),
    };
    let tree = bottom_up_statistic(&values, &mut labels, &wanted, depth_max)?;
    PathTree { labels: labels.texts()?, ..tree }.with_inconsistencies(&values, true)
}

/// Functions that have callers.
pub(super) enum CallerFilter<'a> {
    /// Those that a pattern means.
    Called(&'a NamePattern),
    /// Those that spent something themselves, by the share of the total that each label has of it;
    /// those with less than another share are shown without callers.
    Spent(Vec<f64>, f64),
}

impl CallerFilter<'_> {
    /// Returns the number of callers of a function that are shown, itself included.
    fn depth(
        &self,
        label: Label,
        is_called: impl FnOnce(&NamePattern) -> bool,
        depth_max: usize,
    ) -> usize {
        match self {
            Self::Called(pattern) => {
                if is_called(pattern) {
                    depth_max
                } else {
                    0
                }
            }
            Self::Spent(shares, least) => match shares.get(label.0).copied().unwrap_or(0.0) {
                0.0 => 0,
                share if share < *least => depth_max.min(1),
                _ => depth_max,
            },
        }
    }
}

/// Computes the values that functions spent themselves, by their labels, as shares of the total.
pub(super) fn self_shares(values: &ContextReader<'_>, labels: &mut Labels<'_>) -> Result<Vec<f64>> {
    let (mut total, mut called, mut own) = (0.0, 0.0, Vec::new());
    for step in Walk::new(values.view())? {
        let Step::Enter(context, depth) = step? else { continue };
        if !context.is_frame() {
            continue;
        }
        let spent = values.spent(&context)?;
        if depth == 0 {
            values.combine(&mut total, spent.inclusive);
        }
        called += spent.exclusive;
        let label = labels.context_label(&context)?;
        own.resize(labels.len(), 0.0);
        if let Some(own) = own.get_mut(label.0) {
            values.combine(own, spent.exclusive);
        }
    }
    let total = values.total(total, called);
    let share = |own: f64| if own == 0.0 { 0.0 } else { (own / total).abs() };
    Ok(own.into_iter().map(share).collect())
}

/// Functions with their callers, with any statistic over threads. The texts of labels are left to
/// the caller.
pub(super) fn bottom_up_statistic(
    values: &ContextReader<'_>,
    labels: &mut Labels<'_>,
    wanted: &CallerFilter<'_>,
    depth_max: usize,
) -> Result<PathTree> {
    let mut making = PathTreeBuilder::new(values, labels);
    making.tree.is_by_exclusive = matches!(wanted, CallerFilter::Spent(..));
    let mut frames: Stack<Frame, 4> = Stack::default();
    // How many frames of each label we are within.
    let mut within: Vec<u32> = Vec::new();
    for step in Walk::new(values.view())? {
        let (context, depth) = match step? {
            Step::Enter(context, depth) if context.is_frame() => (context, depth),
            Step::Leave(_, depth) => {
                if let Some(frame) = frames.last_mut()?.copied().filter(|it| it.depth == depth) {
                    frames.pop()?;
                    *slot(&mut within, frame.label.0) -= 1;
                }
                continue;
            }
            Step::Enter(..) => continue,
        };
        let spent = making.spent(&context, depth)?;
        let label = making.labels.context_label(&context)?;
        let above = frames.last_mut()?.map(|above| above.inclusive);
        making.compare_with_parent(&context, spent, above);
        frames.push(Frame { inclusive: spent.inclusive, ..Frame::new(&context, label, depth) })?;
        let count = slot(&mut within, label.0);
        *count += 1;
        // An inner call is part of the outer one.
        let inclusive = if *count == 1 { spent.inclusive } else { 0.0 };
        let depth_max = wanted.depth(label, |pattern| making.is_called(label, pattern), depth_max);
        if depth_max > 0 && (inclusive != 0.0 || spent.exclusive != 0.0) {
            making.callers(frames.top(depth_max)?, Spent { inclusive, ..spent });
            making.tree.deeper += u64::from(depth_max > 1 && frames.len() > depth_max);
        }
    }
    Ok(making.finish())
}

/// Place of a context on the way to the current one.
#[derive(Clone, Copy, Default)]
struct Ancestor {
    /// Its node, or that of the nearest above that has one.
    node: Option<usize>,
    /// The node of the loop that it is, or lies in with no call between.
    around: Option<usize>,
    /// Value that it spent with all that it called.
    inclusive: f64,
}

impl From<Ancestor> for [u64; 3] {
    fn from(Ancestor { node, around, inclusive }: Ancestor) -> Self {
        let index = |node: Option<usize>| node.map_or(u64::MAX, |node| node as u64);
        [index(node), index(around), inclusive.to_bits()]
    }
}

impl From<[u64; 3]> for Ancestor {
    fn from([node, around, inclusive]: [u64; 3]) -> Self {
        let index = |node: u64| usize::try_from(node).ok().filter(|_| node != u64::MAX);
        let inclusive = f64::from_bits(inclusive);
        Self { node: index(node), around: index(around), inclusive }
    }
}

/// A context that becomes a node: what it is to a person.
#[derive(Clone, Copy)]
struct Frame {
    label: Label,
    /// Depth in the tree of contexts.
    depth: usize,
    scope: Scope,
    is_inlined: bool,
    /// Value that it spent with all that it called.
    inclusive: f64,
}

impl Frame {
    fn new(context: &Context, label: Label, depth: usize) -> Self {
        let is_inlined = context.relation == super::Relation::Inlined;
        Self { label, depth, scope: context.scope, is_inlined, inclusive: 0.0 }
    }
}

impl From<Frame> for [u64; 4] {
    fn from(Frame { label, depth, scope, is_inlined, inclusive }: Frame) -> Self {
        let kind = (scope as u64) << 1 | u64::from(is_inlined);
        [label.0 as u64, depth as u64, kind, inclusive.to_bits()]
    }
}

impl From<[u64; 4]> for Frame {
    fn from([label, depth, kind, inclusive]: [u64; 4]) -> Self {
        let index = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let scope = Scope::ALL.get(index(kind >> 1)).copied().unwrap_or(Scope::Other);
        let (is_inlined, inclusive) = (kind & 1 == 1, f64::from_bits(inclusive));
        Self { label: Label(index(label)), depth: index(depth), scope, is_inlined, inclusive }
    }
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
        match nodes.get_mut(place) {
            Some(known) if known.context != node.context => known.context = None,
            Some(_) => {}
            None => nodes.push(node),
        }
        place
    }
}

struct PathTreeBuilder<'a, 'b, 'v> {
    values: &'a ContextReader<'a>,
    tree: PathTree,
    labels: &'b mut Labels<'v>,
    known: Nodes,
    /// Flags of labels: true for those of the function in question.
    called: HashMap<Label, bool>,
}

impl<'a, 'b, 'v> PathTreeBuilder<'a, 'b, 'v> {
    fn new(values: &'a ContextReader<'a>, labels: &'b mut Labels<'v>) -> Self {
        let (tree, known, called) = <_>::default();
        Self { values, tree, labels, known, called }
    }

    /// Returns the values that a context spent; entry points make the total.
    fn spent(&mut self, context: &Context, depth: usize) -> Result<Spent> {
        let spent = self.values.spent(context)?;
        if depth == 0 {
            self.values.combine(&mut self.tree.total, spent.inclusive);
        }
        if context.is_frame() {
            self.tree.own += spent.exclusive;
        }
        Ok(spent)
    }

    /// Compares what a context spent with what the one above it did.
    fn compare_with_parent(&mut self, context: &Context, spent: Spent, above: Option<f64>) {
        self.tree.outgrown.check(self.values, context, spent.inclusive, above);
    }

    /// Takes what a loop spent off the one around it.
    fn subtract_from_loop(&mut self, around: Option<usize>, value: f64) {
        let around = around.filter(|_| self.values.is_without_loops);
        if let Some(around) = around.and_then(|index| self.tree.nodes.get_mut(index)) {
            around.exclusive = remainder(around.exclusive - value, around.exclusive);
        }
    }

    /// Adds what was spent in the last of some frames to the path of its callers.
    fn callers(&mut self, frames: &[Frame], spent: Spent) {
        let mut node = None;
        for frame in frames.iter().rev() {
            // A function is one at the top, inlined or not: calls of itself count once in it.
            let is_inlined = frame.is_inlined && node.is_some();
            node = Some(self.node(node, Frame { is_inlined, ..*frame }, None));
            self.add(node, spent);
        }
    }

    fn is_called(&mut self, label: Label, pattern: &NamePattern) -> bool {
        let Self { labels, called, .. } = self;
        *called.entry(label).or_insert_with(|| labels.matches(label, pattern))
    }

    fn subtree_depth(&self, parent: Option<usize>) -> usize {
        parent.and_then(|parent| self.tree.nodes.get(parent)).map_or(0, |above| above.depth + 1)
    }

    /// The node of a label below another.
    fn node(
        &mut self,
        parent: Option<usize>,
        frame: Frame,
        context: Option<ContextNumber>,
    ) -> usize {
        let Frame { label, scope, is_inlined, .. } = frame;
        let node = PathNode {
            parent,
            depth: self.subtree_depth(parent),
            context,
            scope,
            is_inlined,
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
        self.tree.total = self.values.total(self.tree.total, self.tree.own);
        let (total, is_by_exclusive) = (self.tree.total.abs(), self.tree.is_by_exclusive);
        for node in &mut self.tree.nodes {
            let weight = if is_by_exclusive { node.exclusive } else { node.inclusive };
            node.share = if total == 0.0 { 1.0 } else { weight.abs() / total };
        }
        if !self.values.measured.inclusive {
            self.tree.raise_ancestor_shares();
        }
        self.tree
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{self, shown};
    use super::super::{CallTree, MetricId};
    use super::*;

    fn question(view: &CallTree) -> MetricQuery<'_> {
        MetricQuery { view, metric: MetricId(0), threads: None }
    }

    fn called(name: &str) -> NamePattern {
        NamePattern::new(name).unwrap()
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

    /// `main` spent 8 itself and 15 with all that it called. The outer call of `work` spent 5 itself
    /// and 7 with the inner one, which spent 2: that is part of the outer one.
    #[test]
    fn callers_stand_below_what_they_called() {
        let tree = fixture::tree();
        let paths = bottom_up(&question(&tree), None, 2, 0.0).unwrap();
        let expected =
            ["0 main 15 8", "1 <main thread> 15 8", "0 work 7 7", "1 main 7 5", "1 work 0 2"];
        assert_eq!(shown(&paths), expected);
        assert_eq!(paths.deeper, 2);
        // By what each spent itself, of 15.
        assert!((paths.nodes[3].share - 5.0 / 15.0).abs() < 1e-12);
    }

    #[test]
    fn callers_of_one_function_have_what_it_spent_with_all_that_it_called() {
        let tree = fixture::tree();
        let paths = bottom_up(&question(&tree), Some(&called("work")), 9, 0.0).unwrap();
        let expected = [
            "0 work 7 7",
            "1 main 7 5",
            "2 <main thread> 7 5",
            "1 work 0 2",
            "2 main 0 2",
            "3 <main thread> 0 2",
        ];
        assert_eq!(shown(&paths), expected);
        assert!(
            bottom_up(&question(&tree), Some(&called("absent")), 9, 0.0).unwrap().nodes.is_empty()
        );
    }

    /// The inlined head of `work` spent 3 and its body, called from there, 2: 5 in all, with what is
    /// called, as in a flat list.
    #[test]
    fn a_function_that_was_inlined_and_called_is_one_at_the_top() {
        let tree = fixture::inlined_head();
        let paths = bottom_up(&question(&tree), Some(&called("work")), 2, 0.0).unwrap();
        assert_eq!(shown(&paths), ["0 work 5 5", "1 main 5 3", "1 work 0 2"]);
        let inlined: Vec<_> = paths.nodes.iter().map(|node| node.is_inlined).collect();
        assert_eq!(inlined, [false, false, true]);
    }

    #[test]
    fn functions_that_spent_little_have_no_callers() {
        let tree = fixture::tree();
        // `main` has 8 of 15, `work` 7: the one is above half, the other below.
        let paths = bottom_up(&question(&tree), None, 9, 0.5).unwrap();
        assert_eq!(shown(&paths), ["0 main 15 8", "1 <main thread> 15 8", "0 work 7 7"]);
        assert_eq!(paths.deeper, 0);
    }

    #[test]
    fn a_chain_of_very_many_is_no_deeper_than_asked_for() {
        let tree = fixture::chain(100_000);
        assert_eq!(top_down(&question(&tree), Detail::Lines, 20).unwrap().nodes.len(), 20);
        assert_eq!(bottom_up(&question(&tree), None, 20, 0.0).unwrap().nodes.len(), 20);
    }
}
