//! The end of the way: what was added up goes to the sink, and into the statistics of all threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use kymo_core::ahead::both;
use kymo_core::{Error, Progress, Result};
use kymo_model::measurement::{MeasuredSample, MeasurementView, SamplesInParts};
use kymo_model::profile::{
    Column, ContextNumber, Metric, Parts, ProfileSink, SinkValue, SunkSample, ThreadId,
};
use kymo_model::timeline::TimeNs;

use crate::Options;
use crate::names::index;
use crate::propagation::Row;
use crate::rows::RowsInParts;
use crate::statistics::{Statistics, has_whole_program};
use crate::summing::{MetricRows, PlacedThread, SummedThread};
use crate::tree::GLOBAL;

/// Hands threads on, in their order.
pub(crate) struct ThreadOutput<'a> {
    views: &'a [Arc<dyn MeasurementView>],
    options: Options,
    sink: &'a mut (dyn ProfileSink + Send),
    progress: &'a dyn Progress,
    /// About how many bytes were handed on.
    done_bytes: u64,
    statistics: Statistics,
    metrics: Vec<Metric>,
    /// Number of values and samples that were handed on.
    pub(crate) value_count: u64,
    pub(crate) sample_count: u64,
    /// Number of sums that are too large for any number.
    pub(crate) too_large: u64,
    /// Threads that are left out: what they have reaches too many contexts.
    pub(crate) left_out: Vec<ThreadId>,
}

impl<'a> ThreadOutput<'a> {
    pub(crate) fn new(
        views: &'a [Arc<dyn MeasurementView>],
        options: Options,
        sink: &'a mut (dyn ProfileSink + Send),
        progress: &'a dyn Progress,
    ) -> Self {
        let statistics = Statistics::new(options.statistics, options.compat);
        let metrics = Vec::new();
        let (value_count, sample_count, too_large) = (0, 0, 0);
        Self {
            views,
            options,
            sink,
            progress,
            done_bytes: 0,
            statistics,
            metrics,
            value_count,
            sample_count,
            too_large,
            left_out: Vec::new(),
        }
    }

    /// Takes one more thread.
    pub(crate) fn thread(&mut self, mut summed: SummedThread) -> Result<()> {
        for metric in std::mem::take(&mut summed.thread.metrics) {
            self.sink.metric(&metric)?;
            self.metrics.push(metric);
        }
        summed.thread.computed.iter().try_for_each(|computed| self.sink.computed(computed))?;
        if let Some(rows) = summed.rows.take() {
            self.values(summed.thread.id, &rows)?;
            drop(rows);
            if self.options.traces {
                self.samples(&summed)?;
            }
        } else {
            self.left_out.push(summed.thread.id);
        }
        let PlacedThread { measurement, thread, .. } = summed.thread;
        let size = self.views.get(index(measurement)).map_or(0, |view| view.size_bytes(thread));
        self.done_bytes += size;
        self.progress.advance_to(self.done_bytes);
        Ok(())
    }

    /// Hands on the values of a thread, and takes them into the statistics meanwhile.
    fn values(&mut self, thread: ThreadId, rows: &[MetricRows]) -> Result<()> {
        let Self { options, sink, statistics, metrics, .. } = self;
        let mut add = || {
            for metric_rows in rows {
                let rows = metric_rows.rows.iter().map(|row| (row.context, row.reached));
                statistics.add(metric_rows.metric, rows);
            }
            Ok(())
        };
        let values = Values::new(metrics, options.compat, rows);
        let row_count: usize = rows.iter().map(|metric_rows| metric_rows.rows.len()).sum();
        if options.jobs > 1 && row_count > ROWS_OF_PART {
            let (added, taken) = both(add, || sink.values_in_parts(thread, &values));
            added.and(taken)?;
        } else {
            add()?;
            sink.values_in_parts(thread, &values)?;
        }
        self.value_count += values.told.into_inner();
        self.too_large += values.too_large.into_inner();
        Ok(())
    }

    fn samples(&mut self, summed: &SummedThread) -> Result<()> {
        let Self { views, sink, progress, done_bytes, sample_count, .. } = self;
        let PlacedThread { id, measurement, thread, .. } = summed.thread;
        let view = views.get(index(measurement));
        let view = view.ok_or_else(|| Error::request("a thread is of no measurement"))?;
        let telling = SampleProgress { progress: *progress, done_bytes: *done_bytes };
        let moments = if let Some(samples) = view.samples_in_parts(thread) {
            let (told, moments) = <_>::default();
            let samples = PlacedSamples { samples, summed, telling, told, moments };
            *sample_count += sink.samples_in_parts(id, &samples)?;
            samples.moments.into_inner().unwrap_or_else(PoisonError::into_inner)
        } else {
            let mut moments = Moments::default();
            let samples = view.samples(thread)?.zip(1..).filter_map(|(sample, count)| {
                telling.now_and_then(count);
                moments.take(sample.time);
                placed(summed, sample).map(Ok)
            });
            *sample_count += sink.samples(id, &mut { samples })?;
            moments
        };
        moments.0.map_or(Ok(()), |(first, last)| sink.moments(first, last))
    }

