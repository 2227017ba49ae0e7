//! Properties of JSON objects, and what is wrong with them.

use std::borrow::Cow;

use kymo_core::bytes::{ReadError, ReadResult};
use serde_json::{Map, Value};

/// An object within a fragment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Object<'a> {
    map: &'a Map<String, Value>,
    /// The first byte of the fragment.
    pub(super) offset: u64,
}

impl<'a> Object<'a> {
    pub(super) fn new(value: &'a Value, offset: u64) -> ReadResult<Self> {
        let map = value.as_object().ok_or_else(|| invalid(offset, "an object belongs here"))?;
        Ok(Self { map, offset })
    }

    pub(super) fn map(&self) -> &'a Map<String, Value> {
        self.map
    }

    #[cold]
    pub(super) fn error(&self, why: impl Into<Cow<'static, str>>) -> ReadError {
        invalid(self.offset, why)
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        self.map.get(name)
    }

    /// A property as what it is to be.
    fn as_a<T>(
        &self,
        name: &str,
        what: &str,
        item: impl FnOnce(&'a Value) -> Option<T>,
    ) -> ReadResult<Option<T>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        item(value).map(Some).ok_or_else(|| self.error(format!("`{name}` is to be {what}")))
    }

    fn needed<T>(&self, name: &str, value: Option<T>) -> ReadResult<T> {
        value.ok_or_else(|| self.error(format!("`{name}` is missing")))
    }

    pub(super) fn text(&self, name: &str) -> ReadResult<Option<&'a str>> {
        self.as_a(name, "a text", Value::as_str)
    }

    pub(super) fn needed_text(&self, name: &str) -> ReadResult<&'a str> {
        self.needed(name, self.text(name)?)
    }

    pub(super) fn unsigned(&self, name: &str) -> ReadResult<Option<u64>> {
        self.as_a(name, "a whole number from 0 on, of 64 bits", Value::as_u64)
    }

    pub(super) fn needed_unsigned(&self, name: &str) -> ReadResult<u64> {
        self.needed(name, self.unsigned(name)?)
    }

    pub(super) fn signed(&self, name: &str) -> ReadResult<Option<i64>> {
        self.as_a(name, "a whole number of 64 bits with the sign", Value::as_i64)
    }

    pub(super) fn list(&self, name: &str) -> ReadResult<Option<&'a [Value]>> {
        self.as_a(name, "a list", |value| value.as_array().map(Vec::as_slice))
    }

    pub(super) fn needed_list(&self, name: &str) -> ReadResult<&'a [Value]> {
        self.needed(name, self.list(name)?)
    }

    pub(super) fn object(&self, name: &str) -> ReadResult<Option<Self>> {
        self.get(name).map(|value| Self::new(value, self.offset)).transpose()
    }

    pub(super) fn needed_value(&self, name: &str) -> ReadResult<&'a Value> {
        self.needed(name, self.get(name))
    }

    /// Sees that there is nothing that changes what all else means.
    pub(super) fn refuse_extensions(&self) -> ReadResult<()> {
        let Some(spaces) = self.object("extensions")? else { return Ok(()) };
        for (space, named) in spaces.map {
            if let Some(name) = named.as_object().and_then(|named| named.keys().next()) {
                let name = kymo_core::shortened(&format!("{space}/{name}")).into_owned();
                let why = format!("it has the extension {name}, and none is known here");
                return Err(self.error(why));
            }
        }
        Ok(())
    }
}

/// A number without a fraction.
pub(super) fn whole_number(value: &Value) -> Option<i128> {
    value.as_number()?.as_i128()
}

#[cold]
pub(super) fn invalid(offset: u64, why: impl Into<Cow<'static, str>>) -> ReadError {
    ReadError::invalid("metadata", offset, why)
}
