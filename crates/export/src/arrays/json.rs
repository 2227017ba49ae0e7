//! Attributes as JSON, for the targets that keep them so.

use serde_json::{Map, Value, json};

use crate::arrays::plan::{Attribute, Content, Plan};
use crate::arrays::{Kind, Loss, LossKind};

/// The attributes of every group and array that has some, by its path.
pub(crate) fn all_attributes(plan: &Plan, losses: &mut Vec<Loss>) -> Value {
    let groups = plan.groups.iter().map(|group| (&group.path, &group.attributes));
    let arrays = plan.arrays.iter().map(|array| (&array.path, &array.attributes));
    let mut all = Map::new();
    for (path, held) in groups.chain(arrays).filter(|(_, held)| !held.is_empty()) {
        all.insert(format!("/{path}"), attributes(path, held, losses));
    }
    Value::Object(all)
}

/// The attributes of what has a path.
pub(crate) fn attributes(path: &str, held: &[Attribute], losses: &mut Vec<Loss>) -> Value {
    let mut map = Map::new();
    for attribute in held {
        let mut is_changed = false;
        map.insert(attribute.name.clone(), value(&attribute.content, &mut is_changed));
        let what = match &attribute.content {
            _ if is_changed => "stored as text or a list, for JSON has no such number",
            Content::Number(kind, _) | Content::Numbers(kind, _) if !is_json(*kind) => {
                "stored as a number of JSON, which has no types like its own"
            }
            _ => continue,
        };
        let label = format!("/{path} attribute {}", attribute.name);
        losses.push(Loss::new(LossKind::Changed, label, what));
    }
    Value::Object(map)
}

/// Returns true if numbers of a kind are what a reader of JSON makes of numbers: whole ones of 64
/// bits, and doubles.
fn is_json(kind: Kind) -> bool {
    matches!(kind, Kind::Signed(8) | Kind::Float(8))
}

fn value(content: &Content, is_changed: &mut bool) -> Value {
    match content {
        Content::Text(text) => json!(text),
        Content::Texts(texts) => json!(texts),
        Content::Number(kind, bytes) => number(*kind, bytes, is_changed),
        Content::Numbers(kind, bytes) => {
            let numbers = bytes.chunks_exact(kind.width().max(1));
            numbers.map(|bytes| number(*kind, bytes, is_changed)).collect()
        }
    }
}

fn number(kind: Kind, bytes: &[u8], is_changed: &mut bool) -> Value {
    match kind {
        Kind::Complex(part) => {
            *is_changed = true;
            let parts = bytes.chunks_exact(part);
            parts.map(|bytes| number(Kind::Float(part), bytes, is_changed)).collect()
        }
        Kind::Float(_) => {
            let number = match (bytes.first_chunk::<8>(), bytes.first_chunk::<4>()) {
                (Some(bytes), _) => f64::from_le_bytes(*bytes),
                (None, Some(bytes)) => f64::from(f32::from_le_bytes(*bytes)),
                (None, None) => f64::NAN,
            };
            *is_changed |= !number.is_finite();
            if number.is_finite() { json!(number) } else { json!(special(number)) }
        }
        Kind::Signed(_) => {
            let is_negative = bytes.last().is_some_and(|last| *last >= 0x80);
            let fill = if is_negative { 0xFF } else { 0 };
            json!(i64::from_le_bytes(widened(bytes, fill)))
        }
        _ => json!(u64::from_le_bytes(widened(bytes, 0))),
    }
}

/// Returns the words of Zarr for what is no number, or is beyond all numbers.
fn special(number: f64) -> &'static str {
    match number {
        _ if number.is_nan() => "NaN",
        _ if number > 0.0 => "Infinity",
        _ => "-Infinity",
    }
}

/// Eight bytes of up to eight.
fn widened(bytes: &[u8], fill: u8) -> [u8; 8] {
    let mut wide = [fill; 8];
    wide.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    wide
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_sign_and_every_digit() {
        let item = |kind, bytes: &[u8]| number(kind, bytes, &mut false);
        assert_eq!(item(Kind::Signed(2), &(-2_i16).to_le_bytes()), json!(-2));
        assert_eq!(item(Kind::Unsigned(1), &[250]), json!(250));
        assert_eq!(item(Kind::Unsigned(8), &u64::MAX.to_le_bytes()), json!(u64::MAX));
        assert_eq!(item(Kind::Float(8), &0.1_f64.to_le_bytes()), json!(0.1));
    }

    #[test]
    fn what_json_lacks_is_said_to_be_changed() {
        let mut is_changed = false;
        let infinity = f32::NEG_INFINITY.to_le_bytes();
        assert_eq!(number(Kind::Float(4), &infinity, &mut is_changed), json!("-Infinity"));
        assert!(is_changed);
    }
}
