//! Contents of `kymo info` for a measurement.

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use kymo_core::{Finding, Value, shortened};
use kymo_model::timeline::TimeNs;
use kymo_model::{Row, Section, Summary};

use crate::clocks::Clocks;
use crate::measurement::{Measurement, PROFILE, Part};
use crate::model::{RuleCounts, amount};
use crate::types::{Epoch, Metric};

/// More metrics or threads than a summary lists.
const LISTED_MAX: usize = 32;

/// Values of a fact that are shown in a line.
const SAID_MAX: usize = 3;

/// Summarises what was run and where, what was measured, and how much of it. Also reports values
/// that are in no sum: those that are no numbers.
pub(crate) fn summary(measurement: &Measurement) -> (Summary, Vec<Finding>) {
    let mut summary = Summary { dialect: dialects(measurement), ..Summary::default() };
    for fact in [PROGRAM, PATH, HOST] {
        add_header_facts(measurement, &mut summary, fact);
    }
    if let Some(ranks) = count_of(measurement, "mpi-rank") {
        summary.fact("ranks", ranks);
    }
    let files: BTreeSet<_> = measurement.recordings.iter().map(|part| &part.name).collect();
    let epochs = measurement.recordings.len();
    let detail = if epochs == files.len() { String::new() } else { format!("{epochs} epochs") };
    summary.detailed("threads", files.len(), detail);
    counts(measurement, &mut summary);
    span(measurement, &mut summary);
    if measurement.is_directory {
        summary.fact("structure files", measurement.structs.len());
        let beside = [("vdso images", measurement.vdso)];
        let beside = beside.into_iter().chain([("kernel symbols", measurement.kernel_symbols)]);
        beside.filter(|(_, files)| *files > 0).for_each(|(name, files)| summary.fact(name, files));
    }
    let (totals, findings) = totals(measurement);
    summary.sections.push(metrics(totals));
    if measurement.recordings.len() > 1 {
        summary.sections.push(threads(measurement));
    }
    (summary, findings)
}

