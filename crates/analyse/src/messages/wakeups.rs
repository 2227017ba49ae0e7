//! Wakeups as messages: from who released a task to when it ran.

use kymo_core::model::timeline::{Message, TimeNs, TrackId};

use super::{Left, Messages, Moved};
use crate::{Pass, Run, Seen};

/// What these messages are called.
const WAKEUP: &str = "wakeup";

/// Wakeups and how long they took. Where a recording tells of no messages, they tell who makes
/// whom do something.
#[derive(Debug, Default)]
pub struct Wakeups {
    messages: Messages,
    /// For each task that is to run, who woke it first, and when.
    woken: Vec<Option<(TrackId, TimeNs)>>,
}

impl Wakeups {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What was found, as messages.
    #[must_use]
    pub fn messages(&self) -> &Messages {
        &self.messages
    }

    /// Takes an event. Tells the wakeup that it makes, or the one that makes it.
    pub fn take(&mut self, seen: &Seen<'_>) -> Option<Moved> {
        let (task, _) = seen.task?;
        if self.woken.len() <= task.0 {
            self.woken.resize(task.0 + 1, None);
        }
        let woken = self.woken.get_mut(task.0)?;
        let to = seen.tasks.get(task)?.home;
        let message =
            |peer, peer_time| Message { name: WAKEUP.into(), peer: Some(peer), peer_time };
        if let Some(from) = seen.by.filter(|from| woken.is_none() && *from != to) {
            *woken = Some((from, seen.time));
            let id = self.messages.send(from, seen.time, &message(to, None))?;
            let (name, to) = (WAKEUP.to_owned(), Some(to));
            return Some(Moved::Left(Left { id, name, from, to, time: seen.time }));
        }
        let (from, left) = woken.take_if(|_| seen.run == Some(Run::Begins))?;
        Some(Moved::Arrived(self.messages.receive(to, seen.time, &message(from, Some(left)))))
    }
}

impl Pass for Wakeups {
    fn event(&mut self, seen: &Seen<'_>) {
        self.take(seen);
    }
}
