//! Threads in a stable order, with ids that count from 0.

use std::sync::Arc;

use kymo_core::model::measurement::{MeasuredId, MeasurementView, thread_names};
use kymo_core::model::profile::Thread;

/// A thread of one of several measurements.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Found {
    ids: Vec<MeasuredId>,
    pub(crate) name: String,
    /// Which measurement, and which thread of it.
    pub(crate) measurement: u32,
    pub(crate) thread: usize,
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
