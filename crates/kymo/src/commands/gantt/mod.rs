//! `kymo gantt`: tasks over time, in a file or in the terminal.

mod scene;
mod terminal;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::PathBuf;

use kymo_model::timeline::{Activity, Content, TimeNs, TrackId};
use kymo_query::{Analysis, CpuId, Gantt, InitialState, Load, Pass, ResolvedEvent, RowKind};

use crate::cli::OpenArgs;
use crate::failure::Failure;
use crate::moment::MOMENTS;
use crate::picture::{self, Picture};
use crate::render::numbers;
use crate::scope::{EventNeeds, Scope, ScopeArgs};
use crate::session::{OpenedFile, Outcome, Session};

/// Draw tasks over time: when each ran, what it was released for, and messages between them.
///
/// Without --output it is drawn in the terminal. There is a row for each of the busiest tasks and
/// each state machine. Colours tell the processor that a task ran on, or the state. A paler colour
/// means that it ran for a part of the time only; --since and --until show a part of the time, and
/// what went on when it began is known from before. Small marks below a row are releases, and
/// arrows are messages. Where events are missing, what a task or a machine did is not known from there
/// to what is told of it next: such time is hatched, and is `?` in the terminal.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
EXAMPLES
  kymo gantt trace                                      a quick look
  kymo gantt trace -o trace.svg                         a picture
  kymo gantt trace -o part.png --since +1s --until +1.01s
                                                        ten milliseconds of it
  kymo gantt trace --stream 'audio*' -o audio.svg       some tasks

{MOMENTS}

EXIT STATUS
  0 done, 1 failed or without tasks, 2 bad usage, 3 done, with findings"))]
pub(crate) struct Args {
    /// The file or directory to read; `-` is standard input.
    #[arg(value_name = "FILE")]
    input: PathBuf,

    /// The picture to write: .svg or .png; `-` is SVG on standard output.
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,

    /// Greatest number of rows; 0 draws all, up to a thousand.
    #[arg(short, long, default_value = "40", value_name = "ROWS")]
    #[arg(value_parser = clap::value_parser!(u16).range(..=1000))]
    number: u16,

    /// Replace OUT if it exists.
    #[arg(short, long, requires = "output")]
    force: bool,

    #[command(flatten)]
    scope: ScopeArgs,

    #[command(flatten)]
    open: OpenArgs,
}

/// Rows that a chart has at the most.
const ROWS_MAX: usize = 1000;

/// Label for time of which nothing is known.
const LOST: &str = "lost events: not known";

/// Cells of a row in a picture.
const CELLS: usize = 1000;

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    let kind = args.output.as_deref().map(picture::Kind::from_path).transpose()?;
    let inputs = vec![Ok(args.input.clone())];
    session.each_dataset(inputs, &args.open, |session, opened| {
        let scope = args.scope.resolve(opened)?;
        let cells = if kind.is_some() { CELLS } else { terminal::cells(&session.out) };
        let rows = if args.number == 0 { ROWS_MAX } else { args.number.into() };
        let drawn = DrawnChart::new(session, opened, &scope, rows, cells)?;
        let nothing = || {
            let place = scope.place();
            let why = format!("no tasks ran {place}, and no states were entered");
            Failure::new(why).hint(scope.instead())
        };
        let (drawn, mut outcome) = drawn.ok_or_else(nothing)?;
        match (kind, &args.output) {
            (Some(kind), Some(output)) => {
                let picture = drawn.picture(&opened.name);
                let put = picture::put(session, opened, output, args.force, (kind, &picture))?;
                outcome = outcome.max(put);
            }
            _ => terminal::print(&mut session.out, &drawn)?,
        }
        let more = if rows < ROWS_MAX { " (-n draws more)" } else { " (--stream chooses some)" };
        for text in drawn.omission_notes(more) {
            session.report.remark(&opened.name, text);
        }
        Ok(outcome.max(session.findings(opened)))
    })
}

/// Content that is drawn.
pub(super) struct DrawnChart {
    analysis: Analysis,
    gantt: Gantt,
    since_epoch: bool,
    /// Rows that there was no room for.
    rows_left_out: usize,
}

