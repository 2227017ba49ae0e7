//! Where threads were when: samples of a timeline, by function at a depth of calls.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::labels::{Label, Labels, Texts};
use super::{ProfileView, Step, Walk};
use crate::Result;
use crate::model::timeline::{Content, TimeNs, TimelineView, TrackId, Window};

/// What threads are in that do nothing.
pub const IDLE: &str = "<no activity>";

/// What threads did when.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Traced {
    /// The first and the last moment of all lines; nothing where there is no sample.
    pub range: Option<(TimeNs, TimeNs)>,
    /// The names of functions, by index.
    pub functions: Vec<String>,
    /// A line for each track that has samples.
    pub lines: Vec<TracedLine>,
    /// Samples that are before one before them, or far ahead of those behind them; none counts.
    pub backwards: u64,
}

/// What one thread did when.
#[derive(Debug, Clone, PartialEq)]
pub struct TracedLine {
    /// Whose it is.
    pub track: TrackId,
    /// How many samples it has.
    pub samples: u64,
    /// How long it was in each function, in nanoseconds; what took longest first.
    pub spent: Vec<(usize, u64)>,
    /// The function that took most of each stretch of time; nothing where there is no sample yet,
    /// or no longer.
    pub strip: Vec<Option<usize>>,
}

/// Finds out what threads did when. A sample counts from its moment to that of the next; the last
/// of a thread only tells where it ends. Of a sample that reaches over an edge of the window, the
/// part within counts. Samples that go back in time count for nothing.
///
/// `depth` is how many calls below the entry point to look; without one it is the innermost
/// function. `stretches` is how many parts the time is divided into.
///
/// Reads the samples twice, and the tree once.
///
/// # Errors
/// When samples or the tree cannot be read.
pub fn traced(
    view: &dyn ProfileView,
    timeline: &Arc<dyn TimelineView>,
    window: &Window,
    depth: Option<usize>,
    stretches: usize,
) -> Result<Traced> {
    let mut lines = edges(timeline, window)?;
    let extend = |track, time, _| lines.entry(track).or_default().extend(time);
    let backwards = each(timeline, window, extend)?;
    for line in lines.values_mut() {
        line.reach(window);
    }
    lines.retain(|_, line| line.first.is_some());
    let first = lines.values().filter_map(|line| line.first).min();
    let last = lines.values().filter_map(|line| line.last).max();
    let Some((first, last)) = first.zip(last) else {
        return Ok(Traced { backwards, ..Traced::default() });
    };
    let scale = Scale { first, last, stretches };
    each(timeline, window, |track, time, number| {
        lines.entry(track).or_default().add(&scale, time, Some(number));
    })?;
    if let Some(until) = window.until {
        for line in lines.values_mut().filter(|line| line.goes_on) {
            line.add(&scale, until, None);
        }
    }
    let names = names(view, &lines, depth)?;
    let lines = lines.into_iter().map(|(track, line)| line.finish(track, stretches, &names));
    let lines = lines.collect();
    let functions = names.labels.iter().map(str::to_owned).collect();
    Ok(Traced { range: Some((first, last)), functions, lines, backwards })
}

/// What samples that reach over the edges of a window tell of its tracks.
fn edges(timeline: &Arc<dyn TimelineView>, window: &Window) -> Result<BTreeMap<TrackId, Line>> {
    let mut lines: BTreeMap<TrackId, Line> = BTreeMap::new();
    if window.from.is_none() && window.until.is_none() {
        return Ok(lines);
    }
    let all = || (0..timeline.tracks().len()).map(TrackId).collect();
    for track in window.tracks.clone().unwrap_or_else(all) {
        let of_track = Window { tracks: Some(vec![track]), ..Window::default() };
        let mut line = Line::default();
        if let Some(from) = window.from {
            let before = Window { until: Some(from), last: Some(1), ..of_track.clone() };
            each(timeline, &before, |_, _, number| line.open = Some((from, number)))?;
        }
        if let Some(until) = window.until {
            let after = Window { from: Some(until), ..of_track };
            line.goes_on = Arc::clone(timeline).events(&after)?.next()?.is_some();
        }
        lines.insert(track, line);
    }
    Ok(lines)
}

/// The number of a sample whose context is not known.
const UNKNOWN: u64 = u64::MAX;

