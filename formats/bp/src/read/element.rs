//! One element from its bytes.

use std::borrow::Cow;

use kymo_core::bytes::{Cursor, Endian, ReadError, ReadErrorKind, ReadResult};

use crate::spec::{self, Datatype};
use crate::types::{Dimensions, Element, ElementKind, Payload, cursor};

/// Tags beyond this many are no element of any writer. A sound one has three.
const TAGS_MAX: usize = 8;

/// Reads an element from exactly its bytes. Never fails: what is wrong is in its `fault`.
pub(crate) fn parse(bytes: &[u8], offset: u64, endian: Endian) -> Element<'_> {
    let usual = parse_usual(bytes, offset, bytes.len() as u64, endian);
    usual.unwrap_or_else(|| parse_any(bytes, offset, endian))
}

/// Reads an element of the usual layout from its first bytes, as many as its header takes. Its
/// payload has its place and size, and those of its bytes that were given.
pub(crate) fn parse_usual(
    head: &[u8],
    offset: u64,
    length: u64,
    endian: Endian,
) -> Option<Element<'_>> {
    match endian {
        Endian::Little => parse_layout::<false>(head, offset, length),
        Endian::Big => parse_layout::<true>(head, offset, length),
    }
}

/// Reads a sound element in the one layout that writers use: name, path, value, and no more.
/// Files have millions of them, and each is read again whenever it is asked for.
fn parse_layout<const BIG: bool>(head: &[u8], offset: u64, length: u64) -> Option<Element<'_>> {
    let endian = if BIG { Endian::Big } else { Endian::Little };
    let (_, rest) = word::<BIG>(head)?;
    let (tag, rest) = word::<BIG>(rest)?;
    let kind = ElementKind::from_tag(tag)?;
    let (name, rest) = text::<BIG>(rest)?;
    let (dir, rest) = word::<BIG>(rest)?;
    let (path, rest) = text::<BIG>(rest)?;
    let (val, rest) = word::<BIG>(rest)?;
    let (size, rest) = word::<BIG>(rest)?;
    let (dimensions, rest) = match val {
        spec::VAL_TAG => (None, rest),
        spec::DSTVAL_TAG => {
            let (rank, rest) = word::<BIG>(rest)?;
            let bytes = u64::from(rank).min(spec::RANK_MAX + 1) * spec::DIMENSION_BYTES;
            let (dimensions, rest) = rest.split_at_checked(usize::try_from(bytes).ok()?)?;
            (Some(Dimensions::new(dimensions, endian)), rest)
        }
        _ => return None,
    };
    let (datatype, payload) = word::<BIG>(rest)?;
    let is_dataset = kind == ElementKind::Dataset;
    let rank = dimensions.map_or(0, Dimensions::rank) as u64;
    if dir != spec::DIR_TAG
        || kind == ElementKind::Group
        || is_dataset != dimensions.is_some()
        || rank > spec::RANK_MAX
        || (!is_dataset && u64::from(size) > spec::TEXT_BYTES_MAX)
        || (head.len() - payload.len()) as u64 + u64::from(size) != length
    {
        return None;
    }
    let end = offset + length;
    let payload = Payload {
        datatype: Datatype(datatype),
        dimensions,
        range: end - u64::from(size)..end,
        bytes: payload,
        stated_bytes: size.into(),
    };
    let element_bytes = payload.element_bytes().ok()?;
    Some(Element {
        offset,
        length,
        kind: Some(kind),
        name,
        path,
        has_path: true,
        payload: Some(payload),
        element_bytes,
        oddity: None,
        fault: None,
    })
}

fn word<const BIG: bool>(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (word, rest) = bytes.split_first_chunk()?;
    Some((if BIG { u32::from_be_bytes(*word) } else { u32::from_le_bytes(*word) }, rest))
}

/// A length and as many bytes.
fn text<const BIG: bool>(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = word::<BIG>(bytes)?;
    if u64::from(length) > spec::TEXT_BYTES_MAX {
        return None;
    }
    rest.split_at_checked(length as usize)
}

