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

/// The sign that a text begins with; longer signs before those they begin with.
fn sign(text: &[u8]) -> Option<&'static str> {
    Some(match text {
        [b'.', b'.', b'.', ..] => "...",
        [b':', b'=', ..] => ":=",
        [b'-', b'>', ..] => "->",
        [b'{', ..] => "{",
        [b'}', ..] => "}",
        [b'[', ..] => "[",
        [b']', ..] => "]",
        [b'<', ..] => "<",
        [b'>', ..] => ">",
        [b'(', ..] => "(",
        [b')', ..] => ")",
        [b';', ..] => ";",
        [b':', ..] => ":",
        [b'=', ..] => "=",
        [b',', ..] => ",",
        [b'.', ..] => ".",
        [b'-', ..] => "-",
        [b'+', ..] => "+",
        [b'*', ..] => "*",
        [b'|', ..] => "|",
        [b'&', ..] => "&",
        _ => return None,
    })
}

/// Divides the text into words.
pub(super) fn words(text: &Text) -> ReadResult<Vec<Token<'_>>> {
    let mut lexer = Lexer { text, position: 0 };
    let mut tokens = Vec::new();
    while lexer.skip_blanks()? {
        let position = lexer.position;
        tokens.push(Token { word: lexer.word()?, position });
    }
    Ok(tokens)
}

struct Lexer<'a> {
    text: &'a Text,
    position: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a [u8] {
        self.text.bytes.get(self.position..).unwrap_or_default()
    }

    fn error(&self, why: &'static str) -> ReadError {
        ReadError::invalid("metadata", self.text.offset(self.position), why)
    }

    /// Goes on to the next word, if there is one.
    fn skip_blanks(&mut self) -> ReadResult<bool> {
        loop {
            let rest = self.rest();
            let blanks = rest.iter().take_while(|b| b.is_ascii_whitespace() || **b == 0).count();
            self.position += blanks;
            let rest = self.rest();
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
        let rest = self.rest();
        let first = rest.first().copied().unwrap_or_default();
        if first == b'"' || rest.starts_with(b"L\"") {
            return self.quoted(b'"').map(Word::Text);
        }
        if first == b'\'' {
            let text = self.quoted(b'\'')?;
            let character = text.chars().next().map_or(0, u32::from);
            return Ok(Word::Number(character.into()));
        }
        let length = rest.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
        if length > 0 {
            // There are only letters and digits in it.
            let name = rest.get(..length).and_then(|name| str::from_utf8(name).ok());
            let name = name.unwrap_or_default();
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

    /// A text between quotes.
    fn quoted(&mut self, quote: u8) -> ReadResult<Cow<'a, str>> {
        let rest = self.rest();
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
        let rest = self.rest();
        let mut bytes = rest.iter().copied().enumerate().skip(lead);
        let mut text = Vec::new();
        while let Some((index, byte)) = bytes.next() {
            match byte {
                b'\\' => text.extend(bytes.next().map(|(_, byte)| match byte {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'0' => 0,
                    other => other,
                })),
                byte if byte == quote => {
                    self.position += index + 1;
                    return Ok(String::from_utf8_lossy(&text).into_owned().into());
                }
                byte => text.push(byte),
            }
        }
        Err(self.error("a text does not end"))
    }
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
        words(text).unwrap().into_iter().map(|token| token.word).collect()
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
            |names: &[&'static str]| names.iter().map(|of| Word::Name(of)).collect::<Vec<_>>();
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
    fn texts_have_escapes() {
        assert_eq!(words_of(&text(r#""a \"b\"\n""#)), [Word::Text("a \"b\"\n".into())]);
        assert_eq!(
            words_of(&text(r#""plain" "" x"#))[..2],
            ["plain", ""].map(|of| Word::Text(of.into()))
        );
        let open = text("\"a \\\"");
        assert!(words(&open).is_err());
    }
}
