//! The header, and where it says that sections are.

use kymo_core::bytes::{Cursor, Endian, ReadError, ReadErrorKind, ReadResult};

use crate::spec::{MAGIC, Section, VERSION};

/// Offsets of sections as given by the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pointers: [i64; Section::ALL.len()],
    size_bytes: u64,
}

impl Header {
    /// Reads the header of a whole file.
    pub(crate) fn read(bytes: &[u8]) -> ReadResult<Self> {
        let mut cursor = Cursor::new(bytes, Endian::Big);
        let found = cursor.u32("magic-number")?;
        if found != MAGIC {
            let why = format!("{found:#010x} is not {MAGIC:#010x}");
            return Err(ReadError::invalid("magic-number", 0, why));
        }
        version(&mut cursor)?;
        let mut pointers = [0; Section::ALL.len()];
        for (section, pointer) in Section::ALL.into_iter().zip(&mut pointers) {
            *pointer = cursor.i64(section.pointer())?;
        }
        Ok(Self { pointers, size_bytes: bytes.len() as u64 })
    }

    /// The first byte of a section, if the section can be there.
    pub(crate) fn start(&self, section: Section) -> ReadResult<u64> {
        let mut pointers = Section::ALL.iter().zip(self.pointers).enumerate();
        let found = pointers.find(|(_, (other, _))| **other == section);
        let no_pointer =
            || ReadError::invalid(section.pointer(), 8, "it is of no section, a fault of kymo");
        let (place, (_, pointer)) = found.ok_or_else(no_pointer)?;
        let last = self.size_bytes.saturating_sub(section.bytes_min());
        u64::try_from(pointer).ok().filter(|start| *start <= last).ok_or_else(|| {
            let why = format!(
                "{} cannot be at byte {pointer} of a file of {} bytes",
                section.name(),
                self.size_bytes
            );
            ReadError::invalid(section.pointer(), 8 + 8 * place as u64, why)
        })
    }
}

fn version(cursor: &mut Cursor<'_>) -> ReadResult<()> {
    let offset = cursor.offset();
    let found = cursor.i32("file-format-version")?;
    let why = match found {
        VERSION => return Ok(()),
        0..VERSION => "has another layout, of tools before Optima 2.3",
        _ => "is not known",
    };
    let why = format!("version {found} {why}; version {VERSION} is read");
    Err(ReadErrorKind::OtherVersion(why.into()).error_at("file-format-version", offset))
}
