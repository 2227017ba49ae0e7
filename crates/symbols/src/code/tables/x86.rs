//! Tables of x86-64.
//!
//! Code that may lie anywhere has distances of four bytes, counted from the table itself:
//!
//! ```text
//! cmp    $7, %eax
//! ja     default
//! lea    table(%rip), %rdx
//! movslq (%rdx,%rax,4), %rax
//! add    %rdx, %rax
//! jmp    *%rax
//! ```
//!
//! Where a program computes with addresses of labels, what entries count from is elsewhere. Other
//! code has addresses of eight bytes, and `jmp *table(,%rax,8)`.

use iced_x86::{ConditionCode, Instruction, Mnemonic, OpKind, Register};

use super::super::graph::Walk;
use super::super::x86::{decode, number};
use super::Table;

pub(super) fn table(walk: &Walk<'_>, jump: u32) -> Option<Table> {
    let back: Vec<Instruction> = walk
        .preceding_instructions(jump)
        .into_iter()
        .map_while(|place| instruction(walk, place))
        .collect();
    let jump = instruction(walk, jump)?;
    match jump.op0_kind() {
        OpKind::Register => distances(walk, &back, jump.op0_register(), jump.ip()),
        OpKind::Memory => addresses(walk, &back, &jump),
        _ => None,
    }
}

fn instruction(walk: &Walk<'_>, place: u32) -> Option<Instruction> {
    let address = walk.extent.address(place);
    decode(address, walk.code.bytes(address))
}

/// `jmp *table(,%rax,8)`, or with the table in a register.
fn addresses(walk: &Walk<'_>, back: &[Instruction], jump: &Instruction) -> Option<Table> {
    if jump.memory_index() == Register::None || jump.memory_index_scale() != 8 {
        return None;
    }
    let mut at = jump.memory_displacement64();
    if jump.memory_base() != Register::None {
        at = at.wrapping_add(address_in(walk, back, jump.memory_base(), jump.ip())?);
    }
    let count = bound(back, jump.memory_index(), jump.ip());
    Some(Table { at, width: 8, is_signed: false, unit: 1, base: 0, count, end: end(walk, at) })
}

/// `jmp *%rax`, where `%rax` is the sum of a table's address and one of its entries.
fn distances(
    walk: &Walk<'_>,
    back: &[Instruction],
    register: Register,
    jump: u64,
) -> Option<Table> {
    let added = back.iter().position(|before| writes(before, register))?;
    let (sum, rest) = back.get(added..)?.split_first()?;
    let is_sum = sum.mnemonic() == Mnemonic::Add && sum.op1_kind() == OpKind::Register;
    let pair = [register.full_register(), sum.op1_register().full_register()];
    // One of the two was read from the table; the other is what entries count from.
    let is_load = |before: &Instruction| {
        before.mnemonic() == Mnemonic::Movsxd
            && before.op1_kind() == OpKind::Memory
            && before.memory_index_scale() == 4
            && pair.contains(&before.op0_register().full_register())
    };
    let read = rest.iter().position(is_load).filter(|_| is_sum)?;
    let (load, before) = rest.get(read..)?.split_first()?;
    let [one, other] = pair;
    let counted = if load.op0_register().full_register() == one { other } else { one };
    let at = address_in(walk, before, load.memory_base(), jump)?;
    let base = address_in(walk, rest, counted, jump)?;
    let at = at.wrapping_add(load.memory_displacement64());
    let count = bound(before, load.memory_index(), load.ip());
    Some(Table { at, width: 4, is_signed: true, unit: 1, base, count, end: end(walk, at) })
}

/// Returns the start of whatever comes after a table.
fn end(walk: &Walk<'_>, at: u64) -> u64 {
    walk.taken.next_address(at).unwrap_or(u64::MAX)
}

fn writes(instruction: &Instruction, register: Register) -> bool {
    let reads_only =
        matches!(instruction.mnemonic(), Mnemonic::Cmp | Mnemonic::Test | Mnemonic::Push);
    !reads_only
        && instruction.op0_kind() == OpKind::Register
        && instruction.op0_register().full_register() == register.full_register()
}

/// The address that a register has: by the nearest instruction on the way that writes it, or
/// anywhere in the function, since compilers take addresses out of loops.
fn address_in(walk: &Walk<'_>, back: &[Instruction], register: Register, jump: u64) -> Option<u64> {
    match back.iter().find(|before| writes(before, register)) {
        Some(near) => {
            let is_lea = near.mnemonic() == Mnemonic::Lea && near.is_ip_rel_memory_operand();
            is_lea.then(|| near.ip_rel_memory_address())
        }
        None => walk.taken.find(number(register), jump),
    }
}

/// Returns the number of values that an index may have, by the comparison before it is used at
/// `used`.
fn bound(back: &[Instruction], index: Register, used: u64) -> Option<u64> {
    let mut index = index.full_register();
    let mut after = used;
    let mut holds: Option<Bound> = None;
    for before in back {
        if before.condition_code() != ConditionCode::None && before.is_jcc_short_or_near() {
            let is_taken = before.near_branch_target() == after && before.next_ip() != after;
            holds = Bound::from_condition(before.condition_code(), is_taken);
        } else if before.mnemonic() == Mnemonic::Cmp {
            let is_index = before.op0_kind() != OpKind::Register
                || before.op0_register().full_register() == index;
            let limit = before.try_immediate(1).ok().filter(|_| is_index);
            if let (Some(holds), Some(limit)) = (holds, limit) {
                return holds.count(limit);
            }
        } else if writes(before, index) {
            match (before.mnemonic(), before.op1_kind()) {
                (Mnemonic::Mov | Mnemonic::Movzx | Mnemonic::Movsxd, OpKind::Register) => {
                    index = before.op1_register().full_register();
                }
                (Mnemonic::And, _) => return before.try_immediate(1).ok()?.checked_add(1),
                // It was compared where it came from.
                (Mnemonic::Mov | Mnemonic::Movzx, OpKind::Memory) => {}
                _ => return None,
            }
        }
        after = before.ip();
    }
    None
}

/// Bound of an index that is known where it is used.
#[derive(Debug, Clone, Copy)]
enum Bound {
    AtMost,
    Below,
}

impl Bound {
    fn from_condition(condition: ConditionCode, is_taken: bool) -> Option<Self> {
        match (condition, is_taken) {
            (ConditionCode::a | ConditionCode::g, false)
            | (ConditionCode::be | ConditionCode::le, true) => Some(Self::AtMost),
            (ConditionCode::ae | ConditionCode::ge, false)
            | (ConditionCode::b | ConditionCode::l, true) => Some(Self::Below),
            _ => None,
        }
    }

    fn count(self, limit: u64) -> Option<u64> {
        match self {
            Self::AtMost => limit.checked_add(1),
            Self::Below => Some(limit),
        }
    }
}
