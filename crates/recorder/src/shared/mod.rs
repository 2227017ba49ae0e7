//! Recording from many threads, through a queue that a thread of its own empties.

mod queue;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use kymo_rtc_wire::write::StreamId;

use crate::clock::Clock;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::format::{Format, Json};
use crate::recorder::Recorder;
use crate::stream::{Stream, StreamOptions};
use crate::time::{Steady, Time};
use queue::{Batch, Date, Queue};

/// The name of the stream that tells what was dropped.
const DROPS: &str = "kymo.drops";

/// Policy for a full queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overflow {
    /// Whoever records waits: nothing is lost.
    #[default]
    Wait,
    /// The message is dropped, with its date, and counted: nobody waits but for setting a clock by
    /// itself and for messages larger than the whole queue. The stream `kymo.drops` then says what
    /// is missing before it, as `{"stream":"name","count":3}`.
    Drop,
}

/// Records from many threads: clone it, or the streams, and hand the clones out.
///
/// Messages go into a queue; a thread writes them to the file in the order in which they were
/// queued. When the last clone is dropped the recording is finished, but only
/// [`SharedRecorder::finish`] tells whether that went well.
///
/// ```
/// use kymo_recorder::Config;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("run.rtc");
/// let recorder = Config::new().create_shared(&path)?;
/// let samples = recorder.stream::<u32>("samples")?;
/// std::thread::scope(|scope| {
///     for value in 0..4 {
///         let samples = samples.clone();
///         scope.spawn(move || samples.write(value));
///     }
/// });
/// recorder.finish()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct SharedRecorder {
    owner: Arc<Owner>,
}

impl SharedRecorder {
    pub(crate) fn start(recorder: Recorder, config: &Config) -> Result<Self> {
        let core = Arc::new(Core {
            queue: Queue::new(config.queue_bytes, config.overflow == Overflow::Drop),
            steady: recorder.steady(),
            writing: Mutex::new(Writing {
                recorder,
                batch: Batch::default(),
                drops: None,
                refused: None,
            }),
            failure: Mutex::new(None),
            has_failed: AtomicBool::new(false),
            is_finished: AtomicBool::new(false),
        });
        let of_thread = Arc::clone(&core);
        let thread = thread::Builder::new().name("kymo-recorder".to_owned());
        let thread = thread.spawn(move || of_thread.run())?;
        Ok(Self { owner: Arc::new(Owner { core, thread: Mutex::new(Some(thread)) }) })
    }

    /// Adds a stream of values of format `F`.
    pub fn stream<F: Format>(&self, options: impl Into<StreamOptions>) -> Result<SharedStream<F>> {
        let options = options.into();
        let name: Arc<str> = options.name().into();
        let stream = self.with_recorder(|recorder| recorder.stream::<F>(options))?;
        Ok(SharedStream { owner: Arc::clone(&self.owner), stream, name })
    }

    /// Does something with the recorder itself, after everything that is queued: adding clocks and
    /// annotations, for example. Others wait meanwhile, once the queue is full.
    pub fn with_recorder<R>(&self, body: impl FnOnce(&mut Recorder) -> Result<R>) -> Result<R> {
        let core = &self.owner.core;
        let mut writing = core.writing()?;
        let done = body(&mut writing.recorder);
        core.watch(&writing);
        done
    }

    /// Sets a clock, in its order among the messages.
    pub fn set(&self, clock: Clock, time: impl Into<Time>) -> Result<()> {
        let core = &self.owner.core;
        let date = Date::At(time.into());
        core.push(None, Some((clock, date)), &[])
    }

    /// Hands everything that was queued so far to the system.
    pub fn flush(&self) -> Result<()> {
        self.with_recorder(Recorder::flush)
    }

    /// Ends the recording and tells whether all of it was taken. Other clones cannot record any
    /// more.
    pub fn finish(self) -> Result<()> {
        self.owner.finish()
    }
}

/// A stream that many threads can write to.
#[derive(Debug)]
pub struct SharedStream<F> {
    owner: Arc<Owner>,
    stream: Stream<F>,
    name: Arc<str>,
}

impl<F> Clone for SharedStream<F> {
    fn clone(&self) -> Self {
        let (owner, name) = (Arc::clone(&self.owner), Arc::clone(&self.name));
        Self { owner, stream: self.stream, name }
    }
}

impl<F: Format> SharedStream<F> {
    /// Records a value, at the last time of the stream's clock. An empty one vanishes.
    pub fn write(&self, value: F::Value<'_>) -> Result<()> {
        self.push(None, value)
    }

    /// Sets the stream's clock and records a value.
    pub fn write_at(&self, time: impl Into<Time>, value: F::Value<'_>) -> Result<()> {
        self.push(Some(Date::At(time.into())), value)
    }

    /// Sets the stream's clock, which must not be a counter, to the present, and records a value.
    pub fn write_now(&self, value: F::Value<'_>) -> Result<()> {
        self.push(Some(Date::Now), value)
    }

    fn push(&self, date: Option<Date>, value: F::Value<'_>) -> Result<()> {
        let date = match date {
            Some(date) => Some((self.stream.clock.ok_or(Error::NoClock)?, date)),
            None => None,
        };
        let core = &self.owner.core;
        let to = Some((self.stream.id, &self.name));
        F::encode(value, |bytes| {
            if core.queue.is_too_large(bytes.len()) {
                return core.write_through(self.stream.id, date, bytes);
            }
            core.push(to, date, bytes)
        })
    }
}

