//! The context of each node of an epoch.

use std::collections::HashMap;

use kymo_core::Result;
use kymo_core::model::profile::{ContextId, IDLE, Node, Relation, Scope};

use super::code::Known;
use super::remarks::Remarks;
use super::{Merging, display_name, old_code};
use crate::spec::{SPECIAL_MODULES, placeholder};
use crate::tree::Tree;
use crate::types::{self, Dialect, Epoch};

/// What a node became.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// The root of everything, which is no context.
    Global,
    /// A context.
    At {
        /// The innermost, which children hang below.
        full: ContextId,
        /// The first below the parent: what was called.
        rel: ContextId,
    },
}

impl Place {
    pub(super) fn full(self) -> Option<ContextId> {
        match self {
            Self::Global => None,
            Self::At { full, .. } => Some(full),
        }
    }
}

/// Finds the context of each node of an epoch.
pub(super) struct Placing<'a, 'b> {
    merging: &'a mut Merging<'b>,
    epoch: &'a Epoch,
    dialect: Dialect,
    tree: &'a Tree,
    places: Vec<Option<Place>>,
    /// The load modules, in the order of their list.
    modules: Vec<Known>,
    /// Places of load modules by id, as shipped; of several with one id the first.
    by_id: HashMap<u32, usize>,
    /// Places of load modules by address, as described.
    by_address: Vec<(u64, usize)>,
}

impl<'a, 'b> Placing<'a, 'b> {
    pub(super) fn new(
        merging: &'a mut Merging<'b>,
        epoch: &'a Epoch,
        dialect: Dialect,
        tree: &'a Tree,
    ) -> Self {
        let places = vec![None; epoch.nodes.len()];
        let paths = epoch.load_modules.iter().map(|module| module.path.text());
        let modules = paths.map(|path| merging.code.module(&mut merging.builder, &path)).collect();
        let indices = || epoch.load_modules.iter().enumerate();
        // From the last to the first, so that the first of an id stays.
        let by_id = indices().rev().map(|(index, module)| (module.id, index)).collect();
        let by_address = indices().filter_map(|(index, m)| Some((m.place?.load_addr, index)));
        let mut by_address: Vec<_> = by_address.collect();
        by_address.sort_unstable();
        Self { merging, epoch, dialect, tree, places, modules, by_id, by_address }
    }

    /// Places every node, and says which are not where they should be.
    pub(super) fn all(mut self, remarks: &mut Remarks) -> Result<Vec<Place>> {
        let on_cycle = match self.tree.cycle() {
            Some(_) => self.tree.on_cycles(),
            None => Vec::new(),
        };
        remarks.nodes(self.epoch, self.tree, &on_cycle);
        let mut pending = Vec::new();
        for index in 0..self.epoch.nodes.len() {
            // Parents may come later in old files: go up to the first that is placed, then down.
            let mut at = Some(index);
            while let Some(node) = at.filter(|node| self.is_open(*node)) {
                pending.push(node);
                let goes_round = on_cycle.get(node).copied().unwrap_or(false);
                at = self.tree.parent(node).filter(|_| !goes_round);
            }
            let mut above = at.and_then(|node| self.places.get(node).copied().flatten());
            while let Some(node) = pending.pop() {
                let place = self.place(node, above, remarks)?;
                if let Some(slot) = self.places.get_mut(node) {
                    *slot = Some(place);
                }
                above = Some(place);
            }
        }
        Ok(self.places.into_iter().map(|place| place.unwrap_or(Place::Global)).collect())
    }

    fn is_open(&self, node: usize) -> bool {
        self.places.get(node).is_some_and(Option::is_none)
    }

    /// The context of a node, its parent's being known; a root has none above.
    fn place(
        &mut self,
        index: usize,
        above: Option<Place>,
        remarks: &mut Remarks,
    ) -> Result<Place> {
        let node = self.epoch.nodes.get(index).unwrap_or_default();
        let parent = above.and_then(Place::full);
        let Some((module, offset)) = self.address(&node) else {
            return self.placeholder(&node, above.is_none(), parent);
        };
        let module = module.unwrap_or_else(|| {
            remarks.add("node-module", self.epoch.nodes.offset_of(index));
            self.merging.code.module(&mut self.merging.builder, "<unknown module>")
        });
        let chain = self.merging.code.around(&mut self.merging.builder, module, offset);
        let relation = if chain.is_empty() { Relation::Call } else { Relation::Lexical };
        let point = Some((module.id, offset));
        let instruction = Node { point, ..Node::new(Scope::Instruction, relation) };
        self.below(parent, chain.iter().copied().chain([instruction]))
    }

