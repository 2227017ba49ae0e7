//! Facts about the messages from one track to another.

use std::collections::{BTreeMap, BTreeSet};

use kymo_model::timeline::{TimeNs, TrackId};

use super::MessageId;
use super::inbox::InboxId;
use crate::{Distribution, took};

/// Facts about a pair's messages.
#[derive(Debug, Clone, Default)]
pub struct Pair {
    /// Number of messages that left.
    pub sent: u64,
    /// Number of messages that arrived, as recorded at either end.
    pub received: u64,
    /// Distribution of their durations.
    pub latency_ns: Distribution,
    /// Number of messages that arrived and did not leave, as far as was recorded.
    pub unsent: u64,
    /// Number of messages that arrived before they left, as the recording has it: their durations
    /// are not known.
    pub backwards: u64,
    /// Number of messages whose time of arrival is not recorded: their durations are not known.
    pub untimed: u64,
    /// Number of messages that arrived without the time when they left, and are taken for the first
    /// that waited.
    pub guessed: u64,
    /// Inbox in which the receiver may look for its sender, and that sender.
    pub(super) inbox: Option<(InboxId, TrackId)>,
    /// Time at which the message left that is first there.
    pub(super) queued: Option<TimeNs>,
    /// One of the two, where any is known.
    pub(super) end: Option<TrackId>,
    /// True if messages left since events were missing.
    pub(super) is_open: bool,
    /// Up to when what left may have arrived where events are missing.
    cut_at: Option<TimeNs>,
    /// Number of those that left and have arrived.
    arrived: u64,
    /// True if any arrived that did not leave, here or before what is looked at.
    is_late: bool,
    /// Those that left and did not arrive yet, with their numbers.
    waiting: BTreeSet<(TimeNs, MessageId)>,
    arriving: ScheduledArrivals,
    pub(super) within: PairWindow,
    /// Time at which the latest message left of which that is recorded. Where nothing is recorded,
    /// messages arrive in the order in which they left: those before it are lost.
    told: Option<TimeNs>,
    /// The latest of the messages that are taken to have arrived as told: when it left, and when it
    /// arrived.
    settled: Option<(TimeNs, TimeNs)>,
}

/// Times that are looked at: other messages count in other windows, so that those that adjoin add
/// up.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PairWindow {
    /// The first message that left in it.
    pub(super) first: MessageId,
    /// Start of the window, if it cuts through the recording.
    pub(super) from: Option<TimeNs>,
    /// End of the window, if it cuts through the recording.
    pub(super) until: Option<TimeNs>,
}

impl PairWindow {
    /// Returns true if a message left in it.
    pub(super) fn contains(&self, id: MessageId) -> bool {
        id >= self.first
    }

    /// Returns true if what arrives then does so after it.
    pub(super) fn is_later(&self, arrives: TimeNs) -> bool {
        self.until.is_some_and(|until| arrives >= until)
    }

    /// Returns true if a message left before it and told that it arrives before it, too.
    pub(super) fn is_past(&self, PendingMessage { id, arrives, .. }: &PendingMessage) -> bool {
        let is_before = |arrives| self.from.is_some_and(|from| arrives < from);
        !self.contains(*id) && arrives.is_some_and(is_before)
    }
}

/// Messages that left and told when they arrive. They are kept since the other end may tell it
/// once more.
#[derive(Debug, Clone, Default)]
struct ScheduledArrivals {
    by_left: BTreeMap<(TimeNs, MessageId), TimeNs>,
    by_arrival: BTreeSet<(TimeNs, TimeNs, MessageId)>,
}

/// A message that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PendingMessage {
    pub(super) left: TimeNs,
    pub(super) id: MessageId,
    /// Time at which it arrives, where its sender gives that.
    pub(super) arrives: Option<TimeNs>,
}

/// Kind of a message that arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    /// One that was under way.
    Of(PendingMessage),
    /// One that was taken to have arrived as its sender told, as far as can be known.
    Again,
    /// One that did not leave, as far as was recorded.
    Unsent,
}

impl ScheduledArrivals {
    fn insert(&mut self, left: TimeNs, id: MessageId, arrives: TimeNs) {
        self.by_left.insert((left, id), arrives);
        self.by_arrival.insert((arrives, left, id));
    }

