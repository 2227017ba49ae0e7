//! The C interface: `include/kymo_recorder.h` is made from this file, its comments included.
//!
//! Nothing unwinds into C: a panic becomes an error like any other. A recorder may be used from
//! many threads at once; calls wait for one another.
#![allow(unsafe_code, reason = "pointers of C programs; each use says why it may be trusted")]
#![allow(non_camel_case_types, clippy::doc_markdown, reason = "the names and comments of C")]

mod border;
mod items;
mod timer;

use std::ffi::{c_char, c_int, c_void};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kymo_rtc_wire::crc::Polynomial;

use crate::config::{Config, Flush, Sync};
use crate::recorder::Recorder;
use crate::stream::StreamOptions;
use crate::time::{Resolution, Timespec};
use border::{Failure, bytes, guarded, in_words, optional_text, succeeds, text, with};
use items::{Item, Items};
use timer::Timer;

/// Bytes are brought to the disk when the system likes.
pub const KYMO_SYNC_NEVER: u32 = 0;
/// Bytes are brought to the disk at the end of every file.
pub const KYMO_SYNC_FINISH: u32 = 1;
/// Bytes are brought to the disk with every flush.
pub const KYMO_SYNC_FLUSH: u32 = 2;

/// A delta clock counts in thousandths of a second.
pub const KYMO_MILLISECONDS: u32 = 3;
/// A delta clock counts in millionths of a second.
pub const KYMO_MICROSECONDS: u32 = 6;
/// A delta clock counts in billionths of a second.
pub const KYMO_NANOSECONDS: u32 = 9;

/// The checksum of a Unit is CRC32-IEEE, as the specification has it.
pub const KYMO_CRC_IEEE: u32 = 0;
/// The checksum of a Unit is the one of the format's first writer.
pub const KYMO_CRC_MIXED: u32 = 1;
/// Units have no checksum.
pub const KYMO_CRC_NONE: u32 = 2;

/// The stream is one run of bytes without borders between messages, such as standard output.
pub const KYMO_CONT: u32 = 1;
/// The stream is left out of indices: for what nobody searches by time.
pub const KYMO_HIDDEN: u32 = 2;

/// Configuration of a recorder. Zeros are the defaults: `kymo_config config = {0};`
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct kymo_config {
    /// Size of a Unit and of a unit: powers of two, the unit at least 2048. 0: 1 MiB and 128 KiB.
    pub major_bytes: u64,
    /// See major_bytes.
    pub minor_bytes: u64,
    /// Flush whenever so many bytes came together; 1 is after every message. 0: when a buffer is
    /// full.
    pub flush_bytes: u64,
    /// Flush what has waited for so many milliseconds, also when no message comes: a thread sees to
    /// that. Instead of flush_bytes.
    pub flush_milliseconds: u64,
    /// Go on in another file (run.1.rtc, run.2.rtc ...) when one has so many bytes. 0: one file.
    pub rotate_after_bytes: u64,
    /// So many bytes at most are collected in memory before they are handed to the system. 0: 256
    /// KiB, or a Unit if that is less.
    pub buffer_bytes: u64,
    /// One of KYMO_SYNC_NEVER, KYMO_SYNC_FINISH and KYMO_SYNC_FLUSH.
    pub sync: u32,
    /// One of KYMO_CRC_IEEE, KYMO_CRC_MIXED and KYMO_CRC_NONE.
    pub crc: u32,
}

/// A recording in progress.
#[derive(Debug)]
pub struct kymo_recorder {
    items: Arc<Mutex<Items>>,
    timer: Option<Timer>,
}

impl kymo_config {
    fn to_config(self) -> Result<Config, Failure> {
        let mut config = Config::new();
        if (self.major_bytes, self.minor_bytes) != (0, 0) {
            config = config.sizes(self.major_bytes, self.minor_bytes).map_err(in_words)?;
        }
        if self.rotate_after_bytes > 0 {
            config = config.rotate_after(self.rotate_after_bytes);
        }
        if self.buffer_bytes > 0 {
            // More than a Unit is never collected.
            config = config.buffer_bytes(usize::try_from(self.buffer_bytes).unwrap_or(usize::MAX));
        }
        let flush = match (self.flush_milliseconds, self.flush_bytes) {
            (0, 0) => Flush::Full,
            (0, bytes) => Flush::Bytes(bytes),
            (milliseconds, _) => Flush::Interval(Duration::from_millis(milliseconds)),
        };
        let sync = match self.sync {
            KYMO_SYNC_NEVER => Sync::Never,
            KYMO_SYNC_FINISH => Sync::Finish,
            KYMO_SYNC_FLUSH => Sync::Flush,
            other => return Err(format!("{other} is not a way to synchronise")),
        };
        let crc = match self.crc {
            KYMO_CRC_IEEE => Some(Polynomial::Ieee),
            KYMO_CRC_MIXED => Some(Polynomial::Mixed),
            KYMO_CRC_NONE => None,
            other => return Err(format!("{other} is not a checksum")),
        };
        Ok(config.flush(flush).sync(sync).crc(crc))
    }
}

