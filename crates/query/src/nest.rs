//! Calls or interrupts within each other that are not over, and which of them an end is of.

use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use kymo_model::kernel::interrupt_key;
use kymo_model::timeline::TimeNs;

/// Calls are told apart up to so many within each other; what is called further in counts for the
/// last of them.
const DEPTH_MAX: usize = 1 << 12;

/// The calls of a track that are not over, with the names of their functions as numbers.
#[derive(Debug, Clone)]
pub(crate) struct Nest<T> {
    open: Vec<Open<T>>,
    /// Calls further in than are told apart.
    beyond: u64,
    /// Nothing that is not over is told to be before this.
    next_end: Option<TimeNs>,
    /// Time of the last end that was recorded beforehand, by name: the ends themselves may come
    /// yet.
    told: HashMap<u64, TimeNs, RandomState>,
}

/// One that is not over.
#[derive(Debug, Clone)]
struct Open<T> {
    key: Option<u64>,
    /// Time at which it will be over, where that was recorded at its begin.
    ends: Option<TimeNs>,
    /// True if it is over as soon as it begins.
    is_moment: bool,
    call: T,
}

/// One that was over before something else happened, as was told beforehand.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EarlyEnd<T> {
    pub(crate) call: T,
    /// Time at which it was over.
    pub(crate) time: TimeNs,
    /// True if that was told of itself, and not of one around it.
    pub(crate) is_told: bool,
}

impl<T> Default for Nest<T> {
    fn default() -> Self {
        let (open, told) = (Vec::new(), HashMap::default());
        Self { open, beyond: 0, next_end: None, told }
    }
}

/// Calls that a return ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReturnMatch {
    /// So many calls: that of the function that returns, and those within it, whose own returns are
    /// missing.
    Calls(usize),
    /// One that is further in than is told apart.
    Beyond,
    /// One that began before the recording.
    Before,
    /// One that was over by then, as was told when it began; when that was.
    Told(TimeNs),
    /// A call of another function than those that are not over.
    Other,
}

impl<T> Nest<T> {
    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    pub(crate) fn last(&self) -> Option<&T> {
        self.open.last().map(|open| &open.call)
    }

    pub(crate) fn last_mut(&mut self) -> Option<&mut T> {
        self.open.last_mut().map(|open| &mut open.call)
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        self.open.pop().map(|open| open.call)
    }

    pub(crate) fn push(&mut self, name: Option<&str>, names: &RandomState, call: T) {
        self.push_ending(name, names, (TimeNs(0), None), call);
    }

    /// Adds one that begins at a moment, and is told when it will be over.
    pub(crate) fn push_ending(
        &mut self,
        name: Option<&str>,
        names: &RandomState,
        (since, ends): (TimeNs, Option<TimeNs>),
        call: T,
    ) {
        if let Some(ends) = ends {
            self.next_end = Some(self.next_end.map_or(ends, |next| next.min(ends)));
        }
        let (key, is_moment) = (name.map(|name| key(name, names)), ends == Some(since));
        self.open.push(Open { key, ends, is_moment, call });
    }

    /// Takes out the innermost, where it or one around it was over before a moment, as was told when
    /// that began. Where another begins, those that are over right then are, too, unless they take no
    /// time at all.
    pub(crate) fn pop_ended(&mut self, now: TimeNs, begins: bool) -> Option<EarlyEnd<T>> {
        if self.next_end.is_none_or(|next| next > now) {
            return None;
        }
        let is_over = |open: &&Open<T>| {
            open.ends.is_some_and(|ends| ends < now || (begins && ends == now && !open.is_moment))
        };
        let Some(time) = self.open.iter().filter(is_over).filter_map(|open| open.ends).min() else {
            self.next_end = self.open.iter().filter_map(|open| open.ends).min();
            return None;
        };
        self.beyond = 0;
        let Open { key, ends, call, .. } = self.open.pop()?;
        if let Some((key, ends)) = key.zip(ends) {
            self.told.insert(key, ends);
        }
        Some(EarlyEnd { call, time, is_told: ends.is_some() })
    }

    /// Forgets those of a name and what is within them, for what begins cannot be within itself.
    /// Tells how many there were.
    pub(crate) fn forget_open(&mut self, name: Option<&str>, names: &RandomState) -> usize {
        let Some(name) = name.map(|name| key(name, names)) else { return 0 };
        let before = self.open.iter().position(|open| open.key == Some(name));
        before.map_or(0, |before| self.open.drain(before..).count())
    }

    /// Keeps so many, the outermost.
    pub(crate) fn truncate(&mut self, count: usize) {
        self.open.truncate(count);
    }

    /// Whatever is not over is, as other events tell.
    pub(crate) fn clear(&mut self) {
        self.open.clear();
        self.beyond = 0;
    }

    /// Returns true if one more call is too far in to be told apart; it is counted then.
    pub(crate) fn is_beyond(&mut self) -> bool {
        let is_beyond = self.open.len() >= DEPTH_MAX;
        self.beyond += u64::from(is_beyond);
        is_beyond
    }

    /// Returns the calls that a return ends: the call that began last, or the innermost of the
    /// function it names.
    pub(crate) fn ends(&mut self, name: Option<&str>, names: &RandomState) -> ReturnMatch {
        if self.beyond > 0 {
            self.beyond -= 1;
            return ReturnMatch::Beyond;
        }
        let without = if self.open.is_empty() { ReturnMatch::Before } else { ReturnMatch::Other };
        let Some(name) = name.map(|name| key(name, names)) else {
            return if self.open.is_empty() { ReturnMatch::Before } else { ReturnMatch::Calls(1) };
        };
        let within = self.open.iter().rev().position(|open| open.key == Some(name));
        let told = || self.told.get(&name).map_or(without, |time| ReturnMatch::Told(*time));
        within.map_or_else(told, |within| ReturnMatch::Calls(within + 1))
    }
}

/// Returns the key by which a name is compared.
fn key(name: &str, names: &RandomState) -> u64 {
    names.hash_one(interrupt_key(name))
}
