//! Magic, versions, sizes and codes: the constants of the formats.
//!
//! `docs/formats/hpcrun.md` has the same tables.

use std::ops::Range;

use kymo_core::bytes::Endian;

/// The first bytes of the described 02.00; its version and byte order follow.
pub const MAGIC_DESCRIBED: &[u8; 10] = b"HPCRUN____";

/// The first bytes of the profiles that were shipped; their version and byte order follow.
pub const MAGIC_PROFILE: &[u8; 18] = b"HPCRUN-profile____";

/// The first bytes of a trace; its version and byte order follow.
pub const MAGIC_TRACE: &[u8; 18] = b"HPCRUN-trace______";

/// Bytes of a version.
pub const VERSION_BYTES: u64 = 5;

/// The letter for a byte order, the last of a magic.
#[must_use]
pub fn endian_of(letter: u8) -> Option<Endian> {
    match letter {
        b'l' => Some(Endian::Little),
        b'b' => Some(Endian::Big),
        _ => None,
    }
}

/// The letter that stands for a byte order.
#[must_use]
pub fn endian_letter(endian: Endian) -> u8 {
    match endian {
        Endian::Little => b'l',
        Endian::Big => b'b',
    }
}

/// The most bytes a string may have; a longer one is no string but damage.
pub const STR_BYTES_MAX: u64 = 1 << 20;

/// First bytes of an epoch.
pub const EPOCH_TAG: &[u8; 8] = b"EPOCH___";

/// The bit of an epoch's flags that says that logical unwinding was on.
pub const EPOCH_LUSH: u64 = 1;

/// The bytes of a logical instruction pointer where nothing else is said.
pub const LIP_BYTES: u64 = 16;

/// The most bytes that a logical instruction pointer may have.
pub const LIP_BYTES_MAX: u64 = 4096;

/// The name under which the size of a logical instruction pointer is written.
pub const LIP_NAME: &str = "lip-size";

/// The bit of a described metric's flags that says that it is sampled asynchronously.
pub const METRIC_ASYNCHRONOUS: u64 = 1 << 1;

/// The bit of a described metric's flags that says that its values are numbers of double precision.
pub const METRIC_REAL: u64 = 1 << 2;

/// The most metrics there can be: two bytes number them.
pub const METRICS_MAX: u64 = 1 << 16;

/// A path of the described load map that is longer than this is no path but another layout.
pub const PATH_BYTES_MAX: u32 = 65536;

/// The sections of a 04.00b file begin at multiples of this.
pub const SECTION_ALIGNMENT: u64 = 1024;

/// The bytes of the footer of a 04.00b file.
pub const FOOTER_BYTES: u64 = 112;

/// The last eight bytes of a 04.00b file: `HPCRUNsm`.
pub const FOOTER_MAGIC: u64 = 0x4850_4352_554E_736D;

/// The same as the bytes of a big-endian file, which all are that recorders write.
pub const FOOTER_END: &[u8] = b"HPCRUNsm";

/// The node id of the last entry of the index of sparse values: `end!`.
pub const INDEX_END: u32 = 0x656E_6421;

/// The bytes of a sparse value.
pub const VALUE_BYTES: usize = 10;

/// The bytes of an entry of the index of sparse values.
pub const INDEX_BYTES: usize = 12;

/// The bit of a node's flags that says that its parent was found by unwinding.
pub const NODE_UNWOUND: u8 = 1;

/// Load modules that are no module but say what the node is.
pub const SPECIAL_MODULES: &[(u16, &str)] = &[
    (65531, "GPU context"),
    (65532, "GPU range"),
    (65533, "GPU outlined range"),
    (65534, "internal"),
];

/// The load module of the one root that there may be beside that of the program.
pub const OUTLINED_ROOT: u16 = 65533;

/// The module of nodes that recorders make for themselves.
pub const INTERNAL: u16 = 65534;

/// The bit of a trace's flags that says that each record has a metric too.
pub const TRACE_DATA_CENTRIC: u64 = 1;

/// The bit of a trace's flags that says that records mean what was called at a node.
pub const TRACE_CALLS: u64 = 4;

/// The metric of a trace record that has none.
pub const TRACE_NO_METRIC: u32 = 0x7FFF_FFFF;

