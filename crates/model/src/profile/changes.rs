//! Differences between two trees of paths, by the names on their paths.

use std::collections::HashMap;

use super::PathTree;

/// Two trees of paths in one: what has the same names above it, and the same name, is the same.
///
/// Names survive another build of a program; addresses do not.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PathChanges {
    /// Parents before their children.
    pub nodes: Vec<PathChange>,
    labels: Vec<String>,
}

/// A path of either tree, and what was spent there in each. What is not there spent nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct PathChange {
    /// The index of the path above.
    pub parent: Option<usize>,
    /// Values spent there and below, in the one and in the other.
    pub inclusive: [f64; 2],
    /// Values spent there.
    pub exclusive: [f64; 2],
    /// The last name, by its place.
    label: usize,
}

impl PathChanges {
    /// The names of a path, from the last one up to the entry point.
    pub fn path(&self, index: usize) -> impl Iterator<Item = &str> {
        // Parents come before: it ends.
        let above = |node: &&PathChange| node.parent.and_then(|parent| self.nodes.get(parent));
        let nodes = std::iter::successors(self.nodes.get(index), above);
        nodes.map(|node| self.labels.get(node.label).map_or("", String::as_str))
    }
}

/// Puts two trees of paths beside each other.
#[must_use]
pub fn path_changes(one: &PathTree, other: &PathTree) -> PathChanges {
    let mut changes = PathChanges::default();
    let mut known: HashMap<(Option<usize>, usize), usize> = HashMap::new();
    let mut labels: HashMap<&str, usize> = HashMap::new();
    for (side, tree) in [one, other].into_iter().enumerate() {
        let mut places: Vec<usize> = Vec::with_capacity(tree.nodes.len());
        for node in &tree.nodes {
            let parent = node.parent.and_then(|parent| places.get(parent)).copied();
            let next = labels.len();
            let label = *labels.entry(tree.label(node)).or_insert(next);
            if label == next {
                changes.labels.push(tree.label(node).to_owned());
            }
            let next = changes.nodes.len();
            let place = *known.entry((parent, label)).or_insert(next);
            if place == next {
                let (inclusive, exclusive) = ([0.0; 2], [0.0; 2]);
                changes.nodes.push(PathChange { parent, inclusive, exclusive, label });
            }
            places.push(place);
            if let Some(change) = changes.nodes.get_mut(place) {
                add(&mut change.inclusive, side, node.inclusive);
                add(&mut change.exclusive, side, node.exclusive);
            }
        }
    }
    changes
}

fn add(to: &mut [f64; 2], side: usize, value: f64) {
    if let Some(to) = to.get_mut(side) {
        *to += value;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CallTree, Detail, MetricId, MetricQuery, fixture, top_down};
    use super::*;

    fn paths(tree: &CallTree, depth: usize) -> PathTree {
        let question = MetricQuery { view: tree, metric: MetricId(0), threads: None };
        top_down(&question, Detail::Functions, depth).unwrap()
    }

    #[test]
    fn the_same_names_are_the_same_path() {
        let (one, other) = (fixture::tree(), fixture::nested_loops());
        let changes = path_changes(&paths(&one, 9), &paths(&other, 9));
        let shown: Vec<_> = (0..changes.nodes.len())
            .map(|index| {
                let mut names: Vec<_> = changes.path(index).collect();
                names.reverse();
                (names.join(" "), changes.nodes[index].exclusive)
            })
            .collect();
        let expected = [
            ("<main thread>", [0.0, 0.0]),
            ("<main thread> main", [8.0, 0.0]),
            ("<main thread> main work", [5.0, 0.0]),
            ("<main thread> main work work", [2.0, 0.0]),
            // The other has no entry point.
            ("main", [0.0, 3.0]),
        ];
        assert_eq!(shown, expected.map(|(path, spent)| (path.to_owned(), spent)));
        let same = path_changes(&paths(&one, 9), &paths(&one, 9));
        let is_same = |[one, other]: [f64; 2]| one.to_bits() == other.to_bits();
        assert!(same.nodes.iter().all(|node| is_same(node.inclusive)));
    }
}
