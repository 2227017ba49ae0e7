//! Bytes to types. Opening reads headers and the table of metrics; all else is read in place.

mod budget;
mod cct;
mod context;
mod meta;
mod metrics;
mod once;
mod part;
mod profile;
mod trace;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kymo_core::bytes::{Limits, ReadError, ReadResult};
use kymo_core::{Context, Error, Finding, Findings, Result, Source};

use crate::spec::FileKind;
use crate::types::{Id, Layout};

pub(crate) use budget::Budget;
pub(crate) use cct::CctDb;
pub(crate) use context::NO_ACTIVITY;
pub(crate) use meta::{CONTEXT, FILES, FUNCTIONS, GENERAL, ID_NAMES, METRICS, MODULES, STRINGS};
pub(crate) use meta::{Meta, Roots};
pub(crate) use part::{Part, TEXT_MAX, kind_of};
pub(crate) use profile::{ProfileDb, first, index_offset, value_offset};
pub(crate) use trace::{GOES_BACK, TraceDb};

/// Path of the file that describes how metrics are shown.
const TAXONOMY: &str = "metrics/default.yaml";

/// A database, or one file of it.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) meta: Option<Meta>,
    pub(crate) profile: Option<ProfileDb>,
    pub(crate) cct: Option<CctDb>,
    pub(crate) trace: Option<TraceDb>,
    /// Description of how metrics are shown.
    pub(crate) taxonomy: Option<Source>,
    /// Way in which it was opened.
    trust: Trust,
    noted: Mutex<ReadFindings>,
}

/// Findings while reading, each once.
#[derive(Debug)]
struct ReadFindings {
    findings: Findings,
    seen: BTreeSet<(FileKind, u64, &'static str)>,
}

/// Way in which a database is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Files that are needed must be whole.
    Strict,
    /// Salvage: whatever can be read is read.
    Salvage,
}

impl Database {
    /// Opens a directory, or one of the files.
    pub(crate) fn open(source: &Source, context: &Context<'_>, trust: Trust) -> Result<Self> {
        let limits = &context.limits;
        let findings = Findings::new(limits);
        let noted = Mutex::new(ReadFindings { findings, seen: BTreeSet::new() });
        let mut database = Self {
            meta: None,
            profile: None,
            cct: None,
            trace: None,
            taxonomy: None,
            trust,
            noted,
        };
        if source.is_directory() {
            database.open_directory(source, limits)?;
        } else {
            database.open_file(source, limits)?;
        }
        Ok(database)
    }

    /// Opens one of the files by itself.
    fn open_file(&mut self, source: &Source, limits: &Limits) -> Result<()> {
        let opened = if let Some(kind) = kind_of(&source.bytes()?) {
            self.add(source, kind, limits)
        } else {
            let why = "is not that of a file of an HPCToolkit database";
            Err(ReadError::invalid("magic", 0, why).into())
        };
        match opened {
            Err(Error::Read(error)) if self.is_salvaged() => {
                self.note(Finding::unreadable("unreadable", &error));
                Ok(())
            }
            opened => opened,
        }
    }

    /// Opens each file that is there.
    fn open_directory(&mut self, source: &Source, limits: &Limits) -> Result<()> {
        let (mut is_any, mut missing) = (false, Vec::new());
        for kind in FileKind::ALL {
            let is_needed = matches!(kind, FileKind::Meta | FileKind::Profile);
            let opened = source.child(Path::new(kind.name()), limits).and_then(|file| {
                let Some(file) = file else { return Ok(false) };
                is_any = true;
                self.add(&file, kind, limits).map(|()| true)
            });
            match opened {
                Ok(is_there) => missing.extend((is_needed && !is_there).then_some(kind)),
                Err(error) if is_needed && !self.is_salvaged() => return Err(error),
                Err(error) => self.note(lost(kind, &error)),
            }
        }
        if !is_any {
            let why = "there is no meta.db, profile.db, cct.db or trace.db in it";
            return Err(Error::request(why));
        }
        for kind in missing {
            self.note(absent(kind));
        }
        self.keep_one_byte_order()?;
        match source.child(Path::new(TAXONOMY), limits) {
            Ok(taxonomy) => self.taxonomy = taxonomy,
            Err(error) => self.note_no_taxonomy(&error.to_string()),
        }
        Ok(())
    }

    fn add(&mut self, file: &Source, kind: FileKind, limits: &Limits) -> Result<()> {
        let trust = self.trust;
        let whole = |part: &Part| match (trust, part.require_footer()) {
            (_, Ok(())) => Ok(None),
            (Trust::Strict, Err(error)) => part.with_file(Err(error)),
            (Trust::Salvage, Err(error)) => Ok(Some(part.unreadable(&error))),
        };
        let cut = match kind {
            FileKind::Meta => whole(&self.meta.insert(Meta::open(file, limits)?).part),
            FileKind::Profile => whole(&self.profile.insert(ProfileDb::open(file, limits)?).part),
            FileKind::Cct => whole(&self.cct.insert(CctDb::open(file, limits)?).part),
            FileKind::Trace => whole(&self.trace.insert(TraceDb::open(file, limits)?).part),
        };
        match cut {
            Ok(finding) => finding.into_iter().for_each(|finding| self.note(finding)),
            Err(error) => {
                self.remove(kind);
                return Err(error);
            }
        }
        Ok(())
    }

    fn remove(&mut self, kind: FileKind) {
        match kind {
            FileKind::Meta => self.meta = None,
            FileKind::Profile => self.profile = None,
            FileKind::Cct => self.cct = None,
            FileKind::Trace => self.trace = None,
        }
    }

