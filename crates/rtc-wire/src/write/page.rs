//! The run of bytes that is not handed on yet, and the checksum of the Unit so far.

use alloc::boxed::Box;
use alloc::vec;

use super::{Output, WriteError};
use crate::crc::{Crc, Polynomial};

/// Collects bytes and hands them on a buffer at a time.
#[derive(Debug)]
pub(super) struct Page<O> {
    output: O,
    buffer: Box<[u8]>,
    /// How much of the buffer is in use.
    fill: usize,
    /// Up to where frames may use it: its end, or the next tick of the ruler.
    limit: usize,
    /// Where the buffer begins and where the next tick is, counted from the session's start.
    base: u64,
    boundary: u64,
    crc: Option<Crc>,
    /// How much of the buffer is in the checksum.
    summed: usize,
    is_broken: bool,
}

impl<O: Output> Page<O> {
    pub(super) fn new(output: O, capacity: usize) -> Self {
        Self {
            output,
            buffer: vec![0; capacity].into_boxed_slice(),
            fill: 0,
            limit: 0,
            base: 0,
            boundary: 0,
            crc: None,
            summed: 0,
            is_broken: false,
        }
    }

    /// Where the next byte goes, counted from the session's start.
    #[inline]
    pub(super) fn position(&self) -> u64 {
        self.base + self.fill as u64
    }

    /// Where the next tick of the ruler is.
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
        self.limit = left.min(self.buffer.len());
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
            let free = self.buffer.get_mut(self.fill..).unwrap_or_default();
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
        let filled = self.buffer.get(..self.fill).unwrap_or_default();
        if !filled.is_empty()
            && let Err(error) = self.output.write(filled)
        {
            return Err(self.fail(error));
        }
        self.base += self.fill as u64;
        (self.fill, self.summed) = (0, 0);
        self.set_boundary(self.boundary);
        Ok(())
    }

    /// Hands on what was collected and has the output do the same.
    pub(super) fn flush(&mut self) -> Result<(), WriteError<O::Error>> {
        self.drain()?;
        self.output.flush().map_err(|error| self.fail(error))
    }

    /// What comes after a failure would stand at a wrong place: the fast path is shut too.
    #[cold]
    fn fail(&mut self, error: O::Error) -> WriteError<O::Error> {
        self.is_broken = true;
        (self.fill, self.summed, self.limit) = (0, 0, 0);
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
        (self.fill, self.summed, self.limit) = (0, 0, 0);
        (self.base, self.boundary) = (0, 0);
        self.crc = None;
        self.is_broken = false;
        core::mem::replace(&mut self.output, output)
    }
}
