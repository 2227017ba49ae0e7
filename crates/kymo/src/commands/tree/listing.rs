//! A tree of paths, as it is printed.

use std::io::Write;

use kymo_model::profile::PathTree;
use serde_json::json;

use super::branches::{Branch, Branches};
use crate::output::Output;
use crate::profiles::ProfileQuery;
use crate::render::listing::more_rows;
use crate::render::pad::Spaces;
use crate::render::rows::Rows;
use crate::render::templates::FoldArgs;
use crate::render::{escaped, measure, numbers, style};
use crate::session::{OpenedFile, Session};

/// Number of places that labels are moved to the right for each level; the number where that is too
/// far; and the greatest number.
const INDENT: usize = 2;
const INDENT_LEAST: usize = 1;
const INDENT_MAX: usize = 80;

/// The places that stand before a label, and the least that it has, but for half of the rest.
const BEFORE: usize = 36;
const LABEL_MIN: usize = 24;
const LABEL_LEAST: usize = 12;

/// The least share that is shown unless another is asked for, in percent.
const THRESHOLD: f64 = 1.0;

/// Options for what is printed of a tree of paths.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(in crate::commands) struct ListingArgs {
    /// Leave out what has less than this share of the total, in percent. [default: 1]
    #[arg(short, long, value_name = "PERCENT", value_parser = percent)]
    threshold: Option<f64>,

    /// Greatest depth.
    #[arg(short, long, default_value = "40", value_name = "LEVELS", value_parser = levels)]
    pub(in crate::commands) depth: usize,

    /// Number of paths; 0 shows all, as without it.
    #[arg(short, long, value_name = "ROWS", default_value_t = 0, hide_default_value = true)]
    number: usize,

    #[command(flatten)]
    fold: FoldArgs,
}

/// A share in percent.
fn percent(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.0..=100.0).contains(share));
    share.ok_or_else(|| "write a number from 0 to 100".to_owned())
}

/// Reads the greatest depth: at least one level.
pub(in crate::commands) fn levels(text: &str) -> Result<usize, String> {
    let levels = text.parse().ok().filter(|levels| *levels > 0);
    levels.ok_or_else(|| "write a number from 1 on".to_owned())
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
        opened: &OpenedFile,
        asked: &ProfileQuery,
        tree: &PathTree,
    ) -> anyhow::Result<()> {
        let has_parts = !tree.is_computed || asked.described.has_share;
        let branches = Branches::new(tree, self.least(), has_parts);
        match rows {
            Some(rows) => {
                let mut shown = self.shown();
                let rows = (rows, &mut shown);
                let left_out = print_rows(session, rows, opened, asked, tree, branches)?;
                self.report_omitted(session, opened, left_out);
            }
            None => self.print_text(session, opened, asked, tree, branches)?,
        }
        self.report_deeper_paths(session, opened, tree);
        Ok(())
    }

    fn shown(self) -> ShownCounts {
        let left = if self.number == 0 { usize::MAX } else { self.number };
        ShownCounts { left, more: 0 }
    }

    fn print_text(
        self,
        session: &mut Session,
        opened: &OpenedFile,
        asked: &ProfileQuery,
        tree: &PathTree,
        branches: Branches<'_>,
    ) -> anyhow::Result<()> {
        let out = &mut session.out;
        let paint = out.paint();
        let (bold, faint) = (paint.style(style::TITLE), paint.style(style::FAINT));
        let threads = asked.threads_in_words();
        let (metric, total) = (escaped(&asked.described.name), asked.total_in_words(tree.total));
        writeln!(out, "{bold}{}{bold:#}: {metric}, {total}, {threads}", opened.name)?;
        let (first, second) = if tree.is_by_exclusive {
            ("exclusive", "inclusive")
        } else {
            ("inclusive", "exclusive")
        };
        writeln!(out, "{faint}{first:>19}  {second:>11}   path{faint:#}")?;
        let levels = Levels::new(tree, self.least(), out.columns());
        let mut shown = self.shown();
        for branch in branches {
            if shown.takes(&branch) {
                self.print_branch(out, asked, tree, &levels, &branch)?;
            }
        }
        more_rows(out, shown.more)?;
        asked.print_others(out)?;
        Ok(())
    }

    /// Prints a line of a tree.
    fn print_branch(
        self,
        out: &mut Output,
        asked: &ProfileQuery,
        tree: &PathTree,
        levels: &Levels,
        branch: &Branch<'_>,
    ) -> std::io::Result<()> {
        let paint = out.paint();
        let text = text(branch, tree, self.fold, out.is_terminal());
        let (indent, label) = levels.label(branch.depth(), &text);
        let (weight, other) = branch.spent(tree);
        // What is computed is no part of a whole, unless the recording says so.
        let is_part = asked.described.has_share && !weight.is_nan();
        let share = if is_part { measure::share(weight, tree.total) } else { String::new() };
        let weight = measure::in_unit(weight, asked.described.unit.as_deref());
        let cells = format!("{weight:>11}  {share:>6}");
        let is_spent = other != 0.0 && !other.is_nan();
        let spent = if is_spent { measure::value(other) } else { String::new() };
        let style = match branch {
            Branch::Node { is_hot: true, .. } => paint.style(style::TITLE),
            Branch::Node { node, .. } => {
                paint.style(style::share_style(node.exclusive, tree.total))
            }
            Branch::Rest { .. } => paint.style(style::FAINT),
        };
        let mark = if matches!(branch, Branch::Node { is_hot: true, .. }) { '>' } else { ' ' };
        writeln!(out, "{cells}  {spent:>11} {mark} {}{style}{label}{style:#}", Spaces(indent))
    }

    /// Says that a list for programs leaves out some, unless that was asked for.
    fn report_omitted(self, session: &mut Session, opened: &OpenedFile, count: u64) {
        if count > 0 && self.threshold.is_none() {
            let _ = session.out.flush();
            let paths = numbers::count(count, "path", "paths");
            let text = format!("{paths} below the threshold, with all below them (-t 0 gives all)");
            session.report.remark(&opened.name, text);
        }
    }

    /// Says that paths go on below what is shown.
    fn report_deeper_paths(self, session: &mut Session, opened: &OpenedFile, tree: &PathTree) {
        if tree.deeper > 0 {
            let paths = numbers::count(tree.deeper, "path goes", "paths go");
            let _ = session.out.flush();
            let text = format!("{paths} deeper than --depth {}", self.depth);
            session.report.remark(&opened.name, text);
        }
    }
}

