//! Arrays: variables by their paths, then types, steps, shapes and values; attributes.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{Array as _, ArrayRef};
use kymo_core::model::arrays::{
    ArraysView, Attribute, Chunks, Order, Selection, Step, Variable, VariableId, volume,
};
use kymo_core::{Error, Result};
use serde_json::{Value, json};

use super::Difference;
use super::values::{Gap, compare, real};
use crate::render::numbers;

/// Values that are read at once, of each side.
const CHUNK_VALUES: u64 = 1 << 18;

type View = Arc<dyn ArraysView>;

/// Everything that differs, variables first.
pub(super) fn differences(one: &View, other: &View, tolerance: f64) -> Result<Vec<Difference>> {
    let mut found = Vec::new();
    for (path, [left, right]) in pairs(ids(one), ids(other)) {
        for at in 0..left.len().max(right.len()) {
            let variables = [(one, left.get(at)), (other, right.get(at))];
            match variables.map(|(view, id)| id.map(|&id| (id, view.variable(id)))) {
                [Some(left), Some(right)] => {
                    variable(&path, (one, left), (other, right), tolerance, &mut found)?;
                }
                [left, _] => found.push(only(path.clone(), left.is_some())),
            }
        }
    }
    attributes(one, other, tolerance, &mut found);
    Ok(found)
}

/// The variables of a view by their paths. A path has several where its type changed.
fn ids(view: &View) -> Vec<(String, VariableId)> {
    let ids = (0..view.variable_count()).map(VariableId);
    ids.map(|id| (view.variable(id).path, id)).collect()
}

/// What both sides have under the same name.
fn pairs<T>(one: Vec<(String, T)>, other: Vec<(String, T)>) -> BTreeMap<String, [Vec<T>; 2]> {
    let mut pairs: BTreeMap<String, [Vec<T>; 2]> = BTreeMap::new();
    for (name, item) in one {
        let [left, _] = pairs.entry(name).or_default();
        left.push(item);
    }
    for (name, item) in other {
        let [_, right] = pairs.entry(name).or_default();
        right.push(item);
    }
    pairs
}

fn only(path: String, is_in_one: bool) -> Difference {
    let side = if is_in_one { "A" } else { "B" };
    Difference::new(path, format!("only in {side}"), json!({ "only": side }))
}

fn two(path: &str, what: &str, pair: [String; 2]) -> Difference {
    let [one, other] = pair;
    Difference::new(path, format!("{what} {one}, {other}"), json!({ "a": one, "b": other }))
}

fn variable(
    path: &str,
    (one, (one_id, left)): (&View, (VariableId, Variable)),
    (other, (other_id, right)): (&View, (VariableId, Variable)),
    tolerance: f64,
    found: &mut Vec<Difference>,
) -> Result<()> {
    if left.data_type != right.data_type || left.type_name != right.type_name {
        // A word for a type may mean several widths.
        let is_one_word = left.type_name == right.type_name;
        let name = |variable: &Variable| {
            let width = is_one_word.then(|| format!(" read as {}", variable.data_type));
            format!("{}{}", variable.type_name, width.unwrap_or_default())
        };
        found.push(two(path, "type", [&left, &right].map(name)));
    }
    if left.steps != right.steps {
        found.push(two(path, "steps", [left.steps, right.steps].map(|steps| steps.to_string())));
    }
    if left.data_type != right.data_type {
        return Ok(());
    }
    let mut all = Apart::default();
    for step in 0..left.steps.min(right.steps) {
        let steps = [one.step(one_id, step)?, other.step(other_id, step)?];
        let [left_step, right_step] = &steps;
        if left_step.shape != right_step.shape {
            let shapes = [&left_step.shape, &right_step.shape].map(|shape| format!("{shape:?}"));
            found.push(two(path, &format!("shape of step {step}"), shapes));
            continue;
        }
        match all.add(step, [one, other], &left, steps, tolerance) {
            // What cannot be gone through is no reason to leave out the rest.
            Err(Error::Request(why)) => {
                let what = format!("step {step} is not compared: {why}");
                found.push(Difference::new(path, what, json!({ "step": step, "error": why })));
            }
            added => added?,
        }
    }
    found.extend(all.difference(path, left.steps));
    Ok(())
}

/// How the values of all steps of a variable differ.
#[derive(Default)]
struct Apart {
    gap: Gap,
    values: u64,
    step: u64,
    shape: Vec<u64>,
}

impl Apart {
    fn add(
        &mut self,
        step: u64,
        views: [&View; 2],
        variable: &Variable,
        steps: [Step; 2],
        tolerance: f64,
    ) -> Result<()> {
        let [one, other] = views;
        let [left, right] = steps;
        let shape = left.shape.clone();
        let all = Selection::all(&shape);
        let chunks = |view: &View, step| {
            let data_type = variable.data_type.clone();
            Chunks::new(Arc::clone(view), data_type, step, &all, Order::C, CHUNK_VALUES)
        };
        let sides = Sides { one: chunks(one, left)?, other: chunks(other, right)?, rest: None };
        let mut at = 0;
        let mut gap = Gap::default();
        for pair in sides {
            let [left, right] = pair?;
            gap.add(compare(&left, &right, tolerance), at);
            at += left.len() as u64;
        }
        self.values = self.values.saturating_add(volume(&shape));
        let is_larger = self.gap.count == 0 || gap.largest > self.gap.largest;
        if gap.count > 0 && is_larger {
            self.step = step;
            self.shape = shape;
        }
        self.gap.add(gap, 0);
        Ok(())
    }

