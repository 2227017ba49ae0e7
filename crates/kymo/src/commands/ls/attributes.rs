//! Attributes: each beside what it describes, repeated ones once.

use std::collections::HashMap;

use kymo_model::arrays::{Attribute, Target};
use serde_json::{Map, Value, json};

use crate::masks::Masks;
use crate::render::quoted_value;

/// The attributes of a file by what they describe.
#[derive(Default)]
pub(super) struct Attributes {
    /// In the order of the file; those that were taken are gone.
    found: Vec<Option<Described>>,
    by_path: HashMap<String, Vec<usize>>,
}

/// An attribute, and how often the file has it.
pub(super) struct Described {
    attribute: Attribute,
    times: u64,
}

impl Attributes {
    /// Sorts attributes by what they describe, and joins those that are the same.
    pub(super) fn new(attributes: Vec<Attribute>) -> Self {
        let mut sorted = Self::default();
        let mut known: HashMap<String, usize> = HashMap::new();
        for attribute in attributes {
            let next = sorted.found.len();
            let index = *known.entry(attribute_key(&attribute)).or_insert(next);
            if let Some(Some(found)) = sorted.found.get_mut(index) {
                found.times += 1;
            } else {
                sorted.by_path.entry(attribute.path.clone()).or_default().push(next);
                sorted.found.push(Some(Described { attribute, times: 1 }));
            }
        }
        sorted
    }

    /// Takes those that describe a variable.
    pub(super) fn take(&mut self, path: &str) -> Vec<Described> {
        let mut taken = Vec::new();
        for &index in self.by_path.get(path).map_or(&[][..], Vec::as_slice) {
            let slot = self.found.get_mut(index);
            let is_of_variable = |found: &mut Described| found.attribute.target == Target::Variable;
            taken.extend(slot.and_then(|slot| slot.take_if(is_of_variable)));
        }
        taken
    }

    /// Takes those left that are wanted: those that match by themselves, and those of groups and
    /// of nothing, or all of them, that belong to what matches.
    pub(super) fn take_selected(&mut self, masks: &Masks, all: bool) -> Vec<Described> {
        let left = self.found.drain(..).flatten();
        let is_wanted = |found: &Described| {
            let may_belong = all || found.attribute.target != Target::Variable;
            (may_belong && masks.matches(&found.attribute.path))
                || masks.matches(&found.full_path())
        };
        left.filter(is_wanted).collect()
    }
}

/// Returns the text that two attributes have in common if they are the same, and others have not.
fn attribute_key(attribute: &Attribute) -> String {
    let Attribute { target, path, name, type_name, value, .. } = attribute;
    format!("{target:?}\0{path}\0{name}\0{type_name}\0{value}")
}

impl Described {
    /// The path of what it describes, and its name.
    pub(super) fn full_path(&self) -> String {
        let path = self.attribute.path.trim_end_matches('/');
        format!("{path}/{}", self.attribute.name)
    }

    /// The format's word for its type.
    pub(super) fn type_name(&self) -> &str {
        &self.attribute.type_name
    }

    /// Returns the text beside its path: `attr = "K" ×4`.
    pub(super) fn text(&self) -> String {
        let name = match self.attribute.target {
            Target::Variable => "",
            Target::Group => " of group",
            Target::Nothing => " of nothing",
        };
        let times = match self.times {
            1 => String::new(),
            times => format!(" ×{times}"),
        };
        format!("attr{name} = {}{times}", quoted_value(&self.attribute.value))
    }

    /// All there is to know about it.
    pub(super) fn json(&self) -> Map<String, Value> {
        let describes = match self.attribute.target {
            Target::Variable => "variable",
            Target::Group => "group",
            Target::Nothing => "nothing",
        };
        let fields = [
            ("name", json!(self.attribute.name)),
            ("path", json!(self.attribute.path)),
            ("describes", json!(describes)),
            ("type", json!(self.attribute.type_name)),
            ("value", json!(self.attribute.value)),
            ("times", json!(self.times)),
            ("offset", json!(self.attribute.offset)),
        ];
        fields.map(|(key, value)| (key.to_owned(), value)).into_iter().collect()
    }
}
