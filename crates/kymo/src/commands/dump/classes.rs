//! Kinds of events, in the words of timelines and in those of formats.

use kymo_model::profile::NamePattern;
use kymo_model::timeline::{Class, ClassWord, Content, Event, Track};

use crate::variables::distance;

/// Classes of events that are asked for.
#[derive(Debug, Clone)]
pub(super) enum Classes {
    /// Those that are such.
    Are(Class),
    /// Those that a format calls so.
    Of(&'static ClassWord),
    /// Those that a tracer calls so.
    Called(String),
    /// Those with a word or a name that fits a pattern: `sched_*`, `/^irq/`.
    Like(NamePattern),
}

/// Classes as they are typed behind one option: several with commas between them, and alternatives in
/// braces, `sched_{switch,wakeup}`.
#[derive(Debug, Clone)]
pub(super) struct ListOfClasses(pub(super) Vec<Classes>);

impl ListOfClasses {
    pub(super) fn parse(typed: &str) -> Result<Self, String> {
        let words = parts(typed).into_iter().flat_map(alternatives);
        words.map(|word| Classes::parse(&word)).collect::<Result<_, _>>().map(Self)
    }
}

/// The parts of a list: commas in braces, and in expressions between slashes, are no ends of one.
fn parts(typed: &str) -> Vec<&str> {
    let (mut parts, mut rest) = (Vec::new(), typed);
    loop {
        let is_end = |(at, _): &(usize, char)| {
            let (head, _) = rest.split_at(*at);
            let is_open = head.matches('{').count() > head.matches('}').count();
            let is_expression = head.starts_with('/') && (head.len() < 2 || !head.ends_with('/'));
            !is_open && !is_expression
        };
        let comma = rest.char_indices().filter(|(_, letter)| *letter == ',').find(is_end);
        let Some((head, tail)) = comma.map(|(at, _)| rest.split_at(at)) else {
            parts.push(rest);
            return parts;
        };
        parts.push(head);
        rest = tail.strip_prefix(',').unwrap_or(tail);
    }
}

/// No more words than these are made of one.
const ALTERNATIVES_MAX: usize = 256;

/// The words that a part stands for: one for each alternative of its braces, which are not nested. In
/// an expression they mean something else.
fn alternatives(part: &str) -> Vec<String> {
    let (mut done, mut open) = (Vec::new(), vec![part.to_owned()]);
    while let Some(word) = open.pop() {
        let braces = word.split_once('{').and_then(|(head, rest)| {
            let (within, tail) = rest.split_once('}')?;
            Some((head, within, tail))
        });
        match braces {
            Some((head, within, tail))
                if !word.starts_with('/') && done.len() + open.len() < ALTERNATIVES_MAX =>
            {
                open.extend(within.rsplit(',').map(|choice| format!("{head}{choice}{tail}")));
            }
            _ => done.push(word),
        }
    }
    done
}

fn format_words() -> impl Iterator<Item = &'static ClassWord> {
    kymo_registry::formats().iter().flat_map(|format| format.class_words())
}

/// The words: first those of timelines, then those of formats.
fn words() -> impl Iterator<Item = &'static str> {
    let own = Class::ALL.into_iter().map(Class::name);
    own.chain(format_words().map(|class_word| class_word.word))
}

impl Classes {
    /// Reads a word. Where two differ in their letters' case alone, that counts; any other may be a
    /// tracer's, unless it looks like one of these that is misspelt.
    pub(super) fn parse(typed: &str) -> Result<Self, String> {
        if is_pattern(typed) {
            return NamePattern::new(typed).map(Self::Like).map_err(|error| error.to_string());
        }
        let spaced = |word: &str| word.replace(' ', "_");
        let typed_so = spaced(typed);
        let is_exact = |word: &str| spaced(word) == typed_so;
        let is_alike = |word: &str| spaced(word).eq_ignore_ascii_case(&typed_so);
        if let Some(found) = Self::named(is_exact).or_else(|| Self::named(is_alike)) {
            return Ok(found);
        }
        let near = nearest(typed);
        if is_name(typed) || (near.is_none() && !typed.is_empty()) {
            return Ok(Self::Called(typed.to_owned()));
        }
        let near = near.map_or_else(String::new, |word| format!("did you mean {word}? "));
        let words: Vec<_> = words().collect();
        Err(format!("{near}there are {}, and names such as sched_switch", words.join(", ")))
    }

