//! Field classes: what fields are and how they are laid out.

use std::collections::HashMap;
use std::sync::Arc;

use kymo_core::bytes::{Endian, ReadResult};
use serde_json::Value;

use super::object::{Object, whole_number};
use crate::spec::DEPTH_MAX;
use crate::types::{
    Case, Coding, Encoding, Field, Flag, Float, Integer, Kind, Label, Length, Location, Origin,
    Ranges, Role, Roles, Type,
};

type Aliases = HashMap<String, Arc<Type>>;

/// The class that a property has, described there or before under a name.
pub(super) fn read(object: &Object<'_>, name: &str, aliases: &Aliases) -> ReadResult<Arc<Type>> {
    class(object, object.needed_value(name)?, aliases)
}

/// A class. JSON is nested so deeply at most as its reader allows, which is a multiple of
/// [`DEPTH_MAX`].
fn class(object: &Object<'_>, value: &Value, aliases: &Aliases) -> ReadResult<Arc<Type>> {
    if let Some(name) = value.as_str() {
        let known = aliases.get(name).map(Arc::clone);
        return known.ok_or_else(|| {
            let name = kymo_core::shortened(name).into_owned();
            object.error(format!("there is no field class `{name}` before it"))
        });
    }
    let object = Object::new(value, object.offset)?;
    object.refuse_extensions()?;
    let (kind, nested) = kind(&object, aliases)?;
    let depth = nested + 1;
    if depth > DEPTH_MAX {
        return Err(object.error("types are nested too deeply"));
    }
    Ok(Arc::new(Type { kind, depth }))
}

/// Returns the kind of a class, and the depth of types nested in it.
fn kind(object: &Object<'_>, aliases: &Aliases) -> ReadResult<(Kind, u32)> {
    let kind = match object.needed_text("type")? {
        "structure" => return structure(object, aliases),
        "static-length-array" | "dynamic-length-array" => {
            let element = read(object, "element-field-class", aliases)?;
            let depth = element.depth;
            let align = alignment(object, "minimum-alignment")?;
            return Ok((Kind::Array(element, length(object)?, align), depth));
        }
        "optional" => {
            let class = read(object, "field-class", aliases)?;
            let ranges = object.get("selector-field-ranges");
            let ranges = ranges.map(|value| ranges_of(object, value)).transpose()?;
            let depth = class.depth;
            return Ok((Kind::Optional(location(object, SELECTOR)?, ranges, class), depth));
        }
        "variant" => return variant(object, aliases),
        "null-terminated-string" => text(object, None)?,
        "static-length-string" | "dynamic-length-string" => text(object, Some(length(object)?))?,
        "static-length-blob" | "dynamic-length-blob" => {
            let has_role = roles_of(object)?.contains(&"metadata-stream-uuid");
            Kind::Blob(length(object)?, has_role)
        }
        "fixed-length-floating-point-number" => Kind::Float(float(object)?),
        name => number(object, name)?,
    };
    Ok((kind, 0))
}

/// Classes that are numbers.
fn number(object: &Object<'_>, name: &str) -> ReadResult<Kind> {
    Ok(match name {
        "fixed-length-bit-array" => Kind::Integer(Integer { base: 16, ..fixed(object, false)? }),
        "fixed-length-boolean" => Kind::Boolean(fixed(object, false)?),
        "fixed-length-bit-map" => {
            let integer = fixed(object, false)?;
            let flags = flags(object, integer.bits)?;
            Kind::BitMap(integer, flags)
        }
        // Drafts of the specification had classes of their own for those that have names.
        "fixed-length-unsigned-integer" | "fixed-length-unsigned-enumeration" => {
            integer(object, fixed(object, false)?)?
        }
        "fixed-length-signed-integer" | "fixed-length-signed-enumeration" => {
            integer(object, fixed(object, true)?)?
        }
        "variable-length-unsigned-integer" => integer(object, variable(false))?,
        "variable-length-signed-integer" => integer(object, variable(true))?,
        other => {
            let other = kymo_core::shortened(other).into_owned();
            return Err(object.error(format!("field classes of the type `{other}` are not known")));
        }
    })
}

/// Bits of which there are always as many.
fn fixed(object: &Object<'_>, is_signed: bool) -> ReadResult<Integer> {
    let bits = object.needed_unsigned("length")?;
    let bits = u32::try_from(bits).ok().filter(|bits| (1..=64).contains(bits));
    let (order, is_reversed) = orders(object)?;
    Ok(Integer {
        bits: bits.ok_or_else(|| object.error("numbers of 1 to 64 bits are read"))?,
        align: alignment(object, "alignment")?,
        order,
        coding: if is_reversed { Coding::Reversed } else { Coding::Fixed },
        ..variable(is_signed)
    })
}

