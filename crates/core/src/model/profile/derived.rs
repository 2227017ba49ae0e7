//! Metrics that are computed from others.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::{By, Flat, FlatRow, Metric, MetricId, ProfileView, Question, Reach, ThreadSet, flat};
use crate::Result;

/// A metric that is computed from others, such as a share or a mean. It is computed of sums, and
/// is never summed up itself.
#[derive(Debug, Clone)]
pub struct Derived {
    /// What it is.
    pub metric: Metric,
    /// What it is computed from.
    pub inputs: Vec<MetricId>,
    /// How.
    pub formula: Arc<dyn Formula>,
}

/// How a metric is computed.
pub trait Formula: fmt::Debug + Send + Sync {
    /// What it comes to, from what each input comes to; nothing where an input has nothing.
    fn evaluate(&self, reach: Reach, inputs: &[Option<f64>]) -> Option<f64>;
}

/// What each input came to for a row: inclusive and exclusive.
type Inputs = (Vec<Option<f64>>, Vec<Option<f64>>);

/// A flat profile of a metric that is computed: of the sums of each row. What has no value is no
/// number.
///
/// # Errors
/// When the profile cannot be read.
pub fn flat_derived(
    view: &dyn ProfileView,
    derived: &Derived,
    threads: Option<&ThreadSet>,
    by: By,
) -> Result<Flat> {
    let count = derived.inputs.len();
    let mut rows: HashMap<String, Inputs> = HashMap::new();
    let mut totals = vec![None; count];
    for (index, metric) in derived.inputs.iter().enumerate() {
        let found = flat(&Question { view, metric: *metric, threads }, by)?;
        put(&mut totals, index, found.total);
        for row in found.rows {
            let inputs = rows.entry(row.label);
            let (inclusive, exclusive) =
                inputs.or_insert_with(|| (vec![None; count], vec![None; count]));
            put(inclusive, index, row.inclusive);
            put(exclusive, index, row.exclusive);
        }
    }
    let of =
        |reach, inputs: &[Option<f64>]| derived.formula.evaluate(reach, inputs).unwrap_or(f64::NAN);
    let rows = rows.into_iter().map(|(label, (inclusive, exclusive))| FlatRow {
        label,
        inclusive: of(Reach::Execution, &inclusive),
        exclusive: of(Reach::Function, &exclusive),
    });
    let rows = rows.filter(|row| !(row.inclusive.is_nan() && row.exclusive.is_nan())).collect();
    Ok(Flat { total: of(Reach::Execution, &totals), rows })
}

/// What is 0 is not there.
fn put(to: &mut [Option<f64>], index: usize, value: f64) {
    if let Some(to) = to.get_mut(index) {
        *to = Some(value).filter(|value| *value != 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    /// Eleven, where the first input is something.
    #[derive(Debug)]
    struct Eleven;

    impl Formula for Eleven {
        fn evaluate(&self, _: Reach, inputs: &[Option<f64>]) -> Option<f64> {
            inputs[0].map(|_| 11.0)
        }
    }

    #[test]
    fn it_is_computed_of_sums_and_not_summed_up() {
        let inputs = vec![MetricId(0)];
        let (metric, formula) = (Metric::named("eleven"), Arc::new(Eleven));
        let derived = Derived { metric, inputs, formula };
        let tree = fixture::tree();
        let mut found = flat_derived(&tree, &derived, None, By::Function).unwrap();
        found.rows.sort_by(|a, b| a.label.cmp(&b.label));
        let shown = |row: &FlatRow| format!("{} {} {}", row.label, row.inclusive, row.exclusive);
        let rows: Vec<_> = found.rows.iter().map(shown).collect();
        // The entry point spent nothing itself: that has no value.
        assert_eq!(rows, ["<main thread> 11 NaN", "main 11 11", "work 11 11"]);
        assert_eq!(found.total.to_string(), "11");
    }
}
