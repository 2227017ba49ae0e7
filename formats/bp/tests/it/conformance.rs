//! What every format promises, for BP.

use kymo_bp::Bp;
use kymo_conformance::Subject;

kymo_conformance::promises!(
    Subject::new(&Bp)
        .unsound(&["malformed/", "08c_"])
        .warned(&["04_", "07_", "08d_", "08e_", "10_"])
        .named_only(&["08e_"])
        .freedom(&["08d_"])
        .valid_prefix(ends_between_elements)
);

kymo_conformance::promises!(Subject::new(&Bp).unsound(&["malformed/", "08c_"]); zeros_are_survived);

/// A BP file may end after any element, or with a length of zero.
fn ends_between_elements(bytes: &[u8], end: usize) -> bool {
    let is_big = bytes.first() == Some(&0);
    let mut offset = 0;
    while let Some(word) = bytes[offset..].first_chunk::<4>() {
        let length = if is_big { u32::from_be_bytes(*word) } else { u32::from_le_bytes(*word) };
        if offset >= end || length == 0 {
            break;
        }
        offset += length as usize;
    }
    offset == end || offset + 4 == end
}
