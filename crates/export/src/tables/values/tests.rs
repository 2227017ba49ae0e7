use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{
    BinaryArray, DictionaryArray, Float32Array, Float64Array, Int32Array, ListArray, StringArray,
};
use kymo_core::Value;

use super::*;

fn written(array: impl Array + 'static, notation: Notation) -> Vec<String> {
    let array: ArrayRef = Arc::new(array);
    let cells = Cells::new(&array).unwrap();
    let write = |row| {
        let mut out = Vec::new();
        cells.write(row, notation, &mut out);
        String::from_utf8(out).unwrap()
    };
    (0..cells.len()).map(write).collect()
}

fn all(array: impl Array + Clone + 'static) -> [Vec<String>; 3] {
    [Notation::Text, Notation::Json, Notation::Csv].map(|notation| written(array.clone(), notation))
}

/// A cheap generator of bits: the numbers need only be many and varied.
fn bits() -> impl Iterator<Item = u64> {
    let next = |x: &u64| Some(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1442));
    std::iter::successors(Some(7_u64), next).map(|x| x ^ (x >> 29))
}

#[test]
fn floats_as_text_are_what_a_value_displays() {
    let edges = [0.0, -0.0, 1e-5, 9.9e-6, 1e15, 1e16, 1e17, 0.1, 123.456, -2.0, 5e-324];
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN_POSITIVE];
    let random = bits().take(20_000).map(f64::from_bits);
    for value in edges.into_iter().chain(special).chain(random) {
        let shown = written(Float64Array::from(vec![value]), Notation::Text);
        let displayed = Value::from(value).to_string();
        assert_eq!(shown[0], displayed);
    }
}

#[test]
fn single_floats_as_text_are_what_a_value_displays() {
    let edges = [0.0, -0.0, 1e-5, 9.9e-6, 1e12, 1e13, 1e15, 1e16, 0.1, f32::NAN, f32::MAX];
    let random = bits().take(20_000).map(|bits| f32::from_bits((bits >> 32) as u32));
    for value in edges.into_iter().chain(random) {
        let shown = written(Float32Array::from(vec![value]), Notation::Text);
        let displayed = Value::from(value).to_string();
        assert_eq!(shown[0], displayed);
    }
}

#[test]
fn floats_as_json_read_back_as_the_same_number() {
    for value in bits().take(20_000).map(f64::from_bits).filter(|v| v.is_finite()) {
        let text = written(Float64Array::from(vec![value]), Notation::Json).remove(0);
        assert_eq!(text.parse::<f64>().unwrap().to_bits(), value.to_bits(), "{text}");
        assert!(serde_json::from_str::<f64>(&text).is_ok(), "{text}");
    }
}

#[test]
fn numbers_that_json_lacks_are_strings() {
    let array = Float64Array::from(vec![Some(f64::NAN), Some(f64::NEG_INFINITY), Some(3.0), None]);
    let [text, json, csv] = all(array);
    assert_eq!(text, ["NaN", "-inf", "3", "-"]);
    assert_eq!(json, ["\"NaN\"", "\"-Infinity\"", "3.0", "null"]);
    assert_eq!(csv, ["NaN", "-inf", "3", ""]);
}

