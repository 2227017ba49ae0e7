//! What the seconds of a clock go to, on one processor and on two.

use std::fmt::Write;
use std::fs;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::Input;
use crate::bench::{Setup, report};
use crate::repo;

/// The phases, in the order of the table.
const PHASES: [&str; 5] = ["opening", "reading structure", "merging", "listing", "writing"];

/// What `kymo prof --json` prints, as far as it is looked at.
#[derive(Deserialize)]
struct PrintedPhases {
    contexts: f64,
    phases: Vec<Phase>,
}

#[derive(Deserialize)]
struct Phase {
    phase: String,
    seconds: f64,
}

/// One run.
struct PhaseRun {
    wall_s: f64,
    printed: PrintedPhases,
}

/// A table of phases, contexts and megabytes a second: of several runs the one that took least.
pub(crate) fn table(setup: &Setup, repetitions: u32) -> Result<String> {
    let mut table = String::from("\n| case | -j | wall | speed-up | contexts/s | MB/s |");
    for phase in PHASES {
        let _ = write!(table, " {phase} |");
    }
    table.push_str("\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    for input in Input::all(setup)? {
        let sizes = input.files()?.into_iter().map(|path| Ok(fs::metadata(path)?.len()));
        let bytes: u64 = sizes.collect::<Result<Vec<_>>>()?.iter().sum();
        let mut best: [Option<PhaseRun>; 2] = [None, None];
        for _ in 0..repetitions {
            for (jobs, best) in ["1", "2"].iter().zip(&mut best) {
                let ran = run(setup, &input, jobs)?;
                if best.as_ref().is_none_or(|best| ran.wall_s < best.wall_s) {
                    *best = Some(ran);
                }
            }
        }
        let alone = best[0].as_ref().map_or(0.0, |ran| ran.wall_s);
        for (ran, jobs) in best.iter().flatten().zip(1..) {
            let _ = writeln!(table, "{}", row(input.case, jobs, ran, alone, bytes));
        }
    }
    Ok(table)
}

fn run(setup: &Setup, input: &Input, jobs: &str) -> Result<PhaseRun> {
    let outputs = setup.outputs();
    if outputs.exists() {
        fs::remove_dir_all(&outputs)?;
    }
    fs::create_dir(&outputs)?;
    let line = input.ours(setup, jobs, "--json");
    let (program, args) = line.split_first().context("a case without a command")?;
    let began = Instant::now();
    let json = repo::output(Command::new(program).args(args))?;
    let wall_s = began.elapsed().as_secs_f64();
    let printed = serde_json::from_str(&json).context("`kymo prof` printed something unknown")?;
    Ok(PhaseRun { wall_s, printed })
}

fn row(case: &str, jobs: u32, ran: &PhaseRun, alone_s: f64, bytes: u64) -> String {
    let PhaseRun { wall_s, printed } = ran;
    let contexts = report::amount(printed.contexts / wall_s);
    // Nobody has a measurement of so many bytes that a few are missing here.
    #[allow(clippy::cast_precision_loss, reason = "a rate of three digits")]
    let rate = bytes as f64 / wall_s / 1e6;
    let speed_up = alone_s / wall_s;
    let mut row =
        format!("| {case} | {jobs} | {wall_s:.2} s | {speed_up:.2} | {contexts} | {rate:.0} |");
    for name in PHASES {
        let found = printed.phases.iter().find(|phase| phase.phase == name);
        let _ = write!(row, " {:.2} s |", found.map_or(0.0, |phase| phase.seconds));
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_rates_and_phases() {
        let phase = Phase { phase: "merging".into(), seconds: 0.75 };
        let printed = PrintedPhases { contexts: 2_000_000.0, phases: vec![phase] };
        let row = row("huge", 2, &PhaseRun { wall_s: 2.0, printed }, 3.0, 142_000_000);
        let expected = "| huge | 2 | 2.00 s | 1.50 | 1.0 M | 71 \
                        | 0.00 s | 0.00 s | 0.75 s | 0.00 s | 0.00 s |";
        assert_eq!(row, expected);
    }
}
