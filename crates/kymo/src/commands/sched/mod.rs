//! `kymo sched`: how tasks were scheduled.

mod history;
mod times;

use std::path::PathBuf;

use kymo_core::Value;
use kymo_model::timeline::TrackKind;
use kymo_query::{Analysis, Distribution, Jobs, Sched, TaskId, TaskSched, Tasks};

use crate::cli::OpenArgs;
use crate::failure::Failure;
use crate::moment::MOMENTS;
use crate::render::grid::{self, Column, Grid, GridArgs, Look, maybe};
use crate::render::listing::Listing;
use crate::render::numbers;
use crate::scope::{EventNeeds, ScopeArgs};
use crate::session::{Outcome, Session};
pub(super) use times::Times;

/// Show how tasks were scheduled: how long they waited, ran, and took to answer.
///
/// A job is what a task does from its release to its completion; jobs are counted, and their times
/// told, where both are known. Its run is the time it runs, its response the time until it is complete,
/// and its wait the response without the run. A delay is the time from a release until the task runs
/// next, complete or not; one that is released while it runs does so when it is complete and goes on, or
/// else when it begins again: `delays` in JSON and CSV is how many there are. A job of which the begin is
/// missing counts all the same when it is complete; its delay and its run are not known. A job is late
/// that takes longer than its budget, also when it is never complete; a budget of 0 is none. One whose
/// budget is over before it ran, when its task is released again, is not complete and late, and does not
/// lend its time to the next. A task is preempted when it stops and its job is not complete. Jitter
/// is the largest difference of a distance between releases from their mean.
///
/// In traces of Linux, a wakeup is a release, and a task is complete when it goes to sleep. The last
/// wakeup before it runs counts: one that came while it ran kept it awake, unless it went to sleep
/// all the same and nothing else woke it. The period is from the wakeup for a job to that for the
/// next.
///
/// The priority is the one that the task ran with, as the recording numbers them, or from the
/// smallest number to the largest where it changed.
///
/// With --history there is a line for every stretch that a task ran, by its end: how long the task
/// was not running before, how long after it was released it ran where it is the first stretch since, how
/// long it ran, and with which priority. Of a stretch that --since or --until cuts, there is
/// what is within the range, with the sign ≥ before it; in JSON and CSV, `is_cut` says so. So stretches
/// of ranges that adjoin add up. Who runs after the last switch of its processor in the recording has
/// no line, for how long is not known.
///
/// With --since, jobs that were released before that moment are in no figure of jobs, for how long
/// they took is not known from what is looked at; completions and preemptions count whatever job they
/// are of. With --until, jobs that are not complete by then are open, and late if their time is over;
/// without it, that is so at the end of the recording, whichever streams are chosen.
///
/// Percentiles of more than a thousand jobs are within one percent; all other figures are exact.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
EXAMPLES
  kymo sched trace                            the tasks that ran most
  kymo sched --sort response trace            those that took longest to answer
  kymo sched --times wait trace               how long they waited, with percentiles
  kymo sched --stream 'audio*' trace          some tasks
  kymo sched --history --since +1s trace      every stretch, like perf sched timehist
  kymo sched --json trace                     all figures of all tasks, one JSON object each

{MOMENTS}

EXIT STATUS
  0 done, 1 unreadable or without tasks, 2 bad usage, 3 read, with findings"))]
pub(crate) struct Args {
    /// Files or directories.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Key by which tasks are sorted: the first task has most of it.
    #[arg(long, value_enum, default_value = "run", value_name = "WHAT")]
    sort: Key,

    /// Show one kind of time in full: the least, the mean, the median, 95% and 99%, and the most. JSON
    /// and CSV have all of them anyway.
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with = "history")]
    times: Option<Times>,

    /// Show every stretch that a task ran, in the order of their ends.
    #[arg(long, conflicts_with = "sort")]
    history: bool,

    /// Number of tasks or stretches; 0 shows all. Without it there are 20, and all as JSON or CSV.
    #[arg(short, long, value_name = "ROWS")]
    number: Option<usize>,

    #[command(flatten)]
    scope: ScopeArgs,

    #[command(flatten)]
    grid: GridArgs,

    #[command(flatten)]
    open: OpenArgs,
}

/// Tasks or stretches that a person is shown, unless there is a word on it.
const NUMBER: usize = 20;