    /// Files of two byte orders were never written together: what has another than the first is left
    /// out where it can be.
    fn keep_one_byte_order(&mut self) -> Result<()> {
        let mut others = Vec::new();
        {
            let mut parts = self.parts();
            let Some(first) = parts.next() else { return Ok(()) };
            for part in parts.filter(|part| part.endian != first.endian) {
                let (a, b) = (first.kind.name(), part.kind.name());
                let why = format!("{a} is {}, {b} is not", first.endian.name());
                let error = ReadError::invalid("byte order", 0x18, why);
                if self.trust == Trust::Strict && part.kind == FileKind::Profile {
                    return part.with_file(Err(error));
                }
                others.push((part.kind, error));
            }
        }
        for (kind, error) in others {
            self.remove(kind);
            self.note(lost(kind, &error.into()));
        }
        Ok(())
    }

    /// Returns true if what cannot be read is passed over.
    pub(crate) fn is_salvaged(&self) -> bool {
        self.trust == Trust::Salvage
    }

    /// The files that are there.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &Part> {
        let meta = self.meta.iter().map(|file| &file.part);
        let profile = self.profile.iter().map(|file| &file.part);
        let cct = self.cct.iter().map(|file| &file.part);
        let trace = self.trace.iter().map(|file| &file.part);
        meta.chain(profile).chain(cct).chain(trace)
    }

    /// Returns its layout, as far as its files show it.
    pub(crate) fn layout(&self) -> Layout {
        if self.parts().any(Part::is_described) {
            Layout::Described
        } else if self.meta.as_ref().is_some_and(|meta| meta.is_draft) {
            Layout::April2022
        } else if self.profile.as_ref().is_some_and(|file| !file.has_flags()) {
            Layout::May2022
        } else {
            Layout::Released
        }
    }

    /// The name of a kind of identifier.
    pub(crate) fn id_name(&self, id: &Id) -> String {
        let names = self.meta.as_ref().map(|meta| &meta.id_names);
        let name = names.and_then(|names| names.get(usize::from(id.kind)));
        name.cloned().unwrap_or_else(|| format!("KIND{}", id.kind))
    }

    /// Returns the findings so far.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        self.lock_findings().findings.clone().into_vec()
    }

    /// Says what is wrong with how metrics are shown, once for each line.
    pub(crate) fn note_taxonomy(&self, line: u64, message: String) {
        let mut noted = self.lock_findings();
        if noted.seen.insert((FileKind::Meta, line, "taxonomy")) {
            let severity = kymo_core::Severity::Warning;
            let finding = Finding::for_whole_file(severity, "taxonomy", message);
            noted.findings.push(Finding { file: Some(TAXONOMY.to_owned()), ..finding });
        }
    }

    /// Says that metrics are shown as they are, and why.
    pub(crate) fn note_no_taxonomy(&self, why: &str) {
        self.note_taxonomy(0, format!("{why}: derived metrics are not shown"));
    }

    /// Says that values contradict each other, once for each place.
    pub(crate) fn note_sum(&self, part: &Part, rule: &'static str, at: u64, message: String) {
        let mut noted = self.lock_findings();
        if noted.seen.insert((part.kind, at, rule)) {
            let finding = part.finding(kymo_core::Severity::Warning, rule, at, message);
            noted.findings.push(finding);
        }
    }

    fn note(&self, finding: Finding) {
        self.lock_findings().findings.push(finding);
    }

    fn lock_findings(&self) -> MutexGuard<'_, ReadFindings> {
        // What is listed stays right whoever panicked meanwhile.
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if there is still room in a file for so many records of some bytes each; where
    /// there is none, that is a finding.
    pub(crate) fn has_room(
        &self,
        part: &Part,
        budget: &mut Budget,
        at: u64,
        (count, bytes): (u64, u64),
    ) -> bool {
        self.ok_or_note(part, budget.spend_each("values", at, count, bytes)).is_some()
    }

    /// Returns what was read, or `None` and notes a finding; each place is found once.
    pub(crate) fn ok_or_note<T>(&self, part: &Part, result: ReadResult<T>) -> Option<T> {
        let error = match result {
            Ok(read) => return Some(read),
            Err(error) => error,
        };
        let mut noted = self.lock_findings();
        // So that places to remember are as few as findings to keep.
        let is_new =
            !noted.findings.has_room() || noted.seen.insert((part.kind, error.offset, error.what));
        if is_new {
            noted.findings.push(part.unreadable(&error));
        }
        None
    }
}

/// A file that every database has.
fn absent(kind: FileKind) -> Finding {
    let what = match kind {
        FileKind::Meta => "names, metrics and calling contexts are in it",
        _ => "values and what names threads are in it",
    };
    let message = format!("is not there: {what}");
    let finding = Finding::for_whole_file(kymo_core::Severity::Error, "file-missing", message);
    Finding { file: Some(kind.name().to_owned()), ..finding }
}

/// A file of the database that could not be opened.
fn lost(kind: FileKind, error: &Error) -> Finding {
    let (offset, message) = match error {
        Error::Read(error) | Error::ReadIn { error, .. } => {
            (Some(error.offset), format!("{}: {}", error.what, error.kind))
        }
        other => (None, other.to_string()),
    };
    // A footer that is missing is found where it should be, whatever else is read of the file.
    let is_cut = matches!(error, Error::Read(error) | Error::ReadIn { error, .. }
        if error.what == "footer");
    let rule = if is_cut { "unreadable" } else { "file-unreadable" };
    let finding = Finding::for_whole_file(kymo_core::Severity::Error, rule, message);
    Finding { offset, file: Some(kind.name().to_owned()), ..finding }
}
