//! What names of Swift are made of.

/// A node, by its place among all of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NodeId(pub(super) u32);

/// A part of a name, or a mark that tells where a list begins.
#[derive(Debug)]
pub(super) enum Node {
    /// `y`: a list of nothing, or what a list stands after.
    Empty,
    /// `_`: the first of a list, or no label.
    First,
    /// `d`: what comes before may be there several times.
    Variadic,
    /// How a function is called, or what it does besides returning.
    Effect(Effect, Option<NodeId>),
    /// A requirement of parameters of generics. Nothing is shown of it.
    Requirement,
    /// A conformance to a protocol. Nothing is shown of it.
    Conformance,
    /// A conformance that arguments of generics need. Nothing is shown of it.
    Retroactive,
    /// Parameters of generics: how many there are at each depth.
    Signature(Vec<u64>),
    Identifier(String),
    /// An operator, and where it stands.
    Operator(String, &'static str),
    /// A name that several have in one function, with its number.
    Local(NodeId, u64),
    /// A name that is known in one file alone; nothing where it is that of the type.
    Private(Option<NodeId>),
    Module,
    Nominal(Nominal),
    /// What was added to a type elsewhere, with the parameters that it is for.
    Extension(NodeId, Option<NodeId>),
    Entity(Entity),
    /// A type that needs no others.
    Plain(String),
    /// A parameter of generics: its depth and its place there.
    Parameter(u64, u64),
    /// A type with arguments, those of the types around it after its own.
    Bound(NodeId, Vec<Vec<NodeId>>),
    Tuple(Vec<Element>),
    Function(Function),
    /// A function as it is compiled.
    Compiled(Compiled),
    /// A type with words before it.
    Before(&'static str, NodeId),
    /// A type with words after it.
    After(NodeId, &'static str),
    /// All that conforms to some protocols, and is of a class.
    Existential(Vec<NodeId>),
    /// A type that belongs to another one, perhaps by a protocol.
    Member {
        of: NodeId,
        protocol: Option<NodeId>,
        name: NodeId,
    },
    /// A type for all parameters of a signature.
    Generic(NodeId, NodeId),
    /// What is made of another thing, with words for it: `type metadata for`.
    Made(&'static str, NodeId),
    /// A function that does for a type what a protocol asks for.
    Witness {
        of: NodeId,
        entity: NodeId,
    },
    /// Two that belong together: words, the first, words, the second.
    Pair(&'static str, NodeId, &'static str, NodeId),
    /// What is done with a whole name, in words before it.
    Attribute(String),
}

/// Where a word stands in a function's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    Before(&'static str),
    After(&'static str),
    Result(&'static str),
}

/// What kind of type a name is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Class,
    Other,
    Protocol,
}

/// A type with a name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Nominal {
    pub(super) kind: Kind,
    pub(super) context: NodeId,
    pub(super) name: NodeId,
}

/// Something that has code, or is a variable.
#[derive(Debug, Clone)]
pub(super) struct Entity {
    pub(super) context: NodeId,
    pub(super) name: Name,
    /// What of it is meant: `getter`.
    pub(super) part: &'static str,
    pub(super) number: Option<u64>,
    /// True if it stands before what is in it, as types do: what is in a function stands before it.
    pub(super) is_around: bool,
    pub(super) called: Option<Called>,
    pub(super) is_static: bool,
}

/// What a thing is called.
#[derive(Debug, Clone, Copy)]
pub(super) enum Name {
    None,
    Fixed(&'static str),
    Declared(NodeId),
}

/// What a function is called with.
#[derive(Debug, Clone)]
pub(super) struct Called {
    pub(super) signature: Option<NodeId>,
    pub(super) labels: Vec<Option<NodeId>>,
}

/// A part of a tuple.
#[derive(Debug, Clone, Copy)]
pub(super) struct Element {
    pub(super) of: NodeId,
    pub(super) label: Option<NodeId>,
    pub(super) is_variadic: bool,
}

/// The type of a function.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) convention: &'static str,
    pub(super) effects: Vec<NodeId>,
    pub(super) parameters: NodeId,
    pub(super) result: NodeId,
}

/// The type of a function as it is compiled.
#[derive(Debug, Default)]
pub(super) struct Compiled {
    pub(super) attributes: Vec<&'static str>,
    pub(super) signature: Option<NodeId>,
    pub(super) parameters: Vec<(String, NodeId)>,
    pub(super) is_sending: bool,
    pub(super) results: Vec<(String, NodeId)>,
    /// What the parameters of the signature stand for, last one first.
    pub(super) arguments: Option<Vec<NodeId>>,
}

impl Node {
    pub(super) fn is_type(&self) -> bool {
        matches!(
            self,
            Self::Nominal(_)
                | Self::Plain(_)
                | Self::Parameter(..)
                | Self::Bound(..)
                | Self::Tuple(_)
                | Self::Function(_)
                | Self::Compiled(_)
                | Self::Before(..)
                | Self::After(..)
                | Self::Existential(_)
                | Self::Member { .. }
                | Self::Generic(..)
        )
    }

    pub(super) fn is_name(&self) -> bool {
        matches!(
            self,
            Self::Identifier(_) | Self::Operator(..) | Self::Local(..) | Self::Private(Some(_))
        )
    }

    /// Returns true if something may be declared in it.
    pub(super) fn is_context(&self) -> bool {
        matches!(self, Self::Module | Self::Nominal(_) | Self::Extension(..) | Self::Entity(_))
    }

    pub(super) fn is_entity(&self) -> bool {
        matches!(self, Self::Entity(_) | Self::Nominal(_))
    }

    pub(super) fn is_protocol(&self) -> bool {
        matches!(self, Self::Nominal(Nominal { kind: Kind::Protocol, .. }))
    }
}