    /// The module, where it is known, and the offset in it of a node that is code.
    fn address(&mut self, node: &types::Node) -> Option<(Option<Known>, u64)> {
        let distance = self.epoch.header.as_ref().map_or(0, |header| header.ra_distance);
        let distance = if node.is_leaf { 0 } else { u64::from(distance) };
        if self.dialect == Dialect::Described {
            return self.described(node.ip).map(|(known, offset)| {
                (known, if known.is_some() { offset.wrapping_sub(distance) } else { offset })
            });
        }
        if node.lm_id == 0 {
            return None;
        }
        if let Some((_, name)) = SPECIAL_MODULES.iter().find(|(id, _)| *id == node.lm_id) {
            let name = format!("<{name}>");
            let module = self.merging.code.module(&mut self.merging.builder, &name);
            return Some((Some(module), node.ip));
        }
        self.merging.has_strays |= !node.is_called();
        let index = self.by_id.get(&node.lm_id.into()).copied();
        let module = index.and_then(|index| self.modules.get(index)).copied();
        Some((module, node.ip.wrapping_sub(distance)))
    }

    /// As described, modules are found by the address in the process; 0 is none.
    fn described(&self, ip: u64) -> Option<(Option<Known>, u64)> {
        if ip == 0 {
            return None;
        }
        let after = self.by_address.partition_point(|(address, _)| *address <= ip);
        let index = after.checked_sub(1).and_then(|last| self.by_address.get(last));
        let found = index.and_then(|(_, index)| {
            let place = self.epoch.load_modules.get(*index)?.place?;
            let offset = ip.wrapping_sub(place.load_addr).wrapping_add(place.load_offset);
            Some((self.modules.get(*index).copied(), offset))
        });
        Some(found.unwrap_or((None, ip)))
    }

    fn placeholder(
        &mut self,
        node: &types::Node,
        is_root: bool,
        parent: Option<ContextId>,
    ) -> Result<Place> {
        let is_old = self.dialect != Dialect::Shipped0400;
        let code = if is_old { old_code(node.ip) } else { node.ip };
        let entry = match code {
            placeholder::PRIMARY if is_root => return Ok(Place::Global),
            placeholder::MAIN => Some("main thread"),
            placeholder::THREAD => Some("application thread"),
            placeholder::PARTIAL => Some("unknown entry"),
            _ => None,
        };
        let (name, scope) = match (entry, code) {
            (Some(name), _) if parent.is_none() => (name.to_owned(), Scope::Entry),
            (_, placeholder::NO_ACTIVITY) => (IDLE.to_owned(), Scope::Placeholder),
            (_, placeholder::UNNORMALIZED) => ("<unknown function>".to_owned(), Scope::Function),
            _ => (display_name(node), Scope::Placeholder),
        };
        // Placeholders of one name and two codes are two.
        let offset = if scope == Scope::Placeholder { code } else { 0 };
        let function = Some(self.merging.named(&name, offset));
        let context = Node { function, ..Node::new(scope, Relation::Call) };
        // Who does nothing is nowhere in the program.
        let is_entry = scope == Scope::Entry && parent.is_none();
        if is_entry || code == placeholder::NO_ACTIVITY {
            let full = self.merging.builder.child(None, context)?;
            return Ok(Place::At { full, rel: full });
        }
        self.below(parent, [context])
    }

    /// Puts a chain below a context; what hangs below nothing gets an entry.
    fn below(
        &mut self,
        parent: Option<ContextId>,
        chain: impl IntoIterator<Item = Node>,
    ) -> Result<Place> {
        let mut full = match parent {
            Some(parent) => parent,
            None => self.merging.entry(self.dialect)?,
        };
        let mut rel = None;
        for node in chain {
            full = self.merging.builder.child(Some(full), node)?;
            rel = rel.or(Some(full));
        }
        Ok(Place::At { full, rel: rel.unwrap_or(full) })
    }
}
