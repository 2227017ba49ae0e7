//! One way through all lines: how many events, which tracks, what is wrong, and the index.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use foldhash::fast::RandomState;
use kymo_core::ahead::{self, CancelToken};
use kymo_core::bytes::{Limits, ReadErrorKind};
use kymo_core::{Context, Finding, Findings, Result, Severity, shortened};
use kymo_model::timeline::TimeNs;
use memchr::memchr;

use crate::clock_wraps::ClockWraps;
use crate::index::{BLOCK_BYTES, Block};
use crate::{Grammar, GrammarState, Key, Line, LineContent, Lines, RawLine, TaskKey, TrackEvent};

/// Files from this size on are worth more than one thread.
const PARTS_BYTES: usize = 8 << 20;

/// Progress is told every so many bytes.
const PROGRESS_BYTES: u64 = 4 << 20;

/// Kinds of events that are counted one by one; the names of damaged lines are without end.
const KINDS_MAX: usize = 1 << 12;

/// Time that goes back so often, and at every fourth event at least, may count from the event before.
const SINCE_LAST_MIN: u64 = 4;

/// Results of a way through some lines.
#[derive(Debug)]
pub(crate) struct Survey {
    pub(crate) events: u64,
    pub(crate) blocks: Vec<Block>,
    /// Number of events of each name.
    pub(crate) kinds: Kinds,
    pub(crate) keys: HashSet<Key<'static>, RandomState>,
    /// Tasks at the other ends of messages where lines tell processors: they may be on others.
    peers: HashSet<TaskKey<'static>, RandomState>,
    /// The last name of each task that is known by its number.
    pub(crate) names: HashMap<i64, Box<str>, RandomState>,
    pub(crate) has_waking: bool,
    /// The smallest and the largest time.
    pub(crate) times: Option<(TimeNs, TimeNs)>,
    /// Places where times start over.
    pub(crate) turns: ClockWraps,
    findings: Findings,
    keys_max: usize,
    is_full: bool,
    disorder: Disorder,
    broken: Option<BrokenLines>,
    /// After which events others are missing, and of which processor; of any, where nothing tells.
    pub(crate) gaps: BTreeMap<u64, Option<u32>>,
    /// The same before any event of that processor.
    gaps_before: BTreeSet<Option<u32>>,
    /// The last event of each processor.
    last: HashMap<u32, u64, RandomState>,
    /// The last event of all.
    last_of_all: Option<u64>,
    /// The broken lines that a part begins with: those at the end of the part before belong to them.
    lead: Option<BrokenLines>,
    /// True if broken lines that come next cannot belong to those of the part before.
    has_begun: bool,
    /// Parts of events that cannot be read, by rule and message.
    doubted: BTreeMap<(&'static str, &'static str), UnreadableFields>,
    /// The first line of a calling context, and how many there are.
    frames: Option<(u64, u64)>,
    /// The first event without a time, and how many there are.
    untimed: Option<(u64, u64)>,
}

/// Events of which the same cannot be read.
#[derive(Debug)]
struct UnreadableFields {
    /// The first.
    offset: u64,
    text: String,
    count: u64,
}

/// Number of events of each name, of the names that came first.
#[derive(Debug, Default)]
pub(crate) struct Kinds {
    pub(crate) counts: HashMap<Box<str>, u64, RandomState>,
    /// Events of other names.
    others: u64,
}

/// Place where times go back.
#[derive(Debug, Clone, Copy, Default)]
struct Disorder {
    count: u64,
    offset: u64,
    /// The first time, and the byte of its line.
    first: Option<(TimeNs, u64)>,
    last: Option<TimeNs>,
}

/// Lines one after another that are wrong in the same way.
#[derive(Debug)]
struct BrokenLines {
    severity: Severity,
    offset: u64,
    count: u64,
    why: &'static str,
    text: String,
}

