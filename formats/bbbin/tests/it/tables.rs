//! Tables of custom types.

use std::sync::Arc;

use crate::support::shown::{dataset, lines, sample};
use crate::support::{Bytes, Hand, event, log_file, type_of};
use arrow_array::{Array, ArrayRef, Float32Array, Int64Array, StringArray, UInt64Array};
use kymo_bbbin::{Bbbin, Reader};
use kymo_core::{Context, Source};
use kymo_model::table::Scan;
use kymo_model::timeline::Window;
use kymo_model::{Dataset, Format};

/// The names of columns, and the cells of each row as one reads them.
fn shown(dataset: &dyn Dataset, name: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let table = dataset.table(name).unwrap_or_else(|| panic!("no table {name}"));
    let names = table.schema().fields().iter().map(|field| field.name().clone()).collect();
    let batches = Arc::clone(&table).scan(&Scan::default()).unwrap();
    let mut rows = Vec::new();
    for batch in batches.map(Result::unwrap) {
        for row in 0..batch.num_rows() {
            let cells = batch.columns().iter().map(|column| cell(column, row));
            rows.push(cells.collect());
        }
    }
    (names, rows)
}

fn cell(column: &ArrayRef, row: usize) -> String {
    if column.is_null(row) {
        return "-".into();
    }
    let column = column.as_any();
    let signed = || column.downcast_ref::<Int64Array>().map(|it| it.value(row).to_string());
    let unsigned = || column.downcast_ref::<UInt64Array>().map(|it| it.value(row).to_string());
    let text = || column.downcast_ref::<StringArray>().map(|it| it.value(row).to_owned());
    signed().or_else(unsigned).or_else(text).unwrap_or_else(|| "another type".into())
}

/// What comes after the columns that every such table has.
fn fields(dataset: &dyn Dataset, name: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let (names, rows) = shown(dataset, name);
    let head = ["recording", "offset", "event_class", "event_timestamp", "log_file_id"];
    assert_eq!(names[..5], head);
    (names[5..].to_vec(), rows.into_iter().map(|row| row[3..].to_vec()).collect())
}

#[test]
fn every_custom_type_has_a_table_that_is_listed() {
    let dataset = dataset(&sample("names.bin"));
    let names: Vec<_> = dataset.tables().iter().map(|table| table.name().to_owned()).collect();
    let own = names.iter().skip_while(|name| *name != "statistics").skip(1);
    // `events` is there already, and one has no name.
    assert_eq!(own.collect::<Vec<_>>(), ["events (2)", "call", "both", "unnamed"]);
    assert_eq!(dataset.table("unnamed").unwrap().schema().fields().len(), 6);
}

#[test]
fn fields_of_one_name_have_columns_of_their_own() {
    let dataset = dataset(&sample("names.bin"));
    let (names, rows) = fields(&*dataset, "events (2)");
    assert_eq!(names, ["offset (2)", "x", "x (2)"]);
    assert_eq!(rows, [["1", "0", "7", "8", "9"]]);
    let (names, rows) = fields(&*dataset, "call");
    assert_eq!(
        (names, rows),
        (vec!["thread".into()], vec![vec!["2".into(), "0".into(), "5".into()]])
    );
}

/// The field `x` is a number in one log file and a text in the other.
#[test]
fn types_of_one_name_share_a_table() {
    let dataset = dataset(&sample("names.bin"));
    let (names, rows) = fields(&*dataset, "both");
    assert_eq!(names, ["x", "only a", "only b"]);
    assert_eq!(rows, [["3", "0", "1", "2", "-"], ["4", "1", "q", "-", "p"]]);
}

#[test]
fn names_of_columns_are_utf_8_for_those_who_ask() {
    let fields = Bytes::new().string("höhe".as_bytes()).i32(2).i32(0);
    let bytes = Bytes::new().i32(1).string("größe".as_bytes()).i32(0).string(&fields.0);
    let hand = Hand {
        log_files: vec![log_file(0, b"a.log")],
        types: vec![bytes],
        events: vec![(1, event(1, 1).i32(1).string(&[4]))],
        ..Hand::default()
    };
    let source = Source::from_bytes("", hand.file());
    let utf8 = Context { is_utf8: true, ..Context::default() };
    let opened = Bbbin.open(&source, &utf8).unwrap();
    let (names, rows) = shown(&*opened, "größe");
    assert_eq!((names[5].as_str(), rows[0][5].as_str()), ("höhe", "4"));
}

