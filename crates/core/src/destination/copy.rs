//! Copying what lies beside the files that a format writes anew.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Error, Result, Source};

/// Copies all of a directory but what is left to the format, unchanged: files, directories with
/// all that is in them, and links as links, which lead where they led. Says what is none of these,
/// such as a pipe, and was left out.
///
/// `is_ours` is asked for the names at the top.
///
/// # Errors
/// When the source is no directory, or when something cannot be read or written.
pub fn copy_other_files(
    source: &Source,
    into: &Path,
    is_ours: &dyn Fn(&Path) -> bool,
) -> Result<Vec<PathBuf>> {
    if !source.is_directory() {
        return Err(Error::request("it is a file, and not a directory"));
    }
    let root = fs::canonicalize(source.path()).map_err(Error::io("look at it"))?;
    let mut left_out = Vec::new();
    let mut pending = vec![PathBuf::new()];
    while let Some(below) = pending.pop() {
        let folder = source.path().join(&below);
        for entry in fs::read_dir(&folder).map_err(Error::io("list it"))? {
            let entry = entry.map_err(Error::io("list it"))?;
            let name = below.join(entry.file_name());
            let kind = entry.file_type().map_err(Error::io("look at a file within it"))?;
            let is_top = below.as_os_str().is_empty();
            if is_top && is_ours(&name) && !kind.is_dir() {
                continue;
            }
            let (from, to) = (entry.path(), into.join(&name));
            if kind.is_dir() {
                fs::create_dir(&to).map_err(Error::io("create a directory"))?;
                pending.push(name);
            } else if kind.is_file() {
                fs::copy(&from, &to).map_err(Error::io("copy a file within it"))?;
            } else if !(kind.is_symlink() && link(&root, &from, &to)?) {
                left_out.push(name);
            }
        }
    }
    left_out.sort_unstable();
    Ok(left_out)
}

/// Makes a link that leads where another does; not all systems have them. From elsewhere, the way out
/// of the directory would be another.
#[cfg(unix)]
fn link(root: &Path, from: &Path, to: &Path) -> Result<bool> {
    let target = fs::read_link(from).map_err(Error::io("read a link within it"))?;
    // One that leads nowhere stays as it is.
    let place = fs::canonicalize(from).ok().filter(|_| target.is_relative());
    let outside = place.filter(|place| !place.starts_with(root));
    let target = outside.unwrap_or(target);
    std::os::unix::fs::symlink(target, to).map_err(Error::io("create a link"))?;
    Ok(true)
}

#[cfg(not(unix))]
fn link(_root: &Path, _from: &Path, _to: &Path) -> Result<bool> {
    Ok(false)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;
    use crate::bytes::Limits;

    #[test]
    fn all_but_ours_is_copied_and_links_stay_links() {
        let from = tempfile::tempdir().unwrap();
        let into = tempfile::tempdir().unwrap();
        let path = from.path();
        fs::create_dir(path.join("below")).unwrap();
        fs::write(path.join("below/a.mine"), "kept").unwrap();
        fs::write(path.join("a.mine"), "left to the format").unwrap();
        symlink("..", path.join("below/round")).unwrap();
        symlink("nowhere", path.join("dangling")).unwrap();
        let _listener = UnixListener::bind(path.join("socket")).unwrap();
        let source = Source::open(path, &Limits::default()).unwrap();
        let is_ours = |name: &Path| name.extension().is_some_and(|end| end == "mine");
        let left_out = copy_other_files(&source, into.path(), &is_ours).unwrap();
        assert_eq!(left_out, [PathBuf::from("socket")]);
        assert_eq!(fs::read(into.path().join("below/a.mine")).unwrap(), b"kept");
        assert!(!into.path().join("a.mine").exists());
        for (link, target) in [("below/round", ".."), ("dangling", "nowhere")] {
            assert_eq!(fs::read_link(into.path().join(link)).unwrap(), Path::new(target));
        }
    }

    #[test]
    fn a_link_out_of_the_directory_leads_to_the_same_file_from_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let (from, into) = (folder.path().join("a/from"), folder.path().join("into"));
        fs::create_dir_all(&from).unwrap();
        fs::create_dir(&into).unwrap();
        fs::write(folder.path().join("shared"), "shared").unwrap();
        symlink("../../shared", from.join("link")).unwrap();
        let source = Source::open(&from, &Limits::default()).unwrap();
        assert!(copy_other_files(&source, &into, &|_| false).unwrap().is_empty());
        assert_eq!(fs::read(into.join("link")).unwrap(), b"shared");
    }
}
