//! A recording in another format: its whole timeline.

use std::env;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use kymo_core::{Context, Destination, Error, Finding, Origin, Progress, Severity};
use kymo_model::{Capability, ExtractRequest, Format, WriteReport};

use super::Args;
use super::arrays::StrictRefusal;
use crate::extracting;
use crate::failure::Failure;
use crate::inputs::display;
use crate::outlet;
use crate::session::{OpenedFile, Outcome, Session};

/// The formats that take timelines.
pub(super) fn formats() -> impl Iterator<Item = &'static dyn Format> {
    let formats = kymo_registry::formats().iter().copied();
    formats.filter(|format| format.info().can(Capability::TakeTimelines))
}

/// A format that takes timelines, by its name.
pub(super) fn by_name(name: &str) -> Option<&'static dyn Format> {
    formats().find(|format| format.info().name == name)
}

/// A format that takes timelines, by the extension of a file name, whatever its case.
pub(super) fn by_extension(extension: &str) -> Option<&'static dyn Format> {
    let is_it = |known: &&str| known.eq_ignore_ascii_case(extension);
    formats().find(|format| format.info().extensions.iter().any(is_it))
}

/// Writes all events of a dataset in another format; in its own, everything that it has.
pub(super) fn convert(
    session: &mut Session,
    args: &Args,
    opened: &OpenedFile,
    format: &dyn Format,
) -> anyhow::Result<Outcome> {
    let title = format.info().title;
    if args.wants_table() {
        let failure = Failure::usage(format!("{title} takes the whole recording"));
        return Err(failure.hint("`kymo cut` and `kymo filter` take parts of one").into());
    }
    if args.arrays.is_json() {
        return Err(Failure::usage("--json is for tables and arrays").into());
    }
    let is_own = opened.format.info().name == format.info().name;
    let timeline = if is_own && format.info().can(Capability::Extract) {
        None
    } else {
        Some(opened.timeline().ok_or_else(|| {
            let failure = Failure::new(format!("it has no events in time, which {title} holds"));
            failure.hint("tables go to csv or jsonl")
        })?)
    };
    let sources = std::slice::from_ref(&opened.source);
    let left = profile_left(opened, title);
    let work = |to: &Destination, context: &Context<'_>| {
        let mut written = match &timeline {
            None => format.extract(sources, &ExtractRequest::default(), to, context)?,
            Some(timeline) => {
                let to = to.clone().imported(origin(opened));
                let mut written = format.write_timeline(Arc::clone(timeline), &to, context)?;
                written.losses.extend(Arc::clone(timeline).unsupported()?);
                written
            }
        };
        written.losses.extend(left.clone());
        Ok(written)
    };
    let mut refused = None;
    let made = outlet::make(session, &args.output, args.force, sources, |to, context| {
        if args.arrays.is_strict() {
            strictly(to, context, work, &mut refused)
        } else {
            work(to, context)
        }
    });
    session.bars.end();
    if let Some(written) = refused {
        extracting::report_losses(session, &args.output, &written);
        return Err(StrictRefusal.into());
    }
    Ok(extracting::report(session, &args.output, &made?))
}

/// Writes a recording elsewhere first, and puts it where it belongs if nothing is lost.
fn strictly(
    to: &Destination,
    context: &Context<'_>,
    work: impl Fn(&Destination, &Context<'_>) -> kymo_core::Result<WriteReport>,
    refused: &mut Option<WriteReport>,
) -> kymo_core::Result<WriteReport> {
    let directory = tempfile::tempdir().map_err(Error::io("make a temporary directory"))?;
    let made = directory.path().join("made");
    let written = work(&Destination::new(&made, false), context)?;
    if Outcome::from_findings(&written.losses) != Outcome::Done {
        *refused = Some(written);
        return Err(Error::request(StrictRefusal.to_string()));
    }
    let mut made = File::open(&made).map_err(Error::io("read the temporary file"))?;
    let mut file = to.file()?;
    io::copy(&mut made, &mut file).map_err(Error::io("write the recording"))?;
    file.commit()?;
    Ok(written)
}

/// Returns the origin of a recording, for formats that keep it.
fn origin(opened: &OpenedFile) -> Origin {
    // Figures of streams are named by it: a path would not fit beside them.
    let name = opened.source.path().file_name();
    Origin {
        name: name.map_or_else(|| opened.name.clone(), |name| display(Path::new(name))),
        size_bytes: opened.size_bytes(),
        importer: format!("kymo, {}", opened.format.info().title),
        time_ms: now_ms(),
    }
}

/// Now, in milliseconds since the Epoch; `SOURCE_DATE_EPOCH` takes its place, so that the same
/// input gives the same output.
fn now_ms() -> i64 {
    let given = env::var("SOURCE_DATE_EPOCH").ok().and_then(|seconds| seconds.parse::<i64>().ok());
    given.map_or_else(
        || {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
        },
        |seconds| seconds.saturating_mul(1000),
    )
}

/// Says that a profile stays behind: a timeline has no place for it.
fn profile_left(opened: &OpenedFile, title: &str) -> Option<Finding> {
    let dataset = &opened.dataset;
    // Where there is a measurement, its profile need not be made to know that there is one.
    let has_profile = dataset.measurement().is_some() || dataset.profile().is_some();
    let why = format!("the profile is left out: {title} holds events in time");
    has_profile.then(|| Finding::for_whole_file(Severity::Warning, "profile", why))
}
