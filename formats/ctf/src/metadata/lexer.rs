//! Words of TSDL.

use std::borrow::Cow;

use kymo_core::bytes::{ReadError, ReadResult};
use memchr::memchr2;

use super::Text;

/// A word and where it begins in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) word: Word<'a>,
    pub(super) position: usize,
}

/// A word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Word<'a> {
    /// A name, or a word of the language.
    Name(&'a str),
    Number(u64),
    Text(Cow<'a, str>),
    /// One or several signs that belong together: `:=`.
    Sign(&'static str),
}

/// The sign that a text begins with.
#[inline]
fn sign(text: &[u8]) -> Option<&'static str> {
    Some(match *text.first()? {
        b'.' if text.starts_with(b"...") => "...",
        b':' if text.starts_with(b":=") => ":=",
        b'-' if text.starts_with(b"->") => "->",
        b'{' => "{",
        b'}' => "}",
        b'[' => "[",
        b']' => "]",
        b'<' => "<",
        b'>' => ">",
        b'(' => "(",
        b')' => ")",
        b';' => ";",
        b':' => ":",
        b'=' => "=",
        b',' => ",",
        b'.' => ".",
        b'-' => "-",
        b'+' => "+",
        b'*' => "*",
        b'|' => "|",
        b'&' => "&",
        _ => return None,
    })
}

/// Words that are read at once: all of them would take many times the room of the text.
const CHUNK: usize = 512;

/// Words that may be looked at before they are taken.
pub(super) const AHEAD: usize = 8;

/// The words of a text, one after another.
pub(super) struct Words<'a> {
    lexer: Lexer<'a>,
    /// Those that were read, of which the ones before `next` are taken.
    tokens: Vec<Token<'a>>,
    next: usize,
    /// Reason why there are no more tokens than were read, where that is not the end of the text.
    failed: Option<ReadError>,
}

impl<'a> Words<'a> {
    pub(super) fn new(text: &'a Text) -> Self {
        let (lexer, tokens) = (Lexer::new(text), Vec::with_capacity(CHUNK));
        let mut words = Self { lexer, tokens, next: 0, failed: None };
        words.fill();
        words
    }

    /// A word that comes, fewer than [`AHEAD`] after the next.
    #[inline]
    pub(super) fn peek_at(&self, ahead: usize) -> Option<&Word<'a>> {
        self.tokens.get(self.next + ahead).map(|token| &token.word)
    }

    /// Returns the position in the text of the next word, or of the end.
    pub(super) fn position(&self) -> usize {
        self.tokens.get(self.next).map_or(self.lexer.text.bytes.len(), |token| token.position)
    }

    /// Takes the next word.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.next += 1;
        if self.next + AHEAD > self.tokens.len() {
            self.fill();
        }
    }

    /// Returns the reason why the text is no text of the language, if one was found.
    pub(super) fn failed(self) -> Option<ReadError> {
        self.failed
    }

    /// Reads words, unless there are no more.
    #[cold]
    fn fill(&mut self) {
        let used = self.next.min(self.tokens.len());
        self.tokens.drain(..used);
        self.next -= used;
        while self.tokens.len() < CHUNK && self.failed.is_none() {
            match self.lexer.token() {
                Ok(Some(token)) => self.tokens.push(token),
                Ok(None) => return,
                Err(error) => self.failed = Some(error),
            }
        }
    }
}

/// Class of a byte: the kind of word that it may be part of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Blank,
    Name,
    Other,
}

/// The classes of all bytes.
const CLASSES: [Class; 256] = {
    let mut classes = [Class::Other; 256];
    let mut byte = 0;
    while byte < 128_u8 {
        #[expect(
            clippy::indexing_slicing,
            reason = "a constant, which would not be made otherwise"
        )]
        if byte.is_ascii_whitespace() || byte == 0 {
            classes[byte as usize] = Class::Blank;
        } else if byte.is_ascii_alphanumeric() || byte == b'_' {
            classes[byte as usize] = Class::Name;
        }
        byte += 1;
    }
    classes
};

/// Counts the bytes at the begin that are of a class.
#[inline]
fn run(bytes: &[u8], class: Class) -> usize {
    let is_of = |byte: &u8| CLASSES.get(usize::from(*byte)) == Some(&class);
    bytes.iter().position(|byte| !is_of(byte)).unwrap_or(bytes.len())
}

