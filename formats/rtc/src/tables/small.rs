//! Tables of what the file is held as: streams, Units, sessions.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field, SchemaRef};
use kymo_core::{Error, Result, Value};
use kymo_model::Table;
use kymo_model::table::{ColumnTable, Columns, json_field};

use super::schema;
use crate::Reader;
use crate::dump::{attributes, clock};
use crate::read::Statistics;
use crate::types::{Session, Stream, Unit};

pub(super) fn tables(reader: &Arc<Reader>) -> [Arc<dyn Table>; 3] {
    [
        ColumnTable::new(Streams(Arc::clone(reader))),
        ColumnTable::new(Units(Arc::clone(reader))),
        ColumnTable::new(Sessions(Arc::clone(reader))),
    ]
}

fn no_column(index: usize) -> Error {
    Error::request(format!("there is no column {index}"))
}

fn numbers<R>(rows: &[R], pick: impl Fn(&R) -> Option<u64>) -> ArrayRef {
    Arc::new(rows.iter().map(pick).collect::<UInt64Array>())
}

fn texts<R>(rows: &[R], pick: impl Fn(&R) -> Option<String>) -> ArrayRef {
    Arc::new(rows.iter().map(pick).collect::<StringArray>())
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Text(text) => Some(text),
        other => Some(other.to_string()),
    }
}

/// One row a stream.
struct Streams(Arc<Reader>);

impl Columns for Streams {
    type Row<'a> = (&'a Stream, &'a Statistics);

    fn name(&self) -> &'static str {
        "streams"
    }

    fn about(&self) -> &'static str {
        "every stream, what it is and how much it has"
    }

    fn schema(&self) -> SchemaRef {
        schema(vec![
            Field::new("recording", DataType::UInt64, false),
            Field::new("offset", DataType::UInt64, false),
            Field::new("id", DataType::UInt32, false),
            Field::new("name", DataType::Utf8, false),
            Field::new("format", DataType::Utf8, false),
            Field::new("length", DataType::UInt64, true),
            Field::new("cont", DataType::Boolean, false),
            Field::new("clock", DataType::Utf8, true),
            Field::new("about", DataType::Utf8, true),
            json_field("attributes"),
            Field::new("messages", DataType::UInt64, false),
            Field::new("frames", DataType::UInt64, false),
            Field::new("payload_bytes", DataType::UInt64, false),
            Field::new("first_ns", DataType::Int64, true),
            Field::new("last_ns", DataType::Int64, true),
            Field::new("messages_per_second", DataType::Float64, true),
        ])
    }

    fn brief(&self) -> Vec<usize> {
        vec![2, 3, 4, 7, 10, 12]
    }

    fn row_count(&self) -> u64 {
        self.0.scan().defined.len() as u64
    }

    fn rows(&self, rows: Range<usize>) -> Result<Vec<Self::Row<'_>>> {
        let scan = self.0.scan();
        let all = scan.defined.iter().filter_map(|index| {
            Some((scan.catalog.streams.get(*index)?, scan.statistics.get(*index)?))
        });
        Ok(all.skip(rows.start).take(rows.len()).collect())
    }

    fn column(&self, index: usize, rows: &[Self::Row<'_>]) -> Result<ArrayRef> {
        let time = |pick: fn(&Statistics) -> Option<i64>| -> ArrayRef {
            Arc::new(rows.iter().map(|(_, statistics)| pick(statistics)).collect::<Int64Array>())
        };
        Ok(match index {
            0 => numbers(rows, |(stream, _)| Some(stream.session as u64)),
            1 => numbers(rows, |(stream, _)| Some(stream.offset)),
            2 => Arc::new(rows.iter().map(|(stream, _)| Some(stream.id)).collect::<UInt32Array>()),
            3 => texts(rows, |(stream, _)| Some(stream.name.clone())),
            4 => texts(rows, |(stream, _)| Some(stream.format.clone())),
            5 => numbers(rows, |(stream, _)| stream.length_bytes),
            6 => {
                let is_cont = rows.iter().map(|(stream, _)| Some(stream.is_cont));
                Arc::new(is_cont.collect::<BooleanArray>())
            }
            7 => texts(rows, |(stream, _)| text(clock(stream))),
            8 => texts(rows, |(stream, _)| stream.about.clone()),
            9 => texts(rows, |(stream, _)| text(attributes(stream))),
            10 => numbers(rows, |(_, statistics)| Some(statistics.messages)),
            11 => numbers(rows, |(_, statistics)| Some(statistics.frames)),
            12 => numbers(rows, |(_, statistics)| Some(statistics.payload_bytes)),
            13 => time(|statistics| statistics.times.as_ref().map(|times| times.start().0)),
            14 => time(|statistics| statistics.times.as_ref().map(|times| times.end().0)),
            15 => {
                let rates = rows.iter().map(|(_, statistics)| statistics.rate());
                Arc::new(rates.collect::<Float64Array>())
            }
            _ => return Err(no_column(index)),
        })
    }
}