fn variable(is_signed: bool) -> Integer {
    Integer {
        bits: 64,
        align: 8,
        is_signed,
        order: Endian::Little,
        base: 10,
        is_text: false,
        clock: None,
        coding: Coding::Variable,
        roles: Roles::default(),
    }
}

/// An integer with what is said besides its bits.
fn integer(object: &Object<'_>, bits: Integer) -> ReadResult<Kind> {
    let base = match object.unsigned("preferred-display-base")? {
        Some(2) => 2,
        Some(8) => 8,
        Some(16) => 16,
        _ => 10,
    };
    let mut roles = Roles::default();
    roles_of(object)?.into_iter().filter_map(role).for_each(|role| roles.insert(role));
    let integer = Integer { base, roles, ..bits };
    let labels = labels(object)?;
    // A time has no names for its values: it is to set the clock.
    if labels.is_empty() || roles.contains(Role::Timestamp) {
        return Ok(Kind::Integer(integer));
    }
    Ok(Kind::Enumeration(integer, labels.into()))
}

fn roles_of<'a>(object: &Object<'a>) -> ReadResult<Vec<&'a str>> {
    let roles = object.list("roles")?.unwrap_or_default();
    let roles: Option<Vec<_>> = roles.iter().map(Value::as_str).collect();
    roles.ok_or_else(|| object.error("roles are texts"))
}

fn role(name: &str) -> Option<Role> {
    Some(match name {
        "packet-magic-number" => Role::Magic,
        "data-stream-class-id" => Role::StreamId,
        "packet-total-length" => Role::PacketSize,
        "packet-content-length" => Role::ContentSize,
        "default-clock-timestamp" => Role::Timestamp,
        "packet-end-default-clock-timestamp" => Role::TimestampEnd,
        "discarded-event-record-counter-snapshot" => Role::EventsDiscarded,
        "packet-sequence-number" => Role::PacketSeqNum,
        "event-record-class-id" => Role::EventId,
        // Streams are known by their files.
        _ => return None,
    })
}

/// The names of values.
fn labels(object: &Object<'_>) -> ReadResult<Vec<Label>> {
    let mut labels = Vec::new();
    let Some(mappings) = object.object("mappings")? else { return Ok(labels) };
    for (name, ranges) in mappings.map() {
        let name: Arc<str> = name.as_str().into();
        let label = |(first, last): &(i128, i128)| Label {
            name: Arc::clone(&name),
            first: *first,
            last: *last,
        };
        labels.extend(ranges_of(object, ranges)?.iter().map(label));
    }
    Ok(labels)
}

/// The names of bits.
fn flags(object: &Object<'_>, bits: u32) -> ReadResult<Arc<[Flag]>> {
    let names = object.object("flags")?.ok_or_else(|| object.error("`flags` is missing"))?;
    let flag = |(name, ranges): (&String, &Value)| {
        let mut mask = 0;
        for (first, last) in ranges_of(object, ranges)?.iter() {
            let place = |bit: i128| u32::try_from(bit).ok().filter(|bit| *bit < bits);
            let places = place(*first).zip(place(*last));
            let (first, last) =
                places.ok_or_else(|| object.error("a flag is of bits that there are not"))?;
            mask |= (u64::MAX >> (63 - (last - first))) << first;
        }
        Ok(Flag { name: name.as_str().into(), mask })
    };
    names.map().iter().map(flag).collect()
}

fn float(object: &Object<'_>) -> ReadResult<Float> {
    let Integer { bits, align, order, coding, .. } = fixed(object, false)?;
    if ![16, 32, 64].contains(&bits) {
        return Err(object.error("floating point numbers of 16, 32 or 64 bits are read"));
    }
    Ok(Float { bits, align, order, is_reversed: coding == Coding::Reversed })
}

/// The byte order, and whether bits are in the other order than it has.
fn orders(object: &Object<'_>) -> ReadResult<(Endian, bool)> {
    let order = match object.needed_text("byte-order")? {
        "little-endian" => Endian::Little,
        "big-endian" => Endian::Big,
        _ => return Err(object.error("a byte order is little-endian or big-endian")),
    };
    let is_last_first = match object.text("bit-order")? {
        None => order == Endian::Big,
        Some("first-to-last") => false,
        Some("last-to-first") => true,
        Some(_) => return Err(object.error("a bit order is first-to-last or last-to-first")),
    };
    Ok((order, is_last_first != (order == Endian::Big)))
}

fn alignment(object: &Object<'_>, name: &str) -> ReadResult<u64> {
    let align = object.unsigned(name)?.unwrap_or(1);
    let is_sound = align.is_power_of_two() && align <= 1 << 16;
    is_sound.then_some(align).ok_or_else(|| object.error("an alignment is a power of two"))
}

