//! The JSON of Meta and meta frames, as far as frames depend on it: which streams there are, and
//! how long their frames.
//!
//! Tolerant: keys may lack quotes, as the oldest writer has them, and a text that the first
//! writers spoilt where it is longer than a frame gives every stream that can be proven.

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// How deep objects may nest before a text is taken for damaged.
const DEPTH_MAX: usize = 64;

/// How an object of Meta begins.
const OBJECT_START: &str = "{\"id\":";

/// How long the frames of a stream are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Declared {
    /// Each frame has its length.
    Variable,
    /// Each message has so many bytes.
    Fixed(u64),
    /// What would say so is missing or damaged.
    Unproven,
}

/// What a Meta says of one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// The stream.
    pub id: u32,
    /// How long its frames are.
    pub length: Declared,
    /// Its object, or as much of it as could be recovered, as JSON or JSON5.
    pub text: String,
    /// Whether all of the object is there.
    pub is_whole: bool,
    /// Whether it counts more than what was said before, since a checksum holds for it.
    pub is_proven: bool,
}

/// What a Meta says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Definitions {
    /// The streams, in the order of the text.
    pub streams: Vec<Definition>,
    /// The next id that is free.
    pub next_free: Option<u32>,
    /// Whether the text is a sound array.
    pub is_sound: bool,
    /// A stream of which another Unit says something else: one of them is damaged.
    pub contradicted: Option<u32>,
}

/// Reads the text of a Meta or meta chain; `seams` are where its frames were joined.
#[must_use]
pub fn definitions(bytes: &[u8], seams: &[usize]) -> Definitions {
    let text = String::from_utf8_lossy(bytes);
    if let Some(found) = sound(&text) {
        return found;
    }
    if bytes.len() == text.len() { recovered(&text, seams) } else { recovered(&text, &[]) }
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
            found.next_free = Some(element.parse().ok()?);
        }
    }
    Some(found)
}

/// One stream's object. Without an id it says nothing.
fn definition(object: &str, is_whole: bool) -> Option<Definition> {
    let inner = object.strip_prefix('{')?;
    let inner = inner.strip_suffix('}').unwrap_or(inner);
    let pairs = split(inner, ',')?;
    if is_whole && !pairs.iter().all(|pair| is_pair(pair)) {
        return None;
    }
    let value = |key: &str| {
        pairs.iter().find_map(|pair| {
            let (name, value) = pair.split_once(':')?;
            (name.trim().trim_matches(['"', '\'']) == key).then(|| value.trim())
        })
    };
    let length = match value("length") {
        None if is_whole => Declared::Variable,
        None => Declared::Unproven,
        Some("null") => Declared::Variable,
        Some(length) => length.parse().map_or(Declared::Unproven, Declared::Fixed),
    };
    let (id, text) = (value("id")?.parse().ok()?, object.to_owned());
    Some(Definition { id, length, text, is_whole, is_proven: false })
}

/// Whether a pair has a key, in quotes or not, and a value. After the last one there may be nothing.
fn is_pair(pair: &str) -> bool {
    let Some((key, value)) = pair.split_once(':') else { return pair.trim().is_empty() };
    let (key, value) = (key.trim(), value.trim());
    let is_name =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let is_key = !key.is_empty() && (is_name(key) || is_quoted(key, '"') || is_quoted(key, '\''));
    is_key && (is_quoted(value, '\'') || is_json(value))
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

/// Whether a text is JSON. A seam may leave quotes that match by chance.
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

/// What is whole of an object that is damaged: each pair that is one by itself.
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
        let of = |from: &str, to: &str| {
            let text = sound.replacen(from, to, 1);
            assert_ne!(text, sound);
            let found = definitions(text.as_bytes(), &[]);
            assert!(!found.is_sound, "{text}");
            (lengths(&found), found.streams.first().map(|stream| stream.text.clone()))
        };
        let both = alloc::vec![(9, Declared::Fixed(4)), (10, Declared::Variable)];
        let (found, text) = of(r#""a""#, "#a\"");
        assert_eq!(found, both);
        assert_eq!(text.as_deref(), Some(r#"{"id":9,"length":4,"format":"raw"}"#));
        let (found, text) = of("\"raw\"}", "\"raw\"y");
        assert_eq!(found, both);
        assert_eq!(text.as_deref(), Some(r#"{"id":9,"name":"a","length":4}"#));
        // The start of the second is lost with its id; the first is whole all the same.
        let (found, _) = of("{\"id\":10", "{\"id\"z10");
        assert_eq!(found, [(9, Declared::Fixed(4))]);
        // What is left does not tell whether there was a length.
        let (found, _) = of("\"length\":4", "\"lengt`\"4");
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
