//! Contexts that no listing names: instructions within a line. They are known by what they have.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use super::{MeasuredMetric, ValueOwner};

/// More pairs of contexts than this are not gone through one by one.
const PAIRS_MAX: usize = 1 << 22;

/// Pairs of the owner of values and the metric that was measured. Each pair has a number.
#[derive(Debug, Default)]
pub(super) struct Keys {
    known: RefCell<HashMap<(ValueOwner, MeasuredMetric), usize>>,
}

impl Keys {
    fn number(&self, value_owner: &ValueOwner, measured: &MeasuredMetric) -> usize {
        let mut known = self.known.borrow_mut();
        let next = known.len();
        *known.entry((value_owner.clone(), measured.clone())).or_insert(next)
    }

    /// All of them by their numbers.
    fn all(&self) -> Vec<(ValueOwner, MeasuredMetric)> {
        let known = self.known.borrow();
        let mut all: Vec<_> = known.iter().map(|(pair, number)| (*number, pair.clone())).collect();
        all.sort();
        all.into_iter().map(|(_, pair)| pair).collect()
    }
}

/// All that a context has, by its keys.
pub(super) type Row = Vec<(usize, f64)>;

/// The contexts of one recording that are not listed.
#[derive(Debug)]
pub(super) struct Unlisted<'a> {
    keys: &'a Keys,
    rows: HashMap<u64, Row>,
}

impl<'a> Unlisted<'a> {
    pub(super) fn new(keys: &'a Keys) -> Self {
        Self { keys, rows: HashMap::new() }
    }

    /// Another one that knows the same keys.
    pub(super) fn with_same_keys(&self) -> Self {
        Self::new(self.keys)
    }

    pub(super) fn add(
        &mut self,
        context: u64,
        value_owner: &ValueOwner,
        measured: &MeasuredMetric,
        value: f64,
    ) {
        let key = self.keys.number(value_owner, measured);
        self.rows.entry(context).or_default().push((key, value));
    }

    /// Returns the values of each context. The numbers of the contexts mean nothing.
    pub(super) fn into_rows(self) -> Vec<Row> {
        let mut rows: Vec<Row> = self.rows.into_values().collect();
        for row in &mut rows {
            row.sort_by_key(|(key, _)| *key);
        }
        rows
    }
}

/// Values of such contexts that differ.
#[derive(Debug, PartialEq)]
pub(super) enum Differing {
    /// Those of one kind, how many each of the two has, and what they come to.
    Values {
        of: ValueOwner,
        measured: MeasuredMetric,
        /// Number of values that differ.
        count: usize,
        /// Number of values in each, of those that have no counterpart.
        counts: [usize; 2],
        sums: [f64; 2],
    },
    /// So many contexts have the same values, but not together.
    Apart(usize),
}

/// Returns the differences that remain when contexts that have the same values are taken for the
/// same.
pub(super) fn differences(
    keys: &Keys,
    one: Vec<Row>,
    other: Vec<Row>,
    is_apart: impl Fn(f64, f64) -> bool,
) -> Vec<Differing> {
    let (one, other) = without_pairs(one, other, &is_apart);
    let [left, right] = [&one, &other].map(|rows| sorted_values(rows));
    let mut found = Vec::new();
    for (key, (value_owner, measured)) in keys.all().into_iter().enumerate() {
        let both = [&left, &right].map(|all| all.get(&key).map_or(&[][..], |found| found));
        let [left, right] = both;
        let pairs = left.iter().zip(right);
        let count = pairs.filter(|(one, other)| is_apart(**one, **other)).count()
            + left.len().abs_diff(right.len());
        if count > 0 {
            let counts = both.map(<[f64]>::len);
            let sums = both.map(|values| values.iter().sum::<f64>());
            found.push(Differing::Values { of: value_owner, measured, count, counts, sums });
        }
    }
    let most = one.len().max(other.len());
    if found.is_empty() && most > 0 {
        found.push(Differing::Apart(most));
    }
    found
}

