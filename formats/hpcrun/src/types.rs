//! Types that readers return and writers take. Names are those of the description.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use kymo_core::bytes::Endian;

use crate::read::{Nodes, Values};
use crate::spec;

/// A string as it is in the file: UTF-8 as a rule, any bytes if need be.
#[derive(Clone, PartialEq, Eq, Default, PartialOrd, Ord, Hash)]
pub struct Str(pub Vec<u8>);

impl Str {
    /// As text; what is no UTF-8 is replaced.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }
}

impl From<&str> for Str {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<String> for Str {
    fn from(text: String) -> Self {
        Self(text.into_bytes())
    }
}

impl fmt::Display for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl fmt::Debug for Str {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text(), f)
    }
}

/// A name and a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NvPair {
    /// Its first byte.
    pub offset: u64,
    /// Name of the pair: `program-name`.
    pub name: Str,
    /// Its value, always text.
    pub value: Str,
}

impl NvPair {
    /// A pair of texts.
    pub fn new(name: impl Into<Str>, value: impl Into<Str>) -> Self {
        Self { offset: 0, name: name.into(), value: value.into() }
    }
}

/// The layouts a profile can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// The description's 02.00, which a writer of 2009 came close to.
    Described,
    /// The epoch format that was shipped as 02.00.
    Shipped0200,
    /// A development version between the other two that were shipped.
    Shipped0300,
    /// The sparse format that is shipped today.
    Shipped0400,
}

impl Dialect {
    /// The text of the version in the magic.
    #[must_use]
    pub fn version(self) -> &'static str {
        match self {
            Self::Described | Self::Shipped0200 => "02.00",
            Self::Shipped0300 => "03.00",
            Self::Shipped0400 => "04.00",
        }
    }

    /// Returns the name for a person.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Described => "02.00 as described",
            Self::Shipped0200 => "02.00b",
            Self::Shipped0300 => "03.00b",
            Self::Shipped0400 => "04.00b",
        }
    }

    /// The magic before the version.
    #[must_use]
    pub fn magic(self) -> &'static [u8] {
        match self {
            Self::Described => spec::MAGIC_DESCRIBED,
            _ => spec::MAGIC_PROFILE,
        }
    }
}

/// The header of a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The layout of what follows.
    pub dialect: Dialect,
    /// The byte order of all numbers.
    pub endian: Endian,
    /// Facts that the recorder gave about the process.
    pub nv: Vec<NvPair>,
}

impl Header {
    /// The value of a name.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<Cow<'_, str>> {
        value(&self.nv, name)
    }
}

pub(crate) fn value<'a>(nv: &'a [NvPair], name: &str) -> Option<Cow<'a, str>> {
    nv.iter().find(|pair| pair.name.0 == name.as_bytes()).map(|pair| pair.value.text())
}

/// The header of an epoch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EpochHeader {
    /// Bit 0: logical unwinding was on. The others are reserved, and kept.
    pub flags: u64,
    /// Distance of a return address behind the call instruction.
    pub ra_distance: u32,
    /// The size of the buckets that addresses were put in; 1 is exact.
    pub granularity: u64,
    /// Other facts that the recorder gave.
    pub nv: Vec<NvPair>,
}

impl EpochHeader {
    /// Returns true if nodes have LUSH fields.
    #[must_use]
    pub fn is_lush(&self) -> bool {
        self.flags & spec::EPOCH_LUSH != 0
    }
}

/// Data measured with one set of load modules: a whole profile except in old files.
#[derive(Debug, Clone)]
pub struct Epoch {
    /// Offset in the file at which it begins.
    pub offset: u64,
    /// Its header; 04.00b has none.
    pub header: Option<EpochHeader>,
    /// The metrics; their ids count from 0.
    pub metrics: Vec<Metric>,
    /// The load modules.
    pub load_modules: LoadMap,
    /// The nodes of the calling-context tree.
    pub nodes: Nodes,
    /// The values of metrics at nodes.
    pub values: Values,
}

