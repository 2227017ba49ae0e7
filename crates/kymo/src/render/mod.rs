//! Appearance of output: the same in every command.

pub(crate) mod activity;
pub(crate) mod alike;
pub(crate) mod array;
pub(crate) mod columns;
pub(crate) mod event;
pub(crate) mod fit;
pub(crate) mod grid;
pub(crate) mod listing;
pub(crate) mod measure;
pub(crate) mod numbers;
pub(crate) mod pad;
pub(crate) mod record;
pub(crate) mod rows;
mod runs;
pub(crate) mod streamed;
pub(crate) mod style;
pub(crate) mod templates;

use std::borrow::Cow;

use kymo_core::Value;
use kymo_export::tables::values::{Notation, is_hidden, write_quoted, write_text, write_value};

/// A value as a person reads it.
pub(crate) fn value(value: &Value) -> String {
    let mut out = Vec::new();
    write_value(value, Notation::Text, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// A value with text in quotes, where it stands beside other things.
pub(crate) fn quoted_value(found: &Value) -> String {
    match found {
        Value::Text(text) => {
            let mut out = Vec::new();
            write_quoted(text, &mut out);
            String::from_utf8_lossy(&out).into_owned()
        }
        other => value(other),
    }
}

/// A name from a file, with characters made harmless that control a terminal or turn text around.
pub(crate) fn escaped(name: &str) -> Cow<'_, str> {
    if name.chars().any(is_hidden) {
        let mut out = Vec::new();
        write_text(name, Notation::Text, &mut out);
        Cow::Owned(String::from_utf8_lossy(&out).into_owned())
    } else {
        Cow::Borrowed(name)
    }
}
