//! Losses: what a conversion cannot keep as it was.

use std::fmt::{Display, Formatter};

/// Something that is lost or stored otherwise than it was, and of what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// Sort of loss.
    pub kind: LossKind,
    /// The variable, the group or the attribute, by its path in the source.
    pub path: String,
    /// Description of what happened to it.
    pub what: String,
}

/// The sorts of losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LossKind {
    /// It is not in the output.
    LeftOut,
    /// It has another name.
    Renamed,
    /// It describes something that is not there.
    Dangling,
    /// Its values are stored as another type.
    Changed,
    /// It has other dimensions.
    Reshaped,
    /// Values are not in the file.
    Missing,
    /// Values were written more than once and differ.
    Overlap,
    /// Values are rounded.
    Rounded,
}

impl LossKind {
    /// The word for it, for programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::LeftOut => "left-out",
            Self::Renamed => "renamed",
            Self::Dangling => "dangling",
            Self::Changed => "changed",
            Self::Reshaped => "reshaped",
            Self::Missing => "missing",
            Self::Overlap => "overlap",
            Self::Rounded => "rounded",
        }
    }
}

impl Loss {
    pub(crate) fn new(kind: LossKind, path: impl Into<String>, what: impl Into<String>) -> Self {
        Self { kind, path: path.into(), what: what.into() }
    }
}

impl Display for Loss {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path, self.what)
    }
}
