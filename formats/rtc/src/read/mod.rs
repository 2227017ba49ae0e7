//! Files to sessions, streams and messages.

mod messages;
mod named;
mod outline;
mod scan;
mod seek;
mod tally;
#[cfg(test)]
mod tests;
mod tracker;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use kymo_core::bytes::{Endian, Limits};
use kymo_core::{Context, Progress, Result, Source};
use kymo_model::timeline::TimeNs;
use kymo_rtc_wire::read::View;

use crate::decode::{self, DecodedPayload, Decoders};
use crate::types::{Message, OwnedMessage, Stream, root_of};

pub(crate) use messages::LocatedMessage;
pub use messages::Messages;
pub(crate) use named::Named;
pub(crate) use outline::{Outline, Tick};
pub(crate) use scan::{Continuation, Problem, Scan, begin_unit};
pub(crate) use seek::{Certain, Seeker, Uncertain};
pub(crate) use tally::{FileStatistics, Statistics};
pub(crate) use tracker::{Catalog, Open, Tracker};

/// An open file. Nothing of it is held but what it has of streams, sessions and Units.
///
/// Opening looks at a few units. So do [`last`](Self::last) and [`first_from`](Self::first_from);
/// everything else goes through all of the file, once.
#[derive(Debug)]
pub struct Reader {
    bytes: Bytes,
    limits: Limits,
    progress: Arc<dyn Progress>,
    decoders: Decoders,
    outline: Option<Outline>,
    scan: OnceLock<Scan>,
}

impl Reader {
    /// Opens a file.
    pub fn open(source: &Source, context: &Context<'_>) -> Result<Arc<Self>> {
        Self::open_with(source, context, Decoders::default())
    }

    /// Opens a file, with decoders for formats that the specification does not have.
    pub fn open_with(
        source: &Source,
        context: &Context<'_>,
        decoders: Decoders,
    ) -> Result<Arc<Self>> {
        let bytes = source.bytes()?;
        let outline = Outline::new(&View::from_file(&bytes), &context.limits);
        if outline.is_none() {
            // Nothing less than all of it tells what it has.
            let all = Scan::new(&bytes, Arc::default(), context)?;
            return Ok(Arc::new(Self::scanned(bytes, context, decoders, all)));
        }
        Ok(Arc::new(Self {
            bytes,
            limits: context.limits,
            progress: Arc::clone(context.progress),
            decoders,
            outline,
            scan: OnceLock::new(),
        }))
    }

    /// Opens as much of a file as the limits allow, and goes through all of that.
    pub fn salvage(source: &Source, context: &Context<'_>) -> Result<Arc<Self>> {
        let bytes = source.bytes()?;
        let all = Scan::salvage(&bytes, Arc::default(), context);
        Ok(Arc::new(Self::scanned(bytes, context, Decoders::default(), all)))
    }

    fn scanned(bytes: Bytes, context: &Context<'_>, decoders: Decoders, scan: Scan) -> Self {
        let (limits, progress) = (context.limits, Arc::clone(context.progress));
        Self { bytes, limits, progress, decoders, outline: None, scan: OnceLock::from(scan) }
    }

    pub(crate) fn view(&self) -> View<'_> {
        View::from_file(&self.bytes)
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the result of going through all of the file.
    pub(crate) fn scan(&self) -> &Scan {
        self.scan.get_or_init(|| {
            let context = Context { progress: &self.progress, ..Context::with_limits(self.limits) };
            // What is over the limits is left out, and said.
            Scan::salvage(&self.bytes, self.outlined_catalog(), &context)
        })
    }

    /// The streams that are known before the file is gone through: every time the same, so that
    /// the same messages are found.
    pub(crate) fn outlined_catalog(&self) -> Arc<Catalog> {
        self.outline.as_ref().map(|outline| Arc::clone(&outline.catalog)).unwrap_or_default()
    }

    /// Returns the result of going through all of the file, if that was done.
    pub(crate) fn scan_so_far(&self) -> Option<&Scan> {
        self.scan.get()
    }

    /// Returns the range of bytes of each session.
    pub(crate) fn session_bytes(&self) -> Vec<Range<u64>> {
        match (&self.outline, self.scan.get()) {
            (Some(outline), None) => {
                outline.sessions.iter().map(|ticks| ticks.start..ticks.end).collect()
            }
            _ => self.scan().sessions.iter().map(|session| session.start..session.end).collect(),
        }
    }

    /// The streams; those that only the whole file tells of join when it was gone through.
    pub(crate) fn catalog(&self) -> &Arc<Catalog> {
        match (&self.outline, self.scan.get()) {
            (Some(outline), None) => &outline.catalog,
            _ => &self.scan().catalog,
        }
    }

    /// The clock of each stream.
    pub(crate) fn clocks(&self) -> &[Option<usize>] {
        match (&self.outline, self.scan.get()) {
            (Some(outline), None) => &outline.clocks,
            _ => &self.scan().clocks,
        }
    }

    /// Every stream of every session.
    #[must_use]
    pub fn streams(&self) -> &[Stream] {
        &self.catalog().streams
    }

