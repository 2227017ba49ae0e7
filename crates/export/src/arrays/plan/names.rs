//! Places in the output: names that the target can have, each used once.

use std::collections::{BTreeSet, HashMap, HashSet};

use kymo_model::arrays::{Attribute, Target};

/// Rules of a target for names.
#[derive(Debug)]
pub struct Rules {
    /// The name of a group or an array as the target can have it.
    pub name: fn(&str) -> String,
    /// The name of an attribute as the target can have it.
    pub attribute: fn(&str) -> String,
    /// Greatest number of dimensions that an array can have.
    pub rank_max: usize,
    /// True if there are groups, so that one may be empty.
    pub has_groups: bool,
    /// True if texts of an array are all as long as the longest.
    pub pads_text: bool,
    /// True if a text can be written in pieces.
    pub streams_text: bool,
    /// Greatest number of attributes that a group or an array can have.
    pub attributes_max: usize,
}

/// A name without what no target takes: nothing, a dot, NUL, a slash.
pub(crate) fn kept_name(name: &str) -> String {
    match name {
        "" | "." => "_".to_owned(),
        _ => name.replace(['\0', '/'], "_"),
    }
}

/// Greatest depth of nested groups.
const DEPTH_MAX: usize = 32;

/// Greatest number of bytes that a name may have in most file systems, and in NetCDF.
const NAME_BYTES_MAX: usize = 240;

/// A name that is not too long for a file. One that is cut ends in what tells it from others.
pub(crate) fn shortened(name: String) -> String {
    if name.len() <= NAME_BYTES_MAX {
        return name;
    }
    let hash = name
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let end = name.floor_char_boundary(NAME_BYTES_MAX - 9);
    format!("{}-{hash:08x}", name.get(..end).unwrap_or_default())
}

/// The groups of a target, and the names that are taken.
#[derive(Debug)]
pub(super) struct Names<'a> {
    rules: &'a Rules,
    /// Sorted, so that parents come before what is in them.
    groups: BTreeSet<String>,
    taken: HashSet<String>,
    /// The paths that arrays have by themselves: no other is renamed to one.
    own: HashSet<String>,
    /// Of names that were wanted again: the number that comes next.
    next: HashMap<String, u64>,
}

impl<'a> Names<'a> {
    pub(super) fn new(rules: &'a Rules) -> Self {
        let groups = BTreeSet::from([String::new()]);
        let (taken, own) = (HashSet::new(), HashSet::new());
        Self { rules, groups, taken, own, next: HashMap::new() }
    }

    /// Every group, the root first.
    pub(super) fn groups(&self) -> impl Iterator<Item = String> {
        self.groups.iter().cloned()
    }

    /// Keeps the name of an array for it.
    pub(super) fn keep(&mut self, source: &str) {
        let own = self.own_path(source);
        self.own.insert(own);
    }

    /// Makes the groups that a path leads through.
    pub(super) fn add_groups_above(&mut self, path: &str) {
        let mut parts = self.parts(path);
        parts.pop();
        self.add_groups(&parts);
    }

    /// Makes the groups that an attribute needs, once all arrays have their names.
    pub(super) fn add_groups_of(&mut self, attribute: &Attribute) {
        let mut parts = self.parts(&attribute.path);
        match attribute.target {
            Target::Variable => return,
            Target::Group => {}
            Target::Nothing => drop(parts.pop()),
        }
        if self.array_above(&parts).is_none() {
            self.add_groups(&parts);
        }
    }

