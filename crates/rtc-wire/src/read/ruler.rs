//! Boundaries of a Unit.

use crate::spec::{CRC_BYTES, MARKER_BYTES, MINOR_BYTES_MIN};

const MARKER: u64 = MARKER_BYTES as u64;
const CRC: u64 = CRC_BYTES as u64;

/// The size of a Unit where there is only one, and what would tell is damaged.
pub(super) const MAJOR_UNKNOWN: u64 = 1 << 48;

/// The ruler of one Unit: where its Marker is, or would be, and how far apart the ticks are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ruler {
    /// Offset at which the Marker starts; before the file's first byte when that part was cut off.
    pub marker: i64,
    /// The size of a Unit.
    pub major: u64,
    /// The size of a unit.
    pub minor: u64,
}

impl Ruler {
    /// Learns the sizes from entries 3 and 4 of an Index.
    ///
    /// Sizes are powers of two, and no other makes sense. They are hints. The oldest writer is
    /// short by a checksum's size, and where Units are no larger than units, entry 4 grows from
    /// Unit to Unit.
    #[must_use]
    pub fn from_hints(marker: i64, major_back: u64, minor_back: u64) -> Option<Self> {
        let major = rounded(major_back);
        let minor = if minor_back == 0 { major } else { rounded(minor_back).min(major) };
        let is_sane = minor >= MINOR_BYTES_MIN
            && major < MAJOR_UNKNOWN
            && major.is_power_of_two()
            && minor.is_power_of_two();
        is_sane.then_some(Self { marker, major, minor })
    }

    /// Returns true if something told how large Units are.
    #[must_use]
    pub fn is_size_known(&self) -> bool {
        self.major < MAJOR_UNKNOWN
    }

    /// Returns the offset of the Index of the Unit.
    #[must_use]
    pub fn index(&self) -> i64 {
        self.marker.saturating_add_unsigned(MARKER)
    }

    /// The first tick of a unit after a position, whether or not it lies in the Unit.
    #[must_use]
    pub fn tick_after(&self, position: u64) -> u64 {
        let from_index = i128::from(position) - i128::from(self.index());
        let minor = i128::from(self.minor.max(1));
        let ticks = from_index.div_euclid(minor) + 1;
        let tick = i128::from(self.index()) + ticks.max(1) * minor;
        u64::try_from(tick).unwrap_or(if tick < 0 { 0 } else { u64::MAX })
    }

    /// The ruler of the Unit before.
    #[must_use]
    pub fn previous_unit(&self) -> Self {
        Self { marker: self.marker.saturating_sub_unsigned(self.major), ..*self }
    }

    /// Returns the offset at which the next Marker is to be.
    #[must_use]
    pub fn end(&self) -> u64 {
        u64::try_from(self.marker.saturating_add_unsigned(self.major)).unwrap_or(0)
    }

    /// Returns the offset at which the oldest writer has the next Marker in all but the first Unit.
    #[must_use]
    pub fn early_end(&self) -> u64 {
        self.end().saturating_sub(CRC)
    }
}

/// The power of two that a size is, but for the checksum that the oldest writer forgets.
fn rounded(size: u64) -> u64 {
    let with_crc = size.saturating_add(CRC);
    if with_crc.is_power_of_two() { with_crc } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_learnt_from_what_writers_say() {
        let sizes = |major, minor| Ruler::from_hints(0, major, minor).map(|r| (r.major, r.minor));
        assert_eq!(sizes(8192, 2048), Some((8192, 2048)));
        // The oldest writer from its third Unit on.
        assert_eq!(sizes(8187, 2043), Some((8192, 2048)));
        // Units no larger than units: the entry counts on.
        assert_eq!(sizes(2048, 3 * 2048), Some((2048, 2048)));
        assert_eq!(sizes(8192, 7), None);
        // A bit of either was changed.
        assert_eq!(sizes(8194, 2048), None);
        assert_eq!(sizes(8192, 2048 + 4096), None);
    }

    #[test]
    fn ticks_lie_a_unit_apart_from_the_index_on() {
        let ruler = Ruler { marker: 8192, major: 8192, minor: 2048 };
        assert_eq!(ruler.tick_after(8192 + 1025), 8192 + 1025 + 2048);
        assert_eq!(ruler.tick_after(8192 + 1024), 8192 + 1025 + 2048);
        assert_eq!(ruler.tick_after(8192 + 1025 + 2047), 8192 + 1025 + 2048);
        assert_eq!(ruler.tick_after(8192 + 1025 + 2048), 8192 + 1025 + 4096);
        assert_eq!((ruler.end(), ruler.early_end()), (16384, 16379));
        // A Unit whose beginning was cut off.
        let ruler = Ruler { marker: -5000, major: 8192, minor: 2048 };
        assert_eq!(ruler.tick_after(0), 121);
        assert_eq!(ruler.end(), 3192);
    }
}
