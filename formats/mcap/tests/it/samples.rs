//! The samples in `testdata/mcap`, made with the writer of the `mcap` crate alone, and what is in
//! them, told by its reader.

use std::collections::BTreeMap;
use std::fs;
use std::io::Cursor;

use kymo_conformance::{golden, testdata};
use mcap::records::{MessageHeader, Metadata};
use mcap::write::PrivateRecordOptions;
use mcap::{Attachment, Compression, WriteOptions, Writer};

const START: u64 = 1_700_000_000_000_000_000;

type Out = Writer<Cursor<Vec<u8>>>;

fn options() -> WriteOptions {
    // The same bytes whatever the version of the library, and on machines of any size.
    WriteOptions::new().library("samples").profile("demo").compression_threads(0)
}

fn made(options: WriteOptions, fill: impl FnOnce(&mut Out)) -> Vec<u8> {
    let mut out = options.create(Cursor::new(Vec::new())).unwrap();
    fill(&mut out);
    out.finish().unwrap();
    out.into_inner().into_inner()
}

fn pairs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn message(out: &mut Out, channel_id: u16, sequence: u32, after: u64, data: &[u8]) {
    let log_time = START + after;
    let header = MessageHeader { channel_id, sequence, log_time, publish_time: log_time - 7 };
    out.write_to_known_channel(&header, data).unwrap();
}

