//! BBBin: writing, scanning and summing up task switches, beside reading the bytes alone.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use kymo_bbbin::{ArtifactId, Body, Definitions, Event, Reader, Tally, TypeId, Writer};
use kymo_core::bytes::Limits;
use kymo_core::model::timeline::{TimeNs, Window};
use kymo_core::{Context, Destination, Source};

use crate::bench::{Case, CommandLine, Setup};

/// What the table alone does not say.
pub(crate) const NOTES: &str = "\
## BBBin\n\n\
The log has 30 million events, all TASK_SWITCH, of 36 bytes each. \"Scan\" decodes each of them and \
adds up its fields; \"statistics\" computes TASK EXECUTIONS and STATISTICS anew; \"range\" opens the \
file a thousand times and finds ten events by their time. The peer reads the bytes of the file in \
blocks of 1 MiB and adds up the first of each 36.\n";

/// How many events there are.
const EVENTS: i64 = 30_000_000;
/// The time between two.
const STEP_NS: i64 = 1000;

/// Ours and peers that are no programs.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Peer {
    /// Write with our writer.
    BbbinWrite { file: PathBuf },
    /// Decode every event.
    BbbinScan { file: PathBuf },
    /// Compute the statistics.
    BbbinStatistics { file: PathBuf },
    /// Find a few events by their time, again and again.
    BbbinRange { file: PathBuf },
    /// Read the bytes and do next to nothing with them.
    BytesScan { file: PathBuf },
}

impl Peer {
    pub(crate) fn run(&self) -> Result<()> {
        match self {
            Self::BbbinWrite { file } => write(file),
            Self::BbbinScan { file } => scan(file),
            Self::BbbinStatistics { file } => statistics(file),
            Self::BbbinRange { file } => range(file),
            Self::BytesScan { file } => bytes(file),
        }
    }
}

/// The cases. Those that read do so on the file that the first wrote.
pub(crate) fn cases(setup: &Setup) -> Vec<Case> {
    let file = setup.folder.join("switches.bin");
    let peer = |name: &str| -> CommandLine { setup.peer([name.as_ref(), file.as_os_str()]) };
    let case = |name, ours: &str| Case {
        name,
        ours: peer(ours),
        peers: vec![("bytes alone", peer("bytes-scan"))],
    };
    vec![
        case("bbbin: write 30 M task switches", "bbbin-write"),
        case("bbbin: scan 30 M task switches", "bbbin-scan"),
        case("bbbin: statistics of 30 M task switches", "bbbin-statistics"),
        case("bbbin: open and find a range, 1000 times", "bbbin-range"),
    ]
}

fn write(file: &Path) -> Result<()> {
    let mut definitions = Definitions::default();
    let log_file = definitions.add_log_file("switches.log", "bench");
    let custom_type = definitions.empty_type(log_file);
    let mut out = Destination::new(file, true).file()?;
    let mut writer = Writer::new(&mut out, &definitions.log_files, &definitions.types)?;
    for number in 0..EVENTS {
        let task = |number: i64| ArtifactId(i32::try_from(number % 16).unwrap_or_default() + 1);
        let (in_task, out_task) = (task(number + 1), task(number));
        let body = Body::TaskSwitch { in_task, out_task, in_task_priority: 5 };
        let timestamp = number * STEP_NS;
        writer.write(&Event { timestamp, log_file, body, custom_type, custom: &[] })?;
    }
    writer.finish(&[])?;
    out.commit()?;
    Ok(())
}

fn open(file: &Path) -> Result<std::sync::Arc<Reader>> {
    Ok(Reader::open(&Source::open(file, &Limits::default())?, &Context::default())?)
}

fn scan(file: &Path) -> Result<()> {
    let reader = open(file)?;
    let (mut count, mut sum) = (0, 0_i64);
    for found in reader.events() {
        if let Body::TaskSwitch { in_task, out_task, .. } = found.event.body {
            count += 1;
            sum = sum.wrapping_add(found.event.timestamp + i64::from(in_task.0 - out_task.0));
        }
        ensure!(found.event.custom_type == TypeId(1), "{found:?}");
    }
    // Differences of tasks add up to that of the last and the first.
    let times: i64 = (0..EVENTS).map(|number| number * STEP_NS).sum();
    let tasks = EVENTS % 16;
    ensure!((count, sum) == (EVENTS, times + tasks), "{count} events, {sum}");
    Ok(())
}

fn statistics(file: &Path) -> Result<()> {
    let reader = open(file)?;
    let mut tally = Tally::default();
    for found in reader.events() {
        tally.add(&found.event);
    }
    ensure!(tally.statistics().num_task_switches == EVENTS);
    let found = tally.task_executions();
    let same = |(ours, theirs): (&kymo_bbbin::TaskExecution, &kymo_bbbin::TaskExecution)| {
        ours.task == theirs.task && (ours.task_exec - theirs.task_exec).abs() < 0.01
    };
    ensure!(found.iter().zip(reader.task_executions()).all(same) && found.len() == 16);
    Ok(())
}

fn range(file: &Path) -> Result<()> {
    for number in 0..1000 {
        let from = number * (EVENTS / 1000) * STEP_NS;
        let (from, until) = (Some(TimeNs(from)), Some(TimeNs(from + 10 * STEP_NS)));
        let window = Window { from, until, ..Window::default() };
        ensure!(open(file)?.events_within(&window).count() == 10);
    }
    Ok(())
}

fn bytes(file: &Path) -> Result<()> {
    let mut file = File::open(file)?;
    let mut block = vec![0; 1 << 20];
    let mut sum = 0_u64;
    loop {
        let read = file.read(&mut block)?;
        let Some(filled) = block.get(..read).filter(|filled| !filled.is_empty()) else { break };
        sum +=
            filled.chunks(36).filter_map(|event| event.first()).map(|b| u64::from(*b)).sum::<u64>();
    }
    ensure!(sum < u64::MAX);
    Ok(())
}
