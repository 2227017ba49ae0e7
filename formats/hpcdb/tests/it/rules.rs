//! A sample for every rule of `check`: one change to a database that was put together by hand, and
//! the byte that is named then. `testdata/README.md` says how it is laid out.

use crate::support;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use bytes::Bytes;
use kymo_conformance::testdata;
#[cfg(unix)]
use kymo_core::bytes::Limits;
use kymo_core::{Context, Finding, Severity, Source};
use kymo_hpcdb::HpcDb;
use kymo_model::Format;

/// What is written where in which file, and what is found: rule, file, byte.
struct Case {
    file: &'static str,
    at: usize,
    bytes: &'static [u8],
    found: &'static [(&'static str, &'static str, u64)],
}

const fn case(
    file: &'static str,
    at: usize,
    bytes: &'static [u8],
    found: &'static [(&'static str, &'static str, u64)],
) -> Case {
    Case { file, at, bytes, found }
}

const SEVEN: &[u8] = &7.0_f64.to_le_bytes();

const ONE: &[u8] = &1.0_f64.to_le_bytes();

const CASES: &[Case] = &[
    // The children of `main` reach beyond the end.
    case(
        "meta.db",
        0x2A0,
        &[0xFF, 0xFF],
        &[
            ("unreadable", "meta.db", 0x2A0),
            // `main` itself is not listed then: its first value comes first.
            ("unlisted-context", "profile.db", 0x10A),
            ("context-unknown", "trace.db", 0x70),
        ],
    ),
    // The footer.
    case("trace.db", 0x88, b"_", &[("unreadable", "trace.db", 0x88)]),
    // Another major version.
    case("trace.db", 0x0E, &[5], &[("file-unreadable", "trace.db", 0x0E)]),
    case("cct.db", 0x0A, b"m", &[("file-unreadable", "cct.db", 0)]),
    // Section Strings reaches into Modules.
    case("meta.db", 0x50, &[0x40], &[("section-overlap", "meta.db", 0x50)]),
    // Section IdTuples begins within the header; its tuples are elsewhere.
    case(
        "profile.db",
        0x28,
        &[0x28],
        &[
            ("section-overlap", "profile.db", 0x20),
            ("section-overlap", "profile.db", 0x20),
            ("section-bounds", "profile.db", 0x70),
            ("section-bounds", "profile.db", 0xA0),
        ],
    ),
    // Section General ends before the title does.
    case(
        "meta.db",
        0x10,
        &[0x14],
        &[("section-bounds", "meta.db", 0x90), ("section-bounds", "meta.db", 0x98)],
    ),
    // The path of the module is not in section Strings, but within the metrics.
    case("meta.db", 0x200, &[0xB0, 0x01], &[("section-bounds", "meta.db", 0x1F8)]),
    // The path of the module is no UTF-8.
    case("meta.db", 0x1CA, &[0xFF], &[("text-encoding", "meta.db", 0x1CA)]),
    // Section Context ends before its entry point.
    case("meta.db", 0x40, &[0x68], &[("section-bounds", "meta.db", 0x260)]),
    // The list of traces reaches beyond its section.
    case("trace.db", 0x10, &[0x40], &[("section-bounds", "trace.db", 0x20)]),
    // The section reaches over the values and indexes of two contexts.
    case(
        "cct.db",
        0x10,
        &[0xF8],
        &[
            ("section-bounds", "cct.db", 0x60),
            ("section-bounds", "cct.db", 0x60),
            ("section-bounds", "cct.db", 0x80),
            ("section-bounds", "cct.db", 0x80),
        ],
    ),
    // The index of the last profile is that of the one before.
    case("profile.db", 0xB8, &[0x8C, 0x01], &[("array-overlap", "profile.db", 0xA0)]),
    // The last sample of the first thread is one of the second too.
    case(
        "trace.db",
        0x60,
        &[0x7C],
        &[("alignment", "trace.db", 0x58), ("array-overlap", "trace.db", 0x58)],
    ),
    // The values of the last profile begin at an odd byte.
    case(
        "profile.db",
        0xA8,
        &[0xB1],
        &[
            ("alignment", "profile.db", 0xA0),
            ("metric-unknown", "profile.db", 0x1B1),
            ("metric-unknown", "profile.db", 0x1BB),
            ("metric-unknown", "profile.db", 0x1C5),
            ("metric-unknown", "profile.db", 0x1CF),
            ("metric-unknown", "profile.db", 0x1D9),
            ("summary-sum", "profile.db", 0x100),
            ("summary-sum", "profile.db", 0x10A),
            ("summary-sum", "profile.db", 0x114),
            ("summary-sum", "profile.db", 0x11E),
            ("summary-sum", "profile.db", 0x128),
            ("value-order", "profile.db", 0x1C5),
            ("value-order", "profile.db", 0x1D9),
            ("transpose", "cct.db", 0xCC),
            ("transpose", "cct.db", 0xF0),
            ("transpose", "cct.db", 0x108),
            ("transpose", "cct.db", 0x134),
            ("transpose", "cct.db", 0x14C),
        ],
    ),
    // Both kinds of values of threads have the id 1.
    case(
        "meta.db",
        0x150,
        &[1],
        &[
            ("metric-id", "meta.db", 0x148),
            ("metric-unknown", "profile.db", 0x158),
            ("metric-unknown", "profile.db", 0x16C),
            ("metric-unknown", "profile.db", 0x180),
            ("metric-unknown", "profile.db", 0x1B0),
            ("metric-unknown", "profile.db", 0x1C4),
            ("metric-unknown", "profile.db", 0x1D8),
            ("metric-unknown", "cct.db", 0xC0),
            ("metric-unknown", "cct.db", 0xCC),
            ("metric-unknown", "cct.db", 0xFC),
            ("metric-unknown", "cct.db", 0x108),
            ("metric-unknown", "cct.db", 0x140),
            ("metric-unknown", "cct.db", 0x14C),
            ("summary-sum", "profile.db", 0x100),
            // What is called inclusive is exclusive then, and the entry point has none of it.
            ("tree-sum", "profile.db", 0x70),
            ("tree-sum", "profile.db", 0xA0),
        ],
    ),
    // Both kinds of sums have the id 1.
    case(
        "meta.db",
        0x182,
        &[1],
        &[
            ("metric-id", "meta.db", 0x170),
            ("metric-unknown", "profile.db", 0x100),
            ("metric-unknown", "profile.db", 0x114),
            ("metric-unknown", "profile.db", 0x128),
            ("summary-sum", "profile.db", 0x40),
            ("tree-sum", "profile.db", 0x40),
        ],
    ),
    // The module of the function, its file, and those of contexts.
    case("meta.db", 0x240, &[0xF0, 0x01], &[("pointer", "meta.db", 0x238)]),
    case("meta.db", 0x250, &[0x10, 0x02], &[("pointer", "meta.db", 0x238)]),
    case("meta.db", 0x290, &[0x10, 0x02], &[("pointer", "meta.db", 0x270)]),
    case("meta.db", 0x2C0, &[0x30, 0x02], &[("pointer", "meta.db", 0x2A0)]),
    // The line has the number of the function above it.
    case(
        "meta.db",
        0x280,
        &[2],
        &[
            ("context-id", "meta.db", 0x270),
            ("unlisted-context", "profile.db", 0x11E),
            ("context-unknown", "trace.db", 0x70),
        ],
    ),
    case(
        "meta.db",
        0x280,
        &[0],
        &[
            ("context-id", "meta.db", 0x270),
            ("unlisted-context", "profile.db", 0x11E),
            ("context-unknown", "trace.db", 0x70),
        ],
    ),
    // It has a number without values: those of number 3 are not listed any more.
    case(
        "meta.db",
        0x280,
        &[7],
        &[("unlisted-context", "profile.db", 0x11E), ("context-unknown", "trace.db", 0x70)],
    ),
    // The first profile does not say that it is the summary; then it has to have identifiers.
    case(
        "profile.db",
        0x68,
        &[0],
        &[("summary-first", "profile.db", 0x40), ("id-tuple", "profile.db", 0x40)],
    ),
    case("profile.db", 0x90, &[0], &[("id-tuple", "profile.db", 0x70)]),
    // The second entry of an index is of the same context as the first.
    case(
        "profile.db",
        0x198,
        &[1],
        &[("context-index", "profile.db", 0x198), ("value-order", "profile.db", 0x162)],
    ),
    // Metrics 3, 1 instead of 1, 3.
    case(
        "profile.db",
        0x162,
        &[3, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 1],
        &[("value-order", "profile.db", 0x16C)],
    ),
    // Profiles 2, 2 instead of 1, 2.
    case("cct.db", 0xC0, &[2], &[("value-order", "cct.db", 0xCC), ("transpose", "cct.db", 0xC0)]),
    case("cct.db", 0xCC, &[9], &[("profile-unknown", "cct.db", 0xCC)]),
    case("trace.db", 0x58, &[9], &[("profile-unknown", "trace.db", 0x58)]),
    case(
        "profile.db",
        0x15A,
        &[0; 8],
        &[
            ("zero-value", "profile.db", 0x158),
            ("summary-sum", "profile.db", 0x100),
            ("tree-sum", "profile.db", 0x70),
            ("transpose", "cct.db", 0xC0),
        ],
    ),
    // The main thread has 7 in the summary instead of 5; then less is below it.
    case("profile.db", 0x102, SEVEN, &[("summary-sum", "profile.db", 0x100)]),
    // The function has 1 with all that it called, and the line in it 5.
    case(
        "profile.db",
        0x116,
        &[0, 0, 0, 0, 0, 0, 0xF0, 0x3F],
        &[("summary-sum", "profile.db", 0x114), ("tree-sum", "profile.db", 0x40)],
    ),
    // The summary has no values of the line, and the threads have 5 in both kinds.
    case(
        "profile.db",
        0x40,
        &[3, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 2],
        &[("summary-sum", "profile.db", 0x40), ("summary-sum", "profile.db", 0x40)],
    ),
    // The first thread has 1 in the function itself, and 2 in the line within it.
    case(
        "profile.db",
        0x164,
        ONE,
        &[
            ("summary-sum", "profile.db", 0x10A),
            ("tree-sum", "profile.db", 0x70),
            ("transpose", "cct.db", 0xE4),
        ],
    ),
    // The line has 7 itself in the summary, and 5 with all that it called.
    case(
        "profile.db",
        0x120,
        SEVEN,
        &[
            ("summary-sum", "profile.db", 0x11E),
            // The line, and the function above it, which has 5.
            ("tree-sum", "profile.db", 0x40),
            ("tree-sum", "profile.db", 0x40),
        ],
    ),
    // What the entry point has in the summary is that of context 0, and there is no entry point's:
    // what is below it is more than it has. Threads have nothing for the whole then.
    case(
        "profile.db",
        0x134,
        &[0],
        &[
            ("summary-sum", "profile.db", 0x100),
            ("summary-sum", "profile.db", 0x40),
            ("tree-sum", "profile.db", 0x40),
            ("tree-sum", "profile.db", 0x70),
            ("tree-sum", "profile.db", 0xA0),
        ],
    ),
    // A value that is no number.
    case(
        "profile.db",
        0x15A,
        &[0, 0, 0, 0, 0, 0, 0xF8, 0x7F],
        &[
            ("not-a-number", "profile.db", 0x158),
            ("summary-sum", "profile.db", 0x100),
            ("transpose", "cct.db", 0xC0),
        ],
    ),
    // Values of a context with a number that none of three can have, instead of the line's.
    case(
        "profile.db",
        0x1A4,
        &[0xFF, 0xFF, 0xFF, 0x7F],
        &[
            ("context-unknown", "profile.db", 0x176),
            ("summary-sum", "profile.db", 0x11E),
            ("summary-sum", "profile.db", 0x128),
            ("summary-sum", "profile.db", 0x40),
            ("summary-sum", "profile.db", 0x40),
            ("transpose", "cct.db", 0x128),
            ("transpose", "cct.db", 0x140),
        ],
    ),
    // The first thread is named by a kind that has no name.
    case("profile.db", 0xD8, &[9], &[("id-tuple", "profile.db", 0x70)]),
    // The index of the first context begins with the second value.
    case(
        "cct.db",
        0xDA,
        &[1],
        &[
            ("metric-index", "cct.db", 0xD8),
            ("unreadable", "cct.db", 0xD8),
            ("transpose", "cct.db", 0x40),
        ],
    ),
    // A scope of the metric is a module, a formula and the name of a scope are texts of others, and
    // so is the name of the entry point.
    case("meta.db", 0x138, &[0xF8, 0x01], &[("pointer", "meta.db", 0x138)]),
    case("meta.db", 0x160, &[0xC8, 0x01], &[("section-bounds", "meta.db", 0x158)]),
    case("meta.db", 0x188, &[0xC8, 0x01], &[("section-bounds", "meta.db", 0x188)]),
    case("meta.db", 0x2E0, &[0xA8, 0x01], &[("section-bounds", "meta.db", 0x2C8)]),
    // A file that is called a copy, and does not lie where copies are.
    case("meta.db", 0x218, &[1], &[("source-path", "meta.db", 0x218)]),
    // The summary has a trace; a trace is a byte too short.
    case("trace.db", 0x40, &[0], &[("trace-profile", "trace.db", 0x40)]),
    // Then it has no sample at 200, up to which the header says that there are some.
    case(
        "trace.db",
        0x50,
        &[0x87],
        &[("trace-size", "trace.db", 0x40), ("trace-moments", "trace.db", 0x20)],
    ),
    case("trace.db", 0x58, &[1], &[("trace-twice", "trace.db", 0x58)]),
    // The first sample is at a time that is none, after the second.
    case(
        "trace.db",
        0x77,
        &[0x80],
        &[
            ("trace-time", "trace.db", 0x70),
            ("trace-moments", "trace.db", 0x20),
            ("trace-order", "trace.db", 0x7C),
        ],
    ),
    // There are no entry points, and values of what they would lead to.
    case(
        "meta.db",
        0x268,
        &[0],
        &[
            ("no-contexts", "meta.db", 0x260),
            ("unlisted-context", "profile.db", 0x100),
            ("context-unknown", "trace.db", 0x70),
        ],
    ),
    // The first sample is at 300, after the second and beyond what the header says.
    case(
        "trace.db",
        0x70,
        &[0x2C, 1],
        &[("trace-moments", "trace.db", 0x20), ("trace-order", "trace.db", 0x7C)],
    ),
];

