//! Expressions, as arguments of templates have them.

use std::fmt::Write;

use super::{Done, Printer, TooMuch};
use crate::cxx::node::{Node, NodeId, Qualifiers};
use crate::cxx::table::{Operator, literal_suffix};

impl<'a> Printer<'a, '_> {
    pub(super) fn expression(&mut self, node: Node<'a>) -> Done {
        match node {
            Node::Decltype(of) => {
                self.push("decltype (");
                self.whole(of)?;
                self.push(")");
            }
            Node::Literal { of, value } => self.literal(of, value)?,
            Node::Parameter(0) => self.push("this"),
            Node::Parameter(number) => {
                let _ = write!(self.text, "{{parm#{number}}}");
            }
            Node::Unary(operator, of) => self.unary(operator, of)?,
            Node::Suffixed(of, operator) => {
                self.operand(of, true)?;
                self.push(operator.text);
            }
            Node::Binary(operator, left, right) => self.binary(operator, left, right)?,
            Node::Conditional(condition, then, otherwise) => {
                self.operand(condition, true)?;
                self.push("?");
                self.operand(then, true)?;
                self.push(" : ");
                self.operand(otherwise, true)?;
            }
            Node::Cast { to, value } => {
                self.push("(");
                self.whole(to)?;
                self.push(")");
                self.operand(value, true)?;
            }
            Node::Braced { of, values } => {
                of.map_or(Ok(()), |of| self.whole(of))?;
                self.push("{");
                self.commas(values)?;
                self.push("}");
            }
            Node::NamedCast(operator, to, value) => {
                self.push(operator.text);
                self.push("<");
                self.whole(to)?;
                self.push(">(");
                self.whole(value)?;
                self.push(")");
            }
            Node::Values(values) => self.commas(values)?,
            Node::Count(of) => self.count(of)?,
            Node::Fold { operator, is_left, pack, initial } => {
                self.fold(operator, is_left, pack, initial)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// A part of an expression: in parentheses unless it is a plain name.
    pub(super) fn operand(&mut self, of: NodeId, is_enclosed: bool) -> Done {
        let is_plain = matches!(
            self.node(of)?,
            Node::Text(_)
                | Node::Standard { .. }
                | Node::Nested(..)
                | Node::Braced { .. }
                | Node::Parameter(_)
        );
        if is_plain || !is_enclosed {
            return self.whole(of);
        }
        self.push("(");
        self.whole(of)?;
        self.push(")");
        Ok(())
    }

    fn unary(&mut self, operator: &Operator, of: NodeId) -> Done {
        // Of a function that is only named its parameters say nothing.
        let of = match (operator.code, self.node(of)?) {
            ("ad", Node::Encoding { name, parameters: Some(_), .. }) => self.plain(name, of)?,
            _ => of,
        };
        self.push(operator.text);
        if matches!(operator.code, "st" | "nx") {
            self.push("(");
            self.whole(of)?;
            self.push(")");
            return Ok(());
        }
        self.operand(of, true)
    }

    /// The qualified name of a function, or the function where it has none.
    fn plain(&self, name: NodeId, function: NodeId) -> Result<NodeId, TooMuch> {
        let Node::Member(name, qualifiers) = self.node(name)? else { return Ok(function) };
        let is_bare = qualifiers == Qualifiers::default();
        let is_nested = matches!(self.node(name)?, Node::Nested(..));
        Ok(if is_bare && is_nested { name } else { function })
    }

    fn binary(&mut self, operator: &Operator, left: NodeId, right: NodeId) -> Done {
        // It would be taken for the end of the arguments.
        let is_greater = operator.text == ">";
        self.push(if is_greater { "(" } else { "" });
        match (operator.code, self.node(left)?) {
            ("cl", Node::Encoding { name, parameters: Some(_), .. }) => {
                let Node::Member(name, _) = self.node(name)? else { return Err(TooMuch) };
                self.operand(name, true)?;
            }
            _ => self.operand(left, true)?,
        }
        if operator.code == "ix" {
            self.push("[");
            self.whole(right)?;
            self.push("]");
        } else {
            self.push(if operator.code == "cl" { "" } else { operator.text });
            self.operand(right, true)?;
        }
        self.push(if is_greater { ")" } else { "" });
        Ok(())
    }

    fn fold(
        &mut self,
        operator: &Operator,
        is_left: bool,
        pack: NodeId,
        initial: Option<NodeId>,
    ) -> Done {
        self.push("(");
        match (is_left, initial) {
            (true, Some(initial)) => {
                self.operand(initial, true)?;
                self.push(operator.text);
                self.push("...");
                self.push(operator.text);
                self.operand(pack, true)?;
            }
            (true, None) => {
                self.push("...");
                self.push(operator.text);
                self.operand(pack, true)?;
            }
            (false, initial) => {
                self.operand(pack, true)?;
                self.push(operator.text);
                self.push("...");
                if let Some(initial) = initial {
                    self.push(operator.text);
                    self.operand(initial, true)?;
                }
            }
        }
        self.push(")");
        Ok(())
    }

    fn literal(&mut self, of: NodeId, value: &str) -> Done {
        let (sign, digits) = value.strip_prefix('n').map_or(("", value), |digits| ("-", digits));
        let text = if let Node::Text(text) = self.node(of)? { text } else { "" };
        match (text, digits) {
            ("bool", "0") => self.push("false"),
            ("bool", "1") => self.push("true"),
            _ => {
                let suffix = literal_suffix(text);
                if suffix.is_none() {
                    self.push("(");
                    self.whole(of)?;
                    self.push(")");
                }
                self.push(sign);
                let is_real = matches!(text, "float" | "double" | "long double" | "__float128");
                self.push(if is_real { "[" } else { "" });
                self.push(digits);
                self.push(if is_real { "]" } else { "" });
                self.push(suffix.unwrap_or_default());
            }
        }
        Ok(())
    }
}
