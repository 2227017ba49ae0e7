//! Structure files: those that were named, and those that lie beside the measurements.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kymo_core::{Error, Finding, Severity, Source, ahead, shortened};
use kymo_hpcrun::StructureFile;
use kymo_model::measurement::MeasurementView;
use kymo_model::structure::{Module, Structure};
use kymo_symbols::Search;

use crate::inputs;
use crate::session::{Named, Session};

use super::input_findings::InputFindings;

/// Reads the structure of modules that threads were in. What was named comes first.
pub(super) fn read(
    session: &mut Session,
    named: &[PathBuf],
    views: &[Arc<dyn MeasurementView>],
    search: &Search,
    said: &mut InputFindings,
) -> anyhow::Result<Structure> {
    let wanted = candidate_paths(views, search);
    let is_wanted = |path: &str| wanted.contains_key(path);
    let mut told =
        StructureSummary { wanted: &wanted, structure: Structure::default(), by: HashMap::new() };
    for path in named {
        let of_path = |error: kymo_core::Error| Named::error(inputs::display(path), error);
        let limits = session.context().limits;
        let read = |source: Source| -> kymo_core::Result<_> {
            let bytes = source.bytes()?;
            Ok((source, StructureFile::read(&bytes, &limits, &is_wanted)))
        };
        let files = files(session, path).map_err(of_path)?;
        let progress = session.context().progress;
        progress.begin_items("reading structure", files.len() as u64);
        let done = AtomicU64::new(0);
        let read = |source: Source| {
            let file = read(source);
            progress.advance_to(done.fetch_add(1, Ordering::Relaxed) + 1);
            file
        };
        let files = ahead::each(files, read);
        progress.end();
        // A directory has files of other programs, too.
        let mut is_useless = true;
        for read in files {
            let (source, file) = read.map_err(of_path)?;
            let name = inputs::display(source.path());
            is_useless &= file.as_ref().is_ok_and(|file| file.modules.is_empty());
            let findings = match file {
                Ok(file) => told.add_file(file, &name),
                Err(error) => vec![StructureFile::unreadable(&error)],
            };
            said.report(session, &name, findings);
        }
        if is_useless {
            let why = "it tells of no module that was loaded";
            let finding = Finding::for_whole_file(Severity::Warning, "structure", why);
            said.report(session, &inputs::display(path), vec![finding]);
        }
    }
    // Who names a file wants it instead of what lies beside the measurement.
    let named: HashSet<String> = told.by.keys().cloned().collect();
    let mut seen = HashSet::new();
    // Profiles that are named one by one have the same files beside them.
    for view in views.iter().filter(|view| seen.insert(view.directory())) {
        let progress = session.context().progress;
        let (found, mut findings) = view.structure(&is_wanted, progress.as_ref());
        let name = view.directory().map(|path| inputs::display(&path)).unwrap_or_default();
        for module in found.into_modules() {
            let is_named = named.contains(told.path(&module));
            match told.add(module, &name) {
                Some(finding) if is_named => session.report.remark(&name, &finding.message),
                finding => findings.extend(finding),
            }
        }
        said.report(session, &name, findings);
    }
    Ok(told.structure)
}

/// Facts that structure files gave so far.
struct StructureSummary<'a> {
    /// Paths that structure files may have for a module, and the one that was recorded.
    wanted: &'a BTreeMap<String, String>,
    structure: Structure,
    /// Structure file that described each module.
    by: HashMap<String, String>,
}

impl StructureSummary<'_> {
    /// Takes all of a file that was named.
    fn add_file(&mut self, file: StructureFile, name: &str) -> Vec<Finding> {
        file.modules.into_iter().filter_map(|module| self.add(module, name)).collect()
    }

    /// The path by which a module is looked up.
    fn path<'m>(&'m self, module: &'m Module) -> &'m str {
        self.wanted.get(module.path()).map_or(module.path(), String::as_str)
    }

    /// Takes a module. One that is known already is passed over, and that is said where the two
    /// differ.
    fn add(&mut self, module: Module, from: &str) -> Option<Finding> {
        let path = self.path(&module).to_owned();
        let module = module.with_path(&path);
        let Some(known) = self.structure.module(&path) else {
            self.structure.add(module);
            self.by.insert(path, from.to_owned());
            return None;
        };
        let first = self.by.get(&path).map_or("another", String::as_str);
        let why = format!("{first} tells otherwise of {}, and counts", shortened(&path));
        (*known != module).then(|| Finding::for_whole_file(Severity::Warning, "structure", why))
    }
}

/// Paths that structure files may have for modules that threads were in, and the one by which each is
/// looked up: those that were recorded, where relative ones lead, and where they are now.
fn candidate_paths(
    views: &[Arc<dyn MeasurementView>],
    search: &Search,
) -> BTreeMap<String, String> {
    let mut wanted = BTreeMap::new();
    let mut replaced = Vec::new();
    for view in views {
        let directory = view.directory();
        for path in view.modules() {
            if let Some(directory) = directory.as_ref().filter(|_| Path::new(&path).is_relative()) {
                let resolved = directory.join(&path).to_string_lossy().into_owned();
                wanted.insert(resolved.clone(), resolved);
            }
            let now = search.paths(&path).into_iter();
            replaced.extend(now.map(|now| (now.to_string_lossy().into_owned(), path.clone())));
            wanted.insert(path.clone(), path);
        }
    }
    // What was recorded by its own path is not taken for something else.
    for (now, path) in replaced {
        wanted.entry(now).or_insert(path);
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
