//! Remarks about what could not be taken as it was meant: counted, and reported once for each
//! recording.

use std::collections::BTreeMap;

use kymo_core::{Finding, Severity};

use super::amount;
use crate::tree::Tree;
use crate::types::{Epoch, Metric, MetricValue};

/// Number of times that each rule was broken, and the first byte where it was.
#[derive(Debug, Default)]
pub(crate) struct RuleCounts(BTreeMap<&'static str, (u64, u64)>);

impl RuleCounts {
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

    /// Returns the amount of a value; where it cannot count, that is noted.
    pub(crate) fn amount(&mut self, metric: &Metric, value: &MetricValue) -> Option<f64> {
        let amount =
            amount(metric, value.bits).map_err(|rule| self.add(rule, value.offset)).ok()?;
        if amount < 0.0 {
            self.add("value-negative", value.offset);
        }
        Some(amount)
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
            Finding::at_offset(Severity::Warning, rule, offset, why)
        };
        self.0.into_iter().map(finding).collect()
    }
}

/// Describes what it means that so many break a rule.
pub(crate) fn words(rule: &str, count: u64) -> String {
    let is_one = count == 1;
    let item = |what: &str| if is_one { format!("1 {what}") } else { format!("{count} {what}s") };
    let either = |one: &'static str, many: &'static str| if is_one { one } else { many };
    let (is, has, names) = (either("is", "are"), either("has", "have"), either("names", "name"));
    let as_entry = either("it counts as an entry", "they count as entries");
    match rule {
        "cycle" => {
            let own = either("its own ancestors", "their own ancestors");
            format!("{} {is} among {own}: {as_entry}", item("node"))
        }
        "own-parent" => {
            let own = either("itself as its parent", "themselves as their parents");
            format!("{} {names} {own}: {as_entry}", item("node"))
        }
        "no-parent" => {
            format!("{} {has} a parent that is not there: {as_entry}", item("node"))
        }
        "duplicate-node" => {
            let its = item("node");
            format!("{its} {has} the id of an earlier one, which values and samples count for")
        }
        "node-module" => {
            let counts = either("it counts", "they count");
            let this_name = item("node");
            format!(
                "{this_name} {names} a module that is not in the load map: {counts} as unknown code"
            )
        }
        "gpu-range" => {
            let counts = either("it counts", "they count");
            let this_name = item("node");
            format!(
                "{this_name} {is} of a GPU's ranges, which nothing is tied to: {counts} as unknown code"
            )
        }
        "value-node" => {
            let counts = either("it counts", "they count");
            format!(
                "{} {is} of a node that is not there: {counts} as an unknown entry",
                item("value")
            )
        }
        "trace-order" => {
            format!("{} {is} before the one before: all are sorted by time", item("sample"))
        }
        "trace-disorder" => {
            let far = "further from the order of times than the profile's trace-disorder";
            format!("{} {is} {far}", item("record"))
        }
        "trace-time" => {
            let other = "a time that is none, or of another unit than the others";
            format!(
                "{} {has} {other}: {} at no moment",
                item("sample"),
                either("it is", "they are")
            )
        }
        "trace-node" => {
            format!(
                "{} {is} of a node that the profile does not have, and left out",
                item("sample")
            )
        }
        "trace-epoch" => {
            let meant = "a node of several epochs: that of the first is shown";
            format!("{} {names} {meant}", item("sample"))
        }
        "metric-formula" => {
            let which = "a formula that cannot be read, or names what is not there";
            format!("{} {has} {which}, and {is} left out", item("metric"))
        }
        "duplicate-metric" => {
            format!("{} {has} the name of an earlier one, and {is} added to it", item("metric"))
        }
        "value-computed" => {
            format!(
                "{} {is} of a metric that is computed by a formula, and left out",
                item("value")
            )
        }
        "value-format" => {
            format!("{} {is} neither a count nor a real number, and left out", item("value"))
        }
        "value-period" => {
            format!("{} {is} of a metric whose period is 0, and left out", item("value"))
        }
        "value-negative" => format!("{} {is} below 0", item("value")),
        "value-number" => format!("{} {is} no number, and left out", item("value")),
        _ => format!("{} {is} of a metric that is not in the table, and left out", item("value")),
    }
}
