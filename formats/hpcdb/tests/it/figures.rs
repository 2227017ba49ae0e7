//! Databases against figures that an independent reader took of them.

use crate::support;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::support::{batches, each, each_at, numbers, open, texts};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use kymo_conformance::{python, shared};
use kymo_core::bytes::Limits;
use kymo_core::{Context, Source};
use kymo_hpcdb::HpcDb;
use kymo_model::profile::{
    Derived, Detail, FlatGrouping, FlatRow, MetricId, MetricQuery, PathTree, ProfileView,
    SpentScope, Statistic, Step, TopRows, Walk, bottom_up, bottom_up_derived, flat, flat_derived,
    per_thread_derived, top_down, top_down_derived,
};
use kymo_model::timeline::Window;
use kymo_model::{Dataset, Format};
use serde_json::Value;
use sha2::{Digest, Sha256};

const ALL: TopRows = TopRows { number: None, is_inclusive: false };

/// The hash over lines of three numbers and a value.
fn hash(dataset: &dyn Dataset, table: &str, columns: [&str; 3]) -> (String, u64) {
    let mut hasher = Sha256::new();
    let mut count = 0;
    for batch in batches(dataset, table) {
        let keys = columns
            .map(|name| batch.column_by_name(name).unwrap().as_primitive::<UInt64Type>().clone());
        let values = batch.column_by_name("value").unwrap().as_primitive::<Float64Type>();
        for row in 0..batch.num_rows() {
            let [a, b, c] = keys.each_ref().map(|key| key.value(row));
            hasher.update(format!("{a},{b},{c},{}\n", python::repr(values.value(row))));
            count += 1;
        }
    }
    (hex(hasher), count)
}

fn hex(hasher: Sha256) -> String {
    kymo_core::Value::Bytes(hasher.finalize().to_vec()).to_string()
}

#[test]
fn values_by_profile_are_those_of_an_independent_reader() {
    each(|dataset, expected| {
        let expected = &expected["profile_db"];
        let (hash, count) = hash(dataset, "values", ["profile", "context", "metric"]);
        assert_eq!(expected["n_values_total"], count);
        assert_eq!(expected["sha256_canonical_values"], hash);
        let profiles = expected["profiles"].as_array().unwrap();
        let ids = texts(dataset, "profiles", "ids");
        assert_eq!(ids.len(), profiles.len());
        for (ids, expected) in ids.iter().zip(profiles) {
            assert_eq!(expected["id_tuple"].as_str(), ids.as_deref());
        }
    });
}

#[test]
fn values_by_context_are_those_of_an_independent_reader() {
    each(|dataset, expected| {
        let expected = &expected["cct_db"];
        if expected.is_null() {
            return;
        }
        let (hash, count) = hash(dataset, "context_values", ["context", "metric", "profile"]);
        assert_eq!(expected["n_values_total"], count);
        assert_eq!(expected["sha256_canonical_values"], hash);
    });
}

#[test]
fn traces_are_those_of_an_independent_reader() {
    each(|dataset, expected| {
        let expected = &expected["trace_db"];
        if expected.is_null() {
            assert!(dataset.timeline().is_none());
            return;
        }
        let mut hasher = Sha256::new();
        let mut count = 0;
        for batch in batches(dataset, "samples") {
            let column =
                |name| batch.column_by_name(name).unwrap().as_primitive::<UInt64Type>().clone();
            let columns = ["profile", "time", "context"].map(column);
            for row in 0..batch.num_rows() {
                let [profile, time, context] = columns.each_ref().map(|column| column.value(row));
                hasher.update(format!("{profile},{time},{context}\n"));
                count += 1;
            }
        }
        assert_eq!(expected["n_events"], count);
        assert_eq!(expected["sha256_canonical"], hex(hasher));
        let view = dataset.timeline().unwrap();
        let mut events = view.events(&Window::default()).unwrap();
        let mut found = 0;
        while events.next().unwrap().is_some() {
            found += 1;
        }
        assert_eq!(found, count);
    });
}

#[test]
fn contexts_and_metrics_are_those_of_an_independent_reader() {
    each(|dataset, expected| {
        let contexts = &expected["contexts"];
        let numbers_found = numbers(dataset, "contexts", "context");
        assert_eq!(contexts["total"], numbers_found.len());
        assert_eq!(contexts["max_ctx_id"].as_u64(), numbers_found.into_iter().flatten().max());
        let mut by_type = BTreeMap::new();
        for scope in texts(dataset, "contexts", "scope").into_iter().flatten() {
            *by_type.entry(scope).or_insert(0_u64) += 1;
        }
        let entries = contexts["entry_points"].as_array().unwrap();
        assert_eq!(by_type.remove("entry"), Some(entries.len() as u64));
        let depths = numbers(dataset, "contexts", "depth");
        assert_eq!(contexts["max_depth"].as_u64(), depths.into_iter().flatten().max());
        let expected_types: BTreeMap<String, u64> =
            serde_json::from_value(contexts["by_lexical_type"].clone()).unwrap();
        assert_eq!(by_type, expected_types);
        for (table, figure) in
            [("modules", "n_modules"), ("files", "n_files"), ("functions", "n_functions")]
        {
            assert_eq!(expected[figure], numbers(dataset, table, "offset").len(), "{table}");
        }
        let scopes: Vec<_> = texts(dataset, "scopes", "name").into_iter().flatten().collect();
        let name_of = |scope: &Value| scope["name"].as_str().unwrap().to_owned();
        let expected_scopes = expected["scopes"].as_array().unwrap();
        assert_eq!(scopes, expected_scopes.iter().map(name_of).collect::<Vec<_>>());
        let metrics = expected["metrics"].as_array().unwrap();
        let found = dataset.profile().unwrap().metrics();
        let names: Vec<_> = found.iter().map(|metric| metric.name.as_str()).collect();
        let expected: Vec<_> = metrics.iter().map(|m| m["name"].as_str().unwrap()).collect();
        assert_eq!(names, expected);
    });
}

