//! Context that the caller hands to a format: limits and progress.

use std::sync::{Arc, LazyLock};

use crate::bytes::Limits;

/// Told how far a long operation is; a front end draws it.
pub trait Progress: Send + Sync {
    /// A stage begins: what is done, and how many bytes it will go through.
    fn begin(&self, what: &'static str, bytes: u64);
    /// The same for a stage that goes through items and not through bytes.
    fn begin_items(&self, what: &'static str, items: u64) {
        self.begin(what, items);
    }
    /// So many bytes of the stage are done in all. Call it every few megabytes.
    fn advance_to(&self, bytes: u64);
    /// Reports more about the stage at this point, such as how much was found. The text is asked
    /// for only where it is shown.
    fn note(&self, note: &dyn Fn() -> String) {
        let _ = note;
    }
    /// The stage is over.
    fn end(&self);
}

impl std::fmt::Debug for dyn Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Progress")
    }
}

/// Draws nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn begin(&self, _what: &'static str, _bytes: u64) {}
    fn advance_to(&self, _bytes: u64) {}
    fn end(&self) {}
}

static NO_PROGRESS: LazyLock<Arc<dyn Progress>> = LazyLock::new(|| Arc::new(NoProgress));

/// Context under which every operation of a format runs.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// Limits on what a reader may take on because a file asks for it.
    pub limits: Limits,
    /// Told how far a long operation is. Shared, so that a dataset that goes through its file
    /// when it is asked to, and not when it is opened, can keep it.
    pub progress: &'a Arc<dyn Progress>,
    /// Texts are UTF-8, read and written, in formats that have another encoding and no way to
    /// say so.
    pub is_utf8: bool,
    /// Ticks per second of a clock, for recordings that do not state it.
    pub ticks_per_second: Option<u64>,
}

impl Default for Context<'_> {
    fn default() -> Self {
        let (is_utf8, ticks_per_second) = (false, None);
        Self { limits: Limits::default(), progress: &NO_PROGRESS, is_utf8, ticks_per_second }
    }
}

impl Context<'_> {
    /// The given limits, and no progress.
    #[must_use]
    pub fn with_limits(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }
}

impl std::fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("limits", &self.limits).finish_non_exhaustive()
    }
}
