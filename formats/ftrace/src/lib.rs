//! Text that `ftrace` and `trace-cmd report` print: events of Linux, a line each, read only.
//!
//! ```
//! use kymo_core::{Context, Source};
//! use kymo_ftrace::TRACE;
//!
//! let line = "  rt-30820   [001] d..2.  1051.176935: sched_process_exit: comm=rt pid=30820 prio=120\n";
//! let source = Source::from_bytes("rt.ftrace", line);
//! let reader = kymo_lines::Reader::open(&source, 0, TRACE, &Context::default())?;
//! assert_eq!(reader.event_count(), 1);
//! # Ok::<(), kymo_core::Error>(())
//! ```
//!
//! The lines in words: `docs/formats/ftrace.md`.

mod dataset;
mod read;

pub use dataset::Ftrace;
pub use read::{TRACE, trace};
