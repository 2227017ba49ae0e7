//! HPCToolkit databases: profiles of calling contexts, and traces, as hpcprof writes them.
//!
//! A database is a directory of four files. `meta.db` has names, metrics and the tree of calling
//! contexts; `profile.db` has values by thread and `cct.db` the same by context; `trace.db` has
//! where each thread was when. Each can be opened by itself too. All of it is read where it lies.
//! Four layouts call themselves 4.0, and all are read; `docs/formats/hpcdb.md` has them in words.
//!
//! ```
//! use kymo_core::bytes::Limits;
//! use kymo_model::profile::*;
//! use kymo_core::{Context, Destination, Source};
//! use kymo_model::Format;
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("database");
//! let mut writer = kymo_hpcdb::Writer::new(&Destination::new(&path, false), "demo")?;
//! let time = writer.metric(&Metric::named("time (sec)"))?;
//! let name = "main thread".to_owned();
//! let function = Some(writer.function(&Function { name, ..Function::default() })?);
//! let node = Node { function, ..Node::new(Scope::Entry, Relation::Call) };
//! writer.context(None, ContextNumber(1), &node)?;
//! writer.threads(&[Thread::default()])?;
//! let column = Column { metric: time, reach: MetricScope::Execution };
//! let value = SinkValue { context: ContextNumber(1), column, value: 2.5 };
//! writer.values(ThreadId(0), &mut [Ok(value)].into_iter())?;
//! writer.finish()?;
//!
//! let source = Source::open(&path, &Limits::default())?;
//! let dataset = kymo_hpcdb::HpcDb.open(&source, &Context::default())?;
//! let view = dataset.profile().unwrap();
//! assert_eq!(MetricQuery { view: &*view, metric: time, threads: None }.total()?, 2.5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check;
mod dataset;
mod loops;
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
pub use write::{Writer, foreign_file};
