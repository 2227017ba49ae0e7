//! Moments as people read them.

use std::fmt::{Display, Formatter};

use jiff::Timestamp;

use super::{Clock, TimeNs};

/// A moment as a person reads it: a time of day, or seconds on a clock of its own.
#[derive(Debug, Clone, Copy)]
pub struct DisplayTime {
    /// The moment.
    pub time: TimeNs,
    /// True if it counts from the Epoch.
    pub since_epoch: bool,
}

impl DisplayTime {
    /// A moment on a clock.
    #[must_use]
    pub fn on_clock(clock: Option<&Clock>, time: TimeNs) -> Self {
        Self { time, since_epoch: clock.is_some_and(|clock| clock.since_epoch) }
    }
}

impl Display for DisplayTime {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let ns = self.time.0;
        if self.since_epoch
            && let Ok(timestamp) = Timestamp::from_nanosecond(i128::from(ns))
        {
            return write!(f, "{timestamp:.9}");
        }
        let sign = if ns < 0 { "-" } else { "" };
        let (seconds, rest) =
            (ns.unsigned_abs() / 1_000_000_000, ns.unsigned_abs() % 1_000_000_000);
        write!(f, "{sign}{seconds}.{rest:09}")
    }
}

/// A length of time, to the nanosecond: "1.500000000 s".
#[derive(Debug, Clone, Copy)]
pub struct DisplayDuration(pub u64);

impl Display for DisplayDuration {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (seconds, rest) = (self.0 / 1_000_000_000, self.0 % 1_000_000_000);
        write!(f, "{seconds}.{rest:09} s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_shown_to_the_nanosecond() {
        let shown = |ns, since_epoch| DisplayTime { time: TimeNs(ns), since_epoch }.to_string();
        assert_eq!(shown(1_000_000_000_000_000_001, true), "2001-09-09T01:46:40.000000001Z");
        assert_eq!(shown(-1_500_000_000, false), "-1.500000000");
        assert_eq!(shown(i64::MIN, false), "-9223372036.854775808");
    }
}
