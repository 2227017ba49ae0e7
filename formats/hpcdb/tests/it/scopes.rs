//! Metrics that are measured in some scopes only: every report shows what there is, and nothing else.

use crate::made::{Block, Made, Meta, context, profile, source};
use kymo_core::{Context, Source};
use kymo_hpcdb::HpcDb;
use kymo_model::Format;
use kymo_model::profile::{
    Detail, FlatGrouping, FlatRow, MetricId, MetricQuery, PathTree, ProfileView, SpentScope,
    ThreadId, ThreadSet, TopRows, bottom_up, flat_most, per_thread, top_down,
};

/// A scope, its word in the file, and the id of its values.
const SCOPES: [(&str, u64, u16); 4] =
    [("point", 0xFF01, 0), ("function", 3, 1), ("lex_aware", 0x0103, 2), ("execution", 0xFF02, 3)];

/// A metric in some of the scopes.
fn metric_in(to: &mut Made, scopes: &[usize]) {
    let at = to.at();
    let count = scopes.len() as u64;
    let instances = at + 0x40;
    let sums = instances + 16 * count;
    let list = sums + 24 * count;
    let texts = list + 16 * count;
    let number = u16::try_from(count).unwrap();
    to.u64(at + 0x20).u32(1).raw(&[32, 16, 24, 0]).u64(list).u16(number).raw(&[16, 0, 0, 0, 0, 0]);
    to.u64(texts).u64(instances).u64(sums).u16(number).u16(number).u32(0);
    let place = |index: usize| list + 16 * index as u64;
    for (index, scope) in scopes.iter().enumerate() {
        to.u64(place(index)).u64(SCOPES[*scope].2.into());
    }
    for (index, scope) in scopes.iter().enumerate() {
        to.u64(place(index)).u64(texts + 5).u16(0).u16(SCOPES[*scope].2).u32(0);
    }
    let mut name = texts + 8;
    for scope in scopes {
        to.u64(name).u64(SCOPES[*scope].1);
        name += SCOPES[*scope].0.len() as u64 + 1;
    }
    to.raw(b"time\0$$\0");
    for scope in scopes {
        to.raw(SCOPES[*scope].0.as_bytes()).raw(&[0]);
    }
}

/// `foo` spent 1 itself and called `bar`, which spent 2.
fn database(metrics: fn(&mut Made), scopes: &[usize]) -> Source {
    let contexts = |to: &mut Made, functions: u64| {
        let start = to.at();
        context(to, 2, functions, (40, start + 40));
        context(to, 3, functions + 40, (0, 0));
        (40, start)
    };
    let meta = Meta { names: b"foo\0bar\0", functions: &[0, 4], metrics, contexts: &contexts };
    let mut block: Block = (Vec::new(), Vec::new());
    for (number, spent) in [(1, [0.0, 0.0, 0.0, 3.0]), (2, [1.0, 1.0, 1.0, 3.0]), (3, [2.0; 4])] {
        block.1.push((number, block.0.len() as u64));
        let values = scopes.iter().map(|scope| (SCOPES[*scope].2, spent[*scope]));
        block.0.extend(values.filter(|(_, value)| *value != 0.0));
    }
    // A context without a value is not listed.
    let ends = block.1.iter().skip(1).map(|(_, end)| *end).chain([block.0.len() as u64]);
    let is_there: Vec<_> = block.1.iter().zip(ends).map(|((_, start), end)| *start < end).collect();
    let mut is_there = is_there.into_iter();
    block.1.retain(|_| is_there.next().unwrap());
    source([("meta.db", meta.bytes()), ("profile.db", profile(&block, &block, 1, 1))])
}

