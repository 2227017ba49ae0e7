//! Debug information that several modules share, as `dwz` moves it into one file.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use gimli::DwarfSections;
use kymo_core::bytes::{Cursor, Endian, Limits, ReadResult};
use object::{Object, ObjectSection};

use crate::image::{self, DEBUG};

/// Where debug files that are shared are kept.
const SHARED: &str = ".dwz";

/// The version of the section of DWARF 5.
const VERSION: u16 = 5;

/// The file that a module's debug information refers to, if it is there and the one that was meant.
pub(crate) fn find(
    path: &Path,
    file: &object::File<'_>,
    limits: &Limits,
) -> Option<DwarfSections<Bytes>> {
    let (name, id) = named(file)?;
    candidates(path, std::str::from_utf8(name).ok()?, id).iter().find_map(|candidate| {
        let bytes = image::read(candidate, limits).ok()?;
        let found = object::File::parse(&*bytes).ok()?;
        (told_id(&found)? == id).then(|| image::load(&found, &bytes))
    })
}

/// The name and the id of the file that is shared, by either way to tell it.
fn named<'a>(file: &object::File<'a>) -> Option<(&'a [u8], &'a [u8])> {
    if let Ok(Some(link)) = file.gnu_debugaltlink() {
        return Some(link);
    }
    let section = file.section_by_name(".debug_sup")?.data().ok()?;
    let (is_shared, name, id) = supplementary(section).ok()?;
    (!is_shared).then_some((name, id))
}

/// The id of a file that is shared.
fn told_id<'a>(file: &object::File<'a>) -> Option<&'a [u8]> {
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
    let length = from.rest().iter().take_while(|byte| **byte != 0).count() as u64;
    let name = from.bytes("name", length)?;
    from.skip("end of the name", 1)?;
    let length = from.uleb128("length of the id")?;
    Ok((is_shared, name, from.bytes("id", length)?))
}

/// By its name, which is relative to the file that names it; among the debug files; by its id.
fn candidates(path: &Path, name: &str, id: &[u8]) -> Vec<PathBuf> {
    let beside = path.parent().map(|folder| folder.join(name));
    let last = Path::new(name).file_name();
    let kept = last.map(|last| Path::new(DEBUG).join(SHARED).join(last));
    beside.into_iter().chain(kept).chain(image::by_build_id(id)).collect()
}
