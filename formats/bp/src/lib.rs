//! BP (binary-pack): arrays, scalars and attributes written by simulation codes in 2008.
//!
//! A file is a run of elements, each a length and a few tags: a name, a path, a value. There is
//! no magic number, no version, and the byte order is the writer's. The layout in words:
//! `docs/formats/bp.md`.
//!
//! ```
//! use kymo_bp::{Data, Dimension, Options, Reader, Writer};
//! use kymo_core::{Context, Source};
//!
//! let mut writer = Writer::new(Vec::new(), Options::default());
//! writer.scalar("/run", "istep", Data::Int(&[7]))?;
//! let shape = [Dimension::local(2), Dimension::local(3)];
//! writer.dataset("/run", "phi", &shape, Data::Float(&[0.0, 0.5, 1.0, 1.5, 2.0, 2.5]))?;
//! let bytes = writer.finish()?;
//!
//! let source = Source::from_bytes("run.bp", bytes);
//! let reader = Reader::open(&source, &Context::default())?;
//! let phi = reader.element(1).unwrap();
//! assert_eq!((phi.name_text(), phi.value_count()), ("phi".into(), 6));
//! # Ok::<(), kymo_core::Error>(())
//! ```

mod bpdump;
mod check;
mod dataset;
mod demo;
mod dump;
mod longdouble;
mod model;
mod read;
mod repair;
pub mod spec;
mod tables;
mod types;
mod write;

pub use dataset::Bp;
pub use longdouble::LongDouble;
pub use read::Reader;
pub use spec::{Datatype, Dialect};
pub use types::{Dimension, Dimensions, Element, ElementKind, Payload};
pub use write::{Data, DatasetWriter, Options, Writer};
