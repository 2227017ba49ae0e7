//! Rules across records, as findings. `docs/formats/hpcdb.md` lists them.
//!
//! What hpcprof is known to write is no finding above a note.

mod meta;
mod places;
mod readable;
mod sources;
mod sums;
mod trace;
mod values;

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use kymo_core::{Context, Error, Finding, Findings, Result, Severity, Source};

use crate::read::{Database, Part, Trust};
use crate::spec::FileKind;

/// Everything that is wrong with a database.
pub(crate) fn check(source: &Source, context: &Context<'_>) -> Result<Vec<Finding>> {
    let mut findings = Findings::new(&context.limits);
    let database = match Database::open(source, context, Trust::Salvage) {
        Ok(database) => Arc::new(database),
        Err(Error::Read(error)) => {
            findings.push(Finding::unreadable("unreadable", &error));
            return Ok(findings.into_vec());
        }
        Err(Error::ReadIn { file, error }) => {
            let file = Some(file.display().to_string());
            findings.push(Finding { file, ..Finding::unreadable("unreadable", &error) });
            return Ok(findings.into_vec());
        }
        Err(other) => return Err(other),
    };
    let mut checking = DatabaseCheck { database, findings };
    checking.sections();
    places::check(&mut checking);
    let listed = meta::check(&mut checking);
    values::check(&mut checking, listed.as_ref());
    sums::check(&mut checking);
    trace::check(&mut checking, listed.as_ref());
    sources::check(&mut checking, source, context);
    checking.missing(source);
    // What is wrong with how metrics are shown is noted by the database as well.
    readable::check(&checking);
    let DatabaseCheck { database, findings } = checking;
    let said = findings.into_vec();
    let place = |finding: &Finding| (finding.rule, finding.file.clone(), finding.offset);
    let known: HashSet<_> = said.iter().map(place).collect();
    let noted = database.findings().into_iter().filter(|one| !known.contains(&place(one)));
    let mut findings = Findings::new(&context.limits);
    findings.extend(said.iter().cloned());
    findings.extend(noted);
    Ok(findings.into_vec())
}

/// A check that is under way.
struct DatabaseCheck {
    database: Arc<Database>,
    findings: Findings,
}

/// The numbers of the contexts that `meta.db` lists.
type Listed = BTreeSet<u32>;

impl DatabaseCheck {
    fn error(&mut self, part: &Part, rule: &'static str, offset: u64, message: impl Into<String>) {
        self.findings.push(part.finding(Severity::Error, rule, offset, message));
    }

    fn warning(
        &mut self,
        part: &Part,
        rule: &'static str,
        offset: u64,
        message: impl Into<String>,
    ) {
        self.findings.push(part.finding(Severity::Warning, rule, offset, message));
    }

    /// Says that `cct.db` is not there, which `repair` makes again.
    fn missing(&mut self, source: &Source) {
        let database = &self.database;
        let is_absent = source.is_directory() && database.cct.is_none();
        let is_said = |one: &Finding| one.file.as_deref() == Some(FileKind::Cct.name());
        if is_absent && database.profile.is_some() && !database.findings().iter().any(is_said) {
            let why = "is not there: values by context are in it, which profile.db has, too";
            let finding = Finding::for_whole_file(Severity::Warning, "file-missing", why);
            let file = Some(FileKind::Cct.name().to_owned());
            self.findings.push(Finding { file, ..finding });
        }
    }

    /// Says that something does not begin at a multiple of some bytes.
    fn aligned(&mut self, part: &Part, what: &str, at: u64, pointer: u64, bytes: u64) {
        if !pointer.is_multiple_of(bytes) {
            let message = format!("{what}: {pointer:#x} is no multiple of {bytes}");
            self.warning(part, "alignment", at, message);
        }
    }

    fn note(&mut self, part: &Part, rule: &'static str, offset: u64, message: impl Into<String>) {
        self.findings.push(part.finding(Severity::Note, rule, offset, message));
    }

    /// Sections lie behind the header, and not on top of each other.
    fn sections(&mut self) {
        let database = Arc::clone(&self.database);
        for part in database.parts() {
            let mut sections = part.sections.clone();
            sections.sort_by_key(|section| section.pointer);
            for section in &sections {
                let bytes = if section.name == "Strings" { 1 } else { 8 };
                self.aligned(part, section.name, section.listed, section.pointer, bytes);
                if section.pointer < part.kind.header_bytes() {
                    let message = format!("section {} begins within the header", section.name);
                    self.error(part, "section-overlap", section.listed, message);
                }
            }
            for (one, next) in sections.iter().zip(sections.iter().skip(1)) {
                if one.range().end > next.pointer && next.size > 0 {
                    let message = format!(
                        "section {} ends at {:#x}, within section {}",
                        one.name,
                        one.range().end,
                        next.name
                    );
                    self.error(part, "section-overlap", one.listed, message);
                }
            }
        }
    }
}
