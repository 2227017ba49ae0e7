//! The JSON of Meta and meta frames, as far as frames depend on it: which streams there are, and
//! how long their frames.
//!
//! Tolerant: a text may be JSON5, such as that of the oldest writer, whose keys lack quotes, and one
//! that the first writers spoilt where it is longer than a frame gives every stream that can be
//! proven.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde_json::value::RawValue;

/// Greatest depth of nested objects before a text is taken for damaged.
const DEPTH_MAX: usize = 64;

/// First bytes of an object of Meta.
const OBJECT_START: &str = "{\"id\":";

/// Length of the frames of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Declared {
    /// Each frame has its length.
    Variable,
    /// Each message has so many bytes.
    Fixed(u64),
    /// Unknown length: the part that would give it is missing or damaged.
    Unproven,
}

/// Definition of one stream in a Meta.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// The stream.
    pub id: u32,
    /// Length of its frames.
    pub length: Declared,
    /// Its object, or as much of it as could be recovered, as JSON or JSON5.
    pub text: String,
    /// True if all of the object is there.
    pub is_whole: bool,
    /// True if it counts more than what was said before, since a checksum holds for it.
    pub is_proven: bool,
}

impl Definition {
    /// The format of its values; `type` in old files.
    pub(super) fn format(&self) -> Option<&str> {
        let inner = self.text.strip_prefix('{')?;
        let parts = split(inner.strip_suffix('}').unwrap_or(inner), ',')?;
        let mut pairs = parts.into_iter().filter_map(pair);
        let (_, value) = pairs.find(|(key, _)| ["format", "type"].contains(&unquoted(key)))?;
        Some(unquoted(value))
    }
}

/// Definitions in a Meta.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Definitions {
    /// The streams, in the order of the text.
    pub streams: Vec<Definition>,
    /// The next id that is free.
    pub next_free: Option<u32>,
    /// True if the text is a sound array.
    pub is_sound: bool,
    /// A stream of which another Unit says something else: one of them is damaged.
    pub contradicted: Option<u32>,
}

/// Reads the text of a Meta or meta chain; `seams` are where its frames were joined.
#[must_use]
pub fn definitions(bytes: &[u8], seams: &[usize]) -> Definitions {
    let text = String::from_utf8_lossy(bytes);
    if let Some(found) = json(&text).or_else(|| sound(&text)) {
        return found;
    }
    let plain = without_comments(&text);
    if let Some(found) = plain.as_deref().and_then(sound) {
        return found;
    }
    if bytes.len() == text.len() { recovered(&text, seams) } else { recovered(&text, &[]) }
}

/// Reads a text that is JSON, as most are.
fn json(text: &str) -> Option<Definitions> {
    let mut found = Definitions { is_sound: true, ..Definitions::default() };
    for element in serde_json::from_str::<Vec<&RawValue>>(text).ok()? {
        let text = element.get();
        if !text.starts_with('{') {
            found.next_free = Some(text.parse().ok()?);
            continue;
        }
        let pairs: BTreeMap<String, &RawValue> = serde_json::from_str(text).ok()?;
        let id = pairs.get("id")?.get().parse().ok()?;
        let length = declared(pairs.get("length").map(|value| value.get()), true);
        let text = text.to_owned();
        found.streams.push(Definition { id, length, text, is_whole: true, is_proven: false });
    }
    Some(found)
}

/// Returns the length of frames that an object of a stream gives, of which perhaps not all is left.
fn declared(length: Option<&str>, is_whole: bool) -> Declared {
    match length {
        None if is_whole => Declared::Variable,
        None => Declared::Unproven,
        Some("null") => Declared::Variable,
        Some(length) => number(length).map_or(Declared::Unproven, Declared::Fixed),
    }
}

