//! Finding messages by their time in a file of 4 GiB.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use kymo_core::{Context, Source};
use kymo_model::timeline::TimeNs;
use kymo_rtc::Reader;
use kymo_rtc_wire::leb128::Encoded;
use kymo_rtc_wire::meta::StreamMeta;
use kymo_rtc_wire::write::{IoOutput, Options, Writer};

/// Messages of the file: one a microsecond.
const MESSAGES: u64 = 1 << 20;

const MESSAGE_BYTES: usize = 4096;

const NS_EACH: u64 = 1000;

/// Searches of one run.
const SEARCHES: u64 = 1000;

/// As many bytes as a unit has by default.
const UNIT_BYTES: usize = 128 << 10;

/// Makes the file, unless it is there.
pub(super) fn make(path: &Path) -> Result<()> {
    if path.exists() {
        return Ok(());
    }
    eprintln!("making {}", path.display());
    let part = path.with_extension("part");
    let mut writer = Writer::new(IoOutput(File::create(&part)?), Options::new());
    let clock = StreamMeta::new("clock").format("uleb128").number("gain", 1e-9)?;
    let clock = writer.add(&clock.flag("clock", true)?)?;
    let sample = StreamMeta::new("sample").length(MESSAGE_BYTES as u64).text("clock", "clock")?;
    let sample = writer.add(&sample)?;
    let mut payload = vec![0x5A; MESSAGE_BYTES];
    for number in 0..MESSAGES {
        writer.write(clock, Encoded::unsigned(number * NS_EACH).as_bytes())?;
        if let Some(head) = payload.first_chunk_mut::<8>() {
            *head = number.to_le_bytes();
        }
        writer.write(sample, &payload)?;
    }
    writer.finish()?;
    Ok(std::fs::rename(part, path)?)
}

/// Places that follow no order: a multiplier and a modulus that have no divisor in common.
fn places(end: u64) -> impl Iterator<Item = u64> {
    (1..=SEARCHES).map(move |search| search.wrapping_mul(0x9E37_79B9_7F4A_7C15) % end)
}

/// Ours: open, and find the first message at a time or later.
pub(super) fn rtc(file: &Path) -> Result<()> {
    let source = Source::open(file, &kymo_core::bytes::Limits::default())?;
    let reader = Reader::open(&source, &Context::default())?;
    let streams = reader.streams();
    let sample = streams.iter().position(|stream| stream.name == "sample").context("no sample")?;
    for number in places(MESSAGES) {
        let time = TimeNs(i64::try_from(number * NS_EACH)?);
        let found = reader.first_from(sample, time).context("nothing found")?;
        let head = found.payload.first_chunk().context("a short message")?;
        ensure!(u64::from_le_bytes(*head) == number, "not message {number}");
    }
    Ok(())
}

/// The least that a search may take: reading one unit.
pub(super) fn raw(file: &Path) -> Result<()> {
    let file = File::open(file)?;
    let end = file.metadata()?.len() - UNIT_BYTES as u64;
    let mut unit = vec![0; UNIT_BYTES];
    for place in places(end) {
        file.read_exact_at(&mut unit, place)?;
    }
    Ok(())
}