/// Number of nodes that can still be shown, and number of further nodes.
struct ShownCounts {
    left: usize,
    more: usize,
}

impl ShownCounts {
    /// Returns true if a branch is shown: the nodes that come first, and what is left out beside
    /// them.
    fn takes(&mut self, branch: &Branch<'_>) -> bool {
        let is_node = matches!(branch, Branch::Node { .. });
        if self.left > 0 {
            self.left -= usize::from(is_node);
            return true;
        }
        self.more += usize::from(is_node);
        false
    }
}

/// Distances of labels to the right, by their depth.
struct Levels {
    /// The places that there are for labels.
    room: usize,
    /// For each level.
    step: usize,
    most: usize,
}

impl Levels {
    /// Two places a level, or one where the deepest that is shown would stand too far to the right.
    fn new(tree: &PathTree, least: f64, columns: Option<usize>) -> Self {
        let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(BEFORE));
        let most = INDENT_MAX.min(room - LABEL_MIN.min(room / 2));
        let shown = tree.nodes.iter().filter(|node| node.share >= least);
        let deepest = shown.map(|node| node.depth + 1).max().unwrap_or(0);
        let step = if deepest * INDENT <= most { INDENT } else { INDENT_LEAST };
        Self { room, step, most }
    }

    /// Returns the distance of a label to the right, and as much of it as there is room for. Where
    /// it would stand too far right, it gives its level instead.
    fn label(&self, depth: usize, text: &str) -> (usize, String) {
        let (indent, room) =
            (depth * self.step, |indent: usize| (self.room - indent).max(LABEL_LEAST));
        if indent <= self.most {
            return (indent, measure::fitted(text, room(indent)));
        }
        let text = format!("[{depth}] {text}");
        (self.most, measure::fitted(&text, room(self.most)))
    }
}

fn text(branch: &Branch<'_>, tree: &PathTree, fold: FoldArgs, is_terminal: bool) -> String {
    match branch {
        Branch::Node { node, .. } => {
            let inlined = if node.is_inlined { " (inlined)" } else { "" };
            format!("{}{inlined}", escaped(&fold.name(tree.label(node), is_terminal)))
        }
        Branch::Rest { count, .. } => {
            format!("… {} below the threshold", numbers::grouped(*count))
        }
    }
}

/// Prints each node as an object, and tells how many are left out.
fn print_rows(
    session: &mut Session,
    (rows, shown): (&mut Rows, &mut ShownCounts),
    opened: &OpenedFile,
    asked: &ProfileQuery,
    tree: &PathTree,
    branches: Branches<'_>,
) -> anyhow::Result<u64> {
    let mut left_out = 0;
    for branch in branches {
        if !shown.takes(&branch) {
            continue;
        }
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
            "context": node.context.map(|number| number.0),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 60 columns 24 are left for labels, and half of them for how deep they are.
    #[test]
    fn who_called_whom_is_seen_where_there_is_little_room() {
        let levels = Levels::new(&PathTree::default(), 0.0, Some(60));
        assert_eq!((levels.room, levels.step, levels.most), (24, INDENT, 12));
        let levels = Levels { step: INDENT_LEAST, ..levels };
        assert_eq!(levels.label(3, "main"), (3, "main".to_owned()));
        assert_eq!(levels.label(12, "main"), (12, "main".to_owned()));
        assert_eq!(levels.label(20, "main"), (12, "[20] main".to_owned()));
        assert_eq!(levels.label(20, "libgomp.so"), (12, "[20] libgom…".to_owned()));
    }
}
