//! Recordings that are folders: any file of one cut or damaged, the others as they are.

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use kymo_core::bytes::Limits;
use kymo_core::{Context, Error, Severity, Source};
use kymo_model::Format;

use crate::Sample;
use crate::findings::worst;
use crate::flip::ZEROS;
use crate::promise::{self, Cases, spread};
use crate::survive::exercise_source;

/// Mark before each file of a folder that is fed as one input. The name of the file and a zero
/// follow.
const MARK: &[u8] = b"\xFFfile:";

/// Number of times that each file is cut, and number of times that one of its bytes is damaged.
const CUTS: usize = 120;
const FLIPS: usize = 180;

/// Memory that reading may take for each byte of the folder, and in any case.
const MEMORY_FACTOR: u64 = 64;
const MEMORY_VALUES: u64 = 8;

/// The files of a folder, in memory.
#[derive(Debug, Clone, Default)]
pub struct Folder {
    files: Vec<(PathBuf, Bytes)>,
}

impl Folder {
    /// Reads all files below a folder.
    #[must_use]
    pub fn read(root: &Path) -> Self {
        let mut folder = Self::default();
        folder.collect(root, root);
        folder.files.sort();
        folder
    }

    fn collect(&mut self, root: &Path, below: &Path) {
        for entry in fs::read_dir(below).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                self.collect(root, &path);
            } else {
                let name = path.strip_prefix(root).expect("a path below").to_path_buf();
                self.files.push((name, fs::read(&path).expect("a file").into()));
            }
        }
    }

    /// All of it as one input: what [`survive`](crate::survive()) takes apart again.
    #[must_use]
    pub fn packed(&self) -> Vec<u8> {
        let mut packed = Vec::new();
        for (name, bytes) in &self.files {
            packed.extend_from_slice(MARK);
            packed.extend_from_slice(name.to_string_lossy().as_bytes());
            packed.push(0);
            packed.extend_from_slice(bytes);
        }
        packed
    }

    /// Takes an input apart; nothing where it is a file. Names that lead elsewhere are left out.
    #[must_use]
    pub fn unpacked(packed: &[u8]) -> Option<Self> {
        let mut rest = packed.strip_prefix(MARK)?;
        let mut files = Vec::new();
        loop {
            let end = rest.windows(MARK.len()).position(|window| window == MARK);
            let (file, later) = rest.split_at(end.unwrap_or(rest.len()));
            let name = file.iter().position(|&byte| byte == 0).unwrap_or(file.len());
            let (name, bytes) = file.split_at(name);
            let name = String::from_utf8_lossy(name).into_owned();
            if !name.is_empty() && !name.contains("..") && !name.starts_with('/') {
                let bytes = bytes.get(1..).unwrap_or_default().to_vec();
                files.push((PathBuf::from(name), bytes.into()));
            }
            let Some(later) = later.strip_prefix(MARK) else { return Some(Self { files }) };
            rest = later;
        }
    }

    /// The folder as a source.
    #[must_use]
    pub fn source(&self) -> Source {
        Source::from_files("folder", self.files.clone())
    }

    /// Its files, each by its name within it.
    pub(crate) fn files(&self) -> &[(PathBuf, Bytes)] {
        &self.files
    }

    /// The size of the largest file: no offset lies beyond.
    #[must_use]
    pub fn largest(&self) -> u64 {
        self.files.iter().map(|(_, bytes)| bytes.len() as u64).max().unwrap_or(0)
    }

    fn with_file(&self, name: &str, bytes: Vec<u8>) -> Self {
        let mut folder = self.clone();
        let file = folder.files.iter_mut().find(|(known, _)| known == Path::new(name));
        file.expect("a file of it").1 = bytes.into();
        folder
    }

    fn samples(&self) -> Vec<Sample> {
        let sample = |(name, bytes): &(PathBuf, Bytes)| Sample {
            name: name.to_string_lossy().into(),
            bytes: bytes.to_vec().into(),
        };
        self.files.iter().map(sample).collect()
    }
}

