//! Copies of source files: of plain ones, and of no more than a source can be.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{Cursor, Read};
use std::path::Path;

use kymo_core::{Finding, Severity};
use kymo_symbols::Search;

use crate::inputs;

/// Larger files are no sources that someone wrote.
const SOURCE_BYTES_MAX: u64 = 1 << 26;

/// Where files are that are made while they are read, and have no end.
const MADE_BY_SYSTEM: &[&str] = &["/proc", "/sys", "/dev"];

/// Finds sources, and keeps why some are not copied.
pub(super) struct Sources<'a> {
    search: &'a Search,
    findings: RefCell<Vec<(String, Finding)>>,
}

impl<'a> Sources<'a> {
    pub(super) fn new(search: &'a Search) -> Self {
        Self { search, findings: RefCell::default() }
    }

    /// The text of a source file; nothing where there is no plain one.
    pub(super) fn open(&self, path: &str) -> Option<Box<dyn Read>> {
        let paths = self.search.paths(path).into_iter().filter(|_| path.starts_with('/'));
        for path in paths {
            let Ok(path) = fs::canonicalize(path) else { continue };
            let is_made = MADE_BY_SYSTEM.iter().any(|folder| path.starts_with(folder));
            if is_made || !fs::metadata(&path).is_ok_and(|found| found.is_file()) {
                continue;
            }
            match read(&path) {
                Ok(text) => return Some(Box::new(Cursor::new(text))),
                Err(why) => self.note(&path, why),
            }
        }
        None
    }

    fn note(&self, path: &Path, why: String) {
        let finding = Finding::whole(Severity::Warning, "source", why);
        self.findings.borrow_mut().push((inputs::display(path), finding));
    }

    pub(super) fn into_findings(self) -> Vec<(String, Finding)> {
        self.findings.into_inner()
    }
}

/// All of a file, or why it is not copied.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    let not_copied = |why: &str| format!("it is not copied: {why}");
    let file = File::open(path).map_err(|error| not_copied(&error.kind().to_string()))?;
    let mut text = Vec::new();
    let read = file.take(SOURCE_BYTES_MAX + 1).read_to_end(&mut text);
    read.map_err(|error| not_copied(&error.kind().to_string()))?;
    if text.len() as u64 > SOURCE_BYTES_MAX {
        return Err(not_copied("it is larger than a source can be"));
    }
    Ok(text)
}
