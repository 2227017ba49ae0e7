//! Any timeline to BBBin.
//!
//! Each recording becomes a log file, or one for each of its processors, or for each task where tasks
//! run side by side and no processor is told, each track of tasks a TASK
//! in every log file that has something of it, each track of states a STATE MACHINE with its states,
//! each thread of functions a GENERIC artifact, each kind of event with named fields a custom type of
//! its log file, and any other track a custom type of one field. Types come before events in the
//! file, so a timeline is gone through twice: to see what its tracks hold, and to write it.
//!
//! Attributes that a timeline of BBBin has ([`crate::carried`]) become again what they were. That
//! times count from the Epoch is said by an artifact of ours in each log file.
//!
//! What BBBin cannot say, and is said to be lost: several clocks, tracks within tracks, characters
//! beyond Latin-1, priorities beyond 32 bits, events without a time, messages from one recording to
//! another, lists that are no arrays, whole numbers beyond 2^53 among such with a point.

mod concurrent_tracks;
mod ids;
mod logs;
mod lost;
mod pending;
mod plan;
mod records;
mod restored;
mod survey;

use std::collections::{BTreeSet, HashMap};
use std::io::{Seek, Write};
use std::sync::Arc;

use kymo_core::{Destination, Result, Value};
use kymo_model::WriteReport;
use kymo_model::kernel::interrupt_key;
use kymo_model::timeline::{
    Activity, Content, Event as Happening, EventTimes, Fields, Message as Flow, Missing, TimeNs,
    TimelineView, TrackId, Window,
};

use crate::model::GENERIC;
use crate::spec::{
    NO_BUDGET, NOBODY_PRIORITY, UNKNOWN_PRIORITY, UNKNOWN_STATE, UNKNOWN_TASK, UNKNOWN_TIME,
};
use crate::types::{ArtifactId, Body, Event, Function, LogFileId, Text, TypeId, to_latin1};
use crate::{Writer, encode};
use lost::LossCounts;
use pending::{Attachable, OwnedMessage, Pending, PendingPart};
use plan::Plan;
use records::Shape;
use survey::value_of;

/// Functions within functions that are known by their names at their ends.
const DEPTH_MAX: usize = 1 << 16;

/// So many of the innermost are searched for a function that returns.
const SEARCHED_MAX: usize = 1 << 12;

/// Writes a timeline.
pub(crate) fn write(timeline: &Arc<dyn TimelineView>, to: &Destination) -> Result<WriteReport> {
    let plan = Plan::new(timeline, to.origins().first())?;
    let mut file = to.file()?;
    let mut taking = TimelineWriter::new(&plan, &mut file)?;
    taking.lost.clocks = timeline.clocks().len().saturating_sub(1) as u64;
    taking.lost.nested = plan.nested() as u64;
    taking.lost.ids = plan.renumbered;
    taking.lost.apart = plan.apart;
    let mut events = Arc::clone(timeline).events_with_fields(&Window::default())?;
    let mut times = EventTimes::default();
    while let Some(event) = events.next()? {
        taking.event(&event, times.next_time(&event, timeline)?)?;
    }
    let written = taking.finish()?;
    file.commit()?;
    Ok(written)
}

/// A timeline that is being written.
struct TimelineWriter<'a, W> {
    plan: &'a Plan,
    writer: Writer<W>,
    lost: LossCounts,
    latest: i64,
    pending: Pending,
    /// The stretches with names that each track is in.
    open: HashMap<TrackId, Vec<Open>>,
}

/// A stretch that has begun.
#[derive(Debug, Clone)]
enum Open {
    Function(Vec<u8>),
    /// A task that only the stretch names.
    Task(ArtifactId),
}

/// Returns true if an end is of what began with a name.
fn has_name(began: &[u8], name: &[u8]) -> bool {
    began == name
        || str::from_utf8(began).is_ok_and(|began| interrupt_key(began).as_bytes() == name)
}

const UNKNOWN: ArtifactId = ArtifactId(UNKNOWN_TASK);

impl<'a, W: Write + Seek> TimelineWriter<'a, W> {
    fn new(plan: &'a Plan, out: W) -> Result<Self> {
        let writer = Writer::new(out, &plan.definitions.log_files, &plan.definitions.types)?;
        Ok(Self {
            plan,
            writer,
            lost: LossCounts::default(),
            latest: i64::MIN,
            pending: Pending::default(),
            open: HashMap::new(),
        })
    }

