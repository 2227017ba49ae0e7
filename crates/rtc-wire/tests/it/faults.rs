//! What is left when an output fails or a file ends early, and what a write costs.

use crate::independent;

use std::cell::RefCell;
use std::rc::Rc;

use crate::independent::Sum;
use kymo_rtc_wire::meta::StreamMeta;
use kymo_rtc_wire::write::{Options, Output, StreamId, WriteError, Writer};

/// Takes so many bytes and no more; when it is full, it takes the part that fits, as a disk does.
#[derive(Clone, Default)]
struct Disk {
    bytes: Rc<RefCell<Vec<u8>>>,
    capacity: usize,
}

impl Output for Disk {
    type Error = &'static str;

    fn write(&mut self, bytes: &[u8]) -> Result<(), &'static str> {
        let mut disk = self.bytes.borrow_mut();
        let fits = bytes.len().min(self.capacity - disk.len());
        disk.extend_from_slice(&bytes[..fits]);
        if fits < bytes.len() { Err("disk full") } else { Ok(()) }
    }
}

/// Takes anything and keeps nothing.
struct Nowhere;

impl Output for Nowhere {
    type Error = std::convert::Infallible;

    fn write(&mut self, _: &[u8]) -> Result<(), Self::Error> {
        Ok(())
    }
}

fn small() -> Options {
    Options::new().sizes(8192, 2048).unwrap()
}

/// Streams of every kind, and messages of every kind, in turn.
fn write_all<O: Output>(writer: &mut Writer<O>) -> Result<(), WriteError<O::Error>> {
    let fixed = writer.add(&StreamMeta::new("fixed").length(16))?;
    let text = writer.add(&StreamMeta::new("text").format("utf-8"))?;
    let large = writer.add(&StreamMeta::new("large").length(1500))?;
    for round in 0..80_u64 {
        writer.write(fixed, &[round.to_le_bytes(), round.to_le_bytes()].concat())?;
        writer.write(text, "text ".repeat(round as usize % 20).as_bytes())?;
        if round % 40 == 0 {
            writer.write(large, &[round as u8; 1500])?;
        }
    }
    let late = writer.add(&StreamMeta::new("late"))?;
    writer.write(late, &[0xB9; 3000])
}

#[test]
fn every_truncation_gives_exactly_the_messages_before_it() {
    let mut writer = Writer::new(Vec::new(), small());
    write_all(&mut writer).unwrap();
    let file = writer.finish().unwrap();
    let whole = independent::session(&file, Sum::Ieee);
    for end in 0..=file.len() {
        let part = independent::session(&file[..end], Sum::Ieee);
        let before = whole.messages.iter().take_while(|message| message.end <= end);
        assert!(part.messages.iter().eq(before), "cut at {end}");
    }
}

#[test]
fn a_full_disk_is_told_and_leaves_everything_that_was_taken() {
    let mut writer = Writer::new(Vec::new(), small());
    write_all(&mut writer).unwrap();
    let file = writer.finish().unwrap();
    for capacity in (0..file.len()).step_by(97) {
        let disk = Disk { capacity, ..Disk::default() };
        let mut writer = Writer::new(disk.clone(), small());
        let told = write_all(&mut writer).and_then(|()| writer.flush());
        // The last bytes, a Crc, are written by `finish` alone.
        let told = told.err().or_else(|| writer.finish().err());
        assert_eq!(told, Some(WriteError::Output("disk full")), "{capacity}");
        assert_eq!(*disk.bytes.borrow(), file[..capacity]);
    }
}

#[test]
fn after_a_failure_nothing_is_taken_until_the_writer_is_restarted() {
    let disk = Disk { capacity: 3000, ..Disk::default() };
    let mut writer = Writer::new(disk.clone(), small());
    let stream = writer.add(&StreamMeta::new("a").length(16)).unwrap();
    while writer.write(stream, &[1; 16]).is_ok() {}
    assert_eq!(writer.write(stream, &[1; 16]), Err(WriteError::Broken));
    assert_eq!(writer.flush(), Err(WriteError::Broken));
    assert_eq!(writer.add(&StreamMeta::new("b")), Err(WriteError::Broken));
    assert_eq!(disk.bytes.borrow().len(), 3000);
    let other = Disk { capacity: 1 << 20, ..Disk::default() };
    writer.abandon(other.clone());
    writer.write(stream, &[2; 16]).unwrap();
    writer.finish().unwrap();
    assert_eq!(independent::session(&other.bytes.borrow(), Sum::Ieee).of("a"), [[2; 16]]);
}

