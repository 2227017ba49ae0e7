//! Fields of events, by the names that one types.

use std::borrow::Cow;

use kymo_core::Value;
use kymo_model::timeline::{Field, Fields};
use serde_json::Value as Json;

/// Returns true if a field is one that a name passes by: `s.list[2].x` passes by `s`, `list` and
/// `x`.
pub(super) fn is_part(name: &str, field: &str) -> bool {
    name.match_indices(field).any(|(at, found)| {
        let (lead, rest) = (name.get(..at).unwrap_or(""), name.get(at + found.len()..));
        let ends = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[', '#']));
        ends && (lead.is_empty() || lead.ends_with('.'))
    })
}

/// Returns true if a name means one of some fields, or a part of one.
pub(super) fn is_among<'a>(mut fields: impl Iterator<Item = &'a str>, name: &str) -> bool {
    fields.any(|field| rest_of(field, name).is_some())
}

/// The values of fields of a name. Of a field within others the last name suffices.
pub(super) fn in_fields(fields: &Fields<'_>, name: &str) -> Vec<Cow<'static, str>> {
    let found = fields.fields.iter().filter_map(|field| Some((field, rest_of(&field.name, name)?)));
    found.flat_map(|(field, rest)| values(field, rest)).map(Cow::Owned).collect()
}

/// Returns the rest of a name beyond that of a field: `list[2].x` has the rest `[2].x` beyond
/// `list`, and also beyond `s.list`.
fn rest_of<'a>(field: &str, name: &'a str) -> Option<&'a str> {
    let is_end = |rest: &str| rest.is_empty() || rest.starts_with(['.', '[']);
    let starts = std::iter::once(0).chain(field.match_indices('.').map(|(at, _)| at + 1));
    let rests = { starts }.filter_map(|at| name.strip_prefix(field.get(at..)?));
    { rests }.find(|rest| is_end(rest))
}

/// The values of a field, or of a part of it. An array has those of its elements.
fn values(field: &Field<'_>, rest: &str) -> Vec<String> {
    match &field.value {
        Value::List(values) if rest.is_empty() => values.iter().map(ToString::to_string).collect(),
        value if rest.is_empty() => vec![value.to_string()],
        value => {
            let json = serde_json::to_value(value).unwrap_or_default();
            json_at_path(&json, rest).into_iter().flat_map(shown).collect()
        }
    }
}

/// Returns the value at a path within JSON: `[2].x`, or `a.b[0]`. Keys may have points of their
/// own.
fn json_at_path<'a>(json: &'a Json, path: &str) -> Option<&'a Json> {
    let (mut json, mut path) = (json, path);
    while !path.is_empty() {
        if let Some(rest) = path.strip_prefix('[') {
            let (index, rest) = rest.split_once(']')?;
            (json, path) = (json.get(index.parse::<usize>().ok()?)?, rest);
            continue;
        }
        let keys = path.strip_prefix('.').unwrap_or(path);
        let is_end = |rest: &str| rest.is_empty() || rest.starts_with(['.', '[']);
        let found = json.as_object()?.iter().filter_map(|(key, value)| {
            let rest = keys.strip_prefix(key.as_str()).filter(|rest| is_end(rest))?;
            Some((value, rest))
        });
        (json, path) =
            found.filter(|(_, rest)| rest.len() < path.len()).min_by_key(|(_, rest)| rest.len())?;
    }
    Some(json)
}

/// A value as one compares it; of an array, each element.
fn shown(json: &Json) -> Vec<String> {
    let one = |json: &Json| json.as_str().map_or_else(|| json.to_string(), str::to_owned);
    match json {
        Json::Array(all) => all.iter().map(one).collect(),
        other => vec![one(other)],
    }
}

/// The values of fields of a name in a text: of a JSON object, or as `name = value`, or as
/// `name=value`.
pub(super) fn in_text<'a>(text: &'a str, name: &str) -> Vec<Cow<'a, str>> {
    if text.starts_with('{')
        && let Ok(object @ Json::Object(_)) = serde_json::from_str::<Json>(text)
    {
        return json_at_path(&object, name).into_iter().flat_map(shown).map(Cow::Owned).collect();
    }
    let spaced = |rest: &'a str| match rest.strip_prefix('"') {
        Some(rest) => rest.split('"').next().unwrap_or(rest),
        None => rest.split([',', ' ', '}']).next().unwrap_or(rest),
    };
    let pattern = format!("{name} = ");
    let found: Vec<_> =
        text_after_pattern(text, &pattern).map(|rest| spaced(rest).into()).collect();
    if !found.is_empty() {
        return found;
    }
    text_after_pattern(text, &format!("{name}=")).map(|rest| until_next_name(rest).into()).collect()
}

