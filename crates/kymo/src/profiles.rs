//! Question about a profile: the metric and the threads.

use std::collections::HashMap;
use std::io::Write;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::Arc;

use globset::GlobBuilder;
use kymo_core::bytes::Limits;
use kymo_core::{Finding, Invariant as _, Severity};
use kymo_model::profile::{
    Derived, Detail, FlatGrouping, FlatProfile, Metric, MetricId, MetricQuery, MetricScope,
    NamePattern, PathFilter, PathTree, ProfileView, SpentScope, Thread, ThreadId, ThreadSet,
    TopRows, bottom_up, bottom_up_derived, filtered, flat_derived, flat_most, per_thread,
    per_thread_derived, top_down, top_down_derived,
};
use kymo_query::{Calls, default_metric};

use crate::failure::Failure;
use crate::output::Output;
use crate::render::{escaped, measure, numbers, style};
use crate::session::{OpenedFile, Outcome, Session};

/// Metrics listed in a hint.
const LISTED: usize = 8;

/// How many names are listed that one may have meant.
const NEAREST: usize = 5;

/// The part of a profile chosen by options.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ProfileArgs {
    /// The metric: its name, the start of it, or a pattern such as `*COUNT*`. Left out, it is the
    /// first by name that has values: times of the host, then other times, then all others.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) metric: Option<String>,

    #[command(flatten)]
    threads: ThreadArgs,
}

/// Paths chosen by options. Each takes a whole name or a part of names, a pattern such as `Calc*`,
/// or a regular expression between slashes.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Paths")]
pub(crate) struct PathArgs {
    /// Only paths through functions of this name. A name is a whole name or a part of names, a
    /// pattern such as `Calc*`, or a regular expression between slashes.
    #[arg(long, value_name = "NAME")]
    focus: Vec<String>,

    /// Leave out paths through functions of this name.
    #[arg(long, value_name = "NAME")]
    ignore: Vec<String>,

    /// Do not show functions of this name: what they spent is their callers'.
    #[arg(long, value_name = "NAME")]
    hide: Vec<String>,
}

impl PathArgs {
    /// The profile in question, with the paths that are chosen alone.
    pub(crate) fn apply(&self, asked: ProfileQuery) -> anyhow::Result<ProfileQuery> {
        let patterns = |names: &[String]| {
            let pattern = |name: &String| pattern_in(asked.view.as_ref(), name);
            names.iter().map(pattern).collect::<anyhow::Result<Vec<_>>>()
        };
        let filter = PathFilter {
            focus: patterns(&self.focus)?,
            ignore: patterns(&self.ignore)?,
            hide: patterns(&self.hide)?,
        };
        if filter.is_empty() {
            return Ok(asked);
        }
        if asked.derived.is_some() {
            let name = escaped(&asked.described.name);
            let why = format!("{name} is computed from other metrics: its paths cannot be chosen");
            return Err(Failure::new(why).hint("name a metric that it is computed from").into());
        }
        let whole = asked.question().total()?;
        let (question, described) = (asked.question(), asked.described.clone());
        let tree = filtered(&question, described, &filter, &Limits::default())?;
        let (metric, threads) = (MetricId(0), None);
        Ok(ProfileQuery { view: Arc::new(tree), metric, threads, whole: Some(whole), ..asked })
    }
}

/// The functions of a profile that a text means.
pub(crate) fn pattern_in(view: &dyn ProfileView, text: &str) -> anyhow::Result<NamePattern> {
    Ok(NamePattern::new(text)?.found_in(view)?)
}

/// Threads chosen by options.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ThreadArgs {
    /// Only threads of these numbers: `0`, `2-5`, `0,7`.
    #[arg(long, value_name = "NUMBERS")]
    thread: Option<Numbers>,

    /// Only processes of these ranks; a process of a program without ranks has rank 0.
    #[arg(long, value_name = "NUMBERS")]
    rank: Option<Numbers>,
}

/// A profile, and what is asked of it.
pub(crate) struct ProfileQuery {
    view: Arc<dyn ProfileView>,
    metric: MetricId,
    threads: Option<ThreadSet>,
    /// Computation of the metric, where it is not stored.
    pub(crate) derived: Option<Derived>,
    /// Metric that was measured.
    pub(crate) described: Metric,
    /// By how many threads.
    pub(crate) thread_count: usize,
    /// The names of other metrics that have values, where none was asked for.
    others: Vec<String>,
    /// Total that all paths spent, where only some of them are chosen.
    whole: Option<f64>,
}

