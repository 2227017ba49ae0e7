//! The whole database as YAML, field by field, as HPCToolkit's own tests keep it.
//!
//! Records are in the order of the files. What several records point to has an anchor, numbered by
//! who points to it first. Remarks say what numbers stand for, where `meta.db` is there to tell.

mod cct;
mod meta;
mod names;
mod out;
mod profile;
mod trace;

use std::sync::Arc;

use kymo_core::Result;
use kymo_model::RecordSink;

use crate::read::Database;
use names::Names;
use out::YamlText;

/// The name of the style.
pub(crate) const STYLE: &str = "hpctoolkit-yaml";

/// Prints a database, or the one file of it that was opened.
pub(crate) fn dump(
    database: &Arc<Database>,
    is_whole: bool,
    sink: &mut dyn RecordSink,
) -> Result<()> {
    let mut out = YamlText::new(sink);
    let names = Names::new(database);
    if is_whole {
        out.line(0, "!db/v4")?;
    }
    let mut printing = Printing { database, names, out, is_whole };
    printing.meta()?;
    printing.profile()?;
    printing.cct()?;
    printing.trace()?;
    printing.out.send()
}

/// A database on its way out.
struct Printing<'a> {
    database: &'a Arc<Database>,
    names: Names,
    out: YamlText<'a>,
    is_whole: bool,
}

impl Printing<'_> {
    /// Begins one of the files, and tells how far its fields are moved to the right.
    fn begin(&mut self, key: &str, tag: &str, is_there: bool) -> Result<Option<usize>> {
        match (self.is_whole, is_there) {
            (true, true) => self.out.line(0, format_args!("{key}: {tag}"))?,
            (true, false) => self.out.line(0, format_args!("{key}:"))?,
            (false, true) => self.out.line(0, tag)?,
            (false, false) => {}
        }
        Ok(is_there.then_some(if self.is_whole { 2 } else { 0 }))
    }
}
