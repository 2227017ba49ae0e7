//! The run of bytes that is not handed on yet, and the checksum of the Unit so far.

use alloc::boxed::Box;
use alloc::vec;

use super::{Output, WriteError};
use crate::crc::{Crc, Polynomial};

/// Usual size of a page of memory. From a buffer that begins with a page, systems copy faster.
const PAGE_BYTES: usize = 4096;

/// Smaller buffers begin anywhere: a page more would be much for them.
const ALIGNED_BYTES_MIN: usize = 16 * PAGE_BYTES;

/// Collects bytes and hands them on a buffer at a time.
#[derive(Debug)]
pub(super) struct Page<O> {
    output: O,
    buffer: Box<[u8]>,
    /// Number of bytes of it that are used at most, and the position from which they are used.
    capacity: usize,
    start: usize,
    /// Up to where it is in use.
    fill: usize,
    /// Up to where it may be, so that what is handed on ends with a page.
    end: usize,
    /// Up to where frames may use it: its end, or the next tick of the ruler.
    limit: usize,
    /// Offset at which its content begins, and offset of the next tick, counted from the session's
    /// start.
    base: u64,
    boundary: u64,
    crc: Option<Crc>,
    /// Number of bytes of the buffer that are in the checksum.
    summed: usize,
    is_broken: bool,
}

impl<O: Output> Page<O> {
    pub(super) fn new(output: O, capacity: usize) -> Self {
        let spare = if capacity >= ALIGNED_BYTES_MIN { PAGE_BYTES } else { 0 };
        let buffer = vec![0; capacity + spare].into_boxed_slice();
        let start = buffer.as_ptr().align_offset(PAGE_BYTES).min(spare);
        Self {
            output,
            buffer,
            capacity,
            start,
            fill: start,
            end: start + capacity,
            limit: 0,
            base: 0,
            boundary: 0,
            crc: None,
            summed: start,
            is_broken: false,
        }
    }

    /// Returns the offset of the next byte, counted from the session's start.
    #[inline]
    pub(super) fn position(&self) -> u64 {
        self.base + (self.fill - self.start) as u64
    }

    /// Returns the offset of the next tick of the ruler.
    pub(super) fn boundary(&self) -> u64 {
        self.boundary
    }

    /// The bytes left before the next tick.
    pub(super) fn room(&self) -> u64 {
        self.boundary.saturating_sub(self.position())
    }

    pub(super) fn set_boundary(&mut self, boundary: u64) {
        self.boundary = boundary;
        let left = usize::try_from(boundary.saturating_sub(self.base)).unwrap_or(usize::MAX);
        self.limit = self.start.saturating_add(left).min(self.end);
    }

    /// The next `length` bytes to be filled, if they are before the next tick and in the buffer.
    #[inline]
    pub(super) fn take(&mut self, length: usize) -> Option<&mut [u8]> {
        let end = self.fill + length;
        if end > self.limit {
            return None;
        }
        let taken = self.buffer.get_mut(self.fill..end)?;
        self.fill = end;
        Some(taken)
    }

    /// Appends bytes, wherever the next tick is.
    pub(super) fn put(&mut self, mut bytes: &[u8]) -> Result<(), WriteError<O::Error>> {
        loop {
            let free = self.buffer.get_mut(self.fill..self.end).unwrap_or_default();
            let (now, later) = bytes.split_at(free.len().min(bytes.len()));
            if let Some(slots) = free.get_mut(..now.len()) {
                slots.copy_from_slice(now);
            }
            self.fill += now.len();
            if later.is_empty() {
                return Ok(());
            }
            bytes = later;
            self.drain()?;
        }
    }

    /// Begins the checksum of a Unit at the next byte.
    pub(super) fn begin_crc(&mut self, polynomial: Option<Polynomial>) {
        self.crc = polynomial.map(Crc::new);
        self.summed = self.fill;
    }

    /// The checksum up to here.
    pub(super) fn crc(&mut self) -> Option<u32> {
        self.sum();
        self.crc.as_ref().map(Crc::value)
    }

