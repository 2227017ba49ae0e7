//! Names that differ.

use std::collections::{HashMap, HashSet};

/// Names that are taken; whoever wants one of them gets it with a number.
#[derive(Debug, Default)]
pub(crate) struct Names {
    taken: HashSet<String>,
    /// The number that is tried next, of names that were wanted again.
    next: HashMap<String, u64>,
}

impl Names {
    /// Takes a name, whether or not it is taken.
    pub(crate) fn take(&mut self, name: &str) {
        self.taken.insert(name.to_owned());
    }

    /// Returns true if somebody has a name.
    pub(crate) fn is_taken(&self, name: &str) -> bool {
        self.taken.contains(name)
    }

    /// The name, or the first with a number that is free, which is then taken.
    pub(crate) fn free(&mut self, name: &str) -> String {
        if self.taken.insert(name.to_owned()) {
            return name.to_owned();
        }
        let next = self.next.entry(name.to_owned()).or_insert(2);
        loop {
            let numbered = format!("{name} ({next})");
            *next += 1;
            if self.taken.insert(numbered.clone()) {
                return numbered;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_taken_gets_the_next_number_that_is_free() {
        let mut names = Names::default();
        names.take("b");
        let wanted = ["a", "a (3)", "a", "a", "b", "a"];
        let given = wanted.map(|name| names.free(name));
        assert_eq!(given, ["a", "a (3)", "a (2)", "a (4)", "b (2)", "a (5)"]);
    }
}
