//! Measurements of many threads into one profile: merged, looked up, added up.
//!
//! Each thread comes with a tree of addresses ([`MeasurementView`]). [`merge`] looks the addresses
//! up in the structure of the program, merges the trees by path, adds up what reaches each context,
//! and hands everything to a [`ProfileSink`]. It holds the merged tree and a few threads, and no
//! more. The same threads give the same profile, in whatever order they come and however many
//! processors work on it.
//!
//! What is computed, and where it differs from what `hpcprof` computes: `docs/prof.md`.
//!
//! [`MeasurementView`]: kymo_model::measurement::MeasurementView
//! [`ProfileSink`]: kymo_model::profile::ProfileSink

mod chains;
mod circles;
mod handing;
mod links;
mod listing;
mod lookup;
mod merge;
mod merging;
mod names;
mod only;
mod placing;
mod propagation;
mod routes;
mod rows;
mod runs;
mod sharing;
mod slots;
mod statistics;
mod summing;
mod threads;
mod tree;

pub use lookup::{OpenSource, Program, UnnamedModule};
pub use merge::{MergedProfile, Phase, merge};
pub use only::only_programs;
pub use statistics::StatisticRequest;

/// Options for making a profile.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Values that are wrong in the way that those of `hpcprof` are, for comparing.
    pub compat: bool,
    /// Statistics that are computed over all threads.
    pub statistics: StatisticRequest,
    /// True if to keep where threads were when.
    pub traces: bool,
    /// Number of processors that may work on it.
    pub jobs: usize,
}

impl Default for Options {
    fn default() -> Self {
        let jobs = kymo_core::ahead::threads();
        Self { compat: false, statistics: StatisticRequest::Sum, traces: true, jobs }
    }
}
