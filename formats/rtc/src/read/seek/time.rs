//! Finding messages by time: clocks rise, so that they are searched by halves.

use std::ops::ControlFlow;

use kymo_model::timeline::TimeNs;

use super::{Certain, Seeker, Uncertain};
use crate::read::outline::Tick;
use crate::read::tracker::CompletedItem;
use crate::types::CLOCKS_MAX;
use crate::types::OwnedMessage;

/// The first message of a unit that is late enough.
struct First {
    message: Option<OwnedMessage>,
    /// Time that the clock shows then, or at the end of the unit.
    shown: Option<TimeNs>,
}

impl Seeker<'_> {
    /// The time of the first message of a clock that begins in the unit of one of its frames.
    fn time_at(&mut self, clock: usize, at: u64, depth: usize) -> Certain<Option<TimeNs>> {
        let tick = self.ticks.tick_at(at);
        let mut tracker = self.tracker();
        let mut walker = if let Some(base) = self.clock_of(clock) {
            let start = self.message_start(tick, base)?;
            tracker.set_clock(base, self.moment(base, start, depth + 1)?);
            self.ticks.walker(&self.view, start)
        } else {
            self.ticks.walker_from(&self.view, at)
        };
        let mut found = None;
        self.read(&mut walker, &mut tracker, self.ticks.end_of(tick), |_, completed, _| {
            match completed {
                Some(completed)
                    if completed.stream == clock
                        && completed.offset >= at
                        && !completed.may_lack_beginning =>
                {
                    found = completed.time;
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        })?;
        Ok(found)
    }

    /// A tick before which a clock shows less than a time, and soon after which it does not.
    fn crossing(&mut self, clock: usize, time: TimeNs, depth: usize) -> Certain<Tick> {
        if depth > CLOCKS_MAX {
            return Err(Uncertain);
        }
        let (mut low, mut high) = (0, self.ticks.last_tick().0 + 1);
        if let Some(base) = self.clock_of(clock) {
            // It shows no less than what it counts from. That may be told again and again: where
            // it was first told, this one is early as a rule.
            let passed = self.crossing(base, time, depth + 1)?;
            high = high.min(passed.0 + 2);
            if let Some(shown) = self.moment(base, passed, depth + 1)? {
                low = self.crossing(base, shown, depth + 1)?.0;
            }
            let mut step = 1;
            while low > 0 && !self.is_before(clock, time, Tick(low), depth)? {
                (low, high) = (low.saturating_sub(step), low);
                step *= 2;
            }
        }
        while high.saturating_sub(low) > 1 {
            let middle = low.midpoint(high);
            if self.is_before(clock, time, Tick(middle), depth)? {
                low = middle;
            } else {
                high = middle;
            }
        }
        Ok(Tick(low))
    }

    /// Returns true if what a clock said in the last unit with it before a tick is before a time.
    fn is_before(&mut self, clock: usize, time: TimeNs, tick: Tick, depth: usize) -> Certain<bool> {
        let Some(at) = self.target(tick, clock)? else { return Ok(true) };
        Ok(match self.time_at(clock, at, depth)? {
            Some(found) => found < time,
            // A unit with one end of a message only: what it shows then is certain.
            None => self.moment(clock, tick, depth)?.is_none_or(|shown| shown < time),
        })
    }

    /// The tick from which on messages of a stream may be of a time or later.
    pub(crate) fn tick_of_time(&mut self, stream: usize, time: TimeNs) -> Certain<Option<Tick>> {
        let Some(clock) = self.own_clock(stream)? else { return Ok(None) };
        let tick = self.crossing(clock, time, 0)?;
        if self.moment(clock, tick, 0)?.is_none_or(|shown| shown < time) {
            return Ok(Some(tick));
        }
        // The clock passed the time within the unit where it was last seen.
        let before = self.unit_before(tick, clock)?.unwrap_or(Tick(0));
        Ok(Some(before))
    }

    /// The first message of a stream at a time or later.
    pub(crate) fn first(&mut self, stream: usize, time: TimeNs) -> Certain<Option<OwnedMessage>> {
        let (Some(clock), Some(tick)) = (self.own_clock(stream)?, self.tick_of_time(stream, time)?)
        else {
            return Ok(None);
        };
        let mut unit = Some(tick);
        while let Some(tick) = unit {
            let first = self.first_of_unit(tick, stream, time)?;
            if first.message.is_some() {
                return Ok(first.message);
            }
            // Until the clock has passed, nothing of the stream can be late enough.
            let has_passed = first.shown.is_some_and(|shown| shown >= time);
            unit = self.unit_from(Tick(tick.0 + 1), if has_passed { stream } else { clock })?;
        }
        Ok(None)
    }

    /// The first message of a stream at a time or later that ends in a unit.
    fn first_of_unit(&mut self, unit: Tick, stream: usize, time: TimeNs) -> Certain<First> {
        let streams = self.with_clocks(stream);
        let start = self.reading_start(unit, &streams)?;
        let mut walker = self.ticks.walker(&self.view, start);
        let mut tracker = self.tracker_at(start, &[stream], 0)?;
        let mut message = None;
        let (view, limit) = (self.view, self.ticks.end);
        // Units before that of the stream are read for what is open in them only.
        self.read(&mut walker, &mut tracker, self.ticks.position(unit), |_, _, _| {
            ControlFlow::Continue(())
        })?;
        let from = (&mut walker, &mut tracker);
        self.read_on(from, unit, limit, &streams, |frame, completed, tracker| {
            let is_it = |completed: &&CompletedItem| {
                completed.stream == stream && completed.time.is_some_and(|at| at >= time)
            };
            let Some(completed) = completed.filter(is_it) else { return ControlFlow::Continue(()) };
            message = Some(OwnedMessage::from_message(&tracker.message(completed, frame, &view)));
            ControlFlow::Break(())
        })?;
        let shown = self.own_clock(stream)?.and_then(|clock| tracker.shows(clock));
        Ok(First { message, shown })
    }
}
