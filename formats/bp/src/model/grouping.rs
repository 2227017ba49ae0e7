//! Groups of elements that are writings of the same variable.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash};

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use kymo_model::arrays::{Variable, VariableKind};

use super::positive;
use super::steps::Steps;
use crate::read::{Index, ValueType};
use crate::spec::Dialect;
use crate::types::{Dimensions, Element, ElementKind, is_latin1, normal_path, text};

/// Marks an element that belongs to no variable.
const NONE: u32 = u32::MAX;

/// Elements by variable.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Grouping {
    variables: Vec<VariableElements>,
    /// Elements by variable, within it by step, within that in the order of the file.
    members: Vec<u32>,
    attributes: Vec<u32>,
    /// Elements that name a group and hold nothing.
    group_elements: Vec<u32>,
    groups: usize,
    counts: [u64; ElementKind::ALL.len()],
    payload_bytes: u64,
    value_types: Vec<ValueType>,
    by_path: HashMap<String, Vec<u32>, RandomState>,
}

/// A variable and the elements that are its writings.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct VariableElements {
    path: String,
    /// True if the path is Latin-1 in the file. The same text in UTF-8 is another variable.
    is_recoded: bool,
    value_type: ValueType,
    kind: VariableKind,
    rank: usize,
    min_shape: Vec<u64>,
    max_shape: Vec<u64>,
    /// Position of its first element in `members`.
    first: usize,
    count: usize,
    /// For a global variable, where each step begins in its elements; else each is a step.
    step_starts: Vec<u32>,
    /// True if some places of a global variable were written more often than others, so that which
    /// blocks make a step is a guess.
    is_uneven: bool,
}

/// Properties that make a variable another than the others: its normal path and whether that is
/// Latin-1, its type, how its parts make a whole, and its number of dimensions.
type Key<'a> = (&'a str, bool, ValueType, VariableKind, usize);

/// Properties, as they stand in the file, that make two elements writings of the same variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct RawKey<'a> {
    path: &'a [u8],
    name: &'a [u8],
    value_type: ValueType,
    kind: VariableKind,
    rank: usize,
}

impl<'a> RawKey<'a> {
    /// The key of a scalar or a dataset.
    fn from_element(element: &Element<'a>) -> Option<Self> {
        let value_type = ValueType::from_element(element)?;
        let dimensions = element.payload.as_ref().and_then(|payload| payload.dimensions);
        Some(Self {
            path: element.path,
            name: element.name,
            value_type,
            kind: match (element.kind?, dimensions) {
                (ElementKind::Scalar, _) => VariableKind::Scalar,
                (_, Some(dimensions)) if dimensions.is_global() => VariableKind::Global,
                _ => VariableKind::Local,
            },
            rank: dimensions.map_or(0, Dimensions::rank),
        })
    }
}

impl Grouping {
    pub(crate) fn variables(&self) -> &[VariableElements] {
        &self.variables
    }

    pub(crate) fn attributes(&self) -> &[u32] {
        &self.attributes
    }

    pub(crate) fn group_elements(&self) -> &[u32] {
        &self.group_elements
    }

