//! Names of Swift, operator by operator.
//!
//! <https://github.com/swiftlang/swift/blob/main/docs/ABI/Mangling.rst>. Operators stand after what
//! they are about, so a name is read without recursion: each takes nodes from a stack and puts one
//! there. What is not known makes the name none.

use super::node::{Effect, Entity, Kind, Name, Node, NodeId, Nominal};
use super::table;

/// How many nodes a name may have.
const NODES_MAX: usize = 1 << 14;

/// How often something may be put on the stack: few letters may put many there.
const PUTS_MAX: usize = 1 << 16;

/// What names begin with, and whether labels are with the types, as they were at first.
const PREFIXES: [(&str, bool); 7] = [
    ("$s", false),
    ("$S", false),
    ("$e", false),
    ("_$s", false),
    ("_$S", false),
    ("_$e", false),
    ("_T0", true),
];

/// A name on the way.
pub(super) struct Parser<'a> {
    text: &'a str,
    at: usize,
    nodes: Vec<Node>,
    stack: Vec<NodeId>,
    puts: usize,
    /// What `AA`, `AB` and so on stand for.
    substitutions: Vec<NodeId>,
    pub(super) words: Vec<&'a str>,
    pub(super) identifiers_bytes: usize,
    /// True if labels are with the types.
    pub(super) is_old: bool,
}

/// What was read: what is done with a name, the last first, and the name.
pub(super) struct Read {
    pub(super) nodes: Vec<Node>,
    pub(super) attributes: Vec<NodeId>,
    pub(super) name: NodeId,
}

/// Reads a whole name. What compilers put behind that of a copy, after a dot, is passed over.
pub(super) fn read(text: &str) -> Option<Read> {
    let mut prefixes = PREFIXES.iter();
    let (at, is_old) = prefixes
        .find_map(|(prefix, is_old)| text.starts_with(prefix).then_some((prefix.len(), *is_old)))?;
    let text = text.split_once('.').map_or(text, |(name, _)| name);
    let mut parser = Parser {
        text,
        at,
        nodes: Vec::new(),
        stack: Vec::new(),
        puts: 0,
        substitutions: Vec::new(),
        words: Vec::new(),
        identifiers_bytes: 0,
        is_old,
    };
    while parser.peek().is_some() {
        parser.operator()?;
    }
    parser.finish()
}

impl<'a> Parser<'a> {
    fn finish(mut self) -> Option<Read> {
        let mut attributes = Vec::new();
        while let Some(attribute) = self.pop_if(|node| matches!(node, Node::Attribute(_))) {
            attributes.push(attribute);
        }
        let is_whole = |node: &Node| match node {
            Node::Made(..) | Node::Witness { .. } | Node::Pair(..) => true,
            other => other.is_entity() || other.is_type(),
        };
        let name = self.pop_if(is_whole)?;
        self.stack.is_empty().then_some(Read { nodes: self.nodes, attributes, name })
    }

    /// Reads one operator.
    fn operator(&mut self) -> Option<()> {
        if self.peek()?.is_ascii_digit() {
            let identifier = Node::Identifier(self.identifier()?);
            return self.push_met(identifier);
        }
        match self.next()? {
            b'A' => self.substitution(),
            b'C' => self.nominal(Kind::Class),
            b'O' | b'V' | b'a' => self.nominal(Kind::Other),
            b'P' => self.nominal(Kind::Protocol),
            b'D' => self.top(Node::is_type).map(drop),
            b'E' => self.extension(),
            b'F' => self.function(),
            b'L' => self.local_name(),
            b'M' => self.metadata(),
            b'N' => self.made("type metadata for ", Node::is_type),
            b'T' => self.thunk(),
            b'W' => self.witness(),
            b'Z' => self.made_static(),
            b'f' => self.function_part(),
            b'i' => self.subscript(),
            b'o' => self.operator_name(),
            b'v' => self.variable(),
            b'w' => self.value_witness(),
            b's' => self.push(Node::Module),
            b'y' => self.push(Node::Empty),
            b'_' => self.push(Node::First),
            b'd' => self.push(Node::Variadic),
            b'K' => self.push(Node::Effect(Effect::After(" throws"), None)),
            letter => self.type_operator(letter),
        }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn next(&mut self) -> Option<u8> {
        let found = self.peek()?;
        self.at += 1;
        Some(found)
    }

    /// Goes back to the letter that was read last.
    pub(super) fn back(&mut self) {
        self.at = self.at.saturating_sub(1);
    }

    /// Passes over a text, if it comes next.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let is_next = self.text.get(self.at..).is_some_and(|rest| rest.starts_with(text));
        self.at += if is_next { text.len() } else { 0 };
        is_next
    }

