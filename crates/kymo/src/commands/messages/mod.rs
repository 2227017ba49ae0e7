//! `kymo messages`: who sent what to whom, and how long it took.

pub(super) mod chart;

use std::borrow::Cow;
use std::path::PathBuf;

use kymo_core::Value;
use kymo_model::timeline::{Track, TrackId};
use kymo_query::{Analysis, Messages, PairKey, Pass, Sequence, Wakeups};

use crate::cli::OpenArgs;
use crate::failure::Failure;
use crate::moment::MOMENTS;
use crate::picture;
use crate::render::columns::width_of;
use crate::render::grid::{Column, Grid, GridArgs, Look, id, maybe};
use crate::render::listing::Listing;
use crate::render::numbers;
use crate::scope::{EventNeeds, Scope, ScopeArgs};
use crate::session::{OpenedFile, Outcome, Session};
use chart::Chart;

/// Show who sent what to whom, how long it took, and what never arrived.
///
/// A message that left is matched with the one that arrived by sender, receiver and name: by the
/// time that the other end says, and else in their order. One whose sender says when it arrives has
/// arrived, also where its receiver says nothing. Those lost left and did not arrive as
/// far as was recorded; those unsent arrived and did not leave. One that arrived before it left, as
/// clocks that do not agree have it, has no latency; this is said and is a finding.
///
/// With --since, what is under way at that moment is looked up before it. Where that is not known and
/// messages do not say when they left, latencies are doubtful; this is said and is a finding. With
/// --until, what arrives later is sent and not lost; it is received, with how long it took, in the
/// range that it arrives in, also where its sender says when that is. So ranges that adjoin add up.
///
/// Where a trace has no messages, wakeups of tasks are shown as such: from the task that woke
/// another, or from the processor that did in an interrupt, at that moment, to when the other ran. One
/// whose task stops or is complete without a word of its begin has arrived, at a time that is not
/// known; this is said.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
EXAMPLES
  kymo messages controller.bin                the busiest pairs
  kymo messages --chart controller.bin        a sequence diagram in the terminal
  kymo messages --chart -o chart.svg -n 100 controller.bin
                                              the first hundred messages as a picture
  kymo messages --chart --stream 'Xorg*' --since +1s trace
                                              what some tasks send and get, from a moment on
  kymo messages --csv trace                   all pairs as CSV

{MOMENTS}

EXIT STATUS
  0 done, 1 unreadable or without messages, 2 bad usage, 3 read, with findings, or
  with messages that may have left before what is read"))]
pub(crate) struct Args {
    /// Files or directories.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Draw a sequence diagram of the first messages between the streams that have most; each is
    /// drawn with one that it has messages with.
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    chart: bool,

    /// Draw it as a picture: .svg or .png; `-` is SVG on standard output.
    #[arg(short, long, value_name = "OUT", requires = "chart")]
    output: Option<PathBuf>,

    /// Replace OUT if it exists.
    #[arg(short, long, requires = "output")]
    force: bool,

    /// Show who woke whom, also where there are messages.
    #[arg(long)]
    wakeups: bool,

    /// Number of pairs, or of messages of a chart; 0 shows all. Without it there are 40, and all as
    /// JSON or CSV.
    #[arg(short, long, value_name = "ROWS")]
    number: Option<usize>,

    #[command(flatten)]
    scope: ScopeArgs,

    #[command(flatten)]
    grid: GridArgs,

    #[command(flatten)]
    open: OpenArgs,
}

/// Pairs that a person is shown, or messages of a chart, unless there is a word on it.
const NUMBER: usize = 40;

/// Streams that a chart has at the most: more do not fit on a page.
pub(super) const ENDS_MAX: usize = 10;

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
    ("from_recording", "", Look::Plain),
    ("from_id", "", Look::Plain),
    ("from", "", Look::Plain),
    ("from_label", "from", Look::Name),
    ("to_recording", "", Look::Plain),
    ("to_id", "", Look::Plain),
    ("to", "", Look::Plain),
    ("to_label", "to", Look::Name),
    ("message", "message", Look::Name),
];

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    let kind = args.output.as_deref().map(picture::Kind::from_path).transpose()?;
    if args.output.is_some() && session.expand(&args.files, &args.open.format).len() > 1 {
        return Err(Failure::usage("one picture is of one file").into());
    }
    args.scope.each(session, &args.files, &args.open, |session, opened, scope, is_first| {
        if args.chart {
            draw(session, args, opened, scope, kind)
        } else {
            print(session, args, opened, scope, is_first)
        }
    })
}

