//! Names of C++ as people read them, by `cpp_demangle`, spelled as the GNU tools spell them.

use std::fmt;

use cpp_demangle::{DemangleOptions, DemangleWrite, ParseOptions, Symbol};

/// Longer names are left as they are.
const NAME_BYTES_MAX: usize = 1 << 14;

/// Names that become longer are left as they are: a short one may stand for a text without end.
const TEXT_BYTES_MAX: usize = 1 << 14;

/// Expressions that the parser reads twice, each time with all that is within: `new`, `new[]`,
/// `delete`, `delete[]`. Identifiers such as `data` have these letters, too.
const READ_TWICE: [&str; 4] = ["nw", "na", "dl", "da"];

/// How deep a name may nest that has at most so many of them. It bounds the stack, and the time: the
/// parser reads types within types twice, too, where they do not end.
const DEPTHS_MAX: [(usize, u32); 3] = [(6, 64), (12, 40), (NAME_BYTES_MAX, 24)];

/// In how many places the name of a constructor is looked for the end of.
const ENDS_MAX: usize = 32;

/// Templates of constructors in a name, as symbols and debug information tell them.
const CONSTRUCTORS: [&str; 4] = ["C1I", "C2I", "C3I", "C4I"];

/// How names of things that nobody wrote begin, and what the GNU tools call them.
const SPECIAL: [(&str, &str); 5] = [
    ("_ZTV", "vtable for "),
    ("_ZTT", "VTT for "),
    ("_ZTh", "non-virtual thunk to "),
    ("_ZTv", "virtual thunk to "),
    ("_ZTc", "covariant return thunk to "),
];

/// How literals of these types end.
const LITERALS: [(&str, &str); 5] = [
    ("(unsigned int)", "u"),
    ("(unsigned long)", "ul"),
    ("(unsigned long long)", "ull"),
    ("(long)", "l"),
    ("(long long)", "ll"),
];

/// What is left of packs without anything in them, and what belongs there. References to functions
/// and arrays have a space before them: `int (&&)(int)`.
const EMPTY: [(&str, &str); 7] = [
    (", >", ">"),
    (", )", ")"),
    (", &&)", ")"),
    (", const&)", ")"),
    (">(, ", ">("),
    (">(&&)", ">()"),
    (">( const&)", ">()"),
];

/// A name as people read it, without what the function returns; nothing where it is no name of C++,
/// or none that is known.
pub(crate) fn demangled(name: &str) -> Option<String> {
    demangled_with(name, DemangleOptions::new().no_return_type())
}

fn demangled_with(name: &str, options: DemangleOptions) -> Option<String> {
    if !name.starts_with("_Z") || name.len() > NAME_BYTES_MAX {
        return None;
    }
    let symbol = with_return(name).and_then(|name| parsed(&name)).or_else(|| parsed(name));
    symbol.map_or_else(|| without_member(name, options), |symbol| text(name, &symbol, options))
}

/// A name in which members of classes of `std` are casts to these classes: the parser does not know
/// `srSt`. Nothing where one is shown, and not in what the function returns alone.
fn without_member(name: &str, options: DemangleOptions) -> Option<String> {
    let cast = name.contains("srSt").then(|| name.replace("srSt", "cvSt"))?;
    text(name, &parsed(&cast)?, options).filter(|text| !text.contains(")("))
}

fn text(name: &str, symbol: &Symbol<Vec<u8>>, options: DemangleOptions) -> Option<String> {
    let mut text = Bounded::default();
    symbol.structured_demangle(&mut text, &options).ok()?;
    let text = LITERALS.iter().fold(text.0, |text, literal| suffixed(&text, *literal));
    let text = text.replace("std::nullptr_t", "decltype(nullptr)");
    let text = EMPTY.iter().fold(text, |text, (pack, nothing)| text.replace(pack, nothing));
    Some(special(name, &text).unwrap_or(text))
}

