//! The queue between those who record and the thread that writes.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kymo_rtc_wire::write::StreamId;

use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::time::{Steady, Time};

/// Number of bytes that a message counts in the queue beside its own.
const RECORD_BYTES: usize = size_of::<Record>();

/// Time at which a message happened.
#[derive(Debug, Clone, Copy)]
pub(super) enum Date {
    At(Time),
    Now,
}

impl Date {
    pub(super) fn time(self, steady: &Steady) -> Time {
        match self {
            Self::At(time) => time,
            Self::Now => steady.now().into(),
        }
    }
}

/// A message or the setting of a clock, or both.
#[derive(Debug, Clone, Copy)]
struct Record {
    to: Option<StreamId>,
    date: Option<(Clock, Time)>,
    length: usize,
}

/// Messages in their order, and what was dropped after them.
#[derive(Debug, Default)]
pub(super) struct Batch {
    records: Vec<Record>,
    bytes: Vec<u8>,
    drops: BTreeMap<u32, (Arc<str>, u64)>,
}

impl Batch {
    fn size(&self) -> usize {
        self.bytes.len() + self.records.len() * RECORD_BYTES
    }

    fn is_empty(&self) -> bool {
        self.records.is_empty() && self.drops.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.records.clear();
        self.bytes.clear();
        self.drops.clear();
    }

    /// Each message: its stream, its date, its bytes.
    pub(super) fn messages(
        &self,
    ) -> impl Iterator<Item = (Option<StreamId>, Option<(Clock, Time)>, &[u8])> {
        let mut rest = self.bytes.as_slice();
        self.records.iter().map(move |record| {
            let split = rest.split_at_checked(record.length);
            debug_assert!(split.is_some(), "the bytes of a message are in its batch");
            let (bytes, later) = split.unwrap_or_default();
            rest = later;
            (record.to, record.date, bytes)
        })
    }

    /// Returns the number of dropped messages of each stream.
    pub(super) fn drops(&self) -> impl Iterator<Item = (&str, u64)> {
        self.drops.values().map(|(name, count)| (&**name, *count))
    }
}

/// A queue of so many bytes.
#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    filled: Condvar,
    emptied: Condvar,
    capacity: usize,
    drops_when_full: bool,
}

#[derive(Debug, Default)]
struct State {
    batch: Batch,
    /// The last time of each clock, so that one that goes back is told at once.
    times: BTreeMap<usize, Time>,
    /// True if there is something to do for the thread beside what is queued.
    is_woken: bool,
    is_closed: bool,
}

impl Queue {
    pub(super) fn new(capacity: usize, drops_when_full: bool) -> Self {
        Self {
            state: Mutex::default(),
            filled: Condvar::new(),
            emptied: Condvar::new(),
            capacity: capacity.max(RECORD_BYTES),
            drops_when_full,
        }
    }

    /// Returns true if a message would not fit into the empty queue.
    pub(super) fn is_too_large(&self, length: usize) -> bool {
        length + RECORD_BYTES > self.capacity
    }

    /// Queues a message to a stream, or only the setting of a clock. Errors about a clock leave
    /// its name to the caller.
    pub(super) fn push(
        &self,
        to: Option<(StreamId, &Arc<str>)>,
        date: Option<(Clock, Date)>,
        bytes: &[u8],
        steady: &Steady,
    ) -> Result<()> {
        let mut state = self.lock();
        while !state.is_closed && state.batch.size() + bytes.len() + RECORD_BYTES > self.capacity {
            if let (Some(to), true) = (to, self.drops_when_full) {
                state.drop_one(to);
                return Ok(());
            }
            state = self.emptied.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.is_closed {
            return Err(Error::Finished);
        }
        let date = state.date(date, steady)?;
        let was_empty = state.batch.is_empty();
        let to = to.map(|(id, _)| id);
        state.batch.records.push(Record { to, date, length: bytes.len() });
        state.batch.bytes.extend_from_slice(bytes);
        drop(state);
        if was_empty {
            self.filled.notify_one();
        }
        Ok(())
    }

    /// Moves everything that is queued into `batch`, which is empty, and dates what comes after it
    /// and before anything that is queued from now on.
    pub(super) fn take(
        &self,
        batch: &mut Batch,
        date: Option<(Clock, Date)>,
        steady: &Steady,
    ) -> Result<Option<(Clock, Time)>> {
        let mut state = self.lock();
        std::mem::swap(&mut state.batch, batch);
        let date = state.date(date, steady);
        drop(state);
        self.emptied.notify_all();
        date
    }

    /// Waits until there is something, or `interval` has passed; tells whether it is closed.
    pub(super) fn wait(&self, interval: Option<Duration>) -> bool {
        let state = self.lock();
        let is_idle =
            |state: &mut State| state.batch.is_empty() && !state.is_woken && !state.is_closed;
        let mut state = match interval {
            Some(interval) => {
                let waited = self.filled.wait_timeout_while(state, interval, is_idle);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
            None => self.filled.wait_while(state, is_idle).unwrap_or_else(PoisonError::into_inner),
        };
        state.is_woken = false;
        state.is_closed
    }

    /// Ends the waiting.
    pub(super) fn wake(&self) {
        self.lock().is_woken = true;
        self.filled.notify_one();
    }

    /// Takes nothing more.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.filled.notify_all();
        self.emptied.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        super::lock(&self.state)
    }
}

impl State {
    fn drop_one(&mut self, (id, name): (StreamId, &Arc<str>)) {
        let entry = self.batch.drops.entry(id.id());
        entry.or_insert_with(|| (Arc::clone(name), 0)).1 += 1;
    }

    /// The time of a date, which must not be before the last one of the same clock.
    fn date(
        &mut self,
        date: Option<(Clock, Date)>,
        steady: &Steady,
    ) -> Result<Option<(Clock, Time)>> {
        let Some((clock, date)) = date else { return Ok(None) };
        let time = date.time(steady);
        if !clock.takes(time) {
            return Err(Error::Unit(String::new()));
        }
        let last = self.times.entry(clock.number).or_insert(time);
        if time < *last {
            return Err(Error::Backwards(String::new()));
        }
        *last = time;
        Ok(Some((clock, time)))
    }
}
