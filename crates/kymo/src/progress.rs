//! Progress bars on standard error, for work that takes a while.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use kymo_core::Progress;

use crate::render::numbers;

/// Work that is over sooner shows no bar.
const PATIENCE: Duration = Duration::from_millis(500);

/// The bar takes what the words leave of a line.
const BYTES: &str = "{msg} {wide_bar} {percent:>3}%  {binary_bytes_per_sec}{left}{prefix}";
const ITEMS: &str = "{msg} {wide_bar} {percent:>3}%  {rate}{left}{prefix}";

/// What is known of how long it takes is worth nothing before so much of it is done.
const TELLING: f32 = 0.02;

/// Draws the progress of one piece of work at a time.
pub(crate) struct Bars {
    is_shown: bool,
    stage: Mutex<Option<Stage>>,
    parts: Mutex<Option<Parts>>,
}

/// Which of several pieces of work it is, such as files.
#[derive(Debug, Clone, Copy)]
struct Parts {
    number: usize,
    total: usize,
    /// When the first of them began: many short ones take a while together.
    began: Instant,
}

impl Parts {
    fn message(parts: Option<Self>, what: &'static str) -> Cow<'static, str> {
        match parts {
            Some(Self { number, total, .. }) if total > 1 => {
                format!("{what} {number} of {total}").into()
            }
            _ => what.into(),
        }
    }
}

struct Stage {
    bar: ProgressBar,
    began: Instant,
    is_drawn: bool,
}

impl Bars {
    /// Bars, or none where nobody would see them.
    pub(crate) fn new(is_shown: bool) -> Self {
        Self { is_shown, stage: Mutex::new(None), parts: Mutex::new(None) }
    }

    /// Says that what begins next is one of several pieces of work.
    pub(crate) fn part(&self, number: usize, total: usize) {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let began = parts.map_or_else(Instant::now, |parts| parts.began);
        *parts = Some(Parts { number, total, began });
    }

    fn start(&self, what: &'static str, total: u64, template: &str) {
        if !self.is_shown {
            return;
        }
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template(template);
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.with_key("rate", write_rate).with_key("left", write_left));
        let parts = *self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        bar.set_message(Parts::message(parts, what));
        let began = parts.map_or_else(Instant::now, |parts| parts.began);
        self.replace(Some(Stage { bar, began, is_drawn: false }));
    }

    fn replace(&self, stage: Option<Stage>) {
        let mut slot = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(old) = std::mem::replace(&mut *slot, stage) {
            old.bar.finish_and_clear();
        }
    }
}

/// Writes how many items are done a second, as a whole number.
fn write_rate(state: &ProgressState, out: &mut dyn std::fmt::Write) {
    // That it cannot be drawn is nobody's failure.
    let _ = out.write_str(&rate(state.per_sec()));
}

/// Writes how long it takes from here on, once that can be told.
fn write_left(state: &ProgressState, out: &mut dyn std::fmt::Write) {
    if state.fraction() >= TELLING {
        let _ = write!(out, "  {:#} left", HumanDuration(state.eta()));
    }
}

fn rate(per_second: f64) -> String {
    let whole = format!("{per_second:.0}").parse().unwrap_or(0);
    format!("{}/s", numbers::grouped(whole))
}

impl Progress for Bars {
    fn begin(&self, what: &'static str, bytes: u64) {
        self.start(what, bytes, BYTES);
    }

    fn begin_items(&self, what: &'static str, items: u64) {
        self.start(what, items, ITEMS);
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

    fn note(&self, note: &dyn Fn() -> String) {
        let slot = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stage) = slot.as_ref().filter(|stage| stage.is_drawn) {
            stage.bar.set_prefix(format!(", {}", note()));
        }
    }

    fn end(&self) {
        if self.is_shown {
            self.replace(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_several_pieces_of_work_says_which() {
        let parts = |number, total| Some(Parts { number, total, began: Instant::now() });
        assert_eq!(Parts::message(None, "reading"), "reading");
        assert_eq!(Parts::message(parts(1, 1), "reading"), "reading");
        assert_eq!(Parts::message(parts(2, 5), "reading"), "reading 2 of 5");
    }

    #[test]
    fn a_rate_is_a_whole_number() {
        assert_eq!(rate(0.25), "0/s");
        assert_eq!(rate(1_234_567.8), "1,234,568/s");
        assert_eq!(rate(f64::NAN), "0/s");
    }
}
