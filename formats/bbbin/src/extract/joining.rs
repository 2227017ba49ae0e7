//! Log files of several files that are parts of one.

use std::collections::HashMap;

use crate::Reader;
use crate::spec::ArtifactClass;
use crate::types::{ArtifactId, CustomType, DeclaredArtifact, LogFile, LogFileId, TypeId};

/// Description that a log file gives of itself; log files with the same description are parts of
/// one.
type Description<'a> = (&'a str, i64, i64, &'a str);

fn description(of: &LogFile) -> Description<'_> {
    (&of.name, of.size, of.imported_at_ms, &of.importer)
}

/// The log files of the output that others may be joined with, and what they define. Every log file
/// and every definition is looked at once, however many there are.
#[derive(Default)]
pub(super) struct JoinedLogs<'a> {
    /// The log files of the output by what they say of themselves.
    alike: HashMap<Description<'a>, Vec<LogFileId>>,
    types: HashMap<(LogFileId, TypeId), &'a CustomType>,
    artifacts: HashMap<(LogFileId, ArtifactClass, ArtifactId), DeclaredArtifact<'a>>,
    /// Of the input that is joined: what each log file defines, and how many of those that say the
    /// same it has by now.
    own: HashMap<LogFileId, LogDefinitions<'a>>,
    used: HashMap<Description<'a>, usize>,
    /// Log files of the output that are of this input itself.
    added: HashMap<Description<'a>, usize>,
}

/// Definitions of a log file of an input.
#[derive(Default)]
struct LogDefinitions<'a> {
    types: Vec<&'a CustomType>,
    artifacts: Vec<DeclaredArtifact<'a>>,
}

impl<'a> JoinedLogs<'a> {
    /// Goes on with the next input.
    pub(super) fn begin(&mut self, reader: &'a Reader) {
        self.used.clear();
        self.added.clear();
        self.own.clear();
        for of in reader.types() {
            self.own.entry(of.log_file).or_default().types.push(of);
        }
        for of in reader.artifacts() {
            self.own.entry(of.log_file).or_default().artifacts.push(of);
        }
    }

    /// The next log file of earlier inputs that says the same.
    pub(super) fn equal_log(&self, of: &'a LogFile) -> Option<LogFileId> {
        let key = description(of);
        let alike = self.alike.get(&key)?;
        let count = |counts: &HashMap<_, usize>| counts.get(&key).copied().unwrap_or_default();
        let earlier = alike.len() - count(&self.added).min(alike.len());
        alike.get(count(&self.used)).copied().filter(|_| count(&self.used) < earlier)
    }

    /// Returns true if a log file uses no id for something else than one of the output.
    pub(super) fn fits(&self, of: &LogFile, with: LogFileId) -> bool {
        let Some(own) = self.own.get(&of.id) else { return true };
        let is_type = |of: &&CustomType| {
            let known = self.types.get(&(with, of.id));
            known.is_none_or(|it| (&it.name, &it.fields) == (&of.name, &of.fields))
        };
        let described = |of: &DeclaredArtifact<'a>| (of.name, of.kind, of.custom_type, of.custom);
        let is_artifact = |of: &DeclaredArtifact<'a>| {
            let known = self.artifacts.get(&(with, of.kind.class(), of.id));
            known.is_none_or(|it| described(it) == described(of))
        };
        own.types.iter().all(is_type) && own.artifacts.iter().all(is_artifact)
    }

    /// Knows a log file as one of the output, with what it defines.
    pub(super) fn put(&mut self, of: &'a LogFile, id: LogFileId) {
        let key = description(of);
        let alike = self.alike.entry(key).or_default();
        let used = self.used.entry(key).or_default();
        if alike.get(*used) == Some(&id) {
            *used += 1;
        } else {
            alike.push(id);
            *self.added.entry(key).or_default() += 1;
        }
        for of in self.own.get(&of.id).into_iter().flat_map(|own| &own.types) {
            self.types.entry((id, of.id)).or_insert(of);
        }
        for of in self.own.get(&of.id).into_iter().flat_map(|own| &own.artifacts) {
            self.artifacts.entry((id, of.kind.class(), of.id)).or_insert(*of);
        }
    }
}
