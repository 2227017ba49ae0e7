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
    for this_custom_type in reader.types() {
        custom_type(reader, this_custom_type, told);
    }
    let mut parents = Parents::default();
    let mut known = HashSet::new();
    for declared_artifact in reader.artifacts() {
        let class = declared_artifact.kind.class();
        if !known.insert((declared_artifact.log_file, class, declared_artifact.id)) {
            told.count(
                ("duplicate-id", 3, place(declared_artifact.offset)),
                Warning,
                declared_artifact.offset,
                || {
                    let log = declared_artifact.log_file.0;
                    format!(
                        "{} {} is there twice in log file {log}",
                        class.name(),
                        declared_artifact.id.0
                    )
                },
            );
        }
        artifact(reader, &declared_artifact, told);
        if let (false, ArtifactKind::State { parent }) = (
            parents.take(declared_artifact.log_file, declared_artifact.id, declared_artifact.kind),
            declared_artifact.kind,
        ) {
            told.count(
                ("parent", place(declared_artifact.offset), 0),
                Warning,
                declared_artifact.offset,
                || {
                    let (parent, id) = (parent.0, declared_artifact.id.0);
                    format!("no state or state machine {parent} comes before its state {id}")
                },
            );
        }
    }
}

/// An offset as a number to tell findings apart by.
pub(super) fn place(offset: u64) -> i64 {
    i64::try_from(offset).unwrap_or(i64::MAX)
}

fn log_files(reader: &Reader, told: &mut CountedFindings) {
    let mut known = HashSet::new();
    for (number, log_file) in (0..).zip(reader.log_files()) {
        if !known.insert(log_file.id) {
            told.count(("duplicate-id", 1, log_file.id.0.into()), Warning, log_file.offset, || {
                format!("log file {} is there twice", log_file.id.0)
            });
        } else if log_file.id != LogFileId(number) {
            told.count(("log-file-id", 0, 0), Warning, log_file.offset, || {
                format!("log file {number} has the id {}: ids count from 0", log_file.id.0)
            });
        }
    }
}

pub(super) fn has_log_file(reader: &Reader, id: LogFileId) -> bool {
    reader.log_file_place(id).is_some()
}

fn custom_type(reader: &Reader, this_custom_type: &CustomType, told: &mut CountedFindings) {
    let (log, offset) = (this_custom_type.log_file, this_custom_type.offset);
    if !has_log_file(reader, log) {
        told.count(("unknown-log-file", log.0.into(), 1), Warning, offset, || {
            format!("type {} is of log file {}, which is not there", this_custom_type.id.0, log.0)
        });
    }
    let first = reader.custom_type(log, this_custom_type.id).map(|first| first.offset);
    if first != Some(offset) {
        told.count(("duplicate-id", 2, place(offset)), Warning, offset, || {
            format!(
                "type {} is there twice in log file {}: the first counts",
                this_custom_type.id.0, log.0
            )
        });
    }
    if this_custom_type.id.0 == NO_TYPE {
        told.count(("type-id", log.0.into(), 0), Note, offset, || {
            format!(
                "type 0 of log file {} is \"no type\" to existing readers, which fail on it",
                log.0
            )
        });
    }
    for field in &this_custom_type.fields {
        if field.field_type.is_err() || field.elements().is_none() {
            told.count(("field-type", place(offset), 0), Warning, offset, || {
                let (name, wrong) = (shortened(&field.name), field.type_name());
                format!("{name} of type {} is {wrong}, which cannot be read", this_custom_type.id.0)
            });
        }
    }
}

fn artifact(reader: &Reader, declared_artifact: &DeclaredArtifact<'_>, told: &mut CountedFindings) {
    let (log, offset) = (declared_artifact.log_file, declared_artifact.offset);
    if !has_log_file(reader, log) {
        told.count(("unknown-log-file", log.0.into(), 2), Warning, offset, || {
            format!(
                "artifact {} is of log file {}, which is not there",
                declared_artifact.id.0, log.0
            )
        });
    }
    if let ArtifactKind::Task { task_class: Err(number), .. } = declared_artifact.kind {
        told.count(("task-class", number.into(), 0), Warning, offset, || {
            format!("there is no task class {number}")
        });
    }
    let type_id = declared_artifact.custom_type;
    match reader.custom_type(log, type_id) {
        Some(custom) => match values(custom, declared_artifact.custom, offset) {
            Ok(values) => told.report_unknown_artifacts((reader, log), custom, &values, offset),
            Err(error) => {
                let key = (CUSTOM_SIZE, log.0.into(), type_id.0.into());
                told.count_first(key, Warning, offset, || misfit(type_id, &error));
            }
        },
        None if type_id.0 == NO_TYPE && declared_artifact.custom.is_empty() => {}
        None => told.unknown_type((log, type_id), declared_artifact.custom, offset),
    }
}
