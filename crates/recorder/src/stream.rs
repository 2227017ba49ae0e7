//! Streams: what they are told to be, and the handles that values are written with.

use std::marker::PhantomData;

use kymo_rtc_wire::meta::{MetaError, StreamMeta};
use kymo_rtc_wire::write::StreamId;

use crate::clock::Clock;
use crate::format::Format;

/// A stream of a recorder that takes values of format `F`: a small number, to be copied freely.
#[derive(Debug)]
pub struct Stream<F> {
    pub(crate) id: StreamId,
    pub(crate) clock: Option<Clock>,
    format: PhantomData<fn() -> F>,
}

impl<F> Stream<F> {
    pub(crate) fn new(id: StreamId, clock: Option<Clock>) -> Self {
        Self { id, clock, format: PhantomData }
    }

    /// The id that stands in the file.
    #[must_use]
    pub fn id(self) -> u32 {
        self.id.id()
    }
}

impl<F> Clone for Stream<F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for Stream<F> {}

/// Options of a new stream: its name, its clock, and attributes that readers are given.
///
/// A mistake in an attribute is told when the stream is added.
#[derive(Debug, Clone)]
pub struct StreamOptions {
    meta: Result<StreamMeta, MetaError>,
    clock: Option<Clock>,
}

impl StreamOptions {
    /// A stream without a clock.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { meta: Ok(StreamMeta::new(name)), clock: None }
    }

    /// The clock by which the stream's values are dated.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Sets the factor by which readers multiply values.
    #[must_use]
    pub fn gain(self, gain: f64) -> Self {
        self.number("gain", gain)
    }

    /// Sets the number that readers add to values, after `gain`.
    #[must_use]
    pub fn offset(self, offset: f64) -> Self {
        self.number("offset", offset)
    }

    /// The stream is one run of bytes without borders between messages, such as standard output.
    #[must_use]
    pub fn cont(self) -> Self {
        self.map_meta(|meta| Ok(meta.cont(true)))
    }

    /// Left out of indices: for what nobody searches by time.
    #[must_use]
    pub fn hidden(self) -> Self {
        self.map_meta(|meta| Ok(meta.hidden(true)))
    }

    /// An attribute that is text.
    #[must_use]
    pub fn text(self, key: &str, value: &str) -> Self {
        self.map_meta(|meta| meta.text(key, value))
    }

    /// An attribute that is a number.
    #[must_use]
    pub fn number(self, key: &str, value: f64) -> Self {
        self.map_meta(|meta| meta.number(key, value))
    }

    /// An attribute that is true or false.
    #[must_use]
    pub fn flag(self, key: &str, value: bool) -> Self {
        self.map_meta(|meta| meta.flag(key, value))
    }

    /// Every attribute of a JSON object.
    #[must_use]
    pub fn object(self, json: &str) -> Self {
        self.map_meta(|meta| meta.object(json))
    }

    /// A format with a name of its own, for streams of [`Raw`](crate::format::Raw), with the bytes
    /// of each message if that is fixed.
    #[must_use]
    pub(crate) fn format(self, format: &str, length: Option<u64>) -> Self {
        self.map_meta(|meta| {
            let meta = meta.format(format);
            Ok(length.into_iter().fold(meta, StreamMeta::length))
        })
    }

    /// Sets what the format `F` prescribes.
    pub(crate) fn for_format<F: Format>(self) -> Self {
        self.format(&F::name(), F::LENGTH)
    }

    pub(crate) fn name(&self) -> &str {
        self.meta.as_ref().map_or("", StreamMeta::name)
    }

    pub(crate) fn chosen_clock(&self) -> Option<Clock> {
        self.clock
    }

    pub(crate) fn into_meta(self) -> Result<StreamMeta, MetaError> {
        self.meta
    }

    fn map_meta(
        mut self,
        change: impl FnOnce(StreamMeta) -> Result<StreamMeta, MetaError>,
    ) -> Self {
        self.meta = self.meta.and_then(change);
        self
    }
}

impl From<&str> for StreamOptions {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}
