//! A recording in another format: its whole timeline.

use std::env;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use kymo_core::{Ability, Finding, Format, Origin, Part, Progress, Severity};

use super::Args;
use crate::extracting;
use crate::failure::Failure;
use crate::inputs::display;
use crate::outlet;
use crate::session::{Opened, Outcome, Session};

/// The formats that take timelines.
pub(super) fn formats() -> impl Iterator<Item = &'static dyn Format> {
    let formats = kymo_registry::formats().iter().copied();
    formats.filter(|format| format.info().can(Ability::TakeTimelines))
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
    opened: &Opened,
    format: &dyn Format,
) -> anyhow::Result<Outcome> {
    let title = format.info().title;
    if args.wants_table() {
        let failure = Failure::usage(format!("{title} takes the whole recording"));
        return Err(failure.hint("`kymo cut` and `kymo filter` take parts of one").into());
    }
    if args.arrays.is_strict() || args.arrays.is_json() {
        return Err(Failure::usage("--strict and --json are for tables and arrays").into());
    }
    let sources = std::slice::from_ref(&opened.source);
    let is_own = opened.format.info().name == format.info().name;
    let written = if is_own && format.info().can(Ability::Extract) {
        outlet::make(session, &args.output, args.force, sources, |to, context| {
            format.extract(sources, &Part::default(), to, context)
        })
    } else {
        let timeline = opened.timeline().ok_or_else(|| {
            let failure = Failure::new(format!("it has no events in time, which {title} holds"));
            failure.hint("tables go to csv or jsonl")
        })?;
        let origin = origin(opened);
        outlet::make(session, &args.output, args.force, sources, |to, context| {
            let to = to.clone().imported(origin);
            let mut written = format.write_timeline(Arc::clone(&timeline), &to, context)?;
            written.losses.extend(timeline.untold()?);
            Ok(written)
        })
    };
    session.bars.end();
    let mut written = written?;
    written.losses.extend(profile_left(opened, title));
    Ok(extracting::say(session, &args.output, &written))
}

/// Where a recording came from, for formats that keep that.
fn origin(opened: &Opened) -> Origin {
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
fn profile_left(opened: &Opened, title: &str) -> Option<Finding> {
    let dataset = &opened.dataset;
    // Where there is a measurement, its profile need not be made to know that there is one.
    let has_profile = dataset.measurement().is_some() || dataset.profile().is_some();
    let why = format!("the profile is left out: {title} holds events in time");
    has_profile.then(|| Finding::whole(Severity::Warning, "profile", why))
}