fn parsed(name: &str) -> Option<Symbol<Vec<u8>>> {
    let read_twice: usize = READ_TWICE.iter().map(|word| name.matches(word).count()).sum();
    let (_, depth_max) = DEPTHS_MAX.iter().find(|(most, _)| read_twice <= *most)?;
    let options = ParseOptions::default().recursion_limit(*depth_max);
    Symbol::new_with_options(name.as_bytes().to_vec(), &options).ok()
}

/// A template of a constructor as one that returns something: `cpp_demangle` takes its first
/// parameter for what it returns, and leaves it out (gimli-rs/cpp_demangle#129).
fn with_return(name: &str) -> Option<String> {
    if !name.starts_with("_ZN") {
        return None;
    }
    let at = CONSTRUCTORS.iter().find_map(|word| name.find(word))?;
    let ends = name.match_indices('E').map(|(at, _)| at + 1).filter(|end| *end > at);
    let (class, parameters) = ends
        .take(ENDS_MAX)
        .filter_map(|end| name.split_at_checked(end))
        .find(|(class, _)| parsed(class).is_some())?;
    let has_some = !parameters.is_empty() && !parameters.starts_with('.');
    has_some.then(|| format!("{class}v{parameters}"))
}

/// A text with the literals of a type told by how they end: `8ul`, not `(unsigned long)8`.
fn suffixed(text: &str, (kind, suffix): (&str, &str)) -> String {
    let mut parts = text.split(kind);
    let mut suffixed = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let unsigned = part.strip_prefix('-').unwrap_or(part);
        let rest = unsigned.trim_start_matches(|digit: char| digit.is_ascii_digit());
        if rest.len() == unsigned.len() {
            suffixed.extend([kind, part]);
        } else {
            let value = part.strip_suffix(rest).unwrap_or(part);
            suffixed.extend([value, suffix, rest]);
        }
    }
    suffixed
}

/// What a table or a thunk is for, from `{vtable(…)}` or `{virtual override thunk(…, …)}`.
fn special(name: &str, text: &str) -> Option<String> {
    let (_, label) = SPECIAL.iter().find(|(beginning, _)| name.starts_with(beginning))?;
    let (within, clone) = text.rsplit_once(")}")?;
    let within = within.rsplit(")}, ").next()?;
    let within = within.trim_start_matches("{vtable(").trim_start_matches("{vtt(");
    Some(format!("{label}{within}{clone}"))
}

/// A text that ends before it is too long.
#[derive(Default)]
struct Bounded(String);

