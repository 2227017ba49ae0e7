//! What every format promises, for MCAP.

use kymo_conformance::Subject;
use kymo_mcap::Mcap;

kymo_conformance::promises!(Subject::new(&Mcap).unsound(&["bad/"]).freedom(&["foreign_"]));

kymo_conformance::promises!(Subject::new(&Mcap).unsound(&["bad/"]); zeros_are_survived);
