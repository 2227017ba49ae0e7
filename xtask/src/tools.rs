//! What the checks need besides cargo, and how to get it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail, ensure};

use crate::data;
use crate::repo::{self, Repo};

/// Makes sure that rustfmt, clippy, a C++ compiler and what tests compare with are there.
/// What the readers of other tools are, which tests open conversions with.
const READERS: &str = "crates/kymo/tests/readers/requirements.txt";

/// Makes sure that rustfmt, clippy, a C++ compiler and the readers of other tools are there.
pub(crate) fn prepare(repo: &Repo) -> Result<()> {
    for (tool, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        ensure!(
            repo::succeeds(&mut repo.cargo([tool, "--version"])),
            "`cargo {tool}` is missing: run `rustup component add {component}`, or install the \
             package of your system that holds it"
        );
    }
    cpp_compiler()?;
    readers(repo)?;
    Ok(())
}

/// The Python with h5py, netCDF4, zarr and the like; makes it where it is not there yet, or is
/// an older one.
pub(crate) fn readers(repo: &Repo) -> Result<PathBuf> {
    let folder = repo.target("readers");
    let python = folder.join("bin/python");
    let wanted = fs::read_to_string(repo.path(READERS))?;
    let stamp = folder.join("installed.txt");
    if python.exists() && fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(python);
    }
    let venv = |program: &str| {
        let mut command = Command::new(program);
        command.args(["-m", "venv", "--clear"]).arg(&folder);
        command
    };
    if !repo::succeeds(&mut venv("python3")) {
        install("python3-venv", "no Python with venv, which tests read conversions with")?;
        repo::run(&mut venv("python3"))?;
    }
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--requirement"]).arg(repo.path(READERS));
    repo::run(pip.env("PIP_DISABLE_PIP_VERSION_CHECK", "1"))?;
    fs::write(stamp, wanted)?;
    Ok(python)
}

/// Makes sure of the C++ compiler that builds libFuzzer, installing it where that is ours to do.
fn cpp_compiler() -> Result<()> {
    let chosen = env::var_os("CXX");
    let compiler = chosen.clone().unwrap_or_else(|| OsString::from("c++"));
    let package = if chosen.is_none() { Some("g++") } else { None };
    system_tool(&compiler, package, "a C++ compiler, which libFuzzer is built with")?;
    if data::folder(repo)?.is_none() {
        return Ok(());
    }
    let about = "babeltrace2, which traces are compared with";
    system_tool("babeltrace2".as_ref(), Some("babeltrace2"), about)
}

/// Makes sure of a program of the system, installing its package where that is ours to do.
fn system_tool(program: &OsStr, package: Option<&str>, about: &str) -> Result<()> {
    if repo::succeeds(Command::new(program).arg("--version")) {
        return Ok(());
    }
    ensure!(
        chosen.is_none(),
        "no C++ compiler ({}), which libFuzzer is built with: install g++ or clang",
        compiler.display()
    );
    install("g++", "no C++ compiler (c++), which libFuzzer is built with")
}

/// Installs a package of Debian where that is ours to do, else says what is missing.
fn install(package: &str, missing: &str) -> Result<()> {
    let has_apt = repo::succeeds(Command::new("apt-get").arg("--version"));
    let package = package.filter(|_| has_apt && nix::unistd::Uid::effective().is_root());
    let Some(package) = package else {
        bail!("{} is missing: {about}; install it", program.display());
    };
    if !has_apt || !nix::unistd::Uid::effective().is_root() {
        bail!("{missing}: install {package}");
    }
    repo::run(Command::new("apt-get").args(["update", "--quiet"]))?;
    repo::run(
        Command::new("apt-get")
            .args(["install", "--quiet", "--yes", "--no-install-recommends", package])
            .env("DEBIAN_FRONTEND", "noninteractive"),
    )
}
