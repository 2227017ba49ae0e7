//! LZMA: bits by their probability, and by those literals and repetitions.

/// How many bits of a position choose among probabilities at most, and how many states there are.
const POSITIONS: usize = 1 << 4;
const STATES: usize = 12;

/// States from this one on are those after a repetition.
const AFTER_REPETITION: usize = 7;

/// Where the probabilities of each kind begin.
const IS_MATCH: usize = 0;
const IS_REP: usize = IS_MATCH + STATES * POSITIONS;
const IS_REP_G0: usize = IS_REP + STATES;
const IS_REP_G1: usize = IS_REP_G0 + STATES;
const IS_REP_G2: usize = IS_REP_G1 + STATES;
const IS_REP0_LONG: usize = IS_REP_G2 + STATES;
const SLOTS: usize = IS_REP0_LONG + STATES * POSITIONS;
const SPECIAL: usize = SLOTS + 4 * 64;
const ALIGN: usize = SPECIAL + 128;
const MATCH_LENGTH: usize = ALIGN + 16;
const REP_LENGTH: usize = MATCH_LENGTH + LENGTH_PROBABILITIES;
const LITERALS: usize = REP_LENGTH + LENGTH_PROBABILITIES;

/// Within those of a length: two choices, short and middle ones by position, long ones.
const SHORT: usize = 2;
const MIDDLE: usize = SHORT + POSITIONS * 8;
const LONG: usize = MIDDLE + POSITIONS * 8;
const LENGTH_PROBABILITIES: usize = LONG + 256;

/// How many probabilities the literals of one kind have.
const LITERAL_PROBABILITIES: usize = 0x300;

/// A bit of which nothing is known.
const EVEN: u16 = 1 << 10;

/// A distance that is none but the end.
const END: u32 = u32::MAX;

/// The shortest repetition.
const LENGTH_MIN: usize = 2;

/// How many bits of the last byte and of positions choose among probabilities.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Properties {
    literal_context: u32,
    literal_position: u32,
    position: u32,
}

impl Properties {
    /// What one byte tells: of nine, five and five.
    pub(super) fn of(byte: u8) -> Option<Self> {
        let byte = u32::from(byte);
        (byte < 9 * 5 * 5).then_some(Self {
            literal_context: byte % 9,
            literal_position: byte / 9 % 5,
            position: byte / 45,
        })
    }

    /// Returns true if chunks may have them: probabilities of literals are made anew for each
    /// chunk.
    pub(super) fn are_small(self) -> bool {
        self.literal_context + self.literal_position <= 4
    }
}

/// Expands data, chunk by chunk.
#[derive(Debug)]
pub(super) struct Decoder {
    expanded: Vec<u8>,
    expanded_max: usize,
    /// From where on repetitions may be of.
    known_from: usize,
    properties: Properties,
    probabilities: Vec<u16>,
    state: usize,
    /// The last distances.
    distances: [u32; 4],
}

/// What cannot be: the data ends, or repeats what was not there.
type Result<T> = std::result::Result<T, &'static str>;

impl Decoder {
    pub(super) fn new(expanded_max: usize) -> Self {
        Self {
            expanded: Vec::new(),
            expanded_max,
            known_from: 0,
            properties: Properties::default(),
            probabilities: Vec::new(),
            state: 0,
            distances: [0; 4],
        }
    }

    /// All that was expanded so far.
    pub(super) fn expanded(&self) -> &[u8] {
        &self.expanded
    }

    pub(super) fn into_expanded(self) -> Vec<u8> {
        self.expanded
    }

    /// Nothing before this is repeated.
    pub(super) fn forget(&mut self) {
        self.known_from = self.expanded.len();
    }

    /// Begins anew, with other properties.
    pub(super) fn reset(&mut self, properties: Properties) {
        self.properties = properties;
        self.reset_state();
    }

    /// Begins anew, with the same properties.
    pub(super) fn reset_state(&mut self) {
        let Properties { literal_context, literal_position, .. } = self.properties;
        let literals = LITERAL_PROBABILITIES << (literal_context + literal_position);
        self.probabilities.clear();
        self.probabilities.resize(LITERALS + literals, EVEN);
        self.state = 0;
        self.distances = [0; 4];
    }

    /// Takes bytes that were not compressed.
    pub(super) fn append(&mut self, plain: &[u8]) -> Result<()> {
        self.room(plain.len())?;
        self.expanded.extend_from_slice(plain);
        Ok(())
    }

