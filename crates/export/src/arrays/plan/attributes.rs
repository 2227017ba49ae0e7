//! Attributes: where each goes, and its value as targets store it.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use arrow_schema::DataType;
use kymo_core::Value;
use kymo_model::arrays::{
    ATTRIBUTES_BYTES_MAX, ArraysView, Attribute as Found, Target, Variable, VariableId,
};

use super::names::{Names, unused};
use super::sizes::HAS_NUL;
use super::{Array, Group, Place};
use crate::arrays::{Kind, Loss, LossKind};

/// A name and a value that describe an array or a group.
#[derive(Debug, Clone, PartialEq)]
pub struct Attribute {
    /// Its name in the target.
    pub name: String,
    /// Its value.
    pub content: Content,
}

impl Attribute {
    /// One that the source does not have: where a part of an array lies.
    pub(super) fn numbers(name: &str, numbers: &[u64]) -> Self {
        let bytes = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        Self { name: name.to_owned(), content: Content::Numbers(Kind::Signed(8), bytes) }
    }
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
pub(super) fn selected_attributes(
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

/// Objects that attributes are put on.
pub(super) struct Holders<'a> {
    groups: &'a mut [Group],
    arrays: &'a mut [Array],
    group_index: HashMap<String, usize>,
    array_index: HashMap<String, usize>,
    /// Attributes that were put at each place, under the names that were asked for: the same
    /// attribute again is there already. Values may be long: two hashes stand for one.
    put: HashSet<(Place, String, [u64; 2])>,
    hashers: [RandomState; 2],
    taken: HashSet<(Place, String)>,
    /// Of names that were wanted again: the number that comes next.
    next: HashMap<(Place, String), u64>,
    /// Groups that have other names than in the source.
    renamed: HashSet<String>,
}

/// Outcome for an attribute.
#[derive(Debug, PartialEq, Eq)]
enum Placement {
    /// It has this name.
    As(String),
    /// The same one is there, which was said when it was put there.
    Again,
    /// There are as many already as there can be.
    Full,
}

/// Places of an attribute, its name there, and the message about that.
struct AttributeTarget {
    places: Vec<Place>,
    name: String,
    said: Option<(LossKind, String)>,
}

impl<'a> Holders<'a> {
    pub(super) fn new(groups: &'a mut [Group], arrays: &'a mut [Array]) -> Self {
        let paths = groups.iter().enumerate().map(|(index, group)| (group.path.clone(), index));
        let group_index = paths.collect();
        let paths = arrays.iter().enumerate().map(|(index, array)| (array.path.clone(), index));
        let array_index = paths.collect();
        let (put, hashers, taken, next, renamed) = Default::default();
        Self { groups, arrays, group_index, array_index, put, hashers, taken, next, renamed }
    }

    /// Puts an attribute where it belongs, and notes what cannot stay as it was.
    pub(super) fn add(
        &mut self,
        found: Found,
        places: &HashMap<String, Vec<Place>>,
        names: &Names<'_>,
        losses: &mut Vec<Loss>,
    ) {
        let label = format!("{} attribute {}", found.path, found.name);
        let mut say = |kind, what: &str| losses.push(Loss::new(kind, label.clone(), what));
        if let Some(bytes) = found.unread {
            let most = ATTRIBUTES_BYTES_MAX >> 20;
            let what = format!("left out: with its {bytes} bytes attributes have over {most} MiB");
            return say(LossKind::LeftOut, &what);
        }
        let AttributeTarget { places, name, said } = self.goal(&found, places, names);
        let is_recoded = found.is_recoded;
        let (content, change) = match content(found.value) {
            Ok((content, change)) => (narrowed(content, found.data_type.as_ref()), change),
            Err(why) => return say(LossKind::LeftOut, &format!("left out: {why}")),
        };
        if places.is_empty() {
            return say(LossKind::LeftOut, "left out with what it describes");
        }
        let legal = names.attribute(&name);
        let mut is_new = false;
        for place in &places {
            match self.put(place, &legal, &content, names.rules().attributes_max) {
                Placement::Again => continue,
                Placement::Full => {
                    let most = names.rules().attributes_max;
                    let what = format!("left out: {most} attributes are there already");
                    say(LossKind::LeftOut, &what);
                    continue;
                }
                Placement::As(stored) if stored != name => {
                    say(LossKind::Renamed, &format!("stored as {stored}"));
                }
                Placement::As(_) => {}
            }
            is_new = true;
        }
        if is_new {
            let recoded = is_recoded.then(|| "Latin-1, stored as UTF-8".to_owned());
            let changes = change.into_iter().chain(recoded).map(|it| (LossKind::Changed, it));
            said.into_iter().chain(changes).for_each(|(kind, what)| say(kind, &what));
            if matches!(found.target, Target::Group | Target::Nothing) {
                losses.extend(self.renamed(&found.path, found.target, names));
            }
        }
    }

