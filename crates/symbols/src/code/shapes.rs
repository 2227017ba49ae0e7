//! Loops of code as assemblers and compilers make it, worked out by hand, and of any bytes at all.

use proptest::prelude::*;

use super::*;

/// The loops of code at 0x1000, all of it being one function of `size` bytes. Calls of 0x9000 do not
/// return.
fn found(machine: Machine, bytes: &[u8], size: u64) -> Loops {
    let code = Code::from_bytes(machine, 0x1000, bytes);
    let extent = Extent::new(std::iter::once(0x1000..0x1000 + size).collect()).unwrap();
    let mut returns = |callee| callee != Callee::Address(0x9000);
    Loops::from_graph(&Graph::from_code(&code, &extent, 0x1000, &mut returns))
}

fn x86(bytes: &[u8]) -> Loops {
    found(Machine::X86, bytes, bytes.len() as u64)
}

fn aarch64(words: &[u32], size: u64) -> Loops {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    found(Machine::Aarch64, &bytes, size)
}

/// Entry, depth and exits of each loop.
fn loop_shapes(loops: &Loops) -> Vec<(u64, u32, &[u64])> {
    loops.all.iter().map(|it| (it.entry, it.depth, it.exits.as_slice())).collect()
}

#[test]
fn a_loop_is_where_its_code_comes_back() {
    let loops = x86(&[
        0x31, 0xc0, // 1000 xor %eax,%eax
        0x03, 0x07, // 1002 add (%rdi),%eax
        0x48, 0x83, 0xc7, 0x04, // 1004 add $0x4,%rdi
        0xff, 0xce, // 1008 dec %esi
        0x75, 0xf6, // 100a jne 1002
        0xc3, // 100c ret
    ]);
    assert_eq!(loop_shapes(&loops), [(0x1002, 0, [0x100a].as_slice())]);
    assert_eq!(loops.spans, [(0x1002, 0x100c, 0)]);
    let innermost = [0x1001, 0x1002, 0x100b, 0x100c].map(|address| loops.innermost(address));
    assert_eq!(innermost, [None, Some(0), Some(0), None]);
    assert!(!loops.all[0].is_irreducible);
}

#[test]
fn loops_are_nested() {
    let loops = x86(&[
        0x31, 0xc0, // 1000 xor %eax,%eax
        0x89, 0xd1, // 1002 mov %edx,%ecx
        0x01, 0xc8, // 1004 add %ecx,%eax
        0xff, 0xc9, // 1006 dec %ecx
        0x75, 0xfa, // 1008 jne 1004
        0xff, 0xce, // 100a dec %esi
        0x75, 0xf4, // 100c jne 1002
        0xc3, // 100e ret
    ]);
    let expected = [(0x1002, 0, [0x100c].as_slice()), (0x1004, 1, [0x1008].as_slice())];
    assert_eq!(loop_shapes(&loops), expected);
    assert_eq!(loops.all[1].parent, Some(0));
    assert_eq!(loops.spans, [(0x1002, 0x1004, 0), (0x1004, 0x100a, 1), (0x100a, 0x100e, 0)]);
}

#[test]
fn two_ways_back_to_one_header_are_one_loop() {
    let loops = x86(&[
        0xff, 0xcf, // 1000 dec %edi
        0x78, 0x0a, // 1002 js 100e
        0x40, 0xf6, 0xc7, 0x01, // 1004 test $0x1,%dil
        0x74, 0xf6, // 1008 je 1000
        0x01, 0xf8, // 100a add %edi,%eax
        0xeb, 0xf2, // 100c jmp 1000
        0xc3, // 100e ret
    ]);
    assert_eq!(loop_shapes(&loops), [(0x1000, 0, [0x1002].as_slice())]);
    assert_eq!(loops.spans, [(0x1000, 0x100e, 0)]);
}