/// Each file of a sound folder is cut, and its bytes are damaged: whatever then opens says what is
/// missing, errors and findings name the file and a byte of it, and memory is bounded.
pub fn every_damaged_file_of_a_folder_is_answered(format: &'static dyn Format, path: &Path) {
    let folder = Folder::read(path);
    promise::each(folder.samples(), move |sample, cases| {
        cut(format, &folder, sample, cases);
        flip(format, &folder, sample, cases);
    });
}

/// Each file of a sound folder is cut, and its bytes are damaged: there is an answer, `check` reports
/// what the dataset does, and memory is bounded. For formats whose files may end after any record.
pub fn every_damaged_file_of_a_folder_is_survived(format: &'static dyn Format, path: &Path) {
    let folder = Folder::read(path);
    promise::each(folder.samples(), move |sample, cases| {
        for end in spread(sample.bytes.len(), CUTS) {
            cases.begin(|| format!("{}, cut at {end:#x}", sample.name));
            bounded(format, &folder.with_file(&sample.name, sample.bytes[..end].to_vec()));
        }
        flip(format, &folder, sample, cases);
    });
}

fn cut(format: &dyn Format, folder: &Folder, sample: &Sample, cases: &mut Cases) {
    for end in spread(sample.bytes.len(), CUTS) {
        cases.begin(|| format!("{}, cut at {end:#x}", sample.name));
        let folder = folder.with_file(&sample.name, sample.bytes[..end].to_vec());
        let (source, context) = (folder.source(), Context::default());
        let found = format.check(&source, &context).expect("findings");
        assert!(worst(&found) >= Some(Severity::Warning), "check finds nothing missing");
        let names_it = found.iter().any(|finding| finding.file.as_deref() == Some(&*sample.name));
        assert!(names_it, "no finding names the file: {found:?}");
        match format.open(&source, &context) {
            Ok(dataset) => {
                let is_told = worst(&dataset.findings()) >= Some(Severity::Warning);
                assert!(is_told, "it opens, and does not say that something is missing");
            }
            Err(Error::ReadIn { file, error }) => {
                assert_eq!(file, Path::new(&*sample.name), "{error}");
                assert!(error.offset <= end as u64, "an error beyond the end: {error}");
            }
            Err(error) => panic!("an error without a file: {error}"),
        }
    }
}

fn flip(format: &dyn Format, folder: &Folder, sample: &Sample, cases: &mut Cases) {
    let size = sample.bytes.len();
    let masks = [0xFF, 0x01, 0x80];
    for flip in spread(size * masks.len(), FLIPS) {
        let (at, mask) = (flip % size, masks[flip / size]);
        cases.begin(|| format!("{}, byte {at:#x} xor {mask:#04x}", sample.name));
        let mut bytes = sample.bytes.to_vec();
        bytes[at] ^= mask;
        bounded(format, &folder.with_file(&sample.name, bytes));
    }
    for at in spread(size.saturating_sub(ZEROS), FLIPS / masks.len()) {
        cases.begin(|| format!("{}, {ZEROS} zeros at {at:#x}", sample.name));
        let mut bytes = sample.bytes.to_vec();
        bytes[at..at + ZEROS].fill(0);
        bounded(format, &folder.with_file(&sample.name, bytes));
    }
}

fn bounded(format: &dyn Format, folder: &Folder) {
    let total: u64 = folder.files.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    let allowed = MEMORY_FACTOR * total + MEMORY_VALUES * Limits::tight().value_bytes_max;
    let exercise = || exercise_source(format, &folder.source(), folder.largest());
    let used = allocation_counter::measure(exercise).bytes_max;
    assert!(used <= allowed, "{used} bytes of memory; {allowed} would do");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_taken_apart() {
        let files = [("a", &b"one"[..]), ("b/c", b"")];
        let files = files.map(|(name, bytes)| (PathBuf::from(name), Bytes::from_static(bytes)));
        let folder = Folder { files: files.to_vec() };
        let again = Folder::unpacked(&folder.packed()).unwrap();
        assert_eq!(again.files, folder.files);
        assert!(Folder::unpacked(b"HPCTOOLKIT").is_none());
        for odd in [&b"\xFFfile:"[..], b"\xFFfile:../x\0y", b"\xFFfile:a\xFFfile:"] {
            assert!(Folder::unpacked(odd).unwrap().files.len() <= 1);
        }
    }
}
