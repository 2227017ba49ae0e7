//! Text that `perf script` prints: events of Linux, a line each, read only.
//!
//! ```
//! use kymo_core::{Context, Source};
//! use kymo_perf::script;
//!
//! let line = "  rt 30820 [001]  1051.176935: sched:sched_process_exit: comm=rt pid=30820 prio=120\n";
//! let source = Source::from_bytes("rt.perf", line);
//! let grammar = script(line.as_bytes());
//! let reader = kymo_lines::Reader::open(&source, 0, grammar, &Context::default())?;
//! assert_eq!(reader.event_count(), 1);
//! # Ok::<(), kymo_core::Error>(())
//! ```
//!
//! The lines in words: `docs/formats/perf.md`.

mod dataset;
mod read;

pub use dataset::Perf;
pub use read::script;
