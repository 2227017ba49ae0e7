//! Tables of `AArch64`.
//!
//! Entries of one, two or four bytes count instructions from a base, or bytes from the table:
//!
//! ```text
//! cmp  w0, #7                     cmp   w8, #7
//! b.hi default                    b.hi  default
//! adrp x1, table                  adrp  x9, table
//! add  x1, x1, :lo12:table        add   x9, x9, :lo12:table
//! ldrb w0, [x1, w0, uxtw]         ldrsw x10, [x9, x8, lsl #2]
//! adr  x1, base                   add   x10, x10, x9
//! add  x0, x1, w0, sxtb #2        br    x10
//! br   x0
//! ```

use super::super::aarch64::{distance, page, word};
use super::super::graph::Walk;
use super::super::{Flow, Machine};
use super::Table;

/// An instruction before the jump.
struct EarlierInstruction {
    address: u64,
    word: u32,
    flow: Flow,
}

pub(super) fn table(walk: &Walk<'_>, jump: u32) -> Option<Table> {
    debug_assert!(walk.code.machine == Machine::Aarch64);
    let at = |place| {
        let address = walk.extent.address(place);
        Some(EarlierInstruction {
            address,
            word: word(walk.code.bytes(address))?,
            flow: walk.flow(place),
        })
    };
    let back: Vec<EarlierInstruction> =
        walk.preceding_instructions(jump).into_iter().map_while(at).collect();
    let target = at(jump)?.word >> 5 & 0x1f;
    let sum = back.iter().position(|before| before.word & 0x1f == target)?;
    let (sum, back) = back.get(sum..)?.split_first()?;
    let sum = Sum::decode(sum.word)?;
    let pair = [sum.one, sum.other];
    let read = back.iter().position(|before| {
        Load::decode(before.word).is_some_and(|load| pair.contains(&load.into))
    })?;
    let load = Load::decode(back.get(read)?.word)?;
    let from = if load.into == sum.one { sum.other } else { sum.one };
    let before = back.get(read + 1..)?;
    let at = address_in(before, load.table)?;
    let base = address_in(back, from)?;
    let is_signed = load.is_signed || sum.is_signed;
    let count = bound(before, load.index);
    Some(Table { at, width: load.width, is_signed, unit: sum.unit, base, count, end: u64::MAX })
}

/// `add x0, x1, w0, sxtb #2` or `add x10, x10, x9, lsl #2`.
struct Sum {
    one: u32,
    other: u32,
    is_signed: bool,
    unit: i64,
}

impl Sum {
    fn decode(word: u32) -> Option<Self> {
        let (one, other) = (word >> 5 & 0x1f, word >> 16 & 0x1f);
        // add (extended register)
        if word & 0xffe0_0000 == 0x8b20_0000 {
            let (option, shift) = (word >> 13 & 0x7, word >> 10 & 0x7);
            return Some(Self { one, other, is_signed: option >= 4, unit: 1 << shift });
        }
        // add (shifted register), lsl
        let is_shifted = word & 0xffe0_0000 == 0x8b00_0000;
        let shift = word >> 10 & 0x3f;
        is_shifted.then_some(Self { one, other, is_signed: false, unit: 1 << shift.min(3) })
    }
}

/// A load of an entry by its index.
struct Load {
    into: u32,
    table: u32,
    index: u32,
    width: u64,
    is_signed: bool,
}

impl Load {
    fn decode(word: u32) -> Option<Self> {
        // Load register (register offset), of general registers.
        if word & 0x3f20_0c00 != 0x3820_0800 {
            return None;
        }
        let width = 1_u64 << (word >> 30);
        let is_signed = match word >> 22 & 0x3 {
            1 => false,
            2 | 3 => true,
            _ => return None,
        };
        let (into, table, index) = (word & 0x1f, word >> 5 & 0x1f, word >> 16 & 0x1f);
        Some(Self { into, table, index, width, is_signed })
    }
}

/// The address that a register has: `adr`, or `adrp` with `add`.
fn address_in(back: &[EarlierInstruction], register: u32) -> Option<u64> {
    let mut added = 0;
    for EarlierInstruction { address, word, .. } in
        back.iter().filter(|before| before.word & 0x1f == register)
    {
        if word & 0x9f00_0000 == 0x1000_0000 {
            return Some(address.wrapping_add_signed(distance(*word)));
        }
        if let Some(page) = page(*address, *word) {
            return Some(page.wrapping_add(added));
        }
        // add (immediate), of the register to itself
        if word & 0xffc0_0000 != 0x9100_0000 || word >> 5 & 0x1f != register {
            return None;
        }
        added = u64::from(word >> 10 & 0xfff);
    }
    None
}

/// Returns the number of values that an index may have: `cmp w0, #7` and `b.hi`.
fn bound(back: &[EarlierInstruction], index: u32) -> Option<u64> {
    let mut is_higher = false;
    for EarlierInstruction { word, flow, .. } in back {
        if let Flow::Branch(_) = flow {
            is_higher = word & 0xff00_001f == 0x5400_0008;
        }
        // subs (immediate) into the zero register
        if word & 0x7fc0_001f == 0x7100_001f && word >> 5 & 0x1f == index && is_higher {
            return Some(u64::from(word >> 10 & 0xfff) + 1);
        }
    }
    None
}
