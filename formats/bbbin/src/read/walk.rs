//! Going from event to event.

use std::ops::Range;

use kymo_core::bytes::ReadError;
use kymo_core::{Finding, Severity};

use super::Reader;
use super::event::event;
use crate::types::LocatedEvent;

/// A place among the events. It borrows nothing, so that whoever owns a reader can keep one.
#[derive(Debug, Clone)]
pub(crate) struct Walk {
    /// The spans that come after the one it is in.
    spans: Range<usize>,
    offset: u64,
    end: u64,
    left: u64,
    is_exact: bool,
    /// The time of the event before.
    latest: i64,
    went_back: bool,
    /// True if what is wrong is left for others to find.
    is_quiet: bool,
    /// Spans of which events were passed over since that was asked last, and others come behind them.
    lacking: usize,
}

impl Walk {
    /// Through some of a reader's spans.
    pub(crate) fn new(spans: Range<usize>) -> Self {
        Self {
            spans,
            offset: 0,
            end: 0,
            left: 0,
            is_exact: false,
            latest: i64::MIN,
            went_back: false,
            is_quiet: false,
            lacking: 0,
        }
    }

    /// Through some of a reader's spans that nobody asked for: nothing is noticed in them.
    pub(crate) fn quiet(spans: Range<usize>) -> Self {
        Self { is_quiet: true, ..Self::new(spans) }
    }

    /// Returns true if no event is earlier than the one before it, and blocks begin and end when
    /// the index has them. Goes to the end, or to the first that is not so.
    pub(crate) fn is_as_indexed(&mut self, reader: &Reader) -> bool {
        let mut entered = None;
        while let Some(found) = self.next(reader) {
            let (time, after) = (found.event.timestamp, self.spans.start);
            let first = Some(time).filter(|_| entered.replace(after) != Some(after));
            let last = Some(time).filter(|_| self.left == 0);
            let block = after.checked_sub(1);
            if self.went_back || !block.is_none_or(|block| reader.is_block(block, first, last)) {
                return false;
            }
        }
        true
    }

