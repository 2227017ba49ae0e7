//! Types, around the name that they declare: what is written before it, and what behind.

use super::{DEPTH_MAX, Done, Printer, TooMuch};
use crate::cxx::node::{Node, NodeId, Qualifiers, Throws};

impl Printer<'_, '_> {
    pub(super) fn left(&mut self, id: NodeId) -> Done {
        self.step()?;
        self.depth += 1;
        let done = self.left_within(id);
        self.depth -= 1;
        done
    }

    fn left_within(&mut self, id: NodeId) -> Done {
        let node = self.node(id)?;
        match node {
            Node::Pointer(to) => self.opened(to, "*"),
            Node::Reference { to, is_rvalue } => {
                let (to, is_rvalue) = self.collapsed(to, is_rvalue)?;
                self.opened(to, if is_rvalue { "&&" } else { "&" })
            }
            Node::MemberPointer { class, member } => {
                self.left(member)?;
                let (is_function, is_array) = self.is_right(member)?;
                self.push(if is_function || is_array { "(" } else { " " });
                self.whole(class)?;
                self.push("::*");
                Ok(())
            }
            Node::Qualified(of, mut qualifiers) => {
                self.left(of)?;
                if let Node::Qualified(_, inner) = self.meant(of)?.1 {
                    // What is said once need not be said again.
                    qualifiers.is_const &= !inner.is_const;
                    qualifiers.is_volatile &= !inner.is_volatile;
                }
                self.qualifiers(qualifiers);
                Ok(())
            }
            Node::Function { returns, .. } => {
                self.left(returns)?;
                if !self.has_right(returns)? {
                    self.push(" ");
                }
                Ok(())
            }
            Node::Array { element, .. } => self.left(element),
            Node::Each(_) => self.each(id, Self::left),
            Node::Special("", of) => self.left(of),
            node => self.name(node),
        }
    }

    /// A pointer or a reference, up to where what it leads to has its name.
    fn opened(&mut self, to: NodeId, sign: &str) -> Done {
        self.left(to)?;
        let (is_function, is_array) = self.is_right(to)?;
        if is_array {
            self.push(" ");
        }
        if is_function || is_array {
            self.push("(");
        }
        self.push(sign);
        Ok(())
    }

    pub(super) fn right(&mut self, id: NodeId) -> Done {
        self.step()?;
        self.depth += 1;
        let done = self.right_within(id);
        self.depth -= 1;
        done
    }

    fn right_within(&mut self, id: NodeId) -> Done {
        match self.node(id)? {
            Node::Pointer(to) | Node::MemberPointer { member: to, .. } => self.closed(to),
            Node::Reference { to, is_rvalue } => {
                let (to, _) = self.collapsed(to, is_rvalue)?;
                self.closed(to)
            }
            Node::Function { returns, parameters, qualifiers, throws } => {
                self.push("(");
                self.commas(parameters)?;
                self.push(")");
                self.right(returns)?;
                self.qualifiers(qualifiers);
                self.throws(throws)
            }
            Node::Array { dimension, element } => {
                if self.last() != Some(']') {
                    self.push(" ");
                }
                self.push("[");
                dimension.map_or(Ok(()), |dimension| self.whole(dimension))?;
                self.push("]");
                self.right(element)
            }
            Node::Each(_) => self.each(id, Self::right),
            Node::Qualified(of, _) | Node::Special("", of) => self.right(of),
            _ => Ok(()),
        }
    }

    fn closed(&mut self, to: NodeId) -> Done {
        if matches!(self.is_right(to)?, (true, _) | (_, true)) {
            self.push(")");
        }
        self.right(to)
    }

    /// Returns true if something of it stands behind the name: functions and arrays.
    pub(super) fn has_right(&mut self, mut id: NodeId) -> Result<bool, TooMuch> {
        for _ in 0..DEPTH_MAX {
            id = match self.meant(id)?.1 {
                Node::Function { .. } | Node::Array { .. } => return Ok(true),
                Node::Pointer(of)
                | Node::Reference { to: of, .. }
                | Node::Qualified(of, _)
                | Node::MemberPointer { member: of, .. } => of,
                _ => return Ok(false),
            };
        }
        Err(TooMuch)
    }

    /// Whether it is itself a function or an array, qualified or not.
    fn is_right(&mut self, mut id: NodeId) -> Result<(bool, bool), TooMuch> {
        for _ in 0..DEPTH_MAX {
            id = match self.meant(id)?.1 {
                Node::Function { .. } => return Ok((true, false)),
                Node::Array { .. } => return Ok((false, true)),
                Node::Qualified(of, _) => of,
                _ => return Ok((false, false)),
            };
        }
        Err(TooMuch)
    }

    /// A reference to a reference is one: `&` unless both are `&&`.
    fn collapsed(&mut self, to: NodeId, is_rvalue: bool) -> Result<(NodeId, bool), TooMuch> {
        let (mut to, mut is_rvalue) = (to, is_rvalue);
        for _ in 0..DEPTH_MAX {
            match self.meant(to)?.1 {
                Node::Reference { to: inner, is_rvalue: other } => {
                    (to, is_rvalue) = (inner, is_rvalue && other);
                }
                _ => return Ok((to, is_rvalue)),
            }
        }
        Err(TooMuch)
    }

    pub(super) fn qualifiers(&mut self, qualifiers: Qualifiers) {
        let Qualifiers { is_const, is_volatile, is_restrict, reference, is_transaction_safe } =
            qualifiers;
        for (is_there, text) in [
            (is_transaction_safe, " transaction_safe"),
            (is_const, " const"),
            (is_volatile, " volatile"),
            (is_restrict, " __restrict"),
            (!reference.is_empty(), " "),
        ] {
            self.push(if is_there { text } else { "" });
        }
        self.push(reference);
    }

    fn throws(&mut self, throws: Throws) -> Done {
        match throws {
            Throws::Anything => {}
            Throws::Nothing => self.push(" noexcept"),
            Throws::NothingIf(condition) => {
                self.push(" noexcept(");
                self.whole(condition)?;
                self.push(")");
            }
            Throws::Only(types) => {
                self.push(" throw(");
                self.commas(types)?;
                self.push(")");
            }
        }
        Ok(())
    }
}
