//! Records and values as text: one form for golden files and for comparisons.

mod cells;

use std::fmt::{self, Write};

use kymo_core::{Error, Result, Value};
use kymo_model::arrays::volume;
use kymo_model::{ArrayValues, Dataset, DumpRequest, Field, Flow, Record, RecordSink};

pub(crate) use cells::{cells, rows};

/// Values of an array read at once.
const CHUNK_VALUES: u64 = 4096;

/// Values of one array that are kept: what a sound sample has is far less, and what a damaged
/// one claims may have no end.
const VALUES_MAX: u64 = 1 << 18;

/// A record that outlives its dataset.
#[derive(Debug, Clone)]
pub struct Captured {
    /// See [`Record::kind`].
    pub kind: &'static str,
    /// See [`Record::index`].
    pub index: u64,
    /// See [`Record::offset`].
    pub offset: u64,
    /// See [`Record::fields`].
    pub fields: Vec<(&'static str, Content)>,
}

/// The value of a field, or all values of an array.
#[derive(Debug, Clone)]
pub enum Content {
    /// A value.
    Value(Value),
    /// The lengths of an array, and its values in storage order.
    Array(Vec<u64>, Vec<Value>),
}

/// Every record of a dataset.
pub fn capture(dataset: &dyn Dataset) -> Result<Vec<Captured>> {
    let mut sink = Capture(Vec::new());
    dataset.dump(&DumpRequest::default(), &mut sink)?;
    Ok(sink.0)
}

/// Every record of a dataset as the text of golden files.
pub fn dump(dataset: &dyn Dataset) -> Result<String> {
    let records: Vec<_> = capture(dataset)?.iter().map(Captured::to_string).collect();
    Ok(records.join("\n"))
}

impl Captured {
    /// The record without its place in the file.
    #[must_use]
    pub fn contents(&self) -> String {
        Contents(self).to_string()
    }
}

impl fmt::Display for Captured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {} at {:#x}", self.kind, self.index, self.offset)?;
        Contents(self).fmt(f)
    }
}

/// The fields of a record, a line each, and the rows of its arrays.
struct Contents<'a>(&'a Captured);

impl fmt::Display for Contents<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, content) in &self.0.fields {
            match content {
                Content::Value(value) => writeln!(f, "  {name} = {}", literal(value))?,
                Content::Array(shape, values) => {
                    let lengths: Vec<_> = shape.iter().map(u64::to_string).collect();
                    writeln!(f, "  {name} = array of {}", lengths.join(" x "))?;
                    array(f, shape, values)?;
                }
            }
        }
        Ok(())
    }
}

/// One line for each run along the fastest dimension, with its index where there are several.
fn array(f: &mut fmt::Formatter<'_>, shape: &[u64], values: &[Value]) -> fmt::Result {
    let row = shape.last().copied().unwrap_or(1).max(1);
    let row = usize::try_from(row).unwrap_or(usize::MAX);
    for (number, values) in values.chunks(row).enumerate() {
        f.write_str("   ")?;
        if shape.len() > 1 {
            write!(f, " {number}:")?;
        }
        for value in values {
            write!(f, " {}", literal(value))?;
        }
        f.write_char('\n')?;
    }
    Ok(())
}

/// A value so that text cannot be mistaken for a number or for nothing.
pub(crate) fn literal(value: &Value) -> String {
    match value {
        Value::Text(text) => format!("{text:?}"),
        Value::List(values) => {
            let values: Vec<_> = values.iter().map(literal).collect();
            format!("[{}]", values.join(", "))
        }
        other => other.to_string(),
    }
}

struct Capture(Vec<Captured>);

impl RecordSink for Capture {
    fn record(&mut self, record: &Record<'_>) -> Result<Flow> {
        let fields = record.fields.iter();
        let fields = fields.map(|(name, field)| Ok((*name, content(field)?)));
        self.0.push(Captured {
            kind: record.kind,
            index: record.index,
            offset: record.offset,
            fields: fields.collect::<Result<_>>()?,
        });
        Ok(Flow::More)
    }

    fn text(&mut self, _text: &[u8]) -> Result<Flow> {
        Err(Error::request("a dump without a style gave text"))
    }
}

fn content(field: &Field<'_>) -> Result<Content> {
    Ok(match field {
        Field::Value(value) => Content::Value(value.clone()),
        Field::Array(array) => Content::Array(array.shape().to_vec(), values_of(*array)?),
    })
}

fn values_of(array: &dyn ArrayValues) -> Result<Vec<Value>> {
    let total = volume(array.shape()).min(VALUES_MAX);
    let mut values = Vec::new();
    let mut first = 0;
    while first < total {
        let end = total.min(first + CHUNK_VALUES);
        let chunk = array.read(first..end)?;
        assert_eq!(chunk.len() as u64, end - first, "values {first}..{end}");
        values.extend(cells(&chunk));
        first = end;
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_reads_well() {
        let record = Captured {
            kind: "element",
            index: 3,
            offset: 0x1a4,
            fields: vec![
                ("name", Content::Value("t\n".into())),
                ("path", Content::Value(Value::Null)),
                ("bounds", Content::Value([2_u8, 2].into_iter().collect())),
                ("values", Content::Array(vec![2, 2], (0_u8..4).map(Value::from).collect())),
            ],
        };
        let expected = "element 3 at 0x1a4\n  name = \"t\\n\"\n  path = -\n  bounds = [2, 2]\n  \
                        values = array of 2 x 2\n    0: 0 1\n    1: 2 3\n";
        assert_eq!(record.to_string(), expected);
    }
}
