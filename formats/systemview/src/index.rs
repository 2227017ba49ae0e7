//! Positions of the packets of a core. Each packet gives only its duration after the one before it,
//! so that places are kept from which they can be read on.

/// Bytes between two places.
const PLACE_BYTES: usize = 16 << 10;

/// A place between packets, with what is needed to read on there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// The first byte of the next packet.
    pub(crate) at: usize,
    /// Time of the packet before, in ticks.
    pub(crate) ticks: u64,
    /// Number of packets of the core before it.
    pub(crate) packets: u64,
}

/// The packets of a core.
#[derive(Debug, Default)]
pub(crate) struct Core {
    /// The first is where the packets begin.
    places: Vec<Place>,
    /// Behind the last packet that can be read.
    end: Place,
    /// True if there is more that cannot be read.
    pub(crate) is_cut: bool,
    pub(crate) clock: CoreClock,
}

impl Core {
    /// A core whose packets begin at a byte.
    pub(crate) fn new(start: usize) -> Self {
        let place = Place { at: start, ..Place::default() };
        Self { places: vec![place], end: place, is_cut: false, clock: CoreClock::default() }
    }

    /// The same with a clock.
    pub(crate) fn with_clock(self, clock: CoreClock) -> Self {
        Self { clock, ..self }
    }

    /// Takes note of how far its packets were read.
    pub(crate) fn reach(&mut self, place: Place) {
        self.end = place;
        if self.places.last().is_none_or(|last| place.at >= last.at.saturating_add(PLACE_BYTES)) {
            self.places.push(place);
        }
    }

    /// Leaves out what was read behind a place.
    pub(crate) fn truncate_after(&mut self, place: Place) {
        self.places.retain(|known| known.at <= place.at);
        self.end = place;
    }

    /// Behind its last packet.
    pub(crate) fn end(&self) -> Place {
        self.end
    }

    /// The last place that is kept before a packet, by its number in the core.
    pub(crate) fn place_before(&self, packet: u64) -> Place {
        let known = self.places.partition_point(|place| place.packets <= packet);
        self.places.get(known.saturating_sub(1)).copied().unwrap_or(self.end)
    }
}

/// Conversion of the ticks of a core to times.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CoreClock {
    /// Ticks in a second, and the byte that says so.
    pub(crate) init: Option<(u64, u64)>,
    /// Ticks in a second that whoever opened the recording knows, until it says so itself.
    is_assumed: bool,
    /// More ticks are beyond what 64 bits of nanoseconds hold.
    ticks_max: u64,
    /// The ticks of the last packet that has a time.
    pub(crate) last: Option<u64>,
}

impl CoreClock {
    /// A clock of a recording that may not say how fast it ticks.
    pub(crate) fn assuming(frequency: Option<u64>) -> Self {
        let mut clock = Self::default();
        if let Some(frequency) = frequency {
            clock.set_frequency(frequency, 0);
            clock.is_assumed = true;
        }
        clock
    }

    /// Returns true if the recording says itself how fast it ticks.
    pub(crate) fn is_recorded(&self) -> bool {
        self.frequency().is_some() && !self.is_assumed
    }

    /// Learns how many ticks a second has; what is told first stays.
    pub(crate) fn set_frequency(&mut self, frequency: u64, offset: u64) {
        if self.init.is_none() || self.is_assumed && frequency > 0 {
            self.is_assumed = false;
            self.init = Some((frequency, offset));
            let seconds_max = (1_u128 << 63) * u128::from(frequency);
            let max = seconds_max.saturating_sub(1) / 1_000_000_000;
            self.ticks_max = u64::try_from(max).unwrap_or(u64::MAX).min(u64::MAX - 1);
        }
    }

    pub(crate) fn frequency(&self) -> Option<u64> {
        self.init.map(|(frequency, _)| frequency).filter(|frequency| *frequency > 0)
    }

    /// Returns true if so many ticks are too many to be told as a time, though it is known how fast
    /// it ticks.
    pub(crate) fn is_late(&self, ticks: u64) -> bool {
        self.frequency().is_some() && ticks > self.ticks_max
    }

    /// Returns the time of a packet, in nanoseconds since the first. Before the core gives the
    /// speed of its ticks, only the time of the first is known.
    pub(crate) fn time_ns(&self, ticks: u64, offset: u64) -> Option<i64> {
        if ticks == 0 {
            return Some(0);
        }
        let (frequency, since) = self.init?;
        let is_known = since <= offset && frequency > 0 && ticks <= self.ticks_max;
        if !is_known {
            return None;
        }
        let ns = match ticks.checked_mul(1_000_000_000) {
            Some(small) => u128::from(small / frequency),
            None => u128::from(ticks) * 1_000_000_000 / u128::from(frequency),
        };
        i64::try_from(ns).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_read_on_from_the_last_place_before_them() {
        let mut core = Core::new(100);
        let step = PLACE_BYTES / 2;
        for packets in 1..=6 {
            let at = 100 + step * usize::try_from(packets).unwrap();
            core.reach(Place { at, ticks: packets * 7, packets });
        }
        let before = |packet| core.place_before(packet).packets;
        assert_eq!([before(0), before(1), before(2), before(5), before(6)], [0, 0, 2, 4, 6]);
        let place = core.place_before(3);
        core.truncate_after(place);
        assert_eq!((core.end(), core.place_before(6).packets), (place, 2));
    }

    /// 2⁶³ nanoseconds are 9,223,372,036.85 seconds.
    #[test]
    fn ticks_that_are_too_many_have_no_time() {
        let mut clock = CoreClock::default();
        assert_eq!((clock.time_ns(0, 5), clock.time_ns(1, 5)), (Some(0), None));
        clock.set_frequency(1, 9);
        assert_eq!((clock.time_ns(3, 8), clock.time_ns(3, 9)), (None, Some(3_000_000_000)));
        assert_eq!(clock.time_ns(9_223_372_036, 9), Some(9_223_372_036_000_000_000));
        assert_eq!((clock.time_ns(9_223_372_037, 9), clock.is_late(9_223_372_037)), (None, true));
        clock.set_frequency(1000, 10);
        assert_eq!(clock.frequency(), Some(1));
        let mut fast = CoreClock::default();
        fast.set_frequency(u64::MAX, 0);
        assert!(fast.is_late(u64::MAX) && !fast.is_late(u64::MAX - 1));
    }
}
