//! Items of lists by places that were worked out here.

/// The item at a place of our own making.
///
/// Nothing that a recording says leads beyond the list. If a place does even so, tests and fuzzing fail:
/// left out without a word, it would be a figure that is too small.
#[inline]
#[track_caller]
pub(crate) fn item_mut<T>(items: &mut [T], place: usize) -> Option<&mut T> {
    let item = items.get_mut(place);
    debug_assert!(item.is_some(), "a place of our own is beyond its list");
    item
}
