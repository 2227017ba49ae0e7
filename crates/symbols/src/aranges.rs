//! `.debug_aranges`: which addresses are of which unit.

use gimli::{DebugInfoOffset, Dwarf, Range, Reader as _, Section as _};

use crate::dwarf::Reader;

/// The version of the section.
const VERSION: u16 = 2;

/// Hands on all addresses with the units that they are of; those before damage. The library goes
/// one call deeper for each pair of zeros.
pub(crate) fn each(dwarf: &Dwarf<Reader<'_>>, mut take: impl FnMut(DebugInfoOffset, Range)) {
    let mut section = *dwarf.debug_aranges.reader();
    while !section.is_empty() {
        if set(&mut section, &mut take).is_err() {
            return;
        }
    }
}

/// The addresses of one unit.
fn set(
    section: &mut Reader<'_>,
    take: &mut impl FnMut(DebugInfoOffset, Range),
) -> gimli::Result<()> {
    let whole = section.len();
    let (length, format) = section.read_initial_length()?;
    let head = whole - section.len();
    let mut rest = section.split(length)?;
    let version = rest.read_u16()?;
    let unit = DebugInfoOffset(rest.read_offset(format)?);
    let (address_bytes, segment_bytes) = (rest.read_address_size()?, rest.read_u8()?);
    if version != VERSION || segment_bytes != 0 {
        return Ok(());
    }
    // Pairs begin at a multiple of their length.
    let pair_bytes = usize::from(address_bytes) * 2;
    let odd = (head + length - rest.len()) % pair_bytes;
    rest.skip((pair_bytes - odd) % pair_bytes)?;
    while rest.len() >= pair_bytes {
        let (begin, length) =
            (rest.read_address(address_bytes)?, rest.read_address(address_bytes)?);
        if let Some(end) = begin.checked_add(length).filter(|end| begin < *end) {
            take(unit, Range { begin, end });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use gimli::{EndianSlice, RunTimeEndian};

    use super::*;

    fn found(section: &[u8]) -> Vec<(usize, u64, u64)> {
        let debug_aranges = EndianSlice::new(section, RunTimeEndian::Little).into();
        let dwarf = Dwarf { debug_aranges, ..Dwarf::default() };
        let mut found = Vec::new();
        each(&dwarf, |unit, range| found.push((unit.0, range.begin, range.end)));
        found
    }

    /// A set of the unit at 0x20, with 8 bytes for an address.
    fn set_of(numbers: &[u64]) -> Vec<u8> {
        let mut rest = vec![2, 0, 0x20, 0, 0, 0, 8, 0, 0, 0, 0, 0];
        rest.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        let length = u32::try_from(rest.len()).unwrap().to_le_bytes();
        [&length, &*rest].concat()
    }

    #[test]
    fn pairs_of_zeros_and_ranges_beyond_all_addresses_are_passed_over() {
        let numbers = [0, 0, 16, 4, u64::MAX, 2, 0, 0, 32, 8];
        let expected = [(0x20, 16, 20), (0x20, 32, 40)];
        assert_eq!(found(&set_of(&numbers)), expected);
        let twice = [set_of(&numbers), set_of(&numbers)].concat();
        assert_eq!(found(&twice), [expected, expected].concat());
        assert_eq!(found(&set_of(&vec![0; 1 << 22])), []);
    }
}
