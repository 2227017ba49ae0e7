//! Contents of `kymo info` for a dataset.

use std::ops::RangeInclusive;

use serde::Serialize;

use crate::timeline::{DisplayDuration, DisplayTime, TimeNs};
use kymo_core::Value;

/// Summary of a dataset, at a glance.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Summary {
    /// Dialect of the format: "little-endian, sizes as of 2008-07-11".
    pub dialect: String,
    /// Named facts, the most telling first.
    pub facts: Vec<Fact>,
    /// Further facts, grouped under headings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<Section>,
}

/// A named fact.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fact {
    /// Name of the fact: `elements`.
    pub name: &'static str,
    /// Value of the fact: `144`.
    pub value: Value,
    /// Detail for a person beside the value: "128 scalars, 16 datasets".
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// The same for programs, where the value is for people: `duration_ns` and a number.
    #[serde(skip)]
    pub exact: Option<(&'static str, Value)>,
}

/// Facts under a heading.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Section {
    /// The heading: "datatypes".
    pub title: &'static str,
    /// The facts.
    pub rows: Vec<Row>,
    /// Number of facts beside those that are listed.
    pub more: usize,
}

/// A fact under a heading, whose name is free text.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Row {
    /// Name of the subject: the name of a metric.
    pub name: String,
    /// Text for a person.
    pub text: String,
    /// The same for programs, each value under its name. Without any, they get the text.
    pub values: Vec<(&'static str, Value)>,
}

impl From<(String, String)> for Row {
    fn from((name, text): (String, String)) -> Self {
        Self { name, text, values: Vec::new() }
    }
}

impl Section {
    /// The first rows of all that there are, and how many more.
    pub fn new<R: Into<Row>>(
        title: &'static str,
        rows: impl IntoIterator<Item = R>,
        rows_max: usize,
    ) -> Self {
        let mut rows = rows.into_iter();
        let listed = rows.by_ref().take(rows_max).map(Into::into).collect();
        Self { title, rows: listed, more: rows.count() }
    }
}

impl Summary {
    /// Adds a fact.
    pub fn fact(&mut self, name: &'static str, value: impl Into<Value>) {
        self.detailed(name, value, "");
    }

    /// Adds when a recording begins and ends, and how long it is.
    pub fn span(&mut self, times: &RangeInclusive<TimeNs>, since_epoch: bool) {
        let (start, end) = (*times.start(), *times.end());
        let length = end.0.abs_diff(start.0);
        let shown = |time| DisplayTime { time, since_epoch }.to_string();
        self.exact("start", shown(start), ("start_ns", start.0.into()));
        self.exact("end", shown(end), ("end_ns", end.0.into()));
        self.exact("duration", DisplayDuration(length).to_string(), ("duration_ns", length.into()));
    }

    /// Adds a fact in words for people, and under a name of its own for programs.
    pub fn exact(&mut self, name: &'static str, words: String, exact: (&'static str, Value)) {
        let (value, detail) = (words.into(), String::new());
        self.facts.push(Fact { name, value, detail, exact: Some(exact) });
    }

    /// Adds a fact with a few words beside it.
    pub fn detailed(
        &mut self,
        name: &'static str,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) {
        let (value, detail) = (value.into(), detail.into());
        self.facts.push(Fact { name, value, detail, exact: None });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_lists_the_first_rows_and_counts_the_rest() {
        let rows = || ["a", "b", "c"].map(|name| (name.to_owned(), String::new()));
        let section = Section::new("letters", rows(), 2);
        let names: Vec<_> = section.rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!((names, section.more), (vec!["a", "b"], 1));
        assert_eq!(Section::new("letters", rows(), 3).more, 0);
    }

    #[test]
    fn a_span_is_told_to_programs_in_nanoseconds() {
        let mut summary = Summary::default();
        summary.span(&(TimeNs(-5)..=TimeNs(1_000_000_000)), false);
        let exact: Vec<_> = summary.facts.iter().filter_map(|fact| fact.exact.clone()).collect();
        let expected = [
            ("start_ns", Value::Int(-5)),
            ("end_ns", Value::Int(1_000_000_000)),
            ("duration_ns", Value::UInt(1_000_000_005)),
        ];
        assert_eq!(exact, expected);
    }
}