/// A number of JSON5 that counts something.
fn number(text: &str) -> Option<u64> {
    let text = text.strip_prefix('+').unwrap_or(text);
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    match hexadecimal {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// A text of JSON5 without its comments; nothing where it has none, or one without an end.
fn without_comments(text: &str) -> Option<String> {
    let (mut plain, mut rest, mut scan) = (String::new(), text, Scan::default());
    let mut has_any = false;
    while let Some(character) = rest.chars().next() {
        let ends = [("/*", "*/"), ("//", "\n")];
        let comment = ends.into_iter().find(|(start, _)| rest.starts_with(start));
        if let Some((_, end)) = comment.filter(|_| scan.quote.is_none()) {
            (has_any, rest) = (true, rest.get(2..)?.split_once(end)?.1);
            continue;
        }
        scan.step(character)?;
        plain.push(character);
        rest = rest.get(character.len_utf8()..)?;
    }
    has_any.then_some(plain)
}

/// Reads a text whose brackets, quotes and values are as they should be.
fn sound(text: &str) -> Option<Definitions> {
    let mut found = Definitions { is_sound: true, ..Definitions::default() };
    let inner = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    for element in split(inner, ',')? {
        let element = element.trim();
        if element.starts_with('{') {
            let definition = definition(element, true)?;
            found.streams.push(definition);
        } else if !element.is_empty() {
            found.next_free = Some(u32::try_from(number(element)?).ok()?);
        }
    }
    Some(found)
}

/// One stream's object. Without an id it says nothing.
fn definition(object: &str, is_whole: bool) -> Option<Definition> {
    let inner = object.strip_prefix('{')?;
    let inner = inner.strip_suffix('}').unwrap_or(inner);
    let parts = split(inner, ',')?;
    if is_whole && !are_pairs(&parts) {
        return None;
    }
    let value = |key: &str| {
        parts.iter().rev().find_map(|part| {
            let (name, value) = pair(part)?;
            (unquoted(name) == key).then_some(value)
        })
    };
    let length = declared(value("length"), is_whole);
    let (id, text) = (u32::try_from(number(value("id")?)?).ok()?, object.to_owned());
    Some(Definition { id, length, text, is_whole, is_proven: false })
}

/// A key, with its quotes if it has any, and its value.
fn pair(text: &str) -> Option<(&str, &str)> {
    let mut scan = Scan::default();
    let mut characters = text.char_indices();
    let (colon, _) = characters.find(|(_, character)| {
        let is_outside = scan.step(*character).unwrap_or(false);
        is_outside && *character == ':'
    })?;
    Some((text.get(..colon)?.trim(), text.get(colon + 1..)?.trim()))
}

/// Returns true if each part has a key, in quotes or not, and a value. After the last one there may
/// be nothing.
fn are_pairs(parts: &[&str]) -> bool {
    let (last, before) = parts.split_last().unwrap_or((&"", &[]));
    let is_pair =
        |part: &&str| pair(part).is_some_and(|(key, value)| is_key(key) && is_value(value));
    before.iter().all(is_pair) && (last.trim().is_empty() || is_pair(last))
}

/// Returns true if a text is a value of JSON5. Those that others are within are taken apart one
/// after the other; how deep they nest is known to be little.
fn is_value(text: &str) -> bool {
    let mut open = alloc::vec![text];
    while let Some(text) = open.pop() {
        let text = text.trim();
        let within = |open: char, close: char| text.strip_prefix(open)?.strip_suffix(close);
        if is_json(text) || is_quoted(text, '\'') || is_number(text) {
            continue;
        }
        let is_object = text.starts_with('{');
        let inner = if is_object { within('{', '}') } else { within('[', ']') };
        let Some(parts) = inner.and_then(|inner| split(inner, ',')) else { return false };
        let Some((last, before)) = parts.split_last() else { return false };
        let last = Some(last).filter(|last| !last.trim().is_empty());
        for part in before.iter().chain(last) {
            match pair(part) {
                Some((key, value)) if is_object && is_key(key) => open.push(value),
                None if !is_object => open.push(part),
                _ => return false,
            }
        }
    }
    true
}

/// Returns true if a text is a key: a name, or in quotes.
fn is_key(text: &str) -> bool {
    let is_letter = |letter: char| letter.is_alphanumeric() || ['_', '$'].contains(&letter);
    let is_name =
        text.chars().all(is_letter) && !text.starts_with(|first: char| first.is_numeric());
    !text.is_empty() && (is_name || is_quoted(text, '"') || is_quoted(text, '\''))
}

/// Returns true if a text is a number as JSON5 has them and JSON does not: with a plus, without
/// digits before or after the point, with base 16, or without end.
fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let hexadecimal = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X"));
    if let Some(digits) = hexadecimal {
        return !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    }
    let is_decimal = unsigned.starts_with(|first: char| first == '.' || first.is_ascii_digit());
    ["Infinity", "NaN"].contains(&unsigned) || (is_decimal && unsigned.parse::<f64>().is_ok())
}

fn unquoted(text: &str) -> &str {
    text.trim_matches(['"', '\''])
}

fn is_quoted(text: &str, quote: char) -> bool {
    text.len() > 1 && text.starts_with(quote) && text.ends_with(quote)
}

/// Splits at a separator outside of strings and brackets; nothing where those do not match.
fn split(text: &str, separator: char) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut scan = Scan::default();
    for (at, character) in text.char_indices() {
        if scan.step(character)? && character == separator {
            parts.push(text.get(start..at)?);
            start = at + character.len_utf8();
        }
    }
    scan.is_closed().then_some(())?;
    parts.push(text.get(start..)?);
    Some(parts)
}

