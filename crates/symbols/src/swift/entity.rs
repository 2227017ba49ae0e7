//! Functions, variables and what is made of them.

use super::node::{Called, Element, Entity, Name, Node, NodeId};
use super::parse::Parser;
use super::table;

impl Parser<'_> {
    /// `F`: a function or a method.
    pub(super) fn function(&mut self) -> Option<()> {
        let signature = self.pop_signature();
        let of = self.pop_function("")?;
        let called = self.pop_called(of, signature)?;
        let name = Name::Declared(self.pop_name()?);
        let entity = self.entity(name, "")?;
        self.push(Node::Entity(Entity { is_around: false, called: Some(called), ..entity }))
    }

    /// The labels of a function's parameters; there are none where nothing is called.
    fn pop_called(&mut self, of: NodeId, signature: Option<NodeId>) -> Option<Called> {
        let has_labels = !self.pop_empty();
        let mut signature = signature;
        let mut of = self.node(of)?;
        if let Node::Generic(found, inner) = of {
            signature = Some(*found);
            of = self.node(*inner)?;
        }
        let Node::Function(function) = of else { return None };
        let parameters = match self.node(function.parameters)? {
            Node::Tuple(elements) => elements.clone(),
            _ => vec![Element { of: function.parameters, label: None, is_variadic: false }],
        };
        let mut labels: Vec<Option<NodeId>> = parameters.iter().map(|it| it.label).collect();
        if has_labels && !self.is_old {
            labels.clear();
            for _ in parameters {
                labels.push(if self.pop_first() { None } else { Some(self.pop_identifier()?) });
            }
            labels.reverse();
        }
        Some(Called { signature, labels })
    }

    /// `v`: a variable, or what gets and sets it.
    pub(super) fn variable(&mut self) -> Option<()> {
        let of = self.pop_type()?;
        self.pop_called(of, None);
        let name = Name::Declared(self.pop_name()?);
        self.accessor(name, None)
    }

    /// `i`: a subscript, or what gets and sets by it.
    pub(super) fn subscript(&mut self) -> Option<()> {
        self.pop_private();
        let of = self.pop_type()?;
        let called = self.pop_called(of, None)?;
        self.accessor(Name::Fixed("subscript"), Some(called))
    }

    fn pop_private(&mut self) {
        self.pop_if(|node| matches!(node, Node::Private(None)));
    }

    fn accessor(&mut self, name: Name, called: Option<Called>) -> Option<()> {
        let part = match self.next()? {
            b'p' => "",
            b'a' => table::addressor(self.next()?, true)?,
            b'l' => table::addressor(self.next()?, false)?,
            letter => table::accessor(letter)?,
        };
        let called = called.filter(|_| part.is_empty());
        let entity = self.entity(name, part)?;
        self.push(Node::Entity(Entity { is_around: false, called, ..entity }))
    }

    /// `f`: what functions, types and variables have besides.
    pub(super) fn function_part(&mut self) -> Option<()> {
        let letter = self.next()?;
        let entity = match letter {
            b'C' | b'c' => return self.initializer(letter == b'C'),
            b'U' | b'u' => {
                let number = self.index()?.checked_add(1)?;
                self.pop_type()?;
                let words = if letter == b'U' { "closure #" } else { "implicit closure #" };
                let entity = self.entity(Name::None, words)?;
                Entity { number: Some(number), ..entity }
            }
            b'A' => {
                let number = self.index()?;
                let entity = self.entity(Name::None, "default argument ")?;
                Entity { number: Some(number), ..entity }
            }
            _ => self.entity(Name::None, table::function_part(letter)?)?,
        };
        self.push(Node::Entity(entity))
    }

    /// `init`. That of a class which also allocates has another name.
    fn initializer(&mut self, allocates: bool) -> Option<()> {
        self.pop_private();
        let of = self.pop_type()?;
        let called = self.pop_called(of, None)?;
        let entity = self.entity(Name::Fixed("init"), "")?;
        let is_class = allocates && self.is_class(entity.context);
        let name = Name::Fixed(if is_class { "__allocating_init" } else { "init" });
        self.push(Node::Entity(Entity { name, is_around: false, called: Some(called), ..entity }))
    }
}
