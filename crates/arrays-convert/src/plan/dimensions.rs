//! Names for dimensions, for the targets that want some: the same name, the same length.

use std::collections::HashSet;

use super::names::unused;
use super::{Array, Group};

/// Names the dimensions of all arrays: `step` counts steps, `dim_10` has the length 10.
pub(super) fn name(arrays: &mut [Array], groups: &[Group]) {
    let of_arrays = arrays.iter().map(|array| array.path.clone());
    let taken: HashSet<_> =
        of_arrays.chain(groups.iter().map(|group| group.path.clone())).collect();
    let is_free = |name: &String| !taken.contains(name);
    let free = |name: String| unused(name, &mut 2, is_free);
    let steps: HashSet<_> = arrays.iter().filter(|array| array.is_stepped).map(steps_of).collect();
    for array in arrays {
        let mut names: Vec<String> = Vec::with_capacity(array.shape.len());
        for (place, &length) in array.shape.iter().enumerate() {
            let name = match (array.is_stepped && place == 0, steps.len()) {
                (true, 1) => "step".to_owned(),
                (true, _) => format!("step_{length}"),
                (false, _) => format!("dim_{length}"),
            };
            // Most readers want the dimensions of an array to have different names.
            let same = |name: &String| names.iter().any(|used| used == name);
            let name = free(name);
            let numbered = (2..).map(|number| format!("{name}_{number}"));
            let mut all = std::iter::once(name.clone()).chain(numbered);
            let name = all.find(|name| !same(name) && is_free(name));
            names.extend(name);
        }
        array.dimensions = names;
    }
}

fn steps_of(array: &Array) -> u64 {
    array.shape.first().copied().unwrap_or(0)
}
