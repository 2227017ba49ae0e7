//! Reading and repairing, compared with what another reader says.

use std::collections::BTreeMap;
use std::fs;
use std::io::Cursor;

use kymo_conformance::{Content, capture, repaired, rewritten, testdata};
use kymo_core::bytes::Limits;
use kymo_core::{Context, Finding, Severity, Source, Value};
use kymo_mcap::{Mcap, Reader};
use kymo_model::Format;
use mcap::records::MessageHeader;
use mcap::{Compression, MessageStream, WriteOptions};
use proptest::prelude::*;

/// A message: topic, sequence, times, payload.
type Told = (String, u32, u64, u64, Vec<u8>);

/// What the other reader says.
fn others(bytes: &[u8]) -> Vec<Told> {
    let messages = MessageStream::new(bytes).unwrap().map(|message| message.unwrap());
    let told = messages.map(|message| {
        let (topic, data) = (message.channel.topic.clone(), message.data.to_vec());
        (topic, message.sequence, message.log_time, message.publish_time, data)
    });
    told.collect()
}

/// What we say.
fn ours(bytes: &[u8]) -> Vec<Told> {
    let source = Source::from_bytes("x.mcap", bytes.to_vec());
    let dataset = Mcap.open(&source, &Context::default()).unwrap();
    let records = capture(&*dataset).unwrap();
    let messages = records.iter().filter(|record| record.kind == "message").map(|record| {
        let field = |name: &str| {
            let found = record.fields.iter().find(|(field, _)| *field == name);
            found.map(|(_, content)| match content {
                Content::Value(value) => value.clone(),
                Content::Array(..) => panic!("no field is an array"),
            })
        };
        let number = |name| match field(name) {
            Some(Value::UInt(number)) => number,
            other => panic!("{name} is {other:?}"),
        };
        let data = match (field("text"), field("data")) {
            (Some(Value::Text(text)), None) => text.into_bytes(),
            (None, Some(Value::Bytes(bytes))) => bytes,
            other => panic!("the payload is {other:?}"),
        };
        let topic = field("topic").unwrap().as_text().unwrap().to_owned();
        let sequence = u32::try_from(number("sequence")).unwrap();
        (topic, sequence, number("log_time"), number("publish_time"), data)
    });
    messages.collect()
}

fn read(name: &str) -> Vec<u8> {
    fs::read(testdata("mcap").join(name)).unwrap()
}

#[test]
fn messages_are_those_that_the_other_reader_finds() {
    let names = ["zstd", "lz4", "plain", "loose", "private", "empty", "foreign_chunks_zstd"];
    let more = ["foreign_chunks_lz4", "foreign_chunks_plain", "foreign_no_summary"];
    for name in names.into_iter().chain(more) {
        let bytes = read(&format!("{name}.mcap"));
        assert_eq!(ours(&bytes), others(&bytes), "{name}");
    }
}

#[test]
fn a_sound_summary_is_believed_and_chunks_are_not_read_to_open_a_file() {
    // The damage is in a chunk, so that only reading it finds it.
    let source = Source::from_bytes("x.mcap", read("bad/chunk_crc.mcap"));
    let dataset = Mcap.open(&source, &Context::default()).unwrap();
    assert_eq!(dataset.findings(), []);
    assert_eq!(dataset.summary().facts[0].value, Value::UInt(7));
    let records = capture(&*dataset).unwrap();
    let messages = records.iter().filter(|record| record.kind == "message").count();
    assert_eq!(messages, 3);
    let rules: Vec<_> = dataset.findings().iter().map(|finding| finding.rule).collect();
    assert_eq!(rules, ["chunk-crc"]);
}

/// What repairing a damaged sample keeps of its seven messages, and the rules of what is lost.
fn kept(name: &str) -> (usize, Vec<&'static str>) {
    let source = Source::from_bytes("x.mcap", read(name));
    let (repaired, bytes) = repaired(&Mcap, &source, &Context::default()).unwrap();
    let written = Source::from_bytes("x.mcap", bytes.clone());
    let found = Mcap.check(&written, &Context::default()).unwrap();
    assert_eq!(found, [], "{name}");
    let messages = ours(&bytes);
    assert_eq!(messages, others(&bytes), "{name}");
    (messages.len(), repaired.losses.iter().map(|loss| loss.rule).collect())
}

