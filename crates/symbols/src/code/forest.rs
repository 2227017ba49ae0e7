//! The loops of a flow graph.
//!
//! A loop is what one can come back from to its header without leaving what lies below the header
//! in a depth-first tree. Where a header dominates its loop, as in all structured code, these are
//! the natural loops; back edges to one header make one loop. Where a loop can be entered at several
//! places, the header is the one that the tree reaches first, and the loop is told by the smallest
//! of the addresses that it is entered at.
//!
//! Loops are found as Ramalingam has it ("Identifying loops in almost linear time", 1999): headers
//! are taken from the innermost out, what is in a loop counts as its header from then on, and an
//! edge that is in no tree is looked at with the innermost node of the tree that is above both of
//! its ends. No step depends on how deep anything is nested, and nothing recurses.

use super::graph::Graph;
use super::{index, number};

/// Loops nested deeper than this are taken for the one around them.
const NESTING_MAX: u32 = 64;

/// More places where a loop ends than this are not kept.
const EXITS_MAX: usize = 256;

/// A loop of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Loop {
    /// The smallest address that it is entered at.
    pub(crate) entry: u64,
    /// The loop around it.
    pub(crate) parent: Option<usize>,
    /// Number of loops around it.
    pub(crate) depth: u32,
    /// True if it is entered at several places.
    pub(crate) is_irreducible: bool,
    /// Addresses of instructions that may end it or go on with it.
    pub(crate) exits: Vec<u64>,
}

/// The loops of a function.
#[derive(Debug, Default)]
pub(crate) struct Loops {
    /// Those around others first.
    pub(crate) all: Vec<Loop>,
    /// Addresses and the innermost loop that they are in, by address.
    pub(crate) spans: Vec<(u64, u64, usize)>,
}

impl Loops {
    /// Finds the loops of a graph.
    pub(crate) fn from_graph(graph: &Graph) -> Self {
        let tree = Tree::from_graph(graph);
        let mut nesting = Nesting::new(graph, tree.order.len());
        for node in (0..number(tree.order.len())).rev() {
            nesting.close(&tree, node);
        }
        nesting.into_loops(graph, &tree)
    }

    /// The innermost loop that an address is in.
    pub(crate) fn innermost(&self, address: u64) -> Option<usize> {
        let after = self.spans.partition_point(|(start, ..)| *start <= address);
        let (_, end, found) = self.spans.get(after.checked_sub(1)?)?;
        (address < *end).then_some(*found)
    }

    /// Returns true if a loop and the one around it are entered at several places: such loops come
    /// apart in ways that the source knows nothing of.
    pub(crate) fn is_part(&self, at: usize) -> bool {
        let is_irreducible = |at: usize| self.all.get(at).is_some_and(|it| it.is_irreducible);
        let parent = self.all.get(at).and_then(|it| it.parent);
        is_irreducible(at) && parent.is_some_and(is_irreducible)
    }

    /// A loop and those around it, from the innermost out.
    pub(crate) fn enclosing_loops(&self, innermost: Option<usize>) -> impl Iterator<Item = usize> {
        std::iter::successors(innermost, |&at| self.all.get(at)?.parent)
    }
}

/// No node.
const NONE: u32 = u32::MAX;

/// A depth-first tree of a graph. Nodes are numbered in the order in which they are reached.
struct Tree {
    /// The block of each node.
    order: Vec<u32>,
    /// The node that each was reached from; none for roots.
    parent: Vec<u32>,
    /// Edges back to a node that is above, by that node.
    back: Edges,
    /// Edges between nodes neither of which is above the other, or that skip some, by the innermost
    /// node above both.
    other: Edges,
}

/// Pairs of nodes, by a node.
#[derive(Default)]
struct Edges {
    /// The last one of each node.
    last: Vec<u32>,
    /// Both ends, and the one before of the same node.
    all: Vec<(u32, u32, u32)>,
}

impl Edges {
    fn add(&mut self, node: u32, from: u32, to: u32) {
        let next = number(self.all.len());
        if self.last.len() <= index(node) {
            self.last.resize(index(node) + 1, NONE);
        }
        let before = self.last.get_mut(index(node)).map(|last| std::mem::replace(last, next));
        self.all.push((from, to, before.unwrap_or(NONE)));
    }

    fn edges_at(&self, node: u32) -> impl Iterator<Item = (u32, u32)> {
        let at = |edge: u32| self.all.get(index(edge)).copied();
        let first = self.last.get(index(node)).and_then(|last| at(*last));
        let edges = std::iter::successors(first, move |(.., before)| at(*before));
        edges.map(|(from, to, _)| (from, to))
    }
}

