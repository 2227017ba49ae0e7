//! Profiles: by the names of functions or paths, so that two builds of a program can be compared.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use kymo_model::profile::{
    CALLS, Detail, FlatGrouping, Metric, MetricId, MetricQuery, MetricScope, PathChanges,
    ProfileView, flat, path_changes, path_text, top_down,
};
use serde_json::json;

use super::same_paths::SamePaths;
use super::{Difference, PATH_BYTES_MAX, Remark, Row, Take, is_apart};
use crate::profiles;
use crate::render::{escaped, measure, numbers};

/// Number of names of a path that a person is shown.
const NAMES_SHOWN: usize = 12;

type View = Arc<dyn ProfileView>;

/// Values that something spent, in the one and in the other.
type Spent = [f64; 2];

/// Options for the comparison of profiles.
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

/// Reason why a metric of both cannot be compared.
const NOT_BOTH: &str = "what both measure is neither inclusive nor exclusive of calls: it cannot be \
                        compared but with --exact";

/// Number of changes of a metric that a person is shown.
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
    /// Gives what spent more or less in the other, the largest change of each metric first. Tells
    /// what is good to know of the one or the other.
    pub(super) fn differences(
        &self,
        views: [&View; 2],
        tolerance: f64,
        is_for_programs: bool,
        take: Take<'_>,
    ) -> anyhow::Result<Vec<Remark>> {
        let number = self.number.unwrap_or(if is_for_programs { 0 } else { NUMBER });
        let mut remarks = Vec::new();
        for (metric, ids) in self.metrics(views)? {
            let [Some(one), Some(other)] = ids else {
                let which = if ids[0].is_some() { "the first" } else { "the second" };
                take(uncompared(&metric, format!("only {which} has this metric")))?;
                continue;
            };
            let questions = [(views[0], one), (views[1], other)]
                .map(|(view, metric)| MetricQuery { view: view.as_ref(), metric, threads: None });
            let Some(is_inclusive) = self.is_inclusive(&questions) else {
                let has_any = |metric_query: &MetricQuery<'_>| {
                    MetricScope::ALL.into_iter().any(|reach| metric_query.has_scope(reach))
                };
                if questions.iter().any(has_any) {
                    take(uncompared(&metric, NOT_BOTH.to_owned()))?;
                }
                continue;
            };
            if is_inclusive != self.inclusive {
                remarks.extend(other_side(&questions, &metric, is_inclusive));
            }
            let mut changes = self.changes(&questions, is_inclusive, tolerance)?;
            let all = changes.spent.len();
            changes.spent.truncate(if number == 0 { all } else { number });
            changes.give(&questions, &metric, self.by, all, take)?;
        }
        Ok(remarks)
    }

    /// Chooses whether values inclusive of calls are compared: as it is asked for, or the other way
    /// where one of them has no such values. Returns `None` where both have neither.
    fn is_inclusive(&self, questions: &[MetricQuery<'_>; 2]) -> Option<bool> {
        let is_measured = |side: &bool| {
            questions.iter().all(|metric_query| metric_query.has_scope(reach_of(*side)))
        };
        [self.inclusive, !self.inclusive].into_iter().find(is_measured)
    }

    /// Returns the changes, the largest first.
    fn changes(
        &self,
        questions: &[MetricQuery<'_>; 2],
        is_inclusive: bool,
        tolerance: f64,
    ) -> kymo_core::Result<Changes> {
        let by = match self.by {
            Compared::Path => return changes_by_path(questions, is_inclusive, tolerance),
            Compared::Function => FlatGrouping::Function,
            Compared::Line => FlatGrouping::Line,
            Compared::File => FlatGrouping::File,
            Compared::Module => FlatGrouping::Module,
        };
        by_name(questions, by, is_inclusive, tolerance)
    }

    /// The metrics of both by their names.
    fn metrics(
        &self,
        views: [&View; 2],
    ) -> anyhow::Result<BTreeMap<String, [Option<MetricId>; 2]>> {
        let mut metrics: BTreeMap<String, [Option<MetricId>; 2]> = BTreeMap::new();
        for (side, view) in views.into_iter().enumerate() {
            for (metric, id) in view.metrics().into_iter().zip((0..).map(MetricId)) {
                if let Some(slot) = metrics.entry(metric.name).or_default().get_mut(side) {
                    *slot = Some(id);
                }
            }
        }
        if let Some(name) = &self.metric {
            for view in views {
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
}

/// Changes of a metric, and their names: few names may be wanted of very many.
struct Changes {
    spent: Vec<(usize, Spent)>,
    names: Names,
}

enum Names {
    Rows(Vec<String>),
    Paths(PathChanges),
}

impl Names {
    fn get(&self, index: usize) -> String {
        match self {
            Self::Rows(names) => names.get(index).cloned().unwrap_or_default(),
            Self::Paths(changes) => path_text(changes.path(index), PATH_BYTES_MAX),
        }
    }
}

impl Changes {
    /// Those that are more than rounding and what is tolerated, the largest first.
    fn new(spent: impl IntoIterator<Item = Spent>, names: Names, tolerance: f64) -> Self {
        let changed = spent.into_iter().enumerate();
        let changed = changed.filter(|(_, [one, other])| is_apart(tolerance, *one, *other));
        let mut spent: Vec<_> = changed.collect();
        spent.sort_by(|(_, a), (_, b)| difference_of(*b).abs().total_cmp(&difference_of(*a).abs()));
        Self { spent, names }
    }

    /// Gives them, of so many, with what their metric comes to in all.
    fn give(
        &self,
        questions: &[MetricQuery<'_>; 2],
        metric: &str,
        by: Compared,
        all: usize,
        take: Take<'_>,
    ) -> anyhow::Result<()> {
        let Some(last) = self.spent.len().checked_sub(1) else { return Ok(()) };
        let totals = totals(questions)?;
        for (place, (index, spent)) in self.spent.iter().enumerate() {
            let mut difference = difference(&self.names.get(*index), metric, *spent);
            if let Some(row) = &mut difference.row {
                row.heading = (place == 0).then(|| heading(metric, by, totals));
                row.rest = (place == last).then(|| omitted_text(all - self.spent.len())).flatten();
            }
            take(difference)?;
        }
        Ok(())
    }
}

fn by_name(
    questions: &[MetricQuery<'_>; 2],
    by: FlatGrouping,
    is_inclusive: bool,
    tolerance: f64,
) -> kymo_core::Result<Changes> {
    let [one, other] = questions;
    let rows = [flat(one, by)?.rows, flat(other, by)?.rows];
    let same = SamePaths::from_rows(&rows);
    let mut spent: BTreeMap<String, (String, Spent)> = BTreeMap::new();
    for (side, row) in rows
        .into_iter()
        .enumerate()
        .flat_map(|(side, rows)| rows.into_iter().map(move |row| (side, row)))
    {
        let value = if is_inclusive { row.inclusive } else { row.exclusive };
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
    let (names, spent): (Vec<_>, Vec<_>) = spent.into_iter().unzip();
    Ok(Changes::new(spent, Names::Rows(names), tolerance))
}

fn changes_by_path(
    questions: &[MetricQuery<'_>; 2],
    is_inclusive: bool,
    tolerance: f64,
) -> kymo_core::Result<Changes> {
    let [one, other] = questions;
    let tree = |question| top_down(question, Detail::Functions, usize::MAX);
    let changes = path_changes(&tree(one)?, &tree(other)?);
    let spent = changes.nodes.iter();
    let spent = spent.map(|node| if is_inclusive { node.inclusive } else { node.exclusive });
    let spent: Vec<_> = spent.collect();
    Ok(Changes::new(spent, Names::Paths(changes), tolerance))
}

/// Returns the scope for values inclusive of calls, or exclusive.
fn reach_of(is_inclusive: bool) -> MetricScope {
    if is_inclusive { MetricScope::Execution } else { MetricScope::Function }
}

/// Remarks that what is asked for is not measured, and by which of them. Also names what is
/// compared instead.
fn other_side(questions: &[MetricQuery<'_>; 2], metric: &str, is_inclusive: bool) -> Vec<Remark> {
    let words = ["exclusive", "inclusive"];
    let (is, asked) = if is_inclusive { (words[1], words[0]) } else { (words[0], words[1]) };
    let lacking = questions.iter().enumerate();
    let lacking = lacking.filter(|(_, question)| !question.has_scope(reach_of(!is_inclusive)));
    let text = profiles::not_measured(metric, asked);
    let text = format!("{text}: what is {is} of them is compared");
    lacking.map(|(side, _)| Remark { side, text: text.clone(), is_doubt: false }).collect()
}

/// Returns the difference that reports that a metric of both cannot be compared.
fn uncompared(metric: &str, what: String) -> Difference {
    let nothing = json!(null);
    let details = json!({ "metric": metric, "one": nothing, "other": nothing, "change": nothing });
    Difference::new(metric, what, details)
}

/// Returns the totals that all entry points of both spent together.
fn totals([one, other]: &[MetricQuery<'_>; 2]) -> kymo_core::Result<Spent> {
    Ok([one.total()?, other.total()?])
}

/// Returns the total of a metric, and a heading for the columns below.
fn heading(metric: &str, by: Compared, totals: Spent) -> String {
    let [was, is] = totals.map(measure::value);
    // What is only rounding is no change.
    let change = match (is_apart(0.0, totals[0], totals[1]), relative(totals)) {
        (false, _) => String::new(),
        (true, share) if share.is_empty() => format!(", {}", signed(difference_of(totals))),
        (true, share) => format!(", {} ({share})", signed(difference_of(totals))),
    };
    let (metric, what) = (escaped(metric), by.name());
    let titles = format!("{:>11}  {:>11}  {:>11}  {:>8}", "before", "after", "change", "");
    format!("{metric}: {was} and {is} in all{change}\n{titles}  {what}")
}

/// Returns the number of further changes as text, if there are any.
fn omitted_text(more: usize) -> Option<String> {
    let count = numbers::grouped(more as u64);
    (more > 0).then(|| format!("{:>47}  {count} more (-n 0 shows all)", "…"))
}

/// A change with its sign.
fn signed(change: f64) -> String {
    format!("{}{}", if change > 0.0 { "+" } else { "" }, measure::value(change))
}

/// A change as a share of what there was; nothing where there was nothing, or no number.
fn relative(spent: Spent) -> String {
    share_of(spent).map_or(String::new(), |share| format!("{:+.1}%", share * 100.0))
}

/// The same as a number.
pub(super) fn share_of(spent: Spent) -> Option<f64> {
    let share = difference_of(spent) / spent[0].abs();
    share.is_finite().then_some(share)
}

/// The last names of a path, as many as one can read in a line.
pub(super) fn shown(path: &str) -> Cow<'_, str> {
    match path.rmatch_indices(CALLS).nth(NAMES_SHOWN - 1) {
        Some((at, _)) => format!("…{}", path.get(at..).unwrap_or_default()).into(),
        None => path.into(),
    }
}

fn difference_of([before, after]: Spent) -> f64 {
    after - before
}

fn difference(name: &str, metric: &str, spent: Spent) -> Difference {
    let [before, after] = spent;
    let ([was, is], change) = (spent.map(measure::value), signed(difference_of(spent)));
    let what = format!("{}: {was} and {is}, {change}", escaped(metric));
    let cells = format!("{was:>11}  {is:>11}  {change:>11}  {:>8}", relative(spent));
    let details =
        json!({ "metric": metric, "one": before, "other": after, "change": difference_of(spent) });
    let row = Some(Row { cells, ..Row::default() });
    Difference { row, ..Difference::new(name, what, details) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_has_its_sign_and_its_share() {
        assert_eq!((signed(1.5), relative([1.0, 2.5])), ("+1.500".into(), "+150.0%".into()));
        assert_eq!((signed(-0.5), relative([1.0, 0.5])), ("-0.500".into(), "-50.0%".into()));
        for [before, after] in [[0.0, 0.5], [1.0, f64::NAN], [f64::INFINITY, 1.0]] {
            assert_eq!(relative([before, after]), "");
        }
    }

    #[test]
    fn of_a_long_path_a_person_is_shown_the_last_names() {
        assert_eq!(shown("main > work"), "main > work");
        let names: Vec<_> = (0..14).map(|number| number.to_string()).collect();
        let short = shown(&names.join(CALLS)).into_owned();
        assert_eq!(short, format!("… > {}", names[2..].join(CALLS)));
    }
}