#[test]
fn a_loop_that_is_entered_at_two_places_is_told_by_the_first() {
    let loops = x86(&[
        0x85, 0xff, // 1000 test %edi,%edi
        0x74, 0x02, // 1002 je 1006
        0xff, 0xce, // 1004 dec %esi
        0xff, 0xc0, // 1006 inc %eax
        0x39, 0xf0, // 1008 cmp %esi,%eax
        0x72, 0xf8, // 100a jb 1004
        0xc3, // 100c ret
    ]);
    assert_eq!(loop_shapes(&loops), [(0x1004, 0, [0x100a].as_slice())]);
    assert!(loops.all[0].is_irreducible);
    assert_eq!(loops.spans, [(0x1004, 0x100c, 0)]);
}

#[test]
fn a_table_of_distances_leads_to_its_cases_and_to_no_more() {
    let code = [
        0x8b, 0x06, // 1000 mov (%rsi),%eax
        0x83, 0xf8, 0x03, // 1002 cmp $0x3,%eax
        0x77, 0x20, // 1005 ja 1027
        0x48, 0x8d, 0x15, 0x1a, 0x00, 0x00, 0x00, // 1007 lea 0x1028(%rip),%rdx
        0x48, 0x63, 0x04, 0x82, // 100e movslq (%rdx,%rax,4),%rax
        0x48, 0x01, 0xd0, // 1012 add %rdx,%rax
        0xff, 0xe0, // 1015 jmp *%rax
        0x48, 0x83, 0xc6, 0x04, // 1017 add $0x4,%rsi
        0xeb, 0xe3, // 101b jmp 1000
        0xff, 0xc1, // 101d inc %ecx
        0xeb, 0xf6, // 101f jmp 1017
        0xff, 0xc9, // 1021 dec %ecx
        0xeb, 0xf2, // 1023 jmp 1017
        0xeb, 0xfe, // 1025 jmp 1025, which nothing leads to
        0xc3, // 1027 ret
        0xef, 0xff, 0xff, 0xff, // 1028 1017
        0xf5, 0xff, 0xff, 0xff, // 102c 101d
        0xf9, 0xff, 0xff, 0xff, // 1030 1021
        0xff, 0xff, 0xff, 0xff, // 1034 1027
        0xfd, 0xff, 0xff, 0xff, // 1038 1025, beyond what was compared with
    ];
    let loops = found(Machine::X86, &code, 0x28);
    let expected = [(0x1000, 0, [0x1005, 0x1015].as_slice()), (0x1025, 0, &[])];
    assert_eq!(loop_shapes(&loops), expected);
    assert_eq!(loops.spans, [(0x1000, 0x1025, 0), (0x1025, 0x1027, 1)]);
}

#[test]
fn a_loop_that_nothing_ends_goes_on_after_calls_that_return() {
    let loops = x86(&[
        0xe8, 0x02, 0x00, 0x00, 0x00, // 1000 call 1007
        0xeb, 0xf9, // 1005 jmp 1000
        0xc3, // 1007 ret
    ]);
    assert_eq!(loop_shapes(&loops), [(0x1000, 0, [].as_slice())]);
}

#[test]
fn a_jump_out_of_the_function_ends_it() {
    let loops = x86(&[
        0xff, 0xcf, // 1000 dec %edi
        0x75, 0xfc, // 1002 jne 1000
        0xe9, 0xf7, 0x01, 0x00, 0x00, // 1004 jmp 1200
    ]);
    assert_eq!(loop_shapes(&loops), [(0x1000, 0, [0x1002].as_slice())]);
}

#[test]
fn code_that_overlaps_is_followed_both_ways() {
    let loops = x86(&[
        0xb8, 0x90, 0x90, 0xeb, 0xfb, // 1000 mov $0xfbeb9090,%eax; 1003 jmp 1000
        0xeb, 0xfa, // 1005 jmp 1001
    ]);
    assert_eq!(loop_shapes(&loops), [(0x1000, 0, [].as_slice())]);
    assert_eq!(loops.spans, [(0x1000, 0x1007, 0)]);
}

