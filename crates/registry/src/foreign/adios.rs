//! ADIOS BP, versions 1 to 5: what came after the binary-pack files of 2008, under the same extension.

use std::path::Path;

use kymo_core::Source;

use super::Kind;

const fn kind(name: &'static str, advice: &'static str) -> Kind {
    Kind { name, advice }
}

const BPLS_1: &str = "open it with bpls of ADIOS 1";
const BPLS_2: &str = "open it with bpls of ADIOS 2";

const VERSION_1: Kind = kind("an ADIOS BP file, version 1", BPLS_1);
const VERSION_2: Kind = kind("an ADIOS BP file, version 2", BPLS_1);
const VERSION_3: Kind =
    kind("an ADIOS BP file, version 3", "open it with bpls of ADIOS 1.13 or ADIOS 2");
const VERSION_4: Kind = kind("an ADIOS BP directory, version 4", BPLS_2);
const VERSION_5: Kind = kind("an ADIOS BP directory, version 5", BPLS_2);
const WITHOUT_END: Kind = kind(
    "an ADIOS BP file (version 1 to 3) without its end, where its index is",
    "copy it again, or recover it with bprecover of ADIOS 1",
);
const CHANGED: Kind = kind(
    "the index of an ADIOS BP file (version 1 to 3), cut or changed at its end",
    "copy it again, or make it anew of its data with bpmeta of ADIOS 1",
);
const DATA: Kind =
    kind("the data of an ADIOS BP file, version 3", "name the file beside it without .dir");

/// Names the version of a file or a directory, if it is of ADIOS.
pub(super) fn recognise(source: &Source) -> Option<Kind> {
    if source.is_directory() {
        return directory(source);
    }
    let bytes = source.bytes().ok()?;
    footer(&bytes)
        .or_else(|| starts_with_process_group(&bytes).then_some(WITHOUT_END))
        .or_else(|| starts_with_index(&bytes).then_some(CHANGED))
}

/// Versions 4 and 5 are directories with an index `md.idx`, whose byte 37 has the version; the data
/// of version 3 may be in files of their own in `NAME.bp.dir`.
fn directory(source: &Source) -> Option<Kind> {
    const VERSION_AT: usize = 37;
    let probe = source.probe();
    if let Some(head) = probe.file_head("md.idx", 64)
        && head.starts_with(b"ADIOS-BP v")
    {
        return match head.get(VERSION_AT)? {
            4 => Some(VERSION_4),
            5 => Some(VERSION_5),
            _ => None,
        };
    }
    let name = source.path().file_name()?.to_str()?.strip_suffix(".dir")?;
    let first = source.path().join(Path::new(&format!("{name}.0")));
    let is_bp = Path::new(name).extension().is_some_and(|extension| extension == "bp");
    (is_bp && first.is_file()).then_some(DATA)
}

/// The last 28 bytes: the places of three indices, two bytes of which the first tells the byte order,
/// flags, and the version.
fn footer(bytes: &[u8]) -> Option<Kind> {
    const FOOTER_BYTES: usize = 28;
    let (body, footer) = bytes.split_at_checked(bytes.len().checked_sub(FOOTER_BYTES)?)?;
    let [order, 0, flags, version] = *footer.last_chunk()? else { return None };
    let kind = match version {
        1 => VERSION_1,
        2 => VERSION_2,
        3 => VERSION_3,
        _ => return None,
    };
    let is_footer = matches!(order, 0 | 0x80) && flags < 4;
    let reads = |number: fn([u8; 8]) -> u64| has_indices(body, footer, number);
    (is_footer && (reads(u64::from_le_bytes) || reads(u64::from_be_bytes))).then_some(kind)
}

/// Returns true when the indices follow each other, and the first is as long as it says: a number of
/// process groups, a length, and so many bytes. Older writers forgot two bytes of each group.
fn has_indices(body: &[u8], footer: &[u8], number: fn([u8; 8]) -> u64) -> bool {
    let at = |bytes: &[u8], place: u64| {
        let from = bytes.get(usize::try_from(place).ok()?..)?;
        from.first_chunk().copied().map(number)
    };
    let found = || {
        let (groups_at, variables_at) = (at(footer, 0)?, at(footer, 8)?);
        let attributes_at = at(footer, 16)?;
        let (groups, length) = (at(body, groups_at)?, at(body, groups_at.checked_add(8)?)?);
        let end = groups_at.checked_add(16)?.checked_add(length)?;
        let forgotten = variables_at.checked_sub(end)?;
        let is_whole = forgotten == 0 || groups.checked_mul(2) == Some(forgotten);
        Some(is_whole && variables_at <= attributes_at && attributes_at <= body.len() as u64)
    };
    found().unwrap_or(false)
}

