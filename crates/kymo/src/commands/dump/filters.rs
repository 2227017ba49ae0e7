//! Filters that choose the events of a timeline to show: by their kind, their contents, and their
//! place.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use kymo_core::Value;
use kymo_model::timeline::{
    Clock, Content, Event, EventFilter, FieldedEvents, Fields, TimelineView, Track, Window,
};
use kymo_query::Number;
use regex::Regex;

use super::classes::{Classes, ListOfClasses, is_called};
use super::fields::{in_fields, in_text, is_part};
use crate::failure::Failure;
use crate::processors::CpuArgs;
use crate::render::activity;
use crate::render::event::broken_text;

/// Options that choose the events to show.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct FilterArgs {
    /// Only events that are such: begin, end, release, complete, send, receive, enter, gap, value,
    /// text; a class of BBBin in capitals (SEND is of tasks, SRL SEND of state machines, GENERIC all
    /// values); or what a tracer calls its events. Globs such as `sched_*` and /regex/ fit any of these.
    #[arg(long = "class", value_name = "CLASS", value_parser = ListOfClasses::parse)]
    classes: Vec<ListOfClasses>,

    /// Only events whose text matches a regular expression. May be given again: all must.
    #[arg(long = "match", value_name = "REGEX")]
    texts: Vec<String>,

    /// Only events with a field that compares: speed>=40, name=~^k, `values[2]=7`; of an array without
    /// an index any element does, and with != all do. Names are those of --json. Activities have name, priority,
    /// ends, budget, by, remaining, message, peer, `peer_time`, state, settled and missing, as far as
    /// they are recorded; times are in nanoseconds. May be given again: all must.
    #[arg(long = "where", value_name = "FIELD")]
    fields: Vec<String>,

    #[command(flatten)]
    cpus: CpuArgs,
}

/// Test that compares a field.
#[derive(Debug)]
enum Test {
    Matches(Regex),
    Number(fn(Ordering) -> bool, Number),
    Is(String),
    IsNot(String),
}

/// A field, and how it is compared.
#[derive(Debug)]
struct FieldTest {
    name: String,
    test: Test,
}

impl FilterArgs {
    /// Returns true if all events are shown.
    pub(crate) fn is_all(&self) -> bool {
        let is_empty = self.classes.is_empty() && self.texts.is_empty();
        is_empty && self.fields.is_empty() && self.cpus.is_all()
    }

    /// Returns the filters that decide over the events of some tracks.
    pub(crate) fn for_tracks(
        &self,
        tracks: &[Track],
        clocks: &[Clock],
    ) -> Result<Filters, Failure> {
        let on_cpu = self.cpus.selected_tracks(tracks)?;
        let texts = self.texts.iter().map(|text| expression(text));
        let fields = self.fields.iter().map(|text| field_test(text));
        Ok(Filters {
            classes: self.classes.iter().flat_map(|list| list.0.clone()).collect(),
            texts: texts.collect::<Result<_, _>>()?,
            fields: fields.collect::<Result<_, _>>()?,
            on_cpu,
            tracks: tracks.to_vec(),
            clocks: clocks.to_vec(),
        })
    }
}

fn expression(text: &str) -> Result<Regex, Failure> {
    Regex::new(text).map_err(|error| Failure::usage(error.to_string()))
}

/// Reads `speed>=40` or `name=~^k`.
fn field_test(typed: &str) -> Result<FieldTest, Failure> {
    let wrong = || {
        let failure = Failure::usage(format!("{typed} compares no field"));
        failure.hint("write speed>=40, speed<2, name=idle, name!=idle or name=~^k")
    };
    let at = typed.find(['=', '<', '>', '!']).ok_or_else(wrong)?;
    let (name, rest) = typed.split_at(at);
    let operators = ["=~", "==", "!=", ">=", "<=", "=", ">", "<"];
    let found = operators.iter().find_map(|sign| Some((*sign, rest.strip_prefix(sign)?)));
    let (sign, value) = found.ok_or_else(wrong)?;
    let (name, value) = (name.trim(), value.trim());
    let number = number(value).ok_or_else(|| {
        let failure = Failure::usage(format!("{value} is no number, and {sign} compares numbers"));
        failure.hint("write speed>=40; =, != and =~ compare texts, too")
    });
    let test = match sign {
        "=~" => Test::Matches(expression(value)?),
        "!=" => Test::IsNot(value.to_owned()),
        "=" | "==" => Test::Is(value.to_owned()),
        ">=" => Test::Number(Ordering::is_ge, number?),
        "<=" => Test::Number(Ordering::is_le, number?),
        ">" => Test::Number(Ordering::is_gt, number?),
        _ => Test::Number(Ordering::is_lt, number?),
    };
    if name.is_empty() { Err(wrong()) } else { Ok(FieldTest { name: name.to_owned(), test }) }
}

