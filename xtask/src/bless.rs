//! `cargo xtask bless`: golden files as the code prints them now, to be reviewed.

use std::process::Command;

use anyhow::Result;

use crate::data;
use crate::repo::{self, Repo};

/// Runs the tests so that they rewrite their golden files, and shows what changed.
pub(crate) fn run(repo: &Repo) -> Result<()> {
    let mut command = repo.cargo(["test", "--workspace", "--tests", "--no-fail-fast"]);
    command.env("BLESS", "1").env("TRYCMD", "overwrite");
    if let Some(folder) = data::folder(repo)? {
        command.env(data::DATA, folder);
    }
    let outcome = repo::run(&mut command);
    for look in [["diff", "--stat"], ["status", "--short"]] {
        repo::run(Command::new("git").arg("--no-pager").args(look).current_dir(repo.root()))?;
    }
    println!("review this difference as you would review code, then run `cargo xtask ci`");
    outcome
}
