//! Messages between tracks: how long they took, and which never arrived.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::RandomState;
use kymo_core::model::timeline::{Activity, Content, Message, TimeNs, TrackId};

use crate::{Distribution, Pass, Seen, elapsed};

/// Messages under way that are kept; of more, the oldest of their kind are given up.
const PENDING_MAX: usize = 1 << 20;

/// How far a message that says when it left is looked for among those under way.
const SEARCHED_MAX: usize = 256;

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
}

impl Pair {
    /// How many left and did not arrive, as far as was recorded.
    #[must_use]
    pub fn unreceived(&self) -> u64 {
        self.sent.saturating_sub(self.received.saturating_sub(self.unsent))
    }
}

/// A message that arrived, with both ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
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

/// Messages and how long they took.
#[derive(Debug, Default)]
pub struct Messages {
    pairs: HashMap<PairKey, (Pair, VecDeque<TimeNs>), RandomState>,
    /// Who sends messages of a name to a track, for receivers that do not tell.
    senders: HashMap<(TrackId, String), Vec<TrackId>, RandomState>,
    pending: usize,
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
        let mut pairs: Vec<_> = self.pairs.iter().map(|(key, (pair, _))| (key, pair)).collect();
        pairs.sort_by_key(|(key, pair)| (u64::MAX - pair.sent.max(pair.received), *key));
        pairs
    }

    /// How many messages are in none of the pairs, because there were too many of these.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    fn pair(&mut self, key: PairKey) -> Option<&mut (Pair, VecDeque<TimeNs>)> {
        if self.pairs.len() >= PAIRS_MAX && !self.pairs.contains_key(&key) {
            self.left_out += 1;
            return None;
        }
        Some(self.pairs.entry(key).or_default())
    }

    fn send(&mut self, from: TrackId, time: TimeNs, message: &Message<'_>) {
        let is_full = self.pending >= PENDING_MAX;
        let key = PairKey { from: Some(from), to: message.peer, name: message.name.to_string() };
        let Some((pair, waiting)) = self.pair(key) else { return };
        pair.sent += 1;
        let is_new = pair.sent == 1;
        let given_up = is_full && waiting.pop_front().is_some();
        if !is_full || given_up {
            waiting.push_back(time);
        }
        self.pending += usize::from(!is_full);
        if let (Some(to), true) = (message.peer, is_new) {
            self.senders.entry((to, message.name.to_string())).or_default().push(from);
        }
    }

    /// Who sent what arrives without saying so: the one whose message waits longest.
    fn sender(&self, to: TrackId, name: &str) -> Option<TrackId> {
        let senders = self.senders.get(&(to, name.to_owned()))?;
        let waiting = senders.iter().take(SEARCHED_MAX).filter_map(|from| {
            let key = PairKey { from: Some(*from), to: Some(to), name: name.to_owned() };
            Some((*self.pairs.get(&key)?.1.front()?, *from))
        });
        waiting.min().map(|(_, from)| from)
    }

    fn receive(&mut self, to: TrackId, arrived: TimeNs, message: &Message<'_>) -> Sent {
        let from = message.peer.or_else(|| self.sender(to, &message.name));
        let named = |to| PairKey { from, to, name: message.name.to_string() };
        // Some senders do not say to whom.
        let exact = named(Some(to));
        let is_open = !self.pairs.contains_key(&exact) && self.pairs.contains_key(&named(None));
        let key = if is_open { named(None) } else { exact };
        let name = message.name.to_string();
        let mut sent = Sent { name, from, to, left: message.peer_time, arrived };
        let Some((pair, waiting)) = self.pair(key) else { return sent };
        pair.received += 1;
        let at = match message.peer_time {
            Some(left) => waiting.iter().take(SEARCHED_MAX).position(|time| *time == left),
            None => (!waiting.is_empty()).then_some(0),
        };
        let left = at.and_then(|at| waiting.remove(at));
        pair.unsent += u64::from(left.is_none());
        sent.left = sent.left.or(left);
        if let Some(left) = sent.left {
            pair.latency_ns.add(elapsed(left, arrived));
        }
        self.pending -= usize::from(left.is_some());
        sent
    }

    /// Takes an event. Tells the message that arrives with it.
    pub fn take(&mut self, seen: &Seen<'_>) -> Option<Sent> {
        let Content::Activity(activity) = &seen.event.content else { return None };
        let (track, time) = (seen.event.track, seen.time);
        match activity {
            Activity::Send(message) => {
                self.send(track, time, message);
                None
            }
            Activity::Receive(message) => Some(self.receive(track, time, message)),
            _ => None,
        }
    }
}

