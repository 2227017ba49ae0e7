//! Amount that comes in a second, on the last line of the terminal.

use std::time::{Duration, Instant};

use indicatif::{HumanBytes, ProgressBar, ProgressStyle};

use crate::render::numbers;

/// Period after which it is computed anew.
const EVERY: Duration = Duration::from_secs(1);

/// A line that shows how much comes.
pub(crate) struct Rate {
    bar: ProgressBar,
    what: &'static str,
    since: Instant,
    items: u64,
    bytes: u64,
}

impl Rate {
    /// A line for items of a kind, or none where nobody would see it.
    pub(crate) fn new(is_shown: bool, what: &'static str) -> Self {
        let bar = if is_shown { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        let style = ProgressStyle::with_template("{spinner} {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        Self { bar, what, since: Instant::now(), items: 0, bytes: 0 }
    }

    /// Counts what came.
    pub(crate) fn add(&mut self, items: u64, bytes: usize) {
        self.items += items;
        self.bytes += bytes as u64;
    }

    /// Writes something without disturbing the line.
    pub(crate) fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        self.bar.suspend(work)
    }

    /// Shows the rate, where it is time.
    pub(crate) fn draw(&mut self) {
        let elapsed = self.since.elapsed();
        if elapsed < EVERY {
            return;
        }
        let per_second = |count: u64| u128::from(count) * 1000 / elapsed.as_millis().max(1);
        let whole = |count| u64::try_from(per_second(count)).unwrap_or(u64::MAX);
        let (items, bytes) = (numbers::grouped(whole(self.items)), HumanBytes(whole(self.bytes)));
        self.bar.set_message(format!("{items} {}/s  {bytes}/s", self.what));
        self.bar.tick();
        (self.since, self.items, self.bytes) = (Instant::now(), 0, 0);
    }

    /// Takes the line away.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
