//! A timeline in memory, for tests.

use std::sync::Arc;

use kymo_core::Result;
use kymo_model::timeline::{
    Activity, Clock, ClockId, Content, Event, Events, Message, TimeNs, TimelineView, Track,
    TrackId, TrackKind, Tracks, Window,
};
use serde_json::Map;

use crate::{Analysis, Diagnostics, Pass};

/// Event of a test: its time, its track and its activity.
pub(crate) type TimedActivity = (i64, usize, Activity<'static>);

/// Two processors: `cpu 0` (track 0), whose own stretches are interrupts, with tasks `a` (1), `b` (2) and `idle` (3), `cpu 1` (4) with
/// the same task `a` (5), a state machine `door` (6), and on `cpu 0` a task `k` (7) that is known to
/// go to sleep. In a `log` (8) that is of no processor, tasks `p` (9) and `q` (10).
pub(crate) struct Timeline(pub(crate) Vec<TimedActivity>);

pub(crate) fn begin(priority: i64) -> Activity<'static> {
    Activity::Begin { name: None, priority: Some(priority), ends: None }
}

pub(crate) fn named(name: &'static str) -> Activity<'static> {
    Activity::Begin { name: Some(name.into()), priority: None, ends: None }
}

/// A call that is known to end when it begins.
pub(crate) fn ending(name: &'static str, ends: i64) -> Activity<'static> {
    Activity::Begin { name: Some(name.into()), priority: None, ends: Some(TimeNs(ends)) }
}

pub(crate) fn release(budget_ns: Option<i64>) -> Activity<'static> {
    Activity::Release { budget_ns, by: None }
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
        "cpu 0" => {
            attributes.insert(Track::CPU_ID.into(), 0.into());
            attributes.insert(Track::HAS_INTERRUPTS.into(), true.into());
        }
        "cpu 1" => drop(attributes.insert(Track::CPU_ID.into(), 1.into())),
        "k" => drop(attributes.insert(Track::TELLS_COMPLETION.into(), true.into())),
        "idle" => drop(attributes.insert(Track::IS_IDLE.into(), true.into())),
        _ => {}
    }
    Track {
        name: name.into(),
        recording: 0,
        parent: parent.map(TrackId),
        kind,
        clock: Some(ClockId(0)),
        content: "".into(),
        attributes: attributes.into(),
    }
}

impl TimelineView for Timeline {
    fn clocks(&self) -> Vec<Clock> {
        vec![Clock { name: "clock".into(), recording: 0, since_epoch: false }]
    }

    fn tracks(&self) -> Tracks {
        [
            track("cpu 0", TrackKind::Calls, None),
            track("a", TrackKind::Task, Some(0)),
            track("b", TrackKind::Task, Some(0)),
            track("idle", TrackKind::Task, Some(0)),
            track("cpu 1", TrackKind::Calls, None),
            track("a", TrackKind::Task, Some(4)),
            track("door", TrackKind::States, None),
            track("k", TrackKind::Task, Some(0)),
            track("log", TrackKind::Messages, None),
            track("p", TrackKind::Task, Some(8)),
            track("q", TrackKind::Task, Some(8)),
        ]
        .into_iter()
        .collect()
    }

    fn events(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
        let is_in = |(time, track, _): &&TimedActivity| {
            window.holds(Some(TimeNs(*time))) && window.includes_track(TrackId(*track))
        };
        let all = self.0.iter().filter(is_in).count();
        let last = window.last.map_or(all, |last| usize::try_from(last).unwrap_or(all));
        let skip = all.saturating_sub(last);
        Ok(Box::new(FixtureEvents { timeline: self, window: window.clone(), next: 0, skip }))
    }
}

struct FixtureEvents {
    timeline: Arc<Timeline>,
    window: Window,
    next: usize,
    /// So many of the first are not asked for.
    skip: usize,
}

impl Events for FixtureEvents {
    fn next(&mut self) -> Result<Option<Event<'_>>> {
        while let Some((time, track, activity)) = self.timeline.0.get(self.next) {
            self.next += 1;
            let (time, track) = (Some(TimeNs(*time)), TrackId(*track));
            if self.window.holds(time) && self.window.includes_track(track) {
                if self.skip > 0 {
                    self.skip -= 1;
                    continue;
                }
                let content = Content::Activity(activity.clone());
                let (offset, payload, partial) = (0, &[], None);
                return Ok(Some(Event { track, time, offset, content, payload, partial }));
            }
        }
        Ok(None)
    }
}

/// Goes through what is told, and tells what could not be used.
pub(crate) fn analysed_with(
    told: Vec<TimedActivity>,
    window: Window,
    pass: &mut dyn Pass,
) -> (Analysis, Diagnostics) {
    let analysis = Analysis::new(Arc::new(Timeline(told)), window, &|_| false);
    let mut analysis = analysis.unwrap().with_all();
    let short = analysis.run(&mut [pass]).unwrap();
    (analysis, short)
}

/// Goes through what is told.
pub(crate) fn analysed(told: Vec<TimedActivity>, window: Window, pass: &mut dyn Pass) -> Analysis {
    let (analysis, short) = analysed_with(told, window, pass);
    assert_eq!(short, Diagnostics::default());
    analysis
}
