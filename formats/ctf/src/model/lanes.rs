//! Tracks of processors, tasks, threads and processes: those that events tell of.

use std::borrow::Cow;
use std::sync::Arc;

use kymo_core::CacheEntry;
use kymo_model::kernel::{KernelEvent, softirq_name};
use kymo_model::timeline::{Activity, ClockId, Message, Missing, Track, TrackId, TrackKind};
use serde_json::{Map, json};

use super::facts::Facts;
use super::roles::{Role, Roles};
use super::survey::{Lookup, Survey};
use crate::Reader;
use crate::read::KnownField;
use crate::scales::Scales;

/// Activity on a track.
pub(super) type Happening = (TrackId, Activity<'static>);

/// The tracks that come after those of streams, and how events find theirs.
#[derive(Debug)]
pub(super) struct Lanes {
    pub(super) roles: Arc<Roles>,
    /// Keys of the tracks, with their names and clocks. Processors come first in the order of keys,
    /// so that parents come before children.
    named: Vec<(Key, String, Option<ClockId>)>,
    found: Lookup<Key, TrackId>,
    /// True if there are requests for wakeups: they are releases then; otherwise wakeups are.
    has_waking: bool,
    strings: Lookup<i64, String>,
    regions: Lookup<i64, i64>,
}

/// Tracks that were found last: few tasks run most of the time.
pub(super) type Recent = kymo_core::RecentEntries<Key, TrackId>;

/// Owner of a track.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Key {
    /// A processor; its interrupts are on it.
    Cpu(u64),
    /// A task on a processor.
    Task(u64, i64),
    /// The functions of a thread.
    Thread(i64),
    /// A process or thread of OTF2.
    Location(i64),
}

impl CacheEntry for Key {
    #[inline]
    fn number(self) -> u64 {
        match self {
            Self::Cpu(cpu) => cpu,
            // Tasks of neighbouring numbers run on several processors.
            Self::Task(cpu, tid) => tid.cast_unsigned().wrapping_add(cpu.wrapping_mul(7)),
            Self::Thread(number) | Self::Location(number) => number.cast_unsigned(),
        }
    }
}

impl Lanes {
    /// Goes through all events to find out which tasks there are.
    pub(super) fn new(reader: &Reader, scales: &Scales) -> Self {
        let roles = Arc::new(Roles::new(reader));
        let mut survey = Survey::default();
        if !roles.is_empty() {
            survey = Survey::new(reader, &roles, scales);
        }
        let named = survey.named();
        let Survey { has_waking, strings, regions, .. } = survey;
        let first = reader.tracks().len();
        let found = named.iter().zip(first..).map(|((key, ..), id)| (*key, TrackId(id))).collect();
        Self { roles, named, found, has_waking, strings, regions }
    }

    /// Returns the track and activity that report missing events of a processor's stream. Where
    /// there is no such processor, any of those there are may lack them.
    pub(super) fn gap(&self, cpu: Option<u64>) -> Option<Happening> {
        let own = cpu.and_then(|cpu| self.found.get(&Key::Cpu(cpu)));
        let first = || self.named.first().and_then(|(key, ..)| self.found.get(key));
        let missing = if own.is_some() { Missing::Events } else { Missing::AllEvents };
        own.or_else(first).map(|track| (*track, Activity::Gap(missing)))
    }

    /// Returns the number of tracks.
    pub(super) fn len(&self) -> usize {
        self.named.len()
    }

    /// The tracks, which come after those of streams.
    pub(super) fn tracks(&self) -> impl Iterator<Item = Track> {
        self.named.iter().map(|(key, name, clock)| self.track(*key, name.clone(), *clock))
    }

    fn track(&self, key: Key, name: String, clock: Option<ClockId>) -> Track {
        let (kind, content) = match key {
            Key::Cpu(_) => (TrackKind::Calls, "cpu"),
            Key::Task(..) => (TrackKind::Task, "task"),
            Key::Thread(_) => (TrackKind::Calls, "thread"),
            Key::Location(_) => (TrackKind::Calls, "location"),
        };
        let mut attributes = Map::new();
        let parent = match key {
            Key::Cpu(cpu) => {
                attributes.insert(Track::CPU_ID.to_owned(), json!(cpu));
                attributes.insert(Track::HAS_INTERRUPTS.to_owned(), json!(true));
                None
            }
            Key::Task(cpu, tid) => {
                attributes.insert("tid".to_owned(), json!(tid));
                attributes.insert(Track::TELLS_COMPLETION.to_owned(), json!(true));
                if tid == 0 {
                    attributes.insert(Track::IS_IDLE.to_owned(), json!(true));
                }
                self.found.get(&Key::Cpu(cpu)).copied()
            }
            Key::Thread(_) | Key::Location(_) => None,
        };
        let (content, attributes) = (content.into(), attributes.into());
        Track { name, recording: 0, parent, kind, clock, content, attributes }
    }

    /// The track of a key; the one that was found last at its place is looked at first.
    #[inline]
    fn find(&self, key: Key, recent: &mut Recent) -> Option<TrackId> {
        if let Some(track) = recent.get(key) {
            return Some(track);
        }
        let track = *self.found.get(&key)?;
        recent.put(key, track);
        Some(track)
    }

