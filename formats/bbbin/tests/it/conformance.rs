//! What every format promises, for BBBin.

use kymo_bbbin::Bbbin;
use kymo_conformance::Subject;

kymo_conformance::promises!(
    Subject::new(&Bbbin)
        .unsound(&["bad/"])
        .warned(&["unsorted"])
        .freedom(&["foreign_"])
        .completes()
);

kymo_conformance::promises!(Subject::new(&Bbbin); zeros_are_survived);
