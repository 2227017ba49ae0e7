//! Tracks of processors, tasks, threads and processes: those that events tell of.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use kymo_core::model::timeline::{Activity, ClockId, Message, Track, TrackId, TrackKind};
use kymo_core::{Finding, Severity};
use serde_json::{Map, json};

use super::facts::Facts;
use super::roles::{Role, Roles};
use crate::Reader;
use crate::read::{Chosen, Known, Merged, Place};

/// States of a task that can run: the highest bits only say how it was stopped.
const SLEEPING: i64 = 0xFF;

/// What happens on a track.
pub(super) type Happening = (TrackId, Activity<'static>);

/// The tracks that come after those of streams, and how events find theirs.
#[derive(Debug)]
pub(super) struct Lanes {
    pub(super) roles: Arc<Roles>,
    pub(super) tracks: Vec<Track>,
    found: HashMap<Key, TrackId>,
    /// What asks for wakeups is a release; where nothing does, wakeups are.
    has_waking: bool,
    /// Names of tasks by their numbers.
    tasks: HashMap<i64, String>,
    strings: HashMap<i64, String>,
    regions: HashMap<i64, i64>,
    locations: HashMap<i64, i64>,
}

/// What a track is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Key {
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
    pub(super) fn new(reader: &Arc<Reader>) -> Self {
        let mut lanes = Self {
            roles: Arc::new(Roles::new(reader.layouts())),
            tracks: Vec::new(),
            found: HashMap::new(),
            has_waking: false,
            tasks: HashMap::new(),
            strings: HashMap::new(),
            regions: HashMap::new(),
            locations: HashMap::new(),
        };
        if lanes.roles.is_empty() {
            return lanes;
        }
        let mut names: BTreeMap<Key, String> = BTreeMap::new();
        let mut merged = Merged::new(reader, &Chosen::default());
        let mut facts = Facts::new(&lanes.roles, true);
        let most = usize::try_from(reader.limits().items_max).unwrap_or(usize::MAX);
        while let Some((_, taken)) = merged.next(&mut facts) {
            let Some(role) = lanes.roles.get(taken.event.kind) else { continue };
            if names.len() + lanes.strings.len() + lanes.regions.len() >= most {
                too_many(reader, most);
                break;
            }
            lanes.survey(role, taken.packet.cpu, &facts, &mut names);
        }
        lanes.add_tracks(reader, names);
        lanes
    }

    /// Notes what an event says of who there is.
    fn survey(
        &mut self,
        role: Role,
        cpu: Option<u64>,
        facts: &Facts,
        names: &mut BTreeMap<Key, String>,
    ) {
        let tasks = &mut self.tasks;
        let mut task = |cpu: Option<u64>, tid: Option<i64>, name: Option<&str>| {
            let (Some(cpu), Some(tid)) = (cpu, tid) else { return };
            names.entry(Key::Cpu(cpu)).or_insert_with(|| format!("cpu {cpu}"));
            let own = names.entry(Key::Task(cpu, tid)).or_default();
            // A task has one name, the last one it gave itself, wherever it ran.
            let known = if tid == 0 { own } else { tasks.entry(tid).or_default() };
            let name = name.unwrap_or("task");
            if known != name {
                name.clone_into(known);
            }
        };
        let text = facts.number(Known::SelfId).zip(facts.number(Known::Name));
        match role {
            Role::Switch => {
                task(cpu, facts.number(Known::PrevTid), facts.text(Known::PrevComm));
                task(cpu, facts.number(Known::NextTid), facts.text(Known::NextComm));
            }
            Role::Wakeup | Role::WakeupNew | Role::Waking => {
                self.has_waking |= role == Role::Waking;
                let target = facts.number(Known::TargetCpu).and_then(|cpu| u64::try_from(cpu).ok());
                task(target.or(cpu), facts.number(Known::Tid), facts.text(Known::Comm));
            }
            Role::Irq | Role::SoftIrq | Role::IrqEnd => {
                if let Some(cpu) = cpu {
                    names.entry(Key::Cpu(cpu)).or_insert_with(|| format!("cpu {cpu}"));
                }
            }
            Role::FunctionEntry | Role::FunctionExit => {
                let thread = facts.number(Known::Vtid).or_else(|| facts.number(Known::Vpid));
                let thread = thread.unwrap_or(0);
                let name = facts.text(Known::Procname).unwrap_or("thread");
                names.insert(Key::Thread(thread), format!("{name}-{thread}"));
            }
            Role::Enter | Role::Leave | Role::Send | Role::Receive => {
                if let Some(location) = facts.number(Known::LocationId) {
                    names.entry(Key::Location(location)).or_default();
                }
            }
            Role::DefineString => {
                let text = facts.number(Known::SelfId).zip(facts.text(Known::StringValue));
                self.strings.extend(text.map(|(id, text)| (id, text.to_owned())));
            }
            Role::DefineRegion => self.regions.extend(text),
            Role::DefineLocation => self.locations.extend(text),
        }
    }

    fn add_tracks(&mut self, reader: &Reader, mut names: BTreeMap<Key, String>) {
        let first = reader.tracks().len();
        for (key, name) in &mut names {
            match key {
                Key::Task(_, tid) if *tid != 0 => {
                    *name = format!("{}-{tid}", self.tasks.get(tid).map_or("task", String::as_str));
                }
                Key::Location(location) => {
                    let text = self.locations.get(location).and_then(|text| self.strings.get(text));
                    *name = format!("{} {location}", text.map_or("location", String::as_str));
                }
                _ => {}
            }
        }
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

fn too_many(reader: &Reader, most: usize) {
    let message = format!("more than {most} tasks and names: the rest are on no track");
    let rule = "too-many-tasks";
    reader.add(Place::Whole(rule), Finding::whole(Severity::Warning, rule, message));
}
