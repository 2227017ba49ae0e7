//! Messages between tracks: how long they took, and which never arrived.

mod inbox;
mod pair;
mod sequence;
mod wakeups;

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, HashSet, VecDeque};

use foldhash::fast::RandomState;
use kymo_model::timeline::{Activity, Content, Message, TimeNs, TrackId};

use crate::bounds::Bounds;
use crate::own::item_mut;
use crate::tasks::Tasks;
use crate::{InitialState, Omission, Pass, ResolvedEvent};
use inbox::{Inbox, InboxId};
use pair::{Arrival, PairWindow, PendingMessage};

pub use pair::Pair;
pub use sequence::{Sequence, Transfer};
pub use wakeups::Wakeups;

/// Messages under way that are kept; of more, the oldest are given up.
const PENDING_MAX: usize = 1 << 20;

/// Messages that told when they arrive and may be told of once more; of more, those that are to
/// arrive first are taken to have arrived.
const ARRIVING_MAX: usize = 1 << 16;

/// Pairs that are told apart.
const PAIRS_MAX: usize = 1 << 16;

/// Sender, receiver and name of messages.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PairKey {
    /// The track that sends.
    pub from: Option<TrackId>,
    /// The track that receives.
    pub to: Option<TrackId>,
    /// The message's name.
    pub name: String,
}

/// The number of a message, in the order in which they left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub u64);

/// A message that arrived, with both ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveredMessage {
    /// Id of the message, where it was seen to leave in what is looked at.
    pub id: Option<MessageId>,
    /// Its name.
    pub name: String,
    /// The track that sent it, where that is known.
    pub from: Option<TrackId>,
    /// The track that received it.
    pub to: TrackId,
    /// Time at which it left, where that is known.
    pub left: Option<TimeNs>,
    /// Time at which it arrived.
    pub arrived: TimeNs,
    /// Time at which it was to arrive, where its sender gave that.
    pub told: Option<TimeNs>,
}

/// Doubts about latencies. For pairs: messages may have been taken for others, since not all that
/// arrived record when they left. For messages: those that have no latency.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LatencyCaveats {
    /// Some did not arrive: latencies may be too long.
    pub too_long: u64,
    /// Some left before what is known: latencies may be too short.
    pub too_short: u64,
    /// Number of messages that arrived before they left: latencies are without them.
    pub backwards: u64,
    /// Number of messages whose time of arrival is not recorded: latencies are without them.
    pub untimed: u64,
    /// Number of messages that are unsent and may have left before what is known.
    pub unsent: u64,
}

/// Messages and how long they took. Ends are tracks; of a task that has several, the first.
#[derive(Debug, Clone, Default)]
pub struct Messages {
    keys: HashMap<PairKey, usize, RandomState>,
    pairs: Vec<Pair>,
    /// Messages under way to a track by a name, for receivers that do not record the sender.
    inbox_of: HashMap<(TrackId, String), InboxId, RandomState>,
    inboxes: Vec<Inbox>,
    /// Messages that left, in that order, with their pairs; some of them have arrived.
    left: VecDeque<(TimeNs, MessageId, usize)>,
    pending: usize,
    /// Messages that told when they arrive, by that, with when they left and their pairs; some of
    /// them have arrived.
    due: BinaryHeap<Reverse<(TimeNs, MessageId, TimeNs, usize)>>,
    /// Number of those that may be reported once more.
    arriving: usize,
    count: u64,
    /// The first that left in what is looked at.
    first: MessageId,
    /// Points at which the window cuts through the recording.
    bounds: Option<Bounds>,
    /// True if it is not known what was under way at the begin.
    is_begin_unknown: bool,
    /// Messages that were given up.
    given_up: u64,
    /// Messages of pairs beyond the limit.
    left_out: u64,
    /// Arrivals that count already, it seems, as their senders told.
    repeated: u64,
    /// Pairs of which messages left since events were missing.
    open: Vec<usize>,
}