/// Returns the text after each place of a pattern that begins a word: a name may end as another
/// does.
fn text_after_pattern<'a>(text: &'a str, pattern: &str) -> impl Iterator<Item = &'a str> {
    text.match_indices(pattern).filter_map(|(at, found)| {
        let (lead, rest) = (text.get(..at)?, text.get(at + found.len()..)?);
        (lead.is_empty() || lead.ends_with([' ', '{', '[', '('])).then_some(rest)
    })
}

/// A value up to the next `name=`: names of tasks have spaces.
fn until_next_name(text: &str) -> &str {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let ends = text.match_indices('=').filter_map(|(at, _)| {
        let lead = text.get(..at)?;
        let name = lead.trim_end_matches(is_word);
        (name.len() < lead.len() && name.ends_with([' ', '[', '('])).then_some(name)
    });
    let value = { ends }.next().unwrap_or(text);
    let value = value.trim_end_matches([' ', '[', '(', ',']).trim_end_matches("==>");
    value.trim_end().trim_end_matches(']')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_in_texts_and_in_json() {
        let text = "sched_switch: { prev_tid = 7, tid = 12, comm = \"a b\" }, { addr = 0x10 }";
        assert_eq!(in_text(text, "tid"), ["12"]);
        assert_eq!(in_text(text, "comm"), ["a b"]);
        assert_eq!(in_text(text, "addr"), ["0x10"]);
        assert!(in_text(text, "id").is_empty());
        assert_eq!(in_text("{\"speed\":62.5}", "speed"), ["62.5"]);
        let text =
            "sched_switch: prev_comm=a b prev_pid=7 prev_state=S ==> next_comm=c next_pid=12";
        let names = ["prev_comm", "prev_pid", "prev_state", "next_pid"];
        assert_eq!(names.map(|name| in_text(text, name).concat()), ["a b", "7", "S", "12"]);
        assert!(in_text(text, "pid").is_empty());
        assert_eq!(in_text("softirq_entry: vec=1 [action=TIMER]", "vec"), ["1"]);
        assert_eq!(in_text("softirq_entry: vec=1 [action=TIMER]", "action"), ["TIMER"]);
    }

    #[test]
    fn parts_of_fields_are_found_by_their_paths() {
        let field = |name: &'static str, value| Field { name: name.into(), value, bits: None };
        let list = |numbers: &[u64]| Value::List(numbers.iter().map(|n| Value::UInt(*n)).collect());
        let points = serde_json::json!({ "x": 1, "y": [5, 6] });
        let fields = vec![
            field("stream.event.context.tid", Value::Int(7)),
            field("tid", Value::Int(8)),
            field("packet.size", Value::UInt(9)),
            field("list", list(&[1, 2, 3])),
            field("points", Value::List(vec![Value::Json(Box::new(points))])),
        ];
        let fields = Fields { name: "e".into(), fields };
        for (name, expected) in [
            ("stream.event.context.tid", &["7"][..]),
            ("tid", &["7", "8"]),
            ("packet.size", &["9"]),
            ("size", &["9"]),
            ("list", &["1", "2", "3"]),
            ("list[2]", &["3"]),
            ("points[0].x", &["1"]),
            ("points[0].y", &["5", "6"]),
            ("points[0].y[1]", &["6"]),
            ("list[3]", &[]),
            ("list[", &[]),
            ("list[18446744073709551616]", &[]),
            ("points[1].x", &[]),
            ("id", &[]),
            ("packet", &[]),
        ] {
            assert_eq!(in_fields(&fields, name), expected, "{name}");
        }
        let json = "{\"a\":{\"b\":[1,{\"c\":\"x\"}]},\"d.e\":4,\"\":0}";
        for (name, expected) in [("a.b[0]", "1"), ("a.b[1].c", "x"), ("d.e", "4")] {
            assert_eq!(in_text(json, name), [expected], "{name}");
        }
        assert!(in_text(json, "a.c").is_empty() && in_text(json, "a..").is_empty());
    }

    #[test]
    fn a_path_passes_by_the_names_of_fields() {
        for (name, field) in [
            ("size", "size"),
            ("packet.size", "packet"),
            ("packet.size", "size"),
            ("list[0].x", "list"),
            ("event.context.size", "size"),
            ("size#2", "size"),
        ] {
            assert!(is_part(name, field), "{name} {field}");
        }
        for (name, field) in [("siz", "size"), ("sizes", "size"), ("xsize", "size")] {
            assert!(!is_part(name, field), "{name} {field}");
        }
    }
}
