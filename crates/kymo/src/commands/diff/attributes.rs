//! Attributes of two files side by side.

use std::collections::HashSet;

use kymo_core::Value;
use kymo_model::arrays::{ArraysView, Attribute, Target};
use serde_json::json;

use super::Difference;
use super::arrays::{only_in_one, pairs, two};
use super::values::{distance, real};

/// Attributes differ when one side has other values under a name, or values of another type. Those
/// of a group are others than those of a variable of the same path.
pub(super) fn differences(
    one: &dyn ArraysView,
    other: &dyn ArraysView,
    tolerance: f64,
    found: &mut Vec<Difference>,
) {
    let named = |view: &dyn ArraysView| -> Vec<((String, bool, String), Attribute)> {
        let all = view.attributes().into_iter();
        all.map(|a| ((a.path.clone(), a.target == Target::Group, a.name.clone()), a)).collect()
    };
    for ((path, is_group, name), sides) in pairs(named(one), named(other)) {
        let [left, right] = sides.map(distinct);
        let this_name = if is_group { "group " } else { "" };
        let name = format!("{this_name}{path} attribute {name}");
        if left.iter().chain(&right).any(|attribute| attribute.unread.is_some()) {
            let why = "attributes before it take all that is read of them";
            let what = format!("is not compared: {why}");
            found.push(Difference::new(name, what, json!({ "error": why })));
            continue;
        }
        let is_same = |(one, other): (&Attribute, &Attribute)| is_same(one, other, tolerance);
        match (left.is_empty(), right.is_empty()) {
            (false, false) => {
                let all = left.len() == right.len() && left.iter().zip(&right).all(is_same);
                if !all {
                    found.push(two(&name, "is", shown(&left, &right)));
                }
            }
            (is_missing, _) => found.push(only_in_one(name, !is_missing)),
        }
    }
}

/// Attributes without those that say again what one before them says, as each process of a run may.
fn distinct(mut attributes: Vec<Attribute>) -> Vec<Attribute> {
    if attributes.len() > 1 {
        let mut known = HashSet::new();
        let said = |a: &Attribute| format!("{:?}", (&a.type_name, a.is_recoded, &a.value));
        attributes.retain(|attribute| known.insert(said(attribute)));
    }
    attributes
}

fn is_same(one: &Attribute, other: &Attribute, tolerance: f64) -> bool {
    if one.data_type != other.data_type || one.is_recoded != other.is_recoded {
        return false;
    }
    match (number(&one.value), number(&other.value)) {
        (Some(one), Some(other)) if tolerance > 0.0 => distance(one, other) <= tolerance,
        _ => is_same_value(&one.value, &other.value),
    }
}

/// Returns true if values are the same; as among values of arrays, both zeros are one number.
fn is_same_value(one: &Value, other: &Value) -> bool {
    let is_real = |value: &Value| {
        use Value::{Complex, Complex32, Float, Float32};
        matches!(value, Float(_) | Float32(_) | Complex(_) | Complex32(_))
    };
    match (number(one), number(other)) {
        (Some([re, im]), Some([other_re, other_im])) if is_real(one) && is_real(other) => {
            real(re, other_re) + real(im, other_im) <= 0.0
        }
        _ => crate::render::value(one) == crate::render::value(other),
    }
}

/// A number as a complex one.
#[allow(clippy::cast_precision_loss, reason = "a tolerance is for numbers that are about the same")]
fn number(value: &Value) -> Option<[f64; 2]> {
    Some(match value {
        Value::Int(number) => [*number as f64, 0.0],
        Value::UInt(number) => [*number as f64, 0.0],
        Value::Float32(number) => [(*number).into(), 0.0],
        Value::Float(number) => [*number, 0.0],
        Value::Decimal(digits) => [digits.parse().ok()?, 0.0],
        Value::Complex32(parts) => parts.map(f64::from),
        Value::Complex(parts) => *parts,
        _ => return None,
    })
}

/// The values of both sides; where they look alike, with their types and encodings.
fn shown(left: &[Attribute], right: &[Attribute]) -> [String; 2] {
    let values = |side: &[Attribute]| {
        let values: Vec<_> = side.iter().map(|a| crate::render::value(&a.value)).collect();
        values.join(" ")
    };
    let both = [values(left), values(right)];
    if both[0] != both[1] {
        return both;
    }
    let typed = |side: &[Attribute]| {
        let typed = |a: &Attribute| {
            let encoding = if a.is_recoded { ", Latin-1" } else { "" };
            format!("{} ({}{encoding})", crate::render::value(&a.value), a.type_name)
        };
        side.iter().map(typed).collect::<Vec<_>>().join(" ")
    };
    [typed(left), typed(right)]
}
