//! What xz and its predecessor lzma compressed: lists of kernel symbols, small symbol tables.
//!
//! Everything that was expanded is kept, and is the dictionary too. So memory is bounded by what
//! the caller allows, whatever a file says of its sizes.

mod lzma;

use kymo_core::bytes::{Cursor, Endian, ReadError, ReadResult};

use lzma::{Decoder, Properties};

/// What a file of xz begins with.
const MAGIC: &[u8] = b"\xfd7zXZ\0";

/// What files of lzma begin with as everyone makes them: the usual properties, and the low bytes
/// of a dictionary of at least 64 KiB.
const ALONE: &[u8] = &[0x5d, 0, 0];

/// The size that lzma says where it does not know it.
const UNKNOWN_SIZE: u64 = u64::MAX;

/// The one filter that is read. The others are for machine code.
const LZMA2: u64 = 0x21;

/// How long the checksums of blocks are, by their number.
const CHECK_BYTES: [u64; 16] = [0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64];

/// How long the end of a stream is.
const FOOTER_BYTES: u64 = 12;

/// Returns true if these are the first bytes of something compressed.
pub(crate) fn is_compressed(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC) || bytes.starts_with(ALONE)
}

/// Expands a file of xz or lzma, to so many bytes at most.
pub(crate) fn expand(bytes: &[u8], bytes_max: usize) -> ReadResult<Vec<u8>> {
    let mut from = Cursor::new(bytes, Endian::Little);
    let mut decoder = Decoder::new(bytes_max);
    if bytes.starts_with(MAGIC) {
        while from.rest().starts_with(MAGIC) {
            stream(&mut from, &mut decoder)?;
            // Streams are padded by words of zeros.
            while from.rest().starts_with(&[0; 4]) {
                from.skip("padding", 4)?;
            }
        }
        if from.remaining() > 0 {
            return Err(ReadError::invalid("stream", from.offset(), "is none"));
        }
    } else {
        alone(&mut from, &mut decoder)?;
    }
    Ok(decoder.into_expanded())
}

/// A whole file of lzma.
fn alone(from: &mut Cursor<'_>, decoder: &mut Decoder) -> ReadResult<()> {
    let properties = properties(from)?;
    from.skip("dictionary size", 4)?;
    let size = from.u64("size")?;
    let (rest, offset) = (from.rest(), from.offset());
    decoder.reset(properties);
    let size = if size == UNKNOWN_SIZE { None } else { Some(size) };
    decoder.decode(rest, size).map(drop).map_err(|why| ReadError::invalid("data", offset, why))
}

fn properties(from: &mut Cursor<'_>) -> ReadResult<Properties> {
    let offset = from.offset();
    let found = Properties::of(from.u8("properties")?);
    found.ok_or_else(|| ReadError::invalid("properties", offset, "are impossible"))
}

/// Blocks between a header and an index.
fn stream(from: &mut Cursor<'_>, decoder: &mut Decoder) -> ReadResult<()> {
    from.skip("magic", MAGIC.len() as u64)?;
    let [_, check] = from.array("stream flags")?;
    from.skip("checksum", 4)?;
    let check = check & 0xf;
    while from.rest().first().is_some_and(|size| *size != 0) {
        block(from, decoder, check)?;
    }
    index(from)?;
    from.skip("stream footer", FOOTER_BYTES)
}

/// A block, which is compressed on its own.
fn block(from: &mut Cursor<'_>, decoder: &mut Decoder, check: u8) -> ReadResult<()> {
    let start = from.offset();
    let words = from.rest().first().copied().unwrap_or(0);
    let bytes = from.bytes("block header", u64::from(words) * 4)?;
    let checksum = from.u32("checksum of a block header")?;
    if crc32fast::hash(bytes) != checksum {
        return Err(ReadError::invalid("block header", start, "has another checksum"));
    }
    block_header(&mut Cursor::at(bytes, start, Endian::Little))?;
    let (data, before) = (from.offset(), decoder.expanded().len());
    chunks(from, decoder)?;
    // Blocks are padded to words.
    let odd = (from.offset() - data) % 4;
    from.skip("padding", (4 - odd) % 4)?;
    let expanded = decoder.expanded().get(before..).unwrap_or_default();
    let at = from.offset();
    let length = CHECK_BYTES.get(usize::from(check)).copied().unwrap_or(0);
    let told = from.bytes("checksum of a block", length)?;
    let is_sound = match check {
        1 => told == crc32fast::hash(expanded).to_le_bytes(),
        4 => told == crc64(expanded).to_le_bytes(),
        // Others are rare.
        _ => true,
    };
    is_sound.then_some(()).ok_or_else(|| ReadError::invalid("checksum", at, "is another"))
}

