//! Writing the same messages with each of the writers.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use kymo_recorder::{Recorder, StreamOptions, Timespec};
use kymo_rtc_wire::meta::StreamMeta;
use kymo_rtc_wire::write::{IoOutput, Options, Writer};

use super::Shape;
use super::block::{BLOCK_BYTES, Block};

/// Messages that differ, so that nothing can be left out: a counter and then always the same.
struct Messages {
    payload: Vec<u8>,
    count: u64,
}

impl Messages {
    fn new(shape: Shape) -> Self {
        Self { payload: vec![0x5A; shape.message_bytes()], count: shape.count() }
    }

    fn each<E>(mut self, mut write: impl FnMut(u64, &[u8]) -> Result<(), E>) -> Result<(), E> {
        for number in 0..self.count {
            if let Some(head) = self.payload.first_chunk_mut::<8>() {
                *head = number.to_le_bytes();
            }
            write(number, &self.payload)?;
        }
        Ok(())
    }
}

/// Where the time of a message comes from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Time {
    /// The program has it.
    Given,
    /// The system is asked for it.
    Now,
}

/// Ours without any time.
pub(super) fn rtc(file: &Path, shape: Shape) -> Result<()> {
    let mut writer = Writer::new(IoOutput(File::create(file)?), Options::new());
    let meta = StreamMeta::new("sample").length(shape.message_bytes() as u64);
    let stream = writer.add(&meta)?;
    Messages::new(shape).each(|_, payload| writer.write(stream, payload))?;
    writer.finish()?;
    Ok(())
}

/// Ours with a time for each message, as a program records it.
pub(super) fn rtc_timed(file: &Path, shape: Shape, time: Time) -> Result<()> {
    let mut recorder = Recorder::create(file)?;
    let clock = recorder.absolute_clock("clock")?;
    let options = StreamOptions::new("sample").clock(clock);
    let stream = recorder.raw_stream(options, "raw", Some(shape.message_bytes() as u64))?;
    Messages::new(shape).each(|number, payload| match time {
        Time::Given => {
            let nanoseconds = u32::try_from(number % 1_000_000_000).unwrap_or_default();
            let time = Timespec { seconds: number / 1_000_000_000, nanoseconds };
            recorder.write_at(stream, time, payload)
        }
        Time::Now => recorder.write_now(stream, payload),
    })?;
    Ok(recorder.finish()?)
}

/// Nanoseconds since the Epoch.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// The `mcap` crate: in chunks that have a checksum, or each message by itself. It has no messages
/// without a time.
pub(super) fn mcap(file: &Path, shape: Shape, is_chunked: bool, time: Time) -> Result<()> {
    let options = mcap::WriteOptions::new()
        .compression(None)
        .chunk_size(Some(BLOCK_BYTES as u64))
        .use_chunks(is_chunked)
        .calculate_chunk_crcs(is_chunked);
    let mut writer = options.create(BufWriter::with_capacity(BLOCK_BYTES, File::create(file)?))?;
    let channel_id = writer.add_channel(0, "sample", "raw", &std::collections::BTreeMap::new())?;
    Messages::new(shape).each(|number, payload| {
        let log_time = match time {
            Time::Given => number,
            Time::Now => now(),
        };
        let header = mcap::records::MessageHeader {
            channel_id,
            sequence: u32::try_from(number & 0xFFFF_FFFF).unwrap_or_default(),
            log_time,
            publish_time: log_time,
        };
        writer.write_to_known_channel(&header, payload)
    })?;
    writer.finish()?;
    Ok(writer.into_inner().flush()?)
}

/// A buffer, a checksum over it, and the file.
pub(super) fn raw(file: &Path, shape: Shape, paged: bool) -> Result<()> {
    let mut file = File::create(file)?;
    let mut crc = crc32fast::Hasher::new();
    let mut block = Block::new(paged);
    let mut used = 0;
    Messages::new(shape).each(|_, payload| {
        if let Some(free) = block.bytes().get_mut(used..used + payload.len()) {
            free.copy_from_slice(payload);
        }
        used += payload.len();
        if used < BLOCK_BYTES {
            return Ok(());
        }
        used = 0;
        crc.update(block.bytes());
        file.write_all(block.bytes())
    })?;
    let rest = block.bytes().get(..used).unwrap_or_default();
    crc.update(rest);
    file.write_all(rest)?;
    Ok(file.write_all(&crc.finalize().to_le_bytes())?)
}
