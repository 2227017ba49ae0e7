//! Any timeline to BBBin.
//!
//! Each recording becomes a log file, or one for each of its processors, each track of tasks a TASK,
//! each track of states a STATE MACHINE with its states, and any other track a custom type of one
//! field. Types come before events in the file, so a timeline is gone through twice: to see what its
//! tracks hold, and to write it.
//!
//! What BBBin cannot say: which track belongs under which, that a task ran on several processors,
//! several clocks, characters beyond Latin-1, events without a time. A stretch with a name of its own
//! becomes a function.

mod plan;

use std::collections::HashMap;
use std::io::{Seek, Write};
use std::sync::Arc;

use kymo_core::model::timeline::{
    Activity, Content, Event as Happening, Message as Flow, TimeNs, TimelineView, TrackId, Window,
};
use kymo_core::{Destination, Finding, Result, Severity, Value, Written, shortened};

use crate::spec::{UNKNOWN_PRIORITY, UNKNOWN_STATE, UNKNOWN_TASK, UNKNOWN_TIME};
use crate::types::{
    ArtifactId, Body, Event, Function, LogFileId, Message, Text, TypeId, to_latin1,
};
use crate::{Writer, encode};
use plan::{Plan, Role, value_of};

/// Losses that are told one by one; a timeline may have as many as events.
const LOSSES_MAX: usize = 1000;

