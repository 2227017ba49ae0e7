//! The files of a recording that rotates.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::input::Input;

/// The parts of a recording, which come into being one after the other.
pub(super) struct Parts {
    first: PathBuf,
    is_due: bool,
}

/// The part after the one that is read.
struct Next {
    path: PathBuf,
    /// True if it has been written to since the former was.
    is_later: bool,
    /// True if nothing has been written to it yet.
    is_empty: bool,
}

impl Parts {
    pub(super) fn new(first: &Path) -> Self {
        Self { first: first.to_owned(), is_due: false }
    }

    /// The part after the one that is read, when that has been written to since. It is looked for
    /// twice, so that the end of the former, which is written later, is read.
    pub(super) fn next_part(&mut self, input: &Input) -> Option<PathBuf> {
        let next = self.find(input).filter(|next| next.is_later);
        let was_due = std::mem::replace(&mut self.is_due, next.is_some());
        let next = next.filter(|_| was_due)?;
        self.is_due = false;
        Some(next.path)
    }

    /// The files of the recording that are there, from the one that is read on.
    pub(super) fn existing_files(&self, input: &Input) -> io::Result<Vec<PathBuf>> {
        let Input::File { file, path, .. } = input else { return Ok(Vec::new()) };
        let mut found = vec![path.clone()];
        let mut former = file.metadata().ok().as_ref().and_then(changed);
        let parts = kymo_recorder::parts_of(&self.first)?;
        let of_path = parts.iter().position(|part| part == path);
        for part in parts.into_iter().skip(of_path.map_or(0, |number| number + 1)) {
            let metadata = std::fs::metadata(&part).ok().filter(|metadata| metadata.len() > 0);
            let Some(when) = metadata.as_ref().and_then(changed).filter(|_| former.is_some())
            else {
                break;
            };
            if Some(when) < former {
                break;
            }
            former = Some(when);
            found.push(part);
        }
        Ok(found)
    }

    /// Returns true if the recording goes on in another part: that is made before the former ends,
    /// and written to later.
    pub(super) fn are_to_come(&self, input: &Input) -> bool {
        self.find(input).is_some_and(|next| next.is_later || next.is_empty)
    }

    fn find(&self, input: &Input) -> Option<Next> {
        let Input::File { file, path, .. } = input else { return None };
        let parts = kymo_recorder::parts_of(&self.first).ok()?;
        let of_path = parts.iter().position(|part| part == path);
        (of_path.is_some() || *path == self.first).then_some(())?;
        let path = parts.get(of_path.map_or(0, |number| number + 1))?;
        let (former, found) = (file.metadata().ok()?, std::fs::metadata(path).ok()?);
        let is_later = changed(&found)? >= changed(&former)?;
        Some(Next { path: path.clone(), is_later, is_empty: found.len() == 0 })
    }
}

fn changed(file: &Metadata) -> Option<SystemTime> {
    file.modified().ok()
}
