//! Paths as lines: names with `;` between them, and a whole number at the end.

use kymo_core::model::profile::{PathNode, PathTree};

/// How large the total is made at least, so that whole numbers are fine enough.
const TOTAL_MIN: f64 = 1e9;

/// Differences below this share of the total are rounding.
const ROUNDING: f64 = 1e-9;

/// Stacks of a tree of paths.
#[derive(Debug, PartialEq)]
pub(super) struct Stacks {
    /// A line for each path that spent something itself.
    pub(super) lines: Vec<String>,
    /// What the numbers of lines are multiplied with to be what was measured.
    pub(super) factor: f64,
    /// Paths that spent less than nothing, which no line can say.
    pub(super) negative: u64,
    /// One of them.
    pub(super) example: Option<String>,
}

impl Stacks {
    pub(super) fn of(tree: &PathTree) -> Self {
        let own = own(tree);
        let is_whole = own.iter().all(|value| value.fract() == 0.0);
        let scale = if is_whole { 1.0 } else { scale(tree.total) };
        let mut stacks =
            Self { lines: Vec::new(), factor: 1.0 / scale, negative: 0, example: None };
        let mut paths: Vec<String> = Vec::with_capacity(tree.nodes.len());
        for (node, own) in tree.nodes.iter().zip(own) {
            let path = path(tree, node, &paths);
            let count = (own * scale).round();
            if count >= 1.0 {
                stacks.lines.push(format!("{path} {count:.0}"));
            } else if own < -tree.total.abs() * ROUNDING {
                stacks.negative += 1;
                stacks.example.get_or_insert_with(|| tree.label(node).to_owned());
            }
            paths.push(path);
        }
        stacks.lines.sort_unstable();
        stacks
    }
}

/// What each node spent without the nodes below it.
fn own(tree: &PathTree) -> Vec<f64> {
    let mut own: Vec<f64> = tree.nodes.iter().map(|node| node.inclusive).collect();
    for node in &tree.nodes {
        if let Some(above) = node.parent.and_then(|parent| own.get_mut(parent)) {
            *above -= node.inclusive;
        }
    }
    own
}

/// The power of ten that makes a total large enough.
fn scale(total: f64) -> f64 {
    let mut scale = 1.0;
    while total.abs() * scale < TOTAL_MIN && scale < 1e15 && total != 0.0 {
        scale *= 10.0;
    }
    scale
}

fn path(tree: &PathTree, node: &PathNode, paths: &[String]) -> String {
    let name: String = tree.label(node).chars().map(plain).collect();
    match node.parent.and_then(|parent| paths.get(parent)) {
        Some(above) => format!("{above};{name}"),
        None => name,
    }
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
    use kymo_core::model::profile::{
        CallTreeBuilder, Detail, Function, Metric, Node, Question, Relation, Scope, Thread,
        top_down,
    };

    fn stacks(values: [f64; 3]) -> Stacks {
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
        let question = Question { view: &tree, metric, threads: None };
        Stacks::of(&top_down(&question, Detail::Functions, 9).unwrap())
    }

    #[test]
    fn whole_numbers_stay_as_they_are() {
        let found = stacks([1.0, 0.0, 2.0]);
        assert_eq!(found.lines, ["main 1", "main;a:b;leaf 2"]);
        assert_eq!(found.negative, 0);
        assert!((found.factor - 1.0).abs() < 1e-9);
    }

    #[test]
    fn fractions_are_made_whole_and_what_is_negative_is_counted() {
        let found = stacks([0.5, 0.25, 0.125]);
        let lines = ["main 5000000000", "main;a:b 2500000000", "main;a:b;leaf 1250000000"];
        assert_eq!(found.lines, lines);
        assert!((found.factor - 1e-10).abs() < 1e-20);
        let found = stacks([-1.0, 0.0, 3.0]);
        assert_eq!((found.negative, found.example.as_deref()), (1, Some("main")));
    }
}