#[test]
fn parts_of_a_function_that_lie_apart_are_one_function() {
    let mut bytes = vec![0xcc; 0x20];
    bytes[..5].copy_from_slice(&[
        0xff, 0xcf, // 1000 dec %edi
        0x75, 0x0c, // 1002 jne 1010
        0xc3, // 1004 ret
    ]);
    bytes[0x10..0x12].copy_from_slice(&[0xeb, 0xee]); // 1010 jmp 1000
    let code = Code::from_bytes(Machine::X86, 0x1000, &bytes);
    let extent = Extent::new(vec![0x1000..0x1005, 0x1010..0x1012]).unwrap();
    let loops = Loops::from_graph(&Graph::from_code(&code, &extent, 0x1000, &mut |_| true));
    assert_eq!(loop_shapes(&loops), [(0x1000, 0, [0x1002].as_slice())]);
    assert_eq!(loops.spans, [(0x1000, 0x1004, 0), (0x1010, 0x1012, 0)]);
}

#[test]
fn loops_of_aarch64_are_found_by_their_branches() {
    let single = [
        0x5280_0002, // 1000 mov w2, #0
        0xb840_4403, // 1004 ldr w3, [x0], #4
        0x0b03_0042, // 1008 add w2, w2, w3
        0x7100_0421, // 100c subs w1, w1, #1
        0x54ff_ffa1, // 1010 b.ne 1004
        0xd65f_03c0, // 1014 ret
    ];
    assert_eq!(loop_shapes(&aarch64(&single, 24)), [(0x1004, 0, [0x1010].as_slice())]);
    let nested = [
        0x2a02_03e3, // 1000 mov w3, w2
        0x0b03_0000, // 1004 add w0, w0, w3
        0x5100_0463, // 1008 sub w3, w3, #1
        0x35ff_ffc3, // 100c cbnz w3, 1004
        0x5100_0421, // 1010 sub w1, w1, #1
        0x36ff_ff61, // 1014 tbz w1, #31, 1000
        0xd65f_03c0, // 1018 ret
    ];
    let expected = [(0x1000, 0, [0x1014].as_slice()), (0x1004, 1, [0x100c].as_slice())];
    assert_eq!(loop_shapes(&aarch64(&nested, 28)), expected);
    let irreducible = [
        0x3400_0040, // 1000 cbz w0, 1008
        0x5100_0421, // 1004 sub w1, w1, #1
        0x1100_0442, // 1008 add w2, w2, #1
        0x6b01_005f, // 100c cmp w2, w1
        0x54ff_ffa3, // 1010 b.lo 1004
        0xd65f_03c0, // 1014 ret
    ];
    let loops = aarch64(&irreducible, 24);
    assert_eq!(loop_shapes(&loops), [(0x1004, 0, [0x1010].as_slice())]);
    assert!(loops.all[0].is_irreducible);
}

#[test]
fn tables_of_aarch64_count_instructions_from_a_base_or_bytes_from_the_table() {
    let counts_instructions = [
        0xb940_0080, // 1000 ldr w0, [x4]
        0x7100_081f, // 1004 cmp w0, #2
        0x5400_01a8, // 1008 b.hi 103c
        0x9000_0001, // 100c adrp x1, 1000
        0x9101_0021, // 1010 add x1, x1, #0x40
        0x3860_4820, // 1014 ldrb w0, [x1, w0, uxtw]
        0x1000_0061, // 1018 adr x1, 1024
        0x8b20_8820, // 101c add x0, x1, w0, sxtb #2
        0xd61f_0000, // 1020 br x0
        0x9100_1084, // 1024 add x4, x4, #4
        0x17ff_fff6, // 1028 b 1000
        0x1100_04a5, // 102c add w5, w5, #1
        0x17ff_fffd, // 1030 b 1024
        0x5100_04a5, // 1034 sub w5, w5, #1
        0x17ff_fffb, // 1038 b 1024
        0xd65f_03c0, // 103c ret
        0x0004_0200, // 1040 1024, 102c, 1034
    ];
    let loops = aarch64(&counts_instructions, 0x40);
    assert_eq!(loop_shapes(&loops), [(0x1000, 0, [0x1008].as_slice())]);
    assert_eq!(loops.spans, [(0x1000, 0x103c, 0)]);
    let counts_bytes = [
        0xb940_0088, // 1000 ldr w8, [x4]
        0x7100_091f, // 1004 cmp w8, #2
        0x5400_0148, // 1008 b.hi 1030
        0x9000_0009, // 100c adrp x9, 1000
        0x9100_d129, // 1010 add x9, x9, #0x34
        0xb8a8_792a, // 1014 ldrsw x10, [x9, x8, lsl #2]
        0x8b09_014a, // 1018 add x10, x10, x9
        0xd61f_0140, // 101c br x10
        0x9100_1084, // 1020 add x4, x4, #4
        0x17ff_fff7, // 1024 b 1000
        0x1100_04a5, // 1028 add w5, w5, #1
        0x17ff_fffd, // 102c b 1020
        0xd65f_03c0, // 1030 ret
        0xffff_ffec, // 1034 1020
        0xffff_fff4, // 1038 1028
        0xffff_fffc, // 103c 1030
    ];
    let loops = aarch64(&counts_bytes, 0x34);
    assert_eq!(loop_shapes(&loops), [(0x1000, 0, [0x1008, 0x101c].as_slice())]);
    assert_eq!(loops.spans, [(0x1000, 0x1030, 0)]);
}

