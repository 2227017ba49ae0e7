//! Messages one by one, in the order in which they left.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use foldhash::fast::RandomState;
use kymo_model::timeline::{TimeNs, TrackId};

use super::{DeliveredMessage, MessageEnd, MessageId, Messages, Wakeups};
use crate::{InitialState, Omission, Pass, ResolvedEvent};

/// A message as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// Its name.
    pub name: String,
    /// The track that sent it, where that is known.
    pub from: Option<TrackId>,
    /// The track that received it, or is to.
    pub to: Option<TrackId>,
    /// Time at which it left, where that is known.
    pub left: Option<TimeNs>,
    /// Time at which it arrived, where that is known.
    pub arrived: Option<TimeNs>,
    /// True if it did not arrive, as far as was recorded.
    pub is_lost: bool,
}

/// The first messages, one by one.
#[derive(Debug)]
pub struct Sequence {
    source: Source,
    most: usize,
    /// The tracks that messages are kept between; nothing means all.
    between: Option<BTreeSet<TrackId>>,
    /// The tracks of which one must be an end; nothing means any.
    only_tracks: Option<BTreeSet<TrackId>>,
    /// Those that are kept, with which they are where they were seen to leave.
    transfers: BTreeMap<Place, (Transfer, Option<MessageId>)>,
    /// Places of those that have not arrived.
    places: HashMap<MessageId, Place, RandomState>,
    count: u64,
    omitted_count: u64,
    other_track_count: u64,
}

/// Place of a message: the time when it left, or arrived where that is not known, and its number.
type Place = (TimeNs, u64);

#[derive(Debug)]
enum Source {
    Messages(Messages),
    Wakeups(Wakeups),
}

impl Sequence {
    /// Keeps so many messages at the most.
    #[must_use]
    pub fn for_messages(most: usize) -> Self {
        Self::new(Source::Messages(Messages::new()), most)
    }

    /// Keeps so many wakeups at the most.
    #[must_use]
    pub fn for_wakeups(most: usize) -> Self {
        Self::new(Source::Wakeups(Wakeups::new()), most)
    }

    fn new(source: Source, most: usize) -> Self {
        let (transfers, places) = (BTreeMap::new(), HashMap::default());
        let (between, only_tracks) = (None, None);
        Self {
            source,
            most,
            between,
            only_tracks,
            transfers,
            places,
            count: 0,
            omitted_count: 0,
            other_track_count: 0,
        }
    }

    /// Keeps only messages of some tracks: one end at least is one of them.
    #[must_use]
    pub fn only_tracks(mut self, tracks: BTreeSet<TrackId>) -> Self {
        self.only_tracks = Some(tracks);
        self
    }

    /// Keeps only messages between some tracks; an end that is not known may be any.
    #[must_use]
    pub fn between(mut self, tracks: BTreeSet<TrackId>) -> Self {
        self.between = Some(tracks);
        self
    }

    /// The messages, in the order in which they left; those of which that is not known come where
    /// they arrived.
    pub fn transfers(&self) -> impl Iterator<Item = &Transfer> {
        self.transfers.values().map(|(transfer, _)| transfer)
    }

    /// Returns the number of further messages.
    #[must_use]
    pub fn omitted_count(&self) -> u64 {
        self.omitted_count
    }

    /// Returns the number of messages that are not between the tracks that are asked for.
    #[must_use]
    pub fn other_track_count(&self) -> u64 {
        self.other_track_count
    }

    /// Keeps a message where it is meant, and is one of the first.
    fn add(&mut self, transfer: Transfer, id: Option<MessageId>) {
        if !self.includes(&transfer) {
            return;
        }
        let time = transfer.left.or(transfer.arrived).unwrap_or(TimeNs(0));
        let place = (time, self.count);
        self.count += 1;
        self.transfers.insert(place, (transfer, id));
        self.places.extend(id.map(|id| (id, place)));
        // What is told late may have left before the last of those that are kept.
        if self.transfers.len() > self.most
            && let Some((_, (_, id))) = self.transfers.pop_last()
        {
            self.omitted_count += 1;
            id.and_then(|id| self.places.remove(&id));
        }
    }

