//! `kymo load`: who used the processors, in all and over time.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::io::Write;
use std::path::PathBuf;

use kymo_core::Value;
use kymo_model::timeline::TrackKind;
use kymo_query::{Analysis, BucketTimes, CpuLoad, Load, TaskId, Tasks};

use crate::cli::OpenArgs;
use crate::failure::Failure;
use crate::moment::MOMENTS;
use crate::render::grid::{Column, Grid, GridArgs, Look, id, share};
use crate::render::listing::more_rows;
use crate::render::{escaped, measure, numbers, style};
use crate::scope::{EventNeeds, Scope, ScopeArgs};
use crate::session::{OpenedFile, Outcome, Session};

/// Show what each task used of the processors, in all and over time.
///
/// There is a table for each processor, or for each log file that is of one. Shares are of the
/// time from its first switch to its last in the recording, for who ran before and after is not
/// known, so that what the last switch lets run has no stretch; with --since and --until they are of
/// what is in that range, and what runs across an end of it counts up to there. So ranges that adjoin
/// add up. Where no switch is found near a range, that is said and is a finding. --stream and
/// --exclude choose which tasks are shown.
///
/// Where switches are missing, nobody is said to have run. Where times go back, no time counts twice:
/// what is told then is not used until times are where they were, and time that nothing else tells of
/// is not known. There is a row for how long it is not known who ran (`is_unknown` in JSON and CSV);
/// that is a finding, and is in the time that shares are of. Where a processor has an idle task, the row
/// also has the time in which nobody is said to run, which is no finding: all rows but that of
/// interrupts add up to the time of the processor.
///
/// Where no processor is recorded, tasks of any number of them are in one table. How busy a processor
/// was cannot be told then: shares are of the range, the column is called `of range`, and together they
/// may be more than 100%. `is_processor` is false in JSON and CSV.
///
/// The column `over time` has a mark for each part of the time of the whole recording: the higher,
/// the more the task ran of what is known of it. In JSON it has the nanoseconds that the task ran in
/// each, and `bucket_ns` is how long a part is; the last may be shorter by some nanoseconds. Shares
/// of CSV with --buckets are of what is known of each part, and there are none where nothing is.
///
/// With --total, the time of all processors is the sum of the times of each, and shares are of that,
/// whichever tasks are shown. How long each was looked at before its first switch and after its last
/// is said to be not known, and is in no share; that is all of the range for a processor of which
/// nothing is known in it.
///
/// Interrupts have a row of their own where they are recorded. Their time is also time of the tasks
/// that they interrupt, idle ones too, for no switch tells otherwise. How long they took before the
/// first switch and after the last is told besides, and is in no share. Where a recording switches to
/// interrupts as to tasks, each has a row, and its time is that of no other. Those that did not end before
/// they came again or another task ran are left out; this is said and is a finding.
///
/// In JSON and CSV, `cpu_ns` is the time that shares are of, and `unseen_ns` is for how much more the
/// processor was looked at.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
EXAMPLES
  kymo load trace                             the busiest tasks of each processor
  kymo load --idle 'wait*' controller.bin     what runs when there is nothing to do is no load
  kymo load --since +1s --until +2s trace     of one second
  kymo load --total trace                     of all processors together
  kymo load --json trace                      all tasks, one JSON object each
  kymo load --buckets 100 --csv trace         a row for each task and hundredth of the time

{MOMENTS}

EXIT STATUS
  0 done, 1 unreadable or without tasks, 2 bad usage, 3 read, with findings, or
  with switches that do not fit together"))]
pub(crate) struct Args {
    /// Files or directories.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Number of tasks for each processor; 0 shows all. Without it there are 10, and all as JSON or
    /// CSV.
    #[arg(short, long, value_name = "ROWS")]
    number: Option<usize>,

    /// Add up all processors: a task that moved between them has one row. Shares are of the time of
    /// all of them together.
    #[arg(long)]
    total: bool,

    /// Number of parts that the time is cut into, from 1 to 1000.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    buckets: Option<u16>,

    #[command(flatten)]
    scope: ScopeArgs,

    #[command(flatten)]
    grid: GridArgs,

    #[command(flatten)]
    open: OpenArgs,
}

/// Tasks of a processor that a person is shown, unless there is a word on it.
const NUMBER: usize = 10;

/// Parts of the time that a person sees.
const PARTS: u16 = 24;

