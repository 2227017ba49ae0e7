//! Names for dimensions, for the targets that want some: the same name, the same length.

use std::collections::{HashMap, HashSet};

use super::names::unused;
use super::{Array, Group};

/// Names for dimensions that nothing else has. Readers look a dimension up beside the array that
/// has it, and take whatever has its name there for its values: so the names of arrays and groups
/// are taken, wherever these are.
#[derive(Debug, Clone, Default)]
pub(crate) struct DimensionNames {
    taken: HashSet<String>,
    /// For each name that was wanted: those instead of it, and the number to try next.
    known: HashMap<String, (Vec<String>, u64)>,
}

impl DimensionNames {
    fn new(arrays: &[Array], groups: &[Group]) -> Self {
        let paths = arrays.iter().map(|array| &array.path);
        let paths = paths.chain(groups.iter().map(|group| &group.path));
        let last = |path: &String| path.rsplit('/').next().unwrap_or_default().to_owned();
        Self { taken: paths.map(last).collect(), known: HashMap::new() }
    }

    /// The name of an array's dimension. Most readers want those of an array to differ: the `nth`
    /// that would have the same name, counted from 0, is numbered.
    pub(crate) fn name(&mut self, name: &str, nth: usize) -> String {
        let is_free = |name: &String| !self.taken.contains(name);
        let first = || (vec![unused(name.to_owned(), &mut 2, is_free)], 2);
        let (known, next) = self.known.entry(name.to_owned()).or_insert_with(first);
        while known.len() <= nth {
            let numbered = format!("{}_{next}", known.first().map_or(name, String::as_str));
            *next += 1;
            if is_free(&numbered) {
                known.push(numbered);
            }
        }
        known.get(nth).cloned().unwrap_or_default()
    }
}

/// Names the dimensions of all arrays: `step` counts steps, `dim_10` has the length 10.
pub(super) fn name(arrays: &mut [Array], groups: &[Group]) -> DimensionNames {
    let mut all = DimensionNames::new(arrays, groups);
    let steps: HashSet<_> = arrays.iter().filter(|array| array.is_stepped).map(steps_of).collect();
    for array in arrays {
        let mut wanted: Vec<String> = Vec::with_capacity(array.shape.len());
        for (place, &length) in array.shape.iter().enumerate() {
            let name = match (array.is_stepped && place == 0, steps.len()) {
                (true, 1) => "step".to_owned(),
                (true, _) => format!("step_{length}"),
                (false, _) => format!("dim_{length}"),
            };
            let nth = wanted.iter().filter(|other| **other == name).count();
            array.dimensions.push(all.name(&name, nth));
            wanted.push(name);
        }
    }
    all
}

fn steps_of(array: &Array) -> u64 {
    array.shape.first().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_something_has_are_not_used() {
        let taken = ["step", "dim_3", "dim_3~2", "dim_3~3_2"].map(str::to_owned);
        let mut names = DimensionNames { taken: taken.into(), known: HashMap::new() };
        assert_eq!(names.name("step", 0), "step~2");
        assert_eq!(names.name("dim_3", 0), "dim_3~3");
        assert_eq!(names.name("dim_3", 1), "dim_3~3_3");
        assert_eq!(names.name("dim_3", 0), "dim_3~3");
        assert_eq!([0, 1, 2].map(|nth| names.name("dim_4", nth)), ["dim_4", "dim_4_2", "dim_4_3"]);
    }
}
