//! Profiles: by the names of functions or paths, so that two builds of a program can be compared.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use kymo_core::model::profile::{
    By, Detail, Metric, MetricId, PathChanges, ProfileView, Question, flat, path_changes, top_down,
};
use serde_json::json;

use super::same_paths::SamePaths;
use super::{Difference, Row};
use crate::profiles;
use crate::render::{escaped, measure, numbers};

/// What sums may differ by because threads are added up in another order.
const ROUNDING: f64 = 1e-9;

/// How many names of a path are told; of a longer one the last.
const NAMES_MAX: usize = 1000;

/// How many names of a path a person is shown.
const NAMES_SHOWN: usize = 12;

/// What stands between the names of a path.
const CALLS: &str = " > ";

type View = Arc<dyn ProfileView>;

/// What something spent, in the one and in the other.
type Spent = [f64; 2];

/// What is compared of profiles.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Options for profiles")]
pub(super) struct ProfilesArgs {
    /// Of profiles, what to compare; paths are functions with all that called them.
    #[arg(long, value_enum, default_value = "function", value_name = "WHAT")]
    by: Compared,

    /// Of profiles, compare what was spent inclusive of calls.
    #[arg(short, long)]
    inclusive: bool,

    /// Of profiles, only this metric: its name, or the start of it.
    #[arg(short, long, value_name = "NAME")]
    metric: Option<String>,

    /// Of profiles, only so many of each metric. 0 shows all, which --json and --csv do by
    /// themselves; otherwise it is 20.
    #[arg(short, long, value_name = "ROWS")]
    number: Option<usize>,
}

/// How many changes of a metric a person is shown.
const NUMBER: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Compared {
    Function,
    Path,
    Line,
    File,
    Module,
}

impl Compared {
    /// The word a person reads.
    fn name(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Path => "path",
            Self::Line => "line",
            Self::File => "file",
            Self::Module => "module",
        }
    }
}

impl ProfilesArgs {
    /// What spent more or less in the other, the largest change of each metric first.
    pub(super) fn differences(
        &self,
        one: &View,
        other: &View,
        tolerance: f64,
        is_for_programs: bool,
    ) -> anyhow::Result<Vec<Difference>> {
        let number = self.number.unwrap_or(if is_for_programs { 0 } else { NUMBER });
        let mut found = Vec::new();
        for (metric, ids) in self.metrics(one, other)? {
            if let [None, _] | [_, None] = ids {
                let which = if ids[0].is_some() { "the first" } else { "the second" };
                let what = format!("only {which} has this metric");
                let nothing = json!(null);
                let details = json!({
                    "metric": metric, "one": nothing, "other": nothing, "change": nothing,
                });
                found.push(Difference::new(&metric, what, details));
                continue;
            }
            let mut spent = match self.by {
                Compared::Path => self.by_path([one, other], ids, tolerance)?,
                Compared::Function => self.by_name([one, other], ids, By::Function, tolerance)?,
                Compared::Line => self.by_name([one, other], ids, By::Line, tolerance)?,
                Compared::File => self.by_name([one, other], ids, By::File, tolerance)?,
                Compared::Module => self.by_name([one, other], ids, By::Module, tolerance)?,
            };
            let all = spent.len();
            spent.truncate(if number == 0 { all } else { number });
            let from = found.len();
            found.extend(spent.iter().map(|(name, spent)| difference(name, &metric, *spent)));
            let totals = totals([one, other], ids)?;
            let new = found.get_mut(from..).unwrap_or_default();
            frame(new, &metric, self.by, totals, all - spent.len());
        }
        Ok(found)
    }

