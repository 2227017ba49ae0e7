//! Copies of source files that `meta.db` says are there.

use std::path::Path;
use std::sync::Arc;

use kymo_core::{Context, Source};

use super::DatabaseCheck;
use crate::rows;

/// Says how many copies are not there, and which names lead elsewhere.
pub(super) fn check(checking: &mut DatabaseCheck, source: &Source, context: &Context<'_>) {
    let database = Arc::clone(&checking.database);
    let Some(meta) = database.meta.as_ref().filter(|_| source.is_directory()) else { return };
    let mut absent: Option<(u64, rows::PathRow)> = None;
    for row in rows::files(&database).filter(|row| row.is_copied) {
        let path = row.path.as_deref().unwrap_or_default();
        let found = source.child(Path::new(path), &context.limits);
        if !path.starts_with("src/") || found.is_err() {
            let path = kymo_core::shortened(path);
            let message = format!("{path} is called a copy of a source file, and is none");
            checking.warning(&meta.part, "source-path", row.offset, message);
        } else if matches!(found, Ok(None)) {
            absent = Some(absent.map_or((1, row), |(count, first)| (count + 1, first)));
        }
    }
    if let Some((count, first)) = absent {
        let path = first.path.unwrap_or_default();
        let path = kymo_core::shortened(&path);
        let message = format!("{count} copies of source files are not there, such as {path}");
        checking.note(&meta.part, "source-missing", first.offset, message);
    }
}
