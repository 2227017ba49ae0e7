//! HPCToolkit databases: profiles of calling contexts, and traces, as hpcprof writes them.
//!
//! A database is a directory of four files. `meta.db` has names, metrics and the tree of calling
//! contexts; `profile.db` has values by thread and `cct.db` the same by context; `trace.db` has
//! where each thread was when. Each can be opened by itself too. All of it is read where it lies.
//! Four layouts call themselves 4.0, and all are read; `docs/formats/hpcdb.md` has them in words.
//!
//! ```
//! use kymo_core::{Context, Format, Source};
//!
//! let cut = Source::from_bytes("meta.db", &b"HPCTOOLKITmeta\x04\x00"[..]);
//! let error = kymo_hpcdb::HpcDb.open(&cut, &Context::default()).err().unwrap();
//! assert_eq!(error.to_string(), "first section at byte 0x10: 0x18 lies beyond the end");
//! ```

mod check;
mod dataset;
mod model;
mod read;
mod repair;
mod rewrite;
mod rounding;
mod rows;
pub mod spec;
mod tables;
mod taxonomy;
mod transpose;
mod types;
mod walk;
mod write;
mod yaml;

pub use dataset::HpcDb;
pub use write::Writer;
