//! `kymo`: opens recordings of what programs did, whoever wrote them.
//!
//! One file a subcommand in `commands`. `session` opens files and keeps going after a failed
//! one, `output` is standard output, `report` standard error, `render` how things look,
//! `inputs` and `outlet` are what paths on the command line mean.

mod cli;
mod commands;
mod extracting;
mod failure;
mod inputs;
mod losses;
mod masks;
mod moment;
mod outlet;
mod output;
mod picture;
mod processors;
mod profiles;
mod progress;
mod rate;
mod render;
mod report;
mod scope;
mod selection;
mod session;
mod signals;
mod tracks;
mod variables;
mod watched;

use std::process::ExitCode;

use clap::Parser;

use cli::Cli;
use session::{Outcome, Session};

/// The only place that turns an outcome into an exit code.
fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(help_or_error) => {
            // A reader that went away needs no help.
            let _ = help_or_error.print();
            return ExitCode::from(u8::try_from(help_or_error.exit_code()).unwrap_or(2));
        }
    };
    let mut session = Session::new(cli.globals);
    // Once: `demo` runs other commands within this one.
    let listens = if cli.command.has_output() { signals::clean_up_when_ended() } else { Ok(()) };
    let outcome = match listens {
        Ok(()) => session.run(&cli.command),
        Err(error) => session.fail(&error),
    };
    match outcome {
        Outcome::Done => ExitCode::SUCCESS,
        Outcome::Failed => ExitCode::FAILURE,
        Outcome::BadUsage => ExitCode::from(2),
        Outcome::Findings => ExitCode::from(3),
    }
}