    fn named(is_it: impl Fn(&str) -> bool) -> Option<Self> {
        let own = Class::ALL.into_iter().find(|class| is_it(class.name())).map(Self::Are);
        own.or_else(|| format_words().find(|item| is_it(item.word)).map(Self::Of))
    }

    /// Returns true if an event of a track is asked for.
    pub(super) fn have(&self, event: &Event<'_>, track: Option<&Track>) -> bool {
        match self {
            Self::Are(class) => Class::from_content(&event.content) == *class,
            Self::Of(word) => word.matches(event, track),
            Self::Called(name) => match &event.content {
                Content::Text(text) => is_called(text, name),
                Content::Fields(fields) => is_called(&fields.name, name),
                _ => false,
            },
            Self::Like(pattern) => is_like(pattern, event, track),
        }
    }
}

/// Returns true if a word is a glob pattern, or an expression between slashes.
fn is_pattern(typed: &str) -> bool {
    let is_expression = typed.len() > 2 && typed.starts_with('/') && typed.ends_with('/');
    is_expression || typed.contains(['*', '?'])
}

/// Returns true if a pattern fits a word for the kind of an event, or its name. The name may be
/// with that of its subsystem or without.
fn is_like(pattern: &NamePattern, event: &Event<'_>, track: Option<&Track>) -> bool {
    let is_word = pattern.matches(Class::from_content(&event.content).name()) || { format_words() }
        .any(|class_word| pattern.matches(class_word.word) && class_word.matches(event, track));
    let name = match &event.content {
        Content::Text(text) => text.split_once(": ").map_or(&**text, |(name, _)| name),
        Content::Fields(fields) => &fields.name,
        _ => return is_word,
    };
    let name = name.trim_end_matches(':');
    let own = name.split_once(':').map(|(_, own)| own);
    is_word || pattern.matches(name) || own.is_some_and(|own| pattern.matches(own))
}

/// Returns true if a text begins with a name, after that of a subsystem where there is one:
/// `sched:sched_switch: …` is both.
pub(super) fn is_called(text: &str, name: &str) -> bool {
    let begins = |text: &str| {
        let rest = text.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    };
    begins(text) || text.split_once(':').is_some_and(|(_, rest)| begins(rest))
}

/// The word that one is but for a letter in three, whatever the case.
pub(super) fn nearest(typed: &str) -> Option<&'static str> {
    let lower = |word: &str| word.replace(' ', "_").to_ascii_lowercase();
    let typed = lower(typed);
    let wrong_max = typed.chars().count() / 3;
    let near = words().map(|word| (distance(&typed, &lower(word)), word));
    let near = near.filter(|(wrong, _)| *wrong <= wrong_max);
    near.min_by_key(|(wrong, _)| *wrong).map(|(_, word)| word)
}

/// Returns true if a word is surely what a tracer calls its events: `sched_switch`, `vTaskDelay`.
pub(super) fn is_name(word: &str) -> bool {
    let pairs = word.as_bytes().windows(2);
    let is_hump = |pair: &[u8]| matches!(pair, [first, next] if first.is_ascii_lowercase() && next.is_ascii_uppercase());
    word.contains(['_', ':']) || { pairs }.any(is_hump)
}

#[cfg(test)]
mod tests {
    use kymo_model::timeline::{Activity, TrackId};

    use super::*;

