//! The headers of events that tracers write: a tag, and by it an id and a time, all at places that
//! are known. They make half of the work, so that they are read without a look at their nodes.

use std::collections::HashSet;

use kymo_core::bytes::Endian;

use super::decode::extended;
use super::layout::{Choice, Node, NodeId, NodeKind, Register};
use crate::types::Integer;

/// Bytes from the begin of a header on that have all of what is read of it at once.
const SIGHT: usize = 24;

/// A header whose fields are at places that are known.
#[derive(Debug)]
pub(crate) struct Header {
    pub(crate) align: u64,
    /// Tag that selects one of several shapes.
    tag: Option<Tag>,
    /// Possible shapes, in the order of the choices.
    pub(crate) shapes: Vec<Shape>,
    /// The same once more, where it is as tracers write it.
    at_once: Option<FixedHeader>,
}

/// A header of which all is within sight.
#[derive(Debug)]
struct FixedHeader {
    /// Tag that selects one of several shapes; of no bits where it is always the same.
    tag: Bits,
    shapes: Vec<HeaderCase>,
}

/// Tag that selects one of several shapes of a header.
#[derive(Debug)]
struct Tag {
    spot: Spot,
    choices: Vec<Choice>,
}

impl Tag {
    /// The place of the choice for some bits.
    fn find(&self, raw: u64) -> Option<usize> {
        let value = self.spot.number(raw);
        let before = self.choices.partition_point(|choice| choice.last < value);
        self.choices.get(before).filter(|choice| choice.first <= value).map(|_| before)
    }
}

/// Possible shape of a header.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shape {
    pub(crate) id: Option<Spot>,
    /// Fields that set the clocks, one after the other.
    pub(crate) times: Vec<(Spot, usize)>,
    /// Its bits.
    pub(crate) bits: u64,
}

/// Shape of a header when its tag is in a range, and places of its numbers: a word has all of each.
#[derive(Debug, Clone, Copy)]
struct HeaderCase {
    first: u64,
    last: u64,
    id: Option<Bits>,
    /// Field that sets a clock.
    time: Option<(Bits, usize)>,
    /// Its bits.
    bits: u64,
}

/// Bits of the word that is so many bytes after the begin of a header: so far from the lowest, and
/// as many as the mask has.
#[derive(Debug, Clone, Copy)]
struct Bits {
    byte: u8,
    shift: u8,
    order: Endian,
    mask: u64,
}

impl Bits {
    const NONE: Self = Self { byte: 0, shift: 0, order: Endian::Little, mask: 0 };

    /// The number in what a header begins with.
    #[inline]
    fn extract(self, sight: &[u8; SIGHT]) -> u64 {
        let word = sight.get(usize::from(self.byte)..).and_then(<[u8]>::first_chunk);
        let word = word.map_or(0, |word| match self.order {
            Endian::Little => u64::from_le_bytes(*word),
            Endian::Big => u64::from_be_bytes(*word),
        });
        (word >> self.shift) & self.mask
    }
}

/// The numbers of a header.
#[derive(Debug)]
pub(crate) struct Numbers {
    /// Its bits.
    pub(crate) bits: u64,
    pub(crate) id: Option<u64>,
    /// Field that sets a clock, a mask of as many bits, and the clock.
    pub(crate) time: Option<(u64, u64, usize)>,
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
    pub(super) fn new(start: u64, integer: &Integer) -> Self {
        let Integer { bits, is_signed, order, .. } = *integer;
        Self { start, bits, is_signed, order }
    }

    /// The word within sight that has all of its bits, if one does. The header is to begin at a byte.
    fn in_word(&self) -> Option<Bits> {
        let unused = 64_u32.checked_sub(self.bits).filter(|unused| *unused < 64)?;
        let byte =
            u8::try_from(self.start / 8).ok().filter(|byte| usize::from(*byte) + 8 <= SIGHT)?;
        let start = u32::try_from(self.start % 8).ok().filter(|start| *start <= unused)?;
        let shift = match self.order {
            Endian::Little => start,
            Endian::Big => unused - start,
        };
        let shift = u8::try_from(shift).ok()?;
        Some(Bits { byte, shift, order: self.order, mask: u64::MAX >> unused })
    }

    /// The number that its bits are.
    #[inline]
    pub(super) fn number(&self, raw: u64) -> i128 {
        extended(raw, self.bits, self.is_signed)
    }
}

