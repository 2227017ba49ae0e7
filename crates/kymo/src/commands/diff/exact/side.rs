//! One of two recordings that are compared: what it has, by path.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use kymo_core::Result;
use kymo_model::Fact;
use kymo_model::profile::{
    Column, Context, ContextValue, IDLE, Metric, MetricId, MetricScope, ProfileView, Scope, Step,
    SummaryValue, ThreadId, Walk,
};
use kymo_model::timeline::{Content, TimelineView, TrackId, TrackKind, Window};

use super::paths::{Kind, Paths, UNLISTED, WHOLE, label};
use super::unlisted::Unlisted;
use super::{MeasuredMetric, Sample, StoredValues, ValueOwner, Values};
use crate::session::OpenedFile;

/// Facts of summaries that are not told by contexts, values and samples.
const SAID: [&str; 3] = ["title", "description", "trace span"];

/// One of the two recordings.
pub(super) struct Side {
    pub(super) view: Arc<dyn ProfileView>,
    timeline: Option<Arc<dyn TimelineView>>,
    /// True if that nothing is done counts once, however often it was sampled: databases say it
    /// once, and other recordings do not.
    is_idle_once: bool,
    /// Statements of the recording about itself as a whole, by name.
    pub(super) said: BTreeMap<&'static str, String>,
    /// The path of each context, by its number.
    paths: HashMap<u64, usize>,
    /// Contexts of each path.
    pub(super) contexts: BTreeMap<usize, Vec<Context>>,
}

impl Side {
    pub(super) fn new(
        opened: &OpenedFile,
        is_idle_once: bool,
        paths: &mut Paths,
    ) -> Result<Option<Self>> {
        let Some(view) = opened.dataset.profile() else { return Ok(None) };
        let mut side = Self {
            is_idle_once,
            said: if is_idle_once { BTreeMap::new() } else { statements(opened, view.as_ref()) },
            timeline: opened.timeline(),
            paths: HashMap::from([(0, WHOLE)]),
            contexts: BTreeMap::new(),
            view,
        };
        let mut above = vec![WHOLE];
        for step in Walk::new(side.view.as_ref())? {
            let Step::Enter(context, _) = step? else {
                above.pop();
                continue;
            };
            if above.len() == 1 && is_idle(side.view.as_ref(), &context)? {
                side.paths.insert(context.number.0, WHOLE);
                above.push(WHOLE);
                continue;
            }
            let label = label(side.view.as_ref(), &context)?;
            let above_it = above.last().copied().unwrap_or(WHOLE);
            let path = paths.intern(above_it, &label, Kind::from_context(&context));
            // What the whole program has beyond its entries is shown as one more: it stays the whole.
            side.paths.entry(context.number.0).or_insert(path);
            side.contexts.entry(path).or_default().push(context);
            above.push(path);
        }
        Ok(Some(side))
    }

    fn path(&self, number: u64) -> usize {
        self.paths.get(&number).copied().unwrap_or(UNLISTED)
    }

    /// Returns the metric and scope of the values of each column.
    fn columns(&self) -> HashMap<Column, MeasuredMetric> {
        let metrics = self.view.metrics().into_iter().zip((0..).map(MetricId));
        let named = |(metric, id): (Metric, MetricId)| {
            let name = Rc::<str>::from(metric.name);
            MetricScope::ALL.map(|reach| {
                (Column { metric: id, reach }, MeasuredMetric { metric: Rc::clone(&name), reach })
            })
        };
        metrics.flat_map(named).collect()
    }

    /// Threads by what names them; those of the same name are told apart by their order.
    pub(super) fn threads(&self) -> Result<BTreeMap<String, ThreadId>> {
        let mut threads = BTreeMap::new();
        for id in (0..).map(ThreadId).take(self.view.thread_count()) {
            let name = self.view.thread(id)?.to_string();
            threads.insert(numbered(name, &threads), id);
        }
        Ok(threads)
    }

    /// Returns the values of a thread, by path and column. Values of contexts that are not listed
    /// are put aside.
    pub(super) fn thread_values(
        &self,
        thread: ThreadId,
        value_owner: &ValueOwner,
        unlisted: &mut Unlisted<'_>,
    ) -> Result<Values> {
        let columns = self.columns();
        let mut values = Values::new();
        for value in self.view.thread_values(thread)? {
            let ContextValue { context, column, value } = value?;
            let measured = measured(&columns, column);
            match self.path(context.0) {
                UNLISTED => unlisted.add(context.0, value_owner, &measured, value),
                path => *values.entry((path, measured)).or_default() += value,
            }
        }
        Ok(values)
    }

