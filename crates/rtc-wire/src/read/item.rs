//! Items that a walk gives.

use crate::crc::Polynomial;

use super::{Ruler, View};

/// More bytes are needed to go on: at least those before this position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeedMore(pub u64);

/// One step of the walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// A Unit begins, or what is left of one.
    Unit(Unit),
    /// A frame, of whichever kind.
    Frame(Frame),
    /// Statement of the Crc frame that was just given about its Unit.
    Checksum(Checksum),
    /// Bytes that were passed over.
    Damage(Damage),
    /// At this place streams were learnt from a later Unit, since what describes them is damaged:
    /// they are in [`Walker::definitions`](super::Walker::definitions).
    Streams(u64),
    /// There is nothing more.
    End,
}

/// The beginning of a Unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// Its first byte that is there.
    pub position: u64,
    /// Number of the session of the walk that it is of, from 0.
    pub session: u64,
    /// Its number in the session; unknown where the Index is damaged or missing.
    pub count: Option<u64>,
    /// Boundaries of the Unit, as far as they are known.
    pub ruler: Option<Ruler>,
}

/// A frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Offset of its header.
    pub position: u64,
    /// Its stream.
    pub id: u32,
    /// True if the next frame of the stream goes on with it.
    pub more: bool,
    /// True if it begins a message.
    pub begin: Begin,
    /// Offset at which its payload starts.
    pub payload: u64,
    /// Offset at which it ends.
    pub end: u64,
}

impl Frame {
    /// Its payload.
    #[inline]
    #[must_use]
    pub fn bytes<'a>(&self, view: &View<'a>) -> &'a [u8] {
        view.get(self.payload..self.end)
    }
}

/// True if a frame begins a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// It does.
    Start,
    /// It goes on with the frame before.
    Continuation,
    /// Frames before it were lost: it may be the rest of a message.
    Unknown,
}

/// Result for a Unit's checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checksum {
    /// Offset of the Crc frame.
    pub position: u64,
    /// The polynomial with which it holds; nothing when it does not hold.
    pub polynomial: Option<Polynomial>,
    /// It leaves out the padding and the index before it, as the first writers have it when they
    /// stop near the end of a unit.
    pub is_early: bool,
    /// Not all bytes of the Unit were there.
    pub is_unchecked: bool,
}

/// A run of bytes that could not be read, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damage {
    /// Its first byte.
    pub start: u64,
    /// Offset at which reading goes on.
    pub end: u64,
    /// Offset at which it was noticed.
    pub noticed: u64,
    /// Fault that was noticed there.
    pub why: DamageKind,
}

impl Damage {
    /// Returns true if frames may have been lost, so that what was open has no end.
    #[must_use]
    pub fn loses_frames(&self) -> bool {
        self.why != DamageKind::Marker
    }
}

/// Kind of bytes that make no sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DamageKind {
    /// A number of too many bits.
    Number,
    /// A payload longer than any frame may have.
    Length(u64),
    /// A stream that nothing defines.
    Stream(u32),
    /// The frame crosses a boundary.
    Boundary,
    /// A frame of fixed length whose `more` contradicts that length.
    More(u32),
    /// A value that is not what the format of its stream says.
    Value(u32),
    /// Padding that does not reach a boundary.
    Padding,
    /// Zeros that are no padding, as they are left where a file was not written to.
    Zeros,
    /// The header of the checksum that ends a session is damaged.
    Crc,
    /// A special frame at a place where it cannot be.
    Place(u32),
    /// There is no index where the ruler has one.
    NoIndex,
    /// There is no Marker where the ruler has one.
    NoMarker,
    /// The Marker is damaged, and the Index after it is not.
    Marker,
    /// The beginning of the Unit is missing.
    Head,
    /// It cannot be told how much is left of a message whose beginning was lost.
    Rest(u32),
    /// Nothing says what streams there are, and not all of them have a length in each frame.
    Undescribed,
    /// The bytes end within a frame.
    Cut,
    /// So many bytes are missing before this place, since the ruler goes on earlier.
    Missing(u64),
    /// So many bytes are too many before this place, since the ruler goes on later.
    TooMany(u64),
    /// There is no Marker at all.
    Nothing,
}

impl core::fmt::Display for DamageKind {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Number => f.write_str("a number of too many bits"),
            Self::Length(length) => write!(f, "a payload of {length} bytes, and 1024 is the most"),
            Self::Stream(id) => write!(f, "a frame of stream {id}, which nothing defines"),
            Self::Boundary => f.write_str("a frame crosses a boundary of the ruler"),
            Self::More(id) => {
                write!(f, "a frame of stream {id} whose `more` contradicts the fixed length")
            }
            Self::Value(id) => {
                write!(f, "a frame of stream {id} whose value is not of the stream's format")
            }
            Self::Padding => f.write_str("padding that does not reach a boundary"),
            Self::Crc => f.write_str("the header of a checksum is damaged"),
            Self::Zeros => f.write_str("zeros where no padding can be, as after a loss of power"),
            Self::Place(id) => write!(f, "a special frame (id {id}) where none can be"),
            Self::NoIndex => f.write_str("there is no index where the ruler has one"),
            Self::NoMarker => f.write_str("there is no Marker where the ruler has one"),
            Self::Marker => f.write_str("the Marker is damaged"),
            Self::Head => f.write_str("the beginning of the Unit is missing"),
            Self::Rest(id) => {
                write!(f, "how much is left of a message of stream {id} cannot be told")
            }
            Self::Undescribed => f.write_str("no Meta says how long the frames of a unit are"),
            Self::Cut => f.write_str("the bytes end within a frame"),
            Self::Missing(1) => f.write_str("a byte is missing before this place"),
            Self::Missing(bytes) => write!(f, "{bytes} bytes are missing before this place"),
            Self::TooMany(1) => f.write_str("there is a byte too many before this place"),
            Self::TooMany(bytes) => write!(f, "{bytes} bytes too many are before this place"),
            Self::Nothing => f.write_str("there is no Marker and no index to read frames from"),
        }
    }
}
