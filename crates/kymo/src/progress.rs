//! Progress bars on standard error, for work that takes a while.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use kymo_core::Progress;

/// Work that is over sooner shows no bar.
const PATIENCE: Duration = Duration::from_millis(500);

const BYTES: &str = "{msg} {bar:30} {percent:>3}%  {binary_bytes_per_sec}  {eta} left";
const ITEMS: &str = "{msg} {bar:30} {percent:>3}%  {per_sec}  {eta} left";

/// Draws the progress of one piece of work at a time.
pub(crate) struct Bars {
    is_shown: bool,
    stage: Mutex<Option<Stage>>,
}

struct Stage {
    bar: ProgressBar,
    began: Instant,
    is_drawn: bool,
}

impl Bars {
    /// Bars, or none where nobody would see them.
    pub(crate) fn new(is_shown: bool) -> Self {
        Self { is_shown, stage: Mutex::new(None) }
    }

    /// Begins work that is counted in items and not in bytes.
    pub(crate) fn begin_items(&self, what: &'static str, items: u64) {
        self.start(what, items, ITEMS);
    }

    fn start(&self, what: &'static str, total: u64, template: &str) {
        if !self.is_shown {
            return;
        }
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template(template);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(what);
        self.replace(Some(Stage { bar, began: Instant::now(), is_drawn: false }));
    }

    fn replace(&self, stage: Option<Stage>) {
        let mut slot = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(old) = std::mem::replace(&mut *slot, stage) {
            old.bar.finish_and_clear();
        }
    }
}

impl Progress for Bars {
    fn begin(&self, what: &'static str, bytes: u64) {
        self.start(what, bytes, BYTES);
    }

    fn at(&self, done: u64) {
        if !self.is_shown {
            return;
        }
        let mut slot = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stage) = slot.as_mut() {
            if !stage.is_drawn && stage.began.elapsed() >= PATIENCE {
                stage.bar.set_draw_target(ProgressDrawTarget::stderr());
                stage.is_drawn = true;
            }
            stage.bar.set_position(done);
        }
    }

    fn end(&self) {
        if self.is_shown {
            self.replace(None);
        }
    }
}
