//! Part of a timeline that is analysed.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kymo_core::Source;
use kymo_core::bytes::Limits;
use kymo_model::timeline::{
    Activity, Content, DisplayTime, TimeNs, TimelineView, Track, TrackId, TrackKind, Window,
};
use kymo_model::{Confidence, Format};
use kymo_query::{
    Analysis, Buckets, CpuId, Diagnostics, LatencyCaveats, Omission, Pass, TaskId, is_idle_name,
};

use crate::cli::OpenArgs;
use crate::failure::{Failure, quoted};
use crate::inputs;
use crate::moment::{self, Moment};
use crate::processors::CpuArgs;
use crate::render::{escaped, numbers};
use crate::session::{OpenedFile, Outcome, Session};
use crate::tracks::{Pattern, StreamArgs};

/// Part of a timeline that is analysed.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct ScopeArgs {
    #[command(flatten)]
    streams: StreamArgs,

    #[command(flatten)]
    cpus: CpuArgs,

    /// Not before this moment.
    #[arg(long, value_name = "MOMENT", allow_hyphen_values = true)]
    since: Option<Moment>,

    /// Before this moment.
    #[arg(long, value_name = "MOMENT", allow_hyphen_values = true)]
    until: Option<Moment>,

    /// Tasks that run when there is nothing to do: a name or a glob. May be given again. Those
    /// that the recording calls so, and idle, idle0, swapper/0 and the like, always are.
    #[arg(long, value_name = "NAME")]
    idle: Vec<String>,
}

/// So many events are looked at to suggest what else may be shown.
const LOOKED_AT: usize = 1 << 16;

/// So many processors or machines are named where something is said of several.
const NAMED: usize = 3;

/// Part of a file that is analysed.
pub(crate) struct Scope {
    pub(crate) timeline: Arc<dyn TimelineView>,
    /// The kinds of tracks that there are.
    kinds: HashSet<TrackKind>,
    window: Window,
    /// Flags of tracks that are of processors that are meant; `None` means all.
    on_cpu: Option<Vec<bool>>,
    /// Kinds of things that there is a choice of: streams, processors.
    chosen: Vec<&'static str>,
    idle: Vec<Pattern>,
    /// Messages that were written already, for events may be gone through again.
    said: RefCell<Vec<String>>,
    /// The file, and its format.
    path: PathBuf,
    format: &'static dyn Format,
}

impl ScopeArgs {
    /// Opens each file and works on the part of it that is meant; tells whether it is the first.
    pub(crate) fn each(
        &self,
        session: &mut Session,
        files: &[PathBuf],
        open: &OpenArgs,
        mut work: impl FnMut(&mut Session, &OpenedFile, &Scope, bool) -> anyhow::Result<Outcome>,
    ) -> anyhow::Result<Outcome> {
        let inputs = session.expand(files, &open.format);
        let mut is_first = true;
        session.each_dataset(inputs, open, |session, opened| {
            let is_first = std::mem::take(&mut is_first);
            let scope = self.resolve(opened);
            let worked = scope.and_then(|scope| work(session, opened, &scope, is_first));
            // What cannot be read may be why something is not there.
            let found = session.findings(opened);
            Ok(worked?.max(found))
        })
    }

    /// Returns true if all events are meant, and nothing is said of them.
    pub(crate) fn is_all(&self) -> bool {
        let Self { streams, cpus, since, until, idle } = self;
        let is_any_time = since.is_none() && until.is_none();
        streams.is_all() && cpus.is_all() && is_any_time && idle.is_empty()
    }

