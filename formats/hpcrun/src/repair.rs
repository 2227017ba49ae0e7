//! Saving what can be saved of damaged files, and writing sound ones again.

use std::path::Path;

use kymo_core::{Context, Destination, Error, Finding, Repaired, Result, Severity, Source};

use crate::measurement::{File, Measurement, Mode, PROFILE, TRACE, has_extension, read};
use crate::write::write_profile;

/// Findings that cost nothing once the file is written anew.
const CORRECTED: [&str; 3] = ["footer", "footer-start", "section-size"];

/// Writes what can be read of a file, or of each file of a directory, and says what was lost.
pub(crate) fn repair(source: &Source, to: &Destination, context: &Context<'_>) -> Result<Repaired> {
    let measurement = Measurement::open(source, context, Mode::Salvage)?;
    if measurement.recordings.is_empty() {
        return Err(Error::request("nothing in it can be read, so nothing was written"));
    }
    let kept = if source.is_directory() {
        directory(source, to, context)?
    } else {
        file(source, to, context, Mode::Salvage)?;
        1
    };
    let found = measurement.findings.iter().filter(|finding| finding.severity > Severity::Note);
    let is_loss = |finding: &Finding| {
        finding.severity == Severity::Error && !CORRECTED.contains(&finding.rule)
    };
    let (losses, corrected) = found.cloned().partition(is_loss);
    Ok(Repaired { kept, unit: "files", corrected, losses })
}

/// Writes a sound file again.
pub(crate) fn rewrite(source: &Source, to: &Destination, context: &Context<'_>) -> Result<()> {
    if source.is_directory() {
        directory(source, to, context).map(drop)
    } else {
        file(source, to, context, Mode::Strict)
    }
}

fn file(source: &Source, to: &Destination, context: &Context<'_>, mode: Mode) -> Result<()> {
    let file = read(source, &context.limits, mode)?;
    let mut out = to.file()?;
    match file {
        File::Profile(profile) => write_profile(&profile, &mut out)?,
        File::Trace(trace) => trace.write(&mut out)?,
    }
    out.commit()
}

/// Writes every profile and trace that can be read, and copies what lies beside them.
fn directory(source: &Source, to: &Destination, context: &Context<'_>) -> Result<u64> {
    let out = to.directory()?;
    let mut kept = 0;
    for name in source.entries()? {
        kept += u64::from(entry(source, &name, out.path(), context)?);
    }
    out.commit()?;
    Ok(kept)
}

/// Writes a profile or a trace, or copies anything else; says whether there is one more file.
fn entry(source: &Source, name: &Path, into: &Path, context: &Context<'_>) -> Result<bool> {
    let Some(child) = source.child(name, &context.limits)? else { return Ok(false) };
    let to = Destination::new(into.join(name), false);
    if child.is_directory() {
        let out = to.directory()?;
        for name in child.entries()? {
            entry(&child, &name, out.path(), context)?;
        }
        out.commit()?;
        return Ok(false);
    }
    if has_extension(name, PROFILE) || has_extension(name, TRACE) {
        return match file(&child, &to, context, Mode::Salvage) {
            Ok(()) => Ok(true),
            // It is among the findings, and thereby among the losses.
            Err(Error::Read(_)) => Ok(false),
            Err(error) => Err(error),
        };
    }
    let mut copy = to.file()?;
    std::io::Write::write_all(&mut copy, &child.bytes()?)?;
    copy.commit()?;
    Ok(true)
}
