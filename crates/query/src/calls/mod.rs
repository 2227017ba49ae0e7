//! Duration of functions: calls, one within another, as a profile.

mod contexts;
mod samples;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use kymo_core::Result;
use kymo_core::bytes::Limits;
use kymo_model::profile::{
    CallTree, CallTreeBuilder, ContextId, IdKind, IdPart, Metric, MetricId, ProfileView, Thread,
    ThreadId,
};
use kymo_model::timeline::{
    Activity, Content, Missing, TimeNs, TimelineView, Track, TrackId, TrackKind, Window,
};

use crate::elapsed;
use crate::nest::{EarlyEnd, Nest, ReturnMatch};
use contexts::Contexts;
use samples::Samples;

/// The calls of a timeline, gone through once: what functions took is a profile, and who was in
/// which when are samples.
pub struct Calls {
    timeline: Arc<dyn TimelineView>,
    tree: Arc<CallTree>,
    contexts: Arc<Contexts>,
}

impl Calls {
    /// Goes through the calls of a timeline. Nothing where there are none. What is held grows with
    /// the ways that calls lead to each other, not with the calls.
    ///
    /// # Errors
    /// When events cannot be read, or there are too many ways.
    pub fn new(timeline: &Arc<dyn TimelineView>, limits: &Limits) -> Result<Option<Self>> {
        let tracks = timeline.tracks();
        let of_calls = tracks_of_calls(&tracks);
        if of_calls.is_empty() {
            return Ok(None);
        }
        let window = Window { tracks: Some(of_calls), ..Window::default() };
        let mut building = Building::new(&tracks, limits)?;
        let mut events = Arc::clone(timeline).events(&window)?;
        while let Some(event) = events.next()? {
            if let Content::Activity(activity) = &event.content {
                building.add_activity(event.track, event.time, activity)?;
            }
        }
        drop(events);
        let Some((tree, contexts)) = building.finish() else { return Ok(None) };
        let (timeline, tree) = (Arc::clone(timeline), Arc::new(tree));
        Ok(Some(Self { timeline, tree, contexts: Arc::new(contexts) }))
    }

    /// Returns the durations of functions, by the way that calls led to them, as a profile.
    #[must_use]
    pub fn profile(&self) -> Arc<dyn ProfileView> {
        Arc::clone(&self.tree) as Arc<dyn ProfileView>
    }

    /// Returns samples of threads and the functions they are in: each call and each return is a
    /// sample.
    #[must_use]
    pub fn samples(&self) -> Arc<dyn TimelineView> {
        Arc::new(Samples::new(Arc::clone(&self.timeline), Arc::clone(&self.contexts)))
    }
}

fn tracks_of_calls(tracks: &[Track]) -> Vec<TrackId> {
    let all = (0..).map(TrackId).zip(tracks);
    all.filter(|(_, track)| track.kind == TrackKind::Calls).map(|(id, _)| id).collect()
}

/// Returns the thread of a track for a profile: `glxgears 16073 / THREAD 0`, after the name and the
/// number that the track has, and its place.
fn thread_of(track: &Track, place: TrackId) -> Thread {
    let part = |kind: &str, logical| {
        let kind = IdKind(kind.to_owned().into());
        IdPart { kind, logical, physical: None }
    };
    let name = track.name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = track.name.get(name.len()..).and_then(|digits| digits.parse().ok());
    let name = name.trim_end_matches([' ', '-', '_', '#', ':']);
    let named = match (number, name.is_empty()) {
        (Some(number), false) => part(name, number),
        _ => part(&track.name, place.0 as u64),
    };
    Thread { ids: vec![named, part("THREAD", place.0 as u64)] }
}

/// A call that is not over.
struct Open {
    context: ContextId,
    since: TimeNs,
    /// Time at which it ends, where that was recorded at its begin.
    ends: Option<TimeNs>,
    /// Duration of the calls made from it.
    within_ns: u64,
}

/// The calls of a track that are not over.
#[derive(Default)]
struct Stack {
    thread: Option<ThreadId>,
    open: Nest<Open>,
    /// Time of the last event.
    last: Option<TimeNs>,
}

/// Values that a thread spent at a context itself.
#[derive(Default)]
struct Spent {
    ns: u64,
    calls: u64,
}

