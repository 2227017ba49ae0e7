//! Calls as samples: where a thread is from each call and each return on.

use std::collections::{HashMap, VecDeque};
use std::ops::RangeInclusive;
use std::sync::Arc;

use foldhash::fast::RandomState;
use kymo_core::Result;
use kymo_model::profile::ContextId;
use kymo_model::timeline::{
    Activity, Clock, ClockId, Content, Event, Events, TimeNs, TimelineView, Track, TrackId,
    TrackKind, Tracks, Window,
};

use super::contexts::Contexts;
use super::{thread_of, tracks_of_calls};
use crate::nest::{Nest, ReturnMatch};

/// The samples of a timeline of calls.
pub(super) struct Samples {
    timeline: Arc<dyn TimelineView>,
    contexts: Arc<Contexts>,
}

impl Samples {
    pub(super) fn new(timeline: Arc<dyn TimelineView>, contexts: Arc<Contexts>) -> Self {
        Self { timeline, contexts }
    }
}

impl TimelineView for Samples {
    fn clocks(&self) -> Vec<Clock> {
        self.timeline.clocks()
    }

    fn tracks(&self) -> Tracks {
        let mut tracks = self.timeline.tracks().to_vec();
        for (id, track) in (0..).map(TrackId).zip(&mut tracks) {
            if track.kind == TrackKind::Calls {
                let thread = thread_of(track, id).to_string();
                track.attributes.insert(Track::THREAD, thread);
                track.kind = TrackKind::Samples;
            }
        }
        tracks.into()
    }

    /// Returns the samples of a window. All calls before it are read: the place of a thread depends
    /// on them.
    fn events(self: Arc<Self>, window: &Window) -> Result<Box<dyn Events>> {
        let names = self.timeline.tracks();
        let mut tracks = tracks_of_calls(&names);
        tracks.retain(|track| window.includes_track(*track));
        let all = Window { tracks: Some(tracks), until: window.until, ..Window::default() };
        let mut sampled = SampleStream {
            events: Arc::clone(&self.timeline).events(&all)?,
            contexts: Arc::clone(&self.contexts),
            names,
            stacks: HashMap::default(),
            hasher: RandomState::default(),
            window: window.clone(),
            due: VecDeque::new(),
            is_over: false,
        };
        let Some(last) = window.last else { return Ok(Box::new(sampled)) };
        let mut kept = VecDeque::new();
        while let Some(sample) = sampled.sample()? {
            kept.push_back(sample);
            if kept.len() as u64 > last {
                kept.pop_front();
            }
        }
        Ok(Box::new(LastSamples(kept)))
    }

    fn range(self: Arc<Self>, clock: ClockId) -> Result<Option<RangeInclusive<TimeNs>>> {
        Arc::clone(&self.timeline).range(clock)
    }
}

/// A sample.
struct Sample {
    track: TrackId,
    time: Option<TimeNs>,
    offset: u64,
    context: ContextId,
}

impl Sample {
    fn event(&self) -> Event<'static> {
        let content = Content::Sample(self.context.0);
        let Self { track, time, offset, .. } = *self;
        Event { track, time, offset, content, payload: &[], partial: None }
    }
}

/// Samples as they come.
struct SampleStream {
    events: Box<dyn Events>,
    contexts: Arc<Contexts>,
    names: Tracks,
    /// The functions that threads are in.
    stacks: HashMap<TrackId, Nest<ContextId>, RandomState>,
    hasher: RandomState,
    window: Window,
    /// Samples that come next.
    due: VecDeque<Sample>,
    /// True if there are no more events.
    is_over: bool,
}

impl SampleStream {
    fn sample(&mut self) -> Result<Option<Sample>> {
        while self.due.is_empty() && !self.is_over {
            self.advance()?;
        }
        Ok(self.due.pop_front())
    }

    /// Goes on to the next event: where a thread is from there on, and from when calls were over that
    /// were told to be before.
    fn advance(&mut self) -> Result<()> {
        let Self { events, contexts, names, stacks, hasher, window, due, is_over } = self;
        let mut put = |sample: (TrackId, Option<TimeNs>, u64), within: &Nest<ContextId>| {
            let (track, time, offset) = sample;
            let context = within.last().copied().or(contexts.idle());
            if let Some(context) = context.filter(|_| window.holds(time)) {
                due.push_back(Sample { track, time, offset, context });
            }
        };
        let Some(event) = events.next()? else {
            *is_over = true;
            let mut tracks: Vec<_> = stacks.iter_mut().collect();
            tracks.sort_unstable_by_key(|(track, _)| **track);
            for (track, within) in tracks {
                while let Some(over) = within.pop_ended(TimeNs(i64::MAX), true) {
                    put((*track, Some(over.time), 0), within);
                }
            }
            return Ok(());
        };
        let Event { track, time, offset, .. } = event;
        let Content::Activity(activity) = &event.content else { return Ok(()) };
        let within = stacks.entry(track).or_default();
        let begins = matches!(activity, Activity::Begin { .. });
        while let Some(over) = time.and_then(|time| within.pop_ended(time, begins)) {
            put((track, Some(over.time), offset), within);
        }
        match activity {
            Activity::Begin { .. } if within.is_beyond() => {}
            Activity::Begin { name, ends, .. } => {
                let own = names.get(track.0).map(|track| track.name.as_str());
                let name = name.as_deref().or(own).unwrap_or_default();
                if let Some(context) = contexts.find(within.last().copied(), name) {
                    let span = (time.unwrap_or(TimeNs(0)), *ends);
                    within.push_ending(Some(name), hasher, span, context);
                }
            }
            Activity::End => end(within, None, hasher),
            Activity::EndOf { name } => end(within, Some(name), hasher),
            _ => return Ok(()),
        }
        put((track, time, offset), within);
        Ok(())
    }
}

fn end(within: &mut Nest<ContextId>, name: Option<&str>, hasher: &RandomState) {
    if let ReturnMatch::Calls(count) = within.ends(name, hasher) {
        for _ in 0..count {
            within.pop();
        }
    }
}

impl Events for SampleStream {
    fn next(&mut self) -> Result<Option<Event<'_>>> {
        Ok(self.sample()?.map(|sample| sample.event()))
    }
}

/// The last samples.
struct LastSamples(VecDeque<Sample>);

impl Events for LastSamples {
    fn next(&mut self) -> Result<Option<Event<'_>>> {
        Ok(self.0.pop_front().map(|sample| sample.event()))
    }
}
