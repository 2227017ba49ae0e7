//! Text whose units are wider than a byte.

use kymo_core::bytes::{Endian, ReadResult};

use super::super::layout::{Count, Node};
use super::{Decoder, Visitor};
use crate::types::Encoding;

/// Byte that stands for a unit that is no character: no UTF-8 has it, so that it is reported.
const BROKEN: u8 = 0xFF;

impl Decoder<'_> {
    /// Reads text of so many bytes, or up to a zero, and tells it as UTF-8.
    pub(super) fn wide<V: Visitor>(
        &mut self,
        node: &Node,
        encoding: Encoding,
        count: Option<Count>,
        visitor: &mut V,
    ) -> ReadResult<()> {
        let count = count.map(|count| self.count(count)).transpose()?;
        self.align(8);
        let text = if let Some(count) = count {
            let start = self.take(count.saturating_mul(8))? / 8;
            self.up_to_zero(self.slice(start, count)?, encoding.unit())?
        } else {
            let start = self.state.position / 8;
            let left = (self.state.end / 8).saturating_sub(start);
            let left = left.min((self.bytes.len() as u64).saturating_sub(start));
            let text = self.slice(start, left)?;
            let end = zero(text, encoding.unit());
            let end = end.ok_or_else(|| self.error("a text does not end"))?;
            self.take((end + encoding.unit()) as u64 * 8)?;
            text.get(..end).unwrap_or_default()
        };
        if !V::IS_DEAF {
            visitor.text(node, &utf8(text, encoding));
        }
        Ok(())
    }

    fn up_to_zero<'t>(&self, text: &'t [u8], unit: usize) -> ReadResult<&'t [u8]> {
        let end = zero(text, unit);
        if end.is_none() && !text.len().is_multiple_of(unit) {
            return Err(self.error("a text ends within a unit"));
        }
        Ok(text.get(..end.unwrap_or(text.len())).unwrap_or_default())
    }
}

/// Returns the position of the first unit that is zero.
fn zero(text: &[u8], unit: usize) -> Option<usize> {
    let is_zero = |unit: &[u8]| unit.iter().all(|byte| *byte == 0);
    text.chunks_exact(unit).position(is_zero).map(|units| units * unit)
}

fn utf8(text: &[u8], encoding: Encoding) -> Vec<u8> {
    match encoding {
        Encoding::Utf16(order) => {
            let units = text.as_chunks().0.iter().map(|unit| match order {
                Endian::Little => u16::from_le_bytes(*unit),
                Endian::Big => u16::from_be_bytes(*unit),
            });
            joined(char::decode_utf16(units).map(Result::ok))
        }
        Encoding::Utf32(order) => {
            let units = text.as_chunks().0.iter().map(|unit| match order {
                Endian::Little => u32::from_le_bytes(*unit),
                Endian::Big => u32::from_be_bytes(*unit),
            });
            joined(units.map(char::from_u32))
        }
    }
}

fn joined(characters: impl Iterator<Item = Option<char>>) -> Vec<u8> {
    let mut text = Vec::new();
    for character in characters {
        match character {
            Some(character) => {
                text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            None => text.push(BROKEN),
        }
    }
    text
}
