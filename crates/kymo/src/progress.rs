//! Progress bars on standard error, for work that takes a while.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use kymo_core::Progress;

use crate::render::numbers;

/// Work that is over sooner shows no bar, in however many stages it is done.
const PATIENCE: Duration = Duration::from_millis(500);

/// The bar takes what the words leave of a line.
const BYTES: &str = "{msg} {wide_bar} {percent:>3}%  {binary_bytes_per_sec}{left}{prefix}";
const ITEMS: &str = "{msg} {wide_bar} {percent:>3}%  {rate}{left}{prefix}";

/// Of some work nobody knows how far it is: that it goes on is told so often.
const TICK: Duration = Duration::from_millis(100);
const WAITING: &str = "{msg} {spinner} {elapsed}";

/// Part of the work that must be done before an estimate of its duration is worth anything.
const TELLING: f32 = 0.02;

/// Draws the progress of one piece of work at a time.
pub(crate) struct Bars {
    is_shown: bool,
    /// Number of stages so far, and time at which the first began.
    stages: AtomicU64,
    began: OnceLock<Instant>,
    stage: Mutex<Option<Stage>>,
    parts: Mutex<Option<Parts>>,
    /// True if somebody tells that work goes on.
    is_waiting: AtomicBool,
}

/// Number of the current piece among several pieces of work, such as files.
#[derive(Debug, Clone, Copy)]
struct Parts {
    number: usize,
    total: usize,
}

impl Parts {
    fn message(parts: Option<Self>, what: &'static str) -> Cow<'static, str> {
        match parts {
            Some(Self { number, total }) if total > 1 => {
                format!("{what} {number} of {total}").into()
            }
            _ => what.into(),
        }
    }
}

/// Number of a stage, of all stages so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StageId(u64);

struct Stage {
    id: StageId,
    bar: ProgressBar,
    began: Instant,
    is_drawn: bool,
}

impl Bars {
    /// Bars, or none where nobody would see them.
    pub(crate) fn new(is_shown: bool) -> Self {
        let (stage, parts) = (Mutex::new(None), Mutex::new(None));
        let (stages, is_waiting) = (AtomicU64::new(0), AtomicBool::new(false));
        Self { is_shown, stages, began: OnceLock::new(), stage, parts, is_waiting }
    }

    /// Does work that may not tell how far it is. While it is in no stage, and that takes a while,
    /// one sees that it goes on.
    pub(crate) fn meanwhile<T>(&self, what: &'static str, work: impl FnOnce() -> T) -> T {
        if !self.is_shown || self.is_waiting.swap(true, Ordering::Relaxed) {
            return work();
        }
        let (working, over) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(move || self.wait(what, &over));
            // It ends when this is gone, even if the work panics.
            let _working: mpsc::Sender<()> = working;
            work()
        })
    }

    /// Draws that work goes on until it is over.
    fn wait(&self, what: &'static str, over: &Receiver<()>) {
        let mut spinner: Option<ProgressBar> = None;
        let mut idle_since = Instant::now();
        while over.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            if !self.is_idle() {
                spinner.take().inspect(ProgressBar::finish_and_clear);
                idle_since = Instant::now();
            } else if idle_since.elapsed() >= PATIENCE {
                spinner.get_or_insert_with(|| waiting(what, idle_since)).tick();
            }
        }
        spinner.take().inspect(ProgressBar::finish_and_clear);
        self.is_waiting.store(false, Ordering::Relaxed);
    }

    /// Returns true if no stage is under way.
    fn is_idle(&self) -> bool {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Returns true if anybody sees them.
    pub(crate) fn is_shown(&self) -> bool {
        self.is_shown
    }

    /// Begins a stage of bytes unless one is under way: what is done for another is a part of that.
    pub(crate) fn watch(&self, what: &'static str, bytes: u64) -> Option<StageId> {
        (self.is_shown && self.is_idle()).then(|| self.start(what, bytes, BYTES))
    }

    /// So many bytes of a stage are done, if that is still under way.
    pub(crate) fn watch_at(&self, stage: StageId, done: u64) {
        if self.is_at(stage) {
            self.advance_to(done);
        }
    }

    /// A stage is over, if it is still under way.
    pub(crate) fn watch_end(&self, stage: StageId) {
        if self.is_at(stage) {
            self.end();
        }
    }

    /// Returns the position of the stage that is under way.
    #[cfg(test)]
    pub(crate) fn position(&self) -> Option<u64> {
        let slot = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        slot.as_ref().map(|stage| stage.bar.position())
    }

    fn is_at(&self, stage: StageId) -> bool {
        let slot = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        slot.as_ref().is_some_and(|now| now.id == stage)
    }

    /// Says that what begins next is one of several pieces of work.
    pub(crate) fn part(&self, number: usize, total: usize) {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        *parts = Some(Parts { number, total });
    }

    fn start(&self, what: &'static str, total: u64, template: &str) -> StageId {
        let id = StageId(self.stages.fetch_add(1, Ordering::Relaxed));
        if !self.is_shown {
            return id;
        }
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template(template);
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.with_key("rate", write_rate).with_key("left", write_left));
        let parts = *self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        bar.set_message(Parts::message(parts, what));
        let began = *self.began.get_or_init(Instant::now);
        self.replace(Some(Stage { id, bar, began, is_drawn: false }));
        id
    }

    fn replace(&self, stage: Option<Stage>) {
        let mut slot = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(old) = std::mem::replace(&mut *slot, stage) {
            old.bar.finish_and_clear();
        }
    }
}

/// A line that tells that work goes on, and since when.
fn waiting(what: &'static str, since: Instant) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template(WAITING);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar.set_message(what);
    bar.with_elapsed(since.elapsed())
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

    fn advance_to(&self, done: u64) {
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
        let parts = |number, total| Some(Parts { number, total });
        assert_eq!(Parts::message(None, "reading"), "reading");
        assert_eq!(Parts::message(parts(1, 1), "reading"), "reading");
        assert_eq!(Parts::message(parts(2, 5), "reading"), "reading 2 of 5");
    }

    #[test]
    fn a_stage_within_another_is_a_part_of_it() {
        let bars = Bars::new(true);
        let outer = bars.watch("reading events", 10).unwrap();
        assert_eq!(bars.watch("reading events", 20), None);
        bars.end();
        let next = bars.watch("reading events", 30).unwrap();
        bars.watch_end(outer);
        assert!(bars.is_at(next) && !bars.is_at(outer));
        bars.watch_end(next);
        assert!(!bars.is_at(next));
        assert_eq!(Bars::new(false).watch("reading events", 10), None);
    }

    #[test]
    fn work_that_tells_nothing_is_waited_for() {
        let bars = Bars::new(true);
        let found = bars.meanwhile("finding streams", || {
            assert!(bars.is_waiting.load(Ordering::Relaxed));
            // A part of it waits with it, and a stage of it is a stage.
            let found = bars.meanwhile("finding more", || 7);
            assert!(bars.is_waiting.load(Ordering::Relaxed) && bars.is_idle());
            bars.begin("reading", 10);
            assert!(!bars.is_idle());
            bars.end();
            found
        });
        assert_eq!((found, bars.is_waiting.load(Ordering::Relaxed)), (7, false));
        let unseen = Bars::new(false);
        assert!(unseen.meanwhile("finding streams", || !unseen.is_waiting.load(Ordering::Relaxed)));
    }

    #[test]
    fn a_rate_is_a_whole_number() {
        assert_eq!(rate(0.25), "0/s");
        assert_eq!(rate(1_234_567.8), "1,234,568/s");
        assert_eq!(rate(f64::NAN), "0/s");
    }
}