impl ProfileQuery {
    /// The threads that are meant.
    fn selected_threads(&self) -> impl Iterator<Item = ThreadId> {
        let is_meant = |id: &ThreadId| self.threads.as_ref().is_none_or(|set| set.contains(*id));
        (0..).map(ThreadId).take(self.view.thread_count()).filter(is_meant)
    }

    /// The threads that are meant, each with its name, in the order of ranks and threads.
    pub(crate) fn threads(&self) -> kymo_core::Result<Vec<(ThreadId, Thread)>> {
        let named = self.selected_threads().map(|id| Ok((id, self.view.thread(id)?)));
        let mut threads = named.collect::<kymo_core::Result<Vec<_>>>()?;
        threads.sort_by_cached_key(|(id, thread)| (order(thread), *id));
        Ok(threads)
    }

    /// Returns true if values of a thread were lost.
    pub(crate) fn is_incomplete(&self, thread: ThreadId) -> bool {
        self.view.is_incomplete(thread)
    }

    /// Returns the number of chosen threads that lost values.
    pub(crate) fn incomplete(&self) -> u64 {
        self.selected_threads().filter(|id| self.is_incomplete(*id)).count() as u64
    }

    /// Describes the total that was spent; of chosen paths, as a part of the total of all.
    pub(crate) fn total_in_words(&self, total: f64) -> String {
        let known = measure::in_unit(total, self.described.unit.as_deref());
        match self.whole {
            None => format!("{known} in all"),
            Some(whole) if total == 0.0 => format!("nothing of {}", measure::value_text(whole)),
            Some(whole) => {
                let (share, whole) = (measure::share(total, whole), measure::value_text(whole));
                format!("{known} of {whole} ({share})")
            }
        }
    }

    /// Describes the number of threads that are meant, in words.
    pub(crate) fn threads_in_words(&self) -> String {
        let threads = numbers::count(self.thread_count as u64, "thread", "threads");
        match self.incomplete() {
            0 => threads,
            lost => format!("{threads}, {lost} of them with values lost"),
        }
    }

    /// Says what there is to say of a report beside its figures, and how it went: that there is
    /// nothing, what is odd, and what is good to know of the values.
    pub(crate) fn report(
        &self,
        session: &mut Session,
        opened: &OpenedFile,
        is_nothing: bool,
        odd: Option<&str>,
    ) -> Outcome {
        let _ = session.out.flush();
        if is_nothing {
            session.report.remark(&opened.name, self.no_values_text());
        }
        let outcome = odd.map_or(Outcome::Done, |odd| report_inconsistency(session, opened, odd));
        let outcome = outcome.max(report_caveats(session, opened, &self.view.caveats()));
        for text in self.remarks() {
            session.report.remark(&opened.name, text);
        }
        outcome.max(session.findings(opened))
    }

