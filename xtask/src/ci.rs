//! `cargo xtask ci`: everything that has to hold before a change goes in.
//!
//! Each step is a command that one can also type alone; `--only` and `--skip` choose among them.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;

use crate::repo::{self, Repo};
use crate::{data, directions, fuzz, licences, readers, tools};

/// Which steps to run.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Run these steps alone.
    #[arg(long, value_name = "STEP", value_delimiter = ',', conflicts_with = "skip")]
    only: Vec<Step>,

    /// Leave these steps out.
    #[arg(long, value_name = "STEP", value_delimiter = ',', hide_possible_values = true)]
    skip: Vec<Step>,

    /// How long to fuzz each format.
    #[arg(long, value_name = "N", default_value_t = 20)]
    fuzz_seconds: u32,
}

impl Args {
    fn includes(&self, step: Step) -> bool {
        !self.skip.contains(&step) && (self.only.is_empty() || self.only.contains(&step))
    }
}

/// One thing to check; run in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Step {
    /// What the checks need is installed.
    Tools,
    /// rustfmt has nothing to change.
    Format,
    /// clippy has nothing to say.
    Clippy,
    /// The tests pass; none on real files is left out where there are real files.
    Test,
    /// The examples in doc comments pass.
    Doctest,
    /// The documentation builds without a warning.
    Docs,
    /// Dependencies point the way ARCHITECTURE.md says.
    Directions,
    /// Dependencies are under licences that deny.toml allows.
    Licences,
    /// Each format survives a while of fuzzing.
    Fuzz,
}

/// Runs the steps in order and prints a table of how long each took.
pub(crate) fn run(repo: &Repo, args: &Args) -> Result<()> {
    let mut done = Vec::new();
    let mut outcome = Ok(());
    for &step in Step::value_variants() {
        if !args.includes(step) {
            continue;
        }
        eprintln!("\n== {}", name(step));
        let start = Instant::now();
        let result = run_step(repo, step, args);
        let took = start.elapsed();
        eprintln!("== {}: {} in {:.1} s", name(step), word(&result), took.as_secs_f64());
        done.push((step, word(&result), took));
        if let Err(error) = result {
            outcome = Err(error).with_context(|| format!("step `{}` failed", name(step)));
            break;
        }
    }
    print_summary(&done);
    outcome
}

fn run_step(repo: &Repo, step: Step, args: &Args) -> Result<()> {
    match step {
        Step::Tools => tools::prepare(repo),
        Step::Format => repo::run(&mut repo.cargo(["fmt", "--all", "--check"])),
        Step::Clippy => {
            let options = ["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"];
            repo::run(&mut repo.cargo(options))
        }
        Step::Test => test(repo),
        Step::Doctest => repo::run(&mut repo.cargo(["test", "--workspace", "--doc"])),
        Step::Docs => {
            let mut command = repo.cargo(["doc", "--workspace", "--no-deps"]);
            repo::run(command.env("RUSTDOCFLAGS", "--deny warnings"))
        }
        Step::Directions => directions::run(repo),
        Step::Licences => licences::run(repo),
        Step::Fuzz => fuzz::run(repo, &fuzz::Args::all(args.fuzz_seconds)),
    }
}

/// Runs the tests, and sees that those on real files ran where there are real files.
fn test(repo: &Repo) -> Result<()> {
    let folder = data::folder(repo)?;
    let log = data::fresh_log(repo)?;
    let mut command = repo.cargo(["test", "--workspace", "--tests", "--no-fail-fast"]);
    command.env_remove(data::DATA).env(data::DATA_LOG, &log);
    command.env(data::READERS, readers::prepare(repo)?);
    if let Some(folder) = &folder {
        command.env(data::DATA, folder);
    }
    repo::run(&mut command)?;
    let tally = data::tally(&log)?;
    let (ran, left_out) = (tally.ran.len(), tally.left_out);
    println!("tests on real files: {ran} ran, {} left out", left_out.len());
    let names = Vec::from_iter(left_out).join("\n  ");
    ensure!(
        folder.is_none() || names.is_empty(),
        "tests on real files left out although {} is set:\n  {names}",
        data::DATA
    );
    Ok(())
}

fn print_summary(done: &[(Step, &str, Duration)]) {
    let total: Duration = done.iter().map(|(_, _, took)| *took).sum();
    println!("\n{:<12} {:>8}  result", "step", "seconds");
    for (step, word, took) in done {
        println!("{:<12} {:>8.1}  {word}", name(*step), took.as_secs_f64());
    }
    println!("{:<12} {:>8.1}", "total", total.as_secs_f64());
}

/// The name of a step, as one types it.
fn name(step: Step) -> String {
    step.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

fn word(result: &Result<()>) -> &'static str {
    if result.is_ok() { "ok" } else { "FAILED" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(only: &[Step], skip: &[Step]) -> Args {
        Args { only: only.to_vec(), skip: skip.to_vec(), fuzz_seconds: 1 }
    }

    #[test]
    fn every_step_runs_unless_others_are_chosen() {
        assert!(args(&[], &[]).includes(Step::Fuzz));
        assert!(args(&[Step::Fuzz], &[]).includes(Step::Fuzz));
        assert!(!args(&[Step::Test], &[]).includes(Step::Fuzz));
        assert!(!args(&[], &[Step::Fuzz]).includes(Step::Fuzz));
    }
}