/// Decides whether an event is shown.
#[derive(Debug)]
pub(crate) struct Filters {
    classes: Vec<Classes>,
    texts: Vec<Regex>,
    fields: Vec<FieldTest>,
    on_cpu: Option<Vec<bool>>,
    tracks: Vec<Track>,
    clocks: Vec<Clock>,
}

impl Filters {
    /// Returns true if all events are shown.
    pub(crate) fn is_all(&self) -> bool {
        let is_empty = self.classes.is_empty() && self.texts.is_empty();
        is_empty && self.fields.is_empty() && self.on_cpu.is_none()
    }

    /// Events of a window, of which those may be left out that are of a kind that is not asked for;
    /// with their fields where somebody wants them.
    pub(super) fn events(
        &self,
        timeline: &Arc<dyn TimelineView>,
        window: &Window,
        wants_fields: bool,
    ) -> kymo_core::Result<Box<dyn FieldedEvents>> {
        let timeline = Arc::clone(timeline);
        let called = self.called();
        let is_any = called.is_empty() || called.len() < self.classes.len();
        let is_called = |name: &str| is_any || called.iter().any(|word| is_called(name, word));
        let parts = self.fields.iter().map(|field| |name: &str| is_part(&field.name, name));
        let parts: Vec<_> = parts.collect();
        let is_field: Vec<_> = parts.iter().map(|part| part as &dyn Fn(&str) -> bool).collect();
        let asked = EventFilter { is_called: &is_called, is_field: &is_field };
        if wants_fields || !self.fields.is_empty() {
            return timeline.events_and_fields(window, asked);
        }
        Ok(Box::new(timeline.filtered_events(window, asked)?))
    }

    /// The names of tracers that are asked for.
    pub(super) fn called(&self) -> Vec<&str> {
        let called = self.classes.iter().filter_map(|classes| match classes {
            Classes::Called(name) => Some(name.as_str()),
            Classes::Are(_) | Classes::Of(_) | Classes::Like(_) => None,
        });
        called.collect()
    }

    /// The fields that are compared.
    pub(super) fn fields(&self) -> Vec<&str> {
        self.fields.iter().map(|field| field.name.as_str()).collect()
    }

    /// Returns true if an event is shown, which may be known to have some fields.
    pub(crate) fn matches(&self, event: &Event<'_>, fields: Option<&Fields<'_>>) -> bool {
        let is_on = |on: &Vec<bool>| on.get(event.track.0).copied().unwrap_or(false);
        if !self.on_cpu.as_ref().is_none_or(is_on) {
            return false;
        }
        let track = self.tracks.get(event.track.0);
        let is_such = self.classes.iter().any(|classes| classes.have(event, track));
        if !self.classes.is_empty() && !is_such {
            return false;
        }
        if self.texts.is_empty() && self.fields.is_empty() {
            return true;
        }
        let text = self.text_of(event, track);
        self.texts.iter().all(|regex| regex.is_match(&text))
            && self.fields.iter().all(|field| self.compares(field, event, fields, &text))
    }

    fn compares(
        &self,
        field: &FieldTest,
        event: &Event<'_>,
        fields: Option<&Fields<'_>>,
        text: &str,
    ) -> bool {
        let name = self.tracks.get(event.track.0).map_or("", |track| track.name.as_str());
        let is_track = name == field.name || name.ends_with(&format!(".{}", field.name));
        match &event.content {
            Content::Value(_) if is_track || field.name == "value" => field.test.holds(text),
            Content::Text(_) => field.test.holds_of(&match fields {
                Some(fields) => in_fields(fields, &field.name),
                None => in_text(text, &field.name),
            }),
            Content::Fields(fields) => field.test.holds_of(&in_fields(fields, &field.name)),
            Content::Activity(activity) => {
                let mut fields = activity::fields(activity, &self.tracks).into_iter();
                let found = fields.find(|(name, _)| *name == field.name);
                found.is_some_and(|(_, value)| field.test.holds(&value.to_string()))
            }
            _ => false,
        }
    }

