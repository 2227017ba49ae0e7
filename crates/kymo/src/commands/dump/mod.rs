//! `kymo dump`: everything in a file, the values of some variables, or some events.

mod classes;
mod events;
mod fields;
mod filters;
mod missing;
mod variables;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use clap::ValueEnum;
use clap::builder::PossibleValuesParser;
use kymo_model::DumpRequest;
use kymo_model::arrays::Order;

use crate::cli::OpenArgs;
use crate::failure::Failure;
use crate::moment::{MOMENTS, Moment};
use crate::render::record::{JsonRecords, Look, TextRecords};
use crate::render::style;
use crate::selection::Steps;
use crate::session::{OpenedFile, Outcome, Session};
use crate::tracks::StreamArgs;

/// Print what is in files: every record with all its fields, the values of variables, or events.
///
/// Without -d it is every record in the order of the file, arrays included; --headers leaves
/// their contents out. With -d it is the values of a variable, of one step or all, and of the
/// part that --start and --count cut out. Which dimension of an array varies fastest in storage
/// is often not recorded: the last is assumed, as C programs have it, unless --order says
/// otherwise. With --stream, --since, --until, --last, --csv, --delta, or with --class,
/// --match, --where or --cpu, which choose among them, it is the events of a timeline, one a line,
/// and only what is asked for is read.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
EXAMPLES
  kymo dump run.bp | less                        everything, in the order of the file
  kymo dump --headers --json run.bp              the headers of all records as JSON lines
  kymo dump -d /fields/phi run.bp                the values of a variable, all steps
  kymo dump -d phi --step -1 run.bp              of its last step
  kymo dump -d phi --start 0,2 --count 1,-1 run.bp
                                                 the first row, from the third column on
  kymo dump -d 'phi*' --json run.bp              of several variables as JSON lines
  kymo dump --style bpdump run.bp                as the tool of its time printed it
  kymo dump --stream 'temp*' --since +10s run.rtc
                                                 events of some streams, from a moment on
  kymo dump --last 20 run.rtc                    the last events of all streams
  kymo dump --csv --stream temp run.rtc          one stream as CSV
  kymo dump --delta --class release,begin trace  with the time since the event before
  kymo dump --class sched_switch trace           events by the tracer's own name
  kymo dump --match 'tid = 812\\b' --cpu 3 trace  what is said of a task, on one processor
  kymo dump --where 'speed>=40' controller.bin   events with a field in a range

{MOMENTS}

EXIT STATUS
  0 done, 1 a file could not be read, 2 bad usage, 3 read, with findings or losses"))]
#[allow(clippy::struct_excessive_bools, reason = "options that are given or not")]
pub(crate) struct Args {
    /// Files or directories; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Print the values of a variable: a path, a name that only one path ends in, or a glob.
    #[arg(short = 'd', long, value_name = "PATH")]
    variable: Vec<String>,

    /// The first index in each dimension; negative ones count from the end.
    #[arg(long, value_name = "I,J,…", requires = "variable", value_delimiter = ',')]
    #[arg(allow_hyphen_values = true)]
    start: Vec<i64>,

    /// Number of values in each dimension; -1 goes to the end.
    #[arg(long, value_name = "N,M,…", requires = "variable", value_delimiter = ',')]
    #[arg(allow_hyphen_values = true)]
    count: Vec<i64>,

    /// The step, or steps: 3, -1 for the last, 2..5 for 2, 3 and 4.
    #[arg(long, value_name = "STEPS", requires = "variable", allow_hyphen_values = true)]
    step: Option<Steps>,

    /// Dimension that varies fastest in storage: the last (c) or the first (fortran).
    #[arg(long, value_enum, default_value = "c")]
    order: StorageOrder,

    /// Show arrays of bytes as text.
    #[arg(short = 'S', long)]
    text: bool,

    #[command(flatten)]
    streams: StreamArgs,

    /// Print events, not before this moment.
    #[arg(long, value_name = "MOMENT", allow_hyphen_values = true)]
    since: Option<Moment>,

    /// Print events before this moment.
    #[arg(long, value_name = "MOMENT", allow_hyphen_values = true)]
    until: Option<Moment>,

    /// Print only so many events, the last ones.
    #[arg(long, value_name = "N")]
    last: Option<u64>,

    #[command(flatten)]
    filters: filters::FilterArgs,

    /// Print events, each with the time since the one before it.
    #[arg(long)]
    delta: bool,

    /// Print events as CSV.
    #[arg(long, conflicts_with_all = ["json", "variable"])]
    csv: bool,

    /// Leave out the contents of arrays.
    #[arg(long, conflicts_with = "variable")]
    headers: bool,

