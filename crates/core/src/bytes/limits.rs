//! Limits on what a reader may take on because a file asks for it.

/// Limits on what a reader may allocate or walk through, whatever the numbers in a file are.
///
/// The defaults suit a workstation; a service that reads strangers' files lowers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Records a reader may keep an index of.
    pub items_max: u64,
    /// Bytes of values that are read at once; a single value may take more.
    pub value_bytes_max: u64,
    /// Bytes that standard input may deliver.
    pub stdin_bytes_max: u64,
    /// Findings that are kept one by one; further ones are only counted.
    pub findings_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            items_max: 1 << 32,
            value_bytes_max: 1 << 28,
            stdin_bytes_max: 1 << 40,
            findings_max: 10_000,
        }
    }
}

impl Limits {
    /// Limits for fuzzing and for files from strangers: little memory, little time.
    #[must_use]
    pub fn tight() -> Self {
        Self {
            items_max: 1 << 16,
            value_bytes_max: 1 << 20,
            stdin_bytes_max: 1 << 24,
            findings_max: 100,
        }
    }
}
