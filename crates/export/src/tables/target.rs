//! The contract of a target, and the one list of them.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use kymo_core::Result;

/// Something that a table can be written as.
pub trait Target: Sync {
    /// The name for `--to`: `jsonl`.
    fn name(&self) -> &'static str;

    /// Returns the description of the target, in a line.
    fn about(&self) -> &'static str;

    /// File name extensions without the dot, the usual one first.
    fn extensions(&self) -> &'static [&'static str];

    /// Starts a table of these columns, and refuses those it cannot write.
    fn writer<'a>(
        &self,
        schema: &Schema,
        out: &'a mut dyn Write,
    ) -> Result<Box<dyn TableWriter + 'a>>;
}

/// Writes one table, batch by batch, holding none of them.
pub trait TableWriter {
    /// Writes the rows of a batch.
    fn write(&mut self, batch: &RecordBatch) -> Result<()>;

    /// Writes what is still held. Without it the output ends short.
    fn finish(&mut self) -> Result<()>;
}

/// Every target. A new one is one file and one line here.
static TARGETS: &[&dyn Target] =
    &[&crate::tables::jsonl::JsonLines, &crate::tables::jsonl::Json, &crate::tables::csv::Csv];

/// Every target, in the order of the help.
#[must_use]
pub fn targets() -> &'static [&'static dyn Target] {
    TARGETS
}

/// A target by its name.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static dyn Target> {
    TARGETS.iter().copied().find(|target| target.name() == name)
}

/// A target by the extension of a file name, whatever its case.
#[must_use]
pub fn by_extension(extension: &str) -> Option<&'static dyn Target> {
    let has = |target: &&dyn Target| {
        let mut known = target.extensions().iter();
        known.any(|e| e.eq_ignore_ascii_case(extension))
    };
    TARGETS.iter().copied().find(has)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_extensions_lead_to_their_target() {
        for target in targets() {
            assert!(by_name(target.name()).is_some());
            for extension in target.extensions() {
                let found = by_extension(&extension.to_uppercase()).unwrap();
                assert_eq!(found.name(), target.name());
            }
        }
        assert!(by_extension("xlsx").is_none());
    }
}
