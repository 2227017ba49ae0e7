//! Arrow tables: elements, variables, attributes.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::{
    Int32Builder, ListBuilder, StringBuilder, UInt32Builder, UInt64Builder,
};
use arrow_array::{ArrayRef, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use kymo_core::{Error, Result};
use kymo_model::Table;
use kymo_model::arrays::{Attribute, Target, Variable};
use kymo_model::table::{ColumnTable, Columns};

use crate::Reader;
use crate::model::{VariableElements, attribute};
use crate::read::scalar_value;
use crate::types::{Dimension, Dimensions, Element};

/// Every table of a file.
pub(crate) fn tables(reader: &Arc<Reader>) -> Vec<Arc<dyn Table>> {
    vec![
        ColumnTable::new(Elements(Arc::clone(reader))),
        ColumnTable::new(Variables(Arc::clone(reader))),
        ColumnTable::new(Attributes(Arc::clone(reader))),
    ]
}

fn schema(fields: Vec<Field>) -> SchemaRef {
    Arc::new(Schema::new(fields))
}

fn list_of(name: &str, item: DataType) -> Field {
    Field::new(name, DataType::List(Arc::new(Field::new_list_field(item, true))), true)
}

fn no_column(index: usize) -> Error {
    Error::request(format!("there is no column {index}"))
}

/// One row an element, in the order of the file.
struct Elements(Arc<Reader>);

/// Text in one batch of rows, but for the last row: names may be of any length.
const BATCH_BYTES: usize = 16 << 20;

fn scalar_bytes(element: &Element<'_>) -> usize {
    let scalar = element.payload.as_ref().filter(|payload| payload.dimensions.is_none());
    scalar.map_or(0, |payload| payload.bytes.len())
}

type Rows<'r, 'a> = &'r [Element<'a>];

