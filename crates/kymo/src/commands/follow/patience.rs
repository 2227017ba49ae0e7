//! Time for which nothing may come.

use std::time::{Duration, Instant};

use crate::moment::Span;

/// After how long it is said why nothing comes.
const LONG: Duration = Duration::from_secs(1);

/// Time for which nothing may come.
pub(super) struct Patience {
    idle: Option<Duration>,
    since: Instant,
}

impl Patience {
    pub(super) fn new(idle: Option<Span>) -> Self {
        Self { idle: idle.map(|span| span.0), since: Instant::now() }
    }

    pub(super) fn restart(&mut self) {
        self.since = Instant::now();
    }

    /// Returns true if one may wonder why nothing comes.
    pub(super) fn is_long(&self) -> bool {
        self.since.elapsed() >= LONG
    }

    pub(super) fn is_over(&self) -> bool {
        self.idle.is_some_and(|idle| self.since.elapsed() >= idle)
    }
}
