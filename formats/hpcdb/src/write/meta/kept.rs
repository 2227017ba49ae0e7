//! Codes as files have them. Those that the model has no words for are written as they were read.

use kymo_model::profile::{FileId, Node, Relation, Scope, Statistic};

use crate::spec::{
    COMBINE_MAX, COMBINE_MIN, COMBINE_SUM, LEXICAL_FUNCTION, LEXICAL_INSTRUCTION, LEXICAL_LINE,
    LEXICAL_LOOP, RELATION_CALL, RELATION_INLINED, RELATION_LEXICAL,
};
use crate::types::{Context, PropagationScope};

/// Propagation scopes: name, type, propagation index.
const PROPAGATION_SCOPES: [(&str, u8, u8); 4] =
    [("point", 1, 255), ("function", 3, 0), ("lex_aware", 0, 255), ("execution", 2, 255)];

/// Codes of the format for a context and its place in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Codes {
    pub(super) relation: u8,
    pub(super) lexical_type: u8,
    pub(super) propagation: u16,
    /// Code of an entry point; nothing of any other context.
    pub(super) entry_point: u16,
    /// Place of the call, where the described draft gives it for the very call.
    pub(super) call: Option<(FileId, u32)>,
    /// True if calls below stand in its line; nothing where that is told by the tree.
    pub(super) is_call_line: Option<bool>,
}

impl Codes {
    /// Those that a context was read with, and the file and line of the call that led to it.
    pub(crate) fn read(context: &Context, call: Option<(FileId, u32)>) -> Self {
        Self {
            relation: context.relation,
            lexical_type: context.lexical_type,
            propagation: context.propagation,
            entry_point: context.entry.as_ref().map_or(0, |entry| entry.entry_point),
            call,
            is_call_line: Some(context.is_call_line),
        }
    }

    /// Those of a context of the model; an entry point is known by its name.
    pub(super) fn from_node(node: &Node, name: &str) -> Self {
        let relation = match node.relation {
            Relation::Lexical => RELATION_LEXICAL,
            Relation::Call => RELATION_CALL,
            Relation::Inlined => RELATION_INLINED,
        };
        let lexical_type = match node.scope {
            Scope::Loop => LEXICAL_LOOP,
            Scope::Line => LEXICAL_LINE,
            Scope::Instruction => LEXICAL_INSTRUCTION,
            Scope::Entry | Scope::Function | Scope::Placeholder | Scope::Other => LEXICAL_FUNCTION,
        };
        let entry_point = match name {
            "main thread" => 1,
            "application thread" => 2,
            _ => 0,
        };
        let propagation = (node.relation == Relation::Lexical).into();
        let (call, is_call_line) = (None, None);
        Self { relation, lexical_type, propagation, entry_point, call, is_call_line }
    }
}

/// A statistic as the format has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kind {
    /// Formula that is applied to each thread's value, `$$`.
    pub(crate) formula: String,
    /// Code of the way in which the results are combined.
    pub(crate) combine: u8,
}

impl From<Statistic> for Kind {
    fn from(statistic: Statistic) -> Self {
        let (formula, combine) = match statistic {
            Statistic::Count => ("1", COMBINE_SUM),
            Statistic::Sum => ("$$", COMBINE_SUM),
            Statistic::Squares => ("($$^2)", COMBINE_SUM),
            Statistic::Min => ("$$", COMBINE_MIN),
            Statistic::Max => ("$$", COMBINE_MAX),
        };
        Self { formula: formula.to_owned(), combine }
    }
}

/// The scopes that are written, as far as a file has them with the codes that they have there.
pub(super) fn scopes(read: &[PropagationScope]) -> Vec<PropagationScope> {
    let scope = |(name, scope_type, propagation_index): (&str, u8, u8)| {
        let known =
            PropagationScope { offset: 0, name: name.to_owned(), scope_type, propagation_index };
        read.iter().find(|read| read.name == name).cloned().unwrap_or(known)
    };
    PROPAGATION_SCOPES.into_iter().map(scope).collect()
}
