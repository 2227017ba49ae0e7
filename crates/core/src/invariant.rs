//! Access to what is there unless the program has a bug.

use crate::error::{Error, Result};

/// Takes what must be there.
pub trait Invariant<T> {
    /// The value, or an error that says what is broken.
    ///
    /// ```
    /// use kymo_core::Invariant;
    ///
    /// let runs = ["a", "b"];
    /// let error = runs.get(2).or_broken("an event is of a run that is not open").unwrap_err();
    /// assert!(error.to_string().contains("an event is of a run that is not open"));
    /// ```
    ///
    /// # Errors
    /// When it is not there, which only a bug can cause.
    fn or_broken(self, what: &'static str) -> Result<T>;
}

impl<T> Invariant<T> for Option<T> {
    #[inline]
    fn or_broken(self, what: &'static str) -> Result<T> {
        match self {
            Some(value) => Ok(value),
            None => broken(what),
        }
    }
}

#[cold]
fn broken<T>(what: &'static str) -> Result<T> {
    Err(Error::Broken(what))
}

/// The place of an index in a list, which grows to have it.
#[inline]
#[allow(clippy::indexing_slicing, reason = "the list was just made long enough")]
pub fn slot<T: Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if list.len() <= index {
        list.resize_with(index + 1, T::default);
    }
    &mut list[index]
}
