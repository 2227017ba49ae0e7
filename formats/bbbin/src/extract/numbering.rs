//! The log files of several files, one after the other, with what they define.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kymo_core::{Finding, Severity, shortened};

use super::joining::JoinedLogs;
use crate::Reader;
use crate::types::{Artifact, CustomType, Definitions, LogFile, LogFileId, cpu_log_name};

/// Numbers that log files of an input have in the output.
#[derive(Default)]
pub(super) struct Numbering {
    numbers: HashMap<(usize, LogFileId), LogFileId>,
    /// The next number that no log file of the output has.
    next: i32,
    /// True if there is one file, whose log files keep the numbers that they have.
    pub is_same: bool,
    /// Log files that were to be joined and could not be.
    pub apart: Vec<Finding>,
}

impl Numbering {
    /// Everything that some files define. Of several, those that are joined are one log file.
    /// What several files have a recording of is named by its file, where files have names that
    /// differ.
    pub(super) fn definitions(
        &mut self,
        readers: &[Arc<Reader>],
        files: Option<&[String]>,
        join: bool,
    ) -> Definitions {
        if let [reader] = readers
            && are_numbered(reader.log_files())
        {
            self.is_same = true;
            return reader.definitions();
        }
        let mut all = Definitions::default();
        let mut names = HashSet::new();
        let mut joining = JoinedLogs::default();
        let shared = shared(readers);
        for (input, reader) in readers.iter().enumerate() {
            let file = files.and_then(|files| files.get(input)).map(String::as_str);
            let own = Names::new(reader.log_files(), file, &shared, &mut names);
            joining.begin(reader);
            for log_file in reader.log_files() {
                let first = if join { self.first(&mut joining, log_file) } else { None };
                let id = first.unwrap_or_else(|| {
                    let next = LogFileId(self.next);
                    self.next = self.next.saturating_add(1);
                    let name = if join { log_file.name.clone() } else { own.name(log_file) };
                    all.log_files.push(LogFile { id: next, name, ..log_file.clone() });
                    next
                });
                if join {
                    joining.put(log_file, id);
                }
                self.numbers.entry((input, log_file.id)).or_insert(id);
            }
        }
        self.define(&mut all, readers);
        all
    }

    /// The log file of an earlier input that one is a further part of.
    fn first<'a>(
        &mut self,
        joining: &mut JoinedLogs<'a>,
        log_file: &'a LogFile,
    ) -> Option<LogFileId> {
        let found = joining.equal_log(log_file)?;
        if joining.fits(log_file, found) {
            return Some(found);
        }
        let name = shortened(&log_file.name);
        let message = format!("{name} is not joined: the files use the same ids otherwise");
        self.apart.push(Finding::for_whole_file(Severity::Warning, "join", message));
        None
    }

    /// Defines types and artifacts. A thing that is there twice in one file stays so; a thing that
    /// another file has too is one.
    fn define(&mut self, all: &mut Definitions, readers: &[Arc<Reader>]) {
        let (mut types, mut artifacts) = (HashMap::new(), HashMap::new());
        for (input, reader) in readers.iter().enumerate() {
            for custom_type in reader.types() {
                let log_file = self.number(input, custom_type.log_file);
                if *types.entry((log_file, custom_type.id)).or_insert(input) == input {
                    all.types.push(CustomType { log_file, ..custom_type.clone() });
                }
            }
            for declared_artifact in reader.artifacts() {
                let log_file = self.number(input, declared_artifact.log_file);
                let key = (log_file, declared_artifact.kind.class(), declared_artifact.id);
                if *artifacts.entry(key).or_insert(input) == input {
                    all.artifacts.push(Artifact { log_file, ..declared_artifact.into() });
                }
            }
        }
    }

    /// The number of a log file in the output. One that is not there gets one that is not there
    /// either.
    pub(super) fn number(&mut self, input: usize, log_file_id: LogFileId) -> LogFileId {
        let next = &mut self.next;
        *self.numbers.entry((input, log_file_id)).or_insert_with(|| {
            let number = LogFileId(*next);
            *next = next.saturating_add(1);
            number
        })
    }
}

/// Returns true if log files are numbered from 0 on, in their order.
fn are_numbered(log_files: &[LogFile]) -> bool {
    (0..).zip(log_files).all(|(number, log_file)| log_file.id == LogFileId(number))
}

/// The names of recordings that more than one file has.
fn shared(readers: &[Arc<Reader>]) -> HashSet<String> {
    let mut files: HashMap<&str, usize> = HashMap::new();
    for reader in readers {
        let names: HashSet<&str> =
            reader.log_files().iter().map(|log_file| log_file.recording().0).collect();
        for name in names {
            *files.entry(name).or_default() += 1;
        }
    }
    let shared = files.into_iter().filter(|(_, count)| *count > 1);
    shared.map(|(name, _)| name.to_owned()).collect()
}

/// What the recordings of a file are called in the output: those of one name get that of their file,
/// and where that does not tell them apart, a number.
struct Names(HashMap<String, String>);

impl Names {
    fn new(
        log_files: &[LogFile],
        file: Option<&str>,
        shared: &HashSet<String>,
        taken: &mut HashSet<String>,
    ) -> Self {
        let mut names: HashMap<String, String> = HashMap::new();
        for log_file in log_files {
            let (name, _) = log_file.recording();
            let own = match file.filter(|_| shared.contains(name)) {
                Some(file) => format!("{name} ({file})"),
                None => name.to_owned(),
            };
            let numbered = (2..).map(|count: u64| format!("{own} ({count})"));
            let mut free = std::iter::once(own.clone()).chain(numbered);
            names
                .entry(name.to_owned())
                .or_insert_with(|| free.find(|name| !taken.contains(name)).unwrap_or_default());
        }
        taken.extend(names.values().cloned());
        Self(names)
    }

    fn name(&self, log_file: &LogFile) -> String {
        let (name, cpu) = log_file.recording();
        let name = self.0.get(name).map_or(name, String::as_str);
        cpu.map_or_else(|| name.to_owned(), |cpu| cpu_log_name(name, &cpu.to_string()))
    }
}
