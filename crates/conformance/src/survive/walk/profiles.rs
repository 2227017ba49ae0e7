//! A profile, and what profiles are made of, gone through as commands do it.

use kymo_core::{NoProgress, Result};
use kymo_model::measurement::{
    Frame, MeasuredNode, MeasuredThread, MeasuredValue, MeasurementView,
};
use kymo_model::profile::{
    Column, Context, ContextNumber, FlatGrouping, MetricId, MetricQuery, MetricScope, ProfileView,
    Step, ThreadId, Walk, flat,
};

/// Contexts and threads whose values are read one by one, each of which may take a way through
/// the whole file.
const READ_MAX: usize = 16;

/// Columns that are asked for at once.
const COLUMNS_MAX: usize = 8;

/// Reads threads, contexts with their names, and values in every way.
pub(super) fn profile(view: &dyn ProfileView) -> Result<()> {
    for place in 0..view.derived().len() {
        let _ = view.derive(place);
    }
    let metrics = u32::try_from(view.metrics().len()).expect("few metrics");
    let totals = view.totals(None)?;
    assert_eq!(totals.len(), view.metrics().len(), "totals");
    threads(view, metrics)?;
    let mut read = 0;
    for step in Walk::new(view)? {
        if let Step::Enter(context, _) = step? {
            view.label(&context)?;
            names(view, &context)?;
            if read < READ_MAX {
                values(view, &context, metrics)?;
                read += 1;
            }
        }
    }
    for metric in (0..metrics).map(MetricId).take(READ_MAX) {
        let question = MetricQuery { view, metric, threads: None };
        flat(&question, FlatGrouping::Function)?;
    }
    Ok(())
}

fn threads(view: &dyn ProfileView, metrics: u32) -> Result<()> {
    let count = u32::try_from(view.thread_count()).expect("threads can be numbered");
    for (read, id) in (0..count).map(ThreadId).enumerate() {
        view.thread(id)?;
        if read < READ_MAX {
            for value in view.thread_values(id)? {
                assert_column(value?.column, metrics);
            }
        }
    }
    assert!(view.thread(ThreadId(count)).is_err(), "a thread too many");
    Ok(())
}

fn assert_column(column: Column, metrics: u32) {
    assert!(column.metric.0 < metrics, "a value of no metric: {column:?}");
}

fn names(view: &dyn ProfileView, context: &Context) -> Result<()> {
    context.function.map(|function| view.function(function)).transpose()?;
    context.source.map(|(file, _)| view.file(file)).transpose()?;
    context.point.map(|(module, _)| view.module(module)).transpose()?;
    Ok(())
}

fn values(view: &dyn ProfileView, context: &Context, metrics: u32) -> Result<()> {
    let columns = (0..metrics).map(MetricId);
    let columns = columns.flat_map(|metric| MetricScope::ALL.map(|reach| Column { metric, reach }));
    let columns: Vec<_> = columns.take(COLUMNS_MAX).collect();
    view.sums(context, &columns, None, &mut vec![0.0; columns.len()])?;
    for value in view.context_values(context)? {
        let value = value?;
        assert_column(value.column, metrics);
        let is_known = u64::from(value.thread.0) < view.thread_count() as u64;
        assert!(is_known, "a value of no thread: {value:?}");
    }
    view.find(context.number)?;
    view.find(ContextNumber(u64::MAX))?;
    Ok(())
}

/// Reads every thread as it was recorded.
pub(super) fn measurement(view: &dyn MeasurementView) -> Result<()> {
    let _ = (view.directory(), view.modules(), view.placeholder(Frame::Placeholder(0)));
    let _ = view.structure(&|_| true, &NoProgress);
    for thread in 0..view.thread_count() {
        let _ = (view.name(thread), view.program(thread), view.ids(thread));
        let read = view.thread(thread)?;
        read.nodes.iter().zip(0..).for_each(|(node, own)| assert_node(&read, *node, own));
        read.values.iter().for_each(|value| assert_value(&read, *value));
        let samples = view.samples(thread)?;
        assert!(samples.is_sorted_by_key(|sample| sample.time), "samples are out of order");
    }
    Ok(())
}

fn assert_node(thread: &MeasuredThread, node: MeasuredNode, own: u32) {
    assert!(node.above <= own, "node {own} comes before the one above it: {node:?}");
    if let Frame::Code { module, .. } = node.frame {
        assert!((module as usize) < thread.modules.len(), "node {own} has no module: {node:?}");
    }
}

fn assert_value(thread: &MeasuredThread, value: MeasuredValue) {
    assert!((value.node as usize) < thread.nodes.len(), "a value of no node: {value:?}");
    assert!((value.metric as usize) < thread.metrics.len(), "a value of no metric: {value:?}");
    assert!(value.value.is_finite(), "a value that is no number: {value:?}");
}