fn with(case: &Case) -> Source {
    support::patched(case.file, &[(case.at, case.bytes)])
}

fn with_taxonomy(text: &'static str) -> Source {
    let taxonomy = ("metrics/default.yaml", Bytes::from(text));
    let files = support::files("tiny", |_, bytes| Some(bytes));
    Source::from_files("tiny", files.into_iter().chain([taxonomy]))
}

fn findings(source: &Source) -> Vec<Finding> {
    HpcDb.check(source, &Context::default()).unwrap()
}

fn found(source: &Source) -> Vec<(String, String, u64)> {
    let found = findings(source).into_iter().map(|one| {
        (one.rule.to_owned(), one.file.unwrap_or_default(), one.offset.unwrap_or(u64::MAX))
    });
    found.collect()
}

#[test]
fn what_was_put_together_by_hand_is_sound() {
    assert_eq!(found(&support::patched("", &[])), []);
    assert_eq!(found(&with_taxonomy("version: 0\n")), []);
}

#[test]
fn each_rule_names_the_byte() {
    for case in CASES {
        let mut expected: Vec<_> = case.found.iter().collect();
        expected.sort();
        let mut found = found(&with(case));
        found.sort();
        // What one fault leads to may be nothing that can be read, and another sum, besides.
        let is_told = |one: &(String, String, u64)| {
            case.found.contains(&(one.0.as_str(), one.1.as_str(), one.2))
        };
        found.retain(|one| {
            let is_other_sum = one.0 == "summary-sum" && one.1 == "cct.db";
            is_told(one) || !(one.0 == "unreadable" || is_other_sum)
        });
        let found: Vec<_> =
            found.iter().map(|(rule, file, at)| (rule.as_str(), file.as_str(), *at)).collect();
        let expected: Vec<_> = expected.into_iter().copied().collect();
        assert_eq!(found, expected, "{} at {:#x}", case.file, case.at);
    }
}

