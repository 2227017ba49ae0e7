//! Names that are there once.

use std::collections::{HashMap, HashSet};

/// Names that are taken.
pub(super) struct Names {
    taken: HashSet<String>,
    /// The next number for what is called the same.
    next: HashMap<String, u64>,
}

impl Names {
    pub(super) fn new<'a>(taken: impl IntoIterator<Item = &'a str>) -> Self {
        let taken = taken.into_iter().map(str::to_owned).collect();
        Self { taken, next: HashMap::new() }
    }

    /// Takes a name; where it is taken, one with a number: `speed (2)`.
    pub(super) fn free(&mut self, name: &str) -> String {
        let mut free = name.to_owned();
        while !self.taken.insert(free.clone()) {
            let next = self.next.entry(name.to_owned()).or_insert(2);
            free = format!("{name} ({next})");
            *next += 1;
        }
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_called_the_same_gets_a_number() {
        let mut names = Names::new(["offset", "x (2)"]);
        let found = ["x", "offset", "x", "x", "offset (2)"].map(|name| names.free(name));
        assert_eq!(found, ["x", "offset (2)", "x (3)", "x (4)", "offset (2) (2)"]);
    }
}