/// The layouts there are, each once.
fn dialects(measurement: &Measurement) -> String {
    let mut names: Vec<String> = Vec::new();
    for part in &measurement.recordings {
        let profile = part.profile.as_ref().map(|profile| {
            let header = &profile.header;
            format!("profiles {}, {}", header.dialect.name(), header.endian.name())
        });
        let trace = part.trace.as_ref().map(|trace| format!("traces {}", trace.version.text()));
        for name in profile.into_iter().chain(trace) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names.join("; ")
}

/// Fact that headers give about threads: the word for one, the word for several, the name it is
/// under.
type HeaderFact = (&'static str, &'static str, &'static str);

const PROGRAM: HeaderFact = ("program", "programs", "program-name");
const PATH: HeaderFact = ("path", "paths", "program-path");
const HOST: HeaderFact = ("host", "hosts", "host-id");

/// Adds what the headers say: the value, or the first of several.
fn add_header_facts(
    measurement: &Measurement,
    summary: &mut Summary,
    (one, many, name): HeaderFact,
) {
    let values = distinct(measurement, name);
    let mut listed = values.iter().take(SAID_MAX).map(|value| shortened(value).into_owned());
    let Some(first) = listed.next() else { return };
    if values.len() == 1 {
        return summary.fact(one, first);
    }
    let text = listed.fold(first, |text, value| format!("{text}, {value}"));
    let text = match values.len().saturating_sub(SAID_MAX) {
        0 => text,
        more => format!("{text} and {more} more"),
    };
    let all = values.iter().take(LISTED_MAX).map(|value| shortened(value).into_owned());
    summary.exact(one, text, (many, all.collect()));
}

fn count_of(measurement: &Measurement, name: &str) -> Option<usize> {
    Some(distinct(measurement, name).len()).filter(|count| *count > 0)
}

fn distinct(measurement: &Measurement, name: &str) -> BTreeSet<String> {
    let profiles = measurement.recordings.iter().filter_map(Part::first_of_profile);
    profiles.filter_map(|profile| Some(profile.header.value(name)?.into_owned())).collect()
}

fn counts(measurement: &Measurement, summary: &mut Summary) {
    let epochs = || measurement.recordings.iter().filter_map(Part::epoch);
    let modules: BTreeSet<_> = measurement.load_modules().map(|module| &module.path).collect();
    summary.fact("nodes", epochs().map(|epoch| epoch.nodes.len()).sum::<usize>());
    summary.fact("values", epochs().map(|epoch| epoch.values.len(&epoch.nodes)).sum::<usize>());
    summary.fact("load modules", modules.len());
}

/// From the first to the last time of all traces.
fn span(measurement: &Measurement, summary: &mut Summary) {
    let traces = || measurement.recordings.iter().filter_map(|part| part.trace.as_ref());
    if traces().next().is_none() {
        return;
    }
    let records: usize = traces().map(|trace| trace.len()).sum();
    summary.fact("trace records", records);
    let clocks = Clocks::from_recordings(&measurement.recordings);
    // What has a zero of its own cannot be compared with the others.
    let is_one = clocks.list().len() == 1;
    let shown = clocks.list().iter().position(|clock| clock.since_epoch || is_one);
    let is_shown = |part: &&Part| Some(clocks.part_clock(part).0) == shown;
    let parts = measurement.recordings.iter().filter(is_shown);
    let holding = measurement.holding();
    // What cannot be read any more is told with its values.
    let ends = parts.filter_map(|part| holding.traced(part).ok()?.trace?.times().ends);
    let ends = ends.reduce(|(first, last), (from, to)| (first.min(from), last.max(to)));
    let clock = shown.and_then(|shown| clocks.list().get(shown));
    if let (Some((first, last)), Some(clock)) = (ends, clock) {
        summary.span(&(TimeNs(first)..=TimeNs(last)), clock.since_epoch);
    }
    let own: Vec<_> = clocks.list().iter().filter(|clock| !clock.since_epoch).collect();
    match own.as_slice() {
        [] => {}
        [own] => summary.detailed("clock", &*shortened(&own.name), "with a zero of its own"),
        several => summary.detailed("clocks", several.len(), "with zeros of their own"),
    }
}

/// Lists what was measured; metrics that have values come first, as there may be hundreds without.
fn metrics(mut totals: Vec<Total>) -> Section {
    totals.sort_by_key(|total| total.values == 0);
    let row = |total: &Total| Row {
        name: shortened(&total.name).into_owned(),
        text: total.to_string(),
        values: vec![
            ("total", total.value()),
            ("values", total.values.into()),
            ("is_real", total.is_real.into()),
            ("formula", total.formula.clone().map_or(Value::Null, Value::Text)),
        ],
    };
    Section::new("metrics", totals.iter().map(row), LISTED_MAX)
}

/// Total of a metric, over all threads.
struct Total {
    name: String,
    sum: Sum,
    values: u64,
    is_real: bool,
    /// Formula that computes it from others; then it has no values.
    formula: Option<String>,
}

impl Total {
    /// Whole where it was counted. What has no room in a number of programs is rounded.
    fn value(&self) -> Value {
        if self.is_real {
            return Value::Float(rounded(self.sum.real));
        }
        #[allow(clippy::cast_precision_loss, reason = "the text has all digits")]
        let rounded = self.sum.counted as f64;
        u64::try_from(self.sum.counted).map_or(Value::Float(rounded), Value::UInt)
    }
}

/// A sum of counts, which are added as whole numbers, or of real values.
#[derive(Clone, Copy, Default)]
struct Sum {
    counted: u128,
    real: f64,
}

impl Sum {
    /// Adds a value of a metric, with the period it stands for; whether it is anything. Nothing
    /// where it is no number.
    fn add(&mut self, metric: &Metric, bits: u64) -> Option<bool> {
        if metric.flags.is_real() {
            let amount = amount(metric, bits).ok()?;
            self.real += amount;
            return Some(amount != 0.0);
        }
        let amount = u128::from(bits) * u128::from(metric.period);
        self.counted = self.counted.saturating_add(amount);
        Some(amount != 0)
    }

    fn join(&mut self, other: Self) {
        self.counted = self.counted.saturating_add(other.counted);
        self.real += other.real;
    }
}

impl fmt::Display for Total {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(formula) = self.formula.as_ref().filter(|_| self.values == 0) {
            return write!(f, "computed, {}", shortened(formula));
        }
        if self.is_real {
            return write!(f, "{} in all", self.value());
        }
        write!(f, "{} in all, counted", self.sum.counted)
    }
}

/// Sums by the name of the metric, in the order of the tables, and what they have not. Counts are
/// not added to real values.
fn totals(measurement: &Measurement) -> (Vec<Total>, Vec<Finding>) {
    let (mut totals, mut findings): (Vec<Total>, Vec<Finding>) = <_>::default();
    let mut known = HashMap::new();
    let mut holding = measurement.holding();
    for part in &measurement.recordings {
        let part = match holding.part(part) {
            Ok(part) => part,
            Err(error) => {
                findings.extend(measurement.lost(part, &error));
                continue;
            }
        };
        let Some(epoch) = part.epoch() else { continue };
        let (sums, remarks) = sums(epoch);
        findings.extend(measurement.in_file(&part.name, PROFILE, remarks.findings()));
        for (metric, (sum, values)) in epoch.metrics.iter().zip(sums) {
            let is_real = metric.flags.is_real();
            let index = *known.entry((metric.name.clone(), is_real)).or_insert(totals.len());
            if index == totals.len() {
                let formula = Some(metric.formula.to_string()).filter(|text| !text.is_empty());
                let (name, sum) = (metric.name.to_string(), Sum::default());
                totals.push(Total { name, sum, values: 0, is_real, formula });
            }
            if let Some(total) = totals.get_mut(index) {
                total.sum.join(sum);
                total.values += values;
            }
        }
    }
    (totals, findings)
}

/// The sum of each metric of an epoch, and how many values are not 0.
fn sums(epoch: &Epoch) -> (Vec<(Sum, u64)>, RuleCounts) {
    let mut sums = vec![(Sum::default(), 0); epoch.metrics.len()];
    let mut remarks = RuleCounts::default();
    epoch.values.each(&epoch.nodes, 0..usize::MAX, |value| {
        let index = usize::from(value.metric);
        if let (Some((sum, values)), Some(metric)) = (sums.get_mut(index), epoch.metrics.get(index))
        {
            match sum.add(metric, value.bits) {
                Some(is_any) => *values += u64::from(is_any),
                None => remarks.add("value-number", value.offset),
            }
        }
    });
    (sums, remarks)
}

/// Twelve digits of a sum: the last of sixteen are only noise of adding.
fn rounded(sum: f64) -> f64 {
    format!("{sum:.11e}").parse().unwrap_or(sum)
}

fn threads(measurement: &Measurement) -> Section {
    let row = |part: &Part| {
        let nodes = part.epoch().map_or(0, |epoch| epoch.nodes.len());
        let records = part.trace.as_ref().map(|trace| trace.len());
        let traced = records.map(|records| format!(", {}", counted(records, "trace record")));
        let text = format!("{}{}", counted(nodes, "node"), traced.unwrap_or_default());
        let values = vec![
            ("recording", part.name.as_str().into()),
            ("ids", part.thread.to_string().into()),
            ("nodes", nodes.into()),
            ("trace_records", records.map_or(Value::Null, Value::from)),
        ];
        let epochs = part.profile.as_ref().map_or(0, |profile| profile.epochs.len());
        let epoch = if epochs > 1 { format!(", epoch {}", part.epoch) } else { String::new() };
        Row { name: format!("{}{epoch}", part.label), text, values }
    };
    Section::new("threads", measurement.recordings.iter().map(row), LISTED_MAX)
}

fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}
