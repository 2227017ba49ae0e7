//! Wakeups as messages: from who released a task to when it ran.

use kymo_core::slot;
use kymo_model::timeline::{Activity, Content, Message, TimeNs, TrackId};

use super::{MessageEnd, Messages, PairKey, SentMessage};
use crate::{InitialState, Pass, ResolvedEvent, RunChange, TaskId};

/// Name of these messages.
const WAKEUP: &str = "wakeup";

/// Wakeups and how long they took. Where a recording tells of no messages, they tell who makes
/// whom do something.
#[derive(Debug, Clone, Default)]
pub struct Wakeups {
    messages: Messages,
    tasks: Vec<TaskWakeups>,
    /// Number of gaps, by recording.
    gaps: Vec<u32>,
}

/// Track that woke a task, and the time.
type By = (TrackId, TimeNs);

/// State of a task. There may be a million, and most are woken by nobody.
#[derive(Debug, Clone, Default)]
struct TaskWakeups {
    is_running: bool,
    /// True if it was complete in the stretch that is not over.
    is_complete: bool,
    /// Number of gaps so far: it only matters whether there are others than before.
    gaps: u32,
    /// End of its last stretch.
    ended: Option<TimeNs>,
    cause: Option<Box<WakeupCause>>,
}

/// Wakeup for which a task is to run.
#[derive(Debug, Clone, Copy, Default)]
struct WakeupCause {
    /// It is to run for this.
    for_this: Option<By>,
    /// It was woken while it ran: for its next stretch if it was about to sleep and nothing else
    /// wakes it, and else for nothing.
    meanwhile: Option<By>,
}

impl TaskWakeups {
    fn cause(&self) -> WakeupCause {
        self.cause.as_deref().copied().unwrap_or_default()
    }

    /// Takes the wakeup that the task was to run for, and has run for now.
    fn take(&mut self) -> Option<By> {
        self.cause.as_mut()?.for_this.take()
    }
}

impl Wakeups {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// These wakeups as what is under way when a window begins; some are not known where what was
    /// before them is not.
    pub(crate) fn pending_wakeups(mut self, is_begin_known: bool) -> Self {
        self.messages = self.messages.pending_messages(is_begin_known);
        self
    }

    /// Returns the wakeups, as messages.
    #[must_use]
    pub fn messages(&self) -> &Messages {
        &self.messages
    }

    fn task_wakeups(&mut self, task: TaskId) -> Option<&mut TaskWakeups> {
        if self.tasks.len() <= task.0 {
            self.tasks.resize_with(task.0 + 1, TaskWakeups::default);
        }
        self.tasks.get_mut(task.0)
    }

    /// Takes an event. Tells the wakeup that it makes, or the one that makes it.
    pub fn take(&mut self, seen: &ResolvedEvent<'_>) -> Option<MessageEnd> {
        self.gap(seen);
        let (task, _) = seen.task?;
        let this_task = seen.tasks.get(task)?;
        let (to, is_last) = (this_task.home, this_task.tells_completion);
        let gaps = self.gaps.get(seen.tasks.recording(task)).copied().unwrap_or(0);
        let woken = self.task_wakeups(task)?;
        if woken.gaps != gaps {
            // It may have run for what it was woken for where events are missing.
            *woken = TaskWakeups { is_running: woken.is_running, gaps, ..TaskWakeups::default() };
        }
        if let Some(from) = seen.by.filter(|from| *from != to) {
            return self.wake((task, to), (from, seen.time), is_last);
        }
        match (seen.run, &seen.event.content) {
            (Some(RunChange::Begins), _) => {
                let now = TaskWakeups { is_running: true, gaps, ..TaskWakeups::default() };
                let WakeupCause { for_this, meanwhile } = std::mem::replace(woken, now).cause();
                return self.arrive((to, seen.time), for_this, meanwhile);
            }
            (Some(RunChange::Ends { .. }), _) => {
                let is_complete = std::mem::take(&mut woken.is_complete);
                (woken.is_running, woken.ended) = (false, Some(seen.time));
                // What was to run and ends has run, and it is not known since when. What is complete
                // was woken again.
                let by = woken.cause.as_mut().filter(|_| !is_complete)?;
                by.meanwhile = None;
                let by = by.for_this.take()?;
                return self.untimed(to, by);
            }
            (None, Content::Activity(Activity::Complete { .. })) => {
                // Some recordings say that it stopped before they say that it was complete.
                woken.is_complete = woken.ended != Some(seen.time);
                let by = woken.take()?;
                return self.untimed(to, by);
            }
            _ => {}
        }
        None
    }

