//! Profiles by path: every metric, context, value of a thread, statistic and sample.
//!
//! What recordings number contexts by means nothing: contexts are the same when all that is known
//! of them and of those above them is. Those that have the same path are added up.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use kymo_core::Result;
use kymo_core::model::profile::{
    Column, Context, ContextValue, FileId, IDLE, Metric, MetricId, ModuleId, ProfileView, Reach,
    Relation, Scope, Statistic, Step, SummaryValue, ThreadId, Walk, path_text,
};
use kymo_core::model::timeline::{Content, TimelineView, TrackId, TrackKind, Window};
use serde_json::json;

use super::unlisted::{self, Keys, Unlisted};
use super::{Difference, PATH_BYTES_MAX, Take, is_apart};
use crate::render::measure;
use crate::session::Opened;

/// The path of the whole program.
const WHOLE: usize = 0;

/// What threads are called that are taken together.
const ALL: &str = "all threads";

/// The path of everything that no context is listed for.
const UNLISTED: usize = 1;

/// One of the two recordings.
pub(super) struct Side {
    view: Arc<dyn ProfileView>,
    timeline: Option<Arc<dyn TimelineView>>,
    /// The path of each context, by its number.
    paths: HashMap<u64, usize>,
    /// Contexts of each path.
    contexts: BTreeMap<usize, Vec<Context>>,
}

/// Paths of both, each once, and each label once: very many may have the same.
#[derive(Default)]
pub(super) struct Paths {
    /// The path above each, and its label.
    all: Vec<(usize, usize)>,
    known: HashMap<(usize, usize), usize>,
    labels: Vec<Rc<str>>,
    by_label: HashMap<Rc<str>, usize>,
}

impl Paths {
    pub(super) fn new() -> Self {
        let mut paths = Self::default();
        for label in ["<whole program>", "<not listed>"] {
            let label = paths.label(label);
            paths.all.push((WHOLE, label));
        }
        paths
    }

    fn label(&mut self, text: &str) -> usize {
        if let Some(label) = self.by_label.get(text) {
            return *label;
        }
        let (label, text) = (self.labels.len(), Rc::<str>::from(text));
        self.labels.push(Rc::clone(&text));
        self.by_label.insert(text, label);
        label
    }

    fn of(&mut self, above: usize, label: &str) -> usize {
        let (next, key) = (self.all.len(), (above, self.label(label)));
        let path = *self.known.entry(key).or_insert(next);
        if path == next {
            self.all.push(key);
        }
        path
    }

    /// The path above one.
    fn above(&self, path: usize) -> usize {
        self.all.get(path).map_or(WHOLE, |(above, _)| *above)
    }

    fn text(&self, path: usize) -> String {
        let above = |path: &usize| Some(self.above(*path)).filter(|above| *above != WHOLE);
        let label = |path: usize| self.labels.get(self.all.get(path)?.1);
        let labels = std::iter::successors(Some(path), above).filter_map(label);
        path_text(labels.map(AsRef::as_ref), PATH_BYTES_MAX)
    }
}

