//! `kymo ls`: what is in a file, a line each.

mod attributes;
mod metrics;
mod records;
mod tables;
mod tracks;
mod variables;

pub(super) use variables::shape;

use std::io::Write;
use std::path::PathBuf;

use crate::cli::OpenArgs;
use crate::failure::Failure;
use crate::masks::Masks;
use crate::render::{escaped, style};
use crate::session::{Named, OpenedFile, Outcome, Session};

/// List what is in files: variables with their types and shapes, streams, attributes, tables,
/// records.
///
/// Without options it is one path a line. A variable that was written again and again has steps:
/// `5*{2, 3}` was written five times. The parts that processes wrote of one array are its
/// blocks: `{4, 6} global, 4 blocks`. `{3..4}` is a length that differs between steps. Of a recording
/// it is its streams, with -l what they hold and on which clock; of a profile its metrics. Files
/// with neither variables nor streams list their tables, with -l the columns too.
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch that one types")]
#[command(after_help = "\
EXAMPLES
  kymo ls run.bp                       the paths of all variables
  kymo ls -l run.bp                    with types and shapes
  kymo ls -ls -m 'temp*' run.bp        with the smallest and largest value, some of them
  kymo ls -la -m '/fields/**' run.bp   with attributes, all below /fields
  kymo ls -ls run.rtc                  streams: kind, clock, number of events, times, values
  kymo ls --records run.bp             every record in the order of the file
  kymo ls --json archive/              every variable of every recording in a directory

EXIT STATUS
  0 done, 1 unreadable or nothing matches, 2 bad usage, 3 read, with findings or losses")]
pub(crate) struct Args {
    /// Files or directories; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Show types and shapes; of streams, what they hold and their clocks; of tables, columns.
    #[arg(short, long)]
    long: bool,

    /// Show the smallest and the largest value, and of streams how many events; reads them all.
    #[arg(short, long)]
    stats: bool,

    /// Show attributes too.
    #[arg(short, long)]
    attributes: bool,

    /// Show attributes only.
    #[arg(short = 'A', long)]
    attributes_only: bool,

    /// Show only what matches: a name, or a path when there is a `/` in it. With -a the names of
    /// attributes count too.
    #[arg(short, long = "match", value_name = "GLOB")]
    masks: Vec<String>,

    /// List the tables and their columns.
    #[arg(short, long, group = "what")]
    tables: bool,

    /// List every record in the order of the file.
    #[arg(long, alias = "elements", group = "what")]
    records: bool,

    /// Print one JSON object a line.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    open: OpenArgs,
}

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    let masks = Masks::new(&args.masks).map_err(|failure| Named::error("--match", failure))?;
    let inputs = session.expand(&args.files, &args.open.format);
    let is_many = inputs.len() > 1 || args.files.iter().any(|path| path.is_dir());
    let mut is_first = true;
    let mut listed = None;
    let outcome = session.each_dataset(inputs, &args.open, |session, opened| {
        if is_many && !args.json {
            let gap = if std::mem::take(&mut is_first) { "" } else { "\n" };
            let bold = session.out.paint().style(style::TITLE);
            writeln!(session.out, "{gap}{bold}{}:{bold:#}", opened.name)?;
        }
        let file = args.json.then_some(opened.name.as_str());
        let dataset = &opened.dataset;
        let is_plain = !args.tables && !args.records;
        let losses = if let Some(view) = dataset.arrays().filter(|_| is_plain) {
            let name = &opened.name;
            let listing = variables::Listing { view: &view, masks: &masks, name, file, args };
            let (lines, losses) = listing.print(session)?;
            *listed.get_or_insert(0) += lines;
            losses
        } else if let Some(view) = dataset.timeline().filter(|_| is_plain) {
            let listing = tracks::Listing { view: &view, masks: &masks, file, args };
            *listed.get_or_insert(0) += listing.print(session)?;
            *listed.get_or_insert(0) += metrics::list(session, opened, &masks, file, args)?;
            Outcome::Done
        } else {
            if is_plain {
                metrics::list(session, opened, &masks, file, args)?;
            }
            list(session, args, opened, file)?;
            Outcome::Done
        };
        Ok(losses.max(session.findings(opened)))
    })?;
    if listed == Some(0) && !args.masks.is_empty() && outcome < Outcome::Failed {
        let masks: Vec<_> = args.masks.iter().map(|mask| escaped(mask)).collect();
        let failure = Failure::new(format!("nothing matches {}", masks.join(" or ")));
        return Err(Named::error("--match", failure));
    }
    Ok(outcome)
}

fn list(
    session: &mut Session,
    args: &Args,
    opened: &OpenedFile,
    file: Option<&str>,
) -> anyhow::Result<()> {
    if args.records {
        records::list(session, opened, file, args.json)
    } else {
        tables::list(session, opened, file, args)
    }
}