    /// The metrics of both by their names.
    fn metrics(
        &self,
        one: &View,
        other: &View,
    ) -> anyhow::Result<BTreeMap<String, [Option<MetricId>; 2]>> {
        let mut metrics: BTreeMap<String, [Option<MetricId>; 2]> = BTreeMap::new();
        for (side, view) in [one, other].into_iter().enumerate() {
            for (metric, id) in view.metrics().into_iter().zip((0..).map(MetricId)) {
                if let Some(slot) = metrics.entry(metric.name).or_default().get_mut(side) {
                    *slot = Some(id);
                }
            }
        }
        if let Some(name) = &self.metric {
            for view in [one, other] {
                profiles::refuse_derived(view.as_ref(), name)?;
            }
            // It may be one that only one of them has.
            let names: Vec<_> = metrics.keys().map(Metric::named).collect();
            let only = profiles::named(&names, name)?;
            let only = usize::try_from(only.0).ok().and_then(|index| names.get(index));
            metrics.retain(|name, _| only.is_some_and(|only| only.name == *name));
        }
        Ok(metrics)
    }

    fn by_name(
        &self,
        views: [&View; 2],
        ids: [Option<MetricId>; 2],
        by: By,
        tolerance: f64,
    ) -> kymo_core::Result<Vec<(String, Spent)>> {
        let mut rows = [Vec::new(), Vec::new()];
        for ((view, id), rows) in views.into_iter().zip(ids).zip(&mut rows) {
            let Some(metric) = id else { continue };
            let question = Question { view: view.as_ref(), metric, threads: None };
            *rows = flat(&question, by)?.rows;
        }
        let same = SamePaths::of(&rows);
        let mut spent: BTreeMap<String, (String, Spent)> = BTreeMap::new();
        for (side, row) in rows
            .into_iter()
            .enumerate()
            .flat_map(|(side, rows)| rows.into_iter().map(move |row| (side, row)))
        {
            let value = if self.inclusive { row.inclusive } else { row.exclusive };
            let (name, slots) = spent.entry(same.key(side, &row)).or_default();
            // The longer one tells it apart in both.
            if name.len() < row.label.len() {
                *name = row.label;
            }
            if let Some(slot) = slots.get_mut(side) {
                *slot += value;
            }
        }
        let mut spent: Vec<_> = spent.into_values().collect();
        spent.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(largest(spent, tolerance))
    }

    fn by_path(
        &self,
        views: [&View; 2],
        ids: [Option<MetricId>; 2],
        tolerance: f64,
    ) -> kymo_core::Result<Vec<(String, Spent)>> {
        let [one, other] = views;
        let tree = |view: &View, id: Option<MetricId>| {
            let Some(metric) = id else { return Ok(<_>::default()) };
            let question = Question { view: view.as_ref(), metric, threads: None };
            top_down(&question, Detail::Functions, usize::MAX)
        };
        let changes = path_changes(&tree(one, ids[0])?, &tree(other, ids[1])?);
        let spent = changes
            .nodes
            .iter()
            .map(|node| if self.inclusive { node.inclusive } else { node.exclusive });
        let spent = largest(spent.enumerate().collect(), tolerance);
        // Most paths are the same; their names are not needed.
        let named = |(index, spent)| (path_of(&changes, index), spent);
        Ok(spent.into_iter().map(named).collect())
    }
}

/// What changed, the largest change first.
fn largest<T>(mut spent: Vec<(T, Spent)>, tolerance: f64) -> Vec<(T, Spent)> {
    spent.retain(|(_, spent)| is_change(*spent, tolerance));
    spent.sort_by(|(_, a), (_, b)| by(*b).abs().total_cmp(&by(*a).abs()));
    spent
}

/// What all entry points of both spent together.
fn totals(views: [&View; 2], ids: [Option<MetricId>; 2]) -> kymo_core::Result<Spent> {
    let mut totals = [0.0; 2];
    for ((view, id), total) in views.into_iter().zip(ids).zip(&mut totals) {
        if let Some(metric) = id {
            *total = Question { view: view.as_ref(), metric, threads: None }.total()?;
        }
    }
    Ok(totals)
}

