//! Events as a timeline: all of them as texts, and what they say of tasks and the like.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::ops::RangeInclusive;
use std::sync::Arc;

use foldhash::fast::RandomState;
use kymo_core::Result;
use kymo_model::timeline::{
    Activity, Clock, ClockId, Content, Event, EventFilter, Events, FieldedEvents, Fields, Missing,
    TimeNs, TimelineView, Track, TrackId, TrackKind, Tracks, Window, WithFields,
};
use serde_json::{Map, json};

use crate::fields::fields;
use crate::owned::into_owned;
use crate::{Grammar, GrammarState, Key, Line, Reader, TaskKey, TrackEvent};

/// The timeline of a recording.
pub(crate) struct Timeline<G> {
    reader: Arc<Reader<G>>,
    tracks: Tracks,
    found: HashMap<Key<'static>, TrackId, RandomState>,
    /// The first track of each task, whatever processor it is of.
    of_tasks: HashMap<TaskKey<'static>, TrackId, RandomState>,
    /// Names of numbers that several tasks have: the field of that name has those of all.
    shared: HashSet<String, RandomState>,
}

impl<G: Grammar> Timeline<G> {
    pub(crate) fn new(reader: Arc<Reader<G>>) -> Self {
        let keys: BTreeSet<_> = reader.survey().keys.iter().cloned().collect();
        let mut timeline = Self {
            reader,
            tracks: Tracks::default(),
            found: HashMap::default(),
            of_tasks: HashMap::default(),
            shared: shared(&keys),
        };
        timeline.tracks = keys.into_iter().map(|key| timeline.add(key)).collect();
        timeline
    }

    /// Adds a track; they come one after another.
    fn add(&mut self, key: Key<'static>) -> Track {
        let (kind, content) = match &key {
            Key::Events(_) | Key::Says(_) => (TrackKind::Messages, "utf-8"),
            Key::Cpu(_) => (TrackKind::Calls, "cpu"),
            Key::Idle(_) | Key::Task(..) => (TrackKind::Task, "task"),
            Key::Calls(_) => (TrackKind::Calls, "thread"),
            Key::Machine(_) => (TrackKind::States, "state machine"),
            Key::Counter(..) => (TrackKind::Counter, "number"),
        };
        let mut attributes = Map::new();
        match &key {
            Key::Events(Some(cpu)) | Key::Cpu(cpu) => {
                attributes.insert(Track::CPU_ID.to_owned(), json!(cpu));
                if matches!(key, Key::Cpu(_)) {
                    attributes.insert(Track::HAS_INTERRUPTS.to_owned(), json!(true));
                }
            }
            Key::Idle(_) => drop(attributes.insert(Track::IS_IDLE.to_owned(), json!(true))),
            Key::Task(_, TaskKey::Id(id)) => {
                attributes.insert("tid".to_owned(), json!(id));
                attributes.insert(Track::TELLS_COMPLETION.to_owned(), json!(true));
            }
            Key::Counter(_, name)
                if self.reader.grammar().counts_fields() && !self.shared.contains(&**name) =>
            {
                attributes.insert(Track::IS_FIELD.to_owned(), json!(true));
            }
            Key::Calls(TaskKey::Id(id)) => {
                attributes.insert("tid".to_owned(), json!(id));
            }
            _ => {}
        }
        let track = Track {
            name: self.name(&key),
            recording: 0,
            parent: self.parent(&key),
            kind,
            clock: Some(ClockId(0)),
            content: content.into(),
            attributes: attributes.into(),
        };
        let id = TrackId(self.found.len());
        if let Key::Task(_, who) = &key {
            self.of_tasks.entry(who.clone()).or_insert(id);
        }
        self.found.insert(key, id);
        track
    }

    fn name(&self, key: &Key<'_>) -> String {
        match key {
            Key::Events(None) => "events".to_owned(),
            Key::Events(Some(cpu)) => format!("events of cpu {cpu}"),
            Key::Cpu(cpu) => format!("cpu {cpu}"),
            Key::Idle(cpu) => format!("swapper/{cpu}"),
            Key::Task(_, who) | Key::Calls(who) | Key::Says(who) => self.task_name(who),
            Key::Machine(name) | Key::Counter(None, name) => name.clone().into_owned(),
            Key::Counter(Some(who), name) => format!("{}.{name}", self.task_name(who)),
        }
    }

    fn task_name(&self, who: &TaskKey<'_>) -> String {
        match who {
            TaskKey::Id(id) => {
                let name = self.reader.survey().names.get(id);
                format!("{}-{id}", name.map_or("task", |name| name))
            }
            TaskKey::Name(name) => name.clone().into_owned(),
        }
    }

