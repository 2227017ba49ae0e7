//! Bits to values.

mod coded;
mod wide;

use kymo_core::bytes::{Endian, ReadError, ReadErrorKind, ReadResult};
use memchr::memchr;

use coded::{half, reversed};

use super::header::{Header, Numbers, Spot};
use super::known::KnownField;
use super::layout::{Choice, Count, EventLayout, Layouts, Node, NodeId, NodeKind, Register};
use super::steps::{KnownSpot, SpotContent, Step};
use crate::types::{Flag, Float, Integer, Label};

/// Parts of an event that are wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DecodeRequest {
    /// The fields that say something of tasks.
    pub(crate) known: bool,
    /// All fields.
    pub(crate) all: bool,
}

/// A number of IEEE 754, as precise as it was recorded.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Real {
    Single(f32),
    Double(f64),
}

impl Real {
    pub(crate) fn is_nan(self) -> bool {
        match self {
            Self::Single(value) => value.is_nan(),
            Self::Double(value) => value.is_nan(),
        }
    }

    pub(crate) fn is_negative(self) -> bool {
        match self {
            Self::Single(value) => value.is_sign_negative(),
            Self::Double(value) => value.is_sign_negative(),
        }
    }
}

/// Receiver of what is decoded.
pub(crate) trait Visitor {
    /// Nobody listens, so that what nothing depends on need not be decoded.
    const IS_DEAF: bool = false;

    /// True if texts matter that are passed over.
    const READS_PASSED: bool = false;

    /// Another event begins: forgets what was told, also of one that could not be read. Tells what
    /// is wanted of its kind.
    fn begin(&mut self, _event: &EventLayout) -> DecodeRequest {
        DecodeRequest { known: false, all: !Self::IS_DEAF }
    }

    /// The number of a known field.
    fn number(&mut self, _known: KnownField, _value: i64) {}
    /// The text of a known field.
    fn known_text(&mut self, _known: KnownField, _text: &[u8]) {}

    /// A text that is passed over. Those that are ASCII, as nearly all are, need not be told.
    fn passed_text(&mut self, _text: &[u8]) {}

    /// A structure, a variant or an array begins.
    fn open(&mut self, _node: &Node, _is_array: bool) {}
    /// It ends.
    fn close(&mut self, _is_array: bool) {}
    fn integer(&mut self, _node: &Node, _integer: &Integer, _value: i128) {}
    fn label(&mut self, _node: &Node, _labels: &[Label], _value: i128) {}
    fn boolean(&mut self, _node: &Node, _value: bool) {}
    fn flags(&mut self, _node: &Node, _flags: &[Flag], _value: u64) {}
    fn real(&mut self, _node: &Node, _value: Real) {}
    fn text(&mut self, _node: &Node, _text: &[u8]) {}
    fn blob(&mut self, _node: &Node, _bytes: &[u8]) {}
    /// A field is not there.
    fn absent(&mut self, _node: &Node) {}
}

/// Nobody.
impl Visitor for () {
    const IS_DEAF: bool = true;
}

/// Receiver of texts that are passed over.
struct SkippedTexts<'v, V>(&'v mut V);

impl<V: Visitor> Visitor for SkippedTexts<'_, V> {
    fn text(&mut self, _node: &Node, text: &[u8]) {
        self.0.passed_text(text);
    }
}

/// Receiver of one field, which is known.
struct SingleField<'v, V>(KnownField, &'v mut V);

impl<V: Visitor> Visitor for SingleField<'_, V> {
    fn integer(&mut self, _node: &Node, _integer: &Integer, value: i128) {
        if let Ok(value) = i64::try_from(value) {
            self.1.number(self.0, value);
        }
    }

    fn label(&mut self, _node: &Node, _labels: &[Label], value: i128) {
        if let Ok(value) = i64::try_from(value) {
            self.1.number(self.0, value);
        }
    }

    fn text(&mut self, _node: &Node, text: &[u8]) {
        self.1.known_text(self.0, text);
    }
}

/// Position in a packet, and values that were kept on the way.
#[derive(Debug, Clone, Default)]
pub(crate) struct State {
    /// The next bit, counted from the start of the packet.
    pub(crate) position: u64,
    /// End of the content of the packet.
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