    /// Returns true if a message is between the tracks that are asked for. Counts those that are
    /// not.
    fn includes(&mut self, transfer: &Transfer) -> bool {
        let is_of = |track_ids: &BTreeSet<TrackId>| {
            [transfer.from, transfer.to].iter().flatten().any(|end| track_ids.contains(end))
        };
        if !self.only_tracks.as_ref().is_none_or(is_of) {
            return false;
        }
        let is_kept = |end: Option<TrackId>| {
            let between = self.between.as_ref();
            between.zip(end).is_none_or(|(between, end)| between.contains(&end))
        };
        let is_between = is_kept(transfer.from) && is_kept(transfer.to);
        self.other_track_count += u64::from(!is_between);
        is_between
    }

    /// The message of those that left which arrives.
    fn arriving(&mut self, id: MessageId) -> Option<&mut Transfer> {
        let place = self.places.remove(&id)?;
        let (transfer, _) = self.transfers.get_mut(&place)?;
        transfer.is_lost = false;
        Some(transfer)
    }

    /// A message arrives that was seen to leave.
    fn arrive(&mut self, sent: &DeliveredMessage) {
        if let Some(transfer) = sent.id.and_then(|id| self.arriving(id)) {
            (transfer.to, transfer.arrived) = (Some(sent.to), Some(sent.arrived));
        }
    }
}

impl Pass for Sequence {
    fn follows_messages(&self) -> bool {
        true
    }

    fn initial_state(&mut self, what: &InitialState<'_>, begin: TimeNs) {
        match &mut self.source {
            Source::Messages(messages) => messages.initial_state(what, begin),
            Source::Wakeups(wakeups) => wakeups.initial_state(what, begin),
        }
    }

    fn event(&mut self, seen: &ResolvedEvent<'_>) {
        let moved = match &mut self.source {
            Source::Messages(messages) => messages.take(seen),
            Source::Wakeups(wakeups) => wakeups.take(seen),
        };
        match moved {
            None => {}
            Some(MessageEnd::Sent(left)) => {
                let (name, from, to) = (left.name, Some(left.from), left.to);
                let (time, arrived) = (Some(left.time), left.arrives);
                let is_lost = arrived.is_none();
                let transfer = Transfer { name, from, to, left: time, arrived, is_lost };
                if left.id.is_some() {
                    self.add(transfer, left.id);
                }
            }
            Some(MessageEnd::Arrived(sent)) => {
                let (to, arrived) = (Some(sent.to), Some(sent.arrived));
                match sent.id {
                    None => {
                        let (name, from, left) = (sent.name, sent.from, sent.left);
                        self.add(Transfer { name, from, to, left, arrived, is_lost: false }, None);
                    }
                    Some(_) => self.arrive(&sent),
                }
            }
            Some(MessageEnd::Untimed(id)) => drop(self.arriving(id)),
        }
    }

    fn awaits(&self) -> bool {
        !self.places.is_empty()
    }

    fn event_after(&mut self, seen: &ResolvedEvent<'_>) {
        let moved = match &mut self.source {
            Source::Messages(messages) => messages.take_after(seen).map(MessageEnd::Arrived),
            Source::Wakeups(wakeups) => wakeups.take_after(seen),
        };
        match moved {
            Some(MessageEnd::Arrived(sent)) => self.arrive(&sent),
            Some(MessageEnd::Untimed(id)) => drop(self.arriving(id)),
            Some(MessageEnd::Sent(_)) | None => {}
        }
    }

    fn omissions(&self) -> Vec<Omission> {
        match &self.source {
            Source::Messages(messages) => messages.omissions(),
            Source::Wakeups(wakeups) => wakeups.messages().omissions(),
        }
    }
}
