//! Names of C++ as people read them, in the way of the GNU tools.
//!
//! A name is read into nodes, which are then written. Both are bounded: the depth of what nests,
//! the nodes, the steps and the length of the text. What cannot be read stays as it is.

mod expression;
mod node;
mod parse;
mod print;
mod table;
mod types;

use parse::Parser;

/// How a name is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Written {
    /// With what a function returns.
    pub(crate) has_returns: bool,
    /// To the letter as the GNU tools do, which leave out the space between two `>` where an empty
    /// pack follows.
    pub(crate) is_gnu: bool,
}

/// A name as people read it; nothing where it is no name of C++, or none that is known. The type
/// that a function returns is left out if it is not wanted.
pub(crate) fn demangled(name: &str, written: Written) -> Option<String> {
    let mut parser = Parser::new(name);
    let (node, rest) = parser.mangled_name()?;
    let mut text = print::print(&parser, node, written)?;
    let mut rest = rest;
    while !rest.is_empty() {
        let (suffix, after) = rest.split_at(clone_suffix(rest)?);
        text.push_str(" [clone ");
        text.push_str(suffix);
        text.push(']');
        rest = after;
    }
    Some(text)
}

/// How long the first part is of what compilers put behind the name of a copy: a word and numbers,
/// each after a dot.
fn clone_suffix(text: &str) -> Option<usize> {
    let is_word = |byte: &u8| byte.is_ascii_lowercase() || *byte == b'_';
    let run = |from: usize, is_of: &dyn Fn(&u8) -> bool| {
        let bytes = text.as_bytes().get(from..).unwrap_or_default();
        let length = bytes.iter().skip(1).take_while(|byte| is_of(byte)).count();
        if bytes.first() == Some(&b'.') && length > 0 { length + 1 } else { 0 }
    };
    let mut length = run(0, &is_word);
    loop {
        match run(length, &u8::is_ascii_digit) {
            0 => break,
            digits => length += digits,
        }
    }
    (length > 0).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of libstdc++, GCC, LLVM, ICU and others with what `c++filt -i` of binutils 2.40 makes of
    /// them.
    const NAMES: &str = include_str!("../../../../testdata/symbols/names.txt");

    const WHOLE: Written = Written { has_returns: true, is_gnu: true };

    #[test]
    fn names_are_those_of_the_gnu_tools() {
        let lines: Vec<_> = NAMES.lines().collect();
        assert!(lines.len() > 400);
        for line in lines {
            let (name, expected) = line.split_once('\t').unwrap();
            assert_eq!(demangled(name, WHOLE).as_deref(), Some(expected), "{name}");
        }
    }

    #[test]
    fn what_a_function_returns_is_left_out_and_nothing_else() {
        for (name, expected) in [
            ("_ZN1QC1IiEEmT_", "Q::Q<int>(unsigned long, int)"),
            ("_ZN1Q2emIJEEEviDpOT_", "Q::em<>(int)"),
            ("_ZN1Q2emIJRicEEEviDpOT_", "Q::em<int&, char>(int, int&, char&&)"),
            ("_Z4manyILi9EJEEvv", "many<9>()"),
            ("_ZN1AcvT_IiEEv", "A::operator int<int>()"),
            ("_Z1gIiEPFvcET_", "g<int>(int)"),
            (
                "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC2IPcvEET_S7_RKS3_",
                "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::\
                 basic_string<char*, void>(char*, char*, std::allocator<char> const&)",
            ),
            (
                "_ZSt4swapIlENSt9enable_ifIXsrSt6__and_IJSt6__not_ISt15__is_tuple_likeIT_EESt21\
                 is_move_constructibleIS4_ESt18is_move_assignableIS4_EEE5valueEvE4typeERS4_SE_",
                "std::swap<long>(long&, long&)",
            ),
        ] {
            assert_eq!(demangled(name, Written::default()).as_deref(), Some(expected), "{name}");
        }
    }

    #[test]
    fn a_name_that_stands_for_one_without_end_is_none() {
        // `f(a<x, …>, a<a<x, …>, …>, …)`: ten times as long with each level.
        let ids = ["S_", "S0_", "S1_", "S2_", "S3_", "S4_", "S5_", "S6_", "S7_", "S8_", "S9_"];
        for (levels, is_short) in [(2, true), (9, false)] {
            let mut name = format!("_Z1f1aI1x{}E", ids[1].repeat(9));
            for level in 0..levels {
                name = format!("{name}S_I{}E", ids[level + 2].repeat(10));
            }
            assert_eq!(demangled(&name, WHOLE).is_some(), is_short, "{name}");
        }
        let packs = "_Z1fIJJJiiEJiiEEEEvDpDpDpDpDpDpDpDpDpDpDpDpDpDpDpDpDpDpDpDpDpDpT_";
        let _ = demangled(packs, WHOLE);
    }

    #[test]
    fn what_nests_too_deep_or_is_damaged_is_none() {
        for (before, repeated) in [
            ("_Z1f", "P"),
            ("_Z1fI", "X"),
            ("_Z1f", "N"),
            ("_Z", "Z"),
            ("_Z1fIXng", "ng"),
            ("_Z1f", "1aI"),
        ] {
            let name = format!("{before}{}", repeated.repeat(20_000));
            assert_eq!(demangled(&name, WHOLE), None, "{before}{repeated}");
        }
        for line in NAMES.lines() {
            let (name, _) = line.split_once('\t').unwrap();
            for end in 0..name.len() {
                let _ = demangled(&name[..end], WHOLE);
                let damaged = format!("{}S{}", &name[..end], &name[end..]);
                let _ = demangled(&damaged, WHOLE);
                let damaged = format!("{}T{}", &name[..end], &name[end..]);
                let _ = demangled(&damaged, WHOLE);
            }
        }
    }
}