/// Returns true when a file begins as a process group does: a length of eight bytes, `y` or `n` for
/// the language of the writer, and a name behind its length. An element of a binary-pack file has a
/// length of four bytes, and a tag that is not 0 in the next four.
fn starts_with_process_group(bytes: &[u8]) -> bool {
    let found = || {
        let (head, rest) = bytes.split_first_chunk::<11>()?;
        let [_, _, _, _, 0, 0, 0, 0, b'y' | b'n', low, high] = *head else { return None };
        let name = rest.get(..usize::from(u16::from_le_bytes([low, high])))?;
        Some(!name.is_empty() && name.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' '))
    };
    found().unwrap_or(false)
}

/// Returns true when a file begins as the index of process groups does, as it is where the data are in
/// files of their own: a number of groups and a length, each of eight bytes, and the first group, a
/// length of two bytes, a name behind its length, and `y` or `n`. In a binary-pack file the first
/// element would have the length of the number of groups, and the tag 0.
fn starts_with_index(bytes: &[u8]) -> bool {
    let found = |number: fn([u8; 8]) -> u64, short: fn([u8; 2]) -> u16| {
        let (groups, rest) = bytes.split_first_chunk::<8>()?;
        let (length, rest) = rest.split_first_chunk::<8>()?;
        let (first, rest) = rest.split_first_chunk::<2>()?;
        let (named, rest) = rest.split_first_chunk::<2>()?;
        let (groups, length) = (number(*groups), number(*length));
        let (first, named) = (short(*first), short(*named));
        let (name, rest) = rest.split_at_checked(usize::from(named))?;
        let is_language = matches!(rest.first()?, b'y' | b'n');
        let is_name = !name.is_empty() && name.iter().all(|b| b.is_ascii_graphic() || *b == b' ');
        let is_long = named < first && u64::from(first) <= length && groups <= length;
        Some(is_language && is_name && is_long && groups > 0)
    };
    let is_little = || found(u64::from_le_bytes, u16::from_le_bytes);
    is_little().or_else(|| found(u64::from_be_bytes, u16::from_be_bytes)).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of one process group of 20 bytes, its index, an empty one of variables and one of
    /// attributes, and the footer.
    fn file(number: fn(u64) -> [u8; 8], order: u8, version: u8, forgotten: u64) -> Vec<u8> {
        let mut bytes = number(20).to_vec();
        bytes.extend(b"n\x04\0step\0\0\0\0\0");
        let groups_at = bytes.len() as u64;
        bytes.extend([number(1), number(27 - forgotten)].concat());
        bytes.extend([0; 27]);
        let variables_at = bytes.len() as u64;
        bytes.extend([0; 10]);
        let attributes_at = bytes.len() as u64;
        bytes.extend([0; 10]);
        bytes.extend([groups_at, variables_at, attributes_at].map(number).concat());
        bytes.extend([order, 0, 2, version]);
        bytes
    }

    #[test]
    fn the_version_is_the_last_byte_in_both_byte_orders() {
        for (version, kind) in [(1, VERSION_1), (2, VERSION_2), (3, VERSION_3)] {
            for forgotten in [0, 2] {
                assert_eq!(footer(&file(u64::to_le_bytes, 0, version, forgotten)), Some(kind));
                assert_eq!(footer(&file(u64::to_be_bytes, 0x80, version, forgotten)), Some(kind));
            }
        }
        assert_eq!(footer(&file(u64::to_le_bytes, 0, 4, 0)), None);
        assert_eq!(footer(&file(u64::to_le_bytes, 0, 1, 1)), None);
        assert_eq!(footer(&[0; 27]), None);
    }

    /// One group `xgc` whose entry has 12 bytes behind its length.
    #[test]
    fn an_index_without_its_end_is_known_by_its_first_group() {
        let made = |number: fn(u64) -> [u8; 8], short: fn(u16) -> [u8; 2]| {
            let mut bytes = [number(1), number(14)].concat();
            bytes.extend([short(12), short(3)].concat());
            bytes.extend(b"xgcn\0\0\0\0\0\0");
            bytes
        };
        for bytes in
            [made(u64::to_le_bytes, u16::to_le_bytes), made(u64::to_be_bytes, u16::to_be_bytes)]
        {
            for end in 24..bytes.len() {
                let source = Source::from_bytes("cut.bp", bytes[..end].to_vec());
                assert_eq!(recognise(&source), Some(CHANGED), "{end} bytes");
            }
            let mut other = bytes.clone();
            other[23] = b'x';
            assert!(!starts_with_index(&other));
        }
    }

    #[test]
    fn a_file_without_its_end_is_known_by_its_first_process_group() {
        let whole = file(u64::to_le_bytes, 0, 1, 0);
        for end in 15..whole.len() {
            let source = Source::from_bytes("cut.bp", whole[..end].to_vec());
            assert_eq!(recognise(&source), Some(WITHOUT_END), "{end} bytes");
        }
    }
}
