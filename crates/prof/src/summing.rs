//! The second half of the way: values of a placed thread are added up and handed to the sink.

use std::sync::Arc;

use kymo_core::model::measurement::{MeasurementView, Numbers};
use kymo_core::model::profile::{
    Column, Computed, ContextNumber, Metric, MetricId, ProfileSink, Reach, SunkValue, ThreadId,
};
use kymo_core::{Error, Result};

use crate::Options;
use crate::names::index;
use crate::placing::Place;
use crate::propagation::{Link, Own, Propagation, Sums};
use crate::statistics::{Statistics, is_of_global};
use crate::tree::GLOBAL;

/// A thread whose nodes have their contexts.
pub(crate) struct Placed {
    pub(crate) id: ThreadId,
    pub(crate) measurement: u32,
    pub(crate) thread: usize,
    /// Contexts and metrics that no thread before it had.
    pub(crate) links: Vec<Link>,
    pub(crate) metrics: Vec<Metric>,
    pub(crate) computed: Vec<Computed>,
    pub(crate) own: Vec<Own>,
    pub(crate) numbers: Numbers,
    /// By the index of the node.
    pub(crate) places: Vec<Place>,
}

/// Adds up values, thread after thread.
pub(crate) struct Summing<'a> {
    views: &'a [Arc<dyn MeasurementView>],
    options: Options,
    sink: &'a mut (dyn ProfileSink + Send),
    propagation: Propagation,
    statistics: Statistics,
    metrics: Vec<Metric>,
    values: Vec<SunkValue>,
    /// How many values and samples were handed on.
    pub(crate) value_count: u64,
    pub(crate) sample_count: u64,
}

impl<'a> Summing<'a> {
    pub(crate) fn new(
        views: &'a [Arc<dyn MeasurementView>],
        options: Options,
        sink: &'a mut (dyn ProfileSink + Send),
    ) -> Self {
        Self {
            views,
            options,
            sink,
            propagation: Propagation::default(),
            statistics: Statistics::new(options.statistics, options.compat),
            metrics: Vec::new(),
            values: Vec::new(),
            value_count: 0,
            sample_count: 0,
        }
    }

    /// Takes one more thread.
    pub(crate) fn thread(&mut self, mut placed: Placed) -> Result<()> {
        for metric in std::mem::take(&mut placed.metrics) {
            self.sink.metric(&metric)?;
            self.metrics.push(metric);
        }
        placed.computed.iter().try_for_each(|computed| self.sink.computed(computed))?;
        self.propagation.grow(&placed.links);
        placed.own.sort_by_key(|own| own.metric);
        for own in placed.own.chunk_by(|a, b| a.metric == b.metric) {
            self.metric(own);
        }
        self.value_count += self.values.len() as u64;
        let mut values = self.values.drain(..).map(Ok);
        self.sink.values(placed.id, &mut values)?;
        drop(values);
        if self.options.traces { self.samples(&placed) } else { Ok(()) }
    }

    /// Adds up what a thread has of one metric.
    fn metric(&mut self, own: &[Own]) {
        let Some(first) = own.first() else { return };
        let Self { propagation, statistics, values, metrics, options, .. } = self;
        let reaches = metrics.get(index(first.metric)).map_or(&[][..], |metric| &metric.reaches);
        let metric = MetricId(first.metric);
        let own = own.iter().map(|own| (own.context, own.value));
        propagation.run(own, |context, is_loop, sums| {
            let mut take = |reach: Reach, value: f64| {
                if value != 0.0 && (context != GLOBAL || is_of_global(reach)) {
                    let context = ContextNumber(context.into());
                    values.push(SunkValue { context, column: Column { metric, reach }, value });
                }
            };
            let all = Reach::ALL.map(|reach| sums.reach(reach, is_loop));
            for reach in reaches {
                take(*reach, of_thread(sums, *reach, is_loop, options.compat));
            }
            statistics.add(first.metric, context, all);
        });
    }

    fn samples(&mut self, placed: &Placed) -> Result<()> {
        let view = usize::try_from(placed.measurement).ok().and_then(|at| self.views.get(at));
        let view = view.ok_or_else(|| Error::request("a thread is of no measurement"))?;
        let mut samples = view.samples(placed.thread)?.peekable();
        if samples.peek().is_none() {
            return Ok(());
        }
        let propagation = &self.propagation;
        let count = &mut self.sample_count;
        let mut is_idle = false;
        let mut samples = samples.filter_map(|sample| {
            let place = placed.places.get(index(placed.numbers.find(sample.node)?))?;
            let context = if sample.is_of_call { place.called } else { place.full };
            let listed = propagation.link(context).filter(|link| link.is_elided);
            let context = listed.map_or(context, |link| link.parent);
            // Idle is said once, however often it was sampled.
            let was_idle = std::mem::replace(&mut is_idle, context == GLOBAL);
            *count += u64::from(!(was_idle && is_idle));
            let context = (context != GLOBAL).then_some(ContextNumber(context.into()));
            Some(Ok((sample.time, context)))
        });
        self.sink.samples(placed.id, &mut samples)
    }

    /// Hands on what all threads have together.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.sink.summary(&mut self.statistics.values(&self.metrics))
    }
}

/// What a thread has of a reach. hpcprof leaves nothing out of loops there.
fn of_thread(sums: &Sums, reach: Reach, is_loop: bool, compat: bool) -> f64 {
    sums.reach(reach, is_loop && !compat)
}