    /// Hands on what all threads have together.
    pub(crate) fn finish(&mut self) -> Result<()> {
        let summary = self.statistics.summary(&self.metrics);
        self.sink.summary(&summary)?;
        self.too_large += summary.too_large();
        Ok(())
    }
}

/// Tells how far handing on a long trace is.
struct SampleProgress<'a> {
    progress: &'a dyn Progress,
    /// Number of bytes before it.
    done_bytes: u64,
}

impl SampleProgress<'_> {
    /// About what a sample takes where it was recorded.
    const SAMPLE_BYTES: u64 = 12;

    /// So many are told at once where samples come one by one.
    const SAMPLES_AT_ONCE: u64 = 1 << 14;

    fn advance_to(&self, samples: u64) {
        self.progress.advance_to(self.done_bytes + samples * Self::SAMPLE_BYTES);
    }

    fn now_and_then(&self, samples: u64) {
        if samples.is_multiple_of(Self::SAMPLES_AT_ONCE) {
            self.advance_to(samples);
        }
    }
}

/// Samples with the contexts that listings show for them.
struct PlacedSamples<'a> {
    samples: SamplesInParts<'a>,
    summed: &'a SummedThread,
    telling: SampleProgress<'a>,
    /// Number of values that were handed on.
    told: AtomicU64,
    moments: Mutex<Moments>,
}

/// The first and the last moment of samples, also of those of unknown nodes.
#[derive(Debug, Clone, Copy, Default)]
struct Moments(Option<(TimeNs, TimeNs)>);

impl Moments {
    fn take(&mut self, time: TimeNs) {
        let (first, last) = self.0.unwrap_or((time, time));
        self.0 = Some((first.min(time), last.max(time)));
    }
}

impl Parts<SunkSample> for PlacedSamples<'_> {
    fn count(&self) -> usize {
        self.samples.count()
    }

    fn read_part(&self, part: usize, take: &mut dyn FnMut(SunkSample)) {
        let (mut count, mut moments) = (0, Moments::default());
        self.samples.read_part(part, &mut |sample| {
            count += 1;
            moments.take(sample.time);
            if let Some(sample) = placed(self.summed, sample) {
                take(sample);
            }
        });
        if let Some((first, last)) = moments.0 {
            let mut all = self.moments.lock().unwrap_or_else(PoisonError::into_inner);
            all.take(first);
            all.take(last);
        }
        self.telling.advance_to(self.told.fetch_add(count, Ordering::Relaxed) + count);
    }
}

/// A sample with the context that listings show for it; nothing for one of an unknown node.
fn placed(summed: &SummedThread, sample: MeasuredSample) -> Option<SunkSample> {
    let SummedThread { thread, links, .. } = summed;
    let place = thread.places.get(index(thread.numbers.find(sample.node)?))?;
    let context = if sample.is_of_call { place.called } else { place.full };
    let listed = links.get(context).filter(|link| link.is_elided);
    let context = listed.map_or(context, |link| link.parent);
    Some((sample.time, (context != GLOBAL).then_some(ContextNumber(context.into()))))
}

/// Number of rows of a metric that are handed on together.
const ROWS_OF_PART: usize = 1 << 14;

/// The values of a thread in order of contexts, metrics and reaches.
struct Values<'a> {
    metrics: &'a [Metric],
    compat: bool,
    rows: RowsInParts<'a, Row>,
    /// Number of values that were handed on.
    told: AtomicU64,
    /// Number of sums that are too large for any number: they are left out.
    too_large: AtomicU64,
}

impl<'a> Values<'a> {
    fn new(metrics: &'a [Metric], compat: bool, rows: &'a [MetricRows]) -> Self {
        let rows = rows
            .iter()
            .map(|metric_rows| (metric_rows.metric, metric_rows.rows.as_slice()))
            .collect();
        let (told, too_large) = <_>::default();
        Self { metrics, compat, rows: RowsInParts::new(rows, ROWS_OF_PART), told, too_large }
    }
}

impl Parts<SinkValue> for Values<'_> {
    fn count(&self) -> usize {
        self.rows.count()
    }

    fn read_part(&self, part: usize, take: &mut dyn FnMut(SinkValue)) {
        let (mut told, mut too_large) = (0, 0);
        for (metric, row) in self.rows.part(part) {
            let Some(this_metric) = self.metrics.get(index(metric.0)) else { continue };
            for reach in this_metric.reaches.iter().copied() {
                let value = row.thread_values(reach, self.compat);
                if value == 0.0 || (row.context == GLOBAL && !has_whole_program(reach)) {
                    continue;
                }
                if !value.is_finite() {
                    too_large += 1;
                    continue;
                }
                told += 1;
                let context = ContextNumber(row.context.into());
                take(SinkValue { context, column: Column { metric, reach }, value });
            }
        }
        self.told.fetch_add(told, Ordering::Relaxed);
        self.too_large.fetch_add(too_large, Ordering::Relaxed);
    }
}
