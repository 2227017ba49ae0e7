//! What every format promises, for MCAP.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests may fail loudly"
)]

use kymo_conformance::Subject;
use kymo_mcap::Mcap;

kymo_conformance::promises!(Subject::new(&Mcap).unsound(&["bad/"]).freedom(&["foreign_"]));

kymo_conformance::promises!(Subject::new(&Mcap).unsound(&["bad/"]); zeros_are_survived);
