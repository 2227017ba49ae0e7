//! `kymo completions`: what a shell needs to complete commands.

use std::io::Write;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::session::{Outcome, Session};

/// Print a script that completes commands, options and format names in a shell.
///
/// The script goes to standard output; where it belongs depends on the shell.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
EXAMPLES
  kymo completions bash > ~/.local/share/bash-completion/completions/kymo
  kymo completions zsh > ~/.zfunc/_kymo
  kymo completions fish > ~/.config/fish/completions/kymo.fish

EXIT STATUS
  0 done, 2 bad usage")]
pub(crate) struct Args {
    /// The shell.
    shell: Shell,
}

pub(crate) fn run(session: &mut Session, args: &Args) -> anyhow::Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "kymo", &mut script);
    session.out.write_all(&script)?;
    Ok(Outcome::Done)
}
