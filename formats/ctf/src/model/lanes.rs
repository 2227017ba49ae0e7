//! Tracks of processors, tasks, threads and processes: those that events tell of.

use std::sync::Arc;

use kymo_core::model::timeline::{Activity, ClockId, Message, Track, TrackId, TrackKind};
use serde_json::{Map, json};

use super::facts::Facts;
use super::roles::{Role, Roles};
use super::survey::{Lookup, Survey};
use crate::Reader;
use crate::read::Known;

/// States of a task that can run: the highest bits only say how it was stopped.
const SLEEPING: i64 = 0xFF;

/// What happens on a track.
pub(super) type Happening = (TrackId, Activity<'static>);

/// The tracks that come after those of streams, and how events find theirs.
#[derive(Debug)]
pub(super) struct Lanes {
    pub(super) roles: Arc<Roles>,
    pub(super) tracks: Vec<Track>,
    found: Lookup<Key, TrackId>,
    /// What asks for wakeups is a release; where nothing does, wakeups are.
    has_waking: bool,
    strings: Lookup<i64, String>,
    regions: Lookup<i64, i64>,
}

/// What a track is of.
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

impl Lanes {
    /// Goes through all events to find out which tasks there are.
    pub(super) fn new(reader: &Reader) -> Self {
        let roles = Arc::new(Roles::new(reader.layouts()));
        let is_any = !roles.is_empty();
        let mut survey = if is_any { Survey::new(reader, &roles) } else { Survey::default() };
        let names = survey.named();
        let Survey { has_waking, strings, regions, .. } = survey;
        let (tracks, found) = (Vec::new(), Lookup::default());
        let mut lanes = Self { roles, tracks, found, has_waking, strings, regions };
        lanes.add_tracks(reader, names);
        lanes
    }

    fn add_tracks(&mut self, reader: &Reader, names: Vec<(Key, String)>) {
        let first = reader.tracks().len();
        // Processors come first in the order of keys, so that parents come before children.
        for (key, name) in names {
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
            self.found.insert(key, TrackId(first + self.tracks.len()));
            self.tracks.push(Track {
                name,
                recording: 0,
                parent,
                kind,
                clock: (!reader.trace().clocks.is_empty()).then_some(ClockId(0)),
                content: content.to_owned(),
                attributes,
            });
        }
    }

    /// Tells what an event is on which tracks, in the order in which it happens.
    pub(super) fn tell(
        &self,
        role: Role,
        cpu: Option<u64>,
        facts: &Facts,
        to: &mut impl FnMut(Happening),
    ) {
        let mut on = |key: Option<Key>, activity: Activity<'static>| {
            if let Some(track) = key.and_then(|key| self.found.get(&key)) {
                to((*track, activity));
            }
        };
        let task = |cpu: Option<u64>, tid: Known| Some(Key::Task(cpu?, facts.number(tid)?));
        let thread =
            || facts.number(Known::Vtid).or_else(|| facts.number(Known::Vpid)).unwrap_or(0);
        let location = || facts.number(Known::LocationId).map(Key::Location);
        match role {
            Role::Switch => {
                let before = task(cpu, Known::PrevTid);
                let slept =
                    facts.number(Known::PrevState).is_some_and(|state| state & SLEEPING != 0);
                if slept {
                    on(before, Activity::Complete { remaining_ns: None });
                }
                on(before, Activity::End);
                let priority = facts.number(Known::NextPrio);
                on(task(cpu, Known::NextTid), Activity::Begin { name: None, priority });
            }
            Role::Wakeup if self.has_waking => {}
            Role::Wakeup | Role::WakeupNew | Role::Waking => {
                let target = facts.number(Known::TargetCpu).and_then(|cpu| u64::try_from(cpu).ok());
                let by = cpu.and_then(|cpu| self.found.get(&Key::Cpu(cpu))).copied();
                on(task(target.or(cpu), Known::Tid), Activity::Release { budget_ns: None, by });
            }
            Role::Irq => {
                let number = facts.number(Known::Irq).unwrap_or(-1);
                let name = facts.text(Known::Name).map_or(String::new(), |name| format!(" {name}"));
                on(cpu.map(Key::Cpu), begin(format!("irq {number}{name}")));
            }
            Role::SoftIrq => {
                let number = facts.number(Known::Vec).unwrap_or(-1);
                on(cpu.map(Key::Cpu), begin(format!("softirq {number}")));
            }
            Role::IrqEnd => on(cpu.map(Key::Cpu), Activity::End),
            Role::FunctionEntry => {
                let address = facts.number(Known::Addr).unwrap_or(0);
                on(Some(Key::Thread(thread())), begin(format!("{address:#x}")));
            }
            Role::FunctionExit => on(Some(Key::Thread(thread())), Activity::End),
            Role::Enter => {
                let region = facts.number(Known::Region).unwrap_or(-1);
                let name = self.regions.get(&region).and_then(|text| self.strings.get(text));
                on(location(), begin(name.cloned().unwrap_or_else(|| format!("region {region}"))));
            }
            Role::Leave => on(location(), Activity::End),
            Role::Send => on(location(), Activity::Send(self.message(facts, Known::Receiver))),
            Role::Receive => on(location(), Activity::Receive(self.message(facts, Known::Sender))),
            Role::DefineString | Role::DefineRegion | Role::DefineLocation => {}
        }
    }

    /// A message of MPI is known by its tag. Ranks are the numbers of their first locations.
    fn message(&self, facts: &Facts, peer: Known) -> Message<'static> {
        let peer = facts.number(peer).and_then(|rank| self.found.get(&Key::Location(rank)));
        let name = match facts.number(Known::MsgTag) {
            Some(tag) => format!("tag {tag}").into(),
            None => "message".into(),
        };
        Message { name, peer: peer.copied(), peer_time: None }
    }
}

fn begin(name: String) -> Activity<'static> {
    Activity::Begin { name: Some(name.into()), priority: None }
}
