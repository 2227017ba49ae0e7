//! Metadata of version 2: a sequence of JSON objects, each a fragment of the description.

mod classes;
mod object;
mod sequence;

use std::collections::HashMap;
use std::sync::Arc;

use kymo_core::bytes::ReadResult;
use serde_json::Value;

use super::Text;
use super::parser::uuid;
use crate::types::{Clock, Constant, Event, Kind, Stream, Trace, Type};
use object::Object;

/// The only major version whose metadata is JSON.
const VERSION: u64 = 2;

/// Reads all fragments.
pub(super) fn parse(text: &Text) -> ReadResult<Trace> {
    let mut reading = FragmentReader::default();
    sequence::each(text, |value, offset| reading.fragment(&Object::new(value, offset)?))?;
    reading.finish(text)
}

/// Fragments that were read so far.
#[derive(Default)]
struct FragmentReader {
    trace: Option<Trace>,
    /// True if a fragment described the trace.
    is_described: bool,
    /// The places of clocks, by the names that the metadata has for them.
    clocks: HashMap<String, usize>,
    aliases: HashMap<String, Arc<Type>>,
}

impl FragmentReader {
    fn fragment(&mut self, object: &Object<'_>) -> ReadResult<()> {
        let kind = object.needed_text("type")?;
        object.refuse_extensions()?;
        let Some(trace) = &mut self.trace else {
            if kind != "preamble" {
                return Err(object.error("the first fragment is to be a preamble"));
            }
            self.trace = Some(preamble(object)?);
            return Ok(());
        };
        match kind {
            "field-class-alias" => self.alias(object),
            "trace-class" => {
                if self.is_described || !trace.streams.is_empty() {
                    return Err(object.error("the trace is to be described once, before streams"));
                }
                self.is_described = true;
                trace.environment = environment(object)?;
                let named = object.text("uid")?.and_then(uuid);
                trace.uuid = trace.uuid.or(named);
                trace.packet_header = scope(object, "packet-header-field-class", &self.aliases)?;
                Ok(())
            }
            "clock-class" => {
                let id = object.text("id")?.or(object.text("name")?);
                let id = id.ok_or_else(|| object.error("it has no `id`"))?.to_owned();
                trace.clocks.push(clock(object, &id)?);
                let place = trace.clocks.len() - 1;
                match self.clocks.insert(id, place) {
                    None => Ok(()),
                    Some(_) => Err(object.error("there is another clock of this id")),
                }
            }
            "data-stream-class" => self.stream(object),
            "event-record-class" => self.event(object),
            "preamble" => Err(object.error("there is another preamble before it")),
            _ => Err(object.error("fragments of this type are not known")),
        }
    }

    fn alias(&mut self, object: &Object<'_>) -> ReadResult<()> {
        let name = object.needed_text("name")?.to_owned();
        let class = classes::read(object, "field-class", &self.aliases)?;
        match self.aliases.insert(name, class) {
            None => Ok(()),
            Some(_) => Err(object.error("there is another alias of this name")),
        }
    }

    fn stream(&mut self, object: &Object<'_>) -> ReadResult<()> {
        let clock = object.text("default-clock-class-id")?;
        let clock = clock.or(object.text("default-clock-class-name")?);
        let no_clock = || object.error("its clock is not described before it");
        let clock =
            clock.map(|id| self.clocks.get(id).copied().ok_or_else(no_clock)).transpose()?;
        let scope = |name| scope(object, name, &self.aliases);
        let stream = Stream {
            packet_context: scope("packet-context-field-class")?,
            event_header: scope("event-record-header-field-class")?,
            event_context: scope("event-record-common-context-field-class")?,
            clock,
            offset: object.offset,
            ..Stream::default()
        };
        let id = object.unsigned("id")?.unwrap_or(0);
        let Some(trace) = &mut self.trace else { return Ok(()) };
        match trace.streams.insert(id, stream) {
            None => Ok(()),
            Some(_) => Err(object.error("there is another stream of this id")),
        }
    }