/// Follows strings and brackets.
#[derive(Default)]
struct Scan {
    closing: Vec<char>,
    quote: Option<char>,
    is_escaped: bool,
}

impl Scan {
    /// Takes a character; whether it stands outside of strings and brackets, or nothing when
    /// brackets do not match.
    fn step(&mut self, character: char) -> Option<bool> {
        if let Some(quote) = self.quote {
            match character {
                _ if self.is_escaped => self.is_escaped = false,
                '\\' => self.is_escaped = true,
                _ if character == quote => self.quote = None,
                _ => {}
            }
            return Some(false);
        }
        match character {
            '"' | '\'' => self.quote = Some(character),
            '{' => self.closing.push('}'),
            '[' => self.closing.push(']'),
            '}' | ']' => {
                (self.closing.pop() == Some(character)).then_some(())?;
                return Some(false);
            }
            _ => return Some(self.closing.is_empty()),
        }
        (self.closing.len() <= DEPTH_MAX).then_some(false)
    }

    fn is_closed(&self) -> bool {
        self.quote.is_none() && self.closing.is_empty()
    }
}

/// Reads a text that is no sound array, object by object.
fn recovered(text: &str, seams: &[usize]) -> Definitions {
    let (text, seams) = mend_starts(text, seams);
    let mut found = Definitions::default();
    let starts: Vec<usize> = text.match_indices(OBJECT_START).map(|(at, _)| at).collect();
    for (number, &start) in starts.iter().enumerate() {
        let end = starts.get(number + 1).copied().unwrap_or(text.len());
        let Some(object) = text.get(start..end) else { continue };
        let seam = seams.get(seams.partition_point(|seam| *seam < start));
        let seam = seam.filter(|seam| **seam < end).map(|seam| seam - start);
        let Some(definition) = object_of(object, seam) else { continue };
        let is_known = found.streams.iter().rev().take(2).any(|known| known.id == definition.id);
        if !is_known {
            found.streams.push(definition);
        }
    }
    let tail = text.rsplit_once(',').map(|(_, tail)| tail.trim());
    found.next_free = tail.and_then(|tail| tail.strip_suffix(']')?.trim().parse().ok());
    found
}

/// The first writers begin a piece of text anew when a frame's end divides it: its beginning is
/// there twice, and as much of its end is missing. Where the piece is the start of an object,
/// what it should be is known.
fn mend_starts(text: &str, seams: &[usize]) -> (String, Vec<usize>) {
    let mut mended = text.to_owned();
    for &seam in seams {
        for done in 1..OBJECT_START.len() {
            let (head, rest) = (OBJECT_START.get(..done), OBJECT_START.len() - done);
            let spoilt = head.zip(OBJECT_START.get(..rest)).map(|(a, b)| {
                let mut spoilt = a.to_string();
                spoilt.push_str(b);
                spoilt
            });
            let start = seam.saturating_sub(done);
            let range = start..start + OBJECT_START.len();
            if spoilt.is_some() && mended.get(range.clone()) == spoilt.as_deref() {
                mended.replace_range(range, OBJECT_START);
                break;
            }
        }
    }
    (mended, seams.to_vec())
}

/// An object, perhaps divided at a seam, with what stands between it and the next.
fn object_of(object: &str, seam: Option<usize>) -> Option<Definition> {
    let whole = balanced(object).filter(|body| is_json(body));
    if let Some(definition) = whole.and_then(|body| definition(body, true)) {
        return Some(definition);
    }
    if seam.is_none() {
        return pieces_of(object);
    }
    let body = object.rfind('}').and_then(|end| object.get(..=end))?;
    let comma = body.find(',')?;
    let head = body.get(..=comma)?;
    let seam = seam.filter(|seam| *seam > comma)?;
    let (first, second) = (body.get(comma + 1..seam)?, body.get(seam..body.len() - 1)?);
    // The second part is the beginning of the piece once more: the longer one tells more.
    let piece = match (second.starts_with(first), first.starts_with(second)) {
        (true, _) => second,
        (_, true) => first,
        _ => return None,
    };
    let mut text = head.to_owned();
    text.push_str(whole_pairs(piece));
    let text = text.trim_end_matches(',').to_owned() + "}";
    definition(&text, false)
}