    /// So many bytes of text.
    pub(super) fn bytes(&mut self, length: u64) -> Option<&'a str> {
        let end = self.at.checked_add(usize::try_from(length).ok()?)?;
        let found = self.text.get(self.at..end)?;
        self.at = end;
        Some(found)
    }

    pub(super) fn natural(&mut self) -> Option<u64> {
        let digits = self.text.get(self.at..)?;
        let length = digits.bytes().take_while(u8::is_ascii_digit).count();
        self.bytes(length as u64)?.parse().ok()
    }

    /// A number that ends with `_`, which counts from 1 where there are digits.
    pub(super) fn index(&mut self) -> Option<u64> {
        if self.take("_") {
            return Some(0);
        }
        let found = self.natural()?.checked_add(1)?;
        self.take("_").then_some(found)
    }

    pub(super) fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(usize::try_from(id.0).ok()?)
    }

    /// Keeps a node.
    pub(super) fn keep(&mut self, node: Node) -> Option<NodeId> {
        let id = u32::try_from(self.nodes.len()).ok().filter(|_| self.nodes.len() < NODES_MAX)?;
        self.nodes.push(node);
        Some(NodeId(id))
    }

    pub(super) fn put(&mut self, id: NodeId) -> Option<()> {
        self.stack.push(id);
        self.puts += 1;
        (self.puts <= PUTS_MAX).then_some(())
    }

    pub(super) fn push(&mut self, node: Node) -> Option<()> {
        let id = self.keep(node)?;
        self.put(id)
    }

    /// Puts a node on the stack that may be met again.
    pub(super) fn push_met(&mut self, node: Node) -> Option<()> {
        let id = self.keep(node)?;
        self.substitutions.push(id);
        self.put(id)
    }

    /// Remembers what may be met again.
    pub(super) fn met(&mut self, id: NodeId) {
        self.substitutions.push(id);
    }

    pub(super) fn top(&self, is_it: impl Fn(&Node) -> bool) -> Option<NodeId> {
        let top = *self.stack.last()?;
        self.node(top).filter(|node| is_it(node)).map(|_| top)
    }

    pub(super) fn pop_if(&mut self, is_it: impl Fn(&Node) -> bool) -> Option<NodeId> {
        let top = self.top(is_it)?;
        self.stack.pop();
        Some(top)
    }

    pub(super) fn pop_type(&mut self) -> Option<NodeId> {
        self.pop_if(Node::is_type)
    }

    pub(super) fn pop_name(&mut self) -> Option<NodeId> {
        self.pop_if(Node::is_name)
    }

    pub(super) fn pop_identifier(&mut self) -> Option<NodeId> {
        self.pop_if(|node| matches!(node, Node::Identifier(_)))
    }

    pub(super) fn pop_empty(&mut self) -> bool {
        self.pop_if(|node| matches!(node, Node::Empty)).is_some()
    }

    pub(super) fn pop_first(&mut self) -> bool {
        self.pop_if(|node| matches!(node, Node::First)).is_some()
    }

    pub(super) fn pop_signature(&mut self) -> Option<NodeId> {
        self.pop_if(|node| matches!(node, Node::Signature(_)))
    }

    /// A list whose first part has a mark behind it, the first one first.
    pub(super) fn pop_list<T>(
        &mut self,
        mut pop: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let mut list = Vec::new();
        if self.pop_empty() {
            return Some(list);
        }
        loop {
            let is_first = self.pop_first();
            list.push(pop(self)?);
            if is_first {
                list.reverse();
                return Some(list);
            }
        }
    }

    pub(super) fn pop_module(&mut self) -> Option<()> {
        self.pop_if(|node| matches!(node, Node::Identifier(_) | Node::Module)).map(drop)
    }

    /// What something is declared in.
    pub(super) fn pop_context(&mut self) -> Option<NodeId> {
        match self.pop_module() {
            Some(()) => self.keep(Node::Module),
            None => self.pop_if(Node::is_context),
        }
    }

    /// A protocol, of which perhaps only the name and where it is declared were read.
    pub(super) fn pop_protocol(&mut self) -> Option<NodeId> {
        if self.top(Node::is_type).is_some() {
            return self.pop_if(Node::is_protocol);
        }
        let name = self.pop_name()?;
        let context = self.pop_context()?;
        self.keep(Node::Nominal(Nominal { kind: Kind::Protocol, context, name }))
    }

    /// What was met before, perhaps several at once: `AaeB`, `A3a2B`, `A12_`.
    fn substitution(&mut self) -> Option<()> {
        loop {
            let repeats = if self.peek()?.is_ascii_digit() { Some(self.natural()?) } else { None };
            let letter = self.next()?;
            let number = match letter {
                b'a'..=b'z' => u64::from(letter - b'a'),
                b'A'..=b'Z' => u64::from(letter - b'A'),
                b'_' => repeats.map_or(Some(0), |index| index.checked_add(1))?.checked_add(26)?,
                _ => return None,
            };
            let repeats = repeats.filter(|_| letter != b'_').unwrap_or(1);
            let found = *self.substitutions.get(usize::try_from(number).ok()?)?;
            for _ in 0..repeats {
                self.put(found)?;
            }
            if !letter.is_ascii_lowercase() {
                return Some(());
            }
        }
    }

    /// A type or a module of the standard library: `Si`, `S2i`, `ScA`, `So`, `Sg`.
    pub(super) fn standard(&mut self) -> Option<()> {
        match self.peek()? {
            b'o' | b'C' => {
                self.next();
                self.push(Node::Module)
            }
            b'g' => {
                self.next();
                let of = self.pop_type()?;
                let optional = self.standard_type(table::standard(b'q')?)?;
                let arguments = std::iter::once(of).collect();
                self.push_met(Node::Bound(optional, vec![arguments]))
            }
            _ => {
                let is_repeated = self.peek()?.is_ascii_digit();
                let repeats = if is_repeated { self.natural()? } else { 1 };
                let found = match self.next()? {
                    b'c' => table::concurrent(self.next()?)?,
                    letter => table::standard(letter)?,
                };
                let found = self.standard_type(found)?;
                (0..repeats).try_for_each(|_| self.put(found))
            }
        }
    }

    pub(super) fn standard_type(&mut self, (name, kind): (&'static str, Kind)) -> Option<NodeId> {
        let name = self.keep(Node::Identifier(name.to_owned()))?;
        let context = self.keep(Node::Module)?;
        self.keep(Node::Nominal(Nominal { kind, context, name }))
    }

    fn nominal(&mut self, kind: Kind) -> Option<()> {
        let name = self.pop_name()?;
        let context = self.pop_context()?;
        self.push_met(Node::Nominal(Nominal { kind, context, name }))
    }

    fn extension(&mut self) -> Option<()> {
        let signature = self.pop_signature();
        self.pop_module()?;
        let of = self.pop_if(|node| matches!(node, Node::Nominal(_)))?;
        self.push(Node::Extension(of, signature))
    }

    fn made_static(&mut self) -> Option<()> {
        let of = self.pop_if(|node| matches!(node, Node::Entity(it) if !it.is_static))?;
        let Node::Entity(entity) = self.node(of)? else { return None };
        let entity = Entity { is_static: true, ..entity.clone() };
        self.push(Node::Entity(entity))
    }

    /// Names that several have: in one function, in several files, or made of another.
    fn local_name(&mut self) -> Option<()> {
        match self.next()? {
            b'L' => {
                self.pop_identifier()?;
                let name = self.pop_name()?;
                self.push(Node::Private(Some(name)))
            }
            b'l' => {
                self.pop_identifier()?;
                self.push(Node::Private(None))
            }
            b'a'..=b'j' | b'A'..=b'J' => {
                let name = self.pop_name()?;
                self.push(Node::Private(Some(name)))
            }
            _ => {
                self.back();
                let number = self.index()?;
                let name = self.pop_name()?;
                self.push(Node::Local(name, number))
            }
        }
    }

    /// An operator that is declared: its letters stand for signs.
    fn operator_name(&mut self) -> Option<()> {
        let place = match self.next()? {
            b'i' => " infix",
            b'p' => " prefix",
            b'P' => " postfix",
            _ => return None,
        };
        let name = self.pop_identifier()?;
        let Node::Identifier(name) = self.node(name)? else { return None };
        let signs: Option<String> = name.chars().map(table::sign).collect();
        self.push(Node::Operator(signs?, place))
    }

    pub(super) fn entity(&mut self, name: Name, part: &'static str) -> Option<Entity> {
        let context = self.pop_context()?;
        let (number, called) = (None, None);
        Some(Entity { context, name, part, number, is_around: true, called, is_static: false })
    }

    /// Something that is made of what was read last.
    pub(super) fn made(
        &mut self,
        words: &'static str,
        is_it: impl Fn(&Node) -> bool,
    ) -> Option<()> {
        let of = self.pop_if(is_it)?;
        self.push(Node::Made(words, of))
    }

    pub(super) fn attribute(&mut self, words: impl Into<String>) -> Option<()> {
        self.push(Node::Attribute(words.into()))
    }
}
