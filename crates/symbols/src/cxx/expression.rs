//! Expressions, which stand in arguments of templates and in types.

use super::node::{Node, NodeId};
use super::parse::Parser;
use super::table::{Operator, operator};

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Option<NodeId> {
        self.nested(Self::expression_within)
    }

    fn expression_within(&mut self) -> Option<NodeId> {
        let is_global = self.starts_with("gs") && self.peek_at(2).is_some();
        match (self.peek()?, self.peek_at(1)?) {
            (b'L', _) => self.literal(),
            (b'T', _) => self.template_parameter().map(|(node, _)| node),
            (b'f', b'p' | b'L') => self.function_parameter(),
            (b'f', b'l' | b'r' | b'R') => self.fold(),
            (b's', b'r') => self.unresolved_name(),
            (b's', b'p') => {
                self.at += 2;
                let of = self.expression()?;
                self.push(Node::Expansion(of))
            }
            (b's', b'Z') => {
                self.at += 2;
                let of = match self.peek()? {
                    b'T' => self.template_parameter()?.0,
                    _ => self.function_parameter()?,
                };
                self.push(Node::Count(of))
            }
            (b's', b'P') => {
                self.at += 2;
                let arguments = self.until("E", Self::template_argument)?;
                let pack = self.push(Node::Pack(arguments))?;
                self.push(Node::Count(pack))
            }
            (b'c', b'v') => self.conversion(),
            (b't' | b'i', b'l') => self.braced(),
            (b'o', b'n') => {
                self.at += 2;
                let name = self.unqualified_name(None, None)?;
                self.maybe_template(name)
            }
            (b'd', b'n') => {
                self.at += 2;
                let of = match self.peek()? {
                    b'0'..=b'9' => self.source_name()?,
                    _ => self.type_name()?,
                };
                self.push(Node::Structor { of, is_destructor: true })
            }
            (b't', b'r') => {
                self.at += 2;
                self.push(Node::Text("throw"))
            }
            (b'0'..=b'9', _) => {
                let name = self.source_name()?;
                self.maybe_template(name)
            }
            _ if is_global => {
                self.at += 2;
                let of = self.expression()?;
                self.push(Node::Special("::", of))
            }
            _ => self.operation(),
        }
    }

    fn maybe_template(&mut self, name: NodeId) -> Option<NodeId> {
        if self.peek() != Some(b'I') {
            return Some(name);
        }
        let arguments = self.template_arguments(false)?;
        self.push(Node::Template { name, arguments })
    }

    /// `fp_`, `fp0_`, `fL0p_`; `fpT` is `this`.
    fn function_parameter(&mut self) -> Option<NodeId> {
        if self.take("fpT") {
            return self.push(Node::Parameter(0));
        }
        if self.take("fL") {
            self.digits()?;
            self.take("p").then_some(())?;
        } else {
            self.take("fp").then_some(())?;
        }
        self.qualifiers();
        let number = self.compact_number()?;
        self.push(Node::Parameter(number.checked_add(1)?))
    }

    fn fold(&mut self) -> Option<NodeId> {
        self.at += 1;
        let kind = self.next()?;
        let operator = self.operator()?;
        let first = self.expression()?;
        let second = if kind.is_ascii_uppercase() { Some(self.expression()?) } else { None };
        let is_left = matches!(kind, b'l' | b'L');
        let (pack, initial) = match second {
            Some(second) if is_left => (second, Some(first)),
            second => (first, second),
        };
        self.push(Node::Fold { operator, is_left, pack, initial })
    }

    /// `sr` and a type, then a name in it. What it is in may also be told by plain names, which end
    /// with `E`.
    fn unresolved_name(&mut self) -> Option<NodeId> {
        self.at += 2;
        let is_plain = self.peek()?.is_ascii_digit();
        let now = self.now();
        let by_names = if is_plain { self.plain_levels() } else { None };
        if let Some(outer) = by_names {
            let name = self.unqualified_name(None, None)?;
            let name = self.push(Node::Nested(outer, name))?;
            return self.maybe_template(name);
        }
        self.back_to(now);
        let outer = self.type_name()?;
        let name = self.base_name()?;
        self.push(Node::Nested(outer, name))
    }

    fn plain_levels(&mut self) -> Option<NodeId> {
        let mut so_far: Option<NodeId> = None;
        while !self.take("E") {
            let name = self.source_name()?;
            let name = self.maybe_template(name)?;
            so_far = Some(match so_far {
                Some(outer) => self.push(Node::Nested(outer, name))?,
                None => name,
            });
        }
        let is_name = self.peek()?.is_ascii_digit();
        so_far.filter(|_| is_name)
    }

    fn base_name(&mut self) -> Option<NodeId> {
        if self.starts_with("on") || self.starts_with("dn") {
            return self.expression();
        }
        let name = self.unqualified_name(None, None)?;
        self.maybe_template(name)
    }

    /// `cv`, a type, and a value or several.
    fn conversion(&mut self) -> Option<NodeId> {
        self.at += 2;
        let to = self.type_name()?;
        let value = if self.take("_") {
            let values = self.until("E", Self::expression)?;
            self.push(Node::Values(values))?
        } else {
            self.expression()?
        };
        self.push(Node::Cast { to, value })
    }

    /// `tl`, a type and values, or `il` and values.
    fn braced(&mut self) -> Option<NodeId> {
        let has_type = self.next()? == b't';
        self.at += 1;
        let of = if has_type { Some(self.type_name()?) } else { None };
        let values = self.until("E", Self::expression)?;
        self.push(Node::Braced { of, values })
    }

    fn operation(&mut self) -> Option<NodeId> {
        let code = self.text.as_bytes().get(self.at..self.at + 2)?;
        let operator = operator(code)?;
        self.at += 2;
        match (operator.code, operator.operands) {
            ("st" | "at" | "ti", _) => {
                let of = self.type_name()?;
                self.push(Node::Unary(operator, of))
            }
            ("pp" | "mm", _) => {
                let is_prefix = self.take("_");
                let of = self.expression()?;
                self.push(if is_prefix {
                    Node::Unary(operator, of)
                } else {
                    Node::Suffixed(of, operator)
                })
            }
            ("cl", _) => {
                let function = self.expression()?;
                let values = self.until("E", Self::expression)?;
                let values = self.push(Node::Values(values))?;
                self.push(Node::Binary(operator, function, values))
            }
            ("dt" | "pt", _) => {
                let object = self.expression()?;
                let member = self.member()?;
                self.push(Node::Binary(operator, object, member))
            }
            ("cc" | "dc" | "rc" | "sc", _) => {
                let to = self.type_name()?;
                let value = self.expression()?;
                self.push(Node::NamedCast(operator, to, value))
            }
            ("nw" | "na", _) => self.allocation(operator),
            (_, 1) => {
                let of = self.expression()?;
                self.push(Node::Unary(operator, of))
            }
            (_, 2) => {
                let left = self.expression()?;
                let right = self.expression()?;
                self.push(Node::Binary(operator, left, right))
            }
            ("qu", _) => {
                let condition = self.expression()?;
                let then = self.expression()?;
                let otherwise = self.expression()?;
                self.push(Node::Conditional(condition, then, otherwise))
            }
            _ => None,
        }
    }

    fn member(&mut self) -> Option<NodeId> {
        match (self.peek()?, self.peek_at(1)?) {
            (b's', b'r') | (b'd' | b'o', b'n') | (b'0'..=b'9', _) => self.expression(),
            _ => {
                let name = self.unqualified_name(None, None)?;
                self.maybe_template(name)
            }
        }
    }

    /// `nw` values `_` type, and how it begins.
    fn allocation(&mut self, operator: &'static Operator) -> Option<NodeId> {
        let placed = self.until("_", Self::expression)?;
        let of = self.type_name()?;
        // Where it is put, and arrays, are seen in no name.
        (placed.length == 0 && operator.code == "nw").then_some(())?;
        let found = self.push(Node::Special("new ", of))?;
        if self.take("E") {
            return Some(found);
        }
        self.take("pi").then_some(())?;
        let values = self.until("E", Self::expression)?;
        let values = self.push(Node::Values(values))?;
        self.push(Node::Binary(super::table::operator(b"cl")?, found, values))
    }

    pub(super) fn literal(&mut self) -> Option<NodeId> {
        self.take("L").then_some(())?;
        // Without the line it is a mistake of an old compiler.
        if self.take("_Z") || self.take("Z") {
            let found = self.encoding()?;
            return self.take("E").then_some(found);
        }
        let of = self.type_name()?;
        let start = self.at;
        while self.peek()? != b'E' {
            self.at += 1;
        }
        let value = self.text.get(start..self.at)?;
        self.at += 1;
        self.push(Node::Literal { of, value })
    }
}