/// Returns true if a text is JSON. A seam may leave quotes that match by chance.
fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// The object that a text begins with, up to the bracket that closes it.
fn balanced(text: &str) -> Option<&str> {
    let mut scan = Scan::default();
    for (at, character) in text.char_indices() {
        scan.step(character)?;
        if scan.is_closed() {
            return text.get(..at + character.len_utf8());
        }
    }
    None
}

/// Returns the whole parts of an object that is damaged: each pair that is one by itself.
///
/// Its length counts where it is among them. Where it is not, messages vary in length if every
/// other piece still shows its key, for then none of them was the length.
fn pieces_of(object: &str) -> Option<Definition> {
    let inner = object.strip_prefix('{')?;
    let inner = inner.rfind('}').and_then(|end| inner.get(..end)).unwrap_or(inner);
    let mut text = String::from("{");
    let (mut end, mut has_all_keys) = (0, true);
    for piece in inner.split_inclusive(",\"") {
        let start = end;
        end += piece.len();
        // The quote belongs to the key that follows.
        let start = start.saturating_sub(usize::from(start > 0));
        let pair = inner.get(start..end)?.trim_end_matches(",\"").trim_end_matches(',');
        if is_json(&alloc::format!("{{{pair}}}")) {
            text.push_str(pair);
            text.push(',');
        } else {
            has_all_keys &= key_of(pair).is_some_and(|key| key != "length");
        }
    }
    let text = text.trim_end_matches(',').to_owned() + "}";
    let found = definition(&text, false)?;
    let is_variable = found.length == Declared::Unproven && has_all_keys;
    let length = if is_variable { Declared::Variable } else { found.length };
    Some(Definition { length, ..found })
}

/// The key of a pair whose value may be damaged.
fn key_of(pair: &str) -> Option<&str> {
    let (key, _) = pair.strip_prefix('"')?.split_once("\":")?;
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    key.bytes().all(is_name).then_some(key)
}

