//! Plan of the output, the same for every target: groups, arrays, attributes.
//!
//! A plan is made once from the arrays of a dataset. It says where each variable goes, with which
//! type and shape, and names everything that cannot stay as it was. Targets only carry it out.

mod attributes;
mod dimensions;
mod names;
mod sizes;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_schema::DataType;
use kymo_core::Result;
use kymo_model::arrays::{ArraysView, Order, Step, Variable, VariableId, volume};

use crate::arrays::{Kind, Loss, LossKind};
use names::Names;
use sizes::{Allowance, Presence};

pub use attributes::{Attribute, Content};
pub(crate) use dimensions::DimensionNames;
pub use names::Rules;
pub(crate) use names::{kept_name, shortened};
pub(crate) use sizes::VALUE_BYTES_MAX;

/// Plan of the output.
#[derive(Debug)]
pub struct Plan {
    /// The groups, parents before what is in them. The first is the root, whose path is empty.
    pub groups: Vec<Group>,
    /// The arrays, in the order of the source.
    pub arrays: Vec<Array>,
    /// Losses: what cannot stay as it was, as far as that is known before values are read.
    pub losses: Vec<Loss>,
    /// Order of the source: the dimension that varies fastest.
    pub order: Order,
    /// Names for further dimensions.
    pub(crate) dimension_names: DimensionNames,
}

/// A group and what describes it.
#[derive(Debug, Clone, Default)]
pub struct Group {
    /// Its path in the target, without a leading `/`.
    pub path: String,
    /// Attributes that describe it.
    pub attributes: Vec<Attribute>,
}

/// A variable, one step of it, or one block of a step.
#[derive(Debug)]
pub struct Array {
    /// Its path in the target, without a leading `/`.
    pub path: String,
    /// Its path in the source.
    pub source: String,
    /// The variable that its values are from.
    pub variable: VariableId,
    /// The type that values are read as.
    pub data_type: DataType,
    /// True if reading may round values.
    pub rounds: bool,
    /// The steps that its values are from.
    pub steps: Range<u64>,
    /// The block of its only step that it is, where it is no more than that.
    pub block: Option<usize>,
    /// True if the first dimension counts steps.
    pub is_stepped: bool,
    /// The type that values are stored as.
    pub kind: Kind,
    /// The length of each dimension, slowest first.
    pub shape: Vec<u64>,
    /// A name for each dimension; those of the same name have the same length.
    pub dimensions: Vec<String>,
    /// Attributes that describe it.
    pub attributes: Vec<Attribute>,
}

impl Array {
    /// Returns the number of values; saturates.
    #[must_use]
    pub fn len(&self) -> u64 {
        volume(&self.shape)
    }

    /// Returns true if it has no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of bytes that the values take; saturates.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.len().saturating_mul(self.kind.width() as u64)
    }
}

impl Plan {
    /// Plans the conversion of a view, or of some of its variables where these are named.
    pub(crate) fn new(
        view: &Arc<dyn ArraysView>,
        order: Order,
        rules: &Rules,
        only: &[VariableId],
    ) -> Result<Self> {
        let ids: Vec<_> = match only {
            [] => (0..view.variable_count()).map(VariableId).collect(),
            named => named.to_vec(),
        };
        let variables: Vec<_> = ids.iter().map(|&id| (id, view.variable(id))).collect();
        let presence =
            |(id, variable): &(_, _)| Presence::from_variable(view.as_ref(), *id, variable);
        let presences = variables.iter().map(presence).collect::<Result<Vec<_>>>()?;
        let attributes =
            attributes::selected_attributes(view.as_ref(), &variables, !only.is_empty());
        let mut names = Names::new(rules);
        for (_, variable) in &variables {
            names.add_groups_above(&variable.path);
            if !variable.is_recoded {
                names.keep(&variable.path);
            }
        }
        let mut builder = Builder {
            view,
            order,
            names,
            arrays: Vec::new(),
            losses: Vec::new(),
            places: HashMap::new(),
            allowance: Allowance::from_presences(presences.iter()),
        };
        for ((id, variable), presence) in variables.into_iter().zip(presences) {
            builder.add(id, &variable, &presence)?;
        }
        if only.is_empty() {
            builder.add_groups(view.groups());
        }
        Ok(builder.finish(attributes))
    }

    /// Returns the number of bytes that the values of all arrays take; saturates.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.arrays.iter().fold(0, |sum, array| sum.saturating_add(array.size_bytes()))
    }

    /// Returns the number of attributes.
    #[must_use]
    pub fn attribute_count(&self) -> usize {
        let of_groups = self.groups.iter().map(|group| group.attributes.len());
        of_groups.chain(self.arrays.iter().map(|array| array.attributes.len())).sum()
    }
}

/// Place for the attributes of a variable.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Place {
    Array(usize),
    Group(String),
}

/// Kinds in which the values of a variable are stored.
enum Kinds {
    /// All as one.
    One(Kind),
    /// Each step by itself.
    Each(Vec<Kind>),
}