    /// Tells what an event is on which tracks, in the order in which it happens.
    pub(super) fn interpret(
        &self,
        role: Role,
        cpu: Option<u64>,
        facts: &Facts,
        recent: &mut Recent,
        to: &mut impl FnMut(Happening),
    ) {
        if let Role::Kernel(event) = role {
            return self.kernel(event, cpu, facts, recent, to);
        }
        let mut on = |key: Option<Key>, activity: Activity<'static>| {
            if let Some(track) = key.and_then(|key| self.find(key, recent)) {
                to((track, activity));
            }
        };
        let thread = || {
            facts.number(KnownField::Vtid).or_else(|| facts.number(KnownField::Vpid)).unwrap_or(0)
        };
        let location = || facts.number(KnownField::LocationId).map(Key::Location);
        match role {
            Role::FunctionEntry => {
                let address = facts.number(KnownField::Addr).unwrap_or(0);
                on(Some(Key::Thread(thread())), begin(function_name(address)));
            }
            Role::FunctionExit => {
                let name = facts.number(KnownField::Addr).map(function_name);
                on(Some(Key::Thread(thread())), end(name));
            }
            Role::Enter => {
                let region = facts.number(KnownField::Region).unwrap_or(-1);
                on(location(), begin(self.region_name(region)));
            }
            Role::Leave => {
                let name = facts.number(KnownField::Region).map(|region| self.region_name(region));
                on(location(), end(name));
            }
            Role::Send => on(location(), Activity::Send(self.message(facts, KnownField::Receiver))),
            Role::Receive => {
                on(location(), Activity::Receive(self.message(facts, KnownField::Sender)));
            }
            Role::Kernel(_) | Role::DefineString | Role::DefineRegion | Role::DefineLocation => {}
        }
    }

    /// Tells what an event of the kernel is.
    #[inline]
    fn kernel(
        &self,
        event: KernelEvent,
        cpu: Option<u64>,
        facts: &Facts,
        recent: &mut Recent,
        to: &mut impl FnMut(Happening),
    ) {
        let task = |cpu: Option<u64>, tid: KnownField| Some(Key::Task(cpu?, facts.number(tid)?));
        let by = match event {
            KernelEvent::Switch => None,
            _ => cpu.and_then(|cpu| self.find(Key::Cpu(cpu), recent)),
        };
        let mut on = |key: Option<Key>| key.and_then(|key| self.find(key, recent));
        match event {
            KernelEvent::Switch => {
                if let Some(before) = on(task(cpu, KnownField::PrevTid)) {
                    if facts.number(KnownField::PrevState).is_some_and(KernelEvent::is_asleep) {
                        to((before, Activity::Complete { remaining_ns: None }));
                    }
                    to((before, Activity::End));
                }
                if let Some(next) = on(task(cpu, KnownField::NextTid)) {
                    let priority = facts.number(KnownField::NextPrio);
                    to((next, Activity::Begin { name: None, priority, ends: None }));
                }
            }
            KernelEvent::Wakeup | KernelEvent::WakeupNew | KernelEvent::Waking => {
                let woken = on(task(facts.target().or(cpu), KnownField::Tid));
                if let Some(woken) = woken.filter(|_| event.is_release(self.has_waking)) {
                    to((woken, Activity::Release { budget_ns: None, by }));
                }
            }
            KernelEvent::Irq => {
                let number = facts.number(KnownField::Irq).unwrap_or(-1);
                let name = facts.text(KnownField::Name).map(String::from_utf8_lossy);
                let name = name.map_or(String::new(), |name| format!(" {name}"));
                if let Some(cpu) = by {
                    to((cpu, begin(format!("irq {number}{name}"))));
                }
            }
            KernelEvent::SoftIrq => {
                let number = facts.number(KnownField::Vec).unwrap_or(-1);
                if let Some(cpu) = by {
                    to((cpu, begin(softirq_name(number))));
                }
            }
            KernelEvent::IrqEnd => {
                let number = facts.number(KnownField::Irq);
                if let Some(cpu) = by {
                    to((cpu, end(number.map(|number| format!("irq {number}")))));
                }
            }
            KernelEvent::SoftIrqEnd => {
                let number = facts.number(KnownField::Vec);
                if let Some(cpu) = by {
                    to((cpu, end(number.map(softirq_name))));
                }
            }
        }
    }

    fn region_name(&self, region: i64) -> String {
        let name = self.regions.get(&region).and_then(|text| self.strings.get(text));
        name.cloned().unwrap_or_else(|| format!("region {region}"))
    }

    /// A message of MPI is known by its tag. Ranks are the numbers of their first locations.
    fn message(&self, facts: &Facts, peer: KnownField) -> Message<'static> {
        let peer = facts.number(peer).and_then(|rank| self.found.get(&Key::Location(rank)));
        let name = match facts.number(KnownField::MsgTag) {
            Some(tag) => format!("tag {tag}").into(),
            None => "message".into(),
        };
        Message { name, peer: peer.copied(), peer_time: None }
    }
}

fn function_name(address: i64) -> String {
    format!("{address:#x}")
}

/// The end of what is named, where events tell what they end.
fn end(name: Option<impl Into<Cow<'static, str>>>) -> Activity<'static> {
    name.map_or(Activity::End, |name| Activity::EndOf { name: name.into() })
}

fn begin(name: impl Into<Cow<'static, str>>) -> Activity<'static> {
    Activity::Begin { name: Some(name.into()), priority: None, ends: None }
}
