//! Saving what can be saved of damaged files, and writing sound ones again.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use kymo_core::{Context, Destination, Error, Finding, Result, Severity, Source, copy_other_files};
use kymo_model::RepairReport;

use crate::check;
use crate::measurement::read;
use crate::measurement::{File, HeldFiles, Measurement, Mode, PROFILE, Part, TRACE, has_extension};
use crate::read::Trace;
use crate::resync::{RecordFacts, Records};
use crate::tree::Ids;
use crate::write::write_profile;

/// Rules whose breach costs nothing once the file is written anew.
const CORRECTED: [&str; 5] = ["footer", "footer-start", "section", "index-end", "section-overlap"];

/// Rules whose breach means bytes that are not written again.
const DROPPED: [&str; 7] =
    ["trailing", "gap", "section-size", "trace-cut", "trace", "profile", "magic"];

/// Rules about files that are missing, which are so afterwards too.
const MISSING: [&str; 2] = ["no-profile", "no-trace"];

/// Rules about records of a trace, which are others once they are found again.
const OF_RECORDS: [&str; 6] =
    ["trace-time", "trace-order", "trace-node", "trace-epoch", "trace-bounds", "trace-cut"];

/// Traces whose records are not where they should be, by the name of the recording.
type Shifted = HashMap<String, Records>;

/// Writes what can be read of a file, or of each file of a directory, and says what was lost.
pub(crate) fn repair(
    source: &Source,
    to: &Destination,
    context: &Context<'_>,
) -> Result<RepairReport> {
    let measurement = Measurement::open(source, context, Mode::Salvage)?;
    if measurement.recordings.is_empty() {
        return Err(Error::request("nothing in it can be read, so nothing was written"));
    }
    let known = measurement.losses();
    let (mut losses, mut corrected) = (known.clone(), Vec::new());
    let (shifted, mut findings) = shifted(&measurement, context);
    for (name, records) in &shifted {
        losses.extend(measurement.in_file(name, TRACE, records.losses.clone()));
    }
    let is_shifted = |finding: &Finding| {
        let mut names = shifted.keys().map(|name| format!("{name}.{TRACE}"));
        !shifted.is_empty()
            && (finding.file.is_none() || names.any(|name| finding.file == Some(name)))
    };
    findings.extend(
        check::findings(&measurement, context)
            .into_iter()
            .filter(|finding| !(OF_RECORDS.contains(&finding.rule) && is_shifted(finding))),
    );
    for finding in findings {
        if finding.severity == Severity::Note || covers_finding(&known, &finding) {
            continue;
        }
        match finding.rule {
            rule if DROPPED.contains(&rule) => losses.push(finding),
            rule if CORRECTED.contains(&rule) || has_lost_nothing(rule) => corrected.push(finding),
            rule if MISSING.contains(&rule) => corrected.push(finding),
            _ => corrected.push(kept_finding(finding)),
        }
    }
    let files = if source.is_directory() {
        let (files, left_out) = directory(source, to, context, &shifted)?;
        // What is left out is not kept, whatever else is wrong with it.
        corrected.retain(|kept| !left_out.iter().any(|left| left.file == kept.file));
        losses.extend(left_out);
        files
    } else {
        file(source, to, context, Mode::Salvage, shifted.values().next())?;
        1
    };
    Ok(RepairReport { kept: files, unit: "files", corrected, losses })
}

/// Returns true if a loss says what a finding does: a part that cannot be read is broken in one
/// place.
fn covers_finding(losses: &[Finding], finding: &Finding) -> bool {
    losses.iter().any(|loss| loss.rule == finding.rule && loss.file == finding.file)
}

/// Faults of the structure that every part was found in spite of.
fn has_lost_nothing(rule: &str) -> bool {
    ["header", "loadmap", "cct", "metric-table", "id-tuple-dictionary", "sparse"].contains(&rule)
}

/// Marks a finding about something that is written again as it was.
fn kept_finding(finding: Finding) -> Finding {
    let message = format!("{}; it is kept as it is", finding.message);
    Finding { message, ..finding }
}

/// Writes a sound file again.
pub(crate) fn rewrite(source: &Source, to: &Destination, context: &Context<'_>) -> Result<()> {
    if source.is_directory() {
        directory(source, to, context, &Shifted::new()).map(drop)
    } else {
        file(source, to, context, Mode::Strict, None)
    }
}

fn file(
    source: &Source,
    to: &Destination,
    context: &Context<'_>,
    mode: Mode,
    records: Option<&Records>,
) -> Result<()> {
    let file = read(source, &context.limits, mode)?;
    let mut out = to.file()?;
    match (file, records) {
        (File::Trace(trace), Some(records)) => {
            for bytes in records.record_bytes(&trace, &source.bytes()?) {
                out.write_all(bytes)?;
            }
        }
        (File::Trace(trace), None) => trace.write(&mut out)?,
        (File::Profile(profile), _) => write_profile(&profile, &mut out)?,
    }
    out.commit()
}

