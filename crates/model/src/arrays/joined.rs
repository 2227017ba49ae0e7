//! The arrays of several files as those of one.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::DataType;

use super::{
    ATTRIBUTES_BYTES_MAX, ArraysView, Attribute, Block, BlockId, Raw, Step, Stored, Target,
    Variable, VariableId, VariableKind,
};
use kymo_core::{Error, Invariant as _, Result, Value};

/// The arrays of files that the processes of one run wrote, as if the files stood one after the
/// other in one.
///
/// Variables of the same path, type and rank are one. Blocks that say their place in a larger
/// array meet in it, step by step; whatever else was written again is a further step.
pub struct JoinedArrays {
    views: Vec<Arc<dyn ArraysView>>,
    variables: Vec<JoinedVariable>,
    /// The variable of ours for each of each view.
    ids: Vec<Vec<VariableId>>,
}

/// A variable, and where its steps come from.
struct JoinedVariable {
    variable: Variable,
    steps: Vec<JoinedStep>,
}

/// A step of one shape.
struct JoinedStep {
    shape: Vec<u64>,
    origins: Vec<Origin>,
    /// Starts of its blocks. A block that begins where another does was written again.
    starts: HashSet<Vec<u64>>,
}

/// A step of a variable of one of the files.
#[derive(Clone, Copy)]
struct Origin {
    view: usize,
    id: VariableId,
    step: u64,
}

/// Properties that make two variables the same. A word for a type may mean several widths.
type Key = (String, bool, String, DataType, VariableKind, usize);

fn key(variable: &Variable) -> Key {
    let Variable { path, is_recoded, type_name, data_type, kind, rank, .. } = variable;
    (path.clone(), *is_recoded, type_name.to_string(), data_type.clone(), *kind, *rank)
}

impl JoinedArrays {
    /// Looks at every step of every file, and at no values.
    pub fn new(views: Vec<Arc<dyn ArraysView>>) -> Result<Self> {
        let mut joined = Self { views: Vec::new(), variables: Vec::new(), ids: Vec::new() };
        let mut known = HashMap::new();
        for view in views {
            let ids = (0..view.variable_count()).map(|id| {
                let id = VariableId(id);
                joined.add(&mut known, view.as_ref(), id)
            });
            let ids = ids.collect::<Result<_>>()?;
            joined.ids.push(ids);
            joined.views.push(view);
        }
        Ok(joined)
    }

    /// Adds a variable of the next view to the one that it is the same as.
    fn add(
        &mut self,
        known: &mut HashMap<Key, VariableId>,
        view: &dyn ArraysView,
        id: VariableId,
    ) -> Result<VariableId> {
        let variable = view.variable(id);
        let next = VariableId(self.variables.len());
        let ours = *known.entry(key(&variable)).or_insert(next);
        if ours == next {
            let variable = Variable { blocks: 0, ..variable.clone() };
            self.variables.push(JoinedVariable { variable, steps: Vec::new() });
        }
        let number = self.views.len();
        let joined = self.variables.get_mut(ours.0);
        let joined = joined.or_broken("a known variable has no place in the list")?;
        joined.widen(&variable);
        let mut next = 0;
        for step in 0..variable.steps {
            let found = view.step(id, step)?;
            next = joined.add_step(found, Origin { view: number, id, step }, next) + 1;
        }
        Ok(ours)
    }

    fn view(&self, number: usize) -> Result<&dyn ArraysView> {
        self.views.get(number).map(AsRef::as_ref).ok_or_else(|| Error::request("no such file"))
    }

    /// A number for a block of a view that no block of another has.
    fn outer(&self, view: usize, block: BlockId) -> Result<BlockId> {
        let number = block.0.checked_mul(self.views.len() as u64);
        let number = number.and_then(|number| number.checked_add(view as u64));
        number.map(BlockId).ok_or_else(|| Error::request("there are too many blocks"))
    }

    /// The view of a block, and its number there.
    fn inner(&self, block: BlockId) -> Result<(&dyn ArraysView, BlockId)> {
        let views = (self.views.len() as u64).max(1);
        let number = usize::try_from(block.0 % views).unwrap_or(usize::MAX);
        Ok((self.view(number)?, BlockId(block.0 / views)))
    }
}

impl JoinedVariable {
    fn widen(&mut self, other: &Variable) {
        let ours = &mut self.variable;
        ours.rounds |= other.rounds;
        ours.blocks = ours.blocks.saturating_add(other.blocks);
        for (length, other) in ours.min_shape.iter_mut().zip(&other.min_shape) {
            *length = (*length).min(*other);
        }
        for (length, other) in ours.max_shape.iter_mut().zip(&other.max_shape) {
            *length = (*length).max(*other);
        }
    }