    /// Returns remarks that are good to know about the values.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let mut remarks = self.view.remarks();
        let sides = [(self.has_inclusive(), "inclusive"), (self.has_exclusive(), "exclusive")];
        for (_, how) in sides.into_iter().filter(|(is_measured, _)| !is_measured) {
            remarks.push(not_measured(&self.described.name, how));
        }
        remarks
    }

    /// Names the other metrics that have values, in a line under a table.
    pub(crate) fn print_others(&self, out: &mut Output) -> std::io::Result<()> {
        if self.others.is_empty() {
            return Ok(());
        }
        let faint = out.paint().style(style::FAINT);
        let names = list("other metrics (-m NAME):", &self.others);
        writeln!(out, "{faint}{names}{faint:#}")
    }

    /// Explains that nothing has a value, and why.
    fn no_values_text(&self) -> String {
        if self.whole.is_some() {
            return "no path is left by --focus, --ignore and --hide".to_owned();
        }
        let name = escaped(&self.described.name);
        // It is only a reason: what cannot be read is said elsewhere.
        let totals = self.view.totals(self.threads.as_ref()).unwrap_or_default();
        let is_empty = |metric: MetricId| {
            let total = usize::try_from(metric.0).ok().and_then(|index| totals.get(index));
            total.is_none_or(|total| *total == 0.0)
        };
        let inputs = self.derived.iter().flat_map(|derived| &derived.inputs);
        let empty = inputs.map(|input| input.column.metric).find(|metric| is_empty(*metric));
        let metrics = self.view.metrics();
        let empty = empty.and_then(|metric| metrics.get(usize::try_from(metric.0).ok()?));
        let why = empty.map_or(String::new(), |this_metric| {
            format!(": {} has none", escaped(&this_metric.name))
        });
        format!("nothing has a value of {name}{why}")
    }

    /// Returns true if what is asked for is known inclusive of calls.
    fn has_inclusive(&self) -> bool {
        self.has_scope(MetricScope::Execution)
    }

    /// Returns true if it is known exclusive of calls.
    fn has_exclusive(&self) -> bool {
        self.has_scope(MetricScope::Function)
    }

    fn has_scope(&self, reach: MetricScope) -> bool {
        self.derived.is_some() || self.described.reaches.contains(&reach)
    }

    /// Refuses what is not measured inclusive of calls.
    pub(crate) fn require_inclusive(&self, why: &str) -> Result<(), Failure> {
        self.require(self.has_inclusive(), "inclusive", why, "`kymo top` shows what it has")
    }

    /// Refuses what is not measured exclusive of calls.
    pub(crate) fn require_exclusive(&self, why: &str, hint: &str) -> Result<(), Failure> {
        self.require(self.has_exclusive(), "exclusive", why, hint)
    }

    fn require(&self, is: bool, how: &str, why: &str, hint: &str) -> Result<(), Failure> {
        let name = not_measured(&self.described.name, how);
        let failure = || Failure::new(format!("{name}, {why}"));
        if is { Ok(()) } else { Err(failure().hint(hint)) }
    }

    /// The rows of a flat profile of what is asked for that spent most.
    pub(crate) fn flat(&self, by: FlatGrouping, most: TopRows) -> kymo_core::Result<FlatProfile> {
        let (view, threads) = (self.view.as_ref(), self.threads.as_ref());
        match &self.derived {
            Some(derived) => flat_derived(view, derived, threads, by, most),
            None => flat_most(&self.question(), by, most),
        }
    }

    /// The paths of what is asked for, from the entry points down.
    pub(crate) fn top_down(&self, detail: Detail, depth: usize) -> kymo_core::Result<PathTree> {
        let (view, threads) = (self.view.as_ref(), self.threads.as_ref());
        match &self.derived {
            Some(derived) => top_down_derived(view, derived, threads, detail, depth),
            None => top_down(&self.question(), detail, depth),
        }
    }

    /// Functions with their callers, or one function with its callers; below functions that have
    /// less than a share of the total there is nothing.
    pub(crate) fn bottom_up(
        &self,
        name_pattern: Option<&NamePattern>,
        depth: usize,
        least: f64,
    ) -> kymo_core::Result<PathTree> {
        let (view, threads) = (self.view.as_ref(), self.threads.as_ref());
        match &self.derived {
            Some(derived) => bottom_up_derived(view, derived, threads, name_pattern, depth, least),
            None => bottom_up(&self.question(), name_pattern, depth, least),
        }
    }

    /// Describes what is odd about the values that threads spent, in all or in one place.
    pub(crate) fn thread_inconsistency(&self, spent: &[f64]) -> kymo_core::Result<Option<String>> {
        if self.derived.is_some() { Ok(None) } else { self.question().thread_inconsistency(spent) }
    }

    /// Returns the value that each thread spent; not a number where what is asked for has no value.
    pub(crate) fn per_thread(&self, within: SpentScope<'_>) -> kymo_core::Result<Vec<f64>> {
        let (view, threads) = (self.view.as_ref(), self.threads.as_ref());
        match &self.derived {
            Some(derived) => per_thread_derived(view, derived, threads, within),
            None => per_thread(&self.question(), within),
        }
    }

    /// The functions that a text means.
    pub(crate) fn pattern(&self, text: &str) -> anyhow::Result<NamePattern> {
        pattern_in(self.view.as_ref(), text)
    }

    /// The question for core.
    pub(crate) fn question(&self) -> MetricQuery<'_> {
        MetricQuery {
            view: self.view.as_ref(),
            metric: self.metric,
            threads: self.threads.as_ref(),
        }
    }
}

/// Begins a report on a file for people: what was said of another is a line above it.
pub(crate) fn begin(session: &mut Session, is_first: &mut bool) -> std::io::Result<()> {
    if std::mem::take(is_first) { Ok(()) } else { writeln!(session.out) }
}

/// Says what no program does: values and contexts do not belong together, or some are damaged.
fn report_inconsistency(session: &mut Session, opened: &OpenedFile, odd: &str) -> Outcome {
    session.report.loss(&opened.name, &figures_finding(odd));
    Outcome::Findings
}

