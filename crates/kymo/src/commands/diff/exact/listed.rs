//! Every difference for programs: one row each, all with the same names.

use kymo_core::Finding;
use kymo_model::profile::Statistic;
use serde_json::{Value, json};

use super::super::profiles::share_of;
use super::grouped::pair;
use super::{
    ComparedProfiles, DifferenceSink, Differing, NAMES, RECORDING, Sample, UnmatchedPart,
    ValueDifference, ValueOwner, name_of,
};
use crate::output::Output;
use crate::render::numbers;
use crate::render::rows::Rows;

/// Names of the two recordings in rows.
const KEYS: [&str; 2] = ["one", "other"];

/// Prints a row for each difference, as soon as it is found: there may be very many.
pub(super) struct ListedDifferences<'a> {
    compared: &'a ComparedProfiles<'a>,
    rows: Rows,
    out: &'a mut Output,
    pub(super) is_different: bool,
}

/// A row. What it has nothing of is null.
#[derive(Default)]
struct Row<'a> {
    path: String,
    difference: String,
    kind: &'static str,
    only: Option<usize>,
    value_owner: Option<&'a ValueOwner>,
    measured: Option<&'a super::MeasuredMetric>,
    values: Option<[f64; 2]>,
    times_ns: Option<[i64; 2]>,
    other_path: Option<String>,
}

impl Row<'_> {
    fn json(&self) -> Value {
        let (thread, statistic) = match self.value_owner {
            Some(ValueOwner::Thread(name)) => (Some(name.to_string()), None),
            Some(ValueOwner::All(statistic)) => (None, Some(name_of(*statistic))),
            None => (None, None),
        };
        let [one, other] = self.values.map_or([None; 2], |values| values.map(Some));
        let [time_ns, other_time_ns] = self.times_ns.map_or([None; 2], |times| times.map(Some));
        json!({
            "path": self.path,
            "difference": self.difference,
            "kind": self.kind,
            "only": self.only.and_then(|side| KEYS.get(side)),
            "thread": thread,
            "statistic": statistic,
            "metric": self.measured.map(|measured| measured.metric.to_string()),
            "scope": self.measured.map(|measured| measured.reach.name()),
            "one": one,
            "other": other,
            "change": self.values.map(|[one, other]| other - one),
            "relative": self.values.and_then(share_of),
            "time_ns": time_ns,
            "other_time_ns": other_time_ns,
            "other_path": self.other_path,
        })
    }
}

impl<'a> ListedDifferences<'a> {
    pub(super) fn new(compared: &'a ComparedProfiles<'a>, rows: Rows, out: &'a mut Output) -> Self {
        Self { compared, rows, out, is_different: false }
    }

    fn row(&mut self, row: &Row<'_>) -> anyhow::Result<()> {
        self.is_different = true;
        Ok(self.rows.row(self.out, &row.json())?)
    }

    fn path(&self, path: usize) -> String {
        self.compared.paths.text(path)
    }
}

impl DifferenceSink for ListedDifferences<'_> {
    fn add_unmatched(&mut self, what: UnmatchedPart<'_>, side: usize) -> anyhow::Result<()> {
        let all = |statistic: Statistic| ValueOwner::All(statistic).to_string();
        let (kind, path) = match what {
            UnmatchedPart::Context(path) => ("context", self.path(path)),
            UnmatchedPart::Metric(name) => ("metric", name.to_owned()),
            UnmatchedPart::Thread(name) => ("thread", name.to_owned()),
            UnmatchedPart::Statistic(statistic) => ("statistic", all(statistic)),
            UnmatchedPart::Said(name) => (RECORDING, name.to_owned()),
        };
        let name = NAMES.get(side).copied().unwrap_or_default();
        let difference = match what {
            UnmatchedPart::Said(said) => format!("only {name} has {said}"),
            _ => format!("only {name} has this {kind}"),
        };
        self.row(&Row { path, difference, kind, only: Some(side), ..Row::default() })
    }

    fn add_statement(&mut self, name: &str, [one, other]: [&str; 2]) -> anyhow::Result<()> {
        let difference = format!("{one} in A, {other} in B");
        self.row(&Row { path: name.to_owned(), difference, kind: RECORDING, ..Row::default() })
    }

    fn unsound(&mut self, finding: &Finding, side: usize) -> anyhow::Result<()> {
        let name = NAMES.get(side).copied().unwrap_or_default();
        let difference = format!("{name} is not sound: {}", finding.message);
        let path = finding.file.clone().unwrap_or_default();
        let (kind, only) = ("finding", Some(side));
        self.row(&Row { path, difference, kind, only, ..Row::default() })
    }

    fn values(
        &mut self,
        value_owner: &ValueOwner,
        apart: &[ValueDifference],
    ) -> anyhow::Result<()> {
        for ValueDifference { path, measured, values } in apart {
            let [one, other] = pair(*values);
            let difference = format!("{value_owner}: {measured}: {one} in A, {other} in B");
            self.row(&Row {
                path: self.path(*path),
                difference,
                kind: "value",
                value_owner: Some(value_owner),
                measured: Some(measured),
                values: Some(*values),
                ..Row::default()
            })?;
        }
        Ok(())
    }

    fn add_unmatched_values(&mut self, _: &[ValueDifference]) {}

    fn unlisted(&mut self, found: &Differing) -> anyhow::Result<()> {
        let path = self.path(super::paths::UNLISTED);
        let kind = "instructions";
        match found {
            Differing::Values { of: value_owner, measured, count, counts, sums } => {
                let what = match counts {
                    [one, other] if one != other => format!("{one} values in A, {other} in B"),
                    _ => numbers::count(*count as u64, "value differs", "values differ"),
                };
                self.row(&Row {
                    path,
                    difference: format!("{value_owner}: {measured}: {what}"),
                    kind,
                    value_owner: Some(value_owner),
                    measured: Some(measured),
                    values: Some(*sums),
                    ..Row::default()
                })
            }
            Differing::Apart(count) => {
                let difference = format!("{count} of them have the same values, but not together");
                self.row(&Row { path, difference, kind, ..Row::default() })
            }
        }
    }

    fn samples(&mut self, thread: &str, samples: &[Vec<Sample>; 2]) -> anyhow::Result<()> {
        let value_owner = ValueOwner::Thread(thread.into());
        let [one, other] = samples;
        if one.len() != other.len() {
            let (one, other) = (one.len(), other.len());
            let difference = format!("{one} samples in A, {other} in B");
            #[allow(clippy::cast_precision_loss, reason = "nobody counts so many samples")]
            let values = Some([one as f64, other as f64]);
            let path = thread.to_owned();
            self.row(&Row {
                path,
                difference,
                kind: "samples",
                value_owner: Some(&value_owner),
                values,
                ..Row::default()
            })?;
        }
        for ((time, path), (other_time, other_path)) in one.iter().zip(other) {
            if (time, path) != (other_time, other_path) {
                let text = self.path(*other_path);
                let difference =
                    format!("{thread}: at {time} ns in A, at {other_time} ns in {text} in B");
                self.row(&Row {
                    path: self.path(*path),
                    difference,
                    kind: "sample",
                    value_owner: Some(&value_owner),
                    times_ns: Some([*time, *other_time]),
                    other_path: Some(text),
                    ..Row::default()
                })?;
            }
        }
        Ok(())
    }
}
