//! Content of metadata: clocks, streams, events, and the types of their fields.

use std::collections::BTreeMap;
use std::sync::Arc;

use kymo_core::bytes::Endian;

/// All that metadata says of a trace.
#[derive(Debug, Clone)]
pub struct Trace {
    /// Major and minor version: 1 and 8, or 2 and 0.
    pub version: (u64, u64),
    /// The byte order of integers that do not say otherwise; in version 2 all say it.
    pub byte_order: Option<Endian>,
    /// UUID, the same in the metadata and in every packet.
    pub uuid: Option<[u8; 16]>,
    /// Description of the system by the tracer: names and values as they stand there.
    pub environment: Vec<(String, Constant)>,
    /// Clocks that give times.
    pub clocks: Vec<Clock>,
    /// Type of the first part of every packet.
    pub packet_header: Option<Arc<Type>>,
    /// Kinds of streams by id.
    pub streams: BTreeMap<u64, Stream>,
}

impl Trace {
    /// Returns true if tracers put a line before names of fields, so that they are no words of the
    /// language. In version 2 there are no such words, and names are what they are.
    #[must_use]
    pub fn has_lines(&self) -> bool {
        self.version.0 < 2
    }
}

/// Clock that gives times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clock {
    /// Its name: `monotonic`.
    pub name: String,
    /// Ticks in a second; none where the metadata gives no number of them that there can be.
    pub frequency: u64,
    /// Seconds to add, and ticks to add, to get to its origin.
    pub offset: (i64, i64),
    /// True if its times count from the Epoch.
    pub since_epoch: bool,
}

impl Clock {
    /// Nanoseconds since its origin, where 64 bits hold them and it is known how fast it ticks.
    #[must_use]
    #[inline]
    pub fn nanoseconds(&self, ticks: u64) -> Option<i64> {
        let seconds = self.offset.0.checked_mul(1_000_000_000);
        let origin = seconds.and_then(|ns| ns.checked_add(self.offset.1));
        let plain = origin.zip(i64::try_from(ticks).ok());
        let plain = plain.and_then(|(origin, ticks)| origin.checked_add(ticks));
        match (self.frequency, plain) {
            (1_000_000_000, Some(ns)) => Some(ns),
            _ => self.scaled(ticks),
        }
    }

    /// The same for clocks of any frequency.
    #[inline(never)]
    fn scaled(&self, ticks: u64) -> Option<i64> {
        let ticks = i128::from(ticks) + i128::from(self.offset.1);
        let fraction = (ticks * 1_000_000_000).checked_div_euclid(self.frequency.into())?;
        i64::try_from(i128::from(self.offset.0) * 1_000_000_000 + fraction).ok()
    }
}

/// A kind of stream.
#[derive(Debug, Clone, Default)]
pub struct Stream {
    /// Type of the part after the header of a packet.
    pub packet_context: Option<Arc<Type>>,
    /// Type of the first part of every event.
    pub event_header: Option<Arc<Type>>,
    /// Type of the part after the event header.
    pub event_context: Option<Arc<Type>>,
    /// Kinds of events by id.
    pub events: BTreeMap<u64, Event>,
    /// The clock that fields with the role of a time set, by its place.
    pub clock: Option<usize>,
    /// Offset at which the metadata describes it.
    pub offset: u64,
}

/// A kind of event.
#[derive(Debug, Clone, Default)]
pub struct Event {
    /// Its name: `sched_switch`.
    pub name: String,
    /// Type of the part before its fields.
    pub context: Option<Arc<Type>>,
    /// Its fields.
    pub fields: Option<Arc<Type>>,
    /// Offset at which the metadata describes it.
    pub offset: u64,
}

/// A type of the metadata.
#[derive(Debug, Clone)]
pub struct Type {
    /// Kind of the type.
    pub kind: Kind,
    /// Depth of types nested in it.
    pub depth: u32,
}

/// Kind of a type.
#[derive(Debug, Clone)]
pub enum Kind {
    /// An integer.
    Integer(Integer),
    /// True if an integer is another than 0.
    Boolean(Integer),
    /// An integer whose bits have names.
    BitMap(Integer, Arc<[Flag]>),
    /// A number of IEEE 754.
    Float(Float),
    /// Bytes up to a zero.
    Text,
    /// Text whose units are wider than a byte: so many bytes of it, or up to a zero.
    Wide(Encoding, Option<Length>),
    /// So many bytes; whether they are the UUID of the metadata.
    Blob(Length, bool),
    /// An integer whose values have names.
    Enumeration(Integer, Arc<[Label]>),
    /// So many of one type, aligned to so many bits at least.
    Array(Arc<Type>, Length, u64),
    /// One field after another, aligned to so many bits at least.
    Struct(u64, Vec<Field>),
    /// One of several, by the name that another field has.
    Variant(Option<Path>, Arc<[Field]>),
    /// One of several, by the value that another field has.
    Choice(Location, Arc<[Case]>),
    /// There where another field is true, or has one of these values.
    Optional(Location, Option<Ranges>, Arc<Type>),
}

