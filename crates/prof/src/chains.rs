//! Scopes around addresses. Each is kept once, with the one around it: very many addresses share
//! them, and structure files can nest them hundreds deep.

use kymo_model::profile::Relation;

use crate::names::{Interner, index};
use crate::tree::Key;

/// Scopes around an address: the number of the innermost one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Chain(u32);

impl Chain {
    /// Nothing is known to be around it.
    pub(crate) const EMPTY: Self = Self(u32::MAX);
}

/// All scopes.
#[derive(Debug, Default)]
pub(crate) struct Chains(Interner<(Chain, Key)>);

impl Chains {
    /// A scope within others. The outermost is what was called, also where it is no function, or one
    /// that was inlined into something nobody tells of.
    pub(crate) fn add_scope(&mut self, around: Chain, key: Key) -> Chain {
        let relation = if around == Chain::EMPTY { Relation::Call } else { key.relation };
        let key = Key { relation, ..key };
        Chain(self.0.intern((around, key)).0)
    }

    /// The scopes from the innermost out.
    pub(crate) fn inside_out(&self, innermost: Chain) -> impl Iterator<Item = Key> {
        let get = |chain: Chain| self.0.items().get(index(chain.0));
        let scopes = std::iter::successors(get(innermost), move |(around, _)| get(*around));
        scopes.map(|(_, key)| *key)
    }
}
