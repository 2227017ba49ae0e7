//! What `cargo metadata` says of the workspace, as far as the tasks ask.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::repo;

/// The packages of a workspace.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) target_directory: PathBuf,
}

/// One package: a member of the workspace, or something it depends on.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// The licence as an SPDX expression.
    pub(crate) license: Option<String>,
    /// Where it comes from; nothing for a member.
    pub(crate) source: Option<String>,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
}

/// One line of a package's dependencies.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `dev`, `build`, or nothing for a normal dependency.
    pub(crate) kind: Option<String>,
    /// The folder it is in, when it is one of ours.
    pub(crate) path: Option<PathBuf>,
}

impl Metadata {
    /// The members of the workspace at `root`, without what they depend on.
    pub(crate) fn members(root: &Path) -> Result<Self> {
        Self::read(root, &["--no-deps"])
    }

    /// The members of the workspace at `root` and everything they depend on, on any platform.
    pub(crate) fn all_packages(root: &Path) -> Result<Self> {
        Self::read(root, &[])
    }

    fn read(root: &Path, options: &[&str]) -> Result<Self> {
        let mut command = Command::new(repo::cargo());
        command.args(["metadata", "--format-version", "1"]).args(options).current_dir(root);
        let json = repo::output(&mut command)?;
        serde_json::from_str(&json).context("cargo metadata printed something unknown")
    }
}
