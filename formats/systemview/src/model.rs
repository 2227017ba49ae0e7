//! Events as a timeline: all of a core as texts, and what they say of tasks and interrupts.
//!
//! A task runs from `TASK_START_EXEC` until another does, until `IDLE`, or until `TASK_STOP_EXEC`,
//! which also completes it, as `TASK_STOP_READY` does. `TASK_START_READY` is a release. A system of
//! several cores tells both on each of them: the first counts. A task that is made ready and begins
//! to run while it is believed to run had stopped, and nothing told: it stops when it is made ready,
//! at the latest. A task has the priority that `TASK_INFO` told last; what the first tells holds before
//! it, too. Interrupts are stretches on their processor. What the model has no place for is in tables.
//!
//! A packet may say again who runs. That changes nothing, but for the last one of a core: up to there
//! it is known who runs, and so a stretch ends there and the next begins.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};

use kymo_core::{Result, Value};
use kymo_model::timeline::{
    Activity, Clock, ClockId, Content, Event, Events, Field, Fields, Missing, TimeNs, TimelineView,
    Track, TrackId, TrackKind, Tracks, Window,
};
use serde_json::{Map, json};

use crate::order::{Lookahead, Ordered, TimedPacket};
use crate::read::{Packet, ParameterValue};
use crate::{Reader, spec, tables};

/// Packets between two states that are kept to go on from.
const STATE_PACKETS: u64 = 1 << 18;

/// A state that has more to keep than this is not kept.
const STATE_AHEAD_MAX: usize = 1 << 6;

/// The timeline of a recording.
pub(crate) struct Timeline {
    reader: Arc<Reader>,
    tracks: Tracks,
    found: HashMap<Key, TrackId>,
    /// States at places in between, as far as somebody went.
    states: Mutex<Vec<State>>,
}

