//! Who there is: found by going through all events once, stream by stream.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use foldhash::fast::RandomState;
use kymo_core::{Finding, Severity};

use super::facts::Facts;
use super::lanes::Key;
use super::roles::{Role, Roles};
use crate::Reader;
use crate::read::{Known, Place, TrackCursor};

/// What is looked up for every event.
pub(super) type Lookup<K, V> = HashMap<K, V, RandomState>;

/// What events say of who there is.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// What there is a track of. Tasks have their names below, but for idle ones.
    pub(super) names: Lookup<Key, Name>,
    /// Names of tasks by their numbers: one has the same wherever it ran.
    pub(super) tasks: Lookup<i64, Name>,
    /// What asks for wakeups is a release; where nothing does, wakeups are.
    pub(super) has_waking: bool,
    pub(super) strings: Lookup<i64, String>,
    pub(super) regions: Lookup<i64, i64>,
    pub(super) locations: Lookup<i64, i64>,
}

/// The name that something gave itself last.
#[derive(Debug, Default)]
pub(super) struct Name {
    pub(super) text: String,
    since: Option<i64>,
}

/// Notes a name. Streams are read one after the other, so that times tell which is the last.
fn note<K: std::hash::Hash + Eq>(
    names: &mut Lookup<K, Name>,
    key: K,
    time: Option<i64>,
    text: &str,
) {
    match names.entry(key) {
        Entry::Vacant(entry) => drop(entry.insert(Name { text: text.to_owned(), since: time })),
        Entry::Occupied(entry) => {
            let name = entry.into_mut();
            if time < name.since {
                return;
            }
            name.since = time;
            if name.text != text {
                text.clone_into(&mut name.text);
            }
        }
    }
}

impl Survey {
    pub(super) fn new(reader: &Reader, roles: &Arc<Roles>) -> Self {
        let mut survey = Self::default();
        let most = usize::try_from(reader.limits().items_max).unwrap_or(usize::MAX);
        let mut facts = Facts::surveying(roles);
        for track in reader.tracks() {
            let mut cursor = TrackCursor::new(reader, track.packets.clone());
            while let Some(taken) = cursor.take(reader, &mut facts) {
                let Some(role) = roles.get(taken.event.kind) else { continue };
                if survey.names.len() + survey.strings.len() + survey.regions.len() >= most {
                    too_many(reader, most);
                    return survey;
                }
                survey.see(role, taken.packet.cpu, taken.head.time_ns, &facts);
            }
        }
        survey
    }

    /// Notes what an event says of who there is.
    fn see(&mut self, role: Role, cpu: Option<u64>, time: Option<i64>, facts: &Facts) {
        let pair = facts.number(Known::SelfId).zip(facts.number(Known::Name));
        match role {
            Role::Switch => {
                let (stops, runs) = (facts.number(Known::PrevTid), facts.number(Known::NextTid));
                self.task(cpu, stops, time, facts.text(Known::PrevComm));
                self.task(cpu, runs, time, facts.text(Known::NextComm));
            }
            Role::Wakeup | Role::WakeupNew | Role::Waking => {
                self.has_waking |= role == Role::Waking;
                let target = facts.number(Known::TargetCpu).and_then(|cpu| u64::try_from(cpu).ok());
                let name = facts.text(Known::Comm);
                self.task(target.or(cpu), facts.number(Known::Tid), time, name);
            }
            Role::Irq | Role::SoftIrq | Role::IrqEnd => self.cpu(cpu),
            Role::FunctionEntry | Role::FunctionExit => {
                let thread = facts.number(Known::Vtid).or_else(|| facts.number(Known::Vpid));
                let name = facts.text(Known::Procname).unwrap_or("thread");
                note(&mut self.names, Key::Thread(thread.unwrap_or(0)), time, name);
            }
            Role::Enter | Role::Leave | Role::Send | Role::Receive => {
                if let Some(location) = facts.number(Known::LocationId) {
                    self.names.entry(Key::Location(location)).or_default();
                }
            }
            Role::DefineString => {
                let text = facts.number(Known::SelfId).zip(facts.text(Known::StringValue));
                self.strings.extend(text.map(|(id, text)| (id, text.to_owned())));
            }
            Role::DefineRegion => self.regions.extend(pair),
            Role::DefineLocation => self.locations.extend(pair),
        }
    }

    fn cpu(&mut self, cpu: Option<u64>) {
        if let Some(cpu) = cpu {
            self.names.entry(Key::Cpu(cpu)).or_default();
        }
    }

    fn task(&mut self, cpu: Option<u64>, tid: Option<i64>, time: Option<i64>, name: Option<&str>) {
        let (Some(on), Some(tid), name) = (cpu, tid, name.unwrap_or("task")) else { return };
        self.cpu(cpu);
        let key = Key::Task(on, tid);
        if tid == 0 {
            return note(&mut self.names, key, time, name);
        }
        self.names.entry(key).or_default();
        note(&mut self.tasks, tid, time, name);
    }

    /// What there is a track of, in the order of keys, with its name.
    pub(super) fn named(&mut self) -> Vec<(Key, String)> {
        let mut all: Vec<_> = self.names.drain().collect();
        all.sort_unstable_by_key(|(key, _)| *key);
        let named = |(key, own): (Key, Name)| {
            let name = match key {
                Key::Cpu(cpu) => format!("cpu {cpu}"),
                Key::Task(_, 0) => own.text,
                Key::Task(_, tid) => {
                    let name = self.tasks.get(&tid).map_or("task", |name| &name.text);
                    format!("{name}-{tid}")
                }
                Key::Thread(thread) => format!("{}-{thread}", own.text),
                Key::Location(location) => {
                    let text = self.locations.get(&location);
                    let text = text.and_then(|text| self.strings.get(text));
                    format!("{} {location}", text.map_or("location", String::as_str))
                }
            };
            (key, name)
        };
        all.into_iter().map(named).collect()
    }
}

fn too_many(reader: &Reader, most: usize) {
    let message = format!("more than {most} tasks and names: the rest are on no track");
    let rule = "too-many-tasks";
    reader.add(Place::Whole(rule), Finding::whole(Severity::Warning, rule, message));
}
