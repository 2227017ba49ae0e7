//! Columns of texts that are JSON each.

use arrow_schema::{DataType, Field};

/// The key under which a column says what its values are beyond their type.
const EXTENSION: &str = "ARROW:extension:name";

/// Arrow's own name for such a column.
const JSON: &str = "arrow.json";

/// A column of texts that are JSON, or null.
#[must_use]
pub fn json_field(name: &str) -> Field {
    Field::new(name, DataType::Utf8, true).with_metadata(json_metadata().into())
}

/// Metadata of such a column.
pub(super) fn json_metadata() -> [(String, String); 1] {
    [(EXTENSION.to_owned(), JSON.to_owned())]
}

/// Returns true if the texts of a column are JSON.
#[must_use]
pub fn is_json(field: &Field) -> bool {
    field.metadata().get(EXTENSION).is_some_and(|name| name == JSON)
}
