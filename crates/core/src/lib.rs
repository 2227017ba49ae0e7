//! Bytes, sources, destinations, errors and findings: the ground under every format and command.
//!
//! * [`bytes`]: cursors and sinks with explicit byte order; every read error carries an offset.
//! * [`Source`] and [`Destination`]: where bytes come from, and how files are written whole or not
//!   at all.
//! * [`Finding`]: what is wrong or noteworthy in a recording, and where.
//!
//! Nothing here knows a format or prints, and only [`ahead`] spawns threads.
//!
//! ```
//! use kymo_core::bytes::{Cursor, Endian};
//!
//! let mut cursor = Cursor::new(&[0, 0, 0, 7, 0xAB], Endian::Big);
//! assert_eq!(cursor.u32("count")?, 7);
//! let error = cursor.u16("tag").unwrap_err();
//! assert_eq!(error.to_string(), "tag at byte 0x4: needs 2 bytes, 1 left");
//! # Ok::<(), kymo_core::bytes::ReadError>(())
//! ```

pub mod ahead;
pub mod bytes;
mod context;
mod destination;
mod error;
mod file_bytes;
mod finding;
mod invariant;
mod number_file;
mod probe;
mod recent;
mod source;
mod tail;
mod value;

pub use context::{Context, NoProgress, Progress};
pub use destination::{
    AtomicDirectory, AtomicFile, AtomicPath, Destination, Origin, abandon, copy_other_files,
    create_below,
};
pub use error::{Error, Result};
pub use file_bytes::FileBytes;
pub use finding::{Finding, Findings, Severity, shortened};
pub use invariant::{Invariant, slot};
pub use number_file::NumberFile;
pub use probe::Probe;
pub use recent::{CacheEntry, RecentEntries};
pub use source::{Source, Window, refuse_overlap};
pub use tail::Tail;
pub use value::Value;
