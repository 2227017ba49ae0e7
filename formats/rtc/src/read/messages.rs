//! Messages one after the other.

use std::sync::Arc;

use kymo_core::Result;
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
    pub fn next(&mut self) -> Result<Option<Message<'_>>> {
        let Some((completed, frame)) = self.advance()? else { return Ok(None) };
        let view = View::whole(&self.reader.bytes);
        Ok(Some(self.tracker.message(&completed, &frame, &view)))
    }

    fn advance(&mut self) -> Result<Option<(Completed, Frame)>> {
        let view = View::whole(&self.reader.bytes);
        while let Ok(item) = self.walker.next(&view) {
            match item {
                Item::Frame(frame) => {
                    let completed = self.tracker.frame(&frame, &view, &self.walker)?;
                    if let Some(completed) = completed {
                        return Ok(Some((completed, frame)));
                    }
                }
                Item::Unit(unit) => {
                    super::scan::begin_unit(&mut self.tracker, &unit, &self.walker);
                }
                Item::Damage(_) => drop(self.tracker.drop_open()),
                Item::Checksum(_) => {}
                Item::End => break,
            }
        }
        Ok(None)
    }
}