impl Tree {
    fn from_graph(graph: &Graph) -> Self {
        let mut growing = TreeBuilder {
            tree: Self {
                order: Vec::new(),
                parent: Vec::new(),
                back: Edges::default(),
                other: Edges::default(),
            },
            nodes: vec![NONE; graph.blocks.len()],
            above: Groups::default(),
            path: Vec::new(),
        };
        for &root in &graph.roots {
            growing.grow(graph, root);
        }
        growing.tree
    }
}

/// A tree that is being made.
struct TreeBuilder {
    tree: Tree,
    /// The node of each block.
    nodes: Vec<u32>,
    /// Nodes that are done lead to the innermost one above that is not.
    above: Groups,
    /// Nodes that are not done, and how many of their edges were followed.
    path: Vec<(u32, usize)>,
}

impl TreeBuilder {
    fn grow(&mut self, graph: &Graph, root: u32) {
        self.reach(root, NONE);
        while let Some((node, followed)) = self.path.last_mut() {
            let node = *node;
            let block = self.tree.order.get(index(node)).copied().unwrap_or(NONE);
            let Some(target) = graph.targets(block).get(*followed).copied() else {
                let parent = self.tree.parent.get(index(node)).copied().unwrap_or(NONE);
                self.above.join(node, parent);
                self.path.pop();
                continue;
            };
            *followed += 1;
            match self.nodes.get(index(target)).copied().unwrap_or(NONE) {
                NONE => self.reach(target, node),
                to => self.add_reached_edge(node, to),
            }
        }
    }

    /// A block that was not reached before.
    fn reach(&mut self, block: u32, from: u32) {
        let Some(known) = self.nodes.get_mut(index(block)).filter(|known| **known == NONE) else {
            return;
        };
        let node = number(self.tree.order.len());
        *known = node;
        self.tree.order.push(block);
        self.tree.parent.push(from);
        self.above.add();
        self.path.push((node, 0));
    }

    /// An edge to a node that was reached before.
    fn add_reached_edge(&mut self, from: u32, to: u32) {
        let above = self.above.find(to);
        if above == to {
            // It is not done, so it is above.
            self.tree.back.add(to, from, to);
        } else if above != NONE {
            self.tree.other.add(above, from, to);
        }
    }
}

/// Nodes that count as one another.
#[derive(Default)]
struct Groups(Vec<u32>);

impl Groups {
    fn add(&mut self) {
        self.0.push(number(self.0.len()));
    }

    /// From now on one counts as the other.
    fn join(&mut self, one: u32, other: u32) {
        if let Some(slot) = self.0.get_mut(index(one)) {
            *slot = other;
        }
    }

    /// Returns the node that a node counts as. Ways are halved as they are gone, so that they stay
    /// short.
    fn find(&mut self, mut node: u32) -> u32 {
        loop {
            let up = self.0.get(index(node)).copied().unwrap_or(NONE);
            if up == node || up == NONE {
                return up;
            }
            let further = self.0.get(index(up)).copied().unwrap_or(NONE);
            self.join(node, further);
            if further == NONE {
                return NONE;
            }
            node = further;
        }
    }
}

/// Innermost loop of each node, as far as loops are known.
struct Nesting<'a> {
    graph: &'a Graph,
    /// Nodes of loops that are known count as the outermost header.
    groups: Groups,
    /// The header of the innermost loop around each node, other than itself.
    header: Vec<u32>,
    is_header: Vec<bool>,
    /// The smallest address that the loop of each header is entered at.
    entry: Vec<u64>,
    is_irreducible: Vec<bool>,
    /// Edges that were looked at, by the node that their end counts as.
    known: Edges,
}

impl<'a> Nesting<'a> {
    fn new(graph: &'a Graph, count: usize) -> Self {
        let mut groups = Groups::default();
        (0..count).for_each(|_| groups.add());
        Self {
            graph,
            groups,
            header: vec![NONE; count],
            is_header: vec![false; count],
            entry: vec![u64::MAX; count],
            is_irreducible: vec![false; count],
            known: Edges::default(),
        }
    }

    /// Finds the loop of a node, those of all nodes after it being known.
    fn close(&mut self, tree: &Tree, node: u32) {
        for (from, to) in tree.other.edges_at(node) {
            let (outer_from, outer_to) = (self.groups.find(from), self.groups.find(to));
            if outer_from != outer_to {
                self.known.add(outer_to, outer_from, outer_to);
                self.enter(tree, to);
            }
        }
        let mut open: Vec<u32> = Vec::new();
        let mut has_back = false;
        for (from, _) in tree.back.edges_at(node) {
            has_back = true;
            let from = self.groups.find(from);
            self.take(node, from, &mut open);
        }
        if has_back {
            self.mark(tree, node);
        }
        while let Some(member) = open.pop() {
            let above = tree.parent.get(index(member)).copied().unwrap_or(NONE);
            let above = self.groups.find(above);
            self.take(node, above, &mut open);
            let before: Vec<u32> = self.known.edges_at(member).map(|(from, _)| from).collect();
            for from in before {
                let from = self.groups.find(from);
                self.take(node, from, &mut open);
            }
        }
    }

