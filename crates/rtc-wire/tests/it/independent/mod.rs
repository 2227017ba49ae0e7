//! A reader of its own for the tests, written from the specification and from what real files do.
//!
//! It shares no code with the crate: simple, slow, and strict about everything that a writer is to
//! get right. It knows whole sessions and sessions that end anywhere, not damage.

use std::collections::BTreeMap;

use serde_json::Value;

/// A frame: where its header is, and where its payload begins and ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub at: usize,
    pub id: u64,
    pub more: bool,
    pub payload: (usize, usize),
}

/// A message: a chain of frames of one stream, and where it begins and ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub at: usize,
    pub end: usize,
    pub id: u64,
    pub bytes: Vec<u8>,
}

/// An Index (with a count) or index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    pub at: usize,
    pub count: Option<u64>,
    /// Ids, and where they point; nothing for 0.
    pub entries: Vec<(u64, Option<i64>)>,
}

/// A Unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    pub at: usize,
    pub meta_at: usize,
    pub meta: String,
    /// True if the Crc holds, if there is one.
    pub crc: Option<bool>,
}

/// Everything in a session.
#[derive(Debug, Default)]
pub struct Session {
    pub major: usize,
    pub minor: usize,
    pub is_big_endian: bool,
    pub frames: Vec<Frame>,
    pub messages: Vec<Message>,
    pub indices: Vec<Index>,
    pub units: Vec<Unit>,
    /// The objects of Meta and meta by id.
    pub streams: BTreeMap<u64, Value>,
    /// Messages without an end.
    pub dangling: BTreeMap<u64, Vec<u8>>,
    /// Where the last whole frame ends.
    pub end: usize,
}

impl Session {
    /// The messages of the stream of this name.
    pub fn of(&self, name: &str) -> Vec<Vec<u8>> {
        let ids: Vec<_> = self
            .streams
            .iter()
            .filter(|(_, meta)| meta["name"] == name)
            .map(|(id, _)| *id)
            .collect();
        let own = self.messages.iter().filter(|message| ids.contains(&message.id));
        own.map(|message| message.bytes.clone()).collect()
    }
}

/// Which checksum a file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sum {
    Ieee,
    Mixed,
    #[default]
    None,
}

/// CRC32-IEEE bit by bit, or the first writers' with the table of the other direction.
pub fn crc(sum: Sum, bytes: &[u8]) -> u32 {
    let mut crc = !0_u32;
    for &byte in bytes {
        let low = (crc ^ u32::from(byte)) & 0xFF;
        let mut entry = if sum == Sum::Ieee { low } else { low << 24 };
        for _ in 0..8 {
            entry = match sum {
                Sum::Ieee if entry & 1 == 1 => entry >> 1 ^ 0xEDB8_8320,
                Sum::Ieee => entry >> 1,
                _ if entry >> 31 == 1 => entry << 1 ^ 0x04C1_1DB7,
                _ => entry << 1,
            };
        }
        crc = crc >> 8 ^ entry;
    }
    !crc
}

/// Splits a file at every Marker whose Index counts from 0, and reads each part.
pub fn sessions(file: &[u8], sum: Sum) -> Vec<Session> {
    let mut starts: Vec<usize> = Vec::new();
    let mut at = 0;
    while at < file.len() {
        if is_first_marker(&file[at..]) {
            starts.push(at);
            at += 1025;
        } else {
            at += 1;
        }
    }
    starts.push(file.len());
    starts.windows(2).map(|pair| session(&file[pair[0]..pair[1]], sum)).collect()
}

fn is_first_marker(bytes: &[u8]) -> bool {
    bytes.len() > 1025
        && bytes[0] == 4
        && bytes[1..1025].iter().all(|&byte| byte == 0xB9)
        && matches!(bytes[1025], 6 | 7)
        && number(bytes, 1026).is_some_and(|(_, at)| bytes.get(at) == Some(&0))
}