    /// Returns the part of a file that is meant.
    pub(crate) fn resolve(&self, opened: &OpenedFile) -> anyhow::Result<Scope> {
        let timeline = opened.timeline().ok_or_else(|| {
            let failure = Failure::new("it has no events in time");
            failure.hint(format!("`kymo ls {}` shows what is in it", quoted(&opened.name)))
        })?;
        let tracks = timeline.tracks();
        let kinds = tracks.iter().map(|track| track.kind).collect();
        let on_cpu = self.cpus.selected_tracks(&tracks)?;
        let tracks = self.tracks(&tracks, on_cpu.as_deref())?;
        let (from, until) =
            moment::resolve_range(self.since, self.until, &timeline, tracks.as_deref())?;
        let idle = self.idle.iter().map(|text| Pattern::new(text));
        let idle = idle.collect::<Result<Vec<_>, _>>()?;
        let window = Window { tracks, from, until, last: None };
        let (path, format) = (opened.source.path().to_owned(), opened.format);
        let said = RefCell::default();
        let is_chosen = [(!self.streams.is_all(), "streams"), (on_cpu.is_some(), "processors")];
        let chosen = is_chosen.into_iter().filter(|(is_chosen, _)| *is_chosen);
        let chosen = chosen.map(|(_, what)| what).collect();
        let scope = Scope { timeline, kinds, window, on_cpu, chosen, idle, said, path, format };
        scope.refuse_elsewhere()?;
        Ok(scope)
    }

    /// The tracks that are meant, and are of processors that are; nothing means all.
    fn tracks(
        &self,
        tracks: &[Track],
        on_cpu: Option<&[bool]>,
    ) -> Result<Option<Vec<TrackId>>, Failure> {
        let chosen = self.streams.select_with_parts(tracks)?;
        let Some(on_cpu) = on_cpu else { return Ok(chosen) };
        let mut chosen = chosen.unwrap_or_else(|| (0..tracks.len()).map(TrackId).collect());
        chosen.retain(|track| on_cpu.get(track.0).copied().unwrap_or(false));
        Ok(Some(chosen))
    }
}

/// Explains that a range of time has nothing of a recording. Also names the range that would,
/// unless the range asked for is within it.
pub(crate) fn nothing_in_range(
    timeline: &Arc<dyn TimelineView>,
    range: &RangeInclusive<TimeNs>,
    asked: (Option<TimeNs>, Option<TimeNs>),
) -> String {
    if !is_elsewhere(range, asked) {
        return "no event is in that range".to_owned();
    }
    let shown = |time| DisplayTime::on_clock(timeline.clocks().first(), time);
    let (start, end) = (shown(*range.start()), shown(*range.end()));
    format!("nothing of it is in that range: it is from {start} to {end}")
}

/// Returns true if a range of time that is asked for is before or after another.
fn is_elsewhere(
    range: &RangeInclusive<TimeNs>,
    (from, until): (Option<TimeNs>, Option<TimeNs>),
) -> bool {
    from.is_some_and(|from| from > *range.end())
        || until.is_some_and(|until| until <= *range.start())
}

/// Events that are gone through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventNeeds {
    /// Activities of tasks, functions and state machines.
    Activities,
    /// Also values, texts and whatever else there is.
    Everything,
}

impl Scope {
    /// Refuses a range of time that the recording has nothing of.
    fn refuse_elsewhere(&self) -> anyhow::Result<()> {
        let Window { from, until, .. } = self.window;
        if from.is_none() && until.is_none() {
            return Ok(());
        }
        let Ok(range) = moment::range_of(&self.timeline, None) else { return Ok(()) };
        let asked = (from, until);
        if is_elsewhere(&range, asked) {
            return Err(Failure::new(nothing_in_range(&self.timeline, &range, asked)).into());
        }
        Ok(())
    }

    /// The events that are meant.
    pub(crate) fn window(&self) -> &Window {
        &self.window
    }

    /// Returns the place where something that was looked for is not: there may be some elsewhere.
    pub(crate) fn place(&self) -> String {
        let Window { from, until, .. } = &self.window;
        let on = match &self.chosen[..] {
            [] => None,
            chosen => Some(format!("on those {}", chosen.join(" and "))),
        };
        match (on, from.is_some() || until.is_some()) {
            (None, false) => "in it".to_owned(),
            (None, true) => "in that range".to_owned(),
            (Some(on), false) => on,
            (Some(on), true) => format!("{on} in that range"),
        }
    }

