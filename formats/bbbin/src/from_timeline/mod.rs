//! Any timeline to BBBin.
//!
//! Each recording becomes a log file, or one for each of its processors, each track of tasks a TASK
//! in every log file that has something of it, each track of states a STATE MACHINE with its states,
//! each thread of functions a GENERIC artifact, each kind of event with named fields a custom type of
//! its log file, and any other track a custom type of one field. Types come before events in the
//! file, so a timeline is gone through twice: to see what its tracks hold, and to write it.
//!
//! What BBBin cannot say, and is said to be lost: several clocks, tracks within tracks, characters
//! beyond Latin-1, priorities beyond 32 bits, events without a time, messages from one recording to
//! another, lists that are no arrays.

mod ids;
mod logs;
mod plan;
mod records;
mod survey;

use std::collections::{BTreeSet, HashMap};
use std::io::{Seek, Write};
use std::sync::Arc;

use kymo_core::model::timeline::{
    Activity, Content, Event as Happening, Fields, Message as Flow, TimeNs, TimelineView, TrackId,
    Window,
};
use kymo_core::{Destination, Finding, Result, Severity, Value, Written, shortened};

use crate::spec::{NO_BUDGET, UNKNOWN_PRIORITY, UNKNOWN_STATE, UNKNOWN_TASK, UNKNOWN_TIME};
use crate::types::{
    ArtifactId, Body, Event, Function, LogFileId, Message, Text, TypeId, to_latin1,
};
use crate::{Writer, encode};
use plan::Plan;
use records::Shape;
use survey::value_of;

/// Losses that are told one by one; a timeline may have as many as events.
const LOSSES_MAX: usize = 1000;

/// Functions within functions that are known by their names at their ends.
const DEPTH_MAX: usize = 1 << 16;

/// Writes a timeline.
pub(crate) fn write(timeline: Arc<dyn TimelineView>, to: &Destination) -> Result<Written> {
    let plan = Plan::new(&timeline, to.origins().first())?;
    let mut file = to.file()?;
    let mut taking = Taking::new(&plan, &mut file)?;
    taking.lost.clocks = timeline.clocks().len().saturating_sub(1) as u64;
    taking.lost.nested = plan.nested() as u64;
    let mut events = timeline.events_with_fields(&Window::default())?;
    while let Some(event) = events.next()? {
        taking.event(&event)?;
    }
    let written = taking.finish()?;
    file.commit()?;
    Ok(written)
}

/// A timeline that is being written.
struct Taking<'a, W> {
    plan: &'a Plan,
    writer: Writer<W>,
    written: Written,
    lost: Lost,
    latest: i64,
    logs: HashMap<LogFileId, LogState>,
    /// Log files that have something to say yet, by its time.
    waiting: BTreeSet<(i64, LogFileId)>,
    /// The stretches with names that each track is in.
    open: HashMap<TrackId, Vec<Open>>,
}

/// What is lost, or not as it should be, and how often.
#[derive(Debug, Default)]
struct Lost {
    characters: u64,
    /// Messages whose other end is of another recording.
    peers: u64,
    priorities: u64,
    /// Events that are earlier than the one before.
    order: u64,
    clocks: u64,
    nested: u64,
    /// Lists that are no arrays.
    lists: u64,
    /// Events that are of none of the kinds that have types of their own.
    kinds: u64,
}

impl Lost {
    /// Says it.
    fn findings(&self) -> impl Iterator<Item = Finding> {
        let Self { characters, peers, priorities, order, clocks, nested, lists, kinds } = *self;
        let said = [
            (clocks, "clocks", format!("{} clocks become one time axis", clocks + 1)),
            (nested, "parent", format!("{nested} tracks are no longer under the track they were")),
            (
                order,
                "order",
                format!(
                    "times go back, {order} times in all, and events are written as they come: \
                     `kymo merge --sort` sorts them"
                ),
            ),
            (
                peers,
                "peer",
                format!(
                    "the other end of {peers} messages is in another log file, which BBBin cannot \
                     name"
                ),
            ),
            (priorities, "priority", format!("{priorities} priorities have more than 32 bits")),
            (
                lists,
                "lists",
                format!("{lists} lists whose values are none, or not of one type, became texts"),
            ),
            (
                kinds,
                "kinds",
                format!(
                    "the fields of {kinds} events became one text: there are more kinds of events \
                     than {}",
                    records::SHAPES_MAX
                ),
            ),
            (
                characters,
                "latin-1",
                format!("{characters} characters are not in Latin-1, and became question marks"),
            ),
        ];
        let lost = said.into_iter().filter(|(count, ..)| *count > 0);
        lost.map(|(_, rule, message)| Finding::whole(Severity::Warning, rule, message))
    }
}

/// A stretch that has begun.
#[derive(Debug, Clone)]
enum Open {
    Function(Vec<u8>),
    /// A task that only the stretch names.
    Task(ArtifactId),
}

/// What a log file has yet to say, since the next event may belong to it.
#[derive(Debug, Clone, Default)]
struct LogState {
    now: i64,
    /// A task that stopped, when no other has begun yet.
    stopped: Option<ArtifactId>,
    /// A message that a state machine received, when no state was entered yet.
    received: Option<(TrackId, OwnedMessage)>,
}

