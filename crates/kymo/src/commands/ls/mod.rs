//! `kymo ls`: what is in a file, a line each.

mod attributes;
mod records;
mod tables;
mod variables;

use std::io::Write;
use std::path::PathBuf;

use crate::cli::OpenArgs;
use crate::failure::Failure;
use crate::masks::Masks;
use crate::render::{escaped, style};
use crate::session::{Named, Opened, Outcome, Session};

/// List what is in files: variables with their types and shapes, attributes, tables, records.
///
/// Without options it is one path a line. A variable that was written again and again has steps:
/// `5*{2, 3}` was written five times. The parts that processes wrote of one array are its
/// blocks: `{4, 6} global, 4 blocks`. `{3..4}` is a length that differs between steps. Files
/// without variables list their tables.
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch that one types")]
#[command(after_help = "\
EXAMPLES
  kymo ls run.bp                       the paths of all variables
  kymo ls -l run.bp                    with types and shapes
  kymo ls -ls -m 'temp*' run.bp        with the smallest and largest value, some of them
  kymo ls -la -m '/fields/**' run.bp   with attributes, all below /fields
  kymo ls --records run.bp             every record in the order of the file
  kymo ls --json archive/              every variable of every recording in a directory

EXIT STATUS
  0 done, 1 unreadable or nothing matches, 2 bad usage, 3 read, with findings or losses")]
pub(crate) struct Args {
    /// Files or directories; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Show types and shapes.
    #[arg(short, long)]
    long: bool,

    /// Show the smallest and the largest value; reads all values.
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
        let losses = match opened.dataset.arrays() {
            Some(view) if !args.tables && !args.records => {
                let name = &opened.name;
                let listing = variables::Listing { view: &view, masks: &masks, name, file, args };
                let (lines, losses) = listing.print(session)?;
                *listed.get_or_insert(0) += lines;
                losses
            }
            _ => list(session, args, opened, file)?,
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
    opened: &Opened,
    file: Option<&str>,
) -> anyhow::Result<Outcome> {
    if args.records {
        records::list(session, opened, file, args.json)?;
    } else {
        tables::list(session, opened, file, args.json)?;
    }
    Ok(Outcome::Done)
}
