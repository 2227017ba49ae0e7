//! Events that have named fields.

use std::borrow::Cow;
use std::fmt;

use kymo_core::Value;

/// An event with a name and fields, as a tracer or a log has it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fields<'a> {
    /// Name of the event: `sched_switch`.
    pub name: Cow<'a, str>,
    /// Its fields in their order.
    pub fields: Vec<Field<'a>>,
}

/// A field of an event.
#[derive(Debug, Clone, PartialEq)]
pub struct Field<'a> {
    /// Its name; that of one within another has a point: `packet.size`.
    pub name: Cow<'a, str>,
    /// Its value.
    pub value: Value,
    /// Number of bits that a number was recorded with, where that is known.
    pub bits: Option<u32>,
}

/// Events that are asked for, among those that have fields.
#[derive(Clone, Copy)]
pub struct EventFilter<'a> {
    /// True if it is those that are called so.
    pub is_called: &'a dyn Fn(&str) -> bool,
    /// For each field that they must have, whether it may be one of a name. Of a field within others
    /// the names of all of them are tried, each by itself.
    pub is_field: &'a [&'a dyn Fn(&str) -> bool],
}

impl Fields<'_> {
    /// The same, as long as one likes.
    #[must_use]
    pub fn into_owned(self) -> Fields<'static> {
        let own = |Field { name, value, bits }: Field<'_>| Field {
            name: name.into_owned().into(),
            value,
            bits,
        };
        let fields = self.fields.into_iter().map(own).collect();
        Fields { name: self.name.into_owned().into(), fields }
    }
}

/// Writes the text that a person reads: `sched_switch: prev_tid = 7, next_comm = init`.
impl fmt::Display for Fields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        for (place, Field { name, value, .. }) in self.fields.iter().enumerate() {
            let between = if place == 0 { ": " } else { ", " };
            write!(f, "{between}{name} = {value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_read_well() {
        let field =
            |name: &'static str, value: Value| Field { name: name.into(), value, bits: None };
        let fields = vec![field("tid", Value::Int(-1)), field("comm", "a b".into())];
        let event = Fields { name: "exit".into(), fields };
        assert_eq!(event.to_string(), "exit: tid = -1, comm = a b");
        assert_eq!(Fields { name: "tick".into(), fields: Vec::new() }.to_string(), "tick");
    }
}
