//! LOG FILES, CUSTOM TYPES and ARTIFACTS.

use kymo_core::bytes::{Cursor, ReadError, ReadErrorKind, ReadResult};

use crate::spec::{ArtifactClass, FieldType, TaskClass};
use crate::types::{
    ArtifactId, ArtifactKind, CustomField, CustomType, DeclaredArtifact, LogFile, LogFileId, Text,
    TypeId,
};

/// Number of items that may still be kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    limit: u64,
    left: u64,
}

impl Budget {
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit, left: limit }
    }

    fn take(&mut self, what: &'static str, offset: u64) -> ReadResult<()> {
        let (found, limit) = (self.limit.saturating_add(1), self.limit);
        let over = ReadErrorKind::OverLimit { found, limit };
        self.left = self.left.checked_sub(1).ok_or_else(|| over.error_at(what, offset))?;
        Ok(())
    }
}

/// Part of a section that could be read.
#[derive(Debug, Clone)]
pub(crate) struct SectionItems<T> {
    pub items: Vec<T>,
    /// The first byte that does not belong to an item.
    pub end: u64,
    /// Reason why it ends before its end.
    pub fault: Option<ReadError>,
}

/// Reads a section that begins with its number of items, as far as that is possible.
pub(crate) fn list<'a, T>(
    mut cursor: Cursor<'a>,
    what: &'static str,
    budget: &mut Budget,
    item: impl FnMut(&mut Cursor<'a>, &mut Budget) -> ReadResult<T>,
) -> SectionItems<T> {
    let start = cursor.offset();
    match count(&mut cursor, what) {
        Ok(count) => items(cursor, count, what, budget, item),
        Err(fault) => SectionItems { items: Vec::new(), end: start, fault: Some(fault) },
    }
}

/// Reads so many items, or as many as can be read.
pub(crate) fn items<'a, T>(
    mut cursor: Cursor<'a>,
    count: u64,
    what: &'static str,
    budget: &mut Budget,
    mut item: impl FnMut(&mut Cursor<'a>, &mut Budget) -> ReadResult<T>,
) -> SectionItems<T> {
    let mut listed = SectionItems { items: Vec::new(), end: cursor.offset(), fault: None };
    for _ in 0..count {
        let read = budget.take(what, listed.end).and_then(|()| item(&mut cursor, budget));
        match read {
            Ok(item) => listed.items.push(item),
            Err(fault) => {
                listed.fault = Some(fault);
                break;
            }
        }
        listed.end = cursor.offset();
    }
    listed
}

/// A number of items. It is not allocated for: items are read until one cannot be.
pub(crate) fn count(cursor: &mut Cursor<'_>, what: &'static str) -> ReadResult<u64> {
    let offset = cursor.offset();
    let found = cursor.i64(what)?;
    u64::try_from(found).map_err(|_| ReadErrorKind::Negative(found).error_at(what, offset))
}

/// The bytes of a string.
pub(crate) fn text<'a>(cursor: &mut Cursor<'a>, what: &'static str) -> ReadResult<Text<'a>> {
    let length = cursor.length_i32(what)?;
    cursor.bytes(what, length).map(Text)
}

/// An entry of LOG FILES.
pub(crate) fn log_file(cursor: &mut Cursor<'_>, _: &mut Budget) -> ReadResult<LogFile> {
    Ok(LogFile {
        offset: cursor.offset(),
        id: LogFileId(cursor.i32("log-file-id")?),
        name: text(cursor, "log-file-name")?.to_string(),
        size: cursor.i64("log-file-size")?,
        imported_at_ms: cursor.i64("imported-at-timestamp")?,
        importer: text(cursor, "importer-name")?.to_string(),
    })
}

/// An entry of CUSTOM TYPES.
pub(crate) fn custom_type(cursor: &mut Cursor<'_>, budget: &mut Budget) -> ReadResult<CustomType> {
    let offset = cursor.offset();
    let id = TypeId(cursor.i32("type-id")?);
    let name = text(cursor, "type-name")?.to_string();
    let log_file = LogFileId(cursor.i32("log-file-id")?);
    let size = cursor.length_i32("total-field-size")?;
    // There is no number of fields: their size ends the list.
    let mut descriptions = cursor.part("fields", size)?;
    let mut fields = Vec::new();
    while descriptions.remaining() > 0 {
        budget.take("fields", descriptions.offset())?;
        fields.push(field(&mut descriptions)?);
    }
    Ok(CustomType { offset, id, name, log_file, fields })
}

fn field(cursor: &mut Cursor<'_>) -> ReadResult<CustomField> {
    let name = text(cursor, "field-name")?.to_string();
    let number = cursor.i32("field-type")?;
    let element_count = cursor.i32("field-element-count")?;
    Ok(CustomField {
        name,
        field_type: FieldType::from_number(number).ok_or(number),
        element_count,
    })
}

/// An entry of ARTIFACTS.
pub(crate) fn artifact<'a>(
    cursor: &mut Cursor<'a>,
    _: &mut Budget,
) -> ReadResult<DeclaredArtifact<'a>> {
    let offset = cursor.offset();
    let number = cursor.i32("artifact-class")?;
    let class = ArtifactClass::from_number(number).ok_or_else(|| {
        ReadError::invalid("artifact-class", offset, format!("there is no artifact class {number}"))
    })?;
    Ok(DeclaredArtifact {
        offset,
        id: ArtifactId(cursor.i32("artifact-id")?),
        name: text(cursor, "artifact-name")?,
        log_file: LogFileId(cursor.i32("log-file-id")?),
        kind: artifact_kind(cursor, class)?,
        custom_type: TypeId(cursor.i32("custom-type-id")?),
        custom: custom(cursor)?,
    })
}

fn artifact_kind(cursor: &mut Cursor<'_>, class: ArtifactClass) -> ReadResult<ArtifactKind> {
    Ok(match class {
        ArtifactClass::Generic => ArtifactKind::Generic,
        ArtifactClass::Task => {
            let number = cursor.i32("task-class")?;
            let task_class = TaskClass::from_number(number).ok_or(number);
            ArtifactKind::Task { task_class, priority: cursor.i32("task-priority")? }
        }
        ArtifactClass::StateMachine => ArtifactKind::StateMachine,
        ArtifactClass::State => {
            ArtifactKind::State { parent: ArtifactId(cursor.i32("parent-id")?) }
        }
    })
}

/// The bytes of the values of an event or an artifact.
pub(crate) fn custom<'a>(cursor: &mut Cursor<'a>) -> ReadResult<&'a [u8]> {
    let size = cursor.length_i32("total-custom-field-size")?;
    cursor.bytes("custom-field-value", size)
}