    /// Returns true if a processor is meant, which is a track: whatever streams are.
    pub(crate) fn is_cpu_selected(&self, track: TrackId) -> bool {
        self.on_cpu.as_ref().is_none_or(|on| on.get(track.0).copied().unwrap_or(false))
    }

    /// A moment as a person reads it.
    pub(crate) fn shown(&self, time: TimeNs) -> DisplayTime {
        DisplayTime::on_clock(self.timeline.clocks().first(), time)
    }

    /// Returns the analysis that goes through the events.
    pub(crate) fn analysis(&self, reading: EventNeeds) -> anyhow::Result<Analysis> {
        let is_idle = |name: &str| self.is_idle(name);
        let analysis = Analysis::new(Arc::clone(&self.timeline), self.window.clone(), &is_idle)?;
        Ok(if reading == EventNeeds::Everything { analysis.with_all() } else { analysis })
    }

    /// Goes through the events for some passes that need to know nothing before, and says what could
    /// not be used.
    pub(crate) fn analyse(
        &self,
        session: &mut Session,
        opened: &OpenedFile,
        reading: EventNeeds,
        passes: &mut [&mut dyn Pass],
    ) -> anyhow::Result<(Analysis, Outcome)> {
        let mut analysis = self.analysis(reading)?;
        let outcome = self.run(session, opened, &mut analysis, passes)?;
        Ok((analysis, outcome))
    }

    /// Goes through the events for some passes, and says what could not be used.
    pub(crate) fn run(
        &self,
        session: &mut Session,
        opened: &OpenedFile,
        analysis: &mut Analysis,
        passes: &mut [&mut dyn Pass],
    ) -> anyhow::Result<Outcome> {
        let short = analysis.run(passes)?;
        Ok(self.report_diagnostics(session, opened, analysis, &short))
    }

    /// Returns the messages about what could not be used.
    pub(crate) fn messages(&self) -> Vec<String> {
        self.said.borrow().clone()
    }

    /// Says something once.
    fn report_once(&self, session: &mut Session, opened: &OpenedFile, text: String) {
        let mut said = self.said.borrow_mut();
        if !said.contains(&text) {
            session.report.remark(&opened.name, &text);
            said.push(text);
        }
    }

    /// Says what could not be used, once, and what that means for the exit code.
    pub(crate) fn report_diagnostics(
        &self,
        session: &mut Session,
        opened: &OpenedFile,
        analysis: &Analysis,
        short: &Diagnostics,
    ) -> Outcome {
        let Diagnostics { timeless, unbalanced, backwards, gaps, .. } = short;
        let Diagnostics { unknown, assumed, unknown_states, left_out, .. } = short;
        self.report_unmatched(session, opened, analysis);
        if *timeless > 0 {
            let events = numbers::count(*timeless, "event has", "events have");
            self.report_once(session, opened, format!("{events} no time; they are left out"));
        }
        self.report_unbalanced(session, opened, analysis, unbalanced);
        self.report_gaps(session, opened, analysis, gaps);
        self.report_backward_times(session, opened, analysis, backwards);
        let cpu = |cpu: &CpuId| analysis.tasks().cpu(*cpu).map_or("", |cpu| &cpu.name);
        if let Some(cpus) = list_names(unknown.iter().map(cpu)) {
            let verb = if unknown.len() == 1 { "does" } else { "do" };
            let text = "not switch in that range, and who ran there is not known";
            self.report_once(session, opened, format!("{cpus} {verb} {text}"));
        }
        if let Some(cpus) = list_names(assumed.iter().map(cpu)) {
            let verb = if assumed.len() == 1 { "does" } else { "do" };
            let text = "not switch for long before that range or after it: who runs at its ends is \
                        taken to run up to them";
            self.report_once(session, opened, format!("{cpus} {verb} {text}"));
        }
        let machine =
            |track: &TrackId| analysis.tracks().get(track.0).map_or("", |track| &track.name);
        if let Some(machines) = list_names(unknown_states.iter().map(machine)) {
            let text = "the state when the range begins is not known";
            self.report_once(session, opened, format!("{machines}: {text}"));
        }
        let is_known = unbalanced.is_empty()
            && gaps.is_empty()
            && backwards.is_empty()
            && unknown.is_empty()
            && assumed.is_empty()
            && unknown_states.is_empty();
        let outcome = if is_known && *timeless == 0 { Outcome::Done } else { Outcome::Findings };
        outcome.max(self.report_omissions(session, opened, left_out))
    }

