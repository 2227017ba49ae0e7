//! Debug information that several modules share, as `dwz` moves it into one file.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use kymo_core::bytes::{Cursor, Endian, Limits, ReadResult};
use object::{Object, ObjectSection};

use crate::Search;
use crate::image::{self, DEBUG};
use crate::limitation::Limitation;

/// Directory in which debug files that are shared are kept.
const SHARED: &str = ".dwz";

/// The version of the section of DWARF 5.
const VERSION: u16 = 5;

/// The bytes of the file that a module's debug information refers to; nothing where it refers to
/// none.
///
/// # Errors
/// Where that file is not there, is another one than was meant, or damaged.
pub(crate) fn find(
    path: &Path,
    file: &object::File<'_>,
    search: &Search,
    limits: &Limits,
) -> Result<Option<Bytes>, Limitation> {
    let Some((name, id)) = named(file)? else { return Ok(None) };
    let name = String::from_utf8_lossy(name);
    let mut lack = Limitation::absent(format!("what it shares with others ({name}) is not there"));
    let candidates = candidates(path, &name, id, search).into_iter();
    for candidate in candidates.filter(|path| search.may_read(path)) {
        let Ok(bytes) = image::read(&candidate, limits) else { continue };
        let file = || format!("what it shares with others ({})", candidate.display());
        match object::File::parse(&*bytes) {
            Ok(found) if shared_id(&found) == Some(id) => return Ok(Some(bytes)),
            Ok(_) => lack = Limitation::absent(format!("{} is of another build", file())),
            Err(error) => {
                return Err(Limitation::damaged(format!("{} is damaged: {error}", file())));
            }
        }
    }
    Err(lack)
}

/// The name and the id of a file that is shared.
type Named<'a> = (&'a [u8], &'a [u8]);

/// The file that is shared, by either way to tell it.
fn named<'a>(file: &object::File<'a>) -> Result<Option<Named<'a>>, Limitation> {
    let damaged = |error: &dyn Display| {
        Limitation::damaged(format!("where it shares debug information is damaged: {error}"))
    };
    if let Some(link) = file.gnu_debugaltlink().map_err(|error| damaged(&error))? {
        return Ok(Some(link));
    }
    let Some(section) = file.section_by_name(".debug_sup") else { return Ok(None) };
    let section = section.data().map_err(|error| damaged(&error))?;
    let (is_shared, name, id) = supplementary(section).map_err(|error| damaged(&error))?;
    Ok((!is_shared).then_some((name, id)))
}

/// The id of a file that is shared.
fn shared_id<'a>(file: &object::File<'a>) -> Option<&'a [u8]> {
    let section = file.section_by_name(".debug_sup").and_then(|section| section.data().ok());
    match section.and_then(|section| supplementary(section).ok()) {
        Some((is_shared, _, id)) => is_shared.then_some(id),
        None => file.build_id().ok().flatten(),
    }
}

/// The section of DWARF 5, in either file: whether the file is shared, the name of the other, an
/// id.
fn supplementary(section: &[u8]) -> ReadResult<(bool, &[u8], &[u8])> {
    let mut from = Cursor::new(section, Endian::NATIVE);
    let version = from.u16("version")?;
    if version != VERSION && version.swap_bytes() != VERSION {
        return Err(kymo_core::bytes::ReadError::invalid("version", 0, "is unknown"));
    }
    let is_shared = from.u8("kind")? != 0;
    let length = from.remaining_bytes().iter().take_while(|byte| **byte != 0).count() as u64;
    let name = from.bytes("name", length)?;
    from.skip("end of the name", 1)?;
    let length = from.uleb128("length of the id")?;
    Ok((is_shared, name, from.bytes("id", length)?))
}

/// By its name, which is relative to the file that names it; among the debug files; by its id.
fn candidates(path: &Path, name: &str, id: &[u8], search: &Search) -> Vec<PathBuf> {
    let beside = path.parent().filter(|_| search.may_follow(name)).map(|folder| folder.join(name));
    let last = Path::new(name).file_name();
    let kept = last.map(|last| Path::new(DEBUG).join(SHARED).join(last));
    beside.into_iter().chain(kept).chain(image::build_id_path(id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_only_what_was_named_no_name_in_a_file_leads_elsewhere() {
        let found = |name: &str, only_named: bool| {
            let search = Search { only_named, ..Search::default() };
            let all = candidates(Path::new("/m/bin/a"), name, &[1, 2], &search);
            all.into_iter().filter(|path| search.may_read(path)).collect::<Vec<_>>()
        };
        for name in ["../../etc/x", "/etc/x", "a/../../x"] {
            assert_eq!(found(name, true), Vec::<PathBuf>::new(), "{name}");
            assert_eq!(found(name, false).len(), 3, "{name}");
        }
        assert_eq!(found("dwz/x", true), [PathBuf::from("/m/bin/dwz/x")]);
    }
}
