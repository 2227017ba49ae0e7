//! BBBin: an indexed union of event logs of a real-time system, which tools keep as `logset.bin`.
//!
//! Log files, custom types, events, an index of the events by blocks, artifacts (tasks, state
//! machines, states), and what was computed from the events. The layout in words:
//! `docs/formats/bbbin.md`.
//!
//! ```
//! use std::io::Cursor;
//! use kymo_bbbin::{ArtifactId, Body, Definitions, Event, Reader, Writer};
//! use kymo_core::{Context, Source};
//!
//! let mut definitions = Definitions::default();
//! let log_file = definitions.add_log_file("cpu0.log", "by hand");
//! let custom_type = definitions.empty_type(log_file);
//! let mut writer =
//!     Writer::new(Cursor::new(Vec::new()), &definitions.log_files, &definitions.types)?;
//! let (in_task, out_task) = (ArtifactId(1), ArtifactId(2));
//! let body = Body::TaskSwitch { in_task, out_task, in_task_priority: 10 };
//! writer.write(&Event { timestamp: 7, log_file, body, custom_type, custom: &[] })?;
//! let bytes = writer.finish(&definitions.artifacts)?.out.into_inner();
//!
//! let source = Source::from_bytes("logset.bin", bytes);
//! let reader = Reader::open(&source, &Context::default())?;
//! let event = reader.events().next().expect("one was written").event;
//! assert_eq!((event.timestamp, event.body), (7, body));
//! # Ok::<(), kymo_core::Error>(())
//! ```

mod carried;
mod check;
mod dataset;
mod demo;
mod dump;
mod extract;
mod from_timeline;
mod model;
mod order;
mod read;
mod repair;
mod sort;
pub mod spec;
mod tables;
mod tally;
mod types;
mod utf8;
mod write;

pub use dataset::Bbbin;
pub use order::Merge;
pub use read::{Reader, values};
pub use sort::Sort;
pub use tally::EventStatistics;
pub use types::*;
pub use write::{FinishedFile, Writer, encode};