    /// Takes an event, with the time that it has or gets.
    fn event(&mut self, event: &Happening<'_>, TimeNs(time): TimeNs) -> Result<()> {
        let Some(log) = self.plan.log(event.track) else {
            self.lost.event(event, "unwritten", "an event of a track that is not there");
            return Ok(());
        };
        if self.plan.restored.is_repeated(event.track) {
            return Ok(());
        }
        if event.time.is_none() {
            self.lost.event(
                event,
                "time",
                "an event without a time gets that of another beside it",
            );
        }
        self.lost.order += u64::from(time < self.latest);
        self.latest = self.latest.max(time);
        let keeps = Attachable::from_event(event, !self.plan.is_calls(event.track));
        while let Some((log_file_id, due)) = self.pending.due(log, time, keeps) {
            self.put_due(log_file_id, due)?;
        }
        self.pending.advance(log, time);
        match &event.content {
            Content::Activity(activity) => self.activity(log, event.track, activity),
            Content::Fields(fields) => self.record(log, event, fields),
            _ => self.value(log, event),
        }
    }

    /// Writes an event with fields as one of the type of its kind.
    fn record(&mut self, log: LogFileId, event: &Happening<'_>, fields: &Fields<'_>) -> Result<()> {
        if let Some((type_id, custom)) = self.plan.restored.values(event) {
            return self.put_with(log, Body::Generic, type_id, &custom);
        }
        let shape = Shape::from_event(fields);
        let Some(custom_type) = self.plan.record_type(log, &shape) else {
            self.lost.kinds += 1;
            return self.value(log, event);
        };
        self.lost.untyped += u64::from(self.plan.restored.contains(event.track));
        let Ok(custom) = encode(custom_type, &records::values(fields, custom_type, &mut self.lost))
        else {
            self.lost.event(event, "unwritten", "fields that are not of their types");
            return Ok(());
        };
        self.put_with(log, Body::Generic, custom_type.id, &custom)
    }

    fn activity(&mut self, log: LogFileId, track: TrackId, activity: &Activity<'_>) -> Result<()> {
        let id = self.plan.artifact(track);
        match activity {
            Activity::Begin { name, ends, .. } if self.plan.is_calls(track) => {
                self.call(log, track, name.as_deref().unwrap_or_default(), *ends)
            }
            Activity::Begin { name, priority, .. } => {
                self.begin(log, track, name.as_deref(), *priority)
            }
            Activity::End => self.end(log, track),
            Activity::EndOf { name } => self.end_call(log, track, name),
            Activity::Release { budget_ns, by } => {
                let time_budget = budget_ns.unwrap_or(NO_BUDGET);
                let body = Body::TaskRelease { task: id, time_budget };
                let said = by.and_then(|by| self.plan.released_by(log, by));
                self.lost.releases += u64::from(by.is_some() && said.is_none());
                match said {
                    Some((type_id, cpu)) => self.put_with(log, body, type_id, &cpu),
                    None => self.put(log, body),
                }
            }
            Activity::Complete { remaining_ns } => {
                let remaining_time = remaining_ns.unwrap_or(NO_BUDGET);
                self.put(log, Body::TaskCompletion { task: id, remaining_time })
            }
            Activity::Send(flow) => self.send(log, track, flow),
            Activity::Receive(flow) => self.receive(log, track, flow),
            Activity::Enter { state, settled } => self.enter(log, track, state, *settled),
            Activity::Gap(missing) => self.gap(log, *missing),
        }
    }

    /// Writes that something is missing. Where that may be anything, it is not known who runs in the
    /// other log files of the recording either.
    fn gap(&mut self, log: LogFileId, missing: Missing) -> Result<()> {
        if missing == Missing::AllEvents {
            let is_other = |log_file_id: &LogFileId| {
                *log_file_id != log && self.plan.are_together(*log_file_id, log)
            };
            let others: BTreeSet<_> = self.pending.switching().filter(is_other).collect();
            for other in others {
                let time = self.pending.last_time(log).max(self.pending.last_time(other));
                while let Some((log_file_id, due)) =
                    self.pending.due(other, time, Attachable::Nothing)
                {
                    self.put_due(log_file_id, due)?;
                }
                self.pending.advance(other, time);
                self.put_gap(other, Missing::Switches)?;
            }
        }
        self.put_gap(log, missing)
    }

