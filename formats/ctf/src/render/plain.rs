//! Events as a person reads them.

use std::fmt::Write;

use super::{
    flags_of, names_of, shown, write_between_quotes, write_escaped, write_hexadecimal,
    write_integer,
};
use crate::read::{DecodeRequest, EventLayout, Node, Real, Visitor};
use crate::types::{Flag, Integer, Label};

/// An event as a person reads it, and as babeltrace prints it:
/// `sched_switch: { prev_comm = "init", prev_tid = 1 }`.
#[derive(Debug, Default)]
pub(crate) struct Plain {
    pub(crate) text: String,
    /// Text that is due before the next field.
    due: &'static str,
    /// For each structure or array we are within: how many elements of the array came before.
    within: Vec<Option<u64>>,
    /// True if some bytes are no UTF-8, and shown as marks.
    pub(crate) is_broken: bool,
}

impl Plain {
    fn name(&mut self, node: &Node) {
        if node.needs_escapes {
            write_escaped(node.shown(), write_character, &mut self.text);
        } else {
            self.text.push_str(node.shown());
        }
    }

    fn write_name(&mut self, node: &Node) {
        self.text.push_str(self.due);
        self.due = ", ";
        if let Some(Some(index)) = self.within.last_mut() {
            self.text.push('[');
            self.text.push_str(itoa::Buffer::new().format(*index));
            self.text.push_str("] = ");
            *index += 1;
        } else if !node.name.is_empty() {
            self.name(node);
            self.text.push_str(" = ");
        }
    }
}

/// An integer in the base that the metadata wants.
fn write_in_base(integer: &Integer, value: i128, to: &mut String) {
    // Negative numbers in another base than ten are shown as the bits they are.
    let bits = match integer.bits {
        64.. => value & i128::from(u64::MAX),
        bits => value & ((1 << bits) - 1),
    };
    let _ = match integer.base {
        2 => write!(to, "0b{bits:b}"),
        8 => write!(to, "0o{bits:o}"),
        16 => write!(to, "0x{bits:X}"),
        _ => return write_integer(value, to),
    };
}

/// A number with its names.
fn write_named<'n>(names: impl Iterator<Item = &'n str>, value: i128, to: &mut String) {
    to.push_str("( ");
    let mut between = "";
    for name in names {
        to.push_str(between);
        write_quoted(name, to);
        between = ", ";
    }
    to.push_str(if between.is_empty() { "<unknown>" } else { "" });
    to.push_str(" : container = ");
    write_integer(value, to);
    to.push_str(" )");
}

/// Text between quotes, with what C has escapes for, and control characters, escaped.
fn write_quoted(text: &str, to: &mut String) {
    write_between_quotes(text, |byte| matches!(byte, 0x20..0x7F), write_character, to);
}

fn write_character(character: char, to: &mut String) {
    match character {
        '\u{7}' => to.push_str("\\a"),
        '\u{B}' => to.push_str("\\v"),
        other if other.is_control() => {
            let _ = write!(to, "\\x{:02x}", u32::from(other));
        }
        other => to.push(other),
    }
}

/// A number with all of its digits.
fn write_real(value: Real, to: &mut String) {
    let mut buffer = ryu::Buffer::new();
    let digits = match value {
        Real::Single(value) if value.is_finite() => buffer.format_finite(value),
        Real::Double(value) if value.is_finite() => buffer.format_finite(value),
        other => match (other.is_nan(), other.is_negative()) {
            (true, false) => "nan",
            (true, true) => "-nan",
            (false, false) => "inf",
            (false, true) => "-inf",
        },
    };
    to.push_str(digits.strip_suffix(".0").unwrap_or(digits));
}

impl Visitor for Plain {
    fn begin(&mut self, event: &EventLayout) -> DecodeRequest {
        self.text.clear();
        self.text.push_str(&event.name);
        self.within.clear();
        (self.due, self.is_broken) = (": ", false);
        DecodeRequest { known: false, all: true }
    }

    fn open(&mut self, node: &Node, is_array: bool) {
        self.write_name(node);
        self.text.push_str(if is_array { "[ " } else { "{ " });
        self.due = "";
        self.within.push(is_array.then_some(0));
    }

    fn close(&mut self, is_array: bool) {
        let is_empty = self.due.is_empty();
        self.due = ", ";
        let close = if is_array { "]" } else { "}" };
        self.text.push_str(if is_empty { "" } else { " " });
        self.text.push_str(close);
        self.within.pop();
    }

    fn integer(&mut self, node: &Node, integer: &Integer, value: i128) {
        self.write_name(node);
        write_in_base(integer, value, &mut self.text);
    }

    fn label(&mut self, node: &Node, labels: &[Label], value: i128) {
        self.write_name(node);
        write_named(names_of(labels, value), value, &mut self.text);
    }

    fn flags(&mut self, node: &Node, flags: &[Flag], value: u64) {
        self.write_name(node);
        write_named(flags_of(flags, value), value.into(), &mut self.text);
    }

    fn boolean(&mut self, node: &Node, value: bool) {
        self.write_name(node);
        self.text.push_str(if value { "true" } else { "false" });
    }

    fn blob(&mut self, node: &Node, bytes: &[u8]) {
        self.write_name(node);
        self.text.push_str("0x");
        write_hexadecimal(bytes, &mut self.text);
    }

    fn absent(&mut self, node: &Node) {
        self.write_name(node);
        self.text.push_str("<none>");
    }

    fn real(&mut self, node: &Node, value: Real) {
        self.write_name(node);
        write_real(value, &mut self.text);
    }

    fn text(&mut self, node: &Node, text: &[u8]) {
        self.write_name(node);
        let (text, is_broken) = shown(text);
        self.is_broken |= is_broken;
        write_quoted(&text, &mut self.text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn real(value: Real) -> String {
        let mut text = String::new();
        write_real(value, &mut text);
        text
    }

    #[test]
    fn numbers_have_all_their_digits_and_no_more() {
        assert_eq!(real(Real::Double(1e300)), "1e300");
        assert_eq!(real(Real::Double(3.0)), "3");
        assert_eq!(real(Real::Single(0.1)), "0.1");
        assert_eq!(real(Real::Double(f64::NAN.copysign(1.0))), "nan");
        assert_eq!(real(Real::Double(f64::NEG_INFINITY)), "-inf");
    }

    /// As babeltrace2 2.0 prints it, but for `'` and `?`.
    #[test]
    fn texts_have_the_escapes_of_c() {
        let mut text = String::new();
        write_quoted("it's? a\"b\\c\u{7}\u{b}\u{1}\u{7f}\né", &mut text);
        assert_eq!(text, r#""it's? a\"b\\c\a\v\x01\x7f\né""#);
    }
}
