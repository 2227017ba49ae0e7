//! Messages between tracks: how long they took, and which never arrived.

mod sequence;
mod wakeups;

use std::collections::{BTreeSet, HashMap, VecDeque};

use foldhash::fast::RandomState;
use kymo_core::model::timeline::{Activity, Content, Message, TimeNs, TrackId};

use crate::{Distribution, LeftOut, Pass, Seen, elapsed};

pub use sequence::{Sequence, Transfer};
pub use wakeups::Wakeups;

/// Messages under way that are kept; of more, the oldest are given up.
const PENDING_MAX: usize = 1 << 20;

/// Who may have sent what arrives without saying so; more are not looked at.
const SENDERS_MAX: usize = 256;

/// Pairs that are told apart.
const PAIRS_MAX: usize = 1 << 16;

/// Who sends what to whom.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PairKey {
    /// The track that sends.
    pub from: Option<TrackId>,
    /// The track that receives.
    pub to: Option<TrackId>,
    /// The message's name.
    pub name: String,
}

/// What is known of a pair's messages.
#[derive(Debug, Clone, Default)]
pub struct Pair {
    /// How many left.
    pub sent: u64,
    /// How many arrived.
    pub received: u64,
    /// How long they took.
    pub latency_ns: Distribution,
    /// How many arrived and did not leave, as far as was recorded.
    pub unsent: u64,
    /// Those that left and did not arrive yet, with their numbers.
    waiting: BTreeSet<(TimeNs, MessageId)>,
    /// When the latest left of which that is told. Where nothing is told, messages arrive in the
    /// order in which they left: those before it are lost.
    told: Option<TimeNs>,
    /// How many arrived without a word of when they left, and are taken for the first that waited.
    pub guessed: u64,
}

/// The number of a message, in the order in which they left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub u64);

impl Pair {
    /// The first that may arrive next.
    fn first(&self) -> Option<(TimeNs, MessageId)> {
        let from = (self.told.unwrap_or(TimeNs(i64::MIN)), MessageId(0));
        self.waiting.range(from..).next().copied()
    }

    /// Whether messages may have been taken for others: some are lost, or left before the
    /// recording, and nothing tells which.
    #[must_use]
    pub fn is_doubtful(&self) -> bool {
        self.guessed > 0 && self.unreceived() > 0
    }

    /// How many left and did not arrive, as far as was recorded.
    #[must_use]
    pub fn unreceived(&self) -> u64 {
        self.sent.saturating_sub(self.received.saturating_sub(self.unsent))
    }
}

/// A message that arrived, with both ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Which it is, where it was seen to leave.
    pub id: Option<MessageId>,
    /// Its name.
    pub name: String,
    /// The track that sent it, where that is known.
    pub from: Option<TrackId>,
    /// The track that received it.
    pub to: TrackId,
    /// When it left, where that is known.
    pub left: Option<TimeNs>,
    /// When it arrived.
    pub arrived: TimeNs,
}

/// Messages and how long they took. Ends are tracks; of a task that has several, the first.
#[derive(Debug, Default)]
pub struct Messages {
    keys: HashMap<PairKey, usize, RandomState>,
    pairs: Vec<Pair>,
    /// Who sends messages of a name to a track, for receivers that do not tell.
    senders: HashMap<(TrackId, String), Vec<TrackId>, RandomState>,
    /// Messages that left, in that order, with their pairs; some of them have arrived.
    left: VecDeque<(TimeNs, MessageId, usize)>,
    pending: usize,
    count: u64,
    /// Messages that were given up.
    given_up: u64,
    /// Messages of pairs beyond the limit.
    left_out: u64,
}

impl Messages {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What was found, the busiest pair first.
    #[must_use]
    pub fn pairs(&self) -> Vec<(&PairKey, &Pair)> {
        let pair = |(key, at): (_, &usize)| Some((key, self.pairs.get(*at)?));
        let mut pairs: Vec<_> = self.keys.iter().filter_map(pair).collect();
        pairs.sort_by_key(|(key, pair)| (u64::MAX - pair.sent.max(pair.received), *key));
        pairs
    }

    /// The tracks that have most messages with tracks that are meant, so many at the most, and how
    /// many others there are. Tracks that are meant come first.
    #[must_use]
    pub fn busiest(
        &self,
        most: usize,
        is_meant: &dyn Fn(TrackId) -> bool,
    ) -> (BTreeSet<TrackId>, usize) {
        let mut counts: HashMap<TrackId, u64, RandomState> = HashMap::default();
        for (key, pair) in self.pairs() {
            let ends = [key.from, key.to];
            if !ends.iter().flatten().any(|end| is_meant(*end)) {
                continue;
            }
            for end in ends.into_iter().flatten() {
                let count = counts.entry(end).or_default();
                *count = count.saturating_add(pair.sent.max(pair.received));
            }
        }
        let mut ends: Vec<_> = counts.into_iter().collect();
        ends.sort_by_key(|(end, count)| (!is_meant(*end), u64::MAX - count, *end));
        let more = ends.len().saturating_sub(most);
        (ends.into_iter().take(most).map(|(end, _)| end).collect(), more)
    }

    /// Messages that left and did not arrive yet, as far as they are kept, pair by pair.
    pub fn pending(&self) -> impl Iterator<Item = (&PairKey, TimeNs)> {
        let pairs = self.pairs().into_iter();
        pairs.flat_map(|(key, pair)| pair.waiting.iter().map(move |(time, _)| (key, *time)))
    }

    fn pair(&mut self, key: PairKey) -> Option<usize> {
        if let Some(at) = self.keys.get(&key) {
            return Some(*at);
        }
        if self.pairs.len() >= PAIRS_MAX {
            self.left_out += 1;
            return None;
        }
        self.keys.insert(key, self.pairs.len());
        self.pairs.push(Pair::default());
        Some(self.pairs.len() - 1)
    }

