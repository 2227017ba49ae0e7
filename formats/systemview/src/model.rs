//! Events as a timeline: all of a core as texts, and what they say of tasks and interrupts.
//!
//! A task runs from `TASK_START_EXEC` until another does, until `IDLE`, or until `TASK_STOP_EXEC`,
//! which also completes it, as `TASK_STOP_READY` does. `TASK_START_READY` is a release. A system of
//! several cores tells both on each of them: the first counts. A task that is made ready and begins
//! to run while it is believed to run had stopped, and nothing told: it stops when it is made ready,
//! at the latest. A task has the priority that `TASK_INFO` told last; what the first tells holds before
//! it, too. Interrupts are stretches on their processor. What the model has no place for is in tables.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ops::RangeInclusive;
use std::sync::Arc;

use kymo_core::model::timeline::{
    Activity, Clock, ClockId, Content, Event, Events, Field, Fields, TimeNs, TimelineView, Track,
    TrackId, TrackKind, Tracks, Window,
};
use kymo_core::{Result, Value};
use serde_json::{Map, json};

use crate::read::{Given, Packet};
use crate::{Reader, spec, tables};

/// The timeline of a recording.
pub(crate) struct Timeline {
    reader: Arc<Reader>,
    tracks: Tracks,
    found: HashMap<Key, TrackId>,
    /// Places of packets, in the order of their times.
    order: Vec<u32>,
    /// Whether tasks are said to stop by themselves; some systems do not tell.
    tells_completion: bool,
    /// Where a task is made ready that is believed to run and does not, and on which core.
    stopped: HashMap<u64, u32>,
}

/// What a track is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Key {
    /// All events of a core.
    Core(u32),
    /// A processor, with its interrupts.
    Cpu(u32),
    /// What runs when there is nothing to do.
    Idle(u32),
    /// A task on a processor.
    Task(u32, u64),
}

impl Timeline {
    pub(crate) fn new(reader: Arc<Reader>) -> Self {
        let mut keys = BTreeMap::new();
        for core in 0..reader.cores() {
            keys.insert(Key::Core(core), format!("core {core}"));
            keys.insert(Key::Cpu(core), format!("cpu {core}"));
        }
        for packet in reader.packets() {
            let core = packet.core;
            if let Some(tid) = task_of(&reader, packet) {
                let name = reader.tasks.get(&tid).cloned();
                let name = name.unwrap_or_else(|| format!("task {tid}"));
                keys.entry(Key::Task(core, tid)).or_insert(name);
            } else if packet.id == spec::IDLE {
                keys.entry(Key::Idle(core)).or_insert_with(|| format!("IDLE{core}"));
            }
        }
        let mut order: Vec<u32> = (0..).take(reader.packets().len()).collect();
        let time = |at: &u32| {
            let packet = reader.packets().get(*at as usize);
            packet.and_then(|packet| reader.time_ns(packet))
        };
        order.sort_by_cached_key(|at| (time(at), *at));
        let stops =
            |packet: &Packet| matches!(packet.id, spec::TASK_STOP_EXEC | spec::TASK_STOP_READY);
        let tells_completion = reader.packets().iter().any(stops);
        let (tracks, found) = (Tracks::default(), HashMap::new());
        let stopped = stopped(&reader, &order);
        let mut timeline = Self { reader, tracks, found, order, tells_completion, stopped };
        timeline.tracks = keys.into_iter().map(|(key, name)| timeline.add(key, name)).collect();
        timeline
    }

    /// Adds a track. Processors come before their tasks in the order of keys.
    fn add(&mut self, key: Key, name: String) -> Track {
        let (kind, core, content) = match key {
            Key::Core(core) => (TrackKind::Messages, core, "systemview"),
            Key::Cpu(core) => (TrackKind::Calls, core, "cpu"),
            Key::Idle(core) | Key::Task(core, _) => (TrackKind::Task, core, "task"),
        };
        let mut attributes = Map::new();
        let own = match key {
            Key::Core(_) | Key::Cpu(_) => (Track::CPU_ID, json!(core)),
            Key::Idle(_) => (Track::IS_IDLE, json!(true)),
            Key::Task(_, tid) => ("tid", json!(tid)),
        };
        attributes.insert(own.0.to_owned(), own.1);
        if let Key::Task(_, tid) = key
            && let Some(priority) = self.reader.priority(tid)
        {
            attributes.insert(Track::TASK_PRIORITY.to_owned(), json!(priority));
        }
        if matches!(key, Key::Cpu(_)) {
            attributes.insert(Track::HAS_INTERRUPTS.to_owned(), json!(true));
        }
        if kind == TrackKind::Task && self.tells_completion {
            attributes.insert(Track::TELLS_COMPLETION.to_owned(), json!(true));
        }
        let is_below = kind == TrackKind::Task;
        let parent = is_below.then(|| self.found.get(&Key::Cpu(core)).copied()).flatten();
        self.found.insert(key, TrackId(self.found.len()));
        Track {
            name,
            recording: 0,
            parent,
            kind,
            clock: Some(ClockId(0)),
            content: content.into(),
            attributes: attributes.into(),
        }
    }

