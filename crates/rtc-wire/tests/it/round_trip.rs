//! What the writer wrote comes back, by the tests' own reader, and stands where it should.

use crate::independent;

use std::collections::{BTreeMap, BTreeSet};

use crate::independent::{Session, Sum};
use kymo_rtc_wire::crc::Polynomial;
use kymo_rtc_wire::meta::StreamMeta;
use kymo_rtc_wire::read::{Item, View, Walker};
use kymo_rtc_wire::write::{ByteOrder, Options, StreamId, Writer};
use proptest::collection::vec;
use proptest::prelude::*;

const CASES: u32 = 300;

/// What a test does with a writer.
#[derive(Debug, Clone)]
enum Step {
    /// A message of one stream; in a stream of fixed length, of that length.
    Write {
        stream: usize,
        length: usize,
    },
    Part {
        stream: usize,
        length: usize,
    },
    Add {
        length: Option<u64>,
        attributes: usize,
        is_hidden: bool,
    },
    Close {
        stream: usize,
    },
    Flush,
}

#[derive(Debug, Clone)]
struct Plan {
    major: u64,
    minor: u64,
    sum: Sum,
    order: ByteOrder,
    buffer: usize,
    steps: Vec<Step>,
}

fn step() -> impl Strategy<Value = Step> {
    let length = prop_oneof![6 => 0..40_usize, 2 => 100..1100_usize, 1 => 1000..20_000_usize];
    let add = (proptest::option::of(1..3000_u64), 0..200_usize, any::<bool>());
    prop_oneof![
        12 => (0..8_usize, length.clone()).prop_map(|(stream, length)| Step::Write { stream, length }),
        3 => (0..8_usize, length).prop_map(|(stream, length)| Step::Part { stream, length }),
        2 => add.prop_map(|(length, attributes, is_hidden)| Step::Add { length, attributes, is_hidden }),
        1 => (0..8_usize).prop_map(|stream| Step::Close { stream }),
        1 => Just(Step::Flush),
    ]
}

fn plan() -> impl Strategy<Value = Plan> {
    let sizes = prop_oneof![
        Just((2048, 2048)),
        Just((8192, 2048)),
        Just((16384, 8192)),
        Just((1 << 20, 1 << 17))
    ];
    let sum = prop_oneof![Just(Sum::Ieee), Just(Sum::Mixed), Just(Sum::None)];
    let order = prop_oneof![Just(ByteOrder::Little), Just(ByteOrder::Big)];
    (sizes, sum, order, 1..5000_usize, vec(step(), 0..300)).prop_map(
        |((major, minor), sum, order, buffer, steps)| Plan {
            major,
            minor,
            sum,
            order,
            buffer,
            steps,
        },
    )
}

fn polynomial(sum: Sum) -> Option<Polynomial> {
    match sum {
        Sum::Ieee => Some(Polynomial::Ieee),
        Sum::Mixed => Some(Polynomial::Mixed),
        Sum::None => None,
    }
}

fn options(plan: &Plan) -> Options {
    Options::new()
        .sizes(plan.major, plan.minor)
        .unwrap()
        .crc(polynomial(plan.sum))
        .byte_order(plan.order)
        .buffer_bytes(plan.buffer)
}

/// Does what a plan says and keeps account of what must come back.
struct Scribe {
    writer: Writer<Vec<u8>>,
    streams: Vec<(StreamId, Option<u64>)>,
    hidden: BTreeSet<u64>,
    expected: Vec<(u64, Vec<u8>)>,
    open: BTreeMap<u64, Vec<u8>>,
    serial: usize,
}

impl Scribe {
    fn new(plan: &Plan) -> Self {
        Self {
            writer: Writer::new(Vec::new(), options(plan)),
            streams: Vec::new(),
            hidden: BTreeSet::new(),
            expected: Vec::new(),
            open: BTreeMap::new(),
            serial: 0,
        }
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        self.serial += 1;
        (0..length).map(|at| (at * 7 + self.serial * 31) as u8).collect()
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Write { stream, length } => self.write(stream, length, false),
            Step::Part { stream, length } => self.write(stream, length, true),
            Step::Add { length, attributes, is_hidden } => self.add(length, attributes, is_hidden),
            Step::Close { stream } => {
                if stream < self.streams.len() {
                    let (stream, _) = self.streams.remove(stream);
                    self.writer.close(stream).unwrap();
                }
            }
            Step::Flush => self.writer.flush().unwrap(),
        }
    }

    fn add(&mut self, length: Option<u64>, attributes: usize, is_hidden: bool) {
        let meta = StreamMeta::new(&format!("stream {}", self.streams.len())).hidden(is_hidden);
        let meta = length.into_iter().fold(meta, StreamMeta::length);
        let meta = meta.text("note", &"\"".repeat(attributes)).unwrap();
        // Where there is no room for more streams, that is said, and nothing else happens.
        if let Ok(stream) = self.writer.add(&meta) {
            self.streams.push((stream, length));
            if is_hidden {
                self.hidden.insert(u64::from(stream.id()));
            }
        }
    }

    fn write(&mut self, stream: usize, length: usize, more: bool) {
        let Some(&(stream, fixed)) = self.streams.get(stream) else { return };
        let payload = self.bytes(fixed.map_or(length, |fixed| fixed as usize));
        let id = u64::from(stream.id());
        if more && fixed.is_some() {
            return;
        }
        let open = self.open.remove(&id);
        let mut bytes = open.clone().unwrap_or_default();
        bytes.extend_from_slice(&payload);
        if more {
            self.writer.write_part(stream, &payload).unwrap();
            if !bytes.is_empty() {
                self.open.insert(id, bytes);
            }
        } else {
            self.writer.write(stream, &payload).unwrap();
            if open.is_some() || !payload.is_empty() {
                self.expected.push((id, bytes));
            }
        }
    }
}

