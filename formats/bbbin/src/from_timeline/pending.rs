//! Events that log files have yet to write: the next event may belong to them.

use std::collections::{BTreeSet, HashMap};

use kymo_model::timeline::{Activity, Content, Event, Missing, TrackId};

use crate::types::{ArtifactId, LogFileId, Message, Text};

/// Events that wait for the next event. A task that stops and one that begins at the same time are
/// one switch; a message that a state machine receives and the state that it enters are one event.
#[derive(Debug, Default)]
pub(super) struct Pending {
    logs: HashMap<LogFileId, LogState>,
    /// Log files that have something to say, by its time.
    waiting: BTreeSet<(i64, LogFileId)>,
}

/// State of a log file that it has yet to write.
#[derive(Debug, Clone, Default)]
struct LogState {
    /// The time of its last event.
    now: i64,
    stopped: Option<ArtifactId>,
    running: Option<ArtifactId>,
    /// True if any task ran.
    has_switched: bool,
    /// True if it was said that it is not known who runs.
    is_lost: bool,
    received: Option<(TrackId, OwnedMessage)>,
}

/// Something that no event belonged to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PendingPart {
    /// A task stopped, and no other began.
    Stopped(ArtifactId),
    /// A state machine received a message, and entered no state.
    Received(OwnedMessage),
}

/// Pending event that the next event may belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attachable {
    Nothing,
    Stopped,
    Received(TrackId),
}