/// A type of two INT32 fields, and events with both, the first alone, a byte too many, and none.
fn of_other_sizes() -> Source {
    let field = |name: &[u8]| Bytes::new().string(name).i32(5).i32(0).0;
    let fields = [field(b"x"), field(b"y")].concat();
    let own = Bytes::new().i32(1).string(b"m").i32(0).string(&fields);
    let values: [&[u8]; 4] =
        [&[0, 0, 0, 1, 0, 0, 0, 2], &[0, 0, 0, 7], &[0, 0, 0, 3, 0, 0, 0, 4, b'z'], &[]];
    let events =
        (0..).zip(values).map(|(time, values)| (time, event(1, time).i32(1).string(values)));
    let (log_files, types) = (vec![log_file(0, b"a.log")], vec![own]);
    let hand = Hand { log_files, types, events: events.collect(), ..Hand::default() };
    Source::from_bytes("logset.bin", hand.file())
}

/// What is found, once of each kind however often it is read.
fn found(dataset: &dyn Dataset) -> Vec<(&'static str, String)> {
    let found = dataset.findings();
    // The second event is the first that is not as its type is, whichever is read first.
    let second = second_event();
    assert!(found.iter().all(|finding| finding.offset == Some(second)), "{second}: {found:?}");
    found.into_iter().map(|finding| (finding.rule, finding.message)).collect()
}

/// Where the second event of [`of_other_sizes`] begins.
fn second_event() -> u64 {
    let reader = Reader::open(&of_other_sizes(), &Context::default()).unwrap();
    reader.events().nth(1).unwrap().offset
}

const OF_OTHER_SIZES: &str = "values are not of their type, 1: needs 4 bytes, 0 left (3 times)";

#[test]
fn values_of_another_size_are_given_as_far_as_they_go_and_that_is_said() {
    let dataset = dataset(&of_other_sizes());
    assert_eq!(found(&*dataset), []);
    let expected =
        [["0", "0", "1", "2"], ["1", "0", "7", "-"], ["2", "0", "3", "4"], ["3", "0", "-", "-"]];
    for _ in 0..2 {
        assert_eq!(fields(&*dataset, "m").1, expected);
        assert_eq!(found(&*dataset), [("custom-size", OF_OTHER_SIZES.to_owned())]);
    }
}

#[test]
fn whoever_reads_values_of_another_size_is_told() {
    let source = of_other_sizes();
    let expected = [("custom-size", OF_OTHER_SIZES.to_owned())];
    let table = dataset(&source);
    let (_, rows) = shown(&*table, "events");
    let custom: Vec<_> = rows.iter().map(|row| row.last().unwrap().as_str()).collect();
    assert_eq!(custom, [r#"{"x":1,"y":2}"#, "00000007", "00000003000000047a", ""]);
    assert_eq!(found(&*table), expected);
    let opened = dataset(&source);
    let told = lines(&opened.timeline().unwrap(), &Window::default());
    let bytes = ["1 m: [0, 0, 0, 7]", "2 m: [0, 0, 0, 3, 0, 0, 0, 4, 7a]"];
    let expected_lines = [
        r#"0 m: {"x":1,"y":2}"#,
        "0 m.x: 1",
        "0 m.y: 2",
        bytes[0],
        "1 m.x: 7",
        bytes[1],
        "2 m.x: 3",
        "2 m.y: 4",
        "3 a.log: m",
    ];
    assert_eq!(told, expected_lines);
    assert_eq!(found(&*opened), expected);
}

/// The FLOAT that is nearest to 0.1 is that, and not the DOUBLE that it is when it is widened.
#[test]
fn numbers_of_single_precision_stay_so() {
    let value = event(1, 5).i32(1).string(&[0x3D, 0xCC, 0xCC, 0xCD]);
    let types = vec![type_of(1, 0, 9, 0)];
    let dataset =
        dataset(&Source::from_bytes("", Hand { types, ..Hand::with_event(5, value) }.file()));
    let table = dataset.table("T").unwrap();
    let batch = table.scan(&Scan::default()).unwrap().next().unwrap().unwrap();
    let column = batch.column(5).as_any().downcast_ref::<Float32Array>().unwrap();
    assert_eq!(column.value(0).to_string(), "0.1");
}
