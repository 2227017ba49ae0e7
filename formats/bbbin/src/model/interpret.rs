//! Meaning of an event on its tracks.

use kymo_core::Value;
use kymo_model::timeline::{Activity, Content, Field, Fields, Message, Missing, TimeNs, TrackId};

use super::lanes::{Lanes, TaskLane, undeclared_name};
use super::{Happening, Timeline, Values, known_priority};
use crate::Reader;
use crate::read::{DecodedValues, object};
use crate::spec::{
    ArtifactClass, FieldType, NO_BUDGET, NOBODY_PRIORITY, UNKNOWN_STATE, UNKNOWN_TIME,
};
use crate::types::{self, ArtifactId, Body, CustomType, Event, LocatedEvent, LogFileId};

/// Text of a GENERIC event that has no values, and no type with a name.
pub(crate) const GENERIC: &str = "GENERIC";

impl Timeline {
    /// Tells what an event is on which tracks, in the order in which it happens.
    pub(crate) fn interpret(
        &self,
        found: &LocatedEvent<'_>,
        as_values: Values,
        to: &mut impl FnMut(Happening),
    ) {
        let (lanes, log) = (self.lanes(), found.event.log_file);
        let Some(own) = lanes.log(log).map(|log| log.own) else {
            return self.reader.notice_unknown_log(log, found.offset);
        };
        let one = CurrentEvent { reader: &self.reader, lanes, event: &found.event, log, own };
        let are_told = one.body(found.offset, as_values, to);
        if !are_told && !found.event.custom.is_empty() {
            one.values(found.offset, as_values, to);
        }
    }
}

/// The event that is told.
struct CurrentEvent<'a> {
    reader: &'a Reader,
    lanes: &'a Lanes,
    event: &'a Event<'a>,
    log: LogFileId,
    /// The track of its log file.
    own: TrackId,
}