impl Attachable {
    /// Returns the pending event that an event may belong to; `is_task` tells whether its track is
    /// of a task.
    pub(super) fn from_event(event: &Event<'_>, is_task: bool) -> Self {
        match &event.content {
            Content::Activity(Activity::Begin { .. }) if is_task => Self::Stopped,
            Content::Activity(Activity::Gap(Missing::Switches)) => Self::Stopped,
            Content::Activity(Activity::Enter { .. }) => Self::Received(event.track),
            _ => Self::Nothing,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OwnedMessage {
    pub sender: ArtifactId,
    pub receiver: ArtifactId,
    pub other_timestamp: i64,
    pub name: Vec<u8>,
}

impl OwnedMessage {
    pub(super) fn message(&self) -> Message<'_> {
        Message {
            sender: self.sender,
            receiver: self.receiver,
            other_timestamp: self.other_timestamp,
            name: Text(&self.name),
        }
    }
}

impl LogState {
    fn take(&mut self, keeps: Attachable) -> Option<PendingPart> {
        let stopped =
            self.stopped.take_if(|_| keeps != Attachable::Stopped).map(PendingPart::Stopped);
        stopped.or_else(|| {
            let is_due = |(track, _): &mut (TrackId, _)| keeps != Attachable::Received(*track);
            self.received.take_if(is_due).map(|(_, message)| PendingPart::Received(message))
        })
    }
}

impl Pending {
    /// The time of the last event of a log file.
    pub(super) fn last_time(&self, log: LogFileId) -> i64 {
        self.logs.get(&log).map_or(0, |state| state.now)
    }

    /// Says that an event of a log file comes.
    pub(super) fn advance(&mut self, log: LogFileId, now: i64) {
        let state = self.logs.entry(log).or_default();
        let before = std::mem::replace(&mut state.now, now);
        if before != now && self.waiting.remove(&(before, log)) {
            self.waiting.insert((now, log));
        }
    }

    pub(super) fn stop(&mut self, log: LogFileId, task: ArtifactId) {
        let state = self.logs.entry(log).or_default();
        (state.stopped, state.running) = (Some(task), None);
        (state.has_switched, state.is_lost) = (true, false);
        self.waiting.insert((state.now, log));
    }

    /// A task runs.
    pub(super) fn run(&mut self, log: LogFileId, task: ArtifactId) {
        let state = self.logs.entry(log).or_default();
        (state.running, state.has_switched, state.is_lost) = (Some(task), true, false);
    }

    /// The task that runs, of which it is not known for how long.
    pub(super) fn interrupt(&mut self, log: LogFileId) -> Option<ArtifactId> {
        let state = self.logs.get_mut(&log)?;
        state.is_lost = true;
        state.running.take()
    }

    /// Returns true if any task of a log file ran.
    pub(super) fn has_switched(&self, log: LogFileId) -> bool {
        self.logs.get(&log).is_some_and(|state| state.has_switched)
    }

    /// Log files that tell who runs.
    pub(super) fn switching(&self) -> impl Iterator<Item = LogFileId> {
        let is_told = |state: &LogState| state.has_switched && !state.is_lost;
        self.logs.iter().filter(move |(_, state)| is_told(state)).map(|(log, _)| *log)
    }

    /// The task that stopped, for the switch to the one that begins.
    pub(super) fn stopped(&mut self, log: LogFileId) -> Option<ArtifactId> {
        self.logs.get_mut(&log)?.stopped.take()
    }

    pub(super) fn receive(&mut self, log: LogFileId, track: TrackId, message: OwnedMessage) {
        let state = self.logs.entry(log).or_default();
        state.received = Some((track, message));
        self.waiting.insert((state.now, log));
    }

    /// The message that a state machine received, for the state that it enters.
    pub(super) fn received(&mut self, log: LogFileId, track: TrackId) -> Option<OwnedMessage> {
        let received = self.logs.get_mut(&log)?.received.take()?;
        (received.0 == track).then_some(received.1)
    }

    /// Returns what is due before an event of a log file, one after the other. That is all that is
    /// earlier, in every log file, so that the output is in the order of times. Of that log file it
    /// is also what the event does not belong to.
    pub(super) fn due(
        &mut self,
        log: LogFileId,
        time: i64,
        keeps: Attachable,
    ) -> Option<(LogFileId, PendingPart)> {
        while let Some(&(then, log_file_id)) = self.waiting.first().filter(|(then, _)| *then < time)
        {
            if let Some(due) =
                self.logs.get_mut(&log_file_id).and_then(|it| it.take(Attachable::Nothing))
            {
                return Some((log_file_id, due));
            }
            self.waiting.remove(&(then, log_file_id));
        }
        if self.waiting.is_empty() {
            return None;
        }
        let state = self.logs.get_mut(&log)?;
        let due = state.take(if state.now == time { keeps } else { Attachable::Nothing });
        if state.stopped.is_none() && state.received.is_none() {
            self.waiting.remove(&(state.now, log));
        }
        due.map(|due| (log, due))
    }

    /// Returns what is left in the end.
    pub(super) fn last(&mut self) -> Option<(LogFileId, PendingPart)> {
        while let Some(&(then, log_file_id)) = self.waiting.first() {
            if let Some(due) =
                self.logs.get_mut(&log_file_id).and_then(|it| it.take(Attachable::Nothing))
            {
                return Some((log_file_id, due));
            }
            self.waiting.remove(&(then, log_file_id));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: LogFileId = LogFileId(0);
    const B: LogFileId = LogFileId(1);

    #[test]
    fn what_is_earlier_is_said_first_in_every_log_file() {
        let mut pending = Pending::default();
        pending.advance(B, 20);
        pending.stop(B, ArtifactId(2));
        pending.advance(A, 10);
        pending.stop(A, ArtifactId(1));
        let stopped = |id| PendingPart::Stopped(ArtifactId(id));
        assert_eq!(pending.due(B, 20, Attachable::Stopped), Some((A, stopped(1))));
        assert_eq!(pending.due(B, 20, Attachable::Stopped), None);
        assert_eq!(pending.stopped(B), Some(ArtifactId(2)));
        assert_eq!(pending.last(), None);
    }

    #[test]
    fn a_message_waits_for_the_state_of_its_own_machine() {
        let message = OwnedMessage {
            sender: ArtifactId(1),
            receiver: ArtifactId(2),
            other_timestamp: -1,
            name: Vec::new(),
        };
        for (track, time, is_due) in [(7, 5, false), (8, 5, true), (7, 6, true)] {
            let mut pending = Pending::default();
            pending.advance(A, 5);
            pending.receive(A, TrackId(7), message.clone());
            let due = pending.due(A, time, Attachable::Received(TrackId(track)));
            assert_eq!(due.is_some(), is_due, "{track} at {time}");
            assert_eq!(pending.received(A, TrackId(7)).is_some(), !is_due);
        }
    }
}
