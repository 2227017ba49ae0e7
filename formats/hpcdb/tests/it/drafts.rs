//! The same program in the layouts of April and May 2022 and as released. What is expected was read
//! from the files by a script of its own, which follows the differences between the layouts.

use crate::support;

use std::path::PathBuf;

use kymo_conformance::{capture, shared};
use kymo_core::bytes::Limits;
use kymo_core::{Context, Destination, Source};
use kymo_hpcdb::HpcDb;
use kymo_model::profile::{
    Detail, FlatGrouping, IDLE, MetricId, MetricQuery, NamePattern, PathNode, PathTree,
    ProfileView, SpentScope, ThreadId, bottom_up, flat, per_thread, top_down, traced,
};
use kymo_model::timeline::Window;
use kymo_model::{Dataset, Format};

fn path_of(draft: &str) -> Option<PathBuf> {
    Some(shared::file("hpctoolkit/drafts")?.join(draft).join("small_v4.0"))
}

fn open(draft: &str) -> Option<Box<dyn Dataset>> {
    path_of(draft).map(|path| support::open(&path))
}

/// What functions spent themselves, and with all that they called, in order of their names.
fn spent(dataset: &dyn Dataset, metric: &str) -> Vec<(String, f64, f64)> {
    let view = dataset.profile().unwrap();
    let place = view.metrics().iter().position(|known| known.name == metric).unwrap();
    let metric = MetricId(u32::try_from(place).unwrap());
    let question = MetricQuery { view: view.as_ref(), metric, threads: None };
    let rows = flat(&question, FlatGrouping::Function).unwrap().rows.into_iter();
    let mut rows: Vec<_> = rows.map(|row| (row.label, row.exclusive, row.inclusive)).collect();
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    rows
}

/// How many nanoseconds were spent in each function.
fn times(dataset: &dyn Dataset) -> Vec<(String, u64)> {
    let (view, timeline) = (dataset.profile().unwrap(), dataset.timeline().unwrap());
    let found = traced(view.as_ref(), &timeline, &Window::default(), None, 1).unwrap();
    let spent = found.lines.iter().flat_map(|line| &line.spent);
    spent.map(|(function, ns)| (found.functions[*function].clone(), *ns)).collect()
}

fn rows(expected: &[(&str, f64, f64)]) -> Vec<(String, f64, f64)> {
    expected.iter().map(|(name, own, all)| ((*name).to_owned(), *own, *all)).collect()
}

#[test]
fn the_draft_of_april_has_what_was_measured() {
    let Some(dataset) = open("1-62b71c9af") else { return };
    assert_eq!(dataset.summary().dialect, "draft of April 2022");
    let expected = [
        ("<main thread>", 0.0, 152.0),
        ("_stext [vmlinux]", 1.0, 1.0),
        ("bar", 0.0, 76.0),
        ("foo", 151.0, 152.0),
        ("main", 0.0, 152.0),
    ];
    assert_eq!(spent(&*dataset, "instructions"), rows(&expected));
    // The thread was in the entry point that stands for doing nothing.
    assert_eq!(times(&*dataset), [(IDLE.to_owned(), 857_000)]);
}

#[test]
fn the_draft_of_may_and_the_released_layout_have_what_was_measured() {
    let drafts = [
        ("2-f911eb575", "draft of May 2022", 1.0, 466_343_000),
        ("3-5c1005fbe", "released layout", 1e9, 460_766_000),
    ];
    for (draft, dialect, one, time) in drafts {
        let Some(dataset) = open(draft) else { return };
        assert_eq!(dataset.summary().dialect, dialect);
        let expected = [
            ("<main thread>", 0.0, 3.0 * one),
            ("bar", 0.0, 2.0 * one),
            ("foo", 3.0 * one, 3.0 * one),
            ("main", 0.0, 3.0 * one),
        ];
        assert_eq!(spent(&*dataset, "cycles"), rows(&expected), "{draft}");
        assert_eq!(times(&*dataset), [("foo".to_owned(), time)], "{draft}");
    }
}