/// A metric: what was counted.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// Its first byte.
    pub offset: u64,
    /// Its name: `CPUTIME (sec)`.
    pub name: Str,
    /// Meaning of the metric; 02.00 as described has none.
    pub description: Str,
    /// Flags that tell how it is to be taken.
    pub flags: MetricFlags,
    /// Factor by which a value is to be multiplied.
    pub period: u64,
    /// Formula that computes it from others, where there is one.
    pub formula: Str,
    /// Format in which values are printed, in the manner of `printf`.
    pub format: Str,
    /// Sampling of the metric, where the layout has a place for it.
    pub sampling: Option<Sampling>,
}

impl Metric {
    /// A metric of which no more is known, whose values count as they are.
    #[must_use]
    pub fn new(name: impl Into<Str>, flags: MetricFlags) -> Self {
        let (description, formula, format) = (Str::default(), Str::default(), Str::default());
        let name = name.into();
        Self { offset: 0, name, description, flags, period: 1, formula, format, sampling: None }
    }

    /// Returns true if its values are counts or numbers of double precision, and nothing unknown.
    #[must_use]
    pub fn has_known_format(&self) -> bool {
        self.flags.fields().is_none_or(|fields| matches!(fields.value_format, 1 | 2))
    }

    /// Returns true if a formula says what it is. Such a metric has no values of its own.
    #[must_use]
    pub fn is_computed(&self) -> bool {
        !self.formula.0.is_empty()
    }
}

/// Flags that tell how a metric is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricFlags {
    /// Bits, as described.
    Described(u64),
    /// The fields of the shipped layouts, in sixteen bytes.
    Shipped([u8; 16]),
    /// Two numbers in the same bytes, the fields being bits of the first: some old files.
    Packed([u8; 16]),
}

impl MetricFlags {
    /// The flags of a raw metric that is shown, with values of double precision or counts.
    #[must_use]
    pub fn raw(is_real: bool) -> Self {
        let format = if is_real { 2 } else { 1 };
        Self::Shipped([1, 0, format, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0])
    }

    /// The sixteen bytes of a layout that was shipped. Only files before 04.00b can be packed.
    pub(crate) fn shipped(bytes: [u8; 16], dialect: Dialect) -> Self {
        let [kind, .., r0, r1, r2, r3, r4, r5, r6, r7] = bytes;
        let is_plain = matches!(kind, 1 | 2) && [r0, r1, r2, r3, r4, r5, r6, r7] == [0; 8];
        if is_plain || dialect == Dialect::Shipped0400 {
            Self::Shipped(bytes)
        } else {
            Self::Packed(bytes)
        }
    }

    /// Returns true if values are numbers of double precision; otherwise they are counts.
    #[must_use]
    pub fn is_real(self) -> bool {
        match self {
            Self::Described(bits) => bits & spec::METRIC_REAL != 0,
            _ => self.fields().is_some_and(|fields| fields.value_format == 2),
        }
    }

    /// Returns the fields in the bytes of the shipped layouts, whatever their form.
    #[must_use]
    pub fn fields(self) -> Option<MetricFields> {
        match self {
            Self::Described(_) => None,
            Self::Shipped(bytes) => Some(MetricFields::plain(bytes)),
            Self::Packed(bytes) => Some(MetricFields::packed(bytes)),
        }
    }
}

/// The fields of a shipped metric's flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricFields {
    /// 0 none, 1 raw, 2 final, 3 derived.
    pub kind: u8,
    /// 0 none, 1 inclusive, 2 exclusive.
    pub value_type: u8,
    /// 1 counts, 2 numbers of double precision.
    pub value_format: u8,
    /// True if a value belongs to the call and not to the instruction.
    pub move2proc: bool,
    /// Another metric that goes with it; always 0 in files.
    pub partner: u16,
    /// 0 hidden at first, 1 shown, 2 inclusive only, 3 exclusive only, 4 never shown.
    pub show: u8,
    /// True if percentages make sense.
    pub show_percent: bool,
}

