//! What the checks need besides cargo, and how to get it.

use std::env;
use std::ffi::OsString;
use std::process::Command;

use anyhow::{Result, bail, ensure};

use crate::repo::{self, Repo};

/// Makes sure that rustfmt, clippy and a C++ compiler are there.
pub(crate) fn prepare(repo: &Repo) -> Result<()> {
    for (tool, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        ensure!(
            repo::succeeds(&mut repo.cargo([tool, "--version"])),
            "`cargo {tool}` is missing: run `rustup component add {component}`, or install the \
             package of your system that holds it"
        );
    }
    cpp_compiler()
}

/// Makes sure of the C++ compiler that builds libFuzzer, installing it where that is ours to do.
fn cpp_compiler() -> Result<()> {
    let chosen = env::var_os("CXX");
    let compiler = chosen.clone().unwrap_or_else(|| OsString::from("c++"));
    if repo::succeeds(Command::new(&compiler).arg("--version")) {
        return Ok(());
    }
    let has_apt = repo::succeeds(Command::new("apt-get").arg("--version"));
    if chosen.is_some() || !has_apt || !nix::unistd::Uid::effective().is_root() {
        bail!(
            "no C++ compiler ({}), which libFuzzer is built with: install g++ or clang",
            compiler.display()
        );
    }
    repo::run(Command::new("apt-get").args(["update", "--quiet"]))?;
    repo::run(
        Command::new("apt-get")
            .args(["install", "--quiet", "--yes", "--no-install-recommends", "g++"])
            .env("DEBIAN_FRONTEND", "noninteractive"),
    )
}