    /// Tells what an event is to tasks and interrupts, given what was before.
    fn tell(
        &self,
        packet: &Packet,
        Now { running, told, priorities }: &mut Now,
        to: &mut impl FnMut(TrackId, Activity<'static>),
    ) {
        let core = packet.core;
        let mut on = |key: Key, activity| {
            if let Some(track) = self.found.get(&key) {
                to(*track, activity);
            }
        };
        let number = || first_number(&self.reader, packet);
        match packet.id {
            spec::ISR_ENTER => {
                let number = number().unwrap_or(0);
                let name = self.reader.interrupts.get(&number).cloned();
                let name = name.unwrap_or_else(|| format!("interrupt {number}"));
                let name = Some(name.into());
                on(Key::Cpu(core), Activity::Begin { name, priority: None, ends: None });
            }
            spec::ISR_EXIT | spec::ISR_TO_SCHEDULER => on(Key::Cpu(core), Activity::End),
            spec::TASK_START_EXEC | spec::IDLE => {
                let task = number().map(|tid| Key::Task(core, tid));
                let next = if packet.id == spec::IDLE { Some(Key::Idle(core)) } else { task };
                let Some(next) = next.filter(|next| running.get(&core) != Some(next)) else {
                    return;
                };
                if let Some(before) = running.insert(core, next) {
                    on(before, Activity::End);
                }
                let priority = match next {
                    Key::Task(_, tid) => {
                        priorities.get(&tid).copied().or_else(|| self.reader.priority(tid))
                    }
                    _ => None,
                };
                on(next, Activity::Begin { name: None, priority, ends: None });
            }
            spec::TASK_INFO => {
                if let [(_, Given::Number(tid)), (_, Given::Number(priority)), ..] =
                    &self.reader.given(packet)[..]
                    && let Ok(priority) = i64::try_from(*priority)
                {
                    priorities.insert(*tid, priority);
                }
            }
            spec::TASK_STOP_EXEC => {
                if let Some(before) = running.remove(&core) {
                    on(before, Activity::Complete { remaining_ns: None });
                    on(before, Activity::End);
                }
            }
            spec::TASK_START_READY | spec::TASK_STOP_READY => {
                let Some(tid) = number() else { return };
                let stopped = self.stopped.get(&packet.offset);
                if let Some(before) = stopped.and_then(|core| running.remove(core)) {
                    on(before, Activity::End);
                }
                let time = self.reader.time_ns(packet);
                let before = told.insert((packet.id, tid), (time, core));
                if before.is_some_and(|(then, other)| then == time && other != core) {
                    return;
                }
                let activity = if packet.id == spec::TASK_START_READY {
                    let by = self.found.get(&Key::Cpu(core)).copied();
                    Activity::Release { budget_ns: None, by }
                } else {
                    Activity::Complete { remaining_ns: None }
                };
                on(Key::Task(core, tid), activity);
            }
            _ => {}
        }
    }
}

/// A task that is believed to run.
struct Believed {
    tid: u64,
    /// When it was made ready last, and the byte that says so.
    ready: Option<(Option<i64>, u64)>,
}

/// Finds where a task is made ready, and then begins to run where it is believed to: the offsets of
/// the first, each with the core that it is believed to run on.
fn stopped(reader: &Reader, order: &[u32]) -> HashMap<u64, u32> {
    let mut stopped = HashMap::new();
    let mut running: HashMap<u32, Believed> = HashMap::new();
    for packet in order.iter().filter_map(|at| reader.packets().get(*at as usize)) {
        let tid = first_number(reader, packet);
        match (packet.id, tid) {
            (spec::TASK_START_EXEC, Some(tid)) => {
                let before = running.insert(packet.core, Believed { tid, ready: None });
                let ready = before.filter(|before| before.tid == tid).and_then(|of| of.ready);
                stopped.extend(ready.map(|(_, offset)| (offset, packet.core)));
            }
            (spec::TASK_START_EXEC | spec::IDLE | spec::TASK_STOP_EXEC, _) => {
                running.remove(&packet.core);
            }
            (spec::TASK_START_READY, Some(tid)) => {
                let time = reader.time_ns(packet);
                // Each core may tell of it: the first counts.
                for of in running.values_mut().filter(|of| of.tid == tid) {
                    if of.ready.is_none_or(|(told, _)| told != time) {
                        of.ready = Some((time, packet.offset));
                    }
                }
            }
            _ => {}
        }
    }
    stopped
}

/// The task that an event tells of.
fn task_of(reader: &Reader, packet: &Packet) -> Option<u64> {
    match packet.id {
        spec::TASK_START_EXEC | spec::TASK_START_READY | spec::TASK_STOP_READY => {
            first_number(reader, packet)
        }
        _ => None,
    }
}

/// How many tasks and interrupts there are that something is told of.
pub(crate) fn told_of(reader: &Reader) -> (usize, usize) {
    let (mut tasks, mut interrupts) = (HashSet::new(), HashSet::new());
    for packet in reader.packets() {
        tasks.extend(task_of(reader, packet));
        if packet.id == spec::ISR_ENTER {
            interrupts.extend(first_number(reader, packet));
        }
    }
    (tasks.len(), interrupts.len())
}

fn first_number(reader: &Reader, packet: &Packet) -> Option<u64> {
    match reader.given(packet).first() {
        Some((_, Given::Number(number))) => Some(*number),
        _ => None,
    }
}

impl TimelineView for Timeline {
    fn clocks(&self) -> Vec<Clock> {
        vec![Clock { name: "target".into(), recording: 0, since_epoch: false }]
    }

