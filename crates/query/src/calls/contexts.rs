//! The ways that calls lead to each other, by the names of functions.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use kymo_core::Result;
use kymo_model::profile::{CallTreeBuilder, ContextId, Function, IDLE, Node, Relation, Scope};

/// Contexts of calls: functions and their callers.
#[derive(Debug, Default)]
pub(super) struct Contexts {
    below: HashMap<Option<ContextId>, HashMap<String, ContextId, RandomState>, RandomState>,
    /// Context of a thread that is in no function.
    idle: Option<ContextId>,
}

impl Contexts {
    pub(super) fn is_empty(&self) -> bool {
        self.below.is_empty()
    }

    /// The context of a function that is called from another, where it was before.
    pub(super) fn find(&self, parent: Option<ContextId>, name: &str) -> Option<ContextId> {
        self.below.get(&parent)?.get(name).copied()
    }

    /// The context of no function.
    pub(super) fn idle(&self) -> Option<ContextId> {
        self.idle
    }

    /// The context of a function that is called from another; made where it is not there yet.
    pub(super) fn get_or_add(
        &mut self,
        parent: Option<ContextId>,
        name: &str,
        builder: &mut CallTreeBuilder,
    ) -> Result<ContextId> {
        if let Some(known) = self.find(parent, name) {
            return Ok(known);
        }
        if self.idle.is_none() {
            self.idle = Some(made(None, Scope::Placeholder, IDLE, builder)?);
        }
        let context = made(parent, Scope::Function, name, builder)?;
        self.below.entry(parent).or_default().insert(name.to_owned(), context);
        Ok(context)
    }
}

fn made(
    parent: Option<ContextId>,
    scope: Scope,
    name: &str,
    builder: &mut CallTreeBuilder,
) -> Result<ContextId> {
    let function = builder.function(Function { name: name.to_owned(), ..Function::default() });
    let node = Node { function: Some(function), ..Node::new(scope, Relation::Call) };
    builder.child(parent, node)
}
