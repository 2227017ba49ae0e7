//! What the checks need besides cargo, and how to get it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::process::Command;

use anyhow::{Result, bail, ensure};

use crate::repo::{self, Repo};
use crate::{data, readers};

/// Makes sure that rustfmt, clippy, a C++ compiler and what tests compare with are there.
pub(crate) fn prepare(repo: &Repo) -> Result<()> {
    for (tool, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        ensure!(
            repo::succeeds(&mut repo.cargo([tool, "--version"])),
            "`cargo {tool}` is missing: run `rustup component add {component}`, or install the \
             package of your system that holds it"
        );
    }
    let chosen = env::var_os("CXX");
    let compiler = chosen.clone().unwrap_or_else(|| OsString::from("c++"));
    let package = if chosen.is_none() { Some("g++") } else { None };
    system_tool(&compiler, package, "a C++ compiler, which libFuzzer is built with")?;
    readers::prepare(repo)?;
    for (program, package) in [("h5dump", "hdf5-tools"), ("ncdump", "netcdf-bin")] {
        system_tool(program.as_ref(), Some(package), "conversions are read with it")?;
    }
    if data::folder(repo)?.is_none() {
        return Ok(());
    }
    let about = "babeltrace2, which traces are compared with";
    system_tool("babeltrace2".as_ref(), Some("babeltrace2"), about)
}

/// Makes sure of a program of the system, installing its package where that is ours to do.
fn system_tool(program: &OsStr, package: Option<&str>, about: &str) -> Result<()> {
    if repo::succeeds(Command::new("sh").args(["-c", "command -v \"$0\""]).arg(program)) {
        return Ok(());
    }
    install(package, &format!("{} is missing: {about}; install it", program.display()))
}

/// Installs a package of Debian where that is ours to do, else says what is missing.
pub(crate) fn install(package: Option<&str>, missing: &str) -> Result<()> {
    let has_apt = repo::succeeds(Command::new("apt-get").arg("--version"));
    let package = package.filter(|_| has_apt && nix::unistd::Uid::effective().is_root());
    let Some(package) = package else {
        bail!("{missing}");
    };
    repo::run(Command::new("apt-get").args(["update", "--quiet"]))?;
    repo::run(
        Command::new("apt-get")
            .args(["install", "--quiet", "--yes", "--no-install-recommends", package])
            .env("DEBIAN_FRONTEND", "noninteractive"),
    )
}