    fn tracks(&self) -> Tracks {
        self.tracks.clone()
    }

    fn events(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
        Ok(self.told(window, false))
    }

    fn events_with_fields(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
        Ok(self.told(window, true))
    }

    fn range(self: Arc<Self>, _clock: ClockId) -> Result<Option<RangeInclusive<TimeNs>>> {
        Ok(self.reader.time_range())
    }
}

impl Timeline {
    fn told(self: Arc<Self>, window: &Window, has_fields: bool) -> Box<dyn Events> {
        let mut all = Telling {
            timeline: self,
            has_fields,
            window: window.clone(),
            next: 0,
            now: Now::default(),
            pending: VecDeque::new(),
        };
        if let Some(last) = window.last {
            let last = usize::try_from(last).unwrap_or(usize::MAX);
            let mut kept = VecDeque::new();
            while all.advance() {
                kept.extend(all.pending.pop_front());
                if kept.len() > last {
                    kept.pop_front();
                }
            }
            all.pending = kept;
        }
        Box::new(all)
    }
}

/// What is known by now.
#[derive(Debug, Default)]
struct Now {
    /// What runs on each core.
    running: HashMap<u32, Key>,
    /// When a task was told last to be ready or not, and on which core.
    told: HashMap<(u32, u64), (Option<i64>, u32)>,
    /// The priorities of tasks that were told last.
    priorities: HashMap<u64, i64>,
}

/// What an event is on a track.
struct Happening {
    track: TrackId,
    packet: Packet,
    content: Content<'static>,
}

/// Events that are being told.
struct Telling {
    timeline: Arc<Timeline>,
    /// Whether events are told by their parameters, and not as texts.
    has_fields: bool,
    window: Window,
    next: usize,
    now: Now,
    pending: VecDeque<Happening>,
}

impl Telling {
    /// Goes on until there is something to tell.
    fn advance(&mut self) -> bool {
        while self.pending.is_empty() {
            let timeline = Arc::clone(&self.timeline);
            let Some(at) = timeline.order.get(self.next) else { return false };
            self.next += 1;
            let Some(packet) = timeline.reader.packets().get(*at as usize) else { continue };
            let time = timeline.reader.time_ns(packet).map(TimeNs);
            let (window, pending) = (&self.window, &mut self.pending);
            let mut push = |track: TrackId, content: Content<'static>| {
                if window.holds(time) && window.wants(track) {
                    pending.push_back(Happening { track, packet: *packet, content });
                }
            };
            if let Some(track) = timeline.found.get(&Key::Core(packet.core)) {
                let content = if self.has_fields {
                    Content::Fields(fields(&timeline.reader, packet))
                } else {
                    Content::Text(text(&timeline.reader, packet).into())
                };
                push(*track, content);
            }
            let mut tell = |track, activity| push(track, Content::Activity(activity));
            timeline.tell(packet, &mut self.now, &mut tell);
        }
        true
    }
}

fn text(reader: &Reader, packet: &Packet) -> String {
    let (name, parameters) = (reader.name(packet.id), tables::parameters(reader, packet));
    if parameters.is_empty() { name.into_owned() } else { format!("{name}: {parameters}") }
}

/// An event by its named parameters; those that nobody names are together.
fn fields(reader: &Reader, packet: &Packet) -> Fields<'static> {
    let field =
        |name: &str, value: Value| Field { name: name.to_owned().into(), value, bits: None };
    let (mut fields, mut unnamed) = (Vec::new(), Vec::new());
    for (name, value) in reader.given(packet) {
        match value {
            Given::Number(number) if name.is_empty() => unnamed.push(Value::from(number)),
            Given::Number(number) => fields.push(field(name, number.into())),
            Given::Text(text) => fields.push(field(name, text.into())),
            Given::Numbers(numbers) => fields.push(field(name, numbers.into_iter().collect())),
        }
    }
    if !unnamed.is_empty() {
        fields.push(field(tables::UNNAMED, Value::List(unnamed)));
    }
    Fields { name: reader.name(packet.id).into_owned().into(), fields }
}

impl Events for Telling {
    fn next(&mut self) -> Result<Option<Event<'_>>> {
        if !self.advance() {
            return Ok(None);
        }
        let Some(Happening { track, packet, content }) = self.pending.pop_front() else {
            return Ok(None);
        };
        let reader = &self.timeline.reader;
        let payload = match content {
            Content::Text(_) => reader.payload(&packet),
            _ => &[],
        };
        let time = reader.time_ns(&packet).map(TimeNs);
        let (offset, partial) = (packet.offset, None);
        Ok(Some(Event { track, time, offset, content, payload, partial }))
    }
}
