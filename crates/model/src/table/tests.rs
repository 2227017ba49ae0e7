use std::ops::Range;
use std::sync::Mutex;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt64Type};
use arrow_array::{ArrayRef, Float64Array, Int32Array, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema};

use super::*;

type Asked = Arc<Mutex<Vec<usize>>>;

/// Twenty rows: a number, its name, and a half of it that every fourth row lacks.
struct Twenty {
    /// The columns asked for, for tests that count them.
    asked: Asked,
    /// From this row on, reading fails.
    broken_from: u64,
}

impl Columns for Twenty {
    type Row<'a> = u64;

    fn name(&self) -> &'static str {
        "numbers"
    }

    fn about(&self) -> &'static str {
        "a number"
    }

    fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(vec![
            Field::new("number", DataType::UInt64, false),
            Field::new("name", DataType::Utf8, false),
            Field::new("half", DataType::Float64, true),
            Field::new("below_ten", DataType::Int32, false),
        ]))
    }

    fn row_count(&self) -> u64 {
        20
    }

    fn rows(&self, rows: Range<usize>) -> Result<Vec<u64>> {
        if rows.end as u64 > self.broken_from {
            return Err(Error::request("row cannot be read"));
        }
        Ok(rows.map(|row| row as u64).collect())
    }

    fn column(&self, index: usize, rows: &[u64]) -> Result<ArrayRef> {
        let rows = rows.iter().copied();
        self.asked.lock().unwrap().push(index);
        let small = |row: u64| i32::try_from(row).unwrap() - 10;
        let half = |row: u64| (!row.is_multiple_of(4)).then(|| f64::from(small(row)) / 2.0);
        Ok(match index {
            0 => Arc::new(UInt64Array::from_iter_values(rows)),
            1 => Arc::new(StringArray::from_iter_values(rows.map(|row| format!("n{row:02}")))),
            2 => Arc::new(rows.map(half).collect::<Float64Array>()),
            _ => Arc::new(Int32Array::from_iter_values(rows.map(small))),
        })
    }
}

fn twenty() -> Arc<ColumnTable<Twenty>> {
    ColumnTable::new(Twenty { asked: Asked::default(), broken_from: u64::MAX })
}

fn twenty_broken_from(broken_from: u64) -> Arc<ColumnTable<Twenty>> {
    ColumnTable::new(Twenty { asked: Asked::default(), broken_from })
}

/// A table, and the columns it will have been asked for.
fn twenty_asked() -> (Arc<ColumnTable<Twenty>>, Asked) {
    let asked = Asked::default();
    let columns = Twenty { asked: Arc::clone(&asked), broken_from: u64::MAX };
    (ColumnTable::new(columns), asked)
}

/// The scan that goes through the table's own code, and the one for tables that cannot do
/// better; both must agree.
fn scans(scan: &Scan) -> [Vec<RecordBatch>; 2] {
    let own = twenty().scan(scan).unwrap();
    let plain = Scan { batch_rows: scan.batch_rows, ..Scan::default() };
    let finished = scan.finish(twenty().scan(&plain).unwrap());
    [own, finished].map(|batches| batches.map(Result::unwrap).collect())
}

/// The numbers in the first column of a scan.
fn numbers(scan: &Scan) -> Vec<u64> {
    let numbers = |batches: Vec<RecordBatch>| -> Vec<u64> {
        let columns = batches.iter().map(|batch| batch.column(0).as_primitive::<UInt64Type>());
        columns.flat_map(|column| column.values().to_vec()).collect()
    };
    let [own, finished] = scans(scan).map(numbers);
    assert_eq!(own, finished);
    own
}

fn filters(conditions: &[&str]) -> Vec<Filter> {
    let schema = twenty().schema();
    conditions.iter().map(|text| Filter::parse(&schema, text).unwrap()).collect()
}

fn matching(condition: &str) -> Vec<u64> {
    numbers(&Scan { filters: filters(&[condition]), ..Scan::default() })
}

fn range(numbers: Range<u64>) -> Vec<u64> {
    numbers.collect()
}

#[test]
fn batches_have_the_rows_asked_for_and_the_last_one_the_rest() {
    for (batch_rows, sizes) in [(20, vec![20]), (8, vec![8, 8, 4]), (10, vec![10, 10])] {
        let scan = Scan { batch_rows, ..Scan::default() };
        for batches in scans(&scan) {
            let found: Vec<_> = batches.iter().map(RecordBatch::num_rows).collect();
            assert_eq!(found, sizes);
        }
        assert_eq!(numbers(&scan), range(0..20));
    }
}

#[test]
fn batches_of_no_rows_are_batches_of_one() {
    let scan = Scan { batch_rows: 0, ..Scan::default() };
    assert_eq!(twenty().scan(&scan).unwrap().count(), 20);
}

#[test]
fn a_projection_has_its_columns_in_its_order_and_computes_no_others() {
    let (table, asked) = twenty_asked();
    let scan = Scan { columns: Some(vec![3, 0]), ..Scan::default() };
    let batch = table.scan(&scan).unwrap().next().unwrap().unwrap();
    let schema = batch.schema();
    let names: Vec<_> = schema.fields().iter().map(|field| field.name()).collect();
    assert_eq!(names, ["below_ten", "number"]);
    assert_eq!(batch.column(0).as_primitive::<Int32Type>().value(0), -10);
    assert_eq!(*asked.lock().unwrap(), [3, 0]);
}

