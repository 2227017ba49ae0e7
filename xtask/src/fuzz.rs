//! `cargo xtask fuzz`: libFuzzer on every format, with the stable toolchain and nothing installed.
//!
//! There is one fuzz target, `fuzz/targets/format.rs`; the variable `KYMO_FORMAT` tells it which
//! format of the registry to feed. So a new format is fuzzed as soon as it is in the registry. It
//! also feeds programs that addresses are looked up in, as `symbols`, files whose arrays are
//! converted, as `arrays`, and profiles that a database is made of, as `prof`.
//! The instrumented build has a target directory of its own, since its flags differ.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use kymo_conformance::Folder;

use crate::repo::{self, Repo};

/// What is fed and no format, and where its seeds are in `testdata`: programs that tell of
/// addresses, files whose arrays are converted to everything, and profiles with structure files
/// behind them, which databases are made of.
const OTHERS: [(&str, &str); 3] = [("symbols", "symbols"), ("arrays", "bp"), ("prof", "prof")];

/// Inputs longer than this are neither taken as seeds nor made.
const INPUT_BYTES_MAX: u64 = 65_536;

/// What libFuzzer's coverage needs of the compiler. All of it is stable; address sanitizing would
/// not be, and the code under test has no `unsafe`.
const COVERAGE_FLAGS: [&str; 7] = [
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
];

/// Optimised, but with every check of a debug build and line numbers in backtraces.
const PROFILE: [&str; 4] = [
    "profile.release.debug-assertions=true",
    "profile.release.overflow-checks=true",
    "profile.release.debug='line-tables-only'",
    "profile.release.lto='off'",
];

/// What to fuzz, and for how long.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Formats to fuzz; all of the registry when none is named.
    #[arg(value_name = "FORMAT")]
    formats: Vec<String>,

    /// How long to fuzz each format.
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u32,

    /// What the inputs that are made depend on; 0 for others in each run.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u32,
}

impl Args {
    /// Every format, each for so many seconds, with the same inputs in each run: what fails then
    /// fails by the change and not by chance.
    pub(crate) fn all(seconds: u32) -> Self {
        Self { formats: Vec::new(), seconds, seed: 1 }
    }
}

/// Fuzzes each format in turn; the first that fails ends it.
pub(crate) fn run(repo: &Repo, args: &Args) -> Result<()> {
    let formats = choose(&args.formats)?;
    let binary = build(repo)?;
    for format in formats {
        fuzz(repo, &binary, format, args)?;
    }
    Ok(())
}

/// The names of the formats to fuzz, as the registry spells them.
fn choose(wanted: &[String]) -> Result<Vec<&'static str>> {
    let known = kymo_registry::formats().iter().map(|format| format.info().name);
    let known: Vec<_> = known.chain(OTHERS.map(|(name, _)| name)).collect();
    for name in wanted {
        ensure!(
            known.contains(&name.as_str()),
            "no format `{name}`; the registry has {}",
            known.join(", ")
        );
    }
    let is_wanted = |name: &&str| wanted.is_empty() || wanted.iter().any(|wanted| wanted == name);
    Ok(known.into_iter().filter(is_wanted).collect())
}

/// Builds the fuzz target and says where it is.
fn build(repo: &Repo) -> Result<PathBuf> {
    let folder = repo.target("fuzz");
    let host = host()?;
    let mut command = repo.cargo(["build", "--release", "--package", "kymo-fuzz"]);
    // With a target named, the flags go to what is fuzzed and not to build scripts.
    command.args(["--bin", "format", "--target", &host]).arg("--target-dir").arg(&folder);
    for setting in PROFILE {
        command.args(["--config", setting]);
    }
    let flags = env::var("RUSTFLAGS").unwrap_or_default();
    command.env("RUSTFLAGS", format!("{flags} {}", COVERAGE_FLAGS.join(" ")).trim());
    repo::run(&mut command)?;
    Ok(folder.join(host).join("release/format"))
}

