//! Artifacts that events and definitions are about and that nothing declares; they are declared
//! then.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use kymo_core::{Finding, Severity};

use crate::spec::{
    ArtifactClass, FieldType, MADE_TYPE, NO_TYPE, REPAIRER, TaskClass, UNKNOWN_PRIORITY,
};
use crate::types::{
    ArtifactId, ArtifactKind, Body, CustomField, CustomType, Definitions, Event, LogFile,
    LogFileId, TypeId,
};
use crate::{Reader, check};

/// Ids that nothing declares and that are declared then.
const MADE_MAX: usize = 1 << 16;

/// Types that are said to have changed.
const SAID_MAX: usize = 16;

/// Types that values have now, by the type that they said and their length: a type that nothing
/// declares has values of one length, and none is type 0.
#[derive(Debug, Default)]
pub(super) struct RetypedValues(BTreeMap<(LogFileId, TypeId, usize), TypeId>);

impl RetypedValues {
    pub(super) fn type_of(&self, log: LogFileId, type_id: TypeId, custom: &[u8]) -> TypeId {
        if self.0.is_empty() {
            return type_id;
        }
        self.0.get(&(log, type_id, custom.len())).copied().unwrap_or(type_id)
    }

    pub(super) fn findings(&self) -> Vec<Finding> {
        let mut counts: BTreeMap<(LogFileId, TypeId), u64> = BTreeMap::new();
        for (log, type_id, _) in self.0.keys() {
            *counts.entry((*log, *type_id)).or_default() += 1;
        }
        let said = counts.into_iter().take(SAID_MAX).map(|((log, type_id), count)| {
            let (log, value) = (log.0, type_id.0);
            let message = format!(
                "values that say they are of type {value} in log file {log}, which nothing declares, \
                 have {count} other types now, by their length"
            );
            Finding::for_whole_file(Severity::Note, "unknown-type", message)
        });
        said.collect()
    }
}

/// Numbers that no type of a log file has.
#[derive(Debug, Default)]
struct FreeTypes {
    used: HashMap<LogFileId, HashSet<i32>>,
    next: HashMap<LogFileId, i32>,
}

impl FreeTypes {
    fn new<'a>(types: impl Iterator<Item = (&'a LogFileId, &'a TypeId)>) -> Self {
        let mut free = Self::default();
        for (log, type_id) in types {
            free.used.entry(*log).or_default().insert(type_id.0);
        }
        free
    }

    fn take(&mut self, log: LogFileId) -> TypeId {
        let used = self.used.entry(log).or_default();
        let next = self.next.entry(log).or_insert(1);
        // There are fewer types than numbers, so this ends.
        while !used.insert(*next) {
            *next = next.checked_add(1).unwrap_or(1);
        }
        TypeId(*next)
    }
}

/// Artifacts that events and definitions are about and that nothing declares.
#[derive(Debug, Default)]
pub(super) struct CreatedDefinitions {
    log_files: BTreeSet<LogFileId>,
    /// With how many bytes their values have.
    types: BTreeSet<(LogFileId, TypeId, usize)>,
    tasks: BTreeSet<(LogFileId, ArtifactId)>,
    machines: BTreeSet<(LogFileId, ArtifactId)>,
    /// With the state machine that they are of.
    states: BTreeSet<(LogFileId, ArtifactId, ArtifactId)>,
}

impl CreatedDefinitions {
    fn is_full(&self) -> bool {
        let artifacts = self.tasks.len() + self.machines.len() + self.states.len();
        self.log_files.len() + self.types.len() + artifacts >= MADE_MAX
    }

    /// Leaves the first of those that have one id, which is the one that counts, and gives tasks of
    /// no class that there is the first.
    pub(super) fn definitions(&mut self, reader: &Reader, definitions: &mut Definitions) {
        let Definitions { log_files, types, artifacts, .. } = definitions;
        let (mut logs, mut ids, mut known) = (HashSet::new(), HashSet::new(), HashSet::new());
        log_files.retain(|this_log_file| logs.insert(this_log_file.id));
        types.retain(|this_custom_type| {
            ids.insert((this_custom_type.log_file, this_custom_type.id))
        });
        artifacts.retain(|artifact| {
            known.insert((artifact.log_file, artifact.kind.class(), artifact.id))
        });
        for this_custom_type in types.iter() {
            self.log_file(reader, this_custom_type.log_file);
        }
        for artifact in artifacts {
            self.log_file(reader, artifact.log_file);
            self.values(reader, artifact.log_file, artifact.custom_type, &artifact.custom);
            match &mut artifact.kind {
                ArtifactKind::Task { task_class, .. } => {
                    *task_class = task_class.or(Ok(TaskClass::Task));
                }
                ArtifactKind::State { parent } => self.parent(reader, artifact.log_file, *parent),
                ArtifactKind::Generic | ArtifactKind::StateMachine => {}
            }
        }
    }

