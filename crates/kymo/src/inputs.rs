//! Files that are meant: those named, and those found in named directories.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use kymo_core::bytes::Limits;
use kymo_core::{Error, Source};
use kymo_model::Format;
use kymo_registry::Unrecognised;

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
            // A file that is gone by now, or a link to nothing that nobody would miss.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !is_recording(&path) => {
                continue;
            }
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
            None if !kind.is_dir() && is_recording(&path) => {
                found.push(Err((path, Failure::new("it is no file").into())));
            }
            Some(Ok(false)) | None if !kind.is_dir() => {}
            Some(Ok(false)) if let Some(foreign) = foreign(&path, open) => {
                found.push(Err((path, foreign.into())));
            }
            Some(Ok(false)) | None => match entries(&path) {
                // What comes first in the order is taken from the end of the list.
                Ok(entries) => pending.extend(entries.into_iter().rev()),
                Err(error) => found.push(Err((path, error))),
            },
        }
    }
    if found.is_empty()
        && let Some(foreign) = foreign(root, open)
    {
        found.push(Err((root.to_path_buf(), foreign.into())));
    }
    if found.is_empty() {
        let files = numbers::count(seen, "file", "files");
        let failure = Failure::new(format!("no recording was found in it ({files} looked at)"));
        let failure = failure.hint("`kymo formats` lists what is recognised");
        found.push(Err((root.to_path_buf(), failure.into())));
    }
    found
}

/// The format of a directory that is none of ours.
fn foreign(root: &Path, open: Open<'_>) -> Option<Unrecognised> {
    let why = kymo_registry::detect(&open(root).ok()?).err()?;
    matches!(why, Unrecognised::Foreign { .. }).then_some(why)
}

/// So much is looked at to give a hint.
const LOOKED_AT_MAX: usize = 256;

/// Some recordings below a directory, to name them: those that are found soon.
pub(crate) fn recordings_below(root: &Path) -> Vec<PathBuf> {
    let open = |path: &Path| Source::open(path, &Limits::default());
    let (mut found, mut pending) = (Vec::new(), entries(root).unwrap_or_default());
    pending.reverse();
    for _ in 0..LOOKED_AT_MAX {
        let Some(path) = pending.pop() else { break };
        let is_plain = path.is_dir() || path.is_file();
        if is_plain && is_claimed(&path, None, &open).unwrap_or(false) {
            found.push(path);
        } else if path.is_dir() {
            pending.extend(entries(&path).unwrap_or_default().into_iter().rev());
        }
    }
    found
}

/// Returns true if something in a directory is named as recordings are.
fn is_recording(path: &Path) -> bool {
    let extension = path.extension().and_then(OsStr::to_str);
    let is_of = |format: &&dyn Format| {
        extension.is_some_and(|extension| format.info().extensions.contains(&extension))
    };
    (path.is_symlink() || path.exists()) && kymo_registry::formats().iter().any(is_of)
}

/// Returns the entries of a directory, sorted, without hidden files and links to other directories.
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
    entries.sort_by_cached_key(|path| natural(path));
    Ok(entries)
}

/// Returns the key by which paths are sorted: numbers in them count as numbers, so that part 10
/// comes after part 9.
fn natural(path: &Path) -> Vec<(u128, Vec<u8>)> {
    let mut runs: Vec<(u128, Vec<u8>)> = vec![(0, Vec::new())];
    for &byte in path.as_os_str().as_encoded_bytes() {
        let Some((number, rest)) = runs.last_mut() else { break };
        match byte {
            b'0'..=b'9' if rest.is_empty() => {
                *number = number.saturating_mul(10).saturating_add(u128::from(byte - b'0'));
            }
            b'0'..=b'9' => runs.push((u128::from(byte - b'0'), Vec::new())),
            _ => rest.push(byte),
        }
    }
    runs.push((0, path.as_os_str().as_encoded_bytes().to_vec()));
    runs
}

/// Returns true if a format takes a path for its own, if only by its name.
fn is_claimed(path: &Path, from: Option<&dyn Format>, open: Open<'_>) -> kymo_core::Result<bool> {
    let source = open(path)?;
    Ok(match from {
        Some(format) => format.sniff(&source.probe()).is_some(),
        None => kymo_registry::is_claimed(&source),
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

/// The bytes of a file, or of all files below a directory. A link counts as the file it leads to; one
/// to a directory, which may lead round, only where it is what was named.
pub(crate) fn size_bytes(path: &Path) -> io::Result<u64> {
    let mut size = 0;
    let mut pending = vec![fs::canonicalize(path)?];
    while let Some(path) = pending.pop() {
        let metadata = fs::symlink_metadata(&path)?;
        if metadata.is_dir() {
            let entries = fs::read_dir(&path)?.map(|entry| Ok(entry?.path()));
            pending.extend(entries.collect::<io::Result<Vec<_>>>()?);
        } else {
            let target = fs::metadata(&path).ok().filter(fs::Metadata::is_file);
            size += target.map_or(0, |target| target.len());
        }
    }
    Ok(size)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_as_large_as_what_they_lead_to() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("trace")).unwrap();
        fs::write(at("trace/a"), [0; 100]).unwrap();
        fs::write(at("b"), [0; 20]).unwrap();
        symlink(at("b"), at("trace/b")).unwrap();
        symlink(at("trace"), at("trace/round")).unwrap();
        symlink(at("nowhere"), at("trace/c")).unwrap();
        symlink(at("trace"), at("link")).unwrap();
        assert_eq!(size_bytes(&at("trace")).unwrap(), 120);
        assert_eq!(size_bytes(&at("link")).unwrap(), 120);
    }
}
