//! What can be read, written as a sound file: index, task executions and statistics anew.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{Seek, Write};

use kymo_core::{Context, Destination, Error, Finding, Repaired, Result, Severity, Source};

use crate::read::ORDER;
use crate::spec::{ArtifactClass, FieldType, NO_TYPE, TaskClass, UNKNOWN_PRIORITY};
use crate::types::{
    ArtifactId, ArtifactKind, Body, CustomField, CustomType, Definitions, Event, Found, LogFile,
    LogFileId, TypeId,
};
use crate::{Reader, Writer, check};

/// Ids that nothing declares and that are declared then.
const MADE_MAX: usize = 1 << 16;

/// Repairs a file. What the result still has is left as it is; that it is checked tells.
pub(crate) fn repair(source: &Source, to: &Destination, context: &Context<'_>) -> Result<Repaired> {
    let reader = Reader::salvage(source, context)?;
    if reader.sections().is_empty() {
        let why = "nothing of it can be read: it has no header of a BBBin file";
        return Err(Error::request(why));
    }
    let found = check::check(&reader, context);
    let mut file = to.file()?;
    let kept = mend(&reader, &mut file)?;
    file.commit()?;
    let result = Reader::salvage(&Source::open(to.path(), &context.limits)?, context)?;
    let left = check::check(&result, context).into_iter();
    let left: HashSet<_> = left.map(|finding| (finding.rule, finding.message)).collect();
    let is_loss = |finding: &Finding| finding.severity == Severity::Error;
    let (losses, mut corrected): (Vec<_>, Vec<_>) = found.into_iter().partition(is_loss);
    for finding in &mut corrected {
        if left.contains(&(finding.rule, finding.message.clone())) {
            let how = if finding.rule == ORDER { " (`kymo merge --sort` sorts)" } else { "" };
            finding.message = format!("{}; left as it is{how}", finding.message);
        }
    }
    Ok(Repaired { kept, unit: "events", corrected, losses })
}

/// Writes everything that a reader has, as existing readers need it; tells how many events.
fn mend(reader: &Reader, out: impl Write + Seek) -> Result<u64> {
    let mut definitions = reader.definitions().clone();
    let mut made = Made::default();
    made.definitions(reader, &mut definitions);
    let mut untyped = HashSet::new();
    for Found { event, .. } in reader.events() {
        made.event(reader, &event);
        if event.custom_type.0 == NO_TYPE && event.custom.is_empty() {
            untyped.insert(event.log_file);
        }
    }
    made.declare(&mut definitions);
    let empty_types = definitions.satisfy_readers(|log| untyped.contains(&log));
    let mut writer = Writer::new(out, &definitions.log_files, &definitions.types)?;
    for found in reader.events() {
        writer.write(&empty_types.given(found.event))?;
    }
    let events = writer.num_events();
    writer.finish(&definitions.artifacts)?;
    Ok(events)
}

/// What events and definitions are about that nothing declares.
#[derive(Debug, Default)]
struct Made {
    log_files: BTreeSet<LogFileId>,
    /// With the bytes of the first values.
    types: BTreeMap<(LogFileId, TypeId), usize>,
    tasks: BTreeSet<(LogFileId, ArtifactId)>,
    machines: BTreeSet<(LogFileId, ArtifactId)>,
    /// With the state machine that they are of.
    states: BTreeSet<(LogFileId, ArtifactId, ArtifactId)>,
}

impl Made {
    fn is_full(&self) -> bool {
        let artifacts = self.tasks.len() + self.machines.len() + self.states.len();
        self.log_files.len() + self.types.len() + artifacts >= MADE_MAX
    }

    /// Leaves the first of those that have one id, which is the one that counts, and gives tasks of
    /// no class that there is the first.
    fn definitions(&mut self, reader: &Reader, definitions: &mut Definitions) {
        let Definitions { log_files, types, artifacts, .. } = definitions;
        let (mut logs, mut ids, mut known) = (HashSet::new(), HashSet::new(), HashSet::new());
        log_files.retain(|of| logs.insert(of.id));
        types.retain(|of| ids.insert((of.log_file, of.id)));
        artifacts.retain(|of| known.insert((of.log_file, of.kind.class(), of.id)));
        for of in types.iter() {
            self.log_file(reader, of.log_file);
        }
        for of in artifacts {
            self.log_file(reader, of.log_file);
            self.values(reader, of.log_file, of.custom_type, &of.custom);
            match &mut of.kind {
                ArtifactKind::Task { task_class, .. } => {
                    *task_class = task_class.or(Ok(TaskClass::Task));
                }
                ArtifactKind::State { parent } => self.parent(reader, of.log_file, *parent),
                ArtifactKind::Generic | ArtifactKind::StateMachine => {}
            }
        }
    }

    /// What states are part of is a state machine where nothing says what it is.
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

    fn values(&mut self, reader: &Reader, log: LogFileId, of: TypeId, custom: &[u8]) {
        let is_none = of.0 == NO_TYPE && custom.is_empty();
        if !is_none && reader.custom_type(log, of).is_none() && !self.is_full() {
            self.types.entry((log, of)).or_insert(custom.len());
        }
    }

    fn event(&mut self, reader: &Reader, event: &Event<'_>) {
        let log = event.log_file;
        self.log_file(reader, log);
        self.values(reader, log, event.custom_type, event.custom);
        if self.is_full() {
            return;
        }
        check::each_id(&event.body, |class, id| {
            let is_known = check::is_no_artifact(id) || reader.artifact(log, class, id).is_some();
            match (is_known, class, event.body) {
                (false, ArtifactClass::Task, _) => drop(self.tasks.insert((log, id))),
                (false, ArtifactClass::StateMachine, _) => drop(self.machines.insert((log, id))),
                (false, ArtifactClass::State, Body::SrlReceive { message, .. }) => {
                    self.states.insert((log, id, message.receiver));
                }
                _ => {}
            }
        });
    }

    /// Declares all of it.
    fn declare(self, definitions: &mut Definitions) {
        for id in &self.log_files {
            let (name, importer) = (format!("log file {}", id.0), String::from("kymo repair"));
            let (offset, size, imported_at_ms) = (0, 0, 0);
            let id = *id;
            let of = LogFile { offset, id, name, size, imported_at_ms, importer };
            definitions.log_files.push(of);
        }
        for (&(log_file, id), bytes) in &self.types {
            let bytes = i32::try_from(*bytes).unwrap_or(i32::MAX);
            let field = CustomField::array("bytes", FieldType::Uint8, bytes);
            let fields = if bytes > 0 { vec![field] } else { Vec::new() };
            let name = format!("type {}", id.0);
            definitions.types.push(CustomType { offset: 0, id, name, log_file, fields });
        }
        for ((log, id), kind) in self.kinds() {
            let class = kind.class().name().to_lowercase();
            definitions.add_artifact(log, id, &format!("{class} {}", id.0), kind);
        }
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

/// Writes a sound file again, as it is.
pub(crate) fn rewrite(source: &Source, to: &Destination, context: &Context<'_>) -> Result<()> {
    let reader = Reader::open(source, context)?;
    let mut file = to.file()?;
    let definitions = reader.definitions();
    let mut writer = Writer::new(&mut file, &definitions.log_files, &definitions.types)?;
    for found in reader.events() {
        writer.write(&found.event)?;
    }
    writer.finish(&definitions.artifacts)?;
    let is_error = |finding: &Finding| finding.severity == Severity::Error;
    if let Some(lost) = reader.findings().into_iter().find(is_error) {
        return Err(Error::request(lost.message));
    }
    file.commit()
}
