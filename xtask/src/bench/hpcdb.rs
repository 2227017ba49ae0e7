//! HPCToolkit databases: the largest real one, and made ones of up to 3 GB, against Hatchet.

mod database;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::bench::{Case, CommandLine, Setup, command_line};
use crate::readers;
use crate::repo::Repo;
use database::Shape;

/// What the table alone does not say.
pub(crate) const NOTES: &str = "\
## HPCToolkit databases\n\n\
The largest real database is `deep`, 1.6 MB, in which functions call each other hundreds of levels \
deep: Hatchet ends on it with a `RecursionError`. The largest that Hatchet opens is `lmp-openmp`, \
1.2 MB. The others are made, with 32 threads, one metric in up to four scopes, and a trace of each \
thread: 70 MB are 18,000 contexts, 350 MB are 90,000, 3 GB are 850,000; one has 32 metrics instead, \
of 9,000 contexts and 8 threads, of which `top` shows one. There are half as many functions as contexts, each with a name \
of its own, so that memory that grows with names is seen. `top` reads the tree and the summary over all threads. \
Hatchet is measured as `GraphFrame.from_hpctoolkit_latest`, and its import alone; it is given none \
of 3 GB, which it has no memory for. The work is not alike: Hatchet makes a table of all contexts \
and metrics in memory, and `top` reads what it shows. What its import takes is Python's start, with \
which it begins. Opening is measured as `kymo ls`, which opens a database and \
lists its tables. Files are in the page cache as far as they fit.\n";

/// The version of Hatchet.
const REQUIREMENTS: &str = "xtask/src/bench/hpcdb/requirements.txt";

const IMPORT: &str = "import hatchet";
const LOAD: &str = "import sys, hatchet; hatchet.GraphFrame.from_hpctoolkit_latest(sys.argv[1])";

const THREADS: u32 = 32;

/// The largest real database. Hatchet ends on it with a `RecursionError`.
const LARGEST: &str = "made-here/deep/database.struct";
const LARGEST_OF_HATCHET: &str = "databases/lmp-openmp";

/// The databases that are made.
const MADE: [(&str, Shape); 3] = [
    ("70 MB", made(18_000, 50_000)),
    ("350 MB", made(90_000, 250_000)),
    ("3 GB", made(850_000, 1_500_000)),
];

/// One with many metrics: of each context there are 32 values, of which `top` wants one.
const MANY_METRICS: Shape =
    Shape { contexts: 9_000, profiles: 8, metrics: 32, functions: 4_500, samples: 0 };

const fn made(contexts: u32, samples: u32) -> Shape {
    // Functions and lines take turns: each function that is called is another.
    let functions = contexts / 2;
    Shape { contexts, profiles: THREADS, metrics: 1, functions, samples }
}

/// What stands beside the cases.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Peer {
    /// Make a database of any size.
    MakeHpcdb {
        /// Where.
        path: PathBuf,

        #[command(flatten)]
        shape: Shape,
    },
}

impl Peer {
    pub(crate) fn run(&self) -> Result<()> {
        let Self::MakeHpcdb { path, shape } = self;
        database::make(path, *shape)
    }
}

/// The cases that are wanted, on databases that are made when they are not there yet.
pub(crate) fn cases(setup: &Setup) -> Result<Vec<Case>> {
    let mut cases = Vec::new();
    let repo = &setup.repo;
    let data = crate::data::folder(repo)?.map(|data| data.join("hpctoolkit"));
    let real = |name, path| {
        let path = data.as_ref().map(|data| data.join(path));
        path.filter(|path| path.exists() && setup.includes(name))
    };
    let name = "hpcdb: top of the largest real database";
    if let Some(path) = real(name, LARGEST) {
        cases.push(top(setup, name, &path, cat(&path)));
    }
    let name = "hpcdb: top of the largest that Hatchet opens";
    if let Some(path) = real(name, LARGEST_OF_HATCHET) {
        cases.push(top(setup, name, &path, hatchet(repo, &path)?));
    }
    let name = "hpcdb: top of 32 metrics";
    if setup.includes(name) {
        let path = setup.folder.join("32-metrics");
        database::make(&path, MANY_METRICS)?;
        cases.push(top(setup, name, &path, hatchet(repo, &path)?));
    }
    let [small, middle, large] = MADE.map(|(size, _)| setup.folder.join(size.replace(' ', "-")));
    for (name, path, (_, shape)) in
        [("hpcdb: top of 70 MB", &small, MADE[0]), ("hpcdb: top of 350 MB", &middle, MADE[1])]
    {
        if setup.includes(name) {
            database::make(path, shape)?;
            cases.push(top(setup, name, path, hatchet(repo, path)?));
        }
    }
    let name = "hpcdb: top of 3 GB";
    if setup.includes(name) {
        database::make(&large, MADE[2].1)?;
        cases.push(top(setup, name, &large, cat(&large)));
    }
    let name = "hpcdb: open 3 GB";
    if setup.includes(name) {
        database::make(&small, MADE[0].1)?;
        database::make(&large, MADE[2].1)?;
        let open = |path: &Path| setup.kymo(["ls".as_ref(), path.as_os_str()]);
        cases.push(Case {
            name,
            items: None,
            ours: open(&large),
            peers: vec![("kymo, 70 MB", open(&small))],
        });
    }
    Ok(cases)
}

fn top(
    setup: &Setup,
    name: &'static str,
    path: &Path,
    peers: Vec<(&'static str, CommandLine)>,
) -> Case {
    Case { name, items: None, ours: setup.kymo(["top".as_ref(), path.as_os_str()]), peers }
}

/// Reading the bytes that `top` is made of, and doing nothing with them.
fn cat(path: &Path) -> Vec<(&'static str, CommandLine)> {
    let files = ["meta.db", "profile.db"].map(|file| path.join(file));
    vec![("cat meta.db profile.db", command_line("cat", files))]
}

/// Hatchet with a database, and without.
fn hatchet(repo: &Repo, path: &Path) -> Result<Vec<(&'static str, CommandLine)>> {
    let python = readers::python(repo, "hatchet", REQUIREMENTS)?;
    let run = |code: &str, path: Option<&Path>| {
        let arguments = [OsStr::new("-c"), code.as_ref()].into_iter();
        command_line(&python, arguments.chain(path.map(Path::as_os_str)))
    };
    Ok(vec![("Hatchet, load", run(LOAD, Some(path))), ("Hatchet, import alone", run(IMPORT, None))])
}
