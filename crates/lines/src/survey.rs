//! One way through all lines: how many events, which tracks, what is wrong, and the index.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use foldhash::fast::RandomState;
use kymo_core::ahead::{self, Wanted};
use kymo_core::bytes::{Limits, ReadErrorKind};
use kymo_core::model::timeline::TimeNs;
use kymo_core::{Context, Finding, Findings, Result, Severity, shortened};
use memchr::memchr;

use crate::index::{BLOCK_BYTES, Block};
use crate::turns::Turns;
use crate::{Grammar, Key, Line, Lines, RawLine, Read, Telling, Told, Who};

/// Files from this size on are worth more than one thread.
const PARTS_BYTES: usize = 8 << 20;

/// Progress is told every so many bytes.
const PROGRESS_BYTES: u64 = 4 << 20;

/// Kinds of events that are counted one by one; the names of damaged lines are without end.
const KINDS_MAX: usize = 1 << 12;

/// What a way through some lines found.
#[derive(Debug)]
pub(crate) struct Survey {
    pub(crate) events: u64,
    pub(crate) blocks: Vec<Block>,
    /// How many events there are of each name.
    pub(crate) kinds: HashMap<Box<str>, u64, RandomState>,
    pub(crate) keys: HashSet<Key<'static>, RandomState>,
    /// Tasks at the other ends of messages where lines tell processors: they may be on others.
    peers: HashSet<Who<'static>, RandomState>,
    /// The last name of each task that is known by its number.
    pub(crate) names: HashMap<i64, Box<str>, RandomState>,
    pub(crate) has_waking: bool,
    /// The smallest and the largest time.
    pub(crate) times: Option<(TimeNs, TimeNs)>,
    /// Where times start over.
    pub(crate) turns: Turns,
    findings: Findings,
    keys_max: usize,
    is_full: bool,
    disorder: Disorder,
    broken: Option<Broken>,
    /// After which events others are missing, and of which processor; of any, where nothing tells.
    pub(crate) gaps: BTreeMap<u64, Option<u32>>,
    /// The same before any event of that processor.
    gaps_before: BTreeSet<Option<u32>>,
    /// The last event of each processor.
    last: HashMap<u32, u64, RandomState>,
    /// The last event of all.
    last_of_all: Option<u64>,
    /// What of events cannot be read, by rule and what to say.
    doubted: BTreeMap<(&'static str, &'static str), Doubted>,
}

/// Events of which the same cannot be read.
#[derive(Debug)]
struct Doubted {
    /// The first.
    offset: u64,
    text: String,
    count: u64,
}

/// Where times go back.
#[derive(Debug, Clone, Copy, Default)]
struct Disorder {
    count: u64,
    offset: u64,
    first: Option<TimeNs>,
    last: Option<TimeNs>,
}

/// Lines one after another that are wrong in the same way.
#[derive(Debug)]
struct Broken {
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
    let Context { limits, progress, .. } = *context;
    progress.begin("reading", bytes.len() as u64);
    // Where times start over, each depends on those before.
    let threads = if grammar.cycle_ns().is_some() { 1 } else { ahead::threads() };
    let mut parts = parts(bytes, start, threads).into_iter();
    let first = parts.next().unwrap_or((0, &[]));
    let rest: Vec<_> = parts.collect();
    let jobs = rest.iter().copied().map(|part| {
        move |wanted: Wanted<'_>| Survey::of(grammar, part, &limits, &|_| wanted.is_wanted())
    });
    let tell = |at: u64| {
        progress.at(at * (rest.len() as u64 + 1));
        true
    };
    let mut all = ahead::beside(jobs, |jobs| {
        let mut all = Survey::of(grammar, first, &limits, &tell);
        for (job, part) in jobs.into_iter().zip(&rest) {
            let found = job.wait();
            all.merge(found.unwrap_or_else(|| Survey::of(grammar, *part, &limits, &|_| true)));
        }
        all
    });
    progress.end();
    all.conclude();
    if all.events > limits.items_max {
        let (found, limit) = (all.events, limits.items_max);
        return Err(ReadErrorKind::OverLimit { found, limit }.at("number of events", 0).into());
    }
    Ok(all)
}

