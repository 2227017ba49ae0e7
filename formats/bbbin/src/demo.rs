//! A small recording for `kymo demo`.

use std::io::Cursor;

use kymo_core::{Result, Value};
use kymo_model::Demo;

use crate::spec::{FieldType, TASK_TYPE, TaskClass};
use crate::types::{
    ArtifactId, ArtifactKind, Body, CustomField, Definitions, Event, LogFileId, Message, Text,
    TypeId,
};
use crate::{Writer, encode};

const IDLE: ArtifactId = ArtifactId(1);
const CONTROL: ArtifactId = ArtifactId(2);
const LOGGER: ArtifactId = ArtifactId(3);
const TIMER_INTERRUPT: ArtifactId = ArtifactId(-4);
const MOTOR: ArtifactId = ArtifactId(20);
const STOPPED: ArtifactId = ArtifactId(21);
const RUNNING: ArtifactId = ArtifactId(22);

const MICROSECOND: i64 = 1000;
const PERIOD: i64 = 1_000_000 * MICROSECOND;

/// A controller for twelve seconds: a task of every second, a logger, a motor with states.
pub(crate) fn demo() -> Result<Vec<Demo>> {
    let about = "a motor controller: tasks, an interrupt, messages, states and a speed";
    Ok(vec![Demo { file: "controller.bin", about, bytes: controller()? }])
}

fn controller() -> Result<Vec<u8>> {
    let mut definitions = Definitions::default();
    let log_file = definitions.add_log_file("controller.log", "kymo demo");
    let plain = definitions.empty_type(log_file);
    let fields = vec![
        CustomField::scalar("speed", FieldType::Double),
        CustomField::array("currents", FieldType::Int16, 3),
    ];
    let speed = definitions.add_type(log_file, "Speed", fields);
    let task = |priority| ArtifactKind::Task { task_class: Ok(TaskClass::Task), priority };
    for (id, name, kind) in [
        (IDLE, "idle", task(0)),
        (CONTROL, "control", task(20)),
        (LOGGER, "logger", task(5)),
        (TIMER_INTERRUPT, "timer interrupt", task(99)),
        (MOTOR, "motor", ArtifactKind::StateMachine),
        (STOPPED, "stopped", ArtifactKind::State { parent: MOTOR }),
        (RUNNING, "running", ArtifactKind::State { parent: MOTOR }),
    ] {
        definitions.add_artifact(log_file, id, name, kind);
        if id == IDLE {
            let idle = definitions.add_own_type(log_file, TASK_TYPE);
            definitions.give_values(idle, vec![1, 0]);
        }
    }
    let out = Cursor::new(Vec::new());
    let writer = Writer::new(out, &definitions.log_files, &definitions.types)?;
    let mut recorder = Recorder { definitions, writer, log_file, plain, speed };
    for period in 0..12 {
        recorder.period(period)?;
    }
    let Recorder { definitions, writer, .. } = recorder;
    Ok(writer.finish(&definitions.artifacts)?.out.into_inner())
}

struct Recorder {
    definitions: Definitions,
    writer: Writer<Cursor<Vec<u8>>>,
    log_file: LogFileId,
    plain: TypeId,
    speed: TypeId,
}

impl Recorder {
    /// The timer releases the control task, which tells the motor and the logger.
    fn period(&mut self, number: i64) -> Result<()> {
        let start = number * PERIOD;
        let at = |microseconds: i64| start + microseconds * MICROSECOND;
        // Every seventh period takes longer.
        let work = if number % 7 == 6 { 4200 } else { 1800 + number % 5 * 40 };
        self.switch(at(0), IDLE, TIMER_INTERRUPT, 99)?;
        let release = Body::TaskRelease { task: CONTROL, time_budget: 4000 * MICROSECOND };
        self.write(at(12), release)?;
        self.switch(at(20), TIMER_INTERRUPT, CONTROL, 20)?;
        self.speed(at(30), number)?;
        if number % 5 == 2 {
            let is_start = number == 2;
            let state = if is_start { RUNNING } else { STOPPED };
            let command: &[u8] = if is_start { b"START" } else { b"STOP" };
            let sent = message(MOTOR, MOTOR, at(50), command);
            self.write(at(40), Body::SrlSend { message: sent, receiver_instance: 0 })?;
            let (message, finish_timestamp) = (message(MOTOR, MOTOR, at(40), command), at(90));
            self.write(at(50), Body::SrlReceive { message, state, finish_timestamp })?;
        }
        let sample = message(CONTROL, LOGGER, at(work + 60), b"SAMPLE");
        self.write(at(work), Body::Send(sample))?;
        let remaining_time = 4000 * MICROSECOND - (work + 20) * MICROSECOND;
        self.write(at(work + 20), Body::TaskCompletion { task: CONTROL, remaining_time })?;
        self.switch(at(work + 30), CONTROL, LOGGER, 5)?;
        let sample = message(CONTROL, LOGGER, at(work), b"SAMPLE");
        self.write(at(work + 60), Body::Receive(sample))?;
        self.switch(at(work + 400), LOGGER, IDLE, 0)
    }

    fn switch(
        &mut self,
        timestamp: i64,
        out_task: ArtifactId,
        in_task: ArtifactId,
        in_task_priority: i32,
    ) -> Result<()> {
        self.write(timestamp, Body::TaskSwitch { in_task, out_task, in_task_priority })
    }

    fn write(&mut self, timestamp: i64, body: Body<'_>) -> Result<()> {
        let (log_file, custom_type) = (self.log_file, self.plain);
        self.writer.write(&Event { timestamp, log_file, body, custom_type, custom: &[] })
    }

    fn speed(&mut self, timestamp: i64, number: i64) -> Result<()> {
        let (log_file, custom_type) = (self.log_file, self.speed);
        let turning = number.clamp(2, 7) - 2;
        let value = f64::from(i32::try_from(turning).unwrap_or_default()) * 12.5;
        let currents = [turning * 3, turning * 3 - 1, turning * 3 + 1];
        let values = [Value::from(value), currents.into_iter().collect()];
        let this_custom_type = self.definitions.types.iter().find(|item| item.id == custom_type);
        let custom = this_custom_type
            .map_or(Ok(Vec::new()), |this_custom_type| encode(this_custom_type, &values))?;
        let body = Body::Generic;
        self.writer.write(&Event { timestamp, log_file, body, custom_type, custom: &custom })
    }
}

fn message(sender: ArtifactId, receiver: ArtifactId, at: i64, name: &[u8]) -> Message<'_> {
    Message { sender, receiver, other_timestamp: at, name: Text(name) }
}