/// Reads an element tag by tag, and says what is odd or wrong.
fn parse_any(bytes: &[u8], offset: u64, endian: Endian) -> Element<'_> {
    let mut element = empty(offset, bytes.len() as u64);
    let mut tags = cursor(bytes, offset, endian);
    let read = tags.u32("element length").and_then(|_| read_tags(&mut tags, &mut element));
    match read {
        Err(fault) => element.fault = Some(Box::new(fault)),
        Ok(()) => complete(&mut element),
    }
    element
}

/// Finds out how large the values are, or why the element cannot be used.
fn complete(element: &mut Element<'_>) {
    element.fault = missing(element).map(Box::new);
    if let (None, Some(payload)) = (&element.fault, &element.payload) {
        match payload.element_bytes() {
            Ok(bytes) => element.element_bytes = bytes,
            Err(fault) => element.fault = Some(Box::new(fault)),
        }
    }
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
    complete(&mut element);
    is_certain(&element).then_some(element)
}

/// Returns true if an element that nothing led to is one beyond doubt: a name, a path and a value
/// of a known type, and nothing odd. Groups are too easily found in noise.
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
        element_bytes: 0,
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
                set_oddity(element, offset, why);
            }
            return Ok(false);
        }
        spec::DIR_TAG if element.has_path => {
            return Err(ReadError::invalid("tag", offset, "a second path in one element"));
        }
        spec::VAL_TAG | spec::DSTVAL_TAG if element.payload.is_some() => {
            return Err(ReadError::invalid("tag", offset, "a second value in one element"));
        }
        spec::DIR_TAG => {
            let length = read_text_length(tags, "path length")?;
            element.path = tags.bytes("path", length)?;
            element.has_path = true;
            if element.kind.is_none() {
                let why = "the path stands before the name";
                set_oddity(element, offset, why);
            }
        }
        spec::VAL_TAG => element.payload = Some(read_value(tags)?),
        spec::DSTVAL_TAG => element.payload = Some(read_dataset_value(tags)?),
        tag => match ElementKind::from_tag(tag) {
            Some(kind) if element.kind.is_none() => {
                let length = read_text_length(tags, "name length")?;
                element.kind = Some(kind);
                element.name = tags.bytes("name", length)?;
            }
            Some(_) => {
                return Err(ReadError::invalid("tag", offset, "a second name in one element"));
            }
            None => {
                // There is no way to know how an unknown tag goes on: the rest is passed over.
                let why = format!("unknown tag {tag}; the rest of the element is passed over");
                set_oddity(element, offset, why);
                return Ok(false);
            }
        },
    }
    Ok(true)
}

/// Keeps the first of what is odd.
#[cold]
fn set_oddity(element: &mut Element<'_>, offset: u64, why: impl Into<Cow<'static, str>>) {
    let oddity = || Box::new(ReadError::invalid("tag", offset, why));
    element.oddity.get_or_insert_with(oddity);
}

/// The value of a scalar or an attribute.
fn read_value<'a>(tags: &mut Cursor<'a>) -> ReadResult<Payload<'a>> {
    let size = read_text_length(tags, "value length")?;
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

/// The length of a name, a path or a single value.
fn read_text_length(tags: &mut Cursor<'_>, what: &'static str) -> ReadResult<u64> {
    let offset = tags.offset();
    let found = read_size(tags, what)?;
    let limit = spec::TEXT_BYTES_MAX;
    if found <= limit {
        Ok(found)
    } else {
        Err(ReadErrorKind::OverLimit { found, limit }.error_at(what, offset))
    }
}

/// A size that must not be negative; the bytes themselves are checked when they are taken.
fn read_size(tags: &mut Cursor<'_>, what: &'static str) -> ReadResult<u64> {
    let offset = tags.offset();
    let found = tags.i32(what)?;
    u64::try_from(found).map_err(|_| ReadErrorKind::Negative(found.into()).error_at(what, offset))
}

/// Returns an error for a part that an element needs and does not have.
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
    Some(ReadError::invalid("tags", element.offset, what))
}