impl DrawnChart {
    /// Chooses rows, then goes through the events once more to fill them. Nothing where there are
    /// none.
    pub(super) fn new(
        session: &mut Session,
        opened: &OpenedFile,
        scope: &Scope,
        rows: usize,
        cells: usize,
    ) -> anyhow::Result<Option<(Self, Outcome)>> {
        let mut load = Load::new();
        let mut machines = Machines::default();
        let (analysis, _) = scope.analyse(
            session,
            opened,
            EventNeeds::Activities,
            &mut [&mut load, &mut machines],
        )?;
        let mut chosen = busiest(&mut load, &analysis);
        let meant = machines.0.into_iter().filter(|track| analysis.is_selected(*track));
        chosen.extend(meant.map(RowKind::States));
        if chosen.is_empty() {
            return Ok(None);
        }
        let rows_left_out = chosen.len().saturating_sub(rows);
        chosen.truncate(rows);
        chosen.shrink_to_fit();
        drop((load, analysis));
        let mut gantt = Gantt::new(scope.buckets(cells)?, &chosen);
        let (analysis, outcome) =
            scope.analyse(session, opened, EventNeeds::Activities, &mut [&mut gantt])?;
        let since_epoch = scope.timeline.clocks().first().is_some_and(|clock| clock.since_epoch);
        Ok(Some((Self { analysis, gantt, since_epoch, rows_left_out }, outcome)))
    }

    /// The picture.
    pub(super) fn picture(&self, title: &str) -> Picture {
        scene::picture(self, title)
    }

    /// The processors that tasks ran on in the picture, by their indices.
    fn cpus(&self) -> Vec<(usize, &str)> {
        let rows = self.gantt.rows().iter().filter(|row| matches!(row.kind, RowKind::Task(_)));
        let cells = rows.flat_map(|row| &row.cells).filter(|(ns, _)| *ns > 0);
        let cpus: BTreeSet<usize> = cells.map(|(_, cpu)| *cpu).collect();
        let tasks = self.analysis.tasks();
        let named = |cpu| Some((cpu, tasks.cpu(CpuId(cpu))?.name.as_str()));
        cpus.into_iter().filter_map(named).collect()
    }

    /// The names of all states, each once: one has the same colour in every machine.
    fn states(&self) -> Vec<&str> {
        let mut known = BTreeSet::new();
        let names = self.gantt.rows().iter().flat_map(|row| &row.states).map(String::as_str);
        names.filter(|name| known.insert(*name)).collect()
    }

    /// Returns the name of a row among all others.
    fn name(&self, kind: RowKind) -> Cow<'_, str> {
        match kind {
            RowKind::Task(task) => self.analysis.tasks().label(task),
            RowKind::States(track) => self.analysis.tasks().track_label(track),
        }
    }

    /// Rows and messages that are not drawn, with a word on how more rows are.
    fn omission_notes(&self, more_rows: &str) -> Vec<String> {
        let rows = (self.rows_left_out as u64, "row is", "rows are", more_rows);
        let arrows = (self.gantt.omitted_arrows(), "message is", "messages are", "");
        let some = [rows, arrows].into_iter().filter(|(count, ..)| *count > 0);
        some.map(|(count, one, many, more)| {
            format!("{} not drawn{more}", numbers::count(count, one, many))
        })
        .collect()
    }
}

/// Tasks that are meant, in the order of the time they ran on all processors; idle ones are none,
/// unless nothing else ran.
fn busiest(load: &mut Load, analysis: &Analysis) -> Vec<RowKind> {
    let tasks = analysis.tasks();
    let mut ran = vec![0_u64; tasks.len()];
    for task_load in load.take_cpus(tasks).iter().flat_map(|cpu| &cpu.tasks) {
        if let Some(ran) = ran.get_mut(task_load.task.0) {
            *ran = ran.saturating_add(task_load.run_ns);
        }
    }
    let ids = ran.iter().enumerate().map(|(id, ns)| (kymo_query::TaskId(id), *ns));
    let mut ids: Vec<_> =
        ids.filter(|(id, ns)| *ns > 0 && analysis.is_task_selected(*id)).collect();
    if ids.iter().any(|(id, _)| !tasks.is_idle(*id)) {
        ids.retain(|(id, _)| !tasks.is_idle(*id));
    }
    ids.sort_unstable_by_key(|(id, ns)| (u64::MAX - ns, *id));
    ids.into_iter().map(|(id, _)| RowKind::Task(id)).collect()
}

/// State machines that are in a state or enter one.
#[derive(Default)]
struct Machines(BTreeSet<TrackId>);

impl Pass for Machines {
    fn follows_states(&self) -> bool {
        true
    }

    fn initial_state(&mut self, what: &InitialState<'_>, _begin: TimeNs) {
        if let InitialState::State(track, _) = what {
            self.0.insert(*track);
        }
    }

    fn event(&mut self, seen: &ResolvedEvent<'_>) {
        if let Content::Activity(Activity::Enter { .. }) = seen.event.content {
            self.0.insert(seen.event.track);
        }
    }
}
