//! Damaged files: nothing intact is lost beyond what is stated, nothing is invented in silence.

use std::collections::HashSet;

use crate::messages::{Found, Message, arriving, borders, read, recording};
use kymo_rtc_wire::meta::StreamMeta;
use kymo_rtc_wire::read::{DamageKind, Item, View, Walker};
use kymo_rtc_wire::write::{Options, Writer};

type Key<'a> = (u64, u32, &'a [u8]);

/// What makes a message the same: its place, its stream and its bytes.
fn key(message: &Message) -> Key<'_> {
    (message.start, message.id, &message.payload)
}

fn keys(found: &Found) -> HashSet<Key<'_>> {
    found.messages.iter().map(key).collect()
}

/// The messages of the damaged file that were not written: those that hold the changed byte are
/// damaged, not invented, and what may lack its beginning is said to.
fn invented<'a>(found: &'a Found, original: &HashSet<Key<'_>>, at: u64) -> Vec<&'a Message> {
    let is_invented = |message: &&Message| {
        !message.may_lack_beginning
            && !(message.start..message.end).contains(&at)
            && !original.contains(&key(message))
    };
    found.messages.iter().filter(is_invented).collect()
}

/// A file, what reading it gives, and where its units begin.
struct Sample {
    bytes: Vec<u8>,
    whole: Found,
    borders: Vec<u64>,
}

impl Sample {
    fn new(bytes: Vec<u8>) -> Self {
        let whole = read(&bytes);
        let borders = borders(&whole);
        Self { bytes, whole, borders }
    }

    /// Changes a bit: messages are lost of its own unit alone, from one tick to the next, also
    /// where it is in what opens a Unit; and none is invented.
    ///
    /// What cannot be proven: a `more` that is set joins a message with the next of its stream,
    /// which may be in another unit. And where a tick divides a message of fixed length, only what
    /// comes before the tick, or an index behind the unit, tells how much is left of it.
    fn check_flip(&self, at: u64, bit: u64) -> Found {
        let mut damaged = self.bytes.clone();
        damaged[at as usize] ^= 1 << bit;
        let found = read(&damaged);
        let place = format!("byte {at}, bit {bit}");
        let invented = invented(&found, &keys(&self.whole), at);
        assert!(invented.is_empty(), "{place}: {invented:?}");
        let from = self.borders.iter().rev().find(|border| **border <= at).copied().unwrap();
        let until = self.borders.iter().find(|border| **border > at).copied().unwrap();
        let there = keys(&found);
        let holder = found.messages.iter().find(|m| (m.start..m.end).contains(&at));
        for message in &self.whole.messages {
            let is_joined = holder.is_some_and(|holder| {
                holder.id == message.id && (holder.start..holder.end).contains(&message.start)
            });
            let is_unknown = found.damages.iter().any(|damage| {
                matches!(damage.why, DamageKind::Rest(_)) && damage.end > message.start
            });
            let is_outside = message.end <= from || message.start >= until;
            let is_lost = is_outside && !is_joined && !is_unknown && !there.contains(&key(message));
            assert!(!is_lost, "{place}: lost the message at {}", message.start);
        }
        found
    }
}

#[test]
fn a_changed_bit_costs_its_own_unit_at_most_and_invents_nothing() {
    let sample = Sample::new(recording(17_000));
    let opening = sample.whole.frames.iter().find(|frame| frame.id >= 9).unwrap().position;
    for at in 0..sample.bytes.len() as u64 {
        // Every bit of what the whole session depends on, and of any other byte one.
        let bits = if (1025..opening).contains(&at) { 0..8 } else { at % 8..at % 8 + 1 };
        for bit in bits {
            let found = sample.check_flip(at, bit);
            assert!(found.has_trouble(), "byte {at}, bit {bit}: nothing is said");
        }
    }
}

/// The same of files of the reference writer: fixed lengths that ticks divide, Units no larger
/// than units, a single Unit, long messages, and a writer that stopped short of a tick.
#[test]
fn a_changed_bit_of_a_real_file_costs_its_own_unit_at_most() {
    for name in ["fixed_split", "unit_equal", "default_basic", "large_data", "stop_unit_rem1"] {
        let path = kymo_conformance::testdata(format!("rtc/reference/{name}.rtc"));
        let sample = Sample::new(std::fs::read(path).unwrap());
        let step = (sample.bytes.len() / 3000).max(1);
        for (number, at) in (0_u64..).zip((0..sample.bytes.len() as u64).step_by(step)) {
            sample.check_flip(at, number % 8);
        }
    }
}

/// A byte that is missing from a Marker, or too many in it: of the first, where nothing comes
/// before it, and of a later one.
#[test]
fn a_marker_that_lacks_a_byte_or_has_one_too_many_costs_nothing() {
    let bytes = recording(20_000);
    let whole = read(&bytes);
    for marker in [0, 8192, 16384_usize] {
        for at in (marker..marker + 1025).step_by(16).chain([marker + 1024]) {
            let lacking = [&bytes[..at], &bytes[at + 1..]].concat();
            let having = [&bytes[..at], &[0x55], &bytes[at..]].concat();
            for damaged in [lacking, having] {
                let found = read(&damaged);
                let item = |found: &Found| -> Vec<(u32, Vec<u8>)> {
                    found.messages.iter().map(|m| (m.id, m.payload.clone())).collect()
                };
                assert!(item(&found) == item(&whole), "byte {at}: {:?}", found.damages);
                assert!(found.has_trouble(), "byte {at}");
            }
        }
    }
}

