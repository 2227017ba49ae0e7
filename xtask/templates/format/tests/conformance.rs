//! What every format promises.

use kymo_conformance::Subject;

kymo_conformance::promises!(Subject::new(&kymo_{{name}}::{{Type}}).unsound(&["bad/"]));