impl Messages {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// These messages as what is under way when a window begins; some are not known where what was
    /// before them is not.
    pub(crate) fn pending_messages(mut self, is_begin_known: bool) -> Self {
        self.first = MessageId(self.count);
        self.pairs.iter_mut().for_each(|pair| pair.restart(self.first));
        (self.given_up, self.left_out, self.repeated) = (0, 0, 0);
        self.is_begin_unknown = !is_begin_known;
        self
    }

    /// Returns the pairs, the busiest first.
    #[must_use]
    pub fn pairs(&self) -> Vec<(&PairKey, &Pair)> {
        let pair = |(key, at): (_, &usize)| Some((key, self.pairs.get(*at)?));
        let is_seen = |(_, pair): &(&PairKey, &Pair)| pair.sent + pair.received > 0;
        let mut pairs: Vec<_> = self.keys.iter().filter_map(pair).filter(is_seen).collect();
        pairs.sort_by_key(|(key, pair)| (u64::MAX - pair.sent.max(pair.received), *key));
        pairs
    }

    /// So many tracks at the most that have most messages, and how many others there are. Each has
    /// some with another that is chosen, or with nobody else: the one that it has most with comes
    /// with it. Tracks that are meant come first.
    #[must_use]
    pub fn busiest(
        &self,
        most: usize,
        is_meant: &dyn Fn(TrackId) -> bool,
    ) -> (BTreeSet<TrackId>, usize) {
        let pairs = self.pairs().into_iter();
        let pairs = pairs.map(|(key, pair)| ([key.from, key.to], pair.sent.max(pair.received)));
        let has_meant = |ends: &[Option<TrackId>]| ends.iter().flatten().any(|end| is_meant(*end));
        let pairs: Vec<Between> = pairs.filter(|(ends, _)| has_meant(ends)).collect();
        let mut left: HashMap<TrackId, u64, RandomState> = HashMap::default();
        for (ends, count) in &pairs {
            let ends: BTreeSet<_> = ends.iter().flatten().collect();
            for end in ends {
                let all = left.entry(*end).or_default();
                *all = all.saturating_add(*count);
            }
        }
        let mut chosen = BTreeSet::new();
        while chosen.len() < most {
            let linked = linked(&pairs, &chosen);
            // Where there is room for one, it must be one of which something is shown.
            let has_room = chosen.len() + 1 < most;
            let next = left.iter().filter(|(end, _)| has_room || linked.contains(*end));
            let next = next.max_by_key(|(end, all)| (is_meant(**end), **all, Reverse(**end)));
            let Some(next) = next.map(|(end, _)| *end) else { break };
            left.remove(&next);
            chosen.insert(next);
            if !linked.contains(&next)
                && let Some(other) = closest(next, &pairs)
            {
                left.remove(&other);
                chosen.insert(other);
            }
        }
        (chosen, left.len())
    }

    /// Messages that left and did not arrive yet, as far as they are kept, pair by pair.
    pub fn pending(&self) -> impl Iterator<Item = (&PairKey, TimeNs)> {
        let pairs = self.pairs().into_iter();
        pairs.flat_map(|(key, pair)| {
            let waiting = pair.waiting().chain(pair.later());
            let waiting = waiting.filter(|(_, id)| pair.within.contains(*id));
            waiting.map(move |(time, _)| (key, time))
        })
    }

    /// Counts the messages of some pairs that may have wrong latencies, or have none.
    #[must_use]
    pub fn latency_caveats(&self, is_meant: impl Fn(&PairKey) -> bool) -> LatencyCaveats {
        let mut doubts = LatencyCaveats::default();
        for (_, pair) in self.pairs().into_iter().filter(|(key, _)| is_meant(key)) {
            doubts.too_long += u64::from(pair.may_be_too_long());
            doubts.too_short += u64::from(pair.may_be_too_short(!self.is_begin_unknown));
            doubts.backwards += pair.backwards;
            doubts.untimed += pair.untimed;
            doubts.unsent += if self.is_begin_unknown { pair.unsent } else { 0 };
        }
        doubts
    }