#[derive(Debug, Clone)]
struct OwnedMessage {
    sender: ArtifactId,
    receiver: ArtifactId,
    other_timestamp: i64,
    name: Vec<u8>,
}

impl OwnedMessage {
    fn message(&self) -> Message<'_> {
        Message {
            sender: self.sender,
            receiver: self.receiver,
            other_timestamp: self.other_timestamp,
            name: Text(&self.name),
        }
    }
}

const UNKNOWN: ArtifactId = ArtifactId(UNKNOWN_TASK);

impl<'a, W: Write + Seek> Taking<'a, W> {
    fn new(plan: &'a Plan, out: W) -> Result<Self> {
        let writer = Writer::new(out, &plan.definitions.log_files, &plan.definitions.types)?;
        Ok(Self {
            plan,
            writer,
            written: Written::default(),
            lost: Lost::default(),
            latest: i64::MIN,
            logs: HashMap::new(),
            waiting: BTreeSet::new(),
            open: HashMap::new(),
        })
    }

    fn event(&mut self, event: &Happening<'_>) -> Result<()> {
        let Some(log) = self.plan.log(event.track) else {
            self.lose(event, "unwritten", "an event of a track that is not there");
            return Ok(());
        };
        let time = self.time(log, event);
        self.lost.order += u64::from(time < self.latest);
        self.latest = self.latest.max(time);
        self.flush_before(log, time, event)?;
        self.logs.entry(log).or_default().now = time;
        match &event.content {
            Content::Activity(activity) => self.activity(log, event.track, activity)?,
            Content::Fields(fields) => self.record(log, event, fields)?,
            _ => self.value(log, event)?,
        }
        Ok(())
    }

    /// Writes an event with fields as one of the type of its kind.
    fn record(&mut self, log: LogFileId, event: &Happening<'_>, fields: &Fields<'_>) -> Result<()> {
        let shape = Shape::of(fields);
        let Some(of) = self.plan.record_type(log, &shape) else {
            self.lost.kinds += 1;
            return self.value(log, event);
        };
        let Ok(custom) = encode(of, &shape.values(fields, &mut self.lost)) else {
            self.lose(event, "unwritten", "fields that are not of their types");
            return Ok(());
        };
        self.put_with(log, Body::Generic, of.id, &custom)
    }

    /// The time of an event; where it has none, that of the one before it.
    fn time(&mut self, log: LogFileId, event: &Happening<'_>) -> i64 {
        let now = self.logs.get(&log).map_or(0, |state| state.now);
        if let Some(TimeNs(time)) = event.time {
            return time;
        }
        self.lose(event, "time", "an event without a time has that of the one before it");
        now
    }

