//! YAML as a tree of nodes, each of them once: an alias is the node that it names.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser};

/// How deep nodes may lie within each other, aliases followed.
const DEPTH_MAX: usize = 64;

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
    depths: Vec<usize>,
    root: Option<NodeId>,
}

/// A list or a map that is not at its end.
struct Open {
    items: Vec<NodeId>,
    anchor: usize,
    is_map: bool,
}

impl Document {
    /// How many nodes it has.
    pub(super) fn len(&self) -> u64 {
        self.nodes.len() as u64
    }

    /// Reads the first document of a text, of so many nodes at most.
    pub(super) fn read(text: &str, nodes_max: u64) -> Result<Self, String> {
        let mut document = Self::default();
        let mut anchors: HashMap<usize, NodeId> = HashMap::new();
        let mut open: Vec<Open> = Vec::new();
        for event in Parser::new_from_str(text) {
            let (event, span) = event.map_err(|error| error.to_string())?;
            let at = || format!("line {}", span.start.line());
            let (node, anchor) = match event {
                Event::Scalar(text, _, anchor, _) => (Node::Scalar(text.into_owned()), anchor),
                Event::SequenceStart(anchor, _) => {
                    open.push(Open { items: Vec::new(), anchor, is_map: false });
                    continue;
                }
                Event::MappingStart(anchor, _) => {
                    open.push(Open { items: Vec::new(), anchor, is_map: true });
                    continue;
                }
                Event::SequenceEnd | Event::MappingEnd => {
                    let Some(Open { items, anchor, is_map }) = open.pop() else { continue };
                    (if is_map { Node::Map(pairs(&items)) } else { Node::List(items) }, anchor)
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
            let id = document.add(node).ok_or_else(|| format!("{}: too deep", at()))?;
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

    fn add(&mut self, node: Node) -> Option<NodeId> {
        let depth_of = |id: &NodeId| self.depths.get(id.0).copied().unwrap_or(0);
        let depth = match &node {
            Node::Scalar(_) => None,
            Node::List(items) => items.iter().map(depth_of).max(),
            Node::Map(pairs) => pairs.iter().map(|(k, v)| depth_of(k).max(depth_of(v))).max(),
        };
        let depth = depth.map_or(0, |below| below + 1);
        self.nodes.push(node);
        self.depths.push(depth);
        (depth <= DEPTH_MAX).then(|| NodeId(self.nodes.len() - 1))
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

    /// The text of a scalar.
    pub(super) fn text(&self, id: NodeId) -> Option<&str> {
        match self.node(id)? {
            Node::Scalar(text) => Some(text),
            Node::List(_) | Node::Map(_) => None,
        }
    }

    /// What a map has under a key.
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
