//! Choice between two readings of a value: that of `profile.db`, or that of `cct.db`.
//!
//! The sum over threads in the summary is asked first, since a right value fits it and hardly a wrong
//! one. Where it tells nothing, the other scopes of the metric and the tree are: a value has to be
//! one that can be there, and all that have an opinion have to agree. What nothing decides stays
//! undecided.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use kymo_core::Result;
use kymo_core::bytes::ReadResult;
use kymo_model::profile::MetricScope;

use super::values::{all_values, each_value, sums_of};
use crate::model::scope_of;
use crate::read::{CctDb, Database, ProfileDb};
use crate::rounding::{self, Sum};
use crate::types::SummedScope;
use crate::walk::TreeWalk;

/// Differing values of one sum that are tried in every combination.
const COMBINED_MAX: usize = 8;

/// Values that are looked up for the tree's opinion, over all. Beyond that it has none, so that
/// damage in many values of contexts with many children does not take for ever.
const LOOKUPS_MAX: u64 = 1 << 24;

/// Context, metric and profile of a value.
pub(super) type Key = (u32, u16, u32);

/// A value that is another in each file; 0 where a file has none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Difference {
    pub(super) key: Key,
    pub(super) by_profile: f64,
    pub(super) by_context: f64,
    pub(super) verdict: Option<Right>,
}

/// The file whose reading is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Right {
    Profile,
    Cct,
}

impl Difference {
    fn reading(&self, right: Right) -> f64 {
        match right {
            Right::Profile => self.by_profile,
            Right::Cct => self.by_context,
        }
    }

    /// The value that is kept: of what is undecided that of `profile.db`.
    pub(super) fn kept_value(&self) -> f64 {
        self.reading(self.verdict.unwrap_or(Right::Profile))
    }
}

/// All values that differ, in order of their keys, with what was decided of each.
pub(super) fn judged(database: &Arc<Database>) -> Result<Vec<Difference>> {
    let (Some(file), Some(cct)) = (&database.profile, &database.cct) else {
        return Ok(Vec::new());
    };
    let mut found = file.part.with_file(differences(file, cct))??;
    cct.part.with_file(decide_by_summary(database, file, cct, &mut found))?;
    file.part.with_file(decide_by_tree(database, file, &mut found))?;
    Ok(found)
}

/// The values that differ, in order of their keys.
fn differences(file: &ProfileDb, cct: &CctDb) -> ReadResult<Result<Vec<Difference>>> {
    let mut found = Vec::new();
    let mut differs = |key, by_profile: f64, by_context: f64| {
        if by_profile.to_bits() != by_context.to_bits() {
            found.push(Difference { key, by_profile, by_context, verdict: None });
        }
    };
    let read = each_value(cct, |context, metric, profile, value| {
        let other = file.part.with_file(value_of(file, profile, context, metric))?;
        differs((context, metric, profile), other.unwrap_or(0.0), value);
        Ok(())
    })?;
    if let Err(error) = read {
        return Ok(Err(error));
    }
    for (index, profile) in (1..file.profiles.count).zip(1..) {
        for (context, metric, value) in all_values(file, index)? {
            if !has_value(cct, context, metric, profile)? {
                differs((context, metric, profile), value, 0.0);
            }
        }
    }
    found.sort_unstable_by_key(|difference| difference.key);
    Ok(Ok(found))
}

/// The value that `profile.db` has of a key, of threads alone.
fn value_of(file: &ProfileDb, profile: u32, context: u32, metric: u16) -> ReadResult<Option<f64>> {
    let profile = file.profile(profile.into())?.filter(|profile| !profile.is_summary);
    let Some(profile) = profile else { return Ok(None) };
    Ok(file.found(&profile, context, metric.into())?.map(|(_, value)| value))
}

fn has_value(cct: &CctDb, context: u32, metric: u16, profile: u32) -> ReadResult<bool> {
    let Some(info) = cct.context(context.into())? else { return Ok(false) };
    let range = cct.find(&info, metric)?;
    let count = range.end.saturating_sub(range.start);
    let at = |place| cct.value(&info, range.start + place);
    let place = crate::read::first(count, |place| Ok(at(place)?.0 >= profile))?;
    Ok(place < count && at(place)?.0 == profile)
}

