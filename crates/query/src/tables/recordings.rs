//! `recordings`, `findings` and `attributes`.

use std::borrow::Cow;
use std::sync::Arc;

use kymo_core::{Finding, Value};
use kymo_model::table::{Cell, Column, RowKind};
use kymo_model::timeline::Window;
use kymo_model::{Recording, Table};

use super::stream::{CommonRow, TableDescription};
use super::{Description, Maker, Recorded};

static RECORDINGS: TableDescription<Recordings> = TableDescription {
    name: "recordings",
    about: "a recording in a file: most files hold one",
    columns: RECORDINGS_COLUMNS,
};

static FINDINGS: TableDescription<Findings> = TableDescription {
    name: "findings",
    about: "something wrong or noteworthy in a recording",
    columns: FINDINGS_COLUMNS,
};

static ATTRIBUTES: TableDescription<Attributes> = TableDescription {
    name: "attributes",
    about: "a name and a value that describe the recording or a part of it",
    columns: ATTRIBUTES_COLUMNS,
};

/// The tables that are here.
pub(super) fn describe() -> Vec<Description> {
    vec![RECORDINGS.parts(), FINDINGS.parts(), ATTRIBUTES.parts()]
}

/// The tables that every recording has.
pub(super) fn tables(maker: &Maker) -> Vec<Arc<dyn Table>> {
    let (recorded, found, described) =
        (maker.recorded.clone(), maker.recorded.clone(), maker.recorded.clone());
    vec![
        maker.table(&RECORDINGS, move |wanted, rows| {
            let needs_times = ["start_ts", "end_ts", "start_time", "end_time", "events"];
            let times = if needs_times.iter().any(|column| wanted.contains(column)) {
                times(&recorded)?
            } else {
                Vec::new()
            };
            for (ordinal, recording) in recorded.dataset.recordings().into_iter().enumerate() {
                let times = times.get(ordinal).copied().unwrap_or_default();
                rows.push(&RecordingRow { recorded: &recorded, ordinal, recording, times })?;
            }
            Ok(())
        }),
        maker.table(&FINDINGS, move |_, rows| {
            for finding in super::findings(&*found.dataset) {
                rows.push(&FindingRow { finding, path: &found.path })?;
            }
            Ok(())
        }),
        maker.table(&ATTRIBUTES, move |_, rows| {
            for attribute in attributes(&described) {
                rows.push(&attribute)?;
            }
            Ok(())
        }),
    ]
}

/// Times of a recording, and how many events it has.
#[derive(Clone, Copy, Default)]
struct Times {
    first: Option<i64>,
    last: Option<i64>,
    is_since_epoch: bool,
    events: Option<u64>,
}

/// Times of each recording, on the first clock that it has.
fn times(recorded: &Recorded) -> kymo_core::Result<Vec<Times>> {
    let mut times = vec![Times::default(); recorded.dataset.recordings().len().max(1)];
    let Some(timeline) = recorded.dataset.timeline() else { return Ok(times) };
    let (clocks, tracks) = (timeline.clocks(), timeline.tracks());
    let tallies = Arc::clone(&timeline).tallies(&Window::default())?;
    for (track, tally) in tracks.iter().zip(&tallies) {
        let Some(this_times) = times.get_mut(track.recording) else { continue };
        *this_times.events.get_or_insert(0) += tally.events;
        let clock = track.clock.and_then(|clock| clocks.get(clock.0));
        let Some((clock, (first, last))) = clock.zip(tally.times) else { continue };
        if this_times.first.is_some() && this_times.is_since_epoch != clock.since_epoch {
            continue;
        }
        this_times.is_since_epoch = clock.since_epoch;
        this_times.first = Some(this_times.first.map_or(first.0, |known| known.min(first.0)));
        this_times.last = Some(this_times.last.map_or(last.0, |known| known.max(last.0)));
    }
    Ok(times)
}

struct RecordingRow<'a> {
    recorded: &'a Recorded,
    ordinal: usize,
    recording: Recording,
    times: Times,
}

struct Recordings;

impl RowKind for Recordings {
    type Row<'a> = RecordingRow<'a>;
}

impl CommonRow for Recordings {
    fn recording(row: &RecordingRow<'_>) -> usize {
        row.ordinal
    }
}