impl Side {
    pub(super) fn new(opened: &Opened, paths: &mut Paths) -> Result<Option<Self>> {
        let Some(view) = opened.dataset.profile() else { return Ok(None) };
        let mut side = Self {
            timeline: opened.dataset.timeline(),
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
            let path = paths.of(above.last().copied().unwrap_or(WHOLE), &label);
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

    fn columns(&self) -> Vec<(Column, String)> {
        let metrics = self.view.metrics().into_iter().zip((0..).map(MetricId));
        let named = |(metric, id): (kymo_core::model::profile::Metric, MetricId)| {
            Reach::ALL.map(|reach| {
                let column = Column { metric: id, reach };
                (column, format!("{} {}", metric.name, reach.name()))
            })
        };
        metrics.flat_map(named).collect()
    }

    /// Threads by what names them; those of the same name are told apart by their order.
    fn threads(&self) -> Result<BTreeMap<String, ThreadId>> {
        let mut threads = BTreeMap::new();
        for id in (0..).map(ThreadId).take(self.view.thread_count()) {
            let name = self.view.thread(id)?.to_string();
            threads.insert(numbered(name, &threads), id);
        }
        Ok(threads)
    }

    /// What a thread has, by path and column. What contexts have that are not listed is put aside.
    fn thread_values(
        &self,
        thread: ThreadId,
        name: &str,
        unlisted: &mut Unlisted<'_>,
    ) -> Result<Values> {
        let columns: HashMap<Column, String> = self.columns().into_iter().collect();
        let mut values = Values::new();
        for value in self.view.thread_values(thread)? {
            let ContextValue { context, column, value } = value?;
            let column = columns.get(&column).map_or("", String::as_str);
            match self.path(context.0) {
                UNLISTED => unlisted.add(context.0, name, column, value),
                path => *values.entry((path, column.to_owned())).or_default() += value,
            }
        }
        Ok(values)
    }

    /// What is kept of all threads together, by statistic, path and column; nothing where that is
    /// computed when it is asked for.
    fn kept(&self, unlisted: &mut Unlisted<'_>) -> Result<Option<Kept>> {
        let Some(kept) = self.view.kept_statistics() else { return Ok(None) };
        let columns: HashMap<Column, String> = self.columns().into_iter().collect();
        let mut found = Kept::new();
        for value in kept {
            let SummaryValue { context, column, statistic, value } = value?;
            let column = columns.get(&column).map_or("", String::as_str);
            let values = found.entry(statistic).or_default();
            match self.path(context.0) {
                UNLISTED => unlisted.add(context.0, &all_threads(statistic), column, value),
                path => {
                    let slot = values.entry((path, column.to_owned())).or_default();
                    statistic.combine(slot, value);
                }
            }
        }
        Ok(Some(found))
    }

    /// What all threads have together, by path and column.
    fn sums(&self) -> Result<Values> {
        let (columns, names): (Vec<_>, Vec<_>) = self.columns().into_iter().unzip();
        let mut values = Values::new();
        let mut sums = vec![0.0; columns.len()];
        for (path, contexts) in &self.contexts {
            for context in contexts {
                self.view.sums(context, &columns, None, &mut sums)?;
                for (name, sum) in names.iter().zip(&sums).filter(|(_, sum)| **sum != 0.0) {
                    *values.entry((*path, name.clone())).or_default() += sum;
                }
            }
        }
        Ok(values)
    }

    /// Tracks by the threads that they are of.
    fn tracks(&self) -> BTreeMap<String, TrackId> {
        let mut tracks = BTreeMap::new();
        let found = self.timeline.iter().flat_map(|timeline| timeline.tracks());
        for (index, track) in found.enumerate().filter(|(_, t)| t.kind == TrackKind::Samples) {
            tracks.insert(numbered(track.thread().to_owned(), &tracks), TrackId(index));
        }
        tracks
    }

    /// The samples of a track. That nothing is done is said once, as databases do, however often
    /// it was sampled.
    fn samples(&self, track: TrackId) -> Result<Vec<(i64, usize)>> {
        let Some(timeline) = &self.timeline else { return Ok(Vec::new()) };
        let window = Window { tracks: Some(vec![track]), ..Window::default() };
        let mut events = Arc::clone(timeline).events(&window)?;
        let mut samples = Vec::new();
        while let Some(event) = events.next()? {
            if let Content::Sample(number) = event.content {
                samples.push((event.time.map_or(0, |time| time.0), self.path(number)));
            }
        }
        samples.dedup_by(|later, before| [later.1, before.1] == [WHOLE; 2]);
        Ok(samples)
    }
}

/// Values by path and column.
type Values = BTreeMap<(usize, String), f64>;

/// What is kept of all threads together, by statistic.
type Kept = BTreeMap<Statistic, Values>;

/// What a statistic of all threads is called.
fn all_threads(statistic: Statistic) -> String {
    let name = match statistic {
        Statistic::Count => "count",
        Statistic::Sum => "sum",
        Statistic::Squares => "sum of squares",
        Statistic::Min => "smallest",
        Statistic::Max => "largest",
    };
    format!("{ALL}, {name}")
}

fn numbered<T>(name: String, known: &BTreeMap<String, T>) -> String {
    let repeats = (2..).map(|count| format!("{name} #{count}"));
    let mut names = std::iter::once(name.clone()).chain(repeats);
    names.find(|name| !known.contains_key(name)).unwrap_or(name)
}

/// Whether a context stands for doing nothing, which some recordings have no context for.
fn is_idle(view: &dyn ProfileView, context: &Context) -> Result<bool> {
    let function = context.function.map(|id| view.function(id)).transpose()?;
    let is_named = function.is_some_and(|function| function.name == IDLE);
    Ok(is_named && context.scope == Scope::Placeholder)
}

/// How a context hangs below the one above it, where that is not as one expects.
fn hanging(context: &Context) -> Option<&'static str> {
    let is_code = matches!(context.scope, Scope::Loop | Scope::Line);
    match context.relation {
        Relation::Inlined => Some("inlined"),
        Relation::Call => is_code.then_some("called"),
        Relation::Lexical => (!is_code).then_some("nested"),
    }
}

/// Everything that is known of a context, in words.
fn label(view: &dyn ProfileView, context: &Context) -> Result<String> {
    let file = |id: FileId| -> Result<String> {
        let path = view.file(id)?;
        // Sources that were copied stand below this folder by the path they had.
        Ok(path.strip_prefix("src/").map(|rest| format!("/{rest}")).unwrap_or(path))
    };
    let point = |module: ModuleId, offset: u64| -> Result<String> {
        Ok(format!("{}+{offset:#x}", view.module(module)?))
    };
    let mut words = Vec::new();
    words.extend(hanging(context).map(str::to_owned));
    words.push(match context.scope {
        Scope::Placeholder => Scope::Function.name().to_owned(),
        scope => scope.name().to_owned(),
    });
    if let Some(function) = context.function.map(|id| view.function(id)).transpose()? {
        words.push(function.name);
        // What was inlined has no place of its own, whatever a recording says.
        let offset = if context.relation == Relation::Inlined { 0 } else { function.offset };
        if let Some(module) = function.module {
            words.push(point(module, offset)?);
        }
        if let Some(defined) = function.file {
            words.push(format!("{}:{}", file(defined)?, function.line));
        }
    }
    if let Some((source, line)) = context.source {
        words.push(format!("{}:{line}", file(source)?));
    }
    if let Some((module, offset)) = context.point {
        words.push(point(module, offset)?);
    }
    Ok(words.join(" "))
}

/// Everything that differs.
pub(super) fn differences(
    one: &Side,
    other: &Side,
    paths: &Paths,
    tolerance: f64,
    take: Take<'_>,
) -> anyhow::Result<()> {
    let mut differing = Differing { paths, tolerance, take };
    differing.contexts(one, other)?;
    let threads = [one.threads()?, other.threads()?];
    let keys = Keys::default();
    let mut unlisted = [Unlisted::new(&keys), Unlisted::new(&keys)];
    let metrics = |side: &Side| -> BTreeSet<String> {
        side.view.metrics().iter().map(words_of_metric).collect()
    };
    let metrics = [metrics(one), metrics(other)];
    for name in &metrics[0] ^ &metrics[1] {
        differing.only(&name, "the metric", metrics[0].contains(&name))?;
    }
    for (name, [left, right]) in both(&threads) {
        let (Some(left), Some(right)) = (left, right) else {
            differing.only(&name, "the thread", left.is_some())?;
            continue;
        };
        let left = one.thread_values(left, &name, &mut unlisted[0])?;
        let right = other.thread_values(right, &name, &mut unlisted[1])?;
        differing.values(&name, &[left, right])?;
    }
    let [left_unlisted, right_unlisted] = &mut unlisted;
    match (one.kept(left_unlisted)?, other.kept(right_unlisted)?) {
        (Some(left), Some(right)) => differing.statistics(&left, &right)?,
        _ => differing.values(ALL, &[one.sums()?, other.sums()?])?,
    }
    let label = paths.text(UNLISTED);
    let [left, right] = unlisted.map(Unlisted::into_rows);
    let found =
        unlisted::differences(&keys, left, right, |one, other| is_apart(tolerance, one, other));
    for (what, details) in found {
        (differing.take)(Difference::new(label.clone(), what, details))?;
    }
    for (name, [left, right]) in both(&[one.tracks(), other.tracks()]) {
        let samples = |side: &Side, track: Option<TrackId>| {
            track.map_or_else(|| Ok(Vec::new()), |track| side.samples(track))
        };
        differing.samples(&name, &samples(one, left)?, &samples(other, right)?)?;
    }
    Ok(())
}

/// A metric, and how far it reaches where that is not as far as any.
fn words_of_metric(metric: &Metric) -> String {
    if metric.reaches.len() == Reach::ALL.len() {
        return metric.name.clone();
    }
    let reaches: Vec<_> = metric.reaches.iter().map(|reach| reach.name()).collect();
    format!("{} ({})", metric.name, reaches.join(", "))
}

/// What two maps have at each key.
fn both<K: Ord + Clone, V: Copy>(maps: &[BTreeMap<K, V>; 2]) -> BTreeMap<K, [Option<V>; 2]> {
    let [left, right] = maps;
    let keys: BTreeSet<&K> = left.keys().chain(right.keys()).collect();
    let values = |key: &K| [left.get(key).copied(), right.get(key).copied()];
    keys.into_iter().map(|key| (key.clone(), values(key))).collect()
}

struct Differing<'a> {
    paths: &'a Paths,
    tolerance: f64,
    take: Take<'a>,
}