impl MetricFields {
    fn plain(bytes: [u8; 16]) -> Self {
        let [kind, value_type, value_format, move2proc, p0, p1, show, show_percent, ..] = bytes;
        let partner = u16::from_le_bytes([p0, p1]);
        let (move2proc, show_percent) = (move2proc != 0, show_percent != 0);
        Self { kind, value_type, value_format, move2proc, partner, show, show_percent }
    }

    fn packed(bytes: [u8; 16]) -> Self {
        let [b0, b1, b2, b3, b4, b5, b6, b7, ..] = bytes;
        let first = u64::from_be_bytes([b0, b1, b2, b3, b4, b5, b6, b7]);
        let bits = |low: u32, mask: u64| (first >> low) & mask;
        let byte = |low| bits(low, 0xF).to_le_bytes()[0];
        let [p0, p1, ..] = bits(12, 0xFFFF).to_le_bytes();
        Self {
            kind: byte(0),
            value_type: byte(4),
            value_format: byte(8),
            move2proc: false,
            partner: u16::from_le_bytes([p0, p1]),
            show: bits(28, 1).to_le_bytes()[0],
            show_percent: bits(29, 1) == 1,
        }
    }
}

/// Sampling of a metric.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// True if the period was adapted to a frequency.
    pub is_frequency: u16,
    /// True if the counter shared its place with others.
    pub is_multiplexed: u16,
    /// The mean period.
    pub mean_threshold: f64,
    /// Number of samples.
    pub samples: u64,
}

/// A program or a library that was loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadModule {
    /// Its first byte.
    pub offset: u64,
    /// Number by which nodes name it; from 1. In 02.00 as described it is the place in the list.
    pub id: u32,
    /// Its path; one that is relative is below the measurement directory.
    pub path: Str,
    /// Bit 0: nodes refer to it. The others are kept.
    pub flags: u64,
    /// Place at which it was loaded, as described; the shipped layouts have addresses without that.
    pub place: Option<Place>,
}

/// The load modules of an epoch. Those of several profiles may be one in memory: threads of one
/// process have the same, as a rule, and there may be thousands of threads and of modules.
#[derive(Debug, Clone, Default)]
pub struct LoadMap(Arc<SharedLoadMap>);

#[derive(Debug, Default)]
struct SharedLoadMap {
    modules: Vec<LoadModule>,
    paths: OnceLock<Arc<[String]>>,
}

impl LoadMap {
    /// The paths of the modules as text, in their order.
    pub(crate) fn paths(&self) -> &Arc<[String]> {
        let SharedLoadMap { modules, paths } = &*self.0;
        paths.get_or_init(|| modules.iter().map(|module| module.path.to_string()).collect())
    }

    /// Returns true if it is the same one in memory.
    pub(crate) fn is_shared_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Deref for LoadMap {
    type Target = [LoadModule];

    fn deref(&self) -> &[LoadModule] {
        &self.0.modules
    }
}

impl PartialEq for LoadMap {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl From<Vec<LoadModule>> for LoadMap {
    fn from(modules: Vec<LoadModule>) -> Self {
        Self(Arc::new(SharedLoadMap { modules, paths: OnceLock::new() }))
    }
}

impl<'a> IntoIterator for &'a LoadMap {
    type Item = &'a LoadModule;
    type IntoIter = std::slice::Iter<'a, LoadModule>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Place of a module in the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The address where its image starts.
    pub load_addr: u64,
    /// The address that this byte has in the file's own address space.
    pub load_offset: u64,
}

/// A node of the calling-context tree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Node {
    /// Its identity within the process; in old layouts the absolute value of what is written.
    pub id: u32,
    /// The identity of its parent; 0 is none.
    pub parent: u32,
    /// True if it was written as a leaf, with a negative id. It may have children all the same.
    pub is_leaf: bool,
    /// True if the parent's id was written negative, because that is a leaf.
    pub parent_is_leaf: bool,
    /// Its load module, 0 for a placeholder, and as described.
    pub lm_id: u16,
    /// An address within the module, a placeholder's code, or, as described, an address in the
    /// process.
    pub ip: u64,
    /// Flags that tell how it came to be; only 04.00b since 2021-11 has them.
    pub flags: Option<u8>,
    /// Logical unwinding, where that was on.
    pub lush: Option<Lush>,
}

impl Node {
    /// Returns true if the node above is known to have called it. Of samples of GPU code it is not.
    #[must_use]
    pub fn is_called(&self) -> bool {
        self.flags.is_none_or(|flags| flags & spec::NODE_UNWOUND != 0)
    }

