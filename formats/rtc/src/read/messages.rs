//! Messages one after the other.

use std::sync::Arc;

use kymo_core::model::timeline::TimeNs;
use kymo_rtc_wire::read::{Frame, Item, View, Walker};

use super::Reader;
use super::tracker::{Completed, Tracker};
use crate::types::Message;

/// The messages of a file, read as they are asked for.
#[derive(Debug)]
pub struct Messages {
    reader: Arc<Reader>,
    walker: Walker,
    tracker: Tracker,
    /// Where reading ends.
    end: u64,
}

impl Messages {
    pub(super) fn new(reader: Arc<Reader>) -> Self {
        let end = reader.scan().end;
        let tracker = Tracker::knowing(reader.known(), reader.limits());
        Self { reader, walker: Walker::new().without_checksums(), tracker, end }
    }

    /// No message at all.
    pub(crate) fn none(reader: &Arc<Reader>) -> Self {
        let tracker = Tracker::new(reader.limits());
        Self { reader: Arc::clone(reader), walker: Walker::new(), tracker, end: 0 }
    }

    /// Messages from a tick on, up to the end of its session.
    pub(crate) fn within(reader: Arc<Reader>, walker: Walker, tracker: Tracker, end: u64) -> Self {
        Self { reader, walker, tracker, end }
    }

    /// The streams that were met so far, in the order in which the file defines them.
    pub(crate) fn met(&self) -> &[usize] {
        self.tracker.met()
    }

    /// What a clock shows now.
    pub(crate) fn shows(&self, clock: usize) -> Option<TimeNs> {
        self.tracker.shows(clock)
    }

    /// The next message.
    #[allow(clippy::should_implement_trait, reason = "what it gives borrows from it")]
    pub fn next(&mut self) -> Option<Message<'_>> {
        let found = self.advance()?;
        Some(self.message(&found))
    }

    /// Goes to the next message, which [`message`](Self::message) then gives.
    pub(crate) fn advance(&mut self) -> Option<Found> {
        let view = View::whole(&self.reader.bytes);
        while self.walker.position() < self.end
            && let Ok(item) = self.walker.next(&view)
        {
            match item {
                Item::Frame(frame) => {
                    let completed = self.tracker.frame(&frame, &view, &self.walker);
                    self.tracker.left_out();
                    if let Some(completed) = completed {
                        return Some(Found { completed, frame });
                    }
                }
                Item::Unit(unit) => {
                    super::scan::begin_unit(&mut self.tracker, &unit, &self.walker);
                }
                Item::Damage(damage) => {
                    // What is wrong is said, and that takes all of the file.
                    self.reader.scan();
                    if damage.loses_frames() {
                        self.tracker.drop_open();
                    }
                }
                Item::Checksum(_) => {}
                Item::End => break,
            }
        }
        None
    }

    /// The beginnings of messages of a session that have no end: where, of which stream, and what.
    pub(crate) fn unfinished(&self, session: usize) -> Vec<(u64, usize, &[u8])> {
        let open = self.tracker.unfinished(session);
        open.into_iter().map(|open| (open.offset, open.stream, open.bytes.as_slice())).collect()
    }

    /// The message that was just found.
    pub(crate) fn message(&self, found: &Found) -> Message<'_> {
        let view = View::whole(&self.reader.bytes);
        self.tracker.message(&found.completed, &found.frame, &view)
    }
}

/// A message and the frame that ended it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    completed: Completed,
    frame: Frame,
}

impl Found {
    pub(crate) fn stream(&self) -> usize {
        self.completed.stream
    }
}
