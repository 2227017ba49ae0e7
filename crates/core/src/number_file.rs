//! Very many numbers, in a temporary file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{Mutex, PoisonError};

use crate::{Error, Result};

/// Number of numbers that are read from the file at once, and number of such blocks that are held.
const BLOCK: usize = 1 << 9;
const BLOCKS: usize = 1 << 8;

const NUMBER_BYTES: u64 = size_of::<f64>() as u64;

/// Numbers by their places, of which a fixed part is in memory.
#[derive(Debug)]
pub struct NumberFile(Mutex<BlockCache>);

#[derive(Debug)]
struct BlockCache {
    file: File,
    /// Blocks that were asked for last, each with its number.
    blocks: Vec<Option<(u64, Box<[f64; BLOCK]>)>>,
}

impl NumberFile {
    /// Without any numbers.
    ///
    /// # Errors
    /// When there can be no temporary file.
    pub fn new() -> Result<Self> {
        let file = tempfile::tempfile().map_err(Error::io("create a temporary file"))?;
        Ok(Self(Mutex::new(BlockCache { file, blocks: vec![None; BLOCKS] })))
    }

    /// Puts numbers at places that follow each other.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn put(&self, place: u64, numbers: &[f64]) -> Result<()> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.put(place, numbers).map_err(Error::io("write a temporary file"))
    }

    /// The numbers at places that follow each other; 0 where none was put.
    ///
    /// # Errors
    /// When they cannot be read back.
    pub fn get(&self, place: u64, to: &mut [f64]) -> Result<()> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (place, to) in (place..).zip(to) {
            *to = held.get(place).map_err(Error::io("read a temporary file"))?;
        }
        Ok(())
    }
}

impl BlockCache {
    fn put(&mut self, place: u64, numbers: &[f64]) -> io::Result<()> {
        self.blocks.fill(None);
        let mut place = place;
        for run in numbers.chunks(BLOCK) {
            // What is not there is 0 as well, and takes no room.
            if run.iter().any(|number| number.to_bits() != 0) {
                let bytes: Vec<u8> = run.iter().flat_map(|number| number.to_le_bytes()).collect();
                self.file.seek(SeekFrom::Start(place.saturating_mul(NUMBER_BYTES)))?;
                self.file.write_all(&bytes)?;
            }
            place += run.len() as u64;
        }
        Ok(())
    }

    fn get(&mut self, place: u64) -> io::Result<f64> {
        let (number, within) = (place / BLOCK as u64, place % BLOCK as u64);
        let slot = usize::try_from(number % BLOCKS as u64).unwrap_or(0);
        let within = usize::try_from(within).unwrap_or(0);
        let Some(slot) = self.blocks.get_mut(slot) else { return Ok(0.0) };
        let block = match slot {
            Some((known, block)) if *known == number => block,
            other => &mut other.insert((number, read(&mut self.file, number)?)).1,
        };
        Ok(block.get(within).copied().unwrap_or(0.0))
    }
}

/// Reads a block, which may end beyond the file.
fn read(file: &mut File, number: u64) -> io::Result<Box<[f64; BLOCK]>> {
    let mut bytes = Vec::with_capacity(BLOCK * size_of::<f64>());
    let from = number.saturating_mul(BLOCK as u64).saturating_mul(NUMBER_BYTES);
    file.seek(SeekFrom::Start(from))?;
    file.take(BLOCK as u64 * NUMBER_BYTES).read_to_end(&mut bytes)?;
    let mut block = Box::new([0.0; BLOCK]);
    let (numbers, _) = bytes.as_chunks();
    for (to, number) in block.iter_mut().zip(numbers) {
        *to = f64::from_le_bytes(*number);
    }
    Ok(block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_where_they_were_put() {
        let file = NumberFile::new().unwrap();
        let numbers: Vec<_> = (0..2000).map(f64::from).collect();
        file.put(1_000_000, &numbers).unwrap();
        file.put(3, &[0.5, 0.25]).unwrap();
        let get = |place| {
            let mut found = vec![9.0; 4];
            file.get(place, &mut found).unwrap();
            found
        };
        assert_eq!(get(2), [0.0, 0.5, 0.25, 0.0]);
        assert_eq!(get(1_001_022), [1022.0, 1023.0, 1024.0, 1025.0]);
        assert_eq!(get(1_001_998), [1998.0, 1999.0, 0.0, 0.0]);
        file.put(1_001_999, &[7.0]).unwrap();
        assert_eq!(get(1_001_998), [1998.0, 7.0, 0.0, 0.0]);
        assert_eq!(get(1 << 40), [0.0; 4]);
    }
}
