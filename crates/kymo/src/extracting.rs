//! Parts of recordings as recordings of their own: what `cut`, `filter` and `merge` share.

use std::path::{Path, PathBuf};

use kymo_core::{Context, Destination, Error, Finding, Progress, Source};
use kymo_model::timeline::TrackId;
use kymo_model::{Capability, ExtractRequest, Format, WriteReport};

use crate::cli::FormatArgs;
use crate::failure::Failure;
use crate::inputs;
use crate::moment::{self, Moment};
use crate::outlet;
use crate::render::numbers;
use crate::session::{Named, Outcome, Session, format_of};
use crate::tracks::StreamArgs;

/// Parts that are wanted, and the recordings that they are wanted of.
pub(crate) struct ExtractSelection<'a> {
    pub(crate) inputs: &'a [PathBuf],
    pub(crate) output: &'a Path,
    pub(crate) force: bool,
    pub(crate) streams: &'a StreamArgs,
    pub(crate) since: Option<Moment>,
    pub(crate) until: Option<Moment>,
    pub(crate) sort: bool,
    pub(crate) join: bool,
    pub(crate) format: &'a FormatArgs,
}

/// Writes the part, and says what it has and what was lost.
pub(crate) fn run(session: &mut Session, wanted: &ExtractSelection<'_>) -> anyhow::Result<Outcome> {
    session.assume(wanted.format);
    let sources = sources(session, wanted)?;
    let format = format(&sources, wanted)?;
    outlet::refuse_other_name(wanted.output, format.info())?;
    let part = part(session, wanted, &sources, format)?;
    let work =
        |to: &Destination, context: &Context<'_>| format.extract(&sources, &part, to, context);
    let written = outlet::make(session, wanted.output, wanted.force, &sources, work);
    session.bars.end();
    for source in &sources {
        source.verify().map_err(|error| Named::error(inputs::display(source.path()), error))?;
    }
    let written = written.map_err(|error| unsorted(wanted, error))?;
    let outcome = report(session, wanted.output, &written);
    let is_range = wanted.since.is_some() || wanted.until.is_some();
    let is_missed = is_range && written.events == 0;
    Ok(if is_missed { outcome.max(Outcome::Findings) } else { outcome })
}

/// A format that does not sort says why; what to do then is the same for all.
fn unsorted(wanted: &ExtractSelection<'_>, error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<Error>() {
        Some(Error::Request(why)) if wanted.sort => {
            let name = wanted.inputs.first().map_or_else(String::new, |path| inputs::display(path));
            let failure = Failure::new(why.clone());
            let hint = "leave out --sort: recordings are laid side by side without it";
            Named::error(name, failure.hint(hint))
        }
        _ => error,
    }
}

/// Says what was written and what was not.
pub(crate) fn report(session: &mut Session, output: &Path, written: &WriteReport) -> Outcome {
    report_losses(session, output, written);
    let name = inputs::display(output);
    if written.events == 0 && written.losses.is_empty() {
        session.report.remark(&name, format_args!("there are no events in it"));
    }
    if session.report.is_watched() || !written.losses.is_empty() {
        let events = numbers::count(written.events, "event", "events");
        session.report.remark(&name, format_args!("{events} written"));
    }
    Outcome::from_findings(&written.losses)
}

/// Says what was not written as it was.
pub(crate) fn report_losses(session: &mut Session, output: &Path, written: &WriteReport) {
    let name = inputs::display(output);
    for loss in &written.losses {
        // What an input lacks is said of the input.
        match &loss.file {
            Some(input) => {
                let loss = Finding { file: None, ..loss.clone() };
                session.report.finding(&inputs::display(Path::new(input)), &loss);
            }
            None => session.report.finding(&name, loss),
        }
    }
}