/// That figures are such as no program makes.
pub(crate) fn figures_finding(odd: &str) -> Finding {
    let text = format!("{odd}: do its files belong together? `kymo check` says more");
    Finding::for_whole_file(Severity::Warning, "figures", text)
}

/// Returns the finding about what does not fit in the calls that a profile was made of.
pub(crate) fn calls_finding(text: &str) -> Finding {
    Finding::for_whole_file(Severity::Warning, "calls", text)
}

/// Says what does not fit in what a profile was made of.
pub(crate) fn report_caveats(
    session: &mut Session,
    opened: &OpenedFile,
    doubts: &[String],
) -> Outcome {
    for text in doubts {
        session.report.loss(&opened.name, &calls_finding(text));
    }
    if doubts.is_empty() { Outcome::Done } else { Outcome::Findings }
}

/// Explains that a metric is not measured inclusive or exclusive of calls.
pub(crate) fn not_measured(metric: &str, how: &str) -> String {
    format!("{} is not measured {how} of calls", escaped(metric))
}

/// Names of threads, each with its place in the file. Where several have one name, the place tells
/// them apart.
pub(crate) fn distinct_thread_names(threads: Vec<(String, u64)>) -> Vec<String> {
    let mut known: HashMap<String, u64> = HashMap::new();
    for (name, _) in &threads {
        *known.entry(name.clone()).or_default() += 1;
    }
    let named = |(name, place): (String, u64)| match known.get(&name) {
        Some(2..) => format!("#{place} {name}"),
        _ => name,
    };
    threads.into_iter().map(named).collect()
}

/// Returns the position of a thread among others: by its rank, its number, then everything else
/// that names it.
pub(crate) fn order(thread: &Thread) -> (Option<u64>, Option<u64>, Vec<u64>) {
    let all = thread.ids.iter().map(|part| part.logical).collect();
    (thread.id("RANK"), thread.id("THREAD"), all)
}

impl ProfileArgs {
    /// Finds what is asked for in a file, also where it is computed from other metrics.
    pub(crate) fn query_any(&self, opened: &OpenedFile) -> anyhow::Result<ProfileQuery> {
        let view = view_of(opened)?;
        let derived = view.as_ref().and_then(|view| self.derived(view.as_ref()));
        let Some(view) = view else { return Err(no_profile(opened).into()) };
        let Some(derived) = derived else { return self.stored(view) };
        let threads = self.threads.thread_set(view.as_ref())?;
        let metric = derived.inputs.first().map_or(MetricId(0), |input| input.column.metric);
        let described = derived.metric.clone();
        let thread_count = threads.as_ref().map_or_else(|| view.thread_count(), ThreadSet::len);
        let derived = Some(derived);
        let others = Vec::new();
        Ok(ProfileQuery {
            view,
            metric,
            threads,
            derived,
            described,
            thread_count,
            others,
            whole: None,
        })
    }

    /// The metric that is computed and meant.
    fn derived(&self, view: &dyn ProfileView) -> Option<Derived> {
        view.derive(derived_place(view, self.metric.as_deref()?)?)
    }

    /// Finds what is asked for in a file.
    pub(crate) fn query(&self, opened: &OpenedFile) -> anyhow::Result<ProfileQuery> {
        let Some(view) = view_of(opened)? else {
            return Err(no_profile(opened).into());
        };
        self.stored(view)
    }

    /// Finds what is asked for among what is stored.
    fn stored(&self, view: Arc<dyn ProfileView>) -> anyhow::Result<ProfileQuery> {
        let threads = self.threads.thread_set(view.as_ref())?;
        let metrics = view.metrics();
        let mut others = Vec::new();
        let metric = if let Some(name) = &self.metric {
            refuse_derived(view.as_ref(), name)?;
            named_in(view.as_ref(), &metrics, threads.as_ref(), name)?
        } else {
            let chosen = first(view.as_ref(), &metrics, threads.as_ref())?;
            others = chosen.others;
            chosen.metric
        };
        let index = usize::try_from(metric.0).unwrap_or(usize::MAX);
        let described = metrics.get(index).cloned();
        let described = described.or_broken("a metric that was found is not in the list")?;
        refuse_computed(view.as_ref(), metric, &described)?;
        let thread_count = threads.as_ref().map_or_else(|| view.thread_count(), ThreadSet::len);
        let derived = None;
        Ok(ProfileQuery {
            view,
            metric,
            threads,
            derived,
            described,
            thread_count,
            others,
            whole: None,
        })
    }
}

