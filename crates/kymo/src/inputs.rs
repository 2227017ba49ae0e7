//! Which files are meant: those named, and those found in named directories.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use kymo_core::{Error, Format, Source};

use crate::failure::Failure;
use crate::render::numbers;

/// A file to work on, or why there is none.
pub(crate) type Input = Result<PathBuf, (PathBuf, anyhow::Error)>;

/// Opens a source.
type Open<'a> = &'a dyn Fn(&Path) -> kymo_core::Result<Source>;

/// Puts the recordings found in a directory in its place, unless a format claims the directory
/// as a whole.
pub(crate) fn expand(
    paths: &[PathBuf],
    from: Option<&dyn Format>,
    open: impl Fn(&Path) -> kymo_core::Result<Source>,
) -> Vec<Input> {
    let open: Open<'_> = &open;
    let mut inputs = Vec::new();
    for path in paths {
        // A directory that cannot be looked at says so when it is walked through.
        let is_one = || !path.is_dir() || is_claimed(path, from, open).unwrap_or(false);
        if path.as_os_str() == "-" || is_one() {
            inputs.push(Ok(path.clone()));
            continue;
        }
        inputs.extend(walk(path, from, open));
    }
    inputs
}

/// The recordings below a directory, sorted; those that no format claims are passed over. A
/// directory that cannot be listed stands among them with the reason.
fn walk(root: &Path, from: Option<&dyn Format>, open: Open<'_>) -> Vec<Input> {
    let mut found = Vec::new();
    let mut seen = 0_u64;
    let mut pending = vec![root.to_path_buf()];
    while let Some(path) = pending.pop() {
        let kind = match fs::metadata(&path) {
            Ok(metadata) => metadata.file_type(),
            // A link to nothing, or a file that is gone by now.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => {
                let error = Error::Io { action: "look at it", error };
                found.push(Err((path, error.into())));
                continue;
            }
        };
        seen += u64::from(!kind.is_dir());
        let may_be_claimed = kind.is_file() || (kind.is_dir() && path != root);
        match may_be_claimed.then(|| is_claimed(&path, from, open)) {
            Some(Ok(true)) => found.push(Ok(path)),
            Some(Err(error)) => found.push(Err((path, error.into()))),
            Some(Ok(false)) | None if !kind.is_dir() => {}
            Some(Ok(false)) | None => match entries(&path) {
                // What comes first in the order is taken from the end of the list.
                Ok(entries) => pending.extend(entries.into_iter().rev()),
                Err(error) => found.push(Err((path, error))),
            },
        }
    }
    if found.is_empty() {
        let files = numbers::count(seen, "file", "files");
        let failure = Failure::new(format!("no recording was found in it ({files} looked at)"));
        let failure = failure.hint("`kymo formats` lists what is recognised");
        found.push(Err((root.to_path_buf(), failure.into())));
    }
    found
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
fn is_claimed(path: &Path, from: Option<&dyn Format>, open: Open<'_>) -> kymo_core::Result<bool> {
    let source = open(path)?;
    Ok(match from {
        Some(format) => format.sniff(&source.probe()).is_some(),
        None => kymo_registry::detect_to_check(&source).is_ok(),
    })
}

/// A path as messages name it.
pub(crate) fn display(path: &Path) -> String {
    if path.as_os_str() == OsStr::new("-") {
        "-".to_owned()
    } else {
        crate::render::escaped(&path.to_string_lossy()).into_owned()
    }
}
