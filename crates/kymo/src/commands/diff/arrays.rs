//! Arrays: variables by their paths, then types, steps, shapes and values; attributes.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array as _, ArrayRef};
use arrow_schema::DataType;
use kymo_core::model::arrays::{
    ArraysView, Attribute, BlockId, Chunks, Order, Selection, Step, Variable, VariableId, unravel,
    volume,
};
use kymo_core::{Error, Result};
use serde_json::{Value, json};

use super::values::{Gap, Size, compare, compare_exactly};
use super::{Difference, attributes};
use crate::render::numbers;

/// Values that are read at once, of each side.
const CHUNK_VALUES: u64 = 1 << 18;

type View = Arc<dyn ArraysView>;

/// Everything that differs, variables first.
pub(super) fn differences(one: &View, other: &View, tolerance: f64) -> Result<Vec<Difference>> {
    let mut found = Vec::new();
    for (path, [left, right]) in pairs(variables(one), variables(other)) {
        for pair in matched(left, right) {
            match pair {
                [Some(left), Some(right)] => {
                    variable(&path, (one, left), (other, right), tolerance, &mut found)?;
                }
                [left, _] => found.push(only(path.clone(), left.is_some())),
            }
        }
    }
    attributes::differences(one.as_ref(), other.as_ref(), tolerance, &mut found);
    Ok(found)
}

/// The variables of a view by their paths. A path has several where its type changed.
fn variables(view: &View) -> Vec<(String, (VariableId, Variable))> {
    let ids = (0..view.variable_count()).map(VariableId);
    let variables = ids.map(|id| (id, view.variable(id)));
    variables.map(|(id, variable)| (variable.path.clone(), (id, variable))).collect()
}

/// What both sides have under the same name.
pub(super) fn pairs<K: Ord, T>(one: Vec<(K, T)>, other: Vec<(K, T)>) -> BTreeMap<K, [Vec<T>; 2]> {
    let mut pairs: BTreeMap<K, [Vec<T>; 2]> = BTreeMap::new();
    for (name, item) in one {
        let [left, _] = pairs.entry(name).or_insert_with(|| [Vec::new(), Vec::new()]);
        left.push(item);
    }
    for (name, item) in other {
        let [_, right] = pairs.entry(name).or_insert_with(|| [Vec::new(), Vec::new()]);
        right.push(item);
    }
    pairs
}

type Sided = [Option<(VariableId, Variable)>; 2];

/// The variables of a path side by side: those of the same type first, then the others in order.
fn matched(left: Vec<(VariableId, Variable)>, right: Vec<(VariableId, Variable)>) -> Vec<Sided> {
    let key = |(_, variable): &(VariableId, Variable)| {
        let Variable { type_name, data_type, kind, rank, .. } = variable;
        (type_name.clone(), data_type.clone(), *kind, *rank)
    };
    let mut matched = Vec::new();
    let (mut rest, mut others) = (Vec::new(), right);
    for one in left {
        match others.iter().position(|other| key(other) == key(&one)) {
            Some(at) => matched.push([Some(one), Some(others.remove(at))]),
            None => rest.push(one),
        }
    }
    let (mut rest, mut others) = (rest.into_iter(), others.into_iter());
    loop {
        match [rest.next(), others.next()] {
            [None, None] => return matched,
            pair => matched.push(pair),
        }
    }
}

pub(super) fn only(path: String, is_in_one: bool) -> Difference {
    let side = if is_in_one { "A" } else { "B" };
    Difference::new(path, format!("only in {side}"), json!({ "only": side }))
}

