//! How much of a file is touched to find something in it.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use kymo_core::bytes::Limits;
use kymo_core::{Context, Source};
use kymo_model::Format;
use kymo_model::timeline::{ClockId, TimeNs, TrackId, Window};
use kymo_rtc::{Reader, Rtc};
use kymo_rtc_wire::leb128::Encoded;
use kymo_rtc_wire::meta::StreamMeta;
use kymo_rtc_wire::write::{Options, Writer};

/// The size of a unit, and with it of what is found in one go.
const UNIT_BYTES: u64 = 128 << 10;

/// What a recording is like.
#[derive(Debug, Clone, Copy)]
struct Shape {
    /// The bytes of a value.
    value_bytes: usize,
    /// True if the clock counts from another that is set now and then, as most recorders have it.
    is_delta: bool,
    /// Streams that are described and say nothing.
    idle: usize,
}

/// A clock and a value in turn, about so many bytes; and one stream that spoke once, early.
fn recording(path: &Path, bytes: u64, shape: Shape) -> u64 {
    let mut writer = Writer::new(Vec::new(), Options::new());
    let clock = StreamMeta::new("clock").number("gain", 1e-6).unwrap().flag("clock", true).unwrap();
    let clock = if shape.is_delta {
        clock.format("uleb128").text("delta", "base").unwrap()
    } else {
        clock.length(8).format("uint64le")
    };
    let clock = writer.add(&clock).unwrap();
    let value = StreamMeta::new("value").length(shape.value_bytes as u64);
    let value = value.text("clock", "clock").unwrap();
    let value = writer.add(&value).unwrap();
    let early = writer.add(&StreamMeta::new("early").text("clock", "clock").unwrap()).unwrap();
    let base = StreamMeta::new("base").length(8).format("uint64le").number("gain", 1e-6);
    let base = writer.add(&base.unwrap().flag("clock", true).unwrap()).unwrap();
    for number in 0..shape.idle {
        writer.add(&StreamMeta::new(&format!("idle {number}"))).unwrap();
    }
    let mut file = File::create(path).unwrap();
    // Written by the page, so that the system does not hold, and map, many pages as one.
    let mut write =
        |bytes: &[u8]| bytes.chunks(4096).for_each(|page| file.write_all(page).unwrap());
    let mut microseconds = 0_u64;
    while writer.position() < bytes {
        if microseconds.is_multiple_of(10_000) {
            writer.write(base, &microseconds.to_le_bytes()).unwrap();
        }
        let delta = Encoded::unsigned(microseconds % 10_000);
        let since = microseconds.to_le_bytes();
        writer.write(clock, if shape.is_delta { delta.as_bytes() } else { &since }).unwrap();
        // Bytes that look like no frame: what can be read in two ways is read whole.
        let mut payload = vec![0xFF; shape.value_bytes];
        payload[..8].copy_from_slice(&microseconds.to_le_bytes());
        writer.write(value, &payload).unwrap();
        if microseconds == 1000 {
            writer.write(early, b"once").unwrap();
        }
        microseconds += 10;
        if writer.output().len() > 1 << 20 {
            write(writer.output());
            writer.output_mut().clear();
        }
    }
    write(&writer.finish().unwrap());
    microseconds
}

/// How many bytes of a mapped file this process has looked at, by the pages that it holds. The
/// kernel maps some pages around each, so that this is more than what was read.
fn touched(path: &Path) -> u64 {
    let maps = fs::read_to_string("/proc/self/smaps").unwrap();
    let path = path.to_str().unwrap();
    let mut is_it = false;
    let mut kibibytes = 0;
    for line in maps.lines() {
        // The first line of a mapping begins with its addresses.
        if line.split_once('-').is_some_and(|(from, _)| u64::from_str_radix(from, 16).is_ok()) {
            is_it = line.ends_with(path);
        } else if let (true, Some(rest)) = (is_it, line.strip_prefix("Rss:")) {
            let number = rest.trim().trim_end_matches(" kB");
            kibibytes += number.parse::<u64>().unwrap();
        }
    }
    kibibytes << 10
}

/// One way to find something.
type Look<'a> = dyn Fn(&Arc<Reader>, &Source) + 'a;

/// What opening a file touches, and what each way to find something touches beyond that.
fn touches(bytes: u64, shape: Shape) -> Vec<u64> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.rtc");
    let end = recording(&path, bytes, shape);
    let middle = TimeNs(i64::try_from(end / 20 * 10).unwrap() * 1000);
    let at = |message: Option<kymo_rtc::OwnedMessage>| message.unwrap().time.unwrap();
    let last = TimeNs(i64::try_from(end - 10).unwrap() * 1000);
    let looks: [&Look<'_>; 7] = [
        &|_, _| {},
        &|reader, _| assert_eq!(at(reader.last(1)), last),
        &|reader, _| assert_eq!(reader.last(2).unwrap().payload, b"once"),
        &|reader, _| assert_eq!(at(reader.first_from(1, middle)), middle),
        &|_, source| assert_eq!(count(source, Some(middle), Some(TimeNs(middle.0 + 500_000))), 50),
        &|_, source| assert_eq!(count(source, None, None), 30),
        &|_, source| {
            let timeline = Rtc.open(source, &Context::default()).unwrap().timeline().unwrap();
            assert_eq!(timeline.range(ClockId(0)).unwrap(), Some(TimeNs(0)..=last));
        },
    ];
    let look = |look: &&Look<'_>| {
        let source = Source::open(&path, &Limits::default()).unwrap();
        let reader = Reader::open(&source, &Context::default()).unwrap();
        look(&reader, &source);
        touched(&path)
    };
    looks.iter().map(look).collect()
}

/// The values of a range of times, or the last thirty.
fn count(source: &Source, from: Option<TimeNs>, until: Option<TimeNs>) -> usize {
    let timeline = Rtc.open(source, &Context::default()).unwrap().timeline().unwrap();
    let last = from.is_none().then_some(30);
    let window = Window { tracks: Some(vec![TrackId(1)]), from, until, last };
    let mut events = timeline.events(&window).unwrap();
    let mut count = 0;
    while events.next().unwrap().is_some() {
        count += 1;
    }
    count
}

/// In a file of four times the size no more is touched, but for two more steps of each search by
/// halves.
#[test]
fn whatever_is_sought_touches_a_few_units_of_any_file() {
    let usual = Shape { value_bytes: 64, is_delta: false, idle: 0 };
    let shapes = [
        usual,
        Shape { is_delta: true, ..usual },
        Shape { value_bytes: 4096, ..usual },
        Shape { value_bytes: 4096, is_delta: true, idle: 3000 },
    ];
    for shape in shapes {
        let (small, large) = (touches(64 << 20, shape), touches(256 << 20, shape));
        for (small, large) in small.iter().zip(&large) {
            assert!(*small < 48 * UNIT_BYTES, "{small} bytes of {shape:?}");
            assert!(*large < small + 8 * UNIT_BYTES, "{small}, and {large} of more of {shape:?}");
        }
    }
}