impl DemangleWrite for Bounded {
    fn write_string(&mut self, text: &str) -> fmt::Result {
        let is_short = self.0.len() + text.len() <= TEXT_BYTES_MAX;
        self.0.push_str(if is_short { text } else { "" });
        if is_short { Ok(()) } else { Err(fmt::Error) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of libstdc++, GCC, LLVM, ICU and others with what `c++filt -i` of binutils 2.40 makes of
    /// them.
    const NAMES: &str = include_str!("../../../testdata/symbols/names.txt");

    /// Those that differ: the name, what `c++filt -i` makes of it, and what is made of it here.
    const DIFFERENT: &str = include_str!("../../../testdata/symbols/names-that-differ.txt");

    fn whole(name: &str) -> Option<String> {
        demangled_with(name, DemangleOptions::new())
    }

    #[test]
    fn names_are_those_of_the_gnu_tools_but_for_those_that_are_listed() {
        let lines: Vec<_> = NAMES.lines().collect();
        assert!(lines.len() > 400);
        let differs = |line: &&str| {
            let (name, expected) = line.split_once('\t').unwrap();
            let found = whole(name).unwrap_or_default();
            (found != expected).then(|| format!("{line}\t{found}\n"))
        };
        let found: String = lines.iter().filter_map(differs).collect();
        assert_eq!(found, DIFFERENT);
    }

    #[test]
    fn what_a_function_returns_is_left_out_and_nothing_else() {
        for (name, expected) in [
            ("_ZN1QC1IiEEmT_", "Q::Q<int>(unsigned long, int)"),
            ("_ZN1Q2emIJEEEviDpOT_", "Q::em<>(int)"),
            ("_ZN1Q2emIJEEEvDpOT_", "Q::em<>()"),
            ("_Z1fIJEEvPOFvvE", "f<>(void (&&*)())"),
            ("_Z4manyILi9EJEEvv", "many<9>()"),
            ("_Z4manyILm9ELln9EEvv.cold", "many<9ul, -9l>() [clone .cold]"),
            ("_ZN1AcvT_IiEEv", "A::operator int<int>()"),
            ("_Z1gIiEPFvcET_", "g<int>(int)"),
            ("_ZN1AC4IiEET_", "A::A<int>(int)"),
            ("_ZN1AaSEDn", "A::operator=(decltype(nullptr))"),
            (
                "_ZSt4swapIlENSt9enable_ifIXsrSt6__and_IJSt6__not_ISt15__is_tuple_likeIT_EESt21\
                 is_move_constructibleIS4_ESt18is_move_assignableIS4_EEE5valueEvE4typeERS4_SE_",
                "std::swap<long>(long&, long&)",
            ),
            ("_ZThn16_N1AD0Ev", "non-virtual thunk to A::~A()"),
            ("_ZTv0_n24_N1AD0Ev", "virtual thunk to A::~A()"),
            ("_ZTch0_v0_n24_N1A1fEv", "covariant return thunk to A::f()"),
            (
                "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEC2IPcvEET_S7_RKS3_",
                "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::\
                 basic_string<char*, void>(char*, char*, std::allocator<char> const&)",
            ),
        ] {
            assert_eq!(demangled(name).as_deref(), Some(expected), "{name}");
        }
        for plain in
            ["i", "main", "_GLOBAL__I_a", "__Z1fv", "_Zzz", "_Z1fI1AIXsrSt6__and_IiE5valueEEEvT_"]
        {
            assert_eq!(demangled(plain), None, "{plain}");
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
            assert_eq!(demangled(&name).is_some(), is_short, "{name}");
        }
        let packs = "_Z1fIJJJiiEJiiEEEEvDpDpDpDpDpDpDpDpDpDpDpDpDpDpDpDpDpDpDpDpDpDpT_";
        let _ = demangled(packs);
    }

    /// The parser would take longer than anyone waits: twice as long with each of what is repeated.
    #[test]
    fn what_nests_too_deep_is_none_and_soon() {
        for (before, repeated) in [
            ("_Z1f", "P"),
            ("_Z1fI", "X"),
            ("_Z1f", "N"),
            ("_Z", "Z"),
            ("_Z1fIX", "ng"),
            ("_Z1fIX", "nw"),
            ("_Z1fIX", "na1a"),
            ("_Z1fIX", "dadl"),
            ("_Z1f", "1aI"),
            ("_Z1f", "SaI"),
            ("_Z1f", "LDT"),
            ("_Z1fIXnwnwnwnwnwnw", "SaI"),
            ("_ZN1aC1I", "Li1E"),
        ] {
            for count in [10, 40, 1000, 20_000] {
                let name = format!("{before}{}", repeated.repeat(count));
                assert_eq!(demangled(&name), None, "{before}{repeated} {count}");
            }
        }
    }

    #[test]
    fn damaged_names_do_no_harm() {
        for line in NAMES.lines() {
            let (name, _) = line.split_once('\t').unwrap();
            for end in 0..name.len() {
                let (before, after) = name.split_at(end);
                for damaged in
                    [before.to_owned(), format!("{before}S{after}"), format!("{before}T{after}")]
                {
                    let _ = demangled(&damaged);
                }
            }
        }
    }
}
