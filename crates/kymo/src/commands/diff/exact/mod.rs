//! Profiles by path: every metric, context, value of a thread, statistic and sample.
//!
//! What recordings number contexts by means nothing: contexts are the same when all that is known
//! of them and of those above them is. Those that have the same path are added up.

mod grouped;
mod listed;
mod paths;
mod side;
mod unlisted;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::rc::Rc;

use kymo_core::Finding;
use kymo_model::profile::{Metric, MetricScope, Statistic};
use kymo_model::timeline::TrackId;

use super::is_apart;
use crate::failure::Failure;
use crate::output::Output;
use crate::render::rows::Rows;
use crate::session::{Named, OpenedFile};
use grouped::GroupedDifferences;
use listed::ListedDifferences;
use paths::Paths;
use side::Side;
use unlisted::{Differing, Keys, Unlisted};

/// Name for differences of a recording as a whole.
const RECORDING: &str = "recording";

/// Names of the two recordings.
const NAMES: [&str; 2] = ["A", "B"];

/// Prints what differs, for programs as rows. Tells whether anything does.
pub(super) fn print(
    opened: [&OpenedFile; 2],
    unsound: &[Vec<Finding>; 2],
    tolerance: f64,
    rows: Option<Rows>,
    out: &mut Output,
) -> anyhow::Result<bool> {
    let mut paths = Paths::new();
    let [one, other] = opened.map(|opened| opened.format.info().name);
    let is_idle_once = one != other;
    let mut side = |opened: &OpenedFile| -> anyhow::Result<Side> {
        let title = opened.format.info().title;
        let failure = || Failure::new(format!("{title} have no profile that could be compared"));
        Side::new(opened, is_idle_once, &mut paths)?
            .ok_or_else(|| Named::error(&opened.name, failure()))
    };
    let (one, other) = (side(opened[0])?, side(opened[1])?);
    let compared = ComparedProfiles { sides: [&one, &other], paths: &paths, tolerance };
    if let Some(rows) = rows {
        let mut listed = ListedDifferences::new(&compared, rows, out);
        compared.compare(unsound, &mut listed)?;
        return Ok(listed.is_different);
    }
    let mut grouped = GroupedDifferences::new(&compared);
    compared.compare(unsound, &mut grouped)?;
    if grouped.is_different() {
        grouped.print(opened.map(|opened| opened.name.as_str()), out)?;
    }
    Ok(grouped.is_different())
}

/// Metric that was measured, and its scope.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct MeasuredMetric {
    metric: Rc<str>,
    reach: MetricScope,
}

impl fmt::Display for MeasuredMetric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.metric, self.reach.name())
    }
}

/// Owner of values: a thread, or all threads together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum ValueOwner {
    Thread(Rc<str>),
    /// All threads together.
    All(Statistic),
}

impl fmt::Display for ValueOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Thread(name) => f.write_str(name),
            Self::All(statistic) => write!(f, "all threads, {}", name_of(*statistic)),
        }
    }
}

fn name_of(statistic: Statistic) -> &'static str {
    match statistic {
        Statistic::Count => "count",
        Statistic::Sum => "sum",
        Statistic::Squares => "sum of squares",
        Statistic::Min => "smallest",
        Statistic::Max => "largest",
    }
}

/// Values by path and what was measured.
type Values = BTreeMap<(usize, MeasuredMetric), f64>;

/// Values kept of all threads together, by statistic.
type StoredValues = BTreeMap<Statistic, Values>;

/// Timestamp and place of a thread.
type Sample = (i64, usize);

/// A value that both have, or one of them, and that differs.
#[derive(Debug, Clone)]
struct ValueDifference {
    path: usize,
    measured: MeasuredMetric,
    values: [f64; 2],
}

impl ValueDifference {
    fn change(&self) -> f64 {
        self.values[1] - self.values[0]
    }
}

