//! The log files of several files, one after the other, with what they define.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kymo_core::{Finding, Severity, shortened};

use crate::Reader;
use crate::types::{Artifact, CustomType, Definitions, LogFile, LogFileId, of_cpu};

/// Which number a log file of an input has in the output.
#[derive(Default)]
pub(super) struct Numbering {
    numbers: HashMap<(usize, LogFileId), LogFileId>,
    /// Log files that were to be joined and could not be.
    pub apart: Vec<Finding>,
}

impl Numbering {
    /// Everything that some files define. Of several, those that are joined are one log file.
    pub(super) fn definitions(&mut self, readers: &[Arc<Reader>], join: bool) -> Definitions {
        if let [reader] = readers {
            return reader.definitions().clone();
        }
        let mut all = Definitions::default();
        let mut names = HashSet::new();
        for (input, reader) in readers.iter().enumerate() {
            let own = Names::new(reader.definitions(), &mut names);
            for of in &reader.definitions().log_files {
                let first = join.then(|| self.first(&all, of, readers, input)).flatten();
                let id = first.unwrap_or_else(|| {
                    let next = LogFileId(i32::try_from(all.log_files.len()).unwrap_or(i32::MAX));
                    let name = if join { of.name.clone() } else { own.name(of) };
                    all.log_files.push(LogFile { id: next, name, ..of.clone() });
                    next
                });
                self.numbers.entry((input, of.id)).or_insert(id);
            }
        }
        self.define(&mut all, readers);
        all
    }

    fn define(&mut self, all: &mut Definitions, readers: &[Arc<Reader>]) {
        let (mut types, mut artifacts) = (HashSet::new(), HashSet::new());
        for (input, reader) in readers.iter().enumerate() {
            // What is there twice in one file stays so; what another file has too is one.
            let (before_types, before_artifacts) = (types.clone(), artifacts.clone());
            for of in &reader.definitions().types {
                let log_file = self.number(input, of.log_file);
                if !before_types.contains(&(log_file, of.id)) {
                    types.insert((log_file, of.id));
                    all.types.push(CustomType { log_file, ..of.clone() });
                }
            }
            for of in &reader.definitions().artifacts {
                let log_file = self.number(input, of.log_file);
                if !before_artifacts.contains(&(log_file, of.kind.class(), of.id)) {
                    artifacts.insert((log_file, of.kind.class(), of.id));
                    all.artifacts.push(Artifact { log_file, ..of.clone() });
                }
            }
        }
    }

    /// The number of a log file in the output. One that is not there gets one that is not there
    /// either.
    pub(super) fn number(&mut self, input: usize, of: LogFileId) -> LogFileId {
        let next = LogFileId(i32::try_from(self.numbers.len()).unwrap_or(i32::MAX));
        *self.numbers.entry((input, of)).or_insert(next)
    }

    /// The log file of an earlier input that one is a further part of.
    fn first(
        &mut self,
        all: &Definitions,
        of: &LogFile,
        readers: &[Arc<Reader>],
        input: usize,
    ) -> Option<LogFileId> {
        let described = |of: &LogFile| (of.size, of.imported_at_ms, of.importer.clone());
        let is_it = |other: &&LogFile| {
            let is_taken = self.numbers.iter().any(|((i, _), n)| (*i, *n) == (input, other.id));
            other.name == of.name && described(other) == described(of) && !is_taken
        };
        let found = all.log_files.iter().find(is_it)?.id;
        let joined = self.numbers.iter().filter(|(_, number)| **number == found);
        let fits = { joined }.all(|((other, log), _)| {
            let pair = readers.get(*other).zip(readers.get(input));
            pair.is_some_and(|(one, other)| agree((one, *log), (other, of.id)))
        });
        if !fits {
            let name = shortened(&of.name);
            let message = format!("{name} is not joined: the files use the same ids otherwise");
            self.apart.push(Finding::whole(Severity::Warning, "join", message));
        }
        fits.then_some(found)
    }
}

/// Whether two log files use no id for different things.
fn agree((one, log): (&Reader, LogFileId), (other, other_log): (&Reader, LogFileId)) -> bool {
    let types = one.definitions().types.iter().filter(|of| of.log_file == log);
    let are_types_alike = { types }.all(|of| {
        let there = other.custom_type(other_log, of.id);
        there.is_none_or(|it| (&it.name, &it.fields) == (&of.name, &of.fields))
    });
    let artifacts = one.definitions().artifacts.iter().filter(|of| of.log_file == log);
    let described = |of: &Artifact| (of.name.clone(), of.kind, of.custom_type, of.custom.clone());
    are_types_alike && { artifacts }.all(|of| {
        let there = other.artifact(other_log, of.kind.class(), of.id);
        there.is_none_or(|it| described(it) == described(of))
    })
}

/// What the recordings of a file are called in the output: the later ones get a number.
struct Names(HashMap<String, String>);

impl Names {
    fn new(definitions: &Definitions, taken: &mut HashSet<String>) -> Self {
        let mut names: HashMap<String, String> = HashMap::new();
        for of in &definitions.log_files {
            let (name, _) = of.recording();
            let numbered = (2..).map(|count: u64| format!("{name} ({count})"));
            let mut free = std::iter::once(name.to_owned()).chain(numbered);
            names
                .entry(name.to_owned())
                .or_insert_with(|| free.find(|name| !taken.contains(name)).unwrap_or_default());
        }
        taken.extend(names.values().cloned());
        Self(names)
    }

    fn name(&self, of: &LogFile) -> String {
        let (name, cpu) = of.recording();
        let name = self.0.get(name).map_or(name, String::as_str);
        cpu.map_or_else(|| name.to_owned(), |cpu| of_cpu(name, &cpu.to_string()))
    }
}
