//! Classes of events, in the words of timelines and in those of formats.

use super::{Activity, Content, Event, Track};

/// Class of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// A task, a function or an interrupt begins to run.
    Begin,
    /// It no longer runs.
    End,
    /// A job of a task is due.
    Release,
    /// A job of a task is done.
    Complete,
    /// A message is sent.
    Send,
    /// A message is received.
    Receive,
    /// A state is entered.
    Enter,
    /// Events are missing.
    Gap,
    /// A number, or another value.
    Value,
    /// A text, or an event with fields.
    Text,
    /// Bytes that nobody has decoded.
    Payload,
    /// A sample of a profile.
    Sample,
}

impl Class {
    /// Every class, in the order that lists have.
    pub const ALL: [Self; 12] = [
        Self::Begin,
        Self::End,
        Self::Release,
        Self::Complete,
        Self::Send,
        Self::Receive,
        Self::Enter,
        Self::Gap,
        Self::Value,
        Self::Text,
        Self::Payload,
        Self::Sample,
    ];

    /// The class of an event.
    #[must_use]
    pub fn from_content(content: &Content<'_>) -> Self {
        match content {
            Content::Value(_) => Self::Value,
            Content::Text(_) | Content::Fields(_) => Self::Text,
            Content::Payload => Self::Payload,
            Content::Sample(_) => Self::Sample,
            Content::Activity(activity) => match activity {
                Activity::Begin { .. } => Self::Begin,
                Activity::End | Activity::EndOf { .. } => Self::End,
                Activity::Release { .. } => Self::Release,
                Activity::Complete { .. } => Self::Complete,
                Activity::Send(_) => Self::Send,
                Activity::Receive(_) => Self::Receive,
                Activity::Enter { .. } => Self::Enter,
                Activity::Gap(_) => Self::Gap,
            },
        }
    }

    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Begin => "begin",
            Self::End => "end",
            Self::Release => "release",
            Self::Complete => "complete",
            Self::Send => "send",
            Self::Receive => "receive",
            Self::Enter => "enter",
            Self::Gap => "gap",
            Self::Value => "value",
            Self::Text => "text",
            Self::Payload => "payload",
            Self::Sample => "sample",
        }
    }
}

/// A format's own word for some events, whatever timeline they are on by now.
#[derive(Debug, Clone, Copy)]
pub struct ClassWord {
    /// The word, as the format's specification has it.
    pub word: &'static str,
    /// Classes of such events.
    pub classes: &'static [Class],
    /// True if a track may have them; nothing is a track that is not known.
    pub is_on: fn(Option<&Track>) -> bool,
}

impl ClassWord {
    /// Returns true if an event of a track is such.
    #[must_use]
    pub fn matches(&self, event: &Event<'_>, track: Option<&Track>) -> bool {
        self.classes.contains(&Class::from_content(&event.content)) && (self.is_on)(track)
    }
}