/// Text of so many bytes, or up to a zero.
fn text(object: &Object<'_>, length: Option<Length>) -> ReadResult<Kind> {
    let encoding = match object.text("encoding")?.unwrap_or("utf-8") {
        "utf-8" => {
            let Some(length) = length else { return Ok(Kind::Text) };
            let bits = Integer { bits: 8, coding: Coding::Fixed, ..variable(false) };
            let kind = Kind::Integer(Integer { is_text: true, ..bits });
            return Ok(Kind::Array(Arc::new(Type { kind, depth: 1 }), length, 8));
        }
        "utf-16le" => Encoding::Utf16(Endian::Little),
        "utf-16be" => Encoding::Utf16(Endian::Big),
        "utf-32le" => Encoding::Utf32(Endian::Little),
        "utf-32be" => Encoding::Utf32(Endian::Big),
        _ => return Err(object.error("texts are UTF-8, UTF-16 or UTF-32")),
    };
    Ok(Kind::Wide(encoding, length))
}

/// Returns the number of elements or bytes: always as many, or as another field gives.
fn length(object: &Object<'_>) -> ReadResult<Length> {
    const LOCATION: &str = "length-field-location";
    match object.get(LOCATION) {
        Some(_) => location(object, LOCATION).map(Length::At),
        None => object.needed_unsigned("length").map(Length::Fixed),
    }
}

fn structure(object: &Object<'_>, aliases: &Aliases) -> ReadResult<(Kind, u32)> {
    let (mut fields, mut depth) = (Vec::new(), 0);
    for member in object.list("member-classes")?.unwrap_or_default() {
        let member = Object::new(member, object.offset)?;
        member.refuse_extensions()?;
        let kind = read(&member, "field-class", aliases)?;
        depth = depth.max(kind.depth);
        fields.push(Field { name: member.needed_text("name")?.into(), kind });
    }
    Ok((Kind::Struct(alignment(object, "minimum-alignment")?, fields), depth))
}

const SELECTOR: &str = "selector-field-location";

fn variant(object: &Object<'_>, aliases: &Aliases) -> ReadResult<(Kind, u32)> {
    let (mut cases, mut depth) = (Vec::new(), 0);
    for (number, option) in object.needed_list("options")?.iter().enumerate() {
        let option = Object::new(option, object.offset)?;
        option.refuse_extensions()?;
        let kind = read(&option, "field-class", aliases)?;
        depth = depth.max(kind.depth);
        let ranges = ranges_of(&option, option.needed_value("selector-field-ranges")?)?;
        // One without a name is known by its number.
        let name = option.text("name")?;
        let name = name.map_or_else(|| number.to_string().into(), Into::into);
        cases.push(Case { field: Field { name, kind }, ranges });
    }
    Ok((Kind::Choice(location(object, SELECTOR)?, cases.into()), depth))
}

fn ranges_of(object: &Object<'_>, value: &Value) -> ReadResult<Ranges> {
    let range = |range: &Value| {
        let [first, last] = range.as_array()?.as_slice() else { return None };
        Some((whole_number(first)?, whole_number(last)?)).filter(|(first, last)| first <= last)
    };
    let ranges = value.as_array().map(|ranges| ranges.iter().map(range).collect());
    let ranges: Option<Ranges> = ranges.flatten();
    ranges.ok_or_else(|| object.error("ranges are lists of the first and the last value"))
}

/// The place of the field that a length or a selector is.
fn location(object: &Object<'_>, name: &str) -> ReadResult<Location> {
    let error = || object.error(format!("`{name}` is no place of a field"));
    let value = object.needed_value(name)?;
    // Drafts of the specification had one list of both.
    let both = value.as_array().and_then(|list| list.split_first());
    let (origin, path) = if let Some((first, rest)) = both {
        (Some(first.as_str().ok_or_else(error)?), rest)
    } else {
        let value = Object::new(value, object.offset)?;
        (value.text("origin")?, value.needed_list("path")?)
    };
    let origin = origin.map(|name| self::origin(name).ok_or_else(error)).transpose()?;
    let (mut out, mut names) = (0, Vec::<Arc<str>>::new());
    for item in path {
        match item {
            Value::String(name) => names.push(name.as_str().into()),
            // The structure around a member is where we were before.
            Value::Null if names.pop().is_some() => {}
            Value::Null if origin.is_none() => out += 1,
            _ => return Err(error()),
        }
    }
    if names.is_empty() {
        return Err(error());
    }
    Ok(Location { origin, out, path: names.into() })
}

fn origin(name: &str) -> Option<Origin> {
    Some(match name {
        "packet-header" => Origin::PacketHeader,
        "packet-context" => Origin::PacketContext,
        "event-record-header" => Origin::EventHeader,
        "event-record-common-context" => Origin::CommonContext,
        "event-record-specific-context" => Origin::SpecificContext,
        "event-record-payload" => Origin::Payload,
        _ => return None,
    })
}