    /// Declares the parent of states: it is a state machine where nothing states what it is.
    fn parent(&mut self, reader: &Reader, log: LogFileId, parent: ArtifactId) {
        let is_class = |class| reader.artifact(log, class, parent).is_some();
        let is_known = is_class(ArtifactClass::State) || is_class(ArtifactClass::StateMachine);
        if !is_known && !self.is_full() {
            self.machines.insert((log, parent));
        }
    }

    fn log_file(&mut self, reader: &Reader, log: LogFileId) {
        if reader.log_file_place(log).is_none() && !self.is_full() {
            self.log_files.insert(log);
        }
    }

    fn values(&mut self, reader: &Reader, log: LogFileId, type_id: TypeId, custom: &[u8]) {
        let is_none = type_id.0 == NO_TYPE && custom.is_empty();
        if !is_none && reader.custom_type(log, type_id).is_none() && !self.is_full() {
            self.types.insert((log, type_id, custom.len()));
        }
    }

    pub(super) fn event(&mut self, reader: &Reader, event: &Event<'_>) {
        let log = event.log_file;
        self.log_file(reader, log);
        self.values(reader, log, event.custom_type, event.custom);
        if self.is_full() {
            return;
        }
        check::each_id(&event.body, |class, id| {
            let is_known =
                check::is_no_artifact(class, id) || reader.artifact(log, class, id).is_some();
            match (is_known, class, event.body) {
                (false, ArtifactClass::Task, _) => drop(self.tasks.insert((log, id))),
                (false, ArtifactClass::StateMachine, _) => drop(self.machines.insert((log, id))),
                (false, ArtifactClass::State, Body::SrlReceive { message, .. }) => {
                    self.states.insert((log, id, message.receiver));
                    self.parent(reader, log, message.receiver);
                }
                _ => {}
            }
        });
    }

    /// Declares all of it. Tells which values are of another type now.
    pub(super) fn declare(self, definitions: &mut Definitions) -> RetypedValues {
        for id in &self.log_files {
            let (name, importer) = (format!("log file {}", id.0), String::from(REPAIRER));
            let (offset, size, imported_at_ms) = (0, 0, 0);
            let id = *id;
            let log_file = LogFile { offset, id, name, size, imported_at_ms, importer };
            definitions.log_files.push(log_file);
        }
        let retyped = self.declare_types(definitions);
        let mut of_logs = HashMap::new();
        for ((log, id), kind) in self.kinds() {
            let class = kind.class().name().to_lowercase();
            definitions.add_artifact(log, id, &format!("{class} {}", id.0), kind);
            let add = || definitions.add_own_type(log, MADE_TYPE);
            let type_id = *of_logs.entry(log).or_insert_with(add);
            definitions.give_values(type_id, vec![1]);
        }
        retyped
    }

    /// Declares a type for each length of values. The first of them has the number that values say.
    fn declare_types(&self, definitions: &mut Definitions) -> RetypedValues {
        let declared =
            definitions.types.iter().map(|custom_type| (&custom_type.log_file, &custom_type.id));
        let mut free =
            FreeTypes::new(declared.chain(self.types.iter().map(|pair| (&pair.0, &pair.1))));
        let (mut retyped, mut last) = (RetypedValues::default(), None);
        for key @ &(log_file, said, bytes) in &self.types {
            let is_first = last.replace((log_file, said)) != Some((log_file, said));
            let id = if is_first && said.0 != NO_TYPE {
                said
            } else {
                *retyped.0.entry(*key).or_insert_with(|| free.take(log_file))
            };
            let count = i32::try_from(bytes).unwrap_or(i32::MAX);
            let field = CustomField::array("bytes", FieldType::Uint8, count);
            let fields = if bytes > 0 { vec![field] } else { Vec::new() };
            let name = format!("type {}", id.0);
            definitions.types.push(CustomType { offset: 0, id, name, log_file, fields });
        }
        retyped
    }

    fn kinds(self) -> impl Iterator<Item = ((LogFileId, ArtifactId), ArtifactKind)> {
        let (task_class, priority) = (Ok(TaskClass::Task), UNKNOWN_PRIORITY);
        let task = ArtifactKind::Task { task_class, priority };
        let tasks = self.tasks.into_iter().map(move |key| (key, task));
        let machines = self.machines.into_iter().map(|key| (key, ArtifactKind::StateMachine));
        let mut known = BTreeSet::new();
        let states = self.states.into_iter().filter(move |(log, id, _)| known.insert((*log, *id)));
        let states = states.map(|(log, id, parent)| ((log, id), ArtifactKind::State { parent }));
        tasks.chain(machines).chain(states)
    }
}
