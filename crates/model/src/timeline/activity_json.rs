//! Content of events as JSON, for formats that have no place of their own for it.
//!
//! A text is a string, a number a number, and an activity an object: `{"activity":"begin",
//! "priority":20}`. Events with fields are objects, too ([`Fields::to_json`](super::Fields::to_json)). Tracks are named by their numbers among those that are written.

use std::borrow::Cow;
use std::fmt::Write;

use serde_json::{Map, Value as Json};

use super::{Activity, Content, Message, Missing, TimeNs, TrackId, event_json};
use kymo_core::Value;

/// The key that says what an activity is.
const ACTIVITY: &str = "activity";

impl Content<'_> {
    /// Returns the content as JSON; `None` where there is only a payload.
    #[must_use]
    pub fn to_json(&self) -> Option<String> {
        let value = match self {
            Self::Payload => return None,
            Self::Activity(activity) => return Some(format_json(activity)),
            Self::Text(text) => return serde_json::to_string(text).ok(),
            Self::Fields(fields) => return serde_json::to_string(&fields.to_string()).ok(),
            Self::Value(value) => value,
            Self::Sample(context) => &Value::UInt(*context),
        };
        serde_json::to_string(value).ok()
    }
}

impl Content<'static> {
    /// Reads the content from JSON; `track` finds a track by its number. Returns `None` where it is
    /// no JSON. An event with fields is its text.
    #[must_use]
    pub fn from_json(bytes: &[u8], track: impl Fn(u64) -> Option<TrackId>) -> Option<Self> {
        if let Some((fields, text)) = event_json::read(bytes) {
            return Some(Self::Text(text.unwrap_or_else(|| fields.to_string()).into()));
        }
        Self::other_from_json(bytes, track)
    }

    /// The same, but for events with fields, which are these.
    #[must_use]
    pub fn from_json_with_fields(
        bytes: &[u8],
        track: impl Fn(u64) -> Option<TrackId>,
    ) -> Option<Self> {
        let fields = event_json::read(bytes).map(|(fields, _)| Self::Fields(fields));
        fields.or_else(|| Self::other_from_json(bytes, track))
    }

    fn other_from_json(bytes: &[u8], track: impl Fn(u64) -> Option<TrackId>) -> Option<Self> {
        let json = serde_json::from_slice(bytes).ok()?;
        if let Json::Object(object) = &json
            && let Some(activity) = read(object, track)
        {
            return Some(Self::Activity(activity));
        }
        Some(match value(json) {
            Value::Text(text) => Self::Text(text.into()),
            value => Self::Value(value),
        })
    }
}

/// A value as JSON has it.
pub(super) fn value(json: Json) -> Value {
    match json {
        Json::String(text) => Value::Text(text),
        Json::Bool(value) => value.into(),
        Json::Number(number) => {
            let whole = number.as_i64().map(Value::Int).or(number.as_u64().map(Value::UInt));
            let value = whole.or(number.as_f64().map(Value::Float));
            value.unwrap_or_else(|| Value::Decimal(number.to_string()))
        }
        other => Value::Json(Box::new(other)),
    }
}

/// An activity that is being spelt.
struct ActivityJson(String);

impl ActivityJson {
    fn new(word: &str) -> Self {
        Self(format!("{{\"{ACTIVITY}\":\"{word}\""))
    }

    fn number(mut self, key: &str, number: Option<i64>) -> Self {
        if let Some(number) = number {
            // Writing to a string cannot fail.
            let _ = write!(self.0, ",\"{key}\":{number}");
        }
        self
    }

    fn track(mut self, key: &str, track: Option<TrackId>) -> Self {
        if let Some(TrackId(track)) = track {
            let _ = write!(self.0, ",\"{key}\":{track}");
        }
        self
    }

    fn text(mut self, key: &str, text: Option<&str>) -> Self {
        if let Some(text) = text.and_then(|text| serde_json::to_string(text).ok()) {
            let _ = write!(self.0, ",\"{key}\":{text}");
        }
        self
    }

    fn message(self, this_message: &Message<'_>) -> Self {
        let spelt = self.text("message", Some(&this_message.name)).track("peer", this_message.peer);
        spelt.number("peer_time_ns", this_message.peer_time.map(|time| time.0))
    }
}

