//! What events are, in the words of timelines and in those of formats.

use kymo_core::model::timeline::{Activity, Content, Event, TrackKind};

/// What an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Begin,
    End,
    Release,
    Complete,
    Send,
    Receive,
    Enter,
    Value,
    Text,
    Payload,
    Sample,
}

/// Which events are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Classes {
    /// Those that are such, and perhaps only on such tracks.
    Of(&'static [Class], Option<TrackKind>),
    /// Those that a tracer calls so.
    Called(String),
}

/// The words: first those of timelines, then the classes of BBBin.
const WORDS: [(&str, &[Class], Option<TrackKind>); 19] = [
    ("begin", &[Class::Begin], None),
    ("end", &[Class::End], None),
    ("release", &[Class::Release], None),
    ("complete", &[Class::Complete], None),
    ("send", &[Class::Send], None),
    ("receive", &[Class::Receive], None),
    ("enter", &[Class::Enter], None),
    ("value", &[Class::Value], None),
    ("text", &[Class::Text], None),
    ("payload", &[Class::Payload], None),
    ("sample", &[Class::Sample], None),
    ("GENERIC", &[Class::Text, Class::Value, Class::Payload], None),
    ("TASK_SWITCH", &[Class::Begin, Class::End], Some(TrackKind::Task)),
    ("TASK_RELEASE", &[Class::Release], None),
    ("TASK_COMPLETION", &[Class::Complete], None),
    ("SRL SEND", &[Class::Send], Some(TrackKind::States)),
    ("SRL RECEIVE", &[Class::Receive, Class::Enter], Some(TrackKind::States)),
    ("FUNCTION_ENTER", &[Class::Begin], Some(TrackKind::Calls)),
    ("FUNCTION_EXIT", &[Class::End], Some(TrackKind::Calls)),
];

impl Classes {
    /// Reads a word. What has a line or a colon in it may be a tracer's.
    pub(super) fn parse(typed: &str) -> Result<Self, String> {
        let spaced = |word: &str| word.replace(' ', "_");
        let known =
            WORDS.iter().find(|(word, ..)| spaced(word).eq_ignore_ascii_case(&spaced(typed)));
        match known {
            Some((_, classes, kind)) => Ok(Self::Of(classes, *kind)),
            None if typed.contains(['_', ':']) => Ok(Self::Called(typed.to_owned())),
            None => {
                let words: Vec<_> = WORDS.iter().map(|(word, ..)| *word).collect();
                Err(format!("there are {}, and names such as sched_switch", words.join(", ")))
            }
        }
    }

    /// Whether an event of a track of a kind is asked for.
    pub(super) fn have(&self, event: &Event<'_>, on: Option<TrackKind>) -> bool {
        match self {
            Self::Of(classes, kind) => {
                classes.contains(&class_of(&event.content))
                    && kind.is_none_or(|kind| on == Some(kind))
            }
            Self::Called(name) => match &event.content {
                Content::Text(text) => {
                    let rest = text.strip_prefix(name.as_str());
                    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
                }
                Content::Fields(fields) => fields.name == *name,
                _ => false,
            },
        }
    }
}

fn class_of(content: &Content<'_>) -> Class {
    match content {
        Content::Value(_) => Class::Value,
        Content::Text(_) | Content::Fields(_) => Class::Text,
        Content::Payload => Class::Payload,
        Content::Sample(_) => Class::Sample,
        Content::Activity(activity) => match activity {
            Activity::Begin { .. } => Class::Begin,
            Activity::End => Class::End,
            Activity::Release { .. } => Class::Release,
            Activity::Complete { .. } => Class::Complete,
            Activity::Send(_) => Class::Send,
            Activity::Receive(_) => Class::Receive,
            Activity::Enter { .. } => Class::Enter,
        },
    }
}

#[cfg(test)]
mod tests {
    use kymo_core::model::timeline::TrackId;

    use super::*;

    fn event(content: Content<'_>) -> Event<'_> {
        let (track, payload) = (TrackId(0), &[][..]);
        Event { track, time: None, offset: 0, content, payload, partial: None }
    }

    #[test]
    fn words_of_formats_are_classes_too() {
        let has = |word: &str, content: Content<'_>, on| {
            Classes::parse(word).unwrap().have(&event(content), Some(on))
        };
        let end = || Content::Activity(Activity::End);
        assert!(has("end", end(), TrackKind::Task) && has("end", end(), TrackKind::Calls));
        assert!(has("TASK_SWITCH", end(), TrackKind::Task));
        assert!(!has("task_switch", end(), TrackKind::Calls));
        assert!(has("FUNCTION_EXIT", end(), TrackKind::Calls));
        assert_eq!(Classes::parse("srl_send"), Classes::parse("SRL SEND"));
        let text = || Content::Text("sched_switch: { a = 1 }".into());
        assert!(has("sched_switch", text(), TrackKind::Messages));
        assert!(!has("sched_swi", text(), TrackKind::Messages));
        assert!(has("GENERIC", text(), TrackKind::Messages));
        assert!(Classes::parse("begn").is_err());
    }
}
