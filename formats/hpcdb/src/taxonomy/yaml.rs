//! YAML as a tree of nodes, each of them once: an alias is the node that it names.

use std::collections::{HashMap, HashSet};

use saphyr_parser::{Event, Parser};

/// Greatest depth of nodes within each other, aliases followed.
const DEPTH_MAX: usize = 64;

/// The key of what a map takes from others.
const MERGE: &str = "<<";

/// A node's index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct NodeId(usize);

/// A node.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Scalar(String),
    List(Vec<NodeId>),
    Map(Vec<(NodeId, NodeId)>),
}

/// A document. What a node holds comes before it.
#[derive(Debug, Default)]
pub(super) struct Document {
    nodes: Vec<Node>,
    /// The line that each begins in.
    lines: Vec<usize>,
    depths: Vec<usize>,
    /// Number of pairs that maps were given from others.
    merged: u64,
    root: Option<NodeId>,
}

/// A list or a map that is not at its end.
struct Open {
    items: Vec<NodeId>,
    anchor: usize,
    is_map: bool,
    line: usize,
}

impl Document {
    /// Reads the first document of a text, of so many nodes at most.
    pub(super) fn read(text: &str, nodes_max: u64) -> Result<Self, String> {
        let mut document = Self::default();
        let mut anchors: HashMap<usize, NodeId> = HashMap::new();
        let mut open: Vec<Open> = Vec::new();
        for event in Parser::new_from_str(text) {
            let (event, span) = event.map_err(|error| error.to_string())?;
            let line = span.start.line();
            let at = || format!("line {line}");
            let (node, anchor, line) = match event {
                Event::Scalar(text, _, anchor, _) => {
                    (Node::Scalar(text.into_owned()), anchor, line)
                }
                Event::SequenceStart(anchor, _) => {
                    open.push(Open { items: Vec::new(), anchor, is_map: false, line });
                    continue;
                }
                Event::MappingStart(anchor, _) => {
                    open.push(Open { items: Vec::new(), anchor, is_map: true, line });
                    continue;
                }
                Event::SequenceEnd | Event::MappingEnd => {
                    let Some(Open { items, anchor, is_map, line }) = open.pop() else { continue };
                    let node = if is_map {
                        document.map(&items, nodes_max)
                    } else {
                        Some(Node::List(items))
                    };
                    (node.ok_or_else(|| format!("{}: too much", at()))?, anchor, line)
                }
                Event::Alias(anchor) => {
                    let known = anchors.get(&anchor).copied();
                    let known = known.ok_or_else(|| format!("{}: an alias of nothing", at()))?;
                    document.place(&mut open, known);
                    continue;
                }
                Event::DocumentEnd => break,
                Event::Nothing
                | Event::StreamStart
                | Event::StreamEnd
                | Event::DocumentStart(_) => continue,
            };
            let id = document.add(node, line).ok_or_else(|| format!("{}: too deep", at()))?;
            if open.len() > DEPTH_MAX || document.nodes.len() as u64 > nodes_max {
                return Err(format!("{}: too deep, or too much", at()));
            }
            if anchor != 0 {
                anchors.insert(anchor, id);
            }
            document.place(&mut open, id);
        }
        Ok(document)
    }

    fn add(&mut self, node: Node, line: usize) -> Option<NodeId> {
        let depth_of = |id: &NodeId| self.depths.get(id.0).copied().unwrap_or(0);
        let depth = match &node {
            Node::Scalar(_) => None,
            Node::List(items) => items.iter().map(depth_of).max(),
            Node::Map(pairs) => pairs.iter().map(|(k, v)| depth_of(k).max(depth_of(v))).max(),
        };
        let depth = depth.map_or(0, |below| below + 1);
        self.nodes.push(node);
        self.lines.push(line);
        self.depths.push(depth);
        (depth <= DEPTH_MAX).then(|| NodeId(self.nodes.len() - 1))
    }

    /// A map of keys and values in turn, with what it takes from others: under [`MERGE`] there is a
    /// map, or a list of maps, whose pairs count where it has none of that key. Nothing where that
    /// is too much.
    fn map(&mut self, items: &[NodeId], nodes_max: u64) -> Option<Node> {
        let (merges, mut pairs): (Vec<_>, Vec<_>) =
            pairs(items).into_iter().partition(|(key, _)| self.text(*key) == Some(MERGE));
        let others = merges.iter().flat_map(|(_, other)| match self.node(*other) {
            Some(Node::List(maps)) => maps.as_slice(),
            _ => std::slice::from_ref(other),
        });
        let mut looked_at = self.merged;
        let mut known: HashSet<&str> = HashSet::new();
        if !merges.is_empty() {
            known.extend(pairs.iter().filter_map(|(key, _)| self.text(*key)));
        }
        for (key, value) in others.flat_map(|map| self.pairs(*map)) {
            looked_at += 1;
            if looked_at > nodes_max {
                return None;
            }
            if self.text(*key).is_none_or(|key| known.insert(key)) {
                pairs.push((*key, *value));
            }
        }
        self.merged = looked_at;
        Some(Node::Map(pairs))
    }

