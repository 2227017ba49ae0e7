//! A timeline in memory, for tests.

use std::sync::Arc;

use kymo_core::Result;
use kymo_core::model::timeline::{
    Activity, Clock, ClockId, Content, Event, Events, Message, TimeNs, TimelineView, Track,
    TrackId, TrackKind, Window,
};
use serde_json::Map;

use crate::{Analysis, Pass};

/// What happens on which track, when.
pub(crate) type Told = (i64, usize, Activity<'static>);

/// Two processors: `cpu 0` (track 0) with tasks `a` (1), `b` (2) and `idle` (3), `cpu 1` (4) with
/// the same task `a` (5), and a state machine `door` (6).
pub(crate) struct Timeline(pub(crate) Vec<Told>);

pub(crate) fn begin(priority: i64) -> Activity<'static> {
    Activity::Begin { name: None, priority: Some(priority) }
}

pub(crate) fn named(name: &'static str) -> Activity<'static> {
    Activity::Begin { name: Some(name.into()), priority: None }
}

pub(crate) fn release(budget_ns: Option<i64>) -> Activity<'static> {
    Activity::Release { budget_ns }
}

pub(crate) fn complete(remaining_ns: Option<i64>) -> Activity<'static> {
    Activity::Complete { remaining_ns }
}

pub(crate) fn message(
    name: &'static str,
    peer: Option<usize>,
    peer_time: Option<i64>,
) -> Message<'static> {
    let (peer, peer_time) = (peer.map(TrackId), peer_time.map(TimeNs));
    Message { name: name.into(), peer, peer_time }
}

fn track(name: &str, kind: TrackKind, parent: Option<usize>) -> Track {
    let mut attributes = Map::new();
    match name {
        "a" => drop(attributes.insert("tid".into(), 7.into())),
        "idle" => drop(attributes.insert(Track::IS_IDLE.into(), true.into())),
        _ => {}
    }
    Track {
        name: name.into(),
        recording: 0,
        parent: parent.map(TrackId),
        kind,
        clock: Some(ClockId(0)),
        content: String::new(),
        attributes,
    }
}

impl TimelineView for Timeline {
    fn clocks(&self) -> Vec<Clock> {
        vec![Clock { name: "clock".into(), recording: 0, since_epoch: false }]
    }

    fn tracks(&self) -> Vec<Track> {
        vec![
            track("cpu 0", TrackKind::Calls, None),
            track("a", TrackKind::Task, Some(0)),
            track("b", TrackKind::Task, Some(0)),
            track("idle", TrackKind::Task, Some(0)),
            track("cpu 1", TrackKind::Calls, None),
            track("a", TrackKind::Task, Some(4)),
            track("door", TrackKind::States, None),
        ]
    }

    fn events(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
        Ok(Box::new(Telling { timeline: self, window: window.clone(), next: 0 }))
    }
}

struct Telling {
    timeline: Arc<Timeline>,
    window: Window,
    next: usize,
}

impl Events for Telling {
    fn next(&mut self) -> Result<Option<Event<'_>>> {
        while let Some((time, track, activity)) = self.timeline.0.get(self.next) {
            self.next += 1;
            let (time, track) = (Some(TimeNs(*time)), TrackId(*track));
            if self.window.holds(time) && self.window.wants(track) {
                let content = Content::Activity(activity.clone());
                return Ok(Some(Event { track, time, offset: 0, content, payload: &[] }));
            }
        }
        Ok(None)
    }
}

/// Goes through what is told.
pub(crate) fn analysed(told: Vec<Told>, window: Window, pass: &mut dyn Pass) -> Analysis {
    let mut analysis = Analysis::new(Arc::new(Timeline(told)), window, &|_| false);
    assert_eq!(analysis.run(&mut [pass]).ok(), Some(0));
    analysis
}