/// Key by which tasks are sorted.
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
    fn value(self, task: &TaskSched) -> u128 {
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
    ("jobs", "jobs", Look::Count),
    ("activations", "activations", Look::Count),
    ("run_mean_ns", "run", Look::Duration),
    ("run_max_ns", "max run", Look::Duration),
    ("wait_mean_ns", "wait", Look::Duration),
    ("wait_max_ns", "max wait", Look::Duration),
    ("response_mean_ns", "response", Look::Duration),
    ("response_p95_ns", "95%", Look::Duration),
    ("response_max_ns", "max", Look::Duration),
    ("misses", "late", Look::Count),
    ("delay_max_ns", "max delay", Look::Duration),
    ("preemptions", "preempted", Look::Count),
    ("period_mean_ns", "period", Look::Duration),
    ("jitter_ns", "jitter", Look::Duration),
    ("completions", "", Look::Count),
    ("open", "", Look::Count),
    ("stretches", "", Look::Count),
    ("stretch_total_ns", "ran", Look::Duration),
    ("stretch_min_ns", "", Look::Duration),
    ("stretch_mean_ns", "", Look::Duration),
    ("stretch_p95_ns", "", Look::Duration),
    ("stretch_max_ns", "", Look::Duration),
    ("run_min_ns", "", Look::Duration),
    ("run_p50_ns", "", Look::Duration),
    ("run_p95_ns", "", Look::Duration),
    ("run_p99_ns", "", Look::Duration),
    ("response_min_ns", "", Look::Duration),
    ("response_p50_ns", "", Look::Duration),
    ("response_p99_ns", "", Look::Duration),
    ("delays", "", Look::Count),
    ("delay_min_ns", "", Look::Duration),
    ("delay_mean_ns", "", Look::Duration),
    ("delay_p50_ns", "", Look::Duration),
    ("delay_p95_ns", "", Look::Duration),
    ("delay_p99_ns", "", Look::Duration),
    ("wait_min_ns", "", Look::Duration),
    ("wait_p50_ns", "", Look::Duration),
    ("wait_p95_ns", "", Look::Duration),
    ("wait_p99_ns", "", Look::Duration),
    ("budgets", "", Look::Count),
    ("priority_min", "", Look::Plain),
    ("priority_max", "", Look::Plain),
    ("", "priority", Look::Plain),
    ("is_interrupt", "", Look::Plain),
    ("recording", "", Look::Count),
    ("task_id", "", Look::Plain),
    ("task", "", Look::Plain),
    ("label", "task", Look::Name),
];

/// Columns that tell a person less than others, the least first.
const LESSER: &[&str] =
    &["priority", "jitter", "period", "activations", "ran", "preempted", "max run", "max delay"];

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    args.scope.each(session, &args.files, &args.open, |session, opened, scope, is_first| {
        scope.require_tracks(TrackKind::Task, "no tasks are recorded in it")?;
        let rows = args.grid.rows(args.number, NUMBER);
        if args.history {
            return history::print(session, opened, scope, args.grid, rows);
        }
        let mut sched = Sched::new();
        let (analysis, outcome) =
            scope.analyse(session, opened, EventNeeds::Activities, &mut [&mut sched])?;
        let grid = match args.times.filter(|_| args.grid.is_text()) {
            Some(times) => times.table(&sched, &analysis, |task| args.sort.value(task), rows),
            None => table(&sched, &analysis, |task| args.sort.value(task), rows),
        };
        if grid.len() == 0 {
            return Err(no_figures_failure(&sched, &analysis, &scope.place()).into());
        }
        let title = format!(": {}", numbers::count(grid.len() as u64, "task", "tasks"));
        let listing = Listing { file: &opened.name, title: &title, is_first, rows };
        listing.print(&mut session.out, args.grid, grid)?;
        if is_missing_completions(&sched) {
            let none = format!("no completions are recorded {}", scope.place());
            session.report.remark(&opened.name, format!("{none}, so that there are no jobs"));
        }
        Ok(outcome)
    })
}

/// Explains why there are no figures.
fn no_figures_failure(sched: &Sched, analysis: &Analysis, place: &str) -> Failure {
    if sched.tasks().any(|(task, _)| analysis.is_task_selected(task)) {
        return Failure::new(format!("only idle tasks ran {place}")).hint("`kymo load` shows them");
    }
    Failure::new(format!("no task is known to have done anything {place}"))
}

/// Returns true if tasks were released and ran, and are never said to be complete.
fn is_missing_completions(sched: &Sched) -> bool {
    let mut tasks = sched.tasks();
    tasks.all(|(_, task)| task.completions == 0)
        && sched.tasks().any(|(_, task)| task.activations > 0)
}