    fn sum(&mut self) {
        if let (Some(crc), Some(bytes)) = (&mut self.crc, self.buffer.get(self.summed..self.fill)) {
            crc.update(bytes);
        }
        self.summed = self.fill;
    }

    /// Hands on what was collected.
    pub(super) fn drain(&mut self) -> Result<(), WriteError<O::Error>> {
        if self.is_broken {
            return Err(WriteError::Broken);
        }
        self.sum();
        // Without the bytes it says to have, nothing that follows would be right.
        let Some(filled) = self.buffer.get(self.start..self.fill) else {
            return Err(WriteError::Broken);
        };
        if !filled.is_empty()
            && let Err(error) = self.output.write(filled)
        {
            return Err(self.fail(error));
        }
        self.begin_at(self.position());
        self.set_boundary(self.boundary);
        Ok(())
    }

    /// Empties the buffer, so that the next byte goes to a place of the session.
    fn begin_at(&mut self, position: u64) {
        self.base = position;
        (self.fill, self.summed) = (self.start, self.start);
        let is_aligned = self.capacity >= ALIGNED_BYTES_MIN;
        let beyond = if is_aligned { position % PAGE_BYTES as u64 } else { 0 };
        self.end = self.start + self.capacity - usize::try_from(beyond).unwrap_or(0);
    }

    /// Hands on what was collected and has the output do the same.
    pub(super) fn flush(&mut self) -> Result<(), WriteError<O::Error>> {
        self.drain()?;
        self.output.flush().map_err(|error| self.fail(error))
    }

    /// Shuts the writer after a failure, the fast path too: what comes next would stand at a wrong
    /// place.
    #[cold]
    fn fail(&mut self, error: O::Error) -> WriteError<O::Error> {
        self.is_broken = true;
        self.begin_at(self.base);
        self.limit = 0;
        WriteError::Output(error)
    }

    pub(super) fn is_broken(&self) -> bool {
        self.is_broken
    }

    pub(super) fn output(&self) -> &O {
        &self.output
    }

    pub(super) fn output_mut(&mut self) -> &mut O {
        &mut self.output
    }

    pub(super) fn into_output(self) -> O {
        self.output
    }

    /// Begins a session at its first byte on another output, and returns the former.
    pub(super) fn restart(&mut self, output: O) -> O {
        self.begin_at(0);
        (self.boundary, self.limit) = (0, 0);
        self.crc = None;
        self.is_broken = false;
        core::mem::replace(&mut self.output, output)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;
    use core::convert::Infallible;

    use super::*;

    /// Runs of bytes in memory: address and length.
    #[derive(Default)]
    struct Runs(Vec<(usize, usize)>);

    impl Output for Runs {
        type Error = Infallible;

        fn write(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
            self.0.push((bytes.as_ptr().addr(), bytes.len()));
            Ok(())
        }
    }

    /// Also after a flush somewhere.
    #[test]
    fn a_large_buffer_is_handed_on_in_whole_pages() {
        let mut page = Page::new(Runs::default(), 1 << 16);
        page.put(&[1; 5000]).unwrap();
        page.flush().unwrap();
        page.put(&vec![2; 200_000]).unwrap();
        page.flush().unwrap();
        let first = 65_536 - 5000 % 4096;
        let runs: Vec<usize> = page.output().0.iter().map(|(_, length)| *length).collect();
        assert_eq!(runs, [5000, first, 65_536, 65_536, 200_000 - first - 2 * 65_536]);
        assert!(page.output().0.iter().all(|(at, _)| at % 4096 == 0));
    }

    #[test]
    fn a_small_buffer_has_no_more_bytes_than_it_is_to_have() {
        let mut page = Page::new(Runs::default(), 512);
        assert_eq!(page.buffer.len(), 512);
        page.put(&[1; 1200]).unwrap();
        page.flush().unwrap();
        let runs: Vec<usize> = page.output().0.iter().map(|(_, length)| *length).collect();
        assert_eq!(runs, [512, 512, 176]);
    }
}
