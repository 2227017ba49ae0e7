//! Databases whose files do not quite fit each other: what was measured outside of all entry points,
//! lists that are too short, records that cannot be read. Nothing is left out without a word.

use crate::support::{changed, patched};
use kymo_core::{Context, Finding, Severity, Source};
use kymo_hpcdb::HpcDb;
use kymo_model::profile::{
    Column, Detail, FlatGrouping, MetricId, MetricQuery, MetricScope, NamePattern, ProfileView,
    SpentScope, Step, ThreadId, ThreadSet, TopRows, Walk, bottom_up, flat, flat_most, per_thread,
    top_down,
};
use kymo_model::timeline::{TimeNs, Window};
use kymo_model::{Dataset, Format};

fn open(source: &Source) -> Box<dyn Dataset> {
    HpcDb.open(source, &Context::default()).unwrap()
}

type Row = (String, f64, f64);

/// What a flat profile has: names, what they spent with all that they called, and themselves.
fn rows(view: &dyn ProfileView, by: FlatGrouping, threads: Option<&ThreadSet>) -> Vec<Row> {
    let question = MetricQuery { view, metric: MetricId(0), threads };
    let rows = flat(&question, by).unwrap().rows.into_iter();
    let mut rows: Vec<_> = rows.map(|row| (row.label, row.inclusive, row.exclusive)).collect();
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    rows
}

fn row(name: &str, inclusive: f64, exclusive: f64) -> Row {
    (name.to_owned(), inclusive, exclusive)
}

/// A value: its context, the id of its metric, and how much.
type Value = (u32, u16, f64);