    /// A stream by its session and id.
    #[must_use]
    pub fn find(&self, session: usize, id: u32) -> Option<&Stream> {
        self.streams().get(*self.catalog().by_id.get(&(session, id))?)
    }

    /// The last message of a stream, given as an index into [`streams`](Self::streams).
    ///
    /// Looks at a few units, unless something is wrong with the file.
    #[must_use]
    pub fn last(self: &Arc<Self>, stream: usize) -> Option<OwnedMessage> {
        let sought = self.seek(stream, |seeker| seeker.last(stream));
        sought.unwrap_or_else(|_| {
            let mut messages = self.messages();
            let mut last = None;
            while let Some(found) = messages.advance() {
                if found.stream() == stream {
                    last = Some(OwnedMessage::from_message(&messages.message(&found)));
                }
            }
            last
        })
    }

    /// The first message of a stream at a time on its clock, or later. Trusts that clocks rise,
    /// but for those whose `rises` is false.
    ///
    /// Looks at a few units, unless something is wrong with the file.
    ///
    /// ```
    /// use kymo_model::timeline::TimeNs;
    /// use kymo_core::{Context, Source};
    /// use kymo_rtc::Reader;
    /// use kymo_rtc_wire::meta::StreamMeta;
    /// use kymo_rtc_wire::write::{Options, Writer};
    ///
    /// let mut writer = Writer::new(Vec::new(), Options::new());
    /// let clock = StreamMeta::new("clock").length(8).format("uint64le").number("gain", 1e-3)?;
    /// let clock = writer.add(&clock.flag("clock", true)?)?;
    /// let level = StreamMeta::new("level").format("uint8").text("clock", "clock")?;
    /// let level = writer.add(&level)?;
    /// for milliseconds in 0..100_u8 {
    ///     writer.write(clock, &u64::from(milliseconds).to_le_bytes())?;
    ///     writer.write(level, &[milliseconds])?;
    /// }
    /// let source = Source::from_bytes("tank.rtc", writer.finish()?);
    /// let reader = Reader::open(&source, &Context::default())?;
    /// let found = reader.first_from(1, TimeNs(41_500_000)).expect("there are later ones");
    /// assert_eq!((found.payload, found.time), (vec![42], Some(TimeNs(42_000_000))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn first_from(self: &Arc<Self>, stream: usize, time: TimeNs) -> Option<OwnedMessage> {
        let sought = self.seek(stream, |seeker| seeker.first(stream, time));
        sought.unwrap_or_else(|_| {
            let mut messages = self.messages();
            while let Some(found) = messages.advance() {
                let message = messages.message(&found);
                if message.stream == stream && message.time.is_some_and(|at| at >= time) {
                    return Some(OwnedMessage::from_message(&message));
                }
            }
            None
        })
    }

    /// Looks for something in the session of a stream.
    pub(crate) fn seek<T>(
        &self,
        stream: usize,
        look: impl FnOnce(&mut Seeker<'_>) -> Certain<T>,
    ) -> Certain<T> {
        let outline = self.outline.as_ref().ok_or(Uncertain)?;
        look(&mut Seeker::new(self.view(), outline, &self.limits, stream)?)
    }

    /// Every message in the order of the file: of those that overlap, first the one that ends
    /// first.
    #[must_use]
    pub fn messages(self: &Arc<Self>) -> Messages {
        Messages::new(Arc::clone(self))
    }

    /// Decodes a message of this file.
    #[must_use]
    pub fn decode(&self, message: &Message<'_>) -> DecodedPayload {
        match self.streams().get(message.stream) {
            Some(stream) => self.decode_payload(message.payload, stream),
            None => DecodedPayload { value: message.payload.to_vec().into(), fault: None },
        }
    }

    pub(crate) fn decode_payload(&self, payload: &[u8], stream: &Stream) -> DecodedPayload {
        decode::decode(payload, stream, self.endian(stream.session), &self.decoders)
    }

    /// Returns true if a clock's times count from the Epoch.
    pub(crate) fn is_since_epoch(&self, clock: usize) -> bool {
        let root = root_of(clock, |clock| self.clocks().get(clock).copied().flatten());
        self.streams().get(root).is_some_and(Stream::is_since_epoch)
    }

    /// Returns the latest possible time of a message without a time: the first setting of what its
    /// clock counts from, which comes after it. Returns `None` where that may go back.
    pub(crate) fn not_after(&self, stream: usize, offset: u64) -> Option<TimeNs> {
        let clock_of = |stream: usize| self.clocks().get(stream).copied().flatten();
        let root = root_of(clock_of(stream)?, clock_of);
        let is_rising = self.streams().get(root).is_some_and(|stream| !stream.may_go_back());
        let (at, time) = self.scan().statistics.get(root).filter(|_| is_rising)?.first_time?;
        (offset < at).then_some(time)
    }

    /// The byte order of a session's writer.
    pub(crate) fn endian(&self, session: usize) -> Endian {
        let endian = match (&self.outline, self.scan.get()) {
            (Some(outline), None) => outline.sessions.get(session).and_then(|ticks| ticks.endian),
            _ => self.scan().sessions.get(session).and_then(|session| session.endian),
        };
        endian.unwrap_or(Endian::Little)
    }
}
