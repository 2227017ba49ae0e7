//! `kymo prof`: few threads with huge trees, many with small ones, long traces, structure files,
//! and two processors against one.

mod instructions;
mod measured;
mod phases;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::bench::hpcrun::file::{self, Shape};
use crate::bench::{Case, CommandLine, Setup, command_line};
pub(crate) use instructions::run as count_instructions;
pub(crate) use phases::table as phases;

/// What the table alone does not say.
pub(crate) const NOTES: &str = "\
## kymo prof\n\n\
Three measurements are made up: 4 threads of 500,000 nodes and 4 metrics (142 MB), 4,096 threads of \
200 nodes and 2 metrics, and 8 threads with traces of 5 million records each (480 MB). The fourth is \
a real one of 64 threads with structure files of 16 MB, which is there where `KYMO_DATA` is. Each is \
made into a database, as large as the measurement or larger. `cat` reads the measurement and does \
nothing with it. hpcprof runs beside ours where it is on the path. Where it is not, this is what is \
known of it: 26 s and 4 GB for a measurement of a compiler of 24 MB with 2.1 million contexts (8 GB \
with structure files), on another machine; and how many instructions it executes, which \
`cargo xtask bench prof --instructions` compares ours with ([prof.md](prof.md#what-it-takes)). The \
second table says what the seconds of a clock go to.\n";

/// A measurement that is made up.
struct MadeMeasurement {
    name: &'static str,
    threads: u32,
    nodes: u32,
    metrics: u16,
    /// Records of each thread's trace.
    records: u64,
}

const MADE: [MadeMeasurement; 3] = [
    MadeMeasurement { name: "huge", threads: 4, nodes: 500_000, metrics: 4, records: 0 },
    MadeMeasurement { name: "many", threads: 4096, nodes: 200, metrics: 2, records: 0 },
    MadeMeasurement { name: "long", threads: 8, nodes: 4096, metrics: 1, records: 5_000_000 },
];

/// A measurement, and what its case is called.
struct Input {
    case: &'static str,
    path: PathBuf,
}

impl Input {
    /// The measurements, which are made when they are not there yet.
    fn all(setup: &Setup) -> Result<Vec<Self>> {
        let names = [
            "prof: 4 threads of 500 k nodes",
            "prof: 4,096 threads of 200 nodes",
            "prof: 8 traces of 5 M records",
        ];
        let mut inputs = Vec::new();
        for (made, case) in MADE.iter().zip(names).filter(|(_, case)| setup.includes(case)) {
            inputs.push(Self { case, path: made.make(&setup.folder)? });
        }
        let case = "prof: 64 threads with structure";
        if let Some(path) = measured::copied(setup, "matmul-omp-64", true)? {
            inputs.extend(setup.includes(case).then_some(Self { case, path }));
        }
        Ok(inputs)
    }

    /// Ours with so many processors.
    fn ours(&self, setup: &Setup, jobs: &str, how: &str) -> CommandLine {
        let words = ["prof", how, "--force", "-j", jobs, "-o"].map(OsString::from);
        let output = setup.outputs().join("database");
        setup.kymo(words.into_iter().chain([output.into_os_string(), self.path.clone().into()]))
    }

    /// The files of the measurement.
    fn files(&self) -> Result<Vec<PathBuf>> {
        let entries = fs::read_dir(&self.path).with_context(|| self.path.display().to_string())?;
        let paths = entries.map(|entry| entry.map(|entry| entry.path()));
        let paths = paths.collect::<Result<Vec<_>, _>>()?;
        Ok(paths.into_iter().filter(|path| path.is_file()).collect())
    }
}

/// The cases: ours on two processors against one, against reading alone, and against hpcprof.
pub(crate) fn cases(setup: &Setup) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    for input in Input::all(setup)? {
        let mut peers = vec![
            ("kymo prof -j 1", input.ours(setup, "1", "--quiet")),
            ("cat > /dev/null", command_line("cat", input.files()?)),
        ];
        if is_on_path("hpcprof") {
            let output = setup.outputs().join("database");
            let args = ["-j".into(), "2".into(), "-O".into(), output, input.path.clone()];
            peers.push(("hpcprof -j 2", command_line("hpcprof", args)));
        }
        let ours = input.ours(setup, "2", "--quiet");
        cases.push(Case { name: input.case, items: None, ours, peers });
    }
    Ok(cases)
}

fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

impl MadeMeasurement {
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
