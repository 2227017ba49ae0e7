//! Nodes as text, in the way of the GNU tools.

use std::fmt::Write;

use super::Written;
use super::node::{List, Node, NodeId, Qualifiers, Throws};
use super::parse::Parser;
use super::table::{Operator, literal_suffix};

/// How deep nodes may nest. Those that refer to earlier ones may go deeper than the text does.
const DEPTH_MAX: u32 = 256;

/// How long a text may become, and how much may be done for it: a short name can stand for one
/// without end.
const TEXT_BYTES_MAX: usize = 1 << 14;
const STEPS_MAX: u32 = 1 << 16;

/// Where a pack is that is met as one of its arguments at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// No pack was met within the expansion yet.
    Open,
    /// Which argument it is the turn of, of how many.
    Of(usize, usize),
}

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
    /// Whether a list was written last whose last part stands for nothing.
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

    /// Whether something of it stands behind the name: functions and arrays.
    fn has_right(&mut self, mut id: NodeId) -> Result<bool, TooMuch> {
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

    fn left(&mut self, id: NodeId) -> Done {
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

    fn closed(&mut self, to: NodeId) -> Done {
        if matches!(self.is_right(to)?, (true, _) | (_, true)) {
            self.push(")");
        }
        self.right(to)
    }

    fn right(&mut self, id: NodeId) -> Done {
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

    /// The argument of a pack whose turn it is.
    fn each(&mut self, id: NodeId, print: fn(&mut Self, NodeId) -> Done) -> Done {
        let Node::Each(list) = self.node(id)? else { return Ok(()) };
        self.in_turn(list).map_or(Ok(()), |node| print(self, node))
    }

    fn in_turn(&mut self, list: List) -> Option<NodeId> {
        let nodes = self.list(list);
        if self.turn == Turn::Open {
            self.turn = Turn::Of(0, nodes.len());
        }
        let Turn::Of(index, _) = self.turn else { return None };
        nodes.get(index).copied()
    }

    fn expansion(&mut self, of: NodeId) -> Done {
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

    fn qualifiers(&mut self, qualifiers: Qualifiers) {
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

    /// What has nothing behind the name that it declares.
    fn name(&mut self, node: Node<'a>) -> Done {
        match node {
            Node::Text(text) | Node::Standard { text, .. } => self.push(text),
            Node::Nested(outer, inner) | Node::Local { function: outer, entity: inner } => {
                self.whole(outer)?;
                self.push("::");
                self.whole(inner)?;
            }
            Node::Between(one, between, other) => {
                self.whole(one)?;
                self.push(between);
                self.whole(other)?;
            }
            Node::Template { name, arguments } => {
                self.whole(name)?;
                self.arguments(arguments)?;
            }
            Node::Tagged(name, tag) => {
                self.whole(name)?;
                let _ = write!(self.text, "[abi:{tag}]");
            }
            Node::Structor { of, is_destructor } => {
                self.push(if is_destructor { "~" } else { "" });
                self.base(of)?;
            }
            Node::Operator(operator) => {
                let is_word = operator.text.starts_with(|c: char| c.is_ascii_lowercase());
                self.push(if is_word { "operator " } else { "operator" });
                self.push(operator.text.trim_end());
            }
            Node::Conversion(to) => {
                self.push("operator ");
                self.whole(to)?;
            }
            Node::LiteralOperator(name) => {
                self.push("operator\"\" ");
                self.whole(name)?;
            }
            Node::Special(before, of) => {
                self.push(before);
                self.whole(of)?;
            }
            Node::Temporary(number, of) => {
                let _ = write!(self.text, "reference temporary #{number} for ");
                self.whole(of)?;
            }
            Node::Encoding { name, returns, parameters } => {
                self.encoding(name, returns, parameters)?;
            }
            Node::Member(name, _) => self.whole(name)?,
            Node::Vendor(of, qualifier) => {
                self.whole(of)?;
                self.push(" ");
                self.whole(qualifier)?;
            }
            Node::Postfix(of, text) => {
                self.whole(of)?;
                self.push(text);
            }
            Node::Vector { dimension, element } => {
                self.whole(element)?;
                self.push(" __vector(");
                self.whole(dimension)?;
                self.push(")");
            }
            Node::Pack(list) => self.commas(list)?,
            Node::Expansion(of) => self.expansion(of)?,
            Node::Forward => return Err(TooMuch),
            Node::Auto(number) => {
                let _ = write!(self.text, "auto:{number}");
            }
            Node::Lambda { parameters, number } => {
                self.push("{lambda(");
                self.commas(parameters)?;
                let _ = write!(self.text, ")#{number}}}");
            }
            Node::Unnamed(number) => {
                let _ = write!(self.text, "{{unnamed type#{number}}}");
            }
            Node::DefaultArgument(number) => {
                let _ = write!(self.text, "{{default arg#{number}}}");
            }
            Node::Binding(names) => {
                self.push("[");
                self.commas(names)?;
                self.push("]");
            }
            Node::Numbered(text, number) => {
                let _ = write!(self.text, "{text}({number})");
            }
            other => self.expression(other)?,
        }
        Ok(())
    }

    fn encoding(
        &mut self,
        name: NodeId,
        returns: Option<NodeId>,
        parameters: Option<List>,
    ) -> Done {
        if let Some(returns) = returns {
            self.left(returns)?;
            if !self.has_right(returns)? {
                self.push(" ");
            }
        }
        let qualifiers = match self.node(name)? {
            Node::Member(_, qualifiers) => qualifiers,
            _ => Qualifiers::default(),
        };
        self.whole(name)?;
        if let Some(parameters) = parameters {
            self.push("(");
            self.commas(parameters)?;
            self.push(")");
        }
        returns.map_or(Ok(()), |returns| self.right(returns))?;
        if parameters.is_some() {
            self.qualifiers(qualifiers);
        }
        Ok(())
    }

    fn arguments(&mut self, arguments: List) -> Done {
        self.push(if self.last() == Some('<') { " <" } else { "<" });
        self.commas(arguments)?;
        let is_apart = self.last() == Some('>') && !(self.is_after_nothing && self.is_gnu);
        self.push(if is_apart { " >" } else { ">" });
        Ok(())
    }

    /// The name of a class as its constructors have it.
    fn base(&mut self, mut of: NodeId) -> Done {
        for _ in 0..DEPTH_MAX {
            of = match self.meant(of)?.1 {
                Node::Nested(_, inner) | Node::Local { entity: inner, .. } => inner,
                Node::Template { name, .. } | Node::Tagged(name, _) => name,
                Node::Standard { own, .. } => {
                    self.push(own);
                    return Ok(());
                }
                _ => return self.whole(of),
            };
        }
        Err(TooMuch)
    }

    fn expression(&mut self, node: Node<'a>) -> Done {
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
    fn operand(&mut self, of: NodeId, is_enclosed: bool) -> Done {
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

    /// How many arguments a pack has.
    fn count(&mut self, of: NodeId) -> Done {
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
