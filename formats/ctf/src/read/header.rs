//! The headers of events that tracers write: a tag, and by it an id and a time, all at places that
//! are known. They make half of the work, so that they are read without a look at their nodes.

use std::collections::HashSet;

use kymo_core::bytes::Endian;

use super::layout::{Choice, Node, NodeId, NodeKind, Register};
use crate::types::Integer;

/// A header whose fields are at places that are known.
#[derive(Debug)]
pub(crate) struct Header {
    pub(crate) align: u64,
    /// What tells which of several it is.
    tag: Option<(Spot, Vec<Choice>)>,
    /// What it may be, in the order of the choices.
    pub(crate) shapes: Vec<Shape>,
}

/// What a header may be.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shape {
    pub(crate) id: Option<Spot>,
    /// What sets the clocks, one after the other.
    pub(crate) times: Vec<(Spot, usize)>,
    /// Its bits.
    pub(crate) bits: u64,
}

/// An integer at a place that is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spot {
    /// From the start of the header.
    pub(crate) start: u64,
    pub(crate) bits: u32,
    pub(crate) is_signed: bool,
    pub(crate) order: Endian,
}

impl Spot {
    fn new(start: u64, integer: &Integer) -> Self {
        let Integer { bits, is_signed, order, .. } = *integer;
        Self { start, bits, is_signed, order }
    }
}

impl Header {
    /// The header of a node, unless it has something else, or something that others depend on.
    pub(super) fn new(nodes: &[Node], root: NodeId, used: &HashSet<NodeId>) -> Option<Self> {
        let node = nodes.get(root.index())?;
        let NodeKind::Struct(fields) = &node.kind else { return None };
        let mut building = Building { nodes, used, align: node.align, tags: Vec::new() };
        let mut shape = Shape::default();
        let (last, before) = fields.split_last()?;
        for field in before {
            building.field(*field, &mut shape)?;
        }
        let NodeKind::Variant(register, choices) = &nodes.get(last.index())?.kind else {
            building.field(*last, &mut shape)?;
            return Some(Self { align: node.align, tag: None, shapes: vec![shape] });
        };
        let tag = building.tags.iter().find(|(of, _)| of == register)?.1;
        let shapes = choices.iter().map(|choice| {
            let mut shape = shape.clone();
            building.field(choice.node, &mut shape)?;
            Some(shape)
        });
        let shapes = shapes.collect::<Option<_>>()?;
        Some(Self { align: node.align, tag: Some((tag, choices.clone())), shapes })
    }

    /// Which of several it is, by what is read of it.
    #[inline]
    pub(crate) fn shape<E>(
        &self,
        read: impl FnOnce(&Spot) -> Result<i128, E>,
    ) -> Result<Option<&Shape>, E> {
        let Some((tag, choices)) = &self.tag else { return Ok(self.shapes.first()) };
        let tag = read(tag)?;
        let before = choices.partition_point(|choice| choice.last < tag);
        let chosen = choices.get(before).filter(|choice| choice.first <= tag);
        Ok(chosen.and_then(|_| self.shapes.get(before)))
    }
}

struct Building<'a> {
    nodes: &'a [Node],
    used: &'a HashSet<NodeId>,
    align: u64,
    tags: Vec<(Register, Spot)>,
}

impl Building<'_> {
    /// Adds a field, or a structure of fields.
    fn field(&mut self, id: NodeId, shape: &mut Shape) -> Option<()> {
        let node = self.nodes.get(id.index())?;
        // Where it is aligned more strictly than the header, its place depends on that of it.
        if node.align > self.align || self.used.contains(&id) {
            return None;
        }
        let start = shape.bits.checked_add(node.align - 1)? & !(node.align - 1);
        match &node.kind {
            NodeKind::Integer(integer, clock) => {
                let bits = Spot::new(start, integer);
                shape.times.extend(clock.map(|clock| (bits, clock)));
                self.number(node, bits, shape);
            }
            NodeKind::Enumeration(integer, _) => {
                self.number(node, Spot::new(start, integer), shape);
            }
            NodeKind::Struct(fields) => {
                shape.bits = start;
                for field in fields {
                    self.field(*field, shape)?;
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn number(&mut self, node: &Node, bits: Spot, shape: &mut Shape) {
        // Of several ids the one that was read last counts: it is the longer one.
        if &*node.name == "id" {
            shape.id = Some(bits);
        }
        self.tags.extend(node.register.map(|register| (register, bits)));
        shape.bits = bits.start + u64::from(bits.bits);
    }
}
