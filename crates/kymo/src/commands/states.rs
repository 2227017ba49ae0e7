//! `kymo states`: how long state machines were in which state.

use std::io::Write;
use std::path::PathBuf;

use kymo_analyse::{Analysis, States};
use kymo_core::model::timeline::TrackKind;

use crate::cli::OpenArgs;
use crate::moment::MOMENTS;
use crate::render::grid::{Column, Grid, GridArgs, Look, maybe, share};
use crate::render::style;
use crate::scope::ScopeArgs;
use crate::session::{Outcome, Session};

/// Show how long state machines were in which state, and where they went from there.
///
/// A state lasts until the next is entered; the last one lasts until the last event. What was
/// before the first is not known. Shares are of the time that a state is known.
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
    ("machine", "machine", Look::Plain),
    ("state", "state", Look::Plain),
];

const TRANSITIONS: &[Column] = &[
    ("count", "count", Look::Count),
    ("machine", "machine", Look::Plain),
    ("from", "from", Look::Plain),
    ("to", "to", Look::Plain),
];

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    let inputs = session.expand(&args.files, &args.open.format);
    let mut is_first = true;
    session.each_dataset(inputs, &args.open, |session, opened| {
        let scope = args.scope.of(opened)?;
        scope.wants(TrackKind::States, "no state machines are recorded in it")?;
        let mut states = States::until(scope.until());
        let analysis = scope.run(session, opened, &mut [&mut states])?;
        let grid = if args.transitions {
            transitions(&states, &analysis)
        } else {
            table(&states, &analysis)
        };
        let out = &mut session.out;
        let is_first = std::mem::take(&mut is_first);
        if args.grid.csv && is_first {
            grid.csv_header(out)?;
        }
        if args.grid.is_text() {
            let bold = out.paint().style(style::TITLE);
            let gap = if is_first { "" } else { "\n" };
            writeln!(out, "{gap}{bold}{}{bold:#}", opened.name)?;
        }
        grid.print(out, args.grid, &opened.name)?;
        Ok(session.findings(opened))
    })
}

fn name_of(analysis: &Analysis, track: kymo_core::model::timeline::TrackId) -> &str {
    analysis.tracks().get(track.0).map_or("", |track| &track.name)
}

/// The time that every machine was in every state.
pub(super) fn table(states: &States, analysis: &Analysis) -> Grid {
    let mut grid = Grid::new(TIMES);
    for (track, machine) in states.machines() {
        let whole = u64::try_from(machine.total_ns()).unwrap_or(u64::MAX);
        for (name, state) in &machine.states {
            let time = u64::try_from(state.stay_ns.sum()).unwrap_or(u64::MAX);
            grid.row(vec![
                state.entries.into(),
                time.into(),
                share(time, whole),
                maybe(state.stay_ns.min()),
                maybe(state.stay_ns.mean()),
                maybe(state.stay_ns.max()),
                maybe(state.settle_ns.max()),
                name_of(analysis, track).into(),
                name.as_str().into(),
            ]);
        }
    }
    grid
}

fn transitions(states: &States, analysis: &Analysis) -> Grid {
    let mut grid = Grid::new(TRANSITIONS);
    for (track, machine) in states.machines() {
        for ((from, to), count) in &machine.transitions {
            let machine = name_of(analysis, track);
            grid.row(vec![
                (*count).into(),
                machine.into(),
                from.as_str().into(),
                to.as_str().into(),
            ]);
        }
    }
    grid
}
