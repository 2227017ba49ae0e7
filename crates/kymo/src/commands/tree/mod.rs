//! `kymo tree`: where the time went, path by path.

mod branches;
mod listing;

use std::path::PathBuf;

use kymo_model::profile::Detail;

use crate::cli::OpenArgs;
use crate::profiles::{PathArgs, ProfileArgs, begin};
use crate::render::rows::RowArgs;
use crate::session::{Outcome, Session};

pub(super) use listing::{ListingArgs, levels};

/// Show the paths that spent most, from the entry points down.
///
/// Calls of one function from one other are one path, whichever line they stand in, unless lines
/// are shown. `>` marks the hot path: the child with most, as long as it has at least half of
/// what is above it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
EXAMPLES
  kymo tree hpctoolkit-app-database              the hottest paths
  kymo tree --threshold 5 --depth 8 DATABASE     less of it
  kymo tree --show lines DATABASE                with the lines that calls stand in
  kymo tree --json DATABASE                      one JSON object a node
  kymo callers DATABASE                          the other way round

EXIT STATUS
  0 done, 1 unreadable or no profile, 2 bad usage, 3 read, with findings")]
pub(crate) struct Args {
    /// Files or directories.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Part to show beside functions.
    #[arg(long, value_enum, default_value = "loops", value_name = "WHAT")]
    show: Show,

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

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(super) enum Show {
    /// Functions only.
    Functions,
    /// Loops too.
    Loops,
    /// Loops and lines too.
    Lines,
}

impl Show {
    pub(super) fn detail(self) -> Detail {
        match self {
            Self::Functions => Detail::Functions,
            Self::Loops => Detail::Loops,
            Self::Lines => Detail::Lines,
        }
    }
}

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    let inputs = session.expand(&args.files, &args.open.format);
    let mut is_first = true;
    let mut rows = args.rows.rows();
    session.each_dataset(inputs, &args.open, |session, opened| {
        let asked = args.paths.apply(args.profile.query_any(opened)?)?;
        let tree = asked.top_down(args.show.detail(), args.listing.depth)?;
        if rows.is_none() {
            begin(session, &mut is_first)?;
        }
        args.listing.print(session, rows.as_mut(), opened, &asked, &tree)?;
        Ok(asked.report(session, opened, tree.nodes.is_empty(), tree.odd.as_deref()))
    })
}
