//! Types, and parameters of generics.

use super::node::{Effect, Element, Function, Kind, Node, NodeId, Nominal};
use super::parse::Parser;
use super::table;

impl Parser<'_> {
    /// An operator that makes a type, or tells of its parameters.
    pub(super) fn type_operator(&mut self, letter: u8) -> Option<()> {
        match letter {
            b'B' => self.builtin(),
            b'G' => self.bound(),
            b'H' => self.conformance(),
            b'I' => self.compiled(),
            b'Q' => self.member(),
            b'R' => self.requirement(),
            b'S' => self.standard(),
            b'X' => self.special(),
            b'Y' => self.annotation(),
            b'c' => self.pop_function("").and_then(|found| self.put(found)),
            b'g' => {
                self.index()?;
                self.pop_if(|node| matches!(node, Node::Conformance))?;
                self.push(Node::Retroactive)
            }
            b'h' => self.before("__shared "),
            b'n' => self.before("__owned "),
            b'z' => self.before("inout "),
            b'l' => self.signature(vec![1]),
            b'r' => {
                let counts = self.parameter_counts()?;
                self.signature(counts)
            }
            b'm' => self.after(".Type"),
            b'p' => self.existential(None),
            b'q' => {
                let parameter = self.parameter()?;
                self.put(parameter)
            }
            b't' => self.tuple(),
            b'u' => {
                let signature = self.pop_signature()?;
                let of = self.pop_type()?;
                self.push(Node::Generic(signature, of))
            }
            b'x' => self.push(Node::Parameter(0, 0)),
            b'$' => {
                let sign = if self.take("n") { "-" } else { "" };
                let number = self.index()?;
                let number = if sign.is_empty() { number } else { number.checked_add(1)? };
                self.push(Node::Plain(format!("{sign}{number}")))
            }
            _ => None,
        }
    }

    fn before(&mut self, words: &'static str) -> Option<()> {
        let of = self.pop_type()?;
        self.push(Node::Before(words, of))
    }

    fn after(&mut self, words: &'static str) -> Option<()> {
        let of = self.pop_type()?;
        self.push(Node::After(of, words))
    }

    pub(super) fn is_class(&self, context: NodeId) -> bool {
        matches!(self.node(context), Some(Node::Nominal(Nominal { kind: Kind::Class, .. })))
    }

    /// `B`: what only the standard library is made of.
    fn builtin(&mut self) -> Option<()> {
        let letter = self.next()?;
        let name = match letter {
            b'i' | b'f' => {
                let bits = self.natural()?;
                self.take("_").then_some(())?;
                format!("{}{bits}", if letter == b'i' { "Int" } else { "FPIEEE" })
            }
            _ => table::builtin(letter)?.to_owned(),
        };
        self.push(Node::Plain(format!("Builtin.{name}")))
    }

    /// `G`: arguments for a type and for those around it.
    fn bound(&mut self) -> Option<()> {
        let arguments = self.pop_arguments()?;
        let of = self.pop_if(|node| matches!(node, Node::Nominal(_)))?;
        self.push_met(Node::Bound(of, arguments))
    }

    /// Lists of arguments, the last of which is that of the type itself.
    fn pop_arguments(&mut self) -> Option<Vec<Vec<NodeId>>> {
        while self.pop_if(|node| matches!(node, Node::Retroactive)).is_some() {}
        let mut lists = Vec::new();
        loop {
            let mut list: Vec<NodeId> = std::iter::from_fn(|| self.pop_type()).collect();
            list.reverse();
            lists.push(list);
            if self.pop_empty() {
                return Some(lists);
            }
            self.pop_first().then_some(())?;
        }
    }

    /// Arguments that stand for parameters of a function's type.
    pub(super) fn pop_substituted(&mut self) -> Option<Vec<NodeId>> {
        self.pop_arguments().and_then(|mut lists| lists.pop())
    }

    /// `t`: types, some with labels.
    fn tuple(&mut self) -> Option<()> {
        let elements = self.pop_list(|parser| {
            let is_variadic = parser.pop_if(|node| matches!(node, Node::Variadic)).is_some();
            let label = parser.pop_identifier();
            Some(Element { of: parser.pop_type()?, label, is_variadic })
        })?;
        self.push(Node::Tuple(elements))
    }

    /// The type of a function, whose parts were read.
    pub(super) fn pop_function(&mut self, convention: &'static str) -> Option<NodeId> {
        let is_effect = |node: &Node| matches!(node, Node::Effect(..));
        let mut effects: Vec<NodeId> = std::iter::from_fn(|| self.pop_if(is_effect)).collect();
        effects.reverse();
        let parameters = self.pop_part()?;
        let result = self.pop_part()?;
        self.keep(Node::Function(Function { convention, effects, parameters, result }))
    }

    /// Parameters of a function, or what it returns.
    fn pop_part(&mut self) -> Option<NodeId> {
        if self.pop_empty() { self.keep(Node::Tuple(Vec::new())) } else { self.pop_type() }
    }

    /// `Y`: what is said of a function, or of a parameter.
    fn annotation(&mut self) -> Option<()> {
        let effect = match self.next()? {
            b'a' => Effect::After(" async"),
            b'b' => Effect::Before("@Sendable "),
            b'A' => Effect::Before("@isolated(any) "),
            b'C' => Effect::Before("nonisolated(nonsending) "),
            b'T' => Effect::Result("sending "),
            b'c' => {
                let actor = self.pop_type()?;
                return self.push(Node::Effect(Effect::Before("@"), Some(actor)));
            }
            b'K' => {
                let error = self.pop_type()?;
                return self.push(Node::Effect(Effect::After(" throws"), Some(error)));
            }
            b'j' => Effect::Before(match self.next()? {
                b'f' => "@differentiable(_forward) ",
                b'r' => "@differentiable(reverse) ",
                b'd' => "@differentiable ",
                b'l' => "@differentiable(_linear) ",
                _ => return None,
            }),
            b'k' => return self.before("@noDerivative "),
            b'i' => return self.before("isolated "),
            b't' => return self.before("_const "),
            b'u' => return self.before("sending "),
            _ => return None,
        };
        self.push(Node::Effect(effect, None))
    }

    /// `X`: types that are seldom met.
    fn special(&mut self) -> Option<()> {
        match self.next()? {
            b'D' => {
                self.pop_type()?;
                self.push(Node::Plain("Self".to_owned()))
            }
            b'o' => self.before("unowned "),
            b'u' => self.before("unowned(unsafe) "),
            b'w' => self.before("weak "),
            b'b' => self.before("@box "),
            b'p' => self.after(".Type"),
            b'm' | b'M' => {
                matches!(self.next()?, b't' | b'T' | b'o').then_some(())?;
                self.after(".Type")
            }
            b'e' => self.push(Node::Plain("<ERROR TYPE>".to_owned())),
            b'l' => {
                let object = self.keep(Node::Plain("AnyObject".to_owned()))?;
                self.existential(Some(object))
            }
            b'c' => {
                let class = self.pop_type()?;
                self.existential(Some(class))
            }
            b'S' => {
                let name = table::standard(self.next()?)?;
                let value = if name.0 == "Dictionary" { Some(self.pop_type()?) } else { None };
                let list: Vec<NodeId> = self.pop_type().into_iter().chain(value).collect();
                let of = self.standard_type(name)?;
                self.push(Node::Bound(of, vec![list]))
            }
            letter => {
                let found = self.pop_function(table::function_kind(letter)?)?;
                self.put(found)
            }
        }
    }

    /// Protocols, and a class that is among them.
    fn existential(&mut self, class: Option<NodeId>) -> Option<()> {
        let protocols = self.pop_list(Self::pop_protocol)?;
        let all = class.into_iter().chain(protocols).collect();
        self.push(Node::Existential(all))
    }

    /// A parameter of generics by its number: `z`, `_`, `0_`, `d__`.
    fn parameter(&mut self) -> Option<NodeId> {
        let (depth, index) = match self.peek()? {
            b'z' | b's' => {
                self.next();
                (0, 0)
            }
            b'd' => {
                self.next();
                (self.index()?.checked_add(1)?, self.index()?)
            }
            _ => (0, self.index()?.checked_add(1)?),
        };
        self.keep(Node::Parameter(depth, index))
    }

    /// A type that belongs to another one, by name.
    fn pop_member(&mut self, of: NodeId) -> Option<NodeId> {
        let protocol = if self.top(Node::is_type).is_some() {
            Some(self.pop_if(Node::is_protocol)?)
        } else {
            None
        };
        let name = self.pop_identifier()?;
        self.keep(Node::Member { of, protocol, name })
    }

    /// The same over several steps.
    fn pop_members(&mut self, of: NodeId) -> Option<NodeId> {
        let steps = self.pop_list(|parser| {
            let nothing = parser.keep(Node::Empty)?;
            parser.pop_member(nothing)
        })?;
        steps.into_iter().try_fold(of, |of, step| {
            let Node::Member { protocol, name, .. } = *self.node(step)? else { return None };
            self.keep(Node::Member { of, protocol, name })
        })
    }

    /// `Q`: types that belong to others, and those that are not told.
    fn member(&mut self) -> Option<()> {
        let found = match self.next()? {
            letter @ (b'z' | b'Z') => {
                let of = self.keep(Node::Parameter(0, 0))?;
                if letter == b'z' { self.pop_member(of)? } else { self.pop_members(of)? }
            }
            letter @ (b'y' | b'Y') => {
                let of = self.parameter()?;
                if letter == b'y' { self.pop_member(of)? } else { self.pop_members(of)? }
            }
            b'a' => {
                let name = self.pop_identifier()?;
                let of = self.pop_type()?;
                self.keep(Node::Member { of, protocol: None, name })?
            }
            b'r' => return self.push(Node::Plain("some".to_owned())),
            b'R' => {
                self.index()?;
                return self.push(Node::Plain("some".to_owned()));
            }
            b'p' => {
                self.pop_type()?;
                return self.before("repeat ");
            }
            _ => return None,
        };
        self.met(found);
        self.put(found)
    }

    /// `H`: how a type conforms to a protocol. Nothing of that is shown.
    fn conformance(&mut self) -> Option<()> {
        let pop = |parser: &mut Self| parser.pop_if(|node| matches!(node, Node::Conformance));
        match self.next()? {
            b'P' | b'p' => {
                self.pop_protocol()?;
                return self.push(Node::Retroactive);
            }
            b'C' => {
                self.pop_list(pop)?;
                if self.pop_if(|node| matches!(node, Node::Retroactive)).is_none() {
                    self.pop_module()?;
                    self.pop_protocol()?;
                }
                self.pop_type()?;
            }
            b'D' => {
                self.index()?;
                self.pop_protocol()?;
                self.pop_type()?;
            }
            b'I' => {
                self.index()?;
                self.pop_protocol()?;
                pop(self)?;
            }
            b'A' => {
                self.index()?;
                self.pop_protocol()?;
                self.pop_type()?;
                pop(self)?;
            }
            b'X' => drop(self.pop_list(pop)?),
            _ => return None,
        }
        self.push(Node::Conformance)
    }

    /// `R`: what is required of a parameter. What it is about has a number, or stands before.
    fn requirement(&mut self) -> Option<()> {
        let letter = self.next()?;
        if matches!(letter, b'i' | b'I' | b'j' | b'J') {
            self.index()?;
        }
        match letter {
            b'c' | b't' | b'm' | b'p' | b'j' => {
                let of = self.parameter()?;
                let found = self.pop_member(of)?;
                self.met(found);
            }
            b'C' | b'T' | b'M' | b'P' | b'J' => {
                let of = self.parameter()?;
                let found = self.pop_members(of)?;
                self.met(found);
            }
            b'B' | b'S' | b'L' | b'Q' | b'I' => drop(self.pop_type()?),
            b'b' | b's' | b'l' | b'h' | b'i' | b'v' | b'V' => drop(self.parameter()?),
            _ => {
                self.back();
                self.parameter()?;
            }
        }
        match letter {
            b'c' | b'C' | b'b' | b'B' | b't' | b'T' | b's' | b'S' | b'h' | b'V' => {
                self.pop_type()?;
            }
            b'm' | b'M' | b'l' | b'L' => self.layout()?,
            b'i' | b'I' | b'j' | b'J' | b'v' => {}
            _ => drop(self.pop_protocol()?),
        }
        self.push(Node::Requirement)
    }

    /// How values of a parameter lie in memory.
    fn layout(&mut self) -> Option<()> {
        let numbers = match self.next()? {
            b'U' | b'R' | b'N' | b'C' | b'D' | b'T' | b'B' | b'S' => 0,
            b'e' | b'm' => 1,
            b'E' | b'M' => 2,
            _ => return None,
        };
        (0..numbers).try_for_each(|_| self.index().map(drop))
    }

    /// How many parameters there are at each depth.
    fn parameter_counts(&mut self) -> Option<Vec<u64>> {
        let mut counts = Vec::new();
        while !self.take("l") {
            counts.push(if self.take("z") { 0 } else { self.index()?.checked_add(1)? });
        }
        Some(counts)
    }

    fn signature(&mut self, counts: Vec<u64>) -> Option<()> {
        while self.pop_if(|node| matches!(node, Node::Requirement)).is_some() {}
        self.push(Node::Signature(counts))
    }
}
