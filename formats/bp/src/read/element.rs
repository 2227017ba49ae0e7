//! One element from its bytes.

use kymo_core::bytes::{Cursor, Endian, ReadError, ReadErrorKind, ReadResult};

use crate::spec::{self, Datatype};
use crate::types::{Dimensions, Element, ElementKind, Payload, cursor};

/// Tags beyond this many are no element of any writer. A sound one has three.
const TAGS_MAX: usize = 8;

/// Reads an element from exactly its bytes. Never fails: what is wrong is in its `fault`.
pub(crate) fn parse(bytes: &[u8], offset: u64, endian: Endian) -> Element<'_> {
    let mut element = empty(offset, bytes.len() as u64);
    let mut tags = cursor(bytes, offset, endian);
    if let Err(fault) = tags.u32("element length").and_then(|_| read_tags(&mut tags, &mut element))
    {
        element.fault = Some(fault);
    } else if element.fault.is_none() {
        element.fault = missing(&element).or_else(|| element.element_bytes().err());
    }
    element
}

/// Reads an element by its tags alone, whatever its length word says: as far as a sound one
/// reaches.
pub(crate) fn parse_unbounded(bytes: &[u8], offset: u64, endian: Endian) -> Option<Element<'_>> {
    let mut element = empty(offset, 0);
    let mut tags = cursor(bytes, offset, endian);
    tags.u32("element length").ok()?;
    for _ in 0..3 {
        read_tag(&mut tags, &mut element).ok()?;
    }
    element.length = tags.offset() - offset;
    element.fault = missing(&element).or_else(|| element.element_bytes().err());
    is_certain(&element).then_some(element)
}

/// Whether an element that nothing led to is one beyond doubt: a name, a path and a value of a
/// known type, and nothing odd. Groups are too easily found in noise.
pub(crate) fn is_certain(element: &Element<'_>) -> bool {
    let is_text = |bytes: &[u8]| !bytes.iter().any(u8::is_ascii_control);
    let payload = element.payload.as_ref();
    element.fault.is_none()
        && element.oddity.is_none()
        && payload.is_some_and(|payload| payload.datatype.is_known())
        && is_text(element.name)
        && is_text(element.path)
}

fn empty<'a>(offset: u64, length: u64) -> Element<'a> {
    Element {
        offset,
        length,
        kind: None,
        name: &[],
        path: &[],
        has_path: false,
        payload: None,
        oddity: None,
        fault: None,
    }
}

/// Reads tags until the element's bytes end.
fn read_tags<'a>(tags: &mut Cursor<'a>, element: &mut Element<'a>) -> ReadResult<()> {
    for _ in 0..TAGS_MAX {
        if tags.remaining() == 0 || !read_tag(tags, element)? {
            return Ok(());
        }
    }
    Err(ReadError::invalid("tag", tags.offset(), "more tags than any element has"))
}

/// Reads one tag. False when the list of tags ends with it.
fn read_tag<'a>(tags: &mut Cursor<'a>, element: &mut Element<'a>) -> ReadResult<bool> {
    let offset = tags.offset();
    match tags.u32("tag")? {
        spec::NULL_TAG => {
            if tags.remaining() > 0 {
                let why = format!("a null tag ends the element {} bytes early", tags.remaining());
                element.oddity = Some(ReadError::invalid("tag", offset, why));
            }
            return Ok(false);
        }
        spec::DIR_TAG => {
            let length = tags.length_i32("path length")?;
            element.path = tags.bytes("path", length)?;
            element.has_path = true;
            if element.kind.is_none() {
                let why = "the path stands before the name";
                element.oddity = Some(ReadError::invalid("tag", offset, why));
            }
        }
        spec::VAL_TAG => element.payload = Some(read_value(tags)?),
        spec::DSTVAL_TAG => element.payload = Some(read_dataset_value(tags)?),
        tag => match ElementKind::from_tag(tag) {
            Some(kind) if element.kind.is_none() => {
                let length = tags.length_i32("name length")?;
                element.kind = Some(kind);
                element.name = tags.bytes("name", length)?;
            }
            Some(_) => {
                return Err(ReadError::invalid("tag", offset, "a second name in one element"));
            }
            None => {
                // There is no way to know how an unknown tag goes on: the rest is passed over.
                let why = format!("unknown tag {tag}; the rest of the element is passed over");
                element.oddity = Some(ReadError::invalid("tag", offset, why));
                return Ok(false);
            }
        },
    }
    Ok(true)
}

/// The value of a scalar or an attribute.
fn read_value<'a>(tags: &mut Cursor<'a>) -> ReadResult<Payload<'a>> {
    let size = read_size(tags, "value length")?;
    let datatype = Datatype(tags.u32("datatype")?);
    let start = tags.offset();
    let bytes = tags.bytes("value", size)?;
    Ok(Payload {
        datatype,
        dimensions: None,
        range: start..tags.offset(),
        bytes,
        stated_bytes: size,
    })
}

/// The dimensions and values of a dataset.
fn read_dataset_value<'a>(tags: &mut Cursor<'a>) -> ReadResult<Payload<'a>> {
    let stated_bytes = read_size(tags, "dataset value size")?;
    let rank = tags.count_u32("rank", spec::RANK_MAX, spec::DIMENSION_BYTES)? as u64;
    let endian = tags.endian();
    let dimensions = tags.bytes("dimensions", rank * spec::DIMENSION_BYTES)?;
    let datatype = Datatype(tags.u32("datatype")?);
    let start = tags.offset();
    // One writer counted the values of strings in the size and then wrote none.
    let is_unwritten = datatype == Datatype::STRING && tags.remaining() == 0;
    let size = if is_unwritten { 0 } else { stated_bytes };
    let bytes = tags.bytes("dataset value", size)?;
    Ok(Payload {
        datatype,
        dimensions: Some(Dimensions::new(dimensions, endian)),
        range: start..tags.offset(),
        bytes,
        stated_bytes,
    })
}

/// A size that must not be negative; the bytes themselves are checked when they are taken.
fn read_size(tags: &mut Cursor<'_>, what: &'static str) -> ReadResult<u64> {
    let offset = tags.offset();
    let found = tags.i32(what)?;
    u64::try_from(found).map_err(|_| ReadErrorKind::Negative(found.into()).at(what, offset))
}

/// What an element cannot do without.
fn missing(element: &Element<'_>) -> Option<ReadError> {
    let what = match element {
        Element { kind: None, .. } => "there is no tag that says what the element is",
        Element { has_path: false, .. } => "there is no path",
        Element { kind: Some(ElementKind::Group), payload: Some(_), .. } => "a group with a value",
        Element { kind: Some(ElementKind::Group), payload: None, .. } => return None,
        Element { payload: None, .. } => "there is no value",
        Element { kind: Some(ElementKind::Dataset), payload: Some(payload), .. }
            if payload.dimensions.is_none() =>
        {
            "a dataset without dimensions"
        }
        Element { kind: Some(kind), payload: Some(payload), .. }
            if *kind != ElementKind::Dataset && payload.dimensions.is_some() =>
        {
            "dimensions on what is no dataset"
        }
        _ => return None,
    };
    Some(ReadError::invalid("element", element.offset, what))
}