    /// Returns the value that was kept in a register.
    #[inline]
    pub(crate) fn register_value(&self, register: Register) -> Option<i128> {
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

    /// Goes to the end of a header that begins at a bit and has these numbers.
    #[inline]
    pub(super) fn read(&mut self, start: u64, numbers: &Numbers) {
        self.position = start + numbers.bits;
        if let Some((value, mask, clock)) = numbers.time {
            self.tick(clock, value, mask);
        }
    }

    /// Sets the clock: what has fewer bits than it gives the lowest, and they only grow.
    #[inline]
    fn tick(&mut self, clock: usize, value: u64, mask: u64) {
        self.clock = Some(clock);
        let (old, new) = (self.ticks & mask, value & mask);
        // A word of its own carries nothing.
        let carry = if new < old { mask.wrapping_add(1) } else { 0 };
        self.ticks = ((self.ticks & !mask) | new).wrapping_add(carry);
    }
}

/// A mask of so many bits.
#[inline]
fn mask_of(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// The number that some bits are.
#[inline]
pub(super) fn extended(raw: u64, bits: u32, is_signed: bool) -> i128 {
    if is_signed && bits > 0 {
        let unused = 64 - bits;
        return ((raw << unused).cast_signed() >> unused).into();
    }
    raw.into()
}

/// Characters up to a zero.
#[inline]
fn up_to_zero(text: &[u8]) -> &[u8] {
    let end = memchr(0, text).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
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
    /// Offset in the file at which it begins.
    pub(crate) offset: u64,
    pub(crate) state: &'a mut State,
    /// Elements of arrays that took no room so far.
    pub(crate) empty: u32,
}

/// More elements of arrays that take no room are refused in an event: nothing in the file stands for
/// them but their number.
const EMPTY_MAX: u32 = 256;

impl<'a> Decoder<'a> {
    /// Passes over fields, and tells of those that are known where that is wanted.
    #[inline]
    pub(crate) fn pass<V: Visitor>(
        &mut self,
        steps: &[Step],
        is_wanted: bool,
        visitor: &mut V,
    ) -> ReadResult<()> {
        for step in steps {
            match step {
                Step::Over(over) => {
                    self.align(over.align);
                    let start = self.take(over.bits)?;
                    if is_wanted {
                        for spot in &over.known {
                            self.visit_known(start, spot, visitor)?;
                        }
                    }
                    if V::READS_PASSED {
                        for (at, count) in &over.texts {
                            let text = self.slice((start + at) / 8, *count)?;
                            if !text.is_ascii() {
                                visitor.passed_text(up_to_zero(text));
                            }
                        }
                    }
                }
                Step::Text(known) => {
                    let text = self.text()?;
                    if V::READS_PASSED && !text.is_ascii() {
                        visitor.passed_text(text);
                    }
                    if let Some(known) = known.filter(|_| is_wanted) {
                        visitor.known_text(known, text);
                    }
                }
                Step::Decode(node, known) => match known.filter(|_| is_wanted) {
                    Some(known) => self.decode(*node, &mut SingleField(known, visitor))?,
                    None if V::READS_PASSED && self.has_text(*node) => {
                        self.decode(*node, &mut SkippedTexts(visitor))?;
                    }
                    None => self.decode(*node, &mut ())?,
                },
            }
        }
        Ok(())
    }

    fn has_text(&self, node: NodeId) -> bool {
        self.layouts.node(node).is_some_and(|node| node.has_text)
    }

    /// Tells of a known field, which is after a place and within what was passed over.
    #[inline]
    fn visit_known<V: Visitor>(
        &self,
        start: u64,
        spot: &KnownSpot,
        visitor: &mut V,
    ) -> ReadResult<()> {
        match &spot.what {
            SpotContent::Number(this_spot) => {
                let raw = self.bits(start + this_spot.start, this_spot.bits, this_spot.order)?;
                if this_spot.is_signed {
                    let unused = 64 - this_spot.bits;
                    visitor.number(spot.known, (raw << unused).cast_signed() >> unused);
                } else if let Ok(value) = i64::try_from(raw) {
                    visitor.number(spot.known, value);
                }
            }
            SpotContent::Text(at, count) => {
                let text = self.slice((start + at) / 8, *count)?;
                visitor.known_text(spot.known, up_to_zero(text));
            }
        }
        Ok(())
    }

    /// Reads the header of an event, and tells its id; nothing where it has none.
    pub(crate) fn header(&mut self, header: &Header) -> ReadResult<Option<u64>> {
        self.align(header.align);
        let start = self.state.position;
        let shape = header.shape(|tag| self.tag(start, tag))?;
        let shape = shape.ok_or_else(|| self.error("a variant has nothing for its tag"))?;
        self.take(shape.bits)?;
        for (spot, clock) in &shape.times {
            let value = self.bits(start + spot.start, spot.bits, spot.order)?;
            self.state.tick(*clock, value, mask_of(spot.bits));
        }
        let Some(id) = &shape.id else { return Ok(None) };
        let raw = self.bits(start + id.start, id.bits, id.order)?;
        if id.is_signed {
            return Ok(Some(u64::try_from(id.number(raw)).unwrap_or(u64::MAX)));
        }
        Ok(Some(raw))
    }

    /// Returns the bytes from that of a bit on.
    #[inline]
    fn from(&self, start: u64) -> &'a [u8] {
        let first = usize::try_from(start / 8).unwrap_or(usize::MAX);
        self.bytes.get(first..).unwrap_or_default()
    }

    /// The bits of the tag of a header that begins at a place.
    #[inline]
    fn tag(&self, header: u64, spot: &Spot) -> ReadResult<u64> {
        let start = header + spot.start;
        if start + u64::from(spot.bits) > self.state.end {
            return Err(self.error("its header does not end"));
        }
        self.bits(start, spot.bits, spot.order)
    }

    /// Decodes a node. They are nested [`DEPTH_MAX`](crate::spec::DEPTH_MAX) deep at most.
    pub(crate) fn decode<V: Visitor>(&mut self, id: NodeId, visitor: &mut V) -> ReadResult<()> {
        let layouts = self.layouts;
        let node = layouts.node(id);
        let node =
            node.ok_or_else(|| self.error("a field has no layout, which is a fault of kymo"))?;
        if let (true, Some(bits)) = (V::IS_DEAF, node.fixed_bits) {
            self.align(node.align);
            return self.take(bits).map(drop);
        }
        match &node.kind {
            NodeKind::Integer(integer, clock) => {
                let (value, bits) = self.integer(integer)?;
                self.keep(node, value);
                if let Some(clock) = clock {
                    let value = u64::try_from(value & i128::from(u64::MAX)).unwrap_or_default();
                    self.state.tick(*clock, value, mask_of(bits));
                }
                visitor.integer(node, integer, value);
            }
            NodeKind::Enumeration(integer, labels) => {
                let (value, _) = self.integer(integer)?;
                self.keep(node, value);
                visitor.label(node, labels, value);
            }
            NodeKind::Boolean(integer) => {
                let is_true = self.integer(integer)?.0 != 0;
                self.keep(node, is_true.into());
                visitor.boolean(node, is_true);
            }
            NodeKind::BitMap(integer, flags) => {
                let (value, _) = self.integer(integer)?;
                visitor.flags(node, flags, u64::try_from(value).unwrap_or_default());
            }
            NodeKind::Float(float) => {
                let value = self.real(float)?;
                visitor.real(node, value);
            }
            NodeKind::Text => {
                let text = self.text()?;
                visitor.text(node, text);
            }
            NodeKind::Wide(encoding, count) => self.wide(node, *encoding, *count, visitor)?,
            NodeKind::Blob(count, _) => {
                let count = self.count(*count)?;
                self.align(8);
                let start = self.take(count.saturating_mul(8))? / 8;
                visitor.blob(node, self.slice(start, count)?);
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
                let (tag, chosen) = self.chosen(node, *tag, choices)?;
                let chosen = chosen.ok_or_else(|| {
                    let why = format!("the variant {} has nothing for {tag}", node.shown());
                    ReadError::invalid("event", self.byte_offset(), why)
                })?;
                visitor.open(node, false);
                self.decode(chosen, visitor)?;
                visitor.close(false);
            }
            NodeKind::Optional(tag, choices) => match self.chosen(node, *tag, choices)?.1 {
                Some(chosen) => self.decode(chosen, visitor)?,
                None => visitor.absent(node),
            },
        }
        Ok(())
    }

    /// The tag of a variant, and what it is then.
    #[inline]
    fn chosen(
        &mut self,
        node: &Node,
        tag: Register,
        choices: &[Choice],
    ) -> ReadResult<(i128, Option<NodeId>)> {
        let tag =
            self.state.register_value(tag).ok_or_else(|| self.error("its tag is not there"))?;
        node.forgets.iter().for_each(|register| self.state.forget(*register));
        // They are in the order of their ranges, which do not overlap.
        let before = choices.partition_point(|choice| choice.last < tag);
        let chosen = choices.get(before).filter(|choice| choice.first <= tag);
        Ok((tag, chosen.map(|choice| choice.node)))
    }

    /// Returns the number of elements or bytes.
    fn count(&self, count: Count) -> ReadResult<u64> {
        match count {
            Count::Fixed(count) => Ok(count),
            Count::Kept(register) => {
                let kept = self.state.register_value(register);
                let count = kept.and_then(|count| u64::try_from(count).ok());
                count.ok_or_else(|| self.error("the length of an array makes no sense"))
            }
        }
    }

    fn array<V: Visitor>(
        &mut self,
        node: &Node,
        element: NodeId,
        count: Count,
        visitor: &mut V,
    ) -> ReadResult<()> {
        let count = self.count(count)?;
        let layouts = self.layouts;
        self.align(node.align);
        if layouts.node(element).is_some_and(Node::is_character) {
            let start = self.take(count.saturating_mul(8))? / 8;
            visitor.text(node, up_to_zero(self.slice(start, count)?));
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
                self.empty += 1;
                if self.empty > EMPTY_MAX {
                    return Err(self.error("too many elements of an array take no room"));
                }
            }
        }
        visitor.close(true);
        Ok(())
    }

