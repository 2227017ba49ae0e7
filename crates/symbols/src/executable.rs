//! Address ranges of a program that have code.
//!
//! Linkers leave out functions that nothing calls, and keep what debug information tells of them. The
//! addresses there are 0 then, or others without code, and what begins there may reach over code of others.

use object::{Object, ObjectKind, ObjectSection, ObjectSegment, SectionFlags, SegmentFlags, elf};

/// Values that linkers write for the address of code that they left out.
const LEFT_OUT: [u64; 4] = [0, 1, u64::MAX - 1, u64::MAX];

/// Addresses that may be of code.
#[derive(Debug)]
pub(crate) enum Executable {
    /// Any: nothing has its place yet.
    Any,
    /// Any but those of what was left out: the file does not tell where its code is.
    Untold,
    /// By address, each up to its end.
    Within(Vec<(u64, u64)>),
}

impl Executable {
    /// Sections tell it, which leave out what is in memory beside the code; or segments, where
    /// sections were stripped.
    pub(crate) fn from_file(file: &object::File<'_>) -> Self {
        if file.kind() == ObjectKind::Relocatable {
            return Self::Any;
        }
        let sections = file.sections().filter(is_code_section);
        let mut found: Vec<_> =
            sections.map(|section| (section.address(), section.size())).collect();
        if found.is_empty() {
            let segments = file.segments().filter(is_code_segment);
            found.extend(segments.map(|segment| (segment.address(), segment.size())));
        }
        if found.is_empty() { Self::Untold } else { Self::from_ranges(found) }
    }

    /// Takes addresses with how many there are from each on. Those that lie on others become one.
    fn from_ranges(mut found: Vec<(u64, u64)>) -> Self {
        found.sort_unstable();
        let mut within: Vec<(u64, u64)> = Vec::new();
        for (start, size) in found {
            let end = start.saturating_add(size);
            match within.last_mut().filter(|(_, last)| start <= *last) {
                Some((_, last)) => *last = end.max(*last),
                None => within.push((start, end)),
            }
        }
        Self::Within(within)
    }

    /// Returns true if code may begin at an address.
    pub(crate) fn is_at(&self, address: u64) -> bool {
        match self {
            Self::Any => true,
            Self::Untold => !LEFT_OUT.contains(&address),
            Self::Within(found) => {
                let after = found.partition_point(|(start, _)| *start <= address);
                let found = after.checked_sub(1).and_then(|at| found.get(at));
                found.is_some_and(|(_, end)| address < *end)
            }
        }
    }
}

fn is_code_section(section: &object::Section<'_, '_>) -> bool {
    let is_code = elf::SHF_ALLOC.0 | elf::SHF_EXECINSTR.0;
    matches!(section.flags(), SectionFlags::Elf { sh_flags, .. } if sh_flags.0 & is_code == is_code)
}

fn is_code_segment(segment: &object::Segment<'_, '_>) -> bool {
    matches!(segment.flags(), SegmentFlags::Elf { p_flags, .. } if p_flags.0 & elf::PF_X.0 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_begins_within_what_is_told_and_nowhere_else() {
        let code = Executable::from_ranges(vec![(0x20, 0x10), (0x10, 0x10), (0x14, 2), (0x40, 4)]);
        let addresses = [0, 1, 0xf, 0x10, 0x2f, 0x30, 0x40, 0x43, 0x44, u64::MAX];
        let found = addresses.map(|address| code.is_at(address));
        assert_eq!(found, [false, false, false, true, true, false, true, true, false, false]);
    }

    #[test]
    fn where_nothing_is_told_only_what_linkers_write_is_no_code() {
        for (address, is_code) in [(0, false), (1, false), (2, true), (u64::MAX, false)] {
            assert_eq!(Executable::Untold.is_at(address), is_code, "{address}");
            assert!(Executable::Any.is_at(address));
        }
    }
}
