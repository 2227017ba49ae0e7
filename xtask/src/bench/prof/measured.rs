//! Measurements of real programs, of the recordings outside the repository.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::bench::Setup;
use crate::data;

/// Where the measurements of our own programs are; nothing where there are no recordings.
pub(super) fn folder(setup: &Setup) -> Result<Option<PathBuf>> {
    let folder = data::folder(&setup.repo)?.map(|data| data.join("hpctoolkit/made-here"));
    Ok(folder.filter(|folder| folder.is_dir()))
}

/// A copy of a measurement, with or without its structure files. Those are links, which some file
/// systems keep as files with the path in them.
pub(super) fn copied(setup: &Setup, name: &str, with_structure: bool) -> Result<Option<PathBuf>> {
    let Some(folder) = folder(setup)? else { return Ok(None) };
    let from = folder.join(name).join("measurements");
    let kind = if with_structure { "structure" } else { "alone" };
    let to = setup.folder.join(format!("prof-{name}-{kind}"));
    if to.exists() {
        return Ok(Some(to));
    }
    let unfinished = setup.folder.join("prof-unfinished");
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished)?;
    }
    let structs = unfinished.join("structs");
    fs::create_dir_all(&structs)?;
    for path in files(&from, &["hpcrun", "hpctrace"])? {
        fs::copy(&path, unfinished.join(path.file_name().unwrap_or_default()))?;
    }
    let found = if with_structure { files(&from.join("structs"), &["hpcstruct"])? } else { vec![] };
    for path in found {
        let text = fs::read_to_string(&path)?;
        let linked = from.join("structs").join(text.trim());
        let real = if text.starts_with('<') { &path } else { &linked };
        fs::copy(real, structs.join(path.file_name().unwrap_or_default()))?;
    }
    fs::rename(&unfinished, &to)?;
    Ok(Some(to))
}

/// The files of a directory that have one of these extensions.
fn files(folder: &Path, extensions: &[&str]) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let paths = entries.collect::<Result<Vec<_>, _>>()?.into_iter();
    let is_wanted = |path: &PathBuf| {
        path.extension().is_some_and(|found| extensions.iter().any(|one| found == *one))
    };
    Ok(paths.filter(is_wanted).collect())
}
