//! A stack of which only the top is in memory, so that a tree may be as deep as it likes.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};

use kymo_core::{Error, Result};

/// Number of values that are moved to a file at once, or back; twice as many are held before that.
const BLOCK: usize = 1 << 14;

/// A stack of what can be kept as so many numbers.
///
/// What lies far below its top is in a temporary file, which no tree of a usual depth needs.
pub(super) struct Stack<T, const N: usize> {
    /// The top of it.
    held: Vec<T>,
    file: Option<File>,
    /// Number of blocks below that are in the file.
    blocks: u64,
}

impl<T, const N: usize> Default for Stack<T, N> {
    fn default() -> Self {
        Self { held: Vec::new(), file: None, blocks: 0 }
    }
}

impl<T: Copy + From<[u64; N]> + Into<[u64; N]>, const N: usize> Stack<T, N> {
    const BLOCK_BYTES: usize = BLOCK * N * size_of::<u64>();

    pub(super) fn push(&mut self, item: T) -> Result<()> {
        if self.held.len() >= 2 * BLOCK {
            self.spill().map_err(Error::io("write a temporary file"))?;
        }
        self.held.push(item);
        Ok(())
    }

    pub(super) fn pop(&mut self) -> Result<Option<T>> {
        self.hold(1)?;
        Ok(self.held.pop())
    }

    pub(super) fn last_mut(&mut self) -> Result<Option<&mut T>> {
        self.hold(1)?;
        Ok(self.held.last_mut())
    }

    /// Returns the number of values.
    pub(super) fn len(&self) -> usize {
        let blocks = usize::try_from(self.blocks).unwrap_or(usize::MAX);
        blocks.saturating_mul(BLOCK).saturating_add(self.held.len())
    }

    /// So many of the top, or all where there are fewer, the lowest first.
    pub(super) fn top(&mut self, count: usize) -> Result<&[T]> {
        self.hold(count)?;
        let from = self.held.len().saturating_sub(count);
        Ok(self.held.get(from..).unwrap_or_default())
    }

    /// Brings so many to memory, or all where there are fewer.
    fn hold(&mut self, count: usize) -> Result<()> {
        while self.held.len() < count && self.blocks > 0 {
            self.fetch().map_err(Error::io("read a temporary file"))?;
        }
        Ok(())
    }

    /// Moves the lowest block that is held to the file.
    fn spill(&mut self) -> std::io::Result<()> {
        let mut bytes = Vec::with_capacity(Self::BLOCK_BYTES);
        for item in self.held.drain(..BLOCK) {
            let words: [u64; N] = item.into();
            bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        file.seek(SeekFrom::Start(self.blocks * Self::BLOCK_BYTES as u64))?;
        file.write_all(&bytes)?;
        self.blocks += 1;
        Ok(())
    }

    /// Brings the highest block of the file back, below what is held.
    fn fetch(&mut self) -> std::io::Result<()> {
        let (Some(file), Some(blocks)) = (&mut self.file, self.blocks.checked_sub(1)) else {
            return Ok(());
        };
        let mut bytes = vec![0; Self::BLOCK_BYTES];
        file.seek(SeekFrom::Start(blocks * Self::BLOCK_BYTES as u64))?;
        file.read_exact(&mut bytes)?;
        let (words, _) = bytes.as_chunks::<8>();
        let (items, _) = words.as_chunks::<N>();
        let items = items.iter().map(|words| T::from(words.map(u64::from_le_bytes)));
        self.held.splice(..0, items);
        self.blocks = blocks;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_on_top_last_comes_off_first_however_many_there_are() {
        let mut stack: Stack<[u64; 2], 2> = Stack::default();
        let count = 5 * BLOCK as u64 + 3;
        for number in 0..count {
            stack.push([number, !number]).unwrap();
        }
        assert_eq!((stack.len(), stack.blocks), (5 * BLOCK + 3, 4));
        for number in (0..count).rev() {
            assert_eq!(stack.last_mut().unwrap(), Some(&mut [number, !number]));
            assert!(stack.held.len() <= 2 * BLOCK);
            assert_eq!(stack.pop().unwrap(), Some([number, !number]));
        }
        assert_eq!((stack.pop().unwrap(), stack.len()), (None, 0));
    }

    #[test]
    fn what_goes_up_and_down_stays_in_its_order() {
        let (mut stack, mut plain): (Stack<[u64; 1], 1>, _) = (Stack::default(), Vec::new());
        // Up by three blocks and down by two, some times over.
        for round in 0..4 {
            for number in 0..3 * BLOCK as u64 {
                stack.push([round << 32 | number]).unwrap();
                plain.push([round << 32 | number]);
            }
            for _ in 0..2 * BLOCK + 5 {
                assert_eq!(stack.pop().unwrap(), plain.pop());
            }
            assert_eq!(stack.top(3).unwrap(), &plain[plain.len() - 3..]);
        }
        assert_eq!(stack.top(usize::MAX).unwrap(), plain);
    }
}
