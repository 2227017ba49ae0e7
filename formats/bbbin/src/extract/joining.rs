//! Log files of several files that are parts of one.

use std::collections::HashMap;

use crate::Reader;
use crate::spec::ArtifactClass;
use crate::types::{ArtifactId, CustomType, DeclaredArtifact, LogFile, LogFileId, TypeId};

/// Description that a log file gives of itself; log files with the same description are parts of
/// one.
type Description<'a> = (&'a str, i64, i64, &'a str);

fn description(log_file: &LogFile) -> Description<'_> {
    (&log_file.name, log_file.size, log_file.imported_at_ms, &log_file.importer)
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
        for custom_type in reader.types() {
            self.own.entry(custom_type.log_file).or_default().types.push(custom_type);
        }
        for declared_artifact in reader.artifacts() {
            self.own
                .entry(declared_artifact.log_file)
                .or_default()
                .artifacts
                .push(declared_artifact);
        }
    }

    /// The next log file of earlier inputs that says the same.
    pub(super) fn equal_log(&self, log_file: &'a LogFile) -> Option<LogFileId> {
        let key = description(log_file);
        let alike = self.alike.get(&key)?;
        let count = |counts: &HashMap<_, usize>| counts.get(&key).copied().unwrap_or_default();
        let earlier = alike.len() - count(&self.added).min(alike.len());
        alike.get(count(&self.used)).copied().filter(|_| count(&self.used) < earlier)
    }

    /// Returns true if a log file uses no id for something else than one of the output.
    pub(super) fn fits(&self, log_file: &LogFile, with: LogFileId) -> bool {
        let Some(own) = self.own.get(&log_file.id) else { return true };
        let is_type = |item: &&CustomType| {
            let known = self.types.get(&(with, item.id));
            known.is_none_or(|it| (&it.name, &it.fields) == (&item.name, &item.fields))
        };
        let described = |declared_artifact: &DeclaredArtifact<'a>| {
            (
                declared_artifact.name,
                declared_artifact.kind,
                declared_artifact.custom_type,
                declared_artifact.custom,
            )
        };
        let is_artifact = |declared_artifact: &DeclaredArtifact<'a>| {
            let known =
                self.artifacts.get(&(with, declared_artifact.kind.class(), declared_artifact.id));
            known.is_none_or(|it| described(it) == described(declared_artifact))
        };
        own.types.iter().all(is_type) && own.artifacts.iter().all(is_artifact)
    }

    /// Knows a log file as one of the output, with what it defines.
    pub(super) fn put(&mut self, log_file: &'a LogFile, id: LogFileId) {
        let key = description(log_file);
        let alike = self.alike.entry(key).or_default();
        let used = self.used.entry(key).or_default();
        if alike.get(*used) == Some(&id) {
            *used += 1;
        } else {
            alike.push(id);
            *self.added.entry(key).or_default() += 1;
        }
        for item in self.own.get(&log_file.id).into_iter().flat_map(|own| &own.types) {
            self.types.entry((id, item.id)).or_insert(item);
        }
        for declared_artifact in
            self.own.get(&log_file.id).into_iter().flat_map(|own| &own.artifacts)
        {
            self.artifacts
                .entry((id, declared_artifact.kind.class(), declared_artifact.id))
                .or_insert(*declared_artifact);
        }
    }
}