    fn event(&mut self, object: &Object<'_>) -> ReadResult<()> {
        let event = Event {
            name: object.text("name")?.unwrap_or_default().to_owned(),
            context: scope(object, "specific-context-field-class", &self.aliases)?,
            fields: scope(object, "payload-field-class", &self.aliases)?,
            offset: object.offset,
        };
        let id = object.unsigned("id")?.unwrap_or(0);
        let stream = object.unsigned("data-stream-class-id")?.unwrap_or(0);
        let stream = self.trace.as_mut().and_then(|trace| trace.streams.get_mut(&stream));
        let stream = stream.ok_or_else(|| object.error("its stream is not described before it"))?;
        match stream.events.insert(id, event) {
            None => Ok(()),
            Some(_) => Err(object.error("there is another event of this id in its stream")),
        }
    }

    fn finish(self, text: &Text) -> ReadResult<Trace> {
        let has_stream = |trace: &Trace| !trace.streams.is_empty();
        self.trace.filter(has_stream).ok_or_else(|| {
            let end = text.offset(text.bytes.len());
            object::invalid(end, "it ends, and there was no `data-stream-class`")
        })
    }
}

fn preamble(object: &Object<'_>) -> ReadResult<Trace> {
    let version = object.needed_unsigned("version")?;
    if version != VERSION {
        return Err(object.error(format!("version {version} is not read")));
    }
    let bytes = object.list("uuid")?.map(|bytes| {
        let bytes = bytes.iter().map(|byte| u8::try_from(byte.as_u64()?).ok());
        bytes.collect::<Option<Vec<_>>>().and_then(|bytes| bytes.try_into().ok())
    });
    let uuid = bytes.map(|bytes| bytes.ok_or_else(|| object.error("a UUID is 16 bytes")));
    Ok(Trace {
        version: (VERSION, 0),
        byte_order: None,
        uuid: uuid.transpose()?,
        environment: Vec::new(),
        clocks: Vec::new(),
        packet_header: None,
        streams: std::collections::BTreeMap::new(),
    })
}

fn environment(object: &Object<'_>) -> ReadResult<Vec<(String, Constant)>> {
    let Some(said) = object.object("environment")? else { return Ok(Vec::new()) };
    let constant = |value: &Value| match value {
        Value::String(text) => Some(Constant::Text(text.clone())),
        number => object::whole_number(number).map(Constant::Number),
    };
    let said = said.map().iter().map(|(name, value)| {
        let why = || object.error("what is said of the environment is a number or a text");
        Ok((name.clone(), constant(value).ok_or_else(why)?))
    });
    said.collect()
}

fn clock(object: &Object<'_>, id: &str) -> ReadResult<Clock> {
    let frequency = object.needed_unsigned("frequency")?;
    // Drafts of the specification had another word.
    let offset = match object.object("offset-from-origin")? {
        Some(offset) => Some(offset),
        None => object.object("offset")?,
    };
    let number = |name| match &offset {
        Some(offset) => offset.signed(name),
        None => Ok(None),
    };
    Ok(Clock {
        name: object.text("name")?.unwrap_or(id).to_owned(),
        frequency,
        offset: (number("seconds")?.unwrap_or(0), number("cycles")?.unwrap_or(0)),
        since_epoch: object.get("origin").and_then(Value::as_str) == Some("unix-epoch"),
    })
}

/// Returns the structure of a packet or an event.
fn scope(
    object: &Object<'_>,
    name: &str,
    aliases: &HashMap<String, Arc<Type>>,
) -> ReadResult<Option<Arc<Type>>> {
    if object.get(name).is_none() {
        return Ok(None);
    }
    let class = classes::read(object, name, aliases)?;
    match class.kind {
        Kind::Struct(..) => Ok(Some(class)),
        _ => Err(object.error(format!("`{name}` is to be a structure"))),
    }
}
