//! Bytes that belong to no section, or to two.

use kymo_core::Severity::{Note, Warning};

use super::CountedFindings;
use crate::Reader;
use crate::spec::{HEADER_BYTES, Section};

pub(super) fn check(reader: &Reader, told: &mut CountedFindings) {
    // Where one cannot be read, nobody knows where it ends.
    if reader.sections().len() < Section::ALL.len() || !reader.is_index_sound() {
        return;
    }
    let (mut end, mut before) = (HEADER_BYTES, "the header");
    for (section, bytes) in reader.sections() {
        gap(told, end, bytes.start, before, section.name());
        if bytes.end >= end {
            (end, before) = (bytes.end, section.name());
        }
    }
    gap(told, end, reader.size_bytes(), before, "the end");
}

fn gap(told: &mut CountedFindings, end: u64, start: u64, before: &str, after: &str) {
    let key = |rule| (rule, i64::try_from(start).unwrap_or(i64::MAX), 0);
    if start > end {
        told.count(key("gap"), Note, end, || {
            format!("{} bytes between {before} and {after} belong to nothing", start - end)
        });
    } else if start < end {
        told.count(key("overlap"), Warning, start, || {
            format!("{after} begins {} bytes before the end of {before}", end - start)
        });
    }
}
