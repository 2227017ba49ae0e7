//! Files beside profiles that name their addresses: structure files, and symbols of kernels and of
//! what they map into processes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use kymo_core::bytes::ReadResult;
use kymo_core::{Error, Finding, NoProgress, Progress, Result, Severity, ahead, shortened};
use kymo_model::measurement::{Frame, IsWanted};
use kymo_model::structure::{Structure, Symbols};
use kymo_symbols::{Programs, Search, path_in_measurement};

use crate::frames::{Frames, NodeMeaning};
use crate::hpcstruct::StructureFile;
use crate::measurement::{Measurement, NOWHERE, Part, named};

/// Reads the structure of those modules that were loaded.
pub(crate) fn structure_of(measurement: &Measurement) -> (Structure, Vec<Finding>) {
    let modules = measurement.load_modules();
    let wanted: BTreeSet<_> = modules.map(|module| module.path.to_string()).collect();
    read_structure(measurement, &|path| wanted.contains(path), &NoProgress)
}

/// Reads the structure of those modules that are wanted.
pub(crate) fn read_structure(
    measurement: &Measurement,
    is_wanted: &IsWanted<'_>,
    progress: &dyn Progress,
) -> (Structure, Vec<Finding>) {
    let mut reading = StructureReader::default();
    let done = AtomicU64::new(0);
    progress.begin_items("reading structure", measurement.structs.len() as u64);
    let read = |number: usize| {
        let path = measurement.structs.get(number)?;
        let file = structure_file(measurement, path, is_wanted);
        progress.advance_to(done.fetch_add(1, Ordering::Relaxed) + 1);
        Some((path, file))
    };
    let numbers = (0..measurement.structs.len()).collect();
    let files = ahead::each(numbers, read);
    progress.end();
    for (path, file) in files.into_iter().flatten() {
        match file {
            Ok(Ok(file)) => reading.add(path, file),
            Ok(Err(error)) => {
                let finding = StructureFile::unreadable(&error);
                reading.findings.extend(named(vec![finding], path));
            }
            Err(error) => reading.add_finding(Severity::Warning, path, error.to_string()),
        }
    }
    (reading.structure, reading.findings)
}

fn structure_file(
    measurement: &Measurement,
    path: &Path,
    is_wanted: &IsWanted<'_>,
) -> Result<ReadResult<StructureFile>> {
    let child = measurement.source.child(path, &measurement.limits)?;
    let bytes = child.ok_or_else(|| Error::request(NOWHERE))?.bytes()?;
    Ok(StructureFile::read(&bytes, &measurement.limits, is_wanted))
}

/// Structure files that are read one after another.
#[derive(Default)]
struct StructureReader {
    structure: Structure,
    findings: Vec<Finding>,
    /// The file that told of each module.
    told: HashMap<String, PathBuf>,
}

impl StructureReader {
    fn add(&mut self, path: &Path, file: StructureFile) {
        if file.modules.is_empty() {
            self.add_finding(
                Severity::Note,
                path,
                "it tells of no module that was loaded".to_owned(),
            );
        }
        for module in file.modules {
            let name = module.path().to_owned();
            if let Some(first) = self.told.get(&name) {
                let (name, first) = (shortened(&name), first.display());
                let why = format!("{first} tells of {name} already, and counts");
                self.add_finding(Severity::Warning, path, why);
                continue;
            }
            self.told.insert(name, path.to_owned());
            if let dropped @ 1.. = module.dropped() {
                let ranges = if dropped == 1 { "1 range" } else { &*format!("{dropped} ranges") };
                let why = "of addresses that earlier ones have in part, which is left out";
                // hpcstruct writes such files, and hpcprof takes them in this way.
                self.add_finding(Severity::Note, path, format!("it has {ranges} {why}"));
            }
            self.structure.add(module);
        }
    }

    fn add_finding(&mut self, severity: Severity, path: &Path, why: String) {
        let finding = Finding::for_whole_file(severity, "structure", why);
        self.findings.extend(named(vec![finding], path));
    }
}

/// Symbols of kernels, and of what they map into processes: what of them is in the directory.
pub(crate) fn symbols_of(measurement: &Measurement) -> Programs {
    let modules = measurement.load_modules().filter(|_| measurement.is_directory);
    let paths = modules.map(|module| module.path.to_string());
    // Nothing outside of the directory is looked at, wherever it was when it was recorded.
    let directory = measurement.source.path();
    let beside = |path: String| path_in_measurement(&path, directory)?.to_str().map(str::to_owned);
    let paths: BTreeSet<_> = paths.filter_map(beside).collect();
    let modules = paths.iter().map(|path| (path.as_str(), directory));
    Programs::new(modules, &Search::default(), &measurement.limits)
}

/// Returns the path by which symbols of a module are known: its place in the directory.
pub(super) fn resolved(directory: &Path, path: &str) -> Option<String> {
    Some(directory.join(path_in_measurement(path, directory)?).to_string_lossy().into_owned())
}

/// Returns the reasons why modules have no names that recorders put into the directory for them.
/// Only those modules count that something was measured in, and that no structure file describes.
pub(crate) fn missing_module_names(
    measurement: &Measurement,
    symbols: &Programs,
    structure: &Structure,
) -> Vec<Finding> {
    let mut found = BTreeMap::new();
    let parts = measurement.recordings.iter().filter(|_| measurement.is_directory);
    let mut holding = measurement.holding();
    for part in parts.filter(|part| !companion_modules(part, measurement).is_empty()) {
        // What cannot be read any more is told with its values.
        let Ok(part) = holding.part(part) else { continue };
        for (path, offset) in measured_companions(&part, measurement) {
            let is_new = structure.module(&path).is_none() && !found.contains_key(&path);
            let resolved = resolved(measurement.source.path(), &path);
            let module = symbols.module(&path, resolved.as_deref()).filter(|_| is_new);
            let Some(mut module) = module else { continue };
            let mut names = Vec::new();
            module.resolve(offset, &mut names);
            let lack = module.limitation().filter(|_| names.is_empty());
            found.insert(path, lack);
        }
    }
    let finding = |(path, lack): (String, Option<String>)| {
        let why = format!("{}: addresses in it have no names", lack?);
        let finding = Finding::for_whole_file(Severity::Warning, "symbols", why);
        Some(named(vec![finding], &path_in_measurement(&path, measurement.source.path())?))
    };
    found.into_iter().filter_map(finding).flatten().collect()
}

/// Modules of an epoch that recorders put into the directory, by their places in the load map.
fn companion_modules(part: &Part, measurement: &Measurement) -> HashMap<u32, String> {
    let modules = part.epoch().into_iter().flat_map(|epoch| &epoch.load_modules).zip(0_u32..);
    let paths = modules.map(|(module, place)| (place, module.path.to_string()));
    paths
        .filter(|(_, path)| path_in_measurement(path, measurement.source.path()).is_some())
        .collect()
}

/// Modules of an epoch that recorders put into the directory, each with an address that was met.
fn measured_companions(part: &Part, measurement: &Measurement) -> Vec<(String, u64)> {
    let (Some(profile), Some(epoch)) = (&part.profile, part.epoch()) else { return Vec::new() };
    let mut open = companion_modules(part, measurement);
    let (frames, mut found) = (Frames::new(epoch, profile.header.dialect), Vec::new());
    for node in epoch.nodes.iter() {
        if open.is_empty() {
            break;
        }
        if let NodeMeaning::Frame(Frame::Code { module, offset, .. }) = frames.meaning(&node, false)
            && let Some(path) = open.remove(&module)
        {
            found.push((path, offset));
        }
    }
    found
}