    /// Returns the values kept of all threads together, by statistic, path and column; `None` where
    /// they are computed when asked for.
    pub(super) fn stored_values(
        &self,
        unlisted: &mut Unlisted<'_>,
    ) -> Result<Option<StoredValues>> {
        let Some(kept) = self.view.stored_statistics() else { return Ok(None) };
        let columns = self.columns();
        let mut found = StoredValues::new();
        for value in kept {
            let SummaryValue { context, column, statistic, value } = value?;
            let values = found.entry(statistic).or_default();
            let measured = measured(&columns, column);
            match self.path(context.0) {
                UNLISTED => unlisted.add(context.0, &ValueOwner::All(statistic), &measured, value),
                path => {
                    let slot = values.entry((path, measured)).or_default();
                    statistic.combine(slot, value);
                }
            }
        }
        Ok(Some(found))
    }

    /// Returns the values of all threads together, by path and column.
    pub(super) fn sums(&self) -> Result<Values> {
        let (columns, measured): (Vec<_>, Vec<_>) = self.columns().into_iter().unzip();
        let mut values = Values::new();
        let mut sums = vec![0.0; columns.len()];
        for (path, contexts) in &self.contexts {
            for context in contexts {
                self.view.sums(context, &columns, None, &mut sums)?;
                for (measured_metric, sum) in
                    measured.iter().zip(&sums).filter(|(_, sum)| **sum != 0.0)
                {
                    *values.entry((*path, measured_metric.clone())).or_default() += sum;
                }
            }
        }
        Ok(values)
    }

    /// Tracks by the threads that they are of.
    pub(super) fn tracks(&self) -> BTreeMap<String, TrackId> {
        let mut tracks = BTreeMap::new();
        let all = self.timeline.as_ref().map(|timeline| timeline.tracks()).unwrap_or_default();
        for (index, track) in all.iter().enumerate().filter(|(_, t)| t.kind == TrackKind::Samples) {
            tracks.insert(numbered(track.thread().to_owned(), &tracks), TrackId(index));
        }
        tracks
    }

    /// The samples of a track.
    pub(super) fn samples(&self, track: TrackId) -> Result<Vec<Sample>> {
        let Some(timeline) = &self.timeline else { return Ok(Vec::new()) };
        let window = Window { tracks: Some(vec![track]), ..Window::default() };
        let mut events = Arc::clone(timeline).events(&window)?;
        let mut samples = Vec::new();
        while let Some(event) = events.next()? {
            if let Content::Sample(number) = event.content {
                samples.push((event.time.map_or(0, |time| time.0), self.path(number)));
            }
        }
        if self.is_idle_once {
            samples.dedup_by(|later, before| [later.1, before.1] == [WHOLE; 2]);
        }
        Ok(samples)
    }
}

/// Returns the statements of a recording about itself as a whole: facts of its summary, and the way
/// metrics are shown.
fn statements(opened: &OpenedFile, view: &dyn ProfileView) -> BTreeMap<&'static str, String> {
    let facts = opened.dataset.summary().facts.into_iter();
    let facts = facts.filter(|fact| SAID.contains(&fact.name));
    let mut said: BTreeMap<_, _> = facts.map(|fact| (fact.name, fact_words(&fact))).collect();
    let words = |metric: &Metric| {
        let hidden = if metric.is_shown { "" } else { ", hidden" };
        format!("{} ({}){hidden}", metric.name, metric.description)
    };
    let mut stored: Vec<_> = view.metrics().iter().map(words).collect();
    stored.sort_unstable();
    stored.extend(view.derived().iter().map(words));
    said.insert(
        "how metrics are shown",
        stored.join(
            "
",
        ),
    );
    said
}

fn fact_words(fact: &Fact) -> String {
    let exact = fact.exact.iter().map(|(_, value)| format!(", {value}"));
    format!("{}{}", fact.value, exact.collect::<String>())
}

/// Returns the metric of a column; it has no name where a recording has a value of no metric.
fn measured(columns: &HashMap<Column, MeasuredMetric>, column: Column) -> MeasuredMetric {
    let unknown = || MeasuredMetric { metric: Rc::from(""), reach: column.reach };
    columns.get(&column).cloned().unwrap_or_else(unknown)
}

fn numbered<T>(name: String, known: &BTreeMap<String, T>) -> String {
    let repeats = (2..).map(|count| format!("{name} #{count}"));
    let mut names = std::iter::once(name.clone()).chain(repeats);
    names.find(|name| !known.contains_key(name)).unwrap_or(name)
}

/// Returns true if a context stands for doing nothing, which some recordings have no context for.
fn is_idle(view: &dyn ProfileView, context: &Context) -> Result<bool> {
    let function = context.function.map(|id| view.function(id)).transpose()?;
    let is_named = function.is_some_and(|function| function.name == IDLE);
    Ok(is_named && context.scope == Scope::Placeholder)
}
