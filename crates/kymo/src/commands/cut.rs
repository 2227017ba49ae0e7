//! `kymo cut`: a range of time of a recording.

use std::path::PathBuf;

use crate::cli::FormatArgs;
use crate::extracting::{self, ExtractSelection};
use crate::failure::Failure;
use crate::moment::{MOMENTS, Moment};
use crate::session::{Outcome, Session};
use crate::tracks::StreamArgs;

/// Write a range of time of a recording as a recording of its own.
///
/// What has no time is left out when a range is given. Times are those of each stream's own clock.
/// The input is never changed; the output appears whole or not at all.
#[derive(Debug, clap::Args)]
#[command(after_help = format!("\
EXAMPLES
  kymo cut run.rtc part.rtc --since +10s --until +20s   ten seconds
  kymo cut run.rtc end.rtc --since -1min                the last minute
  kymo cut run.rtc part.rtc --since 2026-11-15T12:30:00Z --stream 'temp*'

{MOMENTS}

EXIT STATUS
  0 done, 1 failed, 2 bad usage, 3 done, with losses"))]
pub(crate) struct Args {
    /// The recording; `-` is standard input.
    #[arg(value_name = "IN")]
    input: PathBuf,

    /// The file to write; `-` is standard output.
    #[arg(value_name = "OUT")]
    output: PathBuf,

    /// Not before this moment.
    #[arg(long, value_name = "MOMENT", allow_hyphen_values = true)]
    since: Option<Moment>,

    /// Before this moment.
    #[arg(long, value_name = "MOMENT", allow_hyphen_values = true)]
    until: Option<Moment>,

    #[command(flatten)]
    streams: StreamArgs,

    /// Replace OUT if it exists.
    #[arg(short, long)]
    force: bool,

    #[command(flatten)]
    format: FormatArgs,
}

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    if args.since.is_none() && args.until.is_none() {
        let failure = Failure::usage("nothing says where to cut");
        return Err(failure.hint("--since and --until do; `kymo filter` chooses streams").into());
    }
    extracting::run(
        session,
        &ExtractSelection {
            inputs: std::slice::from_ref(&args.input),
            output: &args.output,
            force: args.force,
            streams: &args.streams,
            since: args.since,
            until: args.until,
            sort: false,
            join: false,
            format: &args.format,
        },
    )
}
