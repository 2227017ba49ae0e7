//! The merged tree as far as adding up needs it: shared with those who add up while it grows.

use std::sync::Arc;

use kymo_model::profile::Relation;

use crate::names::index;
use crate::tree::{Context, Scope};

/// Contexts that share a page.
const PAGE: usize = 1 << 12;

/// Link of a context: its part in propagation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Link {
    pub(crate) parent: u32,
    pub(crate) is_lexical: bool,
    pub(crate) is_loop: bool,
    /// True if it is part of the line above it.
    pub(crate) is_elided: bool,
}

impl Link {
    fn from_context(context: &Context) -> Self {
        Self {
            parent: context.parent,
            is_lexical: context.key.relation == Relation::Lexical,
            is_loop: matches!(context.key.scope, Scope::Loop(_)),
            is_elided: context.key.is_elided(),
        }
    }
}

/// The links of all contexts that there were at some moment. Pages that are full are shared with
/// those of later moments.
#[derive(Debug, Clone, Default)]
pub(crate) struct Links {
    pages: Vec<Arc<[Link]>>,
    count: usize,
}

impl Links {
    /// The same with the contexts that came since.
    pub(crate) fn grown(&self, contexts: &[Context]) -> Self {
        let full = self.count / PAGE;
        let mut pages: Vec<_> = self.pages.iter().take(full).cloned().collect();
        let new = contexts.chunks(PAGE).skip(full);
        pages.extend(new.map(|page| page.iter().map(Link::from_context).collect::<Arc<[Link]>>()));
        Self { pages, count: contexts.len() }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn get(&self, context: u32) -> Option<Link> {
        let context = index(context);
        self.pages.get(context / PAGE)?.get(context % PAGE).copied()
    }
}
