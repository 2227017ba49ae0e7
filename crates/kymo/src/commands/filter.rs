//! `kymo filter`: some streams of a recording.

use std::path::PathBuf;

use crate::cli::FormatArgs;
use crate::extracting::{self, ExtractSelection};
use crate::failure::Failure;
use crate::session::{Outcome, Session};
use crate::tracks::StreamArgs;

/// Write some streams of a recording as a recording of its own.
///
/// The clocks of the streams go with them. The input is never changed; the output appears whole or
/// not at all.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
EXAMPLES
  kymo filter run.rtc temps.rtc --stream 'temp*'   streams whose names match
  kymo filter run.rtc small.rtc --exclude video    all but one

EXIT STATUS
  0 done, 1 failed, 2 bad usage, 3 done, with losses")]
pub(crate) struct Args {
    /// The recording; `-` is standard input.
    #[arg(value_name = "IN")]
    input: PathBuf,

    /// The file to write; `-` is standard output.
    #[arg(value_name = "OUT")]
    output: PathBuf,

    #[command(flatten)]
    streams: StreamArgs,

    /// Replace OUT if it exists.
    #[arg(short, long)]
    force: bool,

    #[command(flatten)]
    format: FormatArgs,
}

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    if args.streams.is_all() {
        let failure = Failure::usage("nothing says which streams to keep");
        return Err(failure.hint("--stream and --exclude do").into());
    }
    extracting::run(
        session,
        &ExtractSelection {
            inputs: std::slice::from_ref(&args.input),
            output: &args.output,
            force: args.force,
            streams: &args.streams,
            since: None,
            until: None,
            sort: false,
            join: false,
            format: &args.format,
        },
    )
}
