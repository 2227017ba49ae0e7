//! What xz and its predecessor lzma compressed: lists of kernel symbols, small symbol tables.
//!
//! The dictionary grows with what was expanded, whatever size a file says. So memory is bounded by
//! what the caller allows.

use std::io::{self, Read};

use lzma_rust2::{LzmaReader, XzReader};

/// What a file of xz begins with.
const MAGIC: &[u8] = b"\xfd7zXZ\0";

/// What files of lzma begin with as everyone makes them: the usual properties, and the low bytes
/// of a dictionary of at least 64 KiB.
const ALONE: &[u8] = &[0x5d, 0, 0];

/// What is said to the decoders of the memory that they may take. They take what they need of it.
const NO_LIMIT: u32 = u32::MAX;

/// Whether these are the first bytes of something compressed.
pub(crate) fn is_compressed(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC) || bytes.starts_with(ALONE)
}

/// Expands a file of xz or lzma, to so many bytes at most.
pub(crate) fn expand(bytes: &[u8], bytes_max: usize) -> io::Result<Vec<u8>> {
    if bytes.starts_with(MAGIC) {
        let has_several_streams = true;
        read_all(XzReader::new_mem_limit(bytes, has_several_streams, NO_LIMIT), bytes_max)
    } else {
        read_all(LzmaReader::new_mem_limit(bytes, NO_LIMIT, None)?, bytes_max)
    }
}

fn read_all(reader: impl Read, bytes_max: usize) -> io::Result<Vec<u8>> {
    let mut expanded = Vec::new();
    reader.take((bytes_max as u64).saturating_add(1)).read_to_end(&mut expanded)?;
    if expanded.len() > bytes_max {
        return Err(io::Error::other("it expands to more than such a file may"));
    }
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"kymo kymo kymo kymo\n";

    /// `printf 'kymo kymo kymo kymo\n' | xz`.
    const XZ: &[u8] = &[
        0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x04, 0xe6, 0xd6, 0xb4, 0x46, 0x02, 0x00, 0x21,
        0x01, 0x16, 0x00, 0x00, 0x00, 0x74, 0x2f, 0xe5, 0xa3, 0xe0, 0x00, 0x13, 0x00, 0x0c, 0x5d,
        0x00, 0x35, 0x9e, 0x49, 0xde, 0x9a, 0x66, 0xb2, 0x85, 0x47, 0xcb, 0x00, 0x00, 0x00, 0xf2,
        0xe4, 0x9b, 0x90, 0x23, 0xbd, 0x77, 0xcf, 0x00, 0x01, 0x28, 0x14, 0xfc, 0xcf, 0x01, 0x67,
        0x1f, 0xb6, 0xf3, 0x7d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x04, 0x59, 0x5a,
    ];

    /// The same with `xz --format=lzma`.
    const LZMA: &[u8] = &[
        0x5d, 0x00, 0x00, 0x80, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00, 0x35,
        0x9e, 0x49, 0xde, 0x9a, 0x66, 0xb2, 0x85, 0x52, 0x7f, 0x43, 0xff, 0xff, 0xfa, 0xf7, 0xc0,
        0x00,
    ];

    /// Lists of kernel symbols.
    const FILES: [&[u8]; 2] = [
        include_bytes!("../../../testdata/symbols/kallsyms.xz"),
        include_bytes!("../../../testdata/symbols/kallsyms.lzma"),
    ];

    #[test]
    fn files_of_xz_and_lzma_expand() {
        assert_eq!(expand(XZ, 20).unwrap(), TEXT);
        assert_eq!(expand(LZMA, 20).unwrap(), TEXT);
        // Streams may follow one another, with zeros between them.
        let two = [XZ, &[0; 8], XZ].concat();
        assert_eq!(expand(&two, 40).unwrap(), [TEXT, TEXT].concat());
        assert!(expand(&[XZ, b"rest"].concat(), 40).is_err());
    }

    #[test]
    fn no_more_is_made_than_the_caller_allows() {
        for file in [XZ, LZMA] {
            assert!(expand(file, 19).unwrap_err().to_string().contains("more than such a file"));
        }
    }

    #[test]
    fn a_dictionary_that_is_said_to_be_large_takes_no_memory() {
        let mut xz = XZ.to_vec();
        xz[16] = 40;
        let checksum = crc32fast::hash(&xz[12..20]).to_le_bytes();
        xz[20..24].copy_from_slice(&checksum);
        let mut lzma = LZMA.to_vec();
        lzma[1..5].copy_from_slice(&0xffff_fff0_u32.to_le_bytes());
        for file in [xz, lzma] {
            let mut expanded = Vec::new();
            let used = allocation_counter::measure(|| expanded = expand(&file, 20).unwrap());
            assert_eq!(expanded, TEXT);
            assert!(used.bytes_max < 1 << 18, "{used:?}");
        }
    }

    #[test]
    fn what_is_cut_or_damaged_is_told() {
        for file in [XZ, LZMA, FILES[0], FILES[1]] {
            let is_xz = file.starts_with(MAGIC);
            let sound = expand(file, 1 << 20).unwrap();
            for end in 0..file.len() {
                let found = expand(&file[..end], 1 << 20);
                assert!(found.is_err(), "{end} {found:?}");
            }
            for (at, bit) in (0..file.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
                let mut damaged = file.to_vec();
                damaged[at] ^= 1 << bit;
                let found = expand(&damaged, 1 << 20);
                // All that xz expands has checksums.
                assert!(!is_xz || found.is_err() || found.unwrap() == sound, "{at} {bit}");
            }
        }
    }
}
