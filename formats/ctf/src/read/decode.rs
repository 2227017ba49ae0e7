//! Bits to values.

use kymo_core::bytes::{Endian, ReadError, ReadErrorKind, ReadResult};
use memchr::memchr;

use super::header::{Header, Spot};
use super::layout::{Count, Layouts, Node, NodeId, NodeKind, Register};
use super::skip::Step;
use crate::types::{Float, Integer, Label};

/// Who is told what is decoded.
pub(crate) trait Visitor {
    /// Nobody listens, so that what nothing depends on need not be decoded.
    const IS_DEAF: bool = false;

    /// Another event begins: forgets what was told, also of one that could not be read. Tells
    /// whether the fields of its kind are wanted, by its number.
    fn begin(&mut self, _kind: usize) -> bool {
        !Self::IS_DEAF
    }

    /// A structure, a variant or an array begins.
    fn open(&mut self, _node: &Node, _is_array: bool) {}
    /// It ends.
    fn close(&mut self, _is_array: bool) {}
    fn integer(&mut self, _node: &Node, _integer: &Integer, _value: i128) {}
    fn label(&mut self, _node: &Node, _labels: &[Label], _value: i128) {}
    fn float(&mut self, _node: &Node, _value: f64) {}
    fn text(&mut self, _node: &Node, _text: &[u8]) {}
}

/// Nobody.
impl Visitor for () {
    const IS_DEAF: bool = true;
}

/// Where we are in a packet, and what was kept on the way.
#[derive(Debug, Clone, Default)]
pub(crate) struct State {
    /// The next bit, counted from the start of the packet.
    pub(crate) position: u64,
    /// Where the content of the packet ends.
    pub(crate) end: u64,
    /// As many as were used yet.
    registers: Vec<Option<i128>>,
    /// The clock that was set last, and its ticks.
    pub(crate) clock: Option<usize>,
    pub(crate) ticks: u64,
}

impl State {
    /// At the start of a packet of so many bits.
    pub(crate) fn begin(&mut self, bits: u64) {
        (self.position, self.end) = (0, bits);
        self.registers.clear();
    }

    /// What was kept in a register.
    #[inline]
    pub(crate) fn kept(&self, register: Register) -> Option<i128> {
        self.registers.get(register.index()).copied().flatten()
    }

    /// Forgets what was kept in a register.
    #[inline]
    pub(crate) fn forget(&mut self, register: Register) {
        if let Some(kept) = self.registers.get_mut(register.index()) {
            *kept = None;
        }
    }

    #[inline]
    fn keep(&mut self, register: Register, value: i128) {
        let index = register.index();
        if index >= self.registers.len() {
            self.registers.resize(index + 1, None);
        }
        if let Some(kept) = self.registers.get_mut(index) {
            *kept = Some(value);
        }
    }

    /// Sets the clock: what has fewer bits than it gives the lowest, and they only grow.
    fn tick(&mut self, clock: usize, value: u64, bits: u32) {
        self.clock = Some(clock);
        let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
        let (old, new) = (self.ticks & mask, value & mask);
        let carry = if bits < 64 && new < old { mask.wrapping_add(1) } else { 0 };
        self.ticks = ((self.ticks & !mask) | new).wrapping_add(carry);
    }
}

/// The number that some bits are.
#[inline]
fn extended(raw: u64, bits: u32, is_signed: bool) -> i128 {
    if is_signed && bits > 0 {
        let unused = 64 - bits;
        return ((raw << unused).cast_signed() >> unused).into();
    }
    raw.into()
}

/// The bits of an element of an array, where they are always as many and nothing is between two.
fn stride(element: &Node) -> Option<u64> {
    element.fixed_bits.filter(|bits| *bits > 0 && bits.is_multiple_of(element.align))
}

/// Decodes from the bytes of a packet.
pub(crate) struct Decoder<'a> {
    pub(crate) layouts: &'a Layouts,
    /// The packet.
    pub(crate) bytes: &'a [u8],
    /// Where it begins in the file.
    pub(crate) offset: u64,
    pub(crate) state: &'a mut State,
}

