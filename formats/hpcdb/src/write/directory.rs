//! Other files of a database: the description of how metrics are shown, a description of the
//! database, copies of sources.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, DirEntry, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use kymo_core::{Context, Error, Result, Source, create_below};

use super::file::Form;
use crate::read::{Database, Trust};
use crate::rows;
use crate::spec::FileKind;

/// The description of the files.
const FORMATS: &str = "FORMATS.md";

/// The folder that says how metrics are shown, and what is in it.
const METRICS: &str = "metrics";
const METRICS_FILES: [&str; 2] = ["default.yaml", "METRICS.yaml.ex"];

/// The folder of copies of sources.
const SOURCES: &str = "src";

/// Greatest number of entries that are looked at there; no database has so many.
const ENTRIES_MAX: usize = 1 << 22;

/// Writes `FORMATS.md` and `metrics/`.
pub(super) fn write(directory: &Path, form: Form, taxonomy: &str) -> Result<()> {
    let folder = directory.join(METRICS);
    fs::create_dir(&folder).map_err(Error::io("create a directory of the output"))?;
    let put = |path: PathBuf, text: &str| {
        fs::write(path, text).map_err(Error::io("create a file of the output"))
    };
    let [default, example] = METRICS_FILES;
    put(folder.join(default), taxonomy)?;
    put(folder.join(example), include_str!("texts/METRICS.yaml.ex"))?;
    let formats = match form {
        Form::Described => include_str!("texts/FORMATS.described.md"),
        Form::Released => include_str!("texts/FORMATS.md"),
    };
    put(directory.join(FORMATS), formats)
}

/// Returns something in the directory of a database that is no part of one, if there is anything.
#[must_use]
pub fn foreign_file(directory: &Path) -> Option<PathBuf> {
    let is_file =
        |name: &OsStr| FileKind::ALL.iter().any(|kind| name == kind.name()) || name == FORMATS;
    let is_part = |entry: &DirEntry| {
        let name = entry.file_name();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder { name == METRICS || name == SOURCES } else { is_file(&name) }
    };
    let is_metrics = |entry: &DirEntry| METRICS_FILES.iter().any(|name| entry.file_name() == *name);
    let other = |at: &Path, is_part: &dyn Fn(&DirEntry) -> bool| {
        let entries = fs::read_dir(at).into_iter().flatten().flatten();
        entries.into_iter().find(|entry| !is_part(entry)).map(|entry| entry.path())
    };
    let found = other(directory, &is_part);
    let found = found.or_else(|| other(&directory.join(METRICS), &is_metrics));
    found.or_else(|| no_copy(directory))
}

/// Returns something among the copies of sources that is no copy that the database lists. Where the
/// list cannot be read, none is listed.
fn no_copy(directory: &Path) -> Option<PathBuf> {
    let mut folders = vec![PathBuf::from(SOURCES)];
    fs::symlink_metadata(directory.join(SOURCES)).ok()?;
    let listed = copies(directory);
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(directory.join(&folder)).into_iter().flatten().flatten() {
            let path = folder.join(entry.file_name());
            count += 1;
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && count < ENTRIES_MAX {
                folders.push(path);
            } else if !listed.contains(&path) {
                return Some(directory.join(path));
            }
        }
    }
    None
}

/// The paths of all copies of sources that a database lists.
fn copies(directory: &Path) -> HashSet<PathBuf> {
    let context = Context::default();
    let source = Source::open(directory, &context.limits);
    let database = source.and_then(|source| Database::open(&source, &context, Trust::Salvage));
    let Ok(database) = database.map(Arc::new) else { return HashSet::new() };
    let copied = rows::files(&database).filter(|row| row.is_copied);
    copied.filter_map(|row| row.path.map(PathBuf::from)).collect()
}

/// Copies the text of a source file into the database, and tells its path there. Nothing is
/// copied where the path would lead out of it.
pub(super) fn copy_source(
    directory: &Path,
    path: &str,
    text: &mut dyn Read,
) -> Result<Option<String>> {
    let Some(inside) = inside(path) else { return Ok(None) };
    let to = Path::new(&inside);
    create_below(directory, to.parent().unwrap_or(to))?;
    let mut file =
        File::create(directory.join(to)).map_err(Error::io("create a file of the output"))?;
    std::io::copy(text, &mut file).map_err(Error::io("copy a source file"))?;
    Ok(Some(inside))
}

/// `src/` and an absolute path without its slash, and without what leads back up in it.
fn inside(path: &str) -> Option<String> {
    let below = path.strip_prefix('/').filter(|below| !below.contains('\0'))?;
    let mut parts: Vec<&str> = Vec::new();
    for part in Path::new(below).components() {
        match part {
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::ParentDir => drop(parts.pop()?),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!parts.is_empty()).then(|| format!("src/{}", parts.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_leads_out_of_the_database() {
        for path in ["/opt/a.c", "/opt/build/../a.c", "/opt/./b/c/../../a.c", "/opt//a.c"] {
            assert_eq!(inside(path).as_deref(), Some("src/opt/a.c"), "{path:?}");
        }
        for path in ["/../a.c", "a.c", "/", "", "/opt/../../../a.c", "//etc", "/a\0b"] {
            assert_eq!(inside(path), None, "{path:?}");
        }
    }
}