impl ThreadArgs {
    /// The threads that are meant; nothing where all are.
    pub(crate) fn thread_set(&self, view: &dyn ProfileView) -> anyhow::Result<Option<ThreadSet>> {
        if self.thread.is_none() && self.rank.is_none() {
            return Ok(None);
        }
        let mut chosen = Vec::new();
        for id in (0..).map(ThreadId).take(view.thread_count()) {
            if self.includes(&view.thread(id)?) {
                chosen.push(id);
            }
        }
        if chosen.is_empty() {
            let failure = Failure::new("no thread is among those asked for");
            let is_named = |id| view.thread(id).is_ok_and(|thread| thread.id("PROFILE").is_none());
            let hint = if (0..).map(ThreadId).take(view.thread_count()).any(is_named) {
                "`kymo threads` lists them"
            } else {
                "what names threads is not there; `kymo threads` lists them by their places"
            };
            return Err(failure.hint(hint).into());
        }
        Ok(Some(chosen.into_iter().collect()))
    }

    fn includes(&self, thread: &Thread) -> bool {
        let is_among = |numbers: &Option<Numbers>, id: Option<u64>| {
            let holds = |numbers: &Numbers| id.is_some_and(|id| numbers.holds(id));
            numbers.as_ref().is_none_or(holds)
        };
        let rank = thread.id("RANK").or(Some(0));
        is_among(&self.thread, thread.id("THREAD")) && is_among(&self.rank, rank)
    }
}

/// The place of the computed metric of a name, or of the only one that a pattern or the start of a
/// name fits, unless these fit a metric that is stored.
fn derived_place(view: &dyn ProfileView, name: &str) -> Option<usize> {
    let names = view.derived();
    let is_exact = names.iter().any(|metric| metric.name == name);
    let fits_stored = found(&view.metrics(), name).map_or_else(|alike| !alike.is_empty(), |_| true);
    if !is_exact && fits_stored {
        return None;
    }
    usize::try_from(found(&names, name).ok()?.0).ok()
}

/// Says which commands show a metric that is computed from others; another whose name starts so is
/// not meant.
pub(crate) fn refuse_derived(view: &dyn ProfileView, name: &str) -> Result<(), Failure> {
    if let Some(place) = derived_place(view, name) {
        let names = view.derived();
        let name = names.get(place).map_or(name, |metric| metric.name.as_str());
        let why = format!("{} is computed from other metrics", escaped(name));
        let hint = "top, tree, callers and threads show it; here, name one it is computed from";
        return Err(Failure::new(why).hint(hint));
    }
    Ok(())
}

/// The profile of a file: the one that it has, or that of the functions whose calls it has.
pub(crate) fn view_of(opened: &OpenedFile) -> kymo_core::Result<Option<Arc<dyn ProfileView>>> {
    if let Some(view) = opened.dataset.profile() {
        return Ok(Some(view));
    }
    Ok(calls_of(opened)?.map(|calls| calls.profile()))
}

/// The calls of functions that a file has.
pub(crate) fn calls_of(opened: &OpenedFile) -> kymo_core::Result<Option<Calls>> {
    let timeline = opened.timeline();
    Ok(timeline.map(|timeline| Calls::new(&timeline, &Limits::default())).transpose()?.flatten())
}

/// Explains why there is no profile: the file has none, or it could not be made.
fn no_profile(opened: &OpenedFile) -> Failure {
    let findings = opened.dataset.findings();
    match findings.into_iter().find(|finding| finding.rule == "profile" && finding.file.is_none()) {
        Some(finding) => Failure::new(format!("its profile cannot be made: {}", finding.message)),
        None => Failure::new("there is no profile in it").hint(elsewhere_hint(opened)),
    }
}

/// Advice where the rest is in other files.
pub(crate) const PART: &str = "it is one file of several: name their directory";

/// Returns advice for something that is not there: it may be in other files of the directory, or
/// damaged.
pub(crate) fn elsewhere_hint(opened: &OpenedFile) -> &'static str {
    let is_error = |finding: &Finding| finding.severity == Severity::Error;
    let is_missing = |finding: &Finding| finding.rule == "file-missing";
    if opened.dataset.findings().iter().any(is_missing) {
        "files of it are not there: `kymo check` names them"
    } else if opened.dataset.findings().iter().any(is_error) {
        "`kymo check` says what is damaged; --salvage reads what is left"
    } else if opened.dataset.is_part() {
        PART
    } else {
        "`kymo info` says what is in it"
    }
}

