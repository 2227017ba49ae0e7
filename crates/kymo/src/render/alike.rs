//! Findings that say the same of several places are one, with their number.

use std::cmp::Reverse;
use std::collections::HashMap;

use kymo_core::Finding;

use super::{numbers, style};
use crate::output::Paint;

/// Findings that differ only in where they are: the first of them, and how many there are.
pub(crate) type Alike<'a> = (&'a Finding, u64);

/// Puts those together that differ only in where they are, in the order of the first ones.
pub(crate) fn grouped<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<Alike<'a>> {
    let mut groups: Vec<Alike<'_>> = Vec::new();
    let mut known = HashMap::new();
    for finding in findings {
        let Finding { severity, rule, file, message, .. } = finding;
        let place = *known.entry((severity, rule, file, message)).or_insert(groups.len());
        match groups.get_mut(place) {
            Some((_, count)) => *count += 1,
            None => groups.push((finding, 1)),
        }
    }
    groups
}

/// The same with the worst first, for where only a few are shown.
pub(crate) fn worst_first<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<Alike<'a>> {
    let mut groups = grouped(findings);
    groups.sort_by_key(|(finding, _)| Reverse(finding.severity));
    groups
}

/// A line: `error line at 0x26: message, and 3 like it`.
pub(crate) fn text((finding, count): Alike<'_>, paint: Paint) -> String {
    let text = style::finding(finding, paint);
    match count - 1 {
        0 => text,
        more => format!("{text}, and {} like it", numbers::grouped(more)),
    }
}

#[cfg(test)]
mod tests {
    use kymo_core::Severity;

    use super::*;

    #[test]
    fn findings_alike_are_one_and_errors_come_first() {
        let at = |severity, offset| Finding::at(severity, "line", offset, "wrong");
        let warning = |offset| at(Severity::Warning, offset);
        let findings = [warning(1), warning(2), at(Severity::Error, 3), warning(4)];
        let found = worst_first(findings.iter());
        let found: Vec<_> = found.iter().map(|(of, count)| (of.offset, *count)).collect();
        assert_eq!(found, [(Some(3), 1), (Some(1), 3)]);
    }
}