    #[test]
    fn commas_in_braces_and_expressions_end_no_class() {
        let words =
            |typed: &str| parts(typed).into_iter().flat_map(alternatives).collect::<Vec<_>>();
        assert_eq!(words("send,release"), ["send", "release"]);
        assert_eq!(words("{send,release},gap"), ["send", "release", "gap"]);
        assert_eq!(words("{a,b}_{c,d}"), ["a_c", "a_d", "b_c", "b_d"]);
        assert_eq!(words("/a{1,2}/,/b,c/,d"), ["/a{1,2}/", "/b,c/", "d"]);
        assert_eq!(words("{a,b"), ["{a,b"]);
        assert!(ListOfClasses::parse("{send,}").is_err());
    }

    #[test]
    fn names_of_tracers_are_told_from_words_that_are_misspelt() {
        assert!(["sched_switch", "ust:call", "vTaskDelay"].into_iter().all(is_name));
        assert!(["ends", "Begin", "GENERICS", "SR SEND"].into_iter().all(|word| !is_name(word)));
        for (word, meant) in [("ends", "end"), ("GENERICS", "GENERIC"), ("SR SEND", "SRL SEND")] {
            let said = Classes::parse(word).unwrap_err();
            assert!(said.starts_with(&format!("did you mean {meant}? there are begin")), "{said}");
        }
        for word in ["begn", "Recieve", ""] {
            assert!(Classes::parse(word).is_err(), "{word}");
        }
        // SystemView calls its events so; and any name may be one that a tracer chose.
        for word in ["IDLE", "NOP", "INIT", "SYSDESC", "OVERFLOW", "cycles", "TASK_SWICH"] {
            let found = Classes::parse(word);
            assert!(matches!(&found, Ok(Classes::Called(name)) if name == word), "{found:?}");
        }
        assert_eq!(nearest("TASK_SWICH"), Some("TASK_SWITCH"));
        assert_eq!(nearest("sched_switch"), None);
    }

    #[test]
    fn patterns_fit_names_and_words() {
        let text = |text: &'static str| Content::Text(text.into());
        for pattern in ["sched_*", "*switch", "sched?switch", "sched:sched_*", "/sw.tch$/"] {
            assert!(has(pattern, text("sched:sched_switch: prev_comm=a")), "{pattern}");
        }
        for pattern in ["irq_*", "*comm*", "?sched", "/^switch/"] {
            assert!(!has(pattern, text("sched:sched_switch: prev_comm=a")), "{pattern}");
        }
        // Of nothing but a name, and of the words for what events are.
        assert!(has("tex*", text("x")) && has("vTask*", text("vTaskDelay")));
        let release = || Content::Activity(Activity::Release { budget_ns: None, by: None });
        assert!(has("re*", release()) && !has("se*", release()));
        let said = Classes::parse("/(/").unwrap_err();
        assert!(said.starts_with("invalid expression /(/"), "{said}");
    }

    fn has(word: &str, content: Content<'_>) -> bool {
        let (track, payload) = (TrackId(0), &[][..]);
        let event = Event { track, time: None, offset: 0, content, payload, partial: None };
        Classes::parse(word).unwrap().have(&event, None)
    }

    #[test]
    fn words_of_formats_are_classes_too() {
        for word in ["TASK_SWITCH", "task_switch", "SRL SEND", "srl_send", "SEND"] {
            assert!(matches!(Classes::parse(word), Ok(Classes::Of(_))), "{word}");
        }
        assert!(matches!(Classes::parse("send"), Ok(Classes::Are(Class::Send))));
        let text = || Content::Text("sched_switch: { a = 1 }".into());
        assert!(has("text", text()) && has("GENERIC", text()) && !has("end", text()));
        assert!(has("sched_switch", text()) && !has("sched_swi", text()));
        let of_perf = || Content::Text("sched:sched_switch: prev_comm=a".into());
        assert!(has("sched_switch", of_perf()) && has("sched:sched_switch", of_perf()));
        assert!(!has("prev_comm", of_perf()));
    }
}