    /// Puts a step of a file to the first step of the files before that it is a part of, from a
    /// place on, and gives that place. It is none of a step that has something where it begins.
    fn add_step(&mut self, step: Step, origin: Origin, from: usize) -> usize {
        let Step { shape, blocks } = step;
        let starts: HashSet<_> = blocks.into_iter().map(|block| block.start).collect();
        let is_part =
            |known: &JoinedStep| known.shape == shape && known.starts.is_disjoint(&starts);
        let is_global = self.variable.kind == VariableKind::Global;
        let rest = self.steps.iter().skip(from).position(is_part);
        let at = rest.filter(|_| is_global).map_or(self.steps.len(), |rest| from + rest);
        match self.steps.get_mut(at) {
            Some(known) => {
                known.origins.push(origin);
                known.starts.extend(starts);
            }
            None => self.steps.push(JoinedStep { shape, origins: vec![origin], starts }),
        }
        at
    }
}

impl ArraysView for JoinedArrays {
    fn variable_count(&self) -> usize {
        self.variables.len()
    }

    fn variable(&self, id: VariableId) -> Variable {
        match self.variables.get(id.0) {
            Some(JoinedVariable { variable, steps }) => {
                Variable { steps: steps.len() as u64, ..variable.clone() }
            }
            None => Variable::none(),
        }
    }

    fn step(&self, id: VariableId, step: u64) -> Result<Step> {
        let joined = self.variables.get(id.0);
        let at = usize::try_from(step).unwrap_or(usize::MAX);
        let step = joined.and_then(|joined| joined.steps.get(at));
        let step = step.ok_or_else(|| Error::request("there is no such step"))?;
        let mut blocks = Vec::new();
        for origin in &step.origins {
            for block in self.view(origin.view)?.step(origin.id, origin.step)?.blocks {
                blocks.push(Block { id: self.outer(origin.view, block.id)?, ..block });
            }
        }
        Ok(Step { shape: step.shape.clone(), blocks })
    }

    fn read_block(&self, block: BlockId, values: Range<u64>) -> Result<ArrayRef> {
        let (view, block) = self.inner(block)?;
        view.read_block(block, values)
    }

    fn values_per_read(&self, block: BlockId) -> u64 {
        self.inner(block).map_or(1, |(view, block)| view.values_per_read(block))
    }

