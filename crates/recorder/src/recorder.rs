//! Recording from one thread, straight into a file.

use std::path::Path;
use std::time::{Duration, Instant};

use kymo_rtc_wire::meta::StreamMeta;
use kymo_rtc_wire::write::{StreamId, Writer};

use crate::clock::{Clock, Clocks, DeltaLimit, Kind, Setting};
use crate::config::{Config, Flush, Sync};
use crate::error::{Error, Result};
use crate::file::{self, Parts, Target};
use crate::format::{Annotate, Format, Raw, Uleb128};
use crate::shared::SharedRecorder;
use crate::stream::{Stream, StreamOptions};
use crate::time::{Resolution, Steady, Time, Timespec};

/// After how long the base of a delta clock is set again, unless chosen.
const BASE_EVERY: Duration = Duration::from_secs(1);

/// Records into a file from one thread. For many threads there is [`SharedRecorder`].
///
/// Dropping it finishes the recording, but only [`Recorder::finish`] tells whether that went well.
///
/// ```
/// use kymo_recorder::{Recorder, StreamOptions};
/// use kymo_recorder::format::{Le, Utf8};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("run.rtc");
/// let mut recorder = Recorder::create(&path)?;
/// let clock = recorder.absolute_clock("clk")?;
/// let celsius = StreamOptions::new("temperature").clock(clock).gain(0.01).text("unit", "°C");
/// let temperature = recorder.stream::<Le<i16>>(celsius)?;
/// let log = recorder.stream::<Utf8>(StreamOptions::new("log").clock(clock))?;
///
/// recorder.write_now(log, "warming up")?;
/// recorder.write_now(temperature, 2150)?;
/// recorder.write(temperature, 2151)?; // at the same time
/// recorder.finish()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Recorder {
    writer: Option<Writer<Target>>,
    clocks: Clocks,
    steady: Steady,
    /// True if there is more to a flush than a full buffer.
    is_watched: bool,
    flush: Flush,
    sync: Sync,
    flushed_at: u64,
    flushed_when: Instant,
    /// Number of bytes of the session that this file has when the next part begins.
    rotate_at: u64,
    /// Number of bytes that a part has then.
    rotate_after: u64,
    file_bytes_max: u64,
    /// End of the last setting of a clock.
    clock_end: u64,
    parts: Parts,
}

impl Recorder {
    /// Records to a new file with the default [`Config`]; one that exists is emptied.
    pub fn create(path: impl AsRef<Path>) -> Result<Self> {
        Config::new().create(path)
    }

    /// Records to the end of a file, as a new session, with the default [`Config`].
    pub fn append(path: impl AsRef<Path>) -> Result<Self> {
        Config::new().append(path)
    }

    pub(crate) fn create_with(config: Config, path: &Path) -> Result<Self> {
        let target = Target::create(path, config.file_bytes_max)?;
        Self::new(config, Parts::new(path), target)
    }

    pub(crate) fn append_with(config: Config, path: &Path) -> Result<Self> {
        let (mut parts, room) = (Parts::new(path), config.file_bytes_max);
        let target = match config.rotate_after_bytes {
            None => Target::append(path, room)?,
            Some(bytes) => match parts.append(room)? {
                full if full.former_bytes >= bytes => parts.next(room)?,
                last => last,
            },
        };
        Self::new(config, parts, target)
    }

    fn new(config: Config, parts: Parts, target: Target) -> Result<Self> {
        if config.sync != Sync::Never {
            file::sync_name(&parts.path())?;
        }
        let rotate_after = config.rotate_after_bytes.unwrap_or(u64::MAX);
        Ok(Self {
            rotate_at: rotate_after.saturating_sub(target.former_bytes),
            writer: Some(Writer::new(target, config.options)),
            clocks: Clocks::default(),
            steady: Steady::start(),
            is_watched: config.flush != Flush::Full,
            flush: config.flush,
            sync: config.sync,
            flushed_at: 0,
            flushed_when: Instant::now(),
            rotate_after,
            file_bytes_max: config.file_bytes_max,
            clock_end: 0,
            parts,
        })
    }

    /// Hands the recorder to a thread of its own, so that many threads can record.
    pub fn into_shared(self, config: &Config) -> Result<SharedRecorder> {
        SharedRecorder::start(self, config)
    }

    /// Adds a stream of values of format `F`.
    pub fn stream<F: Format>(&mut self, options: impl Into<StreamOptions>) -> Result<Stream<F>> {
        self.add(options.into().for_format::<F>())
    }

    /// Adds a stream of bytes in a format that readers know by `format`, with messages of a fixed
    /// length if one is given.
    pub fn raw_stream(
        &mut self,
        options: impl Into<StreamOptions>,
        format: &str,
        length_bytes: Option<u64>,
    ) -> Result<Stream<Raw>> {
        self.add(options.into().format(format, length_bytes))
    }

