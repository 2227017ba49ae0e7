//! Fields as text for a person, as JSON, and as values under their names.

mod collected;
mod json;
mod plain;

use std::borrow::Cow;

use crate::read::{EventLayout, Node, NodeId};
use crate::types::{Flag, Label};

pub(crate) use collected::FieldValues;
pub(crate) use json::Json;
pub(crate) use plain::Plain;

/// Fields of contexts of an event whose names others after them have, and what stands before these
/// names.
#[derive(Debug, Default)]
struct RenamedFields(Vec<(NodeId, &'static str)>);

impl RenamedFields {
    fn begin(&mut self, event: &EventLayout) {
        self.0.clear();
        self.0.extend_from_slice(&event.renamed);
    }

    /// Returns the text before the name of a field.
    fn name_prefix(&self, node: &Node) -> &'static str {
        if self.0.is_empty() {
            return "";
        }
        let place = self.0.binary_search_by_key(&node.id, |(id, _)| *id);
        place.ok().and_then(|place| self.0.get(place)).map_or("", |(_, lead)| *lead)
    }

    /// Writes the name of a field, which no other of the event has.
    fn write(&self, node: &Node, to: &mut String) {
        let (name, again) = node.key();
        to.push_str(self.name_prefix(node));
        to.push_str(name);
        if again > 0 {
            to.push('#');
            to.push_str(itoa::Buffer::new().format(u64::from(again) + 1));
        }
    }

    /// Returns true if the name of a field is what is shown of it.
    fn is_plain(&self, node: &Node) -> bool {
        self.name_prefix(node).is_empty() && node.key() == (node.shown(), 0)
    }
}

/// The names of a value.
fn names_of(labels: &[Label], value: i128) -> impl Iterator<Item = &str> {
    let has = move |label: &&Label| (label.first..=label.last).contains(&value);
    labels.iter().filter(has).map(|label| &*label.name)
}

/// All names of a value, where it has one.
fn name_of(labels: &[Label], value: i128) -> Option<Cow<'_, str>> {
    let mut names = names_of(labels, value);
    let first = names.next()?;
    let Some(second) = names.next() else { return Some(first.into()) };
    let all: Vec<_> = [first, second].into_iter().chain(names).collect();
    Some(all.join(", ").into())
}

/// The names of the bits that are set.
fn flags_of(flags: &[Flag], value: u64) -> impl Iterator<Item = &str> {
    flags.iter().filter(move |flag| flag.mask & value != 0).map(|flag| &*flag.name)
}

/// All names of the bits that are set, where there are some.
fn flag_names(flags: &[Flag], value: u64) -> Option<String> {
    let names: Vec<_> = flags_of(flags, value).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Bytes that have no better reading, in hexadecimal.
fn write_hexadecimal(bytes: &[u8], to: &mut String) {
    for byte in bytes {
        let digits = [byte >> 4, byte & 0xF].map(|digit| char::from_digit(digit.into(), 16));
        to.extend(digits.into_iter().flatten());
    }
}

/// Bytes as text. Tells whether some are no UTF-8, and shown as marks.
fn shown(text: &[u8]) -> (Cow<'_, str>, bool) {
    let text = String::from_utf8_lossy(text);
    let is_broken = matches!(text, Cow::Owned(_));
    (text, is_broken)
}

/// Writes a text between quotes, with the escapes that C and JSON share. Whoever writes says which
/// bytes are what they are, and how other characters are written.
fn write_between_quotes(
    text: &str,
    is_plain: fn(u8) -> bool,
    write_other: fn(char, &mut String),
    to: &mut String,
) {
    to.push('"');
    if text.bytes().all(|byte| is_plain(byte) && byte != b'"' && byte != b'\\') {
        to.push_str(text);
    } else {
        write_escaped(text, write_other, to);
    }
    to.push('"');
}

/// Writes a text with the escapes that C and JSON share.
fn write_escaped(text: &str, write_other: fn(char, &mut String), to: &mut String) {
    for character in text.chars() {
        match character {
            '"' => to.push_str("\\\""),
            '\\' => to.push_str("\\\\"),
            '\u{8}' => to.push_str("\\b"),
            '\t' => to.push_str("\\t"),
            '\n' => to.push_str("\\n"),
            '\u{C}' => to.push_str("\\f"),
            '\r' => to.push_str("\\r"),
            other => write_other(other, to),
        }
    }
}

/// Writes an integer, which has 64 bits at most, with or without a sign.
fn write_integer(value: i128, to: &mut String) {
    let mut digits = itoa::Buffer::new();
    to.push_str(match (u64::try_from(value), i64::try_from(value)) {
        (Ok(value), _) => digits.format(value),
        (_, Ok(value)) => digits.format(value),
        _ => digits.format(value),
    });
}