    /// Forgets the running tasks and the wakeups of tasks: they are not known where events are
    /// missing.
    fn gap(&mut self, seen: &ResolvedEvent<'_>) {
        for stretch in seen.cut {
            if let Some(woken) = self.task_wakeups(stretch.task) {
                woken.is_running = false;
            }
        }
        if let Some(recording) = seen.events_missing_from() {
            let gaps = slot(&mut self.gaps, recording);
            *gaps = gaps.wrapping_add(1);
        }
    }

    /// A task has run for what it was woken for, and when that began is not recorded.
    fn untimed(&mut self, to: TrackId, (from, left): By) -> Option<MessageEnd> {
        let key = PairKey { from: Some(from), to: Some(to), name: WAKEUP.to_owned() };
        self.messages.receive_untimed(&key, left).map(MessageEnd::Untimed)
    }

    /// Takes an event after all that is looked at. Tells the wakeup before that makes it.
    pub(crate) fn take_after(&mut self, seen: &ResolvedEvent<'_>) -> Option<MessageEnd> {
        let (task, _) = seen.task?;
        let to = seen.tasks.get(task)?.home;
        let is_complete =
            matches!(seen.event.content, Content::Activity(Activity::Complete { .. }));
        if seen.run.is_none() && !is_complete {
            return None;
        }
        let (from, left) = std::mem::take(self.task_wakeups(task)?).cause().for_this?;
        let sent = self.messages.receive_after(to, seen.time, &wakeup(from, Some(left)))?;
        match seen.run {
            Some(RunChange::Begins) => Some(MessageEnd::Arrived(sent)),
            _ => sent.id.map(MessageEnd::Untimed),
        }
    }

    /// A task is woken. Where tasks are known to go to sleep, the last time counts.
    fn wake(&mut self, (task, to): (TaskId, TrackId), by: By, is_last: bool) -> Option<MessageEnd> {
        let woken = self.task_wakeups(task)?;
        let known = woken.cause.get_or_insert_default();
        if woken.is_running {
            known.meanwhile = Some(by);
            return None;
        }
        if known.for_this.is_some() && !is_last {
            return None;
        }
        **known = WakeupCause { for_this: Some(by), meanwhile: None };
        let (from, time) = by;
        let id = self.messages.send(from, time, &wakeup(to, None));
        let (name, to) = (WAKEUP.to_owned(), Some(to));
        Some(MessageEnd::Sent(SentMessage {
            id,
            name,
            from,
            to,
            time,
            arrives: None,
            is_later: false,
        }))
    }

    /// A task runs. What it was woken for while it ran was no message until now.
    fn arrive(
        &mut self,
        (to, time): (TrackId, TimeNs),
        for_this: Option<By>,
        meanwhile: Option<By>,
    ) -> Option<MessageEnd> {
        let (from, left) = for_this.or(meanwhile)?;
        if for_this.is_none() {
            self.messages.send(from, left, &wakeup(to, None));
        }
        let mut sent = self.messages.receive(to, time, &wakeup(from, Some(left)));
        sent.id = sent.id.filter(|_| for_this.is_some());
        Some(MessageEnd::Arrived(sent))
    }
}

fn wakeup(peer: TrackId, peer_time: Option<TimeNs>) -> Message<'static> {
    Message { name: WAKEUP.into(), peer: Some(peer), peer_time }
}

impl Pass for Wakeups {
    fn follows_messages(&self) -> bool {
        true
    }

    fn initial_state(&mut self, what: &InitialState<'_>, _begin: TimeNs) {
        if let InitialState::Wakeups(under_way) = what {
            self.clone_from(under_way);
        }
    }

    fn event(&mut self, seen: &ResolvedEvent<'_>) {
        self.take(seen);
    }

    fn awaits(&self) -> bool {
        self.messages.awaits()
    }

    fn event_after(&mut self, seen: &ResolvedEvent<'_>) {
        self.take_after(seen);
    }
}