#[test]
fn the_header_of_traces_may_hold_too_little_or_too_much() {
    let less = case("trace.db", 0x38, &[150], &[]);
    let only = |case: &Case| {
        let found = findings(&with(case));
        let [finding] = found.as_slice() else { panic!("{found:?}") };
        (finding.rule, finding.severity)
    };
    assert_eq!(only(&less), ("trace-moments", Severity::Warning));
    // Moments are those of all samples, also of such as hpcprof leaves out.
    let more = [case("trace.db", 0x30, &[50], &[]), case("trace.db", 0x38, &[0x84, 3], &[])];
    for more in more {
        assert_eq!(only(&more), ("trace-moments", Severity::Note));
    }
    // Samples at 300 and 200, of which the header says 100 to 200.
    let back = case("trace.db", 0x70, &[0x2C, 1], &[]);
    let found = findings(&with(&back));
    let moments = found.iter().find(|finding| finding.rule == "trace-moments").unwrap();
    assert_eq!(moments.severity, Severity::Warning);
    assert_eq!(moments.message, "samples are from 200 to 300, the header says 100 to 200");
}

fn unreadable_taxonomy() -> (String, String, u64) {
    ("taxonomy".to_owned(), "metrics/default.yaml".to_owned(), u64::MAX)
}

#[test]
fn a_taxonomy_that_cannot_be_read_is_told() {
    for text in ["version: 7\n", "inputs: [{metric: a}]\n", "a: [\n"] {
        assert_eq!(found(&with_taxonomy(text)), [unreadable_taxonomy()], "{text}");
    }
}