/// Every sample that is asked for, as far as those of a track are in order: its track, its moment,
/// the number of its context. Tells how many are not.
fn each(
    timeline: &Arc<dyn TimelineView>,
    window: &Window,
    mut take: impl FnMut(TrackId, TimeNs, u64),
) -> Result<u64> {
    let mut events = Arc::clone(timeline).events(window)?;
    let mut tracks: HashMap<TrackId, InOrder> = HashMap::new();
    let (mut samples, mut taken) = (0_u64, 0_u64);
    while let Some(event) = events.next()? {
        let number = match event.content {
            Content::Sample(number) => number,
            Content::Payload => UNKNOWN,
            _ => continue,
        };
        if let Some(time) = event.time {
            samples += 1;
            let ready = tracks.entry(event.track).or_default().push(time, number);
            taken += u64::from(ready.is_some());
            if let Some((time, number)) = ready {
                take(event.track, time, number);
            }
        }
    }
    for (track, order) in tracks {
        if let Some((time, number)) = order.held {
            taken += 1;
            take(track, time, number);
        }
    }
    Ok(samples - taken)
}

/// Passes samples on in order of time. One is held back until the next shows that it is no leap:
/// a moment that the next one goes back from, to behind what came before, was never reached.
#[derive(Default)]
struct InOrder {
    passed: Option<TimeNs>,
    held: Option<(TimeNs, u64)>,
}

impl InOrder {
    /// Takes the next sample, and gives the one that is sure by now.
    fn push(&mut self, time: TimeNs, number: u64) -> Option<(TimeNs, u64)> {
        let is_back = self.passed.is_some_and(|passed| time < passed);
        // Zeros are no moment to go back to.
        let is_zero = time.0 == 0 && self.held.is_some_and(|(held, _)| held > time);
        if is_back || is_zero {
            return None;
        }
        let before = self.held.replace((time, number));
        let sure = before.filter(|(held, _)| *held <= time);
        self.passed = sure.map(|(sure, _)| sure).or(self.passed);
        sure
    }
}

/// Stretches of time.
struct Scale {
    first: TimeNs,
    last: TimeNs,
    stretches: usize,
}

impl Scale {
    /// Where the edge before a stretch is.
    fn edge(&self, stretch: usize) -> i64 {
        let span = i128::from(self.last.0) - i128::from(self.first.0);
        let parts = i128::try_from(self.stretches.max(1)).unwrap_or(1);
        let done = span * i128::try_from(stretch).unwrap_or(0) / parts;
        i64::try_from(i128::from(self.first.0) + done).unwrap_or(i64::MAX)
    }

    /// The stretch that a moment is in.
    fn stretch(&self, time: i64) -> usize {
        let span = (i128::from(self.last.0) - i128::from(self.first.0)).max(1);
        let since = i128::from(time) - i128::from(self.first.0);
        let parts = i128::try_from(self.stretches).unwrap_or(1);
        usize::try_from(since * parts / span).unwrap_or(0).min(self.stretches.saturating_sub(1))
    }
}

/// What is known of a track so far.
#[derive(Default)]
struct Line {
    first: Option<TimeNs>,
    last: Option<TimeNs>,
    samples: u64,
    /// Where it has been since when.
    open: Option<(TimeNs, u64)>,
    /// Whether there are samples behind the window.
    goes_on: bool,
    spent: HashMap<u64, u64>,
    strip: HashMap<(usize, u64), u64>,
}

impl Line {
    fn extend(&mut self, time: TimeNs) {
        self.first = Some(self.first.map_or(time, |first| first.min(time)));
        self.last = Some(self.last.map_or(time, |last| last.max(time)));
        self.samples += 1;
    }

    /// Lets the line reach up to the edges of the window that samples reach over.
    fn reach(&mut self, window: &Window) {
        // The last sample of all only tells where the thread ends.
        self.open = self.open.filter(|_| self.samples > 0 || self.goes_on);
        if let Some((from, _)) = self.open {
            self.first = Some(from);
            self.last = self.last.or(self.first);
        }
        let until = window.until.filter(|_| self.goes_on && self.first.is_some());
        self.last = until.or(self.last);
    }

    /// Ends what is open, and begins what comes next.
    fn add(&mut self, scale: &Scale, time: TimeNs, number: Option<u64>) {
        let next = number.map(|number| (time, number));
        let Some((since, number)) = std::mem::replace(&mut self.open, next) else { return };
        let (since, time) = (since.0, time.0);
        if since >= time {
            return;
        }
        add(self.spent.entry(number).or_default(), time.abs_diff(since));
        let mut at = since;
        while at < time && scale.stretches > 0 {
            let stretch = scale.stretch(at);
            let is_last = stretch + 1 >= scale.stretches;
            let edge = if is_last { time } else { scale.edge(stretch + 1) };
            let until = edge.max(at.saturating_add(1)).min(time);
            add(self.strip.entry((stretch, number)).or_default(), until.abs_diff(at));
            at = until;
        }
    }

