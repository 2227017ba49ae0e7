//! Analyses of whole recordings: one of `LTTng` with the five commands of the README, and small logs
//! whose figures are worked out by hand.

mod conversions;
mod every;
mod load;
mod messages;
mod missing;
mod pages;
mod rules;
mod same_names;
mod sched;

use std::fs;
use std::path::Path;

use crate::support::{kymo, run};
use serde_json::Value;

/// A log with its grammar: switches, releases with a budget, completions, messages, states.
pub(crate) const GRAMMAR: &str = r"# kymo log
# time = 'ms'
# [[line]]
# match = '^(?<time>[\d.]+) cpu(?<cpu>\d) (?<from>\S+) -> (?<task>\S+)$'
# class = 'switch'
# [[line]]
# match = '^(?<time>[\d.]+) release (?<task>\S+)( (?<budget>\d+))?$'
# class = 'release'
# [[line]]
# match = '^(?<time>[\d.]+) done (?<task>\S+)$'
# class = 'complete'
# [[line]]
# match = '^(?<time>[\d.]+) (?<task>\S+) sends (?<message>\S+) to (?<peer>\S+)$'
# class = 'send'
# [[line]]
# match = '^(?<time>[\d.]+) (?<task>\S+) gets (?<message>\S+) from (?<peer>\S+)$'
# class = 'receive'
# [[line]]
# match = '^(?<time>[\d.]+) (?<task>\S+) is (?<state>\S+)$'
# class = 'enter'
";

pub(crate) fn log(folder: &Path, lines: &str) -> std::path::PathBuf {
    let path = folder.join("run.log");
    fs::write(&path, format!("{GRAMMAR}{lines}")).unwrap();
    path
}

pub(crate) fn json(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What commands say of a recording, as JSON and without the names of files.
pub(crate) fn figures(recording: &Path, commands: &[&str]) -> Vec<Vec<Value>> {
    let item = |command: &&str| {
        let rows = if *command == "states" { &["--json"][..] } else { &["--json", "-n0"] };
        let (_, out, said) = run(kymo().arg(command).arg(recording).args(rows));
        assert!(!out.is_empty(), "{command}: {said}");
        let mut rows = json(&out);
        for row in rows.iter_mut().filter_map(Value::as_object_mut) {
            row.shift_remove("file");
        }
        rows
    };
    commands.iter().map(item).collect()
}

pub(crate) fn converted(from: &Path, to: &Path) {
    let (code, _, said) = run(kymo().arg("convert").args([from, to]));
    assert_eq!(code, Some(0), "{}: {said}", to.display());
}
