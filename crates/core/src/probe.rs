//! Part of a source that sniffing gets to see.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// Part of a source that sniffing gets to see.
#[derive(Debug, Clone, Copy)]
pub struct Probe<'a> {
    /// The first bytes, at most [`Probe::HEAD_BYTES`]; empty for a directory.
    pub head: &'a [u8],
    /// The size of the whole file.
    pub size_bytes: u64,
    /// The name as given; empty for standard input.
    pub path: &'a Path,
    /// True if it is a directory.
    pub is_directory: bool,
    /// True if the caller named what tells how to read it.
    pub has_grammar: bool,
}

impl Probe<'_> {
    /// Number of bytes that a format gets to see.
    pub const HEAD_BYTES: usize = 64 * 1024;

    /// Number of names within a directory that a format gets to see.
    pub const ENTRIES_MAX: usize = 1 << 16;

    /// Returns true if the name ends in one of the extensions, whatever the case.
    #[must_use]
    pub fn has_extension(&self, extensions: &[&str]) -> bool {
        let extension = self.path.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|found| extensions.iter().any(|e| e.eq_ignore_ascii_case(found)))
    }

    /// Returns true if there is a regular file of another name in the folder of this one.
    #[must_use]
    pub fn has_sibling(&self, name: impl AsRef<Path>) -> bool {
        let is_named = !self.is_directory && self.path.file_name().is_some();
        is_named && self.path.with_file_name(name.as_ref()).is_file()
    }

    /// The names within a directory, in no order; none for a file, or where they cannot be read.
    pub fn entries(&self) -> impl Iterator<Item = PathBuf> + use<> {
        self.folder_entries(Path::new(""))
    }

    /// The names within a folder of a directory, in no order.
    pub fn folder_entries(&self, folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
        let path = self.path.join(folder);
        let listed = self.is_directory.then(|| fs::read_dir(path).ok()).flatten();
        let names = listed.into_iter().flatten().map_while(Result::ok);
        names.map(|entry| PathBuf::from(entry.file_name())).take(Self::ENTRIES_MAX)
    }

    /// The first bytes of a regular file within a directory, at most so many.
    ///
    /// Nothing when there is no such file, or when it cannot be read.
    #[must_use]
    pub fn file_head(&self, name: impl AsRef<Path>, bytes: u64) -> Option<Vec<u8>> {
        let path = self.is_directory.then(|| self.path.join(name))?;
        // Before it is opened: that could wait for the other end of a pipe.
        if !fs::metadata(&path).ok()?.is_file() {
            return None;
        }
        let mut head = Vec::new();
        let bytes = bytes.min(Self::HEAD_BYTES as u64);
        File::open(path).ok()?.take(bytes).read_to_end(&mut head).ok()?;
        Some(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;
    use crate::bytes::Limits;

    #[test]
    fn names_and_heads_within_a_directory_are_seen() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("a.db"), b"HPCTOOLKITmeta").unwrap();
        fs::create_dir(directory.path().join("below")).unwrap();
        let source = Source::open(directory.path(), &Limits::default()).unwrap();
        let probe = source.probe();
        let mut names: Vec<_> = probe.entries().collect();
        names.sort();
        assert_eq!(names, ["a.db", "below"].map(PathBuf::from));
        assert_eq!(probe.file_head("a.db", 10).unwrap(), b"HPCTOOLKIT");
        assert_eq!(probe.file_head("below", 10), None);
        assert_eq!(probe.file_head("absent", 10), None);
    }

    #[test]
    fn a_file_has_no_entries() {
        let source = Source::from_bytes("/", b"bytes".to_vec());
        assert_eq!(source.probe().entries().count(), 0);
        assert_eq!(source.probe().file_head("etc", 1), None);
    }
}
