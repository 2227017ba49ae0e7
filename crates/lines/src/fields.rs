//! Events by their fields.

use kymo_core::Value;
use kymo_model::timeline::{Field, Fields};

use crate::{Grammar, Line};

/// The fields of an event, with the task that it was in; nothing where it has none of its own.
pub(crate) fn fields<G: Grammar>(grammar: &G, line: &Line<'_>) -> Option<Fields<'static>> {
    let own = grammar.fields(line);
    if own.is_empty() {
        return None;
    }
    let field =
        |name: &str, value: Value| Field { name: name.to_owned().into(), value, bits: None };
    let has = |name: &str| own.iter().any(|(own, _)| own == name);
    let task = line.task.filter(|_| !has("task")).map(|task| field("task", task.into()));
    let tid = line.tid.filter(|_| !has("tid")).map(|tid| field("tid", tid.into()));
    let own = own.iter().map(|(name, text)| field(name, grammar.value(text)));
    let fields = task.into_iter().chain(tid).chain(own).collect();
    Some(Fields { name: line.name.to_owned().into(), fields })
}

/// A number where the text is nothing but one. What has an exponent may as well be hexadecimal.
pub(crate) fn plain_value(text: &str) -> Value {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, rest) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !is_number(whole) || !is_number(rest) {
        return text.into();
    }
    if digits.contains('.') {
        return text.parse().map_or_else(|_| text.into(), Value::Float);
    }
    whole_number(text).map_or_else(|| text.into(), Value::Int)
}

/// A pointer has at least so many digits.
const POINTER_DIGITS: usize = 8;

/// A whole number where the text is nothing but one. Zeros before a few digits are of a decimal number
/// (`target_cpu=003`); before many they are of a pointer, and its other digits hexadecimal by chance or
/// not (`hrtimer=0000000025354255`).
pub(crate) fn whole_number(text: &str) -> Option<i64> {
    let is_pointer = text.starts_with('0') && text.len() >= POINTER_DIGITS;
    let is_number = !is_pointer && !text.starts_with('+');
    is_number.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_nothing_but_a_number_is_one() {
        assert_eq!(plain_value("-12"), Value::Int(-12));
        assert_eq!(plain_value("003"), Value::Int(3));
        assert_eq!(plain_value("62.50"), Value::Float(62.5));
        assert_eq!(plain_value("25354255"), Value::Int(25_354_255));
        for text in ["0000000025354255", "00354255"] {
            assert_eq!(plain_value(text), Value::from(text));
        }
        for text in ["", "-", "1.", ".5", "1e5", "+5", "0x10", "7 [ns]", "99999999999999999999"] {
            assert_eq!(plain_value(text), Value::from(text));
        }
    }
}
