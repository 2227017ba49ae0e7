//! Types that the reader returns and the writer takes.

use std::borrow::Cow;
use std::ops::Range;

use kymo_core::bytes::{Cursor, Endian, ReadError, ReadResult};

use crate::spec::{self, Datatype};

/// Kind of an element, as given by its first tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ElementKind {
    /// A group by itself. No known writer makes one.
    Group,
    /// An array.
    Dataset,
    /// A single value.
    Scalar,
    /// A number that describes a dataset or a scalar.
    DatasetAttributeNumber,
    /// A string that describes a dataset or a scalar.
    DatasetAttributeString,
    /// A number that describes a group.
    GroupAttributeNumber,
    /// A string that describes a group.
    GroupAttributeString,
}

impl ElementKind {
    /// Every kind.
    pub const ALL: [Self; 7] = [
        Self::Group,
        Self::Dataset,
        Self::Scalar,
        Self::DatasetAttributeNumber,
        Self::DatasetAttributeString,
        Self::GroupAttributeNumber,
        Self::GroupAttributeString,
    ];

    /// The kind that a tag names, if it names one.
    #[must_use]
    pub fn from_tag(tag: u32) -> Option<Self> {
        Some(match tag {
            spec::GRP_TAG => Self::Group,
            spec::DST_TAG => Self::Dataset,
            spec::SCR_TAG => Self::Scalar,
            spec::DSTATRN_TAG => Self::DatasetAttributeNumber,
            spec::DSTATRS_TAG => Self::DatasetAttributeString,
            spec::GRPATRN_TAG => Self::GroupAttributeNumber,
            spec::GRPATRS_TAG => Self::GroupAttributeString,
            _ => return None,
        })
    }

    /// The tag that names the kind.
    #[must_use]
    pub fn to_tag(self) -> u32 {
        match self {
            Self::Group => spec::GRP_TAG,
            Self::Dataset => spec::DST_TAG,
            Self::Scalar => spec::SCR_TAG,
            Self::DatasetAttributeNumber => spec::DSTATRN_TAG,
            Self::DatasetAttributeString => spec::DSTATRS_TAG,
            Self::GroupAttributeNumber => spec::GRPATRN_TAG,
            Self::GroupAttributeString => spec::GRPATRS_TAG,
        }
    }

    /// The words a person reads.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Group => "group",
            Self::Dataset => "dataset",
            Self::Scalar => "scalar",
            Self::DatasetAttributeNumber => "dataset attribute (number)",
            Self::DatasetAttributeString => "dataset attribute (string)",
            Self::GroupAttributeNumber => "group attribute (number)",
            Self::GroupAttributeString => "group attribute (string)",
        }
    }

    /// Returns true if it describes something else.
    #[must_use]
    pub fn is_attribute(self) -> bool {
        self.is_dataset_attribute() || self.is_group_attribute()
    }

    /// Returns true if it describes a dataset or a scalar.
    #[must_use]
    pub fn is_dataset_attribute(self) -> bool {
        matches!(self, Self::DatasetAttributeNumber | Self::DatasetAttributeString)
    }

    /// Returns true if it describes a group.
    #[must_use]
    pub fn is_group_attribute(self) -> bool {
        matches!(self, Self::GroupAttributeNumber | Self::GroupAttributeString)
    }
}

/// One dimension of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Dimension {
    /// Number of values that this element holds along it.
    pub local_bound: i32,
    /// Number of values of the array that it is a part of; 0 when it is no part.
    pub global_bound: i32,
    /// Start of this element in that array.
    pub global_offset: i32,
}

impl Dimension {
    /// A dimension of an array that is no part of another.
    #[must_use]
    pub fn local(bound: i32) -> Self {
        Self { local_bound: bound, ..Self::default() }
    }

    /// A dimension of a part of a larger array.
    #[must_use]
    pub fn global(local_bound: i32, global_bound: i32, global_offset: i32) -> Self {
        Self { local_bound, global_bound, global_offset }
    }
}

/// The dimensions of a dataset, decoded as they are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dimensions<'a> {
    bytes: &'a [u8],
    endian: Endian,
}

