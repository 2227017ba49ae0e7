//! Names of types, and where they hold.

use std::collections::HashMap;
use std::sync::Arc;

use crate::types::Type;

/// What kind of name it is; a structure and an alias of the same name are different things.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Space {
    Alias,
    Struct,
    Variant,
    Enum,
}

/// Names of types, from the outermost block to the innermost.
#[derive(Debug)]
pub(super) struct Scopes(Vec<HashMap<(Space, String), Arc<Type>>>);

impl Scopes {
    pub(super) fn new() -> Self {
        Self(vec![HashMap::new()])
    }

    pub(super) fn open(&mut self) {
        self.0.push(HashMap::new());
    }

    pub(super) fn close(&mut self) {
        if self.0.len() > 1 {
            self.0.pop();
        }
    }

    pub(super) fn define(&mut self, space: Space, name: String, meaning: Arc<Type>) {
        if let Some(innermost) = self.0.last_mut() {
            innermost.insert((space, name), meaning);
        }
    }

    /// What a name means here.
    pub(super) fn find(&self, space: Space, name: &str) -> Option<Arc<Type>> {
        let key = (space, name.to_owned());
        self.0.iter().rev().find_map(|scope| scope.get(&key)).cloned()
    }
}
