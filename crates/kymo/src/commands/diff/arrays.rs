//! Arrays: variables by their paths, then types, steps, shapes and values; attributes.

use std::collections::BTreeMap;

use arrow_schema::DataType;
use kymo_core::{Error, Result};
use kymo_model::arrays::{Block, Step, Variable, VariableId, unravel, volume};
use serde_json::{Value, json};

use super::sides::{View, values};
use super::values::{DifferingPair, Size, ValueDifferences};
use super::{Difference, attributes};
use crate::render::numbers;

/// Everything that differs, variables first.
pub(super) fn differences(one: &View, other: &View, tolerance: f64) -> Result<Vec<Difference>> {
    let mut found = Vec::new();
    for (path, [left, right]) in pairs(variables(one), variables(other)) {
        for pair in matched(left, right) {
            let is_in_one = pair[0].is_some();
            match pair {
                [Some(left), Some(right)] => {
                    variable(&path, (one, left), (other, right), tolerance, &mut found)?;
                }
                [left, right] => found.push(only_variable(&path, left.or(right), is_in_one)),
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

/// Pairs what both sides have under the same name.
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

/// The variables of a path side by side: those whose names are in the same encoding and that are of
/// the same type first, then the others in order.
fn matched(left: Vec<(VariableId, Variable)>, right: Vec<(VariableId, Variable)>) -> Vec<Sided> {
    let key = |(_, variable): &(VariableId, Variable)| {
        let Variable { is_recoded, type_name, data_type, kind, rank, .. } = variable;
        (*is_recoded, type_name.clone(), data_type.clone(), *kind, *rank)
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

/// A variable of one side. Another may have its name in another encoding.
fn only_variable(path: &str, found: Option<(VariableId, Variable)>, is_in_one: bool) -> Difference {
    let mut difference = only_in_one(path.to_owned(), is_in_one);
    if found.is_some_and(|(_, variable)| variable.is_recoded) {
        difference.what.push_str(", where its name is Latin-1");
    }
    difference
}

pub(super) fn only_in_one(path: String, is_in_one: bool) -> Difference {
    let side = if is_in_one { "A" } else { "B" };
    Difference::new(path, format!("only in {side}"), json!({ "only": side }))
}

pub(super) fn two(path: &str, what: &str, pair: [String; 2]) -> Difference {
    let [one, other] = pair;
    let said = format!("{what} {one} in A, {other} in B");
    Difference::new(path, said, json!({ "a": one, "b": other }))
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
        let both = VariablePair { views: [one, other], data_type: &left.data_type, tolerance };
        let mut added = all.add(Place::whole_step(step, &left_step.shape), &both, &steps);
        // What is too large to go through has so little in it that its blocks tell all.
        if matches!(added, Err(Error::Request(_))) {
            added = all.add_blocks(step, &both, &steps);
        }
        match added {
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
    found.extend(all.unpaired.difference(path));
    found.extend(all.difference(path, left.steps));
    Ok(())
}

/// Returns the differences of two variables that show before any value is looked at.
fn declared(path: &str, left: &Variable, right: &Variable) -> Vec<Difference> {
    let mut found = Vec::new();
    if left.is_recoded != right.is_recoded {
        let encoding = |it: &Variable| if it.is_recoded { "Latin-1" } else { "UTF-8" }.to_owned();
        found.push(two(path, "name as", [left, right].map(encoding)));
    }
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

/// Sides of a comparison, and the way to compare them.
struct VariablePair<'a> {
    views: [&'a View; 2],
    data_type: &'a DataType,
    tolerance: f64,
}

/// Place of values: a step, and a box of it.
#[derive(Debug, Default, Clone)]
struct Place {
    step: u64,
    start: Vec<u64>,
    shape: Vec<u64>,
}

impl Place {
    fn whole_step(step: u64, shape: &[u64]) -> Self {
        Self { step, start: vec![0; shape.len()], shape: shape.to_vec() }
    }

    /// The index in the whole step of a value that is counted in the box.
    fn index(&self, apart: &DifferingPair) -> Vec<u64> {
        let index = unravel(apart.position, &self.shape);
        index.iter().zip(&self.start).map(|(index, start)| index.saturating_add(*start)).collect()
    }
}

/// Blocks of arrays that are nearly empty which one side alone has.
#[derive(Debug, Default)]
struct Unpaired {
    count: u64,
    first: Option<(Place, &'static str)>,
}

impl Unpaired {
    fn add(&mut self, place: Place, blocks: [usize; 2]) {
        let [left, right] = blocks;
        self.count += left.abs_diff(right) as u64;
        if left != right {
            let side = if left > right { "A" } else { "B" };
            self.first.get_or_insert((place, side));
        }
    }

    fn difference(&self, path: &str) -> Option<Difference> {
        let (Place { step, start, shape }, side) = self.first.as_ref()?;
        let count = match self.count {
            1 => "1 block is".to_owned(),
            count => format!("{} blocks are", numbers::grouped(count)),
        };
        let what = format!(
            "{count} in one file alone, the first in {side}: {shape:?} values at step {step} at \
             {start:?}"
        );
        let details = json!({
            "blocks": self.count, "only": side, "step": step, "start": start, "shape": shape,
        });
        Some(Difference::new(path, what, details))
    }
}

/// Differences of the values of all steps of a variable.
#[derive(Default)]
struct All {
    gap: ValueDifferences,
    values: u64,
    /// True if values are wider than any number of ours.
    rounds: bool,
    /// Place of the greatest difference, and place of the first difference that has no size.
    most: Place,
    other: Place,
    unpaired: Unpaired,
}

impl All {
    /// Compares all values of a step, or of a block of one.
    fn add(&mut self, place: Place, both: &VariablePair<'_>, steps: &[Step; 2]) -> Result<()> {
        let VariablePair { views, data_type, tolerance } = *both;
        let before = views.map(|view| view.rounded());
        let mut gap = values(views, data_type, steps, tolerance, false)?;
        // Where nothing was rounded, numbers of ours tell all.
        if self.rounds && views.map(|view| view.rounded()) != before {
            gap = values(views, data_type, steps, tolerance, true)?;
        }
        self.values = self.values.saturating_add(volume(&place.shape));
        if self.gap.other.is_none() {
            self.other = place.clone();
        }
        if self.gap.add(gap, 0) {
            self.most = place;
        }
        Ok(())
    }

    /// Compares the blocks of a step that begin at the same place and are as large.
    fn add_blocks(&mut self, step: u64, both: &VariablePair<'_>, steps: &[Step; 2]) -> Result<()> {
        let placed = |step: &Step| -> Vec<_> {
            let blocks = step.blocks.iter().cloned();
            blocks.map(|block| ((block.start.clone(), block.count.clone()), block)).collect()
        };
        let [left, right] = steps.each_ref().map(placed);
        for ((start, shape), [left, right]) in pairs(left, right) {
            let place = Place { step, start, shape };
            self.unpaired.add(place.clone(), [left.len(), right.len()]);
            for (one, other) in left.into_iter().zip(right) {
                self.add(place.clone(), both, &[one, other].map(single_block_step))?;
            }
        }
        Ok(())
    }

    fn difference(self, path: &str, steps: u64) -> Option<Difference> {
        let Self { gap, values, most, other, .. } = self;
        let [count, total] = [gap.count, values].map(numbers::grouped);
        let (shown, at) = match (&gap.most, &gap.other) {
            (Some(apart), _) => (apart, &most),
            (None, Some(apart)) => (apart, &other),
            (None, None) => return None,
        };
        let place = |step: u64, index: &[u64]| {
            let step = (steps > 1).then(|| format!(" at step {step}"));
            let index = (!index.is_empty()).then(|| format!(" at {index:?}"));
            step.unwrap_or_default() + &index.unwrap_or_default()
        };
        let (step, index) = (at.step, at.index(shown));
        let [one, two] = &shown.pair;
        let by = size_text(shown.size);
        let mut what = format!("{count} of {total} values differ, {by}");
        what = format!("{what}{}: {one}, {two}", place(step, &index));
        if let (Some(_), Some(first)) = (&gap.most, &gap.other) {
            let [one, two] = &first.pair;
            let at = place(other.step, &other.index(first));
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

/// A block as if it were all that its step has.
fn single_block_step(block: Block) -> Step {
    let shape = block.count.clone();
    Step { blocks: vec![Block { start: vec![0; shape.len()], ..block }], shape }
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
