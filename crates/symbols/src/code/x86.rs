//! Instructions of x86-64.

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind, Register,
};

use super::{Callee, Flow, Step};

/// No instruction is longer.
const LENGTH_MAX: usize = 15;

pub(super) fn step(address: u64, bytes: &[u8]) -> Option<Step> {
    let instruction = decode(address, bytes)?;
    let length = u8::try_from(instruction.len()).ok()?;
    let is_padding = matches!(instruction.mnemonic(), Mnemonic::Nop | Mnemonic::Int3);
    let is_lea = instruction.mnemonic() == Mnemonic::Lea && instruction.is_ip_rel_memory_operand();
    let address = || instruction.ip_rel_memory_address();
    let takes = is_lea.then(|| (number(instruction.op0_register()), address()));
    Some(Step { length, flow: flow(&instruction), is_padding, takes })
}

/// The number of a register, whatever part of it is named.
pub(super) fn number(register: Register) -> u8 {
    u8::try_from(register.full_register().number()).unwrap_or(u8::MAX)
}

/// The instruction at the start of some bytes; nothing where there is none.
pub(super) fn decode(address: u64, bytes: &[u8]) -> Option<Instruction> {
    let bytes = bytes.get(..LENGTH_MAX).unwrap_or(bytes);
    let mut decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
    let instruction = decoder.decode();
    (!instruction.is_invalid()).then_some(instruction)
}

fn flow(instruction: &Instruction) -> Flow {
    let is_near = matches!(instruction.op0_kind(), OpKind::NearBranch64 | OpKind::NearBranch32);
    let target = instruction.near_branch_target();
    match instruction.flow_control() {
        FlowControl::UnconditionalBranch if is_near => Flow::Jump(target),
        FlowControl::UnconditionalBranch => Flow::Indirect(Callee::Unknown),
        FlowControl::ConditionalBranch => Flow::Branch(target),
        FlowControl::IndirectBranch => Flow::Indirect(slot(instruction)),
        FlowControl::Call if is_near => Flow::Call(Callee::Address(target)),
        FlowControl::IndirectCall => Flow::Call(slot(instruction)),
        FlowControl::Return => Flow::Return,
        FlowControl::Exception => Flow::Stop,
        FlowControl::Interrupt if instruction.code() == Code::Int3 => Flow::Stop,
        FlowControl::XbeginXabortXend if is_near => Flow::Branch(target),
        // What follows is not reached: only an interrupt ends it, and `_start` has it at its end.
        FlowControl::Next if instruction.mnemonic() == Mnemonic::Hlt => Flow::Stop,
        _ => Flow::Next,
    }
}

/// The place in memory that an address is taken from, where the instruction alone says it.
fn slot(instruction: &Instruction) -> Callee {
    if instruction.op0_kind() == OpKind::Memory
        && instruction.memory_index() == Register::None
        && instruction.is_ip_rel_memory_operand()
    {
        return Callee::Slot(instruction.ip_rel_memory_address());
    }
    Callee::Unknown
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the assembler of GNU binutils encodes them at 0x1000.
    #[test]
    fn instructions_that_lead_elsewhere_are_known() {
        let cases: [(&[u8], Flow); 16] = [
            (&[0xeb, 0x0e], Flow::Jump(0x1010)),
            (&[0xe9, 0xfb, 0xff, 0xff, 0xff], Flow::Jump(0x1000)),
            (&[0x74, 0x0e], Flow::Branch(0x1010)),
            (&[0x0f, 0x8f, 0x0a, 0, 0, 0], Flow::Branch(0x1010)),
            (&[0xe2, 0xfe], Flow::Branch(0x1000)), // loop
            (&[0xe3, 0x0e], Flow::Branch(0x1010)), // jrcxz
            (&[0xe8, 0x0b, 0, 0, 0], Flow::Call(Callee::Address(0x1010))),
            (&[0xff, 0xd0], Flow::Call(Callee::Unknown)), // call *%rax
            (&[0xff, 0x15, 0x0a, 0, 0, 0], Flow::Call(Callee::Slot(0x1010))),
            (&[0xff, 0xe0], Flow::Indirect(Callee::Unknown)), // jmp *%rax
            (&[0xff, 0x25, 0x0a, 0, 0, 0], Flow::Indirect(Callee::Slot(0x1010))),
            (&[0xc3], Flow::Return),
            (&[0xf3, 0xc3], Flow::Return),
            (&[0x0f, 0x0b], Flow::Stop), // ud2
            (&[0xf4], Flow::Stop),
            (&[0x0f, 0x05], Flow::Next), // syscall
        ];
        for (bytes, flow) in cases {
            let found = step(0x1000, bytes).unwrap();
            assert_eq!((usize::from(found.length), found.flow), (bytes.len(), flow), "{bytes:x?}");
        }
        assert!(step(0x1000, &[0x66, 0x90]).unwrap().is_padding);
    }

    #[test]
    fn what_is_no_instruction_leads_nowhere() {
        assert_eq!(step(0x1000, &[0x06]), None);
        assert_eq!(step(0x1000, &[0xe8, 0]), None);
        assert_eq!(step(0x1000, &[]), None);
    }
}