fn format_json(activity: &Activity<'_>) -> String {
    let spelt = match activity {
        Activity::Begin { name, priority, ends } => ActivityJson::new("begin")
            .text("name", name.as_deref())
            .number("priority", *priority)
            .number("ends_ns", ends.map(|time| time.0)),
        Activity::End => ActivityJson::new("end"),
        Activity::EndOf { name } => ActivityJson::new("end").text("name", Some(name)),
        Activity::Release { budget_ns, by } => {
            ActivityJson::new("release").number("budget_ns", *budget_ns).track("by", *by)
        }
        Activity::Complete { remaining_ns } => {
            ActivityJson::new("complete").number("remaining_ns", *remaining_ns)
        }
        Activity::Send(message) => ActivityJson::new("send").message(message),
        Activity::Receive(message) => ActivityJson::new("receive").message(message),
        Activity::Enter { state, settled } => ActivityJson::new("enter")
            .text("state", Some(state))
            .number("settled_ns", settled.map(|time| time.0)),
        Activity::Gap(missing) => ActivityJson::new("gap").text("missing", Some(missing.name())),
    };
    spelt.0 + "}"
}

fn read(
    object: &Map<String, Json>,
    track: impl Fn(u64) -> Option<TrackId>,
) -> Option<Activity<'static>> {
    let number = |key: &str| object.get(key).and_then(Json::as_i64);
    let time = |key: &str| number(key).map(TimeNs);
    let text = |key: &str| -> Option<Cow<'static, str>> {
        Some(object.get(key)?.as_str()?.to_owned().into())
    };
    let track = |key: &str| track(object.get(key)?.as_u64()?);
    let message = || {
        let (peer, peer_time) = (track("peer"), time("peer_time_ns"));
        Some(Message { name: text("message")?, peer, peer_time })
    };
    Some(match object.get(ACTIVITY)?.as_str()? {
        "begin" => {
            let (name, priority) = (text("name"), number("priority"));
            Activity::Begin { name, priority, ends: time("ends_ns") }
        }
        "end" => text("name").map_or(Activity::End, |name| Activity::EndOf { name }),
        "release" => Activity::Release { budget_ns: number("budget_ns"), by: track("by") },
        "complete" => Activity::Complete { remaining_ns: number("remaining_ns") },
        "send" => Activity::Send(message()?),
        "receive" => Activity::Receive(message()?),
        "enter" => Activity::Enter { state: text("state")?, settled: time("settled_ns") },
        "gap" => Activity::Gap(Missing::named(&text("missing")?)?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back(content: &Content<'_>) -> Option<Content<'static>> {
        let track = |number: u64| Some(TrackId(usize::try_from(number).ok()?));
        Content::from_json(content.to_json()?.as_bytes(), track)
    }

    #[test]
    fn every_activity_comes_back() {
        let message = Message {
            name: "say \"hi\"".into(),
            peer: Some(TrackId(7)),
            peer_time: Some(TimeNs(-1)),
        };
        let (peer, peer_time) = (None, None);
        let plain = Message { name: "".into(), peer, peer_time };
        let activities = [
            Activity::Begin { name: None, priority: None, ends: None },
            Activity::Begin { name: Some("f".into()), priority: None, ends: Some(TimeNs(7)) },
            Activity::Begin { name: Some("main\n".into()), priority: Some(i64::MIN), ends: None },
            Activity::End,
            Activity::EndOf { name: "say \"hi\"".into() },
            Activity::EndOf { name: "".into() },
            Activity::Release { budget_ns: None, by: None },
            Activity::Release { budget_ns: Some(5), by: Some(TrackId(0)) },
            Activity::Complete { remaining_ns: Some(-3) },
            Activity::Send(message.clone()),
            Activity::Receive(plain),
            Activity::Enter { state: "open".into(), settled: Some(TimeNs(9)) },
            Activity::Gap(Missing::Switches),
            Activity::Gap(Missing::Events),
            Activity::Gap(Missing::AllEvents),
        ];
        for activity in activities {
            let content = Content::Activity(activity);
            assert_eq!(back(&content), Some(content));
        }
        let end = Content::Activity(Activity::EndOf { name: "main".into() }).to_json();
        assert_eq!(end.as_deref(), Some("{\"activity\":\"end\",\"name\":\"main\"}"));
        let begin = Activity::Begin { name: None, priority: Some(20), ends: None };
        let spelt = Content::Activity(begin).to_json();
        assert_eq!(spelt.as_deref(), Some("{\"activity\":\"begin\",\"priority\":20}"));
    }

    #[test]
    fn texts_and_values_come_back_and_other_objects_stay_what_they_are() {
        for content in [
            Content::Text("{\"activity\":\"end\"}".into()),
            Content::Value(Value::Int(-5)),
            Content::Value(Value::UInt(u64::MAX)),
            Content::Value(Value::Float(0.5)),
            Content::Value(Value::Bool(true)),
        ] {
            assert_eq!(back(&content), Some(content));
        }
        assert_eq!(Content::Payload.to_json(), None);
        for other in ["{\"activity\":\"dance\"}", "{\"activity\":\"send\"}", "{}"] {
            let found = Content::from_json(other.as_bytes(), |_| None);
            assert!(matches!(found, Some(Content::Value(Value::Json(_)))), "{found:?}");
        }
        assert_eq!(Content::from_json(b"{", |_| None), None);
    }
}