    /// The processor of a task, and else the track of all events.
    fn parent(&self, key: &Key<'_>) -> Option<TrackId> {
        let parent = match key {
            Key::Events(_) | Key::Cpu(_) => return None,
            Key::Idle(cpu) | Key::Task(Some(cpu), _) => Key::Cpu(*cpu),
            Key::Task(None, _)
            | Key::Calls(_)
            | Key::Says(_)
            | Key::Machine(_)
            | Key::Counter(..) => Key::Events(None),
        };
        self.track(&parent)
    }

    /// The track of the other end of a message; it may be on another processor.
    fn peer(&self, key: &Key<'_>) -> Option<TrackId> {
        let of_tasks: &HashMap<TaskKey<'_>, TrackId, RandomState> = &self.of_tasks;
        let elsewhere = || match key {
            Key::Task(_, who) => of_tasks.get(who).copied(),
            _ => None,
        };
        self.track(key).or_else(elsewhere)
    }

    fn track(&self, key: &Key<'_>) -> Option<TrackId> {
        // A map of keys that live for ever can be asked for one that does not.
        let found: &HashMap<Key<'_>, TrackId, RandomState> = &self.found;
        found.get(key).copied()
    }

    /// Returns true if a counter has what a field of the line says, and nothing else.
    fn is_field(&self, line: &Line<'_>, key: &Key<'_>) -> bool {
        let Key::Counter(_, counted) = key else { return false };
        let mut fields = self.reader.grammar().fields(line).into_iter();
        !self.shared.contains(&**counted) && fields.any(|(name, _)| name == *counted)
    }

    /// Returns what is missing after the event of a line, and the track that reports it: the
    /// processor that lacks it, and else any track of activities.
    fn gap_after(&self, offset: u64) -> Option<(TrackId, Missing)> {
        let gaps = &self.reader.survey().gaps;
        let cpu = if gaps.is_empty() { None } else { gaps.get(&offset) }?;
        if let Some(track) = cpu.and_then(|cpu| self.track(&Key::Cpu(cpu))) {
            return Some((track, Missing::Events));
        }
        let first = self.tracks.iter().position(|track| track.kind.has_activities())?;
        Some((TrackId(first), Missing::AllEvents))
    }
}

impl<G: Grammar> TimelineView for Timeline<G> {
    fn clocks(&self) -> Vec<Clock> {
        let since_epoch = self.reader.grammar().is_since_epoch();
        vec![Clock { name: "clock".to_owned(), recording: 0, since_epoch }]
    }

    fn tracks(&self) -> Tracks {
        self.tracks.clone()
    }

    fn events(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
        Ok(Box::new(self.walking(window, FieldMode::Texts)))
    }

    fn events_with_fields(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
        Ok(Box::new(self.walking(window, FieldMode::Fields)))
    }

    fn events_and_fields(
        self: Arc<Self>,
        window: &Window,
        _asked: EventFilter<'_>,
    ) -> Result<Box<dyn FieldedEvents>> {
        Ok(Box::new(self.walking(window, FieldMode::Both)))
    }

    fn has_fields(&self) -> bool {
        true
    }

    fn range(self: Arc<Self>, _clock: ClockId) -> Result<Option<RangeInclusive<TimeNs>>> {
        Ok(self.reader.survey().times.map(|(first, last)| first..=last))
    }
}

impl<G: Grammar> Timeline<G> {
    fn walking(self: Arc<Self>, window: &Window, manner: FieldMode) -> EventWalk<G> {
        let mut spans: VecDeque<_> = self.reader.spans(window).into();
        let Some(last) = window.last else {
            return EventWalk::new(self, window, spans, manner);
        };
        let last = usize::try_from(last).unwrap_or(usize::MAX);
        // From the end, ever more of the file, until there are enough.
        let mut count = 1;
        loop {
            let tail = spans.split_off(spans.len().saturating_sub(count));
            let mut walking = EventWalk::new(Arc::clone(&self), window, tail, manner);
            let is_all = spans.is_empty();
            let kept = walking.keep_last(last);
            if is_all || kept.len() >= last {
                walking.pending = kept;
                return walking;
            }
            spans = self.reader.spans(window).into();
            count = count.saturating_mul(4);
        }
    }
}

/// The names of numbers that several tasks have.
fn shared(keys: &BTreeSet<Key<'_>>) -> HashSet<String, RandomState> {
    let mut seen = HashSet::<_, RandomState>::default();
    let names = keys.iter().filter_map(|key| match key {
        Key::Counter(_, name) => Some(name),
        _ => None,
    });
    names.filter(|name| !seen.insert(*name)).map(ToString::to_string).collect()
}

