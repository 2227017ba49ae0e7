//! `kymo messages`: who sent what to whom, and how long it took.

mod chart;

use std::io::Write;
use std::path::PathBuf;

use kymo_analyse::{Analysis, Messages, Sequence};
use kymo_core::model::timeline::TrackId;

use crate::cli::OpenArgs;
use crate::failure::Failure;
use crate::moment::MOMENTS;
use crate::picture;
use crate::render::grid::{Column, Grid, GridArgs, Look, maybe};
use crate::render::{numbers, style};
use crate::scope::{Scope, ScopeArgs};
use crate::session::{Opened, Outcome, Session};

/// Show who sent what to whom, how long it took, and what never arrived.
///
/// A message that left is matched with the one that arrived by sender, receiver and name: by the
/// time that the other end says, and else in their order. Those lost left and did not arrive as
/// far as was recorded; those unsent arrived and did not leave.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
EXAMPLES
  kymo messages controller.bin                the busiest pairs
  kymo messages --chart controller.bin        a sequence diagram in the terminal
  kymo messages --chart -o chart.svg -n 100 controller.bin
                                              the first hundred messages as a picture
  kymo messages --csv trace                   all pairs as CSV

{MOMENTS}

EXIT STATUS
  0 done, 1 unreadable or without messages, 2 bad usage, 3 read, with findings"))]
pub(crate) struct Args {
    /// Files or directories.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Draw a sequence diagram of the first messages.
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    chart: bool,

    /// Draw it as a picture: .svg or .png.
    #[arg(short, long, value_name = "OUT", requires = "chart")]
    output: Option<PathBuf>,

    /// Replace OUT if it exists.
    #[arg(short, long, requires = "output")]
    force: bool,

    /// How many pairs, or messages of a chart; 0 shows all pairs.
    #[arg(short, long, default_value = "40", value_name = "ROWS")]
    number: usize,

    #[command(flatten)]
    scope: ScopeArgs,

    #[command(flatten)]
    grid: GridArgs,

    #[command(flatten)]
    open: OpenArgs,
}

/// Messages that a chart has at the most.
const CHART_MAX: usize = 10_000;

const COLUMNS: &[Column] = &[
    ("sent", "sent", Look::Count),
    ("received", "received", Look::Count),
    ("lost", "lost", Look::Count),
    ("unsent", "unsent", Look::Count),
    ("latency_min_ns", "", Look::Duration),
    ("latency_mean_ns", "latency", Look::Duration),
    ("latency_p50_ns", "", Look::Duration),
    ("latency_p95_ns", "95%", Look::Duration),
    ("latency_p99_ns", "", Look::Duration),
    ("latency_max_ns", "max", Look::Duration),
    ("from", "from", Look::Plain),
    ("to", "to", Look::Plain),
    ("message", "message", Look::Plain),
];

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    let kind = args.output.as_deref().map(picture::Kind::of).transpose()?;
    let inputs = session.expand(&args.files, &args.open.format);
    if args.output.is_some() && inputs.len() > 1 {
        return Err(Failure::usage("one picture is of one file").into());
    }
    let mut is_first = true;
    session.each_dataset(inputs, &args.open, |session, opened| {
        let scope = args.scope.of(opened)?;
        let is_first = std::mem::take(&mut is_first);
        if !args.chart {
            print(session, args, opened, &scope, is_first)?;
            return Ok(session.findings(opened));
        }
        let mut sequence = Sequence::new(args.number.clamp(1, CHART_MAX));
        let analysis = scope.run(session, opened, &mut [&mut sequence])?;
        if sequence.sent().is_empty() {
            return Err(Failure::new("no messages arrive in it").into());
        }
        let chart = chart::Chart::new(&sequence, &analysis, scope.timeline.as_ref());
        match (kind, &args.output) {
            (Some(kind), Some(output)) => {
                let bytes = kind.bytes(&chart.picture())?;
                picture::write(&opened.source, output, args.force, &bytes)?;
            }
            _ => chart.print(&mut session.out)?,
        }
        if sequence.more() > 0 {
            let more = numbers::count(sequence.more(), "message is", "messages are");
            session.report.remark(&opened.name, format!("{more} not drawn (-n draws more)"));
        }
        Ok(session.findings(opened))
    })
}

fn print(
    session: &mut Session,
    args: &Args,
    opened: &Opened,
    scope: &Scope,
    is_first: bool,
) -> anyhow::Result<()> {
    let mut messages = Messages::new();
    let analysis = scope.run(session, opened, &mut [&mut messages])?;
    let mut grid = table(&messages, &analysis);
    if grid.len() == 0 {
        return Err(Failure::new("no messages are recorded in it").into());
    }
    let more = grid.keep(args.number);
    let out = &mut session.out;
    if args.grid.csv && is_first {
        grid.csv_header(out)?;
    }
    if args.grid.is_text() {
        let bold = out.paint().style(style::TITLE);
        let gap = if is_first { "" } else { "\n" };
        writeln!(out, "{gap}{bold}{}{bold:#}", opened.name)?;
    }
    grid.print(out, args.grid, &opened.name)?;
    if args.grid.is_text() && more > 0 {
        let faint = out.paint().style(style::FAINT);
        writeln!(out, "{faint}… {more} more (-n 0 shows all){faint:#}")?;
    }
    if messages.left_out() > 0 {
        let text = format!("{} messages are of too many other pairs", messages.left_out());
        session.report.remark(&opened.name, text);
    }
    Ok(())
}

/// The name of one end; a question mark where the recording does not tell.
fn end_name(analysis: &Analysis, track: Option<TrackId>) -> &str {
    let track = track.and_then(|track| analysis.tracks().get(track.0));
    track.map_or("?", |track| &track.name)
}

/// All pairs, the busiest first.
pub(super) fn table(messages: &Messages, analysis: &Analysis) -> Grid {
    let mut grid = Grid::new(COLUMNS);
    for (key, pair) in messages.pairs() {
        let latency = &pair.latency_ns;
        grid.row(vec![
            pair.sent.into(),
            pair.received.into(),
            pair.unreceived().into(),
            pair.unsent.into(),
            maybe(latency.min()),
            maybe(latency.mean()),
            maybe(latency.percentile(50)),
            maybe(latency.percentile(95)),
            maybe(latency.percentile(99)),
            maybe(latency.max()),
            end_name(analysis, key.from).into(),
            end_name(analysis, key.to).into(),
            key.name.as_str().into(),
        ]);
    }
    grid
}
