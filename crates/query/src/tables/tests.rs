//! Rows of the common tables of a recording that is worked out by hand.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may fail loudly")]

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use kymo_core::Result;
use kymo_model::table::{Filter, Scan};
use kymo_model::timeline::{Activity, Missing};
use kymo_model::{DumpRequest, FormatInfo, RecordSink, Summary};

use super::*;
use crate::fixture::{TimedActivity, Timeline, begin, complete, message, named, release};

/// A recording that is nothing but a timeline.
struct Fixture(Arc<Timeline>);

impl Dataset for Fixture {
    fn summary(&self) -> Summary {
        Summary { dialect: String::new(), facts: Vec::new(), sections: Vec::new() }
    }

    fn findings(&self) -> Vec<Finding> {
        Vec::new()
    }

    fn tables(&self) -> Vec<Arc<dyn Table>> {
        Vec::new()
    }

    fn dump(&self, _request: &DumpRequest, _sink: &mut dyn RecordSink) -> Result<()> {
        Ok(())
    }

    fn timeline(&self) -> Option<Arc<dyn kymo_model::timeline::TimelineView>> {
        Some(Arc::clone(&self.0) as _)
    }
}

static FORMAT: FormatInfo = FormatInfo {
    name: "fixture",
    title: "",
    about: "",
    extensions: &[],
    dialects: &[],
    abilities: &[],
    dump_styles: &[],
};

fn tables_of(told: Vec<TimedActivity>) -> Vec<Arc<dyn Table>> {
    common_tables(&Recorded {
        path: "fixture".to_owned(),
        bytes: None,
        format: &FORMAT,
        dataset: Arc::new(Fixture(Arc::new(Timeline(told)))),
    })
}

fn cell(array: &ArrayRef, row: usize) -> String {
    if array.is_null(row) {
        return "-".to_owned();
    }
    match array.data_type() {
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::Float64 => array.as_primitive::<Float64Type>().value(row).to_string(),
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::Utf8View => array.as_string_view().value(row).to_owned(),
        DataType::Dictionary(..) => {
            let names = array.as_dictionary::<Int32Type>();
            let key = usize::try_from(names.keys().value(row)).unwrap();
            names.values().as_string::<i32>().value(key).to_owned()
        }
        other => panic!("{other}"),
    }
}

/// Rows of a table: some columns, those that meet a condition.
fn rows(
    told: Vec<TimedActivity>,
    table: &str,
    columns: &[&str],
    condition: Option<&str>,
) -> Vec<String> {
    let table = tables_of(told).into_iter().find(|it| it.name() == table).unwrap();
    let schema = table.schema();
    let place = |name: &&str| schema.index_of(name).unwrap();
    let scan = Scan {
        columns: Some(columns.iter().map(place).collect()),
        filters: condition.iter().map(|text| Filter::parse(&schema, text).unwrap()).collect(),
        ..Scan::default()
    };
    let mut rows = Vec::new();
    for batch in table.scan(&scan).unwrap() {
        let batch = batch.unwrap();
        assert_eq!(batch.num_columns(), columns.len());
        for row in 0..batch.num_rows() {
            let cells: Vec<_> = batch.columns().iter().map(|column| cell(column, row)).collect();
            rows.push(cells.join(" "));
        }
    }
    rows
}

/// Task `k` (7) on cpu 0 is released at 10 with 25 ns to spend, runs 20–40 and is complete. An
/// interrupt `tick` takes 22–25. `idle` (3) runs 40–60. The door (6) is shut from 5 and open from 30
/// on. `k` sends PING to `idle` at 35, which gets it at 45. Events are missing from 60 on.
fn table_activities() -> Vec<TimedActivity> {
    vec![
        (5, 6, Activity::Enter { state: "shut".into(), settled: None }),
        (10, 7, release(Some(25))),
        (20, 7, begin(4)),
        (22, 0, named("tick")),
        (25, 0, Activity::End),
        (30, 6, Activity::Enter { state: "open".into(), settled: None }),
        (35, 7, Activity::Send(message("PING", Some(3), None))),
        (40, 7, complete(None)),
        (40, 7, Activity::End),
        (40, 3, begin(0)),
        (45, 3, Activity::Receive(message("PING", Some(7), None))),
        (60, 0, Activity::Gap(Missing::AllEvents)),
    ]
}

#[test]
fn slices_are_as_worked_out_by_hand() {
    let columns =
        ["slice_id", "ts", "dur", "track_id", "name", "kind", "depth", "cpu", "is_complete"];
    let expected = [
        "2 22 3 0 tick interrupt 0 0 true",
        "0 5 25 6 shut state 0 - true",
        "1 20 20 7 k run 0 0 true",
        // Nothing tells how long these go on behind the gap.
        "4 40 20 3 idle run 0 0 false",
        "3 30 30 6 open state 0 - false",
    ];
    assert_eq!(rows(table_activities(), "slices", &columns, None), expected);
    let slow = rows(table_activities(), "slices", &["name", "dur"], Some("dur>=20"));
    assert_eq!(slow, ["shut 25", "k 20", "idle 20", "open 30"]);
    assert_eq!(rows(table_activities(), "slices", &["dur"], Some("kind=interrupt")), ["3"]);
}

