//! What a conversion cannot keep as it was.

use std::fmt::{Display, Formatter};

/// Something that is lost or stored otherwise than it was, and of what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// The variable, the group or the attribute, by its path in the source.
    pub path: String,
    /// What happened to it.
    pub what: String,
}

impl Loss {
    pub(crate) fn new(path: impl Into<String>, what: impl Into<String>) -> Self {
        Self { path: path.into(), what: what.into() }
    }
}

impl Display for Loss {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path, self.what)
    }
}