/// Decides what the sums of the summary decide: where they hold with one choice of readings alone.
fn decide_by_summary(
    database: &Database,
    file: &ProfileDb,
    cct: &CctDb,
    found: &mut [Difference],
) -> ReadResult<()> {
    let Some(summary) = file.profile(0)?.filter(|summary| summary.is_summary) else {
        return Ok(());
    };
    if file.require_order(&summary).is_err() {
        return Ok(());
    }
    let ids = sums_of(database, SummedScope::equals_thread_sum);
    let of_one_sum = |a: &Difference, b: &Difference| (a.key.0, a.key.1) == (b.key.0, b.key.1);
    for run in found.chunk_by_mut(of_one_sum) {
        let Some((context, metric, _)) = run.first().map(|first| first.key) else { continue };
        let Some(id) = ids.get(&metric) else { continue };
        let told = file.found(&summary, context, (*id).into())?.map_or(0.0, |(_, told)| told);
        let rest = agreed(cct, context, metric, run)?;
        decide(run, |readings| {
            let mut sum = rest;
            readings.for_each(|reading| sum.add(reading));
            sum.equals_rounded(told)
        });
    }
    Ok(())
}

/// Returns the sum of the values that are the same in both files.
fn agreed(cct: &CctDb, context: u32, metric: u16, run: &[Difference]) -> ReadResult<Sum> {
    let mut sum = Sum::default();
    let Some(info) = cct.context(context.into())? else { return Ok(sum) };
    for index in cct.find(&info, metric)? {
        let (profile, value) = cct.value(&info, index)?;
        if run.binary_search_by_key(&profile, |difference| difference.key.2).is_err() {
            sum.add(value);
        }
    }
    Ok(sum)
}

/// Takes the only choice of readings that fits; of many values all are taken of one file.
fn decide(run: &mut [Difference], fits: impl Fn(&mut dyn Iterator<Item = f64>) -> bool) {
    let choices: Vec<u32> = match run.len() {
        count @ 0..=COMBINED_MAX => (0..1 << count).collect(),
        _ => vec![0, u32::MAX],
    };
    let readings = |choice: u32| {
        (0..).map(move |place| {
            // Of many values there are no bits left for the last: all are alike.
            let bit = choice.checked_shr(place).unwrap_or(choice) & 1;
            if bit == 1 { Right::Cct } else { Right::Profile }
        })
    };
    let mut fitting = choices.into_iter().filter(|choice| {
        let reading = |(difference, right): (&Difference, Right)| difference.reading(right);
        fits(&mut run.iter().zip(readings(*choice)).map(reading))
    });
    let (Some(choice), None) = (fitting.next(), fitting.next()) else { return };
    for (difference, right) in run.iter_mut().zip(readings(choice)) {
        difference.verdict = Some(right);
    }
}

/// Opinion on a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Opinion {
    /// It cannot be.
    Refuted,
    Possible,
    /// It is exactly what it should be.
    Confirmed,
}

/// Decides what else can be decided, by what else a profile has.
fn decide_by_tree(
    database: &Arc<Database>,
    file: &ProfileDb,
    found: &mut [Difference],
) -> ReadResult<()> {
    if found.iter().all(|difference| difference.verdict.is_some()) {
        return Ok(());
    }
    let mut witnesses = Evidence::new(database, file, found)?;
    for difference in found.iter_mut().filter(|difference| difference.verdict.is_none()) {
        difference.verdict = witnesses.verdict(difference)?;
    }
    Ok(())
}

/// Other values of a profile, and the way in which they belong together.
struct Evidence<'a> {
    file: &'a ProfileDb,
    /// The ids of a metric's other scopes, by the id of each.
    metrics: HashMap<u16, Vec<(MetricScope, u16)>>,
    reaches: HashMap<u16, MetricScope>,
    parents: HashMap<u32, (u32, bool)>,
    /// The children of each context, each with whether it counts for the function above.
    children: HashMap<u32, Vec<(u32, bool)>>,
    /// Values that differ: those that are decided, and nothing of the others.
    differing: BTreeMap<Key, Option<f64>>,
    /// Metrics that have values less than nothing.
    negative: HashSet<u16>,
    lookups: u64,
}

