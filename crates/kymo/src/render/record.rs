//! Records of a file, one below the other or one JSON object a line.

use std::borrow::Cow;
use std::io::Write;

use kymo_core::{Error, Result, Value};
use kymo_export::tables::values::{Notation, write_quoted, write_text, write_value};
use kymo_model::arrays::{Order, Selection, volume};
use kymo_model::{ArrayValues, Field, Flow, Record, RecordSink};

use super::array::{self, ArrayText};
use super::style;
use crate::output::Output;

/// Values of an array that are held at once.
const CHUNK_VALUES: u64 = 1 << 16;

/// Way in which records are to look.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Look<'a> {
    /// The file's name, where there are several.
    pub(crate) file: Option<&'a str>,
    /// Order that arrays are taken to have.
    pub(crate) order: Order,
    /// True if arrays of bytes are text.
    pub(crate) is_text: bool,
    /// True if the contents of arrays are left out.
    pub(crate) headers_only: bool,
}

/// Writes records for a person.
pub(crate) struct TextRecords<'a> {
    pub(crate) out: &'a mut Output,
    pub(crate) look: Look<'a>,
    pub(crate) left: u64,
    /// True if values were rounded to show them.
    pub(crate) rounded: bool,
}

impl RecordSink for TextRecords<'_> {
    fn record(&mut self, record: &Record<'_>) -> Result<Flow> {
        if self.left == 0 {
            return Ok(Flow::Stop);
        }
        self.left -= 1;
        let (title, faint) = (style::TITLE, style::FAINT);
        let (title, faint) = (self.out.paint().style(title), self.out.paint().style(faint));
        let Record { kind, index, offset, .. } = record;
        writeln!(self.out, "{title}{kind} {index}{title:#} at {offset:#x}")?;
        for (name, field) in &record.fields {
            match field {
                Field::Value(Value::Null) => {}
                Field::Value(value) => {
                    write!(self.out, "  {faint}{name}:{faint:#} ")?;
                    let mut text = Vec::new();
                    write_plain(value, &mut text);
                    text.push(b'\n');
                    self.out.write_all(&text)?;
                }
                Field::Array(values) => {
                    write!(self.out, "  {faint}{name}:{faint:#} ")?;
                    self.array(*values)?;
                }
            }
        }
        Ok(more_if(self.left > 0))
    }

    fn text(&mut self, text: &[u8]) -> Result<Flow> {
        self.out.write_all(text)?;
        Ok(Flow::More)
    }
}

impl TextRecords<'_> {
    fn array(&mut self, values: &dyn ArrayValues) -> Result<()> {
        let shape = values.shape();
        write!(self.out, "{}", array::shape(shape))?;
        if self.look.headers_only {
            return Ok(writeln!(self.out)?);
        }
        if shape.len() > 1 {
            let order = array::order_name(self.look.order);
            write!(self.out, ", {order} order assumed")?;
        }
        writeln!(self.out)?;
        let selection = Selection::all(shape);
        let mut text = ArrayText::new(self.out, &selection, self.look.order, 4, self.look.is_text);
        for range in chunks(volume(shape), values.values_per_read()) {
            text.values(&values.read(range)?)?;
        }
        self.rounded |= values.has_rounded();
        text.finish()
    }
}

/// Text stands as it is, unless one could not see where it begins and ends.
fn write_plain(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Text(text) if text.is_empty() || text.trim() != text || text.starts_with('"') => {
            write_quoted(text, out);
        }
        other => write_value(other, Notation::Text, out),
    }
}

/// Writes records as JSON, one object a line.
pub(crate) struct JsonRecords<'a> {
    pub(crate) out: &'a mut Output,
    pub(crate) look: Look<'a>,
    pub(crate) left: u64,
    /// True if values were rounded to show them.
    pub(crate) rounded: bool,
}

impl RecordSink for JsonRecords<'_> {
    fn record(&mut self, record: &Record<'_>) -> Result<Flow> {
        if self.left == 0 {
            return Ok(Flow::Stop);
        }
        self.left -= 1;
        let mut line = vec![b'{'];
        if let Some(file) = self.look.file {
            line.extend_from_slice(b"\"file\":");
            write_text(file, Notation::Json, &mut line);
            line.push(b',');
        }
        let Record { kind, index, offset, .. } = record;
        write!(line, "\"record\":\"{kind}\",\"index\":{index},\"offset\":{offset}")?;
        for (name, field) in &record.fields {
            match field {
                // It is there already.
                Field::Value(Value::UInt(value)) if *name == "offset" && value == offset => {}
                Field::Value(value) => {
                    write_key(&key(kind, name), &mut line);
                    write_value(value, Notation::Json, &mut line);
                }
                Field::Array(values) => {
                    self.out.write_all(&line)?;
                    line.clear();
                    self.array(name, *values)?;
                }
            }
        }
        line.extend_from_slice(b"}\n");
        self.out.write_all(&line)?;
        Ok(more_if(self.left > 0))
    }

    fn text(&mut self, _text: &[u8]) -> Result<Flow> {
        Err(Error::request("the style of another tool is no JSON"))
    }
}

impl JsonRecords<'_> {
    /// Writes the shape, then the values one after the other.
    fn array(&mut self, name: &str, values: &dyn ArrayValues) -> Result<()> {
        let mut keys = Vec::new();
        match name {
            "values" => write_key("shape", &mut keys),
            name => write_key(&format!("{name}_shape"), &mut keys),
        }
        let shape: Vec<_> = values.shape().iter().map(u64::to_string).collect();
        write!(keys, "[{}]", shape.join(","))?;
        write_key(name, &mut keys);
        keys.push(b'[');
        self.out.write_all(&keys)?;
        for range in chunks(volume(values.shape()), values.values_per_read()) {
            let is_first = range.start == 0;
            array::json_values(self.out, &values.read(range)?, is_first)?;
        }
        self.rounded |= values.has_rounded();
        Ok(self.out.write_all(b"]")?)
    }
}

/// Returns the name of a field of a record: as every object has some keys, a field of that name has
/// its kind before it.
pub(crate) fn key<'a>(kind: &str, name: &'a str) -> Cow<'a, str> {
    match name {
        "file" | "record" | "index" | "offset" => format!("{kind}_{name}").into(),
        name => name.into(),
    }
}

fn write_key(name: &str, line: &mut Vec<u8>) {
    line.push(b',');
    write_text(name, Notation::Json, line);
    line.push(b':');
}

fn more_if(wants_more: bool) -> Flow {
    if wants_more { Flow::More } else { Flow::Stop }
}

/// Ranges that go through so many values, a few at once.
fn chunks(total: u64, at_once: u64) -> impl Iterator<Item = std::ops::Range<u64>> {
    let mut next = 0_u64;
    std::iter::from_fn(move || {
        let start = next;
        next = total.min(start.saturating_add(at_once.clamp(1, CHUNK_VALUES)));
        (start < next).then_some(start..next)
    })
}