    /// Returns the times that are looked at for a pair.
    fn pair_window(&self, key: &PairKey) -> PairWindow {
        let bounds = self.bounds.as_ref().zip(key.to.or(key.from));
        PairWindow {
            first: self.first,
            from: bounds.and_then(|(bounds, track)| bounds.from(track)),
            until: bounds.and_then(|(bounds, track)| bounds.window_end(track)),
        }
    }

    fn pair(&mut self, key: PairKey) -> Option<usize> {
        if let Some(at) = self.keys.get(&key) {
            return Some(*at);
        }
        if self.pairs.len() >= PAIRS_MAX {
            self.left_out += 1;
            return None;
        }
        self.pairs.push(Pair::new(self.pair_window(&key), key.to.or(key.from)));
        self.keys.insert(key, self.pairs.len() - 1);
        Some(self.pairs.len() - 1)
    }

    /// A message leaves. Tells which it is, unless there are too many pairs.
    fn send(&mut self, from: TrackId, left: TimeNs, message: &Message<'_>) -> Option<MessageId> {
        let key = PairKey { from: Some(from), to: message.peer, name: message.name.to_string() };
        let at = self.pair(key)?;
        let id = MessageId(self.count);
        self.count += 1;
        let (pair, arrives) = (self.pairs.get_mut(at)?, message.peer_time);
        pair.send(PendingMessage { left, id, arrives });
        if let (Some(to), None) = (message.peer, pair.inbox) {
            let known = self.inbox_of.entry((to, message.name.to_string()));
            let inbox = *known.or_insert(InboxId(self.inboxes.len()));
            self.inboxes.resize_with(self.inboxes.len().max(inbox.0 + 1), Inbox::default);
            pair.inbox = Some((inbox, from));
        }
        if let Some(arrives) = arrives {
            self.due.push(Reverse((arrives, id, left, at)));
            self.arriving += 1;
            if let Some((inbox, from)) = self.inbox(at) {
                inbox.expect(arrives, left, from, id);
            }
            self.mark_due_received();
        } else {
            if !std::mem::replace(&mut pair.is_open, true) {
                self.open.push(at);
            }
            self.left.push_back((left, id, at));
            self.pending += 1;
            self.queue(at);
            self.drop_oldest();
        }
        Some(id)
    }

    /// Returns the inbox in which a receiver may look for messages of a pair, and the track that
    /// sends them.
    fn inbox(&mut self, at: usize) -> Option<(&mut Inbox, TrackId)> {
        let (inbox, from) = self.pairs.get(at)?.inbox?;
        Some((self.inboxes.get_mut(inbox.0)?, from))
    }

    /// Has the inbox of a pair know which of its messages may arrive next.
    fn queue(&mut self, at: usize) {
        let Some(pair) = self.pairs.get_mut(at) else { return };
        let first = pair.first().map(|(left, _)| left);
        let before = std::mem::replace(&mut pair.queued, first);
        if before != first
            && let Some((inbox, from)) = self.inbox(at)
        {
            inbox.queue(before, first, from);
        }
    }

    /// While too many messages told when they arrive, those that are to arrive first have.
    fn mark_due_received(&mut self) {
        if self.due.len() > 2 * ARRIVING_MAX {
            let pairs = &self.pairs;
            self.due.retain(|Reverse((_, id, left, at))| {
                pairs.get(*at).is_some_and(|pair| pair.is_arriving(*left, *id))
            });
        }
        while self.arriving > ARRIVING_MAX {
            let Some(Reverse((arrives, id, left, at))) = self.due.pop() else { return };
            if self.pairs.get_mut(at).is_some_and(|pair| pair.mark_arrived(left, id)) {
                self.forget_arriving(at, PendingMessage { left, id, arrives: Some(arrives) });
                if let Some((inbox, from)) = self.inbox(at) {
                    inbox.mark_received(arrives, from);
                }
            }
        }
    }

