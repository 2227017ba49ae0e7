//! What every format promises, for each file of a database by itself.

use kymo_conformance::Subject;

kymo_conformance::promises!(
    Subject::new(&kymo_hpcdb::HpcDb).unsound(&["bad/"]).repairs_directories()
);