    /// The code of a placeholder in letters; what cannot be printed is `\` and two digits.
    #[must_use]
    pub fn placeholder(&self) -> Option<String> {
        // Old files mark their two roots with 0 and 1.
        if self.lm_id != 0 || self.ip <= 1 {
            return None;
        }
        let mut letters = String::with_capacity(8);
        for byte in self.ip.to_be_bytes() {
            if byte == b' ' || byte.is_ascii_graphic() {
                letters.push(char::from(byte));
            } else {
                let _ = write!(letters, "\\{byte:02x}");
            }
        }
        Some(letters)
    }

    /// Returns the name of a placeholder, where it has a name beside its code.
    #[must_use]
    pub fn placeholder_name(&self) -> Option<&'static str> {
        if self.lm_id != 0 {
            return None;
        }
        let code = self.ip.to_be_bytes();
        spec::PLACEHOLDERS.iter().find(|(known, _)| **known == code).map(|(_, name)| *name)
    }
}

/// The fields of logical unwinding.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lush {
    /// Low 8 bits: how frames of the two kinds are associated. High 24 bits: the path's length.
    pub assoc: u32,
    /// The logical instruction pointer.
    pub lip: Vec<u8>,
}

/// The value of a metric at a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricValue {
    /// Its first byte.
    pub offset: u64,
    /// The node.
    pub node: u32,
    /// The metric, counted from 0.
    pub metric: u16,
    /// A count, or the bits of a number of double precision, as the metric says.
    pub bits: u64,
}

/// An entry of the dictionary of id kinds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdKind {
    /// Its first byte.
    pub offset: u64,
    /// Its number.
    pub kind: u16,
    /// Its name: `THREAD`.
    pub name: Str,
}

/// One of the ids that together name a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Id {
    /// Kind of thing that it counts, and in the two highest bits the way to take it.
    pub kind: u16,
    /// Number that the system has for it.
    pub physical: u64,
    /// Number that a person would use for it.
    pub logical: u64,
}

impl Id {
    /// The kind, as the dictionary numbers it.
    #[must_use]
    pub fn kind(self) -> u16 {
        self.kind & spec::ID_KIND_MASK
    }

    /// Returns the way to take the numbers. 0: both are given. 1: the logical one is to be
    /// generated within what encloses it. 2: it is to be generated globally. 3: there is only the
    /// logical one.
    #[must_use]
    pub fn interpretation(self) -> u16 {
        self.kind >> 14
    }
}

/// Number of items that a part of a file gives for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    /// Offset at which it gives that number.
    pub offset: u64,
    /// Kind of items that it counts: "nodes".
    pub of: &'static str,
    /// Number of items; damaged files have fewer.
    pub count: u64,
}

/// Offsets of the sections of a 04.00b file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Footer {
    /// Its first byte.
    pub offset: u64,
    /// First byte and the byte after the last, of each section in the order of [`Footer::NAMES`].
    pub sections: [(u64, u64); 6],
    /// Offset at which the footer itself begins.
    pub footer_start: u64,
}

impl Footer {
    /// The sections, in the order of the footer.
    pub const NAMES: [&'static str; 6] =
        ["hdr", "loadmap", "cct", "met_tbl", "idtuple_dict", "sparse"];
}

/// One record of a trace: from this time on the thread was at this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceRecord {
    /// In the unit of the trace, since the Epoch.
    pub time: u64,
    /// The node of the profile with the same name.
    pub node: u32,
    /// A metric, in traces that are data-centric.
    pub metric: Option<u32>,
}
