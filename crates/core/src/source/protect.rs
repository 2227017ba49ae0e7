//! Inputs stay as they are: no output takes the place of one, nor of what was read beside it.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Kind, Source};
use crate::{Error, Result};

impl Source {
    /// Fails when an output would change this source: it is the source, lies in its directory, is a
    /// directory with the source in it, or is a file that was read beside it.
    ///
    /// # Errors
    /// [`Error::OverInput`] says which of these it is.
    pub fn refuse_output(&self, output: &Path) -> Result<()> {
        let beside = self.companions();
        let refuse_beside = || beside.iter().try_for_each(|beside| beside.refuse_output(output));
        match &self.kind {
            Kind::Memory(_) => refuse_beside(),
            Kind::Directory(directory) => {
                // Links may lead to files elsewhere.
                let opened = directory.opened();
                if opened.iter().any(|name| is_same(&self.path.join(name), output)) {
                    return Err(Error::OverInput("is a file that the input was read with"));
                }
                match overlap(&self.path, output) {
                    Some(INSIDE) if self.is_folder => {}
                    _ => refuse_overlap(&self.path, output)?,
                }
                refuse_beside()
            }
            Kind::File { .. } | Kind::Copied { .. } | Kind::Spooled { .. } => {
                refuse_overlap(&self.path, output)?;
                refuse_beside()?;
                self.refuse_in_recording(output)
            }
        }
    }

    /// Fails when an output would replace another file of the recording that this one is a part of.
    fn refuse_in_recording(&self, output: &Path) -> Result<()> {
        if !self.is_file_at_path() || fs::symlink_metadata(output).is_err() {
            return Ok(());
        }
        // Links to a file of a recording lead to others of it.
        let real = fs::canonicalize(&self.path).ok();
        let folders = [Some(folder_of(&self.path)), real.as_deref().map(folder_of)];
        let is_replaced =
            |folder: &&Path| overlap(folder, output).is_some() && self.whole.is_recording(folder);
        match folders.into_iter().flatten().find(is_replaced) {
            Some(_) => Err(Error::OverInput("belongs to the same recording as the input")),
            None => Ok(()),
        }
    }
}

/// The folder that a file is in.
pub(super) fn folder_of(file: &Path) -> &Path {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// An output within a directory that is an input.
const INSIDE: &str = "lies in the input";

/// Fails when an output would change what is at the path of an input. The input `-` is standard
/// input, and the output `-` standard output, which is no file.
///
/// # Errors
/// [`Error::OverInput`] says how the two overlap.
pub fn refuse_overlap(input: &Path, output: &Path) -> Result<()> {
    if output == Path::new("-") {
        return Ok(());
    }
    let input = if input == Path::new("-") { Path::new("/dev/stdin") } else { input };
    overlap(input, output).map_or(Ok(()), |how| Err(Error::OverInput(how)))
}

fn overlap(input: &Path, output: &Path) -> Option<&'static str> {
    let found = fs::metadata(input).ok()?;
    // A pipe or a device is no file that an output could replace.
    if !found.is_file() && !found.is_dir() {
        return None;
    }
    if is_same(input, output) {
        return Some("is the input");
    }
    let (input, place) = (fs::canonicalize(input).ok()?, resolved_path(output)?);
    if found.is_dir() && (place.starts_with(&input) || is_linked_in(&input, output)) {
        return Some(INSIDE);
    }
    if output.is_dir() && (input.starts_with(&place) || is_linked_in(output, &input)) {
        return Some("is a directory with the input in it");
    }
    None
}

/// The path of an output without links on the way, though it need not be there.
fn resolved_path(output: &Path) -> Option<PathBuf> {
    if let Ok(place) = fs::canonicalize(output) {
        return Some(place);
    }
    let parent = fs::canonicalize(folder_of(output)).ok()?;
    Some(parent.join(output.file_name()?))
}

/// Returns true when an entry of a directory is a link to a file.
fn is_linked_in(directory: &Path, file: &Path) -> bool {
    if !file.exists() {
        return false;
    }
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| is_same(&entry.path(), file))
}

