//! Messages one after the other.

use std::sync::Arc;

use kymo_model::timeline::TimeNs;
use kymo_rtc_wire::read::{Frame, Item, View, Walker};

use super::Reader;
use super::scan::Problem;
use super::tracker::{CompletedItem, Open, Tracker};
use crate::types::Message;

/// The messages of a file, read as they are asked for.
#[derive(Debug)]
pub struct Messages {
    reader: Arc<Reader>,
    walker: Walker,
    tracker: Tracker,
    /// Offset at which reading ends.
    end: u64,
    /// Of each session, the clock that tells since when something is missing.
    watched: Vec<Option<usize>>,
    lost: Option<LostFrames>,
}

/// Frames were lost.
#[derive(Debug, Clone, Copy)]
struct LostFrames {
    /// The clock that tells since when, and what it showed then.
    clock: usize,
    time: TimeNs,
    is_told: bool,
}

impl Messages {
    pub(super) fn new(reader: Arc<Reader>) -> Self {
        // All of the file may tell what its first Meta does not.
        let scan = reader.scan();
        let (end, known) = (scan.end, Arc::clone(&scan.catalog));
        let tracker = Tracker::knowing(known, reader.limits());
        Self::from_walker(reader, Walker::new().without_checksums(), tracker, end)
    }

    /// No message at all.
    pub(crate) fn none(reader: &Arc<Reader>) -> Self {
        let tracker = Tracker::new(reader.limits());
        Self::from_walker(Arc::clone(reader), Walker::new(), tracker, 0)
    }

    /// Messages from a tick on, up to the end of its session.
    pub(crate) fn from_walker(
        reader: Arc<Reader>,
        walker: Walker,
        tracker: Tracker,
        end: u64,
    ) -> Self {
        Self { reader, walker, tracker, end, watched: Vec::new(), lost: None }
    }

    /// Has a clock of each session tell since when something is missing.
    pub(crate) fn watching(self, watched: Vec<Option<usize>>) -> Self {
        Self { watched, ..self }
    }

    /// Returns the time that the clock of the session showed before frames were lost. It is given
    /// if any were lost before the message that was found last. Messages before the clock is set
    /// again may have happened later than their times. So the loss is reported once more behind
    /// them.
    pub(crate) fn take_loss(&mut self) -> Option<TimeNs> {
        let LostFrames { clock, time, is_told } = self.lost?;
        let is_set = !self.tracker.is_stale(clock);
        self.lost = (!is_set).then_some(LostFrames { clock, time, is_told: true });
        (is_set || !is_told).then_some(time)
    }

    /// The streams that were met so far, in the order in which the file defines them.
    pub(crate) fn known_streams(&self) -> &[usize] {
        self.tracker.known_streams()
    }

    /// Returns the time that a clock shows now.
    pub(crate) fn shows(&self, clock: usize) -> Option<TimeNs> {
        self.tracker.shows(clock)
    }

    /// The next message.
    #[allow(clippy::should_implement_trait, reason = "what it gives borrows from it")]
    pub fn next(&mut self) -> Option<Message<'_>> {
        let found = self.advance()?;
        Some(self.message(&found))
    }

    /// Goes to the next message, which [`message`](Self::message) then gives. Where something is
    /// wrong it is said what, and that takes all of the file.
    pub(crate) fn advance(&mut self) -> Option<LocatedMessage> {
        let view = View::from_file(&self.reader.bytes);
        while self.walker.position() < self.end
            && let Ok(item) = self.walker.next(&view)
        {
            match item {
                Item::Frame(frame) => {
                    let completed = self.tracker.frame(&frame, &view, &self.walker);
                    let is_meta_damaged = Problem::from_meta(&frame, &self.walker).is_some();
                    // Where reading began within a message, its rest is nothing that is wrong.
                    let is_left_out =
                        self.tracker.take_omitted().iter().any(Open::is_from_its_beginning);
                    if is_left_out || is_meta_damaged {
                        self.reader.scan();
                    }
                    if let Some(completed) = completed {
                        return Some(LocatedMessage { completed, frame });
                    }
                }
                Item::Unit(unit) => {
                    if usize::try_from(unit.session) != Ok(self.tracker.session()) {
                        end_session(&self.reader, &mut self.tracker);
                        self.lost = None;
                    }
                    super::scan::begin_unit(&mut self.tracker, &unit, &self.walker);
                }
                Item::Damage(damage) => {
                    self.reader.scan();
                    if damage.loses_frames() {
                        self.lost = lost(&self.watched, &self.tracker);
                        self.tracker.lose_frames();
                    }
                }
                Item::Streams(offset) => self.tracker.define(offset, &self.walker),
                Item::Checksum(_) => {}
                Item::End => break,
            }
        }
        end_session(&self.reader, &mut self.tracker);
        None
    }

    /// The message that was just found.
    pub(crate) fn message(&self, found: &LocatedMessage) -> Message<'_> {
        let view = View::from_file(&self.reader.bytes);
        self.tracker.message(&found.completed, &found.frame, &view)
    }
}

/// Since when something is missing, where frames are lost now.
fn lost(watched: &[Option<usize>], tracker: &Tracker) -> Option<LostFrames> {
    let clock = watched.get(tracker.session()).copied().flatten()?;
    Some(LostFrames { clock, time: tracker.shows(clock)?, is_told: false })
}

/// A message without an end is left out, and that is said.
fn end_session(reader: &Reader, tracker: &mut Tracker) {
    if !tracker.drop_open().is_empty() {
        reader.scan();
    }
}

/// A message and the frame that ended it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LocatedMessage {
    completed: CompletedItem,
    frame: Frame,
}

impl LocatedMessage {
    pub(crate) fn stream(&self) -> usize {
        self.completed.stream
    }
}
