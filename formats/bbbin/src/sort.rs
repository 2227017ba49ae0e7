//! The events of one file in the order of their times, however they were written.
//!
//! Events stay where they are: what is sorted is where they are. A fixed number of such keys is
//! sorted in memory at a time. Where there are more events, each run of keys goes to a temporary
//! file, and runs are merged: every event is read twice, and memory does not grow with the file.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Range;

use kymo_core::{Error, Invariant as _, Result};

use crate::Reader;
use crate::types::LocatedEvent;

/// Keys that are held in memory, of 24 bytes each.
const KEYS_MAX: usize = 1 << 20;

/// A key in the temporary file.
const KEY_BYTES: usize = 20;

/// Key by which events are sorted: the time, the log file, and the place in the file.
type Key = (i64, i32, u64);

/// The events of a reader in the order of their times; of several at one time, the one of the
/// lowest log file comes first, and else the one that was written first.
#[derive(Debug)]
pub struct Sort<'a> {
    reader: &'a Reader,
    keys: Keys,
}

/// Sorted keys.
#[derive(Debug)]
enum Keys {
    /// All of them, the last first.
    Held(Vec<Key>),
    Spilled(SpilledRuns),
}

/// Runs of sorted keys in a temporary file.
#[derive(Debug)]
struct SpilledRuns {
    file: File,
    runs: Vec<Run>,
    /// The next key of each run.
    next: BinaryHeap<Reverse<(Key, usize)>>,
    /// So many keys of a run are read at once.
    part_keys: usize,
}

/// A run of keys.
#[derive(Debug, Default)]
struct Run {
    /// The bytes of the file that are still to be read.
    left: Range<u64>,
    /// Keys that were read, the last first.
    keys: Vec<Key>,
}

impl<'a> Sort<'a> {
    /// Sorts the events of a reader.
    ///
    /// # Errors
    /// When there are more than fit in memory, and no temporary file can be written.
    pub fn new(reader: &'a Reader) -> Result<Self> {
        Self::holding(reader, KEYS_MAX)
    }

    fn holding(reader: &'a Reader, keys_max: usize) -> Result<Self> {
        let keys_max = keys_max.max(1);
        let (mut held, mut spilled) = (Vec::new(), None);
        for LocatedEvent { offset, event } in reader.events() {
            if held.len() >= keys_max {
                spill(&mut held, &mut spilled)?;
            }
            held.push((event.timestamp, event.log_file.0, offset));
        }
        if spilled.is_some() {
            spill(&mut held, &mut spilled)?;
        }
        held.sort_unstable_by_key(|key| Reverse(*key));
        let keys = match spilled {
            None => Keys::Held(held),
            Some((out, runs)) => Keys::Spilled(SpilledRuns::new(out, runs, keys_max)?),
        };
        Ok(Self { reader, keys })
    }

    /// The next event.
    ///
    /// # Errors
    /// When the temporary file cannot be read, or an event can no longer be read that could before.
    pub fn next_event(&mut self) -> Result<Option<LocatedEvent<'a>>> {
        let key = match &mut self.keys {
            Keys::Held(keys) => keys.pop(),
            Keys::Spilled(spilled) => spilled.next()?,
        };
        key.map(|(.., offset)| Ok(self.reader.event_at(offset)?)).transpose()
    }
}

/// Puts what is held into the temporary file, as a run.
fn spill(held: &mut Vec<Key>, to: &mut Option<(BufWriter<File>, Vec<Run>)>) -> Result<()> {
    held.sort_unstable();
    let (out, runs) = if let Some(begun) = to {
        begun
    } else {
        let file = tempfile::tempfile().map_err(failed)?;
        to.insert((BufWriter::new(file), Vec::new()))
    };
    for (time, log, offset) in &*held {
        let mut bytes = [0; KEY_BYTES];
        let (first, rest) = bytes.split_at_mut(8);
        let (second, third) = rest.split_at_mut(4);
        first.copy_from_slice(&time.to_le_bytes());
        second.copy_from_slice(&log.to_le_bytes());
        third.copy_from_slice(&offset.to_le_bytes());
        out.write_all(&bytes).map_err(failed)?;
    }
    let start = runs.last().map_or(0, |run| run.left.end);
    let end = start + (held.len() * KEY_BYTES) as u64;
    runs.push(Run { left: start..end, keys: Vec::new() });
    held.clear();
    Ok(())
}

impl SpilledRuns {
    fn new(out: BufWriter<File>, runs: Vec<Run>, keys_max: usize) -> Result<Self> {
        let file = out.into_inner().map_err(|error| failed(error.into_error()))?;
        // All runs together hold no more than one of them had.
        let part_keys = (keys_max / runs.len().max(1)).max(1);
        let count = runs.len();
        let mut spilled = Self { file, runs, next: BinaryHeap::with_capacity(count), part_keys };
        for number in 0..count {
            spilled.advance(number)?;
        }
        Ok(spilled)
    }

