//! Fields that others depend on, by their places: from a structure that is known, or from the one
//! that has the field which depends, through members by name. On the way may be variants and fields
//! that may not be there: then it is one of several fields.

use kymo_core::bytes::{ReadError, ReadErrorKind, ReadResult};

use super::{Before, Builder, Node, NodeId, NodeKind, Register, within_limit};
use crate::types::Location;

/// More lengths and tags within one variant that others outside of it depend on are refused: it forgets
/// them one by one whenever it is decoded.
const FORGOTTEN_MAX: usize = 256;

/// Position on the way to a field.
enum Place {
    /// In a structure that is being made, by its level.
    Open(usize),
    /// At fields of which one is there.
    Made(Vec<NodeId>),
}

/// Fields of which one is there, and what was gone through to get to them.
#[derive(Default)]
struct LocatedFields {
    leaves: Vec<NodeId>,
    through: Vec<NodeId>,
}

impl Builder<'_> {
    /// Returns the register for the value of the field at a location, which is to be meant.
    pub(super) fn locate(
        &mut self,
        location: &Location,
        before: &Before,
        is_meant: fn(&Node) -> bool,
    ) -> ReadResult<Register> {
        let mut found = LocatedFields::default();
        let leaves = self.walk(location, before, &mut found)?.unwrap_or_default();
        self.expand(leaves, &mut found)?;
        let is_meant = |id: &NodeId| self.get(*id).is_some_and(is_meant);
        found.leaves.retain(is_meant);
        if found.leaves.is_empty() {
            return Err(missing(location));
        }
        if !self.is_header {
            self.used.extend(found.leaves.iter().copied());
        }
        match (&*found.leaves, &*found.through) {
            ([leaf], []) => self.keep(*leaf),
            _ => self.group(found),
        }
    }

    /// Goes along the names of a location; nothing where one of them is of no field before.
    fn walk(
        &mut self,
        location: &Location,
        before: &Before,
        found: &mut LocatedFields,
    ) -> ReadResult<Option<Vec<NodeId>>> {
        let Some(mut place) = self.begin(location, before) else { return Ok(None) };
        for name in location.path.iter() {
            place = match place {
                Place::Open(level) => match before.get(level) {
                    Some(this_level) if this_level.fields.contains_key(name) => {
                        Place::Made(this_level.fields.get(name).copied().into_iter().collect())
                    }
                    // It is what we are in.
                    Some(this_level) if this_level.current.as_ref() == Some(name) => {
                        Place::Open(level + 1)
                    }
                    _ => return Ok(None),
                },
                Place::Made(nodes) => {
                    let mut structures = LocatedFields::default();
                    self.expand(nodes, &mut structures)?;
                    found.through.append(&mut structures.through);
                    let members = structures.leaves.into_iter();
                    Place::Made(members.filter_map(|id| self.child(id, name)).collect())
                }
            };
        }
        Ok(match place {
            Place::Open(_) => None,
            Place::Made(nodes) => Some(nodes),
        })
    }

    fn begin(&self, location: &Location, before: &Before) -> Option<Place> {
        let Some(origin) = location.origin else {
            return before.len().checked_sub(1 + location.out).map(Place::Open);
        };
        let place = origin as usize;
        if place == self.roots.len() {
            return Some(Place::Open(0));
        }
        let root = self.roots.get(place)?.1?;
        Some(Place::Made(vec![root]))
    }

    /// Finds the nodes that are meant in the end, where they are one of several or may not be
    /// there.
    fn expand(&mut self, nodes: Vec<NodeId>, found: &mut LocatedFields) -> ReadResult<()> {
        let mut open = nodes;
        while let Some(id) = open.pop() {
            within_limit(self.gone_through, "choices of variants that lengths and tags are in")?;
            self.gone_through += 1;
            match self.nodes.get(id.index()).map(|node| &node.kind) {
                Some(NodeKind::Variant(_, choices) | NodeKind::Optional(_, choices)) => {
                    found.through.push(id);
                    self.gone_through += choices.len();
                    open.extend(choices.iter().map(|choice| choice.node));
                }
                _ => found.leaves.push(id),
            }
        }
        found.leaves.sort_unstable();
        found.leaves.dedup();
        Ok(())
    }

    /// Returns the register for the value of one of several fields. The nodes gone through to get
    /// there forget it, when they are decoded: they may be without such a field then.
    fn group(&mut self, found: LocatedFields) -> ReadResult<Register> {
        let LocatedFields { leaves, through } = found;
        if let Some(register) = self.groups.get(&leaves) {
            return Ok(*register);
        }
        let first = leaves.first().copied().unwrap_or(NodeId(0));
        let register = self.register(first)?;
        for id in &leaves {
            self.keep(*id)?;
            if let Some(node) = self.nodes.get_mut(id.index()) {
                node.kept_too.push(register);
            }
        }
        for id in through {
            let Some(node) = self.nodes.get_mut(id.index()) else { continue };
            if node.forgets.len() >= FORGOTTEN_MAX {
                let (found, limit) = (FORGOTTEN_MAX as u64 + 1, FORGOTTEN_MAX as u64);
                let what = "lengths and tags within a variant";
                return Err(ReadErrorKind::OverLimit { found, limit }.error_at(what, 0));
            }
            node.forgets.push(register);
        }
        self.groups.insert(leaves, register);
        Ok(register)
    }
}

fn missing(location: &Location) -> ReadError {
    let path: Vec<_> = location.path.iter().map(|name| &**name).collect();
    let path = kymo_core::shortened(&path.join(".")).into_owned();
    let why = format!("{path} is used, and there is no such field before that can be");
    ReadError::invalid("metadata", 0, why)
}
