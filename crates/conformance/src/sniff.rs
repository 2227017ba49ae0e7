//! Sniffing: every sound sample is recognised by its bytes.

use std::path::Path;

use kymo_core::{Probe, Source};
use kymo_model::{Confidence, Format};

use crate::{Sample, Subject, promise};

/// Every sound sample is recognised by its bytes, with and without a name; those listed as
/// known by name only, by their name. Bytes of no format at all are not claimed with confidence.
pub fn samples_are_sniffed(subject: &Subject) {
    let this = subject.clone();
    promise::each(subject.sound(), move |sample, _| sniff(&this, sample));
    odd_input_is_sniffed_without_a_claim(subject.format);
}

fn sniff(subject: &Subject, sample: &Sample) {
    let named = subject.format.sniff(&sample.source().probe());
    let nameless = sniff_bytes(subject.format, &sample.bytes);
    if subject.is_named_only(sample) {
        assert!(named.is_some(), "not recognised by its name");
        return;
    }
    assert!(named >= Some(Confidence::Plausible), "sniffed as {named:?}");
    assert!(nameless >= Some(Confidence::Plausible), "sniffed as {nameless:?} without its name");
}

fn sniff_bytes(format: &dyn Format, bytes: &[u8]) -> Option<Confidence> {
    format.sniff(&Source::from_bytes("", bytes.to_vec()).probe())
}

/// Nothing, noise and text are no recording of any format.
fn odd_input_is_sniffed_without_a_claim(format: &dyn Format) {
    let noise: Vec<u8> = (0..4096_u32).map(noise).collect();
    let text = b"dear diary,\ntoday nothing was recorded\n".repeat(9);
    for (what, bytes) in [("nothing", &[][..]), ("noise", &noise), ("text", &text)] {
        let claim = sniff_bytes(format, bytes);
        assert!(claim.is_none(), "{what} is sniffed as {claim:?}");
    }
    let path = Path::new("a-folder");
    let directory =
        Probe { head: &[], size_bytes: 0, path, is_directory: true, has_grammar: false };
    let claim = format.sniff(&directory);
    assert!(claim.is_none(), "a folder is sniffed as {claim:?}");
}

/// Bytes without a pattern, the same on every machine.
fn noise(index: u32) -> u8 {
    index.wrapping_mul(0x9E37_79B9).rotate_left(13).wrapping_mul(0x85EB_CA6B).to_be_bytes()[0]
}