/// Goes through the lines of a file from a byte on, on several threads where it is large.
pub(crate) fn survey(
    grammar: &impl Grammar,
    bytes: &[u8],
    start: usize,
    context: &Context<'_>,
) -> Result<Survey> {
    // Where times start over, each depends on those before.
    let is_large = bytes.len().saturating_sub(start) >= PARTS_BYTES;
    let threads = if grammar.cycle_ns().is_some() || !is_large { 1 } else { ahead::threads() };
    survey_parts(grammar, bytes, parts(bytes, start, threads), context)
}

/// Goes through the parts of a file, each on a thread of its own.
fn survey_parts(
    grammar: &impl Grammar,
    bytes: &[u8],
    parts: Vec<(u64, &[u8])>,
    context: &Context<'_>,
) -> Result<Survey> {
    let Context { limits, progress, .. } = *context;
    progress.begin("reading", bytes.len() as u64);
    let mut parts = parts.into_iter();
    let first = parts.next().unwrap_or((0, &[]));
    let rest: Vec<_> = parts.collect();
    let jobs = rest.iter().copied().map(|part| {
        move |wanted: CancelToken<'_>| {
            Survey::from_part(grammar, part, &limits, &|_| wanted.is_wanted())
        }
    });
    let tell = |at: u64| {
        progress.advance_to(at * (rest.len() as u64 + 1));
        true
    };
    let mut all = ahead::run_with_jobs(jobs, |jobs| {
        let mut all = Survey { has_begun: true, ..Survey::new(&limits) };
        all.read(grammar, first, &limits, &tell);
        for (job, part) in jobs.into_iter().zip(&rest) {
            let found = job.wait();
            all.merge(
                found.unwrap_or_else(|| Survey::from_part(grammar, *part, &limits, &|_| true)),
            );
        }
        all
    });
    if all.kinds.others > 0 && !rest.is_empty() {
        let parts = std::iter::once(&first).chain(&rest);
        all.kinds = Kinds::recounted(grammar, parts, limits.value_bytes_max);
    }
    progress.end();
    all.conclude();
    if all.events > limits.items_max {
        let (found, limit) = (all.events, limits.items_max);
        return Err(ReadErrorKind::OverLimit { found, limit }
            .error_at("number of events", 0)
            .into());
    }
    Ok(all)
}

/// Parts of a file for some threads, that begin with a line, each with its first byte.
fn parts(bytes: &[u8], start: usize, threads: usize) -> Vec<(u64, &[u8])> {
    let rest = bytes.get(start..).unwrap_or_default();
    let mut ends: Vec<usize> = (1..threads)
        .filter_map(|part| {
            let at = start + rest.len() / threads * part;
            Some(at + memchr(b'\n', bytes.get(at..)?)? + 1)
        })
        .collect();
    ends.push(bytes.len());
    ends.dedup();
    let mut from = start;
    let part = |end: usize| {
        let part = (from as u64, bytes.get(from..end).unwrap_or_default());
        from = end;
        part
    };
    ends.into_iter().map(part).collect()
}

impl Survey {
    fn new(limits: &Limits) -> Self {
        Self {
            events: 0,
            blocks: Vec::new(),
            kinds: Kinds::default(),
            keys: HashSet::default(),
            peers: HashSet::default(),
            names: HashMap::default(),
            has_waking: false,
            times: None,
            turns: ClockWraps::default(),
            findings: Findings::new(limits),
            keys_max: usize::try_from(limits.items_max).unwrap_or(usize::MAX),
            is_full: false,
            disorder: Disorder::default(),
            broken: None,
            gaps: BTreeMap::new(),
            gaps_before: BTreeSet::new(),
            last: HashMap::default(),
            last_of_all: None,
            lead: None,
            has_begun: false,
            doubted: BTreeMap::new(),
            frames: None,
            untimed: None,
        }
    }

    fn from_part(
        grammar: &impl Grammar,
        part: (u64, &[u8]),
        limits: &Limits,
        goes_on: &dyn Fn(u64) -> bool,
    ) -> Self {
        let mut survey = Self::new(limits);
        survey.read(grammar, part, limits, goes_on);
        survey
    }