/// Part of the values of a variable that an array has.
struct Part {
    path: String,
    kind: Kind,
    steps: Range<u64>,
    block: Option<usize>,
    is_stepped: bool,
    /// As the source lists dimensions.
    shape: Vec<u64>,
}

struct Builder<'a> {
    view: &'a Arc<dyn ArraysView>,
    order: Order,
    names: Names<'a>,
    arrays: Vec<Array>,
    losses: Vec<Loss>,
    places: HashMap<String, Vec<Place>>,
    allowance: Allowance,
}

impl Builder<'_> {
    fn add(&mut self, id: VariableId, variable: &Variable, presence: &Presence) -> Result<()> {
        let is_hollow = !self.allowance.covers(presence);
        if is_hollow && presence.blocks == 0 {
            let what = format!("left out: none of its {} values is in the file", presence.values);
            self.losses.push(Loss::new(LossKind::LeftOut, &variable.path, what));
            return Ok(());
        }
        let there = is_hollow.then_some(presence.there);
        let Some(kinds) = self.kinds(id, variable, there)? else {
            return Ok(());
        };
        let path = self.names.place(&variable.path, variable.is_recoded);
        self.note_name(variable, &path);
        self.note_rank(variable);
        let is_even = variable.min_shape == variable.max_shape;
        match kinds {
            Kinds::One(kind) if is_hollow => self.add_blocks(id, variable, kind, &path, presence),
            Kinds::One(kind) if is_even => {
                self.add_whole(id, variable, kind, path);
                Ok(())
            }
            Kinds::One(kind) => self.add_steps(id, variable, &|_| kind, &path),
            Kinds::Each(kinds) => {
                let kind = |step: u64| {
                    let step = usize::try_from(step).unwrap_or(usize::MAX);
                    kinds.get(step).copied().unwrap_or(Kind::Bytes(1))
                };
                self.add_steps(id, variable, &kind, &path)
            }
        }
    }

    /// Makes the groups that the source names by themselves.
    fn add_groups(&mut self, paths: Vec<String>) {
        for source in paths {
            let what = match self.names.add_group(&source) {
                Ok(path) if source.trim_matches('/') == path => continue,
                Ok(path) => (LossKind::Renamed, format!("stored as /{path}")),
                Err(why) => (LossKind::LeftOut, format!("left out: {why}")),
            };
            self.losses.push(Loss::new(what.0, source, what.1));
        }
    }

    fn add_whole(&mut self, id: VariableId, variable: &Variable, kind: Kind, path: String) {
        let place = Place::Array(self.arrays.len());
        self.places.entry(variable.path.clone()).or_default().push(place);
        let (steps, is_stepped) = (0..variable.steps, variable.steps != 1);
        let shape = variable.max_shape.clone();
        let part = Part { path, kind, steps, block: None, is_stepped, shape };
        let array = self.array(id, variable, part);
        self.arrays.push(array);
    }

    /// Makes a group of a variable, for what is numbered in it.
    fn make_group(&mut self, variable: &Variable, path: &str) {
        self.names.make_group(path);
        let place = Place::Group(path.to_owned());
        self.places.entry(variable.path.clone()).or_default().push(place);
    }

    fn add_steps(
        &mut self,
        id: VariableId,
        variable: &Variable,
        kind: &dyn Fn(u64) -> Kind,
        path: &str,
    ) -> Result<()> {
        self.make_group(variable, path);
        let digits = digits(variable.steps);
        for step in 0..variable.steps {
            let shape = self.view.step(id, step)?.shape;
            let path = format!("{path}/{step:0digits$}");
            let (kind, steps) = (kind(step), step..step + 1);
            let part = Part { path, kind, steps, block: None, is_stepped: false, shape };
            let array = self.array(id, variable, part);
            self.arrays.push(array);
        }
        Ok(())
    }

    /// Writes what is there of an array of which nearly nothing is: block by block, each with its
    /// place.
    fn add_blocks(
        &mut self,
        id: VariableId,
        variable: &Variable,
        kind: Kind,
        path: &str,
        presence: &Presence,
    ) -> Result<()> {
        self.make_group(variable, path);
        let Presence { values, there, blocks, .. } = presence;
        let what = format!(
            "only {there} of {values} values are in the file: stored as its blocks, {blocks} in \
             all, with attributes start and shape"
        );
        self.losses.push(Loss::new(LossKind::Reshaped, &variable.path, what));
        let digits = digits(*blocks);
        let mut number = 0_u64;
        for at in 0..variable.steps {
            let Step { shape, blocks } = self.view.step(id, at)?;
            for (index, block) in blocks.into_iter().enumerate() {
                let path = format!("{path}/{number:0digits$}");
                let (steps, block_at) = (at..at + 1, Some(index));
                let (is_stepped, count) = (false, block.count);
                let part = Part { path, kind, steps, block: block_at, is_stepped, shape: count };
                let mut array = self.array(id, variable, part);
                let [start, whole] = [block.start, shape.clone()].map(|it| self.order.turn(it));
                array.attributes.push(Attribute::numbers("start", &start));
                array.attributes.push(Attribute::numbers("shape", &whole));
                if variable.steps > 1 {
                    array.attributes.push(Attribute::numbers("step", &[at]));
                }
                self.arrays.push(array);
                number += 1;
            }
        }
        Ok(())
    }

    fn array(&self, id: VariableId, variable: &Variable, part: Part) -> Array {
        let Part { path, kind, steps, block, is_stepped, shape } = part;
        let mut lengths = self.order.turn(shape);
        if self.is_too_deep(variable) {
            lengths = vec![volume(&lengths)];
        }
        if is_stepped {
            lengths.insert(0, steps.end - steps.start);
        }
        Array {
            path,
            source: variable.path.clone(),
            variable: id,
            data_type: variable.data_type.clone(),
            rounds: variable.rounds,
            steps,
            block,
            is_stepped,
            kind,
            shape: lengths,
            dimensions: Vec::new(),
            attributes: Vec::new(),
        }
    }

    /// Returns the kinds in which the values are stored; nothing where they cannot be, which is
    /// noted. Of an array that is nearly empty, only the values that are there are stored.
    fn kinds(
        &mut self,
        id: VariableId,
        variable: &Variable,
        there: Option<u64>,
    ) -> Result<Option<Kinds>> {
        if let Some(kind) = Kind::from_type(&variable.data_type) {
            return Ok(Some(Kinds::One(kind)));
        }
        let mut measured = sizes::measure(self.view, id, variable, self.order)?;
        if let Some(there) = there {
            measured.count_only(there);
        }
        let kinds = measured_kinds(&measured, variable, self.names.rules());
        let said = match &kinds {
            Err(why) => vec![(LossKind::LeftOut, why.clone())],
            Ok(_) if variable.data_type == DataType::Binary => {
                let (name, length) = (&variable.type_name, measured.longest.max(1));
                let what =
                    format!("its type {name} is not known: stored as {length} bytes a value");
                vec![(LossKind::Changed, what)]
            }
            Ok(_) => measured.changes().map(|what| (LossKind::Changed, what.to_owned())).collect(),
        };
        let path = &variable.path;
        self.losses.extend(said.into_iter().map(|(kind, what)| Loss::new(kind, path, what)));
        Ok(kinds.ok())
    }

    /// Returns true if a variable has more dimensions than the target, steps being one more.
    fn is_too_deep(&self, variable: &Variable) -> bool {
        variable.rank + usize::from(variable.steps != 1) > self.names.rules().rank_max
    }

    fn note_rank(&mut self, variable: &Variable) {
        if self.is_too_deep(variable) {
            let what = format!("its {} dimensions are stored as one", variable.rank);
            self.losses.push(Loss::new(LossKind::Reshaped, &variable.path, what));
        }
    }

    fn note_name(&mut self, variable: &Variable, path: &str) {
        let source = variable.path.as_str();
        if source.strip_prefix('/').unwrap_or(source) != path {
            let what = format!("stored as /{path}");
            self.losses.push(Loss::new(LossKind::Renamed, source, what));
        }
        if variable.is_recoded {
            let what = "its name is Latin-1 and stored as UTF-8";
            self.losses.push(Loss::new(LossKind::Changed, source, what));
        }
    }

    fn finish(mut self, attributes: Vec<kymo_model::arrays::Attribute>) -> Plan {
        for attribute in &attributes {
            self.names.add_groups_of(attribute);
        }
        let groups = self.names.groups().map(|path| Group { path, ..Group::default() });
        let mut groups: Vec<_> = groups.collect();
        let mut holders = attributes::Holders::new(&mut groups, &mut self.arrays);
        for attribute in attributes {
            holders.add(attribute, &self.places, &self.names, &mut self.losses);
        }
        let dimension_names = dimensions::name(&mut self.arrays, &groups);
        let Self { arrays, losses, order, .. } = self;
        Plan { groups, arrays, losses, order, dimension_names }
    }
}

