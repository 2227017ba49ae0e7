//! What has not come when the recording ends.

use kymo_core::model::timeline::TimeNs;

use super::found::OfRule;
use super::memory::Memory;
use super::{Demand, Rules};
use crate::bounds::Bounds;
use crate::elapsed;
use crate::messages::Messages;
use crate::sched::Sched;
use crate::tasks::Tasks;

impl Rules {
    /// Looks at jobs that are not complete, at silence up to the end and from the begin, at messages
    /// that did not arrive, and at states that last.
    pub(super) fn end(&mut self, bounds: &Bounds, tasks: &Tasks) {
        let Self { all, chosen, sched, messages, found, .. } = self;
        let is_chosen = |track: &kymo_core::model::timeline::TrackId| {
            chosen.as_ref().is_none_or(|chosen| chosen.get(track.0).copied().unwrap_or(false))
        };
        for (index, (rule, memory)) in all.iter_mut().enumerate() {
            let mut found = found.of(index, None);
            match &rule.demand {
                Demand::Task { .. } => {
                    open_jobs(&rule.demand, memory, sched, bounds, tasks, &mut found);
                }
                Demand::Gap { gap_max, .. } => {
                    let tracks: Vec<_> = memory.tracks().filter(is_chosen).collect();
                    for track in tracks {
                        let Some((begin, end)) = bounds.of(track) else { continue };
                        let first = memory.first.get(&track).copied().unwrap_or(end);
                        let gap = elapsed(begin, first);
                        found.at(begin, track).limit("nothing came for", gap, *gap_max);
                        if let Some((last, _)) = memory.last.get(&track) {
                            let gap = elapsed(*last, end);
                            found.at(*last, track).limit(
                                "nothing came any more for",
                                gap,
                                *gap_max,
                            );
                        }
                    }
                }
                Demand::Follows { expect, within, .. } => {
                    let latest = bounds.latest().unwrap_or(TimeNs(i64::MIN));
                    for due in memory.follow.overdue(latest) {
                        found.due(&due, expect, *within);
                    }
                }
                Demand::Message { message, latency_max } => {
                    let meant = |name: &str| message(name);
                    lost_messages(&meant, *latency_max, messages, bounds, &mut found);
                }
                Demand::State { stay_max, .. } => {
                    let tracks: Vec<_> = memory.last.iter().map(|(at, of)| (*at, of.0)).collect();
                    for (track, since) in tracks {
                        if let Some((_, end)) = bounds.of(track) {
                            memory.leave(track, end, *stay_max, found.at(since, track));
                        }
                    }
                }
                Demand::Value { .. } => {}
            }
        }
    }
}

fn open_jobs(
    demand: &Demand,
    memory: &mut Memory,
    sched: &Sched,
    bounds: &Bounds,
    tasks: &Tasks,
    found: &mut OfRule<'_>,
) {
    let Demand::Task { task, response_max, delay_max, on_time, .. } = demand else { return };
    for (of, release, is_started) in sched.open() {
        let Some(home) = tasks.get(of).map(|of| of.home) else { continue };
        let Some((_, end)) = bounds.of(home) else { continue };
        if !memory.means_task(of, task, tasks) {
            continue;
        }
        memory.jobs += 1;
        let waited = elapsed(release.time, end);
        found.at(release.time, home);
        found.maybe_limit("was not complete after", waited, *response_max);
        if !is_started {
            found.maybe_limit("did not run for", waited, *delay_max);
        }
        if *on_time && release.is_late(end) {
            found.add("was not complete when its budget was over".to_owned());
        }
    }
}

fn lost_messages(
    is_meant: &dyn Fn(&str) -> bool,
    most: u64,
    messages: &Messages,
    bounds: &Bounds,
    found: &mut OfRule<'_>,
) {
    for (key, left) in messages.pending().filter(|(key, _)| is_meant(&key.name)) {
        let Some(from) = key.from else { continue };
        let Some((_, end)) = bounds.of(from) else { continue };
        if elapsed(left, end) > most {
            found.at(left, from).missing(format!("{} did not arrive within", key.name), most);
        }
    }
}
