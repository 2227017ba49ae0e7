use super::demangled;

/// Names with what they stand for.
const NAMES: &str = include_str!("../../../../testdata/symbols/swift.txt");

fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    NAMES.lines().map(|line| line.split_once('\t').unwrap())
}

#[test]
fn names_are_those_of_the_compilers_own_tool() {
    assert!(names().count() > 100);
    let wrong: Vec<_> = names()
        .map(|(name, expected)| (name, expected, demangled(name)))
        .filter(|(_, expected, found)| found.as_deref() != Some(*expected))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_is_no_name_of_swift_or_not_known_is_none() {
    // Those that the compiler's own tool does not know either, and C.
    for name in [
        "",
        "main",
        "$s",
        "_T0",
        "_T0D",
        "_T0A8",
        "_T0Rml",
        "_T0Tk",
        "_T0iW",
        "_T0XZ",
        "$syQo",
        "$s__TJO",
        "_T0LiteralAByxGxd_tcfC",
        "_T0lxxxmmmTk",
        "$sSD5IndexVy__GD",
        "_T0s3SetVyxGs10CollectiotySivm",
        "_T0s18ReversedCollectionVyxGs04LazyB8ProtocolfC",
        "_T0s5print_9separator10terminatoryypfC",
        "_$S3BBBBf0602365061_",
        "$sxxxIxzCXxxxesy",
        "_SocketJoinOrLeaveMulticast",
    ] {
        assert_eq!(demangled(name), None, "{name}");
    }
}

#[test]
fn a_name_that_stands_for_one_without_end_is_none() {
    // `B<A, A>`, `B<B<A, A>, B<A, A>>` and so on: twice as long with each level. The first three that
    // may be met again are the module, the name and the type.
    for (levels, is_short) in [(4, true), (20, false)] {
        let mut name = "$s1a1BVyxxG".to_owned();
        for letter in ('D'..).take(levels) {
            name = format!("{name}_ACyA2{letter}Gt");
        }
        let found = demangled(&name);
        assert_eq!(found.is_some(), is_short, "{name}: {found:?}");
    }
    // Each letter stands for a long word.
    let words = format!("$s1000{}0{}A0V", "a".repeat(1000), "a".repeat(30_000));
    assert_eq!(demangled(&words), None);
    for text in ["$sA2048a", "$sS999999999999i", "$s1aS2000iA2000a2000B"] {
        assert_eq!(demangled(text), None);
    }
}

#[test]
fn what_nests_too_deep_or_is_damaged_is_none() {
    for (before, repeated, after) in [
        ("$sSi", "Sg", ""),
        ("$sSi", "m", ""),
        ("$sx", "_t", ""),
        ("$s1a", "1bV", ""),
        ("$sy", "yc", ""),
        ("$s1a1byyF", "yycfU_", ""),
        ("$s1a1b", "L_", "yyF"),
        ("$s1a1byyF", "TA", ""),
    ] {
        let name = format!("{before}{}{after}", repeated.repeat(20_000));
        assert_eq!(demangled(&name), None, "{before}{repeated}{after}");
    }
    for (name, _) in names() {
        for end in 0..name.len() {
            let _ = demangled(&name[..end]);
            for letter in ["A", "G", "S", "_", "y", "t", "T", "9"] {
                let _ = demangled(&format!("{}{letter}{}", &name[..end], &name[end..]));
            }
            let mut bytes = name.as_bytes().to_vec();
            for flip in [1, 2, 4, 8, 16, 32, 64] {
                bytes[end] ^= flip;
                let _ = std::str::from_utf8(&bytes).map(demangled);
                bytes[end] ^= flip;
            }
        }
    }
}

proptest::proptest! {
    /// Whatever letters come, a name ends, and is no longer than names may become.
    #[test]
    fn letters_of_any_order_make_a_short_name_or_none(
        text in "[A-Za-z_]{0,40}", numbers in "[0-9a-zA-Z_]{0,60}",
    ) {
        for name in [format!("$s{text}"), format!("$s1a{text}{numbers}"), format!("_T0{numbers}")] {
            let found = demangled(&name);
            proptest::prop_assert!(found.is_none_or(|found| found.len() <= 1 << 14));
        }
    }
}
