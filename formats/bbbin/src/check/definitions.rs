//! Ids that are used twice, or that nothing defines.

use std::collections::HashSet;

use kymo_core::Severity::{Note, Warning};
use kymo_core::shortened;

use super::CountedFindings;
use crate::Reader;
use crate::read::{CUSTOM_SIZE, MADE_UP, MADE_UP_WHY, misfit, values};
use crate::spec::NO_TYPE;
use crate::types::{ArtifactKind, CustomType, DeclaredArtifact, LogFileId};
use crate::write::Parents;

pub(super) fn check(reader: &Reader, told: &mut CountedFindings) {
    log_files(reader, told);
    if reader.is_made_up() {
        told.count((MADE_UP, 0, 0), Note, None, || MADE_UP_WHY.to_owned());
    }
    for of in reader.types() {
        custom_type(reader, of, told);
    }
    let mut parents = Parents::default();
    let mut known = HashSet::new();
    for of in reader.artifacts() {
        let class = of.kind.class();
        if !known.insert((of.log_file, class, of.id)) {
            told.count(("duplicate-id", 3, place(of.offset)), Warning, of.offset, || {
                let log = of.log_file.0;
                format!("{} {} is there twice in log file {log}", class.name(), of.id.0)
            });
        }
        artifact(reader, &of, told);
        if let (false, ArtifactKind::State { parent }) =
            (parents.take(of.log_file, of.id, of.kind), of.kind)
        {
            told.count(("parent", place(of.offset), 0), Warning, of.offset, || {
                let (parent, id) = (parent.0, of.id.0);
                format!("no state or state machine {parent} comes before its state {id}")
            });
        }
    }
}

/// An offset as a number to tell findings apart by.
pub(super) fn place(offset: u64) -> i64 {
    i64::try_from(offset).unwrap_or(i64::MAX)
}

fn log_files(reader: &Reader, told: &mut CountedFindings) {
    let mut known = HashSet::new();
    for (number, of) in (0..).zip(reader.log_files()) {
        if !known.insert(of.id) {
            told.count(("duplicate-id", 1, of.id.0.into()), Warning, of.offset, || {
                format!("log file {} is there twice", of.id.0)
            });
        } else if of.id != LogFileId(number) {
            told.count(("log-file-id", 0, 0), Warning, of.offset, || {
                format!("log file {number} has the id {}: ids count from 0", of.id.0)
            });
        }
    }
}

pub(super) fn has_log_file(reader: &Reader, id: LogFileId) -> bool {
    reader.log_file_place(id).is_some()
}

fn custom_type(reader: &Reader, of: &CustomType, told: &mut CountedFindings) {
    let (log, offset) = (of.log_file, of.offset);
    if !has_log_file(reader, log) {
        told.count(("unknown-log-file", log.0.into(), 1), Warning, offset, || {
            format!("type {} is of log file {}, which is not there", of.id.0, log.0)
        });
    }
    let first = reader.custom_type(log, of.id).map(|first| first.offset);
    if first != Some(offset) {
        told.count(("duplicate-id", 2, place(offset)), Warning, offset, || {
            format!("type {} is there twice in log file {}: the first counts", of.id.0, log.0)
        });
    }
    if of.id.0 == NO_TYPE {
        told.count(("type-id", log.0.into(), 0), Note, offset, || {
            format!(
                "type 0 of log file {} is \"no type\" to existing readers, which fail on it",
                log.0
            )
        });
    }
    for field in &of.fields {
        if field.field_type.is_err() || field.elements().is_none() {
            told.count(("field-type", place(offset), 0), Warning, offset, || {
                let (name, wrong) = (shortened(&field.name), field.type_name());
                format!("{name} of type {} is {wrong}, which cannot be read", of.id.0)
            });
        }
    }
}

fn artifact(reader: &Reader, of: &DeclaredArtifact<'_>, told: &mut CountedFindings) {
    let (log, offset) = (of.log_file, of.offset);
    if !has_log_file(reader, log) {
        told.count(("unknown-log-file", log.0.into(), 2), Warning, offset, || {
            format!("artifact {} is of log file {}, which is not there", of.id.0, log.0)
        });
    }
    if let ArtifactKind::Task { task_class: Err(number), .. } = of.kind {
        told.count(("task-class", number.into(), 0), Warning, offset, || {
            format!("there is no task class {number}")
        });
    }
    let type_id = of.custom_type;
    match reader.custom_type(log, type_id) {
        Some(custom) => match values(custom, of.custom, offset) {
            Ok(values) => told.report_unknown_artifacts((reader, log), custom, &values, offset),
            Err(error) => {
                let key = (CUSTOM_SIZE, log.0.into(), type_id.0.into());
                told.count_first(key, Warning, offset, || misfit(type_id, &error));
            }
        },
        None if type_id.0 == NO_TYPE && of.custom.is_empty() => {}
        None => told.unknown_type((log, type_id), of.custom, offset),
    }
}
