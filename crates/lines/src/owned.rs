//! Contents of events, independent of the life of the line that they are from.

use std::borrow::Cow;

use kymo_model::timeline::{Activity, Content, Field, Fields, Message, TrackId};

/// The content by itself; the other end of a message is a track.
pub(crate) fn into_owned(content: Content<'_>, peer: Option<TrackId>) -> Content<'static> {
    match content {
        Content::Value(value) => Content::Value(value),
        Content::Text(text) => Content::Text(owned_text(text)),
        Content::Fields(Fields { name, fields }) => {
            let own = |field: Field<'_>| {
                let Field { name, value, bits } = field;
                Field { name: owned_text(name), value, bits }
            };
            let fields = fields.into_iter().map(own).collect();
            Content::Fields(Fields { name: owned_text(name), fields })
        }
        Content::Payload => Content::Payload,
        Content::Sample(this_value) => Content::Sample(this_value),
        Content::Activity(activity) => Content::Activity(owned_activity(activity, peer)),
    }
}

fn owned_activity(activity: Activity<'_>, peer: Option<TrackId>) -> Activity<'static> {
    let message = |Message { name, peer_time, .. }: Message<'_>| {
        let name = owned_text(name);
        Message { name, peer, peer_time }
    };
    match activity {
        Activity::Begin { name, priority, ends } => {
            Activity::Begin { name: name.map(owned_text), priority, ends }
        }
        Activity::End => Activity::End,
        Activity::EndOf { name } => Activity::EndOf { name: owned_text(name) },
        Activity::Release { budget_ns, .. } => Activity::Release { budget_ns, by: peer },
        Activity::Complete { remaining_ns } => Activity::Complete { remaining_ns },
        Activity::Send(sent) => Activity::Send(message(sent)),
        Activity::Receive(received) => Activity::Receive(message(received)),
        Activity::Enter { state, settled } => Activity::Enter { state: owned_text(state), settled },
        Activity::Gap(missing) => Activity::Gap(missing),
    }
}

fn owned_text(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}