    fn read(
        &mut self,
        grammar: &impl Grammar,
        (start, bytes): (u64, &[u8]),
        limits: &Limits,
        goes_on: &dyn Fn(u64) -> bool,
    ) {
        let mut telling = GrammarState { is_survey: true, ..GrammarState::default() };
        let mut lines = Lines::with_offset(bytes, start);
        let mut told = 0;
        for line in lines.by_ref() {
            if line.offset - start >= told + PROGRESS_BYTES {
                told = line.offset - start;
                if !goes_on(told) {
                    break;
                }
            }
            self.line(grammar, line, limits, &mut telling);
        }
        self.has_waking = telling.has_waking;
        if let Some(offset) = lines.unfinished() {
            self.report_broken();
            let message = "the last line has no end, so that it may be cut, and is not read";
            let finding = Finding::at_offset(Severity::Warning, "unfinished-line", offset, message);
            self.findings.push(finding);
        }
    }

    fn line(
        &mut self,
        grammar: &impl Grammar,
        raw: RawLine<'_>,
        limits: &Limits,
        telling: &mut GrammarState,
    ) {
        if let Some(why) = raw.fault(limits.value_bytes_max) {
            self.lose(None);
            return self.breaks(raw.offset, (Severity::Error, why), "");
        }
        let text = raw.text();
        match grammar.read(&text) {
            LineContent::Event(line) => self.event(grammar, raw.offset, &line, telling),
            LineContent::Aside => return,
            LineContent::Frame => {
                self.frames.get_or_insert((raw.offset, 0)).1 += 1;
                return;
            }
            LineContent::Remark(severity, rule, message) => {
                self.report_broken();
                self.findings.push(Finding::at_offset(severity, rule, raw.offset, message));
            }
            LineContent::Lost(cpu, message) => {
                self.report_broken();
                let finding =
                    Finding::at_offset(Severity::Warning, "lost-events", raw.offset, message);
                self.findings.push(finding);
                self.lose(cpu);
            }
            LineContent::Broken(severity, why) => {
                return self.breaks(raw.offset, (severity, why), &text);
            }
        }
        self.report_broken();
        if matches!(text, std::borrow::Cow::Owned(_)) {
            let message = "bytes that are no UTF-8 are shown as marks";
            self.findings.push(Finding::at_offset(Severity::Warning, "utf-8", raw.offset, message));
        }
    }