/// The key-value pairs at the beginning of a piece that another follows, which proves that they
/// are whole.
fn whole_pairs(piece: &str) -> &str {
    let mut scan = Scan::default();
    let mut end = 0;
    for (at, character) in piece.char_indices() {
        match scan.step(character) {
            Some(true) if character == ',' => end = at,
            Some(_) => {}
            None => break,
        }
    }
    piece.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn lengths(found: &Definitions) -> Vec<(u32, Declared)> {
        found.streams.iter().map(|stream| (stream.id, stream.length)).collect()
    }

    #[test]
    fn a_sound_text_is_read() {
        let text = br#"[{"id":9,"name":"a, {b"},{"id":10,"length":4,"x":{"id":3,"y":[1,2]}},11]"#;
        let found = definitions(text, &[]);
        assert!(found.is_sound);
        assert_eq!(lengths(&found), [(9, Declared::Variable), (10, Declared::Fixed(4))]);
        assert_eq!(found.next_free, Some(11));
    }

    #[test]
    fn keys_without_quotes_are_read() {
        let found = definitions(b"[{id:9,name:\"a\"},{id:10,name:\"n\",length:4},11]", &[]);
        assert!(found.is_sound);
        assert_eq!(lengths(&found), [(9, Declared::Variable), (10, Declared::Fixed(4))]);
    }

    #[test]
    fn keys_may_hold_any_character() {
        let text = br#"[{"id":9,"si:unit":"V","a,b":{"c:d":1},"}":"]","\":":2},10]"#;
        let found = definitions(text, &[]);
        assert!(found.is_sound);
        assert_eq!(lengths(&found), [(9, Declared::Variable)]);
        assert!(found.streams[0].is_whole);
    }

    #[test]
    fn json5_is_sound_at_any_depth() {
        for value in
            ["{lo:0,hi:5}", ".5", "+1", "5.", "0xFF", "-Infinity", "['a',{b:[1,],},]", "{}"]
        {
            let text = alloc::format!("[{{id:9,range:{value},length:2}},10]");
            let found = definitions(text.as_bytes(), &[]);
            assert!(found.is_sound, "{value}");
            assert_eq!(lengths(&found), [(9, Declared::Fixed(2))], "{value}");
        }
        for value in ["{lo:0,,hi:5}", "{lo}", "[a:1]", "1x", "0x", "inf", "{1a:2}", ".", ""] {
            let text = alloc::format!("[{{id:9,range:{value},length:2}},10]");
            assert!(!definitions(text.as_bytes(), &[]).is_sound, "{value}");
        }
    }

    #[test]
    fn json_is_read_as_its_parser_reads_it() {
        let deep = alloc::format!("{}1{}", "[".repeat(100), "]".repeat(100));
        let text = alloc::format!(
            r#"[{{"\u0069d":9,"x":{deep},"length":4}},{{"id":10,"length":1,"length":8}},11]"#
        );
        let found = definitions(text.as_bytes(), &[]);
        assert!(found.is_sound);
        assert_eq!(lengths(&found), [(9, Declared::Fixed(4)), (10, Declared::Fixed(8))]);
        assert_eq!(found.next_free, Some(11));
    }

    #[test]
    fn comments_and_numbers_of_base_16_are_read() {
        let text = b"[{id:0x9,/* {[ */name:'a//b',length:0x10}, // the first\n{id:+10},0xB]";
        let found = definitions(text, &[]);
        assert!(found.is_sound);
        assert_eq!(lengths(&found), [(9, Declared::Fixed(16)), (10, Declared::Variable)]);
        assert_eq!(found.next_free, Some(11));
        assert_eq!(found.streams[0].text, "{id:0x9,name:'a//b',length:0x10}");
        assert!(!definitions(b"[{id:9 /* },10]", &[]).is_sound);
    }

    #[test]
    fn an_object_that_a_seam_spoilt_is_recovered_as_far_as_it_is_proven() {
        // The piece `"name":"n","length":8,"format":"raw"` divided after 24 bytes: the 12 that
        // are left are its first.
        let head = r#"[{"id":9,"name":"n","length":8,"fo"#;
        let text = alloc::format!(r#"{head}"name":"n",}},{{"id":10}},11]"#);
        let found = definitions(text.as_bytes(), &[head.len()]);
        assert!(!found.is_sound);
        assert_eq!(lengths(&found), [(9, Declared::Fixed(8)), (10, Declared::Variable)]);
        assert_eq!(found.streams[0].text, r#"{"id":9,"name":"n","length":8}"#);
        assert!(!found.streams[0].is_whole);
    }

    #[test]
    fn the_start_of_an_object_that_a_seam_spoilt_is_mended() {
        let text = br#"[{"id":9,"length":1},{"{"id10,"length":2},11]"#;
        let found = definitions(text, &[23]);
        assert_eq!(lengths(&found), [(9, Declared::Fixed(1)), (10, Declared::Fixed(2))]);
    }

    /// A bit of a quote, of a bracket and of a key was changed: the streams around it are whole, and
    /// of the damaged one as much as is whole by itself.
    #[test]
    fn what_is_whole_of_a_damaged_text_is_recovered() {
        let sound = r#"[{"id":9,"name":"a","length":4,"format":"raw"},{"id":10,"name":"b"},11]"#;
        let item = |from: &str, to: &str| {
            let text = sound.replacen(from, to, 1);
            assert_ne!(text, sound);
            let found = definitions(text.as_bytes(), &[]);
            assert!(!found.is_sound, "{text}");
            (lengths(&found), found.streams.first().map(|stream| stream.text.clone()))
        };
        let both = alloc::vec![(9, Declared::Fixed(4)), (10, Declared::Variable)];
        let (found, text) = item(r#""a""#, "#a\"");
        assert_eq!(found, both);
        assert_eq!(text.as_deref(), Some(r#"{"id":9,"length":4,"format":"raw"}"#));
        let (found, text) = item("\"raw\"}", "\"raw\"y");
        assert_eq!(found, both);
        assert_eq!(text.as_deref(), Some(r#"{"id":9,"name":"a","length":4}"#));
        // The start of the second is lost with its id; the first is whole all the same.
        let (found, _) = item("{\"id\":10", "{\"id\"z10");
        assert_eq!(found, [(9, Declared::Fixed(4))]);
        // What is left does not tell whether there was a length.
        let (found, _) = item("\"length\":4", "\"lengt`\"4");
        assert_eq!(found, [(9, Declared::Unproven), (10, Declared::Variable)]);
    }

    #[test]
    fn no_text_is_deep_enough_to_overflow_the_stack() {
        let text = "[".repeat(100_000);
        assert_eq!(definitions(text.as_bytes(), &[]), Definitions::default());
        let text = "{\"id\":".repeat(10_000);
        assert_eq!(definitions(text.as_bytes(), &[]).streams, []);
    }
}