/// The metric that is called so, or the only one whose name starts so.
pub(crate) fn named(metrics: &[Metric], name: &str) -> Result<MetricId, Failure> {
    found(metrics, name).map_err(|alike| {
        let all: Vec<_> = metrics.iter().map(|metric| metric.name.as_str()).collect();
        let alike: Vec<_> = alike.into_iter().filter_map(|at| all.get(at).copied()).collect();
        not_found(name, &alike, &all)
    })
}

/// Finds the metric of a name, or the only one that a pattern or the start of a name fits.
///
/// # Errors
/// The places of those that fit, where they are several or none.
fn found(metrics: &[Metric], name: &str) -> Result<MetricId, Vec<usize>> {
    let ids = || (0..).map(MetricId).zip(metrics);
    if let Some((id, _)) = ids().find(|(_, metric)| metric.name == name) {
        return Ok(id);
    }
    // What tables are headed with has the unit behind it.
    let mut bare = ids().filter(|(_, metric)| without_unit(&metric.name) == Some(name));
    if let (Some((id, _)), None) = (bare.next(), bare.next()) {
        return Ok(id);
    }
    let fits = fits(name);
    let alike: Vec<_> = ids().enumerate().filter(|(_, (_, metric))| fits(&metric.name)).collect();
    match alike.as_slice() {
        [(_, (id, _))] => Ok(*id),
        _ => Err(alike.into_iter().map(|(place, _)| place).collect()),
    }
}

/// A name without its unit: that of `GKER (sec)`.
fn without_unit(name: &str) -> Option<&str> {
    name.strip_suffix(')')?.rsplit_once(" (").map(|(name, _)| name)
}

/// Returns a test for names that a glob pattern or the start of a name fits, in capitals or not.
fn fits(asked: &str) -> impl Fn(&str) -> bool {
    let start = asked.to_lowercase();
    let has_pattern = asked.contains(['*', '?', '[']);
    let pattern = GlobBuilder::new(asked).case_insensitive(true).build().ok();
    let pattern = pattern.filter(|_| has_pattern).map(|glob| glob.compile_matcher());
    move |name| match &pattern {
        Some(pattern) => pattern.is_match(name),
        None => name.to_lowercase().starts_with(&start),
    }
}

/// Finds the metric of a profile of a name, or the only one that a pattern or the start of a name
/// fits; where several fit, the only one of them that has values.
fn named_in(
    view: &dyn ProfileView,
    metrics: &[Metric],
    threads: Option<&ThreadSet>,
    name: &str,
) -> Result<MetricId, Failure> {
    let alike = match found(metrics, name) {
        Ok(id) => return Ok(id),
        Err(alike) => alike,
    };
    let totals = view.totals(threads).map_err(|error| Failure::new(error.to_string()))?;
    let has_values = |place: &usize| totals.get(*place).is_some_and(|total| *total != 0.0);
    let id = |place: usize| u32::try_from(place).ok().map(MetricId);
    if let [only] = *alike.iter().copied().filter(has_values).collect::<Vec<_>>()
        && let Some(id) = id(only)
    {
        return Ok(id);
    }
    let (some, none): (Vec<_>, Vec<_>) = (0..metrics.len()).partition(has_values);
    let stored = |places: Vec<usize>| places.into_iter().filter_map(|place| metrics.get(place));
    let derived = view.derived();
    let all = stored(some).chain(&derived).chain(stored(none));
    let all: Vec<_> = all.map(|metric| metric.name.as_str()).collect();
    let fits = fits(name);
    let alike: Vec<_> = all.iter().copied().filter(|name| fits(name)).collect();
    Err(not_found(name, &alike, &all))
}

/// Explains why no metric is meant: several names start so, or no name is so.
fn not_found(name: &str, alike: &[&str], all: &[&str]) -> Failure {
    if !alike.is_empty() {
        let why = format!("{} is ambiguous: several metrics fit it", escaped(name));
        return Failure::new(why).hint(list("there are", alike));
    }
    let mut similar: Vec<_> = all.iter().copied().filter(|item| is_similar(item, name)).collect();
    // Of those that are as near, the ones that have values come first.
    similar.sort_by_key(|item| std::cmp::Reverse(shared_pairs(item, name)));
    similar.truncate(NEAREST);
    let hint =
        if similar.is_empty() { list("there are", all) } else { list("did you mean", &similar) };
    Failure::new(format!("there is no metric {}", escaped(name))).hint(hint)
}