    fn add<F>(&mut self, options: StreamOptions) -> Result<Stream<F>> {
        let clock = options.chosen_clock();
        let mut meta = options.into_meta()?;
        if let Some(clock) = clock {
            meta = meta.text("clock", &self.clocks.get(clock)?.name)?;
        }
        Ok(Stream::new(self.add_meta(&meta)?, clock))
    }

    fn add_meta(&mut self, meta: &StreamMeta) -> Result<StreamId> {
        Ok(self.writer()?.add(meta)?)
    }

    /// Ends a stream: it costs nothing any more, and writing to it is an error.
    pub fn close<F>(&mut self, stream: Stream<F>) -> Result<()> {
        Ok(self.writer()?.close(stream.id)?)
    }

    /// Adds a clock of seconds and nanoseconds since the Epoch.
    pub fn absolute_clock(&mut self, name: &str) -> Result<Clock> {
        let options = StreamOptions::new(name).for_format::<Timespec>().flag("clock", true);
        self.add_clock(name, options, Kind::Absolute)
    }

    /// Adds a clock that counts ticks of `gain` seconds. `offset_seconds` is what its 0 means:
    /// seconds since the Epoch, or 0 if that is not known. It must not wrap around.
    pub fn counter_clock(&mut self, name: &str, gain: f64, offset_seconds: f64) -> Result<Clock> {
        let mut options =
            StreamOptions::new(name).for_format::<u64>().flag("clock", true).gain(gain);
        if offset_seconds != 0.0 {
            options = options.offset(offset_seconds);
        }
        self.add_clock(name, options, Kind::Counter { gain })
    }

    /// Adds a clock that is set by small steps from `base`, so that dating takes two or three
    /// bytes. The base itself is set again every second, or every 2^20 ticks.
    ///
    /// On an absolute clock it counts in steps of `resolution`; on a counter, in its ticks.
    pub fn delta_clock(
        &mut self,
        name: &str,
        base: Clock,
        resolution: Resolution,
    ) -> Result<Clock> {
        let state = self.clocks.get(base)?;
        let (gain, every) = match state.kind {
            Kind::Absolute => (resolution.gain(), DeltaLimit::Elapsed(BASE_EVERY)),
            Kind::Counter { gain } => (gain, DeltaLimit::Ticks(1 << 20)),
            Kind::Delta { .. } => return Err(Error::Unit(state.name.clone())),
        };
        let options = StreamOptions::new(name).for_format::<Uleb128>().flag("clock", true);
        let options = options.gain(gain).text("delta", &state.name);
        self.add_clock(name, options, Kind::Delta { base, resolution, every })
    }

    fn add_clock(&mut self, name: &str, options: StreamOptions, kind: Kind) -> Result<Clock> {
        let id = self.add_meta(&options.into_meta()?)?;
        Ok(self.clocks.add(id, name, kind))
    }

    pub(crate) fn clock_name(&self, clock: Option<Clock>) -> &str {
        clock.and_then(|clock| self.clocks.get(clock).ok()).map_or("", |state| &state.name)
    }

    /// Adds a stream of remarks on points in time: on those of `stream`'s clock if one is given,
    /// otherwise on the time as such.
    pub fn annotations<F: Format>(
        &mut self,
        options: impl Into<StreamOptions>,
        stream: Option<&str>,
    ) -> Result<Stream<Annotate<F>>> {
        let mut options = options.into();
        if let Some(stream) = stream {
            options = options.text("stream", stream);
        }
        self.stream(options)
    }

    /// Remarks something on a point in time, which may be long past. Where the clock has no
    /// relation to the Epoch, it is the seconds by that clock.
    pub fn annotate<F: Format>(
        &mut self,
        annotations: Stream<Annotate<F>>,
        time: impl Into<Timespec>,
        value: F::Value<'_>,
    ) -> Result<()> {
        self.write(annotations, (time.into(), value))
    }

    /// Records a value, at the last time of the stream's clock. An empty one vanishes.
    #[inline]
    pub fn write<F: Format>(&mut self, stream: Stream<F>, value: F::Value<'_>) -> Result<()> {
        F::encode(value, |bytes| self.put(stream.id, bytes))
    }

    /// Sets the stream's clock and records a value.
    pub fn write_at<F: Format>(
        &mut self,
        stream: Stream<F>,
        time: impl Into<Time>,
        value: F::Value<'_>,
    ) -> Result<()> {
        self.set(stream.clock.ok_or(Error::NoClock)?, time)?;
        self.write(stream, value)
    }

    /// Sets the stream's clock, which must not be a counter, to the present, and records a value.
    pub fn write_now<F: Format>(&mut self, stream: Stream<F>, value: F::Value<'_>) -> Result<()> {
        self.write_at(stream, self.now(), value)
    }

