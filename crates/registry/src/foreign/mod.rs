//! Marks of formats that are not read here, so that a message can name them.

mod adios;
mod hpctoolkit;

use kymo_core::Source;

use crate::Unrecognised;

/// A format that is not read here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kind {
    /// Its name with an article: "an HDF5 file".
    name: &'static str,
    /// Advice on what to do with it.
    advice: &'static str,
}

impl From<Kind> for Unrecognised {
    fn from(Kind { name, advice }: Kind) -> Self {
        Self::Foreign { name, advice }
    }
}

struct Mark {
    bytes: &'static [u8],
    kind: Kind,
}

const fn mark(bytes: &'static [u8], name: &'static str, advice: &'static str) -> Mark {
    Mark { bytes, kind: Kind { name, advice } }
}

const DECOMPRESS: &str = "decompress it first, or pipe it: zcat FILE | kymo info -";

static MARKS: &[Mark] = &[
    mark(b"\x89HDF\r\n\x1a\n", "an HDF5 file", "open it with h5ls or h5dump"),
    mark(b"CDF\x01", "a NetCDF file", "open it with ncdump"),
    mark(b"CDF\x02", "a NetCDF file", "open it with ncdump"),
    mark(b"CDF\x05", "a NetCDF file", "open it with ncdump"),
    mark(b"ADIOS-BP v", "the index of an ADIOS BP directory", "name the directory it is in"),
    mark(b"\x1f\x8b", "a gzip file", DECOMPRESS),
    mark(b"\x28\xb5\x2f\xfd", "a Zstandard file", DECOMPRESS),
    mark(b"\xfd7zXZ\0", "an xz file", DECOMPRESS),
    mark(b"BZh", "a bzip2 file", DECOMPRESS),
    mark(b"PK\x03\x04", "a zip archive", "unpack it first"),
    mark(b"\x7fELF", "an ELF program or library", "name a recording that it made"),
    mark(b"PAR1", "a Parquet file", "open it with DuckDB or pandas"),
    mark(b"ARROW1", "an Arrow file", "open it with pyarrow"),
    mark(b"\x93NUMPY", "a NumPy array", "open it with numpy.load"),
    mark(
        b"PERFILE2",
        "a perf.data file",
        "`perf script --ns -i FILE > run.perf` prints what it does read",
    ),
    mark(
        b"\x17\x08\x44tracing",
        "a trace.dat file of trace-cmd",
        "`trace-cmd report FILE > run.ftrace` prints what it does read",
    ),
    mark(b"SQLite format 3\0", "an SQLite database", "open it with sqlite3"),
    mark(b"%PDF-", "a PDF document", "name a recording"),
    mark(b"\x89PNG\r\n\x1a\n", "a picture", "name a recording"),
];

const TEXT: Kind = Kind {
    name: "plain text",
    advice: "name the recording itself, or what its lines mean: --grammar TOML",
};

/// Names the other format of a source that more than a few first bytes tell: no format of ours reads
/// it, however sure one is.
pub(crate) fn recognise_whole(source: &Source) -> Option<Unrecognised> {
    adios::recognise(source).or_else(|| hpctoolkit::recognise(source)).map(Unrecognised::from)
}

/// Names the other format whose mark a source bears.
pub(crate) fn recognise(source: &Source) -> Option<Unrecognised> {
    let probe = source.probe();
    if probe.is_directory {
        return None;
    }
    let head = probe.head;
    let mark = MARKS.iter().find(|mark| head.starts_with(mark.bytes));
    let kind = mark.map(|mark| mark.kind).or_else(|| is_text(head).then_some(TEXT));
    kind.map(Unrecognised::from)
}

/// Returns true if the head is text: valid UTF-8 (but for a character cut at the end) without
/// control characters other than white space.
fn is_text(head: &[u8]) -> bool {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            let valid = head.get(..error.valid_up_to()).unwrap_or_default();
            std::str::from_utf8(valid).unwrap_or_default()
        }
        Err(_) => return false,
    };
    !text.is_empty() && !text.chars().any(|c| c.is_control() && !c.is_ascii_whitespace())
}
