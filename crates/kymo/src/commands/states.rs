//! `kymo states`: how long state machines were in which state.

use std::path::PathBuf;

use kymo_core::Value;
use kymo_model::timeline::{Track, TrackId, TrackKind};
use kymo_query::{Analysis, Distribution, MachineStates, States};

use crate::cli::OpenArgs;
use crate::failure::Failure;
use crate::moment::MOMENTS;
use crate::render::grid::{Column, Grid, GridArgs, Look, id, maybe, share};
use crate::render::listing::Listing;
use crate::scope::{EventNeeds, ScopeArgs};
use crate::session::{Outcome, Session};

/// Show how long state machines were in which state, and where they went from there.
///
/// A state lasts until the next is entered; the last one lasts until the last event of the recording,
/// whichever streams are chosen, or until --until. Shares are of the time that a state is known. With
/// --since, the state that a machine is in at that moment counts from there, and is not entered.
///
/// What was before the first state is not known, nor is the state from where events are missing until
/// one is entered again. How long that is has a row (`is_unknown` in JSON and CSV): with it, times of a
/// machine that is in some state there add up to the range, unless times go back.
///
/// The column `to settle` has the longest time that a transition to the state took, from when it was
/// entered to when it was reached, where the recording tells that. Beyond 4,096 states of a machine
/// the others are one, `(other states)`; this is said and is a finding.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
EXAMPLES
  kymo states controller.bin                  time per state
  kymo states --transitions controller.bin    from where to where, and how often
  kymo states --stream motor --json controller.bin

{MOMENTS}

EXIT STATUS
  0 done, 1 unreadable or without states, 2 bad usage, 3 read, with findings"))]
pub(crate) struct Args {
    /// Files or directories.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Show transitions instead of times.
    #[arg(short, long)]
    transitions: bool,

    /// Number of rows; 0 shows all, as without it.
    #[arg(short, long, value_name = "ROWS", default_value_t = 0, hide_default_value = true)]
    number: usize,

    #[command(flatten)]
    scope: ScopeArgs,

    #[command(flatten)]
    grid: GridArgs,

    #[command(flatten)]
    open: OpenArgs,
}

const TIMES: &[Column] = &[
    ("entries", "entries", Look::Count),
    ("time_ns", "time", Look::Duration),
    ("share", "share", Look::Share),
    ("stay_min_ns", "", Look::Duration),
    ("stay_mean_ns", "mean stay", Look::Duration),
    ("stay_max_ns", "longest", Look::Duration),
    ("settle_max_ns", "to settle", Look::Duration),
    ("is_unknown", "", Look::Plain),
    ("recording", "", Look::Plain),
    ("machine_id", "", Look::Plain),
    ("machine", "", Look::Plain),
    ("label", "machine", Look::Name),
    ("state", "state", Look::Name),
];

const TRANSITIONS: &[Column] = &[
    ("count", "count", Look::Count),
    ("recording", "", Look::Plain),
    ("machine_id", "", Look::Plain),
    ("machine", "", Look::Plain),
    ("label", "machine", Look::Name),
    ("from", "from", Look::Name),
    ("to", "to", Look::Name),
];

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    args.scope.each(session, &args.files, &args.open, |session, opened, scope, is_first| {
        scope.require_tracks(TrackKind::States, "no state machines are recorded in it")?;
        let mut states = States::new();
        let (analysis, outcome) =
            scope.analyse(session, opened, EventNeeds::Everything, &mut [&mut states])?;
        let times = table(&states, &analysis);
        if times.len() == 0 {
            let why = format!("no state was entered {}", scope.place());
            return Err(Failure::new(why).into());
        }
        let grid = if args.transitions { transitions(&states, &analysis) } else { times };
        if grid.len() == 0 {
            let why = format!("no machine went from one state to another {}", scope.place());
            session.report.remark(&opened.name, why);
            if args.grid.is_text() {
                return Ok(outcome);
            }
        }
        let listing = Listing { file: &opened.name, title: "", is_first, rows: args.number };
        listing.print(&mut session.out, args.grid, grid)?;
        Ok(outcome)
    })
}

/// The machines that are meant.
fn selected_machines<'a>(
    states: &'a States,
    analysis: &'a Analysis,
) -> impl Iterator<Item = (Machine<'a>, &'a MachineStates)> {
    let machines = states.machines().iter().filter(|(track, _)| analysis.is_selected(**track));
    let item = |id: TrackId| {
        let label = analysis.tasks().track_label(id);
        Some(Machine { track: analysis.tracks().get(id.0)?, label: label.into_owned().into() })
    };
    machines.filter_map(move |(track, machine)| Some((item(*track)?, machine)))
}

/// Machine that figures are of.
struct Machine<'a> {
    track: &'a Track,
    label: Value,
}

impl Machine<'_> {
    /// The cells that say so.
    fn cells(&self) -> [Value; 4] {
        let Track { recording, name, .. } = self.track;
        let (recording, name) = ((*recording).into(), name.as_str().into());
        [recording, id(self.track.task_id()), name, self.label.clone()]
    }
}

/// The time that every machine was in every state.
pub(super) fn table(states: &States, analysis: &Analysis) -> Grid {
    let mut grid = Grid::new(TIMES);
    for (which, machine) in selected_machines(states, analysis) {
        let whole = u64::try_from(machine.total_ns()).unwrap_or(u64::MAX);
        for (name, state) in machine.states() {
            let stays = &state.stay_ns;
            let figures = [
                state.entries.into(),
                sum(stays).into(),
                share(sum(stays), whole),
                maybe(stays.min()),
                maybe(stays.mean()),
                maybe(stays.max()),
                maybe(state.settle_ns.max()),
                false.into(),
            ];
            grid.row(row(&figures, &which, &[name.into()]));
        }
        if machine.unknown_ns().count() > 0 {
            grid.row(unknown(&which, machine.unknown_ns()));
        }
    }
    grid
}

/// For how long it is not known which state a machine was in. It entered none, and that has no share.
fn unknown(which: &Machine<'_>, times: &Distribution) -> Vec<Value> {
    let figures = [
        Value::Null,
        sum(times).into(),
        Value::Null,
        maybe(times.min()),
        maybe(times.mean()),
        maybe(times.max()),
        Value::Null,
        true.into(),
    ];
    row(&figures, which, &["not known".into()])
}

/// Figures, what machine they are of, and in which states it was.
fn row(figures: &[Value], which: &Machine<'_>, states: &[Value]) -> Vec<Value> {
    [figures, &which.cells(), states].concat()
}

fn sum(times: &Distribution) -> u64 {
    u64::try_from(times.sum()).unwrap_or(u64::MAX)
}

fn transitions(states: &States, analysis: &Analysis) -> Grid {
    let mut grid = Grid::new(TRANSITIONS);
    for (which, machine) in selected_machines(states, analysis) {
        for (from, to, count) in machine.transitions() {
            grid.row(row(&[count.into()], &which, &[from.into(), to.into()]));
        }
    }
    grid
}