    /// Expands to so many bytes, or to the end that the data says; whether the data ends there.
    pub(super) fn decode(&mut self, data: &[u8], size: Option<u64>) -> Result<bool> {
        let mut bits = Bits::new(data)?;
        let size = size.map(|size| usize::try_from(size).unwrap_or(usize::MAX));
        let end = size.map(|size| self.expanded.len().saturating_add(size));
        while end.is_none_or(|end| self.expanded.len() < end) {
            let most = end.unwrap_or(usize::MAX) - self.expanded.len();
            if !self.step(&mut bits, most)? {
                return end.is_none().then_some(true).ok_or("ends early");
            }
        }
        bits.fill()?;
        Ok(bits.code == 0 && bits.rest.len() == 0)
    }

    /// One literal or repetition; whether it was not the end.
    fn step(&mut self, bits: &mut Bits<'_>, most: usize) -> Result<bool> {
        let position = self.position() & ((1 << self.properties.position) - 1);
        let of_state = self.state * POSITIONS + position;
        if self.bit(bits, IS_MATCH + of_state)? == 0 {
            self.literal(bits)?;
            return Ok(true);
        }
        if self.bit(bits, IS_REP + self.state)? == 0 {
            let length = self.length(bits, MATCH_LENGTH, position)?;
            let distance = self.distance(bits, length)?;
            if distance == END {
                return Ok(false);
            }
            let [first, second, third, _] = self.distances;
            self.distances = [distance, first, second, third];
            self.state = if self.state < AFTER_REPETITION { 7 } else { 10 };
            self.repeat(length, most)?;
            return Ok(true);
        }
        if self.bit(bits, IS_REP_G0 + self.state)? == 0 {
            if self.bit(bits, IS_REP0_LONG + of_state)? == 0 {
                self.state = if self.state < AFTER_REPETITION { 9 } else { 11 };
                self.repeat(1, most)?;
                return Ok(true);
            }
        } else {
            self.earlier_distance(bits)?;
        }
        let length = self.length(bits, REP_LENGTH, position)?;
        self.state = if self.state < AFTER_REPETITION { 8 } else { 11 };
        self.repeat(length, most)?;
        Ok(true)
    }

    /// Takes one of the earlier distances to the front.
    fn earlier_distance(&mut self, bits: &mut Bits<'_>) -> Result<()> {
        let [first, second, third, fourth] = self.distances;
        self.distances = if self.bit(bits, IS_REP_G1 + self.state)? == 0 {
            [second, first, third, fourth]
        } else if self.bit(bits, IS_REP_G2 + self.state)? == 0 {
            [third, first, second, fourth]
        } else {
            [fourth, first, second, third]
        };
        Ok(())
    }

    /// One byte, by the one before it; after a repetition also by what would have come next.
    fn literal(&mut self, bits: &mut Bits<'_>) -> Result<()> {
        let Properties { literal_context, literal_position, .. } = self.properties;
        let before = self.expanded.get(self.known_from..).and_then(<[u8]>::last).copied();
        let context = usize::from(before.unwrap_or(0)) >> (8 - literal_context);
        let position = self.position() & ((1 << literal_position) - 1);
        let kind = (position << literal_context) + context;
        let base = LITERALS + LITERAL_PROBABILITIES * kind;
        let mut symbol = 1;
        if self.state >= AFTER_REPETITION {
            let mut expected = usize::from(self.back(self.distances[0])?);
            while symbol < 0x100 {
                expected <<= 1;
                let bit = expected & 0x100;
                let found = self.bit(bits, base + 0x100 + bit + symbol)?;
                symbol = symbol << 1 | found;
                if found != bit >> 8 {
                    break;
                }
            }
        }
        while symbol < 0x100 {
            symbol = symbol << 1 | self.bit(bits, base + symbol)?;
        }
        self.state = match self.state {
            0..4 => 0,
            4..10 => self.state - 3,
            _ => self.state - 6,
        };
        self.append(&[u8::try_from(symbol & 0xff).unwrap_or(0)])
    }

    fn length(&mut self, bits: &mut Bits<'_>, base: usize, position: usize) -> Result<usize> {
        let length = if self.bit(bits, base)? == 0 {
            self.tree(bits, base + SHORT + position * 8, 3)?
        } else if self.bit(bits, base + 1)? == 0 {
            8 + self.tree(bits, base + MIDDLE + position * 8, 3)?
        } else {
            16 + self.tree(bits, base + LONG, 8)?
        };
        Ok(length + LENGTH_MIN)
    }