    fn difference(self, path: &str, steps: u64) -> Option<Difference> {
        let Self { gap, values, step, shape } = self;
        if gap.count == 0 {
            return None;
        }
        let index = indices(gap.position, &shape);
        let [count, total] = [gap.count, values].map(numbers::grouped);
        let [one, other] = gap.pair;
        let mut place = String::new();
        if steps > 1 {
            place = format!(" at step {step}");
        }
        if !index.is_empty() {
            place = format!("{place} at {index:?}");
        }
        let most = if gap.largest.is_finite() {
            format!("by at most {}", gap.largest)
        } else {
            "the first that is no matter of size".to_owned()
        };
        let what = format!("{count} of {total} values differ, {most}{place}: {one}, {other}");
        let largest = if gap.largest.is_finite() { json!(gap.largest) } else { Value::Null };
        let details = json!({
            "count": gap.count, "values": values, "largest": largest, "step": step,
            "index": index, "a": one, "b": other,
        });
        Some(Difference::new(path, what, details))
    }
}

/// The index in each dimension of a position.
fn indices(position: u64, shape: &[u64]) -> Vec<u64> {
    let mut rest = position;
    let index = |&length: &u64| {
        let index = rest.checked_rem(length).unwrap_or(0);
        rest = rest.checked_div(length).unwrap_or(0);
        index
    };
    let mut indices: Vec<_> = shape.iter().rev().map(index).collect();
    indices.reverse();
    indices
}

/// Runs of values of both sides, as long as each other. A side may give fewer at once.
struct Sides {
    one: Chunks,
    other: Chunks,
    /// What is left of the side that gave more, and whether that is the first.
    rest: Option<(bool, ArrayRef)>,
}

impl Iterator for Sides {
    type Item = Result<[ArrayRef; 2]>;

    fn next(&mut self) -> Option<Self::Item> {
        let (mut left, mut right) = match self.rest.take() {
            Some((true, rest)) => (Some(rest), None),
            Some((false, rest)) => (None, Some(rest)),
            None => (None, None),
        };
        for (side, chunks) in [(&mut left, &mut self.one), (&mut right, &mut self.other)] {
            if side.is_none() {
                match chunks.next()? {
                    Ok(chunk) => *side = Some(chunk.values),
                    Err(error) => return Some(Err(error)),
                }
            }
        }
        let (left, right) = (left?, right?);
        let many = left.len().min(right.len());
        if left.len() > many {
            self.rest = Some((true, left.slice(many, left.len() - many)));
        } else if right.len() > many {
            self.rest = Some((false, right.slice(many, right.len() - many)));
        }
        Some(Ok([left.slice(0, many), right.slice(0, many)]))
    }
}

/// Attributes differ when one side has other values under a name, or values of another type.
fn attributes(one: &View, other: &View, tolerance: f64, found: &mut Vec<Difference>) {
    let named = |view: &View| -> Vec<(String, Attribute)> {
        let all = view.attributes().into_iter();
        all.map(|a| (format!("{} attribute {}", a.path, a.name), a)).collect()
    };
    for (name, [left, right]) in pairs(named(one), named(other)) {
        let is_same = |(one, other): (&Attribute, &Attribute)| is_same(one, other, tolerance);
        match (left.is_empty(), right.is_empty()) {
            (false, false) => {
                let all = left.len() == right.len() && left.iter().zip(&right).all(is_same);
                if !all {
                    found.push(two(&name, "is", shown(&left, &right)));
                }
            }
            (is_missing, _) => found.push(only(name, !is_missing)),
        }
    }
}

fn is_same(one: &Attribute, other: &Attribute, tolerance: f64) -> bool {
    if one.data_type != other.data_type {
        return false;
    }
    match (number(&one.value), number(&other.value)) {
        (Some(one), Some(other)) if tolerance > 0.0 => real(one, other) <= tolerance,
        _ => crate::render::value(&one.value) == crate::render::value(&other.value),
    }
}

#[allow(clippy::cast_precision_loss, reason = "a tolerance is for numbers that are about the same")]
fn number(value: &kymo_core::Value) -> Option<f64> {
    match value {
        kymo_core::Value::Int(number) => Some(*number as f64),
        kymo_core::Value::UInt(number) => Some(*number as f64),
        kymo_core::Value::Float32(number) => Some((*number).into()),
        kymo_core::Value::Float(number) => Some(*number),
        _ => None,
    }
}

/// The values of both sides; where they look alike, with their types.
fn shown(left: &[Attribute], right: &[Attribute]) -> [String; 2] {
    let values = |side: &[Attribute]| {
        let values: Vec<_> = side.iter().map(|a| crate::render::value(&a.value)).collect();
        values.join(" ")
    };
    let both = [values(left), values(right)];
    if both[0] != both[1] {
        return both;
    }
    let typed = |side: &[Attribute]| {
        let all =
            side.iter().map(|a| format!("{} ({})", crate::render::value(&a.value), a.type_name));
        all.collect::<Vec<_>>().join(" ")
    };
    [typed(left), typed(right)]
}
