//! What every format promises.

use crate::support;

use kymo_conformance::Subject;

kymo_conformance::promises!(
    Subject::new(&kymo_systemview::SystemView)
        .unsound(&["bad/"])
        .warned(&["blinky"])
        .valid_prefix(is_valid)
);

kymo_conformance::promises!(Subject::new(&kymo_systemview::SystemView); zeros_are_survived);

fn is_valid(bytes: &[u8], end: usize) -> bool {
    bytes == support::recording() && support::ends_between_packets(end)
}