    fn activity(&mut self, log: LogFileId, track: TrackId, activity: &Activity<'_>) -> Result<()> {
        let id = self.plan.artifact(track);
        match activity {
            Activity::Begin { name, priority } => {
                self.begin(log, track, name.as_deref(), *priority)
            }
            Activity::End => self.end(log, track),
            Activity::Release { budget_ns, by } => {
                let time_budget = budget_ns.unwrap_or(NO_BUDGET);
                let body = Body::TaskRelease { task: id, time_budget };
                match by.and_then(|by| self.plan.released_by(log, by)) {
                    Some((of, cpu)) => self.put_with(log, body, of, &cpu),
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
        }
    }

    fn begin(
        &mut self,
        log: LogFileId,
        track: TrackId,
        name: Option<&str>,
        priority: Option<i64>,
    ) -> Result<()> {
        if self.plan.is_calls(track) {
            let name = self.latin1(name.unwrap_or_default());
            self.opens(track, Open::Function(name.clone()));
            let function = Function { name: Text(&name), end_time: UNKNOWN_TIME };
            return self.put_call(log, track, Body::FunctionEnter(function));
        }
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
        let out_task = self.logs.entry(log).or_default().stopped.take().unwrap_or(UNKNOWN);
        self.put(log, Body::TaskSwitch { in_task, out_task, in_task_priority })
    }

    fn opens(&mut self, track: TrackId, what: Open) {
        let open = self.open.entry(track).or_default();
        if open.len() < DEPTH_MAX {
            open.push(what);
        }
    }

    fn end(&mut self, log: LogFileId, track: TrackId) -> Result<()> {
        let began = self.open.get_mut(&track).and_then(Vec::pop);
        if self.plan.is_calls(track) {
            // What began before the recording has no name at its end.
            let name = match began {
                Some(Open::Function(name)) => name,
                _ => Vec::new(),
            };
            let end_time = self.logs.get(&log).map_or(0, |state| state.now);
            let function = Function { name: Text(&name), end_time };
            return self.put_call(log, track, Body::FunctionExit(function));
        }
        let stopped = match began {
            Some(Open::Task(task)) => task,
            _ => self.plan.artifact(track),
        };
        let state = self.logs.entry(log).or_default();
        state.stopped = Some(stopped);
        self.waiting.insert((state.now, log));
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
        let body = if self.plan.is_machine(track) {
            Body::SrlSend { message, receiver_instance: 0 }
        } else {
            Body::Send(message)
        };
        self.put(log, body)
    }

    fn receive(&mut self, log: LogFileId, track: TrackId, flow: &Flow<'_>) -> Result<()> {
        let message = self.message(track, flow, false);
        if self.plan.is_machine(track) {
            let state = self.logs.entry(log).or_default();
            state.received = Some((track, message));
            self.waiting.insert((state.now, log));
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
        let received = self.logs.entry(log).or_default().received.take();
        let message = received.filter(|(of, _)| *of == track).map(|(_, message)| message);
        let message = message.unwrap_or_else(|| OwnedMessage {
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

    /// Says what waited for an event that did not come: in all log files, so that what is written
    /// is in the order of times.
    fn flush_before(&mut self, log: LogFileId, time: i64, next: &Happening<'_>) -> Result<()> {
        while let Some(&(then, of)) = self.waiting.first().filter(|(then, _)| *then < time) {
            self.waiting.remove(&(then, of));
            self.flush(of, |_| false, |_| false)?;
        }
        let Some(now) = self.logs.get(&log).map(|state| state.now) else { return Ok(()) };
        if !self.waiting.remove(&(now, log)) {
            return Ok(());
        }
        let activity = match &next.content {
            Content::Activity(activity) if now == time => Some(activity),
            _ => None,
        };
        let begins = matches!(activity, Some(Activity::Begin { .. }));
        let begins = begins && !self.plan.is_calls(next.track);
        let enters = matches!(activity, Some(Activity::Enter { .. }));
        let is_next = |of: TrackId| enters && of == next.track;
        self.flush(log, |_| begins, is_next)?;
        if begins || enters {
            self.waiting.insert((now, log));
        }
        Ok(())
    }

    /// Says what a log file has yet to say, but for what is kept for the event that comes.
    fn flush(
        &mut self,
        log: LogFileId,
        keeps_stopped: impl Fn(ArtifactId) -> bool,
        keeps_received: impl Fn(TrackId) -> bool,
    ) -> Result<()> {
        let Some(state) = self.logs.get_mut(&log) else { return Ok(()) };
        let stopped = state.stopped.take_if(|task| !keeps_stopped(*task));
        let received = state.received.take_if(|(track, _)| !keeps_received(*track));
        if let Some(out_task) = stopped {
            let in_task_priority = UNKNOWN_PRIORITY;
            self.put(log, Body::TaskSwitch { in_task: UNKNOWN, out_task, in_task_priority })?;
        }
        if let Some((_, message)) = received {
            let (state, finish_timestamp) = (ArtifactId(UNKNOWN_STATE), UNKNOWN_TIME);
            let message = message.message();
            self.put(log, Body::SrlReceive { message, state, finish_timestamp })?;
        }
        Ok(())
    }

    /// Writes a value as an event of the track's own type.
    fn value(&mut self, log: LogFileId, event: &Happening<'_>) -> Result<()> {
        let Some(of) = self.plan.custom_type(event.track) else {
            self.lose(event, "unwritten", "the timeline had no values here before");
            return Ok(());
        };
        let (value, lost) = match value_of(event) {
            Value::Text(text) => {
                let (bytes, lost) = to_latin1(&text);
                (Value::Text(Text(&bytes).to_string()), lost)
            }
            value => (value, 0),
        };
        self.lost.characters += lost;
        let Ok(custom) = encode(of, &[value]) else {
            self.lose(event, "unwritten", "a value that is not of the kind of the first");
            return Ok(());
        };
        self.put_with(log, Body::Generic, of.id, &custom)
    }

    /// Writes a call, with the thread that it is on.
    fn put_call(&mut self, log: LogFileId, track: TrackId, body: Body<'_>) -> Result<()> {
        match self.plan.thread(track) {
            Some((of, thread)) => self.put_with(log, body, of, &thread),
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
        let timestamp = self.logs.get(&log_file).map_or(0, |state| state.now);
        self.writer.write(&Event { timestamp, log_file, body, custom_type, custom })
    }

    fn latin1(&mut self, text: &str) -> Vec<u8> {
        let (bytes, lost) = to_latin1(text);
        self.lost.characters += lost;
        bytes
    }

    fn lose(&mut self, event: &Happening<'_>, rule: &'static str, why: &str) {
        if self.written.losses.len() < LOSSES_MAX {
            let message = format!("{}: {why}", shortened(self.plan.name(event.track)));
            let loss = Finding::at(Severity::Warning, rule, event.offset, message);
            self.written.losses.push(loss);
        }
    }

    fn finish(mut self) -> Result<Written> {
        for (_, log) in std::mem::take(&mut self.waiting) {
            self.flush(log, |_| false, |_| false)?;
        }
        self.written.events = self.writer.num_events();
        let finished = self.writer.finish(&self.plan.definitions.artifacts)?;
        self.lost.characters += finished.lost_characters;
        self.written.losses.extend(self.lost.findings());
        Ok(self.written)
    }
}