    /// Says on which processors switches do not fit together: those that are one, and those that
    /// are not, each in a line.
    fn report_unbalanced(
        &self,
        session: &mut Session,
        opened: &OpenedFile,
        analysis: &Analysis,
        unbalanced: &BTreeMap<CpuId, u64>,
    ) {
        let tasks = analysis.tasks();
        let is_one = |cpu: CpuId| tasks.cpu(cpu).is_some_and(|cpu| cpu.is_one);
        for (whether, why) in [
            (true, "events are missing, and who ran meanwhile is not known"),
            (false, "no processor is recorded, so that several may be in one row"),
        ] {
            let such = || unbalanced.iter().filter(|(cpu, _)| is_one(**cpu) == whether);
            let names = such().map(|(cpu, _)| tasks.cpu(*cpu).map_or("", |cpu| &cpu.name));
            let Some(cpus) = list_names(names) else { continue };
            let count = such().map(|(_, count)| count).sum();
            let switches = numbers::count(count, "switch does", "switches do");
            let text = format!("{cpus}: {switches} not fit to who ran before: {why}");
            self.report_once(session, opened, text);
        }
    }

    /// Says on which processors events are missing that may have told who ran.
    fn report_gaps(
        &self,
        session: &mut Session,
        opened: &OpenedFile,
        analysis: &Analysis,
        gaps: &BTreeMap<CpuId, u64>,
    ) {
        let cpus = gaps.keys().filter_map(|cpu| analysis.tasks().cpu(*cpu));
        let Some(cpus) = list_names(cpus.map(|cpu| cpu.name.as_str())) else { return };
        let places = numbers::count(gaps.values().sum(), "place", "places");
        let why = "who ran from there to the next switch is not known";
        self.report_once(
            session,
            opened,
            format!("{cpus}: it is not told who runs in {places}: {why}"),
        );
    }

    /// Says on which processors times go back, and what to do about it.
    fn report_backward_times(
        &self,
        session: &mut Session,
        opened: &OpenedFile,
        analysis: &Analysis,
        backwards: &BTreeMap<CpuId, u64>,
    ) {
        let cpus = backwards.keys().filter_map(|cpu| analysis.tasks().cpu(*cpu));
        let Some(cpus) = list_names(cpus.map(|cpu| cpu.name.as_str())) else { return };
        let switches = numbers::count(backwards.values().sum(), "switch is", "switches are");
        let why =
            "earlier than one before: who ran in time that nothing else tells of is not known";
        let how =
            "`kymo merge --sort` sorts a BBBin file, and `kymo convert` makes one of any other";
        self.report_once(session, opened, format!("{cpus}: {switches} {why} ({how})"));
    }

    /// Says what there was too much of, and what that means for the exit code.
    pub(crate) fn report_omissions(
        &self,
        session: &mut Session,
        opened: &OpenedFile,
        left_out: &[Omission],
    ) -> Outcome {
        let mut outcome = Outcome::Done;
        for Omission { count, one, many } in left_out.iter().filter(|left| left.count > 0) {
            self.report_once(session, opened, numbers::count(*count, one, many));
            outcome = Outcome::Findings;
        }
        outcome
    }

