//! What events are, in the words of timelines and in those of formats.

use kymo_core::model::timeline::{Activity, Content, Event, Track, TrackKind};

use crate::variables::distance;

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
    Gap,
    Value,
    Text,
    Payload,
    Sample,
}

/// Which events are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Classes {
    /// Those that are such, and only on such tracks.
    Of(&'static [Class], On),
    /// Those that a tracer calls so.
    Called(String),
}

/// The tracks that events are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum On {
    Any,
    Kind(TrackKind),
    /// State machines, and log files: those have the messages of state machines that nobody knows.
    Machines,
    /// All but those.
    Others,
}

impl On {
    fn has(self, track: Option<&Track>) -> bool {
        let is_machine = |track: &Track| {
            track.kind == TrackKind::States
                || (track.kind == TrackKind::Calls && track.content == "log file")
        };
        match self {
            Self::Any => true,
            Self::Kind(kind) => track.is_some_and(|track| track.kind == kind),
            Self::Machines => track.is_some_and(is_machine),
            Self::Others => !track.is_some_and(is_machine),
        }
    }
}

/// The words: first those of timelines, then the classes of BBBin. GENERIC is what values say,
/// whatever event has them: a timeline does not tell.
const WORDS: [(&str, &[Class], On); 22] = [
    ("begin", &[Class::Begin], On::Any),
    ("end", &[Class::End], On::Any),
    ("release", &[Class::Release], On::Any),
    ("complete", &[Class::Complete], On::Any),
    ("send", &[Class::Send], On::Any),
    ("receive", &[Class::Receive], On::Any),
    ("enter", &[Class::Enter], On::Any),
    ("gap", &[Class::Gap], On::Any),
    ("value", &[Class::Value], On::Any),
    ("text", &[Class::Text], On::Any),
    ("payload", &[Class::Payload], On::Any),
    ("sample", &[Class::Sample], On::Any),
    ("GENERIC", &[Class::Text, Class::Value, Class::Payload], On::Any),
    ("TASK_SWITCH", &[Class::Begin, Class::End], On::Kind(TrackKind::Task)),
    ("TASK_RELEASE", &[Class::Release], On::Any),
    ("TASK_COMPLETION", &[Class::Complete], On::Any),
    ("SEND", &[Class::Send], On::Others),
    ("RECEIVE", &[Class::Receive], On::Others),
    ("SRL SEND", &[Class::Send], On::Machines),
    ("SRL RECEIVE", &[Class::Receive, Class::Enter], On::Machines),
    ("FUNCTION_ENTER", &[Class::Begin], On::Kind(TrackKind::Calls)),
    ("FUNCTION_EXIT", &[Class::End], On::Kind(TrackKind::Calls)),
];

impl Classes {
    /// Reads a word. Where two differ in their letters' case alone, that counts; any other may be a
    /// tracer's, unless it looks like one of these that is misspelt.
    pub(super) fn parse(typed: &str) -> Result<Self, String> {
        let spaced = |word: &str| word.replace(' ', "_");
        let typed_so = spaced(typed);
        let exact = WORDS.iter().find(|(word, ..)| spaced(word) == typed_so);
        let alike = || WORDS.iter().find(|(word, ..)| spaced(word).eq_ignore_ascii_case(&typed_so));
        match exact.or_else(alike) {
            Some((_, classes, on)) => Ok(Self::Of(classes, *on)),
            None if is_name(typed) || !is_misspelt(&typed_so) => Ok(Self::Called(typed.to_owned())),
            None => {
                let words: Vec<_> = WORDS.iter().map(|(word, ..)| *word).collect();
                Err(format!("there are {}, and names such as sched_switch", words.join(", ")))
            }
        }
    }

    /// Whether an event of a track is asked for.
    pub(super) fn have(&self, event: &Event<'_>, track: Option<&Track>) -> bool {
        match self {
            Self::Of(classes, on) => classes.contains(&class_of(&event.content)) && on.has(track),
            Self::Called(name) => match &event.content {
                Content::Text(text) => is_called(text, name),
                Content::Fields(fields) => is_called(&fields.name, name),
                _ => false,
            },
        }
    }
}

/// Whether a text begins with a name, after that of a subsystem where there is one:
/// `sched:sched_switch: …` is both.
pub(super) fn is_called(text: &str, name: &str) -> bool {
    let begins = |text: &str| {
        let rest = text.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    };
    begins(text) || text.split_once(':').is_some_and(|(_, rest)| begins(rest))
}

/// Whether a word is one of these but for a letter in three, whatever the case.
fn is_misspelt(typed: &str) -> bool {
    let typed = typed.to_ascii_lowercase();
    let wrong_max = typed.chars().count() / 3;
    let words = WORDS.iter().map(|(word, ..)| word.replace(' ', "_").to_ascii_lowercase());
    typed.is_empty() || { words }.any(|word| distance(&typed, &word) <= wrong_max)
}

