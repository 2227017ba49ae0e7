//! Subject of the tests: a format, its samples, and what it states about them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kymo_core::Source;
use kymo_model::Format;

use crate::testdata;

/// A format and its samples: the files below `testdata/<format>` that have one of its
/// extensions, and those that a test made.
///
/// Lists name samples by a part of their path below that folder: `"malformed/"`, `"08d_"`; the
/// empty string names all.
#[derive(Clone)]
pub struct Subject {
    pub(crate) format: &'static dyn Format,
    pub(crate) root: PathBuf,
    made: Vec<Sample>,
    unsound: &'static [&'static str],
    warned: &'static [&'static str],
    named_only: &'static [&'static str],
    freedom: &'static [&'static str],
    valid_prefix: fn(&[u8], usize) -> bool,
    pub(crate) writes_directories: bool,
    pub(crate) completes: bool,
    pub(crate) layout: &'static [&'static str],
}

/// One file to test with.
#[derive(Debug, Clone)]
pub struct Sample {
    /// Its path below `testdata/<format>`.
    pub name: Arc<str>,
    /// Its bytes.
    pub bytes: Arc<[u8]>,
}

impl Sample {
    /// The sample as a source under its own name.
    #[must_use]
    pub fn source(&self) -> Source {
        Source::from_bytes(&*self.name, self.bytes.to_vec())
    }

    fn is_listed(&self, parts: &[&str]) -> bool {
        parts.iter().any(|part| self.name.contains(part))
    }
}

impl Subject {
    /// A format all of whose samples are sound, are rewritten to the same bytes, and have no
    /// prefix that is a valid file.
    #[must_use]
    pub fn new(format: &'static dyn Format) -> Self {
        Self {
            format,
            root: testdata(format.info().name),
            made: Vec::new(),
            unsound: &[],
            warned: &[],
            named_only: &[],
            freedom: &[],
            valid_prefix: |_, _| false,
            writes_directories: false,
            completes: false,
            layout: &[],
        }
    }

    /// Samples that are damaged: nothing is promised of them but findings and survival.
    #[must_use]
    pub fn unsound(self, unsound: &'static [&'static str]) -> Self {
        Self { unsound, ..self }
    }

    /// Samples that are sound and yet rightly warned about.
    #[must_use]
    pub fn warned(self, warned: &'static [&'static str]) -> Self {
        Self { warned, ..self }
    }

    /// Samples that only their name tells: the empty file.
    #[must_use]
    pub fn named_only(self, named_only: &'static [&'static str]) -> Self {
        Self { named_only, ..self }
    }

    /// Samples that other bytes could say as well, so that rewriting may change them.
    #[must_use]
    pub fn freedom(self, freedom: &'static [&'static str]) -> Self {
        Self { freedom, ..self }
    }

    /// Sets the function that tells which prefixes of a sound file, of `end` bytes, are valid files
    /// themselves.
    #[must_use]
    pub fn valid_prefix(self, valid_prefix: fn(&[u8], usize) -> bool) -> Self {
        Self { valid_prefix, ..self }
    }

    /// Only directories are repaired and rewritten: samples are files of one, and by themselves
    /// they lack what numbers their records.
    #[must_use]
    pub fn writes_directories(self) -> Self {
        Self { writes_directories: true, ..self }
    }

    /// Repairing adds what records refer to and is not there, so that there is more in the output
    /// than can be salvaged.
    #[must_use]
    pub fn completes(self) -> Self {
        Self { completes: true, ..self }
    }

    /// Kinds of records that tell how a file is laid out and how much there is: of a part they tell
    /// otherwise, and repairing lays it out anew.
    #[must_use]
    pub fn layout(self, layout: &'static [&'static str]) -> Self {
        Self { layout, ..self }
    }

    /// Adds a sample that the test made, with the format's own writer as a rule.
    #[must_use]
    pub fn made(mut self, name: &str, bytes: impl Into<Arc<[u8]>>) -> Self {
        let (name, bytes) = (name.into(), bytes.into());
        self.made.push(Sample { name, bytes });
        self
    }

    /// Another folder than `testdata/<format>`.
    #[cfg(test)]
    pub(crate) fn with_root(self, root: &Path) -> Self {
        let root = root.to_path_buf();
        Self { root, ..self }
    }

    /// Every sample, in the order of their names. A format without any has nothing to show.
    #[must_use]
    pub fn samples(&self) -> Vec<Sample> {
        let mut samples = self.made.clone();
        self.collect(&self.root, &mut samples);
        samples.sort_by(|a, b| a.name.cmp(&b.name));
        assert!(!samples.is_empty(), "there are no samples in {}", self.root.display());
        samples
    }

    /// The samples that are not damaged.
    #[must_use]
    pub fn sound(&self) -> Vec<Sample> {
        let mut samples = self.samples();
        samples.retain(|sample| !sample.is_listed(self.unsound));
        samples
    }

    pub(crate) fn is_sound(&self, sample: &Sample) -> bool {
        !sample.is_listed(self.unsound)
    }

    pub(crate) fn is_warned(&self, sample: &Sample) -> bool {
        sample.is_listed(self.warned)
    }

    pub(crate) fn is_named_only(&self, sample: &Sample) -> bool {
        sample.is_listed(self.named_only)
    }

    pub(crate) fn has_freedom(&self, sample: &Sample) -> bool {
        sample.is_listed(self.freedom)
    }

    pub(crate) fn is_valid_prefix(&self, bytes: &[u8], end: usize) -> bool {
        end == bytes.len() || (self.valid_prefix)(bytes, end)
    }

    /// Returns the path of a golden file of this format.
    pub(crate) fn golden(&self, name: &str) -> PathBuf {
        self.root.join("golden").join(name)
    }

    fn collect(&self, folder: &Path, samples: &mut Vec<Sample>) {
        let Ok(entries) = fs::read_dir(folder) else {
            return;
        };
        for entry in entries {
            let path = entry.expect("an entry of a folder").path();
            if path.is_dir() {
                self.collect(&path, samples);
            } else if self.has_extension(&path) {
                samples.push(self.sample(&path));
            }
        }
    }

    fn has_extension(&self, path: &Path) -> bool {
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| self.format.info().extensions.contains(&extension))
    }

    fn sample(&self, path: &Path) -> Sample {
        let name = path.strip_prefix(&self.root).expect("a path below");
        let name = name.to_str().expect("a name in UTF-8").replace('\\', "/");
        let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Sample { name: name.into(), bytes: bytes.into() }
    }
}