#[test]
fn repair_goes_on_past_damage_and_says_what_was_lost() {
    // Four of the seven messages are in the second chunk.
    for (name, rule) in [
        ("bad/chunk_crc.mcap", "chunk-crc"),
        ("bad/chunk_zstd.mcap", "chunk-crc"),
        ("bad/chunk_bomb.mcap", "chunk-limit"),
        ("bad/chunk_compression.mcap", "compression"),
        ("bad/chunk_zeroed.mcap", "chunk-excess"),
    ] {
        assert_eq!(kept(name), (3, vec![rule, "messages-lost"]), "{name}");
    }
    // The index knows where the chunk is whose length is not to be believed.
    assert_eq!(kept("bad/chunk_length.mcap"), (7, vec![]));
    assert_eq!(kept("bad/undefined_channel.mcap"), (6, vec!["undefined-channel", "messages-lost"]));
    assert_eq!(kept("bad/attachment_crc.mcap"), (7, vec!["attachment-crc"]));
    assert_eq!(kept("bad/no_magic.mcap"), (7, vec![]));
    assert_eq!(kept("bad/footer.mcap"), (7, vec![]));
    assert_eq!(kept("bad/unclosed.mcap"), (2, vec!["record", "chunk-cut", "record"]));
}

/// What only checking finds is not passed over in silence: indexes and counts are made anew, and of
/// messages outside of chunks nothing tells which one was changed.
#[test]
fn repair_says_what_is_wrong_with_indexes_and_checksums() {
    let said = |bytes: Vec<u8>| {
        let source = Source::from_bytes("x.mcap", bytes);
        let (repaired, _) = repaired(&Mcap, &source, &Context::default()).unwrap();
        let rules = |found: &[Finding]| found.iter().map(|finding| finding.rule).collect();
        let said: (Vec<_>, Vec<_>) = (rules(&repaired.losses), rules(&repaired.corrected));
        said
    };
    assert_eq!(said(read("bad/message_index.mcap")), (vec![], vec!["message-index"]));
    assert_eq!(said(read("bad/statistics.mcap")), (vec![], vec!["statistics"]));

    let mut bytes = read("loose.mcap");
    let (.., data) = others(&bytes).into_iter().find(|message| !message.4.is_empty()).unwrap();
    let at = bytes.windows(data.len()).position(|window| window == data).unwrap();
    bytes[at] ^= 1;
    assert_eq!(said(bytes), (vec!["data-crc"], vec![]));
}

/// Whoever reads a chunk that says to be empty and is not, is told so.
#[test]
fn a_chunk_that_was_overwritten_with_zeros_is_said_by_whatever_reads_it() {
    let source = Source::from_bytes("x.mcap", read("bad/chunk_zeroed.mcap"));
    let dataset = Mcap.open(&source, &Context::default()).unwrap();
    capture(&*dataset).unwrap();
    let rules: Vec<_> = dataset.findings().iter().map(|finding| finding.rule).collect();
    assert_eq!(rules, ["chunk-excess"]);
}

#[test]
fn attachments_and_private_records_are_kept() {
    for name in ["zstd.mcap", "private.mcap"] {
        let source = Source::from_bytes(name, read(name));
        let bytes = rewritten(&Mcap, &source, &Context::default()).unwrap();
        assert_eq!(bytes, read(name), "{name}");
    }
    let bytes = read("zstd.mcap");
    let data = b"all went well";
    assert!(bytes.windows(data.len()).any(|window| window == data));
}

#[test]
fn a_chunk_that_the_file_ends_in_is_read_as_far_as_it_goes() {
    let source = Source::from_bytes("x.mcap", read("bad/unclosed.mcap"));
    let reader = Reader::open(&source, &Context::default()).unwrap();
    // The channels are in the first chunk, and two messages of the second are whole.
    assert_eq!((reader.channels().len(), reader.message_count()), (2, 2));
    let worst = reader.findings().iter().map(|finding| finding.severity).max();
    assert_eq!(worst, Some(Severity::Error));
}

