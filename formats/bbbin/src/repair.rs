//! What can be read, written as a sound file: index, task executions and statistics anew.

use std::io::{Seek, Write};

use kymo_core::{Context, Destination, Error, Finding, Repaired, Result, Severity, Source};

use crate::{Reader, Writer, check};

/// Repairs a file.
pub(crate) fn repair(source: &Source, to: &Destination, context: &Context<'_>) -> Result<Repaired> {
    let reader = Reader::salvage(source, context)?;
    if reader.sections().is_empty() {
        let why = "nothing of it can be read: it has no header of a BBBin file";
        return Err(Error::request(why));
    }
    let found = check::check(&reader, context);
    let kept = write(&reader, to, false)?;
    let is_loss = |finding: &Finding| finding.severity == Severity::Error;
    let (losses, corrected) = found.into_iter().partition(is_loss);
    Ok(Repaired { kept, unit: "events", corrected, losses })
}

/// Writes a sound file again.
pub(crate) fn rewrite(source: &Source, to: &Destination, context: &Context<'_>) -> Result<()> {
    write(&*Reader::open(source, context)?, to, true).map(drop)
}

/// Writes everything that a reader has; tells how many events.
fn write(reader: &Reader, to: &Destination, must_be_whole: bool) -> Result<u64> {
    let mut file = to.file()?;
    let events = copy(reader, &mut file)?;
    let is_error = |finding: &Finding| finding.severity == Severity::Error;
    if let (true, Some(lost)) = (must_be_whole, reader.findings().into_iter().find(is_error)) {
        return Err(Error::request(lost.message));
    }
    file.commit()?;
    Ok(events)
}

fn copy(reader: &Reader, out: impl Write + Seek) -> Result<u64> {
    let definitions = reader.definitions();
    let mut writer = Writer::new(out, &definitions.log_files, &definitions.types)?;
    for found in reader.events() {
        writer.write(&found.event)?;
    }
    let events = writer.num_events();
    writer.finish(&definitions.artifacts)?;
    Ok(events)
}
