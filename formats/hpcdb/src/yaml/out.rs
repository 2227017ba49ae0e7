//! Lines of YAML on their way, a little at a time: a database may be large.

use std::fmt::{Display, Write};

use kymo_core::Result;
use kymo_model::{Flow, RecordSink};

/// Number of bytes of text that are kept before they are handed on.
const TEXT_BYTES: usize = 1 << 16;

/// Lines on their way.
pub(super) struct YamlText<'a> {
    text: String,
    sink: &'a mut dyn RecordSink,
    flow: Flow,
}

impl<'a> YamlText<'a> {
    pub(super) fn new(sink: &'a mut dyn RecordSink) -> Self {
        Self { text: String::new(), sink, flow: Flow::More }
    }

    /// Returns true if nobody wants more.
    pub(super) fn is_done(&self) -> bool {
        self.flow == Flow::Stop
    }

    /// A line, moved to the right.
    pub(super) fn line(&mut self, indent: usize, line: impl Display) -> Result<()> {
        if self.is_done() {
            return Ok(());
        }
        // A text takes all that is written to it.
        let _ = writeln!(self.text, "{:indent$}{line}", "");
        if self.text.len() < TEXT_BYTES { Ok(()) } else { self.send() }
    }

    /// A key and what it has; nothing is an empty value.
    pub(super) fn field<T: Display>(
        &mut self,
        indent: usize,
        key: &str,
        value: Option<T>,
    ) -> Result<()> {
        match value {
            Some(value) => self.line(indent, format_args!("{key}: {value}")),
            None => self.line(indent, format_args!("{key}:")),
        }
    }

    /// A key with one of the names of an enumeration; one that is not known has none.
    pub(super) fn choice(
        &mut self,
        indent: usize,
        key: &str,
        tag: &str,
        name: Option<&str>,
    ) -> Result<()> {
        self.field(indent, key, name.map(|name| format!("!{tag} {name}")))
    }

    /// A key before a list or a map.
    pub(super) fn list(
        &mut self,
        indent: usize,
        key: &str,
        none: &str,
        is_empty: bool,
    ) -> Result<()> {
        self.field(indent, key, is_empty.then_some(none))
    }

    pub(super) fn send(&mut self) -> Result<()> {
        if self.flow == Flow::More {
            self.flow = self.sink.text(self.text.as_bytes())?;
        }
        self.text.clear();
        Ok(())
    }
}

/// Remarks of the items of one list or map: the first is set off by one blank more.
#[derive(Default)]
pub(super) struct Remarks {
    is_begun: bool,
}

impl Remarks {
    pub(super) fn next(&mut self, text: &str) -> String {
        let gap = if std::mem::replace(&mut self.is_begun, true) { " " } else { "  " };
        format!("{gap}# {}", printable(text))
    }
}

/// A remark ends with its line.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A number with a point or an exponent, of as few digits as tell it from all others.
pub(super) fn float(value: f64) -> String {
    if value.is_nan() {
        return ".nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if value != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    let plain = value.to_string();
    if plain.contains('.') { plain } else { format!("{plain}.0") }
}

/// A text, in quotes where YAML would take it for something else.
pub(super) fn text(text: &str) -> String {
    let is_plain = !text.is_empty()
        && !text.starts_with(|c: char| " -?:,[]{}#&*!|>'\"%@`".contains(c))
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.contains(char::is_control)
        && !is_other(text);
    if is_plain {
        return text.to_owned();
    }
    if text.contains(char::is_control) {
        // What JSON quotes, YAML reads.
        return serde_json::Value::from(text).to_string();
    }
    format!("'{}'", text.replace('\'', "''"))
}

/// Returns true if a text is that of a number, a truth value or nothing.
fn is_other(text: &str) -> bool {
    let word = text.to_ascii_lowercase();
    let words = ["null", "~", "true", "false", "yes", "no", "on", "off", "=", "<<", ".nan", ".inf"];
    let is_word = words.contains(&word.trim_start_matches(['+', '-']));
    let digits = text.trim_start_matches(['+', '-', '.']);
    is_word || digits.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_yaml_would_take_for_something_else_are_quoted() {
        for plain in ["CPUTIME (sec)", "$$", "($$^2)", "a::b<c>(d)", "/opt/a.c", "<gpu kernel>"] {
            assert_eq!(text(plain), plain);
        }
        let quoted =
            [("1", "'1'"), ("", "''"), ("GINS: SIMD", "'GINS: SIMD'"), ("it #1", "'it #1'")];
        for (plain, quoted) in quoted.into_iter().chain([("[vdso]", "'[vdso]'"), ("'a", "'''a'")]) {
            assert_eq!(text(plain), quoted);
        }
        assert_eq!(text("a\nb"), r#""a\nb""#);
        assert_eq!(text("True"), "'True'");
    }

    #[test]
    fn numbers_have_a_point_or_an_exponent() {
        let cases = [(1.0, "1.0"), (1e16, "1e+16"), (0.000_01, "1e-05"), (0.605_316, "0.605316")];
        for (value, expected) in cases.into_iter().chain([(f64::NAN, ".nan"), (0.0, "0.0")]) {
            assert_eq!(float(value), expected);
        }
    }
}