/// State of the profile so far.
struct Building<'a> {
    tracks: &'a [Track],
    builder: CallTreeBuilder,
    time: MetricId,
    calls: MetricId,
    contexts: Contexts,
    stacks: HashMap<TrackId, Stack, RandomState>,
    spent: HashMap<(ThreadId, ContextId), Spent, RandomState>,
    /// Calls that were over before they began, as far as is recorded.
    ended: u64,
    /// Calls that are too far within others.
    deep: u64,
    /// Calls that were over when a function around them returned.
    unreturned: u64,
    /// Returns of functions that were not called.
    uncalled: u64,
    /// Returns that are not when they were told to be.
    contradicted: u64,
    /// Calls that were not over where events are missing.
    cut: u64,
    names: RandomState,
}

impl<'a> Building<'a> {
    fn new(tracks: &'a [Track], limits: &Limits) -> Result<Self> {
        let mut builder = CallTreeBuilder::new(limits);
        Ok(Self {
            tracks,
            time: builder.metric(Metric::named("TIME (sec)"))?,
            calls: builder.metric(Metric::named("CALLS"))?,
            contexts: Contexts::default(),
            builder,
            stacks: HashMap::default(),
            spent: HashMap::default(),
            ended: 0,
            deep: 0,
            unreturned: 0,
            uncalled: 0,
            contradicted: 0,
            cut: 0,
            names: RandomState::default(),
        })
    }

    fn add_activity(
        &mut self,
        track: TrackId,
        time: Option<TimeNs>,
        activity: &Activity<'_>,
    ) -> Result<()> {
        let stack = self.stacks.entry(track).or_default();
        // What has no time was not before what was last.
        let Some(time) = time.or(stack.last) else { return Ok(()) };
        stack.last = stack.last.max(Some(time));
        self.end_announced(track, time, matches!(activity, Activity::Begin { .. }));
        let stack = self.stacks.entry(track).or_default();
        match activity {
            Activity::Begin { .. } if stack.open.is_beyond() => self.deep += 1,
            Activity::Begin { name, ends, .. } => {
                self.begin(track, (time, *ends), name.as_deref())?;
            }
            Activity::End => self.end(track, time, None),
            Activity::EndOf { name } => self.end(track, time, Some(name)),
            Activity::Gap(missing) => self.gap(track, time, *missing),
            _ => {}
        }
        Ok(())
    }

    /// Calls last up to where events are missing.
    fn gap(&mut self, at: TrackId, time: TimeNs, missing: Missing) {
        let recording = |track: TrackId| self.tracks.get(track.0).map(|track| track.recording);
        let may_lack = |track: TrackId| match missing {
            Missing::Switches => false,
            Missing::Events => track == at,
            Missing::AllEvents => recording(track) == recording(at),
        };
        let open = self.stacks.iter().filter(|(track, _)| may_lack(**track));
        let open: Vec<_> = open.map(|(track, stack)| (*track, stack.open.len())).collect();
        for (track, count) in open {
            self.cut += count as u64;
            for _ in 0..count {
                self.end_last(track, time);
            }
        }
    }

    fn begin(
        &mut self,
        track: TrackId,
        (since, ends): (TimeNs, Option<TimeNs>),
        name: Option<&str>,
    ) -> Result<()> {
        let this_track = self.tracks.get(track.0);
        let name = name.or(this_track.map(|track| track.name.as_str())).unwrap_or_default();
        let stack = self.stacks.entry(track).or_default();
        if let (None, Some(this_track)) = (stack.thread, this_track) {
            stack.thread = Some(self.builder.thread(thread_of(this_track, track))?);
        }
        let parent = stack.open.last().map(|open| open.context);
        let context = self.contexts.get_or_add(parent, name, &mut self.builder)?;
        let open = Open { context, since, ends, within_ns: 0 };
        stack.open.push_ending(Some(name), &self.names, (since, ends), open);
        Ok(())
    }

    /// Calls are over that were told to be before something else happens, and those within them.
    fn end_announced(&mut self, track: TrackId, now: TimeNs, begins: bool) {
        while let Some(stack) = self.stacks.get_mut(&track)
            && let Some(EarlyEnd { call, time, is_told }) = stack.open.pop_ended(now, begins)
        {
            stack.last = stack.last.max(Some(time));
            self.unreturned += u64::from(!is_told);
            self.close(track, &call, time);
        }
    }