/// Part that clones share: the last one to go finishes the recording.
#[derive(Debug)]
struct Owner {
    core: Arc<Core>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Owner {
    fn finish(&self) -> Result<()> {
        self.core.queue.close();
        if let Some(thread) = lock(&self.thread).take() {
            // A panic of the thread is told as a recording that did not end.
            let _ = thread.join();
        }
        if self.core.is_finished.swap(true, Ordering::Relaxed) {
            return Err(Error::Finished);
        }
        let mut writing = lock(&self.core.writing);
        let ended = writing.recorder.end();
        let failure = lock(&self.core.failure).take();
        let error = failure.or_else(|| ended.err()).or_else(|| writing.refused.take());
        error.map_or(Ok(()), Err)
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        // Whoever wants to know calls `finish`.
        let _ = self.finish();
    }
}

/// Part that clones and the thread share.
#[derive(Debug)]
struct Core {
    queue: Queue,
    steady: Steady,
    writing: Mutex<Writing>,
    /// The error that ended the thread.
    failure: Mutex<Option<Error>>,
    has_failed: AtomicBool,
    is_finished: AtomicBool,
}

/// Writer that only one thread at a time uses. The thread that has it first writes what is queued.
#[derive(Debug)]
struct Writing {
    recorder: Recorder,
    batch: Batch,
    drops: Option<Stream<Json>>,
    /// The first message that its stream or clock did not take, for `finish` to tell.
    refused: Option<Error>,
}

impl Core {
    /// The recorder, after everything that is queued.
    fn writing(&self) -> Result<MutexGuard<'_, Writing>> {
        Ok(self.writing_at(None)?.0)
    }

    /// Likewise, with the time of what is to be written next.
    fn writing_at(&self, date: Option<(Clock, Date)>) -> Result<(MutexGuard<'_, Writing>, Moment)> {
        let mut writing = lock(&self.writing);
        let dated = self.queue.take(&mut writing.batch, date, &self.steady);
        let written = writing.write_batch();
        writing.batch.clear();
        if let Err(error) = written {
            self.has_failed.store(true, Ordering::Relaxed);
            self.queue.close();
            return Err(error);
        }
        let dated = dated.map_err(|error| named(error, &writing.recorder, date))?;
        Ok((writing, dated))
    }

    /// Writes a message that the queue is too small for.
    fn write_through(&self, id: StreamId, date: Option<(Clock, Date)>, bytes: &[u8]) -> Result<()> {
        let (mut writing, date) = self.writing_at(date)?;
        let dated = date.map_or(Ok(()), |(clock, time)| writing.recorder.set(clock, time));
        let written = dated.and_then(|()| writing.recorder.put(id, bytes));
        self.watch(&writing);
        written
    }

    /// Has the thread look after what was written past the queue, so that it is flushed in time.
    fn watch(&self, writing: &Writing) {
        if writing.recorder.flush_due_in().is_some() {
            self.queue.wake();
        }
    }

    /// The life of the thread.
    fn run(&self) {
        loop {
            let due = lock(&self.writing).recorder.flush_due_in();
            let is_closed = self.queue.wait(due);
            let done = self.writing().and_then(|mut writing| writing.recorder.flush_if_due());
            if let Err(error) = done {
                self.has_failed.store(true, Ordering::Relaxed);
                lock(&self.failure).get_or_insert(error);
                self.queue.close();
                return;
            }
            if is_closed {
                return;
            }
        }
    }

    /// Queues a message.
    fn push(
        &self,
        to: Option<(StreamId, &Arc<str>)>,
        date: Option<(Clock, Date)>,
        bytes: &[u8],
    ) -> Result<()> {
        self.queue.push(to, date, bytes, &self.steady).map_err(|error| match error {
            Error::Finished if self.has_failed.load(Ordering::Relaxed) => Error::Broken,
            Error::Finished => Error::Finished,
            error => named(error, &lock(&self.writing).recorder, date),
        })
    }
}

/// Time at which something is written, if that is given.
type Moment = Option<(Clock, Time)>;

/// An error of the queue about a clock, with the name of the clock.
#[cold]
fn named(error: Error, recorder: &Recorder, date: Option<(Clock, Date)>) -> Error {
    let name = || recorder.clock_name(date.map(|(clock, _)| clock)).to_owned();
    match error {
        Error::Backwards(_) => Error::Backwards(name()),
        Error::Unit(_) => Error::Unit(name()),
        error => error,
    }
}

impl Writing {
    /// Writes the batch, and what was dropped after it.
    fn write_batch(&mut self) -> Result<()> {
        for (to, date, bytes) in self.batch.messages() {
            let dated = date.map_or(Ok(()), |(clock, time)| self.recorder.set(clock, time));
            let written = dated.and_then(|()| to.map_or(Ok(()), |id| self.recorder.put(id, bytes)));
            match written {
                Err(error) if error.is_final() => return Err(error),
                Err(error) => _ = self.refused.get_or_insert(error),
                Ok(()) => {}
            }
        }
        for (name, count) in self.batch.drops() {
            let drops = match self.drops.map_or_else(|| self.recorder.stream::<Json>(DROPS), Ok) {
                Ok(drops) => *self.drops.insert(drops),
                Err(error) if error.is_final() => return Err(error),
                // Without room for another stream the messages go on.
                Err(error) => {
                    self.refused.get_or_insert(error);
                    continue;
                }
            };
            let name = kymo_rtc_wire::meta::quoted(name);
            self.recorder.write(drops, &format!("{{\"stream\":{name},\"count\":{count}}}"))?;
        }
        Ok(())
    }
}

/// Locks; what a thread that panicked left behind is in order, since nothing here panics halfway.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
