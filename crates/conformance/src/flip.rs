//! Every flipped byte: an answer or an error, in bounded memory.

use kymo_core::bytes::Limits;
use kymo_model::Format;

use crate::promise::{self, Cases, spread};
use crate::{Sample, Subject, survive};

/// The ways a byte is damaged: all bits, the lowest, the highest.
const MASKS: [u8; 3] = [0xFF, 0x01, 0x80];

/// So many bytes at once are zero.
pub(crate) const ZEROS: usize = 8;

/// Greatest number of bytes of input that all flips of a sample may amount to. A large sample is
/// flipped at places evenly spread.
const BUDGET_BYTES: usize = 4 << 20;

/// Memory that reading may take: for each byte of the file …
const MEMORY_FACTOR: u64 = 64;

/// … and in any case: a few values of the largest size that the limits allow.
const MEMORY_VALUES: u64 = 8;

/// Each sample, sound or not, is read with one byte damaged, at every place: nothing panics,
/// hangs, breaks the promises of [`survive`](crate::survive()), or takes more memory than 64
/// times the file and 8 MiB, whatever the damaged numbers say.
pub fn every_flipped_byte_is_survived(subject: &Subject) {
    let format = subject.format;
    promise::each(subject.samples(), move |sample, cases| {
        flip(format, sample, cases);
    });
}

fn flip(format: &dyn Format, sample: &Sample, cases: &mut Cases) {
    cases.begin(|| format!("{}, as it is", sample.name));
    bounded(format, &sample.bytes);
    let size = sample.bytes.len();
    let mut bytes = sample.bytes.to_vec();
    // All places with one mask, then with the next: a spread over them has each mask.
    for flip in spread(size * MASKS.len(), BUDGET_BYTES / size.max(1)) {
        let (at, mask) = (flip % size, MASKS[flip / size]);
        cases.begin(|| format!("{}, byte {at:#x} xor {mask:#04x}", sample.name));
        bytes[at] ^= mask;
        bounded(format, &bytes);
        bytes[at] ^= mask;
    }
}

/// Each sample is read with eight bytes of zeros at every place, as where room was not written or was
/// lost: the same holds as of bytes that are [flipped](every_flipped_byte_is_survived).
pub fn zeros_are_survived(subject: &Subject) {
    let format = subject.format;
    promise::each(subject.samples(), move |sample, cases| {
        zero(format, sample, cases);
    });
}

fn zero(format: &dyn Format, sample: &Sample, cases: &mut Cases) {
    let size = sample.bytes.len();
    let mut bytes = sample.bytes.to_vec();
    for at in spread(size.saturating_sub(ZEROS), BUDGET_BYTES / MASKS.len() / size.max(1)) {
        cases.begin(|| format!("{}, {ZEROS} zeros at {at:#x}", sample.name));
        let kept: Vec<u8> = bytes.splice(at..at + ZEROS, [0; ZEROS]).collect();
        bounded(format, &bytes);
        bytes.splice(at..at + ZEROS, kept);
    }
}

/// Exercises a format, and fails when that takes too much memory.
fn bounded(format: &dyn Format, bytes: &[u8]) {
    let used = allocation_counter::measure(|| survive::exercise(format, bytes)).bytes_max;
    let allowed =
        MEMORY_FACTOR * bytes.len() as u64 + MEMORY_VALUES * Limits::tight().value_bytes_max;
    assert!(
        used <= allowed,
        "{used} bytes of memory for a file of {} bytes; {allowed} would do",
        bytes.len()
    );
}