impl CurrentEvent<'_> {
    /// Tells what only its class has; whether that is what its values say, too.
    fn body(&self, offset: u64, as_values: Values, to: &mut impl FnMut(Happening)) -> bool {
        if let Some(missing) = self.lanes.gap(self.event) {
            // The task that ran did not stop: it is not known to run on.
            activity(to, Some(self.own), Activity::Gap(missing));
            return true;
        }
        match self.event.body {
            Body::Generic => self.generic(offset, as_values, to),
            Body::TaskSwitch { in_task, out_task, in_task_priority } => {
                self.switch(in_task, out_task, in_task_priority, to);
            }
            Body::TaskRelease { task, time_budget } => return self.release(task, time_budget, to),
            Body::TaskCompletion { task, remaining_time } => {
                let remaining_ns = Some(remaining_time).filter(|time| *time != NO_BUDGET);
                activity(to, self.task(task), Activity::Complete { remaining_ns });
            }
            Body::Send(message) => {
                let this_message = self.message(message, message.receiver, true);
                activity(to, self.task(message.sender), Activity::Send(this_message));
            }
            Body::Receive(message) => {
                let this_message = self.message(message, message.sender, true);
                activity(to, self.task(message.receiver), Activity::Receive(this_message));
            }
            Body::SrlSend { message, .. } => {
                let track = self.lanes.machine(self.log, message.sender);
                let this_message = self.message(message, message.receiver, false);
                activity(to, track, Activity::Send(this_message));
            }
            Body::SrlReceive { message, state, finish_timestamp } => {
                self.srl_receive(message, state, finish_timestamp, to);
            }
            Body::FunctionEnter(function) => {
                let name = Some(function.name.to_string().into());
                let ends = function.ends(self.event.timestamp).map(TimeNs);
                return self.call(Activity::Begin { name, priority: None, ends }, to);
            }
            // Writers that do not know what ends leave the name empty.
            Body::FunctionExit(function) if function.name.0.is_empty() => {
                return self.call(Activity::End, to);
            }
            Body::FunctionExit(function) => {
                let name = function.name.to_string().into();
                return self.call(Activity::EndOf { name }, to);
            }
        }
        false
    }

    /// Tells of an event without values by the name of its type.
    fn generic(&self, offset: u64, as_values: Values, to: &mut impl FnMut(Happening)) {
        if !self.event.custom.is_empty() {
            return;
        }
        // Where its type has fields, they are missing.
        let decoded = self.reader.decoded((self.log, self.event.custom_type), &[], offset);
        let name = decoded.map(|decoded| decoded.of.name.as_str()).filter(|name| !name.is_empty());
        to((
            self.own,
            match (name, as_values) {
                (None, _) => Content::Text(GENERIC.into()),
                (Some(name), Values::Spread) => Content::Text(name.to_owned().into()),
                (Some(name), Values::Fields) => {
                    Content::Fields(Fields { name: name.to_owned().into(), fields: Vec::new() })
                }
            },
        ));
    }

    fn switch(
        &self,
        in_task: ArtifactId,
        out_task: ArtifactId,
        in_task_priority: i32,
        to: &mut impl FnMut(Happening),
    ) {
        let stops = self.lanes.running(self.log, out_task).map(TaskLane::track);
        activity(to, stops, Activity::End);
        if let Some(lane) = self.lanes.running(self.log, in_task) {
            let is_own = matches!(lane, TaskLane::Own(_));
            let name = (!is_own).then(|| undeclared_name(in_task).into());
            let priority = known_priority(in_task_priority);
            activity(to, Some(lane.track()), Activity::Begin { name, priority, ends: None });
        } else if in_task_priority != NOBODY_PRIORITY {
            let gap = Activity::Gap(Missing::Switches);
            activity(to, stops.or(Some(self.own)), gap);
        }
    }

    fn release(&self, task: ArtifactId, time_budget: i64, to: &mut impl FnMut(Happening)) -> bool {
        let budget_ns = Some(time_budget).filter(|time| (0..NO_BUDGET).contains(time));
        let Event { custom_type, custom, .. } = *self.event;
        let by = self.lanes.released_by(self.log, custom_type, custom);
        activity(to, self.task(task), Activity::Release { budget_ns, by });
        by.is_some()
    }

    fn srl_receive(
        &self,
        message: types::Message<'_>,
        state: ArtifactId,
        finish_timestamp: i64,
        to: &mut impl FnMut(Happening),
    ) {
        let track = self.lanes.machine(self.log, message.receiver);
        if !message.is_none() {
            let this_message = self.message(message, message.sender, false);
            activity(to, track, Activity::Receive(this_message));
        }
        if state.0 != UNKNOWN_STATE {
            let state = self.state_name(state).into();
            let is_known = finish_timestamp != UNKNOWN_TIME;
            let settled = is_known.then_some(TimeNs(finish_timestamp));
            activity(to, track, Activity::Enter { state, settled });
        }
    }

    /// A function runs on the thread that its values name, and else on the log file.
    fn call(&self, what: Activity<'static>, to: &mut impl FnMut(Happening)) -> bool {
        let Event { custom_type, custom, .. } = *self.event;
        let thread = self.lanes.thread(self.log, custom_type, custom);
        activity(to, thread.or(Some(self.own)), what);
        thread.is_some()
    }

    fn task(&self, id: ArtifactId) -> Option<TrackId> {
        self.lanes.task(self.log, id).map(TaskLane::track)
    }

    fn message(
        &self,
        this_message: types::Message<'_>,
        peer: ArtifactId,
        is_task: bool,
    ) -> Message<'static> {
        let is_known = this_message.other_timestamp != UNKNOWN_TIME;
        Message {
            name: this_message.name.to_string().into(),
            peer: self.lanes.peer(self.log, peer, is_task),
            peer_time: is_known.then_some(TimeNs(this_message.other_timestamp)),
        }
    }

    /// The name of a state, or its number; where its machine has another of that name, what tells them
    /// apart.
    fn state_name(&self, id: ArtifactId) -> String {
        if let Some(name) = self.lanes.state_name(self.log, id) {
            return name.to_owned();
        }
        let found = self.reader.artifact(self.log, ArtifactClass::State, id);
        found.map_or_else(|| format!("state {}", id.0), |state| state.name.to_string())
    }

    /// Tells the values of an event; as bytes, where they are not of their type, beside the numbers
    /// that are. Those of types that have no track are on that of the log file.
    fn values(&self, offset: u64, as_values: Values, to: &mut impl FnMut(Happening)) {
        let Event { custom_type, custom, .. } = *self.event;
        let lanes = self.lanes.type_lanes(self.log, custom_type);
        let track = lanes.map_or(self.own, |lanes| lanes.values);
        let decoded = self.reader.decoded((self.log, custom_type), custom, offset);
        let Some(DecodedValues { of: this_custom_type, values, are_whole }) = decoded else {
            return to((track, Content::Payload));
        };
        match (are_whole, as_values) {
            (true, Values::Fields) => {
                return to((track, Content::Fields(fields(this_custom_type, values))));
            }
            (true, Values::Spread) => {
                to((track, Content::Text(object(this_custom_type, &values).into())));
            }
            (false, _) => to((track, Content::Payload)),
        }
        if as_values == Values::Fields {
            return;
        }
        for (place, track) in lanes.iter().flat_map(|lanes| &lanes.counters) {
            if let Some(value) = values.get(*place) {
                to((*track, Content::Value(value.clone())));
            }
        }
    }
}

fn activity(to: &mut impl FnMut(Happening), track: Option<TrackId>, what: Activity<'static>) {
    if let Some(track) = track {
        to((track, Content::Activity(what)));
    }
}

/// Values as the fields of an event that is called as their type.
fn fields(custom_type: &CustomType, values: Vec<Value>) -> Fields<'static> {
    let fields = custom_type.fields.iter().zip(values).map(|(field, value)| Field {
        name: field.name.clone().into(),
        value,
        bits: field.field_type.ok().and_then(FieldType::bits),
    });
    Fields { name: custom_type.name.clone().into(), fields: fields.collect() }
}
