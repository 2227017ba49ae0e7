//! `cargo xtask outputs`: whether commands print of all recordings what they printed before.
//!
//! Of each recording in `testdata` and in the folder of `KYMO_DATA`, checksums of what commands give
//! are in [`KEPT`]. A change of structure leaves them as they are; a change of results is seen, and
//! looked at, recording by recording.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, ensure};
use kymo_core::Source;
use kymo_core::bytes::Limits;

use crate::data;
use crate::repo::{self, Repo};

/// The file with the checksums.
const KEPT: &str = "testdata/outputs.txt";

/// What commands give, by the groups that a checksum is kept of. `-` stands for the recording.
const REPORTS: &[&[&str]] = &[
    &["info", "--json", "-"],
    &["ls", "-l", "--json", "-"],
    &["top", "--json", "-n", "0", "-"],
    &["tree", "--json", "-n", "0", "-"],
    &["threads", "--json", "-"],
    &["trace", "--json", "-"],
    &["load", "--json", "-"],
    &["sched", "--json", "-"],
    &["messages", "--json", "-"],
    &["states", "--json", "-"],
];

/// How outputs are compared.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Keep what commands print now.
    #[arg(long)]
    write: bool,

    /// Compare another program, instead of building this one.
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// Checksums of what commands give of a recording, by the name of the recording.
type KeptChecksums = BTreeMap<String, String>;

/// Compares outputs with those kept, or keeps them.
pub(crate) fn run(repo: &Repo, args: &Args) -> Result<()> {
    let program = if let Some(program) = &args.program {
        program.canonicalize()?
    } else {
        repo::run(&mut repo.cargo(["build", "--release", "-p", "kymo"]))?;
        repo.target("release/kymo")
    };
    let mut roots = vec![("testdata", repo.path("testdata"))];
    roots.extend(data::folder(repo)?.map(|folder| ("data", folder)));
    let mut found = KeptChecksums::new();
    let looked_at: Vec<String> = roots.iter().map(|(name, _)| format!("{name}/")).collect();
    for (name, root) in roots {
        let recordings = recordings(&root)?;
        eprintln!("{name}: {} recordings", recordings.len());
        found.extend(checksums(&program, name, &root, &recordings)?);
    }
    let path = repo.path(KEPT);
    if args.write {
        let lines = found.iter().map(|(name, sums)| format!("{name} {sums}\n"));
        return fs::write(&path, lines.collect::<String>()).context(KEPT);
    }
    let mut kept = read_kept(&path)?;
    kept.retain(|name, _| looked_at.iter().any(|root| name.starts_with(root)));
    compare(&kept, &found)
}

fn read_kept(path: &Path) -> Result<KeptChecksums> {
    let text = fs::read_to_string(path).context(KEPT)?;
    let line = |line: &str| {
        let (name, sums) = line.split_once(' ').with_context(|| format!("{KEPT}: {line}"))?;
        Ok((name.to_owned(), sums.to_owned()))
    };
    text.lines().map(line).collect()
}

/// Prints what differs, and fails where something does.
fn compare(kept: &KeptChecksums, found: &KeptChecksums) -> Result<()> {
    let mut differing = 0;
    let names: BTreeSet<&String> = kept.keys().chain(found.keys()).collect();
    for name in names {
        let sums = |recorded: &KeptChecksums| {
            recorded.get(name).cloned().unwrap_or_else(|| "no recording".to_owned())
        };
        let (before, now) = (sums(kept), sums(found));
        if before != now {
            differing += 1;
            println!("{name}\n  before {before}\n  now    {now}");
        }
    }
    println!("{} recordings compared, {differing} differ", found.len());
    ensure!(differing == 0, "outputs differ; `cargo xtask outputs --write` keeps them as they are");
    Ok(())
}

/// The recordings below a folder, by their paths within it: files and directories that a format
/// claims. What is within such a directory is looked at as well.
fn recordings(root: &Path) -> Result<Vec<PathBuf>> {
    let (mut found, mut pending) = (Vec::new(), vec![root.to_path_buf()]);
    while let Some(path) = pending.pop() {
        let source = Source::open(&path, &Limits::default());
        if path != root && source.is_ok_and(|source| kymo_registry::detect(&source).is_ok()) {
            found.push(path.strip_prefix(root)?.to_path_buf());
        }
        if path.is_dir() {
            for entry in fs::read_dir(&path)? {
                pending.push(entry?.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Runs the commands on all recordings, on all processors.
fn checksums(
    program: &Path,
    name: &str,
    root: &Path,
    recordings: &[PathBuf],
) -> Result<KeptChecksums> {
    let (next, kept) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(path) = recordings.get(next.fetch_add(1, Ordering::Relaxed)) {
            let sums = checksums_of_recording(program, root, path);
            let sums = sums.map(|sums| (format!("{name}/{}", path.display()), sums));
            kept.lock().unwrap_or_else(PoisonError::into_inner).push(sums);
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    kept.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().collect()
}

fn checksums_of_recording(program: &Path, root: &Path, path: &Path) -> Result<String> {
    let sum = |command: &[&str]| checksum(program, root, path, command);
    let (dump, check) = (sum(&["dump", "--json", "-"])?, sum(&["check", "--json", "-"])?);
    let tables = tables(program, root, path)?;
    let mut reports = 0;
    for command in REPORTS {
        reports = crc32fast::hash(format!("{reports:x} {:x}", sum(command)?).as_bytes());
    }
    Ok(format!("dump={dump:08x} tables={tables:08x} reports={reports:08x} check={check:08x}"))
}

/// A checksum of the exit code of a command and of what it prints.
fn checksum(program: &Path, root: &Path, path: &Path, arguments: &[&str]) -> Result<u32> {
    let mut command = Command::new(program);
    for argument in arguments {
        match *argument {
            "-" => command.arg(path),
            argument => command.arg(argument),
        };
    }
    command.env("COLUMNS", "100").env_remove("CLICOLOR_FORCE");
    let output = command.current_dir(root).stdin(Stdio::null()).output()?;
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(format!("{:?}\n", output.status.code()).as_bytes());
    hasher.update(&output.stdout);
    Ok(hasher.finalize())
}

/// A checksum of all tables as CSV.
fn tables(program: &Path, root: &Path, path: &Path) -> Result<u32> {
    let folder = tempfile::tempdir()?;
    let to = folder.path().join("tables");
    let text = to.to_str().context("a temporary folder whose name is no text")?;
    let command = ["convert", "--to", "csv", "--table", "all", "-", text];
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&checksum(program, root, path, &command)?.to_le_bytes());
    let mut written: Vec<_> = match fs::read_dir(&to) {
        Ok(entries) => entries.collect::<std::io::Result<_>>()?,
        // It has no tables, or cannot be read: the exit code says so.
        Err(_) => Vec::new(),
    };
    written.sort_by_key(fs::DirEntry::file_name);
    for entry in written {
        hasher.update(entry.file_name().as_encoded_bytes());
        hasher.update(&fs::read(entry.path())?);
    }
    Ok(hasher.finalize())
}
