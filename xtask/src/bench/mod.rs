//! `cargo xtask bench`: ours against peers and physical limits, in one go on one machine.
//!
//! A case is a command line of ours and those it is compared with. All are started the same way,
//! by `xtask measure`, in turn and several times, so that what else the machine does meets each of
//! them alike. Times are medians; memory is the most of any run. A peer that is no program, such
//! as "read these bytes and do nothing with them", is a function here, run as `xtask peer`.

mod arrays;
mod bbbin;
mod bp;
mod hpcdb;
mod hpcrun;
pub(crate) mod measure;
mod prof;
mod report;
mod rtc;

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use clap::builder::PossibleValuesParser;

use crate::bench::measure::Measurement;
use crate::repo::{self, Repo};

/// Which cases to run, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which groups to run; all when none is named.
    #[arg(value_name = "GROUP", value_parser = group_names())]
    groups: Vec<String>,

    /// Run only cases whose name contains this.
    #[arg(long, value_name = "PART OF A NAME")]
    case: Option<String>,

    /// How often to run each command.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: u32,

    /// Keep the tables in docs/benchmarks.md; groups that did not run stay as they are there.
    #[arg(long, conflicts_with = "case")]
    write: bool,

    /// Count the instructions of `kymo prof` against those of hpcprof instead, by callgrind. Fails
    /// where ours are more than a fifth.
    #[arg(long, conflicts_with_all = ["write", "case"])]
    instructions: bool,
}

impl Args {
    fn wants_group(&self, group: &Group) -> bool {
        self.groups.is_empty() || self.groups.iter().any(|name| name == group.name)
    }
}

/// Cases that are run together, and have a section of the page.
struct Group {
    name: &'static str,
    /// The section: its heading, and what the table alone does not say.
    notes: &'static str,
    cases: fn(&Setup) -> Result<Vec<Case>>,
    /// What else is measured, as a table of its own; takes how often to do so.
    more: Option<fn(&Setup, u32) -> Result<String>>,
}

impl Group {
    const fn new(
        name: &'static str,
        notes: &'static str,
        cases: fn(&Setup) -> Result<Vec<Case>>,
    ) -> Self {
        Self { name, notes, cases, more: None }
    }
}

/// Every group, in the order of the page.
const GROUPS: &[Group] = &[
    Group::new("bp", bp::NOTES, bp::cases),
    Group::new("rtc", rtc::NOTES, rtc::cases),
    Group::new("hpcrun", hpcrun::NOTES, hpcrun::cases),
    Group::new("hpcdb", hpcdb::NOTES, hpcdb::cases),
    Group { more: Some(prof::phases), ..Group::new("prof", prof::NOTES, prof::cases) },
    Group::new("bbbin", bbbin::NOTES, bbbin::cases),
    Group::new("arrays", arrays::NOTES, arrays::cases),
];

fn group_names() -> PossibleValuesParser {
    PossibleValuesParser::new(GROUPS.iter().map(|group| group.name))
}

/// Which peer to be.
#[derive(Debug, clap::Args)]
pub(crate) struct PeerArgs {
    #[command(subcommand)]
    peer: Peer,
}

/// Every peer of every format.
#[derive(Debug, clap::Subcommand)]
enum Peer {
    #[command(flatten)]
    Bp(bp::Peer),
    #[command(flatten)]
    Rtc(rtc::Peer),
    #[command(flatten)]
    Hpcrun(hpcrun::Peer),
    #[command(flatten)]
    Hpcdb(hpcdb::Peer),
    #[command(flatten)]
    Bbbin(bbbin::Peer),
}

