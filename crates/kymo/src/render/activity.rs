//! Contents of activities: for a person, and under names.

use kymo_core::Value;
use kymo_model::timeline::{Activity, Clock, DisplayTime, Message, TimeNs, Track, TrackId};

/// Describes an activity of a track for a person: `send PING to b, received at 0.000000080`.
pub(crate) fn text(
    activity: &Activity<'_>,
    track: Option<&Track>,
    (tracks, clocks): (&[Track], &[Clock]),
) -> String {
    let (message, to, at) = match activity {
        Activity::Send(message) => (message, "to", "received at"),
        Activity::Receive(message) => (message, "from", "sent at"),
        other => return other.to_string(),
    };
    let other = message.peer.and_then(|peer| tracks.get(peer.0));
    let clock = other.or(track).and_then(|track| clocks.get(track.clock?.0));
    let mut text = activity.to_string();
    text.extend(other.map(|other| format!(" {to} {}", other.name)));
    let time = message.peer_time.map(|time| DisplayTime::on_clock(clock, time));
    text.extend(time.map(|time| format!(", {at} {time}")));
    text
}

/// Returns the fields of an activity, by name; times are in nanoseconds. A field that it does not
/// give is not there.
pub(crate) fn fields(activity: &Activity<'_>, tracks: &[Track]) -> Vec<(&'static str, Value)> {
    let number = |number: i64| Value::Int(number);
    let time = |time: TimeNs| Value::Int(time.0);
    let name = |track_id: TrackId| Some(tracks.get(track_id.0)?.name.as_str().into());
    let fields: Vec<(&'static str, Option<Value>)> = match activity {
        Activity::Begin { name, priority, ends } => vec![
            ("name", name.as_deref().map(Value::from)),
            ("priority", priority.map(number)),
            ("ends", ends.map(time)),
        ],
        Activity::End => Vec::new(),
        Activity::EndOf { name } => vec![("name", Some((&**name).into()))],
        Activity::Release { budget_ns, by } => {
            vec![("budget", budget_ns.map(number)), ("by", by.and_then(name))]
        }
        Activity::Complete { remaining_ns } => vec![("remaining", remaining_ns.map(number))],
        Activity::Send(Message { name: this_name, peer, peer_time })
        | Activity::Receive(Message { name: this_name, peer, peer_time }) => vec![
            ("message", Some((&**this_name).into())),
            ("peer", peer.and_then(name)),
            ("peer_time", peer_time.map(time)),
        ],
        Activity::Enter { state, settled } => {
            vec![("state", Some((&**state).into())), ("settled", settled.map(time))]
        }
        Activity::Gap(missing) => vec![("missing", Some(missing.name().into()))],
    };
    fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

#[cfg(test)]
mod tests {
    use kymo_model::timeline::{Attributes, ClockId, TrackKind};

    use super::*;

    fn track(name: &str) -> Track {
        Track {
            name: name.to_owned(),
            recording: 0,
            parent: None,
            kind: TrackKind::Task,
            clock: Some(ClockId(0)),
            content: "".into(),
            attributes: Attributes::new(),
        }
    }

    #[test]
    fn messages_tell_their_other_end() {
        let (tracks, clock) = ([track("a"), track("b")], "clk".to_owned());
        let clocks = [Clock { name: clock, recording: 0, since_epoch: false }];
        let shown = |activity: &Activity<'_>| text(activity, tracks.first(), (&tracks, &clocks));
        let message = |peer, peer_time| Message { name: "M".into(), peer, peer_time };
        let whole = message(Some(TrackId(1)), Some(TimeNs(80)));
        let send = Activity::Send(whole.clone());
        assert_eq!(shown(&send), "send M to b, received at 0.000000080");
        assert_eq!(shown(&Activity::Receive(whole)), "receive M from b, sent at 0.000000080");
        assert_eq!(shown(&Activity::Receive(message(None, None))), "receive M");
        assert_eq!(shown(&Activity::End), "end");
        let expected =
            [("message", "M".into()), ("peer", "b".into()), ("peer_time", Value::Int(80))];
        assert_eq!(fields(&send, &tracks), expected);
        assert!(fields(&Activity::End, &tracks).is_empty());
    }
}