#[test]
fn a_projection_may_name_a_column_twice() {
    let scan = Scan { columns: Some(vec![0, 0]), limit: Some(3), ..Scan::default() };
    for batches in scans(&scan) {
        assert_eq!((batches[0].num_columns(), batches[0].num_rows()), (2, 3));
    }
}

#[test]
fn no_columns_at_all_still_count_rows() {
    let scan = Scan { columns: Some(vec![]), batch_rows: 8, ..Scan::default() };
    let scan = Scan { filters: filters(&["number>=3"]), ..scan };
    for batches in scans(&scan) {
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        assert_eq!((rows, batches[0].num_columns()), (17, 0));
    }
}

#[test]
fn a_column_that_is_not_there_is_refused() {
    let scan = Scan { columns: Some(vec![4]), ..Scan::default() };
    let refused = twenty().scan(&scan).map(drop).unwrap_err();
    assert!(matches!(refused, Error::Request(_)), "{refused}");
}

#[test]
fn a_limit_counts_over_batches_and_after_filters() {
    for batch_rows in [1, 3, 8192] {
        for limit in [0, 1, 3, 7, 20, 21] {
            let scan = Scan { limit: Some(limit), batch_rows, ..Scan::default() };
            assert_eq!(numbers(&scan), range(0..limit.min(20)));
            let scan = Scan { filters: filters(&["number>=5"]), ..scan };
            assert_eq!(numbers(&scan), range(5..(limit + 5).min(20)));
        }
    }
}

#[test]
fn rows_beyond_a_limit_are_not_read() {
    let table = twenty_broken_from(10);
    let scan = Scan { limit: Some(10), ..Scan::default() };
    let rows: usize = table.scan(&scan).unwrap().map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, 10);
}

#[test]
fn an_error_ends_the_scan() {
    let table = twenty_broken_from(10);
    let scan = Scan { batch_rows: 5, ..Scan::default() };
    let outcomes: Vec<_> = table.scan(&scan).unwrap().map(|batch| batch.is_ok()).collect();
    assert_eq!(outcomes, [true, true, false]);
}

#[test]
fn every_comparison_reads_as_one_types_it() {
    assert_eq!(matching("number=7"), [7]);
    assert_eq!(matching("number==7"), [7]);
    assert_eq!(matching("number!=0"), range(1..20));
    assert_eq!(matching("number<3"), [0, 1, 2]);
    assert_eq!(matching("number<=3"), [0, 1, 2, 3]);
    assert_eq!(matching("number>17"), [18, 19]);
    assert_eq!(matching(" number >= 17 "), [17, 18, 19]);
    assert_eq!(matching("below_ten<-8"), [0, 1]);
    assert_eq!(matching("name=n07"), [7]);
    assert_eq!(matching("name>n17"), [18, 19]);
    assert_eq!(matching("name>n19"), [0; 0]);
}

#[test]
fn a_null_meets_no_condition() {
    assert_eq!(matching("half>=4"), [18, 19]);
    assert_eq!(matching("half!=4"), [1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 19]);
    assert_eq!(matching("half=-5"), [0; 0]);
}

#[test]
fn all_of_several_conditions_must_be_met() {
    let filters = filters(&["number>=4", "half<=-1", "name!=n05"]);
    assert_eq!(numbers(&Scan { filters, batch_rows: 3, ..Scan::default() }), [6, 7]);
}

#[test]
fn a_filter_computes_other_columns_only_where_rows_are_left() {
    let (table, asked) = twenty_asked();
    let scan = Scan { filters: filters(&["number=100"]), ..Scan::default() };
    assert_eq!(table.scan(&scan).unwrap().count(), 0);
    assert_eq!(*asked.lock().unwrap(), [0]);
}

fn why_not(condition: &str) -> String {
    Filter::parse(&twenty().schema(), condition).unwrap_err().to_string()
}

#[test]
fn a_condition_that_makes_no_sense_says_why() {
    assert_eq!(
        why_not("size>=1"),
        "there is no column size; there are number, name, half, below_ten"
    );
    assert_eq!(why_not("number=seven"), "number cannot be compared with seven");
    assert_eq!(why_not("number>=-1"), "number cannot be compared with -1");
    assert_eq!(why_not("number"), "number is no condition such as kind=scalar");
    assert!(why_not("=3").starts_with("there is no column ;"));
}

#[test]
fn the_leftmost_comparison_counts() {
    let filter = Filter::parse(&twenty().schema(), "name!=a<=b").unwrap();
    assert_eq!((filter.column, filter.comparison), (1, Comparison::NotEqual));
}

#[test]
fn truth_and_every_width_of_number_can_be_compared() {
    use DataType::{
        Boolean, Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64,
    };
    let numbers = [Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64, Float32, Float64];
    for data_type in numbers {
        let schema = Schema::new(vec![Field::new("x", data_type.clone(), false)]);
        assert!(Filter::parse(&schema, "x<=100").is_ok(), "{data_type}");
        assert!(Filter::parse(&schema, "x<=ten").is_err(), "{data_type}");
    }
    let schema = Schema::new(vec![Field::new("x", Boolean, false)]);
    assert!(Filter::parse(&schema, "x=true").is_ok());
    assert!(Filter::parse(&schema, "x=1").is_err());
    let list = DataType::new_list(DataType::Int32, true);
    let schema = Schema::new(vec![Field::new("x", list, false)]);
    assert!(Filter::parse(&schema, "x=1").is_err());
}