/// Returns true if a name has half of the pairs of letters that another has.
fn is_similar(name: &str, asked: &str) -> bool {
    let pairs = asked.chars().count().saturating_sub(1);
    pairs > 0 && shared_pairs(name, asked) * 2 >= pairs
}

/// Counts the pairs of neighbouring letters of a text that are in a name, in capitals or not.
fn shared_pairs(name: &str, asked: &str) -> usize {
    let (name, asked) = (name.to_lowercase(), asked.to_lowercase());
    let letters: Vec<char> = asked.chars().collect();
    letters.windows(2).filter(|pair| name.contains(&pair.iter().collect::<String>())).count()
}

/// A metric that is computed from others has no values of its own; 0 would be wrong.
fn refuse_computed(
    view: &dyn ProfileView,
    metric: MetricId,
    described: &Metric,
) -> anyhow::Result<()> {
    let Some(formula) = &described.formula else { return Ok(()) };
    if (MetricQuery { view, metric, threads: None }).total()? != 0.0 {
        return Ok(());
    }
    let (name, formula) = (escaped(&described.name), escaped(formula));
    let why = format!("{name} is computed from other metrics, as {formula}, and has no values");
    Err(Failure::new(why).hint("name one of those metrics; #0 is the first of the table").into())
}

/// Some names, and how many more there are.
fn list<T: AsRef<str>>(there_are: &str, names: &[T]) -> String {
    let more = names.len().saturating_sub(LISTED);
    let shown: Vec<_> = names.iter().take(LISTED).map(|name| escaped(name.as_ref())).collect();
    let more =
        if more > 0 { format!(" and {more} more; `kymo ls` lists them") } else { String::new() };
    if names.is_empty() {
        return "it has none".to_owned();
    }
    format!("{there_are} {}{more}", shown.join(", "))
}

/// The metric that is shown where none was asked for.
#[derive(Debug)]
struct DefaultMetric {
    metric: MetricId,
    /// The names of others that have values, in the order in which they would be chosen.
    others: Vec<String>,
}

/// The default metric.
fn first(
    view: &dyn ProfileView,
    metrics: &[Metric],
    threads: Option<&ThreadSet>,
) -> anyhow::Result<DefaultMetric> {
    if let Some((metric, others)) = default_metric(view, metrics, threads)? {
        return Ok(DefaultMetric { metric, others });
    }
    let failure = Failure::new("no metric has values in it");
    let has_values = view.totals(None)?.iter().any(|total| *total != 0.0);
    let hint = if has_values {
        "`kymo info` lists all; --metric names one that is not shown by itself"
    } else if metrics.is_empty() {
        "it has no metrics at all"
    } else {
        "`kymo ls` lists its metrics, and `kymo info` says what else is in it"
    };
    Err(failure.hint(hint).into())
}

/// Numbers as one types them: `0`, `2-5`, `0,7`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Numbers(Vec<RangeInclusive<u64>>);

impl Numbers {
    /// The ranges that were typed.
    pub(crate) fn ranges(&self) -> &[RangeInclusive<u64>] {
        &self.0
    }

    pub(crate) fn holds(&self, number: u64) -> bool {
        self.0.iter().any(|range| range.contains(&number))
    }
}

