//! Profiles: functions by their names, so that two builds of a program can be compared.

use std::collections::BTreeMap;
use std::sync::Arc;

use kymo_core::Result;
use kymo_core::model::profile::{By, MetricId, ProfileView, Question, flat};
use serde_json::json;

use super::Difference;
use crate::render::{escaped, measure};

/// What sums may differ by because threads are added up in another order.
const ROUNDING: f64 = 1e-9;

type View = Arc<dyn ProfileView>;

/// What something spent itself, in the one and in the other.
type Spent = [f64; 2];

/// Functions that spent more or less themselves in the other, the largest change of each metric
/// first.
pub(super) fn differences(one: &View, other: &View, tolerance: f64) -> Result<Vec<Difference>> {
    let mut found = Vec::new();
    let mut metrics: BTreeMap<String, [Option<MetricId>; 2]> = BTreeMap::new();
    for (side, view) in [one, other].into_iter().enumerate() {
        for (metric, id) in view.metrics().into_iter().zip((0..).map(MetricId)) {
            if let Some(slot) = metrics.entry(metric.name).or_default().get_mut(side) {
                *slot = Some(id);
            }
        }
    }
    for (metric, [left, right]) in metrics {
        let mut spent: BTreeMap<String, Spent> = BTreeMap::new();
        for (side, (view, id)) in [(one, left), (other, right)].into_iter().enumerate() {
            let Some(id) = id else { continue };
            let question = Question { view: view.as_ref(), metric: id, threads: None };
            for row in flat(&question, By::Function)?.rows {
                if let Some(slot) = spent.entry(row.label).or_default().get_mut(side) {
                    *slot += row.exclusive;
                }
            }
        }
        let mut changes: Vec<_> =
            spent.into_iter().filter(|(_, spent)| is_change(*spent, tolerance)).collect();
        changes.sort_by(|(_, a), (_, b)| by(*b).abs().total_cmp(&by(*a).abs()));
        found.extend(changes.into_iter().map(|(name, spent)| difference(&name, &metric, spent)));
    }
    Ok(found)
}

fn by([before, after]: Spent) -> f64 {
    after - before
}

/// Whether it is more than rounding, and more than what is tolerated.
fn is_change(spent: Spent, tolerance: f64) -> bool {
    let [before, after] = spent.map(f64::abs);
    by(spent).abs() > tolerance.max(before.max(after) * ROUNDING)
}

fn difference(function: &str, metric: &str, spent: Spent) -> Difference {
    let [before, after] = spent;
    let sign = if by(spent) > 0.0 { "+" } else { "" };
    let [was, is, change] = [before, after, by(spent)].map(measure::value);
    let what = format!("{}: {was} and {is}, {sign}{change}", escaped(metric));
    let details = json!({ "metric": metric, "one": before, "other": after, "change": by(spent) });
    Difference::new(function, what, details)
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
}