    /// How far back a repetition is of, less one.
    fn distance(&mut self, bits: &mut Bits<'_>, length: usize) -> Result<u32> {
        let kind = (length - LENGTH_MIN).min(3);
        let slot = u32::try_from(self.tree(bits, SLOTS + kind * 64, 6)?).unwrap_or(0);
        if slot < 4 {
            return Ok(slot);
        }
        let low_bits = (slot >> 1) - 1;
        let high = (2 | slot & 1) << low_bits;
        let low = if slot < 14 {
            // The probabilities of these distances lie side by side.
            let base = SPECIAL + usize::try_from(high - slot).unwrap_or(0);
            self.reverse_tree(bits, base, low_bits)?
        } else {
            let direct = bits.direct(low_bits - 4)?;
            direct << 4 | self.reverse_tree(bits, ALIGN, 4)?
        };
        Ok(high.wrapping_add(low))
    }

    /// Bits from the highest down, each by those before it.
    fn tree(&mut self, bits: &mut Bits<'_>, base: usize, count: u32) -> Result<usize> {
        let mut symbol = 1;
        for _ in 0..count {
            symbol = symbol << 1 | self.bit(bits, base + symbol)?;
        }
        Ok(symbol - (1 << count))
    }

    /// Bits from the lowest up, each by those before it.
    fn reverse_tree(&mut self, bits: &mut Bits<'_>, base: usize, count: u32) -> Result<u32> {
        let (mut symbol, mut found) = (1, 0);
        for at in 0..count {
            let bit = self.bit(bits, base + symbol)?;
            symbol = symbol << 1 | bit;
            found |= u32::from(bit == 1) << at;
        }
        Ok(found)
    }

    fn bit(&mut self, bits: &mut Bits<'_>, at: usize) -> Result<usize> {
        let probability = self.probabilities.get_mut(at).ok_or("has no properties")?;
        bits.bit(probability)
    }

    /// Repeats what is at the first distance, and no further than to so many bytes.
    fn repeat(&mut self, length: usize, most: usize) -> Result<()> {
        if length > most {
            return Err("repeats beyond its end");
        }
        self.room(length)?;
        for _ in 0..length {
            let byte = self.back(self.distances[0])?;
            self.expanded.push(byte);
        }
        Ok(())
    }

    /// The byte so far back, less one.
    fn back(&self, distance: u32) -> Result<u8> {
        let distance = usize::try_from(distance).ok();
        let at =
            distance.and_then(|distance| self.position().checked_sub(distance)?.checked_sub(1));
        let byte = at.and_then(|at| self.expanded.get(self.known_from + at));
        byte.copied().ok_or("repeats what was not there")
    }

    /// How many bytes were expanded since all was forgotten.
    fn position(&self) -> usize {
        self.expanded.len() - self.known_from
    }

    fn room(&self, length: usize) -> Result<()> {
        let is_left = length <= self.expanded_max - self.expanded.len();
        is_left.then_some(()).ok_or("is more than such a file may become")
    }
}

/// Bits that were written in less than a bit each where they are probable.
struct Bits<'a> {
    rest: std::slice::Iter<'a, u8>,
    range: u32,
    code: u32,
}

impl<'a> Bits<'a> {
    fn new(data: &'a [u8]) -> Result<Self> {
        let mut bits = Self { rest: data.iter(), range: u32::MAX, code: 0 };
        if bits.rest.next() != Some(&0) {
            return Err("does not begin with 0");
        }
        for _ in 0..4 {
            bits.code = bits.code << 8 | u32::from(bits.next()?);
        }
        Ok(bits)
    }

    fn next(&mut self) -> Result<u8> {
        self.rest.next().copied().ok_or("ends within a bit")
    }

    /// Keeps 24 bits to divide.
    fn fill(&mut self) -> Result<()> {
        if self.range < 1 << 24 {
            self.range <<= 8;
            self.code = self.code << 8 | u32::from(self.next()?);
        }
        Ok(())
    }

    /// A bit, and what was learnt of its probability.
    fn bit(&mut self, probability: &mut u16) -> Result<usize> {
        self.fill()?;
        let bound = (self.range >> 11).wrapping_mul(u32::from(*probability));
        if self.code < bound {
            *probability += (2048 - *probability) >> 5;
            self.range = bound;
            return Ok(0);
        }
        *probability -= *probability >> 5;
        self.range -= bound;
        self.code -= bound;
        Ok(1)
    }

    /// Bits that are as probable as not.
    fn direct(&mut self, count: u32) -> Result<u32> {
        let mut found = 0;
        for _ in 0..count {
            self.fill()?;
            self.range >>= 1;
            let bit = u32::from(self.code >= self.range);
            self.code -= self.range * bit;
            found = found << 1 | bit;
        }
        Ok(found)
    }
}
