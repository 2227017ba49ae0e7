//! Messages one after the other.

use std::sync::Arc;

use kymo_rtc_wire::read::{Frame, Item, View, Walker};

use super::Reader;
use super::tracker::{Completed, Tracker};
use crate::types::{Message, Stream};

/// The messages of a file, read as they are asked for.
#[derive(Debug)]
pub struct Messages {
    reader: Arc<Reader>,
    walker: Walker,
    tracker: Tracker,
}

impl Messages {
    pub(super) fn new(reader: Arc<Reader>) -> Self {
        let tracker = Tracker::new(reader.limits());
        Self { reader, walker: Walker::new().without_checksums(), tracker }
    }

    /// The streams that the file has defined so far.
    #[must_use]
    pub fn streams(&self) -> &[Stream] {
        self.tracker.streams()
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
        while self.walker.position() < self.reader.scan().end
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
                Item::Damage(damage) if damage.loses_frames() => drop(self.tracker.drop_open()),
                Item::Damage(_) | Item::Checksum(_) => {}
                Item::End => break,
            }
        }
        None
    }

    /// The beginnings of messages of a session that have no end.
    pub(crate) fn unfinished(&self, session: usize) -> Vec<(usize, &[u8])> {
        let open = self.tracker.unfinished(session);
        open.into_iter().map(|open| (open.stream, open.bytes.as_slice())).collect()
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