/// Divides a text into words.
pub(super) struct Lexer<'a> {
    text: &'a Text,
    /// All of it, where all of it is UTF-8.
    utf8: Option<&'a str>,
    position: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a Text) -> Self {
        Self { text, utf8: str::from_utf8(&text.bytes).ok(), position: 0 }
    }

    /// The next word, if there is one.
    pub(super) fn token(&mut self) -> ReadResult<Option<Token<'a>>> {
        if !self.skip_blanks()? {
            return Ok(None);
        }
        let position = self.position;
        Ok(Some(Token { word: self.word()?, position }))
    }

    fn remaining(&self) -> &'a [u8] {
        self.text.bytes.get(self.position..).unwrap_or_default()
    }

    fn error(&self, why: &'static str) -> ReadError {
        ReadError::invalid("metadata", self.text.offset(self.position), why)
    }

    /// Goes on to the next word, if there is one.
    fn skip_blanks(&mut self) -> ReadResult<bool> {
        loop {
            self.position += run(self.remaining(), Class::Blank);
            let rest = self.remaining();
            if rest.starts_with(b"/*") {
                let end = rest.windows(2).skip(2).position(|pair| pair == b"*/");
                let end = end.ok_or_else(|| self.error("a remark does not end"))?;
                self.position += end + 4;
            } else if rest.starts_with(b"//") {
                self.position += rest.iter().take_while(|byte| **byte != b'\n').count();
            } else {
                return Ok(!rest.is_empty());
            }
        }
    }

    fn word(&mut self) -> ReadResult<Word<'a>> {
        let rest = self.remaining();
        let first = rest.first().copied().unwrap_or_default();
        if first == b'"' || rest.starts_with(b"L\"") {
            return self.quoted(b'"').map(Word::Text);
        }
        if first == b'\'' {
            let text = self.quoted(b'\'')?;
            let character = text.chars().next().map_or(0, u32::from);
            return Ok(Word::Number(character.into()));
        }
        let length = run(rest, Class::Name);
        if length > 0 {
            let name = self.ascii(length);
            let word = if first.is_ascii_digit() {
                let number = number(name).ok_or_else(|| self.error("this is no number"))?;
                Word::Number(number)
            } else {
                Word::Name(name)
            };
            self.position += length;
            return Ok(word);
        }
        let sign = sign(rest);
        let sign = sign.ok_or_else(|| self.error("there is no such sign in the language"))?;
        self.position += sign.len();
        Ok(Word::Sign(sign))
    }

    /// So many letters and digits.
    fn ascii(&self, length: usize) -> &'a str {
        let range = self.position..self.position + length;
        match self.utf8 {
            Some(text) => text.get(range),
            None => self.text.bytes.get(range).and_then(|name| str::from_utf8(name).ok()),
        }
        .unwrap_or_default()
    }

    /// A text between quotes.
    fn quoted(&mut self, quote: u8) -> ReadResult<Cow<'a, str>> {
        let rest = self.remaining();
        let lead = rest.iter().take_while(|byte| **byte != quote).count() + 1;
        let text = rest.get(lead..).unwrap_or_default();
        // Most have no escapes, and are taken as they are.
        if let Some(length) = memchr2(quote, b'\\', text)
            && text.get(length) == Some(&quote)
        {
            self.position += lead + length + 1;
            return Ok(String::from_utf8_lossy(text.get(..length).unwrap_or_default()));
        }
        self.escaped(quote, lead)
    }

    /// A text between quotes, so many bytes from here, that has escapes.
    fn escaped(&mut self, quote: u8, lead: usize) -> ReadResult<Cow<'a, str>> {
        let mut rest = self.remaining().get(lead..).unwrap_or_default();
        let mut text = Vec::new();
        loop {
            match *rest {
                [b'\\', ref after @ ..] => rest = unescape(after, &mut text),
                [byte, ref after @ ..] if byte == quote => {
                    self.position = self.text.bytes.len() - after.len();
                    return Ok(String::from_utf8_lossy(&text).into_owned().into());
                }
                [byte, ref after @ ..] => {
                    text.push(byte);
                    rest = after;
                }
                [] => return Err(self.error("a text does not end")),
            }
        }
    }
}

