//! Copies of source files: of plain ones, and of no more than a source can be.

use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::io::{Cursor, Read};
use std::path::{Component, Path, PathBuf};

use kymo_core::{Finding, Severity};
use kymo_symbols::Search;

use crate::inputs;

/// Larger files are no sources that someone wrote.
const SOURCE_BYTES_MAX: u64 = 1 << 26;

/// All copies together are no larger: one file may be named in very many ways.
const ALL_BYTES_MAX: u64 = 1 << 30;

/// Directories of files that are made while they are read, and have no end.
const MADE_BY_SYSTEM: &[&str] = &["/proc", "/sys", "/dev"];

/// Finds sources, and keeps why some are not copied.
pub(super) struct Sources<'a> {
    search: &'a Search,
    /// Flags for the replacements that some path began with.
    used: Vec<Cell<bool>>,
    /// Number of bytes there is room for.
    bytes_left: Cell<u64>,
    findings: RefCell<Vec<(String, Finding)>>,
}

impl<'a> Sources<'a> {
    pub(super) fn new(search: &'a Search) -> Self {
        let bytes_left = Cell::new(ALL_BYTES_MAX);
        let used = search.replace.iter().map(|_| Cell::new(false)).collect();
        Self { search, used, bytes_left, findings: RefCell::default() }
    }

    /// The text of a source file; nothing where there is no plain one.
    pub(super) fn open(&self, path: &str) -> Option<Box<dyn Read>> {
        for (place, used) in self.used.iter().enumerate() {
            used.set(used.get() || fits(self.search, place, path));
        }
        let paths = self.search.paths(path).into_iter().filter(|_| path.starts_with('/'));
        // Links of the system lead elsewhere from where files are made, so that both count.
        let paths = paths.filter(|path| !is_made_by_system(&plain(path)));
        for path in paths.filter_map(|path| fs::canonicalize(path).ok()) {
            let is_file = || fs::metadata(&path).is_ok_and(|found| found.is_file());
            if is_made_by_system(&path) || !is_file() {
                continue;
            }
            match read(&path).and_then(|text| self.with_room(text)) {
                Ok(text) => return Some(Box::new(Cursor::new(text))),
                Err(why) => self.note(&path, not_copied(&why)),
            }
        }
        None
    }

    /// Returns true if a path began with what this replacement is for.
    pub(super) fn is_used(&self, place: usize) -> bool {
        self.used.get(place).is_some_and(Cell::get)
    }

    /// A text, if there is room for it.
    fn with_room(&self, text: Vec<u8>) -> Result<Vec<u8>, String> {
        match self.bytes_left.get().checked_sub(text.len() as u64) {
            Some(left) => {
                self.bytes_left.set(left);
                Ok(text)
            }
            None => Err("all together are larger than 1 GiB".to_owned()),
        }
    }

    fn note(&self, path: &Path, why: String) {
        let finding = Finding::for_whole_file(Severity::Warning, "source", why);
        self.findings.borrow_mut().push((inputs::display(path), finding));
    }

    pub(super) fn into_findings(self) -> Vec<(String, Finding)> {
        self.findings.into_inner()
    }
}

/// Returns true if one of several replacements is for a path.
pub(super) fn fits(search: &Search, place: usize, path: &str) -> bool {
    let replace = search.replace.get(place).cloned().into_iter().collect();
    let only = Search { replace, ..Search::default() };
    only.replaced(path).is_some()
}

fn not_copied(why: &str) -> String {
    format!("it is not copied: {why}")
}

fn is_made_by_system(path: &Path) -> bool {
    MADE_BY_SYSTEM.iter().any(|folder| path.starts_with(folder))
}

/// A path without steps back, whatever links it leads through.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// All of a file, or why it is not copied.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    let file = File::open(path).map_err(|error| error.kind().to_string())?;
    let mut text = Vec::new();
    let read = file.take(SOURCE_BYTES_MAX + 1).read_to_end(&mut text);
    read.map_err(|error| error.kind().to_string())?;
    if text.len() as u64 > SOURCE_BYTES_MAX {
        return Err("it is larger than a source can be".to_owned());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_have_a_bound_together_and_that_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.c");
        fs::write(&path, "int main;\n").unwrap();
        let path = path.to_str().unwrap();
        let search = Search::default();
        let sources = Sources::new(&search);
        sources.bytes_left.set(25);
        let opened: Vec<_> = (0..4).map(|_| sources.open(path).is_some()).collect();
        assert_eq!(opened, [true, true, false, false]);
        let findings = sources.into_findings();
        assert_eq!(findings.len(), 2);
        assert!(findings[0].1.message.contains("all together are larger than 1 GiB"));
    }

    #[test]
    fn a_path_without_steps_back_is_found_by_its_parts() {
        assert_eq!(plain(Path::new("/a/./b/../../proc/x")), Path::new("/proc/x"));
        assert_eq!(plain(Path::new("/../proc")), Path::new("/proc"));
    }
}
