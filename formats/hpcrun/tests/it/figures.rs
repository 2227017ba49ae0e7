//! The merged profile against figures of the databases that HPCToolkit made of the same
//! measurements, which were taken with an independent reader.

use std::collections::{HashMap, HashSet};
use std::fs;

use crate::opened::open;
use kymo_conformance::shared;
use kymo_model::Dataset;
use kymo_model::profile::{
    Column, ContextNumber, IDLE, MetricId, MetricScope, ProfileView, Scope, Step, Walk,
};
use kymo_model::timeline::{ClockId, Content, Window};
use serde_json::Value;

const MEASURED: [&str; 7] = [
    "small",
    "loops-cputime-t",
    "loops-perf",
    "loops-cuda-nvidia-t",
    "loops-cuda-nvidiapc-t",
    "loops-hip-amd-t",
    "recursion-cuda-nvidiapc-t",
];

/// Those without GPUs: what ran on one is told by a call graph that only the database makes up.
const ON_CPUS: [&str; 3] = ["small", "loops-cputime-t", "loops-perf"];

/// A measurement, the figures of its database, and what it is called.
fn each(names: &[&str], has_structs: bool, body: impl Fn(&dyn Dataset, &Value, &str)) {
    for name in names {
        let Some(root) = shared::file("hpctoolkit") else { return };
        let measured = root.join(format!("pairs/meas/{name}.m"));
        let database = if has_structs { format!("{name}.d") } else { format!("{name}.nostruct.d") };
        let figures = fs::read(root.join(format!("golden/{database}.ref.json"))).unwrap();
        let figures: Value = serde_json::from_slice(&figures).unwrap();
        if has_structs {
            body(&*open(&measured), &figures, &database);
        } else {
            let bare = tempfile::tempdir().unwrap();
            for entry in fs::read_dir(&measured).unwrap().map(Result::unwrap) {
                if entry.path().is_file() {
                    fs::copy(entry.path(), bare.path().join(entry.file_name())).unwrap();
                }
            }
            body(&*open(bare.path()), &figures, &database);
        }
    }
}

/// Measurements of our own, all on CPUs, with the figures of their databases.
fn each_made_here(body: impl Fn(&dyn Dataset, &Value, &str)) {
    let Some(root) = shared::file("hpctoolkit/made-here") else { return };
    let names = fs::read_dir(root.join("golden")).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    let names = names.filter_map(|name| Some(name.strip_suffix(".database.ref.json")?.to_owned()));
    let mut count = 0;
    for name in names {
        let measured = root.join(&name).join("measurements");
        if !measured.is_dir() {
            continue;
        }
        let figures = fs::read(root.join(format!("golden/{name}.database.ref.json"))).unwrap();
        body(&*open(&measured), &serde_json::from_slice(&figures).unwrap(), &name);
        count += 1;
    }
    assert!(count >= 8, "{count} measurements");
}

fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

fn metric(profile: &dyn ProfileView, name: &str) -> MetricId {
    let found = profile.metrics().iter().position(|metric| metric.name == name);
    let found = found.unwrap_or_else(|| panic!("there is no metric {name}"));
    MetricId(u32::try_from(found).unwrap())
}

/// Every context with its kind, name and inclusive value, as the figures have them.
fn contexts(profile: &dyn ProfileView, metric: MetricId) -> Vec<(String, Option<String>, f64)> {
    let column = Column { metric, reach: MetricScope::Execution };
    let mut found = Vec::new();
    for step in Walk::new(profile).unwrap() {
        let Step::Enter(context, _) = step.unwrap() else { continue };
        let mut value = [0.0];
        profile.sums(&context, &[column], None, &mut value).unwrap();
        let is_named = matches!(context.scope, Scope::Entry | Scope::Function);
        let name = is_named.then(|| profile.label(&context).unwrap());
        found.push((context.scope.name().to_owned(), name, value[0]));
    }
    found
}

