//! Saving what can be saved of damaged files, and writing sound ones again.

use std::path::Path;

use kymo_core::{
    Context, Destination, Error, Finding, Repaired, Result, Severity, Source, copy_beside,
};

use crate::check;
use crate::measurement::{File, Measurement, Mode, PROFILE, TRACE, has_extension, read};
use crate::write::write_profile;

/// Rules whose breach costs nothing once the file is written anew.
const CORRECTED: [&str; 5] = ["footer", "footer-start", "section", "index-end", "section-overlap"];

/// Rules whose breach means bytes that are not written again.
const DROPPED: [&str; 7] =
    ["trailing", "gap", "section-size", "trace-cut", "trace", "profile", "magic"];

/// Rules about files that are missing, which are so afterwards too.
const MISSING: [&str; 2] = ["no-profile", "no-trace"];

/// Writes what can be read of a file, or of each file of a directory, and says what was lost.
pub(crate) fn repair(source: &Source, to: &Destination, context: &Context<'_>) -> Result<Repaired> {
    let measurement = Measurement::open(source, context, Mode::Salvage)?;
    if measurement.recordings.is_empty() {
        return Err(Error::request("nothing in it can be read, so nothing was written"));
    }
    let known = measurement.losses();
    let (mut losses, mut corrected) = (known.clone(), Vec::new());
    for finding in check::of(&measurement, context) {
        if finding.severity == Severity::Note || is_among(&known, &finding) {
            continue;
        }
        match finding.rule {
            rule if DROPPED.contains(&rule) => losses.push(finding),
            rule if CORRECTED.contains(&rule) || has_lost_nothing(rule) => corrected.push(finding),
            rule if MISSING.contains(&rule) => corrected.push(finding),
            _ => corrected.push(kept(finding)),
        }
    }
    let files = if source.is_directory() {
        let (files, left_out) = directory(source, to, context)?;
        // What is left out is not kept, whatever else is wrong with it.
        corrected.retain(|kept| !left_out.iter().any(|left| left.file == kept.file));
        losses.extend(left_out);
        files
    } else {
        file(source, to, context, Mode::Salvage)?;
        1
    };
    Ok(Repaired { kept: files, unit: "files", corrected, losses })
}

/// Whether a loss says what a finding does: a part that cannot be read is broken in one place.
fn is_among(losses: &[Finding], finding: &Finding) -> bool {
    losses.iter().any(|loss| loss.rule == finding.rule && loss.file == finding.file)
}

/// Faults of the structure that every part was found in spite of.
fn has_lost_nothing(rule: &str) -> bool {
    ["header", "loadmap", "cct", "metric-table", "id-tuple-dictionary", "sparse"].contains(&rule)
}

/// What is written again as it was.
fn kept(finding: Finding) -> Finding {
    let message = format!("{}; it is kept as it is", finding.message);
    Finding { message, ..finding }
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

/// Writes every profile and trace that can be read, and copies what lies beside them. Says how
/// many files were written anew, and what else was left out.
fn directory(
    source: &Source,
    to: &Destination,
    context: &Context<'_>,
) -> Result<(u64, Vec<Finding>)> {
    let is_ours = |name: &Path| has_extension(name, PROFILE) || has_extension(name, TRACE);
    let out = to.directory()?;
    let mut written = 0;
    for name in source.entries()?.iter().filter(|name| is_ours(name)) {
        let Ok(Some(child)) = source.child(name, &context.limits) else { continue };
        let to = Destination::new(out.path().join(name), false);
        match file(&child, &to, context, Mode::Salvage) {
            Ok(()) => written += 1,
            // It is among the findings, and thereby among the losses.
            Err(Error::Read(_)) => {}
            Err(error) => return Err(error),
        }
    }
    let left_out = copy_beside(source, out.path(), &is_ours)?;
    out.commit()?;
    let finding = |name: &std::path::PathBuf| {
        let why = "it is neither a file nor a directory nor a link, and is left out";
        let finding = Finding::whole(Severity::Warning, "special-file", why);
        Finding { file: Some(name.to_string_lossy().into_owned()), ..finding }
    };
    Ok((written, left_out.iter().map(finding).collect()))
}
