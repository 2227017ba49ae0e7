//! Attributes that a recording gives of a track, under the names it uses.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value as Json};

/// Attributes that a recording gives of a track, in the order in which they are given.
///
/// A recording may have a million tasks and say of each just its number and its priority: these take
/// no room of their own.
#[derive(Debug, Clone, Default)]
pub struct Attributes {
    /// Small numbers, where there is nothing else.
    numbers: Option<Numbers>,
    any: Option<Box<Map<String, Json>>>,
}

/// So many numbers are kept in place.
const NUMBERS: usize = 2;

/// Numbers, and their names.
type Numbers = (&'static [&'static str; NUMBERS], [i32; NUMBERS]);

impl Attributes {
    /// None.
    #[must_use]
    pub const fn new() -> Self {
        Self { numbers: None, any: None }
    }

    /// Two small numbers, whose names differ. One without a name is none.
    #[must_use]
    pub const fn numbers(names: &'static [&'static str; NUMBERS], numbers: [i32; NUMBERS]) -> Self {
        Self { numbers: Some((names, numbers)), any: None }
    }

    /// Returns true if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.numbers.is_none() && self.any.as_ref().is_none_or(|map| map.is_empty())
    }

    /// Returns the value given under a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Cow<'_, Json>> {
        match &self.any {
            Some(map) => map.get(name).map(Cow::Borrowed),
            None => self.number(name).map(|number| Cow::Owned(number.into())),
        }
    }

    /// The whole number that is said under a name.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<i64> {
        if let Some(map) = &self.any {
            return map.get(name)?.as_i64();
        }
        let (names, numbers) = self.numbers?;
        let at = names.iter().position(|known| *known == name && !name.is_empty())?;
        numbers.get(at).map(|number| i64::from(*number))
    }

    /// The text that is said under a name.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.any.as_ref()?.get(name)?.as_str()
    }

    /// Returns true if anything is said under a name.
    #[must_use]
    pub fn contains_key(&self, name: &str) -> bool {
        let is_number = self.number(name).is_some();
        is_number || self.any.as_ref().is_some_and(|map| map.contains_key(name))
    }

    /// Says something under a name, in place of what was said under it.
    pub fn insert(&mut self, name: &str, value: impl Into<Json>) {
        self.map_mut().insert(name.to_owned(), value.into());
    }

    /// All of them.
    #[must_use]
    pub fn to_map(&self) -> Cow<'_, Map<String, Json>> {
        match &self.any {
            Some(map) => Cow::Borrowed(map),
            None => Cow::Owned(self.numbers.map(to_map).unwrap_or_default()),
        }
    }

    /// All of them, to be changed.
    pub fn map_mut(&mut self) -> &mut Map<String, Json> {
        let numbers = self.numbers.take();
        self.any.get_or_insert_with(|| Box::new(numbers.map(to_map).unwrap_or_default()))
    }
}

fn to_map((names, numbers): Numbers) -> Map<String, Json> {
    let said = names.iter().zip(numbers).filter(|(name, _)| !name.is_empty());
    said.map(|(name, number)| ((*name).to_owned(), number.into())).collect()
}

impl PartialEq for Attributes {
    fn eq(&self, other: &Self) -> bool {
        self.to_map() == other.to_map()
    }
}

impl From<Map<String, Json>> for Attributes {
    fn from(map: Map<String, Json>) -> Self {
        let any = (!map.is_empty()).then(|| Box::new(map));
        Self { numbers: None, any }
    }
}

impl FromIterator<(String, Json)> for Attributes {
    fn from_iter<I: IntoIterator<Item = (String, Json)>>(all: I) -> Self {
        Map::from_iter(all).into()
    }
}

impl Serialize for Attributes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_map().serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn two_numbers_are_what_a_map_of_them_is() {
        let mut few = Attributes::numbers(&["id", "priority"], [7, -1]);
        let map = json!({"id": 7, "priority": -1});
        assert_eq!(few, Attributes::from(map.as_object().unwrap().clone()));
        assert_eq!(serde_json::to_string(&few).unwrap(), "{\"id\":7,\"priority\":-1}");
        assert_eq!((few.number("priority"), few.number("name")), (Some(-1), None));
        assert_eq!(few.get("id").as_deref(), Some(&json!(7)));
        assert!(few.contains_key("id") && !few.contains_key("name") && !few.is_empty());
        few.insert("name", "a");
        few.insert("id", 8);
        assert_eq!(json!(few), json!({"id": 8, "priority": -1, "name": "a"}));
        assert_eq!(few.text("name"), Some("a"));
    }

    #[test]
    fn a_number_without_a_name_is_none() {
        let one = Attributes::numbers(&["id", ""], [7, 1]);
        assert_eq!(json!(one), json!({"id": 7}));
        assert!(one.number("").is_none() && !one.contains_key(""));
    }

    #[test]
    fn none_are_as_many_as_an_empty_map_has() {
        assert_eq!(Attributes::new(), Attributes::from(Map::new()));
        assert!(Attributes::from(Map::new()).is_empty() && Attributes::new().get("id").is_none());
    }

    #[test]
    fn attributes_of_a_task_take_no_room_of_their_own() {
        assert_eq!(size_of::<Attributes>(), 24);
    }
}
