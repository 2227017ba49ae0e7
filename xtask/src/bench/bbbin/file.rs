//! The log that the cases run on.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

use anyhow::{Context, Result};
use kymo_bbbin::spec::TaskClass;
use kymo_bbbin::{ArtifactId, ArtifactKind, Body, Definitions, Event, Writer};

/// How many switches there are.
pub(super) const EVENTS: i64 = 100_000_000;

const TASKS: i64 = 50;

/// From one switch to the next, in nanoseconds: the log is of nearly three hours.
pub(super) const STEP: i64 = 100_000;

/// Makes the log unless it is there, so that it appears whole or not at all.
pub(super) fn make(path: &Path) -> Result<()> {
    if path.exists() {
        return Ok(());
    }
    let unfinished = path.with_extension("unfinished");
    let out = File::create(&unfinished).with_context(|| unfinished.display().to_string())?;
    fill(BufWriter::with_capacity(1 << 20, out))?;
    Ok(fs::rename(unfinished, path)?)
}

fn fill(out: BufWriter<File>) -> Result<()> {
    let mut definitions = Definitions::default();
    let log_file = definitions.add_log_file("switches.log", "xtask bench");
    let custom_type = definitions.empty_type(log_file);
    for task in 0..TASKS {
        let kind = ArtifactKind::Task { task_class: Ok(TaskClass::Task), priority: 1 };
        let id = ArtifactId(i32::try_from(task)?);
        definitions.add_artifact(log_file, id, &format!("task {task}"), kind);
    }
    let mut writer = Writer::new(out, &definitions.log_files, &definitions.types)?;
    let task = |number: i64| i32::try_from(number % TASKS).map(ArtifactId);
    for number in 0..EVENTS {
        let body = Body::TaskSwitch {
            in_task: task(number + 1)?,
            out_task: task(number)?,
            in_task_priority: 1,
        };
        let timestamp = number * STEP;
        writer.write(&Event { timestamp, log_file, body, custom_type, custom: &[] })?;
    }
    writer.finish(&definitions.artifacts)?;
    Ok(())
}
