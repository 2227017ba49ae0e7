//! Recordings for `kymo demo`, made with the writer.

use std::io::Cursor;

use kymo_core::Result;
use kymo_model::Demo;

use crate::types::{Attachment, Channel, Message, Metadata, Pairs, Schema};
use crate::write::{Options, Writer};

/// Start of the recording: 2024-01-01, in nanoseconds since the Epoch.
const START: u64 = 1_704_067_200_000_000_000;
const STEP: u64 = 100_000_000;
const STEPS: u32 = 20;

/// A robot that drives a bend and says so.
pub(crate) fn demo() -> Result<Vec<Demo>> {
    let mut writer = Writer::new(Cursor::new(Vec::new()), Options::default())?;
    writer.schema(&Schema {
        id: 1,
        name: "Pose".into(),
        encoding: "jsonschema".into(),
        data: br#"{"type":"object","properties":{"x":{"type":"number"}}}"#.to_vec(),
    })?;
    for (id, schema_id, topic, encoding) in [(1, 1, "/pose", "json"), (2, 0, "/log", "text")] {
        let (topic, message_encoding) = (topic.to_owned(), encoding.to_owned());
        writer.channel(&Channel {
            id,
            schema_id,
            topic,
            message_encoding,
            metadata: Pairs::new(),
        })?;
    }
    for step in 0..STEPS {
        let pose = format!(r#"{{"x":{}.5,"y":{}}}"#, step, step * step);
        writer.message(&message(1, step), pose.as_bytes())?;
        if step % 5 == 0 {
            writer.message(&message(2, step), format!("passed post {}", step / 5).as_bytes())?;
        }
    }
    let (name, media_type) = ("map.txt".to_owned(), "text/plain".to_owned());
    let map = Attachment { log_time: START, create_time: 0, name, media_type, data: 0..0, crc: 0 };
    writer.attachment(&map, b"a bend to the left\n")?;
    let metadata = Pairs::from([("robot".to_owned(), "three wheels".to_owned())]);
    writer.metadata(&Metadata { name: "run".into(), metadata })?;
    let bytes = writer.finish()?.into_inner();
    Ok(vec![Demo { file: "bend.mcap", about: "a robot in a bend: poses and remarks", bytes }])
}

fn message(channel_id: u16, sequence: u32) -> Message {
    let time = START + u64::from(sequence) * STEP;
    Message { channel_id, sequence, log_time: time, publish_time: time, data: 0..0 }
}
