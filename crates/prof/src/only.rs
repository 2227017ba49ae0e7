//! Some threads of a measurement.

use std::path::PathBuf;
use std::sync::Arc;

use kymo_core::{Error, Finding, Progress, Result};
use kymo_model::measurement::{
    Frame, IsWanted, MeasuredId, MeasuredThread, MeasurementView, Samples, SamplesInParts,
};
use kymo_model::structure::Structure;

/// The threads of programs of these names.
#[must_use]
pub fn only_programs(
    view: &Arc<dyn MeasurementView>,
    programs: &[String],
) -> Arc<dyn MeasurementView> {
    let is_meant =
        |thread: &usize| view.program(*thread).is_some_and(|name| programs.contains(&name));
    let threads = (0..view.thread_count()).filter(is_meant).collect();
    Arc::new(ThreadFilter { view: Arc::clone(view), threads })
}

struct ThreadFilter {
    view: Arc<dyn MeasurementView>,
    threads: Vec<usize>,
}

impl ThreadFilter {
    fn thread_of(&self, thread: usize) -> usize {
        self.threads.get(thread).copied().unwrap_or(usize::MAX)
    }

    fn source_thread(&self, thread: usize) -> Result<usize> {
        let absent = || Error::request(format!("there is no thread {thread}"));
        self.threads.get(thread).copied().ok_or_else(absent)
    }
}

impl MeasurementView for ThreadFilter {
    fn directory(&self) -> Option<PathBuf> {
        self.view.directory()
    }

    fn thread_count(&self) -> usize {
        self.threads.len()
    }

    fn name(&self, thread: usize) -> String {
        self.view.name(self.thread_of(thread))
    }

    fn file(&self, thread: usize) -> String {
        self.view.file(self.thread_of(thread))
    }

    fn program(&self, thread: usize) -> Option<String> {
        self.view.program(self.thread_of(thread))
    }

    fn ids(&self, thread: usize) -> Vec<MeasuredId> {
        self.view.ids(self.thread_of(thread))
    }

    fn size_bytes(&self, thread: usize) -> u64 {
        self.view.size_bytes(self.thread_of(thread))
    }

    fn modules(&self) -> Vec<String> {
        self.view.modules()
    }

    fn thread(&self, thread: usize) -> Result<MeasuredThread> {
        self.view.thread(self.source_thread(thread)?)
    }

    fn samples(&self, thread: usize) -> Result<Samples<'_>> {
        self.view.samples(self.source_thread(thread)?)
    }

    fn samples_in_parts(&self, thread: usize) -> Option<SamplesInParts<'_>> {
        self.view.samples_in_parts(self.source_thread(thread).ok()?)
    }

    fn placeholder(&self, frame: Frame) -> String {
        self.view.placeholder(frame)
    }

    fn structure(
        &self,
        is_wanted: &IsWanted<'_>,
        progress: &dyn Progress,
    ) -> (Structure, Vec<Finding>) {
        self.view.structure(is_wanted, progress)
    }
}