const COLUMNS: &[Column] = &[
    ("cpu", "", Look::Plain),
    ("run_ns", "run", Look::Duration),
    ("share", "", Look::Share),
    ("", "share", Look::Share),
    ("", "of range", Look::Share),
    ("stretches", "stretches", Look::Count),
    ("over_time", "over time", Look::Plain),
    ("bucket_ns", "", Look::Plain),
    ("is_idle", "", Look::Plain),
    ("is_interrupt", "", Look::Plain),
    ("is_unknown", "", Look::Plain),
    ("is_processor", "", Look::Plain),
    ("cpu_ns", "", Look::Plain),
    ("unseen_ns", "", Look::Plain),
    ("recording", "", Look::Plain),
    ("task_id", "", Look::Plain),
    ("task", "", Look::Plain),
    ("label", "task", Look::Name),
];

const OVER_TIME: &[Column] = &[
    ("time_ns", "", Look::Plain),
    ("recording", "", Look::Plain),
    ("cpu", "", Look::Plain),
    ("task_id", "", Look::Plain),
    ("task", "", Look::Plain),
    ("label", "", Look::Plain),
    ("run_ns", "", Look::Duration),
    ("share", "", Look::Share),
    ("is_idle", "", Look::Plain),
    ("is_interrupt", "", Look::Plain),
    ("is_unknown", "", Look::Plain),
    ("is_processor", "", Look::Plain),
];

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    args.scope.each(session, &args.files, &args.open, |session, opened, scope, is_first| {
        scope.require_tracks(TrackKind::Task, "no tasks are recorded in it")?;
        let mut load = Load::with_buckets(scope.buckets(args.buckets.unwrap_or(PARTS).into())?);
        let (analysis, outcome) =
            scope.analyse(session, opened, EventNeeds::Activities, &mut [&mut load])?;
        if is_first && args.grid.csv {
            let columns = if args.buckets.is_some() { OVER_TIME } else { COLUMNS };
            Grid::new(columns).csv_header(&mut session.out)?;
        }
        // Those count of which nothing is known, too, and those whose tasks are not shown.
        let mut cpus = every_cpu(&mut load, &analysis, scope);
        let among = ProcessorCounts::from_loads(&cpus, analysis.tasks());
        let all = if args.total { CpuLoad::together(&cpus, analysis.tasks()) } else { None };
        keep_reported(&mut cpus, &analysis);
        if cpus.is_empty() {
            let why = format!("no task is known to have run {}", scope.place());
            return Err(Failure::new(why).into());
        }
        for cpu in all.as_ref().map_or(&cpus[..], std::slice::from_ref) {
            let shown =
                ShownProcessor { args, scope, analysis: &analysis, load: &load, cpu, among };
            shown.print(session, opened)?;
        }
        if let Some(text) = idle_by_name(&cpus, scope, &analysis) {
            session.report.remark(&opened.name, text);
        }
        Ok(outcome)
    })
}

/// Every processor that is meant and switches anywhere in the recording, each with the tasks that are
/// meant there.
fn every_cpu(load: &mut Load, analysis: &Analysis, scope: &Scope) -> Vec<CpuLoad> {
    let tasks = analysis.tasks();
    let track = |cpu: &CpuLoad| tasks.cpu(cpu.cpu).map(|cpu| cpu.track);
    let mut cpus = load.take_cpus(tasks);
    cpus.retain(|cpu| track(cpu).is_some_and(|track| scope.is_cpu_selected(track)));
    let Some(meant) = analysis.selected_tasks() else { return cpus };
    // Tasks that only their stretches name are of the track that has them.
    let declared = |task: TaskId| tasks.track_task(tasks.get(task)?.home).map(|(task, _)| task);
    for cpu in &mut cpus {
        let (on, track) = (cpu.cpu, track(cpu));
        let is_meant = |task| declared(task).is_some_and(|task| meant.contains(&(task, on)));
        cpu.tasks.retain(|task_load| is_meant(task_load.task));
        cpu.interrupts.take_if(|_| !track.is_some_and(|track| analysis.is_selected(track)));
    }
    cpus
}

/// The processors of which something is to be told, each with the tasks that are meant.
pub(super) fn cpus(load: &mut Load, analysis: &Analysis, scope: &Scope) -> Vec<CpuLoad> {
    let mut cpus = every_cpu(load, analysis, scope);
    keep_reported(&mut cpus, analysis);
    cpus
}