fn sources(session: &Session, wanted: &ExtractSelection<'_>) -> anyhow::Result<Vec<Source>> {
    let open = |path: &PathBuf| {
        let named = |error: anyhow::Error| Named::error(inputs::display(path), error);
        session.source_as(path, wanted.format).map_err(|error: Error| named(error.into()))
    };
    wanted.inputs.iter().map(open).collect()
}

/// The one format of all sources.
fn format(
    sources: &[Source],
    wanted: &ExtractSelection<'_>,
) -> anyhow::Result<&'static dyn Format> {
    let mut common: Option<&'static dyn Format> = None;
    for source in sources {
        let named = |error| Named::error(inputs::display(source.path()), error);
        let format = format_of(source, wanted.format).map_err(named)?;
        let title = format.info().title;
        if !format.info().can(Capability::Extract) {
            let failure = Failure::new(format!("files of format {title} are not cut or merged"));
            let failure =
                failure.hint("`kymo convert IN OUT.bbbin` first: parts of that can be taken");
            return Err(named(failure.into()));
        }
        if let Some(other) = common.filter(|other| other.info().name != format.info().name) {
            let why = format!("it is of format {title}, the first is {}", other.info().title);
            let failure = Failure::new(why).hint("`kymo convert` makes them the same first");
            return Err(named(failure.into()));
        }
        common = Some(format);
    }
    common.ok_or_else(|| Failure::usage("there is no input").into())
}

/// Returns the part that the options mean for these sources.
fn part(
    session: &Session,
    wanted: &ExtractSelection<'_>,
    sources: &[Source],
    format: &dyn Format,
) -> anyhow::Result<ExtractRequest> {
    let mut part =
        ExtractRequest { sort: wanted.sort, join: wanted.join, ..ExtractRequest::default() };
    let mut names = Vec::new();
    for source in sources {
        let about = |error| Named::error(inputs::display(source.path()), error);
        let of_one = part_of(session, wanted, source, format).map_err(about)?;
        names.extend(of_one.tracks.into_iter().flatten());
        // Of several files the widest range counts.
        part.from = part.from.into_iter().chain(of_one.from).min();
        part.until = part.until.into_iter().chain(of_one.until).max();
    }
    moment::refuse_reversed(part.from, part.until)?;
    names.sort_unstable();
    names.dedup();
    part.tracks = (!wanted.streams.is_all()).then_some(names);
    Ok(part)
}

/// Returns the part that the options mean for one source.
fn part_of(
    session: &Session,
    wanted: &ExtractSelection<'_>,
    source: &Source,
    format: &dyn Format,
) -> anyhow::Result<ExtractRequest> {
    let is_plain = |moment| matches!(moment, None | Some(Moment::At(_)));
    if let (true, true, true) =
        (wanted.streams.is_all(), is_plain(wanted.since), is_plain(wanted.until))
    {
        let time = |moment| match moment {
            Some(Moment::At(time)) => Some(time),
            _ => None,
        };
        let (from, until) = (time(wanted.since), time(wanted.until));
        return Ok(ExtractRequest { from, until, ..ExtractRequest::default() });
    }
    let dataset = format.salvage(source, &session.context())?;
    let timeline = dataset.timeline();
    let timeline = timeline.ok_or_else(|| Failure::new("it has no timeline to choose from"))?;
    let tracks = timeline.tracks();
    let chosen = wanted.streams.select(&tracks)?;
    moment::refuse_dateless([wanted.since, wanted.until], &timeline, chosen.as_deref())?;
    let resolve = |moment: Option<Moment>| {
        moment.map(|moment| moment::resolve(moment, &timeline, chosen.as_deref())).transpose()
    };
    let name = |id: &TrackId| tracks.get(id.0).map(|track| track.name.clone());
    Ok(ExtractRequest {
        from: resolve(wanted.since)?,
        until: resolve(wanted.until)?,
        tracks: chosen.as_ref().map(|chosen| chosen.iter().filter_map(name).collect()),
        ..ExtractRequest::default()
    })
}