    /// A message that told when it arrives is not waited for any more.
    fn forget_arriving(&mut self, at: usize, PendingMessage { left, id, arrives }: PendingMessage) {
        self.arriving -= 1;
        if let (Some((inbox, from)), Some(arrives)) = (self.inbox(at), arrives) {
            inbox.forget(arrives, left, from, id);
        }
    }

    /// Gives up the oldest while too many are under way, and forgets those that arrived.
    fn drop_oldest(&mut self) {
        if self.left.len() > 2 * PENDING_MAX {
            let pairs = &self.pairs;
            self.left.retain(|(time, id, at)| {
                pairs.get(*at).is_some_and(|pair| pair.is_waiting(*time, *id))
            });
        }
        while self.pending > PENDING_MAX {
            let Some((time, id, at)) = self.left.pop_front() else { return };
            if self.pairs.get_mut(at).is_some_and(|pair| pair.drop_oldest(time, id)) {
                self.pending -= 1;
                self.given_up += 1;
                self.queue(at);
            }
        }
    }

    /// Returns the sender of a message that arrives without naming it: the one who recorded that it
    /// arrives now, and else the one whose message waits longest.
    fn sender(&self, to: TrackId, name: &str, now: TimeNs) -> Option<TrackId> {
        let inbox = self.inbox_of.get(&(to, name.to_owned()))?;
        self.inboxes.get(inbox.0)?.sender(now)
    }

    /// The pair of what arrives.
    fn key(&self, to: TrackId, arrived: TimeNs, message: &Message<'_>) -> PairKey {
        let from = message.peer.or_else(|| self.sender(to, &message.name, arrived));
        let named = |to| PairKey { from, to, name: message.name.to_string() };
        // Some senders do not say to whom.
        let exact = named(Some(to));
        let is_open = !self.keys.contains_key(&exact) && self.keys.contains_key(&named(None));
        if is_open { named(None) } else { exact }
    }

    /// A message arrives after all that is looked at. Tells it where it left before.
    fn receive_after(
        &mut self,
        to: TrackId,
        arrived: TimeNs,
        message: &Message<'_>,
    ) -> Option<DeliveredMessage> {
        let key = self.key(to, arrived, message);
        let at = *self.keys.get(&key)?;
        let pair = self.pairs.get_mut(at)?;
        let PendingMessage { left, id, .. } = pair.receive_after(arrived, message.peer_time)?;
        let is_counted = pair.within.contains(id);
        if is_counted {
            pair.arrive();
        }
        self.pending -= 1;
        self.queue(at);
        let id = is_counted.then_some(id)?;
        let PairKey { from, name, .. } = key;
        Some(DeliveredMessage {
            id: Some(id),
            name,
            from,
            to,
            left: Some(left),
            arrived,
            told: None,
        })
    }

    /// A message that left then has arrived, and nothing tells when. Tells which it is where it left
    /// in what is looked at.
    fn receive_untimed(&mut self, key: &PairKey, left: TimeNs) -> Option<MessageId> {
        let at = *self.keys.get(key)?;
        let pair = self.pairs.get_mut(at)?;
        let id = pair.receive_untimed(left)?;
        let is_counted = pair.within.contains(id);
        if is_counted {
            pair.arrive();
        }
        self.pending -= 1;
        self.queue(at);
        is_counted.then_some(id)
    }

