//! Machine code: instructions as far as they say where control goes, the flow graph of a function,
//! and its loops.
//!
//! Of a function its code is followed from the entry. What nothing leads to as far as one can tell,
//! such as code after a jump through a table of an unknown shape, is followed afterwards; it takes
//! part in no loop of what came before. Bytes decide nothing but what loops there are: whatever they
//! are, each is looked at once, and what is kept is in proportion to the size of the function.

mod aarch64;
mod forest;
mod graph;
mod returns;
#[cfg(test)]
mod shapes;
mod tables;
mod x86;

use std::ops::Range;

use bytes::Bytes;
use object::{Object, ObjectSegment, SegmentFlags};

#[cfg(test)]
pub(crate) use forest::Loop;
pub(crate) use forest::Loops;
pub(crate) use graph::Graph;
pub(crate) use returns::{Returns, Slots};

/// Larger functions than this have no loops: what is looked at stays in proportion.
pub(crate) const FUNCTION_BYTES_MAX: u64 = 1 << 20;

/// Machine that instructions are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Machine {
    X86,
    Aarch64,
}

/// Flow from an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// To the next one.
    Next,
    /// To one address.
    Jump(u64),
    /// To an address, or to the next instruction.
    Branch(u64),
    /// Somewhere else, and then to the next instruction, if that returns.
    Call(Callee),
    /// Address in a register or in memory.
    Indirect(Callee),
    /// Out of the function.
    Return,
    /// Nowhere: it traps.
    Stop,
}

/// Callee of a call, as far as the instruction gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Callee {
    /// The code at an address.
    Address(u64),
    /// The code whose address is in memory at an address.
    Slot(u64),
    Unknown,
}

/// An instruction, as far as it says where control goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    /// Number of its bytes.
    pub(crate) length: u8,
    pub(crate) flow: Flow,
    /// True if it does nothing, and may stand between parts of the code.
    pub(crate) is_padding: bool,
    /// The register that it puts the address of something in the file into, and the address.
    pub(crate) takes: Option<(u8, u64)>,
}

impl Machine {
    fn from_file(file: &object::File<'_>) -> Option<Self> {
        match file.architecture() {
            object::Architecture::X86_64 => Some(Self::X86),
            object::Architecture::Aarch64 => Some(Self::Aarch64),
            _ => None,
        }
    }

    /// The instruction at the start of some bytes; nothing where there is none.
    pub(crate) fn step(self, address: u64, bytes: &[u8]) -> Option<Step> {
        match self {
            Self::X86 => x86::step(address, bytes),
            Self::Aarch64 => aarch64::step(address, bytes),
        }
    }

    /// Returns the least distance between instructions.
    fn alignment(self) -> u8 {
        match self {
            Self::X86 => 1,
            Self::Aarch64 => 4,
        }
    }
}

/// Content of the memory of a program when it starts.
#[derive(Debug)]
pub(crate) struct Code {
    pub(crate) machine: Machine,
    /// By address.
    segments: Vec<Segment>,
}

#[derive(Debug)]
struct Segment {
    start: u64,
    bytes: Bytes,
    is_code: bool,
}

impl Code {
    /// Returns the number of bytes of code.
    pub(crate) fn size(&self) -> u64 {
        let code = self.segments.iter().filter(|segment| segment.is_code);
        code.map(|segment| segment.bytes.len() as u64).sum()
    }

    /// The code of a file, if it is for a machine that is known.
    pub(crate) fn from_file(file: &object::File<'_>, source: &Bytes) -> Option<Self> {
        let machine = Machine::from_file(file).filter(|_| file.is_little_endian())?;
        let segment = |found: object::Segment<'_, '_>| {
            let data = found.data().ok().filter(|data| !data.is_empty())?;
            let SegmentFlags::Elf { p_flags, .. } = found.flags() else { return None };
            let is_code = p_flags.0 & object::elf::PF_X.0 != 0;
            Some(Segment { start: found.address(), bytes: source.slice_ref(data), is_code })
        };
        let mut segments: Vec<_> = file.segments().filter_map(segment).collect();
        segments.sort_by_key(|segment| segment.start);
        Some(Self { machine, segments })
    }

