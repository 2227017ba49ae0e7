//! Structure files: those that were named, and those that lie beside the measurements.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kymo_core::model::measurement::MeasurementView;
use kymo_core::model::structure::Structure;
use kymo_core::{Error, Finding, Severity, Source, ahead};
use kymo_hpcrun::StructureFile;

use crate::inputs;
use crate::session::{Named, Session};

use super::said::Said;

/// Reads the structure of modules that threads were in. What was named comes first.
pub(super) fn read(
    session: &mut Session,
    named: &[PathBuf],
    views: &[Arc<dyn MeasurementView>],
    said: &mut Said,
) -> anyhow::Result<Structure> {
    let wanted = wanted(views);
    let is_wanted = |path: &str| wanted.contains(path);
    let mut structure = Structure::default();
    for path in named {
        let of_path = |error: kymo_core::Error| Named::error(inputs::display(path), error);
        let limits = session.context().limits;
        let read = |source: Source| -> kymo_core::Result<_> {
            let bytes = source.bytes()?;
            Ok((source, StructureFile::read(&bytes, &limits, &is_wanted)))
        };
        for read in ahead::each(files(session, path).map_err(of_path)?, read) {
            let (source, file) = read.map_err(of_path)?;
            file.modules.into_iter().for_each(|module| structure.add(module));
            if let Some(error) = file.stop {
                let finding = Finding::unreadable("structure", &error);
                let finding = Finding { severity: Severity::Warning, ..finding };
                said.say(session, &inputs::display(source.path()), finding);
            }
        }
    }
    for view in views {
        // What is there already need not be read again.
        let is_new = |path: &str| is_wanted(path) && structure.module(path).is_none();
        let (found, findings) = view.structure(&is_new);
        found.into_modules().for_each(|module| structure.add(module));
        let name = view.directory().map(|path| inputs::display(&path)).unwrap_or_default();
        said.say_all(session, &name, findings);
    }
    Ok(structure)
}

/// Paths of modules that threads were in: as they were recorded, and where relative ones lead.
fn wanted(views: &[Arc<dyn MeasurementView>]) -> BTreeSet<String> {
    let mut wanted = BTreeSet::new();
    for view in views {
        let directory = view.directory();
        for path in view.modules() {
            if let Some(directory) = directory.as_ref().filter(|_| Path::new(&path).is_relative()) {
                wanted.insert(directory.join(&path).to_string_lossy().into_owned());
            }
            wanted.insert(path);
        }
    }
    wanted
}

/// A file, or the structure files of a directory.
fn files(session: &Session, path: &Path) -> kymo_core::Result<Vec<Source>> {
    let source = session.source(path)?;
    if !source.is_directory() {
        return Ok(vec![source]);
    }
    let limits = session.context().limits;
    let names = source.entries()?.into_iter();
    let names = names.filter(|name| name.extension().is_some_and(|found| found == "hpcstruct"));
    let files: Vec<_> = names
        .filter_map(|name| source.child(&name, &limits).transpose())
        .collect::<Result<_, _>>()?;
    if files.is_empty() {
        return Err(Error::request("there is no .hpcstruct file in it"));
    }
    Ok(files)
}
