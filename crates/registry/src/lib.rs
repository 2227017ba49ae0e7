//! The one list of formats, and how a file finds its own.

mod foreign;

use kymo_bbbin::Bbbin;
use kymo_bp::Bp;
use kymo_core::Source;
use kymo_ctf::Ctf;
use kymo_ftrace::Ftrace;
use kymo_hpcdb::HpcDb;
use kymo_hpcrun::Hpcrun;
use kymo_mcap::Mcap;
use kymo_model::{Confidence, Format};
use kymo_perf::Perf;
use kymo_rtc::Rtc;
use kymo_systemview::SystemView;
use kymo_textlog::TextLog;

/// Every format. A new one is one line here. Of two that are equally sure the later counts, so text
/// logs are the last: they are sure only where a grammar was named.
static FORMATS: &[&dyn Format] =
    &[&Bp, &Rtc, &Mcap, &HpcDb, &Hpcrun, &Ctf, &Perf, &Ftrace, &SystemView, &Bbbin, &TextLog];

/// Every format, in the order of the README's table.
#[must_use]
pub fn formats() -> &'static [&'static dyn Format] {
    FORMATS
}

/// A format by its name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static dyn Format> {
    FORMATS.iter().copied().find(|format| format.info().name == name)
}

/// Reason why no format could be found for a source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unrecognised {
    /// There is nothing in it.
    #[error("the file is empty: nothing was recorded, or writing it failed at the start")]
    Empty,
    /// A directory that no format claims.
    #[error("it is a directory, and no format of recordings that is one was recognised in it")]
    Directory,
    /// A directory that cannot be looked into.
    #[error("{0}")]
    Closed(String),
    /// The mark of a format that is not read here.
    #[error("this is {name}, which kymo does not read; {advice}")]
    Foreign {
        /// The other format: "an HDF5 file".
        name: &'static str,
        /// Advice on what to do: "open it with h5ls or h5dump".
        advice: &'static str,
    },
    /// Nothing that any format knows.
    #[error("the format is not recognised; --from FORMAT names it (kymo formats lists them)")]
    Unknown,
}

/// A source's format, and how sure that is.
pub struct Detected {
    /// The format.
    pub format: &'static dyn Format,
    /// Confidence of the format.
    pub confidence: Confidence,
}

/// Finds the format of a source by its first bytes and its name.
pub fn detect(source: &Source) -> Result<Detected, Unrecognised> {
    if let Some(foreign) = foreign::recognise_whole(source) {
        return Err(foreign);
    }
    let found = claim(source);
    match (found, foreign::recognise(source)) {
        // A name proves little against another format's mark.
        (Some(found), Some(_)) if found.confidence > Confidence::Name => Ok(found),
        (_, Some(foreign)) => Err(foreign),
        (Some(found), None) => Ok(found),
        (None, None) if source.is_directory() => Err(match source.entries() {
            Ok(_) => Unrecognised::Directory,
            Err(error) => Unrecognised::Closed(error.to_string()),
        }),
        (None, None) if source.size_bytes() == 0 => Err(Unrecognised::Empty),
        (None, None) => Err(Unrecognised::Unknown),
    }
}

fn claim(source: &Source) -> Option<Detected> {
    let probe = source.probe();
    let claims = FORMATS.iter().copied().filter_map(|format| {
        let confidence = format.sniff(&probe)?;
        Some(Detected { format, confidence })
    });
    claims.max_by_key(|claim| claim.confidence)
}

/// Returns true when a format takes a source for its own, if only by its name: it may be another's.
#[must_use]
pub fn is_claimed(source: &Source) -> bool {
    claim(source).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect_bytes(name: &str, bytes: &[u8]) -> Result<&'static str, Unrecognised> {
        let source = Source::from_bytes(name, bytes.to_vec());
        detect(&source).map(|found| found.format.info().name)
    }

    #[test]
    fn names_are_unique_and_lower_case() {
        let mut names: Vec<_> = formats().iter().map(|format| format.info().name).collect();
        assert!(names.iter().all(|name| name.chars().all(|c| c.is_ascii_lowercase())));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), formats().len());
        assert!(names.iter().all(|name| by_name(name).is_some()));
    }

    #[test]
    fn a_file_of_another_format_is_named_even_under_our_extension() {
        let hdf5 = b"\x89HDF\r\n\x1a\n and so on, long enough to be more than a mark";
        for name in ["field.bp", "field"] {
            let why = detect_bytes(name, hdf5).unwrap_err();
            assert!(why.to_string().starts_with("this is an HDF5 file"), "{why}");
        }
        assert!(is_claimed(&Source::from_bytes("field.bp", hdf5.to_vec())));
        assert!(!is_claimed(&Source::from_bytes("field", hdf5.to_vec())));
    }

    #[test]
    fn an_empty_file_and_noise_are_told_apart() {
        assert_eq!(detect_bytes("x", b"").unwrap_err(), Unrecognised::Empty);
        assert_eq!(detect_bytes("x", &[0xEE; 100]).unwrap_err(), Unrecognised::Unknown);
    }

    #[test]
    fn lines_of_perf_are_told_from_those_of_ftrace() {
        let line = |name: &str| format!("  rt-7 [001]  2.000001: {name}: comm=a pid=18 prio=0\n");
        assert_eq!(detect_bytes("x", line("sched:sched_waking").as_bytes()), Ok("perf"));
        assert_eq!(detect_bytes("x", line("sched_waking").as_bytes()), Ok("ftrace"));
    }

    #[test]
    fn text_is_called_text() {
        let why = detect_bytes("notes", b"dear diary,\ntoday nothing was recorded\n").unwrap_err();
        assert!(matches!(why, Unrecognised::Foreign { name: "plain text", .. }), "{why}");
    }
}
