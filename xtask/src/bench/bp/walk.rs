//! The least that a reader of BP has to do: find each element, and read the bytes asked for.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// No header in the file is longer.
const HEADER_BYTES: usize = 128;

/// Goes from element to element with one `pread` each.
pub(crate) struct Walk {
    file: File,
    offset: u64,
    size_bytes: u64,
    header: [u8; HEADER_BYTES],
}

/// Where an element's parts are.
pub(crate) struct Element {
    offset: u64,
    name_bytes: usize,
    payload_offset: u64,
    payload_bytes: usize,
}

impl Walk {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).with_context(|| path.display().to_string())?;
        let size_bytes = file.metadata()?.len();
        Ok(Self { file, offset: 0, size_bytes, header: [0; HEADER_BYTES] })
    }

    fn element(&mut self) -> Result<Element> {
        let offset = self.offset;
        self.file.read_at(&mut self.header, offset)?;
        let size_bytes = self.word(0)?;
        ensure!(size_bytes > 4, "an element of {size_bytes} bytes at byte {offset:#x}");
        let name_bytes = self.word(8)?;
        let path_bytes = self.word(12 + name_bytes + 4)?;
        let payload_bytes = self.word(12 + name_bytes + 8 + path_bytes + 4)?;
        self.offset += u64::try_from(size_bytes)?;
        let payload_offset = self.offset - u64::try_from(payload_bytes)?;
        Ok(Element { offset, name_bytes, payload_offset, payload_bytes })
    }

    /// The number in four bytes of the header.
    fn word(&self, at: usize) -> Result<usize> {
        let bytes = self.header.get(at..).and_then(|bytes| bytes.first_chunk());
        let bytes = bytes.with_context(|| format!("a long header at byte {:#x}", self.offset))?;
        Ok(usize::try_from(u32::from_le_bytes(*bytes))?)
    }

    fn name(&self, element: &Element) -> &[u8] {
        self.header.get(12..12 + element.name_bytes).unwrap_or_default()
    }
}

impl Iterator for Walk {
    type Item = Result<Element>;

    fn next(&mut self) -> Option<Self::Item> {
        (self.offset < self.size_bytes).then(|| self.element())
    }
}

/// Reads the payload of every element of that name, and counts their bytes.
pub(crate) fn read_values(path: &Path, name: &str) -> Result<usize> {
    let mut walk = Walk::open(path)?;
    let mut payload = Vec::new();
    let mut bytes = 0;
    while let Some(element) = walk.next().transpose()? {
        if walk.name(&element) == name.as_bytes() {
            payload.resize(element.payload_bytes, 0);
            walk.file
                .read_exact_at(&mut payload, element.payload_offset)
                .with_context(|| format!("the element at byte {:#x}", element.offset))?;
            bytes += payload.len();
        }
    }
    Ok(bytes)
}