/// Finds records again that are not where they should be, and what is wrong with them then.
fn shifted(measurement: &Measurement, context: &Context<'_>) -> (Shifted, Vec<Finding>) {
    let (mut shifted, mut findings) = (Shifted::new(), Vec::new());
    let mut holding = measurement.holding();
    for part in measurement.recordings.iter().filter(|part| part.trace.is_some()) {
        // What cannot be read any more is said by those who write it.
        let Ok(Some((records, found))) = one_shifted(measurement, &mut holding, part, context)
        else {
            continue;
        };
        shifted.insert(part.name.clone(), records);
        findings.extend(found);
    }
    (shifted, findings)
}

fn one_shifted(
    measurement: &Measurement,
    holding: &mut HeldFiles<'_>,
    part: &Part,
    context: &Context<'_>,
) -> Result<Option<(Records, Vec<Finding>)>> {
    let Some(trace) = &part.trace else { return Ok(None) };
    let source = &measurement.source;
    let name = PathBuf::from(format!("{}.{TRACE}", part.name));
    let (bytes, ids) = if measurement.is_directory {
        let Some(file) = source.child(&name, &context.limits)? else { return Ok(None) };
        let has_nodes = part.profile.is_some();
        (file.bytes()?, has_nodes.then(|| holding.ids(part)))
    } else {
        (source.bytes()?, companion_ids(source, context))
    };
    let mut trace = Trace::clone(trace);
    trace.set_from_ends(&bytes);
    if let Some(profile) = &part.profile {
        trace.set_from_profile(profile);
    }
    let trace = &trace;
    let known = RecordFacts { trace, ids: ids.as_ref(), bytes: &bytes };
    let Some(records) = known.records(context.limits.findings_max) else { return Ok(None) };
    let size: usize = records.record_bytes(trace, &bytes).iter().map(|run| run.len()).sum();
    if size as u64 > context.limits.value_bytes_max {
        // Only as much of a trace is held as a value may have.
        let why = "it is too long to look for what else is wrong with its records";
        let finding = Finding::for_whole_file(Severity::Warning, "trace-long", why);
        return Ok(Some((records, measurement.in_file(&part.name, TRACE, vec![finding]))));
    }
    let again: Vec<u8> = records.record_bytes(trace, &bytes).concat();
    let mut again = Trace::salvage(&again.into(), &context.limits)?;
    if let Some(profile) = &part.profile {
        again.set_from_profile(profile);
    }
    let found = check::trace_findings(
        &again,
        part,
        ids.as_ref().filter(|_| part.profile.is_some()),
        context,
    );
    Ok(Some((records, found)))
}

/// The nodes of the profile that lies beside a trace.
fn companion_ids(trace: &Source, context: &Context<'_>) -> Option<Ids> {
    let path = trace.path().with_extension(PROFILE);
    let profile = Source::open(path.is_file().then_some(&path)?, &context.limits).ok()?;
    match read(&profile, &context.limits, Mode::Salvage) {
        Ok(File::Profile(profile)) => Some(Ids::new(&profile)),
        _ => None,
    }
}

/// Writes every profile and trace that can be read, and copies what lies beside them. Says how
/// many files were written anew, and what else was left out.
fn directory(
    source: &Source,
    to: &Destination,
    context: &Context<'_>,
    shifted: &Shifted,
) -> Result<(u64, Vec<Finding>)> {
    let is_ours = |name: &Path| has_extension(name, PROFILE) || has_extension(name, TRACE);
    let out = to.directory()?;
    let mut written = 0;
    for name in source.entries()?.iter().filter(|name| is_ours(name)) {
        let Ok(Some(child)) = source.child(name, &context.limits) else { continue };
        let to = Destination::new(out.path().join(name), false);
        let stem = name.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let is_trace = has_extension(name, TRACE);
        let records = stem.filter(|_| is_trace).and_then(|stem| shifted.get(&stem));
        match file(&child, &to, context, Mode::Salvage, records) {
            Ok(()) => written += 1,
            // It is among the findings, and thereby among the losses.
            Err(Error::Read(_)) => {}
            Err(error) => return Err(error),
        }
    }
    let left_out = copy_other_files(source, out.path(), &is_ours)?;
    out.commit()?;
    let finding = |name: &std::path::PathBuf| {
        let why = "it is neither a file nor a directory nor a link, and is left out";
        let finding = Finding::for_whole_file(Severity::Warning, "special-file", why);
        Finding { file: Some(name.to_string_lossy().into_owned()), ..finding }
    };
    Ok((written, left_out.iter().map(finding).collect()))
}
