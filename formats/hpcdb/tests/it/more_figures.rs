//! The figures of an independent reader that are of tables and of other reports than `top`.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{batches, each, is_near, numbers, texts};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use kymo_model::Dataset;
use kymo_model::profile::{
    Detail, FlatGrouping, MetricId, MetricQuery, PathTree, ProfileView, SpentScope, bottom_up,
    flat, per_thread, top_down,
};
use serde_json::Value;

/// The figures of each metric, of both lists.
fn tops(expected: &Value) -> Vec<&Value> {
    let lists = ["top10", "top20"].map(|name| expected[name].as_array());
    lists.into_iter().flatten().flatten().collect()
}

fn question<'a>(view: &'a dyn ProfileView, top: &Value) -> MetricQuery<'a> {
    let name = top["metric"].as_str().unwrap();
    let index = view.metrics().iter().position(|metric| metric.name == name).unwrap();
    MetricQuery { view, metric: MetricId(u32::try_from(index).unwrap()), threads: None }
}

/// Compares figures of functions, each by its name.
fn compare(found: &BTreeMap<String, f64>, figures: &Value, what: &str) {
    for row in figures.as_array().unwrap() {
        let name = row["name"].as_str().expect("a name");
        let found = found.get(name).copied().unwrap_or(0.0);
        assert!(is_near(found, &row["value"]), "{what} {name}: {found} and {}", row["value"]);
    }
}

/// What functions spent by the paths that lead to them: themselves, and with all that they called,
/// where the outermost of a name counts.
fn of_paths(tree: &PathTree) -> (BTreeMap<String, f64>, BTreeMap<String, f64>) {
    let (mut own, mut all) = (BTreeMap::new(), BTreeMap::new());
    for node in &tree.nodes {
        let name = tree.label(node);
        *own.entry(name.to_owned()).or_default() += node.exclusive;
        let mut above = node.parent;
        let mut is_outermost = true;
        while let Some(index) = above {
            is_outermost &= tree.label(&tree.nodes[index]) != name;
            above = tree.nodes[index].parent;
        }
        if is_outermost {
            *all.entry(name.to_owned()).or_default() += node.inclusive;
        }
    }
    (own, all)
}

#[test]
fn every_report_has_the_figures_of_functions() {
    each(|dataset, expected| {
        let view = dataset.profile().unwrap();
        for top in tops(expected) {
            let question = question(view.as_ref(), top);
            let rows = flat(&question, FlatGrouping::Function).unwrap().rows;
            let own = rows.iter().map(|row| (row.label.clone(), row.exclusive)).collect();
            let all = rows.iter().map(|row| (row.label.clone(), row.inclusive)).collect();
            compare(&own, &top["functions_by_exclusive"], "top, exclusive");
            compare(&all, &top["functions_by_inclusive_no_recursion"], "top, inclusive");
            let tree = top_down(&question, Detail::Functions, usize::MAX).unwrap();
            assert!(is_near(tree.total, &top["total_inclusive_over_entry_points"]));
            let (own, all) = of_paths(&tree);
            compare(&own, &top["functions_by_exclusive"], "tree, exclusive");
            compare(&all, &top["functions_by_inclusive_no_recursion"], "tree, inclusive");
            let callers = bottom_up(&question, None, 1, 0.0).unwrap();
            let (own, _) = of_paths(&callers);
            compare(&own, &top["functions_by_exclusive"], "callers");
            let threads: f64 = per_thread(&question, SpentScope::All).unwrap().into_iter().sum();
            assert!(is_near(threads, &top["total_inclusive_over_entry_points"]), "threads");
        }
    });
}

/// Values by profile, context and metric.
fn values(dataset: &dyn Dataset) -> Vec<(u64, u64, u64, f64)> {
    let mut rows = Vec::new();
    for batch in batches(dataset, "values") {
        let column =
            |name| batch.column_by_name(name).unwrap().as_primitive::<UInt64Type>().clone();
        let [profile, context, metric] = ["profile", "context", "metric"].map(column);
        let values = batch.column_by_name("value").unwrap().as_primitive::<Float64Type>();
        rows.extend((0..batch.num_rows()).map(|row| {
            (profile.value(row), context.value(row), metric.value(row), values.value(row))
        }));
    }
    rows
}

#[test]
fn the_table_of_values_has_the_figures_of_contexts_and_metrics() {
    each(|dataset, expected| {
        let rows = values(dataset);
        let summary: BTreeMap<_, _> = rows
            .iter()
            .filter(|(profile, ..)| *profile == 0)
            .map(|(_, context, metric, value)| ((*context, *metric), *value))
            .collect();
        for top in tops(expected) {
            for row in top["contexts_by_inclusive"].as_array().into_iter().flatten() {
                let key = (row["ctx_id"].as_u64().unwrap(), top["inc_id"].as_u64().unwrap());
                assert!(is_near(summary[&key], &row["value"]), "{row}");
            }
        }
        let mut sums: BTreeMap<String, f64> = BTreeMap::new();
        for (_, _, metric, value) in rows.iter().filter(|(profile, ..)| *profile > 0) {
            *sums.entry(metric.to_string()).or_default() += value;
        }
        let figures = expected["profile_db"]["sum_nonsummary_by_metric_id"].as_object().unwrap();
        assert_eq!(sums.len(), figures.len());
        for (metric, figure) in figures {
            assert!(is_near(sums[metric], figure), "{metric}");
        }
    });
}