    fn event<'a>(
        &mut self,
        grammar: &'a impl Grammar,
        offset: u64,
        line: &Line<'a>,
        telling: &mut GrammarState,
    ) {
        let time = match line.time {
            None => None,
            Some(written) => {
                self.turns.add_line(grammar, offset, written);
                let time = self.turns.later(grammar, offset, written);
                if time.is_none() {
                    let why = "its day is not in the year that it is of";
                    return self.breaks(offset, (Severity::Error, why), line.rest);
                }
                time
            }
        };
        let is_due = self.blocks.last().is_none_or(|last| offset - last.start >= BLOCK_BYTES);
        if is_due {
            self.blocks.push(Block::new(offset, self.events));
        }
        self.events += 1;
        match time {
            Some(time) => self.time(time, offset),
            None => self.untimed.get_or_insert((offset, 0)).1 += 1,
        }
        self.kinds.add_name(line.name);
        self.last_of_all = Some(offset);
        if let Some(cpu) = line.cpu {
            self.last.insert(cpu, offset);
        }
        // What is of no processor is below the track of all events.
        self.add_track(Key::Events(line.cpu));
        if let stream @ Key::Says(_) = grammar.stream(line) {
            self.add_track(stream);
        }
        grammar.interpret(line, telling, &mut |told| self.add_event(told));
        for doubt in telling.doubts.drain(..) {
            let first =
                || UnreadableFields { offset, text: shortened(line.rest).into_owned(), count: 0 };
            self.doubted.entry(doubt).or_insert_with(first).count += 1;
        }
    }

    /// Events are missing here, of a processor where that is told.
    fn lose(&mut self, cpu: Option<u32>) {
        let last = cpu.map_or(self.last_of_all, |cpu| self.last.get(&cpu).copied());
        let Some(last) = last else {
            self.gaps_before.insert(cpu);
            return;
        };
        let known = self.gaps.entry(last).or_insert(cpu);
        *known = known.filter(|_| *known == cpu);
    }

    fn time(&mut self, time: TimeNs, offset: u64) {
        debug_assert!(!self.blocks.is_empty(), "a line is in a block");
        if let Some(block) = self.blocks.last_mut() {
            block.add_time(time);
        }
        self.disorder.add_time(time, offset);
        let (min, max) = self.times.unwrap_or((time, time));
        self.times = Some((min.min(time), max.max(time)));
    }

    fn add_event(&mut self, told: TrackEvent<'_>) {
        let TrackEvent { key, name, peer, .. } = told;
        match peer {
            Some(Key::Task(Some(_), who)) => self.add_peer(who),
            Some(peer) if peer.cpu().is_none() => self.add_track(peer),
            _ => {}
        }
        if let (Key::Task(_, TaskKey::Id(id)) | Key::Calls(TaskKey::Id(id)), Some(name)) =
            (&key, name)
        {
            self.name(*id, name);
        }
        if let Some(cpu) = key.cpu() {
            self.add_track(Key::Cpu(cpu));
        }
        self.add_track(key);
    }

    /// Notes the name of a task; the last one counts.
    fn name(&mut self, id: i64, name: &str) {
        if let Some(known) = self.names.get_mut(&id) {
            if &**known != name {
                *known = name.into();
            }
        } else if self.names.len() < self.keys_max {
            self.names.insert(id, name.into());
        } else {
            self.is_full = true;
        }
    }

    fn add_track(&mut self, key: Key<'_>) {
        // A set of keys that live for ever can be asked for one that does not.
        let keys: &HashSet<Key<'_>, RandomState> = &self.keys;
        if keys.contains(&key) {
            return;
        }
        if self.keys.len() < self.keys_max {
            self.keys.insert(key.into_owned());
        } else {
            self.is_full = true;
        }
    }

    fn add_peer(&mut self, who: TaskKey<'_>) {
        let peers: &HashSet<TaskKey<'_>, RandomState> = &self.peers;
        if peers.contains(&who) {
            return;
        }
        if self.peers.len() < self.keys_max {
            self.peers.insert(who.into_owned());
        } else {
            self.is_full = true;
        }
    }

    /// Makes tasks of those that only messages name: no processor is known of them.
    fn place_peers(&mut self) {
        for key in &self.keys {
            if let Key::Task(_, who) = key {
                self.peers.remove(who);
            }
        }
        for who in std::mem::take(&mut self.peers) {
            self.add_track(Key::Task(None, who));
        }
    }

    fn breaks(&mut self, offset: u64, (severity, why): (Severity, &'static str), text: &str) {
        match &mut self.broken {
            Some(broken) if broken.why == why => broken.count += 1,
            other => {
                // The first of a part may belong to the part before.
                if other.is_some() {
                    self.report_broken();
                }
                let text = shortened(text).into_owned();
                self.broken = Some(BrokenLines { severity, offset, count: 1, why, text });
            }
        }
    }

    /// Says what was broken: a line of another kind comes. The first of a part may go on what the part
    /// before ends with.
    fn report_broken(&mut self) {
        let has_begun = std::mem::replace(&mut self.has_begun, true);
        let broken = self.broken.take();
        if has_begun {
            self.findings.extend(broken.map(BrokenLines::finding));
        } else {
            self.lead = broken;
        }
    }

    /// Adds the broken lines that the next part begins with.
    fn join(&mut self, next: BrokenLines) {
        match &mut self.broken {
            Some(broken) if broken.why == next.why => broken.count += next.count,
            other => {
                if other.is_some() {
                    self.report_broken();
                }
                self.broken = Some(next);
            }
        }
    }

    /// Adds what the next part of the file has.
    fn merge(&mut self, next: Self) {
        let before = self.events;
        self.events += next.events;
        let moved = |block: Block| Block { events_before: block.events_before + before, ..block };
        self.blocks.extend(next.blocks.into_iter().map(moved));
        self.kinds.merge(next.kinds);
        next.gaps_before.into_iter().for_each(|cpu| self.lose(cpu));
        self.gaps.extend(next.gaps);
        self.last.extend(next.last);
        self.last_of_all = next.last_of_all.or(self.last_of_all);
        next.keys.into_iter().for_each(|key| self.add_track(key));
        next.peers.into_iter().for_each(|who| self.add_peer(who));
        self.names.extend(next.names);
        self.has_waking |= next.has_waking;
        self.is_full |= next.is_full;
        self.times = match (self.times, next.times) {
            (Some(one), Some(other)) => Some((one.0.min(other.0), one.1.max(other.1))),
            (one, other) => one.or(other),
        };
        self.disorder.merge(next.disorder);
        if let Some(lead) = next.lead {
            self.join(lead);
        }
        if next.has_begun {
            self.report_broken();
            self.findings.merge(next.findings);
        }
        if let Some(last) = next.broken {
            self.join(last);
        }
        if let Some((offset, count)) = next.frames {
            self.frames.get_or_insert((offset, 0)).1 += count;
        }
        if let Some((offset, count)) = next.untimed {
            self.untimed.get_or_insert((offset, 0)).1 += count;
        }
        for (doubt, next) in next.doubted {
            let UnreadableFields { offset, text, count } = next;
            let first = || UnreadableFields { offset, text, count: 0 };
            self.doubted.entry(doubt).or_insert_with(first).count += count;
        }
    }

    /// Events without a time among others that have one: no analysis can place them.
    fn untimed(&self) -> Option<Finding> {
        let (offset, count) = self.untimed.filter(|_| self.times.is_some())?;
        let message = match count {
            1 => "an event has no time, where others have one".to_owned(),
            _ => format!("{count} events have no time, where others have one"),
        };
        Some(Finding::at_offset(Severity::Warning, "untimed", offset, message))
    }

    /// Says what is known only at the end.
    fn conclude(&mut self) {
        self.report_broken();
        self.place_peers();
        self.findings.extend(self.kinds.finding());
        self.findings.extend(self.frames.map(|(offset, count)| {
            let lines = if count == 1 { "line" } else { "lines" };
            let message = format!(
                "{count} {lines} of call stacks: events are read without the functions that they were in"
            );
            Finding::at_offset(Severity::Note, "call-stacks", offset, message)
        }));
        for ((rule, why), UnreadableFields { offset, text, count }) in
            std::mem::take(&mut self.doubted)
        {
            let message = repeated(count, why, &text);
            self.findings.push(Finding::at_offset(Severity::Warning, rule, offset, message));
        }
        self.findings.extend(self.untimed());
        self.findings.extend(self.turns.finding());
        self.findings.extend(self.disorder.finding(self.events));
        if self.is_full {
            let message = format!("more than {} tracks: the rest is not shown", self.keys_max);
            self.findings.push(Finding::for_whole_file(
                Severity::Warning,
                "too-many-tracks",
                message,
            ));
        }
    }

    /// Returns the findings about the lines.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        self.findings.clone().into_vec()
    }
}

