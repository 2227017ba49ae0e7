//! Survey of the owners of tracks: found by going through all events once, stream by stream.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use foldhash::fast::RandomState;
use kymo_core::{Finding, RecentEntries, Severity};
use kymo_model::kernel::KernelEvent;
use kymo_model::timeline::ClockId;

use super::facts::{Facts, is_missing_cpu};
use super::lanes::Key;
use super::roles::{Role, Roles};
use crate::Reader;
use crate::notices::EventNotices;
use crate::read::{KnownField, Place, sweep};
use crate::scales::Scales;

/// Table that is looked up for every event.
pub(super) type Lookup<K, V> = HashMap<K, V, RandomState>;

/// Survey of the owners of tracks, as events name them.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// Keys of the tracks, by the place of their name.
    keys: Lookup<Key, usize>,
    /// The places of names of tasks by their numbers: one has the same wherever it ran.
    tasks: Lookup<i64, usize>,
    names: Vec<Name>,
    /// The places of the names of tasks that were seen last.
    recent: RecentEntries<Key, usize>,
    /// The clock of the stream that is gone through.
    clock: Option<ClockId>,
    /// True if there are requests for wakeups: they are releases then; otherwise wakeups are.
    pub(super) has_waking: bool,
    pub(super) strings: Lookup<i64, String>,
    pub(super) regions: Lookup<i64, i64>,
    pub(super) locations: Lookup<i64, i64>,
}

/// The name that something gave itself last, as it was recorded.
#[derive(Debug, Default)]
struct Name {
    text: Vec<u8>,
    since: Option<i64>,
    /// The clock of the stream that told of it first.
    clock: Option<ClockId>,
}

impl Name {
    /// Notes a name. Streams are read one after the other, so that times tell which is the last.
    #[inline]
    fn note(&mut self, time: Option<i64>, text: &[u8]) {
        if time < self.since {
            return;
        }
        self.since = time;
        if self.text != text {
            self.text.clear();
            self.text.extend_from_slice(text);
        }
    }

    fn shown(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.text)
    }
}

impl Survey {
    pub(super) fn new(reader: &Reader, roles: &Arc<Roles>, scales: &Scales) -> Self {
        let mut survey = Self::default();
        let most = usize::try_from(reader.limits().items_max).unwrap_or(usize::MAX);
        let mut facts = Facts::for_survey(roles);
        for (number, track) in reader.tracks().iter().enumerate() {
            let mut nowhere = EventNotices::for_processors();
            survey.clock = scales.scale_index(reader, track).map(ClockId);
            let flow = sweep(reader, &track.packets, &mut facts, |taken, facts| {
                let Some(role) = roles.get(taken.event.kind) else {
                    return ControlFlow::Continue(());
                };
                if survey.keys.len() + survey.strings.len() + survey.regions.len() >= most {
                    too_many(reader, most);
                    return ControlFlow::Break(());
                }
                let cpu = facts.cpu(taken.packet);
                survey.add_event(role, cpu, taken.head.time_ns, facts);
                if let Role::Kernel(event) = role
                    && is_missing_cpu(event, cpu, facts.target())
                {
                    nowhere.add(reader, number, taken);
                }
                ControlFlow::Continue(())
            });
            nowhere.report(reader);
            if flow.is_break() {
                break;
            }
        }
        survey
    }

