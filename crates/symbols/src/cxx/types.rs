//! Types, and arguments of templates.

use super::node::{List, Node, NodeId, Qualifiers, Throws};
use super::parse::Parser;
use super::table::{builtin, newer_builtin};

impl Parser<'_> {
    pub(super) fn qualifiers(&mut self) -> Qualifiers {
        Qualifiers {
            is_restrict: self.take("r"),
            is_volatile: self.take("V"),
            is_const: self.take("K"),
            ..Qualifiers::default()
        }
    }

    /// What a member function is called on: `&`, `&&` or anything.
    pub(super) fn reference(&mut self) -> &'static str {
        if self.take("O") {
            "&&"
        } else if self.take("R") {
            "&"
        } else {
            ""
        }
    }

    pub(super) fn type_name(&mut self) -> Option<NodeId> {
        self.nested(Self::type_within)
    }

    fn type_within(&mut self) -> Option<NodeId> {
        if let Some(text) = builtin(self.peek()?) {
            self.at += 1;
            return self.push(Node::Text(text));
        }
        let found = match self.peek()? {
            b'r' | b'V' | b'K' => self.qualified_type()?,
            b'P' => {
                self.at += 1;
                let to = self.type_name()?;
                self.push(Node::Pointer(to))?
            }
            letter @ (b'R' | b'O') => {
                self.at += 1;
                let to = self.type_name()?;
                self.push(Node::Reference { to, is_rvalue: letter == b'O' })?
            }
            letter @ (b'C' | b'G') => {
                self.at += 1;
                let of = self.type_name()?;
                let text = if letter == b'C' { " _Complex" } else { " _Imaginary" };
                self.push(Node::Postfix(of, text))?
            }
            b'F' => self.function_type(Throws::Anything)?,
            b'A' => self.array_type()?,
            b'M' => {
                self.at += 1;
                let class = self.type_name()?;
                let member = self.type_name()?;
                self.push(Node::MemberPointer { class, member })?
            }
            b'T' if !matches!(self.peek_at(1), Some(b's' | b'u' | b'e')) => {
                return self.parameter_type();
            }
            b'T' => {
                // `struct`, `union` or `enum`, which is plain from the name.
                self.at += 2;
                self.name(None)?
            }
            b'S' if self.peek_at(1) != Some(b't') => return self.substituted_type(),
            b'D' => return self.newer_type(),
            b'U' if !matches!(self.peek_at(1), Some(b'l' | b't')) => self.vendor_type()?,
            b'u' => {
                self.at += 1;
                self.source_name()?
            }
            _ => self.name(None)?,
        };
        self.met(found);
        Some(found)
    }

    fn qualified_type(&mut self) -> Option<NodeId> {
        let qualifiers = self.qualifiers();
        if self.peek() == Some(b'F') || self.starts_with("D") {
            return self.qualified_function(qualifiers);
        }
        let of = self.type_name()?;
        self.push(Node::Qualified(of, qualifiers))
    }

    /// Qualifiers of a type of functions are those of its members.
    fn qualified_function(&mut self, qualifiers: Qualifiers) -> Option<NodeId> {
        let of = self.type_name()?;
        let Node::Function { returns, parameters, throws, qualifiers: own } = self.node(of)? else {
            return self.push(Node::Qualified(of, qualifiers));
        };
        // The type without them is no part of the name.
        self.forget();
        let qualifiers = Qualifiers { reference: own.reference, ..qualifiers };
        self.push(Node::Function { returns, parameters, qualifiers, throws })
    }

    /// A parameter of a template as a type. It may itself be a template.
    fn parameter_type(&mut self) -> Option<NodeId> {
        let (found, number) = self.template_parameter()?;
        self.met_parameter(found, number);
        self.with_arguments(found)
    }

    fn substituted_type(&mut self) -> Option<NodeId> {
        let found = self.substitution()?;
        self.with_arguments(found)
    }

    fn with_arguments(&mut self, name: NodeId) -> Option<NodeId> {
        // Those of a conversion's name are not those of its type.
        if self.peek() != Some(b'I') || self.is_end_of_conversion() {
            return Some(name);
        }
        let arguments = self.template_arguments(false)?;
        let found = self.push(Node::Template { name, arguments })?;
        self.met(found);
        Some(found)
    }

    fn is_end_of_conversion(&mut self) -> bool {
        if !self.is_in_conversion {
            return false;
        }
        // Where another list follows, this one is of the type.
        let now = self.now();
        let is_followed = self.template_arguments(false).is_some() && self.peek() == Some(b'I');
        self.back_to(now);
        !is_followed
    }

    fn newer_type(&mut self) -> Option<NodeId> {
        let letter = self.peek_at(1)?;
        if let Some(text) = newer_builtin(letter) {
            self.at += 2;
            return self.push(Node::Text(text));
        }
        let found = match letter {
            b't' | b'T' => self.decltype()?,
            b'p' => {
                self.at += 2;
                let of = self.type_name()?;
                self.push(Node::Expansion(of))?
            }
            b'F' => return self.float_type(),
            b'B' | b'U' => {
                self.at += 2;
                let digits = self.digits()?;
                self.take("_").then_some(())?;
                let text = if letter == b'B' { "_BitInt" } else { "unsigned _BitInt" };
                return self.push(Node::Numbered(text, digits));
            }
            b'v' => {
                self.at += 2;
                self.vector_type()?
            }
            b'x' => {
                self.at += 2;
                let mut of = self.function_type(Throws::Anything)?;
                if let Node::Function { returns, parameters, throws, qualifiers } = self.node(of)? {
                    let qualifiers = Qualifiers { is_transaction_safe: true, ..qualifiers };
                    of = self.push(Node::Function { returns, parameters, qualifiers, throws })?;
                }
                of
            }
            b'o' => {
                self.at += 2;
                self.function_type(Throws::Nothing)?
            }
            b'O' => {
                self.at += 2;
                let condition = self.expression()?;
                self.take("E").then_some(())?;
                self.function_type(Throws::NothingIf(condition))?
            }
            b'w' => {
                self.at += 2;
                let types = self.until("E", Self::type_name)?;
                self.function_type(Throws::Only(types))?
            }
            _ => return None,
        };
        self.met(found);
        Some(found)
    }

    /// `DF16_` and its like.
    fn float_type(&mut self) -> Option<NodeId> {
        self.at += 2;
        let digits = self.digits()?;
        let text = match (digits, self.next()?) {
            ("16", b'_') => "_Float16",
            ("16", b'b') => "std::bfloat16_t",
            ("32", b'_') => "_Float32",
            ("64", b'_') => "_Float64",
            ("128", b'_') => "_Float128",
            ("32", b'x') => "_Float32x",
            ("64", b'x') => "_Float64x",
            _ => return None,
        };
        self.push(Node::Text(text))
    }

    fn vector_type(&mut self) -> Option<NodeId> {
        let dimension = if self.take("_") {
            self.expression()?
        } else {
            let digits = self.digits()?;
            self.push(Node::Text(digits))?
        };
        self.take("_").then_some(())?;
        let element = self.type_name()?;
        self.push(Node::Vector { dimension, element })
    }

    fn vendor_type(&mut self) -> Option<NodeId> {
        self.at += 1;
        let mut qualifier = self.source_name()?;
        if self.peek() == Some(b'I') {
            let arguments = self.template_arguments(false)?;
            qualifier = self.push(Node::Template { name: qualifier, arguments })?;
        }
        let of = self.type_name()?;
        self.push(Node::Vendor(of, qualifier))
    }

    fn function_type(&mut self, throws: Throws) -> Option<NodeId> {
        self.take("F").then_some(())?;
        // Whether it is of C is not shown.
        self.take("Y");
        let returns = self.type_name()?;
        let mut parameters = Vec::new();
        let mut qualifiers = Qualifiers::default();
        if self.starts_with("vE") || self.starts_with("vRE") || self.starts_with("vOE") {
            self.at += 1;
        }
        loop {
            match self.peek()? {
                b'E' => break,
                b'R' | b'O' if self.peek_at(1) == Some(b'E') => {
                    qualifiers.reference = self.reference();
                }
                _ => parameters.push(self.type_name()?),
            }
        }
        self.at += 1;
        let parameters = self.list(&parameters)?;
        self.push(Node::Function { returns, parameters, qualifiers, throws })
    }

    fn array_type(&mut self) -> Option<NodeId> {
        self.at += 1;
        let dimension = match self.peek()? {
            b'_' => None,
            digit if digit.is_ascii_digit() => {
                let digits = self.digits()?;
                Some(self.push(Node::Text(digits))?)
            }
            _ => Some(self.expression()?),
        };
        self.take("_").then_some(())?;
        let element = self.type_name()?;
        self.push(Node::Array { dimension, element })
    }

    pub(super) fn decltype(&mut self) -> Option<NodeId> {
        self.at += 2;
        let expression = self.expression()?;
        self.take("E").then_some(())?;
        self.push(Node::Decltype(expression))
    }

    /// What a parameter of a template stands for, and its number.
    pub(super) fn template_parameter(&mut self) -> Option<(NodeId, u32)> {
        self.take("T").then_some(())?;
        if self.take("L") {
            self.compact_number()?;
        }
        let number = u32::try_from(self.compact_number()?).ok()?;
        if self.is_in_lambda {
            let node = self.push(Node::Auto(number.checked_add(1)?))?;
            return Some((node, number));
        }
        if self.allows_forward {
            let node = self.push(Node::Forward)?;
            self.forward.push((node, number));
            return Some((node, number));
        }
        Some((self.argument(number)?, number))
    }

    /// `I` … `E`. Where they are those of the name itself, parameters mean them from then on.
    pub(super) fn template_arguments(&mut self, are_of_name: bool) -> Option<List> {
        (self.take("I") || self.take("J")).then_some(())?;
        if are_of_name {
            self.arguments.clear();
        }
        let was_in_conversion = std::mem::replace(&mut self.is_in_conversion, false);
        let arguments = self.template_arguments_within(are_of_name);
        self.is_in_conversion = was_in_conversion;
        arguments
    }

    fn template_arguments_within(&mut self, are_of_name: bool) -> Option<List> {
        let mut arguments = Vec::new();
        while !self.take("E") {
            let argument = self.template_argument()?;
            arguments.push(argument);
            if are_of_name {
                // One that stands for several is met as each of them in turn.
                let each = match self.node(argument)? {
                    Node::Pack(list) => self.push(Node::Each(list))?,
                    _ => argument,
                };
                self.arguments.push(each);
            }
        }
        self.list(&arguments)
    }

    pub(super) fn template_argument(&mut self) -> Option<NodeId> {
        self.nested(|parser| match parser.peek()? {
            b'X' => {
                parser.at += 1;
                let found = parser.expression()?;
                parser.take("E").then_some(found)
            }
            b'J' | b'I' => {
                parser.at += 1;
                let arguments = parser.until("E", Self::template_argument)?;
                parser.push(Node::Pack(arguments))
            }
            b'L' => parser.literal(),
            _ => parser.type_name(),
        })
    }
}
