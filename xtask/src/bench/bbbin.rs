//! BBBin: a log of a hundred million task switches; CTF: the largest trace there is.

mod file;
mod inside;

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::bench::{Case, Setup, command_line};

/// What the table alone does not say.
pub(crate) const NOTES: &str = "\
## BBBin and CTF\n\n\
The log has 100 million TASK_SWITCH events of 36 bytes in 100,000 blocks, 3.6 GB. A full scan \
decodes every event on one thread; `check` reads every event and works out index, task executions \
and statistics again; `load` goes through the timeline. A range of time is found through the index: \
ten events in the middle, by a program that starts for it, and a hundred thousand times by one that \
has the log open, at 64 places that follow no order. The file is in the page cache as far as it \
fits. The CTF trace is `many-threads`, 240,644 events; babeltrace2 counts the same events with its \
own sink, and the ratio that matters is that of CPU time. Both decode all events; `info` and `ls` \
also tell what they found, and print no event.\n";

/// Ours where it is no program.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Peer {
    /// Decode every event.
    BbbinScan { file: PathBuf },
    /// Open a log and find events by time, so many times.
    BbbinLookup { file: PathBuf, lookups: u32 },
}

impl Peer {
    pub(crate) fn run(&self) -> Result<()> {
        match self {
            Self::BbbinScan { file } => inside::scan(file),
            Self::BbbinLookup { file, lookups } => inside::time_lookups(file, *lookups),
        }
    }
}

/// The cases, on files that are made when they are not there yet.
pub(crate) fn cases(setup: &Setup) -> Result<Vec<Case>> {
    let log = setup.folder.join("switches.bbbin");
    file::make(&log)?;
    let mut cases = log_cases(setup, &log);
    let trace = crate::data::folder(&setup.repo)?.map(|data| data.join("traces/ctf/many-threads"));
    if let Some(trace) = trace.filter(|trace| trace.exists()) {
        cases.extend(trace_cases(setup, &trace));
    }
    Ok(cases)
}

fn log_cases(setup: &Setup, log: &Path) -> Vec<Case> {
    let items = Some((100_000_000, "events"));
    let cat = || vec![("cat > /dev/null", command_line("cat", [log]))];
    let lookups = |count: u32| {
        let count = count.to_string();
        setup.peer(["bbbin-lookup".as_ref(), log.as_os_str(), count.as_ref()])
    };
    let range = ["dump", "--since", "5000s", "--until", "5000.001s"].map(AsRef::as_ref);
    vec![
        Case {
            name: "BBBin: full scan of 100 M switches, 3.6 GB",
            items,
            ours: setup.peer(["bbbin-scan".as_ref(), log.as_os_str()]),
            peers: cat(),
        },
        Case {
            name: "BBBin: check of 100 M switches",
            items,
            ours: setup.kymo(["check".as_ref(), log.as_os_str()]),
            peers: cat(),
        },
        Case {
            name: "BBBin: load over 100 M switches",
            items,
            ours: setup.kymo(["load".as_ref(), log.as_os_str()]),
            peers: cat(),
        },
        Case {
            name: "BBBin: ten events of 100 M by time",
            items: None,
            ours: setup.kymo(range.into_iter().chain([log.as_os_str()])),
            peers: vec![("kymo --version", setup.kymo(["--version"]))],
        },
        Case {
            name: "BBBin: ten events of 100 M by time, again and again",
            items: Some((inside::LOOKUPS, "lookups")),
            ours: lookups(inside::LOOKUPS),
            peers: vec![("the same without a lookup", lookups(0))],
        },
    ]
}

fn trace_cases(setup: &Setup, trace: &Path) -> Vec<Case> {
    let case = |name, command: &[&str]| {
        let counter = [trace.as_os_str(), "-c".as_ref(), "sink.utils.counter".as_ref()];
        let args = command.iter().map(AsRef::as_ref).chain([trace.as_os_str()]);
        Case {
            name,
            items: Some((240_644, "events")),
            ours: setup.kymo(args),
            peers: vec![("babeltrace2, counting", command_line("babeltrace2", counter))],
        }
    };
    vec![
        case("CTF: check of 240,644 events", &["check"]),
        case("CTF: info of 240,644 events", &["info"]),
        case("CTF: ls of 240,644 events", &["ls"]),
    ]
}
