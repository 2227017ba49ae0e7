//! LOG FILES, CUSTOM TYPES and ARTIFACTS to bytes.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use kymo_core::bytes::Sink;
use kymo_core::{Error, Result};

use crate::spec::{ArtifactClass, FieldType, NO_TYPE, OwnType, TaskClass};
use crate::types::{
    Artifact, ArtifactId, ArtifactKind, CustomField, CustomType, Definitions, Event, LogFile,
    LogFileId, Text, TypeId, TypeIds, to_latin1,
};

/// A length as the file holds it.
pub(crate) fn length(value: usize) -> Result<i32> {
    i32::try_from(value)
        .map_err(|_| Error::request(format!("{value} bytes are more than BBBin has a length for")))
}

/// The number of items of a section.
pub(crate) fn count(sink: &mut Sink, value: usize) {
    sink.u64(value as u64);
}

/// A string, byte by byte.
pub(crate) fn text(sink: &mut Sink, text: Text<'_>) -> Result<()> {
    sink.i32(length(text.0.len())?);
    sink.bytes(text.0);
    Ok(())
}

/// A string in Latin-1; how many characters could not be written is added to `lost`.
fn name(sink: &mut Sink, name: &str, lost: &mut u64) -> Result<()> {
    let (bytes, lost_here) = to_latin1(name);
    *lost += lost_here;
    text(sink, Text(&bytes))
}

pub(crate) fn log_file(sink: &mut Sink, this_log_file: &LogFile, lost: &mut u64) -> Result<()> {
    sink.i32(this_log_file.id.0);
    name(sink, &this_log_file.name, lost)?;
    sink.i64(this_log_file.size);
    sink.i64(this_log_file.imported_at_ms);
    name(sink, &this_log_file.importer, lost)
}

pub(crate) fn custom_type(
    sink: &mut Sink,
    this_custom_type: &CustomType,
    lost: &mut u64,
) -> Result<()> {
    let mut fields = Sink::new(sink.endian());
    for field in &this_custom_type.fields {
        custom_field(&mut fields, field, lost)?;
    }
    sink.i32(this_custom_type.id.0);
    name(sink, &this_custom_type.name, lost)?;
    sink.i32(this_custom_type.log_file.0);
    text(sink, Text(fields.as_slice()))
}

fn custom_field(sink: &mut Sink, this_custom_field: &CustomField, lost: &mut u64) -> Result<()> {
    name(sink, &this_custom_field.name, lost)?;
    sink.i32(this_custom_field.field_type.map_or_else(|number| number, FieldType::number));
    sink.i32(this_custom_field.element_count);
    Ok(())
}

pub(crate) fn artifact(sink: &mut Sink, this_artifact: &Artifact, lost: &mut u64) -> Result<()> {
    sink.i32(this_artifact.kind.class().number());
    sink.i32(this_artifact.id.0);
    name(sink, &this_artifact.name, lost)?;
    sink.i32(this_artifact.log_file.0);
    match this_artifact.kind {
        ArtifactKind::Generic | ArtifactKind::StateMachine => {}
        ArtifactKind::Task { task_class, priority } => {
            sink.i32(task_class.map_or_else(|number| number, TaskClass::number));
            sink.i32(priority);
        }
        ArtifactKind::State { parent } => sink.i32(parent.0),
    }
    sink.i32(this_artifact.custom_type.0);
    text(sink, Text(&this_artifact.custom))
}

impl Definitions {
    /// Adds a log file, and gives its number.
    pub fn add_log_file(&mut self, name: &str, importer: &str) -> LogFileId {
        let id = LogFileId(i32::try_from(self.log_files.len()).unwrap_or(i32::MAX));
        self.log_files.push(LogFile {
            offset: 0,
            id,
            name: name.to_owned(),
            size: 0,
            imported_at_ms: 0,
            importer: importer.to_owned(),
        });
        id
    }

    /// Adds a type to a log file, and gives its id: the next one from 1 on, since 0 is no type.
    pub fn add_type(
        &mut self,
        log_file: LogFileId,
        name: &str,
        fields: Vec<CustomField>,
    ) -> TypeId {
        let id = self.type_ids.next(log_file, &self.types);
        self.types.push(CustomType { offset: 0, id, name: name.to_owned(), log_file, fields });
        id
    }