    /// Sets a clock. What is recorded next on it happened then.
    pub fn set(&mut self, clock: Clock, time: impl Into<Time>) -> Result<()> {
        self.writer()?;
        self.rotate_if_full()?;
        for setting in self.clocks.set(clock, time.into())?.into_iter().flatten() {
            self.write_clock(&setting)?;
        }
        Ok(())
    }

    /// Writes what a clock shows; later Units begin with it. What counts from this clock would
    /// show something else with its new value, and is not told again before it is set.
    fn write_clock(&mut self, setting: &Setting) -> Result<()> {
        let writer = self.writer.as_mut().ok_or(Error::Finished)?;
        writer.write(setting.id, setting.bytes())?;
        writer.keep(setting.id, setting.bytes())?;
        for delta in self.clocks.deltas_on(setting.id) {
            writer.keep(delta, &[])?;
        }
        self.clock_end = writer.position();
        Ok(())
    }

    /// The present by the system's clock, but that it never goes back: where that is set back, the
    /// time since then counts on from what it was.
    #[must_use]
    pub fn now(&self) -> Timespec {
        self.steady.now()
    }

    pub(crate) fn steady(&self) -> Steady {
        self.steady.clone()
    }

    /// Writes bytes and looks after rotation and flushing.
    #[inline]
    pub(crate) fn put(&mut self, id: StreamId, bytes: &[u8]) -> Result<()> {
        self.rotate_if_full()?;
        let writer = self.writer.as_mut().ok_or(Error::Finished)?;
        writer.write(id, bytes)?;
        if self.is_watched { self.flush_by_policy() } else { Ok(()) }
    }

    fn flush_by_policy(&mut self) -> Result<()> {
        let is_due = match self.flush {
            Flush::Full => false,
            Flush::Message => true,
            Flush::Bytes(bytes) => self.position() - self.flushed_at >= bytes,
            Flush::Interval(interval) => self.flushed_when.elapsed() >= interval,
        };
        if is_due { self.flush() } else { Ok(()) }
    }

    /// Goes on in the next part when there is something for it, so that no part is empty.
    #[inline]
    fn rotate_if_full(&mut self) -> Result<()> {
        if self.position() >= self.rotate_at { self.rotate() } else { Ok(()) }
    }

    fn rotate(&mut self) -> Result<()> {
        // What a clock was just set for belongs behind it.
        if self.position() == self.clock_end {
            return Ok(());
        }
        // A file that takes no more would make another, empty, with every message.
        self.writer()?.flush()?;
        let target = self.parts.next(self.file_bytes_max)?;
        let former = self.writer()?.restart(target)?;
        if self.sync != Sync::Never {
            former.sync()?;
            file::sync_name(&self.parts.path())?;
        }
        (self.flushed_at, self.clock_end) = (0, 0);
        self.rotate_at = self.rotate_after;
        Ok(())
    }

    /// Hands everything so far to the system: it survives the end of the program, and with
    /// [`Sync::Flush`] that of the machine.
    pub fn flush(&mut self) -> Result<()> {
        let sync = self.sync;
        let writer = self.writer()?;
        writer.flush()?;
        if sync == Sync::Flush {
            writer.output().sync()?;
        }
        self.flushed_at = self.position();
        self.flushed_when = Instant::now();
        Ok(())
    }

    /// Flushes if [`Flush::Interval`] says that it is time.
    pub fn flush_if_due(&mut self) -> Result<()> {
        if self.flush_due_in() == Some(Duration::ZERO) { self.flush() } else { Ok(()) }
    }

    /// Returns how long recorded data may still wait to be flushed by [`Flush::Interval`]. Returns
    /// `None` when nothing waits.
    #[must_use]
    pub fn flush_due_in(&self) -> Option<Duration> {
        match self.flush {
            Flush::Interval(interval) if self.position() > self.flushed_at => {
                Some(interval.saturating_sub(self.flushed_when.elapsed()))
            }
            _ => None,
        }
    }

    /// The bytes of the session in this file so far.
    #[inline]
    #[must_use]
    pub fn position(&self) -> u64 {
        self.writer.as_ref().map_or(0, Writer::position)
    }

    /// Ends the recording with a checksum and tells whether all of it was taken.
    pub fn finish(mut self) -> Result<()> {
        self.end()
    }

    pub(crate) fn end(&mut self) -> Result<()> {
        let writer = self.writer.take().ok_or(Error::Finished)?;
        let target = writer.finish()?;
        if self.sync != Sync::Never {
            target.sync()?;
        }
        Ok(())
    }

    fn writer(&mut self) -> Result<&mut Writer<Target>> {
        self.writer.as_mut().ok_or(Error::Finished)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // Whoever wants to know calls `finish`.
        let _ = self.end();
    }
}
