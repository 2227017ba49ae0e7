//! Contexts that no listing names: instructions within a line. They are known by what they have.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

/// More pairs of contexts than this are not gone through one by one.
const PAIRS_MAX: usize = 1 << 22;

/// What values are of: a thread or a statistic, and a column. Each has a number.
#[derive(Debug, Default)]
pub(super) struct Keys {
    known: RefCell<HashMap<(String, String), usize>>,
}

impl Keys {
    fn of(&self, name: &str, column: &str) -> usize {
        let mut known = self.known.borrow_mut();
        let next = known.len();
        *known.entry((name.to_owned(), column.to_owned())).or_insert(next)
    }

    /// The names by their numbers.
    fn names(&self) -> Vec<(String, String)> {
        let known = self.known.borrow();
        let mut names: Vec<_> = known.iter().map(|(name, key)| (*key, name.clone())).collect();
        names.sort();
        names.into_iter().map(|(_, name)| name).collect()
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

    pub(super) fn add(&mut self, context: u64, name: &str, column: &str, value: f64) {
        let key = self.keys.of(name, column);
        self.rows.entry(context).or_default().push((key, value));
    }

    /// What each has. Their numbers mean nothing.
    pub(super) fn into_rows(self) -> Vec<Row> {
        let mut rows: Vec<Row> = self.rows.into_values().collect();
        for row in &mut rows {
            row.sort_by_key(|(key, _)| *key);
        }
        rows
    }
}

/// What differs, in words and for a program, when contexts that have the same are taken for the same.
pub(super) fn differences(
    keys: &Keys,
    one: Vec<Row>,
    other: Vec<Row>,
    is_apart: impl Fn(f64, f64) -> bool,
) -> Vec<(String, Value)> {
    let (one, other) = without_pairs(one, other, &is_apart);
    let names = keys.names();
    let [left, right] = [&one, &other].map(|rows| by_key(rows));
    let mut found = Vec::new();
    for (key, (name, column)) in names.iter().enumerate() {
        let [left, right] = [&left, &right].map(|all| all.get(&key).map_or(&[][..], |found| found));
        let count = left.iter().zip(right).filter(|(one, other)| is_apart(**one, **other)).count();
        let what = match left.len() == right.len() {
            true if count == 0 => continue,
            true if count == 1 => "1 value differs".to_owned(),
            true => format!("{count} values differ"),
            false => format!("{} and {} values", left.len(), right.len()),
        };
        let [one, other] = [left, right].map(|values| values.iter().sum::<f64>());
        let details = json!({ "thread": name, "column": column, "one": one, "other": other });
        found.push((format!("{name}: {column}: {what}"), details));
    }
    let most = one.len().max(other.len());
    if found.is_empty() && most > 0 {
        let what = format!("{most} of them have the same values, but not together");
        found.push((what, json!({ "contexts": most })));
    }
    found
}

/// Values by their keys, the smallest first.
fn by_key(rows: &[Row]) -> BTreeMap<usize, Vec<f64>> {
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
    use super::*;

    /// What differs between contexts, each with the values of a thread and of all.
    fn found(one: &[[f64; 2]], other: &[[f64; 2]]) -> Vec<String> {
        let keys = Keys::default();
        let rows = |contexts: &[[f64; 2]], first: u64| {
            let mut unlisted = Unlisted::new(&keys);
            for (values, context) in contexts.iter().zip(first..) {
                unlisted.add(context, "THREAD 0", "time", values[0]);
                unlisted.add(context, "all threads, sum", "time", values[1]);
            }
            unlisted.into_rows()
        };
        let (one, other) = (rows(one, 5), rows(other, 900));
        let found = differences(&keys, one, other, |a, b| (a - b).abs() > 1e-9);
        found.into_iter().map(|(what, _)| what).collect()
    }

    #[test]
    fn contexts_without_names_are_known_by_all_that_they_have() {
        let contexts = [[1.0, 2.0], [3.0, 4.0], [3.0, 5.0]];
        let turned = [[3.0, 5.0 + 1e-12], [1.0, 2.0], [3.0, 4.0]];
        assert_eq!(found(&contexts, &turned), [""; 0]);
        let swapped = [[1.0, 4.0], [3.0, 2.0], [3.0, 5.0]];
        let expected = "2 of them have the same values, but not together";
        assert_eq!(found(&contexts, &swapped), [expected]);
        let other = [[1.0, 2.0], [3.0, 4.5], [3.0, 5.0]];
        assert_eq!(found(&contexts, &other), ["all threads, sum: time: 1 value differs"]);
        let fewer = ["THREAD 0: time: 1 and 0 values", "all threads, sum: time: 1 and 0 values"];
        assert_eq!(found(&contexts, &contexts[..2]), fewer);
    }
}