    /// Writes a switch to nobody knows whom; with what is missing, where that is more than who runs,
    /// or the task that ran did not stop.
    fn put_gap(&mut self, log: LogFileId, missing: Missing) -> Result<()> {
        let (running, stopped) = (self.pending.interrupt(log), self.pending.stopped(log));
        let (in_task, in_task_priority) = (UNKNOWN, UNKNOWN_PRIORITY);
        let out_task = running.or(stopped).unwrap_or(UNKNOWN);
        let switch = Body::TaskSwitch { in_task, out_task, in_task_priority };
        if missing == Missing::Switches && running.is_none() {
            return self.put(log, switch);
        }
        let body = if self.pending.has_switched(log) { switch } else { Body::Generic };
        match self.plan.gap(log, missing) {
            Some((type_id, said)) => self.put_with(log, body, type_id, &said),
            None => self.put(log, body),
        }
    }

    /// Writes the call of a function, with when it ends where that is known.
    fn call(
        &mut self,
        log: LogFileId,
        track: TrackId,
        name: &str,
        ends: Option<TimeNs>,
    ) -> Result<()> {
        let name = self.latin1(name);
        self.opens(track, Open::Function(name.clone()));
        let end_time = ends.map_or(UNKNOWN_TIME, |time| time.0);
        let function = Function { name: Text(&name), end_time };
        self.put_call(log, track, Body::FunctionEnter(function))
    }

    fn begin(
        &mut self,
        log: LogFileId,
        track: TrackId,
        name: Option<&str>,
        priority: Option<i64>,
    ) -> Result<()> {
        let in_task = match name {
            Some(name) => self.plan.named(track, name),
            None => self.plan.artifact(track),
        };
        if name.is_some() {
            self.opens(track, Open::Task(in_task));
        }
        let number = priority.and_then(|priority| i32::try_from(priority).ok());
        self.lost.priorities += u64::from(number.is_none() && priority.is_some());
        let in_task_priority = number.unwrap_or(UNKNOWN_PRIORITY);
        let out_task = self.pending.stopped(log).unwrap_or(UNKNOWN);
        self.pending.run(log, in_task);
        self.put(log, Body::TaskSwitch { in_task, out_task, in_task_priority })
    }

    fn opens(&mut self, track: TrackId, what: Open) {
        let open = self.open.entry(track).or_default();
        if open.len() < DEPTH_MAX {
            open.push(what);
        }
    }

    /// Writes the return of a function that is named; what was called from it is over, too.
    fn end_call(&mut self, log: LogFileId, track: TrackId, name: &str) -> Result<()> {
        if !self.plan.is_calls(track) {
            return self.end(log, track);
        }
        let mut name = self.latin1(name);
        let is_it = |open: &Open| matches!(open, Open::Function(values) if has_name(values, &name));
        if let Some(open) = self.open.get_mut(&track)
            && let Some(within) = open.iter().rev().take(SEARCHED_MAX).position(is_it)
        {
            open.truncate(open.len() - within);
            if let Some(Open::Function(began)) = open.pop() {
                name = began;
            }
        }
        self.put_exit(log, track, &name)
    }

    fn put_exit(&mut self, log: LogFileId, track: TrackId, name: &[u8]) -> Result<()> {
        let function = Function { name: Text(name), end_time: self.pending.last_time(log) };
        self.put_call(log, track, Body::FunctionExit(function))
    }

    fn end(&mut self, log: LogFileId, track: TrackId) -> Result<()> {
        let began = self.open.get_mut(&track).and_then(Vec::pop);
        if self.plan.is_calls(track) {
            // What began before the recording has no name at its end.
            return match began {
                Some(Open::Function(name)) => self.put_exit(log, track, &name),
                _ => self.put_exit(log, track, &[]),
            };
        }
        let stopped = match began {
            Some(Open::Task(task)) => task,
            _ => self.plan.artifact(track),
        };
        self.pending.stop(log, stopped);
        Ok(())
    }

    fn message(&mut self, track: TrackId, flow: &Flow<'_>, is_sending: bool) -> OwnedMessage {
        let own = self.plan.artifact(track);
        let peer = flow.peer.map_or(UNKNOWN, |peer| self.plan.peer(track, peer));
        self.lost.peers += u64::from(flow.peer.is_some() && peer == UNKNOWN);
        let (sender, receiver) = if is_sending { (own, peer) } else { (peer, own) };
        let other_timestamp = flow.peer_time.map_or(UNKNOWN_TIME, |time| time.0);
        OwnedMessage { sender, receiver, other_timestamp, name: self.latin1(&flow.name) }
    }