/// Describes the fault of so many lines, and the first of them.
fn repeated(count: u64, why: &str, first: &str) -> String {
    let first = if first.is_empty() { String::new() } else { format!(": {first}") };
    match count {
        1 => format!("{why}{first}"),
        _ => format!("{count} lines, each: {why}; the first{first}"),
    }
}

impl BrokenLines {
    fn finding(self) -> Finding {
        let Self { severity, offset, count, why, text } = self;
        Finding::at_offset(severity, "line", offset, repeated(count, why, &text))
    }
}

impl Kinds {
    fn add_name(&mut self, name: &str) {
        if let Some(count) = self.counts.get_mut(name) {
            *count += 1;
        } else if self.counts.len() < KINDS_MAX {
            self.counts.insert(name.into(), 1);
        } else {
            self.others += 1;
        }
    }

    /// Adds those of the next part. Where there are others afterwards, they are to be counted again.
    fn merge(&mut self, next: Self) {
        self.others += next.others;
        for (name, count) in next.counts {
            if let Some(known) = self.counts.get_mut(&name) {
                *known += count;
            } else if self.counts.len() < KINDS_MAX {
                self.counts.insert(name, count);
            } else {
                self.others += count;
            }
        }
    }

    /// Counts one part after another: which names come first is not known of parts by themselves.
    fn recounted<'a>(
        grammar: &impl Grammar,
        parts: impl Iterator<Item = &'a (u64, &'a [u8])>,
        line_bytes_max: u64,
    ) -> Self {
        let mut kinds = Self::default();
        for line in parts.flat_map(|(start, bytes)| Lines::with_offset(bytes, *start)) {
            if line.fault(line_bytes_max).is_none()
                && let LineContent::Event(event) = grammar.read(&line.text())
            {
                kinds.add_name(event.name);
            }
        }
        kinds
    }

    fn finding(&self) -> Option<Finding> {
        let message = format!(
            "more than {KINDS_MAX} kinds of events: {} events of further kinds are not counted by kind",
            self.others
        );
        (self.others > 0)
            .then(|| Finding::for_whole_file(Severity::Note, "too-many-kinds", message))
    }
}

