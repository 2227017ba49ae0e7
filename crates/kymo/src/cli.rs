//! The command line: what can be typed.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ColorChoice, Parser, Subcommand};

use crate::commands;
use crate::failure::quoted;

/// Opens recordings of what programs did, whoever wrote them, and answers questions about them.
///
/// Results go to standard output and everything else to standard error, so that output can be
/// piped. `-` as a file is standard input. The format of a file is found from its first bytes
/// and its name; --from overrules that.
#[derive(Debug, Parser)]
#[command(
    name = "kymo",
    version,
    arg_required_else_help = true,
    propagate_version = true,
    max_term_width = 100,
    after_help = "\
EXAMPLES
  kymo demo                         see what it does, on recordings it writes itself
  kymo info run.bp                  what is it, how big, how healthy
  kymo ls -l run.bp                 its variables: type, path, shape
  kymo dump -d /fields/phi run.bp   the values of one
  kymo convert run.bp run.csv       its table as CSV

EXIT STATUS
  0  done
  1  failed
  2  bad usage
  3  done, but with findings or losses"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options that every command understands.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Globals {
    /// Choice of when to use colours.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    #[arg(help_heading = "Global options", help = "When to use colours; NO_COLOR is respected")]
    pub(crate) color: ColorChoice,

    /// Say nothing but errors and results.
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub(crate) quiet: bool,
}

/// The subcommands, in the order of the help.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Info(commands::info::Args),
    Ls(commands::ls::Args),
    Dump(commands::dump::Args),
    Top(commands::top::Args),
    Tree(commands::tree::Args),
    Callers(commands::callers::Args),
    Threads(commands::threads::Args),
    Trace(commands::trace::Args),
    Flame(commands::flame::Args),
    Load(commands::load::Args),
    Sched(commands::sched::Args),
    Messages(commands::messages::Args),
    States(commands::states::Args),
    Gantt(commands::gantt::Args),
    Assert(commands::assert::Args),
    Report(commands::report::Args),
    Prof(commands::prof::Args),
    Check(commands::check::Args),
    Repair(commands::repair::Args),
    Convert(commands::convert::Args),
    Diff(commands::diff::Args),
    Plot(commands::plot::Args),
    Cut(commands::cut::Args),
    Filter(commands::filter::Args),
    Merge(commands::merge::Args),
    Follow(commands::follow::Args),
    Record(commands::record::Args),
    Formats(commands::formats::Args),
    Demo(commands::demo::Args),
    Completions(commands::completions::Args),
    Man(commands::man::Args),
}

impl Command {
    /// Returns true when it may write files, which an interrupt must not leave half-made. `record`
    /// and `follow` end in their own way.
    pub(crate) fn has_output(&self) -> bool {
        matches!(
            self,
            Self::Convert(_)
                | Self::Cut(_)
                | Self::Demo(_)
                | Self::Filter(_)
                | Self::Flame(_)
                | Self::Gantt(_)
                | Self::Merge(_)
                | Self::Messages(_)
                | Self::Plot(_)
                | Self::Prof(_)
                | Self::Repair(_)
                | Self::Report(_)
        )
    }
}

/// Options for opening a file.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct FormatArgs {
    /// The format, instead of finding it out; `kymo formats` lists them.
    #[arg(long, value_name = "FORMAT", value_parser = format_names())]
    #[arg(hide_possible_values = true)]
    pub(crate) from: Option<String>,

    /// Meaning of lines of a text log, in TOML; otherwise NAME.toml or log.toml beside it.
    #[arg(long, value_name = "TOML")]
    pub(crate) grammar: Option<PathBuf>,

    /// Texts of BBBin are UTF-8 and not Latin-1, read and written.
    #[arg(long)]
    pub(crate) utf8: bool,

    /// Ticks in a second, where a recording of systemview has no INIT.
    #[arg(long, value_name = "HZ", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) frequency: Option<u64>,
}

impl FormatArgs {
    /// The options as they are typed, each with a space after it.
    pub(crate) fn typed(&self) -> String {
        let from = self.from.iter().map(|from| format!("--from {from} "));
        let grammar = self.grammar.iter().map(|grammar| grammar.display().to_string());
        let grammar = grammar.map(|grammar| format!("--grammar {} ", quoted(&grammar)));
        let utf8 = self.utf8.then(|| "--utf8 ".to_owned());
        let frequency = self.frequency.map(|frequency| format!("--frequency {frequency} "));
        from.chain(grammar).chain(utf8).chain(frequency).collect()
    }
}

/// Options for opening a file that may be damaged.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct OpenArgs {
    #[command(flatten)]
    pub(crate) format: FormatArgs,

    /// Open what can be read of a damaged file, and say what cannot.
    #[arg(long)]
    pub(crate) salvage: bool,
}

fn format_names() -> PossibleValuesParser {
    let formats = kymo_registry::formats().iter();
    PossibleValuesParser::new(formats.map(|format| {
        let info = format.info();
        clap::builder::PossibleValue::new(info.name).help(info.title)
    }))
}