    fn finish(self, track: TrackId, stretches: usize, names: &Names) -> TracedLine {
        let mut spent: HashMap<usize, u64> = HashMap::new();
        for (number, lasted) in self.spent {
            add(spent.entry(names.of(number)).or_default(), lasted);
        }
        let mut spent: Vec<_> = spent.into_iter().filter(|(_, lasted)| *lasted > 0).collect();
        spent.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| names.text(a.0).cmp(names.text(b.0))));
        let mut parts: HashMap<(usize, usize), u64> = HashMap::new();
        for ((stretch, number), lasted) in self.strip {
            add(parts.entry((stretch, names.of(number))).or_default(), lasted);
        }
        let mut strip: Vec<Option<(u64, usize)>> = vec![None; stretches];
        for ((stretch, function), lasted) in parts {
            if let Some(most) = strip.get_mut(stretch) {
                let is_more = most.is_none_or(|(most, other)| {
                    let by_name = || names.text(function) < names.text(other);
                    lasted > most || (lasted == most && by_name())
                });
                if is_more {
                    *most = Some((lasted, function));
                }
            }
        }
        let strip = strip.into_iter().map(|most| most.map(|(_, function)| function)).collect();
        TracedLine { track, samples: self.samples, spent, strip }
    }
}

/// Adds nanoseconds; no more than can be counted.
fn add(to: &mut u64, lasted: u64) {
    *to = to.saturating_add(lasted);
}

/// What contexts of samples are called.
struct Names {
    labels: Texts,
    by_number: HashMap<u64, Label>,
    idle: Label,
    unknown: Label,
}

impl Names {
    fn of(&self, number: u64) -> usize {
        let none = if number == 0 { self.idle } else { self.unknown };
        self.by_number.get(&number).copied().unwrap_or(none).0
    }

    fn text(&self, function: usize) -> &str {
        self.labels.get(Label(function))
    }
}

