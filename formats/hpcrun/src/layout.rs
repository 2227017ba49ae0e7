//! Kinds of records that say where others are, and how many: what one looks at in damaged files.

use crate::listing::{Cells, Listing};
use crate::measurement::Part;
use crate::read::{Sparse, Values};
use crate::spec::INDEX_END;
use crate::types::{Count, Footer};

pub(crate) static COUNTS: Listing<Count> = Listing {
    kind: "count",
    table: "counts",
    at_once: usize::MAX,
    is_in_place: false,
    about: "how many items the parts of a file say that they have",
    columns: &[
        ("of", Cells::Text(|count| count.of.into())),
        ("count", Cells::Number(|count| count.count)),
    ],
    count: |part| counts(part).len(),
    read: |part, range| {
        let counts = counts(part).iter().skip(range.start).take(range.len());
        counts.map(|count| (count.offset, *count)).collect()
    },
};

/// Returns the numbers of items that the parts of a profile give for themselves.
pub(crate) fn counts(part: &Part) -> &[Count] {
    part.first_of_profile().map_or(&[], |profile| &profile.counts)
}

/// A node of the index of sparse values, and the first of its values.
pub(crate) static INDEX_ENTRIES: Listing<(u32, u64)> = Listing {
    kind: "index_entry",
    table: "index_entries",
    at_once: usize::MAX,
    is_in_place: true,
    about: "the index of sparse values: nodes, and the first of their values",
    columns: &[
        ("node", Cells::Number(|(node, _)| (*node).into())),
        ("first_value", Cells::Number(|(_, first)| *first)),
        ("is_end", Cells::Flag(|(node, _)| Some(*node == INDEX_END))),
    ],
    count: |part| sparse(part).map_or(0, Sparse::entries),
    read: |part, range| {
        let Some(sparse) = sparse(part) else { return Vec::new() };
        let entry = |index| Some((sparse.entry_offset(index), sparse.entry(index)?));
        range.map_while(entry).collect()
    },
};

fn sparse(part: &Part) -> Option<&Sparse> {
    match &part.epoch()?.values {
        Values::Sparse(sparse) => Some(sparse),
        Values::Dense => None,
    }
}

/// A section: its name, its first byte, and the byte after its last.
pub(crate) static SECTIONS: Listing<(&'static str, u64, u64)> = Listing {
    kind: "section",
    table: "sections",
    at_once: usize::MAX,
    is_in_place: false,
    about: "where the sections of a 04.00b file are, as its footer says",
    columns: &[
        ("name", Cells::Text(|(name, ..)| (*name).into())),
        ("start", Cells::Address(|(_, start, _)| Some(*start))),
        ("end", Cells::Address(|(.., end)| Some(*end))),
    ],
    count: |part| footer(part).map_or(0, |footer| footer.sections.len()),
    read: |part, range| {
        let Some(footer) = footer(part) else { return Vec::new() };
        let sections = Footer::NAMES.into_iter().zip(footer.sections).zip(0_u64..);
        let sections = sections.skip(range.start).take(range.len());
        let placed = |index| footer.offset.saturating_add(16 * index);
        sections.map(|((name, (start, end)), index)| (placed(index), (name, start, end))).collect()
    },
};

/// Fields of a footer.
pub(crate) static FOOTERS: Listing<Footer> = Listing {
    kind: "footer",
    table: "footers",
    at_once: usize::MAX,
    is_in_place: false,
    about: "where the footers of 04.00b files say that they begin",
    columns: &[("footer_start", Cells::Address(|footer| Some(footer.footer_start)))],
    count: |part| usize::from(footer(part).is_some()),
    read: |part, range| {
        let footers = footer(part).into_iter().skip(range.start).take(range.len());
        footers.map(|footer| (footer.offset.saturating_add(96), footer)).collect()
    },
};

fn footer(part: &Part) -> Option<Footer> {
    part.first_of_profile().and_then(|profile| profile.footer)
}
