//! The directory of a session of `LTTng`: a trace of the kernel and traces of programs below it, and
//! what was rotated away in archives.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use kymo_core::bytes::Limits;
use kymo_core::{Probe, Result, Source};

use crate::spec;

/// Folders that a session has: those of the kernel, of user space, and of what was rotated away.
const FOLDERS: [&str; 3] = ["archives", "kernel", "ust"];

/// Greatest depth of traces: `archives/NAME/ust/uid/1000/64-bit`.
const DEPTH_MAX: usize = 6;

/// Folders that are looked at to find out whether a directory is a session.
const SNIFFED_MAX: usize = 64;

/// Traces of a directory.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// The traces, each with its folder: the directory itself, or those of a session.
    pub(super) traces: Vec<(PathBuf, Source)>,
    /// Folders that are another by another name: links lead there.
    pub(super) again: Vec<PathBuf>,
}

/// Finds the traces of a directory, each once.
pub(super) fn find(source: &Source, limits: &Limits) -> Result<Session> {
    let is_trace = |at: &Source| -> Result<bool> {
        let metadata = at.child(Path::new(spec::METADATA_FILE), limits)?;
        Ok(metadata.is_some_and(|metadata| !metadata.is_directory()))
    };
    if !source.is_directory() || is_trace(source)? {
        return Ok(Session { traces: vec![(PathBuf::new(), source.clone())], again: Vec::new() });
    }
    let (mut session, mut known) = (Session::default(), HashSet::new());
    let mut open = vec![(PathBuf::new(), source.clone())];
    while let Some((folder, at)) = open.pop() {
        let depth = folder.components().count();
        // Links may lead round. What is in memory has none.
        if fs::canonicalize(at.path()).is_ok_and(|path| !known.insert(path)) {
            session.again.push(folder);
            continue;
        }
        if depth > 0 && is_trace(&at)? {
            session.traces.push((folder, at));
            continue;
        }
        // The last is taken first.
        for name in at.entries()?.into_iter().rev() {
            let is_meant = depth > 0 || FOLDERS.iter().any(|folder| Path::new(folder) == name);
            let child = if is_meant && depth < DEPTH_MAX { at.child(&name, limits)? } else { None };
            let child = child.filter(Source::is_directory);
            open.extend(child.map(|child| (folder.join(name), child)));
        }
    }
    if session.traces.is_empty() {
        // Opening it says what is missing.
        session.traces.push((PathBuf::new(), source.clone()));
    }
    Ok(session)
}

/// The first bytes of the metadata of a trace: of a directory itself, or of one that a session has.
pub(crate) fn head(probe: &Probe<'_>, bytes: u64) -> Option<Vec<u8>> {
    if let Some(head) = probe.file_head(spec::METADATA_FILE, bytes) {
        return Some(head);
    }
    let is_folder = |name: &PathBuf| FOLDERS.iter().any(|folder| Path::new(folder) == name);
    let mut open: Vec<_> = probe.entries().filter(is_folder).collect();
    for _ in 0..SNIFFED_MAX {
        let folder = open.pop()?;
        if let Some(head) = probe.file_head(folder.join(spec::METADATA_FILE), bytes) {
            return Some(head);
        }
        if folder.components().count() < DEPTH_MAX {
            open.extend(probe.folder_entries(&folder).map(|name| folder.join(name)));
        }
    }
    None
}

/// Returns true if all files of a directory are streams of a trace, but for its metadata. Without
/// that they cannot be read; what is missing is said when the directory is opened.
pub(crate) fn has_streams(probe: &Probe<'_>) -> bool {
    let is_stream = |name: &PathBuf| {
        let head = probe.file_head(name, spec::SIGNATURE_BYTES)?;
        (name != Path::new(spec::METADATA_FILE)).then(|| spec::is_stream(&head))
    };
    let streams: Vec<_> =
        probe.entries().take(SNIFFED_MAX).filter_map(|name| is_stream(&name)).collect();
    !streams.is_empty() && streams.into_iter().all(|is_stream| is_stream)
}