#[test]
fn a_value_is_written_as_the_same_number_in_an_array_is() {
    let tie = 510_513.63_f32;
    for (value, notation, expected) in [
        (Value::from(tie), Notation::Text, "510513.62"),
        (Value::from(tie), Notation::Json, "510513.62"),
        (Value::Complex32([tie, 1.0]), Notation::Text, "(510513.62, 1)"),
        (Value::List(vec![Value::from(0.5), Value::Null]), Notation::Json, "[0.5,null]"),
        (Value::Address(255), Notation::Json, "\"0xff\""),
        (Value::from("a\nb"), Notation::Text, "a\\nb"),
    ] {
        let mut out = Vec::new();
        write_value(&value, notation, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}

#[test]
fn text_is_escaped_where_it_is_read() {
    let [text, json, csv] = all(StringArray::from(vec!["a\n\u{1b}[1m", "größe", "say \"x\""]));
    assert_eq!(text, ["a\\n\\u{1b}[1m", "größe", "say \"x\""]);
    assert_eq!(json, ["\"a\\n\\u001b[1m\"", "\"größe\"", "\"say \\\"x\\\"\""]);
    assert_eq!(csv, ["a\n\u{1b}[1m", "größe", "say \"x\""]);
}

#[test]
fn complex_numbers_have_a_spelling_in_each_notation() {
    let re: ArrayRef = Arc::new(Float64Array::from(vec![1.5, 0.0]));
    let im: ArrayRef = Arc::new(Float64Array::from(vec![-2.5, 1.0]));
    let [text, json, csv] = all(StructArray::try_from(vec![("re", re), ("im", im)]).unwrap());
    assert_eq!(text, ["(1.5, -2.5)", "(0, 1)"]);
    assert_eq!(json, ["{\"re\":1.5,\"im\":-2.5}", "{\"re\":0.0,\"im\":1.0}"]);
    assert_eq!(csv, ["1.5-2.5i", "0+1i"]);
}

#[test]
fn lists_keep_their_nulls_and_their_bounds() {
    let array = ListArray::from_iter_primitive::<Int32Type, _, _>([
        Some(vec![Some(1), Some(2)]),
        Some(vec![]),
        Some(vec![None, Some(3)]),
    ]);
    let [text, json, csv] = all(array);
    assert_eq!(text, ["[1, 2]", "[]", "[-, 3]"]);
    assert_eq!(json, ["[1,2]", "[]", "[null,3]"]);
    assert_eq!(csv, ["[1,2]", "[]", "[null,3]"]);
}

#[test]
fn texts_in_a_list_do_not_run_together() {
    let mut builder = ListBuilder::new(StringBuilder::new());
    builder.append_value([Some("a,b"), Some("c")]);
    let [text, json, csv] = all(builder.finish());
    assert_eq!(text, ["[a,b, c]"]);
    assert_eq!(json, ["[\"a,b\",\"c\"]"]);
    assert_eq!(csv, ["[\"a,b\",\"c\"]"]);
}

#[test]
fn bytes_are_hexadecimal_and_dictionaries_are_their_values() {
    let [text, json, _] = all(BinaryArray::from(vec![&[0_u8, 0xfe][..]]));
    assert_eq!((text, json), (vec!["00fe".to_owned()], vec!["\"00fe\"".to_owned()]));
    let words: DictionaryArray<Int32Type> = vec![Some("a"), None, Some("a")].into_iter().collect();
    assert_eq!(written(words, Notation::Text), ["a", "-", "a"]);
}

#[test]
fn a_slice_of_an_array_is_written_from_its_own_start() {
    let array = Int32Array::from(vec![10, 20, 30]).slice(1, 2);
    assert_eq!(written(array, Notation::Text), ["20", "30"]);
}

#[test]
fn what_turns_text_around_is_shown_and_not_done() {
    let mut out = Vec::new();
    write_text("a\u{202e}b\u{2066}é\n", Notation::Text, &mut out);
    assert_eq!(String::from_utf8(out).unwrap(), "a\\u{202e}b\\u{2066}é\\n");
}

#[test]
fn in_quotes_a_null_is_told_from_a_text_and_quotes_are_escaped() {
    let array: ArrayRef = Arc::new(StringArray::from(vec![Some("-"), None, Some("a\"\\\n")]));
    let cells = Cells::new(&array).unwrap();
    let quoted = |row| {
        let mut out = Vec::new();
        cells.write_quoted(row, &mut out);
        String::from_utf8(out).unwrap()
    };
    assert_eq!([0, 1, 2].map(quoted), ["\"-\"", "-", r#""a\"\\\n""#]);
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![7]));
    let mut out = Vec::new();
    Cells::new(&numbers).unwrap().write_quoted(0, &mut out);
    assert_eq!(out, b"7");
}