/// The same of as many bytes as a checksum has: then the Index is where it would be if the Unit
/// before ended with its data.
#[test]
fn a_marker_that_lacks_as_many_bytes_as_a_checksum_costs_nothing() {
    let bytes = recording(20_000);
    let whole = read(&bytes);
    for at in (8193..8192 + 1020).step_by(100) {
        let found = read(&[&bytes[..at], &bytes[at + 5..]].concat());
        let item = |found: &Found| -> Vec<(u32, Vec<u8>)> {
            found.messages.iter().map(|m| (m.id, m.payload.clone())).collect()
        };
        assert!(item(&found) == item(&whole), "byte {at}: {:?}", found.damages);
        assert!(found.has_trouble(), "byte {at}");
    }
}

/// A file system that lost power leaves zeros where nothing was written yet. The messages before
/// them are there, but for one whose own last bytes are zeros: whether those were written cannot
/// be told. None is made of zeros, and they are told of.
#[test]
fn a_tail_of_zeros_is_no_padding_and_makes_no_message() {
    let bytes = recording(20_000);
    let whole = read(&bytes);
    let original = keys(&whole);
    let is_data =
        |cut: u64| whole.frames.iter().any(|f| f.id >= 9 && (f.position..=f.end).contains(&cut));
    for cut in (1300..bytes.len()).step_by(5) {
        for zeros in [100, 5000] {
            let damaged = [&bytes[..cut], &vec![0; zeros][..]].concat();
            let place = format!("cut at {cut}, {zeros} zeros");
            let found = read(&damaged);
            let there = keys(&found);
            assert!(there.is_subset(&original), "{place}: invented one");
            let first_zero = 1 + damaged.iter().rposition(|byte| *byte != 0).unwrap();
            for message in whole.messages.iter().filter(|m| m.end <= first_zero as u64) {
                assert!(there.contains(&key(message)), "{place}: lost {}", message.start);
            }
            assert!(found.has_trouble(), "{place}: nothing is said");
            // Fewer zeros than a frame has bytes may be the end of one.
            let is_told = found.damages.iter().any(|damage| damage.why == DamageKind::Zeros);
            let may_be_frame = zeros < 1024 || !is_data(cut as u64);
            assert!(is_told || may_be_frame, "{place}: {:?}", found.damages);
        }
    }
}

/// A file that was ended, and zeros behind it, as a file has that was given its size before.
#[test]
fn zeros_behind_the_end_cost_nothing() {
    let bytes = recording(20_000);
    let whole = read(&bytes);
    let found = read(&[&bytes[..], &[0; 3000]].concat());
    assert_eq!(keys(&found), keys(&whole));
    assert_eq!((found.wrong.len(), found.damages.len()), (0, 1));
    assert_eq!(found.damages[0].start, bytes.len() as u64);
}

/// Numbers that look random and are the same every time.
struct Noise(u64);

impl Noise {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap() % limit
    }

    /// A copy with bytes that are missing, too many, zeros, changed, noise, or there twice.
    fn damaged(&mut self, bytes: &[u8]) -> Vec<u8> {
        let at = self.below(bytes.len());
        let end = (at + 1 + self.below(700)).min(bytes.len());
        let (before, hit, after) = (&bytes[..at], &bytes[at..end], &bytes[end..]);
        let noise: Vec<u8> = hit.iter().map(|_| self.below(256) as u8).collect();
        match self.below(6) {
            0 => [before, after].concat(),
            1 => [before, &noise, hit, after].concat(),
            2 => [before, &vec![0; hit.len()], after].concat(),
            3 => [before, &[hit[0] ^ 1 << self.below(8)], &hit[1..], after].concat(),
            4 => [before, &noise, after].concat(),
            _ => [before, hit, hit, after].concat(),
        }
    }
}

fn items(bytes: &[u8]) -> Vec<Item> {
    let mut walker = Walker::new();
    let view = View::from_file(bytes);
    let next = || walker.next(&view).ok().filter(|item| *item != Item::End);
    std::iter::from_fn(next).collect()
}

/// Who follows a file reads the same of it as who has all of it, whatever is damaged, but for a
/// first Meta that was changed and still makes sense: that only the next Unit shows, and who
/// follows does not wait for it.
#[test]
fn damaged_bytes_that_arrive_give_what_the_whole_file_gives() {
    let bytes = recording(20_000);
    let mut noise = Noise(0x9E37_79B9_7F4A_7C15);
    for round in 0..400 {
        let damaged = noise.damaged(&bytes);
        let expected = items(&damaged);
        for step in [1 + noise.below(50), 700, 5000] {
            let found = arriving(&damaged, step);
            let differs =
                found.iter().zip(&expected).position(|(found, expected)| found != expected);
            if let Some(at) = differs {
                panic!("round {round} by {step}: {:?}, not {:?}", found[at], expected[at]);
            }
            assert_eq!(found.len(), expected.len(), "round {round} by {step}");
        }
    }
}

/// What reading costs grows with the bytes of a file, not with the product of what it has of each
/// kind: here counted in bytes that are allocated, with streams that join one by one.
#[test]
fn many_streams_that_join_one_by_one_cost_what_their_texts_cost() {
    let allocated = |streams: u32| {
        let options = Options::new().sizes(1 << 24, 1 << 23).unwrap();
        let mut writer = Writer::new(Vec::new(), options);
        let first = writer.add(&StreamMeta::new("first")).unwrap();
        writer.write(first, b"x").unwrap();
        for number in 0..streams {
            writer.add(&StreamMeta::new(&format!("s{number:05}"))).unwrap();
        }
        let bytes = writer.finish().unwrap();
        let info = allocation_counter::measure(|| assert_eq!(read(&bytes).damages, []));
        info.bytes_total
    };
    let (some, many) = (allocated(2000), allocated(8000));
    assert!(many < 6 * some, "{some} bytes for 2000 streams, {many} for 8000");
}
