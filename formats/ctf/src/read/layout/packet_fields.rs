//! The fields that packets and headers of events are understood by: by their names, or, where the
//! metadata has roles, by these.

use kymo_core::bytes::ReadResult;

use super::super::decode::State;
use super::{Builder, NodeId, NodeKind, Register};
use crate::types::Role;

/// The names that fields of packets have.
const NAMES: [(Role, &str); 9] = [
    (Role::Magic, "magic"),
    (Role::StreamId, "stream_id"),
    (Role::PacketSize, "packet_size"),
    (Role::ContentSize, "content_size"),
    (Role::Timestamp, "timestamp_begin"),
    (Role::TimestampEnd, "timestamp_end"),
    (Role::EventsDiscarded, "events_discarded"),
    (Role::PacketSeqNum, "packet_seq_num"),
    CPU,
];

/// The processor has no role: it is known by its name in every version.
const CPU: (Role, &str) = (Role::CpuId, "cpu_id");

/// The roles that fields of packets have.
const ROLES: [Role; 8] = [
    Role::Magic,
    Role::StreamId,
    Role::PacketSize,
    Role::ContentSize,
    Role::Timestamp,
    Role::TimestampEnd,
    Role::EventsDiscarded,
    Role::PacketSeqNum,
];

/// Registers of the fields by which a packet is understood.
#[derive(Debug, Default)]
pub(crate) struct PacketFields([Vec<RegisterField>; Role::COUNT]);

/// Register of a field, and its number of bits.
#[derive(Debug, Clone, Copy)]
struct RegisterField {
    register: Register,
    bits: u32,
}

impl PacketFields {
    fn add(&mut self, role: Role, kept: RegisterField) {
        self.0
            .get_mut(role as usize)
            .into_iter()
            .for_each(|register_fields| register_fields.push(kept));
    }

    fn fields_with_role(&self, role: Role) -> impl Iterator<Item = &RegisterField> {
        // Of several the one that was read last counts.
        self.0.get(role as usize).into_iter().flatten().rev()
    }

    /// Returns the value that was read of a packet.
    pub(crate) fn value(&self, role: Role, state: &State) -> Option<u64> {
        let value =
            self.fields_with_role(role).find_map(|kept| state.register_value(kept.register))?;
        u64::try_from(value).ok()
    }

    /// The bits of a field.
    pub(crate) fn bits(&self, role: Role) -> Option<u32> {
        self.fields_with_role(role).next().map(|kept| kept.bits)
    }
}

impl Builder<'_> {
    /// Keeps the fields of a structure that a packet is understood by.
    pub(super) fn understood(&mut self, node_id: Option<NodeId>) -> ReadResult<PacketFields> {
        let mut found = PacketFields::default();
        let Some(root) = node_id else { return Ok(found) };
        let names: &[_] = if self.has_lines { &NAMES } else { &[CPU] };
        for (role, name) in names {
            let line = format!("_{name}");
            let field = self.child(root, name);
            let field = field.or_else(|| self.child(root, &line).filter(|_| self.has_lines));
            self.understand(&mut found, *role, field)?;
        }
        if !self.has_lines {
            for id in self.numbers(root) {
                let Some(roles) = self.integer(id).map(|integer| integer.roles) else { continue };
                for role in ROLES.into_iter().filter(|role| roles.contains(*role)) {
                    self.understand(&mut found, role, Some(id))?;
                }
            }
        }
        Ok(found)
    }

    /// Keeps a field, where it is a number.
    fn understand(
        &mut self,
        found: &mut PacketFields,
        role: Role,
        field: Option<NodeId>,
    ) -> ReadResult<()> {
        let number = field.and_then(|id| Some((id, self.integer(id)?.bits)));
        if let Some((id, bits)) = number {
            found.add(role, RegisterField { register: self.keep(id)?, bits });
        }
        Ok(())
    }

    /// Registers of the ids of events, wherever they are within a header.
    pub(super) fn event_id(&mut self, header: NodeId) -> ReadResult<Vec<Register>> {
        let numbers = self.numbers(header);
        let called = |name: &str| -> Vec<NodeId> {
            let is_called = |id: &NodeId| self.get(*id).is_some_and(|node| *node.name == *name);
            numbers.iter().copied().filter(is_called).collect()
        };
        let ids = if self.has_lines {
            let ids = called("id");
            if ids.is_empty() { called("_id") } else { ids }
        } else {
            let has_role = |id: &NodeId| {
                self.integer(*id).is_some_and(|integer| integer.roles.contains(Role::EventId))
            };
            numbers.iter().copied().filter(has_role).collect()
        };
        ids.into_iter().map(|id| self.keep(id)).collect()
    }

    fn integer(&self, id: NodeId) -> Option<&crate::types::Integer> {
        self.get(id)?.as_integer()
    }

    /// All numbers within a node, each once, in the order in which they come.
    fn numbers(&self, within: NodeId) -> Vec<NodeId> {
        let (mut found, mut open) = (Vec::new(), vec![within]);
        while let Some(id) = open.pop() {
            match self.get(id).map(|node| &node.kind) {
                Some(NodeKind::Struct(fields)) => open.extend(fields.iter().rev()),
                Some(NodeKind::Variant(_, choices) | NodeKind::Optional(_, choices)) => {
                    open.extend(choices.iter().rev().map(|choice| choice.node));
                }
                Some(NodeKind::Integer(..) | NodeKind::Enumeration(..)) => found.push(id),
                _ => {}
            }
        }
        // What a variant is for several ranges comes several times.
        found.sort_unstable();
        found.dedup();
        found
    }
}