impl FromStr for Numbers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.trim().parse::<u64>().ok();
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Some(number(first)?..=number(last)?).filter(|range| !range.is_empty())
        };
        let ranges = text.split(',').map(range).collect::<Option<_>>();
        ranges.map(Self).ok_or_else(|| "write numbers as 0, 2-5 or 0,7".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use kymo_core::bytes::Limits;
    use kymo_model::profile::{CallTreeBuilder, IdKind, IdPart, Node, Relation, Scope};

    use super::*;

    #[test]
    fn numbers_read_as_one_types_them() {
        let numbers: Numbers = "0,2-4".parse().unwrap();
        let held: Vec<_> = (0..6).filter(|&number| numbers.holds(number)).collect();
        assert_eq!(held, [0, 2, 3, 4]);
        for wrong in ["", "a", "3-1", "1,", "-1", "1-2-3"] {
            assert!(wrong.parse::<Numbers>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn threads_of_one_name_are_told_apart_by_their_places() {
        let threads = [("a", 0), ("b", 1), ("a", 2)].map(|(name, place)| (name.to_owned(), place));
        assert_eq!(distinct_thread_names(threads.to_vec()), ["#0 a", "b", "#2 a"]);
    }

    #[test]
    fn a_thread_of_a_program_without_ranks_has_rank_0() {
        let item = |rank: &str| ThreadArgs { thread: None, rank: Some(rank.parse().unwrap()) };
        let thread = |kind: &'static str, logical| {
            let part = IdPart { kind: IdKind(kind.into()), logical, physical: None };
            Thread { ids: vec![part] }
        };
        assert!(
            item("0").includes(&thread("THREAD", 5)) && !item("1-9").includes(&thread("THREAD", 5))
        );
        assert!(item("3").includes(&thread("RANK", 3)) && !item("0").includes(&thread("RANK", 3)));
    }

    #[test]
    fn a_time_is_shown_by_itself_whatever_the_order_of_the_metrics() {
        let names = ["GKER:COUNT", "GPUOP (sec)", "GKER (sec)", "CPUTIME (sec)"];
        let mut builder = CallTreeBuilder::new(&Limits::default());
        let thread = builder.thread(Thread::default()).unwrap();
        let entry = builder.child(None, Node::new(Scope::Entry, Relation::Call)).unwrap();
        for (name, value) in names.into_iter().zip([7.0, 1.0, 2.0, 0.0]) {
            let metric = builder.metric(Metric::named(name)).unwrap();
            builder.add(thread, entry, metric, value);
        }
        let tree = builder.finish();
        // CPUTIME has no values.
        let chosen = first(&tree, &tree.metrics(), None).unwrap();
        assert_eq!(chosen.metric, MetricId(2));
        assert_eq!(chosen.others, ["GPUOP (sec)", "GKER:COUNT"]);
    }

    #[test]
    fn an_empty_metric_is_not_chosen_for_a_start_that_another_fits() {
        let mut builder = CallTreeBuilder::new(&Limits::default());
        let thread = builder.thread(Thread::default()).unwrap();
        let entry = builder.child(None, Node::new(Scope::Entry, Relation::Call)).unwrap();
        for (name, value) in [("GKER (sec)", 0.0), ("GKER:COUNT", 3.0), ("GMEM", 0.0)] {
            let metric = builder.metric(Metric::named(name)).unwrap();
            builder.add(thread, entry, metric, value);
        }
        let tree = builder.finish();
        let named = |name| named_in(&tree, &tree.metrics(), None, name);
        assert_eq!(named("gker").unwrap(), MetricId(1));
        assert_eq!(named("gm").unwrap(), MetricId(2));
        assert_eq!(named("g").unwrap(), MetricId(1));
    }

    #[test]
    fn a_time_of_the_host_comes_before_those_of_devices() {
        let mut builder = CallTreeBuilder::new(&Limits::default());
        let thread = builder.thread(Thread::default()).unwrap();
        let entry = builder.child(None, Node::new(Scope::Entry, Relation::Call)).unwrap();
        for (name, value) in [("GKER (sec)", 0.002), ("REALTIME (sec)", 1.534), ("cycles", 9.0)] {
            let metric = builder.metric(Metric::named(name)).unwrap();
            builder.add(thread, entry, metric, value);
        }
        let tree = builder.finish();
        let chosen = first(&tree, &tree.metrics(), None).unwrap();
        assert_eq!(chosen.metric, MetricId(1));
        assert_eq!(chosen.others, ["GKER (sec)", "cycles"]);
    }

    #[test]
    fn a_metric_is_found_by_the_start_of_its_name() {
        let metrics = ["CPUTIME (sec)", "GINS", "GINS:STALL"].map(Metric::named);
        assert_eq!(named(&metrics, "cpu").unwrap(), MetricId(0));
        assert_eq!(named(&metrics, "GINS").unwrap(), MetricId(1));
        let error = named(&metrics, "gin").unwrap_err();
        assert_eq!(error.to_string(), "gin is ambiguous: several metrics fit it");
        assert_eq!(named(&metrics, "*stall").unwrap(), MetricId(2));
        assert_eq!(named(&metrics, "c*(sec)").unwrap(), MetricId(0));
        let metrics = ["GKER (sec)", "GKER:COUNT", "GKERS"].map(Metric::named);
        assert_eq!(named(&metrics, "GKER").unwrap(), MetricId(0));
        let metrics: Vec<_> = (0..60).map(|n| Metric::named(format!("cycle{n}"))).collect();
        let hint = named(&metrics, "cycles").unwrap_err();
        assert_eq!(hint.to_string(), "there is no metric cycles");
        // One in the message, and five in the hint.
        assert_eq!(format!("{hint:?}").matches("cycle").count(), 6);
        assert_eq!(named(&metrics, "x").unwrap_err().to_string(), "there is no metric x");
    }
}
