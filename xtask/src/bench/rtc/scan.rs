//! Reading all messages of a file, each looked at, with every checksum verified.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Result, ensure};
use kymo_core::Source;
use kymo_core::bytes::Limits;
use kymo_rtc_wire::read::{Begin, Item, View, Walker};
use kymo_rtc_wire::spec::id;

use super::Shape;
use super::block::Block;

/// What was seen of the messages: enough to tell that none was left out.
#[derive(Debug, Default, PartialEq, Eq)]
struct MessageCounts {
    messages: u64,
    sum: u64,
}

impl MessageCounts {
    fn message(&mut self, payload: &[u8]) {
        let head = payload.first_chunk().copied().unwrap_or_default();
        self.messages += 1;
        self.sum = self.sum.wrapping_add(u64::from_le_bytes(head));
    }

    fn ensure_all(&self, shape: Shape) -> Result<()> {
        let messages = shape.count();
        let all = Self { messages, sum: (0..messages).sum() };
        ensure!(*self == all, "{self:?} and not {all:?}");
        Ok(())
    }
}

/// Ours.
pub(super) fn rtc(file: &Path, shape: Shape) -> Result<()> {
    let bytes = Source::open(file, &Limits::default())?.bytes()?;
    let view = View::from_file(&bytes);
    let mut walker = Walker::new();
    let mut seen = MessageCounts::default();
    let mut joined = Vec::new();
    loop {
        match walker.next(&view) {
            Ok(Item::Frame(frame)) if frame.id >= id::FIRST_USER => {
                // A message that a tick divides is several frames.
                if frame.begin == Begin::Start && !frame.more {
                    seen.message(frame.bytes(&view));
                    continue;
                }
                joined.extend_from_slice(frame.bytes(&view));
                if !frame.more {
                    seen.message(&joined);
                    joined.clear();
                }
            }
            Ok(Item::Frame(_) | Item::Unit(_)) => {}
            Ok(Item::Checksum(checksum)) => ensure!(checksum.polynomial.is_some(), "{checksum:?}"),
            Ok(Item::Damage(_) | Item::Streams(_)) => anyhow::bail!("the file is damaged"),
            Ok(Item::End) => return seen.ensure_all(shape),
            Err(need) => anyhow::bail!("{need:?} at the end of the file"),
        }
    }
}

/// The `mcap` crate, which verifies the checksums of chunks as it goes.
pub(super) fn mcap(file: &Path, shape: Shape) -> Result<()> {
    let bytes = Source::open(file, &Limits::default())?.bytes()?;
    let mut seen = MessageCounts::default();
    for message in mcap::MessageStream::new(&bytes)? {
        seen.message(&message?.data);
    }
    seen.ensure_all(shape)
}

/// A buffer, and a checksum over it.
pub(super) fn raw(file: &Path, paged: bool) -> Result<()> {
    let mut file = File::open(file)?;
    let mut crc = crc32fast::Hasher::new();
    let mut block = Block::new(paged);
    let buffer = block.bytes();
    loop {
        let read = file.read(buffer)?;
        if read == 0 {
            ensure!(crc.finalize() != 0, "the checksum of a file is not nothing");
            return Ok(());
        }
        crc.update(buffer.get(..read).unwrap_or_default());
    }
}
