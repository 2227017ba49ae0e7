//! What can be read, written as a sound file: index, task executions and statistics anew.

use std::collections::{BTreeSet, HashSet};
use std::io::{Seek, Write};

use kymo_core::{Context, Destination, Error, Finding, Repaired, Result, Severity, Source};

use crate::spec::{ArtifactClass, NO_TYPE, TaskClass, UNKNOWN_PRIORITY};
use crate::types::{ArtifactId, ArtifactKind, Body, Event, Found, LogFileId};
use crate::{Reader, Writer, check};

/// What repairing does nothing about, by rule: it changes no event.
const LEFT: [&str; 9] = [
    "order",
    "unbalanced-switch",
    "unknown-log-file",
    "unknown-type",
    "custom-size",
    "field-type",
    "task-class",
    "duplicate-id",
    "log-file-id",
];

/// Artifacts that are made for ids that nothing declares.
const MADE_MAX: usize = 1 << 16;

/// Repairs a file.
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
    let is_loss = |finding: &Finding| finding.severity == Severity::Error;
    let (losses, mut corrected): (Vec<_>, Vec<_>) = found.into_iter().partition(is_loss);
    for finding in corrected.iter_mut().filter(|finding| LEFT.contains(&finding.rule)) {
        let how = if finding.rule == "order" { " (`kymo merge --sort` sorts)" } else { "" };
        finding.message = format!("{}; left as it is{how}", finding.message);
    }
    Ok(Repaired { kept, unit: "events", corrected, losses })
}

/// Writes everything that a reader has, as existing readers need it; tells how many events.
fn mend(reader: &Reader, out: impl Write + Seek) -> Result<u64> {
    let (mut made, mut untyped) = (Made::default(), HashSet::new());
    for Found { event, .. } in reader.events() {
        made.event(reader, &event);
        if event.custom_type.0 == NO_TYPE {
            untyped.insert(event.log_file);
        }
    }
    let mut definitions = reader.definitions().clone();
    for ((log, id), kind) in made.kinds() {
        let class = kind.class().name().to_lowercase();
        definitions.add_artifact(log, id, &format!("{class} {}", id.0), kind);
    }
    let empty_types = definitions.satisfy_readers(|log| untyped.contains(&log));
    let mut writer = Writer::new(out, &definitions.log_files, &definitions.types)?;
    for found in reader.events() {
        writer.write(&empty_types.given(found.event))?;
    }
    let events = writer.num_events();
    writer.finish(&definitions.artifacts)?;
    Ok(events)
}

/// What events are about that nothing declares, by log file and id.
#[derive(Debug, Default)]
struct Made {
    tasks: BTreeSet<(LogFileId, ArtifactId)>,
    machines: BTreeSet<(LogFileId, ArtifactId)>,
    /// With the state machine that they are of.
    states: BTreeSet<(LogFileId, ArtifactId, ArtifactId)>,
}

impl Made {
    fn event(&mut self, reader: &Reader, event: &Event<'_>) {
        if self.tasks.len() + self.machines.len() + self.states.len() >= MADE_MAX {
            return;
        }
        let log = event.log_file;
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