/// What reports say, in lines.
fn reports(view: &dyn ProfileView, threads: Option<&ThreadSet>) -> Vec<String> {
    let question = MetricQuery { view, metric: MetricId(0), threads };
    let flat =
        flat_most(&question, FlatGrouping::Function, TopRows { number: None, is_inclusive: false })
            .unwrap();
    let row = |row: &FlatRow| format!("top {} {} {}", row.label, row.inclusive, row.exclusive);
    let mut lines: Vec<_> = flat.rows.iter().map(row).collect();
    let tree = top_down(&question, Detail::Loops, 9).unwrap();
    let callers = bottom_up(&question, None, 1, 0.0).unwrap();
    let mut add = |what: &str, tree: &PathTree| {
        lines.extend(tree.nodes.iter().map(|node| {
            format!("{what} {} {} {}", tree.label(node), node.inclusive, node.exclusive)
        }));
    };
    add("tree", &tree);
    add("callers", &callers);
    lines.push(format!("threads {:?}", per_thread(&question, SpentScope::All).unwrap()));
    assert_eq!([flat.odd, tree.odd, callers.odd], [None, None, None]);
    let totals = [flat.total, tree.total, callers.total, question.total().unwrap()];
    assert_eq!((totals, view.totals(threads).unwrap()), ([3.0; 4], vec![3.0]));
    lines
}

fn expect(metrics: fn(&mut Made), scopes: &[usize], expected: &[&str]) {
    let source = database(metrics, scopes);
    let dataset = HpcDb.open(&source, &Context::default()).unwrap();
    let view = dataset.profile().unwrap();
    let first: ThreadSet = [ThreadId(0)].into_iter().collect();
    for threads in [None, Some(&first)] {
        assert_eq!(reports(view.as_ref(), threads), expected, "{scopes:?} {threads:?}");
    }
    assert!(dataset.findings().is_empty(), "{:?}", dataset.findings());
}

#[test]
fn a_metric_of_all_scopes_has_both_values() {
    let expected = [
        "top bar 2 2",
        "top foo 3 1",
        "top <main thread> 3 0",
        "tree <main thread> 3 0",
        "tree foo 3 1",
        "tree bar 2 2",
        "callers foo 3 1",
        "callers bar 2 2",
        "threads [3.0]",
    ];
    expect(|to| metric_in(to, &[0, 1, 2, 3]), &[0, 1, 2, 3], &expected);
}

#[test]
fn what_is_inclusive_of_calls_alone_has_no_exclusive_value() {
    let expected = [
        "top <main thread> 3 NaN",
        "top foo 3 NaN",
        "top bar 2 NaN",
        "tree <main thread> 3 NaN",
        "tree foo 3 NaN",
        "tree bar 2 NaN",
        "threads [3.0]",
    ];
    expect(|to| metric_in(to, &[0, 3]), &[0, 3], &expected);
}

#[test]
fn what_is_exclusive_of_calls_alone_is_found_below_what_has_nothing() {
    let expected = [
        "top bar NaN 2",
        "top foo NaN 1",
        "tree <main thread> NaN 0",
        "tree foo NaN 1",
        "tree bar NaN 2",
        "callers foo NaN 1",
        "callers bar NaN 2",
        "threads [0.0]",
    ];
    expect(|to| metric_in(to, &[0, 1, 2]), &[0, 1, 2], &expected);
}

#[test]
fn metrics_of_one_name_are_told_apart() {
    let two = |to: &mut Made| {
        let at = to.at();
        let (instances, sums, scope) = (at + 0x60, at + 0x80, at + 0xB0);
        let texts = scope + 16;
        to.u64(at + 0x20).u32(2).raw(&[32, 16, 24, 0]).u64(scope).u16(1).raw(&[16, 0, 0, 0, 0, 0]);
        for index in 0..2 {
            to.u64(texts).u64(instances + 16 * index).u64(sums + 24 * index).u16(1).u16(1).u32(0);
        }
        to.u64(scope).u64(1).u64(scope).u64(3);
        for id in [1_u16, 3] {
            to.u64(scope).u64(texts + 2).u16(0).u16(id).u32(0);
        }
        to.u64(texts + 5).u64(0xFF02).raw(b"m\0$$\0execution\0");
    };
    let dataset = HpcDb.open(&database(two, &[1, 3]), &Context::default()).unwrap();
    let view = dataset.profile().unwrap();
    let names: Vec<_> = view.metrics().into_iter().map(|metric| metric.name).collect();
    assert_eq!(names, ["m", "m #2"]);
    // The first has what `foo` and `bar` have under the first id at the entry point: nothing.
    assert_eq!(view.totals(None).unwrap(), [0.0, 3.0]);
}
