//! `kymo sched`: how tasks were scheduled.

mod history;

use std::io::Write;
use std::path::PathBuf;

use kymo_analyse::{Distribution, Sched, TaskSched, Tasks};
use kymo_core::Value;
use kymo_core::model::timeline::TrackKind;

use crate::cli::OpenArgs;
use crate::moment::MOMENTS;
use crate::render::grid::{Column, Grid, GridArgs, Look, maybe};
use crate::render::{numbers, style};
use crate::scope::ScopeArgs;
use crate::session::{Outcome, Session};

/// Show how tasks were scheduled: how long they waited, ran, and took to answer.
///
/// A job is what a task does from its release to its completion. Its delay is the time until it
/// runs first, its run the time it runs, its response the time until it is complete, and its wait
/// the response without the run. A job is late that takes longer than its budget. Jitter is the
/// largest difference of a distance between releases from their mean. In traces of Linux, a wakeup
/// is a release, and a task is complete when it goes to sleep.
///
/// With --history there is a line for every stretch that a task ran, by its end: how long the task
/// was not running before, how long after its release it ran, and how long it ran.
///
/// Percentiles of more than a thousand jobs are within one percent; all other figures are exact.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
EXAMPLES
  kymo sched trace                            the tasks that ran most
  kymo sched --sort response trace            those that took longest to answer
  kymo sched --stream 'audio*' trace          some tasks
  kymo sched --history --since +1s trace      every stretch, as perf sched timehist has them
  kymo sched --json -n 0 trace                all figures of all tasks, one JSON object each

{MOMENTS}

EXIT STATUS
  0 done, 1 unreadable or without tasks, 2 bad usage, 3 read, with findings"))]
pub(crate) struct Args {
    /// Files or directories.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// What the first task has most of.
    #[arg(long, value_enum, default_value = "run", value_name = "WHAT")]
    sort: Key,

    /// Show every stretch that a task ran, in the order of their ends.
    #[arg(long, conflicts_with = "sort")]
    history: bool,

    /// How many tasks or stretches; 0 shows all.
    #[arg(short, long, default_value = "20", value_name = "ROWS")]
    number: usize,

    #[command(flatten)]
    scope: ScopeArgs,

    #[command(flatten)]
    grid: GridArgs,

    #[command(flatten)]
    open: OpenArgs,
}

/// What tasks are sorted by.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Key {
    /// All the time it ran.
    Run,
    /// The longest delay.
    Delay,
    /// The longest response.
    Response,
    /// Late jobs.
    Misses,
    /// Preemptions.
    Preemptions,
}

impl Key {
    fn of(self, task: &TaskSched) -> u128 {
        match self {
            Self::Run => task.stretch_ns.sum(),
            Self::Delay => task.delay_ns.max().unwrap_or(0).into(),
            Self::Response => task.response_ns.max().unwrap_or(0).into(),
            Self::Misses => task.misses.into(),
            Self::Preemptions => task.preemptions().unwrap_or(0).into(),
        }
    }
}