/// Keeps the processors of which something is to be told. Where nobody runs all the time, that is
/// worth knowing too, where something of the processor is meant.
fn keep_reported(cpus: &mut Vec<CpuLoad>, analysis: &Analysis) {
    let tasks = analysis.tasks();
    let meant = analysis.selected_tasks();
    let meant = meant.map(|meant| meant.into_iter().map(|(_, cpu)| cpu).collect::<HashSet<_>>());
    cpus.retain(|cpu| {
        let is_itself = || {
            tasks.cpu(cpu.cpu).is_some_and(|this_cpu| analysis.is_selected_itself(this_cpu.track))
        };
        let is_meant = meant.as_ref().is_none_or(|meant| meant.contains(&cpu.cpu) || is_itself());
        let is_nobody = cpu.busy_ns == 0 && cpu.idle_ns == 0 && cpu.span_ns() > 0;
        !cpu.tasks.is_empty() || (is_meant && (is_nobody || cpu.unknown.ns > 0))
    });
}

/// Says which tasks are taken for idle though the recording does not call them so.
pub(super) fn idle_by_name(cpus: &[CpuLoad], scope: &Scope, analysis: &Analysis) -> Option<String> {
    let tasks = cpus.iter().flat_map(|cpu| &cpu.tasks).map(|task_load| task_load.task);
    let tasks = tasks.filter(|task| scope.is_idle_by_name(analysis, *task));
    let tasks = tasks.collect::<BTreeSet<_>>().into_iter();
    let mut known = HashSet::new();
    let names = tasks.map(|task| analysis.tasks().name(task)).filter(|name| known.insert(*name));
    let names: Vec<_> = names.map(escaped).collect();
    match &names[..] {
        [] => None,
        [name] => Some(format!("{name} is taken for idle by its name")),
        names => Some(format!("{} are taken for idle by their names", names.join(", "))),
    }
}

/// Content shown of a processor.
struct ShownProcessor<'a> {
    args: &'a Args,
    scope: &'a Scope,
    analysis: &'a Analysis,
    load: &'a Load,
    cpu: &'a CpuLoad,
    among: ProcessorCounts,
}

/// Number of processors, and whether tasks ran on others that are not recorded.
#[derive(Debug, Clone, Copy)]
struct ProcessorCounts {
    processors: usize,
    is_all: bool,
}

impl ProcessorCounts {
    fn from_loads(cpus: &[CpuLoad], tasks: &Tasks) -> Self {
        let processors = cpus.iter().filter(|cpu| is_one(cpu, tasks)).count();
        Self { processors, is_all: processors == cpus.len() }
    }
}

/// Returns true if tasks took turns on a processor, as far as is recorded.
pub(super) fn is_one(cpu: &CpuLoad, tasks: &Tasks) -> bool {
    tasks.cpu(cpu.cpu).is_some_and(|cpu| cpu.is_one)
}

impl ShownProcessor<'_> {
    /// Returns true if shares are of the time of processors.
    fn is_processor(&self) -> bool {
        if self.args.total { self.among.is_all } else { is_one(self.cpu, self.analysis.tasks()) }
    }

    fn name(&self) -> &str {
        if self.args.total {
            return "all processors";
        }
        self.analysis.tasks().cpu(self.cpu.cpu).map_or("", |cpu| &cpu.name)
    }

    fn print(&self, session: &mut Session, opened: &OpenedFile) -> anyhow::Result<()> {
        if self.args.grid.csv && self.args.buckets.is_some() {
            return self.over_time(session, opened);
        }
        let tasks = self.analysis.tasks();
        let table = Table::new(self.name(), (self.cpu, self.is_processor()), self.load);
        if !self.args.grid.is_text() {
            // There may be very many, each with a list: none is kept.
            for this_row in self.rows() {
                let mut grid = Grid::new(COLUMNS);
                grid.row(table.row(&this_row, self.args.grid));
                grid.print(&mut session.out, self.args.grid, &opened.name)?;
            }
            return Ok(());
        }
        let mut grid = table.grid(tasks, self.number());
        let more = grid.keep(self.number());
        let out = &mut session.out;
        let bold = out.paint().style(style::TITLE);
        let heading = if self.args.total {
            together(self.cpu, self.among, tasks)
        } else {
            heading(tasks, self.cpu, self.scope)
        };
        writeln!(out, "{bold}{}{bold:#}: {heading}", opened.name)?;
        grid.print(out, self.args.grid, &opened.name)?;
        Ok(more_rows(out, more)?)
    }

    /// Returns the number of tasks that are shown; 0 shows all.
    fn number(&self) -> usize {
        self.args.grid.rows(self.args.number, NUMBER)
    }

    /// Returns the rows that are shown.
    fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        let most = Some(self.number()).filter(|most| *most > 0).unwrap_or(usize::MAX);
        rows(self.cpu, self.analysis.tasks()).take(most)
    }

    fn over_time(&self, session: &mut Session, opened: &OpenedFile) -> anyhow::Result<()> {
        let Some(buckets) = self.load.buckets() else { return Ok(()) };
        let known = buckets.bucket_shares(&self.cpu.seen);
        for this_row in self.rows() {
            let mut grid = Grid::new(OVER_TIME);
            let ran = this_row.buckets.to_vec(buckets.count).into_iter().zip(&known);
            for (at, (ns, known)) in ran.enumerate() {
                grid.row(vec![
                    buckets.begin(at).0.into(),
                    this_row.recording.into(),
                    self.name().into(),
                    id(this_row.task_id),
                    this_row.name.into(),
                    this_row.label.as_ref().into(),
                    ns.into(),
                    share(ns, *known),
                    this_row.is_idle.into(),
                    this_row.is_interrupt.into(),
                    this_row.is_unknown.into(),
                    self.is_processor().into(),
                ]);
            }
            grid.print(&mut session.out, self.args.grid, &opened.name)?;
        }
        Ok(())
    }
}