/// Draws a sequence diagram, in a file or in the terminal.
fn draw(
    session: &mut Session,
    args: &Args,
    opened: &OpenedFile,
    scope: &Scope,
    kind: Option<picture::Kind>,
) -> anyhow::Result<Outcome> {
    let (mut found, outcome) = FoundMessages::new(session, opened, scope)?;
    let mut outcome = outcome.max(found.choose(session, opened, scope, args.wakeups)?);
    let number = args.number.unwrap_or(NUMBER);
    let most = if number == 0 { CHART_MAX } else { number.min(CHART_MAX) };
    let ends = if kind.is_some() { ENDS_MAX } else { ends_in_terminal(session, scope) };
    let (sequence, ends_left_out) = found.sequence(session, opened, scope, most, ends)?;
    let chart = Chart::new(&sequence, &found.analysis, scope.timeline.as_ref());
    match (kind, &args.output) {
        (Some(kind), Some(output)) => {
            let picture = chart.picture();
            let put = picture::put(session, opened, output, args.force, (kind, &picture))?;
            outcome = outcome.max(put);
        }
        _ => chart.print(&mut session.out)?,
    }
    for (text, instead) in not_drawn(&sequence, ends_left_out, ends) {
        session.report.remark(&opened.name, format!("{text} ({instead})"));
    }
    Ok(outcome)
}

/// Streams that the terminal has room for beside times.
fn ends_in_terminal(session: &Session, scope: &Scope) -> usize {
    let end = scope.buckets(1).map(|range| scope.shown(range.end).to_string());
    chart::ends_max(&session.out, ENDS_MAX, end.map_or(0, |end| width_of(&end)))
}

/// Lists what a chart does not show, and how it would be shown.
pub(super) fn not_drawn(
    sequence: &Sequence,
    ends_left_out: usize,
    ends: usize,
) -> Vec<(String, &'static str)> {
    let mut texts = Vec::new();
    let more_ends = if ends < ENDS_MAX {
        "a wider terminal or -o draws more, --stream chooses some"
    } else {
        "--stream chooses some"
    };
    if sequence.omitted_count() > 0 {
        let more = numbers::count(sequence.omitted_count(), "message is", "messages are");
        texts.push((format!("{more} not drawn"), "-n draws more"));
    }
    let streams = (ends_left_out as u64, "other stream", "other streams");
    let messages = (sequence.other_track_count(), "message with others", "messages with others");
    let others = [streams, messages].into_iter().filter(|(count, ..)| *count > 0);
    let others: Vec<_> =
        others.map(|(count, one, many)| numbers::count(count, one, many)).collect();
    if !others.is_empty() {
        let is_one = ends_left_out as u64 + sequence.other_track_count() == 1;
        let verb = if is_one { "is" } else { "are" };
        texts.push((format!("{} {verb} not drawn", others.join(" and ")), more_ends));
    }
    texts
}

/// Messages, and wakeups for want of them.
pub(super) struct FoundMessages {
    pub(super) analysis: Analysis,
    messages: Messages,
    wakeups: Wakeups,
    is_wakeups: bool,
}

impl FoundMessages {
    fn new(
        session: &mut Session,
        opened: &OpenedFile,
        scope: &Scope,
    ) -> anyhow::Result<(Self, Outcome)> {
        let (mut messages, mut wakeups) = (Messages::new(), Wakeups::new());
        let passes: &mut [&mut dyn Pass] = &mut [&mut messages, &mut wakeups];
        let (analysis, outcome) = scope.analyse(session, opened, EventNeeds::Activities, passes)?;
        Ok((Self { analysis, messages, wakeups, is_wakeups: false }, outcome))
    }

    /// Makes the result of what was found on the way through the events.
    pub(super) fn from_analysis(analysis: Analysis, messages: Messages, wakeups: Wakeups) -> Self {
        let is_wakeups = table(&messages, &analysis).len() == 0;
        Self { analysis, messages, wakeups, is_wakeups }
    }

    /// Chooses what is shown, and says so where it is not what was asked for.
    fn choose(
        &mut self,
        session: &mut Session,
        opened: &OpenedFile,
        scope: &Scope,
        wants_wakeups: bool,
    ) -> anyhow::Result<Outcome> {
        let is_none = table(&self.messages, &self.analysis).len() == 0;
        self.is_wakeups = wants_wakeups || is_none;
        if self.table().len() == 0 {
            let place = scope.place();
            let why = format!("no messages are recorded {place}, and nothing tells who woke whom");
            return Err(Failure::new(why).into());
        }
        if is_none && !wants_wakeups {
            let none = format!("no messages are recorded {}", scope.place());
            session.report.remark(&opened.name, format!("{none}; {WAKEUPS}"));
        }
        Ok(self.report_caveats(session, opened, scope))
    }