/// What leads to itself cannot be opened.
#[cfg(unix)]
#[test]
fn a_taxonomy_that_cannot_be_opened_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in support::files("tiny", |_, bytes| Some(bytes)) {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    std::fs::create_dir(folder.path().join("metrics")).unwrap();
    let taxonomy = folder.path().join("metrics/default.yaml");
    std::os::unix::fs::symlink("default.yaml", taxonomy).unwrap();
    let source = Source::open(folder.path(), &Limits::default()).unwrap();
    assert_eq!(found(&source), [unreadable_taxonomy()]);
    let dataset = HpcDb.open(&source, &Context::default()).unwrap();
    assert!(dataset.findings().iter().any(|finding| finding.rule == "taxonomy"));
}

/// Aliases make a metric of each of two below another, thirty times: that is a milliard of them.
#[test]
fn a_taxonomy_that_makes_very_many_metrics_of_few_is_refused() {
    let mut text = "version: 0\nroots:\n- &m0 {name: a}\n".to_owned();
    for level in 1..30 {
        let below = level - 1;
        writeln!(text, "- &m{level} {{name: b, children: [*m{below}, *m{below}]}}").unwrap();
    }
    assert_eq!(found(&with_taxonomy(text.leak())), [unreadable_taxonomy()]);
}

