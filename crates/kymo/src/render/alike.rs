//! Findings that say the same of several places are one, with their number.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use kymo_core::Finding;

use super::{numbers, style};
use crate::output::Paint;

/// Findings that differ only in where they are: the first of them, and how many there are.
pub(crate) type GroupedFinding<'a> = (&'a Finding, u64);

/// Puts those together that differ only in where they are, in the order of the first ones.
pub(crate) fn grouped<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<GroupedFinding<'a>> {
    let mut groups: Vec<GroupedFinding<'_>> = Vec::new();
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
pub(crate) fn worst_first<'a>(
    findings: impl Iterator<Item = &'a Finding>,
) -> Vec<GroupedFinding<'a>> {
    let mut groups = grouped(findings);
    groups.sort_by_key(|(finding, _)| Reverse(finding.severity));
    groups
}

/// Number of lines that are shown of one rule.
const LINES_MAX: u64 = 20;

/// Findings of which no rule has more than a few lines, and what is left out then.
pub(crate) struct GroupedFindings<'a> {
    pub(crate) shown: Vec<GroupedFinding<'a>>,
    /// The file within a directory, the rule, and how many more there are of it.
    pub(crate) rest: Vec<(Option<&'a str>, &'static str, u64)>,
}

/// Puts those together that are alike, and leaves out what is too much of one rule.
pub(crate) fn group_findings<'a>(
    findings: impl Iterator<Item = &'a Finding>,
) -> GroupedFindings<'a> {
    let mut rules: BTreeMap<(Option<&str>, &'static str), (u64, u64)> = BTreeMap::new();
    let mut shown = grouped(findings);
    shown.retain(|(finding, count)| {
        let (lines, rest) = rules.entry((finding.file.as_deref(), finding.rule)).or_default();
        *lines += 1;
        *rest += if *lines > LINES_MAX { *count } else { 0 };
        *lines <= LINES_MAX
    });
    let rest = rules.into_iter().filter(|(_, (_, rest))| *rest > 0);
    let rest = rest.map(|((file, rule), (_, rest))| (file, rule, rest)).collect();
    GroupedFindings { shown, rest }
}

/// Returns the line about what is left out: `3 more of rule line (--all shows each)`.
pub(crate) fn rest_text((file, rule, rest): (Option<&str>, &str, u64)) -> String {
    let file = file.map(|file| format!("{file}: ")).unwrap_or_default();
    format!("{file}{} more of rule {rule} (--all shows each)", numbers::grouped(rest))
}

/// A line: `error line at 0x26: message, and 3 like it`.
pub(crate) fn text((finding, count): GroupedFinding<'_>, paint: Paint) -> String {
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
        let at = |severity, offset| Finding::at_offset(severity, "line", offset, "wrong");
        let warning = |offset| at(Severity::Warning, offset);
        let findings = [warning(1), warning(2), at(Severity::Error, 3), warning(4)];
        let found = worst_first(findings.iter());
        let found: Vec<_> = found.iter().map(|(item, count)| (item.offset, *count)).collect();
        assert_eq!(found, [(Some(3), 1), (Some(1), 3)]);
    }

    #[test]
    fn of_one_rule_a_few_lines_are_shown() {
        let item =
            |rule, message: String| Finding::for_whole_file(Severity::Warning, rule, message);
        let mut findings: Vec<_> = (0..25).map(|at| item("line", at.to_string())).collect();
        findings.extend([item("line", "24".to_owned()), item("end", "once".to_owned())]);
        let GroupedFindings { shown, rest } = group_findings(findings.iter());
        assert_eq!((shown.len(), rest.as_slice()), (21, &[(None, "line", 6)][..]));
        assert_eq!(rest_text(rest[0]), "6 more of rule line (--all shows each)");
    }
}
