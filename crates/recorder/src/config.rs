//! Settings that a recorder gets before it begins.

use std::path::Path;
use std::time::Duration;

use kymo_rtc_wire::crc::Polynomial;
use kymo_rtc_wire::write::Options;

use crate::error::Result;
use crate::recorder::Recorder;
use crate::shared::{Overflow, SharedRecorder};

/// Times at which recorded data is handed to the system, so that it survives the end of the
/// program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Flush {
    /// Flushes when a buffer is full, and at the end.
    #[default]
    Full,
    /// After every message: the surest, and by far the slowest.
    Message,
    /// Whenever so many bytes came together.
    Bytes(u64),
    /// Whenever so much time has passed. A [`SharedRecorder`] keeps the time by itself; a
    /// [`Recorder`] looks at it when it is called, so that what came before a silence waits until
    /// [`flush`](Recorder::flush) or [`flush_if_due`](Recorder::flush_if_due).
    Interval(Duration),
}

/// Times at which the system is asked to bring to the disk what it was handed. The data then
/// survives the end of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sync {
    /// Leaves the time to the system.
    #[default]
    Never,
    /// At the end of every file.
    Finish,
    /// With every flush.
    Flush,
}

/// Configuration of a recorder: sizes, policies, rotation. Every setting has a default.
///
/// ```
/// use std::time::Duration;
/// use kymo_recorder::{Config, Flush, Sync};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("run.rtc");
/// let recorder = Config::new()
///     .flush(Flush::Interval(Duration::from_millis(200)))
///     .sync(Sync::Finish)
///     .rotate_after(64 << 20)
///     .create(&path)?;
/// recorder.finish()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Config {
    pub(crate) options: Options,
    pub(crate) flush: Flush,
    pub(crate) sync: Sync,
    pub(crate) rotate_after_bytes: Option<u64>,
    pub(crate) file_bytes_max: u64,
    pub(crate) queue_bytes: usize,
    pub(crate) overflow: Overflow,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            options: Options::new(),
            flush: Flush::default(),
            sync: Sync::default(),
            rotate_after_bytes: None,
            file_bytes_max: u64::MAX,
            queue_bytes: 1 << 20,
            overflow: Overflow::default(),
        }
    }
}

impl Config {
    /// Units of 1 MiB and units of 128 KiB, flushed when full, never synchronised, one file.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Chooses the sizes of a Unit and a unit: powers of two, the unit at least 2048 bytes.
    pub fn sizes(mut self, major_bytes: u64, minor_bytes: u64) -> Result<Self> {
        self.options = self.options.sizes(major_bytes, minor_bytes)?;
        Ok(self)
    }

    /// Chooses the checksum of a Unit, or none.
    #[must_use]
    pub fn crc(mut self, polynomial: Option<Polynomial>) -> Self {
        self.options = self.options.crc(polynomial);
        self
    }

    /// Chooses how many bytes at most are collected before they are handed to the system.
    #[must_use]
    pub fn buffer_bytes(mut self, bytes: usize) -> Self {
        self.options = self.options.buffer_bytes(bytes);
        self
    }

    /// Chooses when to flush.
    #[must_use]
    pub fn flush(mut self, flush: Flush) -> Self {
        self.flush = flush;
        self
    }

    /// Chooses when to synchronise.
    #[must_use]
    pub fn sync(mut self, sync: Sync) -> Self {
        self.sync = sync;
        self
    }

    /// Goes on in another file when one has so many bytes: `run.rtc`, `run.1.rtc`, `run.2.rtc` …
    /// Numbers of files that exist are passed over. Every part is readable on its own: it
    /// describes all streams and begins with the last value of every clock.
    #[must_use]
    pub fn rotate_after(mut self, bytes: u64) -> Self {
        self.rotate_after_bytes = Some(bytes);
        self
    }

    /// Fails with [`FileTooLarge`](std::io::ErrorKind::FileTooLarge) when a file would have more
    /// bytes: what fits is written. For programs that a file larger than their limit would end.
    #[must_use]
    pub fn file_bytes_max(mut self, bytes: u64) -> Self {
        self.file_bytes_max = bytes;
        self
    }

    /// Chooses how much the queue of a [`SharedRecorder`] holds; 1 MiB unless chosen.
    #[must_use]
    pub fn queue_bytes(mut self, bytes: usize) -> Self {
        self.queue_bytes = bytes;
        self
    }

    /// Chooses what a [`SharedRecorder`] does when its queue is full.
    #[must_use]
    pub fn overflow(mut self, overflow: Overflow) -> Self {
        self.overflow = overflow;
        self
    }

    /// Records to a new file; one that exists is emptied. On Unix a file that another recorder has
    /// open is refused, here and wherever else one is recorded to.
    pub fn create(self, path: impl AsRef<Path>) -> Result<Recorder> {
        Recorder::create_with(self, path.as_ref())
    }

    /// Records to the end of a file, as a new session; one that does not exist is made. It does
    /// not matter whether the last session in it was cut short. A recording that rotates goes on in
    /// its last part.
    pub fn append(self, path: impl AsRef<Path>) -> Result<Recorder> {
        Recorder::append_with(self, path.as_ref())
    }

    /// As [`Config::create`], for many threads.
    pub fn create_shared(self, path: impl AsRef<Path>) -> Result<SharedRecorder> {
        self.clone().create(path)?.into_shared(&self)
    }

    /// As [`Config::append`], for many threads.
    pub fn append_shared(self, path: impl AsRef<Path>) -> Result<SharedRecorder> {
        self.clone().append(path)?.into_shared(&self)
    }
}
