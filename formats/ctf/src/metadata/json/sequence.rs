//! JSON texts one after the other (RFC 7464): each has a mark before it. Where there is none, they are
//! told apart by their ends.

use kymo_core::bytes::{ReadError, ReadResult};
use serde_json::{Deserializer, Error, Value};

use super::super::Text;
use crate::spec;

/// Hands on all fragments of metadata, each with its first byte in the file.
pub(super) fn each(
    text: &Text,
    mut take: impl FnMut(&Value, u64) -> ReadResult<()>,
) -> ReadResult<()> {
    let mut start = 0;
    for part in text.bytes.split(|byte| *byte == spec::RECORD_SEPARATOR) {
        let mut values = Deserializer::from_slice(part).into_iter::<Value>();
        loop {
            let rest = part.get(values.byte_offset()..).unwrap_or_default();
            let blank = rest.len() - rest.trim_ascii_start().len();
            let offset = text.offset(start + values.byte_offset() + blank);
            match values.next() {
                Some(Ok(value)) => take(&value, offset)?,
                Some(Err(error)) => return Err(json_error(text, part, start, &error)),
                None => break,
            }
        }
        start += part.len() + 1;
    }
    Ok(())
}

/// Returns the reason why a part is no JSON, and the byte at which that is.
fn json_error(text: &Text, part: &[u8], start: usize, error: &Error) -> ReadError {
    let lines = part.split_inclusive(|byte| *byte == b'\n');
    let before: usize = lines.take(error.line().saturating_sub(1)).map(<[u8]>::len).sum();
    let at = (before + error.column().saturating_sub(1)).min(part.len());
    let why = error.to_string();
    // The place is told as all others are.
    let why = why.split(" at line ").next().unwrap_or_default().to_owned();
    ReadError::invalid("metadata", text.offset(start + at), format!("it is no JSON: {why}"))
}