    /// Says of what is shown which wakeups could not be kept, or which latencies are doubtful.
    pub(super) fn report_caveats(
        &self,
        session: &mut Session,
        opened: &OpenedFile,
        scope: &Scope,
    ) -> Outcome {
        let mut outcome = Outcome::Done;
        if self.is_wakeups {
            outcome = scope.report_omissions(session, opened, &self.wakeups.messages().omissions());
        }
        let doubts = self.shown().latency_caveats(|key| is_selected(key, &self.analysis));
        outcome.max(scope.report_caveats(session, opened, doubts))
    }

    /// Returns true if wakeups are shown.
    pub(super) fn is_wakeups(&self) -> bool {
        self.is_wakeups
    }

    fn shown(&self) -> &Messages {
        if self.is_wakeups { self.wakeups.messages() } else { &self.messages }
    }

    /// The pairs that are shown.
    pub(super) fn table(&self) -> Grid {
        table(self.shown(), &self.analysis)
    }

    /// The first messages between so many that have most, and how many others there are.
    pub(super) fn sequence(
        &self,
        session: &mut Session,
        opened: &OpenedFile,
        scope: &Scope,
        most: usize,
        ends: usize,
    ) -> anyhow::Result<(Sequence, usize)> {
        let is_meant = |track: TrackId| self.analysis.is_selected(track);
        let (ends, more) = self.shown().busiest(ends, &is_meant);
        let meant = ends.iter().copied().filter(|end| is_meant(*end)).collect();
        let sequence = if self.is_wakeups {
            Sequence::for_wakeups(most)
        } else {
            Sequence::for_messages(most)
        };
        let mut sequence = sequence.between(ends).only_tracks(meant);
        scope.analyse(session, opened, EventNeeds::Activities, &mut [&mut sequence])?;
        Ok((sequence, more))
    }
}

/// Remark for wakeups that are shown for want of messages.
const WAKEUPS: &str = "these are wakeups, from who woke a task to when it ran";

fn print(
    session: &mut Session,
    args: &Args,
    opened: &OpenedFile,
    scope: &Scope,
    is_first: bool,
) -> anyhow::Result<Outcome> {
    let (mut found, outcome) = FoundMessages::new(session, opened, scope)?;
    let outcome = outcome.max(found.choose(session, opened, scope, args.wakeups)?);
    let rows = args.grid.rows(args.number, NUMBER);
    let listing = Listing { file: &opened.name, title: "", is_first, rows };
    listing.print(&mut session.out, args.grid, found.table())?;
    Ok(outcome)
}

/// The track of one end, where the recording tells it.
fn end(analysis: &Analysis, track: Option<TrackId>) -> Option<&Track> {
    analysis.tracks().get(track?.0)
}

/// The name of one end; a question mark where the recording does not tell.
fn end_name(analysis: &Analysis, track: Option<TrackId>) -> &str {
    end(analysis, track).map_or("?", |track| &track.name)
}

/// Returns the label that names one end among all others.
fn end_label(analysis: &Analysis, track: Option<TrackId>) -> Cow<'_, str> {
    track.map_or(Cow::Borrowed("?"), |track| analysis.tasks().track_label(track))
}

/// Returns the recording that one end is of: another recording may have the same names and numbers.
fn end_recording(analysis: &Analysis, track: Option<TrackId>) -> Value {
    end(analysis, track).map_or(Value::Null, |track| track.recording.into())
}

/// The number that the recording gives one end.
fn end_id(analysis: &Analysis, track: Option<TrackId>) -> Value {
    id(end(analysis, track).and_then(Track::task_id))
}

/// Returns true if a pair has an end that is meant.
fn is_selected(key: &PairKey, analysis: &Analysis) -> bool {
    [key.from, key.to].into_iter().flatten().any(|end| analysis.is_selected(end))
}

/// All pairs that are meant, the busiest first.
fn table(messages: &Messages, analysis: &Analysis) -> Grid {
    let mut grid = Grid::new(COLUMNS).omit_first(&["95%", "unsent", "received"]);
    for (key, pair) in messages.pairs() {
        if !is_selected(key, analysis) {
            continue;
        }
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
            end_recording(analysis, key.from),
            end_id(analysis, key.from),
            end_name(analysis, key.from).into(),
            end_label(analysis, key.from).into_owned().into(),
            end_recording(analysis, key.to),
            end_id(analysis, key.to),
            end_name(analysis, key.to).into(),
            end_label(analysis, key.to).into_owned().into(),
            key.name.as_str().into(),
        ]);
    }
    grid
}
