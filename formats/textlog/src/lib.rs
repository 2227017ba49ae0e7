//! Text logs of any kind, read only: a grammar of regular expressions says what lines mean.
//!
//! The grammar is TOML. It is named by the caller, lies beside the log, or stands in its first
//! lines. Its keys in words: `docs/formats/textlog.md`.
//!
//! ```
//! use kymo_core::{Context, Source};
//! use kymo_model::Format;
//!
//! let log = "\
//! ## kymo log
//! ## time = 's'
//! ## [[line]]
//! ## match = '^(?<time>\\S+) (?<task>\\w+) starts'
//! ## class = 'begin'
//! 0.5 pump starts
//! ";
//! let source = Source::from_bytes("plant.log", log.replace("##", "#"));
//! let dataset = kymo_textlog::TextLog.open(&source, &Context::default())?;
//! let tracks = dataset.timeline().expect("a log has one").tracks();
//! let names: Vec<_> = tracks.iter().map(|track| track.name.as_str()).collect();
//! assert_eq!(names, ["events", "pump"]);
//! # Ok::<(), kymo_core::Error>(())
//! ```

mod dataset;
mod grammar;
mod model;
mod spec;
mod time;

pub use dataset::TextLog;
pub use grammar::TextGrammar;