/// Takes a few bytes at a time, and is interrupted every other time.
#[cfg(feature = "std")]
#[derive(Default)]
struct Trickle {
    bytes: Vec<u8>,
    calls: usize,
}

#[cfg(feature = "std")]
impl std::io::Write for Trickle {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.calls += 1;
        if self.calls.is_multiple_of(2) {
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        let taken = bytes.len().min(self.calls % 7 + 1);
        self.bytes.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(feature = "std")]
#[test]
fn short_and_interrupted_writes_lose_nothing() {
    let mut expected = Writer::new(Vec::new(), small());
    write_all(&mut expected).unwrap();
    let mut writer = Writer::new(kymo_rtc_wire::write::IoOutput(Trickle::default()), small());
    write_all(&mut writer).unwrap();
    assert_eq!(writer.finish().unwrap().0.bytes, expected.finish().unwrap());
}

#[test]
fn what_was_flushed_is_all_there() {
    let disk = Disk { capacity: 1 << 20, ..Disk::default() };
    let mut writer = Writer::new(disk.clone(), small());
    let stream = writer.add(&StreamMeta::new("a")).unwrap();
    for round in 1..600_usize {
        writer.write(stream, &vec![7; round]).unwrap();
        writer.flush().unwrap();
        if round % 50 == 0 {
            let session = independent::session(&disk.bytes.borrow(), Sum::Ieee);
            assert_eq!(session.messages.len(), round);
            assert_eq!(session.end, disk.bytes.borrow().len());
        }
    }
}

#[test]
fn nothing_is_allocated_once_the_streams_are_there() {
    let mut writer = Writer::new(Nowhere, Options::new().sizes(1 << 16, 1 << 13).unwrap());
    let streams: Vec<StreamId> = (0..100)
        .map(|number| writer.add(&StreamMeta::new(&format!("stream {number}"))).unwrap())
        .collect();
    let large = vec![1; 10_000];
    let info = allocation_counter::measure(|| {
        // Half of the streams are idle for a while, so that meta frames are written as well.
        for round in 0..2000_usize {
            for &stream in &streams[..if round % 200 < 100 { 100 } else { 50 }] {
                writer.write(stream, &large[..=round % 50]).unwrap();
            }
            writer.write_part(streams[3], &large).unwrap();
            writer.write(streams[3], &large).unwrap();
            writer.flush().unwrap();
        }
    });
    assert!(writer.position() > 10 << 20);
    assert_eq!(info.count_total, 0);
}

/// Counts what a writer hands on.
#[derive(Default)]
struct Counted {
    calls: usize,
    bytes: usize,
}

impl Output for Counted {
    type Error = std::convert::Infallible;

    fn write(&mut self, bytes: &[u8]) -> Result<(), Self::Error> {
        self.calls += 1;
        self.bytes += bytes.len();
        Ok(())
    }
}

/// The most that one write costs, counted in bytes: those it puts into the buffer, and those that
/// it hands on. At the end of a Unit, with three streams: at most 64 bytes of padding, a Crc of 5,
/// a Marker of 1025, an Index of at most 9 entries of 1 + 4 bytes, a Meta of three objects of less
/// than 60 bytes, a platform frame of 5, and lengths. That does not grow with the file, and no
/// write hands on more than the buffer once.
#[test]
fn what_a_write_costs_is_bounded_wherever_the_ruler_is() {
    const BUFFER: usize = 4096;
    let options = Options::new().sizes(1 << 16, 1 << 13).unwrap().buffer_bytes(BUFFER);
    let mut writer = Writer::new(Counted::default(), options);
    let streams: Vec<StreamId> = (0..3)
        .map(|number| writer.add(&StreamMeta::new(&format!("s{number}")).length(16)).unwrap())
        .collect();
    writer.write(streams[0], &[1; 16]).unwrap();
    let (mut put_most, mut handed_most, mut calls_most) = (0, 0, 0);
    while writer.position() < 2 << 20 {
        for &stream in &streams {
            let before = (writer.position(), writer.output().bytes, writer.output().calls);
            writer.write(stream, &[1; 16]).unwrap();
            put_most = put_most.max(writer.position() - before.0);
            handed_most = handed_most.max(writer.output().bytes - before.1);
            calls_most = calls_most.max(writer.output().calls - before.2);
        }
    }
    let opening = 64 + 5 + 1025 + (3 + 1 + 9 * 5) + (3 + 3 * 60 + 8) + 5;
    assert!(put_most <= opening + 17, "{put_most} bytes in one write");
    assert_eq!((handed_most, calls_most), (BUFFER, 1));
}