#[test]
fn totals_of_every_metric_are_those_of_the_database() {
    let are_same = |dataset: &dyn Dataset, figures: &Value, database: &str| {
        let profile = dataset.profile().unwrap();
        for top in figures["top10"].as_array().unwrap() {
            let name = top["metric"].as_str().unwrap();
            let id = metric(&*profile, name);
            let mut roots = Vec::new();
            profile.roots(&mut roots).unwrap();
            let mut total = 0.0;
            for root in roots {
                let context = profile.context(root).unwrap();
                let column = Column { metric: id, reach: MetricScope::Execution };
                let mut value = [0.0];
                profile.sums(&context, &[column], None, &mut value).unwrap();
                total += value[0];
            }
            let expected = top["total_inclusive_over_entry_points"].as_f64().unwrap();
            assert!(is_near(total, expected), "{database}, {name}: {total}, not {expected}");
        }
    };
    each(&MEASURED, true, are_same);
    each(&MEASURED, false, are_same);
    each_made_here(are_same);
}

#[test]
fn the_hottest_contexts_have_the_names_and_values_of_the_database() {
    for has_structs in [true, false] {
        each(&ON_CPUS, has_structs, |dataset, figures, database| {
            let profile = dataset.profile().unwrap();
            for top in figures["top10"].as_array().unwrap() {
                let name = top["metric"].as_str().unwrap();
                let ours = contexts(&*profile, metric(&*profile, name));
                for expected in top["contexts_by_inclusive"].as_array().unwrap() {
                    let kind = expected["lexical"].as_str().unwrap();
                    let called = expected["name"].as_str();
                    let value = expected["value"].as_f64().unwrap();
                    let is_it = |(k, n, v): &(String, Option<String>, f64)| {
                        k == kind && n.as_deref() == called && is_near(*v, value)
                    };
                    let has = ours.iter().any(is_it);
                    assert!(has, "{database}, {name}: no {kind} {called:?} with {value}");
                }
            }
        });
    }
}

#[test]
fn timelines_have_the_events_and_the_range_of_the_database() {
    let are_same = |dataset: &dyn Dataset, figures: &Value, database: &str| {
        let traces = &figures["trace_db"];
        let Some(timeline) = dataset.timeline() else {
            assert_eq!(traces["n_events"].as_u64().unwrap_or(0), 0, "{database}");
            return;
        };
        let count = idle_said_once(dataset);
        assert_eq!(count, traces["n_events"].as_u64().unwrap(), "{database}");
        let range = timeline.range(ClockId(0)).unwrap().unwrap();
        let time = |name: &str| traces[name].as_i64().unwrap();
        let expected = (time("min_timestamp"), time("max_timestamp"));
        assert_eq!((range.start().0, range.end().0), expected, "{database}");
    };
    each(&MEASURED, true, are_same);
    each_made_here(are_same);
}

/// How many samples there are where idle is said once, as in databases: a sample that is idle, of a
/// thread that is idle already, tells nothing.
fn idle_said_once(dataset: &dyn Dataset) -> u64 {
    let profile = dataset.profile().unwrap();
    let mut is_idle = HashMap::new();
    let (mut were_idle, mut count) = (HashSet::new(), 0);
    let mut events = dataset.timeline().unwrap().events(&Window::default()).unwrap();
    while let Some(event) = events.next().unwrap() {
        let Content::Sample(number) = event.content else { panic!("{event:?}") };
        let is_idle = *is_idle.entry(number).or_insert_with(|| {
            let context = profile.find(ContextNumber(number)).unwrap().unwrap();
            profile.label(&profile.context(context).unwrap()).unwrap() == IDLE
        });
        let tells = if is_idle {
            were_idle.insert(event.track)
        } else {
            were_idle.remove(&event.track);
            true
        };
        count += u64::from(tells);
    }
    count
}

/// The first thread of most programs is idle at its first two records, as hpcrun writes them: of
/// those, databases have one.
#[test]
fn a_database_has_a_sample_less_where_a_thread_is_idle_twice_in_a_row() {
    each_made_here(|dataset, figures, database| {
        let facts = dataset.summary().facts;
        let records = facts.into_iter().find(|fact| fact.name == "trace records").unwrap().value;
        let kymo_core::Value::UInt(records) = records else { panic!("{records:?}") };
        let events = figures["trace_db"]["n_events"].as_u64().unwrap();
        // Looked up in the files: the first thread of these has one record only.
        let is_idle_once = ["pipeline", "rustwork"].contains(&database);
        assert_eq!(records - events, u64::from(!is_idle_once), "{database}");
    });
}