impl<'a> Evidence<'a> {
    fn new(
        database: &Arc<Database>,
        file: &'a ProfileDb,
        found: &[Difference],
    ) -> ReadResult<Self> {
        let mut witnesses = Self {
            file,
            metrics: HashMap::new(),
            reaches: HashMap::new(),
            parents: HashMap::new(),
            children: HashMap::new(),
            differing: BTreeMap::new(),
            negative: HashSet::new(),
            lookups: 0,
        };
        witnesses.differing.extend(found.iter().map(|difference| {
            (difference.key, difference.verdict.map(|right| difference.reading(right)))
        }));
        witnesses.know_metrics(database);
        witnesses.know_tree(database);
        for (index, profile) in (1..file.profiles.count).zip(1..) {
            let values = all_values(file, index)?.into_iter();
            let agreed = values.filter(|(context, metric, value)| {
                *value < 0.0 && !witnesses.differing.contains_key(&(*context, *metric, profile))
            });
            witnesses.negative.extend(agreed.map(|(_, metric, _)| metric));
        }
        Ok(witnesses)
    }

    fn know_metrics(&mut self, database: &Database) {
        for metric in database.meta.iter().flat_map(|meta| &meta.metrics) {
            let reach = metric.instances.iter().map(|scope_instance| {
                (scope_of(&scope_instance.scope), scope_instance.prop_metric_id)
            });
            let reach: Vec<_> = reach.filter_map(|(reach, id)| Some((reach?, id))).collect();
            for (own, id) in &reach {
                self.reaches.insert(*id, *own);
                self.metrics.insert(*id, reach.clone());
            }
        }
    }

    fn know_tree(&mut self, database: &Arc<Database>) {
        let scopes = database.meta.iter().flat_map(|meta| &meta.scopes);
        let mut function =
            scopes.filter(|scope| scope_of(&scope.name) == Some(MetricScope::Function));
        let bit = function.next().map_or(0, |scope| u32::from(scope.propagation_index));
        for (context, parent, _) in TreeWalk::new(Arc::clone(database)) {
            let flows = context.propagation.checked_shr(bit).is_some_and(|bits| bits & 1 == 1);
            // The whole has what its entry points come to.
            let parent = parent.unwrap_or(0);
            self.parents.insert(context.ctx_id, (parent, flows));
            self.children.entry(parent).or_default().push((context.ctx_id, flows));
        }
    }

    /// The reading that something speaks for, and nothing against.
    fn verdict(&mut self, difference: &Difference) -> ReadResult<Option<Right>> {
        let (context, metric, profile) = difference.key;
        let readings = [difference.by_profile, difference.by_context];
        let mut opinions = vec![readings.map(|value| self.value_opinion(metric, value))];
        let place = (context, profile);
        opinions.extend(self.scope_opinion(place, metric, readings)?);
        opinions.extend(self.child_opinion(place, metric, readings)?);
        opinions.extend(self.parent_opinion(place, metric, readings)?);
        let speaks_for =
            |one: usize| opinions.iter().any(|opinions| opinions.get(one) > opinions.get(1 - one));
        Ok(match (speaks_for(0), speaks_for(1)) {
            (true, false) => Some(Right::Profile),
            (false, true) => Some(Right::Cct),
            _ => None,
        })
    }

    /// The value of a thread, where it is known; 0 where there is none.
    fn value(&self, context: u32, metric: u16, profile: u32) -> ReadResult<Option<f64>> {
        if let Some(value) = self.differing.get(&(context, metric, profile)) {
            return Ok(*value);
        }
        Ok(Some(value_of(self.file, profile, context, metric)?.unwrap_or(0.0)))
    }

    /// Returns the opinion on a value by itself.
    fn value_opinion(&self, metric: u16, value: f64) -> Opinion {
        let is_odd = value < 0.0 && !self.negative.contains(&metric);
        if is_odd || !value.is_finite() { Opinion::Refuted } else { Opinion::Possible }
    }

