//! The numbers of the format: tags, datatypes, and how large each writer made them.
//!
//! The byte layout in words: `docs/formats/bp.md`.

use std::borrow::Cow;

/// Ends an element's list of tags.
pub const NULL_TAG: u32 = 0;
/// A group: its name.
pub const GRP_TAG: u32 = 1;
/// A dataset: its name.
pub const DST_TAG: u32 = 2;
/// A scalar: its name.
pub const SCR_TAG: u32 = 3;
/// The path of an element.
pub const DIR_TAG: u32 = 4;
/// The value of a scalar or an attribute.
pub const VAL_TAG: u32 = 5;
/// The dimensions and values of a dataset.
pub const DSTVAL_TAG: u32 = 6;
/// A number that describes a dataset: its name.
pub const DSTATRN_TAG: u32 = 7;
/// A string that describes a dataset: its name.
pub const DSTATRS_TAG: u32 = 8;
/// A number that describes a group: its name.
pub const GRPATRN_TAG: u32 = 9;
/// A string that describes a group: its name.
pub const GRPATRS_TAG: u32 = 10;

/// The length word of an element.
pub const LENGTH_BYTES: u64 = 4;
/// The least an element can be: its length, a tag and the tag's length.
pub const ELEMENT_BYTES_MIN: u64 = 12;
/// One dimension of a dataset: local bound, global bound, global offset.
pub const DIMENSION_BYTES: u64 = 12;

/// No array of any known program has more dimensions; HDF5 stops at 32. Keeps the cost of
/// looking at a damaged header small.
pub const RANK_MAX: u64 = 255;

/// A name, a path or a string beyond this is no text that a program wrote.
pub const TEXT_BYTES_MAX: u64 = 1 << 28;

/// The code of a datatype. Codes that the specification does not list are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Datatype(pub u32);

#[allow(missing_docs, reason = "the specification's own names")]
impl Datatype {
    pub const CHAR: Self = Self(0);
    pub const SHORT: Self = Self(1);
    pub const INT: Self = Self(2);
    pub const LONG: Self = Self(3);
    pub const LONGLONG: Self = Self(4);
    pub const FLOAT: Self = Self(5);
    pub const DOUBLE: Self = Self(6);
    pub const LONGDOUBLE: Self = Self(7);
    pub const POINTER: Self = Self(8);
    pub const STRING: Self = Self(9);
    pub const COMPLEX: Self = Self(10);
    /// Since 2008-07-15 only.
    pub const DOUBLE_COMPLEX: Self = Self(11);
    pub const UCHAR: Self = Self(50);
    pub const USHORT: Self = Self(51);
    pub const UINT: Self = Self(52);
    pub const ULONG: Self = Self(53);
    pub const ULONGLONG: Self = Self(54);
}

impl Datatype {
    /// Every datatype that has a name.
    pub const ALL: [Self; 17] = [
        Self::CHAR,
        Self::SHORT,
        Self::INT,
        Self::LONG,
        Self::LONGLONG,
        Self::FLOAT,
        Self::DOUBLE,
        Self::LONGDOUBLE,
        Self::POINTER,
        Self::STRING,
        Self::COMPLEX,
        Self::DOUBLE_COMPLEX,
        Self::UCHAR,
        Self::USHORT,
        Self::UINT,
        Self::ULONG,
        Self::ULONGLONG,
    ];