/// Writes a timeline.
pub(crate) fn write(timeline: Arc<dyn TimelineView>, to: &Destination) -> Result<Written> {
    let plan = Plan::new(&timeline, to.origins().first())?;
    let mut file = to.file()?;
    let mut taking = Taking::new(&plan, &mut file)?;
    taking.lose_clocks(timeline.clocks().len());
    let mut events = timeline.events(&Window::default())?;
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
    lost_characters: u64,
    /// Messages whose other end is of another log file.
    lost_peers: u64,
    logs: HashMap<LogFileId, LogState>,
    /// The stretches that each track is in: the names of functions, and nothing for a task.
    open: HashMap<TrackId, Vec<Option<Vec<u8>>>>,
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
            lost_characters: 0,
            lost_peers: 0,
            logs: HashMap::new(),
            open: HashMap::new(),
        })
    }

    fn event(&mut self, event: &Happening<'_>) -> Result<()> {
        let Some(log) = self.plan.log(event.track) else {
            self.lose(event, "unwritten", "an event of a track that is not there");
            return Ok(());
        };
        let time = self.time(log, event);
        self.flush_before(log, time, event)?;
        self.logs.entry(log).or_default().now = time;
        match &event.content {
            Content::Activity(activity) => self.activity(log, event.track, activity)?,
            _ => self.value(log, event)?,
        }
        Ok(())
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
        let body = match activity {
            Activity::Begin { name: Some(name), .. } => {
                let name = self.latin1(name);
                self.open.entry(track).or_default().push(Some(name.clone()));
                let function = Function { name: Text(&name), end_time: UNKNOWN_TIME };
                return self.put(log, Body::FunctionEnter(function));
            }
            Activity::Begin { name: None, priority } => {
                self.open.entry(track).or_default().push(None);
                let stopped = self.logs.entry(log).or_default().stopped.take();
                let priority = priority.and_then(|priority| i32::try_from(priority).ok());
                Body::TaskSwitch {
                    in_task: id,
                    out_task: stopped.unwrap_or(UNKNOWN),
                    in_task_priority: priority.unwrap_or(UNKNOWN_PRIORITY),
                }
            }
            Activity::End => return self.end(log, track, id),
            Activity::Release { budget_ns, .. } => {
                Body::TaskRelease { task: id, time_budget: budget_ns.unwrap_or(UNKNOWN_TIME) }
            }
            Activity::Complete { remaining_ns } => Body::TaskCompletion {
                task: id,
                remaining_time: remaining_ns.unwrap_or(UNKNOWN_TIME),
            },
            Activity::Send(flow) => return self.send(log, track, flow),
            Activity::Receive(flow) => return self.receive(log, track, flow),
            Activity::Enter { state, settled } => {
                return self.enter(log, track, state, *settled);
            }
        };
        self.put(log, body)
    }

    fn end(&mut self, log: LogFileId, track: TrackId, id: ArtifactId) -> Result<()> {
        let Some(name) = self.open.get_mut(&track).and_then(Vec::pop).flatten() else {
            self.logs.entry(log).or_default().stopped = Some(id);
            return Ok(());
        };
        let end_time = self.logs.get(&log).map_or(0, |state| state.now);
        let function = Function { name: Text(&name), end_time };
        self.put(log, Body::FunctionExit(function))
    }

    fn message(&mut self, track: TrackId, flow: &Flow<'_>, is_sending: bool) -> OwnedMessage {
        let own = self.plan.artifact(track);
        let peer = flow.peer.map_or(UNKNOWN, |peer| self.plan.peer(track, peer));
        self.lost_peers += u64::from(flow.peer.is_some() && peer == UNKNOWN);
        let (sender, receiver) = if is_sending { (own, peer) } else { (peer, own) };
        let other_timestamp = flow.peer_time.map_or(UNKNOWN_TIME, |time| time.0);
        OwnedMessage { sender, receiver, other_timestamp, name: self.latin1(&flow.name) }
    }

    fn send(&mut self, log: LogFileId, track: TrackId, flow: &Flow<'_>) -> Result<()> {
        let owned = self.message(track, flow, true);
        let message = owned.message();
        let body = match self.plan.role(track) {
            Role::States => Body::SrlSend { message, receiver_instance: 0 },
            _ => Body::Send(message),
        };
        self.put(log, body)
    }

    fn receive(&mut self, log: LogFileId, track: TrackId, flow: &Flow<'_>) -> Result<()> {
        let message = self.message(track, flow, false);
        if self.plan.role(track) == Role::States {
            self.logs.entry(log).or_default().received = Some((track, message));
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

    /// Says what waited for an event that did not come.
    fn flush_before(&mut self, log: LogFileId, time: i64, next: &Happening<'_>) -> Result<()> {
        let Some(state) = self.logs.get_mut(&log) else { return Ok(()) };
        let same = state.now == time;
        let activity = match &next.content {
            Content::Activity(activity) if same => Some(activity),
            _ => None,
        };
        let begins = matches!(activity, Some(Activity::Begin { name: None, .. }));
        let stopped = if begins { None } else { state.stopped.take() };
        let enters = matches!(activity, Some(Activity::Enter { .. }))
            && state.received.as_ref().is_some_and(|(track, _)| *track == next.track);
        let received = if enters { None } else { state.received.take() };
        self.flush(log, stopped, received)
    }

    fn flush(
        &mut self,
        log: LogFileId,
        stopped: Option<ArtifactId>,
        received: Option<(TrackId, OwnedMessage)>,
    ) -> Result<()> {
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
        self.lost_characters += lost;
        let Ok(custom) = encode(of, &[value]) else {
            self.lose(event, "unwritten", "a value that is not of the kind of the first");
            return Ok(());
        };
        self.put_with(log, Body::Generic, of.id, &custom)
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
        self.lost_characters += lost;
        bytes
    }

    fn lose(&mut self, event: &Happening<'_>, rule: &'static str, why: &str) {
        if self.written.losses.len() < LOSSES_MAX {
            let message = format!("{}: {why}", shortened(self.plan.name(event.track)));
            let loss = Finding::at(Severity::Warning, rule, event.offset, message);
            self.written.losses.push(loss);
        }
    }

    fn lose_clocks(&mut self, clocks: usize) {
        if clocks > 1 {
            let message = format!("{clocks} clocks become one time axis");
            self.written.losses.push(Finding::whole(Severity::Warning, "clocks", message));
        }
    }

    fn finish(mut self) -> Result<Written> {
        let mut waiting: Vec<_> = std::mem::take(&mut self.logs).into_iter().collect();
        waiting.sort_by_key(|(log, _)| *log);
        for (log, mut state) in waiting {
            let (stopped, received) = (state.stopped.take(), state.received.take());
            self.logs.insert(log, state);
            self.flush(log, stopped, received)?;
        }
        self.written.events = self.writer.num_events();
        let finished = self.writer.finish(&self.plan.definitions.artifacts)?;
        if self.lost_peers > 0 {
            let message = format!(
                "the other end of {} messages is in another log file, which BBBin cannot name",
                self.lost_peers
            );
            self.written.losses.push(Finding::whole(Severity::Warning, "peer", message));
        }
        let lost = self.lost_characters + finished.lost_characters;
        if lost > 0 {
            let message =
                format!("{lost} characters are not in Latin-1, and became question marks");
            self.written.losses.push(Finding::whole(Severity::Warning, "latin-1", message));
        }
        Ok(self.written)
    }
}
