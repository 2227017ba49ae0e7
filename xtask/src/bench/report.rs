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
    for Row { case, items, ours, peer, theirs } in rows {
        let rate = items.map(|(count, what)| rate(count, what, ours.cpu_s)).unwrap_or_default();
        let wall = ratio(ours.wall_s, theirs.wall_s);
        let cpu = ratio(ours.cpu_s, theirs.cpu_s);
        let (ours, theirs) = (cells(ours), cells(theirs));
        let _ = writeln!(table, "| {case}{rate} | {ours} | {peer} | {theirs} | {wall} | {cpu} |");
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

/// How many of something it is in a second of the processor: `, 8.5 M nodes/CPU s`.
fn rate(count: u32, what: &str, seconds: f64) -> String {
    format!(", {} {what}/CPU s", amount(f64::from(count) / seconds.max(1e-9)))
}

/// A number of things in thousands or millions, whichever has a digit before the point.
pub(crate) fn amount(count: f64) -> String {
    if count < 1e6 { format!("{:.1} k", count / 1e3) } else { format!("{:.1} M", count / 1e6) }
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

/// What stands above all sections of `docs/benchmarks.md`.
const PREAMBLE: &str = "\
# Benchmarks

Made by `cargo xtask bench --write`; each section says when and on what. Ours and the peers ran in \
turn, several times each after one round that is not counted; times are medians, memory is the \
most of any run. \"Peak anon\" is memory that the program allocated, \"max RSS\" counts pages of \
mapped files too. A ratio below 1 means that ours is faster.
";

/// The section of a group: its notes, which begin with a heading, and its table.
pub(crate) fn section(notes: &str, table: &str, repetitions: u32) -> Result<String> {
    let date = repo::output(Command::new("date").args(["-u", "+%F"]))?;
    let (date, machine, notes) = (date.trim(), machine()?, notes.trim_end());
    Ok(format!("{notes}\n\n{date}, {repetitions} rounds on {machine}:\n\n{table}"))
}

/// The page with this section in the place of the one with the same heading, or at the end.
pub(crate) fn renew(page: &str, section: &str) -> String {
    let heading = |section: &str| section.lines().next().unwrap_or_default().to_owned();
    let old = page.split("\n## ").skip(1).map(|rest| format!("## {}\n", rest.trim_end()));
    let mut sections: Vec<String> = old.collect();
    match sections.iter_mut().find(|old| heading(old) == heading(section)) {
        Some(old) => section.clone_into(old),
        None => sections.push(section.to_owned()),
    }
    format!("{PREAMBLE}\n{}", sections.join("\n"))
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
    fn a_section_takes_the_place_of_its_forerunner() {
        let page = renew(&renew("", "## A\n\nold\n"), "## B\n\nsecond\n");
        let page = renew(&page, "## A\n\nnew\n");
        assert_eq!(page, format!("{PREAMBLE}\n## A\n\nnew\n\n## B\n\nsecond\n"));
    }

    #[test]
    fn a_row_has_both_ratios() {
        let measured =
            |wall_s, cpu_s| Measurement { wall_s, cpu_s, anon_bytes: 3 << 19, rss_bytes: 2 << 20 };
        let row = Row {
            case: "list",
            items: Some((2_000_000, "nodes")),
            ours: measured(0.5, 3.0),
            peer: "cat",
            theirs: measured(2.0, 1.5),
        };
        let table = table(&[row]);
        let expected = "| list, 666.7 k nodes/CPU s | 500.0 ms | 3.00 s | 1.5 MiB / 2.0 MiB \
                        | cat | 2.00 s | 1.50 s | 1.5 MiB / 2.0 MiB | 0.25 | 2.00 |";
        assert_eq!(table.lines().last(), Some(expected));
    }
}