#[test]
fn copies_of_sources_that_are_not_there_are_told() {
    let files = |with: bool| {
        let files = support::files("tiny", |name, mut bytes| {
            if name == "meta.db" {
                // Instead of `/bin/t` and `/a.c`.
                bytes[0x1C8..0x1D4].copy_from_slice(b"/t\0src/a.c\0\0");
                bytes[0x220] = 0xCB;
                bytes[0x218] = 1;
            }
            Some(bytes)
        });
        let copy = with.then(|| ("src/a.c", Bytes::from("int main;")));
        Source::from_files("tiny", files.into_iter().chain(copy))
    };
    let expected = ("source-missing".to_owned(), "meta.db".to_owned(), 0x218);
    assert_eq!(found(&files(false)), [expected]);
    assert_eq!(found(&files(true)), []);
}

/// Rules that the page lists have a sample here, and the other way round.
#[test]
fn every_rule_of_the_page_has_a_sample() {
    let page = testdata("../docs/formats/hpcdb.md");
    let page = std::fs::read_to_string(Path::new(&page)).unwrap();
    let rules = page.split("## Rules of `kymo check`").nth(1).unwrap();
    let rules = rules.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let listed: BTreeSet<_> = rules.collect();
    let mut tried: BTreeSet<_> =
        CASES.iter().flat_map(|case| case.found).map(|(rule, ..)| *rule).collect();
    // Those that no change of a byte brings about have tests of their own.
    tried.extend(["taxonomy", "file-missing", "source-missing", "long-text"]);
    assert_eq!(tried, listed);
}

/// Newer versions within the major one, and kinds that are not known, are read.
#[test]
fn what_is_newer_is_read() {
    for file in support::FILES {
        assert_eq!(found(&support::patched(file, &[(0x0F, &[9])])), [], "{file}");
    }
    // A relation, a lexical type, a kind of entry point, a type of scope, reserved flags, gaps.
    for (at, bytes) in [
        (0x2B5, &[9][..]),
        (0x286, &[9]),
        (0x2DC, &[9]),
        (0x190, &[9]),
        (0x1F8, &[0xFF; 8]),
        (0x25C, &[0xFF; 4]),
        (0x2A0 + 0x1A, &[0xFF; 6]),
    ] {
        assert_eq!(found(&support::patched("meta.db", &[(at, bytes)])), [], "{at:#x}");
    }
}
