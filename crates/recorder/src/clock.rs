//! Clocks: streams whose values date those of other streams.

use std::time::Duration;

use kymo_rtc_wire::leb128::Encoded;
use kymo_rtc_wire::write::StreamId;

use crate::error::{Error, Result};
use crate::time::{Resolution, Time};

/// A clock of a recorder: a small number, to be copied freely.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Clock {
    pub(crate) number: usize,
    /// True if it counts ticks rather than seconds.
    is_counter: bool,
}

impl Clock {
    /// Returns true if a time is of the kind that the clock shows.
    pub(crate) fn takes(self, time: Time) -> bool {
        self.is_counter == matches!(time, Time::Ticks(_))
    }
}

/// Ways in which a clock counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// Since the Epoch.
    Absolute,
    /// In ticks of its own.
    Counter { gain: f64 },
    /// From the last value of another clock, which is set again when it is `every` old, or `every`
    /// ticks.
    Delta { base: Clock, resolution: Resolution, every: DeltaLimit },
}

/// Greatest size of a delta.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeltaLimit {
    Elapsed(Duration),
    Ticks(u64),
}

/// A clock and its last value.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) id: StreamId,
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) last: Option<Time>,
}

/// All clocks of a recorder.
#[derive(Debug, Default)]
pub(crate) struct Clocks {
    states: Vec<State>,
}

/// A frame that sets a clock.
pub(crate) struct Setting {
    pub(crate) id: StreamId,
    bytes: [u8; 12],
    length: usize,
}

impl Setting {
    fn new(id: StreamId, value: &[u8]) -> Self {
        let mut bytes = [0; 12];
        let length = value.len().min(bytes.len());
        bytes.iter_mut().zip(value).for_each(|(to, from)| *to = *from);
        Self { id, bytes, length }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }
}

impl Clocks {
    pub(crate) fn add(&mut self, id: StreamId, name: &str, kind: Kind) -> Clock {
        let is_counter = match kind {
            Kind::Absolute => false,
            Kind::Counter { .. } => true,
            Kind::Delta { every, .. } => matches!(every, DeltaLimit::Ticks(_)),
        };
        self.states.push(State { id, name: name.to_owned(), kind, last: None });
        Clock { number: self.states.len() - 1, is_counter }
    }

    pub(crate) fn get(&self, clock: Clock) -> Result<&State> {
        self.states.get(clock.number).ok_or(Error::NoClock)
    }

    /// Checks that a clock may be set to `time`; whether that is a change.
    fn check(&self, clock: Clock, time: Time) -> Result<bool> {
        let state = self.get(clock)?;
        if !clock.takes(time) {
            return Err(Error::Unit(state.name.clone()));
        }
        if state.last.is_some_and(|last| time < last) {
            return Err(Error::Backwards(state.name.clone()));
        }
        Ok(state.last != Some(time))
    }

    /// The frames that set a clock to `time`: none if it is, two if its base must be set as well.
    pub(crate) fn set(&mut self, clock: Clock, time: Time) -> Result<[Option<Setting>; 2]> {
        if !self.check(clock, time)? {
            return Ok([None, None]);
        }
        let frames = match self.get(clock)?.kind {
            Kind::Absolute | Kind::Counter { .. } => [None, Some(self.value(clock, time)?)],
            Kind::Delta { base, resolution, every } => {
                let first = self.renew(base, every, time)?;
                [first, Some(self.delta(clock, base, resolution, time)?)]
            }
        };
        self.note(clock, time);
        Ok(frames)
    }

    /// Sets the base of a delta when it has no value yet or an old one.
    fn renew(&mut self, base: Clock, every: DeltaLimit, time: Time) -> Result<Option<Setting>> {
        let is_due = self.get(base)?.last.is_none_or(|last| is_due(last, time, every));
        if !is_due || !self.check(base, time)? {
            return Ok(None);
        }
        let setting = self.value(base, time)?;
        self.note(base, time);
        Ok(Some(setting))
    }

    fn note(&mut self, clock: Clock, time: Time) {
        if let Some(state) = self.states.get_mut(clock.number) {
            state.last = Some(time);
        }
    }

    fn value(&self, clock: Clock, time: Time) -> Result<Setting> {
        let id = self.get(clock)?.id;
        Ok(match time {
            Time::Absolute(time) => Setting::new(id, &time.to_bytes()),
            Time::Ticks(ticks) => Setting::new(id, &ticks.to_ne_bytes()),
        })
    }

    fn delta(
        &self,
        clock: Clock,
        base: Clock,
        resolution: Resolution,
        time: Time,
    ) -> Result<Setting> {
        let state = self.get(clock)?;
        let backwards = || Error::Backwards(state.name.clone());
        let steps = match (time, self.get(base)?.last) {
            (Time::Absolute(time), Some(Time::Absolute(base))) => {
                resolution.steps(time.duration_since(base).ok_or_else(backwards)?)
            }
            (Time::Ticks(time), Some(Time::Ticks(base))) => {
                time.checked_sub(base).ok_or_else(backwards)?
            }
            _ => return Err(Error::Unit(state.name.clone())),
        };
        Ok(Setting::new(state.id, Encoded::unsigned(steps).as_bytes()))
    }

    /// The clocks that count from another.
    pub(crate) fn deltas_on(&self, id: StreamId) -> impl Iterator<Item = StreamId> {
        let is_on = move |state: &&State| match state.kind {
            Kind::Delta { base, .. } => self.get(base).is_ok_and(|base| base.id == id),
            Kind::Absolute | Kind::Counter { .. } => false,
        };
        self.states.iter().filter(is_on).map(|state| state.id)
    }
}

fn is_due(last: Time, time: Time, every: DeltaLimit) -> bool {
    match (last, time, every) {
        (Time::Absolute(last), Time::Absolute(time), DeltaLimit::Elapsed(every)) => {
            time.duration_since(last).is_some_and(|elapsed| elapsed >= every)
        }
        (Time::Ticks(last), Time::Ticks(time), DeltaLimit::Ticks(every)) => {
            time.checked_sub(last).is_some_and(|elapsed| elapsed >= every)
        }
        _ => false,
    }
}