    /// Says of how many pairs latencies are doubtful and which are left out, and what that means for
    /// the exit code: what is under way at the end is no fault of a recording, and what was before its
    /// begin is missing. Where a task lacks the begin of a stretch, its switches say so besides.
    pub(crate) fn report_caveats(
        &self,
        session: &mut Session,
        opened: &OpenedFile,
        doubts: LatencyCaveats,
    ) -> Outcome {
        let order =
            "those that arrived do not all say when they left: they are taken in their order";
        let pairs = |count| numbers::count(count, "pair", "pairs");
        let LatencyCaveats { too_long, too_short, backwards, untimed, unsent } = doubts;
        let backwards = Omission {
            count: backwards,
            one: "message arrived before it left: latencies are without it",
            many: "messages arrived before they left: latencies are without them",
        };
        let unsent = Omission {
            count: unsent,
            one: "message is unsent and may have left before what is read",
            many: "messages are unsent and may have left before what is read",
        };
        let outcome = self.report_omissions(session, opened, &[backwards, unsent]);
        if untimed > 0 {
            let one =
                "wakeup let its task run, and nothing tells since when: latencies are without it";
            let many = "wakeups let their tasks run, and nothing tells since when: latencies are \
                        without them";
            self.report_once(session, opened, numbers::count(untimed, one, many));
        }
        if too_long > 0 {
            let some = format!("messages of {} did not arrive", pairs(too_long));
            let text = format!("{some}, and {order}, so that latencies may be too long");
            self.report_once(session, opened, text);
        }
        if too_short == 0 {
            return outcome;
        }
        let some = format!("messages of {} may have left before what is read", pairs(too_short));
        let text = format!("{some}, and {order}, so that latencies may be too short");
        self.report_once(session, opened, text);
        Outcome::Findings
    }

    /// Says which of the tasks that are said to be idle are not there.
    fn report_unmatched(&self, session: &mut Session, opened: &OpenedFile, analysis: &Analysis) {
        let tasks = analysis.tasks();
        let names = || (0..tasks.len()).map(|task| tasks.name(TaskId(task)));
        for pattern in self.idle.iter().filter(|idle| !names().any(|name| idle.matches(name))) {
            let typed = escaped(pattern.typed()).into_owned();
            self.report_once(session, opened, format!("it has no task {typed} that could be idle"));
        }
    }

    fn is_named_idle(&self, name: &str) -> bool {
        self.idle.iter().any(|pattern| pattern.matches(name))
    }

    /// The names of tasks that run when there is nothing to do.
    pub(crate) fn idle_names(&self) -> HashSet<String> {
        let tracks = self.timeline.tracks();
        let tasks = tracks.iter().filter(|track| track.kind == TrackKind::Task);
        let is_idle = |track: &&Track| track.is_idle() || self.is_idle(&track.name);
        tasks.filter(is_idle).map(|track| track.name.clone()).collect()
    }

    /// Returns true if a task is stated to be idle, or has a name that means so.
    fn is_idle(&self, name: &str) -> bool {
        is_idle_name(name) || self.is_named_idle(name)
    }

    /// Returns true if a task is idle for no other reason than its name.
    pub(crate) fn is_idle_by_name(&self, analysis: &Analysis, task: TaskId) -> bool {
        let this_task = analysis.tasks().get(task);
        let track = this_task.and_then(|this_task| analysis.tracks().get(this_task.home.0));
        let is_marked = track.is_some_and(Track::is_idle);
        let name = analysis.tasks().name(task);
        is_idle_name(name) && !is_marked && !self.is_named_idle(name)
    }