    /// Returns the opinion by the other scopes of the metric: a scope that reaches further has no
    /// less, and the same where nothing was called.
    fn scope_opinion(
        &self,
        (context, profile): (u32, u32),
        metric: u16,
        readings: [f64; 2],
    ) -> ReadResult<Vec<[Opinion; 2]>> {
        let mut opinions = Vec::new();
        let own = self.reaches.get(&metric).copied();
        for (reach, id) in self.metrics.get(&metric).into_iter().flatten() {
            let Some(own) = own.filter(|own| own != reach) else { continue };
            let Some(other) = self.value(context, *id, profile)?.filter(|other| *other != 0.0)
            else {
                continue;
            };
            let is_ordered = !self.negative.contains(&metric)
                && own != MetricScope::Lexical
                && *reach != MetricScope::Lexical;
            opinions.push(readings.map(|value| {
                let (near, far) = if own < *reach { (value, other) } else { (other, value) };
                if near.to_bits() == far.to_bits() {
                    Opinion::Confirmed
                } else if is_ordered && near > far && !rounding::is_same(near, far) {
                    Opinion::Refuted
                } else {
                    Opinion::Possible
                }
            }));
        }
        Ok(opinions)
    }

    /// Returns the opinion by the contexts below: the value is their sum, or more.
    fn child_opinion(
        &mut self,
        (context, profile): (u32, u32),
        metric: u16,
        readings: [f64; 2],
    ) -> ReadResult<Option<[Opinion; 2]>> {
        let below = self.child_sum(context, metric, profile, None)?;
        let Some(below) = below.filter(|below| !below.is_empty()) else { return Ok(None) };
        Ok(Some(readings.map(|value| self.as_sum(metric, value, &below))))
    }

    /// Returns the opinion by the context above: its value has this one as a part.
    fn parent_opinion(
        &mut self,
        (context, profile): (u32, u32),
        metric: u16,
        readings: [f64; 2],
    ) -> ReadResult<Option<[Opinion; 2]>> {
        let Some((parent, flows)) = self.parents.get(&context).copied() else { return Ok(None) };
        if !self.counts(metric, parent, flows) {
            return Ok(None);
        }
        let Some(own) = self.value(parent, metric, profile)? else { return Ok(None) };
        let Some(rest) = self.child_sum(parent, metric, profile, Some(context))? else {
            return Ok(None);
        };
        Ok(Some(readings.map(|value| {
            let mut sum = rest;
            sum.add(value);
            self.as_sum(metric, own, &sum)
        })))
    }

    /// Returns true if a value counts for the context above.
    fn counts(&self, metric: u16, parent: u32, flows: bool) -> bool {
        match self.reaches.get(&metric) {
            Some(MetricScope::Execution) => true,
            Some(MetricScope::Function) => flows && parent != 0,
            _ => false,
        }
    }

    /// Returns the sum of the contexts below one, but one of them; `None` where that is not known.
    fn child_sum(
        &mut self,
        context: u32,
        metric: u16,
        profile: u32,
        but: Option<u32>,
    ) -> ReadResult<Option<Sum>> {
        let children = self.children.get(&context).map_or(&[][..], Vec::as_slice);
        self.lookups = self.lookups.saturating_add(children.len() as u64);
        if self.lookups > LOOKUPS_MAX {
            return Ok(None);
        }
        let mut sum = Sum::default();
        for (child, flows) in children {
            if Some(*child) != but && self.counts(metric, context, *flows) {
                let Some(value) = self.value(*child, metric, profile)? else { return Ok(None) };
                sum.add(value);
            }
        }
        Ok(Some(sum))
    }

    /// Returns true if a value can be of a context that has so much below it.
    fn as_sum(&self, metric: u16, value: f64, below: &Sum) -> Opinion {
        if below.equals_rounded(value) {
            Opinion::Confirmed
        } else if below.value() > value
            && !rounding::is_same(below.value(), value)
            && !self.negative.contains(&metric)
        {
            Opinion::Refuted
        } else {
            Opinion::Possible
        }
    }
}
