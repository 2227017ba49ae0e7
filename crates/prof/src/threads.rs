//! Threads in a stable order, with ids that count from 0.

use std::sync::Arc;

use kymo_core::model::measurement::{MeasuredId, MeasuredThread, MeasurementView, thread_names};
use kymo_core::model::profile::Thread;
use kymo_core::{Error, Result};

use crate::names::index;

/// A thread of one of several measurements.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Found {
    ids: Vec<MeasuredId>,
    pub(crate) name: String,
    /// Which measurement, and which thread of it.
    pub(crate) measurement: u32,
    pub(crate) thread: usize,
}

impl Found {
    /// The measurement that it is of.
    pub(crate) fn view<'a>(
        &self,
        views: &'a [Arc<dyn MeasurementView>],
    ) -> Result<&'a dyn MeasurementView> {
        let view = views.get(index(self.measurement)).map(Arc::as_ref);
        view.ok_or_else(|| Error::request("a thread is of no measurement"))
    }

    /// Everything that was recorded of it but its samples.
    pub(crate) fn read(&self, views: &[Arc<dyn MeasurementView>]) -> Result<MeasuredThread> {
        self.view(views)?.thread(self.thread)
    }

    /// About how many bytes there are of it.
    pub(crate) fn size_bytes(&self, views: &[Arc<dyn MeasurementView>]) -> u64 {
        self.view(views).map_or(0, |view| view.size_bytes(self.thread))
    }
}

/// All threads, ordered by what names them and not by the order in which they were found.
pub(crate) fn ordered(views: &[Arc<dyn MeasurementView>]) -> Vec<Found> {
    let mut found = Vec::new();
    for (view, measurement) in views.iter().zip(0..) {
        for thread in 0..view.thread_count() {
            let (ids, name) = (view.ids(thread), view.name(thread));
            found.push(Found { ids, name, measurement, thread });
        }
    }
    found.sort();
    found
}

/// What names each thread in the profile.
pub(crate) fn named(found: &[Found]) -> Vec<Thread> {
    let ids: Vec<_> = found.iter().map(|found| found.ids.clone()).collect();
    thread_names(&ids)
}
