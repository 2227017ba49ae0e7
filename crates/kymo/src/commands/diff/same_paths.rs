//! Files and modules of two profiles that are the same: a program may have been built elsewhere.

use std::collections::{BTreeSet, HashMap, HashSet};

use kymo_model::profile::FlatRow;

/// Number of last parts of paths that are compared.
const PARTS_MAX: usize = 64;

/// Paths of the second profile by the same file's path in the first.
#[derive(Debug, Default)]
pub(super) struct SamePaths(HashMap<String, String>);

impl SamePaths {
    /// Finds them: paths that are the same, then those that have more of their last parts in common
    /// with each other than with any other.
    pub(super) fn from_rows(rows: &[Vec<FlatRow>; 2]) -> Self {
        let paths = |rows: &[FlatRow]| -> BTreeSet<String> {
            rows.iter().filter_map(|row| Some(row.place.as_ref()?.path.clone())).collect()
        };
        let [one, other] = rows.each_ref().map(|rows| paths(rows));
        let is_both = |path: &&String| one.contains(*path) && other.contains(*path);
        let mut same =
            Self(one.iter().filter(is_both).map(|path| (path.clone(), path.clone())).collect());
        let mut left = [&one - &other, &other - &one];
        let mut taken: HashSet<String> = HashSet::new();
        let depths = left.iter().flatten().map(|path| path.split('/').count());
        for parts in (1..=depths.max().unwrap_or(0).min(PARTS_MAX)).rev() {
            let [by_one, by_other] = left.each_ref().map(|paths| by_end(paths, parts));
            for (end, other) in by_other {
                if let ([other], Some([one])) =
                    (other.as_slice(), by_one.get(end).map(Vec::as_slice))
                {
                    same.0.insert((*other).to_owned(), (*one).to_owned());
                    taken.insert((*one).to_owned());
                }
            }
            let [one, other] = &mut left;
            one.retain(|path| !taken.contains(path));
            other.retain(|path| !same.0.contains_key(path));
        }
        same
    }

    /// Returns the key by which a row is found, the same for the same row of both.
    pub(super) fn key(&self, side: usize, row: &FlatRow) -> String {
        let Some(place) = &row.place else { return row.label.clone() };
        let path = Some(&place.path).filter(|_| side == 0).or_else(|| self.0.get(&place.path));
        let [before, behind] = &place.around;
        format!("{before}{}{behind}", path.unwrap_or(&place.path))
    }
}

/// Paths by so many of their last parts.
fn by_end(paths: &BTreeSet<String>, parts: usize) -> HashMap<&str, Vec<&str>> {
    let mut found: HashMap<&str, Vec<&str>> = HashMap::new();
    for path in paths {
        let from = path.rmatch_indices('/').nth(parts - 1).map(|(at, _)| at + 1);
        let is_long_enough = path.split('/').count() >= parts;
        if is_long_enough {
            let end = path.get(from.unwrap_or(0)..).unwrap_or_default();
            found.entry(end).or_default().push(path);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use kymo_model::profile::Place;

    use super::*;

    fn row(path: &str) -> FlatRow {
        let around = [String::new(), ":1".to_owned()];
        let place = Some(Place { path: path.to_owned(), around });
        FlatRow { label: "label".to_owned(), place, ..FlatRow::default() }
    }

    #[test]
    fn files_are_the_same_by_as_much_of_their_paths_as_tells_them_apart() {
        let one = ["/old/a/mod.rs", "/old/b/mod.rs", "/old/main.c", "/lib/x.c"];
        let other = ["/new/a/mod.rs", "/new/b/mod.rs", "/new/c/mod.rs", "/new/main.c", "/lib/x.c"];
        let rows = [one.map(row).to_vec(), other.map(row).to_vec()];
        let same = SamePaths::from_rows(&rows);
        let keys: Vec<_> = rows[1].iter().map(|row| same.key(1, row)).collect();
        // The third of one name is in the second alone.
        let expected = [
            "/old/a/mod.rs:1",
            "/old/b/mod.rs:1",
            "/new/c/mod.rs:1",
            "/old/main.c:1",
            "/lib/x.c:1",
        ];
        assert_eq!(keys, expected);
        assert_eq!(same.key(0, &rows[0][2]), "/old/main.c:1");
    }

    #[test]
    fn a_file_of_a_name_that_several_have_is_none_of_them() {
        let rows = [vec![row("/old/mod.rs")], ["/new/a/mod.rs", "/new/b/mod.rs"].map(row).to_vec()];
        let same = SamePaths::from_rows(&rows);
        assert_eq!(same.key(1, &rows[1][0]), "/new/a/mod.rs:1");
    }
}