    /// Returns the number of elements of each kind; those that cannot be used do not count.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (ElementKind, u64)> {
        ElementKind::ALL.into_iter().zip(self.counts)
    }

    /// Returns the number of bytes of values.
    pub(crate) fn payload_bytes(&self) -> u64 {
        self.payload_bytes
    }

    /// Returns the number of groups that hold variables, the root among them.
    pub(crate) fn groups(&self) -> usize {
        self.groups
    }

    /// The types that the file has values of.
    pub(crate) fn value_types(&self) -> &[ValueType] {
        &self.value_types
    }

    pub(crate) fn variable(&self, id: usize) -> Variable {
        match self.variables.get(id) {
            Some(grouped) => grouped.variable(),
            None => Variable::none(),
        }
    }

    /// The elements of a variable.
    pub(crate) fn members(&self, id: usize) -> &[u32] {
        self.variables.get(id).map_or(&[], |grouped| self.members_of(grouped))
    }

    pub(crate) fn members_of(&self, grouped: &VariableElements) -> &[u32] {
        let range = grouped.first..grouped.first + grouped.count;
        self.members.get(range).unwrap_or_default()
    }

    /// The elements of one step of a variable.
    pub(crate) fn step(&self, id: usize, step: u64) -> &[u32] {
        let (Some(grouped), Ok(step)) = (self.variables.get(id), usize::try_from(step)) else {
            return &[];
        };
        let members = self.members(id);
        let range = if grouped.kind == VariableKind::Global {
            let start = |step: usize| grouped.step_starts.get(step).map(|&start| start as usize);
            match (start(step), start(step + 1)) {
                (Some(first), Some(end)) => first..end,
                (Some(first), None) => first..members.len(),
                (None, _) => 0..0,
            }
        } else {
            step..step.saturating_add(1)
        };
        members.get(range).unwrap_or_default()
    }

    /// Returns true if there is a variable of a normal path.
    pub(crate) fn has_path(&self, path: &str) -> bool {
        self.by_path.contains_key(path)
    }

    /// The variables of a path, or of a bare name that only one path ends in.
    pub(crate) fn find(&self, path: &str) -> Vec<usize> {
        let normal = normal_path(&[path]);
        // Who has the name in the bytes that were typed comes first.
        let is_recoded = |id: &usize| self.variables.get(*id).is_some_and(|it| it.is_recoded);
        let ids = |ids: &Vec<u32>| {
            let mut ids: Vec<_> = ids.iter().map(|&id| id as usize).collect();
            ids.sort_by_key(is_recoded);
            ids
        };
        if let Some(found) = self.by_path.get(&normal) {
            return ids(found);
        }
        let mut ending = self.by_path.iter().filter(|(each, _)| each.ends_with(&normal));
        match (ending.next(), ending.next()) {
            (Some((_, found)), None) => ids(found),
            _ => Vec::new(),
        }
    }

    /// The writers whose sizes fit every value of the file.
    pub(crate) fn dialects(&self) -> Vec<Dialect> {
        let fits = |dialect: &Dialect| {
            self.value_types.iter().all(|value_type| {
                let size = dialect.size_of(value_type.datatype);
                match size {
                    Some(size) => size == u64::from(value_type.bytes),
                    // Strings and unknown types say nothing; double complex came late.
                    None => !value_type.datatype.is_known() || value_type.is_string(),
                }
            })
        };
        Dialect::ALL.into_iter().filter(fits).collect()
    }

    /// The one writer whose sizes fit, if the file tells.
    pub(crate) fn dialect(&self) -> Option<Dialect> {
        match self.dialects().as_slice() {
            [only] => Some(*only),
            _ => None,
        }
    }
}

impl VariableElements {
    fn new((path, is_recoded, value_type, kind, rank): Key<'_>) -> Self {
        Self {
            path: path.to_owned(),
            is_recoded,
            value_type,
            kind,
            rank,
            min_shape: Vec::new(),
            max_shape: Vec::new(),
            first: 0,
            count: 0,
            step_starts: Vec::new(),
            is_uneven: false,
        }
    }

    /// Returns the key that makes it another variable than the others.
    fn key(&self) -> Key<'_> {
        (&self.path, self.is_recoded, self.value_type, self.kind, self.rank)
    }

    /// Counts the writings of the same variable in a later part of the file.
    fn join(&mut self, later: &Self) {
        if self.count == 0 {
            self.min_shape.clone_from(&later.min_shape);
            self.max_shape.clone_from(&later.max_shape);
        }
        self.count += later.count;
        let smallest = self.min_shape.iter_mut().zip(&later.min_shape);
        smallest.for_each(|(ours, theirs)| *ours = (*ours).min(*theirs));
        let largest = self.max_shape.iter_mut().zip(&later.max_shape);
        largest.for_each(|(ours, theirs)| *ours = (*ours).max(*theirs));
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Returns true if the path is Latin-1 in the file.
    pub(crate) fn is_recoded(&self) -> bool {
        self.is_recoded
    }

    pub(crate) fn is_uneven(&self) -> bool {
        self.is_uneven
    }

    pub(crate) fn kind(&self) -> VariableKind {
        self.kind
    }

    pub(crate) fn steps(&self) -> u64 {
        match self.kind {
            VariableKind::Global => self.step_starts.len() as u64,
            VariableKind::Scalar | VariableKind::Local => self.count as u64,
        }
    }

    pub(crate) fn variable(&self) -> Variable {
        Variable {
            path: self.path.clone(),
            is_recoded: self.is_recoded,
            type_name: self.value_type.datatype.name(),
            data_type: self.value_type.data_type(),
            rounds: self.value_type.rounds(),
            kind: self.kind,
            rank: self.rank,
            min_shape: self.min_shape.clone(),
            max_shape: self.max_shape.clone(),
            steps: self.steps(),
            blocks: self.count as u64,
        }
    }
}

/// The shape of the array that an element is, or is a part of.
pub(super) fn shape(element: &Element<'_>) -> Vec<u64> {
    bounds(element).collect()
}