    /// Print as another tool does, byte for byte.
    #[arg(long, value_name = "NAME", value_parser = style_names())]
    #[arg(conflicts_with_all = ["json", "headers", "start", "count", "step", "text", "limit"])]
    #[arg(conflicts_with_all = ["streams", "exclude", "since", "until", "last", "csv", "delta"])]
    #[arg(conflicts_with_all = ["classes", "texts", "fields", "cpus"])]
    style: Option<String>,

    /// Print at most so many records or events.
    #[arg(short = 'n', long, value_name = "N", conflicts_with = "variable")]
    limit: Option<u64>,

    /// Print one JSON object a record, an event, or a step of a variable.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    open: OpenArgs,
}

/// Dimension that varies fastest.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum StorageOrder {
    /// The last.
    C,
    /// The first.
    Fortran,
}

impl Args {
    /// Returns true if events are wanted and not records.
    fn wants_events(&self) -> bool {
        let is_range = self.since.is_some() || self.until.is_some();
        let is_chosen = !self.streams.is_all() || !self.filters.is_all();
        is_range || self.last.is_some() || self.csv || self.delta || is_chosen
    }
}

impl StorageOrder {
    /// The word one types.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::C => "c",
            Self::Fortran => "fortran",
        }
    }
}

impl From<StorageOrder> for Order {
    fn from(order: StorageOrder) -> Self {
        match order {
            StorageOrder::C => Self::C,
            StorageOrder::Fortran => Self::Fortran,
        }
    }
}

fn style_names() -> PossibleValuesParser {
    let formats = kymo_registry::formats().iter();
    let mut styles: Vec<_> = formats.flat_map(|format| format.info().dump_styles).collect();
    styles.sort_unstable();
    styles.dedup();
    PossibleValuesParser::new(styles.into_iter().copied())
}

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    let inputs = session.expand(&args.files, &args.open.format);
    let is_many = inputs.len() > 1;
    let mut is_first = true;
    session.each_dataset(inputs, &args.open, |session, opened| {
        if is_many && !args.json && !args.csv && args.style.is_none() {
            let gap = if std::mem::take(&mut is_first) { "" } else { "\n" };
            let bold = session.out.paint().style(style::TITLE);
            writeln!(session.out, "{gap}{bold}{}:{bold:#}", opened.name)?;
        }
        let file = args.json.then_some(opened.name.as_str());
        let outcome = match (&args.style, args.variable.is_empty()) {
            (Some(style), _) => imitate(session, args, opened, style)?,
            (None, true) if args.wants_events() => {
                let dumped = events::dump(session, args, opened, file);
                if dumped.is_err() {
                    // What cannot be read may be why something is not there.
                    session.findings(opened);
                }
                dumped?
            }
            (None, true) => records(session, args, opened, file)?,
            (None, false) => variables::dump(session, args, opened, file)?,
        };
        Ok(outcome.max(session.findings(opened)))
    })
}

fn event_look<'a>(args: &Args, file: Option<&'a str>) -> Look<'a> {
    Look { file, order: args.order.into(), is_text: args.text, headers_only: args.headers }
}

fn records(
    session: &mut Session,
    args: &Args,
    opened: &OpenedFile,
    file: Option<&str>,
) -> anyhow::Result<Outcome> {
    let request = DumpRequest { headers_only: args.headers, ..DumpRequest::default() };
    let left = args.limit.unwrap_or(u64::MAX);
    let (out, look) = (&mut session.out, event_look(args, file));
    let rounded = if args.json {
        let mut sink = JsonRecords { out, look, left, rounded: false };
        opened.dataset.dump(&request, &mut sink)?;
        sink.rounded
    } else {
        let mut sink = TextRecords { out, look, left, rounded: false };
        opened.dataset.dump(&request, &mut sink)?;
        sink.rounded
    };
    if !rounded {
        return Ok(Outcome::Done);
    }
    let loss = "values wider than double precision are rounded to it";
    session.report.remark(&opened.name, format_args!("{loss}"));
    Ok(Outcome::Findings)
}

/// Prints as another tool does, and nothing besides.
fn imitate(
    session: &mut Session,
    args: &Args,
    opened: &OpenedFile,
    style: &str,
) -> anyhow::Result<Outcome> {
    let info = opened.format.info();
    if !info.dump_styles.contains(&style) {
        let why = format!("the format {} has no style {style}", info.name);
        return Err(Failure::new(why).into());
    }
    if args.variable.len() > 1 {
        let failure = Failure::usage(format!("{style} prints one variable at a time"));
        return Err(failure.hint("give -d once").into());
    }
    let request = DumpRequest {
        style: Some(style.into()),
        variable: args.variable.first().map(|path| Arc::from(path.as_str())),
        ..DumpRequest::default()
    };
    let (out, look) = (&mut session.out, event_look(args, None));
    let mut sink = TextRecords { out, look, left: u64::MAX, rounded: false };
    opened.dataset.dump(&request, &mut sink)?;
    Ok(Outcome::Done)
}
