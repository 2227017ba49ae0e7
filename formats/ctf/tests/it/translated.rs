//! Real traces of version 1.8 whose metadata is said again in the language of version 2: the streams are
//! the same bytes, so that all of their events are to be the same. Those of 1.8 are compared with what
//! babeltrace2 prints of them, in `real.rs`.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use kymo_conformance::{shared, testdata};
use kymo_core::bytes::{Endian, Limits};
use kymo_core::{Context, Source};
use kymo_ctf::types::{Field, Integer, Kind, Label, Length, Path as Names, Trace, Type};
use kymo_ctf::{Ctf, Reader};
use kymo_model::Format;
use kymo_model::timeline::Window;
use serde_json::{Map, Value, json};

const TRACES: [&str; 6] = [
    "many-threads",
    "lttng-tracefile-rotation/kernel",
    "flipping-endianness",
    "cyg-profile/glxgears-cyg-profile",
    "cyg-profile/glxgears-cyg-profile-fast",
    "mpi_ssend_irecv",
];

/// Names without the line that 1.8 needs.
fn name(name: &str) -> &str {
    name.strip_prefix('_').unwrap_or(name)
}

/// What 1.8 knows by names of fields.
fn role(field: &str) -> Option<&'static str> {
    Some(match field {
        "magic" => "packet-magic-number",
        "stream_id" => "data-stream-class-id",
        "packet_size" => "packet-total-length",
        "content_size" => "packet-content-length",
        "timestamp_end" => "packet-end-default-clock-timestamp",
        "events_discarded" => "discarded-event-record-counter-snapshot",
        "packet_seq_num" => "packet-sequence-number",
        "timestamp" | "timestamp_begin" => "default-clock-timestamp",
        "id" => "event-record-class-id",
        _ => return None,
    })
}

fn order(order: Endian) -> &'static str {
    match order {
        Endian::Little => "little-endian",
        Endian::Big => "big-endian",
    }
}

/// The first and the last value of a label.
fn range(label: &Label) -> Value {
    json!([i64::try_from(label.first).unwrap(), i64::try_from(label.last).unwrap()])
}

fn integer(integer: &Integer, labels: &[Label], role: Option<&str>) -> Value {
    let sign = if integer.is_signed { "signed" } else { "unsigned" };
    let mut class = json!({
        "type": format!("fixed-length-{sign}-integer"),
        "length": integer.bits,
        "alignment": integer.align,
        "byte-order": order(integer.order),
        "preferred-display-base": integer.base,
    });
    if let Some(role) = role {
        class["roles"] = json!([role]);
    }
    if !labels.is_empty() {
        let mut mappings = Map::new();
        for label in labels {
            let value = mappings.entry(label.name.to_string()).or_insert_with(|| json!([]));
            value.as_array_mut().unwrap().push(range(label));
        }
        class["mappings"] = mappings.into();
    }
    class
}

/// The names of the values of fields before, in the structure that we are in.
type Before = HashMap<String, Arc<[Label]>>;

/// A field class, and whether it is one of a packet or a header.
fn class(kind: &Type, field: &str, is_known: bool, before: &Before) -> Value {
    let role = role(field).filter(|_| is_known);
    match &kind.kind {
        Kind::Integer(this_integer) => integer(this_integer, &[], role),
        Kind::Enumeration(this_integer, labels) => integer(this_integer, labels, role),
        Kind::Float(float) => json!({
            "type": "fixed-length-floating-point-number",
            "length": float.bits,
            "alignment": float.align,
            "byte-order": order(float.order),
        }),
        Kind::Text => json!({ "type": "null-terminated-string" }),
        Kind::Array(element, length, _) => array(element, length, field, is_known, before),
        Kind::Struct(align, fields) => structure(*align, fields, is_known),
        Kind::Variant(tag, options) => variant(tag.as_ref().unwrap(), options, is_known, before),
        other => panic!("1.8 has no {other:?}"),
    }
}

fn array(element: &Type, length: &Length, field: &str, is_known: bool, before: &Before) -> Value {
    let is_text =
        matches!(&element.kind, Kind::Integer(integer) if integer.is_text && integer.bits == 8);
    let (lead, key, value) = match length {
        Length::Fixed(length) => ("static", "length", json!(length)),
        Length::Field(names) => {
            let path: Vec<_> = names.iter().map(|this_name| name(this_name)).collect();
            ("dynamic", "length-field-location", json!({ "path": path }))
        }
        Length::At(_) => panic!("1.8 has no such lengths"),
    };
    if is_known && field == "uuid" {
        return json!({
            "type": "static-length-blob", "length": 16, "roles": ["metadata-stream-uuid"],
        });
    }
    let kind = if is_text { "string" } else { "array" };
    let mut array = json!({ "type": format!("{lead}-length-{kind}"), key: value });
    if !is_text {
        array["element-field-class"] = class(element, "", false, before);
    }
    array
}

fn structure(align: u64, fields: &[Field], is_known: bool) -> Value {
    let (mut members, mut before) = (Vec::new(), Before::new());
    for field in fields {
        let shown = name(&field.name);
        let class = class(&field.kind, shown, is_known, &before);
        members.push(json!({ "name": shown, "field-class": class }));
        if let Kind::Enumeration(_, labels) = &field.kind.kind {
            before.insert(field.name.to_string(), Arc::clone(labels));
        }
    }
    json!({ "type": "structure", "minimum-alignment": align, "member-classes": members })
}