/// Reads one session, as far as it goes.
pub fn session(bytes: &[u8], sum: Sum) -> Session {
    let mut parser = Parser { bytes, sum, ..Parser::default() };
    while parser.frame().is_some() {}
    parser.session.dangling = parser
        .chains
        .into_iter()
        .filter(|(id, _)| *id > 8)
        .map(|(id, (_, data))| (id, data))
        .collect();
    parser.session
}

#[derive(Default)]
struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
    marker: usize,
    sum: Sum,
    session: Session,
    /// Chains that await more: where they began, and their bytes.
    chains: BTreeMap<u64, (usize, Vec<u8>)>,
}

impl Parser<'_> {
    fn has_crc(&self) -> bool {
        self.sum != Sum::None
    }

    /// Where this Unit ends, without its Crc.
    fn unit_end(&self) -> usize {
        self.marker + self.session.major - if self.has_crc() { 5 } else { 0 }
    }

    /// The next place at which an index or the end of the Unit stands, at or after `at`.
    fn boundary(&self, at: usize) -> usize {
        if self.session.minor == 0 {
            return usize::MAX;
        }
        let mut tick = self.marker + 1025 + self.session.minor;
        while tick < at {
            tick += self.session.minor;
        }
        tick.min(self.unit_end())
    }

    /// Where frames of fixed length are split; those that always exist are not.
    fn boundary_of(&self, id: u64, at: usize) -> usize {
        if id > 8 { self.boundary(at + 1) } else { usize::MAX }
    }

    fn is_tick(&self, at: usize) -> bool {
        self.session.minor > 0
            && at > self.marker + 1025
            && (at - self.marker - 1025).is_multiple_of(self.session.minor)
            && at < self.unit_end()
    }

    /// Reads one frame; nothing when it is not all there.
    fn frame(&mut self) -> Option<()> {
        let at = self.at;
        let (head, after) = number(self.bytes, at)?;
        let (id, more) = (head >> 1, head & 1 == 1);
        let is_unit_start =
            at == 0 || (self.session.major > 0 && at == self.marker + self.session.major);
        assert_eq!(id == 2, is_unit_start, "Markers stand at Units: {at}");
        let (start, length) = if let Some(whole) = self.fixed(id) {
            let before = self.chains.get(&id).map_or(0, |(_, data)| data.len());
            (after, (whole - before).min(1024).min(self.boundary_of(id, at) - after))
        } else {
            let (length, start) = number(self.bytes, after)?;
            (start, usize::try_from(length).unwrap())
        };
        assert!(length <= 1024, "a frame of {length} bytes at {at}");
        let end = start + length;
        if end > self.bytes.len() {
            return None;
        }
        self.check_place(at, end, id);
        self.session.frames.push(Frame { at, id, more, payload: (start, end) });
        self.at = end;
        self.session.end = end;
        self.take(at, id, more, start, end);
        Some(())
    }

    fn fixed(&self, id: u64) -> Option<usize> {
        match id {
            0 => Some(0),
            2 => Some(1024),
            7 | 8 => Some(4),
            1..=8 => None,
            _ => {
                let meta = self.session.streams.get(&id);
                let meta =
                    meta.unwrap_or_else(|| panic!("stream {id} at {} is not described", self.at));
                meta["length"].as_u64().map(|length| usize::try_from(length).unwrap())
            }
        }
    }

    fn check_place(&self, at: usize, end: usize, id: u64) {
        if id == 2 || self.session.minor == 0 {
            return;
        }
        assert_eq!(self.is_tick(at), self.is_first_index(at, id), "an index at every tick: {at}");
        if id == 8 {
            assert!(end <= self.marker + self.session.major, "the Crc at {at} is in its Unit");
        } else {
            assert!(at < self.unit_end(), "only a Crc stands at the end of a Unit: {id} at {at}");
            let tick = self.boundary(at + 1);
            assert!(end <= tick, "the frame {id} at {at}..{end} crosses the tick at {tick}");
        }
    }

    fn is_first_index(&self, at: usize, id: u64) -> bool {
        id == 4 && (self.is_tick(at) || !self.chains.contains_key(&4))
    }

    fn take(&mut self, at: usize, id: u64, more: bool, start: usize, end: usize) {
        if id == 2 {
            assert!(self.bytes[start..end].iter().all(|&byte| byte == 0xB9));
            self.marker = at;
        }
        if id <= 1 {
            assert!(
                self.bytes[start..end].iter().all(|&byte| byte == 0) && !more,
                "padding at {at}"
            );
        }
        let (first, mut data) = self.chains.remove(&id).unwrap_or((at, Vec::new()));
        data.extend_from_slice(&self.bytes[start..end]);
        if more {
            self.chains.insert(id, (first, data));
        } else {
            self.whole(first, end, id, data);
        }
    }

    fn whole(&mut self, at: usize, end: usize, id: u64, data: Vec<u8>) {
        match id {
            0..=2 => {}
            3 | 4 => self.index(at, id == 3, &data),
            5 | 6 => self.meta(at, id == 5, &data),
            7 => self.session.is_big_endian = data == [1, 2, 3, 4],
            8 => self.crc(at, &data),
            _ => self.session.messages.push(Message { at, end, id, bytes: data }),
        }
    }

    fn index(&mut self, at: usize, is_major: bool, data: &[u8]) {
        let mut position = 0;
        let count = is_major.then(|| {
            let (count, next) = number(data, 0).unwrap();
            position = next;
            count
        });
        let mut entries = Vec::new();
        while position < data.len() {
            let (id, next) = number(data, position).unwrap();
            let (offset, next) = number(data, next).unwrap();
            assert!(id & 1 == 1 && offset & 1 == 0, "entries at {at}");
            let back = i64::try_from(offset >> 1).unwrap();
            entries.push((id >> 1, (back > 0).then(|| i64::try_from(at).unwrap() - back)));
            position = next;
        }
        assert!(entries.is_sorted_by(|a, b| a.0 < b.0), "ids ascend at {at}");
        if is_major && self.session.major == 0 {
            let size = |id| {
                let target = entries.iter().find(|entry| entry.0 == id).unwrap().1.unwrap();
                usize::try_from(i64::try_from(at).unwrap() - target).unwrap()
            };
            (self.session.major, self.session.minor) = (size(3), size(4));
        }
        self.session.indices.push(Index { at, count, entries });
    }

    fn meta(&mut self, at: usize, is_major: bool, data: &[u8]) {
        let text = String::from_utf8(data.to_vec()).unwrap();
        let mut array: Vec<Value> = serde_json::from_str(&text).unwrap();
        let next = array.pop().unwrap().as_u64().unwrap();
        for object in array {
            let id = object["id"].as_u64().unwrap();
            assert!((9..next).contains(&id), "{id} and {next} at {at}");
            self.session.streams.insert(id, object);
        }
        if is_major {
            self.session.units.push(Unit { at: self.marker, meta_at: at, meta: text, crc: None });
        }
    }

    fn crc(&mut self, at: usize, data: &[u8]) {
        let stored: [u8; 4] = data.try_into().unwrap();
        let stored = if self.session.is_big_endian {
            u32::from_be_bytes(stored)
        } else {
            u32::from_le_bytes(stored)
        };
        let found = crc(self.sum, &self.bytes[self.marker + 1025..at]);
        self.session.units.last_mut().unwrap().crc = Some(stored == found);
    }
}

/// An unsigned LEB128 number and where it ends.
pub fn number(bytes: &[u8], mut at: usize) -> Option<(u64, usize)> {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = *bytes.get(at)?;
        value |= u64::from(byte & 0x7F) << shift;
        shift += 7;
        at += 1;
        if byte & 0x80 == 0 {
            return Some((value, at));
        }
    }
}
