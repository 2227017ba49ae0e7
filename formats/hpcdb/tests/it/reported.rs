//! Whatever is reported while a database is read, `check` reports too.

use std::collections::HashSet;

use crate::support::{changed, patched};
use kymo_core::{Context, Finding, Severity, Source};
use kymo_hpcdb::HpcDb;
use kymo_model::profile::{FlatGrouping, MetricId, MetricQuery, Step, ThreadId, Walk, flat};
use kymo_model::table::Scan;
use kymo_model::{Dataset, Format};

/// Reads all that commands read. What fails is said by the command itself.
fn read(dataset: &dyn Dataset) {
    let _ = dataset.summary();
    for table in dataset.tables() {
        table.scan(&Scan::default()).unwrap().for_each(drop);
    }
    let Some(view) = dataset.profile() else { return };
    let _ = view.totals(None);
    for thread in (0..view.thread_count()).map(|id| ThreadId(u32::try_from(id).unwrap())) {
        let _ =
            (view.thread(thread), view.thread_values(thread).map(|values| values.for_each(drop)));
    }
    for step in Walk::new(&*view).into_iter().flatten() {
        let Ok(Step::Enter(context, _)) = step else { continue };
        let _ = (view.label(&context), context.function.map(|function| view.function(function)));
        let _ = context.source.map(|(file, _)| view.file(file));
        let _ = view.context_values(&context).map(|values| values.for_each(drop));
    }
    if !view.metrics().is_empty() {
        let question = MetricQuery { view: &*view, metric: MetricId(0), threads: None };
        let _ = flat(&question, FlatGrouping::Function);
    }
}

fn assert_reported(source: &Source, what: &str) {
    let place = |finding: &Finding| (finding.rule, finding.file.clone(), finding.offset);
    let checked = HpcDb.check(source, &Context::default()).unwrap();
    let known: HashSet<_> = checked.iter().map(place).collect();
    let opened = HpcDb.open(source, &Context::default());
    let salvaged = HpcDb.salvage(source, &Context::default());
    let is_refused = opened.is_err();
    for dataset in opened.into_iter().chain(salvaged) {
        read(&*dataset);
        for finding in dataset.findings() {
            assert!(known.contains(&place(&finding)), "{what}: {finding:?} is not in {checked:#?}");
        }
    }
    let is_wrong = checked.iter().any(|finding| finding.severity == Severity::Error);
    assert!(is_wrong || !is_refused, "{what} is refused, and check finds nothing");
}

#[test]
fn eight_zero_bytes_anywhere_are_reported_by_the_check_where_anything_reports_them() {
    let bytes = std::fs::read(kymo_conformance::testdata("hpcdb/tiny/meta.db")).unwrap();
    for at in 0..bytes.len() - 7 {
        assert_reported(&patched("meta.db", &[(at, &[0; 8])]), &format!("zeros at {at:#x}"));
    }
}

#[test]
fn a_file_that_repair_makes_again_is_said_to_be_missing() {
    let source = changed("tiny", |name, bytes| (name != "cct.db").then_some(bytes));
    let found = HpcDb.check(&source, &Context::default()).unwrap();
    let found: Vec<_> = found.iter().map(|one| (one.rule, one.file.as_deref())).collect();
    assert_eq!(found, [("file-missing", Some("cct.db"))]);
}
