//! The ways into and out of a recording, whatever its format.
//!
//! * [`Format`] and [`Dataset`]: the contract that a format fulfils, and what opening a file gives.
//! * [`Table`], [`Record`], [`Summary`]: rows, dumps and the facts at a glance.
//! * [`timeline`], [`profile`], [`arrays`], [`measurement`] and [`structure`]: the models that
//!   commands, exporters and views work on.
//!
//! ```
//! use kymo_model::timeline::{TimeNs, Window};
//!
//! let window = Window { from: Some(TimeNs(5)), ..Window::default() };
//! assert!(window.holds(Some(TimeNs(5))) && !window.holds(Some(TimeNs(4))));
//! ```

pub mod arrays;
mod dataset;
mod format;
pub mod kernel;
pub mod measurement;
pub mod profile;
mod record;
pub mod structure;
mod summary;
pub mod table;
pub mod timeline;

pub use dataset::{Dataset, Recording};
pub use format::{
    Capability, Confidence, Demo, ExtractRequest, Format, FormatInfo, LiveRecording,
    LiveRecordingSink, RepairReport, WriteReport,
};
pub use record::{ArrayValues, DumpRequest, Field, Flow, Record, RecordSink};
pub use summary::{Fact, Row, Section, Summary};
pub use table::Table;
