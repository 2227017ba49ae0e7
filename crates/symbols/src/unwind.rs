//! Ranges of functions from the data by which exceptions are unwound: it stays in programs whose
//! symbols were stripped.

use std::ops::Range;

use bytes::Bytes;
use gimli::{
    BaseAddresses, CieOrFde, DebugFrame, EhFrame, EndianSlice, RunTimeEndian, UnwindSection,
};
use kymo_core::bytes::Limits;
use object::{Object, ObjectSection};

use crate::image;

/// Bytes of an entry of the table that 32-bit ARM has.
const EXIDX_BYTES: usize = 8;

/// More functions than any program has: the largest have some 10 million.
const RANGES_MAX: usize = 1 << 25;

/// The ranges of all functions that are told, by address. What cannot be read is left out.
/// No more than there may be items of a kind.
pub(crate) fn functions(
    file: &object::File<'_>,
    source: &Bytes,
    endian: RunTimeEndian,
    limits: &Limits,
) -> Vec<Range<u64>> {
    let section = |name: &str| {
        let at = file.section_by_name(name)?.address();
        Some((at, image::section(file, source, name).ok()?))
    };
    let ranges_max = usize::try_from(limits.items_max).unwrap_or(usize::MAX).min(RANGES_MAX);
    let mut found = Vec::new();
    let text = file.section_by_name(".text").map_or(0, |text| text.address());
    let address_bytes = if file.is_64() { 8 } else { 4 };
    if let Some((at, bytes)) = section(".eh_frame") {
        let mut frames = EhFrame::new(&bytes, endian);
        frames.set_address_size(address_bytes);
        let bases = BaseAddresses::default().set_eh_frame(at).set_text(text);
        take(&frames, &bases, ranges_max, &mut found);
    }
    if let Some((_, bytes)) = section(".debug_frame") {
        let mut frames = DebugFrame::new(&bytes, endian);
        frames.set_address_size(address_bytes);
        take(&frames, &BaseAddresses::default(), ranges_max, &mut found);
    }
    if let Some((at, bytes)) = section(".ARM.exidx") {
        let room = ranges_max.saturating_sub(found.len());
        found.extend(exidx(at, &bytes, endian, room));
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

/// Takes ranges up to so many in all.
fn take<'a, S>(frames: &S, bases: &BaseAddresses, ranges_max: usize, found: &mut Vec<Range<u64>>)
where
    S: UnwindSection<EndianSlice<'a, RunTimeEndian>>,
{
    let mut entries = frames.entries(bases);
    // An entry that cannot be read ends it: where the next one begins is not known then.
    while found.len() < ranges_max
        && let Ok(Some(entry)) = entries.next()
    {
        let CieOrFde::Fde(partial) = entry else { continue };
        let Ok(entry) = partial.parse(S::cie_from_offset) else { continue };
        let start = entry.initial_address();
        found.push(start..start.saturating_add(entry.len()));
    }
}

/// Entries of two words, of which the first tells how far the function is from there; each function
/// reaches up to the next.
fn exidx(at: u64, bytes: &[u8], endian: RunTimeEndian, ranges_max: usize) -> Vec<Range<u64>> {
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
    let starts: Vec<_> = starts.take(ranges_max.saturating_add(1)).collect();
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
        let found = exidx(0x1000, &bytes, RunTimeEndian::Little, RANGES_MAX);
        assert_eq!(found, [0xF00..0xF18, 0xF18..0x1000]);
        assert_eq!(find(&found, 0xF17), Some(&(0xF00..0xF18)));
        assert_eq!(find(&found, 0x1000), None);
        assert_eq!(
            exidx(0x1000, &bytes, RunTimeEndian::Little, 1),
            std::iter::once(0xF00..0xF18).collect::<Vec<_>>()
        );
    }

    fn number(to: &mut Vec<u8>, bytes: usize, number: u64) {
        to.extend_from_slice(&number.to_le_bytes()[..bytes]);
    }

    /// A function of 16 bytes at 0x1000, and so many zeros.
    fn eh_frame(zeros: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        number(&mut bytes, 4, 12);
        // What functions share: version 1, no augmentation, factors 1 and -4, register 16.
        bytes.extend([0, 0, 0, 0, 1, 0, 1, 0x7C, 16, 0, 0, 0]);
        for (size, field) in [(4, 20), (4, 20), (8, 0x1000), (8, 16)] {
            number(&mut bytes, size, field);
        }
        bytes.resize(bytes.len() + zeros, 0);
        bytes
    }

    /// A program with one section, which is compressed.
    fn program(section: &[u8]) -> Bytes {
        let mut data = Vec::new();
        for (size, field) in [(4, 1), (4, 0), (8, section.len() as u64), (8, 8)] {
            number(&mut data, size, field);
        }
        let mut packed = flate2::write::ZlibEncoder::new(data, flate2::Compression::best());
        std::io::Write::write_all(&mut packed, section).unwrap();
        let data = packed.finish().unwrap();
        let names = b"\0.eh_frame\0.shstrtab\0";
        let (data_at, names_at) = (64, 64 + data.len() as u64);
        let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
        for (size, field) in [(2, 2), (2, 62), (4, 1), (8, 0), (8, 0)] {
            number(&mut file, size, field);
        }
        let headers_at = names_at + names.len() as u64;
        for (size, field) in
            [(8, headers_at), (4, 0), (2, 64), (2, 56), (2, 0), (2, 64), (2, 3), (2, 2)]
        {
            number(&mut file, size, field);
        }
        file.extend(&data);
        file.extend(names);
        // Name, type, flags, place, bytes.
        for (name, kind, flags, at, bytes) in [
            (0, 0, 0, 0, 0),
            (1, 1, 0x802, data_at, data.len() as u64),
            (11, 3, 0, names_at, names.len() as u64),
        ] {
            for (size, field) in [
                (4, name),
                (4, kind),
                (8, flags),
                (8, 0x2000),
                (8, at),
                (8, bytes),
                (4, 0),
                (4, 0),
                (8, 1),
                (8, 0),
            ] {
                number(&mut file, size, field);
            }
        }
        Bytes::from(file)
    }

    #[test]
    fn a_section_that_becomes_far_too_long_is_not_read() {
        let found = |zeros, limits: &Limits| {
            let bytes = program(&eh_frame(zeros));
            let file = object::File::parse(&*bytes).unwrap();
            functions(&file, &bytes, RunTimeEndian::Little, limits)
        };
        let limits = Limits::default();
        let expected: Vec<_> = std::iter::once(0x1000..0x1010).collect();
        assert_eq!(found(1 << 10, &limits), expected);
        // 4 MiB of zeros are some 4 KiB.
        assert!(found(1 << 22, &limits).is_empty());
        assert!(found(1 << 10, &Limits { items_max: 0, ..limits }).is_empty());
    }
}