    /// Makes a group, and gives its path; or says why there is none.
    pub(super) fn add_group(&mut self, source: &str) -> Result<String, &'static str> {
        let parts = self.parts(source);
        if self.array_above(&parts).is_some() {
            return Err("a group that has the name of an array");
        }
        let path = parts.join("/");
        if !self.rules.has_groups && !self.groups.contains(&path) {
            return Err("an empty group");
        }
        self.add_groups(&parts);
        Ok(path)
    }

    /// The array that has the name of a group on the way, and the names from there on.
    pub(super) fn array_above<'p>(&self, parts: &'p [String]) -> Option<(String, &'p [String])> {
        let mut path = String::new();
        for (index, part) in parts.iter().enumerate() {
            path = if path.is_empty() { part.clone() } else { format!("{path}/{part}") };
            if self.taken.contains(&path) && !self.groups.contains(&path) {
                return Some((path, parts.get(index + 1..).unwrap_or_default()));
            }
        }
        None
    }

    fn add_groups(&mut self, parts: &[String]) {
        let mut path = String::new();
        for part in parts {
            if !path.is_empty() {
                path.push('/');
            }
            path.push_str(part);
            self.groups.insert(path.clone());
        }
    }

    /// Makes a group of a path that [`place`](Self::place) gave.
    pub(super) fn make_group(&mut self, path: &str) {
        self.groups.insert(path.to_owned());
    }

    /// The group that the last part of a path is in, and that part.
    fn split(&self, path: &str) -> (String, String) {
        let mut parts = self.parts(path);
        let last = parts.pop().unwrap_or_default();
        (parts.join("/"), last)
    }

    /// The path in the target that an array has if that is free.
    fn own_path(&self, source: &str) -> String {
        let (group, name) = self.split(source);
        let name = if name.is_empty() { (self.rules.name)("") } else { name };
        if group.is_empty() { name } else { format!("{group}/{name}") }
    }

    /// A path in the target that nothing else has. What has its name in another encoding gives way
    /// to what has it in that of the target.
    pub(super) fn place(&mut self, source: &str, is_recoded: bool) -> String {
        let own = self.own_path(source);
        let is_kept = |path: &String| self.own.contains(path) && (is_recoded || *path != own);
        let is_free = |path: &String| {
            !self.groups.contains(path) && !self.taken.contains(path) && !is_kept(path)
        };
        let first = self.next.entry(own.clone()).or_insert(2);
        let found = unused(own.clone(), first, is_free);
        self.taken.insert(found.clone());
        found
    }

    /// Returns the rules of the target.
    pub(super) fn rules(&self) -> &'a Rules {
        self.rules
    }

    /// An attribute's name as the target can have it.
    pub(super) fn attribute(&self, name: &str) -> String {
        (self.rules.attribute)(name)
    }

    /// The names that a path leads through. What nests deeper than anyone would have it is one
    /// name: each group on the way is kept with its whole path.
    pub(super) fn parts(&self, path: &str) -> Vec<String> {
        let path = path.trim_matches('/');
        let parts = path.splitn(DEPTH_MAX, '/').filter(|part| !part.is_empty());
        let name = |part: &str| match (self.rules.name)(part) {
            deep if part.contains('/') => shortened(deep),
            name => name,
        };
        parts.map(name).collect()
    }
}

/// A name, or one like it that is free. `next` is the number to try first, and then the one to try
/// first the next time: one that was taken stays so.
pub(crate) fn unused(name: String, next: &mut u64, is_free: impl Fn(&String) -> bool) -> String {
    if is_free(&name) {
        return name;
    }
    loop {
        let numbered = format!("{name}~{next}");
        *next = next.saturating_add(1);
        if is_free(&numbered) {
            return numbered;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Rules = Rules {
        name: kept_name,
        attribute: kept_name,
        rank_max: 31,
        has_groups: true,
        pads_text: true,
        streams_text: true,
        attributes_max: 9,
    };

    #[test]
    fn a_name_is_used_once_and_groups_come_first() {
        let mut names = Names::new(&PLAIN);
        names.add_groups_above("/a/b/c");
        assert_eq!(names.place("/a/b/c", false), "a/b/c");
        assert_eq!(names.place("/a/b/c", false), "a/b/c~2");
        assert_eq!(names.place("/a/b", false), "a/b~2");
        assert_eq!(names.place("/a/b/c", false), "a/b/c~3");
        assert_eq!(names.groups().collect::<Vec<_>>(), ["", "a", "a/b"]);
    }

    #[test]
    fn an_array_keeps_its_name_whatever_describes_it_as_a_group() {
        let mut names = Names::new(&PLAIN);
        assert_eq!(names.place("/x", false), "x");
        let parts = ["x", "y"].map(str::to_owned);
        assert_eq!(names.array_above(&parts), Some(("x".to_owned(), &parts[1..])));
        assert_eq!(names.array_above(&parts[1..]), None);
        assert!(names.add_group("/x/z").is_err());
        assert_eq!(names.add_group("/z").as_deref(), Ok("z"));
        assert_eq!(names.groups().collect::<Vec<_>>(), ["", "z"]);
    }

    #[test]
    fn a_name_that_is_cut_still_differs_from_others() {
        let [one, other] = ["a", "b"].map(|end| shortened(format!("{}{end}", "é".repeat(200))));
        assert!(one.len() <= NAME_BYTES_MAX && one != other);
        assert_eq!(shortened("phi".to_owned()), "phi");
    }

    #[test]
    fn what_nests_too_deep_is_one_name() {
        let mut names = Names::new(&PLAIN);
        let deep = "/a".repeat(20_000);
        names.add_groups_above(&deep);
        assert_eq!(names.groups().count(), DEPTH_MAX);
        let placed = names.place(&deep, false);
        assert_eq!(placed.matches('/').count(), DEPTH_MAX - 1);
        assert!(placed.len() < 2 * DEPTH_MAX + NAME_BYTES_MAX, "{placed}");
    }

    #[test]
    fn a_name_that_cannot_be_becomes_another() {
        let mut names = Names::new(&PLAIN);
        assert_eq!(names.place("/", false), "_");
        assert_eq!(names.place("/x\0y", false), "x_y");
        assert_eq!(names.place("/.", false), "_~2");
    }
}
