//! What is outside of a window and tells what goes on within: who ran when it began, which states
//! machines were in, and which messages were under way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kymo_core::Result;
use kymo_core::model::timeline::{
    Activity, Content, Event, TimeNs, TimelineView, Track, TrackId, TrackKind, Window,
};

use crate::bounds::Bounds;
use crate::messages::{Messages, Wakeups};
use crate::resolver::Resolver;
use crate::tasks::{CpuId, Tasks};
use crate::{Standing, Stretch};

/// So many events before a window are looked at; more if those do not tell, but not all of a long
/// recording.
const BEFORE: [u64; 3] = [1 << 10, 1 << 14, 1 << 18];

/// So many events after a window are looked at.
pub(crate) const AFTER: u64 = 1 << 18;

/// What went on just before a moment.
pub(crate) struct Before {
    pub(crate) resolver: Resolver,
    pub(crate) states: BTreeMap<TrackId, String>,
    /// What is under way, where that is asked for.
    under_way: Option<(Messages, Wakeups)>,
    /// Whether there is nothing further back.
    pub(crate) is_all: bool,
}

/// The tracks of some kinds.
pub(crate) fn of_kinds(tracks: &[Track], kinds: &[TrackKind]) -> Vec<TrackId> {
    let of_kinds = tracks.iter().enumerate().filter(|(_, track)| kinds.contains(&track.kind));
    of_kinds.map(|(id, _)| TrackId(id)).collect()
}

/// The tracks that tell what goes on: of tasks, machines and interrupts, and all that have messages
/// where those are followed.
pub(crate) fn telling(tracks: &[Track], tasks: &Tasks, follows_messages: bool) -> Vec<TrackId> {
    use TrackKind::{Calls, States, Task};
    let is_read = |(id, track): &(usize, &Track)| {
        let is_interrupt = || tasks.interrupted(TrackId(*id)).is_some();
        match track.kind {
            Task | States => true,
            Calls => follows_messages || is_interrupt(),
            _ => is_interrupt(),
        }
    };
    tracks.iter().enumerate().filter(is_read).map(|(id, _)| TrackId(id)).collect()
}

impl Before {
    /// Looks back from a moment, ever further, until all is known. What is under way may have left
    /// at any time, so that where messages are followed it looks as far as it may.
    pub(crate) fn look(
        timeline: &Arc<dyn TimelineView>,
        tracks: &[Track],
        tasks: &mut Tasks,
        moment: TimeNs,
        follows_messages: bool,
    ) -> Result<Self> {
        let machines = of_kinds(tracks, &[TrackKind::States]);
        let read = telling(tracks, tasks, follows_messages);
        let nothing = |tasks: &Tasks| Self::nothing(tasks, tracks.len(), follows_messages);
        let mut found = nothing(tasks);
        if read.is_empty() {
            return Ok(found);
        }
        for last in BEFORE {
            found = nothing(tasks);
            let (tracks, until) = (Some(read.clone()), Some(moment));
            let window = Window { tracks, from: None, until, last: Some(last) };
            let mut events = Arc::clone(timeline).events(&window)?;
            let mut count = 0;
            while let Some(event) = events.next()? {
                count += 1;
                if let Some(time) = event.time {
                    found.take(&event, time, tasks);
                }
            }
            found.is_all = count < last;
            let is_known = found.resolver.switches.unknown(tasks).next().is_none();
            let is_known = is_known && found.states.len() == machines.len() && !follows_messages;
            if found.is_all || is_known {
                break;
            }
        }
        let is_all = found.is_all;
        found.under_way = found
            .under_way
            .map(|(messages, wakeups)| (messages.under_way(is_all), wakeups.under_way(is_all)));
        Ok(found)
    }

    fn nothing(tasks: &Tasks, tracks: usize, follows_messages: bool) -> Self {
        let resolver = Resolver::new(tasks, tracks);
        let under_way = follows_messages.then(Default::default);
        Self { resolver, states: BTreeMap::new(), under_way, is_all: true }
    }

    /// What goes on at the moment, on processors of which that is asked.
    pub(crate) fn standing<'a>(
        &'a self,
        tasks: &'a Tasks,
        is_asked: impl Fn(&CpuId) -> bool,
    ) -> Vec<Standing<'a>> {
        let switches = &self.resolver.switches;
        let running = switches.all_running().map(|(_, running)| Standing::Task(running.task));
        let mut found: Vec<_> = running.collect();
        for cpu in (0..tasks.cpu_count()).map(CpuId).filter(is_asked) {
            if switches.is_known(cpu) {
                found.push(Standing::Nobody(cpu));
            }
            let count = Some(self.resolver.interrupts(cpu)).filter(|count| *count > 0);
            found.extend(count.map(|count| Standing::Interrupts(cpu, count)));
        }
        found.extend(self.states.iter().map(|(track, state)| Standing::State(*track, state)));
        if let Some((messages, wakeups)) = &self.under_way {
            found.extend([Standing::Messages(messages), Standing::Wakeups(wakeups)]);
        }
        found
    }

    fn take(&mut self, event: &Event<'_>, time: TimeNs, tasks: &mut Tasks) {
        let seen = &self.resolver.resolve(event, time, tasks, None);
        if let Some((messages, wakeups)) = &mut self.under_way {
            messages.take(seen);
            wakeups.take(seen);
        }
        if let Content::Activity(Activity::Enter { state, .. }) = &event.content {
            self.states.insert(event.track, state.to_string());
        }
    }
}

/// What the first switches after a window tell.
#[derive(Default)]
pub(crate) struct After {
    /// Who ran all the time.
    pub(crate) stretches: Vec<Stretch>,
    /// Processors that did not switch.
    pub(crate) unknown: BTreeSet<CpuId>,
    /// Whether there is nothing further on.
    pub(crate) is_all: bool,
}

impl After {
    /// Looks on for who stops on some processors: it ran since before.
    pub(crate) fn look(
        timeline: &Arc<dyn TimelineView>,
        tracks: &[Track],
        tasks: &Tasks,
        bounds: &Bounds,
        unknown: BTreeSet<CpuId>,
    ) -> Result<Self> {
        let mut found = Self { stretches: Vec::new(), unknown, is_all: true };
        let track_of = |cpu: &CpuId| tasks.cpu(*cpu).map(|cpu| cpu.track);
        let ends = found.unknown.iter().filter_map(|cpu| bounds.until(track_of(cpu)?));
        let Some(moment) = ends.min() else { return Ok(found) };
        let read = Some(of_kinds(tracks, &[TrackKind::Task]));
        let window = Window { tracks: read, from: Some(moment), until: None, last: None };
        let mut events = Arc::clone(timeline).events(&window)?;
        for _ in 0..AFTER {
            let Some(event) = (if found.unknown.is_empty() { None } else { events.next()? }) else {
                return Ok(found);
            };
            let is_end = match event.content {
                Content::Activity(Activity::Begin { .. }) => false,
                Content::Activity(Activity::End | Activity::EndOf { .. }) => true,
                _ => continue,
            };
            let Some((task, cpu)) = tasks.of_track(event.track) else { continue };
            let is_first = found.unknown.remove(&cpu);
            let cuts = bounds.from(event.track).zip(bounds.until(event.track));
            if let (true, Some((since, until))) = (is_first && is_end, cuts) {
                found.stretches.push(Stretch { task, cpu, track: event.track, since, until });
            }
        }
        found.is_all = false;
        Ok(found)
    }
}