fn bounds(element: &Element<'_>) -> impl Iterator<Item = u64> {
    let dimensions = element.payload.as_ref().and_then(|payload| payload.dimensions);
    let is_global = dimensions.is_some_and(Dimensions::is_global);
    dimensions.into_iter().flat_map(Dimensions::iter).map(move |dimension| {
        match dimension.global_bound {
            bound if is_global && bound != 0 => positive(bound),
            _ => positive(dimension.local_bound),
        }
    })
}

/// Groups elements as they are read.
#[derive(Default)]
pub(crate) struct Builder<'a> {
    grouping: Grouping,
    /// The variable of each element so far.
    variable_of: Vec<u32>,
    hasher: RandomState,
    /// Variables by their normal path and type.
    normal: HashTable<u32>,
    /// The types of `value_types`, which may be many in a file made to be slow.
    types: HashSet<ValueType, RandomState>,
    /// Variables by what stands in the file. Several keys may be one variable: `/g` and `g/`.
    raw: HashTable<(RawKey<'a>, u32)>,
    /// The variable before, and by variable the one that followed it last: files repeat
    /// themselves, and a comparison is cheaper than a look-up.
    previous: usize,
    followers: Vec<Option<(RawKey<'a>, u32)>>,
}

impl<'a> Builder<'a> {
    /// Takes the next element; `stored` is the same one, to be kept. Gives its variable.
    pub(crate) fn place(
        &mut self,
        element: &Element<'_>,
        stored: impl FnOnce() -> Element<'a>,
    ) -> u32 {
        let id = self.variable_of(element, stored);
        self.variable_of.push(id);
        id
    }

    /// Takes the next element, in nothing but its values different from one that was placed.
    pub(crate) fn repeat(&mut self, kind: ElementKind, variable: u32, payload_bytes: u64) {
        self.count_kind(kind, payload_bytes);
        if let Some(grouped) = self.grouping.variables.get_mut(variable as usize) {
            grouped.count += 1;
        }
        self.variable_of.push(variable);
    }

    fn count_kind(&mut self, kind: ElementKind, payload_bytes: u64) {
        if let Some(count) = self.grouping.counts.get_mut(kind as usize) {
            *count += 1;
        }
        self.grouping.payload_bytes += payload_bytes;
        let index = u32::try_from(self.variable_of.len()).unwrap_or(NONE);
        if kind.is_attribute() {
            self.grouping.attributes.push(index);
        } else if kind == ElementKind::Group {
            self.grouping.group_elements.push(index);
        }
    }

    /// Finds or makes the variable of an element.
    fn variable_of(&mut self, element: &Element<'_>, stored: impl FnOnce() -> Element<'a>) -> u32 {
        let (Some(kind), None) = (element.kind, &element.fault) else { return NONE };
        let payload = element.payload.as_ref();
        self.count_kind(kind, payload.map_or(0, |p| p.range.end - p.range.start));
        if kind.is_attribute() {
            return NONE;
        }
        let Some(key) = RawKey::from_element(element) else { return NONE };
        let guess = self.followers.get(self.previous).copied().flatten();
        let id = match guess {
            Some((each, id)) if each == key => id,
            _ => self.look_up(key, stored),
        };
        self.previous = id as usize;
        self.count(id, element);
        id
    }

    fn look_up(&mut self, key: RawKey<'_>, stored: impl FnOnce() -> Element<'a>) -> u32 {
        let hash = self.hasher.hash_one(key);
        let found = self.raw.find(hash, |(each, _)| *each == key).copied();
        let found = found.or_else(|| {
            let key = RawKey::from_element(&stored())?;
            let id = self.normal_variable(key);
            self.raw.insert_unique(hash, (key, id), |(key, _)| self.hasher.hash_one(key));
            Some((key, id))
        });
        self.followers.resize(self.grouping.variables.len(), None);
        if let Some(follower) = self.followers.get_mut(self.previous) {
            *follower = found;
        }
        found.map_or(NONE, |(_, id)| id)
    }

    /// Finds or makes the variable of a path that was not seen in this spelling.
    fn normal_variable(&mut self, key: RawKey<'a>) -> u32 {
        let path = normal_path(&[&text(key.path), &text(key.name)]);
        let is_recoded = is_latin1(key.path) || is_latin1(key.name);
        self.variable_named((&path, is_recoded, key.value_type, key.kind, key.rank))
    }

    /// Finds or makes the variable of a normal path.
    fn variable_named(&mut self, key: Key<'_>) -> u32 {
        let (path, _, value_type, ..) = key;
        let grouping = &mut self.grouping;
        let same =
            |id: &u32| grouping.variables.get(*id as usize).is_some_and(|each| each.key() == key);
        let hash = self.hasher.hash_one(key);
        if let Some(&id) = self.normal.find(hash, same) {
            return id;
        }
        if self.types.insert(value_type) {
            grouping.value_types.push(value_type);
        }
        let id = u32::try_from(grouping.variables.len()).unwrap_or(NONE);
        grouping.by_path.entry(path.to_owned()).or_default().push(id);
        grouping.variables.push(VariableElements::new(key));
        let (variables, hasher) = (&grouping.variables, &self.hasher);
        self.normal.insert_unique(hash, id, |&id| {
            variables.get(id as usize).map_or(0, |each| hasher.hash_one(each.key()))
        });
        id
    }

    /// Takes the elements of a later part of the file, all of them after those so far. Gives the
    /// number that each of its variables has here.
    pub(crate) fn join(&mut self, later: &Builder<'_>) -> Vec<u32> {
        let theirs = &later.grouping;
        let before = u32::try_from(self.variable_of.len()).unwrap_or(NONE);
        let ids: Vec<u32> = theirs.variables.iter().map(|each| self.join_variable(each)).collect();
        let number = |id: &u32| ids.get(*id as usize).copied().unwrap_or(NONE);
        self.variable_of.extend(later.variable_of.iter().map(number));
        let attributes = theirs.attributes.iter().map(|index| before.saturating_add(*index));
        self.grouping.attributes.extend(attributes);
        let groups = theirs.group_elements.iter().map(|index| before.saturating_add(*index));
        self.grouping.group_elements.extend(groups);
        let counts = self.grouping.counts.iter_mut().zip(theirs.counts);
        counts.for_each(|(ours, theirs)| *ours += theirs);
        self.grouping.payload_bytes += theirs.payload_bytes;
        ids
    }

    fn join_variable(&mut self, later: &VariableElements) -> u32 {
        let id = self.variable_named(later.key());
        if let Some(grouped) = self.grouping.variables.get_mut(id as usize) {
            grouped.join(later);
        }
        id
    }

    /// Counts an element as a writing of its variable.
    fn count(&mut self, id: u32, element: &Element<'_>) {
        let Some(grouped) = self.grouping.variables.get_mut(id as usize) else {
            return;
        };
        grouped.count += 1;
        if grouped.rank == 0 {
            return;
        }
        if grouped.count == 1 {
            grouped.min_shape = shape(element);
            grouped.max_shape.clone_from(&grouped.min_shape);
        }
        let shapes = grouped.min_shape.iter_mut().zip(&mut grouped.max_shape);
        for ((min, max), bound) in shapes.zip(bounds(element)) {
            *min = bound.min(*min);
            *max = bound.max(*max);
        }
    }

    /// Sorts the elements by variable, and those of global ones by step.
    pub(crate) fn finish(mut self, elements: &Index) -> Grouping {
        let grouping = &mut self.grouping;
        let mut next = 0;
        for grouped in &mut grouping.variables {
            grouped.first = next;
            next += grouped.count;
        }
        let mut places: Vec<usize> = grouping.variables.iter().map(|each| each.first).collect();
        grouping.members = vec![0; next];
        for (index, &id) in self.variable_of.iter().enumerate() {
            // Elements without a sound header are of no variable: `NONE` is beyond all places.
            let Some(place) = places.get_mut(id as usize) else {
                continue;
            };
            if let Some(slot) = grouping.members.get_mut(*place) {
                *slot = u32::try_from(index).unwrap_or(NONE);
            }
            *place += 1;
        }
        for grouped in &mut grouping.variables {
            if grouped.kind == VariableKind::Global {
                let range = grouped.first..grouped.first + grouped.count;
                if let Some(members) = grouping.members.get_mut(range) {
                    let steps = Steps::from_members(elements, members);
                    grouped.is_uneven = steps.is_uneven;
                    grouped.step_starts = steps.sort(members);
                }
            }
        }
        grouping.groups = count_groups(grouping);
        self.grouping
    }
}

/// Counts the groups that the paths of variables make.
fn count_groups(grouping: &Grouping) -> usize {
    let group = |path: &str| path.rsplit_once('/').map_or(0, |(group, _)| group.len());
    let groups = grouping.by_path.keys().map(|path| path.get(..group(path)).unwrap_or_default());
    groups.collect::<HashSet<_, RandomState>>().len()
}