/// What every session of ours has: see `docs/formats/rtc.md`.
fn check_ruler(session: &Session, hidden: &BTreeSet<u64>) {
    let mut target_of_meta = None;
    let mut last: Option<(usize, &str)> = None;
    let majors: Vec<_> = session.indices.iter().filter(|index| index.count.is_some()).collect();
    assert_eq!(majors.len(), session.units.len());
    for (number, (index, unit)) in majors.iter().zip(&session.units).enumerate() {
        assert_eq!(index.count, Some(number as u64));
        assert_eq!(index.at, unit.at + 1025);
        if let Some((at, meta)) = last
            && meta != unit.meta
        {
            target_of_meta = Some(at as i64);
        }
        last = Some((unit.meta_at, &unit.meta));
        let entry = |id| index.entries.iter().find(|entry| entry.0 == id).unwrap().1;
        assert_eq!(entry(3), Some(index.at as i64 - session.major as i64));
        assert_eq!(entry(4), Some(index.at as i64 - session.minor as i64));
        assert_eq!(entry(5), target_of_meta, "entry 5 of the Index at {}", index.at);
    }
    for index in &session.indices {
        for &(id, target) in index.entries.iter().filter(|(id, _)| !matches!(id, 3 | 4)) {
            assert!(!hidden.contains(&id), "{id} is hidden");
            let Some(target) = target else {
                assert!(index.count.is_some(), "an index lists what was seen");
                continue;
            };
            let frame = session.frames.iter().find(|frame| frame.at as i64 == target);
            assert_eq!(frame.map(|frame| frame.id), Some(id), "index at {}", index.at);
        }
    }
    assert!(session.units.iter().all(|unit| unit.crc != Some(false)), "{:?}", session.units);
}

/// The entry of each message's stream in the index after it is not before it, and at most at it
/// when it was the unit's first.
fn check_targets(session: &Session, hidden: &BTreeSet<u64>) {
    for pair in session.indices.windows(2) {
        let (from, index) = (pair[0].at, &pair[1]);
        let mut first: BTreeMap<u64, usize> = BTreeMap::new();
        for message in
            session.messages.iter().filter(|message| (from..index.at).contains(&message.at))
        {
            let at = first.entry(message.id).or_insert(message.at);
            *at = (*at).min(message.at);
        }
        for (id, at) in first.into_iter().filter(|(id, _)| !hidden.contains(id)) {
            if let Some(entry) = index.entries.iter().find(|entry| entry.0 == id) {
                let target = entry.1.unwrap();
                assert!(
                    target > from as i64 && target <= at as i64,
                    "stream {id} in the index at {}",
                    index.at
                );
            }
        }
    }
}

/// The crate's reader finds the same frames, no damage, and every checksum in order.
fn check_reader(file: &[u8], session: &Session) {
    let view = View::from_file(file);
    let mut walker = Walker::new();
    let mut expected = session.frames.iter();
    loop {
        match walker.next(&view).unwrap() {
            Item::Frame(found) => {
                let payload = (found.payload as usize, found.end as usize);
                let (at, id, more) = (found.position as usize, u64::from(found.id), found.more);
                assert_eq!(Some(&independent::Frame { at, id, more, payload }), expected.next());
            }
            Item::Checksum(checksum) => assert!(checksum.polynomial.is_some(), "{checksum:?}"),
            Item::Unit(_) => {}
            Item::Damage(_) | Item::Streams(_) => panic!("nothing is damaged"),
            Item::End => break,
        }
    }
    assert_eq!(expected.next(), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn whatever_is_written_comes_back(plan in plan()) {
        let mut scribe = Scribe::new(&plan);
        for step in [Step::Add { length: None, attributes: 0, is_hidden: false }].iter().chain(&plan.steps) {
            scribe.step(step);
        }
        let file = scribe.writer.finish().unwrap();
        let session = independent::session(&file, plan.sum);
        prop_assert_eq!(session.end, file.len());
        let found: Vec<_> = session.messages.iter().map(|message| (message.id, message.bytes.clone())).collect();
        prop_assert_eq!(found, scribe.expected);
        let is_big_endian = plan.order == ByteOrder::Big && !file.is_empty();
        prop_assert_eq!(session.is_big_endian, is_big_endian);
        check_ruler(&session, &scribe.hidden);
        check_targets(&session, &scribe.hidden);
        check_reader(&file, &session);
        if plan.sum != Sum::None {
            prop_assert!(session.units.iter().all(|unit| unit.crc == Some(true)));
        }
    }
}
