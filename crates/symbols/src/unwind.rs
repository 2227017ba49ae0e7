//! Where functions begin and end by what exceptions are unwound with: it stays in programs whose
//! symbols were stripped.

use std::ops::Range;

use gimli::{
    BaseAddresses, CieOrFde, DebugFrame, EhFrame, EndianSlice, RunTimeEndian, UnwindSection,
};
use object::{Object, ObjectSection};

/// Bytes of an entry of the table that 32-bit ARM has.
const EXIDX_BYTES: usize = 8;

/// The ranges of all functions that are told, by address. What cannot be read is left out.
pub(crate) fn functions(file: &object::File<'_>, endian: RunTimeEndian) -> Vec<Range<u64>> {
    let section = |name: &str| {
        let section = file.section_by_name(name)?;
        Some((section.address(), section.uncompressed_data().ok()?))
    };
    let mut found = Vec::new();
    let text = file.section_by_name(".text").map_or(0, |text| text.address());
    let address_bytes = if file.is_64() { 8 } else { 4 };
    if let Some((at, bytes)) = section(".eh_frame") {
        let mut frames = EhFrame::new(&bytes, endian);
        frames.set_address_size(address_bytes);
        let bases = BaseAddresses::default().set_eh_frame(at).set_text(text);
        take(&frames, &bases, &mut found);
    }
    if let Some((_, bytes)) = section(".debug_frame") {
        let mut frames = DebugFrame::new(&bytes, endian);
        frames.set_address_size(address_bytes);
        take(&frames, &BaseAddresses::default(), &mut found);
    }
    if let Some((at, bytes)) = section(".ARM.exidx") {
        found.extend(exidx(at, &bytes, endian));
    }
    found.retain(|range| range.start != 0 && !range.is_empty());
    found.sort_by_key(|range| (range.start, range.end));
    found.dedup_by_key(|range| range.start);
    found
}

/// The range that an address is in.
pub(crate) fn find(functions: &[Range<u64>], address: u64) -> Option<&Range<u64>> {
    let after = functions.partition_point(|range| range.start <= address);
    functions.get(after.checked_sub(1)?).filter(|range| range.contains(&address))
}

fn take<'a, S>(frames: &S, bases: &BaseAddresses, found: &mut Vec<Range<u64>>)
where
    S: UnwindSection<EndianSlice<'a, RunTimeEndian>>,
{
    let mut entries = frames.entries(bases);
    // An entry that cannot be read ends it: where the next one begins is not known then.
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else { continue };
        let Ok(entry) = partial.parse(S::cie_from_offset) else { continue };
        let start = entry.initial_address();
        found.push(start..start.saturating_add(entry.len()));
    }
}

/// Entries of two words, of which the first tells how far the function is from there; each function
/// reaches up to the next.
fn exidx(at: u64, bytes: &[u8], endian: RunTimeEndian) -> Vec<Range<u64>> {
    let (entries, _) = bytes.as_chunks::<EXIDX_BYTES>();
    let start = |(place, [a, b, c, d, ..]): (u64, &[u8; EXIDX_BYTES])| {
        let word = match endian {
            RunTimeEndian::Little => u32::from_le_bytes([*a, *b, *c, *d]),
            RunTimeEndian::Big => u32::from_be_bytes([*a, *b, *c, *d]),
        };
        // The highest of 31 bits is the sign.
        let distance = i64::from((word << 1).cast_signed() >> 1);
        at.wrapping_add(place).wrapping_add_signed(distance)
    };
    let starts = (0..).step_by(EXIDX_BYTES).zip(entries).map(start);
    let starts: Vec<_> = starts.collect();
    starts.iter().zip(starts.iter().skip(1)).map(|(start, next)| *start..*next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_arm_tell_how_far_functions_are() {
        // At 0x1000: 0x100 bytes back, and at 0x1008: 0xF0 back; at 0x1010 the end.
        let words = [0x7FFF_FF00_u32, 1, 0x7FFF_FF10, 1, 0x7FFF_FFF0, 1];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let found = exidx(0x1000, &bytes, RunTimeEndian::Little);
        assert_eq!(found, [0xF00..0xF18, 0xF18..0x1000]);
        assert_eq!(find(&found, 0xF17), Some(&(0xF00..0xF18)));
        assert_eq!(find(&found, 0x1000), None);
    }
}
