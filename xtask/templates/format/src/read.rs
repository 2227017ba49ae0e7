//! Bytes to types.

use bytes::Bytes;
use kymo_core::bytes::{Cursor, Endian, Limits, ReadError, ReadResult};

use crate::spec;
use crate::types::{Event, Log};

impl Log {
    /// Reads a whole file. Messages stay where they are; none is copied.
    pub fn read(bytes: &Bytes, limits: &Limits) -> ReadResult<Self> {
        let mut cursor = Cursor::new(bytes, Endian::Little);
        let count = read_header(&mut cursor, limits)?;
        let events = (0..count).map(|_| read_event(&mut cursor, bytes));
        let events = events.collect::<ReadResult<_>>()?;
        Ok(Self { events, end: cursor.offset() })
    }
}

/// Reads the header and gives the count of events.
fn read_header(cursor: &mut Cursor<'_>, limits: &Limits) -> ReadResult<usize> {
    if cursor.array("magic")? != spec::MAGIC {
        return Err(ReadError::invalid("magic", 0, "this is no {{Type}} file"));
    }
    let offset = cursor.offset();
    let version = cursor.u32("version")?;
    if version != spec::VERSION {
        let why = format!("{version} is not known, only {}", spec::VERSION);
        return Err(ReadError::invalid("version", offset, why));
    }
    cursor.count_u32("event count", limits.items_max, spec::EVENT_BYTES_MIN)
}

fn read_event(cursor: &mut Cursor<'_>, file: &Bytes) -> ReadResult<Event> {
    let offset = cursor.offset();
    let length = cursor.u32("event length")?;
    let mut event = cursor.part("event", length.into())?;
    let time_ns = event.u64("time")?;
    let message = file.slice_ref(event.remaining_bytes());
    Ok(Event { offset, time_ns, message })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Writer;

    fn small_log() -> Bytes {
        let mut writer = Writer::new(Vec::new(), 2).unwrap();
        for (time_ns, message) in [(1, "started"), (2, "ended")] {
            let message = message.into();
            writer.write(&Event { offset: 0, time_ns, message }).unwrap();
        }
        writer.finish().unwrap().into()
    }

    #[test]
    fn a_count_too_large_is_refused_before_allocating() {
        let mut file = small_log().to_vec();
        file[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
        let error = Log::read(&file.into(), &Limits::default()).unwrap_err();
        assert_eq!((error.what, error.offset), ("event count", 12));
    }

    #[test]
    fn another_version_is_refused_by_its_number() {
        let mut file = small_log().to_vec();
        file[8] = 7;
        let error = Log::read(&file.into(), &Limits::default()).unwrap_err();
        assert_eq!(error.to_string(), "version at byte 0x8: 7 is not known, only 1");
    }
}
