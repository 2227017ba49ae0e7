//! CTF (Common Trace Format) 1.8 and 2: what `LTTng` and other tracers write, read only.
//!
//! A trace is a directory, and that of a session of `LTTng` has several below it. The file
//! `metadata` of a trace describes, in a language of its own or as JSON, every field of
//! every event to the bit; the other files are streams of packets of such events. The layout in
//! words: `docs/formats/ctf.md`.
//!
//! ```
//! use kymo_core::bytes::Limits;
//! use kymo_core::{Context, Source};
//!
//! # let folder = tempfile::tempdir()?;
//! let metadata = r#"/* CTF 1.8 */
//!     typealias integer { size = 8; } := byte;
//!     trace { major = 1; minor = 8; byte_order = le; };
//!     stream { event.header := struct { byte id; }; };
//!     event { name = "beep"; id = 3; fields := struct { byte times; }; };"#;
//! std::fs::write(folder.path().join("metadata"), metadata)?;
//! std::fs::write(folder.path().join("stream"), [3, 2, 3, 5])?;
//!
//! let source = Source::open(folder.path(), &Limits::default())?;
//! let reader = kymo_ctf::Reader::open(&source, &Context::default())?;
//! assert_eq!(reader.parts()[0].trace.streams[&0].events[&3].name, "beep");
//! assert_eq!(reader.count(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check;
mod dataset;
mod dump;
mod metadata;
mod model;
mod notices;
mod read;
mod render;
mod scales;
mod spec;
mod tables;
pub mod types;

pub use dataset::Ctf;
pub use read::{File, Packet, Part, Reader, Track};
