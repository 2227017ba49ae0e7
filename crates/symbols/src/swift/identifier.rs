//! Identifiers: their words, which later ones refer to, and letters that are not of ASCII.

use super::parse::Parser;

/// How many words identifiers may refer to.
const WORDS_MAX: usize = 26;

/// Shorter words are none.
const WORD_BYTES_MIN: usize = 2;

/// How long all identifiers may be together: few letters may stand for many long words.
const IDENTIFIERS_BYTES_MAX: usize = 1 << 16;

impl<'a> Parser<'a> {
    /// An identifier, which begins with a digit.
    pub(super) fn identifier(&mut self) -> Option<String> {
        if self.take("00") {
            let length = self.natural()?;
            self.take("_");
            let text = decoded(self.bytes(length)?)?;
            return self.bounded(text);
        }
        let mut has_words = self.take("0");
        let mut text = String::new();
        loop {
            while let Some(letter) =
                self.peek().filter(|byte| has_words && byte.is_ascii_alphabetic())
            {
                self.next();
                has_words = letter.is_ascii_lowercase();
                let number = usize::from(letter.to_ascii_lowercase() - b'a');
                text.push_str(self.words.get(number)?);
                if text.len() > IDENTIFIERS_BYTES_MAX {
                    return None;
                }
            }
            if self.take("0") {
                break;
            }
            let length = self.natural().filter(|length| *length > 0)?;
            let part = self.bytes(length)?;
            self.add_words(part);
            text.push_str(part);
            if !has_words {
                break;
            }
        }
        self.bounded(text)
    }

    fn bounded(&mut self, text: String) -> Option<String> {
        self.identifiers_bytes += text.len();
        (self.identifiers_bytes <= IDENTIFIERS_BYTES_MAX).then_some(text)
    }

    /// Remembers words: a capital letter after one that is none begins another, and `_` is in none.
    fn add_words(&mut self, text: &'a str) {
        let mut start: Option<usize> = None;
        let mut before = b'_';
        for (at, byte) in text.bytes().chain([b'_']).enumerate() {
            let is_end =
                byte == b'_' || (byte.is_ascii_uppercase() && !before.is_ascii_uppercase());
            if let Some(from) = start.filter(|_| is_end) {
                let word = text.get(from..at).filter(|word| word.len() >= WORD_BYTES_MIN);
                if self.words.len() < WORDS_MAX {
                    self.words.extend(word);
                }
                start = None;
            }
            if start.is_none() && byte != b'_' && !byte.is_ascii_digit() {
                start = Some(at);
            }
            before = byte;
        }
    }
}

/// Numbers of RFC 3492, section 5.
const BASE: u32 = 36;
const T_MIN: u32 = 1;
const T_MAX: u32 = 26;
const SKEW: u32 = 38;
const DAMP: u32 = 700;
const INITIAL_BIAS: u32 = 72;
const INITIAL_LETTER: u32 = 0x80;

/// Letters from here on stand for those of ASCII that identifiers cannot have.
const SURROGATES: std::ops::Range<u32> = 0xd800..0xd880;

/// Longer texts are not decoded: each letter may move all others.
const ENCODED_BYTES_MAX: usize = 1 << 11;

/// A text of Punycode: `_` is before what is encoded, and the digits are a to z and A to J.
fn decoded(text: &str) -> Option<String> {
    if text.len() > ENCODED_BYTES_MAX {
        return None;
    }
    let (plain, encoded) = text.rsplit_once('_').unwrap_or(("", text));
    let mut letters: Vec<u32> = plain.chars().map(u32::from).collect();
    let (mut letter, mut at, mut bias) = (INITIAL_LETTER, 0_u32, INITIAL_BIAS);
    let mut digits = encoded.bytes();
    while digits.len() > 0 {
        let from = at;
        let mut weight = 1_u32;
        for k in (1..).map(|step: u32| step.saturating_mul(BASE)) {
            let digit = match digits.next()? {
                digit @ b'a'..=b'z' => u32::from(digit - b'a'),
                digit @ b'A'..=b'J' => u32::from(digit - b'A') + 26,
                _ => return None,
            };
            at = at.checked_add(digit.checked_mul(weight)?)?;
            let threshold = k.saturating_sub(bias).clamp(T_MIN, T_MAX);
            if digit < threshold {
                break;
            }
            weight = weight.checked_mul(BASE - threshold)?;
        }
        let count = u32::try_from(letters.len()).ok()? + 1;
        bias = adapted(at - from, count, from == 0);
        letter = letter.checked_add(at / count)?;
        at %= count;
        letters.insert(usize::try_from(at).ok()?, letter);
        at += 1;
    }
    let of = |letter: u32| {
        let is_surrogate = SURROGATES.contains(&letter);
        char::from_u32(if is_surrogate { letter - SURROGATES.start } else { letter })
    };
    letters.into_iter().map(of).collect()
}

/// The bias for the next letter.
fn adapted(delta: u32, count: u32, is_first: bool) -> u32 {
    let mut delta = if is_first { delta / DAMP } else { delta / 2 };
    delta += delta / count;
    let mut k = 0;
    while delta > (BASE - T_MIN) * T_MAX / 2 {
        delta /= BASE - T_MIN;
        k += BASE;
    }
    k + (BASE - T_MIN + 1) * delta / (delta + SKEW)
}