impl Disorder {
    fn add_time(&mut self, time: TimeNs, offset: u64) {
        if self.last.is_some_and(|last| time < last) {
            self.mark_backward(offset);
        }
        self.first = self.first.or(Some((time, offset)));
        self.last = Some(time);
    }

    /// Says that time goes back. Where it begins with 0 and goes back at every other event, it is none.
    fn finding(&self, events: u64) -> Option<Finding> {
        let Self { count, offset, first, .. } = *self;
        let times = if count == 1 { "once".into() } else { format!("{count} times") };
        let is_since_last = count >= SINCE_LAST_MIN
            && count.saturating_mul(4) > events
            && first.is_some_and(|(time, _)| time == TimeNs(0));
        let (severity, message) = if is_since_last {
            let message = format!(
                "time begins with 0 and goes back, {times} in all: it seems to count from the event \
                 before, as `perf script --deltatime` prints it; print it without"
            );
            (Severity::Error, message)
        } else {
            let message = format!("time goes back, {times} in all: events are in another order");
            (Severity::Warning, message)
        };
        (count > 0).then(|| Finding::at_offset(severity, "order", offset, message))
    }

    fn mark_backward(&mut self, offset: u64) {
        if self.count == 0 {
            self.offset = offset;
        }
        self.count += 1;
    }

    fn merge(&mut self, next: Self) {
        if let (Some(last), Some((first, offset))) = (self.last, next.first)
            && first < last
        {
            self.mark_backward(offset);
        }
        if next.count > 0 {
            let (count, offset) = (self.count, self.offset);
            self.count += next.count;
            self.offset = if count == 0 { next.offset } else { offset };
        }
        self.first = self.first.or(next.first);
        self.last = next.last.or(self.last);
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    #[test]
    fn parts_begin_with_lines_and_are_all_of_the_file() {
        let text: Vec<u8> = b"a line of some length\n".repeat(PARTS_BYTES / 20);
        let parts = parts(&text, 22, 4);
        let mut at = 22;
        for (start, part) in &parts {
            assert_eq!(*start, at);
            assert!(part.starts_with(b"a line") && part.ends_with(b"length\n"));
            at += part.len() as u64;
        }
        assert_eq!(at, text.len() as u64);
    }

    /// Lines like `5 name`; what has no number is broken, by its first letter in another way.
    #[derive(Debug)]
    struct Timed;

    impl Grammar for Timed {
        fn read<'a>(&'a self, line: &'a str) -> LineContent<'a> {
            let Some((time, name)) = line.split_once(' ') else {
                let why = if line.starts_with('a') { "an a" } else { "none" };
                return if line.is_empty() {
                    LineContent::Aside
                } else {
                    LineContent::Broken(Severity::Error, why)
                };
            };
            let time = time.parse().ok().map(TimeNs);
            LineContent::Event(Line { time, name, ..Line::default() })
        }

        fn fields<'a>(&'a self, _: &Line<'a>) -> Vec<(Cow<'a, str>, Cow<'a, str>)> {
            Vec::new()
        }

        fn text<'a>(&'a self, line: &Line<'a>) -> Cow<'a, str> {
            line.name.into()
        }

        fn interpret<'a>(
            &'a self,
            _: &Line<'a>,
            _: &mut GrammarState,
            _: &mut dyn FnMut(TrackEvent<'a>),
        ) {
        }

        fn dialect(&self) -> String {
            String::new()
        }
    }