fn flagged(mut options: StreamOptions, flags: u32) -> Result<StreamOptions, Failure> {
    if flags & !(KYMO_CONT | KYMO_HIDDEN) != 0 {
        return Err(format!("{flags} has flags that streams do not have"));
    }
    if flags & KYMO_CONT != 0 {
        options = options.cont();
    }
    if flags & KYMO_HIDDEN != 0 {
        options = options.hidden();
    }
    Ok(options)
}

/// Records to a new file; one that exists is emptied. config may be NULL. NULL when it failed.
///
/// # Safety
///
/// path ends with a NUL; config is NULL or points to a configuration.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kymo_create(
    path: *const c_char,
    config: *const kymo_config,
) -> *mut kymo_recorder {
    // SAFETY: the contract is the same.
    unsafe { open(path, config, |config, path| config.create(path)) }
}

/// Records to the end of a file, as a new session; one that does not exist is made. It does not
/// matter whether the file was cut short. config may be NULL. NULL when it failed.
///
/// # Safety
///
/// path ends with a NUL; config is NULL or points to a configuration.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kymo_append(
    path: *const c_char,
    config: *const kymo_config,
) -> *mut kymo_recorder {
    // SAFETY: the contract is the same.
    unsafe { open(path, config, |config, path| config.append(path)) }
}

/// Ends the recording and frees the recorder, whether it succeeds or not: 0, or -1.
///
/// # Safety
///
/// recorder is NULL, or was opened and not finished, and no other thread uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kymo_finish(recorder: *mut kymo_recorder) -> c_int {
    succeeds(|| {
        if recorder.is_null() {
            return Err("there is no recorder".to_owned());
        }
        // SAFETY: it came from Box::into_raw and is not used again, by this function's contract.
        let recorder = unsafe { Box::from_raw(recorder) };
        if let Some(timer) = recorder.timer {
            timer.stop();
        }
        let items = Arc::into_inner(recorder.items).ok_or("the recorder is in use")?;
        items.into_inner().unwrap_or_else(PoisonError::into_inner).finish().map_err(in_words)
    })
}

/// Hands everything so far to the system, so that it survives the end of the program: 0, or -1.
///
/// # Safety
///
/// recorder was opened and not finished.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kymo_flush(recorder: *mut kymo_recorder) -> c_int {
    // SAFETY: by this function's contract.
    succeeds(|| unsafe { with(recorder, |items| items.recorder.flush().map_err(in_words)) })
}

/// Adds a clock of seconds and nanoseconds since the Epoch. Its number, or -1.
///
/// # Safety
///
/// recorder was opened and not finished; name ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kymo_clock(recorder: *mut kymo_recorder, name: *const c_char) -> i32 {
    guarded(-1, || {
        // SAFETY: by this function's contract.
        let name = unsafe { text(name) }?;
        // SAFETY: likewise.
        unsafe {
            with(recorder, |items| {
                let clock = items.recorder.absolute_clock(name).map_err(in_words)?;
                items.keep(Item::Clock(clock))
            })
        }
    })
}

/// Adds a clock that counts ticks of gain seconds; offset_seconds is what 0 ticks are since the
/// Epoch, or 0 if that is not known. Its number, or -1.
///
/// # Safety
///
/// recorder was opened and not finished; name ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kymo_counter_clock(
    recorder: *mut kymo_recorder,
    name: *const c_char,
    gain: f64,
    offset_seconds: f64,
) -> i32 {
    guarded(-1, || {
        // SAFETY: by this function's contract.
        let name = unsafe { text(name) }?;
        // SAFETY: likewise.
        unsafe {
            with(recorder, |items| {
                let clock = items.recorder.counter_clock(name, gain, offset_seconds);
                items.keep(Item::Clock(clock.map_err(in_words)?))
            })
        }
    })
}

