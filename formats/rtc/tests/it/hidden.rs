//! Streams that are left out of indices stay so.

use kymo_core::{Context, Destination, Severity, Source};
use kymo_model::{ExtractRequest, Format as _};
use kymo_rtc::Rtc;
use kymo_rtc_wire::meta::StreamMeta;
use kymo_rtc_wire::read::{IndexedStream, Lookup, View, find_marker};
use kymo_rtc_wire::spec::MARKER_BYTES;
use kymo_rtc_wire::write::{Options, Writer};

/// Several Units of a stream that is listed (9) and one that is hidden (10).
fn recording() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), Options::new().sizes(4096, 2048).unwrap());
    let seen = writer.add(&StreamMeta::new("seen")).unwrap();
    let hidden = writer.add(&StreamMeta::new("hidden").hidden(true)).unwrap();
    for number in 0..600_u16 {
        writer.write(seen, &number.to_le_bytes()).unwrap();
        writer.write(hidden, &number.to_be_bytes()).unwrap();
    }
    writer.finish().unwrap()
}

/// What the last Index says of the two streams.
fn listed(bytes: &[u8]) -> [bool; 2] {
    let view = View::from_file(bytes);
    let markers = std::iter::successors(find_marker(&view, 0), |at| find_marker(&view, at + 1));
    let last = markers.last().unwrap();
    let index = Lookup::read(&view, last + MARKER_BYTES as u64).unwrap();
    [9, 10].map(|id| matches!(index.find(id), Some(IndexedStream::At(_))))
}

#[test]
fn a_hidden_stream_stays_hidden_when_it_is_written_again() {
    let bytes = recording();
    assert_eq!(listed(&bytes), [true, false]);
    let source = Source::from_bytes("run.rtc", bytes);
    let (context, folder) = (Context::default(), tempfile::tempdir().unwrap());
    let at = |name: &str| folder.path().join(name);
    let to = |name: &str| Destination::new(at(name), false);
    Rtc.repair(&source, &to("repaired"), &context).unwrap();
    let sources = std::slice::from_ref(&source);
    Rtc.extract(sources, &ExtractRequest::default(), &to("cut"), &context).unwrap();
    for name in ["repaired", "cut"] {
        let bytes = std::fs::read(at(name)).unwrap();
        assert_eq!(listed(&bytes), [true, false], "{name}");
        let findings = Rtc.check(&Source::from_bytes(name, bytes), &context).unwrap();
        assert!(findings.iter().all(|finding| finding.severity <= Severity::Note), "{findings:?}");
    }
}