    fn goal(
        &self,
        found: &Found,
        places: &HashMap<String, Vec<Place>>,
        names: &Names<'_>,
    ) -> AttributeTarget {
        let mut parts = names.parts(&found.path);
        let last = match found.target {
            Target::Variable => {
                let places = places.get(&found.path).cloned().unwrap_or_default();
                return AttributeTarget { places, name: found.name.clone(), said: None };
            }
            Target::Group => None,
            Target::Nothing => parts.pop(),
        };
        let above = names.array_above(&parts);
        let (place, rest) = match &above {
            Some((path, rest)) => (self.array_index.get(path).copied().map(Place::Array), *rest),
            None => (Some(Place::Group(parts.join("/"))), &[][..]),
        };
        let way = rest.iter().chain(&last).chain([&found.name]);
        let name = way.map(String::as_str).collect::<Vec<_>>().join(".");
        let holder = above.as_ref().map_or("its group".to_owned(), |(path, _)| format!("/{path}"));
        let said = match found.target {
            Target::Nothing => {
                let what = format!("there is no such variable; kept as {name} of {holder}");
                Some((LossKind::Dangling, what))
            }
            _ => above.is_some().then(|| {
                let what = format!("describes a group; kept as {name} of the array {holder}");
                (LossKind::Changed, what)
            }),
        };
        AttributeTarget { places: place.into_iter().collect(), name, said }
    }

    /// Returns the loss of a group that cannot have its name; once.
    fn renamed(&mut self, source: &str, target: Target, names: &Names<'_>) -> Option<Loss> {
        let source = match target {
            Target::Nothing => source.rsplit_once('/').map_or("", |(group, _)| group),
            _ => source,
        };
        let parts = names.parts(source);
        let group = parts.join("/");
        let is_new = names.array_above(&parts).is_none()
            && source.trim_matches('/') != group
            && self.renamed.insert(source.to_owned());
        is_new.then(|| Loss::new(LossKind::Renamed, source, format!("stored as /{group}")))
    }

    /// Adds an attribute under a name that is free.
    fn put(&mut self, place: &Place, name: &str, content: &Content, most: usize) -> Placement {
        let hashes = self.hashers.each_ref().map(|hasher| hasher.hash_one(content));
        if self.put.contains(&(place.clone(), name.to_owned(), hashes)) {
            return Placement::Again;
        }
        if self.attributes_at(place).is_none_or(|held| held.len() >= most) {
            return Placement::Full;
        }
        self.put.insert((place.clone(), name.to_owned(), hashes));
        let next = self.next.entry((place.clone(), name.to_owned())).or_insert(2);
        let is_free = |name: &String| !self.taken.contains(&(place.clone(), name.clone()));
        let stored = unused(name.to_owned(), next, is_free);
        self.taken.insert((place.clone(), stored.clone()));
        if let Some(held) = self.attributes_at(place) {
            held.push(Attribute { name: stored.clone(), content: content.clone() });
        }
        Placement::As(stored)
    }

    fn attributes_at(&mut self, place: &Place) -> Option<&mut Vec<Attribute>> {
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
fn narrowed(content: Content, data_type: Option<&DataType>) -> Content {
    match (content, data_type.and_then(Kind::from_type)) {
        (
            Content::Number(Kind::Signed(8) | Kind::Unsigned(8), mut bytes),
            Some(kind @ (Kind::Signed(width) | Kind::Unsigned(width))),
        ) => {
            bytes.truncate(width);
            Content::Number(kind, bytes)
        }
        (content, _) => content,
    }
}

/// A value as targets store it, and how it changed; or why it cannot be.
fn content(value: Value) -> Result<(Content, Option<String>), &'static str> {
    let number = |kind, bytes: &[u8]| Content::Number(kind, bytes.to_vec());
    let pair = |re: &[u8], im: &[u8]| [re, im].concat();
    Ok((
        match value {
            Value::Null => return Err("it has no value"),
            Value::Bool(is) => number(Kind::Unsigned(1), &[u8::from(is)]),
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
                let change = text.contains('\0').then(|| HAS_NUL.to_owned());
                return Ok((Content::Text(text), change));
            }
            Value::Bytes(bytes) => {
                let change = "stored as bytes, for nobody knows its type".to_owned();
                return Ok((Content::Numbers(Kind::Unsigned(1), bytes), Some(change)));
            }
            Value::List(values) => return list(values).map(|content| (content, None)),
            _ => return Err("no target has its type"),
        },
        None,
    ))
}

/// Several values of one type.
fn list(values: Vec<Value>) -> Result<Content, &'static str> {
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
        let mut put = |name, value| holders.put(&root, name, &text(value), 4);
        let stored = |name: &str| Placement::As(name.to_owned());
        assert_eq!(put("units", "m"), stored("units"));
        assert_eq!(put("units", "m"), Placement::Again);
        assert_eq!(put("units", "cm"), stored("units~2"));
        assert_eq!(put("units", "cm"), Placement::Again);
        assert_eq!(put("units~2", "m"), stored("units~2~2"));
        assert_eq!(put("units", "mm"), stored("units~3"));
        assert_eq!(put("units", "km"), Placement::Full);
        assert_eq!(groups[0].attributes.len(), 4);
    }

    #[test]
    fn lists_are_of_one_type() {
        let ints = Value::List(vec![1.into(), 2.into()]);
        let (found, _) = content(ints).unwrap();
        assert_eq!(
            found,
            Content::Numbers(Kind::Signed(8), [1_i64, 2].map(i64::to_le_bytes).concat())
        );
        assert!(content(Value::List(vec![1.into(), 0.5.into()])).is_err());
        assert!(content(Value::Null).is_err());
    }
}