/// Event on a track.
struct Happening {
    track: TrackId,
    time: Option<TimeNs>,
    offset: u64,
    content: Content<'static>,
    /// Fields that it has beside a text.
    fields: Option<Fields<'static>>,
}

/// Manner in which events that have fields are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FieldMode {
    Texts,
    Fields,
    /// As texts, with the fields beside them.
    Both,
}

/// Events that are gone through.
struct EventWalk<G> {
    timeline: Arc<Timeline<G>>,
    window: Window,
    spans: VecDeque<(u64, u64)>,
    telling: GrammarState,
    pending: VecDeque<Happening>,
    /// Flags of the tracks that are asked for.
    is_wanted: Vec<bool>,
    manner: FieldMode,
}

impl<G: Grammar> EventWalk<G> {
    fn new(
        timeline: Arc<Timeline<G>>,
        window: &Window,
        spans: VecDeque<(u64, u64)>,
        manner: FieldMode,
    ) -> Self {
        let has_waking = timeline.reader.survey().has_waking;
        let wanted = |track: usize| window.includes_track(TrackId(track));
        Self {
            is_wanted: (0..timeline.tracks.len()).map(wanted).collect(),
            timeline,
            window: window.clone(),
            spans,
            telling: GrammarState { has_waking, ..GrammarState::default() },
            pending: VecDeque::new(),
            manner,
        }
    }

    /// Goes on until there is something to give.
    fn advance(&mut self) -> bool {
        while self.pending.is_empty() {
            let Some((from, until)) = self.spans.pop_front() else { return false };
            let timeline = Arc::clone(&self.timeline);
            let mut lines = timeline.reader.lines(from, until);
            while let Some(line) = lines.next() {
                let text = line.text();
                let Some(event) = timeline.reader.event(line, &text) else { continue };
                self.take(&timeline, line.offset, &event);
                if !self.pending.is_empty() {
                    self.spans.push_front((lines.offset(), until));
                    break;
                }
            }
        }
        true
    }

    fn take<'a>(&mut self, timeline: &'a Timeline<G>, offset: u64, line: &Line<'a>) {
        let Self { window, telling, pending, is_wanted, manner, .. } = self;
        let is_held = window.holds(line.time);
        let grammar = timeline.reader.grammar();
        let wants = |track: TrackId| is_held && is_wanted.get(track.0).copied().unwrap_or(false);
        let mut push = |track: TrackId, content: Content<'static>, fields| {
            pending.push_back(Happening { track, time: line.time, offset, content, fields });
        };
        let stream = timeline.track(&grammar.stream(line));
        let stream = stream.or_else(|| timeline.track(&Key::Events(line.cpu)));
        if let Some(track) = stream.filter(|track| wants(*track)) {
            let fields = (*manner != FieldMode::Texts).then(|| fields(grammar, line)).flatten();
            let text = || Content::Text(grammar.text(line).into_owned().into());
            match (*manner, fields) {
                (FieldMode::Fields, Some(fields)) => push(track, Content::Fields(fields), None),
                (_, fields) => push(track, text(), fields),
            }
        }
        grammar.interpret(line, telling, &mut |TrackEvent { key, content, peer, .. }| {
            if *manner == FieldMode::Fields && timeline.is_field(line, &key) {
                return;
            }
            if let Some(track) = timeline.track(&key).filter(|track| wants(*track)) {
                let peer = peer.and_then(|peer| timeline.peer(&peer));
                push(track, into_owned(content, peer), None);
            }
        });
        if let Some((track, missing)) =
            timeline.gap_after(offset).filter(|(track_id, _)| wants(*track_id))
        {
            push(track, Content::Activity(Activity::Gap(missing)), None);
        }
    }

    fn keep_last(&mut self, last: usize) -> VecDeque<Happening> {
        let mut kept = VecDeque::new();
        while self.advance() {
            while let Some(happening) = self.pending.pop_front() {
                kept.push_back(happening);
                if kept.len() > last {
                    kept.pop_front();
                }
            }
        }
        kept
    }
}

impl<G: Grammar> FieldedEvents for EventWalk<G> {
    fn next_event(&mut self) -> Result<Option<WithFields<'_>>> {
        if !self.advance() {
            return Ok(None);
        }
        let next = self.pending.pop_front();
        Ok(next.map(|Happening { track, time, offset, content, fields }| {
            (Event { track, time, offset, content, payload: &[], partial: None }, fields)
        }))
    }
}

impl<G: Grammar> Events for EventWalk<G> {
    fn next(&mut self) -> Result<Option<Event<'_>>> {
        Ok(self.next_event()?.map(|(event, _)| event))
    }
}