/// Returns true when two paths lead to the same file.
fn is_same(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    if let (Ok(one), Ok(other)) = (fs::metadata(one), fs::metadata(other)) {
        use std::os::unix::fs::MetadataExt;
        return (one.dev(), one.ino()) == (other.dev(), other.ino());
    }
    match (fs::canonicalize(one), fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::Limits;

    /// A folder with an input `in.log`, its grammar `in.log.toml`, and a directory `trace` with a
    /// file `a/b` in it.
    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in ["in.log", "in.log.toml", "other"] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        fs::create_dir_all(folder.path().join("trace/a")).unwrap();
        fs::write(folder.path().join("trace/a/b"), "b").unwrap();
        folder
    }

    fn refused(source: &Source, output: &Path) -> Option<&'static str> {
        match source.refuse_output(output) {
            Err(Error::OverInput(how)) => Some(how),
            other => other.map(|()| None).unwrap(),
        }
    }

    #[test]
    fn an_output_is_refused_that_is_a_file_or_holds_it_or_was_read_beside_it() {
        let folder = folder();
        let at = |name: &str| folder.path().join(name);
        let limits = Limits::default();
        let source = Source::open(&at("in.log"), &limits).unwrap();
        assert_eq!(refused(&source, &at("in.log")), Some("is the input"));
        assert_eq!(refused(&source, &at("trace/../in.log")), Some("is the input"));
        assert_eq!(refused(&source, &at("")), Some("is a directory with the input in it"));
        assert_eq!(refused(&source, &at("in.log.toml")), None);
        source.sibling("in.log.toml", &limits).unwrap();
        assert_eq!(refused(&source.clone(), &at("in.log.toml")), Some("is the input"));
        for free in ["other", "new", "trace", "trace/new", "no/such/place"] {
            assert_eq!(refused(&source, &at(free)), None, "{free}");
        }
        let grammar = Source::open(&at("other"), &limits).unwrap();
        let source = source.with_grammar(grammar);
        assert_eq!(refused(&source, &at("other")), Some("is the input"));
    }

    #[test]
    fn an_output_is_refused_that_lies_in_an_input_directory() {
        let folder = folder();
        let at = |name: &str| folder.path().join(name);
        let source = Source::open(&at("trace"), &Limits::default()).unwrap();
        for inside in ["trace/a/b", "trace/a", "trace/new", "trace/a/new"] {
            assert_eq!(refused(&source, &at(inside)), Some("lies in the input"), "{inside}");
        }
        assert_eq!(refused(&source, &at("other")), None);
    }

    #[test]
    fn of_a_folder_that_a_file_was_read_with_only_what_was_opened_is_kept() {
        let folder = folder();
        let at = |name: &str| folder.path().join(name);
        let limits = Limits::default();
        let source = Source::open(&at("in.log"), &limits).unwrap();
        let around = source.folder(&limits).unwrap().unwrap();
        around.child(Path::new("other"), &limits).unwrap();
        let how = Some("is a file that the input was read with");
        assert_eq!(refused(&source, &at("other")), how);
        assert_eq!(refused(&source, &at("new")), None);
        assert_eq!(refused(&source, &at("trace/a/b")), None);
        assert_eq!(refused(&source, folder.path()), Some("is a directory with the input in it"));
        assert_eq!(refused(&around, folder.path()), Some("is the input"));
    }

    /// In `trace` there is a file `a`, which is read, and a file `b`.
    #[test]
    fn no_file_of_the_recording_that_an_input_is_part_of_is_replaced() {
        let folder = folder();
        let at = |name: &str| folder.path().join(name);
        fs::remove_dir_all(at("trace/a")).unwrap();
        fs::write(at("trace/a"), "a").unwrap();
        fs::write(at("trace/b"), "b").unwrap();
        let how = Some("belongs to the same recording as the input");
        for (is_recording, expected) in [(true, how), (false, None)] {
            let source = Source::open(&at("trace/a"), &Limits::default()).unwrap();
            assert_eq!(refused(&source, &at("trace/b")), None);
            source.clone().read_as(move |probe| is_recording && probe.is_directory);
            assert_eq!(refused(&source, &at("trace/b")), expected);
            for free in ["trace/new", "other", "in.log"] {
                assert_eq!(refused(&source, &at(free)), None, "{free}");
            }
        }
    }

    /// What the kernel makes up is read and not mapped; a link to it would be replaced.
    #[cfg(target_os = "linux")]
    #[test]
    fn an_input_that_cannot_be_mapped_is_not_replaced_either() {
        let folder = folder();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/proc/version", &link).unwrap();
        let source = Source::open(&link, &Limits::default()).unwrap();
        assert!(source.size_bytes() > 0);
        assert_eq!(refused(&source, &link), Some("is the input"));
        assert_eq!(refused(&source, Path::new("/proc/version")), Some("is the input"));
        assert_eq!(refused(&source, &folder.path().join("other")), None);
        let memory = Source::from_bytes(&link, Vec::new());
        assert_eq!(refused(&memory, &link), None);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_both_ways() {
        let folder = folder();
        let at = |name: &str| folder.path().join(name);
        std::os::unix::fs::symlink(at("in.log"), at("link")).unwrap();
        std::os::unix::fs::symlink(at("other"), at("trace/linked")).unwrap();
        let open = |name: &str| Source::open(&at(name), &Limits::default()).unwrap();
        assert_eq!(refused(&open("in.log"), &at("link")), Some("is the input"));
        assert_eq!(refused(&open("link"), &at("in.log")), Some("is the input"));
        assert_eq!(refused(&open("trace"), &at("other")), Some("lies in the input"));
        let how = Some("is a directory with the input in it");
        assert_eq!(refused(&open("other"), &at("trace")), how);
    }

    #[test]
    fn standard_output_is_in_no_directory() {
        let folder = folder();
        let source = Source::open(&folder.path().join("trace"), &Limits::default()).unwrap();
        assert_eq!(refused(&source, Path::new("-")), None);
        assert!(refuse_overlap(Path::new("."), Path::new("-")).is_ok());
    }

    /// `trace/a/b` is a link to `other`.
    #[cfg(unix)]
    #[test]
    fn what_a_link_deep_in_a_directory_leads_to_is_refused_once_it_was_read() {
        let folder = folder();
        let at = |name: &str| folder.path().join(name);
        fs::remove_file(at("trace/a/b")).unwrap();
        std::os::unix::fs::symlink(at("other"), at("trace/a/b")).unwrap();
        let source = Source::open(&at("trace"), &Limits::default()).unwrap();
        let read = source.child(Path::new("a/b"), &Limits::default()).unwrap().unwrap();
        assert_eq!(read.size_bytes(), 5);
        assert_eq!(refused(&source, &at("other")), Some("is a file that the input was read with"));
    }
}
