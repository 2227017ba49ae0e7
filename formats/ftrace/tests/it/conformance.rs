//! What every format promises.

use kymo_conformance::Subject;

kymo_conformance::promises!(
    Subject::new(&kymo_ftrace::Ftrace).unsound(&["bad/"]).valid_prefix(ends_between_lines)
);

kymo_conformance::promises!(Subject::new(&kymo_ftrace::Ftrace); zeros_are_survived);

fn ends_between_lines(bytes: &[u8], end: usize) -> bool {
    end == 0 || bytes.get(end - 1) == Some(&b'\n')
}
