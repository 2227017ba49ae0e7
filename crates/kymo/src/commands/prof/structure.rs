//! Structure files: those that were named, and those that lie beside the measurements.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kymo_core::model::measurement::MeasurementView;
use kymo_core::model::structure::{Module, Structure};
use kymo_core::{Error, Finding, Severity, Source, ahead, shortened};
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
    let mut told = Told::default();
    for path in named {
        let of_path = |error: kymo_core::Error| Named::error(inputs::display(path), error);
        let limits = session.context().limits;
        let read = |source: Source| -> kymo_core::Result<_> {
            let bytes = source.bytes()?;
            Ok((source, StructureFile::read(&bytes, &limits, &is_wanted)))
        };
        for read in ahead::each(files(session, path).map_err(of_path)?, read) {
            let (source, file) = read.map_err(of_path)?;
            let name = inputs::display(source.path());
            let findings = told.add_file(file, &name);
            said.say(session, &name, findings);
        }
    }
    // Who names a file wants it instead of what lies beside the measurement.
    let named: HashSet<String> = told.by.keys().cloned().collect();
    for view in views {
        let is_new = |path: &str| is_wanted(path) && !named.contains(path);
        let (found, mut findings) = view.structure(&is_new);
        let name = view.directory().map(|path| inputs::display(&path)).unwrap_or_default();
        findings.extend(found.into_modules().filter_map(|module| told.add(module, &name)));
        said.say(session, &name, findings);
    }
    Ok(told.structure)
}

/// What structure files told so far.
#[derive(Default)]
struct Told {
    structure: Structure,
    /// What told of each module.
    by: HashMap<String, String>,
}

impl Told {
    /// Takes all of a file that was named.
    fn add_file(&mut self, file: StructureFile, name: &str) -> Vec<Finding> {
        let mut findings = Vec::new();
        if file.modules.is_empty() && file.stop.is_none() {
            let why = "it tells of no module that was loaded";
            findings.push(Finding::whole(Severity::Warning, "structure", why));
        }
        findings.extend(file.modules.into_iter().filter_map(|module| self.add(module, name)));
        if let Some(error) = file.stop {
            let finding = Finding::unreadable("structure", &error);
            findings.push(Finding { severity: Severity::Warning, ..finding });
        }
        findings
    }

    /// Takes a module. One that is known already is passed over, and that is said where the two
    /// differ.
    fn add(&mut self, module: Module, from: &str) -> Option<Finding> {
        let path = module.path().to_owned();
        let Some(known) = self.structure.module(&path) else {
            self.structure.add(module);
            self.by.insert(path, from.to_owned());
            return None;
        };
        let first = self.by.get(&path).map_or("another", String::as_str);
        let why = format!("{first} tells otherwise of {}, and counts", shortened(&path));
        (*known != module).then(|| Finding::whole(Severity::Warning, "structure", why))
    }
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