    #[inline]
    fn keep(&mut self, node: &Node, value: i128) {
        if let Some(register) = node.register {
            self.state.keep(register, value);
            node.kept_too.iter().for_each(|register| self.state.keep(*register, value));
        }
    }

    /// The byte we are at, in the file.
    pub(crate) fn byte_offset(&self) -> u64 {
        self.offset + self.state.position / 8
    }

    fn error(&self, why: &'static str) -> ReadError {
        ReadError::invalid("event", self.byte_offset(), why)
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
            return Err(ReadErrorKind::Short { needed, left }.error_at("event", self.byte_offset()));
        }
        self.state.position = end;
        Ok(start)
    }

    /// So many bytes of the packet.
    fn slice(&self, start: u64, count: u64) -> ReadResult<&'a [u8]> {
        let range = usize::try_from(start).ok().zip(usize::try_from(start + count).ok());
        let bytes = range.and_then(|(start, end)| self.bytes.get(start..end));
        bytes.ok_or_else(|| self.error("the file ends"))
    }

    /// A number, and the bits that it had.
    #[inline]
    fn integer(&mut self, integer: &Integer) -> ReadResult<(i128, u32)> {
        if !integer.is_plain() {
            return self.coded(integer);
        }
        self.align(integer.align);
        let start = self.take(integer.bits.into())?;
        let raw = self.bits(start, integer.bits, integer.order)?;
        Ok((extended(raw, integer.bits, integer.is_signed), integer.bits))
    }

    /// Up to 64 bits from anywhere.
    #[inline]
    fn bits(&self, start: u64, bits: u32, order: Endian) -> ReadResult<u64> {
        let (rest, shift, mask) = (self.from(start), start % 8, mask_of(bits));
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

    fn real(&mut self, float: &Float) -> ReadResult<Real> {
        self.align(float.align);
        let start = self.take(float.bits.into())?;
        let raw = self.bits(start, float.bits, float.order)?;
        let raw = if float.is_reversed { reversed(raw, float.bits) } else { raw };
        Ok(match float.bits {
            64 => Real::Double(f64::from_bits(raw)),
            16 => Real::Single(half(u16::try_from(raw).unwrap_or_default())),
            _ => Real::Single(f32::from_bits(u32::try_from(raw).unwrap_or_default())),
        })
    }

    /// Bytes up to a zero.
    fn text(&mut self) -> ReadResult<&'a [u8]> {
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