    fn receive(&mut self, to: TrackId, arrived: TimeNs, message: &Message<'_>) -> DeliveredMessage {
        let key = self.key(to, arrived, message);
        let (name, left) = (message.name.to_string(), message.peer_time);
        let mut sent =
            DeliveredMessage { id: None, name, from: key.from, to, left, arrived, told: None };
        let Some(at) = self.pair(key) else { return sent };
        let Some(pair) = self.pairs.get_mut(at) else { return sent };
        let found = match pair.receive(arrived, left) {
            Arrival::Of(found) => Some(found),
            Arrival::Unsent => None,
            Arrival::Again => {
                self.repeated += 1;
                return sent;
            }
        };
        if let Some(PendingMessage { left, id, arrives }) = found {
            (sent.left, sent.told) = (Some(left), arrives);
            if pair.within.contains(id) {
                sent.id = Some(id);
                pair.arrive();
            }
        }
        let is_past = found.is_some_and(|found| pair.within.is_past(&found));
        if let Some(left) = sent.left.filter(|_| !is_past) {
            pair.take(left, arrived);
        }
        match found {
            Some(told) if told.arrives.is_some() => self.forget_arriving(at, told),
            Some(_) => {
                self.pending -= 1;
                self.queue(at);
            }
            None => {}
        }
        sent
    }

    /// Events are missing from here on: what is under way may arrive where nothing tells. What comes
    /// later is taken for it only if it says when it left.
    fn gap(&mut self, recording: usize, seen: &ResolvedEvent<'_>) {
        let mut open = std::mem::take(&mut self.open);
        open.retain(|at| {
            let pair = self.pairs.get_mut(*at);
            let is_of = |pair: &&mut Pair| {
                pair.end.is_some_and(|end| seen.tasks.recording_of(end) == Some(recording))
            };
            let Some(pair) = pair.filter(is_of) else { return true };
            pair.cut(seen.time);
            self.queue(*at);
            false
        });
        self.open = open;
    }

    /// Takes an event. Tells the message that leaves or arrives with it.
    pub fn take(&mut self, seen: &ResolvedEvent<'_>) -> Option<MessageEnd> {
        if let Some(recording) = seen.events_missing_from() {
            self.gap(recording, seen);
        }
        let Content::Activity(activity) = &seen.event.content else { return None };
        self.moved(activity, seen.event.track, seen.time, seen.tasks)
    }

    /// Takes an event after all that is looked at. Tells the message that left before and arrives
    /// with it.
    pub(crate) fn take_after(&mut self, seen: &ResolvedEvent<'_>) -> Option<DeliveredMessage> {
        let Content::Activity(Activity::Receive(message)) = &seen.event.content else {
            return None;
        };
        let message = at_main_track(message, seen.tasks);
        self.receive_after(seen.tasks.home(seen.event.track), seen.time, &message)
    }

    /// Takes what happens on a track. Tells the message that leaves or arrives with it.
    pub(crate) fn moved(
        &mut self,
        activity: &Activity<'_>,
        track: TrackId,
        time: TimeNs,
        tasks: &Tasks,
    ) -> Option<MessageEnd> {
        let (Activity::Send(message) | Activity::Receive(message)) = activity else { return None };
        let (track, message) = (tasks.home(track), at_main_track(message, tasks));
        if matches!(activity, Activity::Receive(_)) {
            return Some(MessageEnd::Arrived(self.receive(track, time, &message)));
        }
        let id = self.send(track, time, &message);
        let (to, arrives) = (message.peer, message.peer_time);
        let until = self.bounds.as_ref().and_then(|bounds| bounds.window_end(to.unwrap_or(track)));
        let is_later = arrives.zip(until).is_some_and(|(arrives, until)| arrives >= until);
        let name = message.name.into_owned();
        Some(MessageEnd::Sent(SentMessage { id, name, from: track, to, time, arrives, is_later }))
    }
}

/// The ends of messages, as far as they are known, and how many there are.
type Between = ([Option<TrackId>; 2], u64);

/// Tracks that have messages with some others, with themselves, or with nobody who is known.
fn linked(pairs: &[Between], chosen: &BTreeSet<TrackId>) -> HashSet<TrackId, RandomState> {
    let mut linked = HashSet::default();
    for ([from, to], _) in pairs {
        for (end, other) in [(from, to), (to, from)] {
            let is_linked =
                other.is_none_or(|other| *end == Some(other) || chosen.contains(&other));
            linked.extend(end.filter(|_| is_linked));
        }
    }
    linked
}

