//! What every format promises, for metadata by itself; traces are directories, which
//! `hostile.rs` cuts and damages.

use kymo_conformance::Subject;

kymo_conformance::promises!(Subject::new(&kymo_ctf::Ctf).valid_prefix(ends_between_blocks));

/// Whether what is left is whole blocks and declarations, the trace among them.
fn ends_between_blocks(bytes: &[u8], end: usize) -> bool {
    let text = String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned();
    let depth = text.matches('{').count() - text.matches('}').count();
    let text = text.trim_end();
    depth == 0 && text.contains("trace {") && (text.ends_with(';') || text.ends_with("*/"))
}
