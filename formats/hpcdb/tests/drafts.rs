//! The same program in the layouts of April and May 2022 and as released. What is expected was read
//! from the files by a script of its own, which follows the differences between the layouts.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests may fail loudly"
)]

use kymo_conformance::shared;
use kymo_core::bytes::Limits;
use kymo_core::model::profile::{By, IDLE, MetricId, Question, flat, traced};
use kymo_core::model::timeline::Window;
use kymo_core::{Context, Dataset, Format, Source};
use kymo_hpcdb::HpcDb;

fn open(draft: &str) -> Option<Box<dyn Dataset>> {
    let path = shared::file("hpctoolkit/drafts")?.join(draft).join("small_v4.0");
    let source = Source::open(&path, &Limits::default()).unwrap();
    Some(HpcDb.open(&source, &Context::default()).unwrap())
}

/// What functions spent themselves, and with all that they called, in order of their names.
fn spent(dataset: &dyn Dataset, metric: &str) -> Vec<(String, f64, f64)> {
    let view = dataset.profile().unwrap();
    let place = view.metrics().iter().position(|known| known.name == metric).unwrap();
    let metric = MetricId(u32::try_from(place).unwrap());
    let question = Question { view: view.as_ref(), metric, threads: None };
    let rows = flat(&question, By::Function).unwrap().rows.into_iter();
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
