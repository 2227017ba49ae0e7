//! Types that readers return: streams, sessions, Units and messages.

use kymo_core::bytes::Endian;
use kymo_model::timeline::TimeNs;
use kymo_rtc_wire::crc::Polynomial;
use kymo_rtc_wire::read::{Declared, Definition, Ruler};
use serde_json::{Map, Value as Json};

use crate::decode::{Encoding, Scale};

/// A stream of a session.
#[derive(Debug, Clone)]
pub struct Stream {
    /// Number of the session that it is of.
    pub session: usize,
    /// Its id in the file.
    pub id: u32,
    /// Its name; where the file does not tell, its id.
    pub name: String,
    /// The bytes of every message, where that is fixed.
    pub length_bytes: Option<u64>,
    /// True if it is a run of bytes without borders between messages.
    pub is_cont: bool,
    /// The name of its format.
    pub format: String,
    /// Role of the stream in time.
    pub clock: ClockRole,
    /// The stream that its annotations are about.
    pub about: Option<String>,
    /// Everything else that the file says of it.
    pub attributes: Map<String, Json>,
    /// Offset at which it was first defined.
    pub offset: u64,
    /// True if its definition was read whole.
    pub is_whole: bool,
    /// True if it is described and left out of every Index; known when all of the file was read.
    pub is_hidden: bool,
    pub(crate) encoding: Encoding,
    pub(crate) scale: Option<Scale>,
}

/// Role of a stream in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClockRole {
    /// Nothing.
    None,
    /// It is a clock.
    Clock,
    /// It is a clock that counts from what another shows.
    Delta(String),
    /// Its messages happen when this clock says.
    On(String),
}

impl Stream {
    /// Reads a definition.
    pub(crate) fn new(session: usize, offset: u64, definition: &Definition) -> Self {
        let text = definition.text.as_str();
        let parsed = serde_json::from_str(text).ok().or_else(|| json5::from_str(text).ok());
        let is_whole = definition.is_whole && parsed.is_some();
        let mut attributes: Map<String, Json> = parsed.unwrap_or_default();
        attributes.shift_remove("id");
        attributes.shift_remove("length");
        let mut text_of = |key: &str| match attributes.shift_remove(key) {
            Some(Json::String(text)) => Some(text),
            _ => None,
        };
        let name = text_of("name").unwrap_or_else(|| definition.id.to_string());
        let format = text_of("format").or_else(|| text_of("type"));
        let format = format.unwrap_or_else(|| "raw".into());
        let about = text_of("stream");
        let is_cont = attributes.shift_remove("cont").is_some_and(|cont| cont == Json::Bool(true));
        let length_bytes = match definition.length {
            Declared::Fixed(bytes) => Some(bytes),
            Declared::Variable | Declared::Unproven => None,
        };
        let scale = Scale::from_attributes(&attributes);
        let clock = ClockRole::from_attributes(&attributes);
        let encoding = Encoding::from_format(&format);
        Self {
            session,
            id: definition.id,
            name,
            length_bytes,
            is_cont,
            format,
            clock,
            about,
            attributes,
            offset,
            is_whole,
            is_hidden: false,
            encoding,
            scale,
        }
    }

    /// A stream whose definition is missing.
    pub(crate) fn undescribed(session: usize, offset: u64, id: u32) -> Self {
        let text = format!("{{\"id\":{id}}}");
        let length = Declared::Variable;
        let (is_whole, is_proven) = (false, false);
        Self::new(session, offset, &Definition { id, length, text, is_whole, is_proven })
    }

    /// Returns true if it is a clock.
    #[must_use]
    pub fn is_clock(&self) -> bool {
        matches!(self.clock, ClockRole::Clock | ClockRole::Delta(_))
    }

    /// Returns true if its file says that this clock may go back, as that of a repaired file does:
    /// `rises` is false. Else clocks rise.
    #[must_use]
    pub fn may_go_back(&self) -> bool {
        self.attributes.get("rises") == Some(&Json::Bool(false))
    }

    /// Returns true if its messages are remarks about moments.
    #[must_use]
    pub fn is_annotation(&self) -> bool {
        matches!(self.encoding, Encoding::Annotate(_))
    }

    /// Returns true if the times of a clock that counts from no other are since the Epoch: those of
    /// a `timespec`, or of a counter whose `offset` is known.
    pub(crate) fn is_since_epoch(&self) -> bool {
        let has_offset = || self.scale.as_ref().is_some_and(Scale::has_offset);
        self.clock == ClockRole::Clock && (self.encoding == Encoding::Timespec || has_offset())
    }
}