    fn take(&mut self, left: TimeNs, id: MessageId) -> Option<PendingMessage> {
        let arrives = self.by_left.remove(&(left, id))?;
        self.by_arrival.remove(&(arrives, left, id));
        Some(PendingMessage { left, id, arrives: Some(arrives) })
    }

    fn take_sent_at(&mut self, left: TimeNs) -> Option<PendingMessage> {
        let (found, id) = *self.by_left.range((left, MessageId(0))..).next()?.0;
        (found == left).then(|| self.take(found, id)).flatten()
    }

    fn due(&self, arrival: TimeNs) -> Option<(TimeNs, MessageId)> {
        let from = (arrival, TimeNs(i64::MIN), MessageId(0));
        let (arrives, left, id) = *self.by_arrival.range(from..).next()?;
        (arrives == arrival).then_some((left, id))
    }
}

impl Pair {
    pub(super) fn new(within: PairWindow, end: Option<TrackId>) -> Self {
        Self { end, within, ..Self::default() }
    }

    /// The first that may arrive next.
    pub(super) fn first(&self) -> Option<(TimeNs, MessageId)> {
        let from = (self.told.unwrap_or(TimeNs(i64::MIN)), MessageId(0));
        self.waiting.range(from..).next().copied()
    }

    /// Returns true if messages may have been taken for others since some are lost, and nothing
    /// tells which.
    #[must_use]
    pub fn may_be_too_long(&self) -> bool {
        self.guessed > 0 && self.unreceived() > 0
    }

    /// Returns true if messages may have been taken for others since some left before what is
    /// known, and nothing tells which.
    #[must_use]
    pub fn may_be_too_short(&self, is_begin_known: bool) -> bool {
        self.guessed > 0 && (self.is_late || !is_begin_known)
    }

    /// Returns the number of messages that left and did not arrive, as far as was recorded.
    #[must_use]
    pub fn unreceived(&self) -> u64 {
        self.sent.saturating_sub(self.arrived)
    }