/// Many messages without a payload are next to nothing when they are compressed: 82 KB became
/// 256 MiB for each chunk. They are read, up to four times what a chunk may have and 1000 times the
/// file, and the rest is said.
#[test]
fn a_file_that_becomes_far_larger_is_read_within_bounds() {
    let options = WriteOptions::new().compression(Some(Compression::Zstd));
    let options = options.chunk_size(Some(8 << 20)).compression_threads(0);
    let options = options.emit_message_indexes(false);
    let mut out = options.create(Cursor::new(Vec::new())).unwrap();
    let channel_id = out.add_channel(0, "/bomb", "", &BTreeMap::new()).unwrap();
    let header = MessageHeader { channel_id, sequence: 0, log_time: 0, publish_time: 0 };
    for _ in 0..1_500_000 {
        out.write_to_known_channel(&header, &[]).unwrap();
    }
    out.finish().unwrap();
    let bytes = out.into_inner().into_inner();
    let (size, decompressed) = (bytes.len() as u64, 1_500_000 * 31);
    let source = Source::from_bytes("bomb.mcap", bytes);
    let reader = Reader::open(&source, &Context::default()).unwrap();
    assert_eq!((reader.message_count(), reader.findings()), (1_500_000, vec![]));
    assert!(decompressed > 1000 * size + (16 << 20), "{size} bytes are too many for this test");
    let chunk = (8 << 20) + (1 << 16);
    let context = Context::with_limits(Limits { value_bytes_max: chunk, ..Limits::default() });
    let most = 1000 * size + 4 * chunk;
    assert!(decompressed > most, "{size} bytes are too many for this test");
    let reader = Reader::open(&source, &context).unwrap();
    let rules: Vec<_> = reader.findings().iter().map(|finding| finding.rule).collect();
    assert!(rules.iter().all(|rule| *rule == "chunk-limit") && !rules.is_empty(), "{rules:?}");
    let records = capture(&*Mcap.open(&source, &context).unwrap()).unwrap();
    let messages = records.iter().filter(|record| record.kind == "message").count() as u64;
    assert!(messages * 31 <= most && messages > 0, "{messages} messages");
    let checked = Mcap.check(&source, &context).unwrap();
    assert!(checked.iter().any(|finding| finding.rule == "chunk-limit"));
}

fn compression() -> impl Strategy<Value = Option<Compression>> {
    prop_oneof![Just(None), Just(Some(Compression::Zstd)), Just(Some(Compression::Lz4))]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the other writer writes, we read it as its reader does, find nothing wrong with
    /// it but times beyond what timelines hold, and write it again so that its reader finds the
    /// same.
    #[test]
    fn files_of_another_writer_survive_the_round_trip(
        messages in prop::collection::vec(
            (0_usize..4, any::<u32>(), any::<u64>(), any::<u64>(), prop::collection::vec(any::<u8>(), 0..40)),
            0..60,
        ),
        compression in compression(),
        chunk_size in 1_u64..400,
        use_chunks in any::<bool>(),
        summary in any::<bool>(),
    ) {
        let options = WriteOptions::new().compression(compression).chunk_size(Some(chunk_size));
        let options = options.use_chunks(use_chunks).emit_summary_records(summary);
        let mut out = options.compression_threads(0).create(Cursor::new(Vec::new())).unwrap();
        let encodings = ["json", "text", "cdr", ""];
        let ids = encodings.map(|encoding| {
            out.add_channel(0, &format!("/{encoding}"), encoding, &BTreeMap::new()).unwrap()
        });
        for (channel, sequence, log_time, publish_time, data) in &messages {
            let header = MessageHeader {
                channel_id: ids[*channel],
                sequence: *sequence,
                log_time: *log_time,
                publish_time: *publish_time,
            };
            out.write_to_known_channel(&header, data).unwrap();
        }
        out.finish().unwrap();
        let bytes = out.into_inner().into_inner();
        let expected = others(&bytes);
        prop_assert_eq!(expected.len(), messages.len());
        prop_assert_eq!(&ours(&bytes), &expected);
        let source = Source::from_bytes("x.mcap", bytes);
        let found = Mcap.check(&source, &Context::default()).unwrap();
        let beyond = messages.iter().any(|(_, _, log_time, ..)| i64::try_from(*log_time).is_err());
        prop_assert!(found.iter().all(|finding| finding.rule == "time-range"), "{:?}", found);
        prop_assert_eq!(!found.is_empty(), beyond);
        let again = rewritten(&Mcap, &source, &Context::default()).unwrap();
        prop_assert_eq!(&others(&again), &expected);
    }
}
