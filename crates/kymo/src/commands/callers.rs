//! `kymo callers`: who called what spent most.

use std::path::PathBuf;

use super::tree::ListingArgs;
use crate::cli::OpenArgs;
use crate::failure::Failure;
use crate::profiles::{PathArgs, ProfileArgs, begin};
use crate::render::escaped;
use crate::render::rows::RowArgs;
use crate::session::{Outcome, Session};

/// Show the functions that spent most themselves, and below each the functions that called it.
///
/// What stands beside a caller is what the function at the top spent when it was called this way:
/// itself (exclusive), and with all that it called (inclusive), where a call of itself is part of the
/// outer one. Functions come in the order of what they spent themselves; of one function, chosen with
/// --function, callers come in the order of what it spent with all that it called. `>` marks the hot
/// path: the caller with most, as long as it has at least half.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
EXAMPLES
  kymo callers hpctoolkit-app-database                    the hottest functions, and who called them
  kymo callers -f malloc hpctoolkit-app-database          who called one function, and for how much
  kymo callers -f 'Calc*' hpctoolkit-app-database         the same of all whose names begin so
  kymo callers --threshold 5 --depth 3 DATABASE           less of it
  kymo callers --csv DATABASE                             one line a node, for a spreadsheet

EXIT STATUS
  0 done, 1 unreadable or no profile, 2 bad usage, 3 read, with findings")]
pub(crate) struct Args {
    /// Files or directories.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Only callers of functions of this name: a whole name, with or without the module in brackets,
    /// or a part of names; a pattern such as `Calc*`; a regular expression between slashes.
    #[arg(short, long, value_name = "NAME")]
    function: Option<String>,

    #[command(flatten)]
    listing: ListingArgs,

    #[command(flatten)]
    profile: ProfileArgs,

    #[command(flatten)]
    paths: PathArgs,

    #[command(flatten)]
    rows: RowArgs,

    #[command(flatten)]
    open: OpenArgs,
}

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    let inputs = session.expand(&args.files, &args.open.format);
    let mut is_first = true;
    let mut rows = args.rows.rows();
    session.each_dataset(inputs, &args.open, |session, opened| {
        let asked = args.paths.apply(args.profile.query_any(opened)?)?;
        let function = args.function.as_deref().map(|text| asked.pattern(text)).transpose()?;
        let function = function.as_ref();
        if function.is_none() {
            let why = "which functions are listed by";
            asked.require_exclusive(why, "-f lists the callers of one function")?;
        }
        let tree = asked.bottom_up(function, args.listing.depth, args.listing.least())?;
        if let (Some(pattern), true) = (function, tree.nodes.is_empty()) {
            let name = escaped(pattern.text());
            let failure = Failure::new(format!("there is no function {name}"));
            return Err(failure.hint("`kymo top -i -n 0` lists the functions").into());
        }
        if rows.is_none() {
            begin(session, &mut is_first)?;
        }
        args.listing.print(session, rows.as_mut(), opened, &asked, &tree)?;
        Ok(asked.report(session, opened, tree.nodes.is_empty(), tree.odd.as_deref()))
    })
}
