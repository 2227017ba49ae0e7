//! Streams and messages to files, with the writer of `kymo-rtc-wire`.

use std::collections::HashMap;
use std::io::{BufWriter, Write};

use kymo_core::bytes::Endian;
use kymo_core::{Error, Invariant as _, Result};
use kymo_rtc_wire::crc::Polynomial;
use kymo_rtc_wire::meta::StreamMeta;
use kymo_rtc_wire::read::Ruler;
use kymo_rtc_wire::write::{ByteOrder, IoOutput, Options, StreamId, WriteError, Writer};
use serde_json::{Map, Value as Json};

use crate::types::{Session, Stream};

/// The largest Unit that is tried for streams that have no room in a smaller one.
const MAJOR_BYTES_MAX: u64 = 1 << 30;

/// Writes one session.
pub(crate) struct SessionWriter<W: Write> {
    writer: Writer<IoOutput<BufWriter<W>>>,
    ids: HashMap<usize, StreamId>,
}

/// Layout in which a session is to be written.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub major: u64,
    pub minor: u64,
    pub crc: Option<Polynomial>,
    pub endian: Endian,
    pub count: u64,
}

impl Default for Layout {
    fn default() -> Self {
        let (major, minor) = (1 << 20, 128 << 10);
        let crc = Some(Polynomial::Ieee);
        Self { major, minor, crc, endian: Endian::Little, count: 0 }
    }
}

impl Layout {
    /// As a session has it.
    pub(crate) fn from_session(session: &Session) -> Self {
        let usual = Self::default();
        let crc = session.crc;
        let ruler = session.ruler.filter(Ruler::is_size_known);
        let sizes = ruler.map(|ruler| (ruler.major, ruler.minor));
        let (major, minor) = sizes.unwrap_or((usual.major, usual.minor));
        let endian = session.endian.unwrap_or(Endian::Little);
        Self { major, minor, crc, endian, count: 0 }
    }

    fn options(&self) -> Options {
        let order = match self.endian {
            Endian::Little => ByteOrder::Little,
            Endian::Big => ByteOrder::Big,
        };
        let options = Options::new().crc(self.crc).byte_order(order).count(self.count);
        // Sizes that no ruler can have come from damage; the usual ones will do.
        options.clone().sizes(self.major, self.minor).unwrap_or(options)
    }

    /// Makes Units so large that all these streams have room.
    pub(crate) fn fit(mut self, metas: &[(u32, StreamMeta)]) -> Self {
        while self.major < MAJOR_BYTES_MAX {
            let mut trial = Writer::new(Vec::new(), self.options());
            let has_no_room = metas.iter().any(|(id, meta)| {
                let added = match trial.add_with_id(*id, meta) {
                    // Streams of several files have the same ids, and get others.
                    Err(WriteError::Id(_)) => trial.add(meta),
                    added => added,
                };
                matches!(added, Err(WriteError::NoRoom { .. }))
            });
            if !has_no_room {
                break;
            }
            self.major *= 2;
            self.minor = (self.minor * 2).min(self.major);
        }
        self
    }
}

impl<W: Write> SessionWriter<W> {
    pub(crate) fn new(out: W, layout: &Layout) -> Self {
        let writer = Writer::new(IoOutput(BufWriter::new(out)), layout.options());
        Self { writer, ids: HashMap::new() }
    }

    /// Adds a stream under the caller's number, with the id it had where that is possible.
    /// Returns whether it was.
    pub(crate) fn add(
        &mut self,
        stream: usize,
        id: Option<u32>,
        meta: &StreamMeta,
    ) -> Result<bool> {
        let kept = id.map(|id| self.writer.add_with_id(id, meta));
        let (added, is_kept) = match kept {
            Some(Ok(added)) => (added, true),
            Some(Err(WriteError::Id(_))) | None => (self.writer.add(meta).map_err(failed)?, false),
            Some(Err(error)) => return Err(failed(error)),
        };
        self.ids.insert(stream, added);
        Ok(is_kept)
    }

    /// Returns true if a stream was added.
    pub(crate) fn has_stream(&self, stream: usize) -> bool {
        self.ids.contains_key(&stream)
    }

    /// Writes a message. Returns whether it could be: one of a stream of fixed length must have
    /// that length.
    pub(crate) fn write(&mut self, stream: usize, payload: &[u8]) -> Result<bool> {
        let id = self.ids.get(&stream).or_broken("a message is of a stream that was added")?;
        match self.writer.write_even_empty(*id, payload) {
            Ok(()) => Ok(true),
            Err(WriteError::Length { .. }) => Ok(false),
            Err(error) => Err(failed(error)),
        }
    }

    /// Has every later Unit begin with what a clock shows, until it shows something else.
    pub(crate) fn keep(&mut self, clock: usize, payload: &[u8]) -> Result<()> {
        let id = self.ids.get(&clock).or_broken("a clock is a stream that was added")?;
        self.writer.keep(*id, payload).map_err(failed)
    }

    /// Ends the session.
    pub(crate) fn finish(self) -> Result<W> {
        let IoOutput(buffered) = self.writer.finish().map_err(failed)?;
        buffered.into_inner().map_err(|error| Error::io("write")(error.into_error()))
    }
}

fn failed(error: WriteError<std::io::Error>) -> Error {
    match error {
        WriteError::Output(error) => Error::io("write")(error),
        other => Error::request(other.to_string()),
    }
}

/// Returns the description of a stream, for the writer.
pub(crate) fn meta_of(stream: &Stream) -> StreamMeta {
    let mut meta = StreamMeta::new(&stream.name).format(&stream.format).cont(stream.is_cont);
    meta = meta.hidden(stream.is_hidden);
    if let Some(bytes) = stream.length_bytes {
        meta = meta.length(bytes);
    }
    if let Some(about) = &stream.about {
        meta = with_attribute(meta, "stream", &Json::String(about.clone()));
    }
    with_all(meta, &stream.attributes)
}

/// Adds attributes, but for those that a stream has by other means.
pub(crate) fn with_all(mut meta: StreamMeta, attributes: &Map<String, Json>) -> StreamMeta {
    for (key, value) in attributes {
        meta = with_attribute(meta, key, value);
    }
    meta
}

/// Adds an attribute; one that is set already stays.
pub(crate) fn with_attribute(mut meta: StreamMeta, key: &str, value: &Json) -> StreamMeta {
    let _ = meta.add_json(key, &value.to_string());
    meta
}