/// Values by their keys, the smallest first.
fn sorted_values(rows: &[Row]) -> BTreeMap<usize, Vec<f64>> {
    let mut found: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for (key, value) in rows.iter().flatten() {
        found.entry(*key).or_default().push(*value);
    }
    for values in found.values_mut() {
        values.sort_by(f64::total_cmp);
    }
    found
}

/// Those that have no counterpart in the other recording.
fn without_pairs(
    one: Vec<Row>,
    other: Vec<Row>,
    is_apart: &impl Fn(f64, f64) -> bool,
) -> (Vec<Row>, Vec<Row>) {
    // Most have the very same values.
    let bits = |row: &Row| -> Vec<(usize, u64)> {
        row.iter().map(|(key, value)| (*key, value.to_bits())).collect()
    };
    let mut known: HashMap<Vec<(usize, u64)>, Vec<Row>> = HashMap::new();
    for row in other {
        known.entry(bits(&row)).or_default().push(row);
    }
    let has_none = |row: &Row| known.get_mut(&bits(row)).and_then(Vec::pop).is_none();
    let mut one: Vec<Row> = one.into_iter().filter(has_none).collect();
    let mut other: Vec<Row> = known.into_values().flatten().collect();
    for rows in [&mut one, &mut other] {
        rows.sort_by_key(bits);
    }
    if one.len().saturating_mul(other.len()) > PAIRS_MAX {
        return (one, other);
    }
    let is_same = |one: &Row, other: &Row| {
        let is_near = |((key, value), (other_key, other_value)): (&(usize, f64), &(usize, f64))| {
            key == other_key && !is_apart(*value, *other_value)
        };
        one.len() == other.len() && one.iter().zip(other).all(is_near)
    };
    let mut take = |row: &Row| {
        let place = other.iter().position(|candidate| is_same(row, candidate));
        place.map(|place| other.remove(place)).is_none()
    };
    one.retain(&mut take);
    (one, other)
}

#[cfg(test)]
mod tests {
    use kymo_model::profile::{MetricScope, Statistic};

    use super::*;

    /// Returns the differences between contexts, each with the values of a thread and of all: the
    /// number of values, and the number that each has.
    fn found(one: &[[f64; 2]], other: &[[f64; 2]]) -> Vec<(String, usize, [usize; 2])> {
        let keys = Keys::default();
        let time = MeasuredMetric { metric: "time".into(), reach: MetricScope::Point };
        let rows = |contexts: &[[f64; 2]], first: u64| {
            let mut unlisted = Unlisted::new(&keys);
            for (values, context) in contexts.iter().zip(first..) {
                unlisted.add(context, &ValueOwner::Thread("THREAD 0".into()), &time, values[0]);
                unlisted.add(context, &ValueOwner::All(Statistic::Sum), &time, values[1]);
            }
            unlisted.into_rows()
        };
        let (one, other) = (rows(one, 5), rows(other, 900));
        let found = differences(&keys, one, other, |a, b| (a - b).abs() > 1e-9);
        let told = |found| match found {
            Differing::Values { of: value_owner, count, counts, .. } => {
                (value_owner.to_string(), count, counts)
            }
            Differing::Apart(count) => (String::new(), count, [0; 2]),
        };
        found.into_iter().map(told).collect()
    }

    #[test]
    fn contexts_without_names_are_known_by_all_that_they_have() {
        let contexts = [[1.0, 2.0], [3.0, 4.0], [3.0, 5.0]];
        let turned = [[3.0, 5.0 + 1e-12], [1.0, 2.0], [3.0, 4.0]];
        assert_eq!(found(&contexts, &turned), []);
        let swapped = [[1.0, 4.0], [3.0, 2.0], [3.0, 5.0]];
        assert_eq!(found(&contexts, &swapped), [(String::new(), 2, [0; 2])]);
        let other = [[1.0, 2.0], [3.0, 4.5], [3.0, 5.0]];
        let all = "all threads, sum".to_owned();
        assert_eq!(found(&contexts, &other), [(all.clone(), 1, [1; 2])]);
        let fewer = [("THREAD 0".to_owned(), 1, [1, 0]), (all, 1, [1, 0])];
        assert_eq!(found(&contexts, &contexts[..2]), fewer);
    }
}
