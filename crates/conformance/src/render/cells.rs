//! The values of Arrow arrays, one by one.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow_schema::DataType;
use kymo_core::Value;

/// The rows of a batch, each with one value a column.
pub(crate) fn rows(batch: &RecordBatch) -> Vec<Vec<Value>> {
    let columns: Vec<_> = batch.columns().iter().map(cells).collect();
    let row = |row: usize| columns.iter().map(|column| column[row].clone()).collect();
    (0..batch.num_rows()).map(row).collect()
}

/// The values of an array; a complex number is a structure of `re` and `im`.
pub(crate) fn cells(array: &ArrayRef) -> Vec<Value> {
    let each = |value: &dyn Fn(usize) -> Value| (0..array.len()).map(value).collect();
    let known = |value: &dyn Fn(usize) -> Value| {
        each(&|row| {
            if array.is_null(row) { Value::Null } else { value(row) }
        })
    };
    match array.data_type() {
        DataType::Null => each(&|_| Value::Null),
        DataType::Boolean => known(&|row| array.as_boolean().value(row).into()),
        DataType::Int8 => known(&|row| number::<Int8Type>(array, row)),
        DataType::Int16 => known(&|row| number::<Int16Type>(array, row)),
        DataType::Int32 => known(&|row| number::<Int32Type>(array, row)),
        DataType::Int64 => known(&|row| number::<Int64Type>(array, row)),
        DataType::UInt8 => known(&|row| number::<UInt8Type>(array, row)),
        DataType::UInt16 => known(&|row| number::<UInt16Type>(array, row)),
        DataType::UInt32 => known(&|row| number::<UInt32Type>(array, row)),
        DataType::UInt64 => known(&|row| number::<UInt64Type>(array, row)),
        DataType::Float32 => known(&|row| number::<Float32Type>(array, row)),
        DataType::Float64 => known(&|row| number::<Float64Type>(array, row)),
        DataType::Utf8 => known(&|row| array.as_string::<i32>().value(row).into()),
        DataType::LargeUtf8 => known(&|row| array.as_string::<i64>().value(row).into()),
        DataType::Utf8View => known(&|row| array.as_string_view().value(row).into()),
        DataType::Binary => known(&|row| array.as_binary::<i32>().value(row).to_vec().into()),
        DataType::LargeBinary => known(&|row| array.as_binary::<i64>().value(row).to_vec().into()),
        DataType::FixedSizeBinary(_) => {
            known(&|row| array.as_fixed_size_binary().value(row).to_vec().into())
        }
        DataType::List(_) => known(&|row| list(&array.as_list::<i32>().value(row))),
        DataType::LargeList(_) => known(&|row| list(&array.as_list::<i64>().value(row))),
        DataType::FixedSizeList(..) => known(&|row| list(&array.as_fixed_size_list().value(row))),
        DataType::Struct(_) => known(&|row| structure(array.as_struct(), row)),
        DataType::Dictionary(key, _) => dictionary(array, key),
        other => panic!("the kit cannot show {other} yet: add it to render/cells.rs"),
    }
}

fn number<T: ArrowPrimitiveType>(array: &ArrayRef, row: usize) -> Value
where
    T::Native: Into<Value>,
{
    array.as_primitive::<T>().value(row).into()
}

fn list(values: &ArrayRef) -> Value {
    Value::List(cells(values))
}

fn structure(array: &StructArray, row: usize) -> Value {
    let part = |column: &ArrayRef| cells(&column.slice(row, 1)).remove(0);
    let parts: Vec<_> = array.columns().iter().map(part).collect();
    match (array.column_names().as_slice(), parts.as_slice()) {
        (["re", "im"], [Value::Float(re), Value::Float(im)]) => Value::Complex([*re, *im]),
        (["re", "im"], [Value::Float32(re), Value::Float32(im)]) => Value::Complex32([*re, *im]),
        _ => Value::List(parts),
    }
}

fn dictionary(array: &ArrayRef, key: &DataType) -> Vec<Value> {
    fn look_up<K: ArrowDictionaryKeyType>(array: &ArrayRef) -> Vec<Value> {
        let dictionary = array.as_dictionary::<K>();
        let values = cells(dictionary.values());
        let value = |row| dictionary.key(row).map_or(Value::Null, |key| values[key].clone());
        (0..array.len()).map(value).collect()
    }
    match key {
        DataType::Int8 => look_up::<Int8Type>(array),
        DataType::UInt8 => look_up::<UInt8Type>(array),
        DataType::Int16 => look_up::<Int16Type>(array),
        DataType::UInt16 => look_up::<UInt16Type>(array),
        DataType::Int32 => look_up::<Int32Type>(array),
        DataType::UInt32 => look_up::<UInt32Type>(array),
        other => panic!("the kit cannot show a dictionary of {other} yet"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{DictionaryArray, Float64Array, Int32Array, StringArray};
    use arrow_schema::Field;

    use super::*;

    #[test]
    fn nulls_are_nothing_and_text_is_text() {
        let array: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None]));
        assert_eq!(cells(&array), [Value::from("a"), Value::Null]);
    }

    #[test]
    fn a_structure_of_re_and_im_is_a_complex_number() {
        let part = |name: &str, value: f64| {
            let field = Arc::new(Field::new(name, DataType::Float64, false));
            (field, Arc::new(Float64Array::from(vec![value])) as ArrayRef)
        };
        let array: ArrayRef = Arc::new(StructArray::from(vec![part("re", 1.0), part("im", 2.0)]));
        assert_eq!(cells(&array), [Value::Complex([1.0, 2.0])]);
    }

    #[test]
    fn a_dictionary_shows_its_values() {
        let keys = Int32Array::from(vec![Some(1), None, Some(0)]);
        let values = Arc::new(StringArray::from(vec!["zero", "one"]));
        let array: ArrayRef = Arc::new(DictionaryArray::new(keys, values));
        assert_eq!(cells(&array), [Value::from("one"), Value::Null, Value::from("zero")]);
    }
}
