//! Rules of global arrays: blocks inside the bounds, none twice, none missing.

use kymo_core::model::arrays::volume;
use kymo_core::{Finding, Findings, Severity};

use crate::Reader;
use crate::types::{Dimension, Dimensions, Element};

/// Pairs of blocks that are compared before a step is given up: a file may have millions.
const PAIRS_MAX: u64 = 1 << 24;

/// A block's place in its global array.
struct Place {
    offset: u64,
    start: Vec<u64>,
    count: Vec<u64>,
}

impl Place {
    /// How many of its values lie inside the array.
    fn inside(&self, shape: &[u64]) -> u64 {
        let ranges = self.start.iter().zip(&self.count).zip(shape);
        let lengths =
            ranges.map(|((&start, &count), &bound)| count.min(bound.saturating_sub(start)));
        volume(&lengths.collect::<Vec<_>>())
    }
}

/// Checks the blocks of each step of a global variable.
pub(super) fn check(reader: &Reader, id: usize, findings: &mut Findings) {
    let grouping = reader.grouping();
    let Some(grouped) = grouping.variables().get(id) else {
        return;
    };
    for step in 0..grouped.steps() {
        let elements = grouping.step(id, step).iter();
        let elements = elements.filter_map(|&index| reader.element(index as usize));
        check_step(grouped.path(), step, elements, findings);
    }
}

fn check_step<'a>(
    path: &str,
    step: u64,
    elements: impl Iterator<Item = Element<'a>>,
    findings: &mut Findings,
) {
    let mut places = Vec::new();
    let mut shape = Vec::new();
    let mut first = None;
    for element in elements {
        let dimensions = dimensions(&element);
        shape = dimensions.iter().map(|d| positive(bound(*d))).collect();
        first.get_or_insert(element.offset);
        let place = Place {
            offset: element.offset,
            start: dimensions.iter().map(|d| positive(d.global_offset)).collect(),
            count: dimensions.iter().map(|d| positive(d.local_bound)).collect(),
        };
        if volume(&place.count) > 0 {
            places.push(place);
        }
    }
    let overlap = check_overlaps(path, step, &mut places, findings);
    let written = places.iter().fold(0_u64, |sum, p| sum.saturating_add(p.inside(&shape)));
    let total = volume(&shape);
    if written < total && !overlap {
        let missing = total - written;
        let message =
            format!("{missing} of {total} values of {path} are in no block (step {step})");
        let finding = Finding::at(Severity::Warning, "block-missing", first.unwrap_or(0), message);
        findings.push(finding);
    }
}

fn dimensions(element: &Element<'_>) -> Vec<Dimension> {
    let dimensions = element.payload.iter().filter_map(|payload| payload.dimensions);
    dimensions.flat_map(Dimensions::iter).collect()
}

/// A bound of zero beside others that are set means a dimension that is not divided.
fn bound(dimension: Dimension) -> i32 {
    if dimension.global_bound == 0 { dimension.local_bound } else { dimension.global_bound }
}

/// Finds blocks that share values. True when there are some, or when that could not be found
/// out.
fn check_overlaps(path: &str, step: u64, places: &mut [Place], findings: &mut Findings) -> bool {
    // Sorted by the slowest dimension, a block can only overlap those that begin before it ends.
    places.sort_by(|a, b| a.start.cmp(&b.start));
    let mut pairs = 0;
    let mut any = false;
    for (index, place) in places.iter().enumerate() {
        let end = |place: &Place| match (place.start.first(), place.count.first()) {
            (Some(start), Some(count)) => start + count,
            _ => u64::MAX,
        };
        let later = places.iter().skip(index + 1);
        let near = later.take_while(|other| other.start.first() < Some(&end(place)));
        for other in near {
            pairs += 1;
            if pairs > PAIRS_MAX {
                let message = format!("{path} has too many blocks to look for overlaps");
                let finding = Finding::at(Severity::Note, "block-overlap", place.offset, message);
                findings.push(finding);
                return true;
            }
            if overlaps(place, other) {
                any = true;
                let message = format!(
                    "the block of {path} shares values with the one at {:#x} (step {step})",
                    place.offset.min(other.offset)
                );
                let at = place.offset.max(other.offset);
                findings.push(Finding::at(Severity::Warning, "block-overlap", at, message));
            }
        }
    }
    any
}

fn overlaps(a: &Place, b: &Place) -> bool {
    let ranges = a.start.iter().zip(&a.count).zip(b.start.iter().zip(&b.count));
    ranges.into_iter().all(|((&s, &c), (&t, &d))| s < t + d && t < s + c)
}

fn positive(bound: i32) -> u64 {
    u64::try_from(bound).unwrap_or(0)
}
