//! Long runs of bytes in the pieces that a system writes at the least cost.
//!
//! What a write covers whole, systems keep in large pages: pieces that end at multiples of their
//! size take three quarters of the time of others. Larger ones take longer again: pages of their
//! size are rarely free, and they fall out of what a processor keeps near. With their pages looked
//! at before, they take no longer than the system takes to copy a file.

use std::fs;
use std::hint::black_box;
use std::path::Path;

use kymo_core::Result;

/// Bytes that are written at once.
pub(crate) const PIECE_BYTES: usize = 1 << 17;

/// Place of the values of an array in a file, found by the file's length: the writer need not give
/// it. If the length were wrong, writing would take longer, with the same result.
pub(crate) struct Place<'a> {
    file: &'a Path,
    /// Position of the first value, once a piece is written behind all else.
    start: Option<u64>,
}

impl<'a> Place<'a> {
    /// The place of an array that is written next.
    pub(crate) fn new(file: &'a Path) -> Self {
        Self { file, start: None }
    }

    /// Hands on a run of values in pieces of whole units, each with its position in the array.
    pub(crate) fn cut(
        &mut self,
        mut first: u64,
        mut run: &[u8],
        unit: usize,
        mut write: impl FnMut(u64, &[u8]) -> Result<()>,
    ) -> Result<()> {
        while !run.is_empty() {
            let place = self.start.unwrap_or(0).saturating_add(first);
            let (piece, rest) = run.split_at(piece_bytes(run.len(), place, unit));
            look_at(piece);
            write(first, piece)?;
            first = first.saturating_add(piece.len() as u64);
            run = rest;
            if self.start.is_none() {
                let length_bytes = fs::metadata(self.file).map_or(0, |found| found.len());
                self.start = Some(length_bytes.saturating_sub(first));
            }
        }
        Ok(())
    }
}

/// Looks at every page of a piece that is to be written. A system that comes upon a page of a mapped
/// file that it has not read yet begins the write anew, and clears what it had prepared.
pub(crate) fn look_at(piece: &[u8]) {
    const PAGE_BYTES: usize = 4096;
    let ends = piece.iter().step_by(PAGE_BYTES).chain(piece.last());
    black_box(ends.fold(0, |all, byte| all ^ byte));
}

/// Returns the length of the next piece of a run, at a place of a file. The piece ends where the
/// next large page begins, in whole units.
pub(crate) fn piece_bytes(run_bytes: usize, place: u64, unit: usize) -> usize {
    if run_bytes <= PIECE_BYTES {
        return run_bytes;
    }
    let before = usize::try_from(place % PIECE_BYTES as u64).unwrap_or(0);
    let units = ((PIECE_BYTES - before) / unit.max(1)).max(1);
    (units * unit.max(1)).min(run_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces of a run whose file has so many bytes before it.
    fn pieces(before: u64, run_bytes: usize, unit: usize) -> Vec<(u64, usize)> {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut pieces = Vec::new();
        let mut place = Place::new(file.path());
        place
            .cut(0, &vec![0; run_bytes], unit, |first, piece| {
                file.as_file().set_len(before + first + piece.len() as u64).unwrap();
                pieces.push((first, piece.len()));
                Ok(())
            })
            .unwrap();
        pieces
    }

    #[test]
    fn pieces_end_at_multiples_of_their_size_once_the_place_is_known() {
        let (piece, at) = (PIECE_BYTES, PIECE_BYTES as u64);
        let found = pieces(4000, 3 * piece, 8);
        let expected =
            [(0, piece), (at, piece - 4000), (2 * at - 4000, piece), (3 * at - 4000, 4000)];
        assert_eq!(found, expected);
        assert_eq!(pieces(0, 2 * piece, 8), [(0, piece), (at, piece)]);
    }

    #[test]
    fn a_value_is_never_cut() {
        let found = pieces(8, 3 * PIECE_BYTES, 16);
        assert!(found.iter().all(|(first, bytes)| first % 16 == 0 && bytes % 16 == 0), "{found:?}");
        let long = PIECE_BYTES + 8;
        assert_eq!(pieces(8, 2 * long, long), [(0, long), (long as u64, long)]);
    }

    #[test]
    fn what_is_no_longer_than_a_piece_is_one_and_nothing_is_none() {
        assert_eq!(pieces(100, PIECE_BYTES, 1), [(0, PIECE_BYTES)]);
        assert_eq!(pieces(100, 0, 1), []);
    }
}