/// The header of a block: sizes that nobody needs, and the filters.
fn block_header(from: &mut Cursor<'_>) -> ReadResult<()> {
    let [_, flags] = from.array("block flags")?;
    for has_size in [flags & 0x40, flags & 0x80] {
        if has_size != 0 {
            from.uleb128("size of a block")?;
        }
    }
    let at = from.offset();
    let filters = flags & 3;
    if filters == 0 && from.uleb128("filter")? == LZMA2 {
        return Ok(());
    }
    Err(ReadError::invalid("filter", at, "only LZMA2 alone is read"))
}

/// Chunks, each compressed or not.
fn chunks(from: &mut Cursor<'_>, decoder: &mut Decoder) -> ReadResult<()> {
    let mut is_first = true;
    loop {
        let at = from.offset();
        let control = from.u8("chunk")?;
        let refused = |why| ReadError::invalid("chunk", at, why);
        match control {
            0 => return Ok(()),
            1 | 2 => {
                let size = u64::from(big_endian(from)?) + 1;
                if control == 1 {
                    decoder.forget();
                }
                let plain = from.bytes("chunk", size)?;
                decoder.append(plain).map_err(refused)?;
            }
            0x80.. => {
                let size = u64::from(control & 0x1f) << 16 | u64::from(big_endian(from)?);
                let length = u64::from(big_endian(from)?) + 1;
                match control >> 5 & 3 {
                    0 if is_first => return Err(refused("continues nothing")),
                    0 => {}
                    1 => decoder.reset_state(),
                    reset => {
                        let properties = properties(from)?;
                        if !properties.are_small() {
                            return Err(refused("has too many literal bits"));
                        }
                        if reset == 3 {
                            decoder.forget();
                        }
                        decoder.reset(properties);
                    }
                }
                let data = from.bytes("chunk", length)?;
                if !decoder.decode(data, Some(size + 1)).map_err(refused)? {
                    return Err(refused("goes on after its end"));
                }
            }
            _ => return Err(refused("is of no known kind")),
        }
        is_first = false;
    }
}

/// Sizes of chunks have their high byte first, unlike everything else.
fn big_endian(from: &mut Cursor<'_>) -> ReadResult<u16> {
    Ok(u16::from_be_bytes(from.array("size of a chunk")?))
}

/// The list of blocks, which says nothing new.
fn index(from: &mut Cursor<'_>) -> ReadResult<()> {
    let start = from.offset();
    from.skip("index", 1)?;
    let count = from.uleb128("blocks of the index")?;
    for _ in 0..count {
        from.uleb128("index")?;
        from.uleb128("index")?;
    }
    let odd = (from.offset() - start) % 4;
    from.skip("padding", (4 - odd) % 4 + 4)
}

/// The checksum of ECMA-182 that xz uses, with its bits the other way round.
fn crc64(bytes: &[u8]) -> u64 {
    const TABLE: [u64; 256] = {
        let mut table = [0; 256];
        let mut byte = 0;
        while byte < 256 {
            let (mut rest, mut bit) = (byte as u64, 0);
            while bit < 8 {
                let bits = if rest & 1 == 1 { 0xc96c_5795_d787_0f42 } else { 0 };
                rest = rest >> 1 ^ bits;
                bit += 1;
            }
            #[expect(clippy::indexing_slicing, reason = "a constant, so the compiler checks it")]
            {
                table[byte] = rest;
            }
            byte += 1;
        }
        table
    };
    let next = |sum: u64, byte: &u8| {
        let [low, ..] = sum.to_le_bytes();
        sum >> 8 ^ TABLE.get(usize::from(low ^ byte)).copied().unwrap_or(0)
    };
    !bytes.iter().fold(u64::MAX, next)
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

    #[test]
    fn files_of_xz_and_lzma_expand() {
        assert_eq!(expand(XZ, 20).unwrap(), TEXT);
        assert_eq!(expand(LZMA, 20).unwrap(), TEXT);
        // Streams may follow one another, with zeros between them.
        let two = [XZ, &[0; 8], XZ].concat();
        assert_eq!(expand(&two, 40).unwrap(), [TEXT, TEXT].concat());
    }

    #[test]
    fn no_more_is_made_than_the_caller_allows() {
        for file in [XZ, LZMA] {
            assert!(expand(file, 19).unwrap_err().to_string().contains("more than such a file"));
        }
    }

    #[test]
    fn what_is_cut_or_damaged_is_told() {
        for file in [XZ, LZMA] {
            for end in 0..file.len() - 1 {
                let _ = expand(&file[..end], 1 << 20);
            }
            for (at, bit) in (0..file.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
                let mut damaged = file.to_vec();
                damaged[at] ^= 1 << bit;
                let found = expand(&damaged, 1 << 20);
                // The data of xz has a checksum.
                let is_checked = (31..41).contains(&at) || (44..52).contains(&at);
                assert!(file != XZ || !is_checked || found.is_err(), "{at} {bit} {found:?}");
            }
        }
    }

    #[test]
    fn the_published_checksum_comes_out() {
        assert_eq!(crc64(b"123456789"), 0x995d_c9bb_df19_39fa);
    }
}