/// Parts of a file for some threads, that begin with a line, each with its first byte.
fn parts(bytes: &[u8], start: usize, threads: usize) -> Vec<(u64, &[u8])> {
    let rest = bytes.get(start..).unwrap_or_default();
    let count = if rest.len() >= PARTS_BYTES { threads } else { 1 };
    let mut ends: Vec<usize> = (1..count)
        .filter_map(|part| {
            let at = start + rest.len() / count * part;
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
            kinds: HashMap::default(),
            keys: HashSet::default(),
            peers: HashSet::default(),
            names: HashMap::default(),
            has_waking: false,
            times: None,
            turns: Turns::default(),
            findings: Findings::new(limits),
            keys_max: usize::try_from(limits.items_max).unwrap_or(usize::MAX),
            is_full: false,
            disorder: Disorder::default(),
            broken: None,
            gaps: BTreeMap::new(),
            gaps_before: BTreeSet::new(),
            last: HashMap::default(),
            last_of_all: None,
            doubted: BTreeMap::new(),
        }
    }

    fn of(
        grammar: &impl Grammar,
        (start, bytes): (u64, &[u8]),
        limits: &Limits,
        goes_on: &dyn Fn(u64) -> bool,
    ) -> Self {
        let mut survey = Self::new(limits);
        let mut telling = Telling { is_survey: true, ..Telling::default() };
        let mut lines = Lines::at(bytes, start);
        let mut told = 0;
        for line in lines.by_ref() {
            if line.offset - start >= told + PROGRESS_BYTES {
                told = line.offset - start;
                if !goes_on(told) {
                    break;
                }
            }
            survey.line(grammar, line, limits, &mut telling);
        }
        survey.say_broken();
        survey.has_waking = telling.has_waking;
        if let Some(offset) = lines.unfinished() {
            let message = "the last line has no end, so that it may be cut, and is not read";
            let finding = Finding::at(Severity::Warning, "unfinished-line", offset, message);
            survey.findings.push(finding);
        }
        survey
    }

    fn line(
        &mut self,
        grammar: &impl Grammar,
        raw: RawLine<'_>,
        limits: &Limits,
        telling: &mut Telling,
    ) {
        if let Some(why) = raw.fault(limits.value_bytes_max) {
            self.lose(None);
            return self.breaks(raw.offset, (Severity::Error, why), "");
        }
        let text = raw.text();
        match grammar.read(&text) {
            Read::Event(line) => self.event(grammar, raw.offset, &line, telling),
            Read::Aside => return,
            Read::Remark(severity, rule, message) => {
                self.findings.push(Finding::at(severity, rule, raw.offset, message));
            }
            Read::Lost(cpu, message) => {
                let finding = Finding::at(Severity::Warning, "lost-events", raw.offset, message);
                self.findings.push(finding);
                self.lose(cpu);
            }
            Read::Broken(severity, why) => {
                return self.breaks(raw.offset, (severity, why), &text);
            }
        }
        self.say_broken();
        if matches!(text, std::borrow::Cow::Owned(_)) {
            let message = "bytes that are no UTF-8 are shown as marks";
            self.findings.push(Finding::at(Severity::Warning, "utf-8", raw.offset, message));
        }
    }

    fn event<'a>(
        &mut self,
        grammar: &'a impl Grammar,
        offset: u64,
        line: &Line<'a>,
        telling: &mut Telling,
    ) {
        let time = match line.time {
            None => None,
            Some(written) => {
                self.turns.see(grammar, offset, written);
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
        if let Some(time) = time {
            self.time(time, offset);
        }
        self.count(line.name);
        self.last_of_all = Some(offset);
        if let Some(cpu) = line.cpu {
            self.last.insert(cpu, offset);
        }
        // What is of no processor is below the track of all events.
        self.see(Key::Events(line.cpu));
        if let stream @ Key::Says(_) = grammar.stream(line) {
            self.see(stream);
        }
        grammar.tell(line, telling, &mut |told| self.told(told));
        for doubt in telling.doubts.drain(..) {
            let first = || Doubted { offset, text: shortened(line.rest).into_owned(), count: 0 };
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
        self.blocks.last_mut().into_iter().for_each(|block| block.see(time));
        self.disorder.see(time, offset);
        let (min, max) = self.times.unwrap_or((time, time));
        self.times = Some((min.min(time), max.max(time)));
    }

    fn count(&mut self, name: &str) {
        if let Some(count) = self.kinds.get_mut(name) {
            *count += 1;
        } else if self.kinds.len() < KINDS_MAX {
            self.kinds.insert(name.into(), 1);
        }
    }

    fn told(&mut self, told: Told<'_>) {
        let Told { key, name, peer, .. } = told;
        match peer {
            Some(Key::Task(Some(_), who)) => self.see_peer(who),
            Some(peer) if peer.cpu().is_none() => self.see(peer),
            _ => {}
        }
        if let (Key::Task(_, Who::Id(id)) | Key::Calls(Who::Id(id)), Some(name)) = (&key, name) {
            self.name(*id, name);
        }
        if let Some(cpu) = key.cpu() {
            self.see(Key::Cpu(cpu));
        }
        self.see(key);
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

    fn see(&mut self, key: Key<'_>) {
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

    fn see_peer(&mut self, who: Who<'_>) {
        let peers: &HashSet<Who<'_>, RandomState> = &self.peers;
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
            self.see(Key::Task(None, who));
        }
    }

    fn breaks(&mut self, offset: u64, (severity, why): (Severity, &'static str), text: &str) {
        match &mut self.broken {
            Some(broken) if broken.why == why => broken.count += 1,
            _ => {
                self.say_broken();
                let text = shortened(text).into_owned();
                self.broken = Some(Broken { severity, offset, count: 1, why, text });
            }
        }
    }

    fn say_broken(&mut self) {
        let Some(Broken { severity, offset, count, why, text }) = self.broken.take() else {
            return;
        };
        let message = repeated(count, why, &text);
        self.findings.push(Finding::at(severity, "line", offset, message));
    }

    /// Adds what the next part of the file has.
    fn merge(&mut self, next: Self) {
        let before = self.events;
        self.events += next.events;
        let moved = |block: Block| Block { events_before: block.events_before + before, ..block };
        self.blocks.extend(next.blocks.into_iter().map(moved));
        for (name, count) in next.kinds {
            *self.kinds.entry(name).or_default() += count;
        }
        next.gaps_before.into_iter().for_each(|cpu| self.lose(cpu));
        self.gaps.extend(next.gaps);
        self.last.extend(next.last);
        self.last_of_all = next.last_of_all.or(self.last_of_all);
        self.keys.extend(next.keys);
        self.peers.extend(next.peers);
        self.names.extend(next.names);
        self.has_waking |= next.has_waking;
        self.is_full |= next.is_full;
        self.times = match (self.times, next.times) {
            (Some(one), Some(other)) => Some((one.0.min(other.0), one.1.max(other.1))),
            (one, other) => one.or(other),
        };
        let start = self.blocks.get(self.blocks.len().saturating_sub(1)).map_or(0, |of| of.start);
        self.disorder.merge(next.disorder, start);
        self.findings.extend(next.findings.into_vec());
        for (doubt, next) in next.doubted {
            let Doubted { offset, text, count } = next;
            let first = || Doubted { offset, text, count: 0 };
            self.doubted.entry(doubt).or_insert_with(first).count += count;
        }
    }

    /// Says what is known only at the end.
    fn conclude(&mut self) {
        self.place_peers();
        for ((rule, why), Doubted { offset, text, count }) in std::mem::take(&mut self.doubted) {
            let message = repeated(count, why, &text);
            self.findings.push(Finding::at(Severity::Warning, rule, offset, message));
        }
        self.findings.extend(self.turns.finding());
        let Disorder { count, offset, .. } = self.disorder;
        if count > 0 {
            let times = if count == 1 { "once".into() } else { format!("{count} times") };
            let message = format!("time goes back, {times} in all: events are in another order");
            self.findings.push(Finding::at(Severity::Warning, "order", offset, message));
        }
        if self.is_full {
            let message = format!("more than {} tracks: the rest is not shown", self.keys_max);
            self.findings.push(Finding::whole(Severity::Warning, "too-many-tracks", message));
        }
    }

    /// What is wrong with the lines.
    pub(crate) fn findings(&self) -> Vec<Finding> {
        self.findings.clone().into_vec()
    }
}

/// What is wrong with so many lines, and the first of them.
fn repeated(count: u64, why: &str, first: &str) -> String {
    let first = if first.is_empty() { String::new() } else { format!(": {first}") };
    match count {
        1 => format!("{why}{first}"),
        _ => format!("{count} lines, each: {why}; the first{first}"),
    }
}

impl Disorder {
    fn see(&mut self, time: TimeNs, offset: u64) {
        if self.last.is_some_and(|last| time < last) {
            self.goes_back(offset);
        }
        self.first = self.first.or(Some(time));
        self.last = Some(time);
    }

    fn goes_back(&mut self, offset: u64) {
        if self.count == 0 {
            self.offset = offset;
        }
        self.count += 1;
    }

    fn merge(&mut self, next: Self, start: u64) {
        if self.last.zip(next.first).is_some_and(|(last, first)| first < last) {
            self.goes_back(start);
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

    #[test]
    fn times_that_go_back_are_counted_across_parts() {
        let mut one = Disorder::default();
        one.see(TimeNs(5), 0);
        one.see(TimeNs(9), 10);
        let mut other = Disorder::default();
        other.see(TimeNs(8), 20);
        other.see(TimeNs(7), 30);
        one.merge(other, 20);
        assert_eq!((one.count, one.offset, one.last), (2, 20, Some(TimeNs(7))));
    }
}