/// Sums from the summary, from `cct.db` and from the profile of each thread are the same.
#[test]
fn sums_over_all_threads_are_the_summary() {
    each_at(|path, _| {
        let view: Arc<dyn ProfileView> = open(path).profile().unwrap();
        let without_cct = ["meta.db", "profile.db"]
            .map(|name| (name, std::fs::read(path.join(name)).unwrap().into()));
        let other = Source::from_files("without", without_cct);
        let other = HpcDb.open(&other, &Context::default()).unwrap().profile().unwrap();
        let threads = (0..u32::try_from(view.thread_count()).unwrap())
            .map(kymo_model::profile::ThreadId)
            .collect();
        for step in Walk::new(view.as_ref()).unwrap().take(2000) {
            let Step::Enter(context, _) = step.unwrap() else { continue };
            let columns = [(0, 1), (0, 3)].map(|(metric, reach)| {
                let reach = kymo_model::profile::MetricScope::ALL[reach];
                kymo_model::profile::Column { metric: MetricId(metric), reach }
            });
            let mut summary = [0.0; 2];
            view.sums(&context, &columns, None, &mut summary).unwrap();
            for view in [&view, &other] {
                let mut sums = [0.0; 2];
                view.sums(&context, &columns, Some(&threads), &mut sums).unwrap();
                for (summary, sum) in summary.into_iter().zip(sums) {
                    assert!((summary - sum).abs() <= 1e-9 * summary.abs(), "{context:?}");
                }
            }
        }
    });
}

/// Metrics that are the quotient of two others, as `metrics/default.yaml` says; they are exclusive.
const DERIVED: [(&str, &str, &str); 3] = [
    ("GKER:BLKS", "GKER:BLKS_ACUMU", "GKER:COUNT"),
    ("GKER:FGP_ACT", "GKER:FGP_ACT_ACUMU", "GKER:COUNT"),
    ("GKER:THR_REG", "GKER:THR_REG_ACUMU", "GKER:COUNT"),
];

/// Every metric that is computed.
fn derived_of(view: &dyn ProfileView) -> Vec<Derived> {
    (0..view.derived().len()).map(|place| view.derive(place).unwrap()).collect()
}

#[test]
fn derived_metrics_are_computed_of_sums() {
    let Some(path) = shared::file("hpctoolkit/databases/derived-metrics.db") else { return };
    let source = Source::open(&path, &Limits::default()).unwrap();
    let view = HpcDb.open(&source, &Context::default()).unwrap().profile().unwrap();
    let metrics = view.metrics();
    let flat_of = |name: &str| {
        let index = metrics.iter().position(|metric| metric.name == name).unwrap();
        let metric = MetricId(u32::try_from(index).unwrap());
        let question = MetricQuery { view: view.as_ref(), metric, threads: None };
        let rows = flat(&question, FlatGrouping::Function).unwrap().rows;
        rows.into_iter().map(|row| (row.label.clone(), row)).collect::<BTreeMap<_, _>>()
    };
    let derived = derived_of(view.as_ref());
    let names: Vec<_> = derived.iter().map(|derived| derived.metric.name.as_str()).collect();
    assert!(names.contains(&"GSAMP:UTIL") && names.contains(&"GINS: LAT_THR"), "{names:?}");
    for (name, over, under) in DERIVED {
        let derived = derived.iter().find(|derived| derived.metric.name == name);
        let derived = derived.unwrap_or_else(|| panic!("{name} is none of {names:?}"));
        let found =
            flat_derived(view.as_ref(), derived, None, FlatGrouping::Function, ALL).unwrap();
        let (over, under) = (flat_of(over), flat_of(under));
        assert!(!found.rows.is_empty(), "{name}");
        for row in found.rows {
            assert!(row.inclusive.is_nan(), "{name} {}", row.label);
            let spent = |rows: &BTreeMap<String, FlatRow>| rows[&row.label].exclusive;
            let expected = spent(&over) / spent(&under);
            let is_same = (row.exclusive - expected).abs() <= 1e-12 * expected;
            assert!(is_same, "{name} {} {} {expected}", row.label, row.exclusive);
        }
    }
}