/// The figures of all tasks that are meant but idle ones, those with most first: of so many, or of
/// all.
pub(super) fn table(
    sched: &Sched,
    analysis: &Analysis,
    most: impl Fn(&TaskSched) -> u128,
    number: usize,
) -> Grid {
    let mut grid = Grid::new(COLUMNS).keeping(number).omit_first(LESSER);
    for (id, figures) in in_order(sched, analysis, most, number) {
        grid.row_of(|| row(figures, id, analysis.tasks()));
    }
    grid
}

/// All tasks that are meant but idle ones, of which so many or all are in order.
fn in_order<'a>(
    sched: &'a Sched,
    analysis: &Analysis,
    most: impl Fn(&TaskSched) -> u128,
    number: usize,
) -> Vec<(TaskId, &'a TaskSched)> {
    let is_shown = |id: TaskId| !analysis.tasks().is_idle(id) && analysis.is_task_selected(id);
    let mut found: Vec<_> = sched.tasks().filter(|(id, _)| is_shown(*id)).collect();
    let order = |(id, task): &(TaskId, &TaskSched)| (u128::MAX - most(task), *id);
    let kept = if number == 0 { found.len() } else { number.min(found.len()) };
    if kept < found.len() {
        // There may be very many: only those that are kept are put in order.
        found.select_nth_unstable_by_key(kept, order);
    }
    let (first, _) = found.split_at_mut(kept);
    first.sort_by_cached_key(order);
    found
}

fn priority(number: Option<i64>) -> Value {
    number.map_or(Value::Null, Value::from)
}

/// The smallest and the largest priority that a task ran with; where none is told, the one that the
/// recording says it has.
fn priorities(task: &TaskSched, id: TaskId, tasks: &Tasks) -> Option<(i64, i64)> {
    let said = || tasks.priority(id).map(|priority| (priority, priority));
    task.priorities().or_else(said)
}

/// The priority that a task had, or from which to which it changed.
fn priority_words(priorities: Option<(i64, i64)>) -> Value {
    match priorities {
        Some((min, max)) if min < max => format!("{min} to {max}").into(),
        pair => priority(pair.map(|(min, _)| min)),
    }
}

fn row(task: &TaskSched, id: TaskId, tasks: &Tasks) -> Vec<Value> {
    let stretch_ns = &task.stretch_ns;
    let Jobs { delay_ns, run_ns, wait_ns, response_ns, period_ns, .. } = &**task;
    let priorities = priorities(task, id, tasks);
    let part = |distribution: &Distribution, percent| maybe(distribution.percentile(percent));
    vec![
        response_ns.count().into(),
        task.activations.into(),
        maybe(run_ns.mean()),
        maybe(run_ns.max()),
        maybe(wait_ns.mean()),
        maybe(wait_ns.max()),
        maybe(response_ns.mean()),
        part(response_ns, 95),
        maybe(response_ns.max()),
        maybe((task.budgets > 0).then_some(task.misses)),
        maybe(delay_ns.max()),
        maybe(task.preemptions()),
        maybe(period_ns.mean()),
        maybe(task.jitter_ns()),
        task.completions.into(),
        task.open.into(),
        stretch_ns.count().into(),
        u64::try_from(stretch_ns.sum()).unwrap_or(u64::MAX).into(),
        maybe(stretch_ns.min()),
        maybe(stretch_ns.mean()),
        part(stretch_ns, 95),
        maybe(stretch_ns.max()),
        maybe(run_ns.min()),
        part(run_ns, 50),
        part(run_ns, 95),
        part(run_ns, 99),
        maybe(response_ns.min()),
        part(response_ns, 50),
        part(response_ns, 99),
        delay_ns.count().into(),
        maybe(delay_ns.min()),
        maybe(delay_ns.mean()),
        part(delay_ns, 50),
        part(delay_ns, 95),
        part(delay_ns, 99),
        maybe(wait_ns.min()),
        part(wait_ns, 50),
        part(wait_ns, 95),
        part(wait_ns, 99),
        task.budgets.into(),
        priority(priorities.map(|(min, _)| min)),
        priority(priorities.map(|(_, max)| max)),
        priority_words(priorities),
        tasks.is_interrupt(id).into(),
        tasks.recording(id).into(),
        grid::id(tasks.task_id(id)),
        tasks.name(id).into(),
        tasks.label(id).into_owned().into(),
    ]
}
