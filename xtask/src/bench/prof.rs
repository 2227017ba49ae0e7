//! `kymo prof`: few threads with huge trees, many with small ones, long traces, and two processors
//! against one.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::bench::hpcrun::file::{self, Shape};
use crate::bench::{Case, CommandLine, Setup, command_line};

/// What the table alone does not say.
pub(crate) const NOTES: &str = "\
## kymo prof\n\n\
Measurements are made up: 4 threads of 500,000 nodes and 4 metrics (142 MB), 4,096 threads of 200 \
nodes and 2 metrics, and 8 threads with traces of 5 million records each (480 MB). Each is made \
into a database, as large as the measurement or larger. `cat` reads the measurement and does \
nothing with it. `kymo prof --json` tells how long each phase took.\n";

/// A measurement that is made up.
struct Made {
    name: &'static str,
    threads: u32,
    nodes: u32,
    metrics: u16,
    /// Records of each thread's trace.
    records: u64,
}

const MADE: [Made; 3] = [
    Made { name: "huge", threads: 4, nodes: 500_000, metrics: 4, records: 0 },
    Made { name: "many", threads: 4096, nodes: 200, metrics: 2, records: 0 },
    Made { name: "long", threads: 8, nodes: 4096, metrics: 1, records: 5_000_000 },
];

/// The cases, on measurements that are made when they are not there yet.
pub(crate) fn cases(setup: &Setup) -> Result<Vec<Case>> {
    let names = [
        "prof: 4 threads of 500 k nodes",
        "prof: 4,096 threads of 200 nodes",
        "prof: 8 traces of 5 M records",
    ];
    let mut cases = Vec::new();
    for (made, name) in MADE.iter().zip(names) {
        let input = made.make(&setup.folder)?;
        let output = setup.folder.join(format!("prof-{}-database", made.name));
        let mut peers = vec![
            ("kymo prof -j 1", prof(setup, &input, &output, "1")),
            ("cat > /dev/null", command_line("cat", files(&input)?)),
        ];
        if is_on_path("hpcprof") {
            let args = ["-j".into(), "2".into(), "-O".into(), output.clone(), input.clone()];
            peers.push(("hpcprof -j 2", command_line("hpcprof", args)));
        }
        cases.push(Case { name, items: None, ours: prof(setup, &input, &output, "2"), peers });
    }
    Ok(cases)
}

fn prof(setup: &Setup, input: &Path, output: &Path, jobs: &str) -> CommandLine {
    let words = ["prof", "--quiet", "--force", "-j", jobs, "-o"].map(OsString::from);
    setup.kymo(words.into_iter().chain([output, input].map(OsString::from)))
}

fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    Ok(entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?)
}

impl Made {
    /// A directory of profiles and traces; what is there already is left.
    fn make(&self, folder: &Path) -> Result<PathBuf> {
        let folder = folder.join(format!("prof-{}-measurements", self.name));
        fs::create_dir_all(&folder)?;
        for thread in 0..self.threads {
            let path = folder.join(format!("app-000000-{thread:03}-0-1-0.hpcrun"));
            let shape = Shape { thread, nodes: self.nodes, metrics: self.metrics };
            file::make_profile(&path, shape)?;
            if self.records > 0 {
                let path = path.with_extension("hpctrace");
                file::make_trace(&path, self.records, self.nodes.into())?;
            }
        }
        Ok(folder)
    }
}
