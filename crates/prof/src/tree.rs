//! The merged tree: contexts by what is above them and what they are.

use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::fast::{FixedState, RandomState};
use hashbrown::HashTable;
use kymo_core::{Error, Result};
use kymo_model::profile::Relation;

use crate::chains::Chain;
use crate::names::{index, number};

/// Contexts that there may be: so many, and so many for each node. Structure files can nest scopes
/// hundreds deep around every address.
const CONTEXTS_MIN: u64 = 1 << 21;
const CONTEXTS_OF_NODE: u64 = 64;

/// The whole program: what entry points are below.
pub(crate) const GLOBAL: u32 = 0;

/// Key of a context below the one above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) scope: Scope,
    pub(crate) relation: Relation,
}

/// Kind of a context. Numbers are those of [`Names`](crate::names::Names) and
/// [`Lookup`](crate::lookup::Lookup).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Scope {
    Global,
    Entry(Entry),
    Unknown,
    Function(u32),
    Loop(u32),
    Line { file: u32, line: u32 },
    Point(u32),
}

/// Entry point: the place where a program or a thread begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Entry {
    Unknown,
    Main,
    Thread,
}

impl Entry {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown entry",
            Self::Main => "main thread",
            Self::Thread => "application thread",
        }
    }
}

impl Key {
    /// A function that is called.
    pub(crate) fn called(function: u32) -> Self {
        Self { scope: Scope::Function(function), relation: Relation::Call }
    }

    /// Returns true if it is part of the line above it, and listed nowhere.
    pub(crate) fn is_elided(self) -> bool {
        matches!(self.scope, Scope::Point(_)) && self.relation == Relation::Lexical
    }
}

/// A context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Context {
    pub(crate) parent: u32,
    pub(crate) key: Key,
}

/// Place of something in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// The innermost context.
    pub(crate) full: u32,
    /// The outermost below what it hangs below: what was called.
    pub(crate) called: u32,
}

impl Place {
    pub(crate) fn from_context(context: u32) -> Self {
        Self { full: context, called: context }
    }
}

/// Size of a tree, and its limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    contexts: usize,
    contexts_max: u64,
}

/// The merged tree. A context comes after the one above it.
#[derive(Debug)]
pub(crate) struct Tree {
    contexts: Vec<Context>,
    known: HashTable<u32>,
    /// Scopes around addresses that hang below a context: they are gone through once.
    chains: HashMap<(u32, Chain), Place, RandomState>,
    /// Room for scopes on their way into the tree.
    keys: Vec<Key>,
    hasher: FixedState,
    contexts_max: u64,
    /// Greatest value that `contexts_max` may reach.
    items_max: u64,
}

impl Tree {
    pub(crate) fn new(items_max: u64) -> Self {
        let items_max = items_max.min(u64::from(u32::MAX));
        let key = Key { scope: Scope::Global, relation: Relation::Call };
        Self {
            contexts: vec![Context { parent: GLOBAL, key }],
            known: HashTable::new(),
            chains: HashMap::default(),
            keys: Vec::new(),
            hasher: FixedState::default(),
            contexts_max: items_max.min(CONTEXTS_MIN),
            items_max,
        }
    }

    /// Returns the size that the tree has now.
    pub(crate) fn mark(&self) -> Mark {
        Mark { contexts: self.contexts.len(), contexts_max: self.contexts_max }
    }

    /// Takes back all that was done since.
    pub(crate) fn forget(&mut self, mark: Mark) {
        let Self { contexts, known, chains, hasher, .. } = self;
        for (context, made) in contexts.drain(mark.contexts..).zip(number(mark.contexts)..) {
            if let Ok(found) = known.find_entry(hash(hasher, context), |known| *known == made) {
                found.remove();
            }
        }
        chains.retain(|_, place| index(place.full) < mark.contexts);
        self.contexts_max = mark.contexts_max;
    }

    /// Allows for the contexts that some more nodes become.
    pub(crate) fn allow(&mut self, nodes: usize) {
        let more = CONTEXTS_OF_NODE.saturating_mul(nodes as u64);
        self.contexts_max = self.contexts_max.saturating_add(more).min(self.items_max);
    }

    /// The context below another; made where it is not there yet.
    pub(crate) fn child(&mut self, parent: u32, key: Key) -> Result<u32> {
        let wanted = Context { parent, key };
        let hash = hash(&self.hasher, wanted);
        let contexts = &self.contexts;
        let is_it = |found: &u32| contexts.get(index(*found)) == Some(&wanted);
        if let Some(found) = self.known.find(hash, is_it) {
            return Ok(*found);
        }
        if self.contexts.len() as u64 >= self.contexts_max {
            let why = format!("there are more than {} contexts", self.contexts.len());
            return Err(Error::Request(why));
        }
        let made = number(self.contexts.len());
        self.contexts.push(wanted);
        let (contexts, hasher) = (&self.contexts, &self.hasher);
        let rehash =
            |found: &u32| contexts.get(index(*found)).map_or(0, |c| self::hash(hasher, *c));
        self.known.insert_unique(hash, made, rehash);
        Ok(made)
    }

    /// The contexts of the scopes around an address, which are told from the innermost out.
    pub(crate) fn place_chain(
        &mut self,
        above: u32,
        around: Chain,
        inside_out: impl Iterator<Item = Key>,
    ) -> Result<Place> {
        if let Some(known) = self.chains.get(&(above, around)) {
            return Ok(*known);
        }
        let mut keys = std::mem::take(&mut self.keys);
        keys.extend(inside_out);
        let (mut full, mut called) = (above, None);
        while let Some(key) = keys.pop() {
            full = self.child(full, key)?;
            called = called.or(Some(full));
        }
        self.keys = keys;
        let place = Place { full, called: called.unwrap_or(full) };
        self.chains.insert((above, around), place);
        Ok(place)
    }

    /// Every context, the whole program first.
    pub(crate) fn contexts(&self) -> &[Context] {
        &self.contexts
    }

    /// The context that a listing shows for one: itself, or the line it is part of.
    pub(crate) fn listed(&self, context: u32) -> u32 {
        match self.contexts.get(index(context)) {
            Some(found) if found.key.is_elided() => found.parent,
            _ => context,
        }
    }
}

fn hash(hasher: &FixedState, context: Context) -> u64 {
    hasher.hash_one((context.parent, context.key.relation, context.key.scope))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(function: u32) -> Key {
        Key::called(function)
    }

    #[test]
    fn what_is_taken_back_leaves_nothing_behind() {
        let mut tree = Tree::new(5);
        let kept = tree.child(GLOBAL, called(1)).unwrap();
        let mark = tree.mark();
        let mut chains = crate::chains::Chains::default();
        let chain = chains.add_scope(Chain::EMPTY, called(2));
        let chain = chains.add_scope(chain, called(3));
        let place = tree.place_chain(kept, chain, chains.inside_out(chain)).unwrap();
        assert_eq!(place, Place { full: 3, called: 2 });
        tree.child(kept, called(9)).unwrap();
        let error = tree.child(kept, called(4)).unwrap_err();
        assert_eq!(error.to_string(), "there are more than 5 contexts");
        tree.forget(mark);
        assert_eq!(tree.contexts().len(), 2);
        assert_eq!(tree.child(GLOBAL, called(1)).unwrap(), kept);
        let again = tree.place_chain(kept, chain, chains.inside_out(chain)).unwrap();
        assert_eq!((again, tree.contexts().len()), (place, 4));
    }
}