#[test]
fn states_of_tasks_are_as_worked_out_by_hand() {
    let columns = ["ts", "dur", "track_id", "state", "cpu", "priority"];
    let expected = [
        "10 10 7 runnable - -",
        "20 2 7 running 0 4",
        "22 3 7 interrupted 0 4",
        "25 15 7 running 0 4",
        "40 20 3 running 0 0",
        "40 - 7 blocked - -",
        "60 - 3 unknown - -",
    ];
    assert_eq!(rows(table_activities(), "task_states", &columns, None), expected);
}

#[test]
fn jobs_and_flows_are_as_worked_out_by_hand() {
    let columns = [
        "track_id",
        "release_ts",
        "start_ts",
        "complete_ts",
        "delay",
        "run",
        "wait",
        "response",
        "preemptions",
        "budget",
        "is_late",
    ];
    assert_eq!(
        rows(table_activities(), "jobs", &columns, None),
        ["7 10 20 40 10 20 10 30 0 25 true"]
    );
    let columns =
        ["kind", "name", "from_track_id", "to_track_id", "send_ts", "receive_ts", "latency"];
    assert_eq!(rows(table_activities(), "flows", &columns, None), ["message PING 7 3 35 45 10"]);
}

#[test]
fn events_of_a_range_keep_their_numbers() {
    let columns = ["event_id", "ts", "track_id", "kind", "name"];
    let expected = ["3 22 0 begin tick", "4 25 0 end -"];
    assert_eq!(
        rows(table_activities(), "events", &columns, Some("track_id=0")).get(..2).unwrap(),
        expected
    );
    assert_eq!(
        rows(table_activities(), "events", &["ts", "kind"], Some("ts<20")),
        ["5 enter", "10 release"]
    );
    assert_eq!(rows(table_activities(), "gaps", &["ts", "reason"], None), ["60 all events"]);
}

#[test]
fn tracks_say_what_they_are_of() {
    let columns = ["track_id", "parent_id", "name", "kind", "clock_id", "cpu", "tid", "is_idle"];
    let found = rows(Vec::new(), "tracks", &columns, None);
    let expected = ["0 - cpu 0 cpu 0 0 - -", "1 0 a task 0 0 7 false", "2 0 b task 0 0 - false"];
    assert_eq!(found.get(..3).unwrap(), expected);
    assert_eq!(found.get(3).unwrap(), "3 0 idle task 0 0 - true");
    assert_eq!(found.get(6).unwrap(), "6 - door states 0 - - -");
}

#[test]
fn a_scan_that_is_dropped_ends() {
    let told = (0..100_000).map(|time| (time, 2, release(None))).collect();
    let table = tables_of(told).into_iter().find(|it| it.name() == "events").unwrap();
    let mut batches = table.scan(&Scan { batch_rows: 16, ..Scan::default() }).unwrap();
    assert_eq!(batches.next().unwrap().unwrap().num_rows(), 16);
}

#[test]
fn ids_of_recordings_are_the_same_everywhere() {
    // FNV-1a of the path, a zero byte and the ordinal in eight bytes, without its lowest bit.
    let [one, two] = ["runs/a.rtc", "runs\\a.rtc"].map(|path| recording_id(Path::new(path), 0));
    assert_eq!(one, two);
    assert_ne!(one, recording_id(Path::new("runs/a.rtc"), 1));
    assert!(one > 0);
}

#[test]
fn the_page_of_tables_is_as_reviewed() {
    use std::fmt::Write as _;
    let mut page = String::from(
        "# Tables\n\nEvery recording shows itself as these tables, whatever its format. \
         `kymo convert FILE OUT --table NAME` writes one; where a format has a table of its own by \
         that name, `common.NAME` is the one described here. Timestamps and durations are \
         nanoseconds. What is not known is null.\n\nThis page is made from the code \
         (`BLESS=1 cargo test -p kymo-query`).\n",
    );
    for (group, tables) in descriptions() {
        writeln!(page, "\n## {group}").unwrap();
        for (name, about, schema) in tables {
            writeln!(page, "\n### `{name}`\n\nA row: {about}.\n").unwrap();
            page += "| column | type | unit | meaning |\n|---|---|---|---|\n";
            for field in schema.fields() {
                let data_type = match field.data_type() {
                    DataType::Dictionary(..) | DataType::Utf8View
                        if kymo_model::table::is_json(field) =>
                    {
                        "JSON".to_owned()
                    }
                    DataType::Dictionary(..) | DataType::Utf8View => "text".to_owned(),
                    DataType::Int64 => "integer".to_owned(),
                    DataType::Float64 => "float".to_owned(),
                    DataType::Boolean => "bool".to_owned(),
                    DataType::Timestamp(..) => "timestamp".to_owned(),
                    DataType::BinaryView => "bytes".to_owned(),
                    other => other.to_string(),
                };
                let said = |key: &str| field.metadata().get(key).cloned().unwrap_or_default();
                let (unit, about) = (said("unit"), said("about"));
                writeln!(page, "| `{}` | {data_type} | {unit} | {about} |", field.name()).unwrap();
            }
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tables.md");
    kymo_conformance::golden::assert(path, &page);
}