    /// Returns the text of an event that a person reads.
    fn text_of(&self, event: &Event<'_>, track: Option<&Track>) -> String {
        match &event.content {
            // A line's end is not shown, and so it is not looked at.
            Content::Text(text) => text.strip_suffix('\n').unwrap_or(text).to_owned(),
            Content::Fields(fields) => fields.to_string(),
            Content::Value(value) => value.to_string(),
            Content::Activity(activity) => {
                activity::text(activity, track, (&self.tracks, &self.clocks))
            }
            Content::Sample(context) => context.to_string(),
            Content::Payload => track
                .and_then(|track| broken_text(track, event))
                .unwrap_or_else(|| Value::Bytes(event.payload.to_vec()).to_string()),
        }
    }
}

impl Test {
    /// Returns true if the test holds of fields of one name, or of elements of an array: a context
    /// of an event and the event itself may both have one. A test that a value is another than some
    /// holds if no field has that value.
    fn holds_of(&self, found: &[Cow<'_, str>]) -> bool {
        let mut found = found.iter();
        match self {
            Self::IsNot(_) => found.len() > 0 && found.all(|found| self.holds(found)),
            _ => found.any(|found| self.holds(found)),
        }
    }

    fn holds(&self, found: &str) -> bool {
        match self {
            Self::Matches(regex) => regex.is_match(found),
            Self::Number(compare, limit) => {
                number(found).and_then(|found| found.partial_cmp(limit)).is_some_and(compare)
            }
            Self::Is(wanted) => is_same(found, wanted),
            Self::IsNot(wanted) => !is_same(found, wanted),
        }
    }
}

fn is_same(found: &str, wanted: &str) -> bool {
    let numbers = || number(found)?.partial_cmp(&number(wanted)?);
    found == wanted || numbers().is_some_and(Ordering::is_eq)
}

/// Reads a number, in hexadecimal too.
fn number(text: &str) -> Option<Number> {
    let integer = match text.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    integer.map(Number::Int).or_else(|| text.parse().ok().map(Number::Float))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The context has the task that wakes, the event the task that is woken.
    #[test]
    fn all_fields_of_one_name_are_looked_at() {
        let found = in_text("sched_waking: { tid = 10 }, { comm = \"w\", tid = 20 }", "tid");
        assert_eq!(found, ["10", "20"]);
        let holds = |test: &str| field_test(test).unwrap().test.holds_of(&found);
        assert!(holds("tid=20") && holds("tid=10") && holds("tid>15") && holds("tid=~^2"));
        assert!(!holds("tid!=20") && !holds("tid!=10") && holds("tid!=30") && !holds("tid=30"));
        assert!(!field_test("tid!=1").unwrap().test.holds_of(&[]));
    }

    #[test]
    fn fields_compare_as_numbers_or_texts() {
        let holds = |test: &str, found: &str| field_test(test).unwrap().test.holds(found);
        assert!(holds("speed>=40", "40") && !holds("speed>40", "40") && !holds("a<=0x10", ""));
        assert!(holds("addr=16", "0x10") && holds("name!=b", "a") && holds("name=~^k", "kworker"));
        assert!(!holds("speed<40", "fast"));
        // 2^53 and the next number are one and the same in floating point.
        assert!(holds("v>9007199254740992", "9007199254740993"));
        assert!(holds("v>9007199254740992.0", "9007199254740993"));
        assert!(!holds("v=9007199254740992.0", "9007199254740993"));
        assert!(!holds("v=18446744073709551614", "18446744073709551615"));
        assert!(!holds("v=0xfffffffffffffffe", "0xffffffffffffffff"));
        assert!(holds("v=62", "62.0") && holds("v>=61.5", "62") && !holds("v<nan", "1"));
        for wrong in ["speed", ">=4", "speed>=fast", "a=~["] {
            assert!(field_test(wrong).is_err(), "{wrong}");
        }
    }
}
