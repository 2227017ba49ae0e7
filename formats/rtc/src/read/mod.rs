//! Files to sessions, streams and messages.

mod messages;
mod scan;
mod tracker;

use std::sync::Arc;

use bytes::Bytes;
use kymo_core::bytes::{Endian, Limits};
use kymo_core::{Context, Result, Source};
use kymo_rtc_wire::read::View;

use crate::decode::{self, Decoded, Decoders};
use crate::types::{ClockRole, Message, Stream};

pub(crate) use messages::Found;
pub use messages::Messages;
pub(crate) use scan::{Problem, Scan, Statistics, begin_unit};
pub(crate) use tracker::Tracker;

/// An open file. Nothing of it is held but what it has of streams, sessions and Units.
#[derive(Debug)]
pub struct Reader {
    bytes: Bytes,
    limits: Limits,
    decoders: Decoders,
    scan: Scan,
}

impl Reader {
    /// Opens a file, and goes through all of it once.
    pub fn open(source: &Source, context: &Context<'_>) -> Result<Arc<Self>> {
        Self::open_with(source, context, Decoders::default())
    }

    /// Opens a file, with decoders for formats that the specification does not have.
    pub fn open_with(
        source: &Source,
        context: &Context<'_>,
        decoders: Decoders,
    ) -> Result<Arc<Self>> {
        Self::new(source, context, decoders, false)
    }

    /// Opens as much of a file as the limits allow.
    pub fn salvage(source: &Source, context: &Context<'_>) -> Result<Arc<Self>> {
        Self::new(source, context, Decoders::default(), true)
    }

    fn new(
        source: &Source,
        context: &Context<'_>,
        decoders: Decoders,
        is_salvage: bool,
    ) -> Result<Arc<Self>> {
        let bytes = source.bytes()?;
        let scan = Scan::new(&bytes, context, is_salvage)?;
        Ok(Arc::new(Self { bytes, limits: context.limits, decoders, scan }))
    }

    pub(crate) fn view(&self) -> View<'_> {
        View::whole(&self.bytes)
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What going through all of the file found.
    pub(crate) fn scan(&self) -> &Scan {
        &self.scan
    }

    /// Every stream of every session, in the order of the file.
    #[must_use]
    pub fn streams(&self) -> &[Stream] {
        &self.scan().streams
    }

    /// A stream by its session and id.
    #[must_use]
    pub fn find(&self, session: usize, id: u32) -> Option<&Stream> {
        self.streams().get(*self.scan().by_id.get(&(session, id))?)
    }

    /// Every message in the order of the file: of those that overlap, first the one that ends
    /// first.
    #[must_use]
    pub fn messages(self: &Arc<Self>) -> Messages {
        Messages::new(Arc::clone(self))
    }

    /// Decodes a message of this file.
    #[must_use]
    pub fn decode(&self, message: &Message<'_>) -> Decoded {
        match self.streams().get(message.stream) {
            Some(stream) => self.decode_payload(message.payload, stream),
            None => Decoded { value: message.payload.to_vec().into(), fault: None },
        }
    }

    pub(crate) fn decode_payload(&self, payload: &[u8], stream: &Stream) -> Decoded {
        decode::decode(payload, stream, self.endian(stream.session), &self.decoders)
    }

    /// Whether a clock's times count from the Epoch.
    pub(crate) fn is_since_epoch(&self, clock: usize) -> bool {
        let base = self.scan().clocks.get(clock).copied().flatten();
        match self.streams().get(clock) {
            Some(Stream { clock: ClockRole::Delta(_), .. }) => {
                base.and_then(|base| self.streams().get(base)).is_some_and(Stream::is_since_epoch)
            }
            Some(stream) => stream.is_since_epoch(),
            None => false,
        }
    }

    /// The byte order of a session's writer.
    pub(crate) fn endian(&self, session: usize) -> Endian {
        let session = self.scan().sessions.get(session);
        session.and_then(|session| session.endian).unwrap_or(Endian::Little)
    }
}
