//! Saving what can be saved of a database: files that are whole are copied as they are, and what is
//! missing or damaged is made again from what is left.
//!
//! `cct.db` can be made from `profile.db`, and `profile.db` from `cct.db`, but for what names
//! threads and for statistics other than sums. Nothing else has what `meta.db` has.

mod values;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kymo_core::bytes::Limits;
use kymo_core::model::profile::{ContextNumber, ThreadId};
use kymo_core::model::timeline::TimeNs;
use kymo_core::{Context, Destination, Error, Finding, Repaired, Result, Severity, Source};

use crate::check;
use crate::read::{Database, Part, TraceDb, Trust};
use crate::rows;
use crate::spec::FileKind;
use crate::write::{Form, TraceWriter};

/// Writes a sound database of what is left of one.
pub(crate) fn repair(source: &Source, to: &Destination, context: &Context<'_>) -> Result<Repaired> {
    if !source.is_directory() {
        let why = "a database is repaired as a whole: name its directory";
        return Err(Error::request(why));
    }
    let found = check::check(source, context)?;
    let database = Arc::new(Database::open(source, context, Trust::Salvage)?);
    let directory = to.directory()?;
    let mut repairing = Repairing {
        source,
        limits: context.limits,
        database,
        found,
        to: directory.path().to_path_buf(),
        repaired: Repaired { unit: "files", ..Repaired::default() },
    };
    repairing.meta()?;
    repairing.values()?;
    repairing.trace()?;
    copy_rest(source, &repairing.database, &context.limits, directory.path())?;
    let mut repaired = repairing.repaired;
    repaired.corrected.extend(still_odd(directory.path(), context)?);
    directory.commit()?;
    Ok(repaired)
}

/// What is odd in the output, as it was before. Refuses what is not sound after all.
fn still_odd(path: &Path, context: &Context<'_>) -> Result<Vec<Finding>> {
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
    /// What is wrong, as `check` says it.
    found: Vec<Finding>,
    /// Where the output goes.
    to: PathBuf,
    repaired: Repaired,
}

/// How a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Health {
    Absent,
    Damaged,
    /// Nothing is wrong but that it lacks its footer.
    Cut,
    Sound,
}