    /// Puts a node into the loop of a header.
    fn take(&mut self, header: u32, node: u32, open: &mut Vec<u32>) {
        if node == header || node == NONE {
            return;
        }
        if let Some(slot) = self.header.get_mut(index(node)) {
            *slot = header;
        }
        self.groups.join(node, header);
        open.push(node);
    }

    fn mark(&mut self, tree: &Tree, node: u32) {
        let start = self.start(tree, node);
        if let Some(is_header) = self.is_header.get_mut(index(node)) {
            *is_header = true;
        }
        if let Some(entry) = self.entry.get_mut(index(node)) {
            *entry = start;
        }
    }

    /// Takes down that loops around a node, as far as they are known, are entered at it.
    fn enter(&mut self, tree: &Tree, node: u32) {
        let start = self.start(tree, node);
        let mut header = self.header.get(index(node)).copied().unwrap_or(NONE);
        for _ in 0..NESTING_MAX {
            let Some(entry) = self.entry.get_mut(index(header)) else { return };
            *entry = start.min(*entry);
            if let Some(is_irreducible) = self.is_irreducible.get_mut(index(header)) {
                *is_irreducible = true;
            }
            header = self.header.get(index(header)).copied().unwrap_or(NONE);
        }
    }

    fn start(&self, tree: &Tree, node: u32) -> u64 {
        let block =
            tree.order.get(index(node)).and_then(|block| self.graph.blocks.get(index(*block)));
        block.map_or(u64::MAX, |block| block.start)
    }

    fn into_loops(self, graph: &Graph, tree: &Tree) -> Loops {
        let mut loops = Loops::default();
        // The loop of each header, and the innermost one of each block.
        let mut of_header: Vec<Option<usize>> = vec![None; tree.order.len()];
        let mut of_block: Vec<Option<usize>> = vec![None; graph.blocks.len()];
        for (node, block) in tree.order.iter().enumerate() {
            let header = self.header.get(node).copied().unwrap_or(NONE);
            let around = of_header.get(index(header)).copied().flatten();
            let mut innermost = around;
            if self.is_header.get(node).copied().unwrap_or(false) {
                innermost = self.add_loop(node, around, &mut loops);
                if let Some(slot) = of_header.get_mut(node) {
                    *slot = innermost;
                }
            }
            if let Some(slot) = of_block.get_mut(index(*block)) {
                *slot = innermost;
            }
        }
        loops.span(graph, &of_block);
        loops.find_exits(graph, &of_block);
        loops
    }

    /// Adds the loop of a header to those that are known, if it is not nested too deep.
    fn add_loop(&self, node: usize, around: Option<usize>, to: &mut Loops) -> Option<usize> {
        let depth = around.and_then(|at| to.all.get(at)).map_or(0, |it| it.depth + 1);
        if depth >= NESTING_MAX {
            return around;
        }
        to.all.push(Loop {
            entry: self.entry.get(node).copied().unwrap_or(0),
            parent: around,
            depth,
            is_irreducible: self.is_irreducible.get(node).copied().unwrap_or(false),
            exits: Vec::new(),
        });
        Some(to.all.len() - 1)
    }
}

impl Loops {
    /// Takes down the addresses of blocks.
    fn span(&mut self, graph: &Graph, of_block: &[Option<usize>]) {
        for (block, innermost) in graph.blocks.iter().zip(of_block) {
            let Some(innermost) = *innermost else { continue };
            // Of code that overlaps the first counts.
            let covered = self.spans.last().map_or(0, |(_, end, _)| *end);
            match self.spans.last_mut() {
                Some((_, end, before)) if *end == block.start && *before == innermost => {
                    *end = block.end;
                }
                _ if covered < block.end => {
                    self.spans.push((block.start.max(covered), block.end, innermost));
                }
                _ => {}
            }
        }
    }

    /// Finds the instructions that lead both out of a loop and on within it.
    fn find_exits(&mut self, graph: &Graph, of_block: &[Option<usize>]) {
        for (number, block) in (0..).zip(&graph.blocks) {
            let innermost = of_block.get(index(number)).copied().flatten();
            let targets = graph.targets(number).iter();
            let depth_of = |target: &u32| {
                let target = of_block.get(index(*target)).copied().flatten();
                self.shared_depth(innermost, target)
            };
            // How many of the loops around the block go on, at most and at least.
            let depths = targets.map(depth_of).chain(block.leaves.then_some(0));
            let (least, most) = depths
                .fold((u32::MAX, 0), |(least, most), depth| (least.min(depth), most.max(depth)));
            let ended: Vec<usize> = self.enclosing_loops(innermost).collect();
            for at in ended {
                if let Some(it) = self.all.get_mut(at)
                    && (least..most).contains(&it.depth)
                    && it.exits.len() < EXITS_MAX
                {
                    it.exits.push(block.last);
                }
            }
        }
    }

