//! Text that a person reviewed: `BLESS=1` rewrites it, and a difference fails.

use std::env;
use std::fs;
use std::path::Path;

/// Lines of a difference that are shown.
const SHOWN: usize = 40;

/// Lines around a difference that are the same.
const AROUND: usize = 3;

/// Returns true if golden files are to be rewritten.
#[must_use]
pub fn blessing() -> bool {
    env::var_os("BLESS").is_some_and(|value| !value.is_empty() && value != "0")
}

/// Compares with a golden file, or rewrites it when [`blessing`].
pub fn assert(path: impl AsRef<Path>, actual: &str) {
    let path = path.as_ref();
    if blessing() {
        bless(path, actual);
    } else {
        compare(path, actual);
    }
}

fn bless(path: &Path, actual: &str) {
    if fs::read_to_string(path).is_ok_and(|found| found == actual) {
        return;
    }
    let folder = path.parent().expect("a file lies in a folder");
    fs::create_dir_all(folder).expect("a folder for golden files");
    fs::write(path, actual).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

fn compare(path: &Path, actual: &str) {
    let expected = fs::read_to_string(path).unwrap_or_else(|error| {
        panic!("{}: {error} (BLESS=1 writes it)", path.display());
    });
    assert!(
        expected == actual,
        "{} was reviewed otherwise (BLESS=1 rewrites it):\n{}",
        path.display(),
        difference(&expected, actual)
    );
}

/// The lines that differ, between those that begin and end alike.
pub(crate) fn difference(expected: &str, actual: &str) -> String {
    let (old, new) = (lines(expected), lines(actual));
    let shorter = old.len().min(new.len());
    let same = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| {
        pairs.take_while(|(old, new)| old == new).count()
    };
    let head = same(&mut old.iter().zip(&new));
    let tail = same(&mut old.iter().rev().zip(new.iter().rev())).min(shorter - head);
    let marked = |mark: &'static str, lines: &[&str]| -> Vec<String> {
        lines.iter().map(|line| format!("{mark}{line}")).collect()
    };
    let shown = [
        vec![format!("@ line {}", head + 1)],
        marked("  ", &old[head.saturating_sub(AROUND)..head]),
        cut(marked("- ", &old[head..old.len() - tail])),
        cut(marked("+ ", &new[head..new.len() - tail])),
        marked("  ", &old[old.len() - tail..][..tail.min(AROUND)]),
    ];
    shown.concat().join("\n")
}

/// Lines with their ends, so that a missing last one shows.
fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<_> = text.split('\n').collect();
    match lines.pop() {
        Some("") | None => {}
        Some(last) => lines.extend([last, "\\ no line end"]),
    }
    lines
}

fn cut(mut lines: Vec<String>) -> Vec<String> {
    if lines.len() > SHOWN {
        let more = format!("  … {} lines more", lines.len() - SHOWN);
        lines.truncate(SHOWN);
        lines.push(more);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_shows_what_changed_and_what_is_around() {
        let shown = difference("1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\nfive\nmore\n6\n");
        assert_eq!(shown, "@ line 5\n  2\n  3\n  4\n- 5\n+ five\n+ more\n  6");
    }

    #[test]
    fn what_is_repeated_is_not_counted_twice() {
        assert_eq!(difference("a\na\n", "a\na\na\n"), "@ line 3\n  a\n  a\n+ a");
        assert_eq!(difference("", "a\n"), "@ line 1\n+ a");
    }

    #[test]
    fn a_missing_line_end_is_a_difference() {
        assert_eq!(difference("a\n", "a"), "@ line 2\n  a\n+ \\ no line end");
    }

    #[test]
    fn a_golden_file_is_compared_and_blessed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/er/golden.txt");
        bless(&path, "as it is\n");
        compare(&path, "as it is\n");
        let changed = std::panic::catch_unwind(|| compare(&path, "otherwise\n"));
        let why = changed.unwrap_err();
        assert!(crate::promise::message(&*why).ends_with("- as it is\n+ otherwise"));
    }
}
