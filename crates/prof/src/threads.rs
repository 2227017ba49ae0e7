//! Threads in a stable order, with ids that count from 0.

use std::collections::HashSet;
use std::sync::Arc;

use kymo_core::{Error, Result};
use kymo_model::measurement::{MeasuredId, MeasuredThread, MeasurementView, thread_names};
use kymo_model::profile::{Thread, ThreadId};

use crate::names::index;

/// A thread of one of several measurements.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct InputThread {
    ids: Vec<MeasuredId>,
    pub(crate) name: String,
    /// Number of the measurement, and number of the thread in it.
    pub(crate) measurement: u32,
    pub(crate) thread: usize,
}

impl InputThread {
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

    /// Returns true if all is the same of both. They are read only where all that is cheap to tell
    /// is.
    fn is_copy(&self, other: &Self, views: &[Arc<dyn MeasurementView>]) -> bool {
        let told = |input_thread: &Self| {
            input_thread.view(views).map(|view| view.program(input_thread.thread)).ok()
        };
        let is_alike = (&self.ids, &self.name) == (&other.ids, &other.name)
            && self.size_bytes(views) == other.size_bytes(views)
            && told(self) == told(other);
        let read = |input_thread: &Self| {
            input_thread.read(views).map(|read| (read.nodes, read.values)).ok()
        };
        is_alike && read(self).is_some_and(|one| read(other) == Some(one))
    }

    /// Returns true if it is something that a GPU did, such as a stream.
    pub(crate) fn is_of_gpu(&self) -> bool {
        self.ids.iter().any(|id| id.kind.0.starts_with("GPU"))
    }

    /// About how many bytes there are of it.
    pub(crate) fn size_bytes(&self, views: &[Arc<dyn MeasurementView>]) -> u64 {
        self.view(views).map_or(0, |view| view.size_bytes(self.thread))
    }
}

/// All threads, ordered by what names them and not by the order in which they were found.
pub(crate) fn ordered(views: &[Arc<dyn MeasurementView>]) -> Vec<InputThread> {
    let mut found = Vec::new();
    for (view, measurement) in views.iter().zip(0..) {
        for thread in 0..view.thread_count() {
            let (ids, name) = (view.ids(thread), view.name(thread));
            found.push(InputThread { ids, name, measurement, thread });
        }
    }
    found.sort();
    found
}

/// Threads that were recorded in another measurement, too: a copy of it was named. Each with the one
/// before it.
pub(crate) fn repeated_threads<'a>(
    views: &'a [Arc<dyn MeasurementView>],
    found: &'a [InputThread],
) -> impl Iterator<Item = (&'a InputThread, &'a InputThread)> {
    let pairs = found.iter().zip(found.iter().skip(1));
    pairs.filter(|(one, other)| one.measurement != other.measurement && one.is_copy(other, views))
}

/// Returns the names of the threads that are left without some: their numbers, and their names as
/// if there were no others.
pub(crate) fn named_without(
    found: &[InputThread],
    left_out: &HashSet<ThreadId>,
) -> Vec<(ThreadId, Thread)> {
    let all = (0..).map(ThreadId).zip(found);
    let (numbers, kept): (Vec<_>, Vec<_>) =
        all.filter(|(id, _)| !left_out.contains(id)).map(|(id, found)| (id, found.clone())).unzip();
    numbers.into_iter().zip(named(&kept)).collect()
}

/// Returns the names of the threads in the profile.
pub(crate) fn named(found: &[InputThread]) -> Vec<Thread> {
    let ids: Vec<_> = found.iter().map(|found| found.ids.clone()).collect();
    thread_names(&ids)
}
