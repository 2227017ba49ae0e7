//! `kymo load`: who used the processors, in all and over time.

use std::io::Write;
use std::path::PathBuf;

use kymo_analyse::{Analysis, CpuLoad, Load, TaskLoad, Tasks};
use kymo_core::Value;
use kymo_core::model::timeline::TrackKind;

use crate::cli::OpenArgs;
use crate::moment::MOMENTS;
use crate::render::grid::{Column, Grid, GridArgs, Look, share};
use crate::render::{escaped, measure, style};
use crate::scope::ScopeArgs;
use crate::session::{Opened, Outcome, Session};

/// Show what each task used of the processors, in all and over time.
///
/// There is a table for each processor, or for each log file that is of one. Shares are of the
/// time from its first switch to its last, for who ran before and after is not known. The column
/// `over time` has a mark for each part of that time: the higher, the more of it the task ran.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
EXAMPLES
  kymo load trace                             the busiest tasks of each processor
  kymo load --idle 'idle*' controller.bin     what runs when there is nothing to do is no load
  kymo load --since +1s --until +2s trace     of one second
  kymo load --json -n 0 trace                 all tasks, one JSON object each
  kymo load --buckets 100 --csv trace         a row for each task and hundredth of the time

{MOMENTS}

EXIT STATUS
  0 done, 1 unreadable or without tasks, 2 bad usage, 3 read, with findings"))]
pub(crate) struct Args {
    /// Files or directories.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// How many tasks for each processor; 0 shows all.
    #[arg(short, long, default_value = "10", value_name = "ROWS")]
    number: usize,

    /// How many parts the time is cut into.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    buckets: Option<u16>,

    #[command(flatten)]
    scope: ScopeArgs,

    #[command(flatten)]
    grid: GridArgs,

    #[command(flatten)]
    open: OpenArgs,
}

/// Parts of the time that a person sees.
const PARTS: u16 = 24;

const COLUMNS: &[Column] = &[
    ("cpu", "", Look::Plain),
    ("run_ns", "run", Look::Duration),
    ("share", "share", Look::Share),
    ("stretches", "stretches", Look::Count),
    ("over_time", "over time", Look::Plain),
    ("bucket_ns", "", Look::Plain),
    ("is_idle", "", Look::Plain),
    ("task", "task", Look::Plain),
];

const OVER_TIME: &[Column] = &[
    ("time_ns", "", Look::Plain),
    ("cpu", "", Look::Plain),
    ("task", "", Look::Plain),
    ("run_ns", "", Look::Duration),
    ("share", "", Look::Share),
];

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    let inputs = session.expand(&args.files, &args.open.format);
    let mut is_first = true;
    session.each_dataset(inputs, &args.open, |session, opened| {
        let scope = args.scope.of(opened)?;
        scope.wants(TrackKind::Task, "no tasks are recorded in it")?;
        let buckets = scope.buckets(args.buckets.unwrap_or(PARTS).into())?;
        let mut load = Load::over(buckets);
        let analysis = scope.run(session, opened, &mut [&mut load])?;
        if std::mem::take(&mut is_first) && args.grid.csv {
            let columns = if args.buckets.is_some() { OVER_TIME } else { COLUMNS };
            Grid::new(columns).csv_header(&mut session.out)?;
        }
        for cpu in load.cpus(analysis.tasks()) {
            let shown = Shown { args, analysis: &analysis, load: &load, cpu: &cpu };
            shown.print(session, opened)?;
        }
        Ok(session.findings(opened))
    })
}

/// What is shown of a processor.
struct Shown<'a> {
    args: &'a Args,
    analysis: &'a Analysis,
    load: &'a Load,
    cpu: &'a CpuLoad,
}

impl Shown<'_> {
    fn name(&self) -> &str {
        self.analysis.tasks().cpu(self.cpu.cpu).map_or("", |cpu| &cpu.name)
    }

    fn print(&self, session: &mut Session, opened: &Opened) -> anyhow::Result<()> {
        if self.args.grid.csv && self.args.buckets.is_some() {
            return self.over_time(session, opened);
        }
        let mut grid =
            table(self.name(), self.cpu, self.load, self.analysis.tasks(), self.args.grid);
        let more = grid.keep(self.args.number);
        let out = &mut session.out;
        if self.args.grid.is_text() {
            let bold = out.paint().style(style::TITLE);
            writeln!(out, "{bold}{}{bold:#}: {}", opened.name, heading(self.name(), self.cpu))?;
        }
        grid.print(out, self.args.grid, &opened.name)?;
        if self.args.grid.is_text() {
            let faint = out.paint().style(style::FAINT);
            if more > 0 {
                writeln!(out, "{faint}… {more} more (-n 0 shows all){faint:#}")?;
            }
        }
        Ok(())
    }

    fn over_time(&self, session: &mut Session, opened: &Opened) -> anyhow::Result<()> {
        let Some(buckets) = self.load.buckets() else { return Ok(()) };
        let mut grid = Grid::new(OVER_TIME);
        for of in &self.cpu.tasks {
            let task = self.analysis.tasks().name(of.task);
            for (at, ns) in of.buckets.iter().enumerate() {
                grid.row(vec![
                    buckets.begin(at).0.into(),
                    self.name().into(),
                    task.into(),
                    (*ns).into(),
                    share(*ns, buckets.width_ns),
                ]);
            }
        }
        Ok(grid.print(&mut session.out, self.args.grid, &opened.name)?)
    }
}

/// What a processor did, in a few words.
pub(super) fn heading(name: &str, cpu: &CpuLoad) -> String {
    let span = measure::duration(cpu.span_ns());
    let busy = match share(cpu.busy_ns, cpu.span_ns()) {
        Value::Float(share) => format!("{:.1}% busy", share * 100.0),
        _ => "never switched".to_owned(),
    };
    format!("{}, {span}, {busy}", escaped(name))
}

/// The tasks of a processor.
pub(super) fn table(name: &str, cpu: &CpuLoad, load: &Load, tasks: &Tasks, how: GridArgs) -> Grid {
    let mut grid = Grid::new(COLUMNS);
    let width_ns = load.buckets().map_or(0, |buckets| buckets.width_ns);
    for of in &cpu.tasks {
        let over_time = if how.is_text() {
            marks(of, width_ns).into()
        } else {
            of.buckets.iter().copied().collect()
        };
        grid.row(vec![
            name.into(),
            of.run_ns.into(),
            share(of.run_ns, cpu.span_ns()),
            of.stretches.into(),
            over_time,
            width_ns.into(),
            tasks.is_idle(of.task).into(),
            tasks.name(of.task).into(),
        ]);
    }
    grid
}

/// A mark for each part of the time: the higher, the more of it a task ran.
fn marks(of: &TaskLoad, width_ns: u64) -> String {
    const MARKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let mark = |ns: &u64| {
        let eighths = u128::from(*ns) * 8 / u128::from(width_ns.max(1));
        match (ns, usize::try_from(eighths).unwrap_or(7).min(7)) {
            (0, _) => ' ',
            (_, eighths) => MARKS.get(eighths).copied().unwrap_or('█'),
        }
    };
    of.buckets.iter().map(mark).collect()
}
