//! The table of a run, and the page that keeps the last one.

use std::fmt::Write;
use std::fs;
use std::process::Command;
use std::thread;

use anyhow::Result;

use crate::bench::Row;
use crate::bench::measure::Measurement;
use crate::repo;

/// The rows as a Markdown table.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut table = String::from(
        "| case | ours: wall | CPU | peak anon / max RSS | peer | peer: wall | CPU | \
         peak anon / max RSS | ours ÷ peer: wall | CPU |\n\
         |---|---:|---:|---:|---|---:|---:|---:|---:|---:|\n",
    );
    for Row { case, ours, peer, theirs } in rows {
        let wall = ratio(ours.wall_s, theirs.wall_s);
        let cpu = ratio(ours.cpu_s, theirs.cpu_s);
        let (ours, theirs) = (cells(ours), cells(theirs));
        let _ = writeln!(table, "| {case} | {ours} | {peer} | {theirs} | {wall} | {cpu} |");
    }
    table
}

fn cells(measured: &Measurement) -> String {
    format!(
        "{} | {} | {} / {}",
        time(measured.wall_s),
        time(measured.cpu_s),
        size(measured.anon_bytes),
        size(measured.rss_bytes),
    )
}

/// How many times the peer's figure ours is; below a millisecond, figures are chance.
fn ratio(ours: f64, theirs: f64) -> String {
    if theirs < 0.001 { "–".to_owned() } else { format!("{:.2}", ours / theirs) }
}

fn time(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.1} ms", seconds * 1e3) } else { format!("{seconds:.2} s") }
}

/// A size in MiB, with one decimal.
fn size(bytes: u64) -> String {
    let tenths = bytes * 10 / (1 << 20);
    format!("{}.{} MiB", tenths / 10, tenths % 10)
}

/// The page `docs/benchmarks.md`.
pub(crate) fn page(table: &str, repetitions: u32, notes: &[&str]) -> Result<String> {
    let date = repo::output(Command::new("date").args(["-u", "+%F"]))?;
    Ok(format!(
        "# Benchmarks\n\n\
         Made by `cargo xtask bench --write` on {date}, on {machine}. Ours and the peers ran in \
         turn, {repetitions} times each after one round that is not counted; times are medians, \
         memory is the most of any run. \"Peak anon\" is memory that the program allocated, \
         \"max RSS\" counts pages of mapped files too. A ratio below 1 means that ours is \
         faster.\n\n{table}\n{notes}",
        date = date.trim(),
        machine = machine()?,
        notes = notes.join("\n"),
    ))
}

/// What this runs on, in a line.
fn machine() -> Result<String> {
    let cpu = field("/proc/cpuinfo", "model name")?;
    let cores = thread::available_parallelism()?;
    let kib = field("/proc/meminfo", "MemTotal")?;
    let memory_gib = kib.trim_end_matches(" kB").parse::<u64>()?.div_ceil(1 << 20);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let rustc = repo::output(Command::new("rustc").arg("--version"))?;
    let (kernel, rustc) = (kernel.trim(), rustc.trim());
    Ok(format!("{cpu}, {cores} cores, {memory_gib} GiB of memory, Linux {kernel}, {rustc}"))
}

/// The value of the first line `name : value` of a file.
fn field(path: &str, name: &str) -> Result<String> {
    let text = fs::read_to_string(path)?;
    let mut pairs = text.lines().filter_map(|line| line.split_once(':'));
    let value = pairs.find(|(key, _)| key.trim() == name).map_or("unknown", |(_, value)| value);
    Ok(value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_both_ratios() {
        let measured =
            |wall_s, cpu_s| Measurement { wall_s, cpu_s, anon_bytes: 3 << 19, rss_bytes: 2 << 20 };
        let row =
            Row { case: "list", ours: measured(0.5, 3.0), peer: "cat", theirs: measured(2.0, 1.5) };
        let table = table(&[row]);
        let expected = "| list | 500.0 ms | 3.00 s | 1.5 MiB / 2.0 MiB \
                        | cat | 2.00 s | 1.50 s | 1.5 MiB / 2.0 MiB | 0.25 | 2.00 |";
        assert_eq!(table.lines().last(), Some(expected));
    }
}
