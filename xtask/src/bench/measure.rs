//! `xtask measure`: what running a command takes, measured from outside.
//!
//! A process of its own, so that the sums the system keeps of finished children are of this one
//! command, and so that the memory of the measuring process is small and always the same.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use serde::{Deserialize, Serialize};

/// How often the memory of the command is looked at.
const POLL: Duration = Duration::from_millis(1);

/// What to run.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The command; its output is dropped.
    #[arg(required = true, last = true)]
    command: Vec<OsString>,
}

/// What running a command took.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measurement {
    /// Time on the clock.
    pub(crate) wall_s: f64,
    /// Time on the processors, of user and system.
    pub(crate) cpu_s: f64,
    /// The most memory it allocated, as seen once every millisecond. Pages of files do not count.
    pub(crate) anon_bytes: u64,
    /// The most memory it had, pages of mapped files included.
    pub(crate) rss_bytes: u64,
}

impl Measurement {
    /// The median of each time, and the most of each memory.
    pub(crate) fn median(runs: &[Self]) -> Self {
        Self {
            wall_s: median(runs.iter().map(|run| run.wall_s).collect()),
            cpu_s: median(runs.iter().map(|run| run.cpu_s).collect()),
            anon_bytes: runs.iter().map(|run| run.anon_bytes).max().unwrap_or_default(),
            rss_bytes: runs.iter().map(|run| run.rss_bytes).max().unwrap_or_default(),
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Runs the command and prints its measurement as JSON.
pub(crate) fn run(args: &Args) -> Result<()> {
    println!("{}", serde_json::to_string(&measure(&args.command)?)?);
    Ok(())
}

fn measure(command: &[OsString]) -> Result<Measurement> {
    let (program, arguments) = command.split_first().context("no command to measure")?;
    let line = || command.join(" ".as_ref()).display().to_string();
    let start = Instant::now();
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .with_context(line)?;
    let status_file = PathBuf::from(format!("/proc/{}/status", child.id()));
    let ended = AtomicBool::new(false);
    let (status, wall, anon_bytes) = thread::scope(|scope| {
        let watcher = scope.spawn(|| watch(&status_file, &ended));
        let status = child.wait();
        let wall = start.elapsed();
        ended.store(true, Ordering::Relaxed);
        (status, wall, watcher.join().unwrap_or_default())
    });
    let status = status.with_context(line)?;
    ensure!(status.success(), "{status}: {}", line());
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    Ok(Measurement {
        wall_s: wall.as_secs_f64(),
        cpu_s: seconds(usage.user_time()) + seconds(usage.system_time()),
        anon_bytes,
        rss_bytes: u64::try_from(usage.max_rss())? * 1024,
    })
}

/// The most anonymous memory that a process has until it ends.
fn watch(status_file: &PathBuf, ended: &AtomicBool) -> u64 {
    let mut most = 0;
    while !ended.load(Ordering::Relaxed) {
        let status = fs::read_to_string(status_file).unwrap_or_default();
        most = most.max(anon_bytes(&status).unwrap_or_default());
        thread::sleep(POLL);
    }
    most
}

/// The anonymous memory in the text of `/proc/PID/status`; a process that has ended has none.
fn anon_bytes(status: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kib: u64 = value.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024)
}

fn seconds(time: TimeVal) -> f64 {
    let micros = time.tv_sec() * 1_000_000 + time.tv_usec();
    Duration::from_micros(micros.try_into().unwrap_or_default()).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anonymous_memory_is_read_from_the_status_file() {
        let status = "Name:\tkymo\nVmHWM:\t  9000 kB\nRssAnon:\t    1234 kB\nRssFile:\t 5 kB\n";
        assert_eq!(anon_bytes(status), Some(1234 * 1024));
        assert_eq!(anon_bytes("Name:\tkymo\nState:\tZ (zombie)\n"), None);
    }

    #[test]
    fn times_are_medians_and_memory_is_the_most() {
        let run = |wall_s, anon_bytes| Measurement { wall_s, anon_bytes, ..Default::default() };
        let median = Measurement::median(&[run(9.0, 5), run(1.0, 7), run(2.0, 6)]);
        assert_eq!(median, run(2.0, 7));
    }

    #[test]
    fn a_command_that_fails_is_an_error() {
        assert!(measure(&["false".into()]).is_err());
        assert!(measure(&["true".into()]).is_ok());
    }
}
