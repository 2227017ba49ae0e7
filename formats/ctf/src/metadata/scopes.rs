//! Names of types, and where they hold.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::types::Type;

/// Space of a name; a structure and an alias of the same name are different things.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Space {
    Alias,
    Struct,
    Variant,
    Enum,
}

/// Meanings of a name, in each space that it is of.
type Meanings = HashMap<String, Vec<(Space, Arc<Type>)>, RandomState>;

/// Names of types, from the outermost block to the innermost.
#[derive(Debug)]
pub(super) struct Scopes(Vec<Meanings>);

impl Scopes {
    pub(super) fn new() -> Self {
        Self(vec![Meanings::default()])
    }

    pub(super) fn open(&mut self) {
        self.0.push(Meanings::default());
    }

    pub(super) fn close(&mut self) {
        if self.0.len() > 1 {
            self.0.pop();
        }
    }

    pub(super) fn define(&mut self, space: Space, name: String, meaning: Arc<Type>) {
        let Some(innermost) = self.0.last_mut() else { return };
        let meanings = innermost.entry(name).or_default();
        meanings.retain(|(this_space, _)| *this_space != space);
        meanings.push((space, meaning));
    }

    /// Returns the meaning of a name here.
    pub(super) fn find(&self, space: Space, name: &str) -> Option<Arc<Type>> {
        self.0.iter().rev().find_map(|scope| {
            let meanings = scope.get(name)?;
            meanings
                .iter()
                .find(|(this_space, _)| *this_space == space)
                .map(|(_, meaning)| Arc::clone(meaning))
        })
    }
}