#[test]
fn code_after_a_call_that_does_not_return_is_not_part_of_what_came_before() {
    let code = [
        0x3400_0060, // 1000 cbz w0, 100c
        0x5100_0400, // 1004 sub w0, w0, #1
        0x17ff_fffe, // 1008 b 1000
        0x9400_1ffd, // 100c bl 9000
        0x17ff_fffc, // 1010 b 1000
    ];
    let loops = aarch64(&code, 20);
    assert_eq!(loop_shapes(&loops), [(0x1000, 0, [0x1000].as_slice())]);
    assert_eq!(loops.spans, [(0x1000, 0x100c, 0)]);
}

#[test]
fn loops_nested_without_end_are_kept_to_a_depth() {
    // 1000 nop …, and then as many branches, the first to the last nop, the last to the first.
    let count = 3000_u32;
    let mut bytes = vec![0x90; 3000];
    for branch in 0..count {
        let (from, to) = (count + branch * 6, count - 1 - branch);
        let distance = to.wrapping_sub(from + 6);
        bytes.extend([0x0f, 0x85]);
        bytes.extend(distance.to_le_bytes());
    }
    bytes.push(0xc3);
    let loops = x86(&bytes);
    assert_eq!(loops.all.len(), 64);
    assert_eq!(loops.all.last().map(|it| it.depth), Some(63));
}

fn check(loops: &Loops, size: u64) {
    for (at, it) in loops.all.iter().enumerate() {
        assert!(it.parent.is_none_or(|parent| parent < at));
        let depth = it.parent.map_or(0, |parent| loops.all[parent].depth + 1);
        assert_eq!(it.depth, depth);
        assert!((0x1000..0x1000 + size).contains(&it.entry));
    }
    assert!(loops.spans.iter().all(|(start, end, at)| start < end && *at < loops.all.len()));
    assert!(loops.spans.windows(2).all(|pair| pair[0].1 <= pair[1].0));
}

/// Bytes of which many are short jumps.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let jump = prop::sample::select(vec![0x70, 0x75, 0xeb, 0xe2, 0xff, 0xe0, 0xc3, 0x90, 0x48]);
    let near = (0..64_u8).prop_map(|distance| distance.wrapping_sub(32));
    prop::collection::vec(prop_oneof![jump, near, any::<u8>()], 1..600)
}

proptest! {
    #[test]
    fn any_bytes_have_loops_within_them(bytes in bytes(), is_x86: bool, cut in 0..8_u64) {
        let machine = if is_x86 { Machine::X86 } else { Machine::Aarch64 };
        let size = (bytes.len() as u64).saturating_sub(cut).max(1);
        check(&found(machine, &bytes, size), size);
        // A function may also be said to be larger than what is there.
        check(&found(machine, &bytes, size + 100), size + 100);
    }
}