    /// Code at an address, for tests.
    #[cfg(test)]
    pub(crate) fn from_bytes(machine: Machine, start: u64, bytes: &[u8]) -> Self {
        let bytes = Bytes::copy_from_slice(bytes);
        Self { machine, segments: vec![Segment { start, bytes, is_code: true }] }
    }

    /// Returns the bytes in memory from an address on, to the end of what lies there together.
    fn bytes(&self, address: u64) -> &[u8] {
        self.segment(address).map_or(&[], |(_, bytes)| bytes)
    }

    /// The instruction at an address.
    pub(crate) fn step(&self, address: u64) -> Option<Step> {
        let (segment, bytes) = self.segment(address)?;
        self.machine.step(address, bytes).filter(|_| segment.is_code)
    }

    /// Returns the slot from which a stub takes the address that it jumps to, if more than its jump
    /// gives it.
    fn slot_of_stub(&self, address: u64) -> Option<u64> {
        match self.machine {
            Machine::X86 => None,
            Machine::Aarch64 => aarch64::slot_of_stub(address, self.bytes(address)),
        }
    }

    fn segment(&self, address: u64) -> Option<(&Segment, &[u8])> {
        let after = self.segments.partition_point(|segment| segment.start <= address);
        let segment = self.segments.get(after.checked_sub(1)?)?;
        let within = usize::try_from(address - segment.start).ok()?;
        let bytes = segment.bytes.get(within..).filter(|bytes| !bytes.is_empty())?;
        Some((segment, bytes))
    }
}

/// The addresses of a function, counted through from its first byte to its last.
#[derive(Debug, Clone)]
pub(crate) struct Extent {
    /// By address, apart from one another, each with the count at its start.
    parts: Vec<(Range<u64>, u32)>,
    size: u32,
}

impl Extent {
    /// Returns the number of its bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.size.into()
    }

    /// Joins ranges of addresses; nothing where they are too many, or none.
    pub(crate) fn new(mut ranges: Vec<Range<u64>>) -> Option<Self> {
        ranges.sort_by_key(|range| range.start);
        let mut parts: Vec<(Range<u64>, u32)> = Vec::new();
        let mut size = 0;
        for range in ranges {
            let covered = parts.last().map_or(0, |(before, _)| before.end);
            let range = range.start.max(covered)..range.end;
            if range.is_empty() {
                continue;
            }
            let at = u32::try_from(size).ok()?;
            size += range.end - range.start;
            if size > FUNCTION_BYTES_MAX {
                return None;
            }
            parts.push((range, at));
        }
        let size = u32::try_from(size).ok().filter(|size| *size > 0)?;
        Some(Self { parts, size })
    }

    fn place(&self, address: u64) -> Option<u32> {
        let after = self.parts.partition_point(|(range, _)| range.start <= address);
        let (range, at) = self.parts.get(after.checked_sub(1)?)?;
        let within = u32::try_from(address - range.start).ok()?;
        range.contains(&address).then_some(at + within)
    }

    fn address(&self, place: u32) -> u64 {
        let after = self.parts.partition_point(|(_, at)| *at <= place);
        let found = after.checked_sub(1).and_then(|index| self.parts.get(index));
        found.map_or(0, |(range, at)| range.start + u64::from(place - at))
    }

    /// Returns true if what is at a place goes on this far without leaving its part.
    fn contains_instruction(&self, place: u32, length: u8) -> bool {
        let last = self.address(place).saturating_add(u64::from(length.saturating_sub(1)));
        self.place(last) == Some(place + u32::from(length.saturating_sub(1)))
    }
}

/// A number as an index.
fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// A count as a number. Nothing of a function is more than its bytes.
fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_of_a_function_are_counted_through() {
        let extent = Extent::new(vec![40..44, 16..20, 18..22, 9..9]).unwrap();
        let places = [15, 16, 21, 22, 40, 43, 44].map(|address| extent.place(address));
        assert_eq!(places, [None, Some(0), Some(5), None, Some(6), Some(9), None]);
        assert_eq!([0, 5, 6, 9].map(|place| extent.address(place)), [16, 21, 40, 43]);
        assert!(extent.contains_instruction(4, 2) && !extent.contains_instruction(5, 2));
        assert!(Extent::new(vec![0..1, 2..u64::MAX]).is_none());
        assert!(Extent::new(vec![]).is_none());
    }
}
