//! Places where times start over: at midnight, or at the end of a year.

use kymo_core::{Finding, Severity};
use kymo_model::timeline::TimeNs;

use crate::Grammar;

/// Times that fall by less than one of so many parts of a cycle are out of order, and do not start
/// over: an hour of a day.
const PARTS: i64 = 24;

/// Places where times have started over: the line, and the number of times by then.
#[derive(Debug, Default)]
pub(crate) struct ClockWraps {
    /// The first byte of a line, and how often by then.
    places: Vec<(u64, u32)>,
    /// The time before, as it was written.
    last: Option<TimeNs>,
    /// Number of times that they started over in all.
    count: u32,
}

impl ClockWraps {
    /// Notes the time of the next line. One that falls by more than a part of the cycle is of the next:
    /// a log may rest for most of a day. One that rises by nearly all of it is of the one before, since
    /// lines may come a little late.
    pub(crate) fn add_line(&mut self, grammar: &impl Grammar, offset: u64, time: TimeNs) {
        let Some(cycle_ns) = grammar.cycle_ns() else { return };
        let rise = self.last.map_or(0, |last| time.0.saturating_sub(last.0));
        self.last = Some(time);
        let now = self.places.last().map_or(0, |(_, turns)| *turns);
        let part_ns = cycle_ns / PARTS;
        if rise < -part_ns {
            self.places.push((offset, now.saturating_add(1)));
            self.count = self.count.max(now.saturating_add(1));
        } else if rise > cycle_ns - part_ns && now > 0 {
            self.places.push((offset, now - 1));
        }
    }

    /// The time of the line at a byte, given what is written there; nothing where there is no such day.
    #[inline]
    pub(crate) fn later(
        &self,
        grammar: &impl Grammar,
        offset: u64,
        time: TimeNs,
    ) -> Option<TimeNs> {
        let after = self.places.partition_point(|(from, _)| *from <= offset);
        let place = after.checked_sub(1).and_then(|at| self.places.get(at));
        grammar.later(time, place.map_or(0, |(_, turns)| *turns))
    }

    /// Says that times start over, and where first.
    pub(crate) fn finding(&self) -> Option<Finding> {
        let (offset, _) = self.places.first()?;
        let often = if self.count == 1 { "once".into() } else { format!("{} times", self.count) };
        let message = format!(
            "times start over, {often} in all: what comes then is of the next day, or the next year"
        );
        Some(Finding::at_offset(Severity::Note, "starts-over", *offset, message))
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::{GrammarState, Line, LineContent, TrackEvent};

    /// Times start over after 100.
    struct Clock;

    impl Grammar for Clock {
        fn read<'a>(&'a self, _line: &'a str) -> LineContent<'a> {
            LineContent::Aside
        }

        fn fields<'a>(&'a self, _line: &Line<'a>) -> Vec<(Cow<'a, str>, Cow<'a, str>)> {
            Vec::new()
        }

        fn text<'a>(&'a self, line: &Line<'a>) -> Cow<'a, str> {
            line.rest.into()
        }

        fn interpret<'a>(
            &'a self,
            _: &Line<'a>,
            _: &mut GrammarState,
            _: &mut dyn FnMut(TrackEvent<'a>),
        ) {
        }

        fn cycle_ns(&self) -> Option<i64> {
            Some(100)
        }

        fn later(&self, time: TimeNs, turns: u32) -> Option<TimeNs> {
            Some(TimeNs(time.0 + i64::from(turns) * 100))
        }

        fn dialect(&self) -> String {
            String::new()
        }
    }

    #[test]
    fn a_time_that_falls_is_of_the_next_cycle() {
        let mut turns = ClockWraps::default();
        let written = [90, 99, 1, 98, 2, 60, 58, 95, 80];
        let expected = [90, 99, 101, 98, 102, 160, 158, 195, 280];
        for (offset, time) in (0..).zip(written) {
            turns.add_line(&Clock, offset, TimeNs(time));
        }
        let found = (0..).zip(written).map(|(at, time)| turns.later(&Clock, at, TimeNs(time)));
        assert_eq!(found.collect::<Vec<_>>(), expected.map(|time| Some(TimeNs(time))));
        assert!(turns.finding().unwrap().message.starts_with("times start over, 2 times in all"));
    }
}