    fn stored(&self, block: BlockId) -> Option<Stored<'_>> {
        let (view, block) = self.inner(block).ok()?;
        view.stored(block)
    }

    fn raw(&self, block: BlockId) -> Option<Raw<'_>> {
        let (view, block) = self.inner(block).ok()?;
        view.raw(block)
    }

    fn rounded(&self) -> u64 {
        self.views.iter().fold(0, |sum, view| sum.saturating_add(view.rounded()))
    }

    fn decimals(&self, block: BlockId, values: Range<u64>) -> Result<Option<ArrayRef>> {
        let (view, block) = self.inner(block)?;
        view.decimals(block, values)
    }

    fn groups(&self) -> Vec<String> {
        let mut known = HashSet::new();
        let all = self.views.iter().flat_map(|view| view.groups());
        all.filter(|path| known.insert(path.clone())).collect()
    }

    /// Those that every process wrote alike are there once.
    fn attributes(&self) -> Vec<Attribute> {
        let paths: HashSet<&str> =
            self.variables.iter().map(|joined| joined.variable.path.as_str()).collect();
        let mut all = Vec::new();
        let mut known = HashSet::new();
        let hashers = [RandomState::new(), RandomState::new()];
        let mut bytes = 0_u64;
        for view in &self.views {
            let mut new = Vec::new();
            for mut attribute in view.attributes() {
                if attribute.target == Target::Nothing && paths.contains(attribute.path.as_str()) {
                    attribute.target = Target::Variable;
                }
                // Values may be long: what stands for them is as good as unique.
                let said = format!("{:?}", Attribute { offset: 0, ..attribute.clone() });
                let said = hashers.each_ref().map(|hasher| hasher.hash_one(&said));
                if !known.contains(&said) {
                    new.push(said);
                    bytes = bytes.saturating_add(attribute.value.size_bytes());
                    if bytes > ATTRIBUTES_BYTES_MAX {
                        attribute.unread = Some(attribute.value.size_bytes());
                        attribute.value = Value::Null;
                    }
                    all.push(attribute);
                }
            }
            // What one file says twice stays twice.
            known.extend(new);
        }
        all
    }

    fn find(&self, path: &str) -> Vec<VariableId> {
        let found = self.views.iter().zip(&self.ids).flat_map(|(view, ids)| {
            view.find(path).into_iter().filter_map(|id| ids.get(id.0).copied())
        });
        let mut found: Vec<_> = found.collect();
        found.sort_unstable();
        found.dedup();
        found.sort_by_key(|id| self.variables.get(id.0).is_some_and(|it| it.variable.is_recoded));
        let paths = found.iter().filter_map(|id| self.variables.get(id.0));
        let mut paths: Vec<_> = paths.map(|joined| &joined.variable.path).collect();
        paths.dedup();
        // A name that only one path of each file ends in may still be a part of several.
        if paths.len() > 1 { Vec::new() } else { found }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::Grid;
    use super::*;

    fn joined(grids: Vec<Grid>) -> JoinedArrays {
        let views = grids.into_iter().map(|grid| grid.share() as Arc<dyn ArraysView>);
        JoinedArrays::new(views.collect()).unwrap()
    }

    /// Returns the position and the values of every block of a step.
    fn blocks(arrays: &JoinedArrays, step: u64) -> Vec<(Vec<u64>, Vec<i32>)> {
        use arrow_array::cast::AsArray;
        use arrow_array::types::Int32Type;
        let step = arrays.step(VariableId(0), step).unwrap();
        let read = |block: Block| {
            let count = super::super::volume(&block.count);
            let values = arrays.read_block(block.id, 0..count).unwrap();
            (block.start, values.as_primitive::<Int32Type>().values().to_vec())
        };
        step.blocks.into_iter().map(read).collect()
    }

    #[test]
    fn parts_of_a_larger_array_meet_in_it() {
        let top = Grid::new().add_step(&[2, 2]).block(&[0, 0], &[1, 2]);
        let bottom = Grid::new().add_step(&[2, 2]).block(&[1, 0], &[1, 2]);
        let arrays = joined(vec![top, bottom]);
        assert_eq!(arrays.variable_count(), 1);
        let variable = arrays.variable(VariableId(0));
        assert_eq!((variable.steps, variable.blocks), (1, 2));
        assert_eq!(blocks(&arrays, 0), [(vec![0, 0], vec![0, 1]), (vec![1, 0], vec![0, 1])]);
    }

    #[test]
    fn an_array_that_another_file_has_too_is_a_further_step() {
        let grid = || Grid::new().add_step(&[2]).block(&[0], &[1]).block(&[1], &[1]);
        let arrays = joined(vec![grid(), grid(), grid()]);
        assert_eq!(arrays.variable(VariableId(0)).steps, 3);
        assert_eq!(blocks(&arrays, 2), [(vec![0], vec![0]), (vec![1], vec![1000])]);
    }

    #[test]
    fn steps_of_one_file_never_meet_in_one() {
        let one = Grid::new().add_step(&[2]).block(&[0], &[2]);
        let other = Grid::new().add_step(&[3]).block(&[0], &[3]).add_step(&[3]).block(&[0], &[3]);
        let arrays = joined(vec![one, other]);
        assert_eq!(arrays.variable(VariableId(0)).steps, 3);
        assert_eq!(blocks(&arrays, 2), [(vec![0], vec![1000, 1001, 1002])]);
    }

    #[test]
    fn ranks_with_several_steps_meet_step_by_step() {
        let rank = |start: u64| {
            let grid = Grid::new().add_step(&[2]).block(&[start], &[1]);
            grid.add_step(&[2]).block(&[start], &[1])
        };
        let arrays = joined(vec![rank(0), rank(1)]);
        assert_eq!(arrays.variable(VariableId(0)).steps, 2);
        assert_eq!(blocks(&arrays, 1), [(vec![0], vec![1000]), (vec![1], vec![1000])]);
    }

    #[test]
    fn an_array_of_another_shape_is_a_further_step() {
        let small = Grid::new().add_step(&[2]).block(&[0], &[2]);
        let large = Grid::new().add_step(&[3]).block(&[0], &[3]);
        let arrays = joined(vec![small, large]);
        let variable = arrays.variable(VariableId(0));
        assert_eq!((variable.steps, variable.min_shape, variable.max_shape), (2, vec![2], vec![3]));
        assert_eq!(blocks(&arrays, 1), [(vec![0], vec![0, 1, 2])]);
        assert_eq!(arrays.find("/grid"), [VariableId(0)]);
    }
}