fn flags(dataset: &dyn Dataset, table: &str, column: &str) -> Vec<bool> {
    let batches = batches(dataset, table);
    let columns = batches.iter().map(|batch| batch.column_by_name(column).unwrap().as_boolean());
    columns.flat_map(|column| column.iter().map(Option::unwrap)).collect()
}

#[test]
fn profiles_and_traces_have_their_figures() {
    each(|dataset, expected| {
        let is_summary = flags(dataset, "profiles", "summary");
        let count = numbers(dataset, "profiles", "values");
        let contexts = numbers(dataset, "profiles", "contexts");
        for profile in expected["profile_db"]["profiles"].as_array().unwrap() {
            let index = usize::try_from(profile["index"].as_u64().unwrap()).unwrap();
            assert_eq!(profile["is_summary"].as_bool(), Some(is_summary[index]));
            assert_eq!(profile["n_values"].as_u64(), count[index]);
            assert_eq!(profile["n_ctx"].as_u64(), contexts[index]);
        }
        let figures = expected["trace_db"]["traces"].as_array();
        let columns = ["profile", "samples", "first", "last"];
        let columns = columns.map(|column| numbers(dataset, "traces", column));
        assert_eq!(figures.map_or(0, Vec::len), columns[0].len());
        for (index, trace) in figures.into_iter().flatten().enumerate() {
            let samples = trace["n"].as_u64();
            let moment = |name: &str| trace[name].as_u64().filter(|_| samples != Some(0));
            let figures = [trace["prof_index"].as_u64(), samples, moment("first"), moment("last")];
            assert_eq!(figures, columns.each_ref().map(|column| column[index]), "{index}");
        }
    });
}

#[test]
fn relations_and_entry_points_have_their_figures() {
    each(|dataset, expected| {
        let scopes: Vec<_> = texts(dataset, "contexts", "scope").into_iter().flatten().collect();
        let relations = texts(dataset, "contexts", "relation").into_iter().flatten();
        let mut found: BTreeMap<String, u64> = BTreeMap::new();
        for (relation, _) in relations.zip(&scopes).filter(|(_, scope)| *scope != "entry") {
            let relation = if relation == "inlined" { "inlined_call".into() } else { relation };
            *found.entry(relation).or_default() += 1;
        }
        let contexts = &expected["contexts"];
        let figures: BTreeMap<String, u64> =
            serde_json::from_value(contexts["by_relation"].clone()).unwrap();
        assert_eq!(found, figures);
        let ids = numbers(dataset, "contexts", "context").into_iter().flatten();
        let names = texts(dataset, "contexts", "function");
        let entries = ids.zip(names).zip(&scopes).filter(|(_, scope)| *scope == "entry");
        let entries: BTreeSet<_> =
            entries.map(|((id, name), _)| (id, name.unwrap_or_default())).collect();
        let figures = contexts["entry_points"].as_array().unwrap().iter().map(|entry| {
            (entry["ctx_id"].as_u64().unwrap(), entry["pretty_name"].as_str().unwrap().to_owned())
        });
        assert_eq!(entries, figures.collect());
    });
}

/// The cells of some columns, as text.
fn cells(dataset: &dyn Dataset, table: &str, columns: &[&str]) -> Vec<Vec<String>> {
    let cells = |name: &&str| match *name {
        "id" | "propagation_index" => {
            numbers(dataset, table, name).into_iter().map(|it| it.unwrap().to_string()).collect()
        }
        name => texts(dataset, table, name).into_iter().map(Option::unwrap).collect::<Vec<_>>(),
    };
    let columns: Vec<_> = columns.iter().map(cells).collect();
    (0..columns[0].len())
        .map(|row| columns.iter().map(|column| column[row].clone()).collect())
        .collect()
}

/// Fields of a figure, as text.
fn fields(value: &Value, names: &[&str]) -> Vec<String> {
    let text = |name: &&str| match &value[*name] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    names.iter().map(text).collect()
}

#[test]
fn metrics_statistics_and_scopes_have_their_figures() {
    each(|dataset, expected| {
        let list = |this_name: &str, names: &[&str]| {
            let metrics = expected["metrics"].as_array().unwrap().iter();
            let of_metric = |metric: &Value| {
                let name = metric["name"].as_str().unwrap().to_owned();
                let list = metric[this_name].as_array().unwrap().iter();
                let row = |one| std::iter::once(name.clone()).chain(fields(one, names)).collect();
                list.map(row).collect::<Vec<Vec<String>>>()
            };
            metrics.flat_map(of_metric).collect::<Vec<_>>()
        };
        let found = cells(dataset, "metrics", &["metric", "scope", "id"]);
        assert_eq!(found, list("scope_insts", &["scope", "id"]));
        let columns = ["metric", "scope", "formula", "combine", "id"];
        assert_eq!(cells(dataset, "statistics", &columns), list("summaries", &columns[1..]));
        let columns = ["name", "type", "propagation_index"];
        let scopes = expected["scopes"].as_array().unwrap().iter();
        let scopes: Vec<_> = scopes.map(|scope| fields(scope, &columns)).collect();
        assert_eq!(cells(dataset, "scopes", &columns), scopes);
    });
}
