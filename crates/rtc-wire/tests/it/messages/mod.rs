//! What tests of damaged files share: recordings whose bytes are known, and the messages of any.

use std::collections::BTreeMap;

use kymo_rtc_wire::meta::StreamMeta;
use kymo_rtc_wire::read::{Begin, Damage, Frame, Item, NeedMore, View, Walker};
use kymo_rtc_wire::write::{Options, Writer};

/// A message of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Message {
    /// Where its first frame is, and where its last one ends.
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) id: u32,
    pub(crate) payload: Vec<u8>,
    /// Frames before it were lost.
    pub(crate) may_lack_beginning: bool,
}

/// What reading a file gives.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) messages: Vec<Message>,
    pub(crate) damages: Vec<Damage>,
    /// Where the Crc frames are whose checksums do not hold.
    pub(crate) wrong: Vec<u64>,
    pub(crate) frames: Vec<Frame>,
}

impl Found {
    /// Returns true if anything was said.
    pub(crate) fn has_trouble(&self) -> bool {
        !self.damages.is_empty() || !self.wrong.is_empty()
    }
}

/// Reads a whole file.
pub(crate) fn read(bytes: &[u8]) -> Found {
    let view = View::from_file(bytes);
    let mut walker = Walker::new();
    let mut found = Found::default();
    let mut open: BTreeMap<u32, Message> = BTreeMap::new();
    loop {
        match walker.next(&view).expect("a whole file needs no more bytes") {
            Item::Frame(frame) => {
                found.frames.push(frame);
                if frame.id >= 9
                    && let Some(message) = join(&mut open, &frame, frame.bytes(&view))
                {
                    found.messages.push(message);
                }
            }
            Item::Damage(damage) => {
                if damage.loses_frames() {
                    open.clear();
                }
                found.damages.push(damage);
            }
            Item::Checksum(checksum) if checksum.polynomial.is_none() => {
                found.wrong.push(checksum.position);
            }
            Item::End => return found,
            Item::Unit(_) | Item::Checksum(_) | Item::Streams(_) => {}
        }
    }
}

/// What a walk gives of bytes that come so many at a time.
pub(crate) fn arriving(bytes: &[u8], step: usize) -> Vec<Item> {
    let mut walker = Walker::new();
    let (mut items, mut base, mut end) = (Vec::new(), 0, 0);
    loop {
        let view = View::part(&bytes[base..end], base as u64, end == bytes.len());
        match walker.next(&view) {
            Ok(Item::End) => return items,
            Ok(item) => items.push(item),
            Err(NeedMore(_)) => {
                walker.absorb(&view);
                base = usize::try_from(walker.needs()).unwrap();
                end = bytes.len().min(end + step);
            }
        }
    }
}

fn join(open: &mut BTreeMap<u32, Message>, frame: &Frame, bytes: &[u8]) -> Option<Message> {
    if frame.begin == Begin::Start {
        open.remove(&frame.id);
    }
    let message = open.entry(frame.id).or_insert_with(|| Message {
        start: frame.position,
        end: 0,
        id: frame.id,
        payload: Vec::new(),
        may_lack_beginning: frame.begin != Begin::Start,
    });
    message.end = frame.end;
    message.payload.extend_from_slice(bytes);
    if frame.more { None } else { open.remove(&frame.id) }
}

/// Streams of fixed and variable length in Units of 8192 and units of 2048 bytes: numbers, text
/// that tells its own number, and now and then something of several frames. No payload has a
/// byte below 0x20 but the numbers, so that frames cannot be mistaken easily.
pub(crate) fn recording(bytes: u64) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), Options::new().sizes(8192, 2048).unwrap());
    let text = writer.add(&StreamMeta::new("text").format("utf-8")).unwrap();
    let number = writer.add(&StreamMeta::new("n").length(4).format("uint32le")).unwrap();
    let long = writer.add(&StreamMeta::new("long").length(1500)).unwrap();
    for count in 0_u32.. {
        if writer.position() >= bytes {
            break;
        }
        writer.write(number, &count.to_le_bytes()).unwrap();
        writer.write(text, format!("event {count} of many, as text").as_bytes()).unwrap();
        if count % 40 == 39 {
            writer.write(long, &[b'a' + u8::try_from(count % 26).unwrap(); 1500]).unwrap();
        }
    }
    writer.finish().unwrap()
}

/// Where units begin: at Markers, and at index frames; and where the last one ends.
pub(crate) fn borders(found: &Found) -> Vec<u64> {
    let is_border = |frame: &&Frame| matches!(frame.id, 2 | 4);
    let ends = found.frames.last().map(|frame| frame.end);
    found.frames.iter().filter(is_border).map(|frame| frame.position).chain(ends).collect()
}