    fn place(&mut self, open: &mut [Open], id: NodeId) {
        match open.last_mut() {
            Some(open) => open.items.push(id),
            None => self.root = Some(id),
        }
    }

    pub(super) fn root(&self) -> Option<NodeId> {
        self.root
    }

    pub(super) fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.0)
    }

    /// The line that a node begins in.
    pub(super) fn line(&self, id: NodeId) -> usize {
        self.lines.get(id.0).copied().unwrap_or(0)
    }

    /// Returns true if a node says that there is nothing.
    pub(super) fn is_null(&self, id: NodeId) -> bool {
        matches!(self.text(id), Some("" | "~" | "null" | "Null" | "NULL"))
    }

    /// The text of a scalar.
    pub(super) fn text(&self, id: NodeId) -> Option<&str> {
        match self.node(id)? {
            Node::Scalar(text) => Some(text),
            Node::List(_) | Node::Map(_) => None,
        }
    }

    /// Returns the value of a map under a key.
    pub(super) fn get(&self, map: NodeId, key: &str) -> Option<NodeId> {
        let pairs = self.pairs(map);
        pairs.iter().find(|(name, _)| self.text(*name) == Some(key)).map(|(_, value)| *value)
    }

    /// The text that a map has under a key.
    pub(super) fn get_text(&self, map: NodeId, key: &str) -> Option<&str> {
        self.text(self.get(map, key)?)
    }

    /// The keys and values of a map.
    pub(super) fn pairs(&self, map: NodeId) -> &[(NodeId, NodeId)] {
        match self.node(map) {
            Some(Node::Map(pairs)) => pairs,
            _ => &[],
        }
    }

    /// The items of a list.
    pub(super) fn items(&self, list: NodeId) -> &[NodeId] {
        match self.node(list) {
            Some(Node::List(items)) => items,
            _ => &[],
        }
    }
}

fn pairs(items: &[NodeId]) -> Vec<(NodeId, NodeId)> {
    items.chunks_exact(2).filter_map(|pair| Some((*pair.first()?, *pair.get(1)?))).collect()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    #[test]
    fn an_alias_is_the_node_it_names() {
        let document = Document::read("a: &x [1, 2]\nb: *x\n", 100).unwrap();
        let root = document.root().unwrap();
        assert_eq!(document.get(root, "a"), document.get(root, "b"));
        let items = document.items(document.get(root, "b").unwrap());
        assert_eq!(document.text(items[1]), Some("2"));
    }

    #[test]
    fn a_map_takes_what_it_has_not_from_those_it_merges() {
        let text = "a: &a {x: 1, y: 2}\nb: &b {<<: *a, y: 3, z: 4}\nc: {<<: [{x: 5}, *b]}\n";
        let document = Document::read(text, 100).unwrap();
        let root = document.root().unwrap();
        let item = |map| {
            let map = document.get(root, map).unwrap();
            ["x", "y", "z", "<<"].map(|key| document.get_text(map, key))
        };
        assert_eq!(item("b"), [Some("1"), Some("3"), Some("4"), None]);
        assert_eq!(item("c"), [Some("5"), Some("3"), Some("4"), None]);
    }

    /// Each map of a few bytes takes a thousand pairs.
    #[test]
    fn pairs_that_are_merged_again_and_again_are_too_much() {
        let mut text = String::from("- &a {");
        for key in 0..1000 {
            let _ = write!(text, "{key}: 1, ");
        }
        text.push_str("}\n");
        text.push_str(&"- {<<: *a}\n".repeat(1000));
        assert!(Document::read(&text, 1 << 20).is_ok());
        assert!(Document::read(&text, 100_000).is_err());
    }

    #[test]
    fn what_is_too_much_is_refused() {
        assert!(Document::read("[1, 2, 3]", 2).is_err());
        assert!(Document::read(&"[".repeat(100_000), 1 << 20).is_err());
        // Each doubles what the one before it stands for, and takes no more room.
        let mut bomb = String::from("- &a0 [x, x]\n");
        for level in 1..40 {
            let below = level - 1;
            let _ = writeln!(bomb, "- &a{level} [*a{below}, *a{below}]");
        }
        assert!(Document::read(&bomb, 1 << 20).is_ok());
        for level in 40..100 {
            let below = level - 1;
            let _ = writeln!(bomb, "- &a{level} [*a{below}, *a{below}]");
        }
        assert!(Document::read(&bomb, 1 << 20).is_err());
        // A node is not within itself.
        assert!(Document::read("&a [*a]", 100).is_err());
    }
}