/// The bytes of the time that a record of a trace begins with.
pub const TIME_BYTES: usize = 8;

/// Times of traces from here on are nanoseconds since the Epoch, of 1973 and later.
pub const NANOSECONDS_FROM: u64 = 100_000_000_000_000_000;

/// Times of traces within this range are microseconds since the Epoch, from 2001 to 2286. The rest
/// counts from another moment.
pub const MICROSECONDS: Range<u64> = 1_000_000_000_000_000..10_000_000_000_000_000;

/// The kinds of ids that every writer lists in its dictionary.
pub const ID_KINDS: &[(u16, &str)] = &[
    (0, "SUMMARY"),
    (1, "NODE"),
    (2, "RANK"),
    (3, "THREAD"),
    (4, "GPUDEVICE"),
    (5, "GPUCONTEXT"),
    (6, "GPUSTREAM"),
    (7, "CORE"),
];

/// The kind of a host's id, whose logical number is still to be made.
pub const NODE_ID: u16 = 1 | 1 << 14;

/// The kind of a process's rank, of which both numbers are given.
pub const RANK_ID: u16 = 2;

/// The kind of a thread's id that has a logical number only.
pub const THREAD_ID: u16 = 3 | 3 << 14;

/// The bits of an id's kind that are the kind; the two above say how to take the numbers.
pub const ID_KIND_MASK: u16 = 0x3FFF;

/// Placeholders whose name is no more than their code.
pub mod placeholder {
    /// The root of complete unwinds.
    pub const PRIMARY: u64 = u64::from_be_bytes(*b"^Primary");
    /// The root of unwinds that did not reach the start of the program.
    pub const PARTIAL: u64 = u64::from_be_bytes(*b"^Partial");
    /// An address that is in no module.
    pub const UNNORMALIZED: u64 = u64::from_be_bytes(*b"*Unnorm ");
    /// The thread did nothing that was measured.
    pub const NO_ACTIVITY: u64 = u64::from_be_bytes(*b"NoActvty");
    /// Placeholder for the place where the main thread enters.
    pub const MAIN: u64 = u64::from_be_bytes(*b"| Main  ");
    /// Placeholder for the place where an application thread enters.
    pub const THREAD: u64 = u64::from_be_bytes(*b"| Thread");
}

/// Names of placeholders, by their code of eight characters.
pub const PLACEHOLDERS: &[(&[u8; 8], &str)] = &[
    (b"| Main  ", "<program root>"),
    (b"| Thread", "<thread root>"),
    (b"OMP Idle", "<omp idle>"),
    (b"OMPOvrHd", "<omp overhead>"),
    (b"OMPBarrW", "<omp barrier wait>"),
    (b"OMPTaskW", "<omp task wait>"),
    (b"OMPMtexW", "<omp mutex wait>"),
    (b"OMP Work", "<omp work>"),
    (b"OMPETask", "<omp expl task>"),
    (b"OMPITask", "<omp impl task>"),
    (b"OMPUresv", "<omp region unresolved>"),
    (b"OMTAlloc", "<omp tgt alloc>"),
    (b"OMTDelte", "<omp tgt delete>"),
    (b"OMTCpIn ", "<omp tgt copyin>"),
    (b"OMTCpOut", "<omp tgt copyout>"),
    (b"OMTKernl", "<omp tgt kernel>"),
    (b"GPUCp?2?", "<gpu copy>"),
    (b"GPUCpH2D", "<gpu copyin>"),
    (b"GPUCpD2H", "<gpu copyout>"),
    (b"GPUAlloc", "<gpu alloc>"),
    (b"GPUDelte", "<gpu delete>"),
    (b"GPUKernl", "<gpu kernel>"),
    (b"GPUTrace", "<gpu kernel>"),
    (b"GPUMemst", "<gpu memset>"),
    (b"GPU Sync", "<gpu sync>"),
];

/// Returns the name for the low eight bits of a LUSH association.
#[must_use]
pub fn association_name(association: u32) -> Option<&'static str> {
    Some(match association & 0xFF {
        0x00 => "none",
        0x11 => "1-to-0",
        0x21 => "M-to-0",
        0x36 => "1-to-1",
        0x42 => "M-to-1",
        0x54 => "1-to-M",
        0xA1 => "0-to-0",
        _ => return None,
    })
}