/// Describes what all processors did together, in a few words.
fn together(all: &CpuLoad, among: ProcessorCounts, tasks: &Tasks) -> String {
    let mut words = Vec::new();
    if among.processors > 0 {
        words.push(numbers::count(among.processors as u64, "processor", "processors"));
    }
    words.push(measure::duration(all.span_ns()));
    words.push(used(all, among.is_all));
    words.extend(notes(all, tasks));
    if all.unseen_ns > 0 {
        words.push(format!("{} more not known", measure::duration(all.unseen_ns)));
    }
    words.join(", ")
}

/// Describes the part of the time in which tasks ran. Where processors are not recorded, tasks run
/// side by side: it is not known how busy any processor was.
fn used(cpu: &CpuLoad, is_processor: bool) -> String {
    match (share(cpu.busy_ns, cpu.span_ns()), is_processor) {
        (Value::Float(share), true) => format!("{:.1}% busy", share * 100.0),
        (Value::Float(share), false) => format!(
            "no processor is recorded: tasks ran on an unknown number of them, for {:.1}% of the \
             range together",
            share * 100.0
        ),
        _ if cpu.seen.is_empty() => "never switched".to_owned(),
        _ => "switched at one moment only".to_owned(),
    }
}

/// Lists what else is to be known: the time for which no task is known to have run, and interrupts.
fn notes(cpu: &CpuLoad, tasks: &Tasks) -> Vec<String> {
    let mut words = Vec::new();
    if let (Value::Float(share), true) = (share(cpu.unknown.ns, cpu.span_ns()), cpu.unknown.ns > 0)
    {
        words.push(format!("{:.1}% not known", share * 100.0));
    }
    let such = cpu
        .tasks
        .iter()
        .filter(|item| tasks.is_interrupt(item.task))
        .map(|task_load| task_load.run_ns);
    let beside = cpu.interrupts.as_ref().map(|interrupts| interrupts.run_ns);
    if let Some(ns) = such.chain(beside).reduce(u64::saturating_add) {
        words.push(format!("{} in interrupts", measure::duration(ns)));
    }
    if let Some(interrupts) = cpu.interrupts.as_ref().filter(|item| item.outside_ns > 0) {
        words.push(format!("{} beyond that time", measure::duration(interrupts.outside_ns)));
    }
    words
}

/// How long a processor was looked at; and of how long, where that is less than half of it.
fn span_of_all(span_ns: u64, scope: &Scope) -> String {
    let span = measure::duration(span_ns);
    let all =
        scope.buckets(1).ok().map(|this_buckets| this_buckets.end.0.abs_diff(this_buckets.start.0));
    match all.filter(|all| span_ns < all / 2) {
        Some(all) => format!("{span} known of {}", measure::duration(all)),
        None => span,
    }
}

/// Describes what a processor did, in a few words.
pub(super) fn heading(tasks: &Tasks, cpu: &CpuLoad, scope: &Scope) -> String {
    let this_cpu = tasks.cpu(cpu.cpu);
    let name = escaped(this_cpu.map_or("", |this_cpu| &this_cpu.name)).into_owned();
    let span = span_of_all(cpu.span_ns(), scope);
    let mut words = vec![name, span, used(cpu, is_one(cpu, tasks))];
    words.extend(notes(cpu, tasks));
    words.join(", ")
}

/// Task or other user of a processor.
struct Row<'a> {
    recording: usize,
    task_id: Option<i64>,
    name: &'a str,
    label: Cow<'a, str>,
    run_ns: u64,
    stretches: u64,
    buckets: &'a BucketTimes,
    is_idle: bool,
    is_interrupt: bool,
    is_unknown: bool,
}