    /// Refuses a timeline that has no tracks of a kind.
    pub(crate) fn require_tracks(&self, kind: TrackKind, why: &str) -> anyhow::Result<()> {
        if self.kinds.contains(&kind) {
            return Ok(());
        }
        let hint = match self.whole_recording() {
            Some(whole) => format!("it is a part of a recording that is a directory: name {whole}"),
            None => self.instead().to_owned(),
        };
        Err(Failure::new(why).hint(hint).into())
    }

    /// The directory that is the whole recording, where the file is a part of one.
    fn whole_recording(&self) -> Option<String> {
        let directory = match self.path.parent()? {
            current if current.as_os_str().is_empty() => Path::new("."),
            parent => parent,
        };
        let source = Source::open(directory, &Limits::default()).ok()?;
        let found = kymo_registry::detect(&source).ok()?;
        let is_whole = !self.path.is_dir() && found.confidence == Confidence::Magic;
        let is_same = found.format.info().name == self.format.info().name;
        (is_whole && is_same).then(|| quoted(&inputs::display(directory)))
    }

    /// Returns true if functions are called, as the first events tell: tracks of calls have others,
    /// too, and those of processors have interrupts.
    fn has_calls(&self) -> bool {
        let tracks = self.timeline.tracks();
        let is_calls = |track: &Track| {
            track.kind == TrackKind::Calls && !track.has_flag(Track::HAS_INTERRUPTS)
        };
        let calls = (0..).map(TrackId).zip(&*tracks).filter(|(_, item)| is_calls(item));
        let tracks = Some(calls.map(|(id, _)| id).collect());
        let window = Window { tracks, ..Window::default() };
        let Ok(mut events) = Arc::clone(&self.timeline).events(&window) else { return false };
        for _ in 0..LOOKED_AT {
            match events.next() {
                Ok(Some(event)) => {
                    if let Content::Activity(Activity::Begin { .. }) = event.content {
                        return true;
                    }
                }
                _ => return false,
            }
        }
        false
    }

    /// Returns what may be shown where the thing that is asked for is not recorded.
    pub(crate) fn instead(&self) -> &'static str {
        if self.kinds.contains(&TrackKind::Calls) && self.has_calls() {
            "calls of functions are: `kymo top`, `kymo tree`, `kymo flame` and `kymo trace` show them"
        } else if self.kinds.contains(&TrackKind::Samples) {
            "samples are: `kymo trace` shows them"
        } else {
            "`kymo ls -l` shows what streams there are"
        }
    }

    /// At most so many stretches of time, one after another, from the begin to the end of what is
    /// meant.
    pub(crate) fn buckets(&self, count: usize) -> anyhow::Result<Buckets> {
        let range = moment::range_of(&self.timeline, self.window.tracks.as_deref())?;
        let start = self.window.from.map_or(*range.start(), |from| from.max(*range.start()));
        let end = self.window.until.map_or(*range.end(), |until| until.min(*range.end()));
        Ok(Buckets::from_range(start, end, count))
    }
}

/// Names of a few things, and how many there are besides; nothing where there are none.
fn list_names<'a>(names: impl Iterator<Item = &'a str>) -> Option<String> {
    let names: Vec<_> = names.collect();
    let (shown, more) = names.split_at(names.len().min(NAMED));
    let mut words: Vec<_> = shown.iter().map(|name| escaped(name).into_owned()).collect();
    if !more.is_empty() {
        words.push(format!("{} more", numbers::grouped(more.len() as u64)));
    }
    let last = words.pop()?;
    Some(if words.is_empty() { last } else { format!("{} and {last}", words.join(", ")) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_many_have_in_common_is_said_once() {
        let said = |names: &[&str]| list_names(names.iter().copied());
        assert_eq!(said(&[]), None);
        assert_eq!(said(&["cpu 0"]).unwrap(), "cpu 0");
        assert_eq!(said(&["cpu 0", "cpu 1", "a\tb"]).unwrap(), "cpu 0, cpu 1 and a\\tb");
        assert_eq!(said(&["x"; 1003]).unwrap(), "x, x, x and 1,000 more");
    }
}