/// Adds a clock that is set by small steps from another, which is then set only once in a while.
/// On a clock of seconds it counts in KYMO_MILLISECONDS, KYMO_MICROSECONDS or KYMO_NANOSECONDS, on
/// a counter in its ticks. Its number, or -1.
///
/// # Safety
///
/// recorder was opened and not finished; name ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kymo_delta_clock(
    recorder: *mut kymo_recorder,
    name: *const c_char,
    base: i32,
    resolution: u32,
) -> i32 {
    guarded(-1, || {
        // SAFETY: by this function's contract.
        let name = unsafe { text(name) }?;
        let resolution = match resolution {
            KYMO_MILLISECONDS => Resolution::Milliseconds,
            KYMO_MICROSECONDS => Resolution::Microseconds,
            KYMO_NANOSECONDS => Resolution::Nanoseconds,
            other => return Err(format!("{other} is not a resolution")),
        };
        // SAFETY: by this function's contract.
        unsafe {
            with(recorder, |items| {
                let base = items.clock(base)?;
                let clock = items.recorder.delta_clock(name, base, resolution);
                items.keep(Item::Clock(clock.map_err(in_words)?))
            })
        }
    })
}

/// Sets a clock of seconds, or a delta on one; what is recorded next on it happened then: 0, or
/// -1. A clock must not go back.
///
/// # Safety
///
/// recorder was opened and not finished.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kymo_set_clock(
    recorder: *mut kymo_recorder,
    clock: i32,
    seconds: u64,
    nanoseconds: u32,
) -> c_int {
    let time = Timespec::new(seconds, nanoseconds);
    // SAFETY: by this function's contract.
    succeeds(|| unsafe {
        with(recorder, |items| {
            let clock = items.clock(clock)?;
            items.recorder.set(clock, time).map_err(in_words)
        })
    })
}

/// Sets a counter, or a delta on one: 0, or -1. It must not wrap around.
///
/// # Safety
///
/// recorder was opened and not finished.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kymo_set_counter(
    recorder: *mut kymo_recorder,
    clock: i32,
    ticks: u64,
) -> c_int {
    // SAFETY: by this function's contract.
    succeeds(|| unsafe {
        with(recorder, |items| {
            let clock = items.clock(clock)?;
            items.recorder.set(clock, ticks).map_err(in_words)
        })
    })
}

/// Adds a stream. format is one that every reader knows ("uint16le", "float64", "utf-8", "json",
/// "raw" ...) or any other name. length is the bytes of every message, or 0 if they differ. clock
/// is the number of a clock, or 0. flags is 0, KYMO_CONT, KYMO_HIDDEN or both. attributes is a
/// JSON object of further attributes, such as {"gain":0.01,"unit":"V"}, or NULL. Its number, or -1.
///
/// # Safety
///
/// recorder was opened and not finished; the texts end with a NUL, and attributes may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kymo_stream(
    recorder: *mut kymo_recorder,
    name: *const c_char,
    format: *const c_char,
    length: u64,
    clock: i32,
    flags: u32,
    attributes: *const c_char,
) -> i32 {
    guarded(-1, || {
        // SAFETY: by this function's contract, for all three.
        let (name, format, attributes) =
            unsafe { (text(name)?, text(format)?, optional_text(attributes)?) };
        let mut options = flagged(StreamOptions::new(name), flags)?;
        if let Some(attributes) = attributes {
            options = options.object(attributes);
        }
        // SAFETY: by this function's contract.
        unsafe {
            with(recorder, |items| {
                if clock != 0 {
                    options = options.clock(items.clock(clock)?);
                }
                let length = (length > 0).then_some(length);
                let stream = items.recorder.raw_stream(options, format, length);
                items.keep(Item::Stream(stream.map_err(in_words)?))
            })
        }
    })
}

/// Ends a stream, which then costs nothing any more: 0, or -1.
///
/// # Safety
///
/// recorder was opened and not finished.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kymo_close_stream(recorder: *mut kymo_recorder, stream: i32) -> c_int {
    // SAFETY: by this function's contract.
    succeeds(|| unsafe {
        with(recorder, |items| {
            let stream = items.stream(stream)?;
            items.recorder.close(stream).map_err(in_words)
        })
    })
}

/// Records a message, at the last time of the stream's clock: 0, or -1. An empty one vanishes.
///
/// # Safety
///
/// recorder was opened and not finished; data points to length bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kymo_write(
    recorder: *mut kymo_recorder,
    stream: i32,
    data: *const c_void,
    length: usize,
) -> c_int {
    // SAFETY: by this function's contract.
    succeeds(|| unsafe {
        let data = bytes(data, length)?;
        with(recorder, |items| items.write(stream, None, data))
    })
}

