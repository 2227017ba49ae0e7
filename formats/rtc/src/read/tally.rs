//! Statistics of streams, counted as their messages come.

use std::ops::RangeInclusive;

use kymo_core::slot;
use kymo_model::timeline::TimeNs;
use kymo_rtc_wire::index::split_count;
use kymo_rtc_wire::read::{Frame, Walker};
use kymo_rtc_wire::spec::id;

use super::tracker::{CompletedItem, Tracker};
use crate::types::Stream;

/// Statistics of the streams of a file so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct FileStatistics {
    /// Of each stream.
    pub statistics: Vec<Statistics>,
    /// True if something of the session was lost.
    pub has_lost: bool,
}

/// Statistics of a stream.
#[derive(Debug, Clone, Default)]
pub(crate) struct Statistics {
    pub messages: u64,
    pub frames: u64,
    pub payload_bytes: u64,
    pub times: Option<RangeInclusive<TimeNs>>,
    /// The first message that has a time: where it is, and the time.
    pub first_time: Option<(u64, TimeNs)>,
    /// A clock that went back, and where.
    pub went_back: Option<u64>,
    /// A time that does not fit, and where.
    pub unfit: Option<u64>,
    /// Messages without a time, because their clock showed none yet.
    pub untimed: u64,
    /// Those of them after something of the session was lost, and where the first is.
    pub untimed_by_loss: u64,
    pub untimed_at: Option<u64>,
    /// Messages whose clock was not set since something was lost, and where the first is.
    pub stale: u64,
    pub stale_at: Option<u64>,
    /// True if an Index has it, and whether one leaves it out after it was seen.
    is_listed: bool,
    is_left_out: bool,
}

impl FileStatistics {
    /// Counts a frame of a stream that a tracker has taken, and the message that it completes.
    pub(crate) fn frame(
        &mut self,
        frame: &Frame,
        completed: Option<&CompletedItem>,
        tracker: &mut Tracker,
    ) {
        if frame.id < id::FIRST_USER {
            return;
        }
        let Some(stream) = tracker.find(tracker.session(), frame.id) else { return };
        let statistics = slot(&mut self.statistics, stream);
        statistics.frames += 1;
        statistics.payload_bytes += frame.end - frame.payload;
        let Some(completed) = completed else { return };
        statistics.messages += 1;
        let this_stream = tracker.streams().get(stream);
        let is_clock = this_stream.is_some_and(Stream::is_clock);
        let is_whole = this_stream.is_some_and(|stream| stream.is_whole);
        let clock = tracker.clock_of(stream);
        let is_unset = clock.is_some_and(|clock| tracker.shows(clock).is_none());
        if clock.is_some_and(|clock| tracker.is_stale(clock)) {
            statistics.stale += 1;
            statistics.stale_at = statistics.stale_at.or(Some(completed.offset));
        }
        match completed.time {
            Some(time) => statistics.add_message(time, is_clock, completed.offset),
            None if is_unset => statistics.add_untimed(completed.offset, self.has_lost),
            // One whose description is damaged shows no time anyway.
            None if is_clock && is_whole => {
                statistics.unfit = statistics.unfit.or(Some(completed.offset));
            }
            None => {}
        }
    }

    /// Takes note of what the Index of a Unit says of the streams that its Meta describes.
    pub(crate) fn index(&mut self, walker: &Walker, tracker: &Tracker) {
        let Ok((_, entries)) = split_count(walker.index_payload()) else { return };
        self.reach(tracker.streams().len());
        for id in walker.definitions().streams.iter().map(|stream| stream.id) {
            let stream = tracker.find(tracker.session(), id);
            let statistics = stream.and_then(|stream| self.statistics.get_mut(stream));
            let (Some(statistics), Ok(entry)) = (statistics, entries.find(id)) else { continue };
            statistics.is_listed |= entry.is_some();
            statistics.is_left_out |= entry.is_none() && statistics.frames > 0;
        }
    }

    /// Makes room for so many streams.
    pub(crate) fn reach(&mut self, streams: usize) {
        if self.statistics.len() < streams {
            self.statistics.resize(streams, Statistics::default());
        }
    }
}

impl Statistics {
    /// Returns true if the stream is left out of every Index.
    pub(crate) fn is_hidden(&self) -> bool {
        self.is_left_out && !self.is_listed
    }

    /// Messages a second, where there are several at different times.
    #[allow(clippy::cast_precision_loss, reason = "a rate is for people")]
    pub(crate) fn rate(&self) -> Option<f64> {
        let times = self.times.as_ref()?;
        let span = times.end().0.checked_sub(times.start().0).filter(|span| *span > 0)?;
        Some(self.messages.saturating_sub(1) as f64 / (span as f64 / 1e9))
    }

    /// Counts a message without a time.
    fn add_untimed(&mut self, offset: u64, has_lost: bool) {
        self.untimed += 1;
        self.untimed_by_loss += u64::from(has_lost);
        self.untimed_at = self.untimed_at.or(Some(offset));
    }

    fn add_message(&mut self, time: TimeNs, is_clock: bool, offset: u64) {
        self.first_time = self.first_time.or(Some((offset, time)));
        self.times = Some(match self.times.take() {
            None => time..=time,
            Some(times) => {
                if is_clock && time < *times.end() {
                    self.went_back = self.went_back.or(Some(offset));
                }
                time.min(*times.start())..=time.max(*times.end())
            }
        });
    }
}
