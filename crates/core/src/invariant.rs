//! Access to what is there unless the program has a bug.

use crate::error::{Error, Result};

/// Takes what an invariant of the program says is there.
pub trait Invariant<T> {
    /// The value, or an error that names the invariant that is broken.
    ///
    /// ```
    /// use kymo_core::Invariant;
    ///
    /// let runs = ["a", "b"];
    /// let error = runs.get(2).or_broken("an event is of a run that was opened").unwrap_err();
    /// assert!(error.to_string().contains("an event is of a run that was opened"));
    /// ```
    ///
    /// # Errors
    /// When it is not there, which only a bug can cause.
    fn or_broken(self, invariant: &'static str) -> Result<T>;
}

impl<T> Invariant<T> for Option<T> {
    #[inline]
    fn or_broken(self, invariant: &'static str) -> Result<T> {
        match self {
            Some(value) => Ok(value),
            None => broken(invariant),
        }
    }
}

#[cold]
fn broken<T>(invariant: &'static str) -> Result<T> {
    Err(Error::Broken(invariant))
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
