//! Attributes: where each goes, and its value as targets store it.

use std::collections::{HashMap, HashSet};

use kymo_core::Value;
use kymo_core::model::arrays::{ArraysView, Attribute as Found, Target, Variable, VariableId};

use super::names::{Names, unused};
use super::{Array, Group, Place};
use crate::{Kind, Loss, LossKind};

/// A name and a value that describe an array or a group.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribute {
    /// Its name in the target.
    pub name: String,
    /// Its value.
    pub content: Content,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Content {
    /// Text.
    Text(String),
    /// Several texts.
    Texts(Vec<String>),
    /// A number, as bytes, least significant first.
    Number(Kind, Vec<u8>),
    /// Several numbers of one kind, as bytes.
    Numbers(Kind, Vec<u8>),
}

/// The attributes of a view, or those of its chosen variables alone.
pub(super) fn wanted(
    view: &dyn ArraysView,
    variables: &[(VariableId, Variable)],
    is_part: bool,
) -> Vec<Found> {
    let is_of = |found: &Found| {
        let mut paths = variables.iter().map(|(_, variable)| &variable.path);
        found.target == Target::Variable && paths.any(|path| *path == found.path)
    };
    let mut attributes = view.attributes();
    attributes.retain(|found| !is_part || is_of(found));
    attributes
}

/// What attributes are put on.
pub(super) struct Holders<'a> {
    groups: &'a mut [Group],
    arrays: &'a mut [Array],
    group_index: HashMap<String, usize>,
    /// What was put where, under the name that was asked for: the same again is there already.
    put: HashSet<(Place, String, Content)>,
    taken: HashSet<(Place, String)>,
    /// Of names that were wanted again: the number that comes next.
    next: HashMap<(Place, String), u64>,
    /// Groups that have other names than in the source.
    renamed: HashSet<String>,
}

impl<'a> Holders<'a> {
    pub(super) fn new(groups: &'a mut [Group], arrays: &'a mut [Array]) -> Self {
        let paths = groups.iter().enumerate().map(|(index, group)| (group.path.clone(), index));
        let group_index = paths.collect();
        let (put, taken, next, renamed) = Default::default();
        Self { groups, arrays, group_index, put, taken, next, renamed }
    }

    /// Puts an attribute where it belongs, and notes what cannot stay as it was.
    pub(super) fn add(
        &mut self,
        found: &Found,
        places: &HashMap<String, Vec<Place>>,
        names: &mut Names<'_>,
        losses: &mut Vec<Loss>,
    ) {
        let label = format!("{} attribute {}", found.path, found.name);
        let (content, change) = match content(&found.value).map(|it| narrowed(it, found)) {
            Ok(converted) => converted,
            Err(why) => {
                losses.push(Loss::new(LossKind::LeftOut, label, format!("left out: {why}")));
                return;
            }
        };
        losses.extend(change.map(|it| Loss::new(LossKind::Changed, label.clone(), it)));
        let mut name = found.name.clone();
        let places = match found.target {
            Target::Group => {
                let group = names.group(&found.path);
                losses.extend(self.renamed(&found.path, &group));
                vec![Place::Group(group)]
            }
            Target::Variable => places.get(&found.path).cloned().unwrap_or_default(),
            Target::Nothing => {
                let (group, last) = names.split(&found.path);
                name = format!("{last}.{}", found.name);
                let what = format!("there is no such variable; kept as {name} of its group");
                losses.push(Loss::new(LossKind::Dangling, label.clone(), what));
                vec![Place::Group(group)]
            }
        };
        if places.is_empty() {
            let what = "left out with what it describes";
            losses.push(Loss::new(LossKind::LeftOut, label, what));
            return;
        }
        let legal = names.attribute(&name);
        for place in places {
            if let Some(stored) = self.put(&place, &legal, &content).filter(|it| *it != name) {
                let what = format!("stored as {stored}");
                losses.push(Loss::new(LossKind::Renamed, label.clone(), what));
            }
        }
    }

    /// What is to be said of a group that cannot have its name; once.
    fn renamed(&mut self, source: &str, group: &str) -> Option<Loss> {
        let is_new = source.trim_matches('/') != group && self.renamed.insert(source.to_owned());
        is_new.then(|| Loss::new(LossKind::Renamed, source, format!("stored as /{group}")))
    }

    /// Adds an attribute under a name that is free, and gives that; nothing where the same one is
    /// there already, which was said when it was put there.
    fn put(&mut self, place: &Place, name: &str, content: &Content) -> Option<String> {
        if !self.put.insert((place.clone(), name.to_owned(), content.clone())) {
            return None;
        }
        let next = self.next.entry((place.clone(), name.to_owned())).or_insert(2);
        let is_free = |name: &String| !self.taken.contains(&(place.clone(), name.clone()));
        let stored = unused(name.to_owned(), next, is_free);
        self.taken.insert((place.clone(), stored.clone()));
        let held = self.held(place)?;
        held.push(Attribute { name: stored.clone(), content: content.clone() });
        Some(stored)
    }

