//! The index that `LTTng` writes beside its streams, for every file the packets that were written.

use std::collections::HashMap;
use std::path::Path;

use kymo_core::bytes::{Cursor, Endian};
use kymo_core::{Result, Source};

use super::Reader;

const DIRECTORY: &str = "index";
const EXTENSION: &str = "idx";
const MAGIC: u32 = 0xC1F1_DCC1;
const HEADER_BYTES: u64 = 16;

/// First bytes of an index of `LTTng` 2.3, which has two versions of 4 bytes each next, and then
/// entries.
const MAGIC_2_3: &[u8] = b"CTFIDX";
const HEADER_BYTES_2_3: u64 = 14;
const ENTRY_BYTES_2_3: u64 = 56;

/// The files of a trace by their names.
type Files<'a> = HashMap<&'a Path, usize>;

/// Says which files are not there, or have fewer packets than were written.
pub(super) fn compare(reader: &Reader, source: &Source, part: usize) -> Result<()> {
    let index = match source.child(Path::new(DIRECTORY), &reader.limits) {
        Ok(Some(index)) => index,
        Ok(None) => return Ok(()),
        Err(error) => {
            let why = format!("it cannot be opened: {error}");
            reader.warn_unreliable_index(&reader.relative_path(part, Path::new(DIRECTORY)), &why);
            return Ok(());
        }
    };
    if !index.is_directory() {
        return Ok(());
    }
    let files = reader.files.iter().enumerate().filter(|(_, file)| file.part == part);
    let files: Files<'_> = files.map(|(place, file)| (file.name.as_path(), place)).collect();
    for name in index.entries()? {
        if name.extension().is_none_or(|extension| extension != EXTENSION) {
            continue;
        }
        let bytes = match index
            .child(&name, &reader.limits)
            .and_then(|file| file.map(|file| file.bytes()).transpose())
        {
            Ok(Some(bytes)) => bytes,
            found => {
                let why =
                    found.err().map_or("it is a link that leads nowhere".to_owned(), |error| {
                        format!("it cannot be read: {error}")
                    });
                let name = Path::new(DIRECTORY).join(&name);
                reader.warn_unreliable_index(&reader.relative_path(part, &name), &why);
                continue;
            }
        };
        let said = packets(&bytes);
        let fault = match said {
            // One that nothing was written to yet.
            _ if bytes.is_empty() => None,
            None => Some("it does not begin as an index of LTTng does"),
            Some((_, 0)) => None,
            Some(_) => Some("it ends within an entry, so that it is cut"),
        };
        if let Some(fault) = fault {
            reader.warn_unreliable_index(
                &reader.relative_path(part, &Path::new(DIRECTORY).join(&name)),
                fault,
            );
        }
        if let Some((said @ 1.., _)) = said {
            compare_file(
                reader,
                &files,
                &reader.relative_path(part, &name.with_extension("")),
                said,
            );
        }
    }
    Ok(())
}

fn compare_file(reader: &Reader, files: &Files<'_>, name: &Path, said: u64) {
    let packets = if said == 1 { "1 packet".to_owned() } else { format!("{said} packets") };
    let Some(place) = files.get(name) else {
        return reader.warn_missing_events(
            name,
            format!("it is not there, and the index has {packets} of it"),
        );
    };
    // Packets are in the order of their files.
    let start = reader.packets.partition_point(|packet| packet.file < *place);
    let end = reader.packets.partition_point(|packet| packet.file <= *place);
    let found = (end - start) as u64;
    if found < said {
        reader.warn_missing_events(
            name,
            format!("{found} packets are in it, and the index has {packets}"),
        );
    }
}

/// Returns the number of packets of an index, and the number of bytes that are left after them.
fn packets(bytes: &[u8]) -> Option<(u64, u64)> {
    if bytes.starts_with(MAGIC_2_3) {
        let rest = (bytes.len() as u64).checked_sub(HEADER_BYTES_2_3)?;
        return Some((rest / ENTRY_BYTES_2_3, rest % ENTRY_BYTES_2_3));
    }
    let mut cursor = Cursor::new(bytes, Endian::Big);
    let magic = cursor.u32("magic").ok()?;
    let _version = (cursor.u32("major").ok()?, cursor.u32("minor").ok()?);
    let entry = u64::from(cursor.u32("packet_index_len").ok()?);
    let is_index = magic == MAGIC && entry > 0;
    let rest = (bytes.len() as u64).saturating_sub(HEADER_BYTES);
    is_index.then(|| (rest / entry, rest % entry))
}