const COLUMNS: &[Column] = &[
    ("activations", "jobs", Look::Count),
    ("run_mean_ns", "run", Look::Duration),
    ("response_mean_ns", "response", Look::Duration),
    ("response_p95_ns", "95%", Look::Duration),
    ("response_max_ns", "max", Look::Duration),
    ("misses", "late", Look::Count),
    ("delay_max_ns", "max delay", Look::Duration),
    ("preemptions", "preempted", Look::Count),
    ("period_mean_ns", "period", Look::Duration),
    ("jitter_ns", "jitter", Look::Duration),
    ("completions", "", Look::Count),
    ("stretches", "", Look::Count),
    ("stretch_total_ns", "ran", Look::Duration),
    ("stretch_min_ns", "", Look::Duration),
    ("stretch_mean_ns", "", Look::Duration),
    ("stretch_p95_ns", "", Look::Duration),
    ("stretch_max_ns", "", Look::Duration),
    ("run_min_ns", "", Look::Duration),
    ("run_p95_ns", "", Look::Duration),
    ("run_max_ns", "", Look::Duration),
    ("response_min_ns", "", Look::Duration),
    ("response_p50_ns", "", Look::Duration),
    ("response_p99_ns", "", Look::Duration),
    ("delay_min_ns", "", Look::Duration),
    ("delay_mean_ns", "", Look::Duration),
    ("delay_p95_ns", "", Look::Duration),
    ("wait_min_ns", "", Look::Duration),
    ("wait_mean_ns", "", Look::Duration),
    ("wait_p95_ns", "", Look::Duration),
    ("wait_max_ns", "", Look::Duration),
    ("budgets", "", Look::Count),
    ("recording", "", Look::Count),
    ("task", "task", Look::Plain),
];

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    let inputs = session.expand(&args.files, &args.open.format);
    let mut is_first = true;
    session.each_dataset(inputs, &args.open, |session, opened| {
        let scope = args.scope.of(opened)?;
        scope.wants(TrackKind::Task, "no tasks are recorded in it")?;
        if args.history {
            history::print(session, opened, &scope, args.grid, args.number)?;
            return Ok(session.findings(opened));
        }
        let mut sched = Sched::new();
        let analysis = scope.run(session, opened, &mut [&mut sched])?;
        let mut grid = table(&sched, analysis.tasks(), |task| args.sort.of(task));
        let (all, more) = (grid.len(), grid.keep(args.number));
        let out = &mut session.out;
        let is_first = std::mem::take(&mut is_first);
        if args.grid.csv && is_first {
            grid.csv_header(out)?;
        }
        if args.grid.is_text() {
            let bold = out.paint().style(style::TITLE);
            let tasks = numbers::count(all as u64, "task", "tasks");
            let gap = if is_first { "" } else { "\n" };
            writeln!(out, "{gap}{bold}{}{bold:#}: {tasks}", opened.name)?;
        }
        grid.print(out, args.grid, &opened.name)?;
        if args.grid.is_text() && more > 0 {
            let faint = out.paint().style(style::FAINT);
            writeln!(out, "{faint}… {more} more (-n 0 shows all){faint:#}")?;
        }
        Ok(session.findings(opened))
    })
}

/// The figures of all tasks but idle ones, those with most first.
pub(super) fn table(sched: &Sched, tasks: &Tasks, most: impl Fn(&TaskSched) -> u128) -> Grid {
    let mut found: Vec<_> = sched.tasks().filter(|(id, _)| !tasks.is_idle(*id)).collect();
    found.sort_by_key(|(id, task)| (u128::MAX - most(task), *id));
    let mut grid = Grid::new(COLUMNS);
    for (id, task) in found {
        let recording = tasks.get(id).map_or(0, |task| task.recording);
        grid.row(row(task, recording, tasks.name(id)));
    }
    grid
}

fn row(task: &TaskSched, recording: usize, name: &str) -> Vec<Value> {
    let TaskSched { stretch_ns, delay_ns, run_ns, wait_ns, response_ns, period_ns, .. } = task;
    let p95 = |of: &Distribution| maybe(of.percentile(95));
    vec![
        task.activations.into(),
        maybe(run_ns.mean()),
        maybe(response_ns.mean()),
        p95(response_ns),
        maybe(response_ns.max()),
        maybe((task.budgets > 0).then_some(task.misses)),
        maybe(delay_ns.max()),
        maybe(task.preemptions()),
        maybe(period_ns.mean()),
        maybe(task.jitter_ns()),
        task.completions.into(),
        stretch_ns.count().into(),
        u64::try_from(stretch_ns.sum()).unwrap_or(u64::MAX).into(),
        maybe(stretch_ns.min()),
        maybe(stretch_ns.mean()),
        p95(stretch_ns),
        maybe(stretch_ns.max()),
        maybe(run_ns.min()),
        p95(run_ns),
        maybe(run_ns.max()),
        maybe(response_ns.min()),
        maybe(response_ns.percentile(50)),
        maybe(response_ns.percentile(99)),
        maybe(delay_ns.min()),
        maybe(delay_ns.mean()),
        p95(delay_ns),
        maybe(wait_ns.min()),
        maybe(wait_ns.mean()),
        p95(wait_ns),
        maybe(wait_ns.max()),
        task.budgets.into(),
        recording.into(),
        name.into(),
    ]
}