fn variant(tag: &Names, options: &[Field], is_known: bool, before: &Before) -> Value {
    let [tag] = &**tag else { panic!("{tag:?}") };
    let labels = &before[&**tag];
    let option = |field: &Field| {
        let ranges = labels.iter().filter(|label| label.name == field.name);
        let ranges: Vec<_> = ranges.map(range).collect();
        json!({
            "name": name(&field.name),
            "selector-field-ranges": ranges,
            "field-class": class(&field.kind, "", is_known, before),
        })
    };
    let options: Vec<_> = options.iter().map(option).collect();
    json!({
        "type": "variant",
        "selector-field-location": { "path": [name(tag)] },
        "options": options,
    })
}

/// Metadata in the language of version 2.
fn translated(trace: &Trace) -> String {
    let scope = |kind: &Option<Arc<Type>>, is_known| {
        kind.as_ref().map(|kind| class(kind, "", is_known, &Before::new()))
    };
    let mut fragments =
        vec![json!({ "type": "preamble", "version": 2 }), json!({ "type": "trace-class" })];
    if let Some(uuid) = trace.uuid {
        fragments[0]["uuid"] = json!(uuid);
    }
    let put = |fragment: &mut Value, key: &str, class: Option<Value>| {
        if let Some(class) = class {
            fragment[key] = class;
        }
    };
    put(&mut fragments[1], "packet-header-field-class", scope(&trace.packet_header, true));
    for clock in &trace.clocks {
        let ticks = i64::try_from(clock.frequency).unwrap();
        fragments.push(json!({
            "type": "clock-class",
            "id": clock.name,
            "frequency": clock.frequency,
            "offset-from-origin": {
                "seconds": clock.offset.0 + clock.offset.1.div_euclid(ticks),
                "cycles": clock.offset.1.rem_euclid(ticks),
            },
        }));
        if clock.since_epoch {
            fragments.last_mut().unwrap()["origin"] = json!("unix-epoch");
        }
    }
    for (id, stream) in &trace.streams {
        let mut fragment = json!({ "type": "data-stream-class", "id": id });
        fragment["default-clock-class-id"] = json!(trace.clocks[0].name);
        put(&mut fragment, "packet-context-field-class", scope(&stream.packet_context, true));
        put(&mut fragment, "event-record-header-field-class", scope(&stream.event_header, true));
        let context = "event-record-common-context-field-class";
        put(&mut fragment, context, scope(&stream.event_context, false));
        fragments.push(fragment);
    }
    for (stream, kind) in &trace.streams {
        for (id, event) in &kind.events {
            let mut fragment = json!({
                "type": "event-record-class",
                "id": id,
                "data-stream-class-id": stream,
                "name": event.name,
            });
            put(&mut fragment, "specific-context-field-class", scope(&event.context, false));
            put(&mut fragment, "payload-field-class", scope(&event.fields, false));
            fragments.push(fragment);
        }
    }
    let lines: Vec<_> = fragments.iter().map(|fragment| format!("\u{1e}{fragment}\n")).collect();
    lines.concat()
}

/// All that a timeline tells, with the names of its tracks.
fn told(folder: &Path) -> Vec<String> {
    let source = Source::open(folder, &Limits::default()).unwrap();
    let dataset = Ctf.open(&source, &Context::default()).unwrap();
    let timeline = dataset.timeline().unwrap();
    let tracks: Vec<_> = timeline.tracks().iter().map(|track| track.name.clone()).collect();
    let mut events = timeline.events(&Window::default()).unwrap();
    let mut found = Vec::new();
    while let Some(event) = events.next().unwrap() {
        let track = &tracks[event.track.0];
        found.push(format!("{:?} {track} {:?}", event.time, event.content));
    }
    drop(events);
    let findings = dataset
        .findings()
        .into_iter()
        .map(|finding| format!("{}: {}", finding.rule, finding.message));
    found.into_iter().chain(findings).collect()
}

fn assert_same(folder: &Path) {
    let source = Source::open(folder, &Limits::default()).unwrap();
    let reader = Reader::open(&source, &Context::default()).unwrap();
    let again = tempfile::tempdir().unwrap();
    let metadata = translated(&reader.parts()[0].trace);
    fs::write(again.path().join("metadata"), metadata).unwrap();
    for file in reader.files() {
        fs::copy(folder.join(&file.name), again.path().join(&file.name)).unwrap();
    }
    let (first, second) = (told(folder), told(again.path()));
    assert!(!first.is_empty());
    for (first, second) in first.iter().zip(&second) {
        assert_eq!(first, second, "{}", folder.display());
    }
    assert_eq!(first.len(), second.len(), "{}", folder.display());
}

#[test]
fn a_trace_of_ours_says_the_same_in_both_languages() {
    assert_same(&testdata("ctf/control"));
}

#[test]
fn real_traces_say_the_same_in_both_languages() {
    for name in TRACES {
        let Some(folder) = shared::file(&format!("traces/ctf/{name}")) else { return };
        assert_same(&folder);
    }
}
