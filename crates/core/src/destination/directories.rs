//! Directories within an output that is a directory.

use std::path::Path;
use std::{fs, io};

use crate::{Error, Result};

/// Creates a directory below another that is there, and what is missing on the way. Unlike
/// [`fs::create_dir_all`] it never makes that other one, which may have been abandoned meanwhile.
///
/// # Errors
/// When the system refuses one of them.
pub fn create_below(root: &Path, below: &Path) -> Result<()> {
    if root.join(below).is_dir() {
        return Ok(());
    }
    let mut path = root.to_path_buf();
    for part in below.components() {
        path.push(part);
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made.map_err(Error::io("create a directory of the output"))?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_made_below_one_that_is_there_and_never_that_one() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("out");
        assert!(create_below(&root, Path::new("a/b")).is_err());
        assert!(!root.exists());
        fs::create_dir(&root).unwrap();
        for _ in 0..2 {
            create_below(&root, Path::new("a/b")).unwrap();
        }
        create_below(&root, Path::new("")).unwrap();
        assert!(root.join("a/b").is_dir());
    }
}