fn numbers(rows: Rows<'_, '_>, pick: impl Fn(&Element<'_>) -> Option<u64>) -> ArrayRef {
    Arc::new(rows.iter().map(pick).collect::<UInt64Array>())
}

fn texts(rows: Rows<'_, '_>, write: impl Fn(&Element<'_>, &mut StringBuilder)) -> ArrayRef {
    let mut builder = StringBuilder::with_capacity(rows.len(), rows.len() * 16);
    for element in rows {
        write(element, &mut builder);
    }
    Arc::new(builder.finish())
}

fn bounds(
    rows: Rows<'_, '_>,
    pick: fn(Dimension) -> i32,
    wanted: fn(&Dimensions<'_>) -> bool,
) -> ArrayRef {
    let mut builder = ListBuilder::new(Int32Builder::new());
    for element in rows {
        let dimensions = element.payload.as_ref().and_then(|payload| payload.dimensions);
        match dimensions.filter(wanted) {
            Some(dimensions) => builder.append_value(dimensions.iter().map(pick).map(Some)),
            None => builder.append_null(),
        }
    }
    Arc::new(builder.finish())
}

impl Columns for Elements {
    type Row<'a> = Element<'a>;

    fn name(&self) -> &'static str {
        "elements"
    }

    fn about(&self) -> &'static str {
        "every element in the order of the file"
    }

    fn schema(&self) -> SchemaRef {
        schema(vec![
            Field::new("offset", DataType::UInt64, false),
            Field::new("length", DataType::UInt64, false),
            Field::new("kind", DataType::Utf8, false),
            Field::new("path", DataType::Utf8, false),
            Field::new("name", DataType::Utf8, false),
            Field::new("datatype", DataType::Utf8, true),
            Field::new("datatype_code", DataType::UInt32, true),
            Field::new("element_bytes", DataType::UInt64, true),
            list_of("local_bounds", DataType::Int32),
            list_of("global_bounds", DataType::Int32),
            list_of("global_offsets", DataType::Int32),
            Field::new("payload_offset", DataType::UInt64, true),
            Field::new("payload_bytes", DataType::UInt64, true),
            Field::new("text", DataType::Utf8, true),
            Field::new("fault", DataType::Utf8, true),
        ])
    }

    /// Returns the columns for the place, the kind, the type and the shape.
    fn brief(&self) -> Vec<usize> {
        vec![0, 1, 2, 3, 4, 5, 8]
    }

    fn row_count(&self) -> u64 {
        self.0.len() as u64
    }

    fn rows(&self, rows: Range<usize>) -> Result<Vec<Element<'_>>> {
        let mut bytes = 0;
        let mut elements = Vec::with_capacity(rows.len());
        for element in rows.map_while(|index| self.0.element(index)) {
            bytes += element.name.len() + element.path.len() + scalar_bytes(&element);
            elements.push(element);
            if bytes > BATCH_BYTES {
                break;
            }
        }
        Ok(elements)
    }

    fn column(&self, index: usize, rows: &[Element<'_>]) -> Result<ArrayRef> {
        let any = |_: &Dimensions<'_>| true;
        let global = |dimensions: &Dimensions<'_>| dimensions.is_global();
        Ok(match index {
            0 => numbers(rows, |element| Some(element.offset)),
            1 => numbers(rows, |element| Some(element.length)),
            2 => texts(rows, |element, out| {
                out.append_value(element.kind.map_or("none", |kind| kind.name()));
            }),
            3 => texts(rows, |element, out| out.append_value(element.path_text())),
            4 => texts(rows, |element, out| out.append_value(element.name_text())),
            5 => texts(rows, |element, out| {
                out.append_option(element.payload.as_ref().map(|payload| payload.datatype.name()));
            }),
            6 => {
                let mut builder = UInt32Builder::new();
                for element in rows {
                    let payload = element.payload.as_ref();
                    builder.append_option(payload.map(|payload| payload.datatype.0));
                }
                Arc::new(builder.finish())
            }
            7 => numbers(rows, |element| {
                (element.payload.is_some() && element.fault.is_none())
                    .then_some(element.element_bytes)
            }),
            8 => bounds(rows, |d| d.local_bound, any),
            9 => bounds(rows, |d| d.global_bound, global),
            10 => bounds(rows, |d| d.global_offset, global),
            11 => numbers(rows, |element| Some(element.payload.as_ref()?.range.start)),
            12 => numbers(rows, |element| Some(element.payload.as_ref()?.stated_bytes)),
            13 => texts(rows, |element, out| {
                let payload = element.payload.as_ref();
                let scalar = payload.filter(|payload| payload.dimensions.is_none());
                let value = scalar.map(|_| scalar_value(element, self.0.endian()));
                out.append_option(value.map(|value| match value {
                    kymo_core::Value::Text(text) => text,
                    other => other.to_string(),
                }));
            }),
            14 => texts(rows, |element, out| {
                out.append_option(element.fault.as_ref().map(ToString::to_string));
            }),
            _ => return Err(no_column(index)),
        })
    }
}

/// One row a variable, in the order of first appearance.
struct Variables(Arc<Reader>);

impl Columns for Variables {
    type Row<'a> = Variable;

    fn name(&self) -> &'static str {
        "variables"
    }

    fn about(&self) -> &'static str {
        "scalars and arrays by path, repeated names joined as steps and blocks"
    }

    fn schema(&self) -> SchemaRef {
        schema(vec![
            Field::new("path", DataType::Utf8, false),
            Field::new("datatype", DataType::Utf8, false),
            Field::new("kind", DataType::Utf8, false),
            Field::new("rank", DataType::UInt64, false),
            Field::new("steps", DataType::UInt64, false),
            Field::new("blocks", DataType::UInt64, false),
            list_of("min_shape", DataType::UInt64),
            list_of("max_shape", DataType::UInt64),
        ])
    }

    fn row_count(&self) -> u64 {
        self.0.grouping().variables().len() as u64
    }

    fn rows(&self, rows: Range<usize>) -> Result<Vec<Variable>> {
        let grouped = self.0.grouping().variables().get(rows).unwrap_or_default();
        Ok(grouped.iter().map(VariableElements::variable).collect())
    }

    fn column(&self, index: usize, rows: &[Variable]) -> Result<ArrayRef> {
        let variables = rows.iter();
        let shapes = |shapes: &mut dyn Iterator<Item = &Vec<u64>>| {
            let mut builder = ListBuilder::new(UInt64Builder::new());
            shapes.for_each(|shape| builder.append_value(shape.iter().copied().map(Some)));
            Arc::new(builder.finish())
        };
        Ok(match index {
            0 => Arc::new(StringArray::from_iter_values(variables.map(|v| &v.path))),
            1 => Arc::new(StringArray::from_iter_values(variables.map(|v| &v.type_name))),
            2 => Arc::new(StringArray::from_iter_values(variables.map(|v| v.kind.name()))),
            3 => Arc::new(variables.map(|v| Some(v.rank as u64)).collect::<UInt64Array>()),
            4 => Arc::new(variables.map(|v| Some(v.steps)).collect::<UInt64Array>()),
            5 => Arc::new(variables.map(|v| Some(v.blocks)).collect::<UInt64Array>()),
            6 => shapes(&mut variables.map(|v| &v.min_shape)),
            7 => shapes(&mut variables.map(|v| &v.max_shape)),
            _ => return Err(no_column(index)),
        })
    }
}

