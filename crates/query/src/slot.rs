//! Places in lists, in little room.

/// A place in a list, or none, in four bytes: a timeline may have millions of tracks, and several
/// lists have a place for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot(u32);

impl Slot {
    pub(crate) const NONE: Self = Self(u32::MAX);

    /// A place. No list of tracks has room for so many that a number does not fit.
    pub(crate) fn new(place: usize) -> Self {
        u32::try_from(place).map_or(Self::NONE, Self)
    }

    #[inline]
    pub(crate) fn get(self) -> Option<usize> {
        if self == Self::NONE { None } else { usize::try_from(self.0).ok() }
    }
}

/// The place that a list of places has at a place.
#[inline]
pub(crate) fn slot_value(list: &[Slot], place: usize) -> Option<usize> {
    list.get(place)?.get()
}
