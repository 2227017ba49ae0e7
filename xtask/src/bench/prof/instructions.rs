//! `cargo xtask bench prof --instructions`: how many instructions `kymo prof` executes, against how
//! many hpcprof does. Callgrind counts them: the same on every machine, or nearly so.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::measured;
use crate::bench::Setup;
use crate::repo;

/// Measurements, with the millions of instructions that `hpcprof -j1` executes with structure files
/// and without.
const HPCPROF: [(&str, [u64; 2]); 3] =
    [("zstd", [5_100, 1_280]), ("matmul-omp-64", [7_940, 1_810]), ("templates", [5_880, 1_390])];

/// Ours are to be no more than one of so many of its instructions.
const PART: u64 = 5;

/// Counts, prints a table, and fails where ours are more than a fifth.
pub(crate) fn run(setup: &Setup) -> Result<()> {
    ensure!(repo::succeeds(Command::new("valgrind").arg("--version")), "valgrind is not here");
    println!("| measurement | with structure: kymo | hpcprof | without: kymo | hpcprof |");
    println!("|---|---:|---:|---:|---:|");
    let mut over = Vec::new();
    for (name, theirs) in HPCPROF {
        let mut cells = Vec::new();
        for (theirs, with_structure) in theirs.into_iter().zip([true, false]) {
            let ours = count(setup, name, with_structure)? / 1_000_000;
            cells.push(format!("{ours} | {theirs}"));
            if ours * PART > theirs {
                over.push(format!("{name}: {ours} of {theirs}"));
            }
        }
        println!("| {name} | {} |", cells.join(" | "));
    }
    ensure!(over.is_empty(), "more than one in {PART}: {}", over.join(", "));
    Ok(())
}

/// The instructions of one run.
fn count(setup: &Setup, name: &str, with_structure: bool) -> Result<u64> {
    let input = measured::copied(setup, name, with_structure)?;
    let input = input.context("the measurements are not here: KYMO_DATA names their folder")?;
    let demo = measured::folder(setup)?.unwrap_or_default().join("demo");
    let outputs = setup.outputs();
    if outputs.exists() {
        fs::remove_dir_all(&outputs)?;
    }
    fs::create_dir(&outputs)?;
    let counts = outputs.join("callgrind");
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--quiet"]);
    command.arg(format!("--callgrind-out-file={}", counts.display())).arg(&setup.kymo);
    command.args(["prof", "--compat", "--quiet", "-j", "1"]);
    if !with_structure {
        command.arg("-R").arg(format!("/opt/demo={}", demo.display()));
    }
    command.arg("-o").arg(outputs.join("database")).arg(&input);
    repo::run(&mut command)?;
    let text = fs::read_to_string(&counts).with_context(|| counts.display().to_string())?;
    total(&text).context("callgrind counted nothing")
}

/// The sum that a file of callgrind ends with.
fn total(text: &str) -> Option<u64> {
    let sums = text.lines().rev().find_map(|line| line.strip_prefix("totals: "));
    sums?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_the_last_sum_of_the_file() {
        assert_eq!(total("version: 1\nfn=(1)\n16 4\n\ntotals: 1234 5\n"), Some(1234));
        assert_eq!(total("version: 1\n"), None);
    }
}