/// What ours does, and what it is compared with.
#[derive(Debug)]
struct Case {
    name: &'static str,
    /// How many of what ours goes through, where it is to be said how many that is in a second of
    /// the processor.
    items: Option<(u32, &'static str)>,
    ours: CommandLine,
    peers: Vec<(&'static str, CommandLine)>,
}

/// A program and its arguments.
type CommandLine = Vec<OsString>;

/// What one command of a case took.
#[derive(Debug)]
struct Row {
    case: &'static str,
    items: Option<(u32, &'static str)>,
    ours: Measurement,
    peer: &'static str,
    theirs: Measurement,
}

/// The programs of a run, and where its files go.
#[derive(Debug)]
struct Setup {
    kymo: PathBuf,
    xtask: PathBuf,
    folder: PathBuf,
    /// Part of the names of the cases to run.
    case: Option<String>,
    repo: Repo,
}

impl Setup {
    /// Returns true if the case of this name is to run.
    fn includes(&self, name: &str) -> bool {
        self.case.as_ref().is_none_or(|part| name.contains(part.as_str()))
    }

    /// Where commands write what is not there when they begin: whoever replaces a file would take
    /// the memory of the old one, or not, before it is written.
    fn outputs(&self) -> PathBuf {
        self.folder.join("out")
    }

    /// `kymo` with these arguments.
    fn kymo<I: Into<OsString>>(&self, args: impl IntoIterator<Item = I>) -> CommandLine {
        command_line(&self.kymo, args)
    }

    /// A peer of ours with these arguments.
    fn peer<I: Into<OsString>>(&self, args: impl IntoIterator<Item = I>) -> CommandLine {
        let args = args.into_iter().map(Into::into);
        command_line(&self.xtask, std::iter::once(OsString::from("peer")).chain(args))
    }
}

/// A program with these arguments.
fn command_line<I: Into<OsString>>(
    program: impl Into<OsString>,
    args: impl IntoIterator<Item = I>,
) -> CommandLine {
    std::iter::once(program.into()).chain(args.into_iter().map(Into::into)).collect()
}

/// Runs the groups and prints a table of each.
pub(crate) fn run(repo: Repo, args: &Args) -> Result<()> {
    repo::run(&mut repo.cargo(["build", "--release", "--package", "kymo", "--package", "xtask"]))?;
    let setup = Setup {
        kymo: repo.target("release/kymo"),
        xtask: repo.target("release/xtask"),
        folder: repo.target("bench"),
        case: args.case.clone(),
        repo,
    };
    fs::create_dir_all(&setup.folder)?;
    if args.instructions {
        return prof::count_instructions(&setup);
    }
    let path = setup.repo.path("docs/benchmarks.md");
    let mut is_any = false;
    for group in GROUPS.iter().filter(|group| args.wants_group(group)) {
        let rows = run_group(&setup, group, args.repetitions)?;
        if rows.is_empty() {
            continue;
        }
        is_any = true;
        let mut table = report::table(&rows);
        if let Some(more) = group.more {
            table.push_str(&more(&setup, args.repetitions)?);
        }
        println!("{table}");
        if args.write {
            // After each group, so that an interrupted run keeps what it measured.
            let section = report::section(group.notes, &table, args.repetitions)?;
            let page = report::renew(&fs::read_to_string(&path).unwrap_or_default(), &section);
            fs::write(&path, page).with_context(|| path.display().to_string())?;
            eprintln!("wrote the section of {} in docs/benchmarks.md", group.name);
        }
    }
    ensure!(is_any, "no case has that in its name");
    Ok(())
}

fn run_group(setup: &Setup, group: &Group, repetitions: u32) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for case in (group.cases)(setup)?.iter().filter(|case| setup.includes(case.name)) {
        rows.extend(run_case(setup, case, repetitions)?);
    }
    Ok(rows)
}

/// Does what a peer does.
pub(crate) fn run_peer(args: &PeerArgs) -> Result<()> {
    match &args.peer {
        Peer::Bp(peer) => peer.run(),
        Peer::Rtc(peer) => peer.run(),
        Peer::Hpcrun(peer) => peer.run(),
        Peer::Hpcdb(peer) => peer.run(),
        Peer::Bbbin(peer) => peer.run(),
    }
}

/// Runs ours and every peer in turn, `repetitions` times after a first round that is not counted.
fn run_case(setup: &Setup, case: &Case, repetitions: u32) -> Result<Vec<Row>> {
    eprintln!("{}", case.name);
    let peers = case.peers.iter().map(|(_, command)| command);
    let commands: Vec<_> = std::iter::once(&case.ours).chain(peers).collect();
    let mut runs: Vec<Vec<Measurement>> = commands.iter().map(|_| Vec::new()).collect();
    for round in 0..=repetitions {
        for (command, runs) in commands.iter().zip(&mut runs) {
            let measured = measure(setup, command).with_context(|| case.name)?;
            if round > 0 {
                runs.push(measured);
            }
        }
    }
    let mut medians = runs.iter().map(|runs| Measurement::median(runs));
    let ours = medians.next().context("a case without a command")?;
    let rows = case.peers.iter().zip(medians).map(|((peer, _), theirs)| Row {
        case: case.name,
        items: case.items,
        ours: ours.clone(),
        peer,
        theirs,
    });
    Ok(rows.collect())
}

fn measure(setup: &Setup, command: &CommandLine) -> Result<Measurement> {
    let outputs = setup.outputs();
    if outputs.exists() {
        fs::remove_dir_all(&outputs)?;
    }
    fs::create_dir(&outputs)?;
    let json = repo::output(Command::new(&setup.xtask).args(["measure", "--"]).args(command))?;
    serde_json::from_str(&json).context("`xtask measure` printed something unknown")
}
