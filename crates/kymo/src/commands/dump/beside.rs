//! The fields of events that are told as texts.

use std::sync::Arc;

use kymo_core::model::timeline::{
    Content, Event, Events, Field, Fields, TimeNs, TimelineView, TrackId, Window,
};

/// Events with their fields, gone through beside those that have texts. Some of those are left out
/// here, and none comes besides.
pub(super) struct Beside {
    timeline: Arc<dyn TimelineView>,
    window: Window,
    /// They are read only where there are texts.
    events: Option<Box<dyn Events>>,
    next: Option<Next>,
}

/// The event that comes next.
struct Next {
    track: TrackId,
    time: Option<TimeNs>,
    offset: u64,
    fields: Option<Fields<'static>>,
}

impl Beside {
    pub(super) fn new(timeline: Arc<dyn TimelineView>, window: Window) -> Self {
        Self { timeline, window, events: None, next: None }
    }

    /// The fields of an event, where the recording knows them.
    pub(super) fn fields(&mut self, event: &Event<'_>) -> anyhow::Result<Option<Fields<'static>>> {
        if !matches!(&event.content, Content::Text(text) if !text.starts_with('{')) {
            return Ok(None);
        }
        loop {
            if self.next.is_none() {
                self.next = self.read()?;
            }
            let Some(next) = self.next.take() else { return Ok(None) };
            if (next.track, next.time, next.offset) == (event.track, event.time, event.offset) {
                return Ok(next.fields);
            }
            // Those are passed over that nobody asks for, and those before the last few.
            if next.time > event.time {
                self.next = Some(next);
                return Ok(None);
            }
        }
    }

    fn read(&mut self) -> anyhow::Result<Option<Next>> {
        if self.events.is_none() {
            self.events = Some(Arc::clone(&self.timeline).events_with_fields(&self.window)?);
        }
        let Some(events) = &mut self.events else { return Ok(None) };
        Ok(events.next()?.map(|event| Next {
            track: event.track,
            time: event.time,
            offset: event.offset,
            fields: owned(&event),
        }))
    }
}

fn owned(event: &Event<'_>) -> Option<Fields<'static>> {
    let Content::Fields(found) = &event.content else { return None };
    let fields = found.fields.iter().map(|Field { name, value, bits }| Field {
        name: name.to_string().into(),
        value: value.clone(),
        bits: *bits,
    });
    Some(Fields { name: found.name.to_string().into(), fields: fields.collect() })
}