/// Returns the kinds in which values of measured lengths are stored, or the reason why they cannot
/// be.
fn measured_kinds(
    measured: &sizes::Measured,
    variable: &Variable,
    rules: &Rules,
) -> std::result::Result<Kinds, String> {
    let data_type = &variable.data_type;
    let (Some(kind), Some(kinds)) = (measured.kind(data_type), measured.kinds(data_type)) else {
        return Err(format!("left out: no target has its type, {data_type}"));
    };
    let is_text = matches!(kind, Kind::Text(_));
    if measured.longest > VALUE_BYTES_MAX {
        let is_streamed = measured.is_one_run && !measured.is_recoded;
        if !is_streamed || is_text && !rules.streams_text {
            let (longest, most) = (measured.longest, VALUE_BYTES_MAX >> 20);
            return Err(format!("left out: a value of {longest} bytes is more than {most} MiB"));
        }
    }
    if is_text && !rules.pads_text || !measured.is_too_much() {
        Ok(Kinds::One(kind))
    } else if variable.steps > 1 && !measured.is_too_much_by_step() {
        Ok(Kinds::Each(kinds))
    } else {
        Err(measured.refused())
    }
}

/// Returns the number of digits needed to count so many from 0.
fn digits(count: u64) -> usize {
    count.saturating_sub(1).to_string().len()
}