    /// Notes what an event says of who there is.
    fn add_event(&mut self, role: Role, cpu: Option<u64>, time: Option<i64>, facts: &Facts) {
        let pair = facts.number(KnownField::SelfId).zip(facts.number(KnownField::Name));
        match role {
            Role::Kernel(KernelEvent::Switch) => {
                let (stops, runs) =
                    (facts.number(KnownField::PrevTid), facts.number(KnownField::NextTid));
                self.task(cpu, stops, time, facts.text(KnownField::PrevComm));
                self.task(cpu, runs, time, facts.text(KnownField::NextComm));
            }
            Role::Kernel(
                event @ (KernelEvent::Wakeup | KernelEvent::WakeupNew | KernelEvent::Waking),
            ) => {
                self.has_waking |= event == KernelEvent::Waking;
                let name = facts.text(KnownField::Comm);
                self.task(facts.target().or(cpu), facts.number(KnownField::Tid), time, name);
            }
            Role::Kernel(_) => self.cpu(cpu),
            Role::FunctionEntry | Role::FunctionExit => {
                let thread =
                    facts.number(KnownField::Vtid).or_else(|| facts.number(KnownField::Vpid));
                let name = facts.text(KnownField::Procname).unwrap_or(b"thread");
                let place = self.place(Key::Thread(thread.unwrap_or(0)));
                self.note(place, time, name);
            }
            Role::Enter | Role::Leave | Role::Send | Role::Receive => {
                if let Some(location) = facts.number(KnownField::LocationId) {
                    self.place(Key::Location(location));
                }
            }
            Role::DefineString => {
                let text =
                    facts.number(KnownField::SelfId).zip(facts.text(KnownField::StringValue));
                let text = text.map(|(id, text)| (id, String::from_utf8_lossy(text).into_owned()));
                self.strings.extend(text);
            }
            Role::DefineRegion => self.regions.extend(pair),
            Role::DefineLocation => self.locations.extend(pair),
        }
    }

    fn cpu(&mut self, cpu: Option<u64>) {
        if let Some(cpu) = cpu {
            self.place(Key::Cpu(cpu));
        }
    }

    /// The place of the name of what there is a track of.
    fn place(&mut self, key: Key) -> usize {
        let Self { keys, names, clock, .. } = self;
        *keys.entry(key).or_insert_with(|| {
            names.push(Name { clock: *clock, ..Name::default() });
            names.len() - 1
        })
    }

    fn note(&mut self, place: usize, time: Option<i64>, text: &[u8]) {
        let name = self.names.get_mut(place);
        debug_assert!(name.is_some(), "what there is a track of has a place for its name");
        if let Some(name) = name {
            name.note(time, text);
        }
    }

    fn task(&mut self, cpu: Option<u64>, tid: Option<i64>, time: Option<i64>, name: Option<&[u8]>) {
        let (Some(cpu), Some(tid), name) = (cpu, tid, name.unwrap_or(b"task")) else { return };
        let key = Key::Task(cpu, tid);
        let place = self.recent.get(key).unwrap_or_else(|| {
            let place = self.task_place(cpu, tid);
            self.recent.put(key, place);
            place
        });
        self.note(place, time, name);
    }

    /// The place of the name of a task, which has a track on a processor. Idle ones have a name for
    /// each processor.
    fn task_place(&mut self, cpu: u64, tid: i64) -> usize {
        self.cpu(Some(cpu));
        let own = self.place(Key::Task(cpu, tid));
        if tid == 0 {
            return own;
        }
        *self.tasks.entry(tid).or_insert(own)
    }

    /// Returns the keys of the tracks, in their order, with their names and clocks.
    pub(super) fn named(&mut self) -> Vec<(Key, String, Option<ClockId>)> {
        let mut all: Vec<_> = self.keys.drain().collect();
        all.sort_unstable_by_key(|(key, _)| *key);
        let shown = |place: usize| self.names.get(place).map_or("".into(), Name::shown);
        let named = |(key, own): (Key, usize)| {
            let name = match key {
                Key::Cpu(cpu) => format!("cpu {cpu}"),
                Key::Task(_, 0) => shown(own).into_owned(),
                Key::Task(_, tid) => {
                    let place = self.tasks.get(&tid).copied().unwrap_or(own);
                    format!("{}-{tid}", shown(place))
                }
                Key::Thread(thread) => format!("{}-{thread}", shown(own)),
                Key::Location(location) => {
                    let text = self.locations.get(&location);
                    let text = text.and_then(|text| self.strings.get(text));
                    format!("{} {location}", text.map_or("location", String::as_str))
                }
            };
            (key, name, self.names.get(own).and_then(|name| name.clock))
        };
        all.into_iter().map(named).collect()
    }
}

fn too_many(reader: &Reader, most: usize) {
    let message = format!("more than {most} tasks and names: the rest are on no track");
    let rule = "too-many-tasks";
    reader.add(Place::Whole(rule), Finding::for_whole_file(Severity::Warning, rule, message));
}