    /// Adds a type of ours to a log file.
    pub(crate) fn add_own_type(&mut self, log_file: LogFileId, own: OwnType) -> TypeId {
        let fields = own.fields.iter().map(|name| CustomField::scalar(*name, own.of));
        self.add_type(log_file, own.name, fields.collect())
    }

    /// The type without fields of a log file, for what has no values; adds it where there is none.
    ///
    /// Existing readers fail on "no type".
    pub fn empty_type(&mut self, log_file: LogFileId) -> TypeId {
        let known = self.type_ids.empty(log_file, &self.types);
        known.unwrap_or_else(|| self.add_type(log_file, "", Vec::new()))
    }

    /// Adds an artifact without values to a log file.
    pub fn add_artifact(
        &mut self,
        log_file: LogFileId,
        id: ArtifactId,
        name: &str,
        kind: ArtifactKind,
    ) {
        let custom_type = self.empty_type(log_file);
        let (name, custom) = (name.to_owned(), Vec::new());
        self.artifacts.push(Artifact { offset: 0, id, name, log_file, kind, custom_type, custom });
    }

    /// Gives the artifact that was added last values of a type of its log file.
    pub(crate) fn give_values(&mut self, custom_type: TypeId, custom: Vec<u8>) {
        if let Some(last) = self.artifacts.last_mut() {
            (last.custom_type, last.custom) = (custom_type, custom);
        }
    }

    /// Makes them what existing readers need: what has no values has a type without fields, no type
    /// has the id 0, and states come after what they are part of. `has_untyped` tells whether events
    /// of a log file may be of no type.
    pub(crate) fn satisfy_readers(&mut self, has_untyped: impl Fn(LogFileId) -> bool) -> RealTypes {
        let renumbered = self.renumber_no_type();
        let is_untyped = |item: &&Artifact| item.custom_type.0 == NO_TYPE && item.custom.is_empty();
        let untyped = self.artifacts.iter().filter(is_untyped).map(|artifact| artifact.log_file);
        let untyped: HashSet<_> = untyped.collect();
        let logs: Vec<_> = self.log_files.iter().map(|this_log_file| this_log_file.id).collect();
        let is_needed = |log: &LogFileId| untyped.contains(log) || has_untyped(*log);
        let logs = logs.into_iter().filter(is_needed);
        let mut empty: HashMap<_, _, _> = logs.map(|log| (log, self.empty_type(log))).collect();
        // What a type without fields that has the id 0 is called, events without values are.
        let bare = self.types.iter().filter(|item| item.fields.is_empty());
        let is_it = |item: &&CustomType| renumbered.get(&item.log_file) == Some(&item.id);
        empty.extend(
            bare.filter(is_it)
                .map(|this_custom_type| (this_custom_type.log_file, this_custom_type.id)),
        );
        let real = RealTypes { empty, renumbered };
        for artifact in &mut self.artifacts {
            artifact.custom_type =
                real.type_id(artifact.log_file, artifact.custom_type, &artifact.custom);
        }
        self.put_parents_first();
        real
    }

    /// Gives types that have the id of "no type" another.
    fn renumber_no_type(&mut self) -> HashMap<LogFileId, TypeId, RandomState> {
        let is_none = |item: &&CustomType| item.id.0 == NO_TYPE;
        let logs: HashSet<_> =
            self.types.iter().filter(is_none).map(|custom_type| custom_type.log_file).collect();
        let next = logs.into_iter().map(|log| (log, self.type_ids.next(log, &self.types)));
        let renumbered: HashMap<_, _, _> = next.collect();
        for custom_type in self.types.iter_mut().filter(|item| item.id.0 == NO_TYPE) {
            custom_type.id =
                renumbered.get(&custom_type.log_file).copied().unwrap_or(custom_type.id);
        }
        self.type_ids = TypeIds::default();
        renumbered
    }