/// Sets the stream's clock, which counts seconds, and records a message: 0, or -1.
///
/// # Safety
///
/// recorder was opened and not finished; data points to length bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kymo_write_at(
    recorder: *mut kymo_recorder,
    stream: i32,
    seconds: u64,
    nanoseconds: u32,
    data: *const c_void,
    length: usize,
) -> c_int {
    let time = Timespec::new(seconds, nanoseconds);
    // SAFETY: by this function's contract.
    succeeds(|| unsafe {
        let data = bytes(data, length)?;
        with(recorder, |items| items.write(stream, Some(time.into()), data))
    })
}

/// Sets the stream's clock, which is a counter, and records a message: 0, or -1.
///
/// # Safety
///
/// recorder was opened and not finished; data points to length bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kymo_write_at_ticks(
    recorder: *mut kymo_recorder,
    stream: i32,
    ticks: u64,
    data: *const c_void,
    length: usize,
) -> c_int {
    // SAFETY: by this function's contract.
    succeeds(|| unsafe {
        let data = bytes(data, length)?;
        with(recorder, |items| items.write(stream, Some(ticks.into()), data))
    })
}

/// Sets the stream's clock, which counts seconds, to the present, and records a message: 0, or -1.
///
/// # Safety
///
/// recorder was opened and not finished; data points to length bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kymo_write_now(
    recorder: *mut kymo_recorder,
    stream: i32,
    data: *const c_void,
    length: usize,
) -> c_int {
    // SAFETY: by this function's contract.
    succeeds(|| unsafe {
        let data = bytes(data, length)?;
        with(recorder, |items| {
            let now = items.recorder.now();
            items.write(stream, Some(now.into()), data)
        })
    })
}

/// Adds a stream of remarks on points in time, in a format as for kymo_stream. stream is the name
/// of the stream that is remarked on, or NULL for the time as such. Its number, or -1.
///
/// # Safety
///
/// recorder was opened and not finished; the texts end with a NUL, and stream may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kymo_annotations(
    recorder: *mut kymo_recorder,
    name: *const c_char,
    format: *const c_char,
    stream: *const c_char,
) -> i32 {
    guarded(-1, || {
        // SAFETY: by this function's contract, for all three.
        let (name, format, stream) =
            unsafe { (text(name)?, text(format)?, optional_text(stream)?) };
        let mut options = StreamOptions::new(name);
        if let Some(stream) = stream {
            options = options.text("stream", stream);
        }
        // SAFETY: by this function's contract.
        unsafe {
            with(recorder, |items| {
                let format = format!("annotate/{format}");
                let stream = items.recorder.raw_stream(options, &format, None);
                items.keep(Item::Annotations(stream.map_err(in_words)?))
            })
        }
    })
}

/// Remarks something on a point in time, which may be long past: 0, or -1.
///
/// # Safety
///
/// recorder was opened and not finished; data points to length bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kymo_annotate(
    recorder: *mut kymo_recorder,
    annotations: i32,
    seconds: u64,
    nanoseconds: u32,
    data: *const c_void,
    length: usize,
) -> c_int {
    let time = Timespec::new(seconds, nanoseconds);
    // SAFETY: by this function's contract.
    succeeds(|| unsafe {
        let data = bytes(data, length)?;
        with(recorder, |items| items.annotate(annotations, time, data))
    })
}

/// Returns the reason why the last call that failed in this thread did so: text that stays until
/// the next one fails.
#[unsafe(no_mangle)]
pub extern "C" fn kymo_error() -> *const c_char {
    border::last_error()
}

/// Opens a recording.
///
/// # Safety
///
/// `path` as for [`border::path`]; `config` is null or points to a configuration.
unsafe fn open(
    path: *const c_char,
    config: *const kymo_config,
    how: impl FnOnce(Config, &Path) -> crate::error::Result<Recorder>,
) -> *mut kymo_recorder {
    guarded(std::ptr::null_mut(), || {
        // SAFETY: by this function's contract.
        let path = unsafe { border::path(path) }?;
        // SAFETY: null or valid, by this function's contract.
        let config = unsafe { config.as_ref() }.copied().unwrap_or_default();
        let recorder = how(config.to_config()?, &path).map_err(in_words)?;
        let items = Arc::new(Mutex::new(Items::new(recorder)));
        let interval = Some(config.flush_milliseconds).filter(|milliseconds| *milliseconds > 0);
        let timer = interval.map(|interval| Timer::start(&items, Duration::from_millis(interval)));
        let timer = timer.transpose().map_err(|error| error.to_string())?;
        Ok(Box::into_raw(Box::new(kymo_recorder { items, timer })))
    })
}