    /// Messages that left and did not arrive yet, as far as they are kept; without those that may have
    /// arrived where events are missing.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (TimeNs, MessageId)> {
        let waiting = self.waiting.iter().copied();
        waiting.filter(|(left, _)| self.cut_at.is_none_or(|cut| cut < *left))
    }

    /// Messages that told that they arrive after what is looked at.
    pub(super) fn later(&self) -> impl Iterator<Item = (TimeNs, MessageId)> {
        let told = self.arriving.by_left.iter();
        told.filter(|(_, arrives)| self.within.is_later(**arrives)).map(|(key, _)| *key)
    }

    pub(super) fn is_waiting(&self, left: TimeNs, id: MessageId) -> bool {
        self.waiting.contains(&(left, id))
    }

    pub(super) fn drop_oldest(&mut self, left: TimeNs, id: MessageId) -> bool {
        self.waiting.remove(&(left, id))
    }

    /// Closes the messages that left up to a timestamp: none is taken to arrive after it, unless it
    /// states so.
    pub(super) fn cut(&mut self, at: TimeNs) {
        (self.is_open, self.cut_at) = (false, Some(at));
        self.told = self.told.max(Some(TimeNs(at.0.saturating_add(1))));
    }

    /// A message leaves.
    pub(super) fn send(&mut self, PendingMessage { left, id, arrives }: PendingMessage) {
        self.sent += 1;
        match arrives {
            Some(arrives) => self.arriving.insert(left, id, arrives),
            None => drop(self.waiting.insert((left, id))),
        }
    }

    /// Finds what arrives now among what is under way: by the time that it left, by the time that
    /// it was told to arrive, and else in their order.
    pub(super) fn receive(&mut self, now: TimeNs, left: Option<TimeNs>) -> Arrival {
        let found = match left {
            Some(left) => self.take_sent_at(left).or_else(|| self.arriving.take_sent_at(left)),
            None => self.take_due(now).or_else(|| {
                let first = self.take_first();
                self.guessed += u64::from(first.is_some());
                first
            }),
        };
        if found.is_none() && self.is_settled(now, left) {
            return Arrival::Again;
        }
        let is_past = found.is_some_and(|found| self.within.is_past(&found));
        self.received += u64::from(!is_past);
        self.is_late |= found.is_none();
        self.unsent += u64::from(found.is_none());
        found.map_or(Arrival::Unsent, Arrival::Of)
    }

    /// Returns true if what arrives may be one of those that have arrived as told.
    fn is_settled(&self, now: TimeNs, left: Option<TimeNs>) -> bool {
        self.settled.is_some_and(|settled| match left {
            Some(left) => left <= settled.0,
            None => now <= settled.1,
        })
    }

    /// Finds what left then, and has arrived: when, nothing tells.
    pub(super) fn receive_untimed(&mut self, left: TimeNs) -> Option<MessageId> {
        let found = self.take_sent_at(left)?;
        self.received += 1;
        self.untimed += 1;
        Some(found.id)
    }

    /// Finds what arrives after all that is looked at. What told when it arrives is counted.
    pub(super) fn receive_after(
        &mut self,
        now: TimeNs,
        left: Option<TimeNs>,
    ) -> Option<PendingMessage> {
        match left {
            Some(left) => self.take_sent_at(left),
            None if self.arriving.due(now).is_some() => None,
            None => self.take_first(),
        }
    }

    fn take_sent_at(&mut self, left: TimeNs) -> Option<PendingMessage> {
        let first = self.waiting.range((left, MessageId(0))..).next().copied();
        let (_, id) = first.filter(|(found, _)| *found == left)?;
        self.told = self.told.max(Some(left));
        self.waiting.remove(&(left, id));
        Some(PendingMessage { left, id, arrives: None })
    }

    fn take_due(&mut self, now: TimeNs) -> Option<PendingMessage> {
        let (left, id) = self.arriving.due(now)?;
        self.arriving.take(left, id)
    }

    fn take_first(&mut self) -> Option<PendingMessage> {
        let (left, id) = self.first()?;
        self.waiting.remove(&(left, id));
        Some(PendingMessage { left, id, arrives: None })
    }

    /// A message of those that left has arrived.
    pub(super) fn arrive(&mut self) {
        self.arrived += 1;
    }

    pub(super) fn is_arriving(&self, left: TimeNs, id: MessageId) -> bool {
        self.arriving.by_left.contains_key(&(left, id))
    }

    /// A message that told when it arrives is not waited for any more. Tells whether it was.
    pub(super) fn mark_arrived(&mut self, left: TimeNs, id: MessageId) -> bool {
        let Some(found) = self.arriving.take(left, id) else { return false };
        let Some(arrives) = found.arrives else { return false };
        let (last_left, last_arrived) = self.settled.unwrap_or((left, arrives));
        self.settled = Some((last_left.max(left), last_arrived.max(arrives)));
        self.mark_scheduled_arrived(found);
        true
    }

    /// All messages that told when they arrive do so then.
    pub(super) fn mark_all_arrived(&mut self) {
        let told = self.arriving.by_left.iter();
        let told = told.map(|((left, id), arrives)| (*left, *id, Some(*arrives)));
        for (left, id, arrives) in told.collect::<Vec<_>>() {
            self.mark_scheduled_arrived(PendingMessage { left, id, arrives });
        }
    }

    /// Receives a message at the time that was given: a message that arrives later is not lost.
    fn mark_scheduled_arrived(&mut self, found: PendingMessage) {
        let Some(arrives) = found.arrives.filter(|_| !self.within.is_past(&found)) else { return };
        self.arrived += u64::from(self.within.contains(found.id));
        if !self.within.is_later(arrives) {
            self.received += 1;
            self.take(found.left, arrives);
        }
    }

    /// Counts how long a message took.
    pub(super) fn take(&mut self, left: TimeNs, arrived: TimeNs) {
        match took(left, arrived) {
            Some(ns) => self.latency_ns.add(ns),
            None => self.backwards += 1,
        }
    }

    /// Goes on from here, with what leaves from a message on, as if nothing had been counted.
    pub(super) fn restart(&mut self, first: MessageId) {
        self.within.first = first;
        (self.sent, self.received, self.unsent) = (0, 0, 0);
        (self.guessed, self.arrived) = (0, 0);
        (self.backwards, self.untimed) = (0, 0);
        self.latency_ns = Distribution::default();
    }
}
