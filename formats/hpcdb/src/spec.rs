//! Constants of the format: magic, footers, sizes, codes. `docs/formats/hpcdb.md` says more.

/// First bytes of every file; the format of the file follows.
pub const MAGIC: &[u8; 10] = b"HPCTOOLKIT";

/// The version that is read.
pub const MAJOR_VERSION: u8 = 4;

/// Offset of the list of sections.
pub const SECTIONS_AT: u64 = 0x10;

/// Bytes of a footer.
pub const FOOTER_BYTES: u64 = 8;

/// One of the files of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    /// Names, metrics, and the tree of contexts.
    Meta,
    /// Values by profile.
    Profile,
    /// Values by context.
    Cct,
    /// Places of each thread over time.
    Trace,
}

impl FileKind {
    /// Every file, in the order they are read.
    pub const ALL: [Self; 4] = [Self::Meta, Self::Profile, Self::Cct, Self::Trace];

    /// Its name within a database.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Meta => "meta.db",
            Self::Profile => "profile.db",
            Self::Cct => "cct.db",
            Self::Trace => "trace.db",
        }
    }

    /// Returns the bytes after the magic.
    #[must_use]
    pub fn format(self) -> &'static [u8; 4] {
        match self {
            Self::Meta => b"meta",
            Self::Profile => b"prof",
            Self::Cct => b"ctxt",
            Self::Trace => b"trce",
        }
    }

    /// Returns the last bytes of the file.
    #[must_use]
    pub fn footer(self) -> &'static [u8; 8] {
        match self {
            Self::Meta => b"_meta.db",
            Self::Profile => b"_prof.db",
            Self::Cct => b"__ctx.db",
            Self::Trace => b"trace.db",
        }
    }

    /// The sections its header lists, in order.
    #[must_use]
    pub fn sections(self) -> &'static [&'static str] {
        match self {
            Self::Meta => &[
                "General",
                "IdNames",
                "Metrics",
                "Context",
                "Strings",
                "Modules",
                "Files",
                "Functions",
            ],
            Self::Profile => &["ProfileInfos", "IdTuples"],
            Self::Cct => &["CtxInfos"],
            Self::Trace => &["CtxTraces"],
        }
    }

    /// Bytes of its header.
    #[must_use]
    pub fn header_bytes(self) -> u64 {
        SECTIONS_AT + 16 * self.sections().len() as u64
    }
}

/// Sizes of records whose stride is stored; a larger stride has fields we do not know.
pub const METRIC_BYTES: u64 = 32;
/// A metric of the drafts, with its scopes inside.
pub const DRAFT_METRIC_BYTES: u64 = 24;
/// A scope instance.
pub const SCOPE_INSTANCE_BYTES: u64 = 16;
/// A scope of a metric in the drafts.
pub const DRAFT_SCOPE_BYTES: u64 = 24;
/// A summary statistic.
pub const SUMMARY_BYTES: u64 = 24;
/// A summary statistic of the drafts.
pub const DRAFT_SUMMARY_BYTES: u64 = 16;
/// A propagation scope.
pub const SCOPE_BYTES: u64 = 16;
/// A load module.
pub const MODULE_BYTES: u64 = 16;
/// A source file.
pub const FILE_BYTES: u64 = 16;
/// A function.
pub const FUNCTION_BYTES: u64 = 40;
/// An entry point.
pub const ENTRY_BYTES: u64 = 32;
/// The fixed part of a context.
pub const CONTEXT_BYTES: u64 = 32;
/// The fixed part of a context of the drafts.
pub const DRAFT_CONTEXT_BYTES: u64 = 24;
/// A profile.
pub const PROFILE_BYTES: u64 = 48;
/// A profile without flags.
pub const DRAFT_PROFILE_BYTES: u64 = 40;
/// A profile that says where its block of values is.
pub const DESCRIBED_PROFILE_BYTES: u64 = 16;
/// A value of a profile.
pub const PROFILE_VALUE_BYTES: u64 = 10;
/// An entry of a profile's index.
pub const PROFILE_INDEX_BYTES: u64 = 12;
/// A context of `cct.db`.
pub const CCT_BYTES: u64 = 32;
/// A context of `cct.db` that says where its block of values is.
pub const DESCRIBED_CCT_BYTES: u64 = 8;
/// A value of `cct.db`.
pub const CCT_VALUE_BYTES: u64 = 12;
/// A value of `cct.db` with a profile of two bytes.
pub const DESCRIBED_CCT_VALUE_BYTES: u64 = 10;
/// An entry of the index of a context of `cct.db`.
pub const CCT_INDEX_BYTES: u64 = 10;
/// An entry of that index with a metric of four bytes.
pub const DESCRIBED_CCT_INDEX_BYTES: u64 = 12;
/// A trace.
pub const TRACE_BYTES: u64 = 24;
/// An element of a trace.
pub const ELEMENT_BYTES: u64 = 12;
/// One identifier of a tuple.
pub const ID_BYTES: u64 = 16;