pub(super) fn two(path: &str, what: &str, pair: [String; 2]) -> Difference {
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
    found.extend(declared(path, &left, &right));
    if left.data_type != right.data_type {
        return Ok(());
    }
    let mut all = All { rounds: left.rounds && right.rounds, ..All::default() };
    let mut shapes = Shapes::default();
    for step in 0..left.steps.min(right.steps) {
        let steps = [one.step(one_id, step)?, other.step(other_id, step)?];
        let [left_step, right_step] = &steps;
        if left_step.shape != right_step.shape {
            shapes.add(step, [&left_step.shape, &right_step.shape]);
            continue;
        }
        match all.add(step, [one, other], &left.data_type, &steps, tolerance) {
            // What cannot be gone through is no reason to leave out the rest.
            Err(Error::Request(why)) => {
                let why = why.split(';').next().unwrap_or_default();
                let what = format!("step {step} is not compared: {why}");
                found.push(Difference::new(path, what, json!({ "step": step, "error": why })));
            }
            added => added?,
        }
    }
    found.extend(shapes.difference(path));
    found.extend(all.difference(path, left.steps));
    Ok(())
}

/// What differs of two variables before any value is looked at.
fn declared(path: &str, left: &Variable, right: &Variable) -> Vec<Difference> {
    let mut found = Vec::new();
    if left.data_type != right.data_type || left.type_name != right.type_name {
        // A word for a type may mean several widths.
        let is_one_word = left.type_name == right.type_name;
        let name = |variable: &Variable| {
            let width = is_one_word.then(|| format!(" read as {}", variable.data_type));
            format!("{}{}", variable.type_name, width.unwrap_or_default())
        };
        found.push(two(path, "type", [left, right].map(name)));
    }
    if left.kind != right.kind {
        let kinds = [left.kind, right.kind].map(|kind| kind.name().to_owned());
        found.push(two(path, "kind", kinds));
    }
    if left.steps != right.steps {
        found.push(two(path, "steps", [left.steps, right.steps].map(|steps| steps.to_string())));
    }
    found
}

/// The steps of a variable whose shapes differ: the first, and how many there are.
#[derive(Default)]
struct Shapes {
    count: u64,
    first: Option<(u64, [String; 2])>,
}

impl Shapes {
    fn add(&mut self, step: u64, shapes: [&Vec<u64>; 2]) {
        self.count += 1;
        let shapes = || shapes.map(|shape| format!("{shape:?}"));
        self.first.get_or_insert_with(|| (step, shapes()));
    }

    fn difference(self, path: &str) -> Option<Difference> {
        let (step, shapes) = self.first?;
        let more = match self.count - 1 {
            0 => String::new(),
            more => format!(" (and of {} more)", numbers::grouped(more)),
        };
        let mut difference = two(path, &format!("shape of step {step}{more}"), shapes);
        if let Some(details) = difference.details.as_object_mut() {
            details.insert("steps".to_owned(), json!(self.count));
        }
        Some(difference)
    }
}

/// How the values of all steps of a variable differ.
#[derive(Default)]
struct All {
    gap: Gap,
    values: u64,
    /// Whether values are wider than any number of ours.
    rounds: bool,
    /// The step and the shape of what differs most, and of the first that is no matter of size.
    most: (u64, Vec<u64>),
    other: (u64, Vec<u64>),
}

impl All {
    fn add(
        &mut self,
        step: u64,
        views: [&View; 2],
        data_type: &DataType,
        steps: &[Step; 2],
        tolerance: f64,
    ) -> Result<()> {
        let shape = steps[0].shape.clone();
        let before = views.map(|view| view.rounded());
        let mut gap = values(views, data_type, steps, tolerance, false)?;
        // Where nothing was rounded, numbers of ours tell all.
        if self.rounds && views.map(|view| view.rounded()) != before {
            gap = values(views, data_type, steps, tolerance, true)?;
        }
        self.values = self.values.saturating_add(volume(&shape));
        if self.gap.other.is_none() {
            self.other = (step, shape.clone());
        }
        if self.gap.add(gap, 0) {
            self.most = (step, shape);
        }
        Ok(())
    }