impl<'a> Dimensions<'a> {
    pub(crate) fn new(bytes: &'a [u8], endian: Endian) -> Self {
        Self { bytes, endian }
    }

    /// Returns the number of dimensions.
    #[must_use]
    pub fn rank(self) -> usize {
        self.bytes.len() / 12
    }

    /// One after the other, in the order of the file.
    #[must_use]
    pub fn iter(self) -> impl ExactSizeIterator<Item = Dimension> + use<'a> {
        let endian = self.endian;
        let (rows, _) = self.bytes.as_chunks::<12>();
        rows.iter().map(move |row| Self::decode(row, endian))
    }

    fn decode(row: &[u8; 12], endian: Endian) -> Dimension {
        let words = row.as_chunks::<4>().0.iter().map(|word| match endian {
            Endian::Little => i32::from_le_bytes(*word),
            Endian::Big => i32::from_be_bytes(*word),
        });
        let mut dimension = Dimension::default();
        let fields =
            [&mut dimension.local_bound, &mut dimension.global_bound, &mut dimension.global_offset];
        fields.into_iter().zip(words).for_each(|(field, word)| *field = word);
        dimension
    }

    /// Returns true if the dataset is a part of a larger array.
    #[must_use]
    pub fn is_global(self) -> bool {
        self.iter().any(|dimension| dimension.global_bound != 0)
    }

    /// Returns the number of values that the local bounds make; `None` when a bound is negative or
    /// the product is beyond 64 bits.
    #[must_use]
    pub fn local_volume(self) -> Option<u64> {
        self.iter().try_fold(1_u64, |product, dimension| {
            product.checked_mul(u64::try_from(dimension.local_bound).ok()?)
        })
    }
}

/// The value of an element: its type and where its bytes are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload<'a> {
    /// The type of the values.
    pub datatype: Datatype,
    /// The dimensions, for a dataset.
    pub dimensions: Option<Dimensions<'a>>,
    /// Range of the bytes, counted from the start of the file.
    pub range: Range<u64>,
    /// The bytes.
    pub bytes: &'a [u8],
    /// The size that the file states, which is that of `bytes` but for datasets of strings:
    /// their writer forgot to write the values.
    pub stated_bytes: u64,
}

impl Payload<'_> {
    /// Returns the number of bytes of one value.
    ///
    /// # Errors
    /// When the sizes disagree: a negative bound, a payload that is no multiple, a size that no
    /// writer gave the type.
    pub(crate) fn element_bytes(&self) -> ReadResult<u64> {
        let size = self.stated_bytes;
        let Some(dimensions) = self.dimensions else {
            return if self.datatype.can_have_size(size) {
                Ok(size)
            } else {
                let why = format!("{size} bytes are not one {}", self.datatype.name());
                Err(self.invalid("value", why))
            };
        };
        let volume = self.volume(dimensions)?;
        match volume {
            0 if size == 0 => Ok(spec::Dialect::default().size_of(self.datatype).unwrap_or(0)),
            1.. if size.is_multiple_of(volume)
                && size > 0
                && self.datatype.can_have_size(size / volume) =>
            {
                Ok(size / volume)
            }
            _ => {
                let name = self.datatype.name();
                let why = format!("{size} bytes are not {volume} values of type {name}");
                Err(self.invalid("dataset value", why))
            }
        }
    }

    /// Returns the number of values that the local bounds make, if all bounds make sense.
    fn volume(&self, dimensions: Dimensions<'_>) -> ReadResult<u64> {
        let mut volume = 1_u64;
        for Dimension { local_bound, global_bound, global_offset } in dimensions.iter() {
            if global_bound < 0 || global_offset < 0 {
                return Err(self.invalid("dimensions", "a negative global bound or offset"));
            }
            let bound = u64::try_from(local_bound).ok();
            let Some(product) = bound.and_then(|bound| volume.checked_mul(bound)) else {
                let why = "a negative bound, or a product beyond 64 bits";
                return Err(self.invalid("dimensions", why));
            };
            volume = product;
        }
        Ok(volume)
    }

    #[cold]
    fn invalid(&self, what: &'static str, why: impl Into<Cow<'static, str>>) -> ReadError {
        ReadError::invalid(what, self.range.start, why)
    }
}

