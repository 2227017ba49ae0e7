//! `kymo top`: where the time went, as a flat list.

use std::io::Write;
use std::path::PathBuf;

use kymo_model::profile::{FlatGrouping, FlatProfile, TopRows};
use serde_json::json;

use crate::cli::OpenArgs;
use crate::profiles::{PathArgs, ProfileArgs, ProfileQuery, begin};
use crate::render::pad::{self, Spaces};
use crate::render::rows::{RowArgs, Rows};
use crate::render::templates::FoldArgs;
use crate::render::{escaped, measure, style};
use crate::session::{OpenedFile, Outcome, Session};

/// Length that the bar of all that was spent would have, on a terminal.
const BAR: u32 = 10;

/// Number of rows that are shown unless another number is asked for.
const ROWS: usize = 20;

/// Show what spent most: functions, lines, files or modules.
///
/// Exclusive is what a function spent itself, inclusive what it spent together with all that it
/// called; a function that calls itself counts once. Shares are of all that was measured. Inlined
/// functions count as functions. Functions of one name are one row, whatever modules they are in; a
/// computed metric is computed of what a row comes to, with a value for each thread in each place.
///
/// Recordings of calls have a profile too: what functions took from call to return, and how often
/// they were called (`-m CALLS`). In a trace of a kernel these are its interrupts.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
EXAMPLES
  kymo top hpctoolkit-app-database          the functions that spent most themselves
  kymo top -i -n 5 hpctoolkit-app-database  the five that spent most with what they called
  kymo top --by line hpctoolkit-app-database
  kymo top --rank 0 --thread 1-3 DATABASE   only some threads
  kymo top -m 'cycles' --json DATABASE      another metric, one JSON object a row
  kymo top --focus 'Calc*' DATABASE         only what was spent below some functions
  kymo top --csv DATABASE                   all functions, for a spreadsheet

EXIT STATUS
  0 done, 1 unreadable or no profile, 2 bad usage, 3 read, with findings")]
pub(crate) struct Args {
    /// Files or directories.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Kind of a row.
    #[arg(long, value_enum, default_value = "function", value_name = "WHAT")]
    by: ByArg,

    /// Sort by what was spent inclusive of calls.
    #[arg(short, long)]
    inclusive: bool,

    /// Number of rows; 0 shows all. Without it there are 20, and all as JSON or CSV.
    #[arg(short, long, value_name = "ROWS")]
    number: Option<usize>,

    #[command(flatten)]
    profile: ProfileArgs,

    #[command(flatten)]
    paths: PathArgs,

    #[command(flatten)]
    fold: FoldArgs,

    #[command(flatten)]
    rows: RowArgs,

    #[command(flatten)]
    open: OpenArgs,
}

/// Kind of a row.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum ByArg {
    Function,
    Line,
    File,
    Module,
}

impl ByArg {
    /// Returns the key under which a program finds it. `file` is the recording.
    fn key(self) -> &'static str {
        if let Self::File = self { "source" } else { self.grouping().1 }
    }

    /// Returns the core's name for it, and the name for a person.
    fn grouping(self) -> (FlatGrouping, &'static str) {
        match self {
            Self::Function => (FlatGrouping::Function, "function"),
            Self::Line => (FlatGrouping::Line, "line"),
            Self::File => (FlatGrouping::File, "file"),
            Self::Module => (FlatGrouping::Module, "module"),
        }
    }
}

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    let inputs = session.expand(&args.files, &args.open.format);
    let mut is_first = true;
    let mut rows = args.rows.rows();
    session.each_dataset(inputs, &args.open, |session, opened| {
        let asked = args.paths.apply(args.profile.query_any(opened)?)?;
        let number = args.number.unwrap_or(if rows.is_some() { 0 } else { ROWS });
        let number = Some(number).filter(|number| *number > 0);
        let most = TopRows { number, is_inclusive: args.inclusive };
        let found = asked.flat(args.by.grouping().0, most)?;
        if let Some(rows) = &mut rows {
            print_rows(session, rows, args, opened, &asked, &found)?;
        } else {
            begin(session, &mut is_first)?;
            print(session, args, opened, &asked, &found)?;
        }
        let is_nothing = found.rows.is_empty() && found.more == 0;
        Ok(asked.report(session, opened, is_nothing, found.odd.as_deref()))
    })
}

fn print(
    session: &mut Session,
    args: &Args,
    opened: &OpenedFile,
    asked: &ProfileQuery,
    found: &FlatProfile,
) -> anyhow::Result<()> {
    let out = &mut session.out;
    let paint = out.paint();
    let (bold, faint) = (paint.style(style::TITLE), paint.style(style::FAINT));
    let threads = asked.threads_in_words();
    let (metric, total) = (escaped(&asked.described.name), asked.total_in_words(found.total));
    writeln!(out, "{bold}{}{bold:#}: {metric}, {total}, {threads}", opened.name)?;
    let is_terminal = out.is_terminal();
    let bars = if is_terminal { BAR + 2 } else { 0 };
    let gap = usize::try_from(bars).unwrap_or(0);
    let names = format!("{:>19}  {:>19}", "exclusive", "inclusive");
    writeln!(out, "{faint}{names}  {}{}{faint:#}", Spaces(gap), args.by.grouping().1)?;
    let room = out.columns().map_or(usize::MAX, |columns| columns.saturating_sub(42 + gap).max(16));
    for row in &found.rows {
        let cells = [row.exclusive, row.inclusive].map(|value| {
            // What is computed is no part of a whole, unless the recording says so.
            let is_part = asked.described.has_share && !value.is_nan();
            let share = if is_part { measure::share(value, found.total) } else { String::new() };
            let value = measure::in_unit(value, asked.described.unit.as_deref());
            format!("{value:>11}  {share:>6}")
        });
        let sorted_by = if args.inclusive { row.inclusive } else { row.exclusive };
        let heat = paint.style(style::share_style(sorted_by, found.total));
        let bar =
            if bars > 0 { measure::bar(sorted_by / found.total, BAR, true) } else { String::new() };
        let is_function = matches!(args.by, ByArg::Function);
        let label = if is_function {
            args.fold.name(&row.label, is_terminal)
        } else {
            row.label.as_str().into()
        };
        let label = measure::fitted(&escaped(&label), room);
        writeln!(out, "{}  {}  {heat}{}{label}{heat:#}", cells[0], cells[1], pad::left(&bar, gap))?;
    }
    let more = found.more;
    if more > 0 {
        writeln!(out, "{faint}{:>40}  {more} more (-n 0 shows all){faint:#}", "…")?;
    }
    asked.print_others(out)?;
    Ok(())
}

fn print_rows(
    session: &mut Session,
    rows: &mut Rows,
    args: &Args,
    opened: &OpenedFile,
    asked: &ProfileQuery,
    found: &FlatProfile,
) -> anyhow::Result<()> {
    for row in &found.rows {
        let object = json!({
            "file": opened.name,
            "metric": asked.described.name,
            args.by.key(): row.label,
            "exclusive": row.exclusive,
            "inclusive": row.inclusive,
            "total": found.total,
        });
        rows.row(&mut session.out, &object)?;
    }
    Ok(())
}