impl Decoder<'_> {
    /// Passes over fields.
    #[inline]
    pub(crate) fn pass(&mut self, steps: &[Step]) -> ReadResult<()> {
        for step in steps {
            match *step {
                Step::Over(align, bits) => {
                    self.align(align);
                    self.take(bits)?;
                }
                Step::Text => drop(self.text()?),
                Step::Decode(node) => self.decode(node, &mut ())?,
            }
        }
        Ok(())
    }

    /// Reads the header of an event, and tells its id; nothing where it has none.
    #[inline]
    pub(crate) fn header(&mut self, header: &Header) -> ReadResult<Option<i128>> {
        self.align(header.align);
        let start = self.state.position;
        let shape = header.shape(|tag| self.at_place(start, tag))?;
        let shape = shape.ok_or_else(|| self.error("a variant has nothing for its tag"))?;
        self.take(shape.bits)?;
        for (spot, clock) in &shape.times {
            let value = self.at_place(start, spot)?;
            let value = u64::try_from(value & i128::from(u64::MAX)).unwrap_or_default();
            self.state.tick(*clock, value, spot.bits);
        }
        shape.id.as_ref().map(|id| self.at_place(start, id)).transpose()
    }

    /// An integer of a header that begins at a place.
    #[inline]
    fn at_place(&mut self, header: u64, of: &Spot) -> ReadResult<i128> {
        let start = header + of.start;
        if start + u64::from(of.bits) > self.state.end {
            return Err(self.error("its header does not end"));
        }
        Ok(extended(self.bits(start, of.bits, of.order)?, of.bits, of.is_signed))
    }

    /// Decodes a node. They are nested [`DEPTH_MAX`](crate::spec::DEPTH_MAX) deep at most.
    pub(crate) fn decode<V: Visitor>(&mut self, id: NodeId, visitor: &mut V) -> ReadResult<()> {
        let layouts = self.layouts;
        let Some(node) = layouts.node(id) else { return Ok(()) };
        if let (true, Some(bits)) = (V::IS_DEAF, node.fixed_bits) {
            self.align(node.align);
            return self.take(bits).map(drop);
        }
        match &node.kind {
            NodeKind::Integer(integer, clock) => {
                let value = self.integer(integer)?;
                self.keep(node, value);
                if let Some(clock) = clock {
                    let value = u64::try_from(value & i128::from(u64::MAX)).unwrap_or_default();
                    self.state.tick(*clock, value, integer.bits);
                }
                visitor.integer(node, integer, value);
            }
            NodeKind::Enumeration(integer, labels) => {
                let value = self.integer(integer)?;
                self.keep(node, value);
                visitor.label(node, labels, value);
            }
            NodeKind::Float(float) => {
                let value = self.float(float)?;
                visitor.float(node, value);
            }
            NodeKind::Text => {
                let text = self.text()?;
                visitor.text(node, text);
            }
            NodeKind::Array(element, count) => self.array(node, *element, *count, visitor)?,
            NodeKind::Struct(fields) => {
                self.align(node.align);
                visitor.open(node, false);
                for field in fields {
                    self.decode(*field, visitor)?;
                }
                visitor.close(false);
            }
            NodeKind::Variant(tag, choices) => {
                let tag = self.state.kept(*tag);
                let tag = tag.ok_or_else(|| self.error("its tag is not there"))?;
                // They are in the order of their ranges, which do not overlap.
                let before = choices.partition_point(|choice| choice.last < tag);
                let chosen = choices.get(before).filter(|choice| choice.first <= tag);
                let chosen = chosen.ok_or_else(|| {
                    let why = format!("the variant {} has nothing for {tag}", node.shown());
                    ReadError::invalid("event", self.at(), why)
                })?;
                visitor.open(node, false);
                self.decode(chosen.node, visitor)?;
                visitor.close(false);
            }
        }
        Ok(())
    }

    fn array<V: Visitor>(
        &mut self,
        node: &Node,
        element: NodeId,
        count: Count,
        visitor: &mut V,
    ) -> ReadResult<()> {
        let count = match count {
            Count::Fixed(count) => count,
            Count::Kept(register) => {
                let kept = self.state.kept(register);
                let count = kept.and_then(|count| u64::try_from(count).ok());
                count.ok_or_else(|| self.error("the length of an array makes no sense"))?
            }
        };
        let layouts = self.layouts;
        self.align(node.align);
        if let Some(Node {
            kind: NodeKind::Integer(Integer { is_text: true, bits: 8, .. }, _),
            ..
        }) = layouts.node(element)
        {
            let text = self.take_bytes(count)?;
            let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
            visitor.text(node, text.get(..end).unwrap_or_default());
            return Ok(());
        }
        if let (true, Some(bits)) = (V::IS_DEAF, layouts.node(element).and_then(stride)) {
            return self.take(bits.saturating_mul(count)).map(drop);
        }
        visitor.open(node, true);
        for _ in 0..count {
            let before = self.state.position;
            self.decode(element, visitor)?;
            if self.state.position == before {
                return Err(self.error("the elements of an array take no room"));
            }
        }
        visitor.close(true);
        Ok(())
    }

    #[inline]
    fn keep(&mut self, node: &Node, value: i128) {
        if let Some(register) = node.register {
            self.state.keep(register, value);
        }
    }

    /// The byte we are at, in the file.
    pub(crate) fn at(&self) -> u64 {
        self.offset + self.state.position / 8
    }

    fn error(&self, why: &'static str) -> ReadError {
        ReadError::invalid("event", self.at(), why)
    }

    #[inline]
    fn align(&mut self, align: u64) {
        // Alignments are powers of two.
        self.state.position = (self.state.position + (align - 1)) & !(align - 1);
    }

    /// Takes so many bits.
    #[inline]
    fn take(&mut self, bits: u64) -> ReadResult<u64> {
        let start = self.state.position;
        let end = start.saturating_add(bits);
        if end > self.state.end {
            let (needed, left) = (bits.div_ceil(8), self.state.end.saturating_sub(start) / 8);
            return Err(ReadErrorKind::Short { needed, left }.at("event", self.at()));
        }
        self.state.position = end;
        Ok(start)
    }

    fn take_bytes(&mut self, count: u64) -> ReadResult<&[u8]> {
        let start = self.take(count.saturating_mul(8))? / 8;
        let range = usize::try_from(start).ok().zip(usize::try_from(start + count).ok());
        let bytes = range.and_then(|(start, end)| self.bytes.get(start..end));
        bytes.ok_or_else(|| self.error("the file ends"))
    }

    #[inline]
    fn integer(&mut self, integer: &Integer) -> ReadResult<i128> {
        self.align(integer.align);
        let start = self.take(integer.bits.into())?;
        let raw = self.bits(start, integer.bits, integer.order)?;
        Ok(extended(raw, integer.bits, integer.is_signed))
    }

    /// Up to 64 bits from anywhere.
    #[inline]
    fn bits(&self, start: u64, bits: u32, order: Endian) -> ReadResult<u64> {
        let (first, shift) = (usize::try_from(start / 8).unwrap_or(usize::MAX), start % 8);
        let rest = self.bytes.get(first..).unwrap_or_default();
        let mask = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
        if let (true, Some(word)) = (shift + u64::from(bits) <= 64, rest.first_chunk::<8>()) {
            return Ok(match order {
                Endian::Little => (u64::from_le_bytes(*word) >> shift) & mask,
                Endian::Big => (u64::from_be_bytes(*word) << shift) >> (64 - bits),
            });
        }
        let used = usize::try_from((shift + u64::from(bits)).div_ceil(8)).unwrap_or(16);
        let part = rest.get(..used).ok_or_else(|| self.error("the file ends"))?;
        let mut word = [0; 16];
        for (to, from) in word.iter_mut().zip(part) {
            *to = *from;
        }
        let wide = match order {
            Endian::Little => u128::from_le_bytes(word) >> shift,
            Endian::Big => (u128::from_be_bytes(word) << shift) >> (128 - bits),
        };
        Ok(u64::try_from(wide & u128::from(mask)).unwrap_or_default())
    }

    fn float(&mut self, float: &Float) -> ReadResult<f64> {
        self.align(float.align);
        let bits = if float.is_double { 64 } else { 32 };
        let start = self.take(bits.into())?;
        let raw = self.bits(start, bits, float.order)?;
        Ok(if float.is_double {
            f64::from_bits(raw)
        } else {
            f32::from_bits(u32::try_from(raw).unwrap_or_default()).into()
        })
    }

    /// Bytes up to a zero.
    fn text(&mut self) -> ReadResult<&[u8]> {
        self.align(8);
        let start = usize::try_from(self.state.position / 8).unwrap_or(usize::MAX);
        let end = usize::try_from(self.state.end / 8).unwrap_or(usize::MAX);
        let rest = self.bytes.get(start..end.min(self.bytes.len())).unwrap_or_default();
        let length = memchr(0, rest);
        let length = length.ok_or_else(|| self.error("a text does not end"))?;
        self.state.position += (length as u64 + 1) * 8;
        Ok(rest.get(..length).unwrap_or_default())
    }
}
