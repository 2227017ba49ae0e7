//! What `kymo info` says about a dataset.

use std::ops::RangeInclusive;

use serde::Serialize;

use crate::Value;
use crate::model::timeline::{Length, Shown, TimeNs};

/// What a dataset is, at a glance.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Summary {
    /// Which of the format's dialects this is: "little-endian, sizes as of 2008-07-11".
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
    /// What it is: `elements`.
    pub name: &'static str,
    /// How much or which: `144`.
    pub value: Value,
    /// What a person wants to know beside the value: "128 scalars, 16 datasets".
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// Facts under a heading.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Section {
    /// The heading: "datatypes".
    pub title: &'static str,
    /// The facts; their names are free text.
    pub rows: Vec<(String, String)>,
}

impl Summary {
    /// Adds a fact.
    pub fn fact(&mut self, name: &'static str, value: impl Into<Value>) {
        self.detailed(name, value, "");
    }

    /// Adds when a recording begins and ends, and how long it is.
    pub fn span(&mut self, times: &RangeInclusive<TimeNs>, since_epoch: bool) {
        let (start, end) = (*times.start(), *times.end());
        self.fact("start", Shown { time: start, since_epoch }.to_string());
        self.fact("end", Shown { time: end, since_epoch }.to_string());
        self.fact("duration", Length(end.0.abs_diff(start.0)).to_string());
    }

    /// Adds a fact with a few words beside it.
    pub fn detailed(
        &mut self,
        name: &'static str,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) {
        self.facts.push(Fact { name, value: value.into(), detail: detail.into() });
    }
}