/// Greatest number of clocks that may count from one another.
pub(crate) const CLOCKS_MAX: usize = 8;

/// The clock from which a clock counts in the end, by that under each.
pub(crate) fn root_of(clock: usize, mut base_of: impl FnMut(usize) -> Option<usize>) -> usize {
    let clocks = std::iter::successors(Some(clock), |clock| base_of(*clock));
    clocks.take(CLOCKS_MAX + 1).last().unwrap_or(clock)
}

impl ClockRole {
    fn from_attributes(attributes: &Map<String, Json>) -> Self {
        match (attributes.get("clock"), attributes.get("delta")) {
            (Some(Json::Bool(true)), Some(Json::String(base))) => Self::Delta(base.clone()),
            (Some(Json::Bool(true)), _) => Self::Clock,
            (Some(Json::String(clock)), _) => Self::On(clock.clone()),
            _ => Self::None,
        }
    }
}

/// One run of a ruler in a file.
#[derive(Debug, Clone)]
pub struct Session {
    /// Its first byte that is there.
    pub start: u64,
    /// Offset at which it ends.
    pub end: u64,
    /// The number of its first Unit that is there.
    pub first_count: Option<u64>,
    /// Ruler that gives its boundaries.
    pub ruler: Option<Ruler>,
    /// The byte order of its writer, where a platform frame tells.
    pub endian: Option<Endian>,
    /// The checksum of its Units; nothing where whole Units have none.
    pub crc: Option<Polynomial>,
    /// True if its last Unit has a checksum, with which a writer ends a session.
    pub is_ended: bool,
}

/// One Unit, or what is left of it.
#[derive(Debug, Clone)]
pub struct Unit {
    /// Number of the session that it is of.
    pub session: usize,
    /// Its first byte that is there.
    pub offset: u64,
    /// Offset at which it ends.
    pub end: u64,
    /// Its number in the session.
    pub count: Option<u64>,
    /// Its frames that could be read.
    pub frames: u64,
    /// Bytes that could not be read.
    pub lost_bytes: u64,
    /// Result for its checksum.
    pub checksum: UnitChecksum,
}

/// Result for a Unit's checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitChecksum {
    /// There is none.
    Absent,
    /// It holds.
    Holds(Polynomial),
    /// It holds for all but the padding and index before it.
    HoldsEarly(Polynomial),
    /// It does not hold.
    Wrong,
    /// The Unit is not all there.
    Unchecked,
}

impl UnitChecksum {
    /// Returns true if there is one and it is right.
    #[must_use]
    pub fn holds(self) -> bool {
        matches!(self, Self::Holds(_) | Self::HoldsEarly(_))
    }

    /// The word for it in listings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Holds(_) => "holds",
            Self::HoldsEarly(_) => "holds but for the last padding and index",
            Self::Wrong => "wrong",
            Self::Unchecked => "not checked",
        }
    }
}

/// A message that was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedMessage {
    /// The stream, as an index into those of the reader.
    pub stream: usize,
    /// Offset of its first frame.
    pub offset: u64,
    /// Time at which it happened, on its stream's clock.
    pub time: Option<TimeNs>,
    /// Its bytes.
    pub payload: Vec<u8>,
}

impl OwnedMessage {
    /// Keeps a message.
    pub(crate) fn from_message(message: &Message<'_>) -> Self {
        let Message { stream, offset, time, payload, .. } = *message;
        Self { stream, offset, time, payload: payload.to_vec() }
    }

    /// The message, for [`Reader::decode`](crate::Reader::decode).
    #[must_use]
    pub fn as_message(&self) -> Message<'_> {
        let Self { stream, offset, time, ref payload } = *self;
        Message { stream, offset, time, relative: None, payload, may_lack_beginning: false }
    }
}

/// One message of a stream.
#[derive(Debug, Clone)]
pub struct Message<'a> {
    /// The stream, as an index into those of the reader.
    pub stream: usize,
    /// Offset of its first frame.
    pub offset: u64,
    /// Time at which it happened, on its stream's clock.
    pub time: Option<TimeNs>,
    /// Duration from what its clock counts from to the message, where the time is not known since
    /// that was lost.
    pub relative: Option<TimeNs>,
    /// Its bytes.
    pub payload: &'a [u8],
    /// Its beginning may be missing: frames before it were lost.
    pub may_lack_beginning: bool,
}
