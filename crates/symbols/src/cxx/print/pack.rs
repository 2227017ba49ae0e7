//! Packs of arguments, met as one of them at a time.

use std::fmt::Write;

use super::{Done, Printer};
use crate::cxx::node::{List, Node, NodeId};

/// Where a pack is that is met as one of its arguments at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    /// No pack was met within the expansion yet.
    Open,
    /// Which argument it is the turn of, of how many.
    Of(usize, usize),
}

impl Printer<'_, '_> {
    /// The argument of a pack whose turn it is.
    pub(super) fn each(&mut self, id: NodeId, print: fn(&mut Self, NodeId) -> Done) -> Done {
        let Node::Each(list) = self.node(id)? else { return Ok(()) };
        self.in_turn(list).map_or(Ok(()), |node| print(self, node))
    }

    pub(super) fn in_turn(&mut self, list: List) -> Option<NodeId> {
        let nodes = self.list(list);
        if self.turn == Turn::Open {
            self.turn = Turn::Of(0, nodes.len());
        }
        let Turn::Of(index, _) = self.turn else { return None };
        nodes.get(index).copied()
    }

    pub(super) fn expansion(&mut self, of: NodeId) -> Done {
        let outer = std::mem::replace(&mut self.turn, Turn::Open);
        let from = self.text.len();
        let mut done = self.operand(of, false);
        match self.turn {
            // The parameters of the function are a pack that nobody has counted.
            Turn::Open => {
                self.text.truncate(from);
                done = done.and_then(|()| self.operand(of, true));
                self.push("...");
            }
            Turn::Of(_, 0) => self.text.truncate(from),
            Turn::Of(_, count) => {
                for index in 1..count {
                    self.turn = Turn::Of(index, count);
                    self.push(", ");
                    done = done.and_then(|()| self.whole(of));
                }
            }
        }
        self.turn = outer;
        done
    }

    /// How many arguments a pack has.
    pub(super) fn count(&mut self, of: NodeId) -> Done {
        match self.node(of)? {
            Node::Each(list) => {
                let _ = write!(self.text, "{}", list.length);
                Ok(())
            }
            Node::Pack(list) => {
                let mut count = 0;
                for node in self.list(list) {
                    count += match self.node(node)? {
                        Node::Expansion(of) => match self.node(of)? {
                            Node::Each(list) => list.length,
                            _ => 1,
                        },
                        _ => 1,
                    };
                }
                let _ = write!(self.text, "{count}");
                Ok(())
            }
            _ => {
                self.push("sizeof...(");
                self.whole(of)?;
                self.push(")");
                Ok(())
            }
        }
    }
}
