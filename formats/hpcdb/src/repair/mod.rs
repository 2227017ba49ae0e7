//! Saving what can be saved of a database: files that are whole are copied as they are, and what is
//! missing or damaged is made again from what is left.
//!
//! `cct.db` can be made from `profile.db`, and `profile.db` from `cct.db`, but for what names
//! threads and for statistics other than sums. Nothing else has what `meta.db` has.

mod by_profile;
mod evidence;
mod shown;
mod sums;
mod trace;
mod values;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kymo_core::bytes::Limits;
use kymo_core::{Context, Destination, Error, Finding, Result, Severity, Source, create_below};
use kymo_model::RepairReport;

use crate::check;
use crate::read::{Database, Part, Trust};
use crate::rows;
use crate::spec::FileKind;
use crate::walk::TreeWalk;
use crate::write::Form;

/// Greatest number of findings that name the damaged files.
const FINDINGS_MAX: usize = 1 << 20;

/// Writes a sound database of what is left of one.
pub(crate) fn repair(
    source: &Source,
    to: &Destination,
    context: &Context<'_>,
) -> Result<RepairReport> {
    if !source.is_directory() {
        let why = "a database is repaired as a whole: name its directory";
        return Err(Error::request(why));
    }
    // Which files are damaged must not depend on how many findings are shown.
    let limits = Limits { findings_max: FINDINGS_MAX, ..context.limits };
    let found = check::check(source, &Context { limits, ..*context })?;
    let database = Arc::new(Database::open(source, context, Trust::Salvage)?);
    let is_damaged = |finding: &Finding| {
        finding.file.as_deref() == Some(FileKind::Meta.name())
            && finding.severity == Severity::Error
    };
    let is_cut = database.meta.as_ref().is_some_and(|meta| meta.part.require_footer().is_err());
    if found.iter().filter(|finding| is_damaged(finding)).count() > usize::from(is_cut) {
        match shown::save(source, &database, &found, to, context) {
            // There is nothing that can be shown, or it makes no sound database.
            Err(Error::Request(_)) => {}
            saved => return saved,
        }
    }
    let directory = to.directory()?;
    let mut repairing = Repairing {
        source,
        limits: context.limits,
        database,
        found,
        to: directory.path().to_path_buf(),
        repaired: RepairReport { unit: "files", ..RepairReport::default() },
    };
    repairing.meta()?;
    repairing.values()?;
    repairing.trace()?;
    let left = copy_other_files(source, &repairing.database, &context.limits, directory.path())?;
    if let Some(one) = left.astray.first() {
        let count = left.astray.len();
        let message = format!("{count} names of source files lead elsewhere, such as {one}");
        repairing.lost(FileKind::Meta, message);
    }
    repairing.repaired.losses.extend(left.unreadable);
    let mut repaired = repairing.repaired;
    repaired.corrected.extend(remaining_findings(directory.path(), context)?);
    directory.commit()?;
    Ok(repaired)
}

/// Returns findings about what is odd in the output, as it was before. Refuses output that is not
/// sound after all.
fn remaining_findings(path: &Path, context: &Context<'_>) -> Result<Vec<Finding>> {
    let mut written = check::check(&Source::open(path, &context.limits)?, context)?;
    if let Some(finding) = written.iter().find(|finding| finding.severity == Severity::Error) {
        let file = finding.file.as_deref().unwrap_or_default();
        let (rule, message) = (finding.rule, &finding.message);
        return Err(Error::request(format!("it cannot be repaired: {file}: {rule}: {message}")));
    }
    written.retain(|finding| finding.severity == Severity::Warning);
    Ok(written)
}

/// A repair that is under way.
struct Repairing<'a> {
    source: &'a Source,
    limits: Limits,
    database: Arc<Database>,
    /// Findings, as `check` gives them.
    found: Vec<Finding>,
    /// Destination of the output.
    to: PathBuf,
    repaired: RepairReport,
}

/// Health of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Absent,
    Damaged,
    /// Nothing is wrong but that it lacks its footer.
    Cut,
    Sound,
}

