//! Runs the check of a promise on sample after sample, and tells which case failed or hung.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::Duration;

use crate::Sample;

/// Longest duration of a single case before it counts as hanging.
const CASE_TIME: Duration = Duration::from_mins(1);

/// Failures that are listed in full.
const LISTED: usize = 10;

/// Tells what is tried next, so that a panic or a hang can be named.
pub(crate) struct Cases {
    begun: SyncSender<String>,
    current: String,
}

impl Cases {
    /// Says what is tried from now on.
    pub(crate) fn begin(&mut self, case: impl FnOnce() -> String) {
        self.current = case();
        // Nobody listens after a hang was reported.
        let _ = self.begun.send(self.current.clone());
    }
}

/// Checks a promise on each sample and fails with a list of the samples that break it.
pub(crate) fn each(samples: Vec<Sample>, check: impl Fn(&Sample, &mut Cases) + Send + 'static) {
    each_with_timeout(CASE_TIME, samples, check);
}

/// Like [`each`], with the time that a case may take.
///
/// The checks run on a thread of their own: one that hangs is left behind.
pub(crate) fn each_with_timeout(
    case_time: Duration,
    samples: Vec<Sample>,
    check: impl Fn(&Sample, &mut Cases) + Send + 'static,
) {
    let (begun, cases) = mpsc::sync_channel(16);
    let work = move || {
        let mut cases = Cases { begun, current: String::new() };
        let broken = |sample| try_sample(sample, &check, &mut cases);
        samples.iter().filter_map(broken).collect::<Vec<_>>()
    };
    let name = thread::current().name().unwrap_or("promise").to_owned();
    let worker = thread::Builder::new().name(name).spawn(work);
    let worker = worker.expect("a thread");
    let mut last = String::from("the first case");
    loop {
        match cases.recv_timeout(case_time) {
            Ok(case) => last = case,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => panic!("{last} hangs"),
        }
    }
    report(&worker.join().expect("failures are caught"));
}

/// Returns the fault of a sample, if any.
fn try_sample(
    sample: &Sample,
    check: &impl Fn(&Sample, &mut Cases),
    cases: &mut Cases,
) -> Option<String> {
    cases.begin(|| sample.name.to_string());
    let tried = panic::catch_unwind(AssertUnwindSafe(|| check(sample, cases)));
    let why = tried.err()?;
    Some(format!("{}: {}", cases.current, message(&*why)))
}

fn report(failures: &[String]) {
    if failures.is_empty() {
        return;
    }
    let mut listed: Vec<_> = failures.iter().take(LISTED).cloned().collect();
    if failures.len() > LISTED {
        listed.push(format!("and {} samples more", failures.len() - LISTED));
    }
    panic!("{}", listed.join("\n"));
}

/// The text of a panic.
pub(crate) fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message")
}

/// Positions to try in a file of `length`: all when they are at most `most`, and otherwise so
/// many, evenly spread, the first and the last among them.
pub(crate) fn spread(length: usize, most: usize) -> impl Iterator<Item = usize> {
    let count = length.min(most.max(2));
    (0..count).map(move |i| match count {
        0 | 1 => 0,
        _ => i * (length - 1) / (count - 1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(names: &[&str]) -> Vec<Sample> {
        let sample = |name: &&str| Sample { name: (*name).into(), bytes: [].into() };
        names.iter().map(sample).collect()
    }

    fn failure(body: impl FnOnce() + panic::UnwindSafe) -> String {
        message(&*panic::catch_unwind(body).unwrap_err()).to_owned()
    }

    #[test]
    fn every_sample_that_fails_is_listed_with_its_case() {
        let why = failure(|| {
            each(samples(&["a", "b", "c"]), |sample, cases| {
                cases.begin(|| format!("{} at 7", sample.name));
                assert!(&*sample.name == "b", "wrong");
            });
        });
        assert_eq!(why, "a at 7: wrong\nc at 7: wrong");
    }

    #[test]
    fn a_case_that_hangs_is_named() {
        let why = failure(|| {
            each_with_timeout(Duration::from_millis(50), samples(&["a"]), |_, cases| {
                cases.begin(|| "byte 12 of a".into());
                thread::sleep(Duration::from_secs(2));
            });
        });
        assert_eq!(why, "byte 12 of a hangs");
    }

    #[test]
    fn positions_are_all_of_a_short_file_and_spread_over_a_long_one() {
        assert_eq!(spread(0, 9).count(), 0);
        assert_eq!(spread(1, 9).collect::<Vec<_>>(), [0]);
        assert_eq!(spread(4, 9).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(spread(101, 3).collect::<Vec<_>>(), [0, 50, 100]);
    }
}
