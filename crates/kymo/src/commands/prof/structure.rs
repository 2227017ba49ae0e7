//! Structure files: those that were named, and those that lie beside the measurements.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kymo_core::model::measurement::MeasurementView;
use kymo_core::model::structure::Structure;
use kymo_core::{Finding, Severity, Source};
use kymo_hpcrun::StructureFile;

use crate::inputs;
use crate::session::{Named, Outcome, Session};

/// Reads the structure of modules that threads were in. What was named comes first.
pub(super) fn read(
    session: &mut Session,
    named: &[PathBuf],
    views: &[Arc<dyn MeasurementView>],
) -> anyhow::Result<(Structure, Outcome)> {
    let wanted: BTreeSet<String> = views.iter().flat_map(|view| view.modules()).collect();
    let is_wanted = |path: &str| wanted.contains(path);
    let (mut structure, mut outcome) = (Structure::default(), Outcome::Done);
    for path in named {
        let of_path = |error: kymo_core::Error| Named::error(inputs::display(path), error);
        for source in files(session, path).map_err(of_path)? {
            let bytes = source.bytes().map_err(of_path)?;
            let file = StructureFile::read(&bytes, &session.context().limits, &is_wanted);
            file.modules.into_iter().for_each(|module| structure.add(module));
            if let Some(error) = file.stop {
                let finding = Finding::unreadable("structure", &error);
                let finding = Finding { severity: Severity::Warning, ..finding };
                session.report.finding(&inputs::display(source.path()), &finding);
                outcome = Outcome::Findings;
            }
        }
    }
    for view in views {
        // What is there already need not be read again.
        let is_new = |path: &str| is_wanted(path) && structure.module(path).is_none();
        let (found, findings) = view.structure(&is_new);
        found.into_modules().for_each(|module| structure.add(module));
        let name = view.directory().map(|path| inputs::display(&path)).unwrap_or_default();
        session.report.findings(&name, &findings);
        outcome = outcome.max(Outcome::of(&findings));
    }
    Ok((structure, outcome))
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
    names.filter_map(|name| source.child(&name, &limits).transpose()).collect()
}
