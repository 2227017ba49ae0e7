//! Elements as records, for `kymo dump`.

use std::cell::Cell;
use std::ops::Range;

use arrow_array::ArrayRef;
use kymo_core::{Result, Value};
use kymo_model::{ArrayValues, DumpRequest, Field, Flow, Record, RecordSink};

use crate::Reader;
use crate::read::{ValueType, needs_rounding, scalar_value, values};
use crate::types::{Dimension, Element};

/// Gives every element in the order of the file.
pub(crate) fn dump(
    reader: &Reader,
    request: &DumpRequest,
    sink: &mut dyn RecordSink,
) -> Result<()> {
    for (index, element) in reader.elements().enumerate() {
        let array = array_of(reader, &element);
        let record = Record {
            kind: "element",
            index: index as u64,
            offset: element.offset,
            fields: fields(reader, &element, request, array.as_ref()),
        };
        if sink.record(&record)? == Flow::Stop {
            break;
        }
    }
    Ok(())
}

fn fields<'a>(
    reader: &Reader,
    element: &Element<'_>,
    request: &DumpRequest,
    array: Option<&'a Values<'_>>,
) -> Vec<(&'static str, Field<'a>)> {
    let mut fields: Vec<(&'static str, Field<'a>)> = vec![
        ("length", element.length.into()),
        ("kind", element.kind.map_or("none", |kind| kind.name()).into()),
        ("name", element.name_text().into_owned().into()),
        ("path", element.path_text().into_owned().into()),
    ];
    if let Some(payload) = &element.payload {
        fields.push(("datatype", payload.datatype.name().into_owned().into()));
        fields.push(("datatype_code", payload.datatype.0.into()));
        if element.fault.is_none() {
            fields.push(("element_bytes", element.element_bytes.into()));
        }
        if let Some(dimensions) = payload.dimensions {
            let list = |pick: fn(Dimension) -> i32| dimensions.iter().map(pick).collect::<Value>();
            fields.push(("local_bounds", list(|d| d.local_bound).into()));
            if dimensions.is_global() {
                fields.push(("global_bounds", list(|d| d.global_bound).into()));
                fields.push(("global_offsets", list(|d| d.global_offset).into()));
            }
        }
        fields.push(("payload_offset", payload.range.start.into()));
        fields.push(("payload_bytes", payload.stated_bytes.into()));
        match array {
            Some(_) if request.headers_only => {}
            Some(_) if element.is_missing_values() => fields.push(("values", Value::Null.into())),
            Some(array) => fields.push(("values", Field::Array(array))),
            None if payload.dimensions.is_none() && element.fault.is_none() => {
                fields.push(("value", scalar_value(element, reader.endian()).into()));
            }
            None => {}
        }
    }
    for (name, error) in [("oddity", &element.oddity), ("fault", &element.fault)] {
        if let Some(error) = error {
            fields.push((name, error.to_string().into()));
        }
    }
    fields
}

/// The values of a sound dataset.
#[derive(Debug)]
struct Values<'a> {
    element: &'a Element<'a>,
    value_type: ValueType,
    at_once: u64,
    has_rounded: Cell<bool>,
    shape: Vec<u64>,
    endian: kymo_core::bytes::Endian,
}

fn array_of<'a>(reader: &Reader, element: &'a Element<'a>) -> Option<Values<'a>> {
    let dimensions = element.payload.as_ref()?.dimensions?;
    if element.fault.is_some() {
        return None;
    }
    let shape = dimensions.iter().map(|d| u64::try_from(d.local_bound).unwrap_or(0)).collect();
    let value_type = ValueType::from_element(element)?;
    let at_once = reader.values_per_read(value_type);
    let (endian, has_rounded) = (reader.endian(), Cell::new(false));
    Some(Values { element, value_type, at_once, has_rounded, shape, endian })
}

impl ArrayValues for Values<'_> {
    fn shape(&self) -> &[u64] {
        &self.shape
    }

    fn values_per_read(&self) -> u64 {
        self.at_once
    }

    fn has_rounded(&self) -> bool {
        self.has_rounded.get()
    }

    fn read(&self, range: Range<u64>) -> Result<ArrayRef> {
        if needs_rounding(self.element, self.value_type, &range, self.endian) {
            self.has_rounded.set(true);
        }
        values(self.element, self.value_type, range, self.endian)
    }
}