fn names(
    view: &dyn ProfileView,
    lines: &BTreeMap<TrackId, Line>,
    depth: Option<usize>,
) -> Result<Names> {
    let numbers = lines.values().flat_map(|line| line.spent.keys());
    let mut wanted: std::collections::HashSet<u64> = numbers.copied().collect();
    let mut labels = Labels::of_view(view);
    let mut by_number = HashMap::new();
    let mut frames: Vec<Label> = Vec::new();
    for step in Walk::new(view)? {
        match step? {
            Step::Enter(context, _) => {
                if context.is_frame() {
                    frames.push(labels.of_context(&context)?);
                }
                if wanted.remove(&context.number.0) {
                    let at_depth = depth.and_then(|depth| frames.get(depth));
                    if let Some(label) = at_depth.or(frames.last()) {
                        by_number.insert(context.number.0, *label);
                    }
                }
            }
            Step::Leave(context, _) if context.is_frame() => drop(frames.pop()),
            Step::Leave(..) => {}
        }
    }
    let idle = labels.named(IDLE)?;
    let unknown = labels.named("<unknown context>")?;
    Ok(Names { labels: labels.texts()?, by_number, idle, unknown })
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;
    use crate::model::timeline::{Clock, Event, Events, Track};

    /// Samples: track, moment, number of the context.
    struct Recorded(Vec<(usize, i64, u64)>);

    impl TimelineView for Recorded {
        fn clocks(&self) -> Vec<Clock> {
            Vec::new()
        }
        fn tracks(&self) -> Vec<Track> {
            Vec::new()
        }
        fn events(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
            let is_meant = |(track, time, _): &&(usize, i64, u64)| {
                window.wants(TrackId(*track)) && window.holds(Some(TimeNs(*time)))
            };
            let mut meant: Vec<_> = self.0.iter().filter(is_meant).copied().collect();
            let last = window.last.map_or(meant.len(), |last| usize::try_from(last).unwrap());
            let meant = meant.split_off(meant.len().saturating_sub(last));
            Ok(Box::new(Playing(meant.into_iter())))
        }
    }

    struct Playing(std::vec::IntoIter<(usize, i64, u64)>);

    impl Events for Playing {
        fn next(&mut self) -> Result<Option<Event<'_>>> {
            let event = |(track, time, number)| Event {
                track: TrackId(track),
                time: Some(TimeNs(time)),
                offset: 0,
                content: if number == 77 { Content::Payload } else { Content::Sample(number) },
                payload: &[],
                partial: None,
            };
            Ok(self.0.next().map(event))
        }
    }

    fn lines(samples: &[(usize, i64, u64)], depth: Option<usize>) -> Vec<String> {
        within(samples, depth, &Window::default())
    }

    fn within(samples: &[(usize, i64, u64)], depth: Option<usize>, window: &Window) -> Vec<String> {
        let timeline: Arc<dyn TimelineView> = Arc::new(Recorded(samples.to_vec()));
        let found = traced(&fixture::tree(), &timeline, window, depth, 4).unwrap();
        let name = |function: &usize| found.functions[*function].clone();
        let line = |line: &TracedLine| {
            let spent = line.spent.iter().map(|(function, ns)| format!("{} {ns}", name(function)));
            let strip = line.strip.iter().map(|at| at.as_ref().map_or(String::from("-"), name));
            let (spent, strip) = (spent.collect::<Vec<_>>(), strip.collect::<Vec<_>>());
            format!("{}: {}: {}", line.samples, spent.join(", "), strip.join(" "))
        };
        found.lines.iter().map(line).collect()
    }

    /// Contexts of the fixture: 0 the entry point, 1 main, 2 a line of it, 3 work, 6 work again.
    #[test]
    fn a_sample_lasts_until_the_next() {
        let samples = [(0, 100, 1), (0, 125, 3), (0, 190, 6), (0, 200, 1), (1, 150, 99)];
        let expected = ["4: work 75, main 25: main work work work", "1: : - - - -"];
        assert_eq!(lines(&samples, None), expected);
        assert_eq!(lines(&samples, Some(1))[0], "4: main 100: main main main main");
        assert_eq!(lines(&samples, Some(2))[0], "4: work 75, main 25: main work work work");
    }

    #[test]
    fn a_sample_that_reaches_over_an_edge_counts_for_the_part_within() {
        let samples =
            [(0, 100, 1), (0, 200, 3), (0, 300, 1), (1, 100, 3), (1, 400, 1), (2, 320, 1)];
        let window = |from, until, tracks: usize| Window {
            tracks: Some((0..tracks).map(TrackId).collect()),
            from: Some(TimeNs(from)),
            until: Some(TimeNs(until)),
            last: None,
        };
        // From 150 to 250: 50 in main, 50 in work; the second thread is in work all the time.
        let expected =
            ["1: main 50, work 50: main main work work", "0: work 100: work work work work"];
        assert_eq!(within(&samples, None, &window(150, 250, 3)), expected);
        // From 290 on: the first thread ends at 300, and the third begins at 320 and has one sample.
        let expected =
            ["1: work 10: work - - -", "0: work 40: work work work work", "1: : - - - -"];
        assert_eq!(within(&samples, None, &window(290, 330, 3)), expected);
        // What ends before the window and what begins after it is not there.
        assert_eq!(within(&samples, None, &window(0, 100, 3)), [""; 0]);
        assert_eq!(within(&samples, None, &window(350, 360, 1)), [""; 0]);
    }

    #[test]
    fn a_sample_of_no_context_ends_the_one_before() {
        let samples = [(0, 100, 1), (0, 150, 77), (0, 200, 1)];
        let strip = "main main <unknown context> <unknown context>";
        assert_eq!(lines(&samples, None), [format!("3: <unknown context> 50, main 50: {strip}")]);
    }

    #[test]
    fn what_is_no_context_is_said() {
        let samples = [(0, 100, 99), (0, 200, 1)];
        let unknown = "<unknown context>";
        let expected = format!("2: {unknown} 100: {unknown} {unknown} {unknown} {unknown}");
        assert_eq!(lines(&samples, None), [expected]);
        assert_eq!(lines(&[], None), [""; 0]);
    }

    #[test]
    fn samples_that_go_back_in_time_count_for_nothing() {
        // Zeros in the middle, and a leap ahead.
        let samples =
            [(0, 100, 1), (0, 0, 0), (0, 0, 0), (0, 150, 3), (0, i64::MAX, 1), (0, 200, 1)];
        assert_eq!(lines(&samples, None), ["3: main 50, work 50: main main work work"]);
        let samples = [(0, 100, 1), (0, 150, 3), (0, 50, 1), (0, 200, 3)];
        assert_eq!(lines(&samples, None), ["3: main 50, work 50: main main work work"]);
        let timeline: Arc<dyn TimelineView> = Arc::new(Recorded(samples.to_vec()));
        let found = traced(&fixture::tree(), &timeline, &Window::default(), None, 4).unwrap();
        assert_eq!(found.backwards, 1);
    }

    #[test]
    fn the_end_of_time_is_no_reason_to_fail() {
        let samples = [(0, i64::MIN, 1), (0, i64::MAX, 1)];
        let all = u64::MAX;
        assert_eq!(lines(&samples, None), [format!("2: main {all}: main main main main")]);
        // The same again by another thread: both together are more than can be counted.
        let samples = [(0, i64::MIN, 1), (0, i64::MAX, 3), (1, i64::MIN, 2), (1, i64::MAX, 3)];
        assert_eq!(lines(&samples, None).len(), 2);
    }
}