impl Pass for Messages {
    fn event(&mut self, seen: &Seen<'_>) {
        self.take(seen);
    }
}

/// The first messages that arrived, one by one.
#[derive(Debug)]
pub struct Sequence {
    messages: Messages,
    most: usize,
    sent: Vec<Sent>,
    more: u64,
}

impl Sequence {
    /// Keeps so many messages at the most.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { messages: Messages::new(), most, sent: Vec::new(), more: 0 }
    }

    /// The messages, in the order in which they arrived.
    #[must_use]
    pub fn sent(&self) -> &[Sent] {
        &self.sent
    }

    /// How many arrived besides.
    #[must_use]
    pub fn more(&self) -> u64 {
        self.more
    }
}

impl Pass for Sequence {
    fn event(&mut self, seen: &Seen<'_>) {
        let Some(sent) = self.messages.take(seen) else { return };
        if self.sent.len() < self.most {
            self.sent.push(sent);
        } else {
            self.more += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Told, analysed, message};
    use kymo_core::model::timeline::Window;

    fn send(time: i64, from: usize, to: Option<usize>, peer_time: Option<i64>) -> Told {
        (time, from, Activity::Send(message("M", to, peer_time)))
    }

    fn receive(time: i64, to: usize, from: Option<usize>, peer_time: Option<i64>) -> Told {
        (time, to, Activity::Receive(message("M", from, peer_time)))
    }

    fn found(told: Vec<Told>) -> Vec<(Option<usize>, Option<usize>, Pair)> {
        let mut messages = Messages::new();
        analysed(told, Window::default(), &mut messages);
        let number = |track: Option<TrackId>| track.map(|track| track.0);
        let pairs = messages.pairs();
        pairs.iter().map(|(key, of)| (number(key.from), number(key.to), (*of).clone())).collect()
    }

    #[test]
    fn messages_arrive_in_the_order_they_left() {
        let told = vec![
            send(0, 1, Some(2), None),
            send(10, 1, Some(2), None),
            receive(13, 2, Some(1), None),
            receive(17, 2, Some(1), None),
            send(20, 1, Some(2), None),
        ];
        let found = found(told);
        let (from, to, pair) = &found[0];
        assert_eq!((*from, *to, found.len()), (Some(1), Some(2), 1));
        assert_eq!((pair.sent, pair.received, pair.unreceived(), pair.unsent), (3, 2, 1, 0));
        assert_eq!((pair.latency_ns.min(), pair.latency_ns.max()), (Some(7), Some(13)));
    }

    #[test]
    fn what_says_when_it_left_is_believed() {
        let told = vec![
            send(0, 1, Some(2), Some(30)),
            send(10, 1, Some(2), Some(12)),
            receive(12, 2, Some(1), Some(10)),
            receive(30, 2, Some(1), Some(0)),
            // This one left before the recording.
            receive(31, 2, Some(1), Some(-5)),
        ];
        let (_, _, pair) = &found(told)[0];
        assert_eq!((pair.sent, pair.received, pair.unreceived(), pair.unsent), (2, 3, 0, 1));
        assert_eq!((pair.latency_ns.min(), pair.latency_ns.max()), (Some(2), Some(36)));
    }

    #[test]
    fn what_does_not_tell_its_sender_is_what_waits_longest() {
        let told = vec![
            send(0, 1, Some(3), None),
            send(2, 2, Some(3), None),
            receive(10, 3, None, None),
            receive(11, 3, None, None),
            receive(12, 3, None, None),
        ];
        let found = found(told);
        let latency = |at: usize| (found[at].0, found[at].2.latency_ns.max());
        assert_eq!(
            [latency(0), latency(1), latency(2)],
            [(None, None), (Some(1), Some(10)), (Some(2), Some(9))]
        );
    }

    #[test]
    fn ends_that_do_not_name_each_other_are_matched_by_what_they_say() {
        let told =
            vec![send(0, 1, None, None), receive(5, 2, Some(1), None), receive(6, 2, None, None)];
        let found = found(told);
        assert_eq!((found[0].0, found[0].1), (None, Some(2)));
        assert_eq!((found[0].2.unsent, found[0].2.latency_ns.count()), (1, 0));
        assert_eq!((found[1].0, found[1].1), (Some(1), None));
        assert_eq!(found[1].2.latency_ns.max(), Some(5));
    }
}