/// Two channels, one with a schema, six messages, an attachment and metadata.
fn fill(out: &mut Out) {
    let schema = out.add_schema("Pose", "jsonschema", br#"{"type":"object"}"#).unwrap();
    let pose = out.add_channel(schema, "/pose", "json", &pairs(&[("frame", "map")])).unwrap();
    let raw = out.add_channel(0, "/raw", "bits", &BTreeMap::new()).unwrap();
    for step in 0..3_u8 {
        let after = u64::from(step) * 1_000;
        message(out, pose, step.into(), after, format!(r#"{{"x":{step}}}"#).as_bytes());
        // The second channel is a little out of order.
        message(out, raw, 0, 2_500 - after, &[step, 0xFF, 0x00]);
    }
    let (name, media_type) = ("notes.txt".to_owned(), "text/plain".to_owned());
    let data = b"all went well".as_slice().into();
    out.attach(&Attachment { log_time: START, create_time: 1, name, media_type, data }).unwrap();
    let metadata = pairs(&[("robot", "three wheels"), ("run", "7")]);
    out.write_metadata(&Metadata { name: "run".into(), metadata }).unwrap();
    message(out, pose, 3, 9_000, b"{}");
}

/// A file of many small chunks.
fn chunked(compression: Option<Compression>) -> Vec<u8> {
    made(options().compression(compression).chunk_size(Some(120)), fill)
}

fn private(out: &mut Out) {
    let channel = out.add_channel(0, "/t", "text", &BTreeMap::new()).unwrap();
    message(out, channel, 0, 0, b"before");
    let in_chunk = PrivateRecordOptions::IncludeInChunks;
    out.write_private_record(0x81, b"in", in_chunk.into()).unwrap();
    out.write_private_record(0x82, b"out", None::<PrivateRecordOptions>.into_iter().collect())
        .unwrap();
    message(out, channel, 1, 1, b"after");
}

/// Sound samples. Those whose name begins with `foreign_` are not as our writer makes them.
fn sound() -> Vec<(&'static str, Vec<u8>)> {
    let bare = options().emit_summary_records(false).emit_summary_offsets(false);
    let bare = bare.calculate_chunk_crcs(false).calculate_data_section_crc(false);
    let bare = bare.calculate_summary_section_crc(false).emit_message_indexes(false);
    vec![
        ("zstd", made(options(), fill)),
        ("lz4", made(options().compression(Some(Compression::Lz4)), fill)),
        ("plain", made(options().compression(None), fill)),
        ("loose", made(options().use_chunks(false), fill)),
        ("empty", made(options(), |_| {})),
        ("private", made(options(), private)),
        ("foreign_chunks_zstd", chunked(Some(Compression::Zstd))),
        ("foreign_chunks_lz4", chunked(Some(Compression::Lz4))),
        ("foreign_chunks_plain", chunked(None)),
        ("foreign_no_summary", made(bare.compression(None), fill)),
    ]
}

/// The place of some bytes in a file, where they are once.
fn find(bytes: &[u8], what: &[u8]) -> usize {
    let places = bytes.windows(what.len()).enumerate().filter(|(_, window)| *window == what);
    let places: Vec<_> = places.map(|(at, _)| at).collect();
    assert_eq!(places.len(), 1, "{what:?}");
    places[0]
}

fn with(mut bytes: Vec<u8>, at: usize, new: &[u8]) -> Vec<u8> {
    bytes[at..at + new.len()].copy_from_slice(new);
    bytes
}

/// The start of the n-th chunk, by walking from record to record.
fn chunk(bytes: &[u8], n: usize) -> usize {
    let mut at = 8;
    let mut seen = 0;
    loop {
        if bytes[at] == 6 {
            if seen == n {
                return at;
            }
            seen += 1;
        }
        at += 9 + usize::try_from(u64::from_le_bytes(bytes[at + 1..at + 9].try_into().unwrap()))
            .unwrap();
    }
}

/// Damaged samples.
fn bad() -> Vec<(&'static str, Vec<u8>)> {
    let plain = || chunked(None);
    let zstd = || chunked(Some(Compression::Zstd));
    let whole = plain();
    let second = chunk(&whole, 1);
    // A chunk: opcode, length, two times, uncompressed size, checksum, compression, size.
    let crc = second + 9 + 8 + 8 + 8;
    // The header of a chunk has 49 bytes, the first two messages 38 and 34.
    let unclosed = whole[..second + 49 + 38 + 34 + 10].to_vec();
    let footer = whole.len() - 8 - 20;
    let statistics = {
        let chunks = made(options().compression(None).calculate_summary_section_crc(false), fill);
        // Seven messages, one schema, two channels.
        let at = find(&chunks, &[7, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0]);
        with(chunks, at, &[8])
    };
    let times = {
        let chunks = made(options().compression(None).calculate_data_section_crc(false), fill);
        let at = chunk(&chunks, 0) + 9;
        with(chunks, at, &(START + 5).to_le_bytes())
    };
    let indexes = {
        let quiet = options().compression(None).calculate_data_section_crc(false);
        let chunks = made(quiet.chunk_size(Some(120)), fill);
        let at = chunk(&chunks, 1);
        let length = u64::from_le_bytes(chunks[at + 1..at + 9].try_into().unwrap());
        // The first entry of the message index after the chunk: channel, length, time.
        let entry = at + 9 + usize::try_from(length).unwrap() + 9 + 2 + 4;
        with(chunks, entry, &[0xEE])
    };
    let undefined = {
        let quiet = options().use_chunks(false).calculate_data_section_crc(false);
        let loose = made(quiet, fill);
        let at = find(&loose, b"{\"x\":1}");
        with(loose, at - 22, &[9, 0])
    };
    let attachment = {
        let bytes = made(options().calculate_data_section_crc(false), fill);
        let at = find(&bytes, b"all went well");
        with(bytes, at, b"all went ill.")
    };
    vec![
        ("chunk_crc", with(plain(), crc, &[0])),
        ("chunk_length", with(plain(), second + 1, &[0xFF, 0xFF, 0xFF])),
        ("chunk_zstd", with(zstd(), chunk(&zstd(), 1) + 80, &[0xFF; 8])),
        ("chunk_bomb", with(zstd(), chunk(&zstd(), 1) + 9 + 16, &[0xFF; 7])),
        ("chunk_compression", with(zstd(), chunk(&zstd(), 1) + 9 + 28 + 4, b"zz")),
        // All that the chunk says of itself, and the first of its records.
        ("chunk_zeroed", with(zstd(), chunk(&zstd(), 1) + 9, &[0; 60])),
        ("chunk_times", times),
        ("unclosed", unclosed),
        ("no_magic", with(plain(), 0, b"X")),
        ("footer", with(plain(), footer, &[0xFF; 8])),
        ("statistics", statistics),
        ("message_index", indexes),
        ("undefined_channel", undefined),
        ("attachment_crc", attachment),
    ]
}

#[test]
fn samples_are_as_the_other_writer_makes_them() {
    let sound = sound().into_iter().map(|(name, bytes)| (format!("{name}.mcap"), bytes));
    let bad = bad().into_iter().map(|(name, bytes)| (format!("bad/{name}.mcap"), bytes));
    for (name, bytes) in sound.chain(bad) {
        let path = testdata("mcap").join(&name);
        if golden::blessing() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &bytes).unwrap();
        }
        let found = fs::read(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(found == bytes, "{name} is made otherwise (BLESS=1 rewrites it)");
    }
}