impl Differing<'_> {
    /// Contexts that only one has; what is below them need not be said.
    fn contexts(&mut self, one: &Side, other: &Side) -> anyhow::Result<()> {
        for (side, against, which) in [(one, other, "one"), (other, one, "other")] {
            for path in side.contexts.keys().filter(|path| !against.contexts.contains_key(path)) {
                let above = self.paths.above(*path);
                if above == WHOLE || against.contexts.contains_key(&above) {
                    let what = format!("only the {which} has this context");
                    let details = json!({ "only": which });
                    (self.take)(Difference::new(self.paths.text(*path), what, details))?;
                }
            }
        }
        Ok(())
    }

    fn only(&mut self, path: &str, what: &str, is_one: bool) -> anyhow::Result<()> {
        let which = if is_one { "one" } else { "other" };
        let what = format!("only the {which} has {what}");
        (self.take)(Difference::new(path, what, json!({ "only": which })))
    }

    fn values(&mut self, thread: &str, values: &[Values; 2]) -> anyhow::Result<()> {
        for ((path, column), values) in both(values) {
            let [before, after] = values.map(Option::unwrap_or_default);
            if is_apart(self.tolerance, before, after) {
                let [mut was, mut is] = [before, after].map(measure::value);
                if was.parse::<f64>().ok() == is.parse::<f64>().ok() {
                    // The difference is further back than is shown as a rule.
                    [was, is] = [before, after].map(|value| value.to_string());
                }
                let what = format!("{thread}: {column}: {was} and {is}");
                let details =
                    json!({ "thread": thread, "column": column, "one": before, "other": after });
                (self.take)(Difference::new(self.paths.text(path), what, details))?;
            }
        }
        Ok(())
    }

    /// What all threads have together, statistic by statistic.
    fn statistics(&mut self, one: &Kept, other: &Kept) -> anyhow::Result<()> {
        let kinds: BTreeSet<&Statistic> = one.keys().chain(other.keys()).collect();
        for kind in kinds {
            let name = all_threads(*kind);
            match (one.get(kind), other.get(kind)) {
                (Some(left), Some(right)) => self.values(&name, &[left.clone(), right.clone()])?,
                (left, _) => self.only(&name, "the statistic", left.is_some())?,
            }
        }
        Ok(())
    }

    fn samples(
        &mut self,
        track: &str,
        one: &[(i64, usize)],
        other: &[(i64, usize)],
    ) -> anyhow::Result<()> {
        if one.len() != other.len() {
            let what = format!("{} and {} samples", one.len(), other.len());
            let details = json!({ "one": one.len(), "other": other.len() });
            (self.take)(Difference::new(track, what, details))?;
        }
        for ((time, path), (other_time, other_path)) in one.iter().zip(other) {
            if (time, path) != (other_time, other_path) {
                let text = self.paths.text(*other_path);
                let what = format!("{track}: at {time} ns, and at {other_time} ns in {text}");
                let details = json!({ "track": track, "time": time, "other_path": text });
                (self.take)(Difference::new(self.paths.text(*path), what, details))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_told_by_its_last_labels_however_long_it_is() {
        let mut paths = Paths::new();
        let (one, other) = (paths.of(WHOLE, "main"), paths.of(WHOLE, "start"));
        let below = paths.of(one, "work");
        assert_eq!((paths.of(one, "work"), paths.text(below)), (below, "main > work".to_owned()));
        assert_ne!(paths.of(other, "work"), below);
        assert_eq!(
            [WHOLE, UNLISTED].map(|path| paths.text(path)),
            ["<whole program>", "<not listed>"]
        );
        let mut path = one;
        for _ in 0..10_000 {
            path = paths.of(path, "work");
        }
        let text = paths.text(path);
        assert!(text.len() <= PATH_BYTES_MAX && text.starts_with("… > work > "), "{}", text.len());
        assert_eq!(paths.labels.len(), 5);
    }
}