    fn send(&mut self, log: LogFileId, track: TrackId, flow: &Flow<'_>) -> Result<()> {
        let owned = self.message(track, flow, true);
        let message = owned.message();
        // What a log file itself sends was sent by a state machine that nobody knows.
        let body = if self.plan.is_machine(track) || self.plan.is_log_file(track) {
            Body::SrlSend { message, receiver_instance: 0 }
        } else {
            Body::Send(message)
        };
        self.put(log, body)
    }

    fn receive(&mut self, log: LogFileId, track: TrackId, flow: &Flow<'_>) -> Result<()> {
        let message = self.message(track, flow, false);
        if self.plan.is_machine(track) || self.plan.is_log_file(track) {
            self.pending.receive(log, track, message);
            return Ok(());
        }
        self.put(log, Body::Receive(message.message()))
    }

    fn enter(
        &mut self,
        log: LogFileId,
        track: TrackId,
        state: &str,
        settled: Option<TimeNs>,
    ) -> Result<()> {
        let message = self.pending.received(log, track).unwrap_or_else(|| OwnedMessage {
            sender: UNKNOWN,
            receiver: self.plan.artifact(track),
            other_timestamp: UNKNOWN_TIME,
            name: Vec::new(),
        });
        let state = self.plan.state(track, state);
        let finish_timestamp = settled.map_or(UNKNOWN_TIME, |time| time.0);
        let message = message.message();
        self.put(log, Body::SrlReceive { message, state, finish_timestamp })
    }

    /// Writes what no event belonged to.
    fn put_due(&mut self, log: LogFileId, due: PendingPart) -> Result<()> {
        match due {
            PendingPart::Stopped(out_task) => {
                let in_task_priority = NOBODY_PRIORITY;
                self.put(log, Body::TaskSwitch { in_task: UNKNOWN, out_task, in_task_priority })
            }
            PendingPart::Received(message) => {
                let (state, finish_timestamp) = (ArtifactId(UNKNOWN_STATE), UNKNOWN_TIME);
                let message = message.message();
                self.put(log, Body::SrlReceive { message, state, finish_timestamp })
            }
        }
    }

    /// Writes a value as an event of the track's own type.
    fn value(&mut self, log: LogFileId, event: &Happening<'_>) -> Result<()> {
        let is_generic = matches!(&event.content, Content::Text(text) if text == GENERIC);
        if is_generic && self.plan.is_log_file(event.track) {
            return self.put(log, Body::Generic);
        }
        if let Some((type_id, custom)) = self.plan.restored.values(event) {
            return self.put_with(log, Body::Generic, type_id, &custom);
        }
        self.lost.untyped += u64::from(self.plan.restored.contains(event.track));
        let Some(this_custom_type) = self.plan.custom_type(event.track) else {
            self.lost.event(event, "unwritten", "the timeline had no values here before");
            return Ok(());
        };
        let value = match value_of(event) {
            Value::Text(text) => Value::Text(Text(&self.latin1(&text)).to_string()),
            value => records::fit_number(value, plan::value_type(this_custom_type), &mut self.lost),
        };
        let Ok(custom) = encode(this_custom_type, &[value]) else {
            self.lost.event(event, "unwritten", "a value that is not of the kind of the first");
            return Ok(());
        };
        self.put_with(log, Body::Generic, this_custom_type.id, &custom)
    }

    /// Writes a call, with the thread that it is on.
    fn put_call(&mut self, log: LogFileId, track: TrackId, body: Body<'_>) -> Result<()> {
        match self.plan.thread(track) {
            Some((type_id, thread)) => self.put_with(log, body, type_id, &thread),
            None => self.put(log, body),
        }
    }

    fn put(&mut self, log: LogFileId, body: Body<'_>) -> Result<()> {
        self.put_with(log, body, self.plan.empty_type(log), &[])
    }

    fn put_with(
        &mut self,
        log_file: LogFileId,
        body: Body<'_>,
        custom_type: TypeId,
        custom: &[u8],
    ) -> Result<()> {
        let timestamp = self.pending.last_time(log_file);
        self.writer.write(&Event { timestamp, log_file, body, custom_type, custom })
    }

    fn latin1(&mut self, text: &str) -> Vec<u8> {
        let (bytes, lost) = to_latin1(text);
        self.lost.characters += lost;
        bytes
    }

    fn finish(mut self) -> Result<WriteReport> {
        while let Some((log, due)) = self.pending.last() {
            self.put_due(log, due)?;
        }
        let events = self.writer.num_events();
        let finished = self.writer.finish(&self.plan.definitions.artifacts)?;
        self.lost.characters += finished.lost_characters;
        Ok(WriteReport { events, losses: self.lost.findings(self.plan.tracks()) })
    }
}