/// Times of traces from here on are since the Epoch: of 1973 and later.
pub(crate) const SINCE_EPOCH_FROM: u64 = 100_000_000_000_000_000;

/// Context flags.
pub const HAS_FUNCTION: u16 = 1;
/// It has a file and a line.
pub const HAS_SOURCE: u16 = 2;
/// It has a module and an offset.
pub const HAS_POINT: u16 = 4;

/// Context flags of the described draft, where the others are one bit higher: it was called.
pub const IS_CALLEE: u16 = 1;
/// Calls of contexts below stand in its line.
pub const IS_CALL_SOURCE_LINE: u16 = 16;
/// A flag of its calls: it has a file and a line of its own.
pub const CALLEE_HAS_SOURCE: u16 = 1;

/// Relations of a context to its parent.
pub const RELATION_LEXICAL: u8 = 0;
/// It was called.
pub const RELATION_CALL: u8 = 1;
/// It was called, and inlined.
pub const RELATION_INLINED: u8 = 2;

/// Lexical types of a context.
pub const LEXICAL_FUNCTION: u8 = 0;
/// A loop.
pub const LEXICAL_LOOP: u8 = 1;
/// A line.
pub const LEXICAL_LINE: u8 = 2;
/// An instruction.
pub const LEXICAL_INSTRUCTION: u8 = 3;

/// Combination of statistics by adding up.
pub const COMBINE_SUM: u8 = 0;

/// Combination of statistics in which the smallest counts.
pub const COMBINE_MIN: u8 = 1;

/// Combination of statistics in which the largest counts.
pub const COMBINE_MAX: u8 = 2;

/// Value in `trace.db` for the first and the last timestamp when there is none.
pub const NO_FIRST_MOMENT: u64 = 0x7FFF_FFFF_FFFF_FFFF;

/// The word for a relation.
#[must_use]
pub fn relation_name(relation: u8) -> &'static str {
    match relation {
        RELATION_LEXICAL => "lexical",
        RELATION_CALL => "call",
        RELATION_INLINED => "inlined",
        _ => "unknown",
    }
}

/// The word for a lexical type.
#[must_use]
pub fn lexical_name(lexical_type: u8) -> &'static str {
    match lexical_type {
        LEXICAL_FUNCTION => "function",
        LEXICAL_LOOP => "loop",
        LEXICAL_LINE => "line",
        LEXICAL_INSTRUCTION => "instruction",
        _ => "unknown",
    }
}

/// The word for how far a propagation scope reaches.
#[must_use]
pub fn scope_type_name(scope_type: u8) -> &'static str {
    match scope_type {
        0 => "custom",
        1 => "point",
        2 => "execution",
        3 => "transitive",
        _ => "unknown",
    }
}

/// The word for how statistics are combined.
#[must_use]
pub fn combine_name(combine: u8) -> &'static str {
    match combine {
        COMBINE_SUM => "sum",
        COMBINE_MIN => "min",
        COMBINE_MAX => "max",
        _ => "unknown",
    }
}
