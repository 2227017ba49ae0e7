//! Values of `cct.db` in the order of profiles: put where they belong in a temporary file, in one way
//! through them, and read back a profile at a time.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use kymo_core::{Error, Result};

use super::values::Value;

/// A value in the file: its context, the id of its metric, and how much.
const VALUE_BYTES: usize = 14;

/// Number of bytes of all profiles together that are held before they are written.
const HELD_BYTES: usize = 1 << 22;

/// Values by profile.
pub(super) struct ByProfile {
    file: File,
    profiles: Vec<Run>,
    /// Greatest number of bytes of each profile that are held.
    held_max: usize,
}

/// The values of one profile.
struct Run {
    /// Offset in the file at which they begin.
    start: u64,
    /// Number of their bytes that are in the file.
    written: u64,
    held: Vec<u8>,
}

impl ByProfile {
    /// Has room for so many values of each profile.
    pub(super) fn new(counts: &[u64]) -> Result<Self> {
        let file = tempfile::tempfile().map_err(Error::io("make a temporary file"))?;
        let mut start = 0;
        let mut profiles = Vec::with_capacity(counts.len());
        for count in counts {
            profiles.push(Run { start, written: 0, held: Vec::new() });
            start += count * VALUE_BYTES as u64;
        }
        let each = HELD_BYTES / counts.len().max(1) / VALUE_BYTES;
        Ok(Self { file, profiles, held_max: each.max(1) * VALUE_BYTES })
    }

    /// Takes a value of a profile.
    pub(super) fn push(&mut self, profile: u32, value: Value) -> Result<()> {
        let (context, metric, value) = value;
        let run = usize::try_from(profile).ok().and_then(|at| self.profiles.get_mut(at));
        let uncounted = || Error::request(format!("a value of profile {profile} was not counted"));
        let run = run.ok_or_else(uncounted)?;
        run.held.extend_from_slice(&context.to_le_bytes());
        run.held.extend_from_slice(&metric.to_le_bytes());
        run.held.extend_from_slice(&value.to_le_bytes());
        if run.held.len() >= self.held_max {
            run.write(&mut self.file).map_err(Error::io("write a temporary file"))?;
        }
        Ok(())
    }

    /// The values of a profile, in the order they came.
    pub(super) fn values(&mut self, profile: usize) -> Result<Vec<Value>> {
        let Some(run) = self.profiles.get_mut(profile) else { return Ok(Vec::new()) };
        let bytes = run.read(&mut self.file).map_err(Error::io("read a temporary file"))?;
        let (values, _) = bytes.as_chunks::<VALUE_BYTES>();
        Ok(values.iter().map(value).collect())
    }
}

impl Run {
    fn write(&mut self, file: &mut File) -> io::Result<()> {
        file.seek(SeekFrom::Start(self.start + self.written))?;
        file.write_all(&self.held)?;
        self.written += self.held.len() as u64;
        self.held.clear();
        Ok(())
    }

    fn read(&mut self, file: &mut File) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(self.start))?;
        file.take(self.written).read_to_end(&mut bytes)?;
        bytes.append(&mut self.held);
        Ok(bytes)
    }
}

fn value(bytes: &[u8; VALUE_BYTES]) -> Value {
    let [c0, c1, c2, c3, m0, m1, value @ ..] = *bytes;
    let metric = u16::from_le_bytes([m0, m1]);
    (u32::from_le_bytes([c0, c1, c2, c3]), metric, f64::from_le_bytes(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_each_profile_come_back_in_their_order() {
        let counts = [0, 3, 100_000, 2];
        let mut by_profile = ByProfile::new(&counts).unwrap();
        // Round about, as contexts have them.
        for number in 0..100_000_u32 {
            for (profile, count) in (0..).zip(counts) {
                if u64::from(number) < count {
                    by_profile.push(profile, (number, 7, f64::from(number))).unwrap();
                }
            }
        }
        for (profile, count) in counts.into_iter().enumerate() {
            let expected: Vec<_> =
                (0..u32::try_from(count).unwrap()).map(|n| (n, 7, f64::from(n))).collect();
            assert_eq!(by_profile.values(profile).unwrap(), expected);
        }
        assert_eq!(by_profile.values(9).unwrap(), []);
    }
}