    /// The next event. What cannot be read is noticed, and passed over to the next span.
    #[inline]
    pub(crate) fn next<'a>(&mut self, reader: &'a Reader) -> Option<LocatedEvent<'a>> {
        loop {
            if self.left == 0 && !self.enter(reader) {
                return None;
            }
            let offset = self.offset;
            #[cfg(test)]
            reader.touch(offset);
            match event(reader.slice(offset, self.end), offset) {
                Ok((event, length)) => {
                    self.offset += length;
                    self.left -= 1;
                    if event.timestamp < self.latest {
                        self.report_backward_time(reader, offset);
                    }
                    self.latest = event.timestamp;
                    if self.left == 0 && self.is_exact && self.offset != self.end {
                        self.misfit(reader);
                    }
                    return Some(LocatedEvent { offset, event });
                }
                Err(error) => {
                    self.fails(reader, &error);
                    self.left = 0;
                    self.lacking += usize::from(self.spans.start < reader.spans().len());
                }
            }
        }
    }

    /// Returns true if events were passed over since this was asked last, that are not the last of
    /// all.
    pub(crate) fn take_missing(&mut self) -> bool {
        std::mem::take(&mut self.lacking) > 0
    }

    /// Gives the event that was given last, and begins here, once more.
    pub(crate) fn step_back(&mut self, offset: u64) {
        (self.offset, self.left) = (offset, self.left + 1);
    }

    /// The byte after the event that was read last.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Goes to the next span that has events.
    #[cold]
    fn enter(&mut self, reader: &Reader) -> bool {
        for number in self.spans.by_ref() {
            let Some(span) = reader.spans().get(number).filter(|span| span.events > 0) else {
                continue;
            };
            (self.offset, self.end, self.left) = (span.start, span.end, span.events);
            self.is_exact = span.is_exact;
            return true;
        }
        false
    }

    #[cold]
    fn fails(&self, reader: &Reader, error: &ReadError) {
        if self.is_quiet {
            return;
        }
        let mut finding = Finding::unreadable("events", error);
        let plural = if self.left == 1 { "" } else { "s" };
        finding.message = format!(
            "{}; {} event{plural} from byte {:#x} on cannot be read",
            finding.message, self.left, self.offset
        );
        reader.add_finding(finding);
    }

    #[cold]
    fn report_backward_time(&mut self, reader: &Reader, offset: u64) {
        if !self.went_back && !self.is_quiet {
            reader.notice_disorder(offset);
        }
        self.went_back = true;
    }

    #[cold]
    fn misfit(&self, reader: &Reader) {
        if self.is_quiet {
            return;
        }
        let message = format!(
            "the events of this block end at byte {:#x}, and its index says {:#x}",
            self.offset, self.end
        );
        reader.add_finding(Finding::at_offset(Severity::Error, "events", self.offset, message));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::sync::Arc;
    use std::sync::atomic::Ordering::Relaxed;

    use kymo_core::{Context, Source};
    use kymo_model::timeline::{TimeNs, TimelineView, Window};

    use super::*;
    use crate::Writer;
    use crate::model::Timeline;
    use crate::types::{ArtifactId, Body, Definitions, Event};

    /// 100 blocks of 1000 switches, one every 10 ns.
    fn long() -> Arc<Reader> {
        open(long_bytes())
    }

    fn open(bytes: Vec<u8>) -> Arc<Reader> {
        Reader::open(&Source::from_bytes("", bytes), &Context::default()).unwrap()
    }

    fn long_bytes() -> Vec<u8> {
        let mut definitions = Definitions::default();
        let log_file = definitions.add_log_file("a.log", "");
        let custom_type = definitions.empty_type(log_file);
        let out = Cursor::new(Vec::new());
        let mut writer = Writer::new(out, &definitions.log_files, &definitions.types).unwrap();
        let (in_task, out_task) = (ArtifactId(1), ArtifactId(2));
        for number in 0..100_000 {
            let body = Body::TaskSwitch { in_task, out_task, in_task_priority: 3 };
            let timestamp = number * 10;
            writer.write(&Event { timestamp, log_file, body, custom_type, custom: &[] }).unwrap();
        }
        writer.finish(&definitions.artifacts).unwrap().out.into_inner()
    }

    fn window() -> Window {
        let (from, until) = (Some(TimeNs(500_000)), Some(TimeNs(500_100)));
        Window { from, until, ..Window::default() }
    }

    fn touched(reader: &Reader) -> usize {
        reader.touched.iter().filter(|is_touched| is_touched.load(Relaxed)).count()
    }

    /// The range is in the block of 500,000 to 509,990 ns; those beside it may be looked at.
    #[test]
    fn a_range_of_time_touches_its_block_and_those_beside_it() {
        let reader = long();
        assert_eq!(touched(&reader), 0, "opening reads no event");
        assert_eq!(reader.events_in_window(&window()).count(), 10);
        assert!(touched(&reader) <= 3000, "{} events", touched(&reader));
        assert_eq!(reader.events().count(), 100_000);
        assert_eq!(touched(&reader), 100_000);
    }

    /// Beside the range, no more than 16,000 events are looked at for tasks that nothing declares.
    #[test]
    fn a_range_of_a_timeline_touches_some_events_beside_it() {
        let reader = long();
        let timeline = Arc::new(Timeline::new(Arc::clone(&reader)));
        let (mut events, mut count) = (timeline.events(&window()).unwrap(), 0);
        while events.next().unwrap().is_some() {
            count += 1;
        }
        // Each switch stops one task and begins another.
        assert_eq!(count, 20);
        assert!(touched(&reader) <= 3000 + 16_000, "{} events", touched(&reader));
    }

    /// The block of 500,000 to 509,990 ns is said to begin later or to end earlier, so that it seems to
    /// have no event of the range. An entry has two numbers before these.
    #[test]
    fn a_range_does_not_believe_an_index_that_has_other_times_than_events() {
        let bytes = long_bytes();
        let entry = usize::try_from(open(bytes.clone()).blocks()[50].offset).unwrap();
        let before = Window { until: window().until, ..Window::default() };
        let behind = Window { from: window().from, ..Window::default() };
        for (first, last) in [(505_000_i64, 509_990_i64), (499_995, 499_995)] {
            let mut wrong = bytes.clone();
            wrong[entry + 16..entry + 24].copy_from_slice(&first.to_be_bytes());
            wrong[entry + 24..entry + 32].copy_from_slice(&last.to_be_bytes());
            let reader = open(wrong);
            assert!(reader.is_ascending());
            for (window, count) in [(&window(), 10), (&before, 50_010), (&behind, 50_000)] {
                assert_eq!(reader.events_in_window(window).count(), count, "{first}");
            }
            let findings = reader.findings();
            assert_eq!(findings.iter().map(|finding| finding.rule).collect::<Vec<_>>(), ["index"]);
        }
    }
}
