//! What a mangled name says, as nodes that refer to earlier ones.

use super::table::Operator;

/// Where a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NodeId(pub(super) u32);

/// Several nodes: where they begin in the list of lists, and how many they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct List {
    pub(super) start: u32,
    pub(super) length: u32,
}

/// Qualifiers of a type or of a member function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a word of its own")]
pub(super) struct Qualifiers {
    pub(super) is_const: bool,
    pub(super) is_volatile: bool,
    pub(super) is_restrict: bool,
    /// `&` or `&&`, of a member function.
    pub(super) reference: &'static str,
    pub(super) is_transaction_safe: bool,
}

/// What a part of a name is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Node<'a> {
    /// Text as it stands.
    Text(&'a str),
    /// A class of the standard library, and the name of its constructor.
    Standard {
        text: &'static str,
        own: &'static str,
    },
    /// `outer::inner`.
    Nested(NodeId, NodeId),
    /// What is within a function.
    Local {
        function: NodeId,
        entity: NodeId,
    },
    /// `name<arguments>`.
    Template {
        name: NodeId,
        arguments: List,
    },
    /// `name[abi:tag]`.
    Tagged(NodeId, &'a str),
    /// A constructor or destructor, by the class.
    Structor {
        of: NodeId,
        is_destructor: bool,
    },
    Operator(&'static Operator),
    /// `operator type`.
    Conversion(NodeId),
    /// `operator"" name`.
    LiteralOperator(NodeId),
    /// `before`, and what it is about.
    Special(&'static str, NodeId),
    /// What stands between two.
    Between(NodeId, &'static str, NodeId),
    /// `reference temporary #n for`.
    Temporary(u64, NodeId),
    /// A function or a variable.
    Encoding {
        name: NodeId,
        returns: Option<NodeId>,
        /// Nothing of a variable.
        parameters: Option<List>,
    },
    /// What qualifies a member function, at the name of it.
    Member(NodeId, Qualifiers),
    Qualified(NodeId, Qualifiers),
    /// `type qualifier`.
    Vendor(NodeId, NodeId),
    /// `type postfix`, such as `_Complex`.
    Postfix(NodeId, &'static str),
    Pointer(NodeId),
    Reference {
        to: NodeId,
        is_rvalue: bool,
    },
    MemberPointer {
        class: NodeId,
        member: NodeId,
    },
    Function {
        returns: NodeId,
        parameters: List,
        qualifiers: Qualifiers,
        throws: Throws,
    },
    Array {
        dimension: Option<NodeId>,
        element: NodeId,
    },
    Vector {
        dimension: NodeId,
        element: NodeId,
    },
    /// Arguments that stand for one parameter.
    Pack(List),
    /// A parameter that stands for several arguments: one of them at a time.
    Each(List),
    Expansion(NodeId),
    /// A parameter whose argument comes later.
    Forward,
    /// A parameter of a lambda that is `auto`: its number from 1.
    Auto(u32),
    Lambda {
        parameters: List,
        number: u64,
    },
    Unnamed(u64),
    DefaultArgument(u64),
    Binding(List),
    /// `text(number)`.
    Numbered(&'static str, &'a str),
    Decltype(NodeId),
    Literal {
        of: NodeId,
        value: &'a str,
    },
    /// A parameter of the function: its number, 0 for `this`.
    Parameter(u64),
    Unary(&'static Operator, NodeId),
    /// `operand` and what follows it: `++` and `--`.
    Suffixed(NodeId, &'static Operator),
    Binary(&'static Operator, NodeId, NodeId),
    Conditional(NodeId, NodeId, NodeId),
    /// `(type)value`.
    Cast {
        to: NodeId,
        value: NodeId,
    },
    /// `type{values}`.
    Braced {
        of: Option<NodeId>,
        values: List,
    },
    NamedCast(&'static Operator, NodeId, NodeId),
    /// Values with commas between them, as of a call.
    Values(List),
    /// How many arguments a pack has.
    Count(NodeId),
    /// `(... op pack)` and its like.
    Fold {
        operator: &'static Operator,
        is_left: bool,
        pack: NodeId,
        initial: Option<NodeId>,
    },
}

/// What a function may throw, as far as its type says so.
#[derive(Debug, Clone, Copy)]
pub(super) enum Throws {
    Anything,
    Nothing,
    NothingIf(NodeId),
    Only(List),
}
