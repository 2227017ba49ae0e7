//! The recordings outside the repository that some tests read, and the record of those tests.
//!
//! `KYMO_DATA` names their folder. A test that needs it appends `ran NAME` or `left-out NAME` to
//! the file that `KYMO_DATA_LOG` names, so that a run cannot be green because nothing was there.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io;
use std::path::{self, Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::repo::Repo;

/// The variable that names the folder.
pub(crate) const DATA: &str = "KYMO_DATA";

/// The variable that names the log.
pub(crate) const DATA_LOG: &str = "KYMO_DATA_LOG";

/// The variable that names the Python with the readers of other tools.
pub(crate) const READERS: &str = "KYMO_READERS";

/// The folder of recordings: what `KYMO_DATA` says, else `../shared/data` where that exists.
///
/// Set to nothing, the variable means that there are none.
pub(crate) fn folder(repo: &Repo) -> Result<Option<PathBuf>> {
    match env::var_os(DATA) {
        Some(value) if value.is_empty() => Ok(None),
        Some(value) => {
            let folder = path::absolute(&value)?;
            ensure!(folder.is_dir(), "{DATA} is not a folder: {}", folder.display());
            Ok(Some(folder))
        }
        None => {
            let beside = repo.path("../shared/data");
            if beside.is_dir() { Ok(Some(beside.canonicalize()?)) } else { Ok(None) }
        }
    }
}

/// Which tests on recordings ran, and which could not.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TestCounts {
    pub(crate) ran: BTreeSet<String>,
    pub(crate) left_out: BTreeSet<String>,
}

/// The path of a log with nothing in it yet.
pub(crate) fn fresh_log(repo: &Repo) -> Result<PathBuf> {
    let log = repo.target("kymo-data.log");
    fs::create_dir_all(repo.target(""))?;
    fs::write(&log, "").with_context(|| log.display().to_string())?;
    Ok(log)
}

/// Counts what the tests wrote into the log.
pub(crate) fn tally(log: &Path) -> Result<TestCounts> {
    match fs::read_to_string(log) {
        Ok(text) => parse(&text).with_context(|| log.display().to_string()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(TestCounts::default()),
        Err(error) => Err(error).with_context(|| log.display().to_string()),
    }
}

fn parse(text: &str) -> Result<TestCounts> {
    let mut tally = TestCounts::default();
    for line in text.lines() {
        match line.split_once(' ') {
            Some(("ran", name)) => tally.ran.insert(name.to_owned()),
            Some(("left-out", name)) => tally.left_out.insert(name.to_owned()),
            _ => bail!("a line is neither `ran NAME` nor `left-out NAME`: {line}"),
        };
    }
    Ok(tally)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_says_which_tests_ran_and_which_did_not() {
        let log = "ran bp listing\nleft-out bp repair\nran bp dumps\nran bp listing\n";
        let tally = parse(log).unwrap();
        assert!(tally.ran.iter().eq(["bp dumps", "bp listing"]), "each counts once");
        assert!(tally.left_out.iter().eq(["bp repair"]));
    }

    #[test]
    fn an_unknown_line_in_the_log_is_an_error() {
        assert!(parse("skipped bp listing\n").is_err());
    }
}