/// `profile.db` of the tiny sample with other values.
fn with_values(mut bytes: Vec<u8>, profiles: &[Vec<Value>]) -> Vec<u8> {
    bytes.truncate(0x100);
    for (record, values) in profiles.iter().enumerate() {
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        let first = bytes.len() as u64;
        for (_, metric, value) in values {
            bytes.extend(metric.to_le_bytes());
            bytes.extend(value.to_le_bytes());
        }
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        let (index, mut entries) = (bytes.len() as u64, 0_u64);
        for (at, (context, ..)) in (0_u64..).zip(values) {
            if at == 0 || values[usize::try_from(at).unwrap() - 1].0 != *context {
                bytes.extend(context.to_le_bytes());
                bytes.extend(at.to_le_bytes());
                entries += 1;
            }
        }
        let fields = [values.len() as u64, first, entries, index];
        for (field, value) in fields.into_iter().enumerate() {
            let at = 0x40 + 48 * record + 8 * field;
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
    }
    bytes.extend(b"_prof.db");
    bytes
}

/// All of it below the entry point; context 0 has so much.
fn spent(whole: f64, below: f64) -> Vec<Value> {
    let tree = [(1, 3), (2, 1), (2, 3), (3, 1), (3, 3)];
    let tree = tree.into_iter().map(|(context, metric)| (context, metric, below));
    let tree = tree.filter(|(.., value)| *value != 0.0);
    [(0, 3, whole)].into_iter().chain(tree).collect()
}

/// The whole has 9 of which the entry point has 5; the threads 4 and 2 of it, and 5 and 3.
fn more_than_entries() -> Source {
    changed("tiny", |name, bytes| match name {
        "profile.db" => {
            Some(with_values(bytes, &[spent(9.0, 5.0), spent(4.0, 2.0), spent(5.0, 3.0)]))
        }
        "cct.db" => None,
        _ => Some(bytes),
    })
}

/// What is wrong but that there is no `cct.db`.
fn checked(source: &Source) -> Vec<Finding> {
    let mut found = HpcDb.check(source, &Context::default()).unwrap();
    found.retain(|finding| finding.rule != "file-missing");
    found
}

#[test]
fn what_was_measured_outside_of_all_entry_points_is_shown() {
    let source = more_than_entries();
    let dataset = open(&source);
    let view = dataset.profile().unwrap();
    let expected =
        [row("<main thread>", 5.0, 0.0), row("<no activity>", 4.0, 4.0), row("main", 5.0, 5.0)];
    assert_eq!(rows(view.as_ref(), FlatGrouping::Function, None), expected);
    let first: ThreadSet = [ThreadId(0)].into_iter().collect();
    let expected =
        [row("<main thread>", 2.0, 0.0), row("<no activity>", 2.0, 2.0), row("main", 2.0, 2.0)];
    assert_eq!(rows(view.as_ref(), FlatGrouping::Function, Some(&first)), expected);
    let question = MetricQuery { view: view.as_ref(), metric: MetricId(0), threads: None };
    assert_eq!(per_thread(&question, SpentScope::All).unwrap(), [4.0, 5.0]);
    assert_eq!(question.total().unwrap().to_string(), "9");
    let tree = top_down(&question, Detail::Functions, 9).unwrap();
    assert_eq!(tree.total.to_string(), "9");
    // hpcprof puts there what was measured while nothing went on.
    assert_eq!(dataset.findings(), []);
    assert_eq!(checked(&source), [] as [Finding; 0]);
}

#[test]
fn a_whole_that_has_less_than_its_entry_points_is_told() {
    let source = changed("tiny", |name, bytes| match name {
        "profile.db" => {
            Some(with_values(bytes, &[spent(9.0, 9.0), spent(4.0, 4.0), spent(4.5, 5.0)]))
        }
        "cct.db" => None,
        _ => Some(bytes),
    });
    let found = HpcDb.check(&source, &Context::default()).unwrap();
    let found = found.iter().filter(|one| one.rule == "tree-sum").map(|one| one.message.as_str());
    let why = "context 0 has in profile 2 4.5, execution, and entry points 5";
    assert_eq!(found.collect::<Vec<_>>(), [why]);
}

#[test]
fn a_database_without_values_below_the_whole_is_shown_as_one_entry() {
    let source = changed("tiny", |name, bytes| match name {
        "profile.db" => {
            Some(with_values(bytes, &[spent(9.0, 0.0), spent(4.0, 0.0), spent(5.0, 0.0)]))
        }
        "cct.db" => None,
        _ => Some(bytes),
    });
    let view = open(&source).profile().unwrap();
    assert_eq!(rows(view.as_ref(), FlatGrouping::Function, None), [row("<no activity>", 9.0, 9.0)]);
    let found = HpcDb.check(&source, &Context::default()).unwrap();
    assert_eq!(found.iter().filter(|one| one.rule == "tree-sum").count(), 0, "{found:?}");
}

#[test]
fn a_value_of_the_whole_that_is_not_execution_is_told() {
    let with = |whole: f64| {
        let mut values = spent(whole, whole);
        values.insert(0, (0, 1, whole));
        values
    };
    let source = changed("tiny", |name, bytes| match name {
        "profile.db" => Some(with_values(bytes, &[with(5.0), with(2.0), with(3.0)])),
        "cct.db" => None,
        _ => Some(bytes),
    });
    let found = checked(&source);
    let found: Vec<_> = found.iter().map(|one| one.message.as_str()).collect();
    let end = "function: the whole has execution values alone";
    assert!(found.len() == 3 && found.iter().all(|one| one.ends_with(end)), "{found:?}");
}

/// The threads spent 2 and 3, of which `cct.db` has 2 and 4.
#[test]
fn values_by_context_of_another_database_are_told() {
    let source = patched("cct.db", &[(0xD0, &4.0_f64.to_le_bytes())]);
    let dataset = open(&source);
    let view = dataset.profile().unwrap();
    let question = MetricQuery { view: view.as_ref(), metric: MetricId(0), threads: None };
    assert_eq!(dataset.findings(), []);
    // The summary is what counts where all threads are asked for.
    assert_eq!(rows(view.as_ref(), FlatGrouping::Line, None), [row("a.c:7", 5.0, 5.0)]);
    let findings = dataset.findings();
    assert_eq!(per_thread(&question, SpentScope::All).unwrap(), [2.0, 4.0]);
    assert_eq!(dataset.findings(), findings);
    let [finding] = findings.as_slice() else { panic!("{findings:?}") };
    assert_eq!((finding.rule, finding.severity), ("summary-sum", Severity::Warning));
    let said = "threads come to 6 in context 1, and the summary of profile.db has 5: do the files \
                belong together?";
    assert_eq!(finding.message, said);
}

/// `cct.db` lists three of four contexts: the values of the last are those of `profile.db`.
#[test]
fn a_list_of_contexts_that_is_too_short_is_told_and_nothing_is_lost() {
    let source = patched("cct.db", &[(0x38, &[3])]);
    let dataset = open(&source);
    let view = dataset.profile().unwrap();
    let first: ThreadSet = [ThreadId(0)].into_iter().collect();
    assert_eq!(rows(view.as_ref(), FlatGrouping::Line, Some(&first)), [row("a.c:7", 2.0, 2.0)]);
    let findings = dataset.findings();
    let [finding] = findings.as_slice() else { panic!("{findings:?}") };
    assert_eq!((finding.file.as_deref(), finding.offset), (Some("cct.db"), Some(0x40)));
}

/// The children of `main` lie beyond the end of the file.
#[test]
fn salvage_goes_on_past_a_record_that_cannot_be_read() {
    let source = patched("meta.db", &[(0x2A0, &[0xFF, 0xFF])]);
    let view = open(&source).profile().unwrap();
    let question = MetricQuery { view: view.as_ref(), metric: MetricId(0), threads: None };
    assert!(flat(&question, FlatGrouping::Function).is_err());
    let dataset = HpcDb.salvage(&source, &Context::default()).unwrap();
    let view = dataset.profile().unwrap();
    assert_eq!(rows(view.as_ref(), FlatGrouping::Function, None), [row("<main thread>", 5.0, 0.0)]);
    let findings = dataset.findings();
    let [finding] = findings.as_slice() else { panic!("{findings:?}") };
    assert_eq!((finding.rule, finding.offset), ("unreadable", Some(0x2A0)));
}

/// Sums over some threads are the same whether `cct.db` is there or each profile is read.
#[test]
fn without_values_by_context_those_by_profile_are_summed_up() {
    let whole = open(&changed("matmul-omp", |_, bytes| Some(bytes))).profile().unwrap();
    let without = changed("matmul-omp", |name, bytes| (name != "cct.db").then_some(bytes));
    let without = open(&without).profile().unwrap();
    let columns = MetricScope::ALL.map(|reach| Column { metric: MetricId(0), reach });
    for threads in [&[0, 1, 3][..], &[2], &[0, 1, 2, 3]] {
        let threads: ThreadSet = threads.iter().copied().map(ThreadId).collect();
        for step in Walk::new(whole.as_ref()).unwrap() {
            let Step::Enter(context, _) = step.unwrap() else { continue };
            let sums = [&whole, &without].map(|view| {
                let mut sums = [0.0; 4];
                view.sums(&context, &columns, Some(&threads), &mut sums).unwrap();
                sums
            });
            for (one, other) in sums[0].iter().zip(sums[1]) {
                assert!((one - other).abs() <= 1e-12, "{context:?}: {sums:?}");
            }
        }
    }
    let [multiply, cosine] =
        ["multiply._omp_fn.0", "do_cos"].map(|name| NamePattern::new(name).unwrap());
    for function in [None, Some(&multiply), Some(&cosine)] {
        let spent = [&whole, &without].map(|view| {
            let question = MetricQuery { view: view.as_ref(), metric: MetricId(0), threads: None };
            per_thread(&question, function.map_or(SpentScope::All, SpentScope::Function)).unwrap()
        });
        for (one, other) in spent[0].iter().zip(&spent[1]) {
            assert!((one - other).abs() <= 1e-12, "{function:?}: {spent:?}");
        }
    }
}

/// What reports say is odd of a database without `cct.db`: a flat profile, a tree, and callers.
fn said(source: &Source) -> [Option<String>; 3] {
    let dataset = open(source);
    let view = dataset.profile().unwrap();
    let question = MetricQuery { view: view.as_ref(), metric: MetricId(0), threads: None };
    let most = TopRows { number: Some(1), is_inclusive: false };
    [
        flat_most(&question, FlatGrouping::Function, most).unwrap().odd,
        top_down(&question, Detail::Functions, 9).unwrap().odd,
        bottom_up(&question, None, 9, 0.5).unwrap().odd,
    ]
}

/// Of the entry point, of `main` itself, and of it with all that it called: every report says that one
/// of them is no number, and none that both are the same as others.
#[test]
fn what_is_infinite_or_no_number_is_said() {
    for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for place in 1..4 {
            let source = changed("tiny", |name, bytes| {
                let mut summary = spent(5.0, 5.0);
                summary[place].2 = odd;
                let threads = [spent(2.0, 2.0), spent(3.0, 3.0)];
                let values = [summary].into_iter().chain(threads).collect::<Vec<_>>();
                match name {
                    "profile.db" => Some(with_values(bytes, &values)),
                    "cct.db" => None,
                    _ => Some(bytes),
                }
            });
            for said in said(&source) {
                let said = said.unwrap_or_default();
                assert!(said.ends_with("has a value that is infinite, or no number"), "{said}");
            }
        }
    }
}

