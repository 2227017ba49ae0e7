//! Result of opening a file.

use std::ops::Range;
use std::sync::Arc;

use crate::arrays::{ArraysView, VariableTable};
use crate::measurement::MeasurementView;
use crate::profile::ProfileView;
use crate::timeline::TimelineView;
use crate::{DumpRequest, RecordSink, Summary, Table};
use kymo_core::{Finding, Result};

/// An open recording, or several that lie in one file or directory.
///
/// Opening reads headers and builds an index; everything else is read when it is asked for.
pub trait Dataset: Send + Sync {
    /// Returns the summary that `kymo info` prints.
    fn summary(&self) -> Summary;

    /// Returns findings about what could not be read, or was passed over, as far as it was read by
    /// now: losses are reported, never silent. A loss that is only found later is added then, so
    /// ask again after reading.
    fn findings(&self) -> Vec<Finding>;

    /// The recordings inside: appended sessions, epochs, log files, profiles.
    ///
    /// Most files hold one. Where there are more, every table has a first column `recording`
    /// that holds the index into this list.
    fn recordings(&self) -> Vec<Recording> {
        vec![Recording { kind: "recording", name: String::new(), bytes: None }]
    }

    /// The fixed tables of the format: few, cheap to list.
    fn tables(&self) -> Vec<Arc<dyn Table>>;

    /// A table by name: a fixed one, or the values of one variable by its path.
    fn table(&self, name: &str) -> Option<Arc<dyn Table>> {
        let fixed = self.tables().into_iter().find(|table| table.name() == name);
        fixed.or_else(|| {
            let view = self.arrays()?;
            let variable = *view.find(name).first()?;
            Some(Arc::new(VariableTable::new(view, variable)))
        })
    }

    /// Gives every record in the order of the file.
    fn dump(&self, request: &DumpRequest, sink: &mut dyn RecordSink) -> Result<()>;

    /// Groups, n-d variables with steps and blocks, attributes.
    fn arrays(&self) -> Option<Arc<dyn ArraysView>> {
        None
    }

    /// Metrics, threads, and the calling contexts that values were measured in.
    fn profile(&self) -> Option<Arc<dyn ProfileView>> {
        None
    }

    /// Threads as they were recorded, for making a profile of them.
    fn measurement(&self) -> Option<Arc<dyn MeasurementView>> {
        None
    }

    /// Returns true if it is one of the files of a directory that make a recording together.
    fn is_part(&self) -> bool {
        false
    }

    /// Tracks on clocks, and what happened on them.
    fn timeline(&self) -> Option<Arc<dyn TimelineView>> {
        None
    }
}

/// One recording of a dataset that may hold several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// The format's word for it: "session", "epoch", "log file".
    pub kind: &'static str,
    /// Its name, where it has one.
    pub name: String,
    /// The bytes of the file it takes, where it is one run.
    pub bytes: Option<Range<u64>>,
}
