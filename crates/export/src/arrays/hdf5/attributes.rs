//! Attributes of groups and datasets.

use kymo_core::Result;
use rust_hdf5::types::{Complex32, Complex64};
use rust_hdf5::{DatatypeMessage, H5Dataset, H5Group, H5Type, VarLenUnicode};

use super::{datatype, failed};
use crate::arrays::Kind;
use crate::arrays::plan::{Attribute, Content};

/// Ways to store the texts of attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextAttributes {
    /// As texts of any length, which h5py reads as `str`.
    Variable,
    /// As so many characters, which every reader of `NetCDF` knows.
    Fixed,
}

/// Adds the attributes of a dataset.
pub(crate) fn add_to_dataset(
    to: &H5Dataset,
    attributes: &[Attribute],
    texts: TextAttributes,
) -> Result<()> {
    attributes.iter().try_for_each(|attribute| add(&AttributeOwner::Dataset(to), attribute, texts))
}

/// Adds the attributes of a group.
pub(crate) fn add_to_group(
    to: &H5Group,
    attributes: &[Attribute],
    texts: TextAttributes,
) -> Result<()> {
    attributes.iter().try_for_each(|attribute| add(&AttributeOwner::Group(to), attribute, texts))
}

/// Object that an attribute is put on.
enum AttributeOwner<'a> {
    Dataset(&'a H5Dataset),
    Group(&'a H5Group),
}

fn add(to: &AttributeOwner<'_>, attribute: &Attribute, texts: TextAttributes) -> Result<()> {
    let name = attribute.name.as_str();
    let done = match &attribute.content {
        Content::Text(text) if texts == TextAttributes::Fixed && !text.is_empty() => {
            let bytes = u32::try_from(text.len()).unwrap_or(u32::MAX);
            to.typed(name, DatatypeMessage::fixed_string_utf8(bytes), text.as_bytes().to_vec())
        }
        Content::Text(text) => to.text(name, text),
        Content::Texts(texts) => {
            let texts: Vec<_> = texts.iter().map(String::as_str).collect();
            to.texts(name, &texts)
        }
        Content::Number(kind, bytes) => to.typed(name, datatype(*kind), bytes.clone()),
        Content::Numbers(kind, bytes) => return numbers(to, name, *kind, bytes),
    };
    done.map_err(failed)
}

/// Adds several numbers.
fn numbers(to: &AttributeOwner<'_>, name: &str, kind: Kind, bytes: &[u8]) -> Result<()> {
    let done = match kind {
        Kind::Signed(1) => to.array(name, &each(bytes, i8::from_le_bytes)),
        Kind::Signed(2) => to.array(name, &each(bytes, i16::from_le_bytes)),
        Kind::Signed(4) => to.array(name, &each(bytes, i32::from_le_bytes)),
        Kind::Signed(_) => to.array(name, &each(bytes, i64::from_le_bytes)),
        Kind::Unsigned(2) => to.array(name, &each(bytes, u16::from_le_bytes)),
        Kind::Unsigned(4) => to.array(name, &each(bytes, u32::from_le_bytes)),
        Kind::Unsigned(8) => to.array(name, &each(bytes, u64::from_le_bytes)),
        Kind::Float(4) => to.array(name, &each(bytes, f32::from_le_bytes)),
        Kind::Float(_) => to.array(name, &each(bytes, f64::from_le_bytes)),
        Kind::Complex(4) => {
            let parts = each(bytes, f32::from_le_bytes);
            let pairs = parts.as_chunks::<2>().0.iter().map(|&[re, im]| Complex32 { re, im });
            to.array(name, &pairs.collect::<Vec<_>>())
        }
        Kind::Complex(_) => {
            let parts = each(bytes, f64::from_le_bytes);
            let pairs = parts.as_chunks::<2>().0.iter().map(|&[re, im]| Complex64 { re, im });
            to.array(name, &pairs.collect::<Vec<_>>())
        }
        Kind::Unsigned(_) | Kind::Text(_) | Kind::Bytes(_) => to.array(name, bytes),
    };
    done.map_err(failed)
}

fn each<T, const N: usize>(bytes: &[u8], make: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks::<N>().0.iter().map(|bytes| make(*bytes)).collect()
}

impl AttributeOwner<'_> {
    fn typed(
        &self,
        name: &str,
        datatype: DatatypeMessage,
        value: Vec<u8>,
    ) -> rust_hdf5::Result<()> {
        match self {
            Self::Dataset(to) => to.set_attr_typed(name, datatype, value),
            Self::Group(to) => to.set_attr_typed(name, datatype, value),
        }
    }

    fn text(&self, name: &str, text: &str) -> rust_hdf5::Result<()> {
        match self {
            Self::Dataset(to) => {
                to.new_attr::<VarLenUnicode>().shape(()).create(name)?.write_string(text)
            }
            Self::Group(to) => to.set_attr_string(name, text),
        }
    }

    fn texts(&self, name: &str, texts: &[&str]) -> rust_hdf5::Result<()> {
        match self {
            Self::Dataset(to) => {
                let shape = [texts.len()];
                to.new_attr::<VarLenUnicode>().shape(shape).create(name)?.write_string_array(texts)
            }
            Self::Group(to) => to.set_attr_string_array(name, texts),
        }
    }

    fn array<T: H5Type>(&self, name: &str, values: &[T]) -> rust_hdf5::Result<()> {
        match self {
            Self::Dataset(to) => {
                to.new_attr::<T>().shape([values.len()]).create(name)?.write_array(values)
            }
            Self::Group(to) => to.set_attr_array_numeric(name, values),
        }
    }
}
