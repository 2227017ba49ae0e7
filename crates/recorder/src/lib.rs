//! Records what a program does into files of the Ruler Trace Container (RTC), which stay readable
//! when the program is killed, the disk runs full, or either end of the file is lost.
//!
//! - [`Recorder`] records from one thread, [`SharedRecorder`] from many.
//! - A [`Stream`] takes values of a [`mod@format`]: numbers, text, JSON, bytes.
//! - A [`Clock`] dates them: absolute, a counter, or a delta on another clock.
//! - [`Config`] says when to flush and to synchronise, and when to begin another file.
//! - C programs use `include/kymo_recorder.h`.
//!
//! ```
//! use kymo_recorder::Recorder;
//! use kymo_recorder::format::Utf8;
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("run.rtc");
//! let mut recorder = Recorder::create(&path)?;
//! let log = recorder.stream::<Utf8>("log")?;
//! recorder.write(log, "hello")?;
//! recorder.finish()?;
//! assert!(std::fs::read(&path)?.windows(5).any(|bytes| bytes == b"hello"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod clock;
mod config;
mod error;
pub mod ffi;
mod file;
pub mod format;
mod recorder;
mod shared;
mod stream;
mod time;

pub use clock::Clock;
pub use config::{Config, Flush, Sync};
pub use error::{Error, Result};
pub use file::{is_recorded_to, last_part_of, parts_of};
pub use kymo_rtc_wire::crc::Polynomial;
pub use recorder::Recorder;
pub use shared::{Overflow, SharedRecorder, SharedStream};
pub use stream::{Stream, StreamOptions};
pub use time::{Resolution, Time, Timespec};

/// The examples in the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