/// One row a Unit.
struct Units(Arc<Reader>);

impl Columns for Units {
    type Row<'a> = &'a Unit;

    fn name(&self) -> &'static str {
        "units"
    }

    fn about(&self) -> &'static str {
        "every Unit, with what became of its checksum"
    }

    fn schema(&self) -> SchemaRef {
        schema(vec![
            Field::new("recording", DataType::UInt64, false),
            Field::new("offset", DataType::UInt64, false),
            Field::new("end", DataType::UInt64, false),
            Field::new("count", DataType::UInt64, true),
            Field::new("frames", DataType::UInt64, false),
            Field::new("lost_bytes", DataType::UInt64, false),
            Field::new("checksum", DataType::Utf8, false),
        ])
    }

    fn row_count(&self) -> u64 {
        self.0.scan().units.len() as u64
    }

    fn rows(&self, rows: Range<usize>) -> Result<Vec<Self::Row<'_>>> {
        Ok(self.0.scan().units.iter().skip(rows.start).take(rows.len()).collect())
    }

    fn column(&self, index: usize, rows: &[Self::Row<'_>]) -> Result<ArrayRef> {
        Ok(match index {
            0 => numbers(rows, |unit| Some(unit.session as u64)),
            1 => numbers(rows, |unit| Some(unit.offset)),
            2 => numbers(rows, |unit| Some(unit.end)),
            3 => numbers(rows, |unit| unit.count),
            4 => numbers(rows, |unit| Some(unit.frames)),
            5 => numbers(rows, |unit| Some(unit.lost_bytes)),
            6 => texts(rows, |unit| Some(unit.checksum.name().to_owned())),
            _ => return Err(no_column(index)),
        })
    }
}

/// One row a session.
struct Sessions(Arc<Reader>);

impl Columns for Sessions {
    type Row<'a> = (u64, &'a Session);

    fn name(&self) -> &'static str {
        "sessions"
    }

    fn about(&self) -> &'static str {
        "every session: a run of the ruler, of which appended files have several"
    }

    fn schema(&self) -> SchemaRef {
        schema(vec![
            Field::new("recording", DataType::UInt64, false),
            Field::new("offset", DataType::UInt64, false),
            Field::new("end", DataType::UInt64, false),
            Field::new("first_count", DataType::UInt64, true),
            Field::new("unit_bytes", DataType::UInt64, true),
            Field::new("minor_unit_bytes", DataType::UInt64, true),
            Field::new("byte_order", DataType::Utf8, true),
        ])
    }

    fn row_count(&self) -> u64 {
        self.0.scan().sessions.len() as u64
    }

    fn rows(&self, rows: Range<usize>) -> Result<Vec<Self::Row<'_>>> {
        let all = (0..).zip(&self.0.scan().sessions);
        Ok(all.skip(rows.start).take(rows.len()).collect())
    }

    fn column(&self, index: usize, rows: &[Self::Row<'_>]) -> Result<ArrayRef> {
        Ok(match index {
            0 => numbers(rows, |(number, _)| Some(*number)),
            1 => numbers(rows, |(_, session)| Some(session.start)),
            2 => numbers(rows, |(_, session)| Some(session.end)),
            3 => numbers(rows, |(_, session)| session.first_count),
            4 => numbers(rows, |(_, session)| Some(session.ruler?.major)),
            5 => numbers(rows, |(_, session)| Some(session.ruler?.minor)),
            6 => texts(rows, |(_, session)| Some(session.endian?.name().to_owned())),
            _ => return Err(no_column(index)),
        })
    }
}