/// What `multiply` spent with all that it called has the id of another metric: it has nothing then,
/// and what it called has all of it.
#[test]
fn what_spent_more_than_what_called_it_is_said() {
    let source = changed("matmul-omp", |name, mut bytes| {
        if name == "profile.db" {
            bytes[0x2272] = 7;
        }
        Some(bytes)
    });
    let [flat, ..] = said(&source);
    assert!(flat.is_some_and(|flat| flat.ends_with(" spent more than what called it")));
    let sound = changed("matmul-omp", |_, bytes| Some(bytes));
    assert_eq!(said(&sound), [None, None, None]);
}

/// Samples at 300 and 200: one from 250 on is looked for behind both, and found before.
#[test]
fn of_a_trace_that_goes_back_in_time_a_range_lacks_nothing() {
    let dataset = open(&patched("trace.db", &[(0x70, &300_u64.to_le_bytes())]));
    let window = Window { from: Some(TimeNs(250)), ..Window::default() };
    let mut events = dataset.timeline().unwrap().events(&window).unwrap();
    let mut times = Vec::new();
    while let Some(event) = events.next().unwrap() {
        times.push(event.time.unwrap().0);
    }
    assert_eq!(times, [300]);
    let findings = dataset.findings();
    let [finding] = findings.as_slice() else { panic!("{findings:?}") };
    assert_eq!((finding.file.as_deref(), finding.offset), (Some("trace.db"), Some(0x7C)));
    assert_eq!(finding.message, "timestamp: goes back in time");
}