/// The tasks of a processor, how long it is not known who ran, and its interrupts.
fn rows<'a>(cpu: &'a CpuLoad, tasks: &'a Tasks) -> impl Iterator<Item = Row<'a>> {
    let of_tasks = cpu.tasks.iter().map(|task_load| Row {
        recording: tasks.recording(task_load.task),
        task_id: tasks.task_id(task_load.task),
        name: tasks.name(task_load.task),
        label: tasks.label(task_load.task),
        run_ns: task_load.run_ns,
        stretches: task_load.stretches,
        buckets: &task_load.buckets,
        is_idle: tasks.is_idle(task_load.task),
        is_interrupt: tasks.is_interrupt(task_load.task),
        is_unknown: false,
    });
    let recording = tasks.cpu(cpu.cpu).map_or(0, |cpu| cpu.recording);
    let unknown = Some(&cpu.unknown).filter(|item| item.ns > 0).map(|unknown_load| Row {
        recording,
        task_id: None,
        name: "not known",
        label: "not known".into(),
        run_ns: unknown_load.ns,
        stretches: unknown_load.stretches,
        buckets: &unknown_load.buckets,
        is_idle: false,
        is_interrupt: false,
        is_unknown: true,
    });
    let interrupts = cpu.interrupts.iter().filter(|item| item.stretches > 0);
    of_tasks.chain(unknown).chain(interrupts.map(move |interrupt_load| Row {
        recording,
        task_id: None,
        name: "interrupts",
        label: "interrupts".into(),
        run_ns: interrupt_load.run_ns,
        stretches: interrupt_load.stretches,
        buckets: &interrupt_load.buckets,
        is_idle: false,
        is_interrupt: true,
        is_unknown: false,
    }))
}

/// The tasks of a processor, what is not known, and its interrupts.
pub(super) struct Table<'a> {
    name: &'a str,
    cpu: &'a CpuLoad,
    is_processor: bool,
    /// Number of parts that the time is cut into, the length of each, and the known part of each.
    parts: usize,
    width_ns: u64,
    known: Vec<u64>,
}

impl<'a> Table<'a> {
    pub(super) fn new(
        name: &'a str,
        (cpu, is_processor): (&'a CpuLoad, bool),
        load: &Load,
    ) -> Self {
        let (parts, width_ns) = load
            .buckets()
            .map_or((0, 0), |this_buckets| (this_buckets.count, this_buckets.width_ns));
        let known = load.buckets().map_or(Vec::new(), |buckets| buckets.bucket_shares(&cpu.seen));
        Self { name, cpu, is_processor, parts, width_ns, known }
    }

    /// Returns the grid that a person is shown: so many rows are kept, or all.
    pub(super) fn grid(&self, tasks: &Tasks, number: usize) -> Grid {
        let mut grid = Grid::new(COLUMNS).keeping(number);
        for this_row in rows(self.cpu, tasks) {
            grid.row_of(|| self.row(&this_row, GridArgs::default()));
        }
        grid
    }

    fn row(&self, this_row: &Row<'_>, how: GridArgs) -> Vec<Value> {
        let ran = this_row.buckets.to_vec(self.parts);
        let over_time =
            if how.is_text() { marks(&ran, &self.known).into() } else { ran.into_iter().collect() };
        let whole = self.cpu.span_ns();
        let share_if =
            |is_so: bool| if is_so { share(this_row.run_ns, whole) } else { Value::Null };
        vec![
            self.name.into(),
            this_row.run_ns.into(),
            share(this_row.run_ns, whole),
            share_if(self.is_processor),
            share_if(!self.is_processor),
            this_row.stretches.into(),
            over_time,
            self.width_ns.into(),
            this_row.is_idle.into(),
            this_row.is_interrupt.into(),
            this_row.is_unknown.into(),
            self.is_processor.into(),
            whole.into(),
            self.cpu.unseen_ns.into(),
            this_row.recording.into(),
            id(this_row.task_id),
            this_row.name.into(),
            this_row.label.as_ref().into(),
        ]
    }
}

/// A mark for each part of the time: the higher, the more a task ran of what is known of it.
fn marks(ran_ns: &[u64], known_ns: &[u64]) -> String {
    const MARKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let mark = |(ns, known): (&u64, &u64)| {
        let eighths = u128::from(*ns) * 8 / u128::from((*known).max(1));
        match (ns, usize::try_from(eighths).unwrap_or(7).min(7)) {
            (0, _) => ' ',
            (_, eighths) => MARKS.get(eighths).copied().unwrap_or('█'),
        }
    };
    ran_ns.iter().zip(known_ns).map(mark).collect()
}