    /// Counts the loops that are around both of two.
    fn shared_depth(&self, one: Option<usize>, other: Option<usize>) -> u32 {
        let depth =
            |at: Option<usize>| at.and_then(|at| self.all.get(at)).map_or(0, |it| it.depth + 1);
        let parent = |at: Option<usize>| at.and_then(|at| self.all.get(at)?.parent);
        let (mut one, mut other) = (one, other);
        while one != other {
            if depth(one) >= depth(other) {
                one = parent(one);
            } else {
                other = parent(other);
            }
        }
        depth(one)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    type Blocks = BTreeSet<u32>;

    /// Returns the blocks that can be reached from a block without going through another.
    fn reached(leads: &[Vec<u32>], from: u32, without: Option<u32>) -> Blocks {
        let mut reached = Blocks::new();
        let mut open = vec![from];
        while let Some(block) = open.pop() {
            if Some(block) != without && reached.insert(block) {
                open.extend(&leads[index(block)]);
            }
        }
        reached
    }

    fn dominates(leads: &[Vec<u32>], one: u32, other: u32) -> bool {
        !reached(leads, 0, Some(one)).contains(&other)
    }

    /// The natural loops by their headers: back edges lead to a block that dominates where they
    /// come from, and what leads there without the header is in the loop.
    fn natural(leads: &[Vec<u32>]) -> Vec<(u32, Blocks)> {
        let known = reached(leads, 0, None);
        let mut loops: Vec<(u32, Blocks)> = Vec::new();
        for &header in &known {
            let is_back = |from: &&u32| {
                leads[index(**from)].contains(&header) && dominates(leads, header, **from)
            };
            let sources: Vec<u32> = known.iter().filter(is_back).copied().collect();
            let is_in = |block: &&u32| {
                let reached = reached(leads, **block, Some(header));
                sources.iter().any(|source| reached.contains(source))
            };
            if !sources.is_empty() {
                let body: Blocks = known.iter().filter(is_in).copied().chain([header]).collect();
                loops.push((header, body));
            }
        }
        loops
    }

    /// Returns true if all loops are natural: without back edges nothing comes back.
    fn is_reducible(leads: &[Vec<u32>]) -> bool {
        let known = reached(leads, 0, None);
        let mut forward = vec![Vec::new(); leads.len()];
        for &from in &known {
            let is_forward = |to: &&u32| !dominates(leads, **to, from);
            forward[index(from)].extend(leads[index(from)].iter().filter(is_forward));
        }
        known.iter().all(|block| {
            let next = &forward[index(*block)];
            next.iter().all(|to| !reached(&forward, *to, None).contains(block))
        })
    }

    fn found(leads: &[Vec<u32>]) -> Vec<(u32, Blocks)> {
        let loops = Loops::from_graph(&Graph::made(leads));
        let mut bodies: Vec<(u32, Blocks)> = Vec::new();
        for (at, it) in loops.all.iter().enumerate() {
            let is_in = |block: &u32| {
                loops.enclosing_loops(loops.innermost(u64::from(*block))).any(|around| around == at)
            };
            let body = (0..number(leads.len())).filter(is_in).collect();
            bodies.push((u32::try_from(it.entry).unwrap(), body));
        }
        bodies.sort();
        bodies
    }

    fn graphs() -> impl Strategy<Value = Vec<Vec<u32>>> {
        (1..10_u32).prop_flat_map(|count| {
            let to = prop::collection::vec(0..count, 0..3);
            prop::collection::vec(to, count as usize)
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn loops_are_the_natural_loops_where_all_are(leads in graphs()) {
            if is_reducible(&leads) {
                prop_assert_eq!(found(&leads), natural(&leads));
            }
        }

        /// Whatever comes back to itself is in a loop, and nothing else is.
        #[test]
        fn what_comes_back_is_in_a_loop(leads in graphs()) {
            let bodies = found(&leads);
            for block in reached(&leads, 0, None) {
                let next = &leads[index(block)];
                let comes_back = next.iter().any(|to| reached(&leads, *to, None).contains(&block));
                let is_in = bodies.iter().any(|(_, body)| body.contains(&block));
                prop_assert_eq!(comes_back, is_in, "block {}", block);
            }
        }
    }
}
