//! What could not be taken as it was meant: counted, and said once for each recording.

use std::collections::BTreeMap;

use kymo_core::{Finding, Severity};

use crate::tree::Tree;
use crate::types::Epoch;

/// How often each rule was broken, and the first byte where it was.
#[derive(Debug, Default)]
pub(crate) struct Remarks(BTreeMap<&'static str, (u64, u64)>);

impl Remarks {
    /// Counts one more.
    pub(crate) fn add(&mut self, rule: &'static str, offset: u64) {
        self.add_many(rule, 1, offset);
    }

    /// Counts some more.
    pub(crate) fn add_many(&mut self, rule: &'static str, many: u64, offset: u64) {
        let (count, first) = self.0.entry(rule).or_insert((0, offset));
        *count += many;
        *first = offset.min(*first);
    }

    /// Counts the nodes that do not hang where they say.
    pub(crate) fn nodes(&mut self, epoch: &Epoch, tree: &Tree, on_cycle: &[bool]) {
        for (index, node) in epoch.nodes.iter().enumerate() {
            let offset = || epoch.nodes.offset_of(index);
            if on_cycle.get(index).copied().unwrap_or(false) {
                self.add("cycle", offset());
            } else if node.parent != 0 && node.parent == node.id {
                self.add("own-parent", offset());
            } else if node.parent != 0 && tree.parent(index).is_none() {
                self.add("no-parent", offset());
            }
        }
        for index in tree.duplicates() {
            self.add("duplicate-node", epoch.nodes.offset_of(index));
        }
    }

    /// One finding for each rule.
    pub(crate) fn findings(self) -> Vec<Finding> {
        let finding = |(rule, (count, offset)): (&'static str, (u64, u64))| {
            let why = words(rule, count);
            Finding::at(Severity::Warning, rule, offset, why)
        };
        self.0.into_iter().map(finding).collect()
    }
}

/// What it means that so many break a rule.
pub(crate) fn words(rule: &str, count: u64) -> String {
    let is_one = count == 1;
    let of = |what: &str| if is_one { format!("1 {what}") } else { format!("{count} {what}s") };
    let (is, has, names) = if is_one { ("is", "has", "names") } else { ("are", "have", "name") };
    let (counts, it) = if is_one { ("counts", "it") } else { ("count", "they") };
    match rule {
        "cycle" => format!("{} {is} among the own ancestors: {it} {counts} as entries", of("node")),
        "own-parent" => {
            format!("{} {names} itself as parent: {it} {counts} as entries", of("node"))
        }
        "no-parent" => {
            format!("{} {has} a parent that is not there: {it} {counts} as entries", of("node"))
        }
        "duplicate-node" => {
            format!(
                "{} {has} the id of an earlier one, which values and samples count for",
                of("node")
            )
        }
        "node-module" => format!(
            "{} {names} a module that is not in the load map: {it} {counts} as unknown code",
            of("node")
        ),
        "value-node" => {
            format!(
                "{} {is} of a node that is not there: {it} {counts} as an unknown entry",
                of("value")
            )
        }
        "trace-order" => {
            format!("{} {is} before the one before: all are sorted by time", of("sample"))
        }
        "trace-node" => {
            format!("{} {is} of a node that the profile does not have, and left out", of("sample"))
        }
        "metric-formula" => {
            format!("{} {has} a formula that cannot be read, and left out", of("metric"))
        }
        "value-number" => format!("{} {is} no number, and left out", of("value")),
        _ => format!("{} {is} of a metric that is not in the table, and left out", of("value")),
    }
}