/// One element of a file, borrowed from its bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Element<'a> {
    /// Its first byte.
    pub offset: u64,
    /// Its length, the length word included.
    pub length: u64,
    /// Kind of the element.
    pub kind: Option<ElementKind>,
    /// Its name as it stands in the file.
    pub name: &'a [u8],
    /// Its path as it stands in the file.
    pub path: &'a [u8],
    /// True if a path stands in the file at all; it may be empty.
    pub has_path: bool,
    /// Its value; a group has none.
    pub payload: Option<Payload<'a>>,
    /// Number of bytes of one value: payload ÷ product of the local bounds, since writers differ. A
    /// string is one value. Of no meaning when the element has a fault.
    pub element_bytes: u64,
    /// Oddity of its tags. The rest was read all the same. Stored apart, as few elements have one.
    pub oddity: Option<Box<ReadError>>,
    /// Reason why it cannot be used.
    pub fault: Option<Box<ReadError>>,
}

impl<'a> Element<'a> {
    /// The name as text.
    #[must_use]
    pub fn name_text(&self) -> Cow<'a, str> {
        text(self.name)
    }

    /// The path as text, as it stands in the file.
    #[must_use]
    pub fn path_text(&self) -> Cow<'a, str> {
        text(self.path)
    }

    /// Returns the number of values; a group has none.
    #[must_use]
    pub fn value_count(&self) -> u64 {
        match &self.payload {
            None => 0,
            Some(Payload { dimensions: None, .. }) => 1,
            Some(Payload { dimensions: Some(dimensions), .. }) => {
                dimensions.local_volume().unwrap_or(0)
            }
        }
    }

    /// Returns true if its values were never written: the fault of a known writer of string
    /// datasets.
    #[must_use]
    pub fn is_missing_values(&self) -> bool {
        let lacks = |payload: &Payload<'_>| payload.stated_bytes > payload.bytes.len() as u64;
        self.payload.as_ref().is_some_and(lacks)
    }
}

/// Text of 2008: UTF-8 where it is that, Latin-1 otherwise, so that every byte shows.
pub(crate) fn text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().map(|&byte| char::from(byte)).collect()),
    }
}

/// Returns true if bytes are no UTF-8, and read as Latin-1.
pub(crate) fn is_latin1(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err()
}

/// A path with one `/` before each part and none at the end; the root is `/`.
pub(crate) fn normal_path(parts: &[&str]) -> String {
    let mut path = String::with_capacity(parts.iter().map(|part| part.len() + 1).sum());
    for part in parts.iter().flat_map(|part| part.split('/')).filter(|part| !part.is_empty()) {
        path.push('/');
        path.push_str(part);
    }
    if path.is_empty() {
        path.push('/');
    }
    path
}

/// A cursor over a part of a file.
pub(crate) fn cursor(bytes: &[u8], offset: u64, endian: Endian) -> Cursor<'_> {
    Cursor::with_offset(bytes, offset, endian)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lose_their_empty_parts_only() {
        assert_eq!(normal_path(&["//double//slash", "x"]), "/double/slash/x");
        assert_eq!(normal_path(&["noslash", "x"]), "/noslash/x");
        assert_eq!(normal_path(&["", "x"]), "/x");
        assert_eq!(normal_path(&["/trailing/", "x"]), "/trailing/x");
        assert_eq!(normal_path(&["/", ""]), "/");
    }

    #[test]
    fn bytes_that_are_no_utf_8_are_latin_1() {
        assert_eq!(text("µ".as_bytes()), "µ");
        assert_eq!(text(&[b'a', 0xB5]), "aµ");
    }

    #[test]
    fn kinds_and_tags_are_each_others_inverse() {
        for kind in ElementKind::ALL {
            assert_eq!(ElementKind::from_tag(kind.to_tag()), Some(kind));
        }
        assert_eq!(ElementKind::from_tag(spec::DIR_TAG), None);
    }
}