/// Its format says so: `%6.2f %%`.
#[test]
fn a_metric_that_is_a_part_of_a_hundred_says_so() {
    let Some(path) = shared::file("hpctoolkit/pairs/dbase/loops-cuda-nvidiapc-t.d") else { return };
    let dataset = support::open(&path);
    let derived = dataset.profile().unwrap().derived();
    let unit = |name: &str| derived.iter().find(|item| item.name == name).unwrap().unit.clone();
    assert_eq!(unit("GSAMP:UTIL").as_deref(), Some("%"));
    assert_eq!(unit("GKER:LMEM (B)").as_deref(), Some("B"));
    assert_eq!(unit("GKER:BLKS"), None);
}

/// What each path has, by the names on it.
fn by_path(tree: &PathTree) -> BTreeMap<Vec<String>, (f64, f64)> {
    let mut paths: Vec<Vec<String>> = Vec::new();
    let mut found = BTreeMap::new();
    for node in &tree.nodes {
        let mut path = node.parent.map_or(Vec::new(), |parent| paths[parent].clone());
        path.push(format!("{}{}", tree.label(node), if node.is_inlined { "*" } else { "" }));
        paths.push(path.clone());
        found.insert(path, (node.inclusive, node.exclusive));
    }
    found
}

fn is_quotient(found: f64, over: f64, under: f64) -> bool {
    if over == 0.0 || under == 0.0 {
        found.is_nan()
    } else {
        (found * under - over).abs() <= 1e-9 * over
    }
}

/// Of each path, and of functions with their callers, it is the quotient of what both come to.
#[test]
fn derived_metrics_are_computed_of_paths() {
    let Some(path) = shared::file("hpctoolkit/databases/derived-metrics.db") else { return };
    let view = open(&path).profile().unwrap();
    let metrics = view.metrics();
    let derived = derived_of(view.as_ref());
    for (name, over, under) in DERIVED {
        let question = |name: &str| {
            let index = metrics.iter().position(|metric| metric.name == name).unwrap();
            MetricQuery {
                view: view.as_ref(),
                metric: MetricId(u32::try_from(index).unwrap()),
                threads: None,
            }
        };
        let derived = derived.iter().find(|derived| derived.metric.name == name).unwrap();
        let down = |name: &str| by_path(&top_down(&question(name), Detail::Functions, 99).unwrap());
        let (over_paths, under_paths) = (down(over), down(under));
        let found = top_down_derived(view.as_ref(), derived, None, Detail::Functions, 99).unwrap();
        let found = by_path(&found);
        assert!(!found.is_empty() && over_paths.keys().all(|path| found.contains_key(path)));
        for (path, (inclusive, exclusive)) in found {
            let own = |paths: &BTreeMap<_, (f64, f64)>| paths.get(&path).map_or(0.0, |one| one.1);
            assert!(inclusive.is_nan(), "{name} {path:?}");
            let is_right = is_quotient(exclusive, own(&over_paths), own(&under_paths));
            assert!(is_right, "{name} {path:?} {exclusive}");
        }
        let up = |name: &str| by_path(&bottom_up(&question(name), None, 99, 0.0).unwrap());
        let (over_paths, under_paths) = (up(over), up(under));
        let found = bottom_up_derived(view.as_ref(), derived, None, None, 99, 0.0).unwrap();
        for (path, (_, value)) in by_path(&found) {
            let own = |paths: &BTreeMap<_, (f64, f64)>| paths.get(&path).map_or(0.0, |one| one.1);
            let is_right = is_quotient(value, own(&over_paths), own(&under_paths));
            assert!(is_right, "{name} {path:?} {value}");
        }
        // They have no inclusive formula, so that threads have no value.
        let threads = per_thread_derived(view.as_ref(), derived, None, SpentScope::All).unwrap();
        assert!(threads.len() == 40 && threads.iter().all(|value| value.is_nan()), "{name}");
    }
}

/// Statistics of the summary are what threads come to: of one thread, all are the same.
#[test]
fn statistics_are_those_of_the_summary_or_of_threads() {
    each(|dataset, expected| {
        let view = dataset.profile().unwrap();
        let summaries = expected["metrics"].as_array().unwrap().iter();
        let has_min = summaries.into_iter().any(|metric| metric.to_string().contains("\"min\""));
        let question = MetricQuery { view: view.as_ref(), metric: MetricId(0), threads: None };
        for step in Walk::new(view.as_ref()).unwrap().take(200) {
            let Step::Enter(context, _) = step.unwrap() else { continue };
            let column = kymo_model::profile::Column {
                metric: question.metric,
                reach: kymo_model::profile::MetricScope::Execution,
            };
            let item = |statistic| {
                let mut to = [0.0];
                view.statistics(statistic, &context, &[column], None, &mut to).unwrap();
                to[0]
            };
            let (sum, min, max) =
                (item(Statistic::Sum), item(Statistic::Min), item(Statistic::Max));
            let count = item(Statistic::Count);
            assert!(min <= max && max <= sum * (1.0 + 1e-9), "{min} {max} {sum} {has_min}");
            assert!(count >= f64::from(sum != 0.0) && sum <= max * count * (1.0 + 1e-9));
        }
    });
}
