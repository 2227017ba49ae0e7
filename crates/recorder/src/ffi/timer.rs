//! Flushing while a C program is silent.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::items::Items;

/// A thread that flushes what has waited for so long, also when no message comes.
#[derive(Debug)]
pub(super) struct Timer {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Timer {
    pub(super) fn start(items: &Arc<Mutex<Items>>, interval: Duration) -> io::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let items = Arc::clone(items);
        let run = move || {
            let mut pause = interval;
            while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                pause = flush(&items).unwrap_or(interval);
            }
        };
        let thread = thread::Builder::new().name("kymo-recorder".to_owned()).spawn(run)?;
        Ok(Self { stop, thread })
    }

    pub(super) fn stop(self) {
        drop(self.stop);
        // It has nothing to tell: what fails is met again by whoever records.
        let _ = self.thread.join();
    }
}

/// Flushes if it is time; returns how long what waits may still wait.
fn flush(items: &Mutex<Items>) -> Option<Duration> {
    let mut items = items.lock().unwrap_or_else(PoisonError::into_inner);
    items.recorder.flush_if_due().ok()?;
    items.recorder.flush_due_in()
}