const RECORDINGS_COLUMNS: &[Column<Recordings>] = &[
    Column::new(
        "file",
        "path of the file or directory",
        Cell::Name(|row| Some((&*row.recorded.path).into())),
    ),
    Column::new(
        "format",
        "format of the file",
        Cell::Name(|row| Some(row.recorded.format.name.into())),
    ),
    Column::new(
        "kind",
        "the format's word for a recording: session, epoch, log file",
        Cell::Name(|row| Some(row.recording.kind.into())),
    ),
    Column::new(
        "name",
        "name of the recording; null where it has none",
        Cell::Name(|row| Some(&*row.recording.name).filter(|name| !name.is_empty()).map(Cow::from)),
    ),
    Column::with_unit("start_ts", "ns", "first timestamp", Cell::Int(|row| row.times.first)),
    Column::with_unit("end_ts", "ns", "last timestamp", Cell::Int(|row| row.times.last)),
    Column::new(
        "start_time",
        "first timestamp as a date; null where the clock does not count from the Epoch",
        Cell::Time(|row| row.times.first.filter(|_| row.times.is_since_epoch)),
    ),
    Column::new(
        "end_time",
        "last timestamp as a date; null where the clock does not count from the Epoch",
        Cell::Time(|row| row.times.last.filter(|_| row.times.is_since_epoch)),
    ),
    Column::with_unit(
        "bytes",
        "bytes",
        "size of the recording, where it is one run of the file; else of the file",
        Cell::Int(|row| {
            let run = row.recording.bytes.as_ref().map(|run| run.end - run.start);
            run.or(row.recorded.bytes).and_then(|bytes| i64::try_from(bytes).ok())
        }),
    ),
    Column::new(
        "events",
        "number of rows in the table events",
        Cell::Int(|row| row.times.events.and_then(|count| i64::try_from(count).ok())),
    ),
];

struct FindingRow<'a> {
    finding: Finding,
    path: &'a str,
}

struct Findings;

impl RowKind for Findings {
    type Row<'a> = FindingRow<'a>;
}

impl CommonRow for Findings {
    fn recording(_row: &FindingRow<'_>) -> usize {
        0
    }
}

const FINDINGS_COLUMNS: &[Column<Findings>] = &[
    Column::new(
        "severity",
        "error: cannot be read; warning: lost or doubtful; note: worth knowing",
        Cell::Name(|row| Some(row.finding.severity.name().into())),
    ),
    Column::new("code", "rule that was broken", Cell::Name(|row| Some(row.finding.rule.into()))),
    Column::new(
        "file",
        "file that the finding is in",
        Cell::Name(|row| Some(row.finding.file.as_deref().unwrap_or(row.path).into())),
    ),
    Column::with_unit(
        "file_offset",
        "bytes",
        "first byte that the finding is about; null where it is about the whole",
        Cell::Int(|row| row.finding.offset.and_then(|offset| i64::try_from(offset).ok())),
    ),
    Column::new("message", "what is wrong", Cell::Text(|row| Some((&*row.finding.message).into()))),
];

struct AttributeRow {
    owner: String,
    name: String,
    value: Value,
}

struct Attributes;

impl RowKind for Attributes {
    type Row<'a> = AttributeRow;
}

impl CommonRow for Attributes {
    fn recording(_row: &AttributeRow) -> usize {
        0
    }
}

const ATTRIBUTES_COLUMNS: &[Column<Attributes>] = &[
    Column::new(
        "owner",
        "path of what is described; empty for the recording",
        Cell::Name(|row| Some((&*row.owner).into())),
    ),
    Column::new("name", "name of the attribute", Cell::Name(|row| Some((&*row.name).into()))),
    Column::new(
        "type",
        "bool, int, uint, float, text, bytes, list or json",
        Cell::Name(|row| Some(type_of(&row.value).into())),
    ),
    Column::new(
        "value",
        "value as text; lists and objects as JSON",
        Cell::Text(|row| Some(row.value.to_string().into())),
    ),
];

/// The facts at a glance, and the attributes of arrays.
fn attributes(recorded: &Recorded) -> Vec<AttributeRow> {
    let summary = recorded.dataset.summary();
    let facts = summary.facts.iter().map(|fact| {
        let (name, value) = fact.exact.clone().unwrap_or((fact.name, fact.value.clone()));
        AttributeRow { owner: String::new(), name: name.to_owned(), value }
    });
    let mut rows: Vec<_> = facts.collect();
    let arrays = recorded.dataset.arrays();
    let described = arrays.map(|arrays| arrays.attributes()).unwrap_or_default();
    rows.extend(described.into_iter().map(|attribute| AttributeRow {
        owner: attribute.path,
        name: attribute.name,
        value: attribute.value,
    }));
    rows
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "bool",
        Value::Int(_) => "int",
        Value::UInt(_) | Value::Address(_) => "uint",
        Value::Float32(_) | Value::Float(_) | Value::Decimal(_) => "float",
        Value::Complex32(_) | Value::Complex(_) => "complex",
        Value::Text(_) => "text",
        Value::Bytes(_) => "bytes",
        Value::List(_) => "list",
        Value::Json(_) => "json",
        _ => "null",
    }
}
