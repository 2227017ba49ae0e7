//! What the reader returns and the writer takes.

use std::sync::Arc;

use bytes::Bytes;

/// A whole file. Cheap to clone: its events are shared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    pub(crate) events: Arc<[Event]>,
    /// Where the last event ends.
    pub(crate) end: u64,
}

impl Log {
    /// The events, in the order of the file.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Where it is in the file it was read from; the writer does not look at it.
    pub offset: u64,
    /// When it happened.
    pub time_ns: u64,
    /// What happened; text, but not always UTF-8.
    pub message: Bytes,
}

impl Event {
    /// The message with everything replaced that is not UTF-8.
    #[must_use]
    pub fn text(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.message)
    }
}
