//! The classes of events, in the words of the specification.

use kymo_model::timeline::{Class, ClassWord, Track, TrackKind};

use super::LOG_FILE;

/// The words. GENERIC is what values say, whatever event has them: a timeline does not tell.
pub(crate) static WORDS: &[ClassWord] = &[
    word("GENERIC", &[Class::Text, Class::Value, Class::Payload], |_| true),
    word("TASK_SWITCH", &[Class::Begin, Class::End], |track| has_kind(track, TrackKind::Task)),
    word("TASK_RELEASE", &[Class::Release], |_| true),
    word("TASK_COMPLETION", &[Class::Complete], |_| true),
    word("SEND", &[Class::Send], |track| !is_machine(track)),
    word("RECEIVE", &[Class::Receive], |track| !is_machine(track)),
    word("SRL SEND", &[Class::Send], is_machine),
    word("SRL RECEIVE", &[Class::Receive, Class::Enter], is_machine),
    word("FUNCTION_ENTER", &[Class::Begin], |track| has_kind(track, TrackKind::Calls)),
    word("FUNCTION_EXIT", &[Class::End], |track| has_kind(track, TrackKind::Calls)),
];

const fn word(
    word: &'static str,
    classes: &'static [Class],
    is_on: fn(Option<&Track>) -> bool,
) -> ClassWord {
    ClassWord { word, classes, is_on }
}

fn has_kind(track: Option<&Track>, kind: TrackKind) -> bool {
    track.is_some_and(|track| track.kind == kind)
}

/// Returns true if it is a state machine, or a log file: those have the messages of state machines
/// that nobody declared.
fn is_machine(track: Option<&Track>) -> bool {
    let is_log_file = |track: &Track| track.kind == TrackKind::Calls && track.content == LOG_FILE;
    has_kind(track, TrackKind::States) || track.is_some_and(is_log_file)
}

#[cfg(test)]
mod tests {
    use kymo_model::timeline::{Activity, Attributes, Content, Event, Message, TrackId};

    use super::*;

    fn has(word: &str, content: Content<'_>, (kind, this_name): (TrackKind, &str)) -> bool {
        let track = Track {
            name: String::new(),
            recording: 0,
            parent: None,
            kind,
            clock: None,
            content: this_name.to_owned().into(),
            attributes: Attributes::new(),
        };
        let (id, payload) = (TrackId(0), &[][..]);
        let event = Event { track: id, time: None, offset: 0, content, payload, partial: None };
        WORDS.iter().find(|item| item.word == word).unwrap().matches(&event, Some(&track))
    }

    #[test]
    fn tasks_and_functions_are_told_apart_by_their_tracks() {
        let end = || Content::Activity(Activity::End);
        assert!(has("TASK_SWITCH", end(), (TrackKind::Task, "")));
        assert!(!has("TASK_SWITCH", end(), (TrackKind::Calls, "")));
        assert!(has("FUNCTION_EXIT", end(), (TrackKind::Calls, "")));
        assert!(has("GENERIC", Content::Text("a".into()), (TrackKind::Messages, "")));
    }

    #[test]
    fn messages_of_state_machines_are_a_class_of_their_own() {
        let message = Message { name: "M".into(), peer: None, peer_time: None };
        let send = || Content::Activity(Activity::Send(message.clone()));
        let tracks =
            [(TrackKind::Task, "TASK"), (TrackKind::States, ""), (TrackKind::Calls, LOG_FILE)];
        for (word, expected) in [("SEND", [true, false, false]), ("SRL SEND", [false, true, true])]
        {
            assert_eq!(tracks.map(|track| has(word, send(), track)), expected, "{word}");
        }
    }
}
