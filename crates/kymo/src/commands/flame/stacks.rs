//! Paths as lines: names with `;` between them, and a whole number at the end.

use std::fmt::Write;

use kymo_model::profile::{PathNode, PathTree, beginning};

/// Least size that the total is scaled to, so that whole numbers are fine enough.
const TOTAL_MIN: f64 = 1e9;

/// Greatest size that the total is scaled to, so that it is still a whole number of 64 bits.
const TOTAL_MAX: f64 = 1e18;

/// Differences below this share of the total are rounding.
const ROUNDING: f64 = 1e-9;

/// Stacks of a tree of paths.
pub(super) struct Stacks<'a> {
    tree: &'a PathTree,
    /// Values that each node spent without the nodes below it that have lines.
    own: Vec<f64>,
    /// The least share of the total that has lines.
    least: f64,
    /// Number of characters of a name that are in lines; `None` means all.
    pub(super) name_max: Option<usize>,
    /// Factor by which values are multiplied to be the numbers of lines.
    pub(super) scale: f64,
    /// True if that is 1: all was whole before.
    pub(super) is_whole: bool,
    /// Paths that spent less than nothing, which no line can say.
    pub(super) negative: u64,
    /// One of them.
    pub(super) example: Option<String>,
}

impl<'a> Stacks<'a> {
    /// Nodes that have less than a share of the total count for the node above.
    pub(super) fn new(tree: &'a PathTree, least: f64) -> Self {
        let own = self_values(tree, least);
        let is_whole = own.iter().all(|value| value.fract() == 0.0);
        let is_fine = is_whole && tree.total.abs() <= TOTAL_MAX;
        let scale = if is_fine { 1.0 } else { scale(tree.total) };
        let is_negative = |own: &f64| *own < -tree.total.abs() * ROUNDING;
        let mut negative = tree.nodes.iter().zip(&own).filter(|(_, own)| is_negative(own));
        let example = negative.next().map(|(node, _)| tree.label(node).to_owned());
        let negative = u64::from(example.is_some()) + negative.count() as u64;
        Self { tree, own, least, name_max: None, scale, is_whole: is_fine, negative, example }
    }

    /// Returns the number of bytes of all lines, without their numbers, with so many characters of
    /// names.
    pub(super) fn bytes(&self, name_max: Option<usize>) -> u64 {
        let (mut lengths, mut all): (Vec<u64>, _) = (Vec::new(), 0_u64);
        // Parents come before their children.
        for (index, node) in self.tree.nodes.iter().enumerate() {
            let above = node.parent.and_then(|parent| lengths.get(parent)).copied().unwrap_or(0);
            let length = above + self.name(node, name_max).len() as u64 + 1;
            lengths.push(length);
            if node.share >= self.least && self.count(index) >= 1.0 {
                all = all.saturating_add(length);
            }
        }
        all
    }

    fn name(&self, node: &PathNode, name_max: Option<usize>) -> &'a str {
        let label = self.tree.label(node);
        name_max.map_or(label, |name_max| beginning(label, name_max))
    }

    /// Returns the value that a node spent itself, as a whole number.
    fn count(&self, index: usize) -> f64 {
        (self.own.get(index).copied().unwrap_or(0.0) * self.scale).round()
    }

    /// Gives a line for each path that spent something itself. Siblings come in the order of their
    /// names, and a path before what is below it. Only the path to where it is is held.
    pub(super) fn each<E>(&self, mut take: impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        let mut children = vec![Vec::new(); self.tree.nodes.len()];
        let mut pending = Vec::new();
        for (index, node) in self.tree.nodes.iter().enumerate() {
            if node.share >= self.least {
                let siblings = node.parent.and_then(|parent| children.get_mut(parent));
                siblings.unwrap_or(&mut pending).push(index);
            }
        }
        self.sort(&mut pending);
        let (mut line, mut ends) = (String::new(), vec![0]);
        while let Some(index) = pending.pop() {
            let Some(node) = self.tree.nodes.get(index) else { continue };
            ends.truncate(node.depth + 1);
            line.truncate(ends.last().copied().unwrap_or(0));
            if !line.is_empty() {
                line.push(';');
            }
            line.extend(self.name(node, self.name_max).chars().map(plain));
            ends.push(line.len());
            let count = self.count(index);
            if count >= 1.0 {
                let end = line.len();
                let _ = write!(line, " {count:.0}");
                take(&line)?;
                line.truncate(end);
            }
            let mut below = children.get_mut(index).map(std::mem::take).unwrap_or_default();
            self.sort(&mut below);
            pending.append(&mut below);
        }
        Ok(())
    }

    /// The first by its name last.
    fn sort(&self, siblings: &mut [usize]) {
        let name = |index: &usize| self.tree.nodes.get(*index).map(|node| self.tree.label(node));
        siblings.sort_by(|a, b| name(b).cmp(&name(a)));
    }
}

