//! Reason why less is known of a module than could be.

/// Description of what is missing, in words that follow the name of the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Limitation {
    pub(crate) why: String,
    /// True if it is there, but is damaged or holds more than is read.
    pub(crate) is_damaged: bool,
}

impl Limitation {
    pub(crate) fn absent(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_damaged: false }
    }

    pub(crate) fn damaged(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_damaged: true }
    }

    /// The one that is said of several: the first that is damaged, or else the first.
    pub(crate) fn worst(lacks: impl IntoIterator<Item = Self>) -> Option<Self> {
        lacks.into_iter().reduce(|first, next| {
            let is_worse = next.is_damaged && !first.is_damaged;
            if is_worse { next } else { first }
        })
    }
}

impl From<gimli::Error> for Limitation {
    fn from(error: gimli::Error) -> Self {
        Self::damaged(format!("its debug information is damaged: {error}"))
    }
}

/// Returns what was found; the reason why nothing was found is added to what is lacking.
pub(crate) fn found<T>(
    found: Result<Option<T>, Limitation>,
    lacks: &mut Vec<Limitation>,
) -> Option<T> {
    found.unwrap_or_else(|lack| {
        lacks.push(lack);
        None
    })
}