impl Shape {
    /// Returns the places of its numbers when the tag is in a range. This is possible if words have
    /// all of each and there is one time at most.
    fn glimpse(&self, first: u64, last: u64) -> Option<HeaderCase> {
        if self.times.len() > 1 || self.id.is_some_and(|id| id.is_signed) {
            return None;
        }
        let id = match &self.id {
            Some(id) => Some(id.in_word()?),
            None => None,
        };
        let time = match self.times.first() {
            Some((spot, clock)) => Some((spot.in_word()?, *clock)),
            None => None,
        };
        Some(HeaderCase { first, last, id, time, bits: self.bits })
    }
}

impl FixedHeader {
    fn new(tag: Option<&Tag>, shapes: &[Shape]) -> Option<Self> {
        let Some(tag) = tag else {
            let shapes = shapes.iter().map(|shape| shape.glimpse(0, 0)).collect::<Option<_>>()?;
            return Some(Self { tag: Bits::NONE, shapes });
        };
        if tag.spot.is_signed {
            return None;
        }
        let glimpse = |(choice, shape): (&Choice, &Shape)| {
            let (first, last) = (u64::try_from(choice.first), u64::try_from(choice.last));
            shape.glimpse(first.ok()?, last.ok()?)
        };
        let shapes = tag.choices.iter().zip(shapes).map(glimpse).collect::<Option<_>>()?;
        Some(Self { tag: tag.spot.in_word()?, shapes })
    }

    #[inline]
    fn numbers(&self, sight: &[u8; SIGHT]) -> Option<Numbers> {
        let tag = self.tag.extract(sight);
        let is_it = |shape: &&HeaderCase| shape.first <= tag && tag <= shape.last;
        let shape = self.shapes.iter().find(is_it)?;
        let id = shape.id.map(|id| id.extract(sight));
        let time = shape.time.map(|(time, clock)| (time.extract(sight), time.mask, clock));
        Some(Numbers { bits: shape.bits, id, time })
    }
}

impl Header {
    /// The header of a node, unless it has something else, or something that others depend on.
    pub(super) fn new(
        nodes: &[Node],
        root: NodeId,
        used: &HashSet<NodeId>,
        ids: &[Register],
    ) -> Option<Self> {
        let node = nodes.get(root.index())?;
        let NodeKind::Struct(fields) = &node.kind else { return None };
        let mut building = Building { nodes, used, ids, align: node.align, tags: Vec::new() };
        let mut shape = Shape::default();
        let (last, before) = fields.split_last()?;
        for field in before {
            building.field(*field, &mut shape)?;
        }
        let NodeKind::Variant(register, choices) = &nodes.get(last.index())?.kind else {
            building.field(*last, &mut shape)?;
            return Some(Self::made(node.align, None, vec![shape]));
        };
        let tag = building.tags.iter().find(|(this_register, _)| this_register == register)?.1;
        let shapes = choices.iter().map(|choice| {
            let mut shape = shape.clone();
            building.field(choice.node, &mut shape)?;
            Some(shape)
        });
        let shapes = shapes.collect::<Option<_>>()?;
        let tag = Tag { spot: tag, choices: choices.clone() };
        Some(Self::made(node.align, Some(tag), shapes))
    }

    fn made(align: u64, tag: Option<Tag>, shapes: Vec<Shape>) -> Self {
        // Bits are counted from a byte.
        let at_once = if align >= 8 { FixedHeader::new(tag.as_ref(), &shapes) } else { None };
        Self { align, tag, shapes, at_once }
    }

    /// Its numbers, where it is as tracers write it, ends before a bit, and enough follows its begin.
    #[inline]
    pub(crate) fn numbers(&self, bytes: &[u8], start: u64, end: u64) -> Option<Numbers> {
        let first = usize::try_from(start / 8).ok()?;
        let found = self.at_once.as_ref()?.numbers(bytes.get(first..)?.first_chunk()?)?;
        (start + found.bits <= end).then_some(found)
    }

    /// Returns the shape that it has, by the bits that are read of it.
    #[inline]
    pub(crate) fn shape<E>(
        &self,
        read: impl FnOnce(&Spot) -> Result<u64, E>,
    ) -> Result<Option<&Shape>, E> {
        let Some(tag) = &self.tag else { return Ok(self.shapes.first()) };
        let place = tag.find(read(&tag.spot)?);
        Ok(place.and_then(|place| self.shapes.get(place)))
    }
}

struct Building<'a> {
    nodes: &'a [Node],
    used: &'a HashSet<NodeId>,
    /// Registers in which the id of an event is kept.
    ids: &'a [Register],
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
        if node.as_integer().is_some_and(|integer| !integer.is_plain()) {
            return None;
        }
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
        if node.register.is_some_and(|register| self.ids.contains(&register)) {
            shape.id = Some(bits);
        }
        self.tags.extend(node.register.map(|register| (register, bits)));
        shape.bits = bits.start + u64::from(bits.bits);
    }
}
