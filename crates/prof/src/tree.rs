//! The merged tree: contexts by what is above them and what they are.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use kymo_core::model::profile::Relation;
use kymo_core::{Error, Result};

use crate::names::{index, number};

/// Contexts that there may be: so many, and so many for each node. Structure files can nest scopes
/// hundreds deep around every address.
const CONTEXTS_MIN: u64 = 1 << 21;
const CONTEXTS_OF_NODE: u64 = 64;

/// The whole program: what entry points are below.
pub(crate) const GLOBAL: u32 = 0;

/// What a context is, below the one above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) scope: Scope,
    pub(crate) relation: Relation,
}

/// What a context is. Numbers are those of [`Names`](crate::names::Names) and
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

/// Where a program or a thread begins.
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

    /// Whether it is part of the line above it, and listed nowhere.
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

/// The merged tree. A context comes after the one above it.
#[derive(Debug)]
pub(crate) struct Tree {
    contexts: Vec<Context>,
    known: HashTable<u32>,
    hasher: FixedState,
    contexts_max: u64,
    /// What `contexts_max` may become.
    items_max: u64,
}

impl Tree {
    pub(crate) fn new(items_max: u64) -> Self {
        let items_max = items_max.min(u64::from(u32::MAX));
        let key = Key { scope: Scope::Global, relation: Relation::Call };
        Self {
            contexts: vec![Context { parent: GLOBAL, key }],
            known: HashTable::new(),
            hasher: FixedState::default(),
            contexts_max: items_max.min(CONTEXTS_MIN),
            items_max,
        }
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