/// What a tree of paths has, a line each, in no order.
fn shown(tree: &PathTree) -> Vec<String> {
    let path = |node: &PathNode| {
        let above = std::iter::successors(Some(node), |node| tree.nodes.get(node.parent?));
        above.map(|node| tree.label(node)).collect::<Vec<_>>().join(" < ")
    };
    let line = |node: &PathNode| {
        let PathNode { scope, is_inlined, inclusive, exclusive, .. } = node;
        format!("{} {scope:?} {is_inlined} {inclusive} {exclusive}", path(node))
    };
    sorted(tree.nodes.iter().map(line))
}

fn sorted(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<_> = lines.collect();
    lines.sort();
    lines
}

/// What top, tree, callers and threads say of each metric.
fn reports(view: &dyn ProfileView) -> Vec<(String, Vec<String>)> {
    let mut reports = Vec::new();
    let name = NamePattern::new("foo").unwrap();
    for (metric, described) in (0..).map(MetricId).zip(view.metrics()) {
        let question = MetricQuery { view, metric, threads: None };
        let mut add =
            |what: &str, lines| reports.push((format!("{what} {}", described.name), lines));
        for by in
            [FlatGrouping::Function, FlatGrouping::Line, FlatGrouping::File, FlatGrouping::Module]
        {
            let rows = flat(&question, by).unwrap().rows.into_iter();
            add("top", sorted(rows.map(|row| format!("{row:?}"))));
        }
        for detail in [Detail::Functions, Detail::Loops, Detail::Lines] {
            add("tree", shown(&top_down(&question, detail, 99).unwrap()));
        }
        add("callers", shown(&bottom_up(&question, None, 99, 0.0).unwrap()));
        add("callers of foo", shown(&bottom_up(&question, Some(&name), 99, 0.0).unwrap()));
        for within in [SpentScope::All, SpentScope::Function(&name)] {
            let spent = per_thread(&question, within).unwrap();
            add("threads", vec![format!("{within:?} {spent:?}")]);
        }
    }
    reports
}

/// Values of threads, by the names of metrics: their ids depend on how many scopes there are.
fn values(view: &dyn ProfileView) -> Vec<String> {
    let metrics = view.metrics();
    let threads = (0..u32::try_from(view.thread_count()).unwrap()).map(ThreadId);
    let values = threads.flat_map(|thread| {
        let values = view.thread_values(thread).unwrap();
        values.map(move |value| (thread, value.unwrap())).collect::<Vec<_>>()
    });
    sorted(values.map(|(thread, found)| {
        let metric = &metrics[usize::try_from(found.column.metric.0).unwrap()].name;
        let (context, reach) = (found.context.0, found.column.reach);
        format!("{} {context} {metric} {reach:?} {}", view.thread(thread).unwrap(), found.value)
    }))
}

/// What the dump says that does not depend on the layout.
fn dumped(dataset: &dyn Dataset) -> Vec<String> {
    let records = capture(dataset).unwrap();
    let is_meant = |kind: &str| ["context", "file", "module", "trace", "sample"].contains(&kind);
    let records = records.iter().filter(|record| is_meant(record.kind));
    sorted(records.map(|record| format!("{} {}", record.kind, record.contents())))
}

/// All of each draft, and all of what it is as released: every report says the same.
#[test]
fn every_report_of_a_draft_is_that_of_the_released_layout() {
    for draft in ["1-62b71c9af", "2-f911eb575", "3-5c1005fbe"] {
        let Some(path) = path_of(draft) else { return };
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("released");
        let source = Source::open(&path, &Limits::default()).unwrap();
        HpcDb.rewrite(&source, &Destination::new(&to, false), &Context::default()).unwrap();
        let (before, after) = (support::open(&path), support::open(&to));
        assert_eq!(after.summary().dialect, "released layout");
        let views = [before.profile().unwrap(), after.profile().unwrap()];
        let [expected, found] = [&views[0], &views[1]].map(|view| reports(view.as_ref()));
        assert_eq!(expected.len(), found.len());
        for (expected, found) in expected.iter().zip(&found) {
            assert_eq!(expected, found, "{draft}");
        }
        assert!(expected.iter().any(|(what, lines)| what.starts_with("tree") && lines.len() > 3));
        assert_eq!(values(views[0].as_ref()), values(views[1].as_ref()), "{draft}");
        assert_eq!(times(&*before), times(&*after), "{draft}");
        assert_eq!(dumped(&*before), dumped(&*after), "{draft}");
        assert_eq!(before.findings(), after.findings());
    }
}
