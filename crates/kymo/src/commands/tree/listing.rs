//! A tree of paths, as it is printed.

use std::io::Write;

use kymo_core::model::profile::PathTree;
use serde_json::json;

use super::branches::{Branch, Branches};
use crate::profiles::Asked;
use crate::render::rows::Rows;
use crate::render::{escaped, measure, numbers, style};
use crate::session::{Opened, Session};

/// How far labels are moved to the right for each level, and at most.
const INDENT: usize = 2;
const INDENT_MAX: usize = 80;

/// The places that stand before a label, and the least that it has.
const BEFORE: usize = 36;
const LABEL_MIN: usize = 24;

/// The least share that is shown unless another is asked for, in percent.
const THRESHOLD: f64 = 1.0;

/// What is printed of a tree of paths.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(in crate::commands) struct ListingArgs {
    /// Leave out what has less than this share of the total, in percent. [default: 1]
    #[arg(short, long, value_name = "PERCENT", value_parser = percent)]
    threshold: Option<f64>,

    /// How deep to go.
    #[arg(short, long, default_value = "40", value_name = "LEVELS")]
    pub(in crate::commands) depth: usize,
}

/// A share in percent.
fn percent(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=100.0).contains(share));
    share.ok_or_else(|| "write a number from 0 to 100".to_owned())
}

impl ListingArgs {
    /// The least share of the total that is shown.
    pub(in crate::commands) fn least(self) -> f64 {
        self.threshold.unwrap_or(THRESHOLD) / 100.0
    }

    /// Prints a tree: for people, or for programs.
    pub(in crate::commands) fn print(
        self,
        session: &mut Session,
        rows: Option<&mut Rows>,
        opened: &Opened,
        asked: &Asked,
        tree: &PathTree,
    ) -> anyhow::Result<()> {
        let branches = Branches::new(tree, self.least());
        match rows {
            Some(rows) => {
                let left_out = print_rows(session, rows, opened, asked, tree, branches)?;
                self.say_left_out(session, opened, left_out);
            }
            None => print(session, opened, asked, tree, branches)?,
        }
        self.say_deeper(session, opened, tree);
        Ok(())
    }

    /// Says that a list for programs leaves out some, unless that was asked for.
    fn say_left_out(self, session: &mut Session, opened: &Opened, count: u64) {
        if count > 0 && self.threshold.is_none() {
            let _ = session.out.flush();
            let paths = numbers::count(count, "path", "paths");
            let text = format!("{paths} below the threshold, with all below them (-t 0 gives all)");
            session.report.remark(&opened.name, text);
        }
    }

    /// Says that paths go on below what is shown.
    fn say_deeper(self, session: &mut Session, opened: &Opened, tree: &PathTree) {
        if tree.deeper > 0 {
            let paths = numbers::count(tree.deeper, "path goes", "paths go");
            let _ = session.out.flush();
            let text = format!("{paths} deeper than --depth {}", self.depth);
            session.report.remark(&opened.name, text);
        }
    }
}

fn print(
    session: &mut Session,
    opened: &Opened,
    asked: &Asked,
    tree: &PathTree,
    branches: Branches<'_>,
) -> anyhow::Result<()> {
    let out = &mut session.out;
    let paint = out.paint();
    let (bold, faint) = (paint.style(style::TITLE), paint.style(style::FAINT));
    let threads = asked.threads_in_words();
    let (metric, total) = (escaped(&asked.described.name), measure::known(tree.total));
    writeln!(out, "{bold}{}{bold:#}: {metric}, {total} in all, {threads}", opened.name)?;
    writeln!(out, "{faint}{:>19}  {:>11}   path{faint:#}", "inclusive", "exclusive")?;
    let columns = out.columns();
    for branch in branches {
        let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(BEFORE));
        let indent_max = INDENT_MAX.min(room.saturating_sub(LABEL_MIN));
        let indent = (branch.depth() * INDENT).min(indent_max);
        let label = measure::fitted(&text(&branch, tree), (room - indent).max(LABEL_MIN));
        let (inclusive, exclusive) = branch.spent();
        // What is computed is no part of a whole, unless the recording says so.
        let is_part = asked.described.has_share && !inclusive.is_nan();
        let share = if is_part { measure::share(inclusive, tree.total) } else { String::new() };
        let cells = format!("{:>11}  {share:>6}", measure::known(inclusive));
        let is_spent = exclusive != 0.0 && !exclusive.is_nan();
        let spent = if is_spent { measure::value(exclusive) } else { String::new() };
        let style = match branch {
            Branch::Node { is_hot: true, .. } => bold,
            Branch::Node { .. } => paint.style(style::of_share(exclusive, tree.total)),
            Branch::Rest { .. } => faint,
        };
        let mark = if matches!(branch, Branch::Node { is_hot: true, .. }) { '>' } else { ' ' };
        writeln!(out, "{cells}  {spent:>11} {mark} {:indent$}{style}{label}{style:#}", "")?;
    }
    Ok(())
}

fn text(branch: &Branch<'_>, tree: &PathTree) -> String {
    match branch {
        Branch::Node { node, .. } => {
            let inlined = if node.is_inlined { " (inlined)" } else { "" };
            format!("{}{inlined}", escaped(tree.label(node)))
        }
        Branch::Rest { count, .. } => {
            format!("… {} below the threshold", numbers::grouped(*count))
        }
    }
}

/// Prints each node as an object, and tells how many are left out.
fn print_rows(
    session: &mut Session,
    rows: &mut Rows,
    opened: &Opened,
    asked: &Asked,
    tree: &PathTree,
    branches: Branches<'_>,
) -> anyhow::Result<u64> {
    let mut left_out = 0;
    for branch in branches {
        let (node, index) = match branch {
            Branch::Node { node, index, .. } => (node, index),
            Branch::Rest { count, .. } => {
                left_out += count;
                continue;
            }
        };
        let object = json!({
            "file": opened.name,
            "metric": asked.described.name,
            "id": index,
            "parent": node.parent,
            "depth": node.depth,
            "scope": node.scope.name(),
            "inlined": node.is_inlined,
            "name": tree.label(node),
            "inclusive": node.inclusive,
            "exclusive": node.exclusive,
            "total": tree.total,
        });
        rows.row(&mut session.out, &object)?;
    }
    Ok(left_out)
}
