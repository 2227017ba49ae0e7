//! The metric that a report is about where none is asked for.

use kymo_core::Result;
use kymo_model::profile::{Metric, MetricId, ProfileView, ThreadSet};

/// Units of time.
const TIME_UNITS: [&str; 8] = ["sec", "s", "msec", "ms", "usec", "us", "nsec", "ns"];

/// Starts of the names that HPCToolkit gives to metrics of GPUs.
const DEVICE_METRICS: [&str; 12] = [
    "GPUOP", "GKER", "GMEM", "GMSET", "GXCOPY", "GICOPY", "GSYNC", "GINS", "GSAMP", "GBR", "GLMEM",
    "GGMEM",
];

/// Chooses among the metrics that have values and that a list shows by itself: times of the host,
/// then times of devices, then the rest, each by name. Gives the names of the others, too, in that
/// order.
///
/// The order of a recording does not count: the same measurement has another in a database. Where
/// the chosen threads have no values, all threads decide.
///
/// # Errors
/// When values cannot be read.
pub fn default_metric(
    view: &dyn ProfileView,
    metrics: &[Metric],
    threads: Option<&ThreadSet>,
) -> Result<Option<(MetricId, Vec<String>)>> {
    for threads in [threads, None] {
        let totals = view.totals(threads)?;
        let ids = (0..).map(MetricId).zip(metrics.iter().zip(totals));
        let shown = ids.filter(|(_, (metric, total))| metric.is_shown && *total != 0.0);
        let mut shown: Vec<_> = shown.map(|(id, (metric, _))| (id, metric)).collect();
        shown.sort_by_key(|(_, metric)| (!is_time(metric), is_of_device(metric), &metric.name));
        if let Some(((metric, _), others)) = shown.split_first() {
            let others = others.iter().map(|(_, metric)| metric.name.clone()).collect();
            return Ok(Some((*metric, others)));
        }
    }
    Ok(None)
}

fn is_of_device(metric: &Metric) -> bool {
    let word = metric.name.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    DEVICE_METRICS.contains(&word)
}

fn is_time(metric: &Metric) -> bool {
    metric.unit.as_deref().is_some_and(|unit| TIME_UNITS.contains(&unit))
}
