//! From measurements to a sink: threads are placed one after another, and added up meanwhile.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kymo_core::ahead::Stages;
use kymo_core::{Context, Error, Finding, Result, Severity};
use kymo_model::measurement::MeasurementView;
use kymo_model::profile::{ProfileSink, ThreadId};

use crate::Options;
use crate::handing::ThreadOutput;
use crate::listing;
use crate::lookup::{Program, UnnamedModule};
use crate::merging::MergeState;
use crate::summing::Summing;
use crate::threads::{self, InputThread};

/// Threads that are recorded in fewer bytes go through together.
const BATCH_BYTES_MIN: u64 = 1 << 18;

/// Greatest number of threads of a batch.
const BATCH_THREADS_MAX: usize = 32;

/// Result of the merge.
#[derive(Debug, Clone, Default)]
pub struct MergedProfile {
    /// Number of threads; those that are left out do not count.
    pub threads: u64,
    /// Files of threads that have metrics, and no value of any: nothing was sampled, or it was lost
    /// before. There may be samples of them.
    pub without_values: Vec<String>,
    /// Number of contexts of the merged tree.
    pub contexts: u64,
    /// Number of those that are listed: instructions within a line are not.
    pub listed: u64,
    /// Number of values of threads.
    pub values: u64,
    /// Number of samples of threads.
    pub samples: u64,
    /// Modules of which less is known than could be.
    pub unnamed: Vec<UnnamedModule>,
    /// Duration of each part of the work.
    pub phases: Vec<Phase>,
    /// Findings about threads, and what was passed over; with the number of the measurement.
    pub findings: Vec<(usize, Finding)>,
}

/// A part of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase {
    /// Name of the work.
    pub name: &'static str,
    /// Duration of the work.
    pub took: Duration,
}

/// Makes one profile of measurements.
///
/// # Errors
/// When there are more threads than can be numbered, or when the sink cannot take it. A thread that
/// cannot be read, or that there is no room for, is left out and said.
pub fn merge(
    views: &[Arc<dyn MeasurementView>],
    program: &Program<'_>,
    options: Options,
    sink: &mut (dyn ProfileSink + Send),
    context: &Context<'_>,
) -> Result<MergedProfile> {
    let found = threads::ordered(views);
    number_of_threads(&found)?;
    sink.statistics(options.statistics.statistics())?;
    let lost = sink.threads(&threads::named(&found))?;
    let mut merging = MergeState::new(views, program, context, options, sink.metrics_max());
    let found_by = |id: ThreadId| usize::try_from(id.0).ok().and_then(|at| found.get(at));
    for (id, why) in lost {
        if let Some(found) = found_by(id) {
            merging.lose(found, Severity::Warning, "thread-id", why);
        }
    }
    let began = Instant::now();
    let sizes: Vec<_> = found.iter().map(|found| found.size_bytes(views)).collect();
    for (first, again) in threads::repeated_threads(views, &found) {
        let first = first.view(views)?.directory().unwrap_or_default();
        let why = format!("it is the same as in {}: both count", first.display());
        merging.lose(again, Severity::Warning, "duplicate-profile", why);
    }
    context.progress.begin("merging", sizes.iter().sum());
    let mut handing = ThreadOutput::new(views, options, sink, context.progress.as_ref());
    let summing = Summing::new(options.jobs, context.limits.items_max);
    add_up(views, &found, &batches(&sizes), &summing, &mut merging, &mut handing)?;
    handing.finish()?;
    let ThreadOutput { value_count: values, sample_count: samples, too_large, left_out, .. } =
        handing;
    if too_large > 0 {
        merging.lose_sums(too_large);
    }
    for found in left_out.iter().copied().filter_map(found_by) {
        let why = "it is left out: what was measured reaches more contexts than so few nodes and \
                   values can";
        merging.lose(found, Severity::Error, "thread", why.to_owned());
    }
    let left_out: HashSet<_> = left_out.into_iter().chain(merging.left_out.drain(..)).collect();
    if !left_out.is_empty() {
        sink.keep_only_threads(&threads::named_without(&found, &left_out))?;
    }
    context.progress.end();
    let merged = Phase { name: "merging", took: began.elapsed() };
    let began = Instant::now();
    let progress = context.progress.as_ref();
    let listed =
        listing::send_contexts(&merging.tree, &merging.lookup, program.sources, sink, progress)?;
    Ok(MergedProfile {
        threads: (found.len() - left_out.len()) as u64,
        without_values: std::mem::take(&mut merging.without_values),
        contexts: merging.tree.contexts().len() as u64 - 1,
        listed,
        values,
        samples,
        unnamed: merging.lookup.unnamed().collect(),
        phases: vec![merged, Phase { name: "listing", took: began.elapsed() }],
        findings: merging.into_findings(),
    })
}

/// Reads threads, places them in the tree, adds them up and hands them on: batches of them follow
/// each other through these stations.
fn add_up(
    views: &[Arc<dyn MeasurementView>],
    found: &[InputThread],
    batches: &[Range<usize>],
    summing: &Summing,
    merging: &mut MergeState<'_>,
    handing: &mut ThreadOutput<'_>,
) -> Result<()> {
    let numbered: Vec<_> = found.iter().zip((0..).map(ThreadId)).collect();
    let stations = Stages {
        read: |number: usize| {
            let threads = batches.get(number).and_then(|batch| numbered.get(batch.clone()));
            let threads = threads.unwrap_or_default().iter().copied();
            // One that cannot be read is left out, and said where it is placed.
            Ok(threads.map(|(found, id)| (found, id, found.read(views))).collect::<Vec<_>>())
        },
        place: |read: Vec<(&InputThread, ThreadId, _)>| {
            let read = read.into_iter();
            let place = |(found, id, read)| merging.thread(found, id, read);
            Ok(read.filter_map(place).collect::<Vec<_>>())
        },
        work: |placed: Vec<_>| {
            let placed = placed.into_iter();
            placed.map(|placed| summing.thread(placed)).collect::<Result<Vec<_>>>()
        },
        take: |summed: Vec<_>| summed.into_iter().try_for_each(|summed| handing.thread(summed)),
    };
    stations.run(batches.len(), summing.jobs)
}

/// Threads that go through together: few large ones, or many small ones.
fn batches(sizes: &[u64]) -> Vec<Range<usize>> {
    let (mut batches, mut start, mut bytes) = (Vec::new(), 0, 0_u64);
    for (size, end) in sizes.iter().zip(1..) {
        bytes = bytes.saturating_add(*size);
        let is_full = bytes >= BATCH_BYTES_MIN || end - start >= BATCH_THREADS_MAX;
        if is_full || end == sizes.len() {
            batches.push(start..end);
            (start, bytes) = (end, 0);
        }
    }
    batches
}

fn number_of_threads(found: &[InputThread]) -> Result<()> {
    let many = |_| Error::request("there are more threads than can be numbered");
    u32::try_from(found.len()).map(drop).map_err(many)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_threads_go_through_together_and_large_ones_alone() {
        let large = BATCH_BYTES_MIN;
        assert!(batches(&[]).is_empty());
        assert_eq!(batches(&[large, 1, 2, large, 3]), [0..1, 1..4, 4..5]);
        // Also where nothing is known of their sizes.
        assert_eq!(batches(&[0; 40]), [0..32, 32..40]);
    }
}
