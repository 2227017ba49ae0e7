//! Messages under way to a track, for receivers that do not record the sender.

use std::collections::BTreeSet;

use kymo_model::timeline::{TimeNs, TrackId};

use super::MessageId;

/// The place of an inbox among all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InboxId(pub(super) usize);

/// Messages of one name to one track, of any number of senders.
#[derive(Debug, Clone, Default)]
pub(super) struct Inbox {
    /// Time when the message left of each sender that may arrive next.
    first: BTreeSet<(TimeNs, TrackId)>,
    /// Messages that told when they arrive: by that, and by when they left.
    expected: BTreeSet<(TimeNs, TimeNs, TrackId, MessageId)>,
    /// The latest of the messages that are taken to have arrived as told, and who sent it.
    settled: Option<(TimeNs, TrackId)>,
}

impl Inbox {
    /// Another message of a sender may arrive next, or none.
    pub(super) fn queue(&mut self, before: Option<TimeNs>, now: Option<TimeNs>, from: TrackId) {
        if let Some(left) = before {
            self.first.remove(&(left, from));
        }
        self.first.extend(now.map(|left| (left, from)));
    }

    /// A message tells when it arrives.
    pub(super) fn expect(&mut self, arrives: TimeNs, left: TimeNs, from: TrackId, id: MessageId) {
        self.expected.insert((arrives, left, from, id));
    }

    /// It is not waited for any more.
    pub(super) fn forget(&mut self, arrives: TimeNs, left: TimeNs, from: TrackId, id: MessageId) {
        self.expected.remove(&(arrives, left, from, id));
    }

    /// A message is taken to have arrived as told.
    pub(super) fn mark_received(&mut self, arrives: TimeNs, from: TrackId) {
        self.settled = self.settled.max(Some((arrives, from)));
    }

    /// Returns the sender of the message that arrives now: the one who recorded this time of
    /// arrival, and else the one whose message waits longest. Where none does, the message may have
    /// been counted already.
    pub(super) fn sender(&self, now: TimeNs) -> Option<TrackId> {
        let from = (now, TimeNs(i64::MIN), TrackId(0), MessageId(0));
        let next = self.expected.range(from..).next().filter(|(arrives, ..)| *arrives == now);
        let told = next.map(|(_, _, from, _)| *from);
        let first = || self.first.first().map(|(_, from)| *from);
        let settled = || self.settled.filter(|(until, _)| now <= *until).map(|(_, from)| from);
        told.or_else(first).or_else(settled)
    }
}