/// Part that only one of the two has.
#[derive(Debug, Clone, Copy)]
enum UnmatchedPart<'a> {
    Context(usize),
    Metric(&'a str),
    Thread(&'a str),
    Statistic(Statistic),
    /// Something that it says of itself as a whole.
    Said(&'a str),
}

/// Takes what differs.
trait DifferenceSink {
    /// Something that only one of them has: 0 or 1.
    fn add_unmatched(&mut self, what: UnmatchedPart<'_>, side: usize) -> anyhow::Result<()>;

    /// Takes statements that both make about themselves as a whole, in different words.
    fn add_statement(&mut self, name: &str, words: [&str; 2]) -> anyhow::Result<()>;

    /// Takes a contradiction within one of them.
    fn unsound(&mut self, finding: &Finding, side: usize) -> anyhow::Result<()>;

    /// Values of a thread or a statistic, in the order of paths. Statistics come last.
    fn values(&mut self, value_owner: &ValueOwner, apart: &[ValueDifference])
    -> anyhow::Result<()>;

    /// Values of a thread that only one of them has, which is told already.
    fn add_unmatched_values(&mut self, apart: &[ValueDifference]);

    /// Takes a difference between contexts that have no path.
    fn unlisted(&mut self, found: &Differing) -> anyhow::Result<()>;

    /// The samples of a thread, some of which differ.
    fn samples(&mut self, thread: &str, samples: &[Vec<Sample>; 2]) -> anyhow::Result<()>;
}

/// Two recordings.
struct ComparedProfiles<'a> {
    sides: [&'a Side; 2],
    paths: &'a Paths,
    tolerance: f64,
}

impl ComparedProfiles<'_> {
    /// Tells everything that differs.
    fn compare(
        &self,
        unsound: &[Vec<Finding>; 2],
        take: &mut dyn DifferenceSink,
    ) -> anyhow::Result<()> {
        for (side, found) in unsound.iter().enumerate() {
            found.iter().try_for_each(|finding| take.unsound(finding, side))?;
        }
        self.compare_statements(take)?;
        self.compare_contexts(take)?;
        let metrics = self.sides.map(metrics);
        for name in &metrics[0] ^ &metrics[1] {
            take.add_unmatched(UnmatchedPart::Metric(&name), side_of(metrics[0].contains(&name)))?;
        }
        let keys = Keys::default();
        let mut unlisted = [Unlisted::new(&keys), Unlisted::new(&keys)];
        self.compare_threads(&mut unlisted, take)?;
        self.compare_statistics(&mut unlisted, take)?;
        let [left, right] = unlisted.map(Unlisted::into_rows);
        let is_apart = |one, other| is_apart(self.tolerance, one, other);
        for found in unlisted::differences(&keys, left, right, is_apart) {
            take.unlisted(&found)?;
        }
        self.compare_samples(take)
    }

    /// Reports differences in what recordings state about themselves, if both are of one format.
    fn compare_statements(&self, take: &mut dyn DifferenceSink) -> anyhow::Result<()> {
        let said = self.sides.map(|side| {
            let words = side.said.iter().map(|(name, words)| (*name, words.as_str()));
            words.collect::<BTreeMap<_, _>>()
        });
        for (name, words) in both(&said) {
            match words {
                [Some(one), Some(other)] if one != other => {
                    take.add_statement(name, first_difference(one, other))?;
                }
                [Some(_), Some(_)] => {}
                [one, _] => {
                    take.add_unmatched(UnmatchedPart::Said(name), side_of(one.is_some()))?;
                }
            }
        }
        Ok(())
    }

    fn compare_contexts(&self, take: &mut dyn DifferenceSink) -> anyhow::Result<()> {
        let [one, other] = self.sides;
        for (number, side, against) in [(0, one, other), (1, other, one)] {
            for path in side.contexts.keys().filter(|path| !against.contexts.contains_key(path)) {
                take.add_unmatched(UnmatchedPart::Context(*path), number)?;
            }
        }
        Ok(())
    }

    fn compare_threads(
        &self,
        unlisted: &mut [Unlisted<'_>; 2],
        take: &mut dyn DifferenceSink,
    ) -> anyhow::Result<()> {
        let threads = [self.sides[0].threads()?, self.sides[1].threads()?];
        for (name, ids) in both(&threads) {
            let value_owner = ValueOwner::Thread(Rc::from(name.as_str()));
            let is_in_both = ids.iter().all(Option::is_some);
            let mut values = [Values::new(), Values::new()];
            let sides = self.sides.into_iter().zip(ids).zip(unlisted.iter_mut());
            for (values, ((side, id), unlisted)) in values.iter_mut().zip(sides) {
                // Of a thread that only one has, nothing is said beyond that.
                let mut passed_over = unlisted.with_same_keys();
                let unlisted = if is_in_both { unlisted } else { &mut passed_over };
                if let Some(id) = id {
                    *values = side.thread_values(id, &value_owner, unlisted)?;
                }
            }
            let apart = self.value_differences(&values);
            if is_in_both {
                take.values(&value_owner, &apart)?;
            } else {
                take.add_unmatched(UnmatchedPart::Thread(&name), side_of(ids[0].is_some()))?;
                take.add_unmatched_values(&apart);
            }
        }
        Ok(())
    }

    fn compare_statistics(
        &self,
        unlisted: &mut [Unlisted<'_>; 2],
        take: &mut dyn DifferenceSink,
    ) -> anyhow::Result<()> {
        let ([one, other], [left, right]) = (self.sides, unlisted);
        let (Some(one), Some(other)) = (one.stored_values(left)?, other.stored_values(right)?)
        else {
            let apart = self.value_differences(&[one.sums()?, other.sums()?]);
            return take.values(&ValueOwner::All(Statistic::Sum), &apart);
        };
        let mut kept = [one, other];
        let kinds: BTreeSet<Statistic> =
            kept.iter().flat_map(|kept| kept.keys().copied()).collect();
        for kind in kinds {
            match kept.each_mut().map(|kept| kept.remove(&kind)) {
                [Some(left), Some(right)] => {
                    take.values(&ValueOwner::All(kind), &self.value_differences(&[left, right]))?;
                }
                [left, _] => {
                    take.add_unmatched(UnmatchedPart::Statistic(kind), side_of(left.is_some()))?;
                }
            }
        }
        Ok(())
    }

    fn compare_samples(&self, take: &mut dyn DifferenceSink) -> anyhow::Result<()> {
        let [one, other] = self.sides;
        for (name, [left, right]) in both(&[one.tracks(), other.tracks()]) {
            let samples = |side: &Side, track: Option<TrackId>| {
                track.map_or_else(|| Ok(Vec::new()), |track| side.samples(track))
            };
            let samples = [samples(one, left)?, samples(other, right)?];
            if samples[0] != samples[1] {
                take.samples(&name, &samples)?;
            }
        }
        Ok(())
    }

    /// Values that differ; what is not there is 0.
    fn value_differences(&self, values: &[Values; 2]) -> Vec<ValueDifference> {
        let mut apart = Vec::new();
        for ((path, measured), values) in both(values) {
            let values = values.map(Option::unwrap_or_default);
            if is_apart(self.tolerance, values[0], values[1]) {
                apart.push(ValueDifference { path, measured, values });
            }
        }
        apart
    }
}

/// The first line that differs.
fn first_difference<'a>(one: &'a str, other: &'a str) -> [&'a str; 2] {
    let ends = || std::iter::repeat("nothing");
    let lines = one.lines().chain(ends()).zip(other.lines().chain(ends()));
    let most = one.lines().count().max(other.lines().count());
    let apart = lines.take(most).find(|(one, other)| one != other);
    apart.map_or([one, other], |(one, other)| [one, other])
}

fn side_of(is_one: bool) -> usize {
    usize::from(!is_one)
}

/// Metrics, each with how far it reaches where that is not as far as any.
fn metrics(side: &Side) -> BTreeSet<String> {
    let words = |metric: &Metric| {
        if metric.reaches.len() == MetricScope::ALL.len() {
            return metric.name.clone();
        }
        let reaches: Vec<_> = metric.reaches.iter().map(|reach| reach.name()).collect();
        format!("{} ({})", metric.name, reaches.join(", "))
    };
    side.view.metrics().iter().map(words).collect()
}

/// Returns the values of two maps at each key.
fn both<K: Ord + Clone, V: Copy>(maps: &[BTreeMap<K, V>; 2]) -> BTreeMap<K, [Option<V>; 2]> {
    let [left, right] = maps;
    let keys: BTreeSet<&K> = left.keys().chain(right.keys()).collect();
    let values = |key: &K| [left.get(key).copied(), right.get(key).copied()];
    keys.into_iter().map(|key| (key.clone(), values(key))).collect()
}