/// Owner of a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Key {
    /// All events of a core.
    Core(u32),
    /// A processor, with its interrupts.
    Cpu(u32),
    /// Idle task: it runs when there is nothing to do.
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
        for (core, tid) in &reader.survey.tasks {
            let name = reader.tasks.get(tid).cloned();
            let name = name.unwrap_or_else(|| format!("task {tid}"));
            keys.insert(Key::Task(*core, *tid), name);
        }
        for core in &reader.survey.idle {
            keys.insert(Key::Idle(*core), format!("IDLE{core}"));
        }
        let (tracks, found) = (Tracks::default(), HashMap::new());
        let mut timeline = Self { reader, tracks, found, states: Mutex::default() };
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
        if kind == TrackKind::Task && self.reader.survey.tells_completion {
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
    fn interpret(
        &self,
        TimedPacket { packet, time, .. }: &TimedPacket,
        state: &mut State,
        to: &mut impl FnMut(TrackId, Activity<'static>),
    ) {
        let State { packets, ahead, now: CurrentState { running, told, priorities } } = state;
        let core = packet.core;
        let mut on = |key: Key, activity| {
            if let Some(track) = self.found.get(&key) {
                to(*track, activity);
            }
        };
        let number = || self.reader.number(packet);
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
                let is_new = |next: &Key| {
                    running.get(&core) != Some(next) || self.reader.survey.is_last_switch(packet)
                };
                let Some(next) = next.filter(is_new) else { return };
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
                if let [(_, ParameterValue::Number(tid)), (_, ParameterValue::Number(priority)), ..] =
                    &self.reader.given(packet)[..]
                    && let Ok(priority) = i64::try_from(*priority)
                    && priorities.get(tid) != Some(&priority)
                {
                    Arc::make_mut(priorities).insert(*tid, priority);
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
                let is_ready = packet.id == spec::TASK_START_READY;
                let stopped = is_ready.then(|| ahead.stopped(packet, packets.count)).flatten();
                if let Some(before) = stopped.and_then(|core| running.remove(&core)) {
                    on(before, Activity::End);
                }
                let before = told.insert((packet.id, tid), (*time, core));
                if before.is_some_and(|(then, other)| then == *time && other != core) {
                    return;
                }
                let activity = if is_ready {
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

impl TimelineView for Timeline {
    fn clocks(&self) -> Vec<Clock> {
        vec![Clock { name: "target".into(), recording: 0, since_epoch: false }]
    }

    fn tracks(&self) -> Tracks {
        self.tracks.clone()
    }

    fn events(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
        Ok(self.open_events(window, false))
    }

    fn events_with_fields(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
        Ok(self.open_events(window, true))
    }

    fn has_fields(&self) -> bool {
        true
    }

    fn range(self: Arc<Self>, _clock: ClockId) -> Result<Option<RangeInclusive<TimeNs>>> {
        Ok(self.reader.time_range())
    }
}

impl Timeline {
    fn open_events(self: Arc<Self>, window: &Window, has_fields: bool) -> Box<dyn Events> {
        let first = window.from.map_or(0, |from| self.states_before(from));
        let telling = |state| EventWalk {
            timeline: Arc::clone(&self),
            has_fields,
            window: window.clone(),
            state,
            pending: VecDeque::new(),
        };
        let Some(last) = window.last else {
            return Box::new(telling(self.state(first)));
        };
        let last = usize::try_from(last).unwrap_or(usize::MAX);
        // From the end, ever more of the recording, until there are enough.
        let until = window.until.unwrap_or(TimeNs(i64::MAX));
        let (mut at, mut step) = (self.states_before(until).max(first), 1);
        loop {
            let mut telling = telling(self.state(at));
            telling.pending = telling.keep_last(last);
            if at <= first || telling.pending.len() >= last {
                telling.state.packets.stop();
                return Box::new(telling);
            }
            at = at.saturating_sub(step).max(first);
            step = step.saturating_mul(4);
        }
    }

    /// Returns the number of kept states before a timestamp.
    fn states_before(&self, TimeNs(moment): TimeNs) -> usize {
        let states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        states.partition_point(|state| state.packets.latest.is_none_or(|latest| latest < moment))
    }

    /// The state to go on from when so many of those that are kept are passed over.
    fn state(&self, passed: usize) -> State {
        let states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = passed.checked_sub(1).and_then(|at| states.get(at)).cloned();
        kept.unwrap_or_else(|| State::new(&self.reader))
    }

    /// Keeps a state where none is kept yet.
    fn keep(&self, state: &State) {
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let last = states.last().map_or(0, |state| state.packets.count);
        let is_next = state.packets.count >= last.saturating_add(STATE_PACKETS);
        if is_next && !state.packets.is_over() && state.ahead.confirmed_count() <= STATE_AHEAD_MAX {
            let mut state = state.clone();
            let latest = state.packets.latest;
            state.now.told.retain(|_, (time, _)| *time == latest);
            states.push(state);
        }
    }
}

/// A place in a recording, with what is needed to go on there.
#[derive(Debug, Clone)]
struct State {
    packets: Ordered,
    ahead: Lookahead,
    now: CurrentState,
}

impl State {
    fn new(reader: &Arc<Reader>) -> Self {
        let packets = Ordered::new(Arc::clone(reader));
        Self { ahead: Lookahead::new(packets.clone()), packets, now: CurrentState::default() }
    }
}

/// State that is known by now.
#[derive(Debug, Clone, Default)]
struct CurrentState {
    /// Running task of each core.
    running: HashMap<u32, Key>,
    /// Time at which a task was last reported to be ready or not, and the core on which that was.
    told: HashMap<(u32, u64), (Option<i64>, u32)>,
    /// The priorities of tasks that were told last; they seldom change.
    priorities: Arc<HashMap<u64, i64>>,
}

/// Event on a track.
struct TrackEvent {
    track: TrackId,
    at: TimedPacket,
    content: Content<'static>,
}

/// Events that are being told.
struct EventWalk {
    timeline: Arc<Timeline>,
    /// True if events are told by their parameters, and not as texts.
    has_fields: bool,
    window: Window,
    state: State,
    pending: VecDeque<TrackEvent>,
}

impl EventWalk {
    /// Goes on until there is something to tell.
    fn advance(&mut self) -> bool {
        let timeline = Arc::clone(&self.timeline);
        while self.pending.is_empty() {
            if self.state.packets.count.is_multiple_of(STATE_PACKETS) {
                timeline.keep(&self.state);
            }
            let Some(at) = self.state.packets.next() else { return false };
            let (until, time) = (self.window.until, at.time.map(TimeNs));
            if until.is_some_and(|until| time.is_some_and(|time| until <= time)) {
                self.state.packets.stop();
                return false;
            }
            let (window, pending) = (&self.window, &mut self.pending);
            let is_held = window.holds(time);
            let core = timeline.found.get(&Key::Core(at.packet.core));
            if let Some(track) = core.filter(|track| is_held && window.includes_track(**track)) {
                let content = if self.has_fields {
                    Content::Fields(fields(&timeline.reader, &at.packet))
                } else {
                    Content::Text(text(&timeline.reader, &at.packet).into())
                };
                pending.push_back(TrackEvent { track: *track, at, content });
            }
            let mut tell = |track, activity| {
                if is_held && window.includes_track(track) {
                    let content = Content::Activity(activity);
                    pending.push_back(TrackEvent { track, at, content });
                }
            };
            timeline.interpret(&at, &mut self.state, &mut tell);
            if at.is_cut {
                self.state.now.running.remove(&at.packet.core);
                let cpu = timeline.found.get(&Key::Cpu(at.packet.core));
                if let Some(cpu) = cpu {
                    tell(*cpu, Activity::Gap(Missing::Events));
                }
            }
        }
        true
    }

    /// Goes through all that is left, and keeps the last of it.
    fn keep_last(&mut self, last: usize) -> VecDeque<TrackEvent> {
        let mut kept = VecDeque::new();
        while self.advance() {
            kept.extend(self.pending.pop_front());
            if kept.len() > last {
                kept.pop_front();
            }
        }
        kept
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
            ParameterValue::Number(number) if name.is_empty() => unnamed.push(Value::from(number)),
            ParameterValue::Number(number) => fields.push(field(name, number.into())),
            ParameterValue::Text(text) => fields.push(field(name, text.into())),
            ParameterValue::Numbers(numbers) => {
                fields.push(field(name, numbers.into_iter().collect()));
            }
        }
    }
    if !unnamed.is_empty() {
        fields.push(field(tables::UNNAMED, Value::List(unnamed)));
    }
    Fields { name: reader.name(packet.id).into_owned().into(), fields }
}

impl Events for EventWalk {
    fn next(&mut self) -> Result<Option<Event<'_>>> {
        if !self.advance() {
            return Ok(None);
        }
        let Some(TrackEvent { track, at, content }) = self.pending.pop_front() else {
            return Ok(None);
        };
        let reader = &self.timeline.reader;
        let payload = match content {
            Content::Text(_) => reader.payload(&at.packet),
            _ => &[],
        };
        let time = at.time.map(TimeNs);
        let (offset, partial) = (at.packet.offset, None);
        Ok(Some(Event { track, time, offset, content, payload, partial }))
    }
}
