//! HPCToolkit measurements: calling-context profiles, traces and program structure.
//!
//! `hpcrun` writes a profile and a trace for each thread into one directory, and `hpcstruct` puts
//! what it knows of programs beside them. A profile is a tree of calling contexts with values of
//! metrics; a trace says at which node of the tree the thread was when. The layouts in words:
//! `docs/formats/hpcrun.md`.
//!
//! ```
//! use kymo_core::bytes::Limits;
//! use kymo_hpcrun::{Profile, ProfileBuilder, spec};
//!
//! let mut builder = ProfileBuilder::new("a.out");
//! let program = builder.load_module("/bin/a.out", None)?;
//! let time = builder.metric("CPUTIME (sec)", "time on a CPU", true)?;
//! let entry = builder.child(ProfileBuilder::ROOT, 0, spec::placeholder::MAIN);
//! let main = builder.child(entry, program, 0x1187);
//! builder.add(main, time, 0.25);
//! let mut bytes = Vec::new();
//! builder.write(&mut bytes)?;
//!
//! let profile = Profile::open(&bytes.into(), &Limits::default())?;
//! let epoch = &profile.epochs[0];
//! assert_eq!((epoch.nodes.len(), epoch.values.len(&epoch.nodes)), (3, 1));
//! assert_eq!(epoch.load_modules[0].path.text(), "/bin/a.out");
//! # Ok::<(), kymo_core::Error>(())
//! ```

mod check;
mod clocks;
mod dataset;
mod demo;
mod dump;
mod formula;
mod formulas;
mod frames;
mod hpcproftt;
mod hpcstruct;
mod layout;
mod listing;
mod measured;
mod measurement;
mod model;
mod ordering;
mod pairs;
mod read;
mod repair;
mod resync;
pub mod spec;
mod summary;
mod tables;
mod threads;
mod timeline;
mod tree;
mod types;
mod write;

pub use dataset::Hpcrun;
pub use hpcstruct::StructureFile;
pub use read::{NodeLayout, Nodes, Profile, Sparse, Trace, TraceVersion, Values};
pub use types::{
    Count, Dialect, Epoch, EpochHeader, Footer, Header, Id, IdKind, LoadMap, LoadModule, Lush,
    Metric, MetricFields, MetricFlags, MetricValue, Node, NvPair, Place, Sampling, Str,
    TraceRecord,
};
pub use write::{DirectoryWriter, ProfileBuilder, ThreadFile, TraceWriter, write_profile};