impl Repairing<'_> {
    fn health(&self, kind: FileKind) -> Health {
        // What cannot be opened is there, and no file of a database.
        let child = self.source.child(Path::new(kind.name()), &self.limits);
        let is_there = !matches!(child, Ok(None));
        let Some(part) = self.database.parts().find(|part| part.kind == kind) else {
            return if is_there { Health::Damaged } else { Health::Absent };
        };
        let is_cut = part.require_footer().is_err();
        let errors = self.found.iter().filter(|finding| {
            let is_of_it = finding.file.as_deref() == Some(kind.name());
            // That it is not as profile.db is says nothing of which one is right.
            is_of_it && finding.severity == Severity::Error && finding.rule != "transpose"
        });
        match (errors.count(), is_cut) {
            (0, _) => Health::Sound,
            (1, true) => Health::Cut,
            _ => Health::Damaged,
        }
    }

    /// Returns true if `cct.db` has other values than `profile.db`.
    fn is_other(&self) -> bool {
        self.found.iter().any(|finding| finding.rule == "transpose")
    }

    fn path(&self, kind: FileKind) -> PathBuf {
        self.to.join(kind.name())
    }

    fn corrected(&mut self, kind: FileKind, message: impl Into<String>) {
        self.repaired.corrected.push(finding(Severity::Warning, "repaired", kind, message));
    }

    fn lost(&mut self, kind: FileKind, message: impl Into<String>) {
        self.repaired.losses.push(finding(Severity::Warning, "lost", kind, message));
    }

    /// Copies a file, and ends it with its footer.
    fn copy(&mut self, kind: FileKind, health: Health) -> Result<()> {
        let Some(part) = self.database.parts().find(|part| part.kind == kind) else {
            return Ok(());
        };
        let mut file =
            File::create(self.path(kind)).map_err(Error::io("create a file of the output"))?;
        let bytes = part.as_bytes();
        if let Some(behind) = part.bytes_after_footer().filter(|_| health == Health::Cut) {
            let end = bytes.len() - usize::try_from(behind).unwrap_or(0);
            file.write_all(bytes.get(..end).unwrap_or(bytes))?;
            self.corrected(kind, format!("{behind} bytes behind the footer were removed"));
        } else {
            file.write_all(bytes)?;
            if health == Health::Cut {
                file.write_all(kind.footer())?;
                self.corrected(kind, "the footer is there again");
            }
        }
        self.repaired.kept += 1;
        Ok(())
    }

    /// Names and the tree cannot be made from anything else.
    fn meta(&mut self) -> Result<()> {
        match self.health(FileKind::Meta) {
            health @ (Health::Sound | Health::Cut) => self.copy(FileKind::Meta, health),
            Health::Absent => Err(Error::request("without meta.db nothing can be repaired")),
            Health::Damaged => {
                let mut errors = self.found.iter().filter(|finding| {
                    finding.file.as_deref() == Some(FileKind::Meta.name())
                        && finding.severity == Severity::Error
                });
                let why = errors.next().map_or(String::new(), |finding| finding.message.clone());
                let what = "meta.db is damaged, and the other files do not have what it has";
                Err(Error::request(format!("{what}: {why}")))
            }
        }
    }

    /// The numbers of contexts that `meta.db` lists, in ascending order.
    fn listed(&self) -> Vec<u32> {
        let walk = TreeWalk::new(Arc::clone(&self.database));
        let mut listed: Vec<_> = walk.map(|(context, ..)| context.ctx_id).collect();
        listed.sort_unstable();
        listed
    }
}

/// Other parts of a database that were not copied.
#[derive(Default)]
pub(crate) struct UncopiedFiles {
    /// Names of copies of sources that lead elsewhere.
    astray: Vec<String>,
    /// Findings about files that cannot be read.
    unreadable: Vec<Finding>,
}

/// Copies what else belongs to a database: how metrics are shown, and copies of sources.
pub(crate) fn copy_other_files(
    source: &Source,
    database: &Arc<Database>,
    limits: &Limits,
    to: &Path,
) -> Result<UncopiedFiles> {
    let mut names = vec![PathBuf::from("FORMATS.md")];
    if let Some(metrics) = source.child(Path::new("metrics"), limits)? {
        let entries = if metrics.is_directory() { metrics.entries()? } else { Vec::new() };
        names.extend(entries.into_iter().map(|name| Path::new("metrics").join(name)));
    }
    let copied = rows::files(database).filter(|file| file.is_copied);
    let copied: BTreeSet<_> = copied.filter_map(|file| Some(PathBuf::from(file.path?))).collect();
    let mut left = UncopiedFiles::default();
    for name in names.iter().chain(&copied) {
        let found = source.child(name, limits);
        // A name that leads out of the directory, or to another of its files, is none of a copy.
        if copied.contains(name) && (found.is_err() || !name.starts_with("src")) {
            left.astray.push(name.display().to_string());
            continue;
        }
        let bytes = match found {
            Ok(None) => continue,
            Ok(Some(file)) if file.is_directory() => Err(Error::request("it is a directory")),
            Ok(Some(file)) => file.bytes(),
            Err(error) => Err(error),
        };
        match bytes {
            Ok(bytes) => put(to, name, &bytes)?,
            Err(error) => {
                let file = Some(name.display().to_string());
                let message = format!("it was not copied: {error}");
                let finding = Finding::for_whole_file(Severity::Warning, "lost", message);
                left.unreadable.push(Finding { file, ..finding });
            }
        }
    }
    Ok(left)
}

/// Writes a file below a directory.
fn put(to: &Path, name: &Path, bytes: &[u8]) -> Result<()> {
    create_below(to, name.parent().unwrap_or(name))?;
    fs::write(to.join(name), bytes).map_err(Error::io("create a file of the output"))
}

/// The layout that a file is written again in.
fn form_of(part: &Part) -> Form {
    if part.is_described() { Form::Described } else { Form::Released }
}

fn finding(
    severity: Severity,
    rule: &'static str,
    kind: FileKind,
    message: impl Into<String>,
) -> Finding {
    let file = Some(kind.name().to_owned());
    Finding { file, ..Finding::for_whole_file(severity, rule, message) }
}