    /// Numbers log files from 0 on, in their order, as existing readers count them.
    pub(crate) fn number_log_files(&mut self) -> LogNumbers {
        let mut numbers = LogNumbers::default();
        for this_log_file in &mut self.log_files {
            this_log_file.id = numbers.number(this_log_file.id);
        }
        for custom_type in &mut self.types {
            custom_type.log_file = numbers.number(custom_type.log_file);
        }
        for artifact in &mut self.artifacts {
            artifact.log_file = numbers.number(artifact.log_file);
        }
        numbers
    }

    /// Puts states after what they are part of, unless they are; nothing else moves.
    ///
    /// States whose parents are not there, or that are part of themselves, come last.
    pub fn put_parents_first(&mut self) {
        let mut parents = Parents::default();
        if self
            .artifacts
            .iter()
            .all(|artifact| parents.take(artifact.log_file, artifact.id, artifact.kind))
        {
            return;
        }
        let mut children: HashMap<(LogFileId, ArtifactId), Vec<Artifact>> = HashMap::new();
        let (mut ordered, mut order) = (Vec::new(), Vec::new());
        for artifact in std::mem::take(&mut self.artifacts) {
            if let ArtifactKind::State { parent } = artifact.kind {
                let key = (artifact.log_file, parent);
                order.push(key);
                children.entry(key).or_default().push(artifact);
            } else {
                ordered.push(artifact);
            }
        }
        let mut next = 0;
        while let Some(artifact) = ordered.get(next) {
            let is_one = artifact.kind != ArtifactKind::Generic
                && !matches!(artifact.kind, ArtifactKind::Task { .. });
            let below = is_one.then(|| children.remove(&(artifact.log_file, artifact.id)));
            ordered.extend(below.flatten().into_iter().flatten());
            next += 1;
        }
        ordered.extend(order.iter().filter_map(|key| children.remove(key)).flatten());
        self.artifacts = ordered;
    }
}

/// The numbers that log files have now.
#[derive(Debug, Clone, Default)]
pub(crate) struct LogNumbers {
    numbers: HashMap<LogFileId, LogFileId, RandomState>,
    next: i32,
}

impl LogNumbers {
    /// Returns true if a log file has another number than before.
    pub(crate) fn have_changed(&self) -> bool {
        self.numbers.iter().any(|(before, now)| before != now)
    }

    /// The number of a log file; one that is not there gets one that is not there either.
    pub(crate) fn number(&mut self, log: LogFileId) -> LogFileId {
        let next = &mut self.next;
        *self.numbers.entry(log).or_insert_with(|| {
            let number = LogFileId(*next);
            *next = next.saturating_add(1);
            number
        })
    }
}

/// The types that events of type 0 get, which existing readers fail on.
#[derive(Debug, Clone)]
pub(crate) struct RealTypes {
    /// Those of what has no values.
    empty: HashMap<LogFileId, TypeId, RandomState>,
    /// Those that a file had under the id 0.
    renumbered: HashMap<LogFileId, TypeId, RandomState>,
}

impl RealTypes {
    fn type_id(&self, log: LogFileId, custom_type: TypeId, custom: &[u8]) -> TypeId {
        if custom_type.0 != NO_TYPE {
            return custom_type;
        }
        let types = if custom.is_empty() { &self.empty } else { &self.renumbered };
        types.get(&log).copied().unwrap_or(custom_type)
    }

    /// An event with a type that existing readers know.
    pub(crate) fn given<'a>(&self, event: Event<'a>) -> Event<'a> {
        let custom_type = self.type_id(event.log_file, event.custom_type, event.custom);
        Event { custom_type, ..event }
    }
}

/// Artifacts that states may be part of, as artifacts come: existing readers look no further than
/// what came before a state.
#[derive(Debug, Default)]
pub(crate) struct Parents(HashSet<(LogFileId, ArtifactId)>);