    fn difference(self, path: &str, steps: u64) -> Option<Difference> {
        let Self { gap, values, most, other, .. } = self;
        let [count, total] = [gap.count, values].map(numbers::grouped);
        let (shown, (step, shape)) = match (&gap.most, &gap.other) {
            (Some(apart), _) => (apart, &most),
            (None, Some(apart)) => (apart, &other),
            (None, None) => return None,
        };
        let place = |step: u64, index: &[u64]| {
            let step = (steps > 1).then(|| format!(" at step {step}"));
            let index = (!index.is_empty()).then(|| format!(" at {index:?}"));
            step.unwrap_or_default() + &index.unwrap_or_default()
        };
        let index = unravel(shown.position, shape);
        let [one, two] = &shown.pair;
        let by = size_text(shown.size);
        let mut what = format!("{count} of {total} values differ, {by}");
        what = format!("{what}{}: {one}, {two}", place(*step, &index));
        if let (Some(_), Some(first)) = (&gap.most, &gap.other) {
            let [one, two] = &first.pair;
            let at = place(other.0, &unravel(first.position, &other.1));
            let count = match gap.other_count {
                1 => "1 is".to_owned(),
                count => format!("{} are", numbers::grouped(count)),
            };
            what = format!("{what}; {count} no matter of size, the first{at}: {one}, {two}");
        }
        let details = json!({
            "count": gap.count, "values": values, "largest": size_json(shown.size), "step": step,
            "index": index, "a": one, "b": two, "special": gap.other_count,
        });
        Some(Difference::new(path, what, details))
    }
}

fn size_text(size: Size) -> String {
    match size {
        Size::Whole(size) => format!("by at most {size}"),
        Size::Real(size) => format!("by at most {size}"),
        Size::Less => "by less than a double tells".to_owned(),
        Size::None => "the first that is no matter of size".to_owned(),
    }
}

fn size_json(size: Size) -> Value {
    match size {
        Size::Whole(size) => u64::try_from(size).map_or(Value::Null, |size| json!(size)),
        Size::Real(size) => json!(size),
        Size::Less => json!(0.0),
        Size::None => Value::Null,
    }
}

/// How the values of two steps of the same shape differ.
fn values(
    views: [&View; 2],
    data_type: &DataType,
    steps: &[Step; 2],
    tolerance: f64,
    is_exact: bool,
) -> Result<Gap> {
    let [one, other] = views;
    let [left, right] = steps;
    let all = Selection::all(&left.shape);
    let chunks = |view: &View, step: &Step| {
        let (view, data_type) = (Arc::clone(view), data_type.clone());
        Chunks::new(view, data_type, step.clone(), &all, Order::C, CHUNK_VALUES)
    };
    let digits = |view: &View, step: &Step| {
        let view = Arc::new(Digits(Arc::clone(view)));
        Chunks::new(view, DataType::Utf8, step.clone(), &all, Order::C, CHUNK_VALUES)
    };
    let mut sides = Sides { one: chunks(one, left)?, other: chunks(other, right)?, rest: None };
    let mut gap = Gap::default();
    let mut at = 0;
    if !is_exact {
        for pair in sides {
            let [left, right] = pair?;
            gap.add(compare(&left, &right, tolerance), at);
            at += left.len() as u64;
        }
        return Ok(gap);
    }
    let exact = Sides { one: digits(one, left)?, other: digits(other, right)?, rest: None };
    for pair in exact {
        let ([left, right], Some(rounded)) = (pair?, sides.next()) else { break };
        let [one, other] = rounded?;
        gap.add(compare_exactly([&one, &other], [&left, &right], tolerance), at);
        at += left.len() as u64;
    }
    Ok(gap)
}

/// The values of a view that rounds them, by all their digits.
struct Digits(View);

impl ArraysView for Digits {
    fn variable_count(&self) -> usize {
        self.0.variable_count()
    }

    fn variable(&self, id: VariableId) -> Variable {
        self.0.variable(id)
    }

    fn step(&self, id: VariableId, step: u64) -> Result<Step> {
        self.0.step(id, step)
    }

    fn read_block(&self, block: BlockId, values: Range<u64>) -> Result<ArrayRef> {
        let digits = self.0.decimals(block, values)?;
        digits.ok_or_else(|| Error::request("there are no digits beyond those of doubles"))
    }

    fn values_at_once(&self, block: BlockId) -> u64 {
        self.0.values_at_once(block)
    }

    fn attributes(&self) -> Vec<Attribute> {
        Vec::new()
    }

    fn find(&self, path: &str) -> Vec<VariableId> {
        self.0.find(path)
    }
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
