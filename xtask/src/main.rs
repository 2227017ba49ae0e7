//! The project's own tasks, run as `cargo xtask TASK`.
//!
//! One file a task. A task is a sequence of commands that a person could type; it says what it
//! runs, stops at the first failure, and leaves what it made below the target directory.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a task talks to the person who started it"
)]

mod bench;
mod bless;
mod ci;
mod data;
mod directions;
mod fuzz;
mod licences;
mod metadata;
mod new_format;
mod outputs;
mod readers;
mod repo;
mod tools;

use std::process::ExitCode;

use clap::Parser;

use crate::repo::Repo;

/// The project's own tasks.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Task {
    /// Check everything that has to hold before a change goes in.
    Ci(ci::Args),
    /// Fuzz the formats of the registry, each from the files in its folder of testdata.
    Fuzz(fuzz::Args),
    /// Compare ours with peers and physical limits, as a table with ratios and peak memory.
    Bench(bench::Args),
    /// Rewrite the golden files from what the code prints now.
    Bless,
    /// Compare what commands print of all recordings with what they printed before.
    Outputs(outputs::Args),
    /// Make the crate, the page and the test files of a new format, ready to reshape.
    NewFormat(new_format::Args),
    /// Run a command and print what it took as JSON.
    #[command(hide = true)]
    Measure(bench::measure::Args),
    /// Do what a peer of the benchmarks does.
    #[command(hide = true)]
    Peer(bench::PeerArgs),
}

fn main() -> ExitCode {
    match run(Task::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> anyhow::Result<()> {
    match task {
        Task::Ci(args) => ci::run(&Repo::find()?, &args),
        Task::Fuzz(args) => fuzz::run(&Repo::find()?, &args),
        Task::Bench(args) => bench::run(Repo::find()?, &args),
        Task::Bless => bless::run(&Repo::find()?),
        Task::Outputs(args) => outputs::run(&Repo::find()?, &args),
        Task::NewFormat(args) => new_format::run(&Repo::find()?, &args),
        Task::Measure(args) => bench::measure::run(&args),
        Task::Peer(args) => bench::run_peer(&args),
    }
}