/// Returns the values that each node spent without the nodes below it that have at least a share of
/// the total.
fn self_values(tree: &PathTree, least: f64) -> Vec<f64> {
    let mut own: Vec<f64> = tree.nodes.iter().map(|node| node.inclusive).collect();
    for node in tree.nodes.iter().filter(|node| node.share >= least) {
        if let Some(above) = node.parent.and_then(|parent| own.get_mut(parent)) {
            *above -= node.inclusive;
        }
    }
    own
}

/// The power of ten that makes a total large enough, and not too large.
fn scale(total: f64) -> f64 {
    let mut scale = 1.0;
    while total.abs() * scale > TOTAL_MAX && total.is_finite() {
        scale /= 10.0;
    }
    while total.abs() * scale < TOTAL_MIN && scale < 1e15 && total != 0.0 {
        scale *= 10.0;
    }
    scale
}

/// Characters that mean something in a line are others.
fn plain(character: char) -> char {
    match character {
        ';' => ':',
        control if control.is_control() => ' ',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kymo_core::bytes::Limits;
    use kymo_model::profile::{
        CallTreeBuilder, Detail, Function, Metric, MetricQuery, Node, Relation, Scope, Thread,
        top_down,
    };

    struct Found {
        lines: Vec<String>,
        scale: f64,
        negative: u64,
        example: Option<String>,
    }

    /// Three functions that call each other, with what each spent itself.
    fn tree(values: [f64; 3]) -> PathTree {
        let mut builder = CallTreeBuilder::new(&Limits::default());
        let metric = builder.metric(Metric::named("time (sec)")).unwrap();
        let thread = builder.thread(Thread::default()).unwrap();
        let mut above = None;
        for (name, value) in ["main", "a;b", "leaf"].into_iter().zip(values) {
            let function = Function { name: name.to_owned(), ..Function::default() };
            let function = Some(builder.function(function));
            let node = Node { function, ..Node::new(Scope::Function, Relation::Call) };
            above = Some(builder.child(above, node).unwrap());
            builder.add(thread, above.unwrap(), metric, value);
        }
        let tree = builder.finish();
        let question = MetricQuery { view: &tree, metric, threads: None };
        top_down(&question, Detail::Functions, 9).unwrap()
    }

    fn stacks(values: [f64; 3], least: f64) -> Found {
        let tree = tree(values);
        let stacks = Stacks::new(&tree, least);
        let mut lines = Vec::new();
        let take = |line: &str| -> Result<(), ()> {
            lines.push(line.to_owned());
            Ok(())
        };
        stacks.each(take).unwrap();
        let Stacks { scale, negative, example, .. } = stacks;
        Found { lines, scale, negative, example }
    }

    #[test]
    fn whole_numbers_stay_as_they_are() {
        let found = stacks([1.0, 0.0, 2.0], 0.0);
        assert_eq!(found.lines, ["main 1", "main;a:b;leaf 2"]);
        assert_eq!(found.negative, 0);
        assert!((found.scale - 1.0).abs() < 1e-9);
    }

    #[test]
    fn fractions_are_made_whole_and_what_is_negative_is_counted() {
        let found = stacks([0.5, 0.25, 0.125], 0.0);
        let lines = ["main 5000000000", "main;a:b 2500000000", "main;a:b;leaf 1250000000"];
        assert_eq!(found.lines, lines);
        assert!((found.scale - 1e10).abs() < 1.0);
        let found = stacks([-1.0, 0.0, 3.0], 0.0);
        assert_eq!((found.negative, found.example.as_deref()), (1, Some("main")));
    }

    #[test]
    fn what_has_too_small_a_share_counts_for_what_is_above() {
        // The leaf has 1 of 8, which is less than a quarter.
        assert_eq!(stacks([4.0, 3.0, 1.0], 0.25).lines, ["main 4", "main;a:b 4"]);
    }

    #[test]
    fn what_is_too_large_for_whole_numbers_is_made_smaller() {
        let found = stacks([3e19, 0.0, 1e19], 0.0);
        assert!(found.scale < 0.1, "{}", found.scale);
        let numbers = found.lines.iter().map(|line| line.rsplit_once(' ').unwrap().1);
        let numbers: Vec<u64> = numbers.map(|number| number.parse().unwrap()).collect();
        assert_eq!(numbers, [3 * numbers[1], numbers[1]]);
    }

    /// `main`, `main;a:b` and `main;a:b;leaf`, each with one byte more for what stands behind it.
    #[test]
    fn the_bytes_of_all_lines_are_known_before() {
        let tree = tree([1.0, 1.0, 1.0]);
        let mut stacks = Stacks::new(&tree, 0.0);
        assert_eq!(stacks.bytes(None), 5 + 9 + 14);
        assert_eq!(stacks.bytes(Some(1)), 2 + 4 + 6);
        stacks.name_max = Some(1);
        let mut lines = Vec::new();
        let take = |line: &str| -> Result<(), ()> {
            lines.push(line.to_owned());
            Ok(())
        };
        stacks.each(take).unwrap();
        assert_eq!(lines, ["m 1", "m;a 1", "m;a;l 1"]);
    }
}
