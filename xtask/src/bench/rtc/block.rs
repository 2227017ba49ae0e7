//! The buffer of a bare file: how fast the system copies depends on where in a page it begins.

/// Bytes that are handed to the system at a time, and those of a chunk in MCAP. Messages of either
/// shape fill it without a rest.
pub(super) const BLOCK_BYTES: usize = 1 << 20;

const PAGE_BYTES: usize = 4096;

/// Where an allocator puts what is this large: behind a header of its own.
const HEADER_BYTES: usize = 16;

/// A buffer of `BLOCK_BYTES`.
pub(super) struct Block {
    allocated: Vec<u8>,
    start: usize,
}

impl Block {
    /// One that begins with a page, or a little behind its beginning.
    pub(super) fn new(paged: bool) -> Self {
        let allocated = vec![0; BLOCK_BYTES + 2 * PAGE_BYTES];
        let first = allocated.as_ptr().align_offset(PAGE_BYTES);
        let start = if paged { first } else { first + HEADER_BYTES };
        Self { allocated, start }
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        self.allocated.get_mut(self.start..self.start + BLOCK_BYTES).unwrap_or_default()
    }
}
