//! What metadata describes: clocks, streams, events, and the types of their fields.

use std::collections::BTreeMap;
use std::sync::Arc;

use kymo_core::bytes::Endian;

/// All that metadata says of a trace.
#[derive(Debug, Clone)]
pub struct Trace {
    /// Major and minor version: 1 and 8.
    pub version: (u64, u64),
    /// The byte order of integers that do not say otherwise.
    pub byte_order: Endian,
    /// What is the same in the metadata and in every packet.
    pub uuid: Option<[u8; 16]>,
    /// What the tracer says of the system: names and values as they stand there.
    pub environment: Vec<(String, Constant)>,
    /// What gives times.
    pub clocks: Vec<Clock>,
    /// What every packet begins with.
    pub packet_header: Option<Arc<Type>>,
    /// Kinds of streams by id.
    pub streams: BTreeMap<u64, Stream>,
}

/// What gives times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clock {
    /// Its name: `monotonic`.
    pub name: String,
    /// Ticks in a second; none where the metadata gives no number of them that there can be.
    pub frequency: u64,
    /// Seconds to add, and ticks to add, to get to its origin.
    pub offset: (i64, i64),
    /// It says that its origin is the Epoch.
    pub is_absolute: bool,
}

impl Clock {
    /// Whether its times count from the Epoch. Tracers that know say so by an offset.
    #[must_use]
    pub fn since_epoch(&self) -> bool {
        self.is_absolute || self.offset != (0, 0)
    }

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
    /// What follows the header of a packet.
    pub packet_context: Option<Arc<Type>>,
    /// What every event begins with.
    pub event_header: Option<Arc<Type>>,
    /// What follows it.
    pub event_context: Option<Arc<Type>>,
    /// Kinds of events by id.
    pub events: BTreeMap<u64, Event>,
}

/// A kind of event.
#[derive(Debug, Clone, Default)]
pub struct Event {
    /// Its name: `sched_switch`.
    pub name: String,
    /// What stands before its fields.
    pub context: Option<Arc<Type>>,
    /// Its fields.
    pub fields: Option<Arc<Type>>,
}

/// A type of the metadata.
#[derive(Debug, Clone)]
pub struct Type {
    /// What it is.
    pub kind: Kind,
    /// How deeply types are nested in it.
    pub depth: u32,
}

/// What a type is.
#[derive(Debug, Clone)]
pub enum Kind {
    /// An integer.
    Integer(Integer),
    /// A number of IEEE 754.
    Float(Float),
    /// Bytes up to a zero.
    Text,
    /// An integer whose values have names.
    Enumeration(Integer, Arc<[Label]>),
    /// So many of one type.
    Array(Arc<Type>, Length),
    /// One field after another, aligned to so many bits at least.
    Struct(u64, Vec<Field>),
    /// One of several, by the name that another field has.
    Variant(Option<Path>, Arc<[Field]>),
}

/// A named field.
#[derive(Debug, Clone)]
pub struct Field {
    /// Its name as the metadata has it.
    pub name: Arc<str>,
    /// Its type.
    pub kind: Arc<Type>,
}

/// Names that lead to a field: `stream.event.header.id`.
pub type Path = Arc<[Arc<str>]>;

/// How long an array is.
#[derive(Debug, Clone)]
pub enum Length {
    /// Always the same.
    Fixed(u64),
    /// What another field says.
    Field(Path),
}

/// An integer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Integer {
    /// How many bits, 1 to 64.
    pub bits: u32,
    /// What its place is a multiple of, in bits.
    pub align: u64,
    /// Whether it can be negative.
    pub is_signed: bool,
    /// Its byte order.
    pub order: Endian,
    /// What it is shown in: 2, 8, 10 or 16.
    pub base: u32,
    /// It is a character.
    pub is_text: bool,
    /// The clock that it sets, by its name.
    pub clock: Option<Arc<str>>,
}

/// A number of IEEE 754, with 32 or 64 bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Float {
    /// Whether it has 64 bits.
    pub is_double: bool,
    /// What its place is a multiple of, in bits.
    pub align: u64,
    /// Its byte order.
    pub order: Endian,
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