    /// A function returns; which, where that is said.
    fn end(&mut self, track: TrackId, time: TimeNs, name: Option<&str>) {
        let Some(stack) = self.stacks.get_mut(&track) else { return };
        match stack.open.ends(name, &self.names) {
            ReturnMatch::Calls(count) => {
                for _ in 1..count {
                    self.end_last(track, time);
                }
                self.unreturned += count.saturating_sub(1) as u64;
                let told = self.end_last(track, time);
                self.contradicted += u64::from(told.is_some_and(|told| told != time));
            }
            ReturnMatch::Told(told) => self.contradicted += u64::from(told != time),
            ReturnMatch::Beyond => {}
            ReturnMatch::Before => self.ended += 1,
            ReturnMatch::Other => self.uncalled += 1,
        }
    }

    /// The call that began last is over. Tells when it was told to be.
    fn end_last(&mut self, track: TrackId, time: TimeNs) -> Option<TimeNs> {
        let call = self.stacks.get_mut(&track)?.open.pop()?;
        self.close(track, &call, time);
        call.ends
    }

    /// Adds up a call that is over.
    fn close(&mut self, track: TrackId, open: &Open, time: TimeNs) {
        let Some(stack) = self.stacks.get_mut(&track) else { return };
        let Some(thread) = stack.thread else { return };
        let took = elapsed(open.since, time);
        if let Some(caller) = stack.open.last_mut() {
            caller.within_ns = caller.within_ns.saturating_add(took);
        }
        let spent = self.spent.entry((thread, open.context)).or_default();
        spent.ns = spent.ns.saturating_add(took.saturating_sub(open.within_ns));
        spent.calls += 1;
    }

    /// Makes the profile; nothing where nothing was called.
    fn finish(mut self) -> Option<(CallTree, Contexts)> {
        let tracks: Vec<_> = self.stacks.keys().copied().collect();
        for track in tracks {
            self.end_announced(track, TimeNs(i64::MAX), true);
        }
        let open: Vec<_> = self
            .stacks
            .iter()
            .filter_map(|(track, stack)| Some((*track, stack.open.len(), stack.last?)))
            .collect();
        let unfinished: usize = open.iter().map(|(_, count, _)| count).sum();
        for (track, count, last) in open {
            for _ in 0..count {
                self.end_last(track, last);
            }
        }
        if self.contexts.is_empty() {
            return None;
        }
        self.report_unfinished(unfinished as u64);
        let mut spent: Vec<_> = self.spent.into_iter().collect();
        spent.sort_unstable_by_key(|(key, _)| *key);
        for ((thread, context), Spent { ns, calls }) in spent {
            let seconds = std::time::Duration::from_nanos(ns).as_secs_f64();
            self.builder.add(thread, context, self.time, seconds);
            let calls = u32::try_from(calls).unwrap_or(u32::MAX);
            self.builder.add(thread, context, self.calls, calls.into());
        }
        Some((self.builder.finish(), self.contexts))
    }

    /// Says what is good to know of the values, and what does not fit.
    fn report_unfinished(&mut self, unfinished: u64) {
        self.remark(
            unfinished,
            "call is not over at the end: what it took until then counts",
            "calls are not over at the end: what they took until then counts",
        );
        self.remark(
            self.ended,
            "call began before the recording: what it took is not known",
            "calls began before the recording: what they took is not known",
        );
        self.remark(
            self.deep,
            "call is too far within others, and counts for the last of them",
            "calls are too far within others, and count for the last of them",
        );
        self.add_caveat(
            self.cut,
            "call is not over where events are missing: what it took until then counts",
            "calls are not over where events are missing: what they took until then counts",
        );
        self.add_caveat(
            self.unreturned,
            "call was over when another function returned: its own return is missing",
            "calls were over when another function returned: their own returns are missing",
        );
        self.add_caveat(
            self.uncalled,
            "return is of a function that was not called: it is left out",
            "returns are of functions that were not called: they are left out",
        );
        self.add_caveat(
            self.contradicted,
            "return is not when the function was told to end as it was called: the earlier counts",
            "returns are not when the functions were told to end as they were called: the earlier \
             counts",
        );
    }

    fn remark(&mut self, count: u64, one: &str, many: &str) {
        if let Some(text) = counted(count, one, many) {
            self.builder.remark(text);
        }
    }

    fn add_caveat(&mut self, count: u64, one: &str, many: &str) {
        if let Some(text) = counted(count, one, many) {
            self.builder.add_caveat(text);
        }
    }
}

/// Describes the number in words; `None` where there are none.
fn counted(count: u64, one: &str, many: &str) -> Option<String> {
    (count > 0).then(|| format!("{count} {}", if count == 1 { one } else { many }))
}