    /// The specification's name without its `bp_`; a number for an unknown one.
    #[must_use]
    pub fn name(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::CHAR => "char",
            Self::SHORT => "short",
            Self::INT => "int",
            Self::LONG => "long",
            Self::LONGLONG => "longlong",
            Self::FLOAT => "float",
            Self::DOUBLE => "double",
            Self::LONGDOUBLE => "longdouble",
            Self::POINTER => "pointer",
            Self::STRING => "string",
            Self::COMPLEX => "complex",
            Self::DOUBLE_COMPLEX => "double complex",
            Self::UCHAR => "uchar",
            Self::USHORT => "ushort",
            Self::UINT => "uint",
            Self::ULONG => "ulong",
            Self::ULONGLONG => "ulonglong",
            Self(code) => return Cow::Owned(format!("unknown ({code})")),
        })
    }

    /// Returns true if the specification, or a later writer, lists it.
    #[must_use]
    pub fn is_known(self) -> bool {
        matches!(self.0, 0..=11 | 50..=54)
    }

    /// Every size that a writer gave it; the first is that of 2008-07-11. None for strings and
    /// unknown types, which can be of any.
    fn sizes(self) -> &'static [u64] {
        match self {
            Self::CHAR | Self::UCHAR => &[1],
            Self::SHORT | Self::USHORT => &[2],
            Self::INT | Self::UINT | Self::FLOAT => &[4],
            Self::DOUBLE => &[8],
            Self::LONG | Self::ULONG => &[4, 8],
            Self::LONGLONG | Self::ULONGLONG | Self::POINTER => &[8, 4],
            Self::LONGDOUBLE | Self::DOUBLE_COMPLEX => &[16],
            Self::COMPLEX => &[16, 8],
            _ => &[],
        }
    }

    /// Returns true if some writer made its values of this size. Strings and unknown types can be
    /// any.
    #[must_use]
    pub fn can_have_size(self, bytes: u64) -> bool {
        let sizes = self.sizes();
        sizes.is_empty() || sizes.contains(&bytes)
    }

    /// Returns the number of bytes of a value that are swapped together in the other byte order.
    #[must_use]
    pub fn unit_bytes(self, element_bytes: u64) -> u64 {
        match self {
            Self::STRING => 1,
            Self::COMPLEX | Self::DOUBLE_COMPLEX => element_bytes / 2,
            _ if self.is_known() => element_bytes,
            _ => 1,
        }
    }
}

/// The writers in the field, which differ in the sizes of some types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Dialect {
    /// `long long` has 4 bytes.
    V2008_06_04,
    /// The same writer built with long long: `long` and `long long` have 8 bytes.
    V2008_06_04LongLong,
    /// The last writer with the specification's type numbers, and the usual one.
    #[default]
    V2008_07_11,
    /// `complex` has 8 bytes, and there is `double complex`.
    V2008_07_15,
}

impl Dialect {
    /// Every dialect, the oldest first.
    pub const ALL: [Self; 4] =
        [Self::V2008_06_04, Self::V2008_06_04LongLong, Self::V2008_07_11, Self::V2008_07_15];

    /// The date of the writer, as a person reads it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::V2008_06_04 => "2008-06-04",
            Self::V2008_06_04LongLong => "2008-06-04 with long long",
            Self::V2008_07_11 => "2008-07-11",
            Self::V2008_07_15 => "2008-07-15",
        }
    }

    /// Returns the size of one value of a datatype for this writer; `None` for strings, for unknown
    /// types, and for what the writer does not have.
    #[must_use]
    pub fn size_of(self, datatype: Datatype) -> Option<u64> {
        let is_long = matches!(datatype, Datatype::LONG | Datatype::ULONG);
        let is_long_long = matches!(datatype, Datatype::LONGLONG | Datatype::ULONGLONG);
        match self {
            Self::V2008_06_04 if is_long_long => Some(4),
            Self::V2008_06_04LongLong if is_long => Some(8),
            Self::V2008_07_15 if datatype == Datatype::COMPLEX => Some(8),
            Self::V2008_07_15 => datatype.sizes().first().copied(),
            _ if datatype == Datatype::DOUBLE_COMPLEX => None,
            _ => datatype.sizes().first().copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of facts on element sizes: long, longlong, complex, double complex.
    #[test]
    fn sizes_are_those_of_the_writers() {
        let sizes = |dialect: Dialect| {
            [Datatype::LONG, Datatype::LONGLONG, Datatype::COMPLEX, Datatype::DOUBLE_COMPLEX]
                .map(|datatype| dialect.size_of(datatype))
        };
        assert_eq!(sizes(Dialect::V2008_06_04), [Some(4), Some(4), Some(16), None]);
        assert_eq!(sizes(Dialect::V2008_06_04LongLong), [Some(8), Some(8), Some(16), None]);
        assert_eq!(sizes(Dialect::V2008_07_11), [Some(4), Some(8), Some(16), None]);
        assert_eq!(sizes(Dialect::V2008_07_15), [Some(4), Some(8), Some(8), Some(16)]);
    }

    #[test]
    fn every_size_a_writer_uses_is_one_that_can_be_read() {
        for dialect in Dialect::ALL {
            for datatype in Datatype::ALL {
                if let Some(bytes) = dialect.size_of(datatype) {
                    assert!(datatype.can_have_size(bytes), "{dialect:?} {datatype:?}");
                }
            }
        }
    }
}
