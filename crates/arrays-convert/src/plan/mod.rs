//! What is to be written, the same for every target: groups, arrays, attributes.
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
use kymo_core::model::arrays::{ArraysView, Order, Variable, VariableId, volume};

use crate::{Kind, Loss, LossKind};
use names::Names;

pub use attributes::{Attribute, Content};
pub use names::Rules;
pub(crate) use names::{kept_name, shortened, unused};

/// What is to be written.
#[derive(Debug)]
pub struct Plan {
    /// The groups, parents before what is in them. The first is the root, whose path is empty.
    pub groups: Vec<Group>,
    /// The arrays, in the order of the source.
    pub arrays: Vec<Array>,
    /// What cannot stay as it was, as far as that is known before values are read.
    pub losses: Vec<Loss>,
    /// Which dimension varies fastest in the source.
    pub order: Order,
}

/// A group and what describes it.
#[derive(Debug, Clone, Default)]
pub struct Group {
    /// Its path in the target, without a leading `/`.
    pub path: String,
    /// What describes it.
    pub attributes: Vec<Attribute>,
}

/// A variable, or one step of it.
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
    /// Whether reading may round values.
    pub rounds: bool,
    /// The steps that its values are from.
    pub steps: Range<u64>,
    /// Whether the first dimension counts steps.
    pub is_stepped: bool,
    /// The type that values are stored as.
    pub kind: Kind,
    /// The length of each dimension, slowest first.
    pub shape: Vec<u64>,
    /// A name for each dimension; those of the same name have the same length.
    pub dimensions: Vec<String>,
    /// What describes it.
    pub attributes: Vec<Attribute>,
}

impl Array {
    /// How many values it has; saturates.
    #[must_use]
    pub fn len(&self) -> u64 {
        volume(&self.shape)
    }

    /// Whether it has no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many bytes its values take; saturates.
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
        let attributes = attributes::wanted(view.as_ref(), &variables, !only.is_empty());
        let mut names = Names::new(rules);
        for (_, variable) in &variables {
            names.add_groups_above(&variable.path);
        }
        for attribute in &attributes {
            names.add_groups_of(attribute);
        }
        let mut builder = Builder {
            view,
            order,
            names,
            arrays: Vec::new(),
            losses: Vec::new(),
            places: HashMap::new(),
        };
        for (id, variable) in variables {
            builder.add(id, &variable)?;
        }
        Ok(builder.finish(&attributes))
    }

    /// How many bytes the values of all arrays take; saturates.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.arrays.iter().fold(0, |sum, array| sum.saturating_add(array.size_bytes()))
    }

    /// How many attributes there are.
    #[must_use]
    pub fn attribute_count(&self) -> usize {
        let of_groups = self.groups.iter().map(|group| group.attributes.len());
        of_groups.chain(self.arrays.iter().map(|array| array.attributes.len())).sum()
    }
}

/// Where the attributes of a variable go.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Place {
    Array(usize),
    Group(String),
}

struct Builder<'a> {
    view: &'a Arc<dyn ArraysView>,
    order: Order,
    names: Names<'a>,
    arrays: Vec<Array>,
    losses: Vec<Loss>,
    places: HashMap<String, Vec<Place>>,
}

impl Builder<'_> {
    fn add(&mut self, id: VariableId, variable: &Variable) -> Result<()> {
        if let Some(why) = sizes::hollow(self.view, id, variable, self.order)? {
            let what = format!("left out: {why}");
            self.losses.push(Loss::new(LossKind::LeftOut, &variable.path, what));
            return Ok(());
        }
        let Some(kind) = self.kind(id, variable)? else {
            return Ok(());
        };
        let is_even = variable.min_shape == variable.max_shape;
        let path = self.names.place(&variable.path);
        self.note_path(&variable.path, &path);
        self.note_rank(variable);
        if is_even {
            let is_stepped = variable.steps != 1;
            let shape = variable.max_shape.clone();
            let array = self.array(id, variable, kind, path, 0..variable.steps, is_stepped, shape);
            self.places
                .entry(variable.path.clone())
                .or_default()
                .push(Place::Array(self.arrays.len()));
            self.arrays.push(array);
            return Ok(());
        }
        self.names.make_group(&path);
        self.places.entry(variable.path.clone()).or_default().push(Place::Group(path.clone()));
        let digits = variable.steps.saturating_sub(1).to_string().len();
        for step in 0..variable.steps {
            let shape = self.view.step(id, step)?.shape;
            let path = format!("{path}/{step:0digits$}");
            let array = self.array(id, variable, kind, path, step..step + 1, false, shape);
            self.arrays.push(array);
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments, reason = "it only puts together what is known")]
    fn array(
        &self,
        id: VariableId,
        variable: &Variable,
        kind: Kind,
        path: String,
        steps: Range<u64>,
        is_stepped: bool,
        shape: Vec<u64>,
    ) -> Array {
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
            is_stepped,
            kind,
            shape: lengths,
            dimensions: Vec::new(),
            attributes: Vec::new(),
        }
    }

    /// What the values are stored as; nothing where they cannot be, which is noted.
    fn kind(&mut self, id: VariableId, variable: &Variable) -> Result<Option<Kind>> {
        if let Some(kind) = Kind::of(&variable.data_type) {
            return Ok(Some(kind));
        }
        let measured = sizes::measure(self.view, id, variable, self.order)?;
        let kind = measured.kind(&variable.data_type).filter(|_| !measured.is_too_much());
        let (lost, what) = match kind {
            None if measured.is_too_much() => (LossKind::LeftOut, Some(measured.refused())),
            None => {
                let what = format!("left out: no target has its type, {}", variable.data_type);
                (LossKind::LeftOut, Some(what))
            }
            Some(Kind::Bytes(length)) => {
                let of = &variable.type_name;
                let what = format!("its type {of} is not known: stored as {length} bytes a value");
                (LossKind::Changed, Some(what))
            }
            Some(_) => (LossKind::Changed, measured.changed_text()),
        };
        self.losses.extend(what.map(|what| Loss::new(lost, &variable.path, what)));
        Ok(kind)
    }

    /// Whether a variable has more dimensions than the target, steps being one more.
    fn is_too_deep(&self, variable: &Variable) -> bool {
        variable.rank + usize::from(variable.steps != 1) > self.names.rank_max()
    }

    fn note_rank(&mut self, variable: &Variable) {
        if self.is_too_deep(variable) {
            let what = format!("its {} dimensions are stored as one", variable.rank);
            self.losses.push(Loss::new(LossKind::Reshaped, &variable.path, what));
        }
    }

    fn note_path(&mut self, source: &str, path: &str) {
        if source.strip_prefix('/').unwrap_or(source) != path {
            let what = format!("stored as /{path}");
            self.losses.push(Loss::new(LossKind::Renamed, source, what));
        }
    }

    fn finish(mut self, attributes: &[kymo_core::model::arrays::Attribute]) -> Plan {
        let groups = self.names.groups().map(|path| Group { path, ..Group::default() });
        let mut groups: Vec<_> = groups.collect();
        let mut holders = attributes::Holders::new(&mut groups, &mut self.arrays);
        for attribute in attributes {
            holders.add(attribute, &self.places, &mut self.names, &mut self.losses);
        }
        dimensions::name(&mut self.arrays, &groups);
        Plan { groups, arrays: self.arrays, losses: self.losses, order: self.order }
    }
}
