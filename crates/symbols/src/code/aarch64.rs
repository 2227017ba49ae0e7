//! Instructions of `AArch64` that lead elsewhere.
//!
//! Every instruction has four bytes, and those that lead elsewhere are a handful of encodings
//! ("Branches, exception generating and system instructions" of the architecture's manual). So they
//! are told apart here, and no disassembler is needed.

use super::{Callee, Flow, Step};

/// `bti c`.
const BTI_C: u32 = 0xd503_245f;

/// `nop`.
const NOP: u32 = 0xd503_201f;

pub(super) fn step(address: u64, bytes: &[u8]) -> Option<Step> {
    let word = word(bytes)?;
    let flow = flow(address, word)?;
    Some(Step { length: 4, flow, is_padding: word == NOP || word == 0, takes: None })
}

/// The instruction at the start of some bytes.
pub(super) fn word(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

fn flow(address: u64, word: u32) -> Option<Flow> {
    if !address.is_multiple_of(4) {
        return None;
    }
    let to = |first, bits| target(address, field(word, first, bits));
    Some(match word {
        // b, bl
        _ if word & 0xfc00_0000 == 0x1400_0000 => Flow::Jump(to(0, 26)),
        _ if word & 0xfc00_0000 == 0x9400_0000 => Flow::Call(Callee::Address(to(0, 26))),
        // b.cond, bc.cond; the last two conditions always hold
        _ if word & 0xff00_0000 == 0x5400_0000 => match word & 0xe {
            0xe => Flow::Jump(to(5, 19)),
            _ => Flow::Branch(to(5, 19)),
        },
        // cbz, cbnz; tbz, tbnz
        _ if word & 0x7e00_0000 == 0x3400_0000 => Flow::Branch(to(5, 19)),
        _ if word & 0x7e00_0000 == 0x3600_0000 => Flow::Branch(to(5, 14)),
        _ if word & 0xfe00_0000 == 0xd600_0000 => through_register(word)?,
        _ if word & 0xff00_0000 == 0xd400_0000 => exception(word),
        // udf
        _ if word >> 16 == 0 => Flow::Stop,
        _ => Flow::Next,
    })
}

/// `br`, `blr`, `ret`, `eret`, with or without authentication.
fn through_register(word: u32) -> Option<Flow> {
    match word >> 21 & 0x7 {
        0 => Some(Flow::Indirect(Callee::Unknown)),
        1 => Some(Flow::Call(Callee::Unknown)),
        2 | 4 | 5 => Some(Flow::Return),
        _ => None,
    }
}

/// Calls of the system go on; `brk` and `hlt` do not.
fn exception(word: u32) -> Flow {
    match word >> 21 & 0x7 {
        0 => Flow::Next,
        _ => Flow::Stop,
    }
}

/// The slot of `adrp x16, slot; ldr x17, [x16, slot]`, with which stubs begin, perhaps after `bti c`.
pub(super) fn slot_of_stub(address: u64, bytes: &[u8]) -> Option<u64> {
    let (address, bytes) = match word(bytes)? {
        BTI_C => (address + 4, bytes.get(4..)?),
        _ => (address, bytes),
    };
    let page = page(address, word(bytes)?)?;
    let load = word(bytes.get(4..)?)?;
    let is_load = load & 0xffc0_03ff == 0xf940_0211;
    is_load.then(|| page.wrapping_add(u64::from(load >> 10 & 0xfff) * 8))
}

/// The address that `adrp` gives.
pub(super) fn page(address: u64, word: u32) -> Option<u64> {
    let is_adrp = word & 0x9f00_0000 == 0x9000_0000;
    is_adrp.then(|| (address & !0xfff).wrapping_add_signed(distance(word) << 12))
}

/// The distance in `adr` and `adrp`.
pub(super) fn distance(word: u32) -> i64 {
    field(word, 5, 19) << 2 | i64::from(word >> 29 & 0x3)
}

/// Some bits of an instruction, the highest being the sign.
pub(super) fn field(word: u32, first: u32, bits: u32) -> i64 {
    let shifted = i64::from(word) << (64 - first - bits);
    shifted >> (64 - bits)
}

/// Returns the address to which a distance in instructions leads.
fn target(address: u64, distance: i64) -> u64 {
    address.wrapping_add_signed(distance * 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow_of(word: u32) -> Option<Flow> {
        step(0x1000, &word.to_le_bytes()).map(|step| step.flow)
    }

    /// As the assembler of GNU binutils encodes them at 0x1000.
    #[test]
    fn instructions_that_lead_elsewhere_are_known() {
        for (word, flow) in [
            (0x1400_0004, Flow::Jump(0x1010)),                  // b 0x1010
            (0x17ff_ffff, Flow::Jump(0xffc)),                   // b 0xffc
            (0x9400_0004, Flow::Call(Callee::Address(0x1010))), // bl 0x1010
            (0x5400_0080, Flow::Branch(0x1010)),                // b.eq 0x1010
            (0x54ff_ffec, Flow::Branch(0xffc)),                 // b.gt 0xffc
            (0x5400_008e, Flow::Jump(0x1010)),                  // b.al 0x1010
            (0xb400_0080, Flow::Branch(0x1010)),                // cbz x0, 0x1010
            (0x35ff_ffe1, Flow::Branch(0xffc)),                 // cbnz w1, 0xffc
            (0x3618_0080, Flow::Branch(0x1010)),                // tbz w0, #3, 0x1010
            (0xb7ff_ffe2, Flow::Branch(0xffc)),                 // tbnz x2, #63, 0xffc
            (0xd61f_0220, Flow::Indirect(Callee::Unknown)),     // br x17
            (0xd71f_0a30, Flow::Indirect(Callee::Unknown)),     // braa x17, x16
            (0xd63f_0000, Flow::Call(Callee::Unknown)),         // blr x0
            (0xd65f_03c0, Flow::Return),                        // ret
            (0xd65f_0bff, Flow::Return),                        // retaa
            (0xd69f_03e0, Flow::Return),                        // eret
            (0xd400_0001, Flow::Next),                          // svc #0
            (0xd420_0000, Flow::Stop),                          // brk #0
            (0x0000_0000, Flow::Stop),                          // udf #0
            (NOP, Flow::Next),
            (0x9100_0400, Flow::Next), // add x0, x0, #1
            (0x1000_0001, Flow::Next), // adr x1, 0x1000
        ] {
            assert_eq!(flow_of(word), Some(flow), "{word:#010x}");
        }
    }

    #[test]
    fn what_is_no_instruction_leads_nowhere() {
        assert_eq!(step(0x1002, &NOP.to_le_bytes()), None);
        assert_eq!(step(0x1000, &[0, 0, 0]), None);
    }
}
