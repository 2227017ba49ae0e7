//! Bytes being put together, the mirror of [`Cursor`](super::Cursor).

use super::Endian;

/// Collects numbers and runs of bytes in a chosen byte order.
///
/// A writer fills one for each record and reuses it, so that a record costs no allocation.
#[derive(Debug, Clone)]
pub struct Sink {
    bytes: Vec<u8>,
    endian: Endian,
}

macro_rules! number {
    ($($name:ident $type:ty),* $(,)?) => {$(
        #[doc = concat!("Appends one `", stringify!($type), "` in the sink's byte order.")]
        pub fn $name(&mut self, value: $type) {
            match self.endian {
                Endian::Little => self.bytes.extend_from_slice(&value.to_le_bytes()),
                Endian::Big => self.bytes.extend_from_slice(&value.to_be_bytes()),
            }
        }
    )*};
}

impl Sink {
    /// An empty sink.
    #[must_use]
    pub fn new(endian: Endian) -> Self {
        Self { bytes: Vec::new(), endian }
    }

    number! {
        u8 u8, i8 i8, u16 u16, i16 i16, u32 u32, i32 i32, u64 u64, i64 i64, f32 f32, f64 f64,
    }

    /// Appends bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the collected bytes.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the number of bytes that were collected.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns true if nothing was collected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Forgets what was collected and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Takes what was collected.
    #[must_use]
    pub fn into_vec(self) -> Vec<u8> {
        self.bytes
    }

    /// The byte order numbers are appended in.
    #[must_use]
    pub fn endian(&self) -> Endian {
        self.endian
    }
}
