//! `kymo tree`: where the time went, path by path.

mod branches;

use std::io::Write;
use std::path::PathBuf;

use kymo_core::model::profile::{Detail, PathTree, bottom_up, top_down};
use serde_json::json;

use crate::cli::OpenArgs;
use crate::profiles::{Asked, ProfileArgs};
use crate::render::{escaped, measure, numbers, style};
use crate::session::{Opened, Outcome, Session};
use branches::{Branch, Branches};

/// How far labels are moved to the right for each level, and at most.
const INDENT: usize = 2;
const INDENT_MAX: usize = 80;

/// Show the paths that spent most, from the entry points down, or from a function to its callers.
///
/// Calls of one function from one other are one path, whichever line they stand in, unless lines
/// are shown. `>` marks the hot path: the child with most, as long as it has at least half of
/// what is above it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
EXAMPLES
  kymo tree hpctoolkit-app-database              the hottest paths
  kymo tree --callers hpctoolkit-app-database    the hottest functions, and who called them
  kymo tree --threshold 5 --depth 8 DATABASE     less of it
  kymo tree --show lines DATABASE                with the lines that calls stand in
  kymo tree --json DATABASE                      one JSON object a node

EXIT STATUS
  0 done, 1 unreadable or no profile, 2 bad usage, 3 read, with findings")]
pub(crate) struct Args {
    /// Files or directories.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Start with what spent most itself, and show who called it.
    #[arg(short, long)]
    callers: bool,

    /// What to show beside functions.
    #[arg(long, value_enum, default_value = "loops", value_name = "WHAT")]
    show: Show,

    /// Leave out what has less than this share of the total, in percent.
    #[arg(short, long, default_value = "1", value_name = "PERCENT")]
    threshold: f64,

    /// How deep to go.
    #[arg(short, long, default_value = "40", value_name = "LEVELS")]
    depth: usize,

    #[command(flatten)]
    profile: ProfileArgs,

    /// Print one JSON object a line.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    open: OpenArgs,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Show {
    /// Functions only.
    Functions,
    /// Loops too.
    Loops,
    /// Loops and lines too.
    Lines,
}

impl Show {
    fn detail(self) -> Detail {
        match self {
            Self::Functions => Detail::Functions,
            Self::Loops => Detail::Loops,
            Self::Lines => Detail::Lines,
        }
    }
}

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    let inputs = session.expand(&args.files, &args.open.format);
    let mut is_first = true;
    session.each_dataset(inputs, &args.open, |session, opened| {
        let asked = args.profile.of(opened)?;
        let question = asked.question();
        let tree = if args.callers {
            bottom_up(&question, args.depth)?
        } else {
            top_down(&question, args.show.detail(), args.depth)?
        };
        let branches = Branches::new(&tree, args.threshold / 100.0);
        if args.json {
            print_json(session, opened, &asked, &tree, branches)?;
        } else {
            let gap = if std::mem::take(&mut is_first) { "" } else { "\n" };
            write!(session.out, "{gap}")?;
            print(session, opened, &asked, &tree, branches)?;
        }
        say_deeper(session, args, opened, &tree);
        Ok(session.findings(opened))
    })
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
    let threads = numbers::count(asked.thread_count as u64, "thread", "threads");
    let (metric, total) = (escaped(&asked.described.name), measure::value(tree.total));
    writeln!(out, "{bold}{}{bold:#}: {metric}, {total} in all, {threads}", opened.name)?;
    writeln!(out, "{faint}{:>19}  {:>11}   path{faint:#}", "inclusive", "exclusive")?;
    let columns = out.columns();
    for branch in branches {
        let indent = (branch.depth() * INDENT).min(INDENT_MAX);
        let room =
            columns.map_or(usize::MAX, |columns| columns.saturating_sub(36 + indent).max(16));
        let label = measure::fitted(&text(&branch, tree), room);
        let (inclusive, exclusive) = branch.spent();
        let share = measure::share(inclusive, tree.total);
        let cells = format!("{:>11}  {share:>6}", measure::value(inclusive));
        let exclusive = if exclusive == 0.0 { String::new() } else { measure::value(exclusive) };
        let style = match branch {
            Branch::Node { is_hot: true, .. } => bold,
            Branch::Node { .. } => anstyle::Style::new(),
            Branch::Rest { .. } => faint,
        };
        let mark = if matches!(branch, Branch::Node { is_hot: true, .. }) { '>' } else { ' ' };
        writeln!(out, "{cells}  {exclusive:>11} {mark} {:indent$}{style}{label}{style:#}", "")?;
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

fn print_json(
    session: &mut Session,
    opened: &Opened,
    asked: &Asked,
    tree: &PathTree,
    branches: Branches<'_>,
) -> anyhow::Result<()> {
    for branch in branches {
        let Branch::Node { node, index, .. } = branch else { continue };
        session.out.json(&json!({
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
        }))?;
    }
    Ok(())
}

/// Says that paths go on below what is shown.
fn say_deeper(session: &mut Session, args: &Args, opened: &Opened, tree: &PathTree) {
    if tree.deeper > 0 {
        let paths = numbers::count(tree.deeper, "path goes", "paths go");
        let _ = session.out.flush();
        session.report.remark(&opened.name, format!("{paths} deeper than --depth {}", args.depth));
    }
}