/// The track that another has most messages with.
fn closest(track: TrackId, pairs: &[Between]) -> Option<TrackId> {
    let mut shared: HashMap<TrackId, u64, RandomState> = HashMap::default();
    for ([from, to], count) in pairs {
        for (end, other) in [(from, to), (to, from)] {
            if let (true, Some(other)) = (*end == Some(track), other) {
                let all = shared.entry(*other).or_default();
                *all = all.saturating_add(*count);
            }
        }
    }
    let closest = shared.into_iter().max_by_key(|(other, count)| (*count, Reverse(*other)));
    closest.map(|(other, _)| other)
}

/// A message whose other end is the track that stands for all of a task's.
fn at_main_track(message: &Message<'_>, tasks: &Tasks) -> Message<'static> {
    Message {
        name: message.name.to_string().into(),
        peer: message.peer.map(|peer| tasks.home(peer)),
        peer_time: message.peer_time,
    }
}

/// A message at one of its ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageEnd {
    /// It leaves.
    Sent(SentMessage),
    /// It arrives.
    Arrived(DeliveredMessage),
    /// It has arrived, and nothing tells when.
    Untimed(MessageId),
}

/// A message that leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentMessage {
    /// Id of the message; `None` when there are too many pairs to distinguish it from others.
    pub id: Option<MessageId>,
    /// Its name.
    pub name: String,
    /// The track that sends it.
    pub from: TrackId,
    /// The track that is to receive it, where that is known.
    pub to: Option<TrackId>,
    /// Time at which it leaves.
    pub time: TimeNs,
    /// Time at which it arrives, where its sender gives that.
    pub arrives: Option<TimeNs>,
    /// True if its sender tells that it arrives after all that is looked at.
    pub is_later: bool,
}

impl Pass for Messages {
    fn follows_messages(&self) -> bool {
        true
    }

    fn begin(&mut self, bounds: &Bounds) {
        self.bounds = Some(bounds.clone());
    }

    fn initial_state(&mut self, what: &InitialState<'_>, _begin: TimeNs) {
        let InitialState::Messages(under_way) = what else { return };
        let bounds = self.bounds.take();
        *self = Self { bounds, ..Messages::clone(under_way) };
        for (key, at) in &self.keys {
            let within = self.pair_window(key);
            if let Some(pair) = item_mut(&mut self.pairs, *at) {
                pair.within = within;
            }
        }
    }

    fn event(&mut self, seen: &ResolvedEvent<'_>) {
        self.take(seen);
    }

    /// Settles messages whose time of arrival was given: they have arrived, or do so later.
    fn finish(&mut self, _bounds: &Bounds, _tasks: &Tasks) {
        self.pairs.iter_mut().for_each(Pair::mark_all_arrived);
    }

    fn awaits(&self) -> bool {
        self.pending > 0
    }

    fn event_after(&mut self, seen: &ResolvedEvent<'_>) {
        self.take_after(seen);
    }

    fn omissions(&self) -> Vec<Omission> {
        let pairs = Omission {
            count: self.left_out,
            one: "message is of a pair beyond those that are told apart, and is left out",
            many: "messages are of pairs beyond those that are told apart, and are left out",
        };
        let given_up = Omission {
            count: self.given_up,
            one: "message that did not arrive could not be waited for: if it did, it is unsent",
            many: "messages that did not arrive were too many to wait for: if they did, they are \
                   unsent",
        };
        let repeated = Omission {
            count: self.repeated,
            one: "arrival is of a message that counts already as its sender told, as far as can be \
                  known: it is left out",
            many: "arrivals are of messages that count already as their senders told, as far as \
                   can be known: they are left out",
        };
        vec![pairs, given_up, repeated]
    }
}

#[cfg(test)]
mod tests;