    fn held(&mut self, place: &Place) -> Option<&mut Vec<Attribute>> {
        match place {
            Place::Array(index) => self.arrays.get_mut(*index).map(|array| &mut array.attributes),
            Place::Group(path) => {
                let index = self.group_index.get(path)?;
                self.groups.get_mut(*index).map(|group| &mut group.attributes)
            }
        }
    }
}

/// A whole number as wide as the source has it.
fn narrowed(
    (content, change): (Content, Option<String>),
    found: &Found,
) -> (Content, Option<String>) {
    let kind = found.data_type.as_ref().and_then(Kind::of);
    match (content, kind) {
        (
            Content::Number(Kind::Signed(8) | Kind::Unsigned(8), mut bytes),
            Some(kind @ (Kind::Signed(width) | Kind::Unsigned(width))),
        ) => {
            bytes.truncate(width);
            (Content::Number(kind, bytes), change)
        }
        (content, _) => (content, change),
    }
}

/// A value as targets store it, and how it changed; or why it cannot be.
fn content(value: &Value) -> Result<(Content, Option<String>), &'static str> {
    let number = |kind, bytes: &[u8]| Content::Number(kind, bytes.to_vec());
    let pair = |re: &[u8], im: &[u8]| [re, im].concat();
    Ok((
        match value {
            Value::Null => return Err("it has no value"),
            Value::Bool(is) => number(Kind::Unsigned(1), &[u8::from(*is)]),
            Value::Int(n) => number(Kind::Signed(8), &n.to_le_bytes()),
            Value::UInt(n) | Value::Address(n) => number(Kind::Unsigned(8), &n.to_le_bytes()),
            Value::Float32(x) => number(Kind::Float(4), &x.to_le_bytes()),
            Value::Float(x) => number(Kind::Float(8), &x.to_le_bytes()),
            Value::Complex32([re, im]) => {
                number(Kind::Complex(4), &pair(&re.to_le_bytes(), &im.to_le_bytes()))
            }
            Value::Complex([re, im]) => {
                number(Kind::Complex(8), &pair(&re.to_le_bytes(), &im.to_le_bytes()))
            }
            Value::Decimal(digits) => {
                let rounded: f64 = digits.parse().map_err(|_| "it is no number")?;
                let change = "rounded to double precision".to_owned();
                return Ok((number(Kind::Float(8), &rounded.to_le_bytes()), Some(change)));
            }
            Value::Text(text) => {
                let has_nul = text.contains('\0');
                let change =
                    has_nul.then(|| "has NUL in its text, where most readers end it".into());
                return Ok((Content::Text(text.clone()), change));
            }
            Value::Bytes(bytes) => {
                let change = "stored as bytes, for nobody knows its type".to_owned();
                return Ok((Content::Numbers(Kind::Unsigned(1), bytes.clone()), Some(change)));
            }
            Value::List(values) => return list(values).map(|content| (content, None)),
            _ => return Err("no target has its type"),
        },
        None,
    ))
}

/// Several values of one type.
fn list(values: &[Value]) -> Result<Content, &'static str> {
    const MIXED: &str = "its values are of several types";
    let mut texts = Vec::new();
    let mut numbers: Option<(Kind, Vec<u8>)> = None;
    for value in values {
        match (content(value)?.0, &mut numbers) {
            (Content::Text(text), None) => texts.push(text),
            (Content::Number(kind, bytes), None) if texts.is_empty() => {
                numbers = Some((kind, bytes));
            }
            (Content::Number(kind, bytes), Some((known, all))) if kind == *known => {
                all.extend_from_slice(&bytes);
            }
            _ => return Err(MIXED),
        }
    }
    Ok(match numbers {
        Some((kind, bytes)) => Content::Numbers(kind, bytes),
        None => Content::Texts(texts),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_attribute_again_is_one_and_another_value_gets_another_name() {
        let text = |text: &str| Content::Text(text.to_owned());
        let mut groups = [Group { path: String::new(), attributes: Vec::new() }];
        let mut holders = Holders::new(&mut groups, &mut []);
        let root = Place::Group(String::new());
        let mut put = |name, value| holders.put(&root, name, &text(value));
        assert_eq!(put("units", "m").as_deref(), Some("units"));
        assert_eq!(put("units", "m"), None);
        assert_eq!(put("units", "cm").as_deref(), Some("units~2"));
        assert_eq!(put("units", "cm"), None);
        assert_eq!(put("units~2", "m").as_deref(), Some("units~2~2"));
        assert_eq!(put("units", "mm").as_deref(), Some("units~3"));
        assert_eq!(groups[0].attributes.len(), 4);
    }

    #[test]
    fn lists_are_of_one_type() {
        let ints = Value::List(vec![1.into(), 2.into()]);
        let (found, _) = content(&ints).unwrap();
        assert_eq!(
            found,
            Content::Numbers(Kind::Signed(8), [1_i64, 2].map(i64::to_le_bytes).concat())
        );
        assert!(content(&Value::List(vec![1.into(), 0.5.into()])).is_err());
        assert!(content(&Value::Null).is_err());
    }
}