impl Parents {
    /// Takes the next artifact; tells whether what it is part of came before it.
    pub(crate) fn take(&mut self, log: LogFileId, id: ArtifactId, kind: ArtifactKind) -> bool {
        let is_right = match kind {
            ArtifactKind::State { parent } => self.0.contains(&(log, parent)),
            _ => true,
        };
        if matches!(kind.class(), ArtifactClass::State | ArtifactClass::StateMachine) {
            self.0.insert((log, id));
        }
        is_right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_come_after_what_they_are_part_of() {
        let mut definitions = Definitions::default();
        let log = definitions.add_log_file("", "");
        let state = |parent| ArtifactKind::State { parent: ArtifactId(parent) };
        let machine = ArtifactKind::StateMachine;
        for (id, kind) in [(4, state(3)), (3, state(1)), (9, state(9)), (1, machine)] {
            definitions.add_artifact(log, ArtifactId(id), "", kind);
        }
        definitions.put_parents_first();
        let ids: Vec<_> = definitions.artifacts.iter().map(|artifact| artifact.id.0).collect();
        assert_eq!(ids, [1, 3, 4, 9]);
    }

    #[test]
    fn what_has_no_values_has_a_type_without_fields() {
        let mut definitions = Definitions::default();
        let (a, b) = (definitions.add_log_file("", ""), definitions.add_log_file("", ""));
        definitions.add_type(a, "T", vec![CustomField::scalar("x", FieldType::Int8)]);
        assert_eq!(definitions.empty_type(a), TypeId(2));
        assert_eq!(definitions.empty_type(a), TypeId(2));
        assert_eq!(definitions.empty_type(b), TypeId(1));
    }

    #[test]
    fn a_type_of_the_id_0_gets_another_and_its_values_with_it() {
        let mut definitions = Definitions::default();
        let (a, b) = (definitions.add_log_file("", ""), definitions.add_log_file("", ""));
        let field = || vec![CustomField::scalar("x", FieldType::Int8)];
        for (log_file, id, name, fields) in
            [(a, 0, "T", field()), (a, 1, "U", field()), (b, 0, "tick", Vec::new())]
        {
            let (id, name) = (TypeId(id), name.to_owned());
            definitions.types.push(CustomType { offset: 0, id, name, log_file, fields });
        }
        let real = definitions.satisfy_readers(|_| true);
        // Of a.log, 2 is the next that is free, and 3 that of what has no values.
        assert_eq!(
            (real.type_id(a, TypeId(0), &[7]), real.type_id(a, TypeId(0), &[])),
            (TypeId(2), TypeId(3))
        );
        assert_eq!(real.type_id(a, TypeId(1), &[7]), TypeId(1));
        // An event of b.log is still called tick.
        assert_eq!(real.type_id(b, TypeId(0), &[]), TypeId(1));
        assert!(definitions.types.iter().all(|custom_type| custom_type.id.0 != NO_TYPE));
    }

    #[test]
    fn log_files_are_numbered_from_0_and_what_is_of_none_stays_so() {
        let mut definitions = Definitions::default();
        definitions.add_log_file("", "");
        definitions.add_log_file("", "");
        definitions.log_files[0].id = LogFileId(5);
        definitions.log_files[1].id = LogFileId(0);
        let mut numbers = definitions.number_log_files();
        assert_eq!([5, 0, 1].map(|id| numbers.number(LogFileId(id)).0), [0, 1, 2]);
        let ids: Vec<_> = definitions.log_files.iter().map(|log_file| log_file.id.0).collect();
        assert_eq!(ids, [0, 1]);
    }

    #[test]
    fn a_type_gets_an_id_that_is_free_also_where_the_largest_is_taken() {
        let mut definitions = Definitions::default();
        let log = definitions.add_log_file("", "");
        for id in [2, i32::MAX, -5] {
            let (name, fields) = (String::new(), vec![CustomField::scalar("x", FieldType::Int8)]);
            let id = TypeId(id);
            definitions.types.push(CustomType { offset: 0, id, name, log_file: log, fields });
        }
        assert_eq!(definitions.empty_type(log), TypeId(1));
        assert_eq!(definitions.add_type(log, "", Vec::new()), TypeId(3));
        assert_eq!(definitions.empty_type(log), TypeId(1));
    }

    #[test]
    fn characters_that_latin_1_lacks_are_counted() {
        assert_eq!(to_latin1("é€b"), (vec![0xE9, b'?', b'b'], 1));
    }
}