    fn next(&mut self) -> Result<Option<Key>> {
        let Some(Reverse((key, number))) = self.next.pop() else { return Ok(None) };
        self.advance(number)?;
        Ok(Some(key))
    }

    /// Takes the next key of a run.
    fn advance(&mut self, number: usize) -> Result<()> {
        let run = self.runs.get_mut(number).or_broken("a key is of a run that is not there")?;
        if run.keys.is_empty() && !run.left.is_empty() {
            run.read(&mut self.file, self.part_keys)?;
        }
        self.next.extend(run.keys.pop().map(|key| Reverse((key, number))));
        Ok(())
    }
}

impl Run {
    fn read(&mut self, file: &mut File, keys: usize) -> Result<()> {
        let left = usize::try_from(self.left.end - self.left.start).unwrap_or(usize::MAX);
        let mut bytes = vec![0; left.min(keys.saturating_mul(KEY_BYTES))];
        file.seek(SeekFrom::Start(self.left.start)).map_err(failed)?;
        file.read_exact(&mut bytes).map_err(failed)?;
        self.left.start += bytes.len() as u64;
        self.keys.extend(bytes.chunks_exact(KEY_BYTES).rev().filter_map(key));
        Ok(())
    }
}

fn key(bytes: &[u8]) -> Option<Key> {
    let (time, rest) = bytes.split_first_chunk()?;
    let (log, rest) = rest.split_first_chunk()?;
    let offset = rest.first_chunk()?;
    Some((i64::from_le_bytes(*time), i32::from_le_bytes(*log), u64::from_le_bytes(*offset)))
}

fn failed(error: std::io::Error) -> Error {
    Error::Io { action: "sort in a temporary file", error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::tests::{file, times_of};

    /// A stride that is no divisor of the number of events visits all, and repeats times.
    fn scattered(count: i64) -> impl Iterator<Item = (i64, i32)> {
        (0..count).map(move |n| (n * 1_117 % count / 2, i32::from(n % 3 == 0)))
    }

    fn sorted(mut sort: Sort<'_>) -> Vec<LocatedEvent<'_>> {
        std::iter::from_fn(|| sort.next_event().unwrap()).collect()
    }

    #[test]
    fn sorting_gives_the_same_whatever_fits_in_memory() {
        let reader = file(scattered(3_000));
        let mut expected: Vec<_> = reader.events().collect();
        expected.sort_by_key(|found| (times_of(found), found.offset));
        for keys_max in [1, 7, 101, 500, 2_999, 3_000, 10_000] {
            let sorted = sorted(Sort::holding(&reader, keys_max).unwrap());
            assert!(sorted == expected, "{keys_max} keys");
        }
        assert!(sorted(Sort::new(&file([])).unwrap()).is_empty());
    }

    /// The log is not at its end there: nine tenths of it would be left out without a word.
    #[test]
    fn an_event_that_can_no_longer_be_read_is_an_error_and_not_the_end() {
        let reader = file(scattered(10));
        let mut sort = Sort::new(&reader).unwrap();
        let Keys::Held(keys) = &mut sort.keys else { panic!("it spills") };
        keys[8].2 = reader.size_bytes() - 1;
        assert!(sort.next_event().unwrap().is_some());
        let error = sort.next_event().unwrap_err().to_string();
        let byte = format!("at byte {:#x}", reader.size_bytes() - 1);
        assert!(error.contains(&byte), "{error}");
    }

    /// Returns the number of bytes that were read of the temporary file.
    fn bytes_read(spilled: &SpilledRuns, count: u64) -> u64 {
        let left: u64 = spilled.runs.iter().map(|run| run.left.end - run.left.start).sum();
        count * KEY_BYTES as u64 - left
    }

    #[test]
    fn each_key_is_written_once_and_read_once() {
        let reader = file(scattered(3_000));
        let mut sort = Sort::holding(&reader, 100).unwrap();
        let Keys::Spilled(spilled) = &sort.keys else { panic!("it fits") };
        assert_eq!(spilled.runs.len(), 30);
        assert_eq!(spilled.file.metadata().unwrap().len(), 3_000 * 20);
        // Three keys of each of thirty runs are held.
        assert_eq!(bytes_read(spilled, 3_000), 30 * 3 * 20);
        while sort.next_event().unwrap().is_some() {}
        let Keys::Spilled(spilled) = &sort.keys else { panic!("it fits") };
        assert_eq!(bytes_read(spilled, 3_000), 3_000 * 20);
    }

    #[test]
    fn memory_does_not_grow_with_the_file() {
        let used = |count| {
            let reader = file(scattered(count));
            let mut found = 0;
            let sort = || {
                let mut sort = Sort::holding(&reader, 1_000).unwrap();
                while sort.next_event().unwrap().is_some() {
                    found += 1;
                }
            };
            let used = allocation_counter::measure(sort).bytes_max;
            assert_eq!(found, count);
            used
        };
        let (few, many) = (used(4_001), used(64_001));
        // Sixteen times the events; the runs themselves, and no keys, are more.
        assert!(many < few + 16 * 1024, "{few} and {many} bytes");
    }
}
