//! {{Type}}: what it records, and who wrote it.
//!
//! A file of timed messages, as a start. The byte layout is in `docs/formats/{{name}}.md`.
//!
//! ```
//! use bytes::Bytes;
//! use kymo_core::bytes::Limits;
//! use kymo_{{name}}::{Event, Log, Writer};
//!
//! let mut writer = Writer::new(Vec::new(), 1)?;
//! writer.write(&Event { offset: 0, time_ns: 12, message: "started".into() })?;
//! let file = Bytes::from(writer.finish()?);
//!
//! let log = Log::read(&file, &Limits::default())?;
//! assert_eq!(log.events()[0].message, "started");
//! # Ok::<(), kymo_core::Error>(())
//! ```

mod check;
mod dataset;
mod model;
mod read;
mod spec;
mod tables;
mod types;
mod write;

pub use dataset::{{Type}};
pub use types::{Event, Log};
pub use write::Writer;
