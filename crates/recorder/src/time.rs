//! Points in time, as clocks of a recording tell them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// Number of nanoseconds in a second.
const NANOSECONDS: u32 = 1_000_000_000;

/// Seconds and nanoseconds since the Epoch, as `timespec_get` fills them in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timespec {
    /// Whole seconds.
    pub seconds: u64,
    /// The rest, under a billion.
    pub nanoseconds: u32,
}

impl Timespec {
    /// The bytes of a timespec in a file.
    pub const BYTES: usize = 12;

    /// A point in time; nanoseconds over a second are carried.
    #[must_use]
    pub const fn new(seconds: u64, nanoseconds: u32) -> Self {
        Self {
            seconds: seconds.saturating_add((nanoseconds / NANOSECONDS) as u64),
            nanoseconds: nanoseconds % NANOSECONDS,
        }
    }

    /// The present, by the system's clock, which may be set back at any time. `Recorder::now`
    /// never goes back.
    #[must_use]
    pub fn now() -> Self {
        SystemTime::now().into()
    }

    /// Returns the duration from `earlier` to this; `None` if this is before it.
    #[must_use]
    pub fn duration_since(self, earlier: Self) -> Option<Duration> {
        Duration::from(self).checked_sub(earlier.into())
    }

    /// The bytes in a file, in this machine's order.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let (seconds, nanoseconds) = bytes.split_at_mut(8);
        seconds.copy_from_slice(&self.seconds.to_ne_bytes());
        nanoseconds.copy_from_slice(&self.nanoseconds.to_ne_bytes());
        bytes
    }
}

impl From<Timespec> for Duration {
    fn from(time: Timespec) -> Self {
        Self::new(time.seconds, time.nanoseconds)
    }
}

impl From<Duration> for Timespec {
    fn from(since_epoch: Duration) -> Self {
        Self::new(since_epoch.as_secs(), since_epoch.subsec_nanos())
    }
}

impl From<SystemTime> for Timespec {
    /// Times before the Epoch become the Epoch.
    fn from(time: SystemTime) -> Self {
        time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().into()
    }
}

/// Time that a clock is set to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Time {
    /// For absolute clocks and deltas on them.
    Absolute(Timespec),
    /// For counters and deltas on them.
    Ticks(u64),
}

impl From<Timespec> for Time {
    fn from(time: Timespec) -> Self {
        Self::Absolute(time)
    }
}

impl From<SystemTime> for Time {
    fn from(time: SystemTime) -> Self {
        Self::Absolute(time.into())
    }
}

impl From<u64> for Time {
    fn from(ticks: u64) -> Self {
        Self::Ticks(ticks)
    }
}

/// In what steps a delta on an absolute clock counts. Times are rounded down to a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Resolution {
    /// Thousandths of a second.
    Milliseconds,
    /// Millionths of a second.
    #[default]
    Microseconds,
    /// Billionths of a second.
    Nanoseconds,
}

impl Resolution {
    /// Returns the length of one step in seconds: the clock's `gain`.
    #[must_use]
    pub const fn gain(self) -> f64 {
        match self {
            Self::Milliseconds => 1e-3,
            Self::Microseconds => 1e-6,
            Self::Nanoseconds => 1e-9,
        }
    }

    /// The whole steps in a duration.
    pub(crate) fn steps(self, duration: Duration) -> u64 {
        let steps = match self {
            Self::Milliseconds => duration.as_millis(),
            Self::Microseconds => duration.as_micros(),
            Self::Nanoseconds => duration.as_nanos(),
        };
        u64::try_from(steps).unwrap_or(u64::MAX)
    }
}

/// The present as a clock that agrees with the system's and never goes back.
#[derive(Debug, Clone)]
pub(crate) struct Steady {
    origin: Duration,
    started: Instant,
    /// By how many nanoseconds the system's clock went further since then than the time that
    /// passed: it was set, or the machine slept, which counts as no time.
    ahead: Arc<AtomicU64>,
}

impl Steady {
    pub(crate) fn start() -> Self {
        let origin = Timespec::now().into();
        Self { origin, started: Instant::now(), ahead: Arc::default() }
    }

    pub(crate) fn now(&self) -> Timespec {
        // In this order: what passes between the two is not taken for a step ahead.
        let system = Timespec::now().into();
        self.time_at(system, self.started.elapsed()).into()
    }

    /// The present where the system's clock shows a time, so long after the start.
    fn time_at(&self, system: Duration, elapsed: Duration) -> Duration {
        let steady = self.origin + elapsed;
        let ahead = u64::try_from(system.saturating_sub(steady).as_nanos()).unwrap_or(u64::MAX);
        let known = self.ahead.load(Ordering::Relaxed);
        let known = if ahead > known {
            self.ahead.fetch_max(ahead, Ordering::Relaxed).max(ahead)
        } else {
            known
        };
        steady + Duration::from_nanos(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The system's clock agrees at first, is an hour ahead after a sleep that no time passed in,
    /// is set back, and catches up.
    #[test]
    fn the_present_follows_the_system_ahead_and_never_back() {
        let steady = Steady { origin: Duration::from_secs(1000), ..Steady::start() };
        let at = |system, elapsed| {
            let present = steady.time_at(Duration::from_secs(system), Duration::from_secs(elapsed));
            present.as_secs()
        };
        assert_eq!([at(1000, 0), at(1001, 1), at(4602, 2)], [1000, 1001, 4602]);
        assert_eq!([at(2000, 3), at(2001, 4), at(4610, 5)], [4603, 4604, 4610]);
    }
}
