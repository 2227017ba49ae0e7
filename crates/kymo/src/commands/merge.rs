//! `kymo merge`: several recordings as one.

use std::path::PathBuf;

use crate::cli::FormatArgs;
use crate::extracting::{self, ExtractSelection};
use crate::moment::{MOMENTS, Moment};
use crate::session::{Outcome, Session};
use crate::tracks::StreamArgs;

/// Write several recordings as one, in the order of their times.
///
/// Each stream stays on its own clock, and streams of the same name stay apart unless --join is
/// given: of RTC, they are named by their files, as `stdout (server)`. Recordings whose clocks count from the Epoch are laid side
/// by side; those whose clocks have zeros of their own follow one another. The inputs are never
/// changed; the output appears whole or not at all.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
EXAMPLES
  kymo merge front.rtc rear.rtc -o both.rtc    side by side
  kymo merge --join run.rtc run.*.rtc -o all.rtc
                                               parts that `record --rotate` wrote
  kymo merge a.rtc b.rtc -o - | kymo dump -    look at it first

{MOMENTS}

EXIT STATUS
  0 done, 1 failed, 2 bad usage, 3 done, with losses"))]
pub(crate) struct Args {
    /// The recordings, all of one format.
    #[arg(required = true, value_name = "IN")]
    inputs: Vec<PathBuf>,

    /// The file to write; `-` is standard output.
    #[arg(short, long, required = true, value_name = "OUT")]
    output: PathBuf,

    /// Not before this moment.
    #[arg(long, value_name = "MOMENT", allow_hyphen_values = true)]
    since: Option<Moment>,

    /// Before this moment.
    #[arg(long, value_name = "MOMENT", allow_hyphen_values = true)]
    until: Option<Moment>,

    /// Put the events of each recording in the order of their times first. For formats whose
    /// files may be out of order, such as BBBIN; those of RTC are as their clocks were set.
    #[arg(long)]
    sort: bool,

    /// Take streams for one that have the same name and description and are on the same clock, as
    /// those of the parts of one recording are; otherwise the later ones are named by their file.
    #[arg(long)]
    join: bool,

    #[command(flatten)]
    streams: StreamArgs,

    /// Replace OUT if it exists.
    #[arg(short, long)]
    force: bool,

    #[command(flatten)]
    format: FormatArgs,
}

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    extracting::run(
        session,
        &ExtractSelection {
            inputs: &args.inputs,
            output: &args.output,
            force: args.force,
            streams: &args.streams,
            since: args.since,
            until: args.until,
            sort: args.sort,
            join: args.join,
            format: &args.format,
        },
    )
}