impl Repairing<'_> {
    fn health(&self, kind: FileKind) -> Result<Health> {
        let is_there = self.source.child(Path::new(kind.name()), &self.limits)?.is_some();
        let Some(part) = self.database.parts().find(|part| part.kind == kind) else {
            return Ok(if is_there { Health::Damaged } else { Health::Absent });
        };
        let is_cut = part.require_footer().is_err();
        let errors = self.found.iter().filter(|finding| {
            let is_of_it = finding.file.as_deref() == Some(kind.name());
            is_of_it && finding.severity == Severity::Error
        });
        Ok(match (errors.count(), is_cut) {
            (0, _) => Health::Sound,
            (1, true) => Health::Cut,
            _ => Health::Damaged,
        })
    }

    fn path(&self, kind: FileKind) -> PathBuf {
        self.to.join(kind.name())
    }

    fn corrected(&mut self, kind: FileKind, message: impl Into<String>) {
        self.repaired.corrected.push(said(Severity::Note, "repaired", kind, message));
    }

    fn lost(&mut self, kind: FileKind, message: impl Into<String>) {
        self.repaired.losses.push(said(Severity::Warning, "lost", kind, message));
    }

    /// Copies a file, and ends it with its footer.
    fn copy(&mut self, kind: FileKind, health: Health) -> Result<()> {
        let Some(part) = self.database.parts().find(|part| part.kind == kind) else {
            return Ok(());
        };
        let mut file =
            File::create(self.path(kind)).map_err(Error::io("create a file of the output"))?;
        file.write_all(part.as_bytes())?;
        if health == Health::Cut {
            file.write_all(kind.footer())?;
            self.corrected(kind, "the footer is there again");
        }
        self.repaired.kept += 1;
        Ok(())
    }

    /// Names and the tree cannot be made from anything else.
    fn meta(&mut self) -> Result<()> {
        match self.health(FileKind::Meta)? {
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

    fn trace(&mut self) -> Result<()> {
        let kind = FileKind::Trace;
        match self.health(kind)? {
            Health::Absent => Ok(()),
            health @ (Health::Sound | Health::Cut) => self.copy(kind, health),
            Health::Damaged => {
                let database = Arc::clone(&self.database);
                if let Some(file) = &database.trace {
                    return self.rewrite_trace(file);
                }
                self.lost(kind, "its header cannot be read: all traces are lost");
                Ok(())
            }
        }
    }

    /// Writes each trace up to where it makes no sense any more.
    fn rewrite_trace(&mut self, file: &TraceDb) -> Result<()> {
        let kind = FileKind::Trace;
        let profiles = self.database.profile.as_ref().map(|file| file.profiles.count);
        let lines = profiles.unwrap_or(file.traces.count + 1).saturating_sub(1);
        let lines = usize::try_from(lines).unwrap_or(usize::MAX);
        let listed = self.listed();
        let mut writer = TraceWriter::new(self.path(kind), form_of(&file.part), lines);
        let mut seen = vec![false; lines];
        let (mut kept, mut lost, mut unreadable) = (0_u64, 0_u64, 0_u64);
        for index in 0..file.traces.count {
            let trace = self.database.noted(&file.part, file.trace(index)).flatten();
            let line = trace.and_then(|trace| trace.prof_index.checked_sub(1));
            let place = line.and_then(|line| seen.get_mut(usize::try_from(line).ok()?));
            let (Some(trace), Some(line), Some(is_seen)) = (trace, line, place) else {
                unreadable += 1;
                continue;
            };
            if std::mem::replace(is_seen, true) {
                lost = lost.saturating_add(trace.count);
                continue;
            }
            let mut before = 0;
            let sound = (0..trace.count).map_while(|index| {
                let element = file.element(&trace, index).ok()?;
                let is_known = element.ctx_id == 0 || listed.binary_search(&element.ctx_id).is_ok();
                let is_later =
                    element.timestamp >= before && i64::try_from(element.timestamp).is_ok();
                before = element.timestamp;
                (is_known && is_later).then_some(element)
            });
            let mut taken = 0;
            let mut samples = sound.map(|element| {
                taken += 1;
                let context = (element.ctx_id != 0).then(|| ContextNumber(element.ctx_id.into()));
                Ok((TimeNs(i64::try_from(element.timestamp).unwrap_or(i64::MAX)), context))
            });
            writer.samples(ThreadId(line), &mut samples)?;
            drop(samples);
            kept += taken;
            lost = lost.saturating_add(trace.count - taken);
        }
        writer.finish()?;
        self.repaired.kept += 1;
        self.corrected(kind, format!("it was written again with {kept} samples"));
        if lost + unreadable > 0 {
            let message = format!("{lost} samples, and {unreadable} traces whole");
            self.lost(kind, message);
        }
        Ok(())
    }

    /// The numbers of contexts that `meta.db` lists, in ascending order.
    fn listed(&self) -> Vec<u32> {
        let walk = rows::TreeWalk::new(Arc::clone(&self.database));
        let mut listed: Vec<_> = walk.map(|(context, ..)| context.ctx_id).collect();
        listed.sort_unstable();
        listed
    }
}

/// Copies what else belongs to a database: how metrics are shown, and copies of sources.
pub(crate) fn copy_rest(
    source: &Source,
    database: &Arc<Database>,
    limits: &Limits,
    to: &Path,
) -> Result<()> {
    let mut names = vec![PathBuf::from("FORMATS.md")];
    if let Some(metrics) = source.child(Path::new("metrics"), limits)? {
        let entries = if metrics.is_directory() { metrics.entries()? } else { Vec::new() };
        names.extend(entries.into_iter().map(|name| Path::new("metrics").join(name)));
    }
    let copied = rows::files(database).filter(|file| file.is_copied);
    let copied = copied.filter_map(|file| Some(PathBuf::from(file.path?)));
    // Nothing else is a copy: a damaged path may be that of a file which was just written.
    names.extend(copied.filter(|path| path.starts_with("src")));
    for name in names {
        // A name that leads out of the directory is none of a copy.
        let Ok(Some(file)) = source.child(&name, limits) else { continue };
        if file.is_directory() {
            continue;
        }
        let to = to.join(&name);
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder).map_err(Error::io("create a directory of the output"))?;
        }
        fs::write(&to, file.bytes()?).map_err(Error::io("create a file of the output"))?;
    }
    Ok(())
}

/// The layout that a file is written again in.
fn form_of(part: &Part) -> Form {
    if part.is_described() { Form::Described } else { Form::Released }
}

fn said(
    severity: Severity,
    rule: &'static str,
    kind: FileKind,
    message: impl Into<String>,
) -> Finding {
    let file = Some(kind.name().to_owned());
    Finding { file, ..Finding::whole(severity, rule, message) }
}