/// Says before the changes of a metric what it comes to in all, and behind them how many more there
/// are.
fn frame(changes: &mut [Difference], metric: &str, by: Compared, totals: Spent, more: usize) {
    if let Some(row) = changes.first_mut().and_then(|first| first.row.as_mut()) {
        let ([was, is], change) = (totals.map(measure::value), signed(self::by(totals)));
        let share = relative(totals);
        let share = if share.is_empty() { share } else { format!(" ({share})") };
        let (metric, what) = (escaped(metric), by.name());
        let titles = format!("{:>11}  {:>11}  {:>11}  {:>8}", "before", "after", "change", "");
        let heading = format!("{metric}: {was} and {is} in all, {change}{share}");
        row.heading = Some(format!("{heading}\n{titles}  {what}"));
    }
    let last = changes.last_mut().and_then(|last| last.row.as_mut());
    if let Some(row) = last.filter(|_| more > 0) {
        let more = numbers::grouped(more as u64);
        row.rest = Some(format!("{:>47}  {more} more (-n 0 shows all)", "…"));
    }
}

/// A change with its sign.
fn signed(change: f64) -> String {
    format!("{}{}", if change > 0.0 { "+" } else { "" }, measure::value(change))
}

/// A change as a share of what there was; nothing where there was nothing.
fn relative(spent: Spent) -> String {
    let [before, _] = spent;
    if before == 0.0 { String::new() } else { format!("{:+.1}%", by(spent) / before.abs() * 100.0) }
}

fn path_of(changes: &PathChanges, index: usize) -> String {
    let names = changes.path(index);
    let left_out = names.len().saturating_sub(NAMES_MAX);
    let path = names.get(left_out..).unwrap_or_default().join(CALLS);
    if left_out > 0 { format!("…{CALLS}{path}") } else { path }
}

/// The last names of a path, as many as one can read in a line.
pub(super) fn shown(path: &str) -> Cow<'_, str> {
    match path.rmatch_indices(CALLS).nth(NAMES_SHOWN - 1) {
        Some((at, _)) => format!("…{}", path.get(at..).unwrap_or_default()).into(),
        None => path.into(),
    }
}

fn by([before, after]: Spent) -> f64 {
    after - before
}

/// Whether it is more than rounding, and more than what is tolerated.
fn is_change(spent: Spent, tolerance: f64) -> bool {
    let [before, after] = spent.map(f64::abs);
    by(spent).abs() > tolerance.max(before.max(after) * ROUNDING)
}

fn difference(name: &str, metric: &str, spent: Spent) -> Difference {
    let [before, after] = spent;
    let ([was, is], change) = (spent.map(measure::value), signed(by(spent)));
    let what = format!("{}: {was} and {is}, {change}", escaped(metric));
    let cells = format!("{was:>11}  {is:>11}  {change:>11}  {:>8}", relative(spent));
    let details = json!({ "metric": metric, "one": before, "other": after, "change": by(spent) });
    let row = Some(Row { cells, ..Row::default() });
    Difference { row, ..Difference::new(name, what, details) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_no_change() {
        assert!(!is_change([1.0, 1.0 + 1e-12], 0.0));
        assert!(is_change([1.0, 1.1], 0.0));
        assert!(!is_change([1.0, 1.1], 0.5));
        assert!(!is_change([0.0, 0.0], 0.0));
    }

    #[test]
    fn a_change_has_its_sign_and_its_share() {
        assert_eq!((signed(1.5), relative([1.0, 2.5])), ("+1.500".into(), "+150.0%".into()));
        assert_eq!((signed(-0.5), relative([1.0, 0.5])), ("-0.500".into(), "-50.0%".into()));
        assert_eq!(relative([0.0, 0.5]), "");
    }

    #[test]
    fn of_a_long_path_a_person_is_shown_the_last_names() {
        assert_eq!(shown("main > work"), "main > work");
        let names: Vec<_> = (0..14).map(|number| number.to_string()).collect();
        let short = shown(&names.join(CALLS)).into_owned();
        assert_eq!(short, format!("… > {}", names[2..].join(CALLS)));
    }
}
