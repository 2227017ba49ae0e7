//! The readers of other tools that tests open conversions with: a Python of their own.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::repo::{self, Repo};
use crate::tools;

/// What they are, each with its version.
const REQUIREMENTS: &str = "crates/kymo/tests/readers/requirements.txt";

/// The Python with h5py, netCDF4, zarr and the like.
pub(crate) fn prepare(repo: &Repo) -> Result<PathBuf> {
    python(repo, "readers", REQUIREMENTS)
}

/// A Python with what a file lists, in a folder of `target`. It is made where it is not there
/// yet, or has other versions.
pub(crate) fn python(repo: &Repo, folder: &str, requirements: &str) -> Result<PathBuf> {
    let folder = repo.target(folder);
    let python = folder.join("bin/python");
    let wanted = fs::read_to_string(repo.path(requirements))?;
    let stamp = folder.join("installed.txt");
    if python.exists() && fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(python);
    }
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv", "--clear"]).arg(&folder);
    if !repo::succeeds(&mut venv) {
        let missing = "no Python with venv, which tests read conversions with; install it";
        tools::install(Some("python3-venv"), missing)?;
        repo::run(&mut venv)?;
    }
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--requirement"]).arg(repo.path(requirements));
    repo::run(pip.env("PIP_DISABLE_PIP_VERSION_CHECK", "1"))?;
    fs::write(stamp, wanted)?;
    Ok(python)
}
