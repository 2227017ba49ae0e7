//! Which files are meant: those named, and those found in named directories.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use kymo_core::bytes::Limits;
use kymo_core::{Destination, Error, Format, Source};

use crate::failure::Failure;
use crate::render::numbers;

/// A file to work on, or why there is none.
pub(crate) type Input = Result<PathBuf, (PathBuf, anyhow::Error)>;

/// Puts the recordings found in a directory in its place, unless a format claims the directory
/// as a whole.
pub(crate) fn expand(paths: &[PathBuf], from: Option<&dyn Format>, limits: &Limits) -> Vec<Input> {
    let mut inputs = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" || !path.is_dir() || is_claimed(path, from, limits) {
            inputs.push(Ok(path.clone()));
            continue;
        }
        match walk(path, from, limits) {
            Ok(found) => inputs.extend(found.into_iter().map(Ok)),
            Err(error) => inputs.push(Err((path.clone(), error))),
        }
    }
    inputs
}

/// The recordings below a directory, sorted; those that no format claims are passed over.
fn walk(root: &Path, from: Option<&dyn Format>, limits: &Limits) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut seen = 0_u64;
    let mut pending = vec![root.to_path_buf()];
    while let Some(path) = pending.pop() {
        if !path.is_dir() {
            seen += 1;
            if path.is_file() && is_claimed(&path, from, limits) {
                found.push(path);
            }
        } else if path != root && is_claimed(&path, from, limits) {
            found.push(path);
        } else {
            // What comes first in the order is taken from the end of the list.
            pending.extend(entries(&path)?.into_iter().rev());
        }
    }
    if found.is_empty() {
        let files = numbers::count(seen, "file", "files");
        let failure = Failure::new(format!("no recording was found in it ({files} looked at)"));
        return Err(failure.hint("`kymo formats` lists what is recognised").into());
    }
    Ok(found)
}

/// What is in a directory, sorted, without hidden files and links to other directories.
fn entries(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let failed = Error::io("list the directory");
    let mut entries = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(Error::io("list the directory"))?;
        let path = entry.path();
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        // Links to directories may lead round in circles.
        let is_link = path.is_symlink() && path.is_dir();
        if !is_hidden && !is_link {
            entries.push(path);
        }
    }
    entries.sort();
    Ok(entries)
}

/// Whether a format takes a path for its own, if only by its name.
fn is_claimed(path: &Path, from: Option<&dyn Format>, limits: &Limits) -> bool {
    let Ok(source) = Source::open(path, limits) else {
        return false;
    };
    match from {
        Some(format) => format.sniff(&source.probe()).is_some(),
        None => kymo_registry::detect_to_check(&source).is_ok(),
    }
}

/// A directory to write. One that exists is replaced only when nothing is in it but files of the
/// names that will be written: `--force` must not cost anyone their data.
pub(crate) fn own_directory(
    path: &Path,
    force: bool,
    names: &[String],
) -> kymo_core::Result<Destination> {
    let to = Destination::new(path, force);
    to.check()?;
    if !path.is_dir() {
        return Ok(to);
    }
    for entry in fs::read_dir(path).map_err(Error::io("list the directory"))? {
        let entry = entry.map_err(Error::io("list the directory"))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() || !names.contains(&name) {
            return Err(Error::request(format!(
                "the directory has other things in it and is not replaced: {}",
                crate::render::escaped(&name)
            )));
        }
    }
    Ok(to)
}

/// A path as messages name it.
pub(crate) fn display(path: &Path) -> String {
    if path.as_os_str() == OsStr::new("-") {
        "-".to_owned()
    } else {
        crate::render::escaped(&path.to_string_lossy()).into_owned()
    }
}