    /// Returns what is reported of a text that is read in so many parts.
    fn said(text: &str, count: usize) -> (u64, Vec<Finding>, Vec<(String, u64)>) {
        let bytes = text.as_bytes();
        let parts = parts(bytes, 0, count);
        let all = survey_parts(&Timed, bytes, parts, &Context::default()).unwrap();
        let kinds = all.kinds.counts.iter().map(|(name, count)| (name.to_string(), *count));
        let mut kinds: Vec<_> = kinds.collect();
        kinds.sort();
        (all.events, all.findings(), kinds)
    }

    #[test]
    fn time_that_goes_back_between_parts_is_found_at_its_own_line() {
        // Blocks are many lines: the last of the second part is far behind its first.
        let line = |time: u32| format!("{time:08} some event of a name\n");
        let half = |times: std::ops::Range<u32>| times.map(line).collect::<String>();
        let first = half(50_000..100_000);
        let text = format!("{first}{}", half(0..50_000));
        for count in [1, 2, 3] {
            let (events, findings, _) = said(&text, count);
            assert_eq!(events, 100_000);
            let found: Vec<_> =
                findings.iter().map(|finding| (finding.rule, finding.offset)).collect();
            assert_eq!(found, [("order", Some(first.len() as u64))], "{count} parts");
        }
    }

    #[test]
    fn lines_that_are_broken_across_parts_are_one_finding() {
        let text = format!("1 e\n{}2 e\n", "none\n".repeat(5000));
        for count in [1, 2, 3, 7] {
            let (_, findings, _) = said(&text, count);
            let found: Vec<_> =
                findings.iter().map(|finding| (finding.offset, &*finding.message)).collect();
            let message = "5000 lines, each: none; the first: none";
            assert_eq!(found, [(Some(4), message)], "{count} parts");
        }
    }

    #[test]
    fn more_kinds_than_are_counted_are_said() {
        let line = |at: usize| format!("{at} kind{at}\n{at} often\n");
        let text: String = (0..9000).map(line).collect();
        let alone = said(&text, 1);
        // One of the kinds that are counted is `often`.
        assert_eq!(alone.2.len(), KINDS_MAX);
        let others = 9000 - (KINDS_MAX - 1);
        let message = format!(
            "more than 4096 kinds of events: {others} events of further kinds are not counted by kind"
        );
        assert_eq!(alone.1, [Finding::for_whole_file(Severity::Note, "too-many-kinds", message)]);
        assert!(alone.2.contains(&("often".to_owned(), 9000)));
        for count in [2, 5] {
            assert_eq!(said(&text, count), alone);
        }
    }

    #[test]
    fn times_since_the_event_before_are_recognised() {
        let found =
            |text: &str| said(text, 1).1.iter().map(|finding| finding.severity).collect::<Vec<_>>();
        let often = "5 e\n2 e\n".repeat(4);
        assert_eq!(found(&format!("0 e\n{often}")), [Severity::Error]);
        assert_eq!(found(&often), [Severity::Warning]);
        assert_eq!(found(&format!("0 e\n{}", "1 e\n2 e\n".repeat(2))), [Severity::Warning]);
    }

    proptest::proptest! {
        /// However many cores there are, the same is said of the same bytes.
        #[test]
        fn parts_make_no_difference(
            lines in proptest::collection::vec("([0-9]{1,2} [ef]|a|b|ab|)", 0..60),
            end in "(\n|3 e|)",
        ) {
            let words = lines.iter().flat_map(|line| [line.as_str(), "\n"]);
            let text: String = words.chain([end.as_str()]).collect();
            let alone = said(&text, 1);
            for count in 2..7 {
                proptest::prop_assert_eq!(&said(&text, count), &alone);
            }
        }
    }
}
