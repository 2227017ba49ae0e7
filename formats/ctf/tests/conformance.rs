//! What every format promises, for metadata by itself, and for a whole trace.

use kymo_conformance::Subject;

kymo_conformance::promises!(Subject::new(&kymo_ctf::Ctf).valid_prefix(ends_between_blocks));

#[test]
fn every_damaged_file_of_a_trace_is_answered() {
    let folder = kymo_conformance::testdata("ctf/control");
    kymo_conformance::every_damaged_file_of_a_folder_is_answered(&kymo_ctf::Ctf, &folder);
}

/// Whether what is left is whole blocks and declarations, the trace among them.
fn ends_between_blocks(bytes: &[u8], end: usize) -> bool {
    let text = String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned();
    let depth = text.matches('{').count() - text.matches('}').count();
    let text = text.trim_end();
    depth == 0 && text.contains("trace {") && (text.ends_with(';') || text.ends_with("*/"))
}
