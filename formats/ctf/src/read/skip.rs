//! What is passed over when nobody asks for the fields of an event: most of it at once.

use super::layout::{Node, NodeId, NodeKind};

/// A step over some fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// To a place that is a multiple of so many bits, and on by so many.
    Over(u64, u64),
    /// To the end of a text.
    Text,
    /// What has no fixed length, or something depends on.
    Decode(NodeId),
}

/// The steps over some structures, one after the other.
pub(super) fn steps(nodes: &[Node], parts: impl IntoIterator<Item = NodeId>) -> Box<[Step]> {
    let mut steps = Vec::new();
    for part in parts {
        add(nodes, part, &mut steps);
    }
    steps.into_boxed_slice()
}

/// Adds the steps over a node. They are nested [`DEPTH_MAX`](crate::spec::DEPTH_MAX) deep at most.
fn add(nodes: &[Node], id: NodeId, steps: &mut Vec<Step>) {
    let Some(node) = nodes.get(id.index()) else { return };
    match (&node.kind, node.fixed_bits) {
        (_, Some(bits)) => over(steps, node.align, bits),
        (NodeKind::Struct(fields), None) => {
            over(steps, node.align, 0);
            for field in fields {
                add(nodes, *field, steps);
            }
        }
        (NodeKind::Text, None) => steps.push(Step::Text),
        _ => steps.push(Step::Decode(id)),
    }
}

/// Goes on by so many bits; what follows a step at a place that is known is part of it.
fn over(steps: &mut Vec<Step>, align: u64, bits: u64) {
    if let Some(Step::Over(lead, before)) = steps.last_mut()
        && align <= *lead
        && let Some(start) = before.checked_add(align - 1)
        && let Some(end) = (start & !(align - 1)).checked_add(bits)
    {
        *before = end;
        return;
    }
    steps.push(Step::Over(align, bits));
}