    /// A message leaves. Tells which it is, unless there are too many pairs.
    fn send(&mut self, from: TrackId, time: TimeNs, message: &Message<'_>) -> Option<MessageId> {
        let key = PairKey { from: Some(from), to: message.peer, name: message.name.to_string() };
        let at = self.pair(key)?;
        let id = MessageId(self.count);
        self.count += 1;
        let pair = self.pairs.get_mut(at)?;
        pair.sent += 1;
        pair.waiting.insert((time, id));
        let is_new = pair.sent == 1;
        self.left.push_back((time, id, at));
        self.pending += 1;
        self.give_up();
        if let (Some(to), true) = (message.peer, is_new) {
            self.senders.entry((to, message.name.to_string())).or_default().push(from);
        }
        Some(id)
    }

    /// Gives up the oldest while too many are under way, and forgets those that arrived.
    fn give_up(&mut self) {
        let Self { left, pairs, .. } = self;
        if left.len() > 2 * PENDING_MAX {
            left.retain(|(time, id, at)| {
                pairs.get(*at).is_some_and(|pair| pair.waiting.contains(&(*time, *id)))
            });
        }
        while self.pending > PENDING_MAX {
            let Some((time, id, at)) = left.pop_front() else { return };
            if pairs.get_mut(at).is_some_and(|pair| pair.waiting.remove(&(time, id))) {
                self.pending -= 1;
                self.given_up += 1;
            }
        }
    }

    /// Who sent what arrives without saying so: the one whose message waits longest.
    fn sender(&self, to: TrackId, name: &str) -> Option<TrackId> {
        let senders = self.senders.get(&(to, name.to_owned()))?;
        let waiting = senders.iter().take(SENDERS_MAX).filter_map(|from| {
            let key = PairKey { from: Some(*from), to: Some(to), name: name.to_owned() };
            let (time, _) = self.pairs.get(*self.keys.get(&key)?)?.first()?;
            Some((time, *from))
        });
        waiting.min().map(|(_, from)| from)
    }

    fn receive(&mut self, to: TrackId, arrived: TimeNs, message: &Message<'_>) -> Sent {
        let from = message.peer.or_else(|| self.sender(to, &message.name));
        let named = |to| PairKey { from, to, name: message.name.to_string() };
        // Some senders do not say to whom.
        let exact = named(Some(to));
        let is_open = !self.keys.contains_key(&exact) && self.keys.contains_key(&named(None));
        let key = if is_open { named(None) } else { exact };
        let name = message.name.to_string();
        let mut sent = Sent { id: None, name, from, to, left: message.peer_time, arrived };
        let at = self.pair(key);
        let Some(pair) = at.and_then(|at| self.pairs.get_mut(at)) else { return sent };
        pair.received += 1;
        let found = match message.peer_time {
            Some(left) => pair.waiting.range((left, MessageId(0))..).next().copied(),
            None => pair.first(),
        };
        let is_same = |(time, _): &(TimeNs, _)| message.peer_time.is_none_or(|left| left == *time);
        if let Some((left, id)) = found.filter(is_same) {
            match message.peer_time {
                Some(_) => pair.told = pair.told.max(Some(left)),
                None => pair.guessed += 1,
            }
            pair.waiting.remove(&(left, id));
            (sent.id, sent.left) = (Some(id), Some(left));
            self.pending -= 1;
        } else {
            pair.unsent += 1;
        }
        if let Some(left) = sent.left {
            pair.latency_ns.add(elapsed(left, arrived));
        }
        sent
    }

    /// Takes an event. Tells the message that leaves or arrives with it.
    pub fn take(&mut self, seen: &Seen<'_>) -> Option<Moved> {
        let Content::Activity(activity) = &seen.event.content else { return None };
        let (track, time) = (seen.tasks.home(seen.event.track), seen.time);
        let home = |message: &Message<'_>| Message {
            name: message.name.to_string().into(),
            peer: message.peer.map(|peer| seen.tasks.home(peer)),
            peer_time: message.peer_time,
        };
        match activity {
            Activity::Send(message) => {
                let message = home(message);
                let id = self.send(track, time, &message);
                let (name, to) = (message.name.into_owned(), message.peer);
                Some(Moved::Left(Left { id, name, from: track, to, time }))
            }
            Activity::Receive(message) => {
                Some(Moved::Arrived(self.receive(track, time, &home(message))))
            }
            _ => None,
        }
    }
}

/// A message at one of its ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Moved {
    /// It leaves.
    Left(Left),
    /// It arrives.
    Arrived(Sent),
}

/// A message that leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Which it is; nothing when there are too many pairs for it to be told from others.
    pub id: Option<MessageId>,
    /// Its name.
    pub name: String,
    /// The track that sends it.
    pub from: TrackId,
    /// The track that is to receive it, where that is known.
    pub to: Option<TrackId>,
    /// When.
    pub time: TimeNs,
}

impl Pass for Messages {
    fn event(&mut self, seen: &Seen<'_>) {
        self.take(seen);
    }

    fn left_out(&self) -> Vec<LeftOut> {
        let pairs = LeftOut {
            count: self.left_out,
            one: "message is of a pair beyond those that are told apart, and is left out",
            many: "messages are of pairs beyond those that are told apart, and are left out",
        };
        let given_up = LeftOut {
            count: self.given_up,
            one: "message that did not arrive could not be waited for: if it did, it is unsent",
            many: "messages that did not arrive were too many to wait for: if they did, they are \
                   unsent",
        };
        vec![pairs, given_up]
    }
}

#[cfg(test)]
mod tests;
