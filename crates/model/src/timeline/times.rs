//! Times of events, for formats in which each has one.

use std::sync::Arc;

use super::{Event, TimeNs, TimelineView, Window};
use kymo_core::Result;

/// The time of each event as a format keeps it that knows none without: where an event has none, that
/// of the one before it. Before the first that has one it has that of the first, so that nothing seems
/// to begin earlier than it is known to.
#[derive(Debug, Clone, Copy, Default)]
pub struct EventTimes {
    last: Option<TimeNs>,
}

impl EventTimes {
    /// The time that the next event of a timeline gets. Where no event has any, it is zero.
    ///
    /// # Errors
    /// When the first event that has a time cannot be read.
    pub fn next_time(
        &mut self,
        event: &Event<'_>,
        timeline: &Arc<dyn TimelineView>,
    ) -> Result<TimeNs> {
        let time = match event.time.or(self.last) {
            Some(time) => time,
            None => first(timeline)?.unwrap_or(TimeNs(0)),
        };
        self.last = Some(time);
        Ok(time)
    }
}

/// The time of the first event that has one.
fn first(timeline: &Arc<dyn TimelineView>) -> Result<Option<TimeNs>> {
    let mut events = Arc::clone(timeline).events(&Window::default())?;
    while let Some(event) = events.next()? {
        if event.time.is_some() {
            return Ok(event.time);
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::super::{Clock, Content, Events, TrackId, Tracks};
    use super::*;

    struct Recording(Vec<Option<i64>>);

    struct Reading(std::vec::IntoIter<Option<i64>>);

    fn event(time: Option<i64>) -> Event<'static> {
        let (track, time, content) = (TrackId(0), time.map(TimeNs), Content::Payload);
        Event { track, time, offset: 0, content, payload: &[], partial: None }
    }

    impl Events for Reading {
        fn next(&mut self) -> Result<Option<Event<'_>>> {
            Ok(self.0.next().map(event))
        }
    }

    impl TimelineView for Recording {
        fn clocks(&self) -> Vec<Clock> {
            Vec::new()
        }

        fn tracks(&self) -> Tracks {
            Vec::new().into()
        }

        fn events(self: Arc<Self>, _window: &Window) -> Result<Box<dyn Events>> {
            Ok(Box::new(Reading(self.0.clone().into_iter())))
        }
    }

    fn times(values: &[Option<i64>]) -> Vec<i64> {
        let timeline: Arc<dyn TimelineView> = Arc::new(Recording(values.to_vec()));
        let mut times = EventTimes::default();
        values.iter().map(|time| times.next_time(&event(*time), &timeline).unwrap().0).collect()
    }

    #[test]
    fn what_has_no_time_has_that_before_it_and_else_the_first() {
        assert_eq!(times(&[None, None, Some(70), None, Some(90), None]), [70, 70, 70, 70, 90, 90]);
        assert_eq!(times(&[None, Some(-5), Some(-7), None]), [-5, -5, -7, -7]);
    }

    #[test]
    fn where_there_is_no_time_it_is_zero() {
        assert_eq!(times(&[None, None]), [0, 0]);
    }
}
