//! Destination of the bytes of a writer.

use alloc::vec::Vec;
use core::convert::Infallible;

/// Takes the bytes of a recording in their order, a large run at a time.
pub trait Output {
    /// Reason why bytes were not taken.
    type Error;

    /// Takes all of `bytes`, or fails.
    fn write(&mut self, bytes: &[u8]) -> Result<(), Self::Error>;

    /// Passes on what it may have held back, so that it survives the end of the program.
    fn flush(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

impl Output for Vec<u8> {
    type Error = Infallible;

    fn write(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        self.extend_from_slice(bytes);
        Ok(())
    }
}

impl<O: Output + ?Sized> Output for &mut O {
    type Error = O::Error;

    fn write(&mut self, bytes: &[u8]) -> Result<(), O::Error> {
        (**self).write(bytes)
    }

    fn flush(&mut self) -> Result<(), O::Error> {
        (**self).flush()
    }
}

/// Writes to anything that [`std::io::Write`] is implemented for. Short writes are continued and
/// interrupted ones repeated.
#[cfg(feature = "std")]
#[derive(Debug, Clone, Default)]
pub struct IoOutput<W>(pub W);

#[cfg(feature = "std")]
impl<W: std::io::Write> Output for IoOutput<W> {
    type Error = std::io::Error;

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0.write_all(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}
