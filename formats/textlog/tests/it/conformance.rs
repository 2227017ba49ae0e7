//! What every format promises.

use kymo_conformance::Subject;

kymo_conformance::promises!(
    Subject::new(&kymo_textlog::TextLog).unsound(&["bad/"]).valid_prefix(ends_between_lines)
);

kymo_conformance::promises!(Subject::new(&kymo_textlog::TextLog); zeros_are_survived);

/// Returns true if the grammar is whole, a line follows, and the last one is whole too.
fn ends_between_lines(bytes: &[u8], end: usize) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let head: usize =
        text.split_inclusive('\n').take_while(|line| line.starts_with('#')).map(str::len).sum();
    end > head && bytes.get(end - 1) == Some(&b'\n')
}
