//! What every format promises, for metadata by itself, and for a whole trace.

use kymo_conformance::Subject;

kymo_conformance::promises!(
    Subject::new(&kymo_ctf::Ctf)
        .made("kinds2", include_bytes!("../../../../testdata/ctf/kinds2/metadata").as_slice())
        .valid_prefix(ends_between_blocks)
);

kymo_conformance::promises!(Subject::new(&kymo_ctf::Ctf); zeros_are_survived);

#[test]
fn every_damaged_file_of_a_trace_is_answered() {
    for name in ["ctf/control", "ctf/control2", "ctf/kinds2"] {
        let folder = kymo_conformance::testdata(name);
        kymo_conformance::every_damaged_file_of_a_folder_is_answered(&kymo_ctf::Ctf, &folder);
    }
}

/// Whether what is left is whole blocks and declarations, the trace among them; or whole fragments, a
/// stream among them.
fn ends_between_blocks(bytes: &[u8], end: usize) -> bool {
    let text = String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned();
    if text.starts_with('\u{1e}') {
        let [opened, closed] = ['{', '}'].map(|brace| text.matches(brace).count());
        return opened == closed && text.contains(r#""type":"data-stream-class""#);
    }
    let depth = text.matches('{').count() - text.matches('}').count();
    let text = text.trim_end();
    depth == 0 && text.contains("trace {") && (text.ends_with(';') || text.ends_with("*/"))
}
