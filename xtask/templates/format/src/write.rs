//! Types to bytes, the mirror of `read.rs`.

use std::io::{self, Write};

use kymo_core::bytes::{Endian, Sink};

use crate::spec;
use crate::types::Event;

/// Writes a file event by event, holding none of them. Finish it, or the file ends short.
#[derive(Debug)]
#[must_use = "finish it, or the file ends short"]
pub struct Writer<W> {
    out: W,
    sink: Sink,
    left: u32,
}

impl<W: Write> Writer<W> {
    /// Writes the header of a file that will have so many events.
    pub fn new(out: W, event_count: u32) -> io::Result<Self> {
        let mut writer = Self { out, sink: Sink::new(Endian::Little), left: event_count };
        writer.sink.bytes(&spec::MAGIC);
        writer.sink.u32(spec::VERSION);
        writer.sink.u32(event_count);
        writer.flush()?;
        Ok(writer)
    }

    /// Writes one of the events that were promised.
    pub fn write(&mut self, event: &Event) -> io::Result<()> {
        let length = 8 + event.message.len() as u64;
        let length = u32::try_from(length).map_err(|_| io::ErrorKind::FileTooLarge)?;
        self.left = self.left.checked_sub(1).ok_or(io::ErrorKind::InvalidInput)?;
        self.sink.u32(length);
        self.sink.u64(event.time_ns);
        self.sink.bytes(&event.message);
        self.flush()
    }

    /// Checks that every promised event came, and hands back the output.
    pub fn finish(mut self) -> io::Result<W> {
        if self.left > 0 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.out.flush()?;
        Ok(self.out)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(self.sink.as_slice())?;
        self.sink.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_lacks_a_promised_event_is_not_finished() {
        let writer = Writer::new(Vec::new(), 1).unwrap();
        assert!(writer.finish().is_err());
    }
}