/// One row an attribute, in the order of the file.
struct Attributes(Arc<Reader>);

impl Columns for Attributes {
    type Row<'a> = Attribute;

    fn name(&self) -> &'static str {
        "attributes"
    }

    fn about(&self) -> &'static str {
        "values that describe variables and groups"
    }

    fn schema(&self) -> SchemaRef {
        schema(vec![
            Field::new("offset", DataType::UInt64, false),
            Field::new("describes", DataType::Utf8, false),
            Field::new("path", DataType::Utf8, false),
            Field::new("name", DataType::Utf8, false),
            Field::new("datatype", DataType::Utf8, false),
            Field::new("value", DataType::Utf8, false),
        ])
    }

    fn row_count(&self) -> u64 {
        self.0.grouping().attributes().len() as u64
    }

    fn rows(&self, rows: Range<usize>) -> Result<Vec<Attribute>> {
        let mut bytes = 0;
        let mut attributes = Vec::with_capacity(rows.len());
        let indices = self.0.grouping().attributes().get(rows).unwrap_or_default();
        for element in indices.iter().map_while(|&index| self.0.element(index as usize)) {
            bytes += element.name.len() + element.path.len() + scalar_bytes(&element);
            attributes.extend(attribute(&self.0, &element, &mut u64::MAX.clone()));
            if bytes > BATCH_BYTES {
                break;
            }
        }
        Ok(attributes)
    }

    fn column(&self, index: usize, rows: &[Attribute]) -> Result<ArrayRef> {
        let all = rows.iter();
        let texts = |texts: &mut dyn Iterator<Item = String>| {
            Arc::new(StringArray::from_iter_values(texts)) as ArrayRef
        };
        Ok(match index {
            0 => Arc::new(all.map(|attribute| Some(attribute.offset)).collect::<UInt64Array>()),
            1 => texts(&mut all.map(|attribute| describes(attribute.target).to_owned())),
            2 => texts(&mut all.map(|attribute| attribute.path.clone())),
            3 => texts(&mut all.map(|attribute| attribute.name.clone())),
            4 => texts(&mut all.map(|attribute| attribute.type_name.clone().into_owned())),
            5 => texts(&mut all.map(|attribute| match &attribute.value {
                kymo_core::Value::Text(text) => text.clone(),
                other => other.to_string(),
            })),
            _ => return Err(no_column(index)),
        })
    }
}

fn describes(target: Target) -> &'static str {
    match target {
        Target::Variable => "variable",
        Target::Group => "group",
        Target::Nothing => "nothing",
    }
}
