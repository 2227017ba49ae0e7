//! Facts that the events of a track have in common.

use super::{Content, Event, Events, TimeNs};
use kymo_core::{Result, Value};

/// Number of events of a track, their first and last time, and what they amount to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrackStatistics {
    /// Number of events.
    pub events: u64,
    /// The bytes of their payloads together.
    pub payload_bytes: u64,
    /// The first and the last moment, of those that are at one.
    pub times: Option<(TimeNs, TimeNs)>,
    /// The smallest and the largest number, each as it was recorded.
    pub numbers: Option<[Value; 2]>,
}

impl TrackStatistics {
    /// Computes what the events of each of so many tracks have in common, by looking at every one.
    ///
    /// # Errors
    /// When events cannot be read.
    pub fn from_events(events: &mut dyn Events, track_count: usize) -> Result<Vec<Self>> {
        let mut tallies = vec![Self::default(); track_count];
        events.each(&mut |event| {
            if let Some(tally) = tallies.get_mut(event.track.0) {
                tally.add(event);
            }
        })?;
        Ok(tallies)
    }

    /// Counts an event that has neither a payload nor a number.
    #[inline]
    pub fn count(&mut self, time: Option<TimeNs>) {
        self.events += 1;
        if let Some(time) = time {
            let (first, last) = self.times.unwrap_or((time, time));
            self.times = Some((first.min(time), last.max(time)));
        }
    }

    fn add(&mut self, event: &Event<'_>) {
        self.count(event.time);
        self.payload_bytes += event.payload.len() as u64;
        if let Content::Value(value) = &event.content {
            self.stretch(value);
        }
    }

    fn stretch(&mut self, value: &Value) {
        let Some(number) = number(value) else { return };
        match &mut self.numbers {
            None => self.numbers = Some([value.clone(), value.clone()]),
            Some([min, max]) => {
                if self::number(min).is_some_and(|min| number < min) {
                    *min = value.clone();
                }
                if self::number(max).is_some_and(|max| number > max) {
                    *max = value.clone();
                }
            }
        }
    }
}

/// A value as far as it can be compared: which is larger hardly depends on the last digits.
fn number(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| !number.is_nan())
}

#[cfg(test)]
mod tests {
    use super::super::TrackId;
    use super::*;

    /// Values of a track, one a nanosecond; the first is at no moment.
    struct Numbers(TrackId, std::vec::IntoIter<Value>, i64);

    impl Events for Numbers {
        fn next(&mut self) -> Result<Option<Event<'_>>> {
            let Self(track, values, now) = self;
            *now += 1;
            Ok(values.next().map(|value| Event {
                track: *track,
                time: (*now > 1).then_some(TimeNs(*now)),
                offset: 0,
                content: Content::Value(value),
                payload: &[1, 2],
                partial: None,
            }))
        }
    }

    #[test]
    fn a_tally_has_the_range_of_times_and_of_what_is_a_number() {
        let values = vec![
            Value::Float(f64::NAN),
            Value::Int(-2),
            Value::Text("much".into()),
            Value::Float(7.5),
            Value::UInt(3),
        ];
        let mut events = Numbers(TrackId(1), values.into_iter(), 0);
        let [none, tally] = &TrackStatistics::from_events(&mut events, 2).unwrap()[..] else {
            panic!("two tracks")
        };
        assert_eq!(none, &TrackStatistics::default());
        assert_eq!((tally.events, tally.payload_bytes), (5, 10));
        assert_eq!(tally.times, Some((TimeNs(2), TimeNs(5))));
        assert_eq!(tally.numbers, Some([Value::Int(-2), Value::Float(7.5)]));
    }

    #[test]
    fn events_of_a_track_that_is_not_there_count_for_none() {
        let mut events = Numbers(TrackId(9), vec![Value::Int(1)].into_iter(), 0);
        assert_eq!(
            TrackStatistics::from_events(&mut events, 1).unwrap(),
            [TrackStatistics::default()]
        );
    }
}