/// Adds what an escape of C stands for, and tells what follows it.
fn unescape<'b>(escape: &'b [u8], to: &mut Vec<u8>) -> &'b [u8] {
    let Some((first, rest)) = escape.split_first() else { return escape };
    match *first {
        b'a' => to.push(0x07),
        b'b' => to.push(0x08),
        b't' => to.push(b'\t'),
        b'n' => to.push(b'\n'),
        b'v' => to.push(0x0B),
        b'f' => to.push(0x0C),
        b'r' => to.push(b'\r'),
        b'0'..=b'7' => {
            let (value, rest) = digits(escape, 8, 3);
            // The highest of nine bits is beyond a byte.
            to.extend(value.to_le_bytes().first());
            return rest;
        }
        b'x' => {
            let (value, rest) = digits(rest, 16, 2);
            to.extend(value.to_le_bytes().first());
            return rest;
        }
        b'u' | b'U' => {
            let (value, rest) = digits(rest, 16, if *first == b'u' { 4 } else { 8 });
            let character = char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER);
            to.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            return rest;
        }
        other => to.push(other),
    }
    rest
}

/// The number that digits at the begin are, so many at most, and what follows them.
fn digits(text: &[u8], radix: u32, most: usize) -> (u32, &[u8]) {
    let digit = |byte: &u8| char::from(*byte).to_digit(radix);
    let count = text.iter().take(most).take_while(|byte| digit(byte).is_some()).count();
    let (used, rest) = text.split_at(count);
    let value = used.iter().filter_map(digit).fold(0, |value, digit| value * radix + digit);
    (value, rest)
}

/// A number as C has it: decimal, hexadecimal or octal, with letters for its type at the end.
fn number(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    let (digits, radix) = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if digits.len() > 1 && digits.starts_with('0') => (digits, 8),
        None => (digits, 10),
    };
    u64::from_str_radix(digits, radix).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Text {
        Text { bytes: text.as_bytes().to_vec(), runs: vec![(0, 0)] }
    }

    fn words_of(text: &Text) -> Vec<Word<'_>> {
        let mut lexer = Lexer::new(text);
        let token = || lexer.token().unwrap();
        std::iter::from_fn(token).map(|token| token.word).collect()
    }

    #[test]
    fn numbers_are_as_in_c() {
        let text = text("12 0x1F 017 18446744073709551615ULL 'A' 0");
        let numbers = words_of(&text);
        let expected = [12, 31, 15, 18_446_744_073_709_551_615, 65, 0].map(Word::Number);
        assert_eq!(numbers, expected);
    }

    #[test]
    fn remarks_and_blanks_are_nothing() {
        let names =
            |names: &[&'static str]| names.iter().map(|item| Word::Name(item)).collect::<Vec<_>>();
        assert_eq!(words_of(&text("a /* b */ c // d\n e")), names(&["a", "c", "e"]));
        assert_eq!(words_of(&text("a/**/b")), names(&["a", "b"]));
    }

    #[test]
    fn signs_that_belong_together_are_one() {
        let text = text("0 ... 30 := .x");
        let signs = words_of(&text);
        let sign = Word::Sign;
        let x = Word::Name("x");
        assert_eq!(
            signs,
            [Word::Number(0), sign("..."), Word::Number(30), sign(":="), sign("."), x]
        );
    }

    #[test]
    fn words_come_one_by_one_however_many_there_are() {
        let count = 3 * CHUNK + 5;
        let numbers: Vec<_> = (0..count).map(|number| number.to_string()).collect();
        let text = text(&numbers.join(" "));
        let mut words = Words::new(&text);
        for number in 0..count {
            let ahead =
                (number + AHEAD - 1 < count).then(|| Word::Number((number + AHEAD - 1) as u64));
            assert_eq!(words.peek_at(0), Some(&Word::Number(number as u64)));
            assert_eq!(words.peek_at(AHEAD - 1), ahead.as_ref());
            words.advance();
        }
        assert_eq!((words.peek_at(0), words.position()), (None, text.bytes.len()));
        words.advance();
        assert_eq!(words.peek_at(0), None);
    }

    #[test]
    fn texts_have_escapes() {
        assert_eq!(words_of(&text(r#""a \"b\"\n""#)), [Word::Text("a \"b\"\n".into())]);
        assert_eq!(
            words_of(&text(r#""plain" "" x"#))[..2],
            ["plain", ""].map(|name| Word::Text(name.into()))
        );
        let escapes = text(r#""quote\"d\\ \xc3\xa9" "\101\0\x41g\?\'\a\u00e9\U0001F600" '\x41'"#);
        let meant = ["quote\"d\\ é", "A\0Ag?'\u{7}é😀"].map(|name| Word::Text(name.into()));
        assert_eq!(words_of(&escapes)[..2], meant);
        assert_eq!(words_of(&escapes)[2], Word::Number(65));
        let open = text("\"a \\\"");
        assert!(Lexer::new(&open).token().is_err());
        assert!(Words::new(&open).failed().is_some());
    }
}