/// A named field.
#[derive(Debug, Clone)]
pub struct Field {
    /// Its name as the metadata has it.
    pub name: Arc<str>,
    /// Its type.
    pub kind: Arc<Type>,
}

/// Content of a variant when the value that it depends on is in one of some ranges.
#[derive(Debug, Clone)]
pub struct Case {
    /// Its name and type.
    pub field: Field,
    /// The ranges.
    pub ranges: Ranges,
}

/// Values, each from one to another.
pub type Ranges = Arc<[(i128, i128)]>;

/// Names that lead to a field: `stream.event.header.id`.
pub type Path = Arc<[Arc<str>]>;

/// The place of a field that another depends on, as version 2 tells it.
#[derive(Debug, Clone)]
pub struct Location {
    /// Origin from which the path begins, or else the structure that has the field that depends.
    pub origin: Option<Origin>,
    /// Number of structures further out.
    pub out: usize,
    /// The names of members from there on.
    pub path: Path,
}

/// A structure of a packet or an event, in the order in which they come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The header of a packet.
    PacketHeader,
    /// Its context.
    PacketContext,
    /// The header of an event.
    EventHeader,
    /// The context that all events of a stream have.
    CommonContext,
    /// Specific context of the event.
    SpecificContext,
    /// Its fields.
    Payload,
}

/// Length of an array.
#[derive(Debug, Clone)]
pub enum Length {
    /// Always the same.
    Fixed(u64),
    /// Value of another field, by names.
    Field(Path),
    /// Value of another field, by its place.
    At(Location),
}

/// Encoding of text whose units are wider than a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Units of two bytes.
    Utf16(Endian),
    /// Units of four bytes.
    Utf32(Endian),
}

impl Encoding {
    /// The bytes of a unit.
    #[must_use]
    pub fn unit(self) -> usize {
        match self {
            Self::Utf16(_) => 2,
            Self::Utf32(_) => 4,
        }
    }
}

/// Layout of the bits of an integer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Coding {
    /// As many as it says, in the order that its byte order has.
    #[default]
    Fixed,
    /// The same, in the other order.
    Reversed,
    /// As LEB128 has them: seven in each byte, and one that says whether another follows.
    Variable,
}

/// Role in which a field is understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Role {
    /// Magic number that every packet begins with.
    Magic,
    /// The kind of stream.
    StreamId,
    /// The bits of a packet.
    PacketSize,
    /// Those of them that are content.
    ContentSize,
    /// The clock, when a packet begins or an event happens.
    Timestamp,
    /// The clock, when a packet ends.
    TimestampEnd,
    /// Number of events that were lost so far.
    EventsDiscarded,
    /// The number of a packet.
    PacketSeqNum,
    /// The kind of event.
    EventId,
    /// The processor that a packet was written on.
    CpuId,
}

impl Role {
    /// Number of roles.
    pub(crate) const COUNT: usize = Self::CpuId as usize + 1;
}

/// Roles in which a field is understood; some fields have several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Roles(u16);

impl Roles {
    /// Returns true if one of them is among these.
    #[must_use]
    pub fn contains(self, role: Role) -> bool {
        self.0 & (1 << role as u16) != 0
    }

    /// Adds one.
    pub fn insert(&mut self, role: Role) {
        self.0 |= 1 << role as u16;
    }
}

/// An integer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Integer {
    /// Number of bits, 1 to 64.
    pub bits: u32,
    /// Alignment of its place, in bits.
    pub align: u64,
    /// True if it can be negative.
    pub is_signed: bool,
    /// Its byte order.
    pub order: Endian,
    /// Base in which it is shown: 2, 8, 10 or 16.
    pub base: u32,
    /// It is a character.
    pub is_text: bool,
    /// The clock that it sets, by its name.
    pub clock: Option<Arc<str>>,
    /// Layout of its bits.
    pub coding: Coding,
    /// Roles in which it is understood, where the metadata gives them.
    pub roles: Roles,
}

impl Integer {
    /// Returns true if its bits are always as many, and in the order that its byte order has.
    pub(crate) fn is_plain(&self) -> bool {
        self.coding == Coding::Fixed
    }
}

/// A number of IEEE 754.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Float {
    /// Its bits: 16, 32 or 64.
    pub bits: u32,
    /// Alignment of its place, in bits.
    pub align: u64,
    /// Its byte order.
    pub order: Endian,
    /// True if its bits are in the other order than its byte order has.
    pub is_reversed: bool,
}

/// A name for some bits of an integer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// The name.
    pub name: Arc<str>,
    /// The bits; it holds where one of them is set.
    pub mask: u64,
}

/// A name for some values of an enumeration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The name.
    pub name: Arc<str>,
    /// The first value.
    pub first: i128,
    /// The last value.
    pub last: i128,
}

/// A value that metadata gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Constant {
    /// A number.
    Number(i128),
    /// A text, or names with points between them.
    Text(String),
}

impl std::fmt::Display for Constant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}
