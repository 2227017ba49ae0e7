//! Repair: what can be read is written as a sound file, with index, task executions and statistics
//! anew.

mod made;

use std::collections::HashSet;
use std::io::{Seek, Write};

use kymo_core::{Context, Destination, Error, Finding, Result, Severity, Source};
use kymo_model::RepairReport;

use crate::read::{Header, ORDER};
use crate::spec::NO_TYPE;
use crate::types::LocatedEvent;
use crate::{Reader, Writer, check};
use made::CreatedDefinitions;

/// Repairs a file. What the result still has is left as it is, and what it has besides is said; that
/// it is checked tells.
pub(crate) fn repair(
    source: &Source,
    to: &Destination,
    context: &Context<'_>,
) -> Result<RepairReport> {
    let reader = Reader::salvage(source, context)?;
    if reader.sections().is_empty() {
        // It was not even said where they are.
        let why = Header::read(&source.bytes()?)
            .err()
            .map_or_else(String::new, |read_error| format!(": {read_error}"));
        return Err(Error::request(format!("nothing of it can be read{why}")));
    }
    let found = check::check(&reader, context);
    let mut file = to.file()?;
    let mended = mend(&reader, &mut file)?;
    file.commit()?;
    let result = Reader::salvage(&Source::open(to.path(), &context.limits)?, context)?;
    let left = check::check(&result, context);
    // What is said of log files that have other numbers now is told apart by its rule alone.
    let key = |this_finding: &Finding| {
        let message = Some(&this_finding.message).filter(|_| !mended.is_renumbered);
        (this_finding.rule, message.cloned())
    };
    let known: HashSet<_> = found.iter().map(key).collect();
    let is_new = |item: &&Finding| item.severity > Severity::Note && !known.contains(&key(item));
    let new: Vec<_> = left.iter().filter(is_new).map(in_result).collect();
    let left: HashSet<_> = left.iter().map(key).collect();
    let is_loss = |finding: &Finding| finding.severity == Severity::Error;
    let (losses, mut corrected): (Vec<_>, Vec<_>) = found.into_iter().partition(is_loss);
    for finding in &mut corrected {
        if left.contains(&key(finding)) {
            let how = if finding.rule == ORDER { " (`kymo merge --sort` sorts)" } else { "" };
            finding.message = format!("{}; left as it is{how}", finding.message);
        }
    }
    corrected.extend(mended.odd);
    corrected.extend(new);
    Ok(RepairReport { kept: mended.events, unit: "events", corrected, losses })
}

/// Something that only the result has: it has no place in the file that was repaired.
fn in_result(finding: &Finding) -> Finding {
    Finding::for_whole_file(
        finding.severity,
        finding.rule,
        format!("{}; so the repaired file has it", finding.message),
    )
}

/// Counts and findings of what was written.
struct RepairedFile {
    events: u64,
    /// True if log files have other numbers than before.
    is_renumbered: bool,
    /// Findings about what is not as it was.
    odd: Vec<Finding>,
}

/// Writes everything that a reader has, as existing readers need it.
fn mend(reader: &Reader, out: impl Write + Seek) -> Result<RepairedFile> {
    let mut definitions = reader.definitions();
    let mut made = CreatedDefinitions::default();
    made.definitions(reader, &mut definitions);
    let mut untyped = HashSet::new();
    for LocatedEvent { event, .. } in reader.events() {
        made.event(reader, &event);
        if event.custom_type.0 == NO_TYPE && event.custom.is_empty() {
            untyped.insert(event.log_file);
        }
    }
    let retyped = made.declare(&mut definitions);
    for artifact in &mut definitions.artifacts {
        artifact.custom_type =
            retyped.type_of(artifact.log_file, artifact.custom_type, &artifact.custom);
    }
    let real_types = definitions.satisfy_readers(|log| untyped.contains(&log));
    let mut numbers = definitions.number_log_files();
    let is_renumbered = numbers.have_changed();
    let mut writer = Writer::new(out, &definitions.log_files, &definitions.types)?;
    for LocatedEvent { mut event, .. } in reader.events() {
        event.custom_type = retyped.type_of(event.log_file, event.custom_type, event.custom);
        let mut event = real_types.given(event);
        event.log_file = numbers.number(event.log_file);
        writer.write(&event)?;
    }
    let events = writer.num_events();
    writer.finish(&definitions.artifacts)?;
    Ok(RepairedFile { events, is_renumbered, odd: retyped.findings() })
}

/// Writes a sound file again, as it is.
pub(crate) fn rewrite(source: &Source, to: &Destination, context: &Context<'_>) -> Result<()> {
    let reader = Reader::open(source, context)?;
    let mut file = to.file()?;
    let definitions = reader.definitions();
    let mut writer = Writer::new(&mut file, &definitions.log_files, &definitions.types)?;
    for found in reader.events() {
        writer.write(&found.event)?;
    }
    writer.finish(&definitions.artifacts)?;
    let is_error = |finding: &Finding| finding.severity == Severity::Error;
    if let Some(lost) = reader.findings().into_iter().find(is_error) {
        return Err(Error::request(lost.message));
    }
    file.commit()
}
