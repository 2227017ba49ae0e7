//! Rules of global arrays: blocks inside the bounds, none twice, none missing.

use std::collections::HashSet;

use kymo_core::{Finding, Findings, Severity, shortened};
use kymo_model::arrays::volume;

use crate::Reader;
use crate::model::positive;
use crate::types::{Dimension, Dimensions, Element};

/// Pairs of blocks that are compared in a file before that is given up: there may be millions
/// of blocks.
pub(super) const PAIRS_MAX: u64 = 1 << 26;

/// A block's place in its global array.
struct Place {
    offset: u64,
    start: Vec<u64>,
    count: Vec<u64>,
}

impl Place {
    /// Counts its values that lie inside the array.
    fn inside(&self, shape: &[u64]) -> u64 {
        let ranges = self.start.iter().zip(&self.count).zip(shape);
        let lengths =
            ranges.map(|((&start, &count), &bound)| count.min(bound.saturating_sub(start)));
        volume(&lengths.collect::<Vec<_>>())
    }
}

/// Checks the blocks of each step of a global variable.
pub(super) fn check(reader: &Reader, id: usize, pairs_left: &mut u64, findings: &mut Findings) {
    let grouping = reader.grouping();
    let Some(grouped) = grouping.variables().get(id) else {
        return;
    };
    let path = shortened(grouped.path());
    for step in 0..grouped.steps() {
        let elements = grouping.step(id, step).iter();
        let elements = elements.filter_map(|&index| reader.element(index as usize));
        check_step(&path, step, elements, pairs_left, findings);
    }
}

fn check_step<'a>(
    path: &str,
    step: u64,
    elements: impl Iterator<Item = Element<'a>>,
    pairs_left: &mut u64,
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
    check_overlaps(path, step, &mut places, pairs_left, findings);
    let written = places.iter().fold(0_u64, |sum, p| sum.saturating_add(p.inside(&shape)));
    let total = volume(&shape);
    if written < total {
        let missing = total - written;
        let message =
            format!("{missing} of {total} values of {path} are in no block (step {step})");
        let finding =
            Finding::at_offset(Severity::Warning, "block-missing", first.unwrap_or(0), message);
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

/// Finds blocks that share values.
fn check_overlaps(
    path: &str,
    step: u64,
    places: &mut [Place],
    pairs_left: &mut u64,
    findings: &mut Findings,
) {
    let Some(dimension) = most_divided(places) else { return };
    let start = |place: &Place| place.start.get(dimension).copied().unwrap_or(0);
    let end = |place: &Place| start(place) + place.count.get(dimension).copied().unwrap_or(0);
    // Sorted so, a block can only overlap those that begin before it ends.
    places.sort_by_key(|place| (start(place), place.offset));
    for (index, place) in places.iter().enumerate() {
        let later = places.iter().skip(index + 1);
        for other in later.take_while(|other| start(other) < end(place)) {
            let Some(left) = pairs_left.checked_sub(1) else {
                let why = format!("{path} has too many blocks to look for overlaps");
                let finding =
                    Finding::at_offset(Severity::Warning, "block-overlap", place.offset, why);
                return findings.push(finding);
            };
            *pairs_left = left;
            if overlaps(place, other) {
                let (first, second) =
                    (place.offset.min(other.offset), place.offset.max(other.offset));
                let why =
                    format!("shares values of {path} with the block at {first:#x} (step {step})");
                findings.push(Finding::at_offset(Severity::Warning, "block-overlap", second, why));
            }
        }
    }
}

/// The dimension along which the blocks begin at the most places.
fn most_divided(places: &[Place]) -> Option<usize> {
    let rank = places.first()?.start.len();
    let starts = |dimension: usize| {
        let starts = places.iter().filter_map(|place| place.start.get(dimension));
        starts.collect::<HashSet<_>>().len()
    };
    (0..rank).max_by_key(|&dimension| starts(dimension))
}

fn overlaps(a: &Place, b: &Place) -> bool {
    let ranges = a.start.iter().zip(&a.count).zip(b.start.iter().zip(&b.count));
    ranges.into_iter().all(|((&s, &c), (&t, &d))| s < t + d && t < s + c)
}
