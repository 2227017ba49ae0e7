//! Nodes as text, in the way of the GNU tools.

mod declarator;
mod expression;
mod name;
mod pack;

use super::Written;
use super::node::{List, Node, NodeId};
use super::parse::Parser;
use pack::Turn;

/// How deep nodes may nest. Those that refer to earlier ones may go deeper than the text does.
const DEPTH_MAX: u32 = 256;

/// How long a text may become, and how much may be done for it: a short name can stand for one
/// without end.
const TEXT_BYTES_MAX: usize = 1 << 14;
const STEPS_MAX: u32 = 1 << 16;

/// Why there is no text.
#[derive(Debug)]
pub(super) struct TooMuch;

type Done = Result<(), TooMuch>;

/// Writes nodes.
pub(super) struct Printer<'a, 'p> {
    parser: &'p Parser<'a>,
    text: String,
    depth: u32,
    steps: u32,
    turn: Turn,
    is_gnu: bool,
    /// True if a list was written last whose last part stands for nothing.
    is_after_nothing: bool,
}

/// The text of a name. The type that a function returns is left out if it is not wanted.
pub(super) fn print(parser: &Parser<'_>, node: NodeId, written: Written) -> Option<String> {
    let text = String::with_capacity(parser.text.len() * 2);
    let mut printer = Printer {
        parser,
        text,
        depth: 0,
        steps: 0,
        turn: Turn::Open,
        is_gnu: written.is_gnu,
        is_after_nothing: false,
    };
    let done = match parser.node(node)? {
        Node::Encoding { name, parameters, .. } if !written.has_returns => {
            printer.encoding(name, None, parameters)
        }
        _ => printer.whole(node),
    };
    done.ok().map(|()| printer.text)
}

impl<'a> Printer<'a, '_> {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        self.is_after_nothing &= text.is_empty();
    }

    fn last(&self) -> Option<char> {
        self.text.chars().next_back()
    }

    fn node(&self, id: NodeId) -> Result<Node<'a>, TooMuch> {
        self.parser.node(id).ok_or(TooMuch)
    }

    fn list(&self, list: List) -> Vec<NodeId> {
        let start = usize::try_from(list.start).unwrap_or(usize::MAX);
        let length = usize::try_from(list.length).unwrap_or(0);
        let nodes = self.parser.lists.iter().skip(start).take(length);
        nodes.copied().collect()
    }

    fn step(&mut self) -> Done {
        self.steps += 1;
        let is_little = self.steps < STEPS_MAX && self.text.len() < TEXT_BYTES_MAX;
        if is_little && self.depth < DEPTH_MAX { Ok(()) } else { Err(TooMuch) }
    }

    fn whole(&mut self, id: NodeId) -> Done {
        self.left(id)?;
        self.right(id)
    }

    /// Nodes with commas between them. Those that stand for nothing have none.
    fn commas(&mut self, list: List) -> Done {
        let (mut is_first, mut is_nothing) = (true, false);
        for node in self.list(list) {
            let before = self.text.len();
            if !is_first {
                self.push(", ");
            }
            let from = self.text.len();
            self.whole(node)?;
            is_nothing = self.text.len() == from;
            if is_nothing {
                self.text.truncate(before);
            } else {
                is_first = false;
            }
        }
        self.is_after_nothing |= is_nothing && !is_first;
        Ok(())
    }

    /// What a node stands for that is only another name for one.
    fn meant(&mut self, mut id: NodeId) -> Result<(NodeId, Node<'a>), TooMuch> {
        for _ in 0..DEPTH_MAX {
            let node = self.node(id)?;
            id = match node {
                Node::Special("", of) => of,
                Node::Each(list) => match self.in_turn(list) {
                    Some(found) => found,
                    None => return Ok((id, node)),
                },
                _ => return Ok((id, node)),
            };
        }
        Err(TooMuch)
    }
}