/// Whether a word is surely what a tracer calls its events: `sched_switch`, `vTaskDelay`.
pub(super) fn is_name(word: &str) -> bool {
    let pairs = word.as_bytes().windows(2);
    let is_hump = |pair: &[u8]| matches!(pair, [first, next] if first.is_ascii_lowercase() && next.is_ascii_uppercase());
    word.contains(['_', ':']) || { pairs }.any(is_hump)
}

fn class_of(content: &Content<'_>) -> Class {
    match content {
        Content::Value(_) => Class::Value,
        Content::Text(_) | Content::Fields(_) => Class::Text,
        Content::Payload => Class::Payload,
        Content::Sample(_) => Class::Sample,
        Content::Activity(activity) => match activity {
            Activity::Begin { .. } => Class::Begin,
            Activity::End | Activity::EndOf { .. } => Class::End,
            Activity::Release { .. } => Class::Release,
            Activity::Complete { .. } => Class::Complete,
            Activity::Send(_) => Class::Send,
            Activity::Receive(_) => Class::Receive,
            Activity::Enter { .. } => Class::Enter,
            Activity::Gap(_) => Class::Gap,
        },
    }
}

#[cfg(test)]
mod tests {
    use kymo_core::model::timeline::TrackId;

    use super::*;

    #[test]
    fn names_of_tracers_are_told_from_words_that_are_misspelt() {
        assert!(["sched_switch", "ust:call", "vTaskDelay"].into_iter().all(is_name));
        assert!(["ends", "Begin", "GENERICS", "SR SEND"].into_iter().all(|word| !is_name(word)));
        for word in ["ends", "GENERICS", "SR SEND", "begn", "Recieve", ""] {
            assert!(Classes::parse(word).is_err(), "{word}");
        }
        // SystemView calls its events so.
        for word in ["IDLE", "NOP", "INIT", "SYSDESC", "OVERFLOW", "cycles"] {
            assert_eq!(Classes::parse(word), Ok(Classes::Called(word.to_owned())));
        }
    }

    fn event(content: Content<'_>) -> Event<'_> {
        let (track, payload) = (TrackId(0), &[][..]);
        Event { track, time: None, offset: 0, content, payload, partial: None }
    }

    fn has(word: &str, content: Content<'_>, kind: TrackKind, of: &str) -> bool {
        let track = Track {
            name: String::new(),
            recording: 0,
            parent: None,
            kind,
            clock: None,
            content: of.to_owned().into(),
            attributes: kymo_core::model::timeline::Attributes::new(),
        };
        Classes::parse(word).unwrap().have(&event(content), Some(&track))
    }

    #[test]
    fn words_of_formats_are_classes_too() {
        let end = || Content::Activity(Activity::End);
        assert!(has("end", end(), TrackKind::Task, "") && has("end", end(), TrackKind::Calls, ""));
        assert!(has("TASK_SWITCH", end(), TrackKind::Task, ""));
        assert!(!has("task_switch", end(), TrackKind::Calls, ""));
        assert!(has("FUNCTION_EXIT", end(), TrackKind::Calls, ""));
        assert_eq!(Classes::parse("srl_send"), Classes::parse("SRL SEND"));
        let text = || Content::Text("sched_switch: { a = 1 }".into());
        assert!(has("sched_switch", text(), TrackKind::Messages, ""));
        assert!(!has("sched_swi", text(), TrackKind::Messages, ""));
        let of_perf = || Content::Text("sched:sched_switch: prev_comm=a".into());
        assert!(has("sched_switch", of_perf(), TrackKind::Messages, ""));
        assert!(has("sched:sched_switch", of_perf(), TrackKind::Messages, ""));
        assert!(!has("prev_comm", of_perf(), TrackKind::Messages, ""));
        assert!(has("GENERIC", text(), TrackKind::Messages, ""));
        assert!(Classes::parse("begn").is_err());
    }

    #[test]
    fn messages_of_state_machines_are_a_class_of_their_own() {
        let (name, peer, peer_time) = ("M".into(), None, None);
        let message = kymo_core::model::timeline::Message { name, peer, peer_time };
        let send = || Content::Activity(Activity::Send(message.clone()));
        let (task, machine, log) =
            ((TrackKind::Task, "TASK"), (TrackKind::States, ""), (TrackKind::Calls, "log file"));
        for (word, expected) in [
            ("send", [true, true, true]),
            ("SEND", [true, false, false]),
            ("SRL SEND", [false, true, true]),
        ] {
            let found = [task, machine, log].map(|(kind, of)| has(word, send(), kind, of));
            assert_eq!(found, expected, "{word}");
        }
    }
}