/// The machine that the toolchain builds for unless told otherwise.
fn host() -> Result<String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = repo::output(Command::new(rustc).arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV names no host")?.to_owned())
}

/// Fuzzes one format from its seeds. What libFuzzer says goes to a file, and is shown on failure.
fn fuzz(repo: &Repo, binary: &Path, format: &str, args: &Args) -> Result<()> {
    let Args { seconds, seed, .. } = args;
    let folder = |kind| repo.target(&format!("fuzz/{kind}/{format}"));
    let (corpus, seeds, artifacts) = (folder("corpus"), folder("seeds"), folder("artifacts"));
    for folder in [&corpus, &artifacts] {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let from = OTHERS.iter().find(|(name, _)| *name == format).map_or(format, |(_, from)| from);
    let count = flatten(&repo.path(&format!("testdata/{from}")), &seeds)?;
    eprintln!("fuzzing {format} from {count} seeds for {seconds} s");
    let log = folder("artifacts").join("log.txt");
    let mut command = Command::new(binary);
    command.arg(&corpus).arg(&seeds).env("KYMO_FORMAT", format).args([
        format!("-max_total_time={seconds}"),
        format!("-seed={seed}"),
        format!("-max_len={INPUT_BYTES_MAX}"),
        format!("-artifact_prefix={}/", artifacts.display()),
        "-rss_limit_mb=1024".to_owned(),
        "-timeout=10".to_owned(),
        "-print_final_stats=1".to_owned(),
    ]);
    let status = command.stdout(Stdio::null()).stderr(File::create(&log)?).status()?;
    let said = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
    if !status.success() {
        let is_progress = |line: &&str| line.starts_with('#') || line.starts_with("\tNEW_FUNC");
        said.lines().filter(|line| !is_progress(line)).for_each(|line| eprintln!("{line}"));
        let input = text_after(&said, "Test unit written to ").unwrap_or("FILE");
        let binary = binary.display();
        bail!("fuzzing {format} found a failure; again:\n  KYMO_FORMAT={format} {binary} {input}");
    }
    let runs = text_after(&said, "stat::number_of_executed_units:").unwrap_or("?");
    println!("{format}: {} runs, no failure", runs.trim());
    Ok(())
}

/// What follows `mark` in the line that has it.
fn text_after<'a>(text: &'a str, mark: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.split_once(mark)).map(|(_, after)| after)
}

/// Copies every small recording below `from` into the folder `to`, which is emptied first, and
/// counts them. A file's path becomes its name, so that files of the same name do not meet. A
/// folder of several recordings is one more, as a whole.
fn flatten(from: &Path, to: &Path) -> Result<usize> {
    if to.exists() {
        fs::remove_dir_all(to).with_context(|| to.display().to_string())?;
    }
    fs::create_dir_all(to).with_context(|| to.display().to_string())?;
    let mut folders = if from.is_dir() { vec![from.to_path_buf()] } else { Vec::new() };
    let mut count = 0;
    while let Some(folder) = folders.pop() {
        let before = count;
        for entry in fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if is_seed(&path)? {
                let relative = path.strip_prefix(from)?.to_string_lossy().replace('/', "-");
                fs::copy(&path, to.join(relative)).with_context(|| path.display().to_string())?;
                count += 1;
            }
        }
        let packed = if count > before + 1 { Folder::read(&folder).packed() } else { Vec::new() };
        if !packed.is_empty() && packed.len() as u64 <= INPUT_BYTES_MAX {
            let relative = folder.strip_prefix(from)?.to_string_lossy().replace('/', "-");
            fs::write(to.join(format!("{relative}-folder")), packed)?;
            count += 1;
        }
    }
    Ok(count)
}

/// Returns true if a file is a small recording, and no text about recordings.
fn is_seed(path: &Path) -> Result<bool> {
    let is_text = ["json", "md", "txt"].iter().any(|text| path.extension() == Some(text.as_ref()));
    Ok(!is_text && path.metadata()?.len() <= INPUT_BYTES_MAX)
}
